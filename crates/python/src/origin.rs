//! The origin server. The process that runs one is made for it, see `loadpath.testbed.origin_process`.

use loadpath_origin::Config;
use pyo3::prelude::*;

use crate::errors::origin_error;

/// Serves an archive until SIGTERM; prints a line of JSON when ready and one at the end. `config` is
/// the JSON of `loadpath_origin::Config`.
#[pyfunction]
pub fn run_origin(py: Python<'_>, config: &[u8]) -> PyResult<()> {
    py.detach(|| {
        let config = Config::from_json(config)?;
        loadpath_origin::run(&config)
    })
    .map_err(|error| origin_error(&error))
}
