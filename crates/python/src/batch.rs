//! Simulation with the interpreter released: one load, or many over threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use loadpath_sim::{Job, Options, Summary};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Serialize;

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
        let options = Options { trace };
        to_json(&loadpath_sim::simulate(&page.inner, &scenario.inner, run, &options))
    });
    PyBytes::new(py, &json)
}

/// Many loads over `threads` threads (0: one a core): jobs are (page index, scenario index, run), the
/// result is a JSON list of summaries in their order. `progress` is called with the number of
/// finished loads a few times a second, and what it raises ends the batch, as does Ctrl-C.
#[pyfunction]
#[pyo3(signature = (pages, scenarios, jobs, *, threads=0, progress=None))]
pub fn summarise_batch<'py>(
    py: Python<'py>,
    pages: Vec<Py<Page>>,
    scenarios: Vec<Py<Scenario>>,
    jobs: Vec<(usize, usize, u64)>,
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyBytes>> {
    let in_range = |&(page, scenario, _): &(usize, usize, u64)| {
        page < pages.len() && scenario < scenarios.len()
    };
    if !jobs.iter().all(in_range) {
        return Err(PyIndexError::new_err("a job names a page or scenario that is not given"));
    }
    let batch = Batch {
        pages: pages.iter().map(|page| Arc::clone(&page.get().inner)).collect(),
        scenarios: scenarios
            .iter()
            .map(|s| loadpath_sim::Scenario::clone(&s.get().inner))
            .collect(),
        jobs: jobs.into_iter().map(|(page, scenario, run)| Job { page, scenario, run }).collect(),
        threads,
    };
    let report = |done: usize| {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(progress) = &progress {
                progress.call1(py, (done,))?;
            }
            Ok(())
        })
    };
    let json = py.detach(|| batch.run(report).map(|summaries| to_json(&summaries)))?;
    Ok(PyBytes::new(py, &json))
}

struct Batch {
    pages: Vec<Arc<loadpath_web::page::Page>>,
    scenarios: Vec<loadpath_sim::Scenario>,
    jobs: Vec<Job>,
    threads: usize,
}

impl Batch {
    /// Runs in a thread of its own while this one reports.
    fn run(&self, report: impl Fn(usize) -> PyResult<()>) -> PyResult<Vec<Summary>> {
        let pages: Vec<_> = self.pages.iter().map(|page| &**page).collect();
        let done = AtomicUsize::new(0);
        let cancel = AtomicBool::new(false);
        // The sender is dropped, and the receiver told, when the batch ends in whichever way.
        let (running, ended) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let (pages, done, cancel) = (&pages, &done, &cancel);
            let worker = scope.spawn(move || {
                let _running = running;
                let finished = || {
                    done.fetch_add(1, Ordering::Relaxed);
                };
                loadpath_sim::run_batch(
                    pages,
                    &self.scenarios,
                    &self.jobs,
                    self.threads,
                    cancel,
                    finished,
                )
            });
            let mut reported = Ok(());
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                if reported.is_ok() {
                    reported = report(done.load(Ordering::Relaxed));
                    cancel.store(reported.is_err(), Ordering::Relaxed);
                }
            }
            // A panic in the engine reaches Python as PanicException.
            let summaries = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            reported?;
            report(self.jobs.len())?;
            Ok(summaries.expect("only a failed report cancels"))
        })
    }
}

fn to_json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("outcomes are plain data")
}
