//! Every site of the corpus reaches its load event on every network of the thesis.
//!
//! A debug build takes every twentieth site; `cargo test --release` takes all.

mod support;

use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use loadpath_sim::outcome::{CriticalPhases, Status};
use loadpath_sim::{Job, Scenario, Summary, run_batch};
use loadpath_web::http::Protocol;
use loadpath_web::import::{InputFile, pcp};
use loadpath_web::page::Page;
use support::graph_support::{Corpus, corpus};
use support::scenario;

const EVERY: usize = if cfg!(debug_assertions) { 20 } else { 1 };

/// Thesis Table 4.1.
const RATES: [&str; 10] = [
    "500kbit", "1mbit", "2.5mbit", "5mbit", "10mbit", "25mbit", "50mbit", "100mbit", "500mbit",
    "1gbit",
];
const RTTS_MS: [&str; 5] = ["8", "40", "100", "200", "400"];

/// The sites, with the corpus's distributions of server delays; `None` without a corpus.
fn sites() -> Option<&'static [Page]> {
    static SITES: OnceLock<Option<Vec<Page>>> = OnceLock::new();
    let sites = SITES.get_or_init(|| {
        let corpus = corpus()?;
        let delays = std::sync::Arc::new(distributions(&corpus));
        assert_eq!(corpus.pages.len(), 301);
        let entries = corpus.pages.iter().step_by(EVERY);
        let pages: Vec<Page> = entries
            .map(|entry| Page::compile(&corpus.import(entry).0).unwrap_or_else(|e| panic!("{e}")))
            .map(|page| page.with_server_delays(delays.clone()))
            .collect();
        if EVERY > 1 {
            eprintln!("debug build: {} of 301 sites; --release takes all", pages.len());
        }
        Some(pages)
    });
    sites.as_deref()
}

fn distributions(corpus: &Corpus) -> loadpath_web::graph::ServerDelays {
    let files: Vec<(String, Vec<u8>)> = ["CSS", "Image", "Javascript", "Other", "Post", "Text"]
        .iter()
        .map(|class| format!("{class}DelaysCDF.dist"))
        .map(|name| (name.clone(), corpus.read(&format!("dist/{name}"))))
        .collect();
    let inputs: Vec<_> = files
        .iter()
        .map(|(name, bytes)| {
            (pcp::distribution_class(name).unwrap(), InputFile { origin: name, bytes })
        })
        .collect();
    pcp::import_distributions(&inputs).unwrap()
}

/// Loads every site in every scenario once; all must reach their load events.
fn all_load(sites: &[Page], scenarios: &[Scenario]) -> Vec<Summary> {
    let jobs: Vec<Job> = (0..scenarios.len())
        .flat_map(|scenario| (0..sites.len()).map(move |page| Job { page, scenario, run: 0 }))
        .collect();
    let pages: Vec<&Page> = sites.iter().collect();
    let loads = run_batch(&pages, scenarios, &jobs, 0, &AtomicBool::new(false), || {}).unwrap();
    let failures: Vec<String> = jobs
        .iter()
        .zip(&loads)
        .filter(|(_, load)| load.status != Status::Complete)
        .map(|(job, load)| {
            let n = &scenarios[job.scenario].network;
            let site = &sites[job.page].name;
            let s = &scenarios[job.scenario];
            let (profile, version) = (&s.profile, s.http.version.name);
            let network = format!("{} bit/s, {} ms", n.rate_bps, n.rtt_ms);
            format!("{site}, {profile}, {version}, {network}: {:?}", load.status)
        })
        .collect();
    assert!(failures.is_empty(), "{} of {}: {failures:#?}", failures.len(), jobs.len());
    for (job, load) in jobs.iter().zip(&loads) {
        let (plt, dcl) = (load.plt_ms.unwrap(), load.dcl_ms.unwrap());
        let site = &sites[job.page].name;
        assert!(0.0 < dcl && dcl <= plt, "{site}: {dcl} {plt}");
        let path = load.critical_path.as_ref().expect("a load event has its causes");
        let waited = waited_ms(&path.phases);
        assert!((waited - plt).abs() < 1e-6, "{site}: {waited} {plt}");
        assert!(0 < path.bytes && path.bytes <= load.totals.bytes, "{site}");
    }
    println!("{} loads of {} sites", loads.len(), sites.len());
    loads
}

fn waited_ms(p: &CriticalPhases) -> f64 {
    let n = &p.network;
    let response = n.connection_setup_ms
        + n.client_queue_ms
        + n.request_flight_ms
        + n.server_queue_ms
        + n.server_processing_ms
        + n.response_wait_ms
        + n.first_byte_flight_ms
        + n.transfer_ms;
    let waits = p.timer_wait_ms + p.main_thread_wait_ms;
    response + waits + p.parse_ms + p.script_ms + p.style_ms + p.timer_ms + p.event_ms + p.other_ms
}

#[test]
fn all_sites_reach_their_load_event_at_the_50_combinations_of_table_4_1() {
    let Some(sites) = sites() else { return };
    let mut scenarios = Vec::new();
    for rate in RATES {
        for rtt in RTTS_MS {
            scenarios.push(scenario(&[("network.rate_bps", rate), ("network.rtt_ms", rtt)]));
        }
    }
    let loads = all_load(sites, &scenarios);
    // Means fall with the rate at each RTT, and grow with the RTT at each rate.
    let means: Vec<f64> = loads
        .chunks(sites.len())
        .map(|cell| cell.iter().map(|l| l.plt_ms.unwrap()).sum::<f64>() / sites.len() as f64)
        .collect();
    let mean = |rate: usize, rtt: usize| means[rate * RTTS_MS.len() + rtt];
    for (rtt, rtt_ms) in RTTS_MS.iter().enumerate() {
        println!("{rtt_ms} ms: {:.0?}", (0..10).map(|r| mean(r, rtt)).collect::<Vec<_>>());
        for rate in 0..RATES.len() {
            assert!(rate == 0 || mean(rate, rtt) < mean(rate - 1, rtt));
        }
    }
    for rate in RATES.len() / 2..RATES.len() {
        assert!((1..RTTS_MS.len()).all(|rtt| mean(rate, rtt) > mean(rate, rtt - 1)));
    }
}

#[test]
fn all_sites_reach_their_load_event_with_every_http_version() {
    let Some(sites) = sites() else { return };
    let mut scenarios = Vec::new();
    for version in Protocol::ALL {
        for (profile, rate, rtt) in [
            ("pcp", "1mbit", "200"),
            ("pcp", "10mbit", "40"),
            ("pcp", "1gbit", "8"),
            // At 1 Mbit/s six SYNs a host at once overflow linux's drop-tail queue again and again,
            // and a few of some hundred connections give up.
            ("linux", "10mbit", "40"),
            ("linux", "1gbit", "8"),
        ] {
            let changes = [
                ("network.rate_bps", rate),
                ("network.rtt_ms", rtt),
                ("http.version", version.name),
            ];
            scenarios.push(support::scenario_of(profile, &changes));
        }
    }
    all_load(sites, &scenarios);
}
