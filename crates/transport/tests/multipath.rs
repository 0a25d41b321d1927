//! Connections over several subflows: the arithmetic of thesis Figure 6.14, transfers, failures, coupled
//! windows and the completion estimate against a transfer.

#[path = "common/paths.rs"]
mod paths;

use loadpath_net::{Capacity, Loss, Queue, SimDuration, SimTime};
use loadpath_transport::*;
use paths::{PathSpec, Paths};

/// So fast that serialisation takes no time worth a microsecond.
const FAST: u64 = 1_000_000_000_000;

fn tcp() -> TcpConfig {
    TcpConfig {
        mss: 1020,
        initial_window_segments: 4,
        min_rto: SimDuration::from_millis(200),
        delayed_ack_timeout: SimDuration::from_millis(100),
        ack_push_at_once: true,
        recovery: Recovery::Nack,
        ..TcpConfig::standard()
    }
}

/// Segments carry 1000 bytes beside their option.
fn config() -> MultipathConfig {
    MultipathConfig::new(tcp())
}

fn over(config: &MultipathConfig, paths: Vec<PathSpec>) -> Paths {
    Paths::new(config, config, paths)
}

#[track_caller]
fn assert_near(at: SimTime, expected_ms: f64) {
    let at_ms = at.0 as f64 / 1e6;
    assert!((at_ms - expected_ms).abs() < 0.01, "{at_ms} ms instead of {expected_ms}");
}

/// When the server may first send on the second subflow.
fn second_ready(config: &MultipathConfig, rtt1: u64, rtt2: u64) -> SimTime {
    let mut p = over(config, vec![PathSpec::new(FAST, rtt1), PathSpec::new(FAST, rtt2)]);
    p.ask(0);
    p.run_until(|p| p.server_ready[1].is_some());
    p.server_ready[1].expect("it joins")
}

#[test]
fn the_second_subflow_is_ready_after_2_rtt1_and_1_5_rtt2() {
    for (rtt1, rtt2) in [(40, 40), (100, 500), (500, 100), (8, 200)] {
        let expected = 2.0 * rtt1 as f64 + 1.5 * rtt2 as f64;
        assert_near(second_ready(&config(), rtt1, rtt2), expected);
    }
}

#[test]
fn an_early_join_saves_a_round_trip_and_one_at_once_two() {
    let early = MultipathConfig { join: Join::AfterHandshake, ..config() };
    assert_near(second_ready(&early, 100, 40), 100.0 + 60.0);
    let at_once = MultipathConfig { join: Join::AtOnce, ..config() };
    assert_near(second_ready(&at_once, 100, 40), 60.0);
}

#[test]
fn with_a_fourth_segment_the_client_waits_half_a_round_trip_longer_and_the_server_does_not() {
    // Two messages of the client wait for a subflow with room: the first one is full.
    let tcp = TcpConfig { initial_window_segments: 1, ..tcp() };
    let first_sent = |fourth_ack| {
        let config =
            MultipathConfig { fourth_ack, join: Join::AfterHandshake, ..MultipathConfig::new(tcp) };
        let mut p = over(&config, vec![PathSpec::new(FAST, 1000), PathSpec::new(FAST, 100)]);
        p.ends[0].connect(SimTime::ZERO);
        p.ends[0].write(Message { id: MessageId(1), len: 10_000, priority: 0 });
        p.run_until(|p| {
            p.arrivals
                .iter()
                .any(|a| !a.to_client && a.segment.subflow == 1 && a.segment.tcp.len > 0)
        });
        assert_near(p.server_ready[1].expect("it joins"), 1000.0 + 150.0);
        p.now
    };
    // SYN at 1000 ms, answer at 1100, data half a round trip behind; or the fourth at 1200.
    assert_near(first_sent(false), 1150.0);
    assert_near(first_sent(true), 1250.0);
}

#[test]
fn fast_open_saves_a_round_trip_on_the_first_subflow() {
    let tcp = TcpConfig { fast_open: true, ..tcp() };
    let mut p =
        over(&MultipathConfig::new(tcp), vec![PathSpec::new(FAST, 100), PathSpec::new(FAST, 40)]);
    // The answer follows the SYN's: it carries the first DSS option, after one round trip instead of two.
    assert_near(p.ask(4000), 100.0);
    p.run_until(|p| p.server_ready[1].is_some());
    assert_near(p.server_ready[1].expect("it joins"), 100.0 + 60.0);
}

#[test]
fn a_short_answer_uses_the_first_subflow_only() {
    let mut p = over(&config(), vec![PathSpec::new(FAST, 40), PathSpec::new(FAST, 40)]);
    assert_near(p.ask(4000), 80.0);
    assert_eq!((p.bytes_down(0), p.bytes_down(1)), (4000, 0));
}

#[test]
fn two_equal_paths_halve_a_long_transfer() {
    let paths = || vec![PathSpec::new(8_000_000, 40), PathSpec::new(8_000_000, 40)];
    let two = over(&config(), paths()).ask(10_000_000);
    let one = MultipathConfig { subflows: 1, ..config() };
    let one = over(&one, paths()).ask(10_000_000);
    let ratio = two.0 as f64 / one.0 as f64;
    assert!((0.49..0.53).contains(&ratio), "{two} instead of {one}");
}

#[test]
fn the_option_shortens_segments_and_counts_on_the_wire() {
    let mut p = over(&config(), vec![PathSpec::new(FAST, 40), PathSpec::new(FAST, 40)]);
    p.ask(100_000);
    let wire = |subflow: u8, flags: Flags, to_client: bool| -> Vec<u32> {
        p.arrivals
            .iter()
            .filter(|a| a.to_client == to_client && a.segment.subflow == subflow)
            .filter(|a| a.segment.tcp.flags == flags && a.segment.tcp.len == 0)
            .map(|a| a.segment.tcp.wire_bytes)
            .collect()
    };
    let syn_ack = Flags::SYN.with(Flags::ACK);
    assert_eq!(wire(0, Flags::SYN, false), [54 + 12]);
    assert_eq!(wire(0, syn_ack, true), [54 + 12]);
    assert_eq!(wire(1, Flags::SYN, false), [54 + 12]);
    assert_eq!(wire(1, syn_ack, true), [54 + 16]);
    assert_eq!(wire(0, Flags::ACK, false)[..2], [54 + 20, 54 + 8], "keys, then data ACKs");
    assert_eq!(wire(1, Flags::ACK, false)[..2], [54 + 24, 54 + 8], "MAC, then data ACKs");
    let full = p.arrivals.iter().filter(|a| a.to_client && a.segment.tcp.len > 1000).count();
    assert_eq!(full, 0, "1020 bytes with the option");
    let data = p.arrivals.iter().find(|a| a.segment.tcp.len == 1000).expect("there are");
    assert_eq!(data.segment.tcp.wire_bytes, 1000 + 20 + 54);
}

#[test]
fn without_the_option_segments_are_as_long_as_on_a_single_path() {
    let plain = MultipathConfig { options_on_the_wire: false, ..config() };
    let mut p = over(&plain, vec![PathSpec::new(FAST, 40), PathSpec::new(FAST, 40)]);
    p.ask(100_000);
    let longest = p.arrivals.iter().max_by_key(|a| a.segment.tcp.len).expect("there are");
    assert_eq!((longest.segment.tcp.len, longest.segment.tcp.wire_bytes), (1020, 1020 + 54));
}

#[test]
fn a_failed_subflow_is_replaced_by_the_other() {
    for reinject_on_timeout in [false, true] {
        let config = MultipathConfig {
            reinject_on_timeout,
            ..MultipathConfig::new(TcpConfig { max_data_retries: 3, ..tcp() })
        };
        let mut p = over(&config, vec![PathSpec::new(8_000_000, 40), PathSpec::new(8_000_000, 40)]);
        p.ask(200_000);
        p.ends[1].write(Message { id: MessageId(2), len: 2_000_000, priority: 0 });
        let before = p.now;
        assert!(p.run_until(|p| p.bytes_read[0] > 700_000));
        p.dead = vec![PathId(1)];
        assert!(p.run_until(|p| p.bytes_read[0] == 2_200_000));
        assert_eq!(p.ends[1].failure(), None);
        assert!(p.ends[1].reinjections() > 0);
        let took = p.now.since(before);
        // 1.95 MB at 1 MB/s less what the second path brought; with it the first timeout or four of them:
        // about 0.2 or 0.2 + 0.4 + 0.8 + 1.6 s.
        let limit = SimDuration::from_millis(if reinject_on_timeout { 2600 } else { 6000 });
        assert!(took < limit, "{} ms", took.as_millis_f64());
    }
}

#[test]
fn a_connection_fails_with_its_last_subflow() {
    let config = MultipathConfig::new(TcpConfig { max_data_retries: 2, ..tcp() });
    let mut p = over(&config, vec![PathSpec::new(8_000_000, 40), PathSpec::new(8_000_000, 40)]);
    p.ask(200_000);
    p.dead = vec![PathId(0), PathId(1)];
    p.ends[1].write(Message { id: MessageId(2), len: 2_000_000, priority: 0 });
    assert!(!p.run_until(|_| false), "nothing goes on for ever");
    assert_eq!(p.ends[1].failure(), Some(Failure::DataTimeout));
}

#[test]
fn a_join_that_gets_no_answer_leaves_the_connection_as_it_is() {
    let config = MultipathConfig::new(TcpConfig { max_syn_retries: 2, ..tcp() });
    let mut p = over(&config, vec![PathSpec::new(8_000_000, 40), PathSpec::new(8_000_000, 40)]);
    p.dead = vec![PathId(1)];
    p.ask(20_000_000);
    assert_eq!((p.ends[0].failure(), p.ends[1].failure()), (None, None));
}

#[test]
fn both_sides_close_once_all_is_acknowledged() {
    let mut p = over(&config(), vec![PathSpec::new(8_000_000, 40), PathSpec::new(8_000_000, 200)]);
    p.ask(500_000);
    p.ends[1].close();
    assert!(p.run_until(|p| p.ends[0].peer_closed()));
    p.ends[0].close();
    assert!(p.run_until(|p| p.ends[0].is_closed() && p.ends[1].is_closed()));
    assert!(!p.run_until(|_| false), "no timer is left");
}

#[test]
fn a_closed_window_is_probed_and_the_transfer_goes_on_when_it_opens() {
    let tcp = TcpConfig { receive_buffer_bytes: 20_000, window_scale: 0, ..tcp() };
    let config = MultipathConfig::new(tcp);
    let mut p = over(&config, vec![PathSpec::new(8_000_000, 40), PathSpec::new(8_000_000, 40)]);
    p.ask(0);
    p.reads = false;
    p.ends[1].write(Message { id: MessageId(1), len: 100_000, priority: 0 });
    let stalled = p.now + SimDuration::from_secs(5);
    p.run_until(|p| p.now >= stalled);
    assert_eq!(p.ends[1].outstanding_bytes(), 0, "all that fits is acknowledged");
    assert_eq!(p.ends[1].unsent_bytes(), 80_000);
    let probes = |p: &Paths| {
        let signal = Flags::PSH.with(Flags::ACK);
        let probe = |a: &&paths::Arrival| a.segment.tcp.flags == signal && a.segment.tcp.len == 0;
        p.arrivals.iter().filter(probe).count()
    };
    assert!((3..8).contains(&probes(&p)), "{} probes with back-off in 5 s", probes(&p));
    // The window update gets lost, and a probe learns of the window.
    p.dead = vec![PathId(0), PathId(1)];
    p.reads = true;
    p.flush();
    p.dead.clear();
    assert!(p.run_until(|p| p.bytes_read[0] == 100_000));
}

#[test]
fn redundant_carries_everything_on_both_subflows_and_delivers_it_once() {
    let config = MultipathConfig { scheduler: PathScheduler::Redundant, ..config() };
    let mut p = over(&config, vec![PathSpec::new(8_000_000, 40), PathSpec::new(8_000_000, 40)]);
    p.ask(1_000_000);
    assert_eq!(p.bytes_read[0], 1_000_000);
    let (one, two) = (p.bytes_down(0), p.bytes_down(1));
    assert!(one > 980_000, "{one} bytes");
    // All but what the first had sent before the second joined and was acknowledged.
    assert!(two > 900_000, "{two} bytes");
}

#[test]
fn redundant_hides_the_losses_of_one_path() {
    let config = MultipathConfig { scheduler: PathScheduler::Redundant, ..config() };
    let spec = |losses| PathSpec { losses, ..PathSpec::new(8_000_000, 40) };
    let lossy =
        || vec![spec([Loss::None, Loss::pattern(vec![30])]), spec([Loss::None, Loss::None])];
    let mut p = over(&config, lossy());
    let redundant = p.ask(200_000);
    let lost = over(&MultipathConfig { subflows: 1, ..config }, lossy()).ask(200_000);
    assert!(redundant < lost, "{redundant} and {lost}");
}

#[test]
fn opportunistic_retransmission_unblocks_a_small_window() {
    let tcp = TcpConfig { receive_buffer_bytes: 30_000, window_scale: 0, ..tcp() };
    let paths = || vec![PathSpec::new(20_000_000, 20), PathSpec::new(20_000_000, 400)];
    let scheduler = PathScheduler::RoundRobin;
    let time = |opportunistic_retransmission| {
        let config = MultipathConfig {
            opportunistic_retransmission,
            scheduler,
            ..MultipathConfig::new(tcp)
        };
        let mut p = over(&config, paths());
        (p.ask(3_000_000), p.ends[1].reinjections())
    };
    let (without, none) = time(false);
    let (with, some) = time(true);
    assert_eq!(none, 0);
    assert!(some > 0);
    assert!(with.0 * 10 < without.0 * 9, "{with} instead of {without}");
}

#[test]
fn what_is_lost_is_repaired_earlier_on_an_idle_subflow() {
    // 20 segments at once on each subflow; the tenth on the slow one is lost. When the report is back,
    // 200 ms later, the fast one is idle.
    let run = |retransmit_on_other| {
        let tcp = TcpConfig { initial_window_segments: 20, ..tcp() };
        let config = MultipathConfig { retransmit_on_other, ..MultipathConfig::new(tcp) };
        // The answer to the SYN comes before.
        let losses = [Loss::None, Loss::pattern(vec![10])];
        let slow = PathSpec { losses, ..PathSpec::new(FAST, 200) };
        let mut p = over(&config, vec![PathSpec::new(FAST, 40), slow]);
        p.ask(0);
        assert!(p.run_until(|p| p.server_ready[1].is_some()));
        let begun = p.now;
        p.ends[1].write(Message { id: MessageId(1), len: 40_000, priority: 0 });
        assert!(p.run_until(|p| p.bytes_read[0] == 40_000));
        (p.now.since(begun).as_millis_f64(), p.ends[1].reinjections())
    };
    let (without, none) = run(false);
    let (with, one) = run(true);
    assert_eq!((none, one), (0, 1));
    assert!((without - 300.0).abs() < 0.1, "a round trip and a half on the slow one: {without} ms");
    assert!((with - 220.0).abs() < 0.1, "half a round trip on the fast one: {with} ms");
}

/// Shares of the bottlenecks that a long transfer gets, with each path's drop-tail queue of one
/// bandwidth-delay product.
fn long_transfer(congestion: Congestion, rates: [u64; 2], rtts: [u64; 2]) -> Paths {
    let config = MultipathConfig::new(TcpConfig { congestion, ..tcp() });
    let specs = (0..2)
        .map(|i| {
            let bdp = rates[i] / 8 * rtts[i] / 1000;
            let queue = Queue::DropTail(Capacity::Bytes(bdp.max(5000)));
            PathSpec { queue, ..PathSpec::new(rates[i], rtts[i]) }
        })
        .collect();
    let mut p = over(&config, specs);
    p.ask(20_000_000);
    p
}

#[test]
fn every_controller_fills_two_independent_paths() {
    for congestion in [
        Congestion::NewReno,
        Congestion::Cubic,
        Congestion::Lia,
        Congestion::Olia,
        Congestion::Balia,
    ] {
        let p = long_transfer(congestion, [8_000_000, 8_000_000], [40, 40]);
        let rate = 20_000_000.0 * 8.0 / (p.now.0 as f64 / 1e9) / 1e6;
        assert!((12.0..16.0).contains(&rate), "{congestion:?}: {rate} Mbit/s");
    }
}

#[test]
fn linked_subflows_take_what_one_tcp_takes() {
    // Each loses one segment in 200 at random: rates are those of the windows.
    let rate = |congestion: Congestion, subflows| {
        let tcp = TcpConfig { congestion, recovery: Recovery::Sack, ..tcp() };
        let config = MultipathConfig { subflows, ..MultipathConfig::new(tcp) };
        let path = |index| {
            let stream = loadpath_net::Streams::new(1, 0).stream("test.loss", index);
            let lossy = Loss::Bernoulli { probability: 0.005, stream };
            PathSpec { losses: [Loss::None, lossy], ..PathSpec::new(FAST, 100) }
        };
        20_000_000.0 / over(&config, vec![path(0), path(1)]).ask(20_000_000).0 as f64
    };
    let one = rate(Congestion::NewReno, 1);
    let uncoupled = rate(Congestion::NewReno, 2) / one;
    let linked = rate(Congestion::Lia, 2) / one;
    assert!((1.7..2.3).contains(&uncoupled), "{uncoupled} of one TCP");
    assert!((0.8..1.25).contains(&linked), "{linked} of one TCP");
}

/// A server over a single path that knows its RTT, and when its answer of `bytes` was complete.
fn estimate_and_transfer(bytes: u64, form: Estimator) -> (f64, f64) {
    // Delayed ACKs of two segments, as the estimator assumes, and no end of slow start within sight: below
    // 10^6 bytes/s * 100 ms.
    let config = MultipathConfig { subflows: 1, estimator: form, ..config() };
    let mut p = over(&config, vec![PathSpec::new(FAST, 100)]);
    p.ask(0);
    let estimate = p.ends[1].estimated_completion(bytes).expect("it is open");
    let begun = p.now;
    p.ends[1].write(Message { id: MessageId(1), len: bytes, priority: 0 });
    assert!(p.run_until(|p| p.bytes_read[0] == bytes));
    (estimate.as_millis_f64(), p.now.since(begun).as_millis_f64())
}

#[test]
fn the_completion_estimate_is_within_a_round_trip_of_a_transfer_in_slow_start() {
    for form in [Estimator::Loop, Estimator::ClosedForm] {
        for kilobytes in [1, 3, 4, 5, 9, 12, 18, 20, 30, 40, 60] {
            let (estimate, took) = estimate_and_transfer(kilobytes * 1000, form);
            let error = estimate - took;
            assert!(
                error.abs() <= 100.0,
                "{form:?}, {kilobytes} kB: {estimate} ms, took {took} ms"
            );
        }
    }
}

#[test]
fn the_completion_estimate_of_a_whole_window_counts_a_round_trip_more_than_a_burst_takes() {
    // The model sends a window evenly over its round trip, the sender in one burst: 4 segments arrive after
    // half a round trip, where the estimate has one and a half.
    assert_eq!(estimate_and_transfer(4000, Estimator::Loop).0, 150.0);
    let (_, took) = estimate_and_transfer(4000, Estimator::Loop);
    assert!((took - 50.0).abs() < 0.1, "{took} ms");
}
