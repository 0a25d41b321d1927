//! The page graph: what a page does while it loads, as plain data.
//!
//! Activities and their dependencies follow section 3.5 of the PCP thesis. An activity is ready when
//! all its parents have completed; edges are stored as `children`. Times are milliseconds, sizes
//! bytes. The JSON form is described by `docs/page-graph.schema.json`; `version` counts incompatible
//! changes.

pub(crate) mod error;
mod json;
mod mime;
mod model;
mod normalise;
mod order;
pub mod priority;
pub(crate) mod read;
mod server_delays;
mod topology;
mod validate;

pub use error::GraphError;
pub use mime::MimeClass;
pub use model::*;
pub use normalise::normalise;
pub use order::compare_ids;
pub use priority::PriorityScheme;
pub use server_delays::{DelayClass, ServerDelays};
pub use topology::{Edges, IdIndex, Topology};
pub(crate) use validate::executed_before_load;
pub use validate::{
    MAX_ACTIVITIES, MAX_DURATION_MS, MAX_EDGES, MAX_FRAMES, MAX_ID_BYTES, MAX_RECORDED_MS,
    MAX_SIZE_BYTES,
};
