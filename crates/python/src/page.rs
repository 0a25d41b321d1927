//! Pages and the server delays that several pages share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use loadpath_net::SimDuration;
use loadpath_web::graph::{self, ActivityKind, PageGraph, Topology, priority};
use loadpath_web::page;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::graph_error;
use crate::transform::apply;

/// Distributions of server processing delay, one for each type of resource.
#[pyclass(frozen, module = "loadpath._core")]
pub struct ServerDelays {
    inner: Arc<graph::ServerDelays>,
}

#[pymethods]
impl ServerDelays {
    /// Reads a server-delay file; `origin` names it in errors.
    #[staticmethod]
    fn from_json(data: &[u8], origin: &str) -> PyResult<Self> {
        let delays =
            graph::ServerDelays::from_json(data, origin).map_err(|error| graph_error(&error))?;
        Ok(Self { inner: Arc::new(delays) })
    }
}

/// A page graph, checked and compiled for simulation.
#[pyclass(frozen, module = "loadpath._core")]
pub struct Page {
    pub inner: Arc<page::Page>,
    /// As it was read: what transforms change.
    graph: Arc<PageGraph>,
    server_delays: Option<Arc<graph::ServerDelays>>,
}

impl Page {
    fn compile(graph: PageGraph) -> PyResult<Self> {
        let page = page::Page::compile(&graph).map_err(|error| graph_error(&error))?;
        Ok(Self { inner: Arc::new(page), graph: Arc::new(graph), server_delays: None })
    }

    fn drawing_delays_from(&self, delays: &Arc<graph::ServerDelays>) -> Self {
        let page = page::Page::clone(&self.inner).with_server_delays(Arc::clone(delays));
        let graph = Arc::clone(&self.graph);
        Self { inner: Arc::new(page), graph, server_delays: Some(Arc::clone(delays)) }
    }
}

#[pymethods]
impl Page {
    /// Reads a page graph; `origin` names it in errors.
    #[staticmethod]
    fn from_json(py: Python<'_>, data: &[u8], origin: &str) -> PyResult<Self> {
        py.detach(|| {
            let graph = PageGraph::from_json(data, origin).map_err(|error| graph_error(&error))?;
            Self::compile(graph)
        })
    }

    /// The page with a source of server delays for the resources that have none measured.
    fn with_server_delays(&self, delays: &ServerDelays) -> Self {
        self.drawing_delays_from(&delays.inner)
    }

    /// The page after a transform (`loadpath_web::transform`).
    fn transformed(&self, py: Python<'_>, transform: &str) -> PyResult<Self> {
        py.detach(|| {
            let changed = Self::compile(apply(&self.graph, transform)?)?;
            Ok(match &self.server_delays {
                Some(delays) => changed.drawing_delays_from(delays),
                None => changed,
            })
        })
    }

    /// The page graph.
    fn to_json<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, py.detach(|| self.graph.to_json()).as_bytes())
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn url(&self) -> &str {
        &self.graph.url
    }

    #[getter]
    fn source(&self) -> &str {
        &self.graph.source
    }

    /// Bare name of the server-delay file that the graph refers to.
    #[getter]
    fn server_delay_file(&self) -> Option<&str> {
        self.graph.server_delay_file.as_deref()
    }

    /// Number of activities in the graph.
    #[getter]
    fn activities(&self) -> usize {
        self.graph.activities.len()
    }

    /// Number of http and https resources before the load event.
    #[getter]
    fn resources(&self) -> usize {
        self.inner.resources.len()
    }

    /// Number of hosts of http and https resources in the graph.
    #[getter]
    fn hosts(&self) -> usize {
        let hosts = self.graph.activities.iter().filter_map(|activity| match &activity.kind {
            ActivityKind::Resource(resource) => page::http_host(&resource.url),
            _ => None,
        });
        hosts.collect::<BTreeSet<_>>().len()
    }

    fn __repr__(&self) -> String {
        format!("<Page {} ({} activities)>", self.inner.name, self.graph.activities.len())
    }
}

/// Reads and validates a page graph; the duration of each activity in the recording, by id, in
/// milliseconds (thesis section 3.5.3.2). `origin` names the graph in errors.
#[pyfunction]
pub fn recorded_durations_ms(
    py: Python<'_>,
    data: &[u8],
    origin: &str,
) -> PyResult<BTreeMap<String, f64>> {
    py.detach(|| {
        let graph = PageGraph::from_json(data, origin).map_err(|error| graph_error(&error))?;
        let durations = priority::recorded_durations(&graph, &Topology::new(&graph));
        let in_ms = durations.into_iter().map(|ns| SimDuration(ns).as_millis_f64());
        Ok(graph.activities.into_iter().map(|activity| activity.id).zip(in_ms).collect())
    })
}
