//! Links in real time. The process that runs one is made for it and has no other use, see
//! `loadpath.testbed.host`.

use std::os::fd::RawFd;

use loadpath_net::{Direction, Loss, SimDuration, Streams};
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

    /// Starts a link with the first bottleneck of a scenario. `delay_ms` is the one-way delay towards
    /// the client and towards the server; the packets with the ordinals in `drop_down` and `drop_up`
    /// are dropped instead of random ones, if given.
    #[pyo3(signature = (scenario, congestion, delay_ms, run=0, drop_down=None, drop_up=None))]
    fn start_link(
        &mut self,
        scenario: &Scenario,
        congestion: String,
        delay_ms: (f64, f64),
        run: u64,
        drop_down: Option<Vec<u64>>,
        drop_up: Option<Vec<u64>>,
    ) -> PyResult<RunningLink> {
        let scenario = &scenario.inner;
        let streams = Streams::new(scenario.random.seed, run);
        let hop = |direction, delay_ms, drops: Option<Vec<u64>>| {
            let delay = SimDuration::from_millis_f64(delay_ms);
            let hop = scenario.bottleneck(BottleneckId::First, direction, delay, &streams);
            let hop = hop.counting_waiting();
            match drops {
                Some(ordinals) => hop.losing(Loss::pattern(ordinals)),
                None => hop,
            }
        };
        let config = testbed::LinkConfig {
            down: hop(Direction::Down, delay_ms.0, drop_down),
            up: hop(Direction::Up, delay_ms.1, drop_up),
            overhead_bytes: scenario.transport.link_header_bytes as u32,
            initial_window_segments: scenario.transport.initial_window_segments,
            congestion,
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

/// The client's address, the server's first one, and a range of which all are the server's.
#[pyfunction]
pub fn link_addresses() -> (&'static str, &'static str, &'static str) {
    (testbed::CLIENT_ADDRESS, testbed::SERVER_ADDRESS, testbed::SERVER_ADDRESSES)
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
