//! Many loads over all cores. Results do not depend on the number of threads: every load is a pure
//! function of page, scenario and run.

mod columns;

use std::sync::atomic::{AtomicBool, Ordering};

use loadpath_web::page::Page;
use rayon::prelude::*;

pub use columns::{Columns, Values};

use crate::load::{Summary, summarise};
use crate::scenario::Scenario;

/// One load of a batch, by index into the pages and scenarios given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Index of the page.
    pub page: usize,
    /// Index of the scenario.
    pub scenario: usize,
    /// Repetition.
    pub run: u64,
}

/// Runs `jobs` on `threads` threads (0: one a core) and returns their summaries in order of jobs.
///
/// `finished` is called after each load from whichever thread ran it. If `cancel` becomes true, no
/// further load starts and the result is `None`.
///
/// # Panics
/// If the operating system cannot start the threads, or a job's index is out of range.
pub fn run_batch(
    pages: &[&Page],
    scenarios: &[Scenario],
    jobs: &[Job],
    threads: usize,
    cancel: &AtomicBool,
    finished: impl Fn() + Sync,
) -> Option<Vec<Summary>> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("the operating system can start threads");
    pool.install(|| {
        jobs.par_iter()
            .with_max_len(8)
            .map(|job| {
                if cancel.load(Ordering::Relaxed) {
                    return None;
                }
                let summary = summarise(pages[job.page], &scenarios[job.scenario], job.run);
                finished();
                Some(summary)
            })
            .collect()
    })
}
