//! Links in real time. The process that runs one is made for it and has no other use, see
//! `loadpath.testbed.host`.

use std::os::fd::RawFd;
use std::path::PathBuf;

use loadpath_net::{Direction, SimDuration, Streams};
use loadpath_sim::scenario::BottleneckId;
use loadpath_testbed as testbed;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::link_error;
use crate::scenario::Scenario;

/// A network namespace for the client and one for the server.
#[pyclass(module = "loadpath._core")]
pub struct Namespaces {
    /// `None` once a link runs between them.
    inner: Option<testbed::Namespaces>,
    descriptors: (RawFd, RawFd),
}

#[pymethods]
impl Namespaces {
    /// Makes both; children made from now on are in a process-id namespace.
    #[staticmethod]
    fn create() -> PyResult<Self> {
        let inner = testbed::Namespaces::create().map_err(|error| link_error(&error))?;
        let descriptors = inner.descriptors();
        Ok(Self { inner: Some(inner), descriptors })
    }

    /// Descriptors of the client's and the server's, for `enter_namespaces`.
    #[getter]
    fn descriptors(&self) -> (RawFd, RawFd) {
        self.descriptors
    }

    /// Starts a link with the bottlenecks of a scenario. `delay_ms` is, path by path, the one-way delay
    /// towards the client and towards the server; `tap` is a file for a capture.
    #[pyo3(signature = (scenario, congestion, delay_ms, run=0, tap=None))]
    fn start_link(
        &mut self,
        scenario: &Scenario,
        congestion: String,
        delay_ms: Vec<(f64, f64)>,
        run: u64,
        tap: Option<PathBuf>,
    ) -> PyResult<RunningLink> {
        let scenario = &scenario.inner;
        let streams = Streams::new(scenario.random.seed, run);
        let hop = |bottleneck, direction, delay_ms| {
            let delay = SimDuration::from_millis_f64(delay_ms);
            scenario.bottleneck(bottleneck, direction, delay, &streams).counting_waiting()
        };
        let bottlenecks = [BottleneckId::First, BottleneckId::Second];
        let config = testbed::LinkConfig {
            paths: bottlenecks
                .into_iter()
                .zip(delay_ms)
                .map(|(bottleneck, (down_ms, up_ms))| testbed::PathConfig {
                    down: hop(bottleneck, Direction::Down, down_ms),
                    up: hop(bottleneck, Direction::Up, up_ms),
                })
                .collect(),
            first_path: scenario.first_path(),
            overhead_bytes: scenario.transport.link_header_bytes as u32,
            initial_window_segments: scenario.transport.initial_window_segments,
            congestion,
            tap,
        };
        let namespaces = self
            .inner
            .take()
            .ok_or_else(|| PyRuntimeError::new_err("a link runs in these namespaces already"))?;
        let inner =
            testbed::RunningLink::start(namespaces, config).map_err(|error| link_error(&error))?;
        Ok(RunningLink { inner: Some(inner) })
    }
}

/// A link that runs.
#[pyclass(module = "loadpath._core")]
pub struct RunningLink {
    inner: Option<testbed::RunningLink>,
}

#[pymethods]
impl RunningLink {
    /// True if it stopped by itself, because a device failed.
    #[getter]
    fn failed(&self) -> bool {
        self.inner.as_ref().is_none_or(testbed::RunningLink::failed)
    }

    /// Stops it; the report as JSON.
    fn stop<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let link =
            self.inner.take().ok_or_else(|| PyRuntimeError::new_err("the link was stopped"))?;
        let report = py.detach(|| link.stop()).map_err(|error| link_error(&error))?;
        Ok(PyBytes::new(py, &serde_json::to_vec(&report).expect("plain data serialises")))
    }
}

/// The client's addresses, path by path, the server's first one, and a range of which all are the
/// server's.
#[pyfunction]
pub fn link_addresses() -> ([&'static str; 2], &'static str, &'static str) {
    (testbed::CLIENT_ADDRESSES, testbed::SERVER_ADDRESS, testbed::SERVER_ADDRESSES)
}

/// Completes the namespaces from within, as their first process.
#[pyfunction]
pub fn become_init() -> PyResult<()> {
    testbed::become_init().map_err(|error| link_error(&error))
}

/// The kernel kills this process when its parent ends.
#[pyfunction]
pub fn die_with_parent() -> PyResult<()> {
    testbed::die_with_parent().map_err(|error| link_error(&error))
}

/// Moves this process into the namespaces that process `owner` made, and into the network namespace
/// that it has open as `network`; children are in its process-id namespace.
#[pyfunction]
pub fn enter_namespaces(owner: u32, network: RawFd) -> PyResult<()> {
    testbed::enter(owner, network).map_err(|error| link_error(&error))
}
