//! Pages and the server delays that several pages share.

use std::collections::BTreeMap;
use std::sync::Arc;

use loadpath_net::SimDuration;
use loadpath_web::graph::{self, PageGraph, Topology, priority};
use loadpath_web::page;
use pyo3::prelude::*;

use crate::errors::graph_error;

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
    about: Arc<About>,
}

/// What of the graph the compiled page does not keep.
struct About {
    url: String,
    source: String,
    server_delay_file: Option<String>,
    activities: usize,
}

#[pymethods]
impl Page {
    /// Reads a page graph; `origin` names it in errors.
    #[staticmethod]
    fn from_json(py: Python<'_>, data: &[u8], origin: &str) -> PyResult<Self> {
        py.detach(|| {
            let graph = PageGraph::from_json(data, origin).map_err(|error| graph_error(&error))?;
            let page = page::Page::compile(&graph).map_err(|error| graph_error(&error))?;
            let about = About {
                url: graph.url,
                source: graph.source,
                server_delay_file: graph.server_delay_file,
                activities: graph.activities.len(),
            };
            Ok(Self { inner: Arc::new(page), about: Arc::new(about) })
        })
    }

    /// The page with a source of server delays for the resources that have none measured.
    fn with_server_delays(&self, delays: &ServerDelays) -> Self {
        let page = page::Page::clone(&self.inner).with_server_delays(Arc::clone(&delays.inner));
        Self { inner: Arc::new(page), about: Arc::clone(&self.about) }
    }

    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    #[getter]
    fn url(&self) -> &str {
        &self.about.url
    }

    #[getter]
    fn source(&self) -> &str {
        &self.about.source
    }

    /// Bare name of the server-delay file that the graph refers to.
    #[getter]
    fn server_delay_file(&self) -> Option<&str> {
        self.about.server_delay_file.as_deref()
    }

    /// Number of activities in the graph.
    #[getter]
    fn activities(&self) -> usize {
        self.about.activities
    }

    /// Number of http and https resources before the load event.
    #[getter]
    fn resources(&self) -> usize {
        self.inner.resources.len()
    }

    fn __repr__(&self) -> String {
        format!("<Page {} ({} activities)>", self.inner.name, self.about.activities)
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
