//! Importers: text in, text out; Python reads and writes the files.

use loadpath_web::graph::GraphError;
use loadpath_web::import::{InputFile, pcp};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::errors::corpus_error;

/// The folders of the public origin: graphs, delays, distributions.
#[pyfunction]
pub fn origin_folders() -> (&'static str, &'static str, &'static str) {
    (pcp::ORIGIN_GRAPHS, pcp::ORIGIN_DELAYS, pcp::ORIGIN_DISTRIBUTIONS)
}

/// Pages of the corpus folder, from its `index.json`.
#[pyfunction]
pub fn parse_corpus_index<'py>(
    py: Python<'py>,
    data: &[u8],
    origin: &str,
) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let pages = pcp::parse_index(InputFile { origin, bytes: data })
        .map_err(|error| corpus_error(&error))?;
    pages.iter().map(|page| describe(py, page)).collect()
}

/// Pages of the public origin, from the names of its graph files.
#[pyfunction]
pub fn pages_in_origin(
    py: Python<'_>,
    file_names: Vec<String>,
) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let pages = pcp::pages_in_origin(file_names.iter().map(String::as_str));
    pages.iter().map(|page| describe(py, page)).collect()
}

fn describe<'py>(py: Python<'py>, page: &pcp::CorpusPage) -> PyResult<Bound<'py, PyDict>> {
    let fields = PyDict::new(py);
    fields.set_item("name", &page.name)?;
    fields.set_item("original_name", &page.original_name)?;
    fields.set_item("number", page.number)?;
    fields.set_item("graph", &page.graph)?;
    fields.set_item("delays", &page.delays)?;
    fields.set_item("no_sharding", page.no_sharding)?;
    Ok(fields)
}

/// One graph of the corpus in our format, with the delays of its page: (page graph as JSON, whether
/// it is sharded, counts as JSON). Files are (content, origin).
#[pyfunction]
#[pyo3(signature = (name, graph, delays=None, server_delay_file=None, fetch_late_references=false))]
pub fn import_graph<'py>(
    py: Python<'py>,
    name: &str,
    graph: (Vec<u8>, String),
    delays: Option<(Vec<u8>, String)>,
    server_delay_file: Option<String>,
    fetch_late_references: bool,
) -> PyResult<(Bound<'py, PyBytes>, bool, Bound<'py, PyBytes>)> {
    let imported = py.detach(|| -> Result<_, GraphError> {
        let delays = delays.as_ref().map(|(bytes, origin)| InputFile { origin, bytes });
        let (bytes, origin) = &graph;
        let (mut page, mut report) = pcp::import_graph(name, InputFile { origin, bytes }, delays)?;
        if !fetch_late_references {
            report.late_references_served = pcp::serve_late_references(&mut page);
        }
        page.server_delay_file = server_delay_file;
        let sharded = pcp::is_sharded(&page);
        let report = serde_json::to_vec(&report).expect("counts are plain data");
        Ok((page.to_json(), sharded, report))
    });
    let (page, sharded, report) = imported.map_err(|error| corpus_error(&error))?;
    Ok((PyBytes::new(py, page.as_bytes()), sharded, PyBytes::new(py, &report)))
}

/// Distributions of server delay in our format, from the corpus's `.dist` files, each
/// (file name, content, origin); files of other names are ignored.
#[pyfunction]
pub fn import_distributions<'py>(
    py: Python<'py>,
    files: Vec<(String, Vec<u8>, String)>,
) -> PyResult<Bound<'py, PyBytes>> {
    let files: Vec<_> = files
        .iter()
        .filter_map(|(name, bytes, origin)| {
            Some((pcp::distribution_class(name)?, InputFile { origin, bytes }))
        })
        .collect();
    let delays = pcp::import_distributions(&files).map_err(|error| corpus_error(&error))?;
    Ok(PyBytes::new(py, delays.to_json().as_bytes()))
}
