//! What a link did, and how far it can be believed.

use hdrhistogram::Histogram;
use loadpath_net::{Direction, Link, SimDuration, SimTime};
use serde::Serialize;

use crate::driver::{Fate, Observer, Way};

/// 99 of 100 packets may be late by no more than this, or by [`P99_LIMIT`] of the shortest RTT, if
/// that is more: what the median RTT of a link may be off by, both ways together.
const P99_LIMIT_MS: f64 = 0.3;
/// See [`P99_LIMIT_MS`].
const P99_LIMIT: f64 = 0.01;
/// No packet may be later than this. Measured on two idle cores at 10 and 100 Mbit/s: at most 0.6 ms
/// with real-time priority, 6 to 14 ms without.
const MAX_LIMIT_MS: f64 = 5.0;
/// Above everything that a link can be late and still be called one.
const LONGEST: SimDuration = SimDuration::from_secs(3600);

/// A distribution of short times.
#[derive(Clone, Debug)]
pub struct Stopwatch(Histogram<u64>);

impl Default for Stopwatch {
    fn default() -> Self {
        // Three digits: percentiles are exact to 0.1 %. All memory is taken here, none when recording.
        Stopwatch(Histogram::new_with_bounds(1, LONGEST.0, 3).expect("the bounds are valid"))
    }
}

impl Stopwatch {
    /// Adds one time.
    pub fn record(&mut self, span: SimDuration) {
        self.0.saturating_record(span.0);
    }

    /// Its percentiles so far.
    pub fn percentiles(&self) -> Percentiles {
        let ms = |ns: u64| SimDuration(ns).as_millis_f64();
        let at = |quantile| ms(self.0.value_at_quantile(quantile));
        Percentiles {
            count: self.0.len(),
            p50_ms: at(0.5),
            p99_ms: at(0.99),
            p99_9_ms: at(0.999),
            max_ms: ms(self.0.max()),
        }
    }
}

/// Percentiles of a distribution; all zero if nothing was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// Number of times recorded.
    pub count: u64,
    /// Median.
    pub p50_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile.
    pub p99_9_ms: f64,
    /// Maximum.
    pub max_ms: f64,
}

/// One direction of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionReport {
    /// Packets that arrived.
    pub offered_packets: u64,
    /// Bytes that arrived, with what the link counts for each packet's header below IP.
    pub offered_bytes: u64,
    /// Packets that the queue dropped.
    pub queue_drops: u64,
    /// Packets that the loss process took.
    pub lost_packets: u64,
    /// Packets handed over.
    pub delivered_packets: u64,
    /// Packets on their way when the link stopped.
    pub in_flight_packets: u64,
    /// Packets that a device refused or dropped before or behind the link; none in a sound run.
    pub device_drops: u64,
    /// Most packets that waited at once.
    pub max_waiting_packets: u64,
    /// Time spent sending.
    pub busy_ms: f64,
    /// How much later than due packets were handed over.
    pub lateness: Percentiles,
}

/// A whole link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// From start to stop.
    pub duration_ms: f64,
    /// The emulator ran with real-time priority.
    pub real_time: bool,
    /// The namespaces belong to a user namespace: no root was needed.
    pub rootless: bool,
    /// Processor time that the emulator used.
    pub cpu_ms: f64,
    /// Processor time that the machine below a virtual one took, on all processors; whole ticks of
    /// 10 ms. Clocks go on meanwhile, at both ends of the link too.
    pub stolen_ms: f64,
    /// How long the emulator waited for a processor whenever it had something to do; arrivals are
    /// stamped late by as much.
    pub stalls: Percentiles,
    /// Towards the client.
    pub down: DirectionReport,
    /// Towards the server.
    pub up: DirectionReport,
    /// The second path, if there is one.
    pub path2: Option<PathReport>,
    /// What was captured, if anything was.
    pub tap: Option<TapReport>,
    /// Whether to believe the run.
    pub verdict: Verdict,
}

/// One path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PathReport {
    /// Towards the client.
    pub down: DirectionReport,
    /// Towards the server.
    pub up: DirectionReport,
}

/// What became of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TapReport {
    /// Packets written, each once at each end that saw it.
    pub packets: u64,
    /// Packets that were not written, because the disk did not keep up.
    pub missed: u64,
    /// Why writing ended early.
    pub error: Option<String>,
}

/// Whether a run can be believed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// The link was on time and lost nothing that it was not asked to lose.
    pub ok: bool,
    /// What was wrong, for people.
    pub reasons: Vec<String>,
}

impl Verdict {
    /// Judges by the stalls and by both directions of each path, of which the shortest has this RTT.
    pub fn of(stalls: &Percentiles, paths: &[PathReport], rtt: SimDuration) -> Verdict {
        let p99_limit_ms = P99_LIMIT_MS.max(P99_LIMIT * 1e3 * rtt.as_secs_f64());
        let mut reasons = Vec::new();
        let mut judge = |what: &str, p: &Percentiles| {
            for (name, value, limit) in
                [("99 % of", p.p99_ms, p99_limit_ms), ("the latest of", p.max_ms, MAX_LIMIT_MS)]
            {
                if value > limit {
                    reasons.push(format!(
                        "{name} {what} up to {value:.2} ms, more than {limit:.1} ms"
                    ));
                }
            }
        };
        judge("waits for a processor", stalls);
        for (number, path) in paths.iter().enumerate() {
            let which =
                if paths.len() > 1 { format!(" on path {}", number + 1) } else { String::new() };
            for (name, way) in [("down", &path.down), ("up", &path.up)] {
                judge(&format!("packets {name}{which} late by"), &way.lateness);
            }
        }
        for (number, path) in paths.iter().enumerate() {
            let which =
                if paths.len() > 1 { format!(" on path {}", number + 1) } else { String::new() };
            for (name, drops) in [("down", path.down.device_drops), ("up", path.up.device_drops)] {
                if drops > 0 {
                    reasons.push(format!(
                        "{drops} packets {name}{which} dropped by a device, not by the link"
                    ));
                }
            }
        }
        Verdict { ok: reasons.is_empty(), reasons }
    }

    /// Judges the capture, too: a link without it is none that was asked for.
    pub(crate) fn judge_tap(&mut self, tap: &TapReport) {
        if tap.missed > 0 {
            self.reasons.push(format!("{} packets missed by the capture", tap.missed));
        }
        if let Some(error) = &tap.error {
            self.reasons.push(format!("the capture ended early: {error}"));
        }
        self.ok = self.reasons.is_empty();
    }
}

/// Counts what the links themselves do not.
#[derive(Clone, Debug)]
pub(crate) struct Recorder(Vec<RecordedPath>);

#[derive(Clone, Debug, Default)]
struct RecordedPath {
    down: Recorded,
    up: Recorded,
}

impl RecordedPath {
    fn of(&mut self, direction: Direction) -> &mut Recorded {
        match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }
}

#[derive(Clone, Debug, Default)]
struct Recorded {
    lateness: Stopwatch,
    delivered: u64,
    refused: u64,
}

impl Recorder {
    /// For this many paths.
    pub(crate) fn new(paths: usize) -> Recorder {
        Recorder(vec![RecordedPath::default(); paths])
    }

    /// The report of one direction at `now`, with `device_drops` beside those that were seen.
    pub(crate) fn report(
        &self,
        way: Way,
        link: &Link<Vec<u8>>,
        now: SimTime,
        device_drops: u64,
    ) -> DirectionReport {
        let path = &self.0[way.path];
        let recorded = match way.direction {
            Direction::Down => &path.down,
            Direction::Up => &path.up,
        };
        let hop = link.hop().counters();
        DirectionReport {
            offered_packets: hop.offered_packets,
            offered_bytes: hop.offered_bytes,
            queue_drops: hop.queue_drops,
            lost_packets: hop.lost_packets,
            delivered_packets: recorded.delivered,
            in_flight_packets: link.in_flight() as u64,
            device_drops: recorded.refused + device_drops,
            max_waiting_packets: hop.max_waiting_packets,
            busy_ms: link.hop().busy_by(now).as_millis_f64(),
            lateness: recorded.lateness.percentiles(),
        }
    }
}

impl Observer for Recorder {
    fn arrived(&mut self, _: Way, _: SimTime, _: &[u8], _: Fate) {}

    fn departed(&mut self, way: Way, due: SimTime, at: SimTime, _: &[u8], taken: bool) {
        let recorded = self.0[way.path].of(way.direction);
        recorded.lateness.record(at.since(due));
        if taken {
            recorded.delivered += 1;
        } else {
            recorded.refused += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use loadpath_net::{Bitrate, Hop, Loss, Queue};

    use super::*;

    fn link() -> Link<Vec<u8>> {
        let rate = Bitrate::from_bps(8_000_000).unwrap();
        Link::new(Hop::new(rate, SimDuration::ZERO, Queue::Unlimited, Loss::pattern(vec![1])))
    }

    const UP: Way = Way { path: 0, direction: Direction::Up };
    const DOWN: Way = Way { path: 0, direction: Direction::Down };

    /// Three packets, of which the second is lost and the last is handed over `late` after it is due.
    fn report(late: SimDuration, taken: bool, device_drops: u64) -> DirectionReport {
        let (mut link, mut recorder) = (link(), Recorder::new(1));
        for _ in 0..3 {
            link.enqueue(SimTime::ZERO, 1000, vec![0; 1000]);
        }
        let end = SimTime(10_000_000);
        for late in [SimDuration::ZERO, late] {
            let (due, packet) = link.poll(end).unwrap();
            recorder.departed(UP, due, due + late, &packet, taken);
        }
        recorder.report(UP, &link, end, device_drops)
    }

    fn judge_with(up: DirectionReport, rtt: SimDuration) -> Verdict {
        let down = Recorder::new(1).report(DOWN, &link(), SimTime::ZERO, 0);
        Verdict::of(&Percentiles::default(), &[PathReport { down, up }], rtt)
    }

    fn judge(up: DirectionReport) -> Verdict {
        judge_with(up, SimDuration::from_millis(30))
    }

    #[test]
    fn a_report_counts_what_was_offered_delivered_and_lost() {
        let r = report(SimDuration::from_micros(200), true, 0);
        assert_eq!((r.offered_packets, r.offered_bytes), (3, 3000));
        assert_eq!((r.lost_packets, r.delivered_packets, r.in_flight_packets), (1, 2, 0));
        assert_eq!(r.busy_ms, 2.0);
        assert!((r.lateness.max_ms - 0.2).abs() < 0.001, "{:?}", r.lateness);
        assert_eq!(judge(r), Verdict { ok: true, reasons: vec![] });
    }

    #[test]
    fn a_verdict_names_what_was_late_and_what_devices_dropped() {
        let late = judge(report(SimDuration::from_millis(7), true, 0));
        assert_eq!(late.reasons.len(), 2, "{late:?}");
        assert!(
            late.reasons[1].starts_with("the latest of packets up late by up to 7.0"),
            "{late:?}"
        );
        let refused = judge(report(SimDuration::ZERO, false, 3));
        assert_eq!(refused.reasons, ["5 packets up dropped by a device, not by the link"]);
        assert!(!late.ok && !refused.ok);
    }

    #[test]
    fn packets_may_be_late_by_a_hundredth_of_the_round_trip() {
        let late = report(SimDuration::from_micros(800), true, 0);
        assert!(judge_with(late.clone(), SimDuration::from_millis(100)).ok);
        assert!(!judge_with(late, SimDuration::from_millis(70)).ok);
    }

    #[test]
    fn percentiles_are_those_of_the_times_recorded() {
        let mut times = Stopwatch::default();
        (1..=1000).for_each(|us| times.record(SimDuration::from_micros(us)));
        let p = times.percentiles();
        let near = |value: f64, expected: f64| (value / expected - 1.0).abs() < 0.002;
        assert!(near(p.p50_ms, 0.5) && near(p.p99_ms, 0.99) && near(p.p99_9_ms, 0.999), "{p:?}");
        assert!(near(p.max_ms, 1.0) && p.count == 1000, "{p:?}");
        assert_eq!(Stopwatch::default().percentiles(), Percentiles::default());
    }
}
