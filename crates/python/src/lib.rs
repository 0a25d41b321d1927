//! `loadpath._core`: the engine for Python. Nothing but conversion: pages and scenarios cross as
//! opaque objects, outcomes as JSON bytes in the schema of `loadpath_sim::outcome`.

mod batch;
mod errors;
mod import;
mod page;
mod scenario;

/// The Rust half of the `loadpath` package.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::batch::{simulate, summarise_batch};
    #[pymodule_export]
    use crate::errors::{CorpusError, GraphError, LoadpathError, ScenarioError};
    #[pymodule_export]
    use crate::import::{
        import_distributions, import_graph, origin_folders, pages_in_origin, parse_corpus_index,
    };
    #[pymodule_export]
    use crate::page::{Page, ServerDelays};
    #[pymodule_export]
    use crate::scenario::{Scenario, scenario_keys};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
