//! Whole transfers against closed forms. All expected numbers are worked out by hand from the RFCs that
//! the comments name; none was taken from a run.
//!
//! The scene is always the same: a client connects to a server, sends a request of one segment, and the
//! server answers with a message of n full segments. On a path with a round trip of one RTT and
//! infinite rate the SYN leaves at 0, the request at 1 RTT, the first flight of the response at 1.5 RTT; it
//! arrives at 2 RTT, and each further flight one RTT later.

mod common;

use common::{Pair, lossless};
use loadpath_net::{Loss, Queue, SimDuration, SimTime};
use loadpath_transport::*;

const RTT_MS: u64 = 50;
/// A packet takes no time: 2^64 bit/s are below a nanosecond for a million packets.
const INFINITE_BPS: u64 = u64::MAX;

fn config(initial_window_segments: u32, delayed_ack_segments: u32) -> TcpConfig {
    TcpConfig {
        initial_window_segments,
        delayed_ack_segments,
        // Longer than a round trip: the odd segment of a flight is acknowledged with the first of the
        // next one.
        delayed_ack_timeout: SimDuration::from_millis(100),
        min_rto: SimDuration::from_millis(200),
        ack_push_at_once: true,
        ..TcpConfig::standard()
    }
}

/// Time from the SYN to the last byte of a response of `segments` segments, and the end state.
fn load(
    config: &TcpConfig,
    segments: u64,
    rtt_ms: u64,
    bps: u64,
    losses: [Loss; 2],
) -> (f64, Pair) {
    let delay = SimDuration::from_millis(rtt_ms / 2);
    let mut pair = Pair::new(config, config, bps, delay, losses, Queue::Unlimited);
    pair.ends[0].connect(SimTime::ZERO);
    pair.ends[0].write(Message { id: MessageId(0), len: 400, priority: 0 });
    assert!(pair.run_until(|p| !p.read[1].is_empty()), "no request");
    let len = segments * u64::from(config.mss);
    pair.ends[1].write(Message { id: MessageId(0), len, priority: 0 });
    assert!(pair.run_until(|p| p.bytes_read[0] == len), "no response");
    let (at, last) = *pair.read[0].last().expect("something was read");
    assert!(last.end);
    (at.0 as f64 / 1e6, pair)
}

/// Checks that responses of up to `last[i]` segments take i + 1 flights.
fn check_flights(icwnd: u32, delayed_ack_segments: u32, last: &[u64], extra_ms: f64) {
    let mut first = 1;
    for (flights, &last) in (1u64..).zip(last) {
        for segments in [first, (first + last) / 2, last] {
            let config = config(icwnd, delayed_ack_segments);
            let (ms, pair) = load(&config, segments, RTT_MS, INFINITE_BPS, lossless());
            let expected =
                (1 + flights) as f64 * RTT_MS as f64 + if flights > 1 { extra_ms } else { 0.0 };
            assert_eq!(ms, expected, "icwnd {icwnd}, {segments} segments");
            assert_eq!(pair.ends[1].stats().retransmissions, 0);
        }
        first = last + 1;
    }
}

#[test]
fn slow_start_doubles_when_every_segment_is_acknowledged() {
    // RFC 5681, equation (2): an ACK a segment, a segment an ACK. After k flights icwnd (2^k - 1).
    check_flights(1, 1, &[1, 3, 7, 15, 31, 63, 127, 255, 511, 1023], 0.0);
    check_flights(4, 1, &[4, 12, 28, 60, 124, 252, 508, 1020], 0.0);
    check_flights(10, 1, &[10, 30, 70, 150, 310, 630, 1270], 0.0);
}

#[test]
fn slow_start_grows_by_half_when_every_second_segment_is_acknowledged() {
    // One ACK for two segments lets three go: the two that it acknowledges and one of growth. An odd
    // segment (+1) waits for the next flight.
    //
    // icwnd 4:  flight  4   6   9   12    18    27    42   63    93   141   210   315   474
    //           ACKs    2   3   4+1 6+1   9+1   14    21   31+1  47   70+1  105+1 158
    //           sum     4  10  19   31    49    76   118  181   274   415   625   940  1414
    check_flights(4, 2, &[4, 10, 19, 31, 49, 76, 118, 181, 274, 415, 625, 940, 1414], 0.0);
    // icwnd 10: flight 10  15   21   33   48    72    108   162   243   366
    //           ACKs    5   7+1 11   16+1 24+1  36+1  54+1  81+1  122
    //           sum    10  25   46   79  127   199    307   469   712  1078
    check_flights(10, 2, &[10, 25, 46, 79, 127, 199, 307, 469, 712, 1078], 0.0);
}

#[test]
fn an_initial_window_of_one_waits_for_the_delayed_ack_once() {
    // The only segment of the first flight has no second one beside it: its ACK waits 100 ms.
    // flight 1  2  3    3  6  9    12    18    27  42   63    93   141   210   315    474
    // ACKs   1  1  1+1  2  3  4+1  6+1   9+1   14  21   31+1  47   70+1  105+1 158
    // sum    1  3  6    9 15 24    36    54    81 123  186   279   420   630   945   1419
    let last = [1, 3, 6, 9, 15, 24, 36, 54, 81, 123, 186, 279, 420, 630, 945, 1419];
    check_flights(1, 2, &last, 100.0);
}

#[test]
fn slow_start_by_bytes_doubles_in_spite_of_delayed_acks() {
    // RFC 3465: the window grows by what is acknowledged; flights of 4, 8, 16, ... are even.
    let config = TcpConfig { slow_start: SlowStart::BytesAcked, ..config(4, 2) };
    for (segments, flights) in [(4, 1), (5, 2), (12, 2), (13, 3), (28, 3), (1020, 8), (1021, 9)] {
        let (ms, _) = load(&config, segments, RTT_MS, INFINITE_BPS, lossless());
        assert_eq!(ms, ((1 + flights) * RTT_MS) as f64, "{segments} segments");
    }
}

/// Twenty segments in one flight; ordinals on the way to the client: 0 the answer to the SYN, 1 the ACK of
/// the request, 2 the first segment.
fn repair(recovery: Recovery, lost_segments: &[u64]) -> (f64, Pair) {
    let config = TcpConfig { recovery, ..config(20, 2) };
    let lost = Loss::pattern(lost_segments.iter().map(|s| s + 2).collect());
    load(&config, 20, RTT_MS, INFINITE_BPS, [Loss::None, lost])
}

#[test]
fn newreno_repairs_one_loss_a_round_trip() {
    // RFC 6582: the flight arrives at 2 RTT, its duplicate ACKs bring the first retransmission to the client
    // at 3 RTT, each partial ACK the next one a RTT later.
    assert_eq!(repair(Recovery::NewReno, &[3]).0, 3.0 * RTT_MS as f64);
    assert_eq!(repair(Recovery::NewReno, &[3, 7]).0, 4.0 * RTT_MS as f64);
    assert_eq!(repair(Recovery::NewReno, &[3, 7, 11]).0, 5.0 * RTT_MS as f64);
    assert_eq!(repair(Recovery::NewReno, &[3, 4, 5, 6]).0, 6.0 * RTT_MS as f64);
}

#[test]
fn nack_and_sack_repair_several_losses_in_one_round_trip() {
    for recovery in [Recovery::Nack, Recovery::Sack] {
        for lost in [&[3][..], &[3, 7], &[3, 7, 11], &[3, 4, 5, 6]] {
            let (ms, pair) = repair(recovery, lost);
            assert_eq!(ms, 3.0 * RTT_MS as f64, "{recovery:?} {lost:?}");
            let stats = pair.ends[1].stats();
            // As there are no new data, SACK has its rescue retransmission besides (RFC 6675, NextSeg
            // rule 4).
            let rescue = u64::from(recovery == Recovery::Sack);
            assert_eq!(stats.retransmissions, lost.len() as u64 + rescue);
            assert_eq!(stats.recoveries, 1);
            assert_eq!(stats.timeouts, 0);
        }
    }
}

#[test]
fn the_last_segment_waits_for_the_timer() {
    // All leave at 75 ms and arrive at 100 ms. The nineteenth has no second one beside it, so its ACK leaves
    // at 200 and starts the timer anew at 225 ms. Nine samples of 50 ms had brought RTTVAR to
    // 25 * 0.75^9 = 1.9 ms; this one, 150 ms, makes it 26.4 and SRTT 62.5, and 62.5 + 4 * 26.4 is below the
    // minimum of 200 ms. The twentieth is sent again at 425 ms and arrives at 450 ms.
    for recovery in [Recovery::NewReno, Recovery::Nack, Recovery::Sack] {
        let (ms, pair) = repair(recovery, &[19]);
        assert_eq!(ms, 450.0);
        let stats = pair.ends[1].stats();
        assert_eq!((stats.timeouts, stats.tail_losses, stats.recoveries), (1, 1, 0));
    }
}

#[test]
fn timeouts_of_a_single_segment_double() {
    // RTT 100: the server's RTO after the handshake is 100 + 4 * 50 = 300 ms. The segment leaves at 150, and
    // again after 300, 600, 1200 and 2400 ms; it needs 50 ms.
    let mut waited = 0;
    for (lost, rto) in (1..=4).zip([300, 600, 1200, 2400]) {
        waited += rto;
        let losses = [Loss::None, Loss::pattern((2..2 + lost).collect())];
        let (ms, pair) = load(&config(4, 2), 1, 100, INFINITE_BPS, losses);
        assert_eq!(ms, (200 + waited) as f64);
        assert_eq!(pair.ends[1].stats().timeouts, lost);
        assert_eq!(pair.ends[1].stats().tail_losses, 1);
    }
}

#[test]
fn connection_timeouts_double() {
    // SYNs at 0, 1000, 3000 and 7000 ms; then as ever: 2 RTT.
    for (lost, at) in [(1, 1000), (2, 3000), (3, 7000)] {
        let losses = [Loss::pattern((0..lost).collect()), Loss::None];
        let (ms, _) = load(&config(4, 2), 1, 100, INFINITE_BPS, losses);
        assert_eq!(ms, (at + 200) as f64);
    }
}

#[test]
fn bulk_throughput_is_within_one_per_cent_of_the_bottleneck() {
    for (bps, rtt_ms) in [(1_000_000, 200), (10_000_000, 40), (100_000_000, 8)] {
        // A thousand round trips: connecting and slow start take less than ten of them. A full segment is
        // 1448 + 52 + 2 bytes on the wire.
        let segments = bps / 1000 * rtt_ms * 1000 / (8 * 1502);
        let (ms, pair) = load(&config(4, 2), segments, rtt_ms, bps, lossless());
        let ideal_ms = (segments * 1502 * 8) as f64 / bps as f64 * 1000.0;
        assert!(ms > ideal_ms && ms < ideal_ms * 1.01, "{bps} bit/s: {ms} of {ideal_ms} ms");
        assert_eq!(pair.ends[1].stats().retransmissions, 0);
    }
}
