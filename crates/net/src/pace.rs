//! Rates that change over time: steps, and opportunities to deliver as Mahimahi's traces have them.

use crate::{Bitrate, SimDuration, SimTime};

/// Bits times nanoseconds a byte stands for: a rate in bit/s carries that many of it in a nanosecond.
const WORK_PER_BYTE: u128 = 8_000_000_000;

/// What an opportunity of a trace carries: Mahimahi's packet size.
pub const OPPORTUNITY_BYTES: u64 = 1500;

/// How a rate changes over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// A rate from each instant on; see [`Schedule::steps`].
    Steps {
        /// Starts in ascending order, the first at zero, and rates in bit/s; 0 for an outage.
        steps: Vec<(SimTime, u64)>,
        /// After this it begins anew.
        period: Option<SimDuration>,
    },
    /// Opportunities to deliver [`OPPORTUNITY_BYTES`] each; see [`Schedule::trace`].
    Trace {
        /// Instants in ascending order; the last is the period after which it begins anew.
        opportunities: Vec<SimTime>,
    },
}

impl Schedule {
    /// A rate from each instant on, again and again if there is a period.
    ///
    /// # Errors
    /// If the first start is not zero, the starts do not ascend, the period does not exceed the last
    /// start, or there is a time from which on nothing moves.
    pub fn steps(
        steps: Vec<(SimTime, u64)>,
        period: Option<SimDuration>,
    ) -> Result<Schedule, &'static str> {
        let last = *steps.last().ok_or("there is no rate")?;
        if steps[0].0 != SimTime::ZERO {
            return Err("the first rate must start at 0");
        }
        if !steps.windows(2).all(|pair| pair[0].0 < pair[1].0) {
            return Err("the times must ascend");
        }
        if period.is_some_and(|period| period.0 <= last.0.0) {
            return Err("it must repeat after its last time");
        }
        let moves = match period {
            Some(_) => steps.iter().any(|step| step.1 > 0),
            None => last.1 > 0,
        };
        if !moves {
            return Err("a rate of 0 must end");
        }
        Ok(Schedule::Steps { steps, period })
    }

    /// A Mahimahi trace: the instants, in ms, of opportunities to deliver 1500 bytes. Packets share an
    /// opportunity while it lasts, large ones take several, unused ones are lost, and the trace begins
    /// anew after its last instant.
    ///
    /// # Errors
    /// If the instants descend or the last is 0.
    pub fn trace(ms: &[u64]) -> Result<Schedule, &'static str> {
        if ms.last().is_none_or(|&last| last == 0) {
            return Err("the last time must be positive");
        }
        if !ms.windows(2).all(|pair| pair[0] <= pair[1]) {
            return Err("the times must not descend");
        }
        let opportunities = ms.iter().map(|ms| SimTime(ms * 1_000_000)).collect();
        Ok(Schedule::Trace { opportunities })
    }

    /// Mean rate over its period; the last rate if it does not repeat.
    pub fn mean(&self) -> Bitrate {
        let bps = match self {
            Schedule::Steps { steps, period: Some(period) } => {
                let ends = steps[1..].iter().map(|step| step.0.0).chain([period.0]);
                let work =
                    steps.iter().zip(ends).map(|(s, end)| (end - s.0.0) as u128 * s.1 as u128);
                (work.sum::<u128>() / period.0 as u128) as u64
            }
            Schedule::Steps { steps, period: None } => steps[steps.len() - 1].1,
            Schedule::Trace { opportunities } => {
                let work = opportunities.len() as u128 * OPPORTUNITY_BYTES as u128 * WORK_PER_BYTE;
                (work / opportunities[opportunities.len() - 1].0 as u128) as u64
            }
        };
        Bitrate::from_bps(bps.max(1)).expect("it is at least 1")
    }

    /// The highest rate of its steps; of a trace, of its densest millisecond.
    pub fn peak(&self) -> Bitrate {
        let bps = match self {
            Schedule::Steps { steps, .. } => steps.iter().map(|step| step.1).max().unwrap_or(1),
            Schedule::Trace { opportunities } => {
                let most = opportunities.chunk_by(|a, b| a == b).map(<[_]>::len).max().unwrap_or(1);
                most as u64 * OPPORTUNITY_BYTES * 8_000
            }
        };
        Bitrate::from_bps(bps.max(1)).expect("it is at least 1")
    }
}

/// The service of a hop whose rate follows a [`Schedule`].
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    schedule: Schedule,
    /// Steps: the part of the last departure's work that lies behind its stamp, which is whole.
    owed: u128,
    /// Trace: number of the opportunity in use, counted through all rounds, and bytes left in it.
    current: Option<(u64, u64)>,
}

impl Pace {
    pub(crate) fn new(schedule: Schedule) -> Pace {
        Pace { schedule, owed: 0, current: None }
    }

    /// When the service of a packet starts and ends which arrives at `arrival` behind one that is
    /// served until `busy_until`.
    pub(crate) fn serve(
        &mut self,
        arrival: SimTime,
        busy_until: SimTime,
        size_bytes: u32,
    ) -> (SimTime, SimTime) {
        match &self.schedule {
            Schedule::Steps { steps, period } => {
                let start = arrival.max(busy_until);
                if arrival > busy_until {
                    self.owed = 0;
                }
                let work = size_bytes as u128 * WORK_PER_BYTE + self.owed;
                let (end, owed) = serve_in_steps(steps, *period, start, work);
                self.owed = owed;
                (start, end)
            }
            Schedule::Trace { opportunities } => {
                let (n, mut left) = match self.current {
                    Some((n, left)) if left > 0 && instant(opportunities, n) > arrival => (n, left),
                    // Those up to the arrival are lost, that in use was used up.
                    used => {
                        let next = used.map_or(0, |(n, _)| n + 1);
                        (next.max(first_after(opportunities, arrival)), OPPORTUNITY_BYTES)
                    }
                };
                let start = instant(opportunities, n);
                let (mut last, mut size) = (n, size_bytes as u64);
                if size > left {
                    size -= left;
                    let more = size.div_ceil(OPPORTUNITY_BYTES);
                    last += more;
                    left = more * OPPORTUNITY_BYTES;
                }
                self.current = Some((last, left - size));
                (start, instant(opportunities, last))
            }
        }
    }
}

/// When `work` that starts at `start` is done, rounded down, and what of it is left then.
fn serve_in_steps(
    steps: &[(SimTime, u64)],
    period: Option<SimDuration>,
    start: SimTime,
    mut work: u128,
) -> (SimTime, u128) {
    let (mut round, offset) = match period {
        Some(period) => (start.0 - start.0 % period.0, SimTime(start.0 % period.0)),
        None => (0, start),
    };
    let mut now = start.0;
    let mut index = steps.partition_point(|step| step.0 <= offset) - 1;
    loop {
        let rate = steps[index].1 as u128;
        let end = match (steps.get(index + 1), period) {
            (Some(next), _) => Some(round + next.0.0),
            (None, Some(period)) => Some(round + period.0),
            (None, None) => None,
        };
        let capacity = end.map_or(u128::MAX, |end| (end - now) as u128 * rate);
        // What ends with a step ends there, not after the outage behind it.
        if work <= capacity {
            return (SimTime(now + (work / rate) as u64), work % rate);
        }
        work -= capacity;
        now = end.expect("without an end there is room for everything");
        index += 1;
        if index == steps.len() {
            index = 0;
            round = now;
        }
    }
}

/// The instant of opportunity `n`, counted through all rounds.
fn instant(opportunities: &[SimTime], n: u64) -> SimTime {
    let len = opportunities.len() as u64;
    let period = opportunities[opportunities.len() - 1].0;
    SimTime(n / len * period + opportunities[(n % len) as usize].0)
}

/// The first opportunity later than `at`: what arrives together with one has missed it.
fn first_after(opportunities: &[SimTime], at: SimTime) -> u64 {
    let len = opportunities.len() as u64;
    let period = opportunities[opportunities.len() - 1].0;
    let (round, offset) = (at.0 / period, SimTime(at.0 % period));
    // An opportunity at 0 of a round is at the end of the round before, too.
    round * len + opportunities.partition_point(|o| *o <= offset) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn ms(ms: u64) -> SimTime {
        SimTime(ms * 1_000_000)
    }

    fn serve(pace: &mut Pace, packets: &[(SimTime, u32)]) -> Vec<SimTime> {
        let mut busy = SimTime::ZERO;
        packets
            .iter()
            .map(|&(at, size)| {
                busy = pace.serve(at, busy, size).1;
                busy
            })
            .collect()
    }

    fn trace(ms: &[u64]) -> Pace {
        Pace::new(Schedule::trace(ms).unwrap())
    }

    #[test]
    fn a_file_of_1_is_12_mbit() {
        let mut pace = trace(&[1]);
        let burst = vec![(SimTime(100), 1500); 1000];
        let stamps = serve(&mut pace, &burst);
        assert!(stamps.iter().zip(1..).all(|(stamp, n)| *stamp == ms(n)));
        assert_eq!(pace.schedule.mean().bps(), 12_000_000);
        assert_eq!(pace.schedule.peak().bps(), 12_000_000);
    }

    #[test]
    fn packets_share_an_opportunity_and_unused_ones_are_lost() {
        // Rounds of 10 ms with opportunities at 3, 3, 7 and 10 ms.
        let mut pace = trace(&[3, 3, 7, 10]);
        let packets = [
            (ms(0), 700),
            (ms(1), 700),
            // 100 bytes of the first opportunity are left, the rest goes with the second.
            (ms(2), 200),
            // 1400 bytes are left, but it comes too late for them.
            (ms(3), 100),
            // 17 ms is that of the second round; 13 ms was lost twice.
            (ms(13), 1500),
            (ms(13), 3000),
        ];
        let stamps = serve(&mut pace, &packets);
        assert_eq!(stamps, [ms(3), ms(3), ms(3), ms(7), ms(17), ms(23)]);
    }

    #[test]
    fn a_packet_larger_than_an_opportunity_takes_several() {
        let mut pace = trace(&[5]);
        assert_eq!(serve(&mut pace, &[(ms(0), 4000), (ms(0), 500)]), [ms(15), ms(15)]);
    }

    #[test]
    fn a_packet_takes_the_rates_that_it_meets() {
        // 8 Mbit/s: 1000 bytes a ms; then 0.8 Mbit/s; then nothing until it repeats.
        let steps = vec![(ms(0), 8_000_000), (ms(10), 800_000), (ms(20), 0)];
        let schedule = Schedule::steps(steps, Some(SimDuration::from_millis(30))).unwrap();
        assert_eq!(schedule.mean().bps(), 2_933_333);
        assert_eq!(schedule.peak().bps(), 8_000_000);
        let mut pace = Pace::new(schedule);
        // The second: 500 bytes by 10 ms, 500 at a tenth of the rate.
        let packets = [(ms(0), 1000), (SimTime(9_500_000), 1000), (ms(12), 1000), (ms(60), 500)];
        let stamps = serve(&mut pace, &packets);
        // The third: 500 bytes from 15 to 20 ms, 500 from 30 ms on.
        assert_eq!(stamps, [ms(1), ms(15), SimTime(30_500_000), SimTime(60_500_000)]);
    }

    #[test]
    fn what_ends_with_a_step_does_not_wait_for_the_outage_behind_it() {
        let steps = vec![(ms(0), 8_000_000), (ms(10), 0)];
        let schedule = Schedule::steps(steps, Some(SimDuration::from_millis(30))).unwrap();
        let packets = [(ms(0), 5000), (ms(0), 5000), (ms(0), 1000)];
        assert_eq!(serve(&mut Pace::new(schedule), &packets), [ms(5), ms(10), ms(31)]);
    }

    #[test]
    fn impossible_schedules_are_refused() {
        let steps = |steps: &[(u64, u64)], period: Option<u64>| {
            let steps = steps.iter().map(|&(at, rate)| (ms(at), rate)).collect();
            Schedule::steps(steps, period.map(SimDuration::from_millis)).is_err()
        };
        assert!(steps(&[], None) && steps(&[(1, 5)], None) && steps(&[(0, 5), (0, 6)], None));
        assert!(steps(&[(0, 5), (9, 0)], None) && steps(&[(0, 0)], Some(5)));
        assert!(steps(&[(0, 5), (9, 6)], Some(9)));
        assert!(!steps(&[(0, 5), (9, 0)], Some(10)));
        assert!(Schedule::trace(&[]).is_err() && Schedule::trace(&[0]).is_err());
        assert!(Schedule::trace(&[3, 2]).is_err() && Schedule::trace(&[0, 2]).is_ok());
    }

    proptest! {
        /// Mahimahi's own loop, opportunity by opportunity, link_queue.cc.
        #[test]
        fn a_trace_serves_as_a_loop_over_its_opportunities(
            mut times in prop::collection::vec(0u64..40, 1..12),
            gaps in prop::collection::vec((0u64..15_000_000, 40u32..4000), 1..60),
        ) {
            times.sort_unstable();
            times.push(times[times.len() - 1] + 1);
            let mut at = SimTime(1);
            let packets: Vec<_> = gaps.iter().map(|&(gap, size)| {
                at += SimDuration(gap);
                (at, size)
            }).collect();
            let opportunities: Vec<_> = times.iter().map(|&t| ms(t)).collect();
            let mut expected = vec![];
            let (mut next, mut size) = (0, packets[0].1 as u64);
            let mut n = 0;
            while next < packets.len() {
                let now = instant(&opportunities, n);
                let mut left = OPPORTUNITY_BYTES;
                while left > 0 && next < packets.len() && packets[next].0 < now {
                    let part = left.min(size);
                    left -= part;
                    size -= part;
                    if size == 0 {
                        expected.push(now);
                        next += 1;
                        size = packets.get(next).map_or(0, |p| p.1 as u64);
                    }
                }
                n += 1;
            }
            prop_assert_eq!(serve(&mut trace(&times), &packets), expected);
        }

        #[test]
        fn one_step_is_a_constant_rate(
            bps in 10_000u64..100_000_000,
            gaps in prop::collection::vec((0u64..3_000_000, 40u32..1502), 1..100),
        ) {
            use crate::{Hop, Loss, Queue};
            let hop = || Hop::new(
                Bitrate::from_bps(bps).unwrap(), SimDuration::ZERO, Queue::Unlimited, Loss::None,
            );
            // Split in the middle: the same rate twice.
            let steps = vec![(ms(0), bps), (ms(50), bps)];
            let mut paced = hop().paced(Schedule::steps(steps, None).unwrap());
            let mut constant = hop();
            let mut at = SimTime::ZERO;
            for &(gap, size) in &gaps {
                at += SimDuration(gap);
                prop_assert_eq!(paced.admit(at, size), constant.admit(at, size));
            }
        }
    }
}
