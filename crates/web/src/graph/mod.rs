//! The page graph: what a page does while it loads, as plain data.
//!
//! Activities and their dependencies follow section 3.5 of the PCP thesis. An activity is ready when
//! all its parents have completed; edges are stored as `children`, in recorded order. Times are
//! milliseconds, sizes bytes. The JSON form is described by `docs/page-graph.schema.json`; `version`
//! counts incompatible changes.

mod model;

pub use model::*;
