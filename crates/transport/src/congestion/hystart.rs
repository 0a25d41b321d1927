//! HyStart: the first slow start ends where the path seems full, before a loss says so (Ha and Rhee, "Taming
//! the Elephants: New TCP Slow Start", 2008), with the constants and conditions of Linux tcp_cubic.c,
//! `hystart_update`: those of versions 2.6.29 to 5.4, or those since 5.16.

use loadpath_net::{SimDuration, SimTime};

use crate::HyStartConfig;

/// Windows below this many segments are left alone (`hystart_low_window`).
const LOW_WINDOW_SEGMENTS: u64 = 16;
/// RTT samples of a round whose smallest counts (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// Bounds of the added delay that means a queue (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const DELAY_MIN: SimDuration = SimDuration::from_millis(4);
const DELAY_MAX: SimDuration = SimDuration::from_millis(16);
/// What the sender itself may delay ACKs by (`hystart_ack_delay`): four of the largest segments for offloading
/// at the pacing rate, which is more than this bound at any rate below 2 Gbit/s.
const ACK_DELAY: SimDuration = SimDuration::from_millis(1);

/// State of one connection.
#[derive(Clone, Debug)]
pub(crate) struct HyStart {
    low_window: u64,
    /// ACKs that are not farther apart belong to one train.
    ack_delta: SimDuration,
    current: bool,
    found: bool,
    /// Smallest RTT of the connection.
    delay_min: Option<SimDuration>,
    round_start: SimTime,
    /// The round ends with the acknowledgement of more than this.
    round_end: u64,
    /// Last ACK of the round's train.
    last_ack: SimTime,
    round_rtt: Option<SimDuration>,
    samples: u32,
}

impl HyStart {
    pub fn new(mss: u64, config: HyStartConfig) -> Self {
        HyStart {
            low_window: LOW_WINDOW_SEGMENTS * mss,
            ack_delta: config.ack_delta,
            current: config.current,
            found: false,
            delay_min: None,
            round_start: SimTime::ZERO,
            round_end: 0,
            last_ack: SimTime::ZERO,
            round_rtt: None,
            samples: 0,
        }
    }

    /// An RTT sample. True if slow start is to end.
    #[inline]
    pub fn on_sample(
        &mut self,
        now: SimTime,
        rtt: SimDuration,
        slow_start_cwnd: Option<u64>,
        una: u64,
        next: u64,
    ) -> bool {
        let delay_min = self.delay_min.map_or(rtt, |least| least.min(rtt));
        self.delay_min = Some(delay_min);
        if self.current && !self.found && slow_start_cwnd.is_some() {
            // Since 5.16 a round ends here, so that it does so even if the window may not grow.
            self.begin_round(now, una, next);
        }
        if self.found || slow_start_cwnd.is_none_or(|cwnd| cwnd < self.low_window) {
            return false;
        }
        if self.current {
            return self.has_current_signs(now, rtt, delay_min);
        }
        if now.since(self.last_ack) <= self.ack_delta {
            self.last_ack = now;
            self.found |= now.since(self.round_start) > SimDuration(delay_min.0 / 2);
        }
        if self.samples < SAMPLES {
            self.round_rtt = Some(self.round_rtt.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        } else if let Some(round_rtt) = self.round_rtt {
            let added = SimDuration(delay_min.0 / 16).clamp(DELAY_MIN, DELAY_MAX);
            self.found |= round_rtt > delay_min + added;
        }
        self.found
    }

    /// An ACK in slow start up to `una`, while `next` is the next byte to leave.
    #[inline]
    pub fn on_ack(&mut self, now: SimTime, una: u64, next: u64) {
        if !self.current {
            self.begin_round(now, una, next);
        }
    }

    /// The conditions since 5.16.
    fn has_current_signs(
        &mut self,
        now: SimTime,
        rtt: SimDuration,
        delay_min: SimDuration,
    ) -> bool {
        if now.since(self.last_ack) <= self.ack_delta {
            self.last_ack = now;
            let half = SimDuration((delay_min + ACK_DELAY).0 / 2);
            self.found |= now.since(self.round_start) > half;
        }
        let round_rtt = self.round_rtt.map_or(rtt, |least| least.min(rtt));
        self.round_rtt = Some(round_rtt);
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let added = SimDuration(delay_min.0 / 8).clamp(DELAY_MIN, DELAY_MAX);
            self.found |= round_rtt > delay_min + added;
        }
        self.found
    }

    #[inline]
    fn begin_round(&mut self, now: SimTime, una: u64, next: u64) {
        if una > self.round_end {
            self.round_start = now;
            self.last_ack = now;
            self.round_end = next;
            self.round_rtt = None;
            self.samples = 0;
        }
    }

    /// After a timeout it begins anew.
    pub fn reset(&mut self) {
        self.found = false;
        self.delay_min = None;
        self.round_end = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn at(us: u64) -> SimTime {
        SimTime::ZERO + SimDuration(us * 1000)
    }

    /// Feeds a round of ACKs that begins at 100 ms: `gap_us` apart, with these RTTs; the ACK at which slow start
    /// ends.
    fn exit(cwnd: u64, gap_us: u64, rtts_ms: &[u64]) -> Option<usize> {
        let ack_delta = SimDuration::from_millis(2);
        let mut h = HyStart::new(MSS, HyStartConfig { ack_delta, current: false });
        // The handshake's sample: 40 ms.
        h.on_sample(at(40_000), SimDuration::from_millis(40), Some(3 * MSS), 0, 0);
        h.on_ack(at(100_000), 1, 1 + cwnd);
        rtts_ms.iter().enumerate().find_map(|(i, &rtt_ms)| {
            let now = at(100_000 + i as u64 * gap_us);
            h.on_sample(now, SimDuration::from_millis(rtt_ms), Some(cwnd), 0, 0).then_some(i)
        })
    }

    #[test]
    fn a_train_longer_than_half_the_smallest_rtt_ends_slow_start() {
        // 1 ms apart: beyond 20 ms with the 21st behind the first.
        assert_eq!(exit(30 * MSS, 1000, &[40; 30]), Some(21));
        assert_eq!(exit(30 * MSS, 1000, &[40; 20]), None);
        // Farther apart than 2 ms they are no train.
        assert_eq!(exit(30 * MSS, 2001, &[40; 30]), None);
    }

    #[test]
    fn a_queue_at_the_beginning_of_a_round_ends_slow_start() {
        // 40 / 16 < 4: more than 44 ms in all of the first eight, known with the ninth.
        assert_eq!(exit(30 * MSS, 3000, &[45; 12]), Some(8));
        assert_eq!(exit(30 * MSS, 3000, &[44; 12]), None);
        assert_eq!(exit(30 * MSS, 3000, &[45, 45, 40, 45, 45, 45, 45, 45, 45, 45]), None);
    }

    #[test]
    fn small_windows_are_left_alone() {
        assert_eq!(exit(15 * MSS, 1000, &[60; 30]), None);
        assert_eq!(exit(16 * MSS, 1000, &[60; 30]), Some(8));
    }

    #[test]
    fn since_5_16_half_an_rtt_and_a_ms_or_an_eighth_more_end_it() {
        let exit = |gap_us: u64, rtts_ms: &[u64]| {
            let ack_delta = SimDuration::from_millis(2);
            let mut h = HyStart::new(MSS, HyStartConfig { ack_delta, current: true });
            let (cwnd, ms) = (Some(30 * MSS), SimDuration::from_millis);
            h.on_sample(at(40_000), ms(40), Some(3 * MSS), 0, 0);
            // The round begins with the first of these.
            (0..).zip(rtts_ms).position(|(i, &rtt)| {
                let now = at(100_000 + i * gap_us);
                h.on_sample(now, ms(rtt), cwnd, MSS * (1 + i), 100 * MSS)
            })
        };
        // (40 + 1) / 2 = 20.5 ms: the 22nd ACK, 21 ms after the first.
        assert_eq!(exit(1000, &[40; 30]), Some(21));
        assert_eq!(exit(2001, &[40; 30]), None);
        // 40 / 8 = 5: more than 45 ms in the first eight and this one.
        assert_eq!(exit(3000, &[46; 12]), Some(8));
        assert_eq!(exit(3000, &[45; 12]), None);
        // A later sample of the round counts, too.
        assert_eq!(exit(3000, &[46, 46, 46, 46, 46, 46, 46, 46, 40, 46, 46]), None);
    }
}
