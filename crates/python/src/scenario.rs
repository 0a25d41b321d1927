//! Scenarios.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::engine;
use crate::errors::scenario_error;

/// Every parameter of a load, resolved and checked.
#[pyclass(frozen, module = "loadpath._core")]
pub struct Scenario {
    pub inner: Arc<engine::Scenario>,
}

#[pymethods]
impl Scenario {
    /// Profile, then TOML (content, origin), then overrides of dotted keys; the later wins.
    #[staticmethod]
    #[pyo3(signature = (profile=None, toml=None, overrides=Vec::new()))]
    fn resolve(
        profile: Option<&str>,
        toml: Option<(String, String)>,
        overrides: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let toml = toml.as_ref().map(|(text, origin)| (text.as_str(), origin.as_str()));
        let scenario = engine::Scenario::resolve(profile, toml, &overrides)
            .map_err(|error| scenario_error(&error))?;
        Ok(Self { inner: Arc::new(scenario) })
    }

    /// TOML with every value resolved.
    fn to_toml(&self) -> String {
        self.inner.to_toml()
    }

    /// JSON with every value resolved.
    fn to_json<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let json = serde_json::to_vec(&*self.inner).expect("a scenario is plain data");
        PyBytes::new(py, &json)
    }
}
