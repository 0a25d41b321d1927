//! The same scenario gives the same load: again, traced, in a batch on any number of threads, in debug
//! and in release builds.
//!
//! The last is kept by `golden/loads.txt`, with keys that came later by `golden/later.txt`, over several paths by
//! `golden/multipath.txt`, and over paths that die or come by `golden/outages.txt`, one line a load, which every build
//! must reproduce. After a change that is meant to move numbers, write it anew and read the difference:
//!
//! ```text
//! LOADPATH_UPDATE_GOLDEN=1 cargo test --release -p loadpath-sim --test determinism
//! ```

mod support;

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use loadpath_sim::outcome::{Outcome, PacketEvent, Status};
use loadpath_sim::{Job, Options, Scenario, Summary, run_batch, simulate, summarise};
use loadpath_web::graph::ServerDelays;
use loadpath_web::page::Page;
use support::random_scenario::{
    changes, is_list, later_changes, multipath_changes, outage_changes, random_later_scenario,
    random_multipath_scenario, random_outage_scenario, random_scenario,
};
use support::{example_page, ns};

const SCENARIOS: u64 = 200;

const PAGES: [&str; 6] =
    ["figure-3-1", "shape-baidu", "shape-live", "shape-google", "spdy-page-c", "shape-wikipedia"];

fn pages() -> Vec<Page> {
    let delays = include_str!("golden/server-delays.json");
    let delays = ServerDelays::from_json(delays.as_bytes(), "server-delays.json").unwrap();
    let delays = std::sync::Arc::new(delays);
    PAGES
        .iter()
        .map(|name| {
            let mut page = example_page(name);
            // Some delays are drawn.
            page.resources.iter_mut().step_by(3).for_each(|r| r.server_delay = None);
            page.with_server_delays(delays.clone())
        })
        .collect()
}

struct Loads {
    pages: Vec<Page>,
    scenarios: Vec<Scenario>,
    jobs: Vec<Job>,
    outcomes: Vec<Outcome>,
}

impl Loads {
    fn new(scenario: fn(u64) -> Scenario) -> Loads {
        let pages = pages();
        let scenarios: Vec<Scenario> = (0..SCENARIOS).map(scenario).collect();
        let jobs: Vec<Job> = (0..scenarios.len())
            .map(|i| Job { page: i % pages.len(), scenario: i, run: i as u64 % 3 })
            .collect();
        let outcomes = jobs
            .iter()
            .map(|j| simulate(&pages[j.page], &scenarios[j.scenario], j.run, &Options::default()))
            .collect();
        Loads { pages, scenarios, jobs, outcomes }
    }

    fn again(&self, job: &Job, trace: bool) -> Outcome {
        let scenario = &self.scenarios[job.scenario];
        simulate(&self.pages[job.page], scenario, job.run, &Options { trace })
    }
}

/// All loads over a single path, computed once for all tests.
fn loads() -> &'static Loads {
    static LOADS: OnceLock<Loads> = OnceLock::new();
    LOADS.get_or_init(|| Loads::new(random_scenario))
}

/// The same over several paths.
fn multipath_loads() -> &'static Loads {
    static LOADS: OnceLock<Loads> = OnceLock::new();
    LOADS.get_or_init(|| Loads::new(random_multipath_scenario))
}

/// Over several paths, which die or come.
fn outage_loads() -> &'static Loads {
    static LOADS: OnceLock<Loads> = OnceLock::new();
    LOADS.get_or_init(|| Loads::new(random_outage_scenario))
}

/// Over a single path, with keys that came after the first golden file.
fn later_loads() -> &'static Loads {
    static LOADS: OnceLock<Loads> = OnceLock::new();
    LOADS.get_or_init(|| Loads::new(random_later_scenario))
}

#[test]
fn a_load_repeated_is_the_same_load() {
    for l in [loads(), later_loads(), multipath_loads(), outage_loads()] {
        for (job, outcome) in l.jobs.iter().zip(&l.outcomes) {
            assert_eq!(&l.again(job, false), outcome, "scenario {}", job.scenario);
        }
    }
}

#[test]
fn a_trace_changes_nothing() {
    for l in [loads(), later_loads(), multipath_loads(), outage_loads()] {
        for (job, outcome) in l.jobs.iter().zip(&l.outcomes) {
            let mut traced = l.again(job, true);
            let trace = traced.trace.take().expect("asked for");
            let sent = trace.packets.iter().filter(|p| p.event == PacketEvent::Sent).count();
            assert_eq!(sent as u64, outcome.totals.packets);
            assert_eq!(&traced, outcome, "scenario {}", job.scenario);
        }
    }
}

#[test]
fn batches_on_1_2_and_5_threads_give_the_summaries_of_single_loads() {
    for l in [loads(), later_loads(), multipath_loads(), outage_loads()] {
        batches_give_the_summaries_of_single_loads(l);
    }
}

fn batches_give_the_summaries_of_single_loads(l: &Loads) {
    let pages: Vec<&Page> = l.pages.iter().collect();
    let single: Vec<Summary> =
        l.jobs.iter().map(|j| summarise(pages[j.page], &l.scenarios[j.scenario], j.run)).collect();
    for (summary, outcome) in single.iter().zip(&l.outcomes) {
        assert_eq!((&summary.status, summary.plt_ms), (&outcome.status, outcome.plt_ms));
        assert_eq!((summary.dcl_ms, &summary.totals), (outcome.dcl_ms, &outcome.totals));
        assert_eq!(summary.connections, outcome.connections.len() as u64);
        assert_eq!(summary.requests, outcome.resources.len() as u64);
    }
    for threads in [1, 2, 5] {
        let finished = AtomicUsize::new(0);
        let count = || {
            finished.fetch_add(1, Ordering::Relaxed);
        };
        let cancel = AtomicBool::new(false);
        let batch = run_batch(&pages, &l.scenarios, &l.jobs, threads, &cancel, count);
        assert_eq!(batch.as_ref(), Some(&single), "{threads} threads");
        assert_eq!(finished.into_inner(), l.jobs.len());
    }
}

#[test]
fn a_cancelled_batch_gives_nothing() {
    let l = loads();
    let pages: Vec<&Page> = l.pages.iter().collect();
    let cancel = AtomicBool::new(true);
    assert_eq!(run_batch(&pages, &l.scenarios, &l.jobs, 2, &cancel, || {}), None);
}

// Draws that never load, or all alike, would prove little.
#[test]
fn the_random_scenarios_use_every_key_and_most_of_them_load() {
    let drawn = |n| {
        let families = [changes, later_changes, multipath_changes, outage_changes];
        families.into_iter().flat_map(move |changes| changes(n).1)
    };
    let changed: BTreeSet<String> = (0..SCENARIOS).flat_map(drawn).map(|(key, _)| key).collect();
    let lists = loadpath_sim::scenario::KEYS.iter().filter(|key| is_list(key)).count();
    assert_eq!(changed.len() + lists, loadpath_sim::scenario::KEYS.len());
    for l in [loads(), later_loads(), multipath_loads()] {
        most_of_them_load(&l.outcomes);
    }
    // Of those whose paths die many do not, and must not all.
    let loaded = outage_loads().outcomes.iter().filter(|o| o.status == Status::Complete).count();
    assert!((100..200).contains(&loaded), "{loaded} loaded");
}

fn most_of_them_load(outcomes: &[Outcome]) {
    let loaded = outcomes.iter().filter(|o| o.status == Status::Complete).count();
    let lossy = outcomes.iter().filter(|o| o.totals.retransmissions > 0).count();
    // A name that is not known in time sends no packets.
    let loads = outcomes.iter().filter(|o| o.totals.packets > 0);
    let sent = loads.clone().count();
    let hashes: BTreeSet<&str> = loads.map(|o| o.trace_hash.as_str()).collect();
    for (i, o) in outcomes.iter().enumerate() {
        if let Status::Failed { reason } = &o.status {
            println!("{i} {}: {reason}", o.page);
        }
    }
    println!("{loaded} loaded, {lossy} with retransmissions, {} hashes", hashes.len());
    assert!((150..200).contains(&loaded), "{loaded} loaded");
    assert!(lossy >= 50, "{lossy} with retransmissions");
    // Scenarios that differ little (one unused key) may load alike.
    assert!(hashes.len() >= 190, "{} different of {sent} loads", hashes.len());
}

fn golden(outcomes: &[Outcome]) -> String {
    let mut text = String::from(
        "# load, page, plt_ns, dcl_ns, packets, bytes, drops, retransmissions, events, trace_hash\n",
    );
    let time = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| ns(ms).to_string());
    for (i, o) in outcomes.iter().enumerate() {
        let (plt, dcl, t) = (time(o.plt_ms), time(o.dcl_ms), &o.totals);
        writeln!(
            text,
            "{i} {} {plt} {dcl} {} {} {} {} {} {}",
            o.page, t.packets, t.bytes, t.drops, t.retransmissions, t.events, o.trace_hash
        )
        .unwrap();
    }
    text
}

#[test]
fn every_build_gives_the_loads_of_the_golden_file() {
    compare_with_golden("loads.txt", &loads().outcomes);
}

#[test]
fn every_build_gives_the_loads_with_later_keys_of_the_golden_file() {
    compare_with_golden("later.txt", &later_loads().outcomes);
}

#[test]
fn every_build_gives_the_loads_over_several_paths_of_the_golden_file() {
    compare_with_golden("multipath.txt", &multipath_loads().outcomes);
}

#[test]
fn every_build_gives_the_loads_over_paths_that_die_of_the_golden_file() {
    compare_with_golden("outages.txt", &outage_loads().outcomes);
}

fn compare_with_golden(name: &str, outcomes: &[Outcome]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let ours = golden(outcomes);
    if std::env::var_os("LOADPATH_UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &ours).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    let (mut ours, mut kept) = (ours.lines(), kept.lines());
    let mut different = Vec::new();
    loop {
        match (ours.next(), kept.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => different.push((a.unwrap_or("nothing"), b.unwrap_or("nothing"))),
        }
    }
    let shown: String = different
        .iter()
        .take(5)
        .map(|(ours, kept)| format!("\n   now {ours}\n  kept {kept}"))
        .collect();
    assert!(
        different.is_empty(),
        "{} loads differ from {}; if that is meant, run with LOADPATH_UPDATE_GOLDEN=1:{shown}",
        different.len(),
        file.display()
    );
}
