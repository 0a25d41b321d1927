//! Simulation with the interpreter released: one load, or many over threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use loadpath_sim::{Columns, Job, Options, Summary, Values};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
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
    let jobs = jobs.into_iter().map(|(page, scenario, run)| Job { page, scenario, run }).collect();
    let batch = Batch::new(&pages, &scenarios, jobs, threads)?;
    let json = py.detach(|| batch.run(reporter(progress)).map(|summaries| to_json(&summaries)))?;
    Ok(PyBytes::new(py, &json))
}

/// Name, format string of the Arrow C data interface, and little-endian elements of a column.
type Column<'py> = (&'static str, &'static str, Bound<'py, PyBytes>);

/// Place in the list of jobs, and reason.
type Failure = (usize, String);

/// As `summarise_batch`, for sweeps: jobs are three columns of 64-bit little-endian integers (page
/// indices, scenario indices, runs), and so are the figures that come back, with the place and the
/// reason of each load that failed.
#[pyfunction]
#[pyo3(signature = (pages, scenarios, jobs, *, threads=0, progress=None))]
pub fn summarise_columns<'py>(
    py: Python<'py>,
    pages: Vec<Py<Page>>,
    scenarios: Vec<Py<Scenario>>,
    jobs: (PyBackedBytes, PyBackedBytes, PyBackedBytes),
    threads: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<Column<'py>>, Vec<Failure>)> {
    let batch = Batch::new(&pages, &scenarios, jobs_of_columns(&jobs)?, threads)?;
    let (columns, failures) = py.detach(|| -> PyResult<_> {
        let columns = Columns::new(&batch.run(reporter(progress))?);
        let encode = |(name, values): (_, Values)| (name, values.format(), values.to_le_bytes());
        Ok((columns.columns.into_iter().map(encode).collect::<Vec<_>>(), columns.failures))
    })?;
    let to_python = |(name, format, data): (_, _, Vec<u8>)| (name, format, PyBytes::new(py, &data));
    Ok((columns.into_iter().map(to_python).collect(), failures))
}

fn jobs_of_columns(
    (pages, scenarios, runs): &(PyBackedBytes, PyBackedBytes, PyBackedBytes),
) -> PyResult<Vec<Job>> {
    if pages.len() % 8 != 0 || pages.len() != scenarios.len() || pages.len() != runs.len() {
        return Err(PyValueError::new_err("columns of jobs differ in length"));
    }
    let integers = |column: &PyBackedBytes| -> Vec<u64> {
        let element = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        column.chunks_exact(8).map(element).collect()
    };
    let index = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    Ok(integers(pages)
        .into_iter()
        .zip(integers(scenarios))
        .zip(integers(runs))
        .map(|((page, scenario), run)| Job { page: index(page), scenario: index(scenario), run })
        .collect())
}

/// Looks for Ctrl-C and calls `progress` with the number of finished loads.
fn reporter(progress: Option<Py<PyAny>>) -> impl Fn(usize) -> PyResult<()> {
    move |done| {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(progress) = &progress {
                progress.call1(py, (done,))?;
            }
            Ok(())
        })
    }
}

struct Batch {
    pages: Vec<Arc<loadpath_web::page::Page>>,
    scenarios: Vec<loadpath_sim::Scenario>,
    jobs: Vec<Job>,
    threads: usize,
}

impl Batch {
    fn new(
        pages: &[Py<Page>],
        scenarios: &[Py<Scenario>],
        jobs: Vec<Job>,
        threads: usize,
    ) -> PyResult<Self> {
        if !jobs.iter().all(|job| job.page < pages.len() && job.scenario < scenarios.len()) {
            return Err(PyIndexError::new_err("a job names a page or scenario that is not given"));
        }
        Ok(Batch {
            pages: pages.iter().map(|page| Arc::clone(&page.get().inner)).collect(),
            scenarios: scenarios
                .iter()
                .map(|s| loadpath_sim::Scenario::clone(&s.get().inner))
                .collect(),
            jobs,
            threads,
        })
    }

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
