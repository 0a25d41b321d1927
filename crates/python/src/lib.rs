//! `loadpath._core`: the engine for Python. Nothing but conversion: pages and scenarios cross as
//! opaque objects, outcomes as JSON bytes in the schema of `loadpath_sim::outcome`.

mod batch;
mod errors;
mod filters;
mod import;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod origin;
mod page;
mod scenario;
mod transform;

/// The Rust half of the `loadpath` package.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::batch::{simulate, summarise_batch, summarise_columns};
    #[pymodule_export]
    use crate::errors::{
        CorpusError, GraphError, LinkError, LoadpathError, OriginError, ScenarioError,
        TransformError,
    };
    #[pymodule_export]
    use crate::filters::{AdFilters, registrable_domain};
    #[pymodule_export]
    use crate::import::{
        import_distributions, import_graph, origin_folders, pages_in_origin, parse_corpus_index,
    };
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::link::{
        Namespaces, RunningLink, become_init, die_with_parent, enter_namespaces, link_addresses,
    };
    #[cfg(target_os = "linux")]
    #[pymodule_export]
    use crate::origin::run_origin;
    #[pymodule_export]
    use crate::page::{Page, ServerDelays, recorded_durations_ms};
    #[pymodule_export]
    use crate::scenario::{Scenario, scenario_keys};
    #[pymodule_export]
    use crate::transform::{transform_forms, transform_graph};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module
            .add("ENGINE", concat!(env!("CARGO_PKG_VERSION"), "+", env!("LOADPATH_ENGINE_DIGEST")))
    }
}
