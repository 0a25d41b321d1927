//! Simulation with the interpreter released: one load, or many over threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

use crate::engine::{self, Options, Outcome};
use crate::page::Page;
use crate::scenario::Scenario;

/// How often a batch looks for Ctrl-C and reports progress: often enough to feel immediate.
const TICK: Duration = Duration::from_millis(100);

/// One load; the outcome as JSON.
#[pyfunction]
#[pyo3(signature = (page, scenario, run=0, *, trace=false))]
pub fn simulate<'py>(
    py: Python<'py>,
    page: &Page,
    scenario: &Scenario,
    run: u64,
    trace: bool,
) -> Bound<'py, PyBytes> {
    let json = py.detach(|| {
        to_json(&engine::simulate(&page.inner, &scenario.inner, run, &Options { trace }))
    });
    PyBytes::new(py, &json)
}

/// Many loads over `threads` threads (0: one a core); outcomes as JSON, in the order of the jobs.
/// Without `detail` they carry no resources and connections. `progress` is called with the number
/// of finished loads a few times a second, and what it raises ends the batch, as does Ctrl-C.
#[pyfunction]
#[pyo3(signature = (jobs, *, threads=0, detail=true, progress=None))]
pub fn simulate_batch<'py>(
    py: Python<'py>,
    jobs: Vec<(Py<Page>, Py<Scenario>, u64)>,
    threads: usize,
    detail: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let jobs: Vec<_> = jobs
        .iter()
        .map(|(page, scenario, run)| {
            (Arc::clone(&page.get().inner), Arc::clone(&scenario.get().inner), *run)
        })
        .collect();
    let report = |done: usize| {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(progress) = &progress {
                progress.call1(py, (done,))?;
            }
            Ok(())
        })
    };
    let outcomes = py.detach(|| run_batch(&jobs, threads, detail, report))?;
    Ok(outcomes.iter().map(|json| PyBytes::new(py, json)).collect())
}

fn run_batch(
    jobs: &[(Arc<engine::Page>, Arc<engine::Scenario>, u64)],
    threads: usize,
    detail: bool,
    report: impl Fn(usize) -> PyResult<()>,
) -> PyResult<Vec<Vec<u8>>> {
    let done = AtomicUsize::new(0);
    let cancelled = AtomicBool::new(false);
    let (finished, wait) = mpsc::channel();
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let work = |(page, scenario, run): &(Arc<engine::Page>, Arc<engine::Scenario>, u64)| {
                if cancelled.load(Ordering::Relaxed) {
                    return Vec::new();
                }
                let outcome = engine::simulate(page, scenario, *run, &Options { trace: false });
                done.fetch_add(1, Ordering::Relaxed);
                if detail { to_json(&outcome) } else { to_json(&Summary::of(&outcome)) }
            };
            let outcomes = engine::map_over_threads(jobs, threads, work);
            // The receiver outlives this thread; a failed send would change nothing.
            let _ = finished.send(());
            outcomes
        });
        let mut result = Ok(());
        while let Err(mpsc::RecvTimeoutError::Timeout) = wait.recv_timeout(TICK) {
            if result.is_ok() {
                result = report(done.load(Ordering::Relaxed));
                cancelled.store(result.is_err(), Ordering::Relaxed);
            }
        }
        let outcomes = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        result.and_then(|()| report(jobs.len())).map(|()| outcomes)
    })
}

/// An outcome without its lists.
#[derive(Serialize)]
struct Summary<'a> {
    label: &'a engine::Label,
    page: &'a str,
    seed: u64,
    run: u64,
    status: &'a engine::Status,
    plt_ms: Option<f64>,
    dcl_ms: Option<f64>,
    queues: &'a [engine::QueueOutcome],
    totals: &'a engine::Totals,
    trace_hash: &'a str,
}

impl<'a> Summary<'a> {
    fn of(outcome: &'a Outcome) -> Self {
        Self {
            label: &outcome.label,
            page: &outcome.page,
            seed: outcome.seed,
            run: outcome.run,
            status: &outcome.status,
            plt_ms: outcome.plt_ms,
            dcl_ms: outcome.dcl_ms,
            queues: &outcome.queues,
            totals: &outcome.totals,
            trace_hash: &outcome.trace_hash,
        }
    }
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("an outcome is plain data")
}
