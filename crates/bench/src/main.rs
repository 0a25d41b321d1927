//! Whole-process benchmarks of the simulator, one core.
//!
//! ```text
//! loadpath-bench corpus DIR [--loads K] [--json]
//!     a fixed sample of 20 corpus sites over four networks, K loads of each
//! loadpath-bench page PAGE.json [--scenario FILE.toml] [--set KEY=VALUE]... [--loads K] [--json]
//!     one page graph, K loads
//! ```

use std::fs;
use std::process::ExitCode;
use std::time::Duration;

use loadpath_sim::{Scenario, Summary, summarise};
use loadpath_web::graph::PageGraph;
use loadpath_web::import::InputFile;
use loadpath_web::import::pcp;
use loadpath_web::page::Page;
use serde::Serialize;

/// The networks of the benchmark: rate in bit/s, RTT in ms.
const NETWORKS: [(u64, u64); 4] =
    [(1_000_000, 200), (10_000_000, 40), (100_000_000, 40), (1_000_000_000, 8)];
/// Round-trip time of the second path in those of the first: the mismatch of thesis section 6.3.2.
const SECOND_PATH_RTTS: u64 = 5;
/// A single path, and the two ways over both that the thesis compares (sections 6.2 and 6.5).
const VARIANTS: [(&str, &[(&str, &str)]); 3] = [
    ("", &[]),
    (", MPTCP", &[("multipath.paths", "independent")]),
    (
        ", modified",
        &[
            ("multipath.paths", "independent"),
            ("multipath.scheduler", "stream"),
            ("multipath.congestion", "none"),
            ("http.version", "quic-lite"),
            ("http.send_order", "preemptive"),
            ("transport.tail_loss_probe", "signalled"),
        ],
    ),
];
/// Every 15th site by number: 20 of the 301.
const SAMPLE_STEP: usize = 15;
const SAMPLE_SITES: usize = 20;

#[derive(Serialize)]
struct Row {
    name: String,
    /// Loads measured.
    loads: u64,
    /// Wall time of all loads, without process start and reading files.
    wall_ns: u64,
    /// Processor time of all loads: on a shared machine the steadier figure. 0 if unknown.
    cpu_ns: u64,
    /// By wall time.
    loads_per_second: f64,
    /// By wall time.
    ns_per_data_packet: f64,
    /// By processor time.
    cpu_ns_per_data_packet: f64,
    /// Processor time over that of the same loads over a single path, taken in turn.
    cpu_of_single_path: f64,
    events_per_data_packet: f64,
    /// High-water mark of the process so far.
    peak_memory_bytes: u64,
    // Means over the loads:
    load_time_ms: f64,
    data_packets: f64,
    drops: f64,
    retransmissions: f64,
    timeouts: f64,
}

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

struct Args {
    positional: Vec<String>,
    loads: u64,
    json: bool,
    scenario: Option<String>,
    set: Vec<(String, String)>,
}

fn parse(args: Vec<String>) -> Result<Args, String> {
    let mut parsed =
        Args { positional: Vec::new(), loads: 5, json: false, scenario: None, set: Vec::new() };
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--loads" => {
                parsed.loads = value()?.parse().map_err(|_| "--loads needs a number")?;
            }
            "--json" => parsed.json = true,
            "--scenario" => parsed.scenario = Some(value()?),
            "--set" => {
                let pair = value()?;
                let (key, value) = pair.split_once('=').ok_or("--set needs KEY=VALUE")?;
                parsed.set.push((key.into(), value.into()));
            }
            _ => parsed.positional.push(arg),
        }
    }
    Ok(parsed)
}

fn run(args: Vec<String>) -> Result<(), String> {
    let args = parse(args)?;
    let words: Vec<&str> = args.positional.iter().map(String::as_str).collect();
    let rows = match words[..] {
        ["corpus", dir] => corpus(dir, args.loads)?,
        ["page", file] => vec![page(file, &args)?],
        _ => return Err("usage: loadpath-bench corpus DIR | page PAGE.json".into()),
    };
    if args.json {
        let json = match &rows[..] {
            [row] => serde_json::to_string_pretty(row),
            rows => serde_json::to_string_pretty(rows),
        };
        println!("{}", json.expect("rows serialise"));
    } else {
        print(&rows);
    }
    Ok(())
}

fn print(rows: &[Row]) {
    println!(
        "{:<28} {:>6} {:>9} {:>12} {:>12} {:>9} {:>11} {:>13} {:>9}",
        "load",
        "loads",
        "loads/s",
        "ns/data pkt",
        "of CPU",
        "x single",
        "events/pkt",
        "load time ms",
        "peak MiB"
    );
    for r in rows {
        println!(
            "{:<28} {:>6} {:>9.0} {:>12.1} {:>12.1} {:>9.2} {:>11.2} {:>13.1} {:>9.1}",
            r.name,
            r.loads,
            r.loads_per_second,
            r.ns_per_data_packet,
            r.cpu_ns_per_data_packet,
            r.cpu_of_single_path,
            r.events_per_data_packet,
            r.load_time_ms,
            r.peak_memory_bytes as f64 / 1_048_576.0
        );
    }
}

fn corpus(dir: &str, loads: u64) -> Result<Vec<Row>, String> {
    let read = |path: &str| fs::read(format!("{dir}/{path}")).map_err(|e| format!("{path}: {e}"));
    let index = read("index.json")?;
    let sites = pcp::parse_index(InputFile { origin: "index.json", bytes: &index })
        .map_err(|e| e.to_string())?;
    let mut pages = Vec::new();
    for site in sites.iter().step_by(SAMPLE_STEP).take(SAMPLE_SITES) {
        let (graph, delays) = (read(&site.graph)?, read(&site.delays)?);
        let (mut graph, _) = pcp::import_graph(
            &site.name,
            InputFile { origin: &site.graph, bytes: &graph },
            Some(InputFile { origin: &site.delays, bytes: &delays }),
        )
        .map_err(|e| e.to_string())?;
        pcp::serve_late_references(&mut graph);
        pages.push(Page::compile(&graph).map_err(|e| e.to_string())?);
    }
    let mut rows = Vec::new();
    for (rate_bps, rtt_ms) in NETWORKS {
        let variants = VARIANTS
            .iter()
            .map(|(name, changes)| {
                let network = [
                    ("network.rate_bps", rate_bps.to_string()),
                    ("network.rtt_ms", rtt_ms.to_string()),
                    ("path2.rtt_ms", (SECOND_PATH_RTTS * rtt_ms).to_string()),
                ];
                let changes = changes.iter().map(|&(key, value)| (key, value.to_owned()));
                let overrides: Vec<_> =
                    network.into_iter().chain(changes).map(|(k, v)| (k.to_owned(), v)).collect();
                let scenario = Scenario::resolve(Some("pcp"), None, &overrides);
                let name = format!("{} Mbit/s {rtt_ms} ms{name}", rate_bps / 1_000_000);
                scenario.map(|scenario| (name, scenario)).map_err(|e| e.to_string())
            })
            .collect::<Result<Vec<_>, _>>()?;
        rows.extend(measure(&variants, &pages, loads)?);
    }
    Ok(rows)
}

fn page(file: &str, args: &Args) -> Result<Row, String> {
    let bytes = fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    let graph = PageGraph::from_json(&bytes, file).map_err(|e| e.to_string())?;
    let page = Page::compile(&graph).map_err(|e| e.to_string())?;
    let text = match &args.scenario {
        Some(file) => Some(fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?),
        None => None,
    };
    let toml = text.as_deref().zip(args.scenario.as_deref());
    let scenario = Scenario::resolve(None, toml, &args.set).map_err(|e| e.to_string())?;
    let mut rows = measure(&[(graph.name, scenario)], &[page], args.loads)?;
    Ok(rows.remove(0))
}

/// Loads every page in every variant in turn, so that what else the machine does falls on all alike.
fn measure(
    variants: &[(String, Scenario)],
    pages: &[Page],
    loads: u64,
) -> Result<Vec<Row>, String> {
    let mut measured: Vec<_> = variants.iter().map(|_| Measured::default()).collect();
    // The first round is not measured: the first touches of memory are the operating system's.
    for round in 0..=loads {
        for ((_, scenario), m) in variants.iter().zip(&mut measured) {
            let cpu_before = cpu_ns();
            let run = round.saturating_sub(1);
            let (results, elapsed) = timed(|| -> Vec<Summary> {
                pages.iter().map(|page| summarise(page, scenario, run)).collect()
            });
            if round > 0 {
                m.cpu_ns += cpu_ns().saturating_sub(cpu_before);
                m.elapsed += elapsed;
                m.results.extend(results);
            }
        }
    }
    let single_cpu_ns = measured[0].cpu_ns;
    let rows = variants.iter().zip(&measured);
    rows.map(|((name, _), measured)| measured.row(name, single_cpu_ns)).collect()
}

#[derive(Default)]
struct Measured {
    results: Vec<Summary>,
    elapsed: Duration,
    cpu_ns: u64,
}

impl Measured {
    fn row(&self, name: &str, single_cpu_ns: u64) -> Result<Row, String> {
        let Measured { results, elapsed, cpu_ns } = self;
        if let Some(failed) = results.iter().find(|r| r.plt_ms.is_none()) {
            return Err(format!("{name}: a load failed: {:?}", failed.status));
        }
        let sum = |f: fn(&Summary) -> u64| results.iter().map(f).sum::<u64>() as f64;
        let loads = results.len() as f64;
        let (seconds, packets) = (elapsed.as_secs_f64(), sum(|r| r.totals.data_packets));
        Ok(Row {
            name: name.to_owned(),
            loads: results.len() as u64,
            wall_ns: elapsed.as_nanos() as u64,
            cpu_ns: *cpu_ns,
            loads_per_second: loads / seconds,
            ns_per_data_packet: 1e9 * seconds / packets,
            cpu_ns_per_data_packet: *cpu_ns as f64 / packets,
            cpu_of_single_path: *cpu_ns as f64 / (single_cpu_ns as f64).max(1.0),
            events_per_data_packet: sum(|r| r.totals.events) / packets,
            peak_memory_bytes: peak_memory_bytes(),
            load_time_ms: results.iter().filter_map(|r| r.plt_ms).sum::<f64>() / loads,
            data_packets: packets / loads,
            drops: sum(|r| r.totals.drops) / loads,
            retransmissions: sum(|r| r.totals.retransmissions) / loads,
            timeouts: sum(|r| r.totals.timeouts) / loads,
        })
    }
}

#[allow(clippy::disallowed_methods, reason = "a benchmark measures wall time")]
fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let start = std::time::Instant::now();
    let result = work();
    (result, start.elapsed())
}

/// Processor time of this thread so far; 0 where /proc does not tell.
fn cpu_ns() -> u64 {
    let times = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    times.split_whitespace().next().and_then(|t| t.parse().ok()).unwrap_or(0)
}

/// High-water mark of this process's memory; 0 where /proc does not tell.
fn peak_memory_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|l| l.strip_prefix("VmHWM:"))
        .and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
