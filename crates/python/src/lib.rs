//! `loadpath._core`: the engine for Python. Nothing but conversion: pages and scenarios cross as
//! opaque objects, outcomes as JSON bytes in the schema of `loadpath_sim::outcome`.

mod batch;
mod engine;
mod errors;
mod page;
mod scenario;

/// The Rust half of the `loadpath` package.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::batch::{simulate, simulate_batch};
    #[pymodule_export]
    use crate::errors::{CorpusError, GraphError, LoadpathError, ScenarioError};
    #[pymodule_export]
    use crate::page::Page;
    #[pymodule_export]
    use crate::scenario::{Scenario, scenario_keys};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
