//! Scenarios.

use std::sync::Arc;

use loadpath_sim::scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::scenario_error;

/// Every parameter of a load, resolved and checked.
#[pyclass(frozen, module = "loadpath._core")]
pub struct Scenario {
    pub inner: Arc<scenario::Scenario>,
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
        let scenario = scenario::Scenario::resolve(profile, toml, &overrides)
            .map_err(|error| scenario_error(&error))?;
        Ok(Self { inner: Arc::new(scenario) })
    }

    /// TOML with every value resolved.
    fn to_toml(&self) -> String {
        self.inner.to_toml()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    fn __repr__(&self) -> String {
        format!("<Scenario profile {}>", self.inner.profile)
    }
}

/// Documentation of every scenario key: name, meaning, what is allowed, and for each profile the
/// value as TOML and its source.
#[pyfunction]
pub fn scenario_keys(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let profiles = ["pcp", "linux"].map(|name| {
        (name, scenario::Scenario::profile(name).expect("both profiles are in Profile::ALL"))
    });
    scenario::KEYS
        .iter()
        .map(|key| {
            let documentation = PyDict::new(py);
            documentation.set_item("name", key.name)?;
            documentation.set_item("doc", key.doc)?;
            documentation.set_item("allowed", (key.allowed)())?;
            for (name, scenario) in &profiles {
                let value = scenario.get(key.name).map(|value| value.to_string());
                documentation.set_item(*name, value)?;
            }
            documentation.set_item("pcp_source", key.pcp_source)?;
            documentation.set_item("linux_source", key.linux_source)?;
            Ok(documentation)
        })
        .collect()
}
