//! STUB until the engine is merged: the same names, a fixed outcome.
use std::thread;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
pub use loadpath_sim::outcome::{Outcome, Label, Status, QueueOutcome, Totals};
pub use loadpath_sim::scenario::{KEYS, Scenario};

pub use loadpath_web::page::Page;
pub struct Options { pub trace: bool }
pub fn simulate(page: &Page, _s: &Scenario, run: u64, o: &Options) -> Outcome {
    Outcome { label: Label::Simulated, page: page.name.clone(), seed: 1, run, status: Status::Complete, plt_ms: Some(100.0 + run as f64), dcl_ms: Some(50.0), resources: vec![], connections: vec![], queues: vec![], totals: Totals::default(), trace_hash: "0".into(), trace: o.trace.then(Default::default) }
}
pub fn map_over_threads<T: Sync, R: Send>(jobs: &[T], threads: usize, f: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let n = if threads == 0 { 2 } else { threads };
    let next = AtomicUsize::new(0);
    let out: Mutex<Vec<(usize, R)>> = Mutex::new(vec![]);
    thread::scope(|s| { for _ in 0..n { s.spawn(|| loop { let i = next.fetch_add(1, Ordering::Relaxed); if i >= jobs.len() { break; } let r = f(&jobs[i]); out.lock().unwrap().push((i, r)); }); } });
    let mut v = out.into_inner().unwrap(); v.sort_by_key(|x| x.0); v.into_iter().map(|x| x.1).collect()
}
