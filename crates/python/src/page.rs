//! Pages.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::engine;
use crate::errors::graph_error;

/// A page graph, checked and compiled for simulation.
#[pyclass(frozen, module = "loadpath._core")]
pub struct Page {
    pub inner: Arc<engine::Page>,
    graph: engine::PageGraph,
}

#[pymethods]
impl Page {
    /// Reads a page graph. `origin` names it in errors; `delays` is the server-delay file that it
    /// refers to, as (content, origin).
    #[staticmethod]
    #[pyo3(signature = (data, origin, delays=None))]
    fn from_json(
        py: Python<'_>,
        data: &[u8],
        origin: &str,
        delays: Option<(Vec<u8>, String)>,
    ) -> PyResult<Self> {
        py.detach(|| {
            let graph =
                engine::PageGraph::from_json(data, origin).map_err(|error| graph_error(&error))?;
            let delays = delays
                .map(|(data, origin)| engine::ServerDelays::from_json(&data, &origin))
                .transpose()
                .map_err(|error| graph_error(&error))?;
            let page = engine::compile(&graph, delays).map_err(|error| graph_error(&error))?;
            Ok(Self { inner: Arc::new(page), graph })
        })
    }

    #[getter]
    fn name(&self) -> &str {
        &self.graph.name
    }

    #[getter]
    fn url(&self) -> &str {
        &self.graph.url
    }

    #[getter]
    fn source(&self) -> &str {
        &self.graph.source
    }

    /// Number of activities in the graph.
    #[getter]
    fn activities(&self) -> usize {
        self.graph.activities.len()
    }

    fn __repr__(&self) -> String {
        format!("<Page {} ({} activities)>", self.graph.name, self.graph.activities.len())
    }
}
