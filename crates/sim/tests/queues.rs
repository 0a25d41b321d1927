//! What an outcome says of its queues.

#[path = "../../web/tests/browser_support/mod.rs"]
mod browser_support;

use browser_support::compile;
use browser_support::graph::{Builder, ROOT, resource};
use loadpath_sim::outcome::Outcome;
use loadpath_sim::{Options, Scenario, simulate};

/// An image of 100 kB in one flight of 60 segments over 1 Mbit/s, with queues that hold whatever comes.
fn load_over_a_slow_link() -> Outcome {
    let mut b = Builder::new();
    b.add("image", resource("image/png", 100_000), &[ROOT]);
    let page = compile(b.load(&["image"]));
    let changes = [
        ("network.rate_bps", "1000000"),
        ("network.queue", "unlimited"),
        ("network.up_queue", "unlimited"),
        ("transport.initial_window_segments", "60"),
    ];
    let changes: Vec<_> = changes.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let scenario = Scenario::resolve(Some("pcp"), None, &changes).unwrap();
    simulate(&page, &scenario, 0, &Options { trace: true })
}

#[test]
fn an_unlimited_queue_reports_what_waited() {
    let outcome = load_over_a_slow_link();
    let down = &outcome.queues[0];
    let trace = outcome.trace.as_ref().expect("a trace was asked for");
    let longest = trace.queues.iter().filter(|q| q.queue == 0).map(|q| q.packets).max();
    assert!(down.max_waiting_packets > 10, "{down:?}");
    // The trace has what an arrival finds; the longest queue has the arrival too.
    assert_eq!(longest, Some(down.max_waiting_packets - 1));
}
