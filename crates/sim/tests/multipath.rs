//! Loads over two paths: the topology of thesis Figure 6.2 and what goes over it.

mod support;

use loadpath_sim::outcome::{Outcome, PacketEvent, PacketRecord, Status};
use loadpath_sim::{Options, Scenario, simulate};
use loadpath_web::http::Protocol;
use loadpath_web::page::Page;
use support::browser_support::compile;
use support::browser_support::graph::{Builder, ROOT, resource};
use support::scenario;

/// A document and an image.
fn page(image_bytes: u64) -> Page {
    let mut b = Builder::new();
    b.add("image", resource("image/png", image_bytes), &[ROOT]);
    compile(b.load(&["image"]))
}

/// `pcp` without jitter, server delays and losses, over fast links, with changes.
fn fast(changes: &[(&str, &str)]) -> Scenario {
    let base = [
        ("network.rate_bps", "100000000000"),
        ("network.jitter_fraction", "0"),
        ("network.queue", "unlimited"),
        ("server.delays", "false"),
        ("multipath.paths", "independent"),
    ];
    scenario(&[&base, changes].concat())
}

#[track_caller]
fn load(page: &Page, scenario: &Scenario) -> Outcome {
    let outcome = simulate(page, scenario, 0, &Options { trace: true });
    assert_eq!(outcome.status, Status::Complete);
    outcome
}

fn plt(page: &Page, scenario: &Scenario) -> f64 {
    load(page, scenario).plt_ms.expect("complete")
}

#[track_caller]
fn assert_near(got: f64, expected: f64, tolerance: f64) {
    assert!((got - expected).abs() <= tolerance, "{got} instead of {expected}");
}

#[test]
fn the_second_subflow_is_ready_after_2_rtt1_and_1_5_rtt2() {
    for (rtt1, rtt2, first) in [(40.0, 40.0, "1"), (100.0, 500.0, "1"), (100.0, 500.0, "2")] {
        let s = fast(&[
            ("network.rtt_ms", &f64::to_string(&rtt1)),
            ("path2.rtt_ms", &f64::to_string(&rtt2)),
            ("multipath.first_path", first),
        ]);
        // Large enough to last until then.
        let outcome = load(&page(200_000_000), &s);
        let subflows = &outcome.connections[0].subflows;
        let (a, b) = if first == "1" { (rtt1, rtt2) } else { (rtt2, rtt1) };
        assert_near(subflows[1].server_ready_ms.expect("it joins"), 2.0 * a + 1.5 * b, 0.01);
        let paths: Vec<u64> = subflows.iter().map(|s| s.path).collect();
        assert_eq!(paths, if first == "1" { [1, 2] } else { [2, 1] });
    }
}

#[test]
fn a_path_is_defined_by_its_round_trip_time() {
    // A page that is loaded before the second subflow is there: as over that path alone.
    let small = page(3000);
    let alone = |rtt_ms: &str| {
        let s = fast(&[("network.rtt_ms", rtt_ms), ("multipath.paths", "single")]);
        plt(&small, &s)
    };
    for (paths, first, rtt) in [
        ("independent", "1", "100"),
        ("independent", "2", "500"),
        ("shared-bottleneck", "1", "100"),
        ("shared-bottleneck", "2", "500"),
    ] {
        let s = fast(&[
            ("network.rtt_ms", "100"),
            ("path2.rtt_ms", "500"),
            ("multipath.paths", paths),
            ("multipath.first_path", first),
            ("multipath.options_on_the_wire", "false"),
        ]);
        assert_near(plt(&small, &s), alone(rtt), 0.01);
    }
}

#[test]
fn a_faster_second_path_keeps_the_first_ones_round_trip_time() {
    let s = fast(&[
        ("network.rtt_ms", "500"),
        ("path2.rtt_ms", "20"),
        ("multipath.options_on_the_wire", "false"),
    ]);
    let alone = fast(&[("network.rtt_ms", "500"), ("multipath.paths", "single")]);
    assert_near(plt(&page(3000), &s), plt(&page(3000), &alone), 0.01);
}

#[test]
fn independent_paths_add_up_and_a_shared_bottleneck_does_not() {
    let large = page(20_000_000);
    let time = |paths| {
        let s = fast(&[
            ("network.rate_bps", "10000000"),
            ("network.queue", "drop-tail"),
            ("multipath.paths", paths),
            ("multipath.options_on_the_wire", "false"),
        ]);
        plt(&large, &s)
    };
    let one = time("single");
    assert_near(time("independent") / one, 0.5, 0.05);
    assert_near(time("shared-bottleneck") / one, 1.0, 0.05);
    assert_near(time("same") / one, 1.0, 0.05);
}

#[test]
fn a_dead_second_path_costs_nothing() {
    let large = page(1_000_000);
    let base = [("network.rate_bps", "10000000"), ("multipath.options_on_the_wire", "false")];
    let time = |changes: &[(&str, &str)]| load(&large, &fast(&[&base, changes].concat()));
    let dead = time(&[("path2.loss_down_fraction", "1"), ("path2.loss_up_fraction", "1")]);
    // Links of servers have twice the sum of all rates.
    let alone = time(&[("multipath.paths", "single"), ("network.server_rate_factor", "4")]);
    assert_near(dead.plt_ms.unwrap(), alone.plt_ms.unwrap(), 0.01);
    let second = &dead.connections[0].subflows[1];
    assert_eq!((second.server_ready_ms, second.bytes_down), (None, 0));
}

#[test]
fn several_subflows_on_one_path_lose_less_to_random_losses() {
    let large = page(5_000_000);
    let load = |changes: &[(&str, &str)]| {
        let base = [
            ("network.rate_bps", "100000000"),
            ("network.loss_down_fraction", "0.01"),
            ("multipath.congestion", "none"),
        ];
        load(&large, &fast(&[&base, changes].concat()))
    };
    let six = load(&[("multipath.paths", "same"), ("multipath.subflows", "6")]);
    let one = load(&[("multipath.paths", "single")]);
    let subflows = &six.connections.last().unwrap().subflows;
    assert_eq!(subflows.len(), 6);
    assert!(subflows.iter().all(|s| s.path == 1 && s.bytes_down > 0));
    // The window that random losses allow does not depend on how many share the path: six of them carry
    // about six times as much.
    let ratio = six.plt_ms.unwrap() / one.plt_ms.unwrap();
    assert!((0.1..0.3).contains(&ratio), "{ratio}");
}

#[test]
fn each_bottleneck_has_its_own_rate_queue_and_loss() {
    let s = fast(&[
        ("network.rate_bps", "10000000"),
        ("network.queue", "drop-tail"),
        ("path2.rate_bps", "2000000"),
        ("path2.loss_down_fraction", "0.02"),
    ]);
    let outcome = load(&page(5_000_000), &s);
    let names: Vec<&str> = outcome.queues.iter().map(|q| q.name.as_str()).collect();
    let expected = ["bottleneck.down", "bottleneck.up", "bottleneck2.down", "bottleneck2.up"];
    assert_eq!(names, expected);
    let [down, _, down2, _] = &outcome.queues[..] else { panic!("four queues") };
    assert_eq!(down.lost_packets, 0);
    assert!(down2.lost_packets > 0);
    // 1.5 bandwidth-delay products of 40 ms: 50 and 10 packets of 1502 bytes.
    let trace = outcome.trace.as_ref().expect("asked for");
    let longest = |queue| {
        trace.queues.iter().filter(|q| q.queue == queue).map(|q| q.bytes).max().expect("used")
    };
    assert!((40_000..=75_000).contains(&longest(0)), "{}", longest(0));
    assert!(longest(2) <= 15_000, "{}", longest(2));
}

#[test]
fn the_servers_links_have_twice_the_sum_of_both_rates() {
    // A burst of 40 segments on each subflow leaves the server at 2 (10 + 30) Mbit/s: 1502 bytes in 150.2 us.
    let s = fast(&[
        ("network.rate_bps", "10000000"),
        ("path2.rate_bps", "30000000"),
        ("transport.initial_window_segments", "40"),
        ("multipath.join", "at-once"),
    ]);
    let outcome = load(&page(100_000), &s);
    let trace = outcome.trace.as_ref().expect("asked for");
    // Occupancy is recorded when a packet reaches the switch.
    let mut at: Vec<f64> =
        trace.queues.iter().filter(|q| q.queue % 2 == 0).map(|q| q.t_ms).collect();
    at.sort_by(f64::total_cmp);
    let mut gaps: Vec<f64> = at.windows(2).map(|w| w[1] - w[0]).collect();
    gaps.sort_by(f64::total_cmp);
    assert_near(gaps[gaps.len() / 2], 0.1502, 1e-4);
}

#[test]
fn every_http_version_loads_over_two_paths_with_every_scheduler() {
    let page = support::example_page("shape-wikipedia");
    for protocol in Protocol::ALL {
        for scheduler in [
            "lowest-rtt",
            "round-robin",
            "redundant",
            "blest",
            "ecf",
            "otias",
            "stream-simple",
            "stream",
        ] {
            let s = scenario(&[
                ("multipath.paths", "independent"),
                ("path2.rtt_ms", "200"),
                ("multipath.scheduler", scheduler),
                ("http.version", protocol.name),
            ]);
            let outcome = load(&page, &s);
            let [first, second] = [1, 2].map(|path| -> u64 {
                let subflows = outcome.connections.iter().flat_map(|c| &c.subflows);
                subflows.filter(|s| s.path == path).map(|s| s.bytes_down).sum()
            });
            assert!(first > 0, "{} {scheduler}", protocol.name);
            // A connection for each resource ends before its second subflow is there.
            if scheduler == "redundant" && !protocol.closes_after_response {
                assert!(second > 0, "{}", protocol.name);
            }
        }
    }
}

#[test]
fn the_stream_scheduler_does_no_harm_where_lowest_rtt_first_does() {
    // A path of five times the RTT: thesis section 6.5.1.
    let page = support::example_page("shape-baidu");
    let time = |changes: &[(&str, &str)]| {
        let base = [("network.rate_bps", "50000000"), ("network.rtt_ms", "100")];
        plt(&page, &scenario(&[&base, changes].concat()))
    };
    let one = time(&[]);
    let far = [("multipath.paths", "independent"), ("path2.rtt_ms", "500")];
    let modified = [
        ("multipath.scheduler", "stream"),
        ("multipath.congestion", "none"),
        ("http.version", "quic-lite"),
    ];
    let stream = time(&[&far[..], &modified].concat());
    assert!(stream <= one * 1.01, "{stream} ms, single path {one} ms");
}

#[test]
fn a_shared_bottleneck_needs_the_longer_round_trip_on_the_second_path() {
    let changes = [("multipath.paths", "shared-bottleneck"), ("path2.rtt_ms", "20")];
    let changes: Vec<_> = changes.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    let error = Scenario::resolve(Some("pcp"), None, &changes).unwrap_err().to_string();
    assert!(error.contains("path2.rtt_ms = 20: expected at least network.rtt_ms = 40"), "{error}");
}

#[test]
fn fast_open_saves_a_round_trip_a_connection() {
    let small = page(3000);
    for paths in ["single", "independent"] {
        let time = |fast_open| {
            let s = fast(&[("multipath.paths", paths), ("transport.fast_open", fast_open)]);
            plt(&small, &s)
        };
        // One connection for each of the two hosts, one after the other.
        let hosts = load(&small, &fast(&[])).connections.len() as f64;
        assert_near(time("false") - time("true"), 40.0 * hosts, 0.01);
    }
    for tls in ["1.2", "1.3", "1.3-0rtt"] {
        let time = |fast_open| {
            // A ClientHello of two segments would wait for the handshake with its second.
            let s = fast(&[
                ("http.tls", tls),
                ("http.tls_client_hello_bytes", "517"),
                ("transport.fast_open", fast_open),
            ]);
            plt(&small, &s)
        };
        assert!(time("true") < time("false"), "TLS {tls}");
    }
}

fn delivered_on_second_path(outcome: &Outcome, up: bool) -> impl Iterator<Item = &PacketRecord> {
    let trace = outcome.trace.as_ref().expect("asked for");
    trace.packets.iter().filter(move |p| {
        let on_second = p.multipath.as_ref().is_some_and(|m| m.path == 2);
        p.event == PacketEvent::Delivered && p.up == up && on_second
    })
}

/// When the last packet of the second path reached the server.
fn last_heard_of_second_path(outcome: &Outcome) -> f64 {
    delivered_on_second_path(outcome, true).map(|p| p.t_ms).fold(0.0, f64::max)
}

#[test]
fn a_path_that_dies_is_given_up_after_its_timeouts_and_its_data_go_over_the_other() {
    let large = page(1_000_000);
    let load = |changes: &[(&str, &str)]| {
        // The first path's window has room for all that the second one held.
        let base = [
            ("path2.down_at_ms", "300"),
            ("transport.data_retries", "2"),
            ("transport.validation", "off"),
        ];
        load(&large, &fast(&[&base, changes].concat()))
    };
    let given_up = load(&[]);
    let at = last_heard_of_second_path(&given_up);
    assert!((300.0..=320.0).contains(&at), "{at}");
    // The rest of the page is there long before. Timeouts of 200, 400 and 800 ms from the last ACK on, then half
    // a round trip on the first path.
    assert_near(given_up.plt_ms.unwrap(), at + 1400.0 + 20.0, 0.1);
    let second = &given_up.connections.last().unwrap().subflows[1];
    assert_eq!(second.timeouts, 3);
    let lost =
        |outcome: &Outcome| outcome.queues.iter().map(|q| q.lost_packets).collect::<Vec<_>>();
    let [0, 0, down, 0] = lost(&given_up)[..] else { panic!("{:?}", lost(&given_up)) };
    assert!(down > 2, "what was under way and two more tries, {down}");
    // Or after the first timeout, as the first path finds room, if the connection does not wait for the subflow's
    // end.
    let reinjected = load(&[("multipath.reinject_on_timeout", "true")]);
    let at = last_heard_of_second_path(&reinjected);
    let waited = reinjected.plt_ms.unwrap() - at;
    assert!((220.0..400.0).contains(&waited), "{waited} ms");
}

#[test]
fn a_load_over_a_path_that_dies_takes_as_long_as_the_other_needs_for_the_rest() {
    // 10 and 10 Mbit/s until the second path dies at 2 s, then 10.
    let changes = [
        ("network.rate_bps", "10000000"),
        ("network.queue", "drop-tail"),
        ("path2.queue", "drop-tail"),
        ("multipath.options_on_the_wire", "false"),
        ("multipath.reinject_on_timeout", "true"),
    ];
    let load = |more: &[(&str, &str)]| load(&page(5_000_000), &fast(&[&changes, more].concat()));
    let one = load(&[("multipath.paths", "single")]).plt_ms.unwrap();
    let dies = load(&[("path2.down_at_ms", "2000")]);
    let carried: u32 = delivered_on_second_path(&dies, false).map(|p| p.wire_bytes).sum();
    // The first path is never idle, so that the load is shorter by what the second one carried.
    let saved = f64::from(carried) * 8.0 / 10_000.0;
    assert!(saved > 1000.0, "{saved} ms");
    assert_near(dies.plt_ms.unwrap(), one - saved, 30.0);
}

#[test]
fn a_path_that_comes_later_is_joined_with_the_next_syn() {
    // Its first SYN leaves after two round trips and is lost, the next one a second later.
    let s = fast(&[("network.rate_bps", "1000000000"), ("path2.up_at_ms", "500")]);
    let outcome = load(&page(200_000_000), &s);
    let second = &outcome.connections[0].subflows[1];
    assert_near(second.server_ready_ms.expect("it joins"), 80.0 + 1000.0 + 60.0, 0.1);
}

#[test]
fn a_first_path_that_is_not_there_yet_delays_the_load_by_a_syn() {
    let small = page(30_000);
    for paths in ["single", "independent"] {
        let time =
            |up_at| plt(&small, &fast(&[("multipath.paths", paths), ("network.up_at_ms", up_at)]));
        assert_near(time("500") - time("0"), 1000.0, 1e-6);
    }
}

#[test]
fn an_outage_of_no_length_or_behind_the_load_changes_nothing() {
    let page = support::example_page("shape-baidu");
    let hash = |changes: &[(&str, &str)]| {
        load(&page, &scenario(&[&[("multipath.paths", "independent")], changes].concat()))
            .trace_hash
    };
    let without = hash(&[]);
    assert_eq!(hash(&[("path2.down_at_ms", "500"), ("path2.up_at_ms", "500")]), without);
    assert_eq!(hash(&[("network.down_at_ms", "500000")]), without);
    assert_ne!(hash(&[("network.down_at_ms", "100"), ("network.up_at_ms", "300")]), without);
}
