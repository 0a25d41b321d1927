//! The simulated world: a pure function from page, scenario and run to outcome.

#[cfg(feature = "threads")]
mod batch;
mod critical_path;
mod load;
pub mod outcome;
pub mod scenario;
mod settings;
mod topology;
mod trace;
mod world;

#[cfg(feature = "threads")]
pub use batch::{Columns, Job, Values, run_batch};
pub use load::{Options, Summary, simulate, summarise};
pub use scenario::{Scenario, ScenarioError};
