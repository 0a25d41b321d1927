//! Random scenarios: every key drawn from what it allows, by a generator of its own, so that the same
//! number gives the same scenario on every machine.

use std::ops::RangeInclusive;

use loadpath_net::{Stream, Streams};
use loadpath_sim::Scenario;
use loadpath_sim::scenario::{KEYS, Key};

/// Where full ranges would make most loads fail or take for ever, narrower ones for most draws.
const MODERATE: &[(&str, RangeInclusive<f64>)] = &[
    ("network.rate_bps", 200e3..=1e9),
    ("network.up_rate_bps", 200e3..=1e9),
    ("network.rtt_ms", 0.0..=500.0),
    ("network.server_rate_factor", 1.0..=10.0),
    ("network.queue_floor_packets", 1.0..=100.0),
    ("network.queue_limit_bdp", 0.0..=10.0),
    ("network.queue_limit", 0.0..=1e6),
    ("network.red_min_fraction", 0.05..=0.6),
    ("network.red_max_fraction", 0.61..=1.0),
    ("network.loss_down_fraction", 0.0..=0.1),
    ("network.loss_up_fraction", 0.0..=0.1),
    ("network.dns_ms", 0.0..=500.0),
    ("network.down_at_ms", 0.0..=10e3),
    ("network.up_at_ms", 0.0..=10e3),
    ("path2.down_at_ms", 0.0..=10e3),
    ("path2.up_at_ms", 0.0..=10e3),
    ("path2.rate_bps", 200e3..=1e9),
    ("path2.up_rate_bps", 200e3..=1e9),
    ("path2.rtt_ms", 0.0..=500.0),
    ("path2.queue_limit_bdp", 0.0..=10.0),
    ("path2.queue_limit", 0.0..=1e6),
    ("path2.loss_down_fraction", 0.0..=0.1),
    ("path2.loss_up_fraction", 0.0..=0.1),
    ("transport.mss_bytes", 500.0..=9000.0),
    ("transport.initial_window_segments", 1.0..=100.0),
    ("transport.client_initial_window_segments", 1.0..=100.0),
    ("transport.hystart_ack_delta_ms", 0.0..=10.0),
    ("transport.send_buffer_bytes", 10e3..=1e9),
    ("transport.receive_buffer_bytes", 10e3..=1e9),
    ("transport.window_scale", 0.0..=8.0),
    ("transport.min_rto_ms", 1.0..=1000.0),
    ("transport.max_rto_ms", 1e3..=60e3),
    ("transport.syn_timeout_ms", 100.0..=3000.0),
    ("transport.syn_retries", 3.0..=20.0),
    ("transport.data_retries", 5.0..=20.0),
    ("transport.delayed_ack_segments", 1.0..=10.0),
    ("transport.delayed_ack_ms", 0.0..=500.0),
    ("transport.quick_ack_segments", 0.0..=100.0),
    ("transport.dup_ack_threshold", 1.0..=10.0),
    ("http.request_bytes", 1.0..=5000.0),
    ("http.response_header_bytes", 0.0..=5000.0),
    ("http.tls_client_hello_bytes", 1.0..=5000.0),
    ("http.tls_server_hello_bytes", 1.0..=5000.0),
    ("http.tls_certificate_bytes", 0.0..=10e3),
    ("browser.timer_clamp_ms", 0.0..=50.0),
];

/// Keys that came with several paths: loads over one path, whose numbers are kept, leave them alone.
const WITH_SEVERAL_PATHS: &[&str] =
    &["multipath.", "path2.", "transport.tail_loss_probe", "transport.fast_open"];

/// Keys and names that came later than the loads whose numbers are kept, which leave them alone.
const LATER_KEYS: &[&str] = &[
    "transport.client_initial_window_segments",
    "transport.slow_start_exit",
    "transport.hystart_ack_delta_ms",
    "http.request_first_fraction",
    "http.request_later_fraction",
    "http.response_first_fraction",
    "http.response_later_fraction",
    "server.headers_apart",
    "server.nagle",
];
/// Paths that die or come, whose loads have a file of their own.
const OUTAGES: &[&str] =
    &["network.down_at_ms", "network.up_at_ms", "path2.down_at_ms", "path2.up_at_ms"];
const LATER_NAMES: &[&str] = &["spdy/2", "spdy"];

/// Those that came with the mechanisms of the kernel and of Chromium, later still.
const KERNEL_KEYS: &[&str] = &[
    "browser.stalls",
    "browser.jitter_fraction",
    "browser.throttle",
    "http.recorded_headers",
    "http.pool_order",
    "http.hpack",
    "browser.preload_on_arrival",
    "browser.tight_mode",
    "http.tls_tickets_bytes",
    "http.tls_sessions",
    "http.tls_record_bytes",
    "http.preface",
    "http.preemption",
    "transport.acks",
    "transport.receive_window_tuning",
    "transport.prr",
    "transport.frto",
    "transport.cubic",
];
const KERNEL_NAMES: &[&str] = &["rack", "hystart-linux", "linux", "segments", "browser"];

/// Up to when keys and names came.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Age {
    First,
    Later,
    Kernel,
}

/// Scenario number `number` over a single path, as a profile and the changes to it.
pub fn changes(number: u64) -> (&'static str, Vec<(String, String)>) {
    let (profile, mut changes) = drawn(number, Age::First);
    changes.retain(|(key, _)| !is_of_several_paths(key));
    (profile, changes)
}

/// As [`changes`], over several paths.
pub fn multipath_changes(number: u64) -> (&'static str, Vec<(String, String)>) {
    let (profile, mut changes) = drawn(number, Age::First);
    if !changes.iter().any(|(key, value)| key == "multipath.paths" && value != "single") {
        changes.retain(|(key, _)| key != "multipath.paths");
        let paths = ["independent", "shared-bottleneck", "same"][number as usize % 3];
        changes.push(("multipath.paths".into(), paths.into()));
    }
    (profile, changes)
}

/// As [`changes`], with the keys and names that came later.
pub fn later_changes(number: u64) -> (&'static str, Vec<(String, String)>) {
    let (profile, mut changes) = drawn(number, Age::Later);
    changes.retain(|(key, _)| !is_of_several_paths(key));
    (profile, changes)
}

/// Keys that are lists: tests of their own have them.
const LISTS: &[&str] = &["drop_down", "drop_up", "rate_schedule", "up_rate_schedule"];

/// Whether a key is one of them.
pub fn is_list(key: &Key) -> bool {
    key.name.split_once('.').is_some_and(|(_, field)| LISTS.contains(&field))
}

/// As [`multipath_changes`], with paths that die or come.
pub fn outage_changes(number: u64) -> (&'static str, Vec<(String, String)>) {
    let (profile, mut changes) = multipath_changes(number);
    for key in KEYS.iter().filter(|key| OUTAGES.contains(&key.name)) {
        let mut draw = Streams::new(number, 0).stream(key.name, 0);
        if draw.unit() < 0.5 {
            changes.push((key.name.to_owned(), value(key, &mut draw, Age::Later)));
        }
    }
    (profile, changes)
}

/// As [`changes`], with all keys and names: those of the kernel's mechanisms, too.
pub fn kernel_changes(number: u64) -> (&'static str, Vec<(String, String)>) {
    let (profile, mut changes) = drawn(number, Age::Kernel);
    changes.retain(|(key, _)| key == "transport.tail_loss_probe" || !is_of_several_paths(key));
    (profile, changes)
}

fn is_of_several_paths(key: &str) -> bool {
    WITH_SEVERAL_PATHS.iter().any(|section| key.starts_with(section))
}

fn drawn(number: u64, age: Age) -> (&'static str, Vec<(String, String)>) {
    let streams = Streams::new(number, 0);
    let mut draw = streams.stream("test.scenario", 0);
    let profile = if draw.unit() < 0.5 { "pcp" } else { "linux" };
    let changed = draw.unit();
    let mut changes = Vec::new();
    for key in KEYS {
        // A stream for each key: a new key changes no other's draws.
        let mut draw = streams.stream(key.name, 0);
        let came = match key.name {
            name if LATER_KEYS.contains(&name) => Age::Later,
            name if KERNEL_KEYS.contains(&name) => Age::Kernel,
            _ => Age::First,
        };
        if key.name == "limits.time_ms" || is_list(key) || OUTAGES.contains(&key.name) || came > age
        {
            continue;
        }
        if draw.unit() < changed {
            changes.push((key.name.to_owned(), value(key, &mut draw, age)));
        }
    }
    // Two minutes are enough to load or to say why not, without hours of idle timeouts.
    changes.push(("limits.time_ms".into(), "120000".into()));
    (profile, changes)
}

/// Scenario number `number` over a single path; draws that cannot be together are mended.
pub fn random_scenario(number: u64) -> Scenario {
    mended(changes(number))
}

/// As [`random_scenario`], over several paths.
pub fn random_multipath_scenario(number: u64) -> Scenario {
    mended(multipath_changes(number))
}

/// As [`random_multipath_scenario`], with paths that die or come.
pub fn random_outage_scenario(number: u64) -> Scenario {
    mended(outage_changes(number))
}

/// As [`random_scenario`], with all keys.
pub fn random_kernel_scenario(number: u64) -> Scenario {
    mended(kernel_changes(number))
}

/// As [`random_scenario`], with what came later.
pub fn random_later_scenario(number: u64) -> Scenario {
    mended(later_changes(number))
}

fn mended((profile, mut changes): (&str, Vec<(String, String)>)) -> Scenario {
    loop {
        match Scenario::resolve(Some(profile), None, &changes) {
            Ok(scenario) => return scenario,
            Err(error) => {
                let culprit =
                    changes.iter().position(|(key, _)| error.message.starts_with(key.as_str()));
                let other =
                    changes.iter().position(|(key, _)| error.message.contains(key.as_str()));
                changes.remove(culprit.or(other).unwrap_or_else(|| panic!("{error}")));
            }
        }
    }
}

fn value(key: &Key, draw: &mut Stream, age: Age) -> String {
    let allowed = (key.allowed)();
    let allowed = allowed.strip_suffix(" or \"auto\"").unwrap_or(&allowed);
    if allowed == "true or false" {
        return (draw.unit() < 0.5).to_string();
    }
    if let Some(names) = allowed.strip_prefix("one of ") {
        let came = |name: &str| match name {
            name if LATER_NAMES.contains(&name) => Age::Later,
            name if KERNEL_NAMES.contains(&name) => Age::Kernel,
            _ => Age::First,
        };
        let names: Vec<&str> = names.split(", ").filter(|name| came(name) <= age).collect();
        return names[(draw.unit() * names.len() as f64) as usize].to_owned();
    }
    let full = range(allowed).unwrap_or_else(|| panic!("{}: {allowed}", key.name));
    let moderate = MODERATE.iter().find(|(name, _)| *name == key.name).map(|(_, r)| r.clone());
    let range = match moderate {
        Some(moderate) if draw.unit() < 0.95 => moderate,
        _ => full,
    };
    let (low, high) = (*range.start(), *range.end());
    // Small values as often as large ones: halvings are exact on every machine, logarithms are not.
    let halvings = (draw.unit() * 16.0) as u32;
    let drawn = low + (high - low) * draw.unit() / f64::from(1u32 << halvings);
    let whole = !key.name.ends_with("_ms")
        && !key.name.ends_with("_fraction")
        && !key.name.ends_with("_probability");
    if whole { (drawn as u64).to_string() } else { drawn.to_string() }
}

/// The ends of "... from LOW to HIGH".
pub fn range(allowed: &str) -> Option<RangeInclusive<f64>> {
    let (_, ends) = allowed.split_once(" from ")?;
    let (low, high) = ends.split_once(" to ")?;
    Some(low.parse().ok()?..=high.parse().ok()?)
}
