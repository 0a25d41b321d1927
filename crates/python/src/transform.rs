//! Transforms of page graphs.

use loadpath_web::graph::PageGraph;
use loadpath_web::transform::{FORMS, Transform};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{graph_error, transform_error};

/// Changes a page graph by a transform in its text form. `origin` names the graph in errors.
#[pyfunction]
#[pyo3(signature = (graph, transform, origin="the page graph"))]
pub fn transform_graph<'py>(
    py: Python<'py>,
    graph: &[u8],
    transform: &str,
    origin: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let json = py.detach(|| -> PyResult<String> {
        let graph = PageGraph::from_json(graph, origin).map_err(|error| graph_error(&error))?;
        Ok(apply(&graph, transform)?.to_json())
    })?;
    Ok(PyBytes::new(py, json.as_bytes()))
}

/// Text form and meaning of each transform.
#[pyfunction]
pub fn transform_forms() -> Vec<(&'static str, &'static str)> {
    FORMS.iter().map(|&(_, form, meaning)| (form, meaning)).collect()
}

pub fn apply(graph: &PageGraph, transform: &str) -> PyResult<PageGraph> {
    transform
        .parse::<Transform>()
        .and_then(|transform| transform.apply(graph))
        .map_err(|error| transform_error(&error))
}
