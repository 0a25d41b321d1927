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
        "{:<18} {:>6} {:>9} {:>12} {:>12} {:>11} {:>13} {:>9}",
        "load",
        "loads",
        "loads/s",
        "ns/data pkt",
        "of CPU",
        "events/pkt",
        "load time ms",
        "peak MiB"
    );
    for r in rows {
        println!(
            "{:<18} {:>6} {:>9.0} {:>12.1} {:>12.1} {:>11.2} {:>13.1} {:>9.1}",
            r.name,
            r.loads,
            r.loads_per_second,
            r.ns_per_data_packet,
            r.cpu_ns_per_data_packet,
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
    NETWORKS
        .iter()
        .map(|(rate_bps, rtt_ms)| {
            let overrides = [
                ("network.rate_bps".to_string(), rate_bps.to_string()),
                ("network.rtt_ms".to_string(), rtt_ms.to_string()),
            ];
            let scenario =
                Scenario::resolve(Some("pcp"), None, &overrides).map_err(|e| e.to_string())?;
            let name = format!("{} Mbit/s {rtt_ms} ms", rate_bps / 1_000_000);
            measure(name, &pages, &scenario, loads)
        })
        .collect()
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
    measure(graph.name, &[page], &scenario, args.loads)
}

fn measure(name: String, pages: &[Page], scenario: &Scenario, loads: u64) -> Result<Row, String> {
    // One load of each page beforehand: the first touches of memory are the operating system's.
    for page in pages {
        summarise(page, scenario, 0);
    }
    let cpu_before = cpu_ns();
    let (results, elapsed) = timed(|| -> Vec<Summary> {
        (0..loads).flat_map(|run| pages.iter().map(move |p| summarise(p, scenario, run))).collect()
    });
    let cpu_ns = cpu_ns().saturating_sub(cpu_before);
    if let Some(failed) = results.iter().find(|r| r.plt_ms.is_none()) {
        return Err(format!("{name}: a load failed: {:?}", failed.status));
    }
    let sum = |f: fn(&Summary) -> u64| results.iter().map(f).sum::<u64>() as f64;
    let loads = results.len() as f64;
    let (seconds, packets) = (elapsed.as_secs_f64(), sum(|r| r.totals.data_packets));
    Ok(Row {
        name,
        loads: results.len() as u64,
        wall_ns: elapsed.as_nanos() as u64,
        cpu_ns,
        loads_per_second: loads / seconds,
        ns_per_data_packet: 1e9 * seconds / packets,
        cpu_ns_per_data_packet: cpu_ns as f64 / packets,
        events_per_data_packet: sum(|r| r.totals.events) / packets,
        peak_memory_bytes: peak_memory_bytes(),
        load_time_ms: results.iter().filter_map(|r| r.plt_ms).sum::<f64>() / loads,
        data_packets: packets / loads,
        drops: sum(|r| r.totals.drops) / loads,
        retransmissions: sum(|r| r.totals.retransmissions) / loads,
        timeouts: sum(|r| r.totals.timeouts) / loads,
    })
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
