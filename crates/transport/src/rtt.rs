//! Round-trip time and retransmission timeout: RFC 6298, with a sample for every ACK of new data
//! (RFC 7323, section 4).

use loadpath_net::SimDuration;

use crate::{RtoFloor, TcpConfig};

/// The estimator. Arithmetic is in whole nanoseconds, so the clock granularity G is nothing.
#[derive(Clone, Debug)]
pub(crate) struct RttEstimator {
    srtt: Option<SimDuration>,
    rttvar: SimDuration,
    /// Timeout without back-off.
    base: SimDuration,
    /// Times that the timeout has been doubled.
    backoff: u32,
    min: SimDuration,
    max: SimDuration,
    floor: RtoFloor,
    kernel: Kernel,
}

/// What Linux remembers besides (`tcp_rtt_estimator`): its mean deviation, the largest of the last round trip,
/// and where that round trip ends.
#[derive(Clone, Debug, Default)]
struct Kernel {
    deviation: u64,
    most: u64,
    round_end: u64,
}

impl RttEstimator {
    pub fn new(config: &TcpConfig) -> Self {
        RttEstimator {
            srtt: None,
            rttvar: SimDuration::ZERO,
            base: config.syn_timeout,
            backoff: 0,
            min: config.min_rto,
            max: config.max_rto,
            floor: config.rto_floor,
            kernel: Kernel::default(),
        }
    }

    /// RFC 6298, (2.2) and (2.3); a sample ends the back-off (section 5). `una` and `next` are the oldest number
    /// that is not acknowledged and the next one to be sent.
    pub fn sample(&mut self, rtt: SimDuration, una: u64, next: u64) {
        if self.floor == RtoFloor::Variance {
            self.sample_as_linux(rtt, una, next);
            return;
        }
        let srtt = match self.srtt {
            None => {
                self.rttvar = SimDuration(rtt.0 / 2);
                rtt
            }
            Some(srtt) => {
                let error = srtt.0.abs_diff(rtt.0);
                self.rttvar = SimDuration((3 * self.rttvar.0 + error) / 4);
                SimDuration((7 * srtt.0 + rtt.0) / 8)
            }
        };
        self.srtt = Some(srtt);
        self.base = (srtt + self.rttvar * 4).max(self.min).min(self.max);
        self.backoff = 0;
    }

    /// Linux `tcp_rtt_estimator`: four times the mean deviation, but at least the minimum, is added to SRTT. The
    /// deviation counts at once when it grows and a quarter each round trip when it shrinks; an RTT below
    /// the mean raises it by an eighth only.
    fn sample_as_linux(&mut self, rtt: SimDuration, una: u64, next: u64) {
        let k = &mut self.kernel;
        let srtt = match self.srtt {
            None => {
                k.deviation = 2 * rtt.0;
                k.most = k.deviation.max(self.min.0);
                self.rttvar = SimDuration(k.most);
                k.round_end = next;
                rtt
            }
            Some(srtt) => {
                let error = srtt.0.abs_diff(rtt.0);
                let quarter = k.deviation / 4;
                if error <= quarter {
                    k.deviation -= quarter - error;
                } else if rtt < srtt {
                    k.deviation += (error - quarter) / 8;
                } else {
                    k.deviation += error - quarter;
                }
                if k.deviation > k.most {
                    k.most = k.deviation;
                    self.rttvar = self.rttvar.max(SimDuration(k.most));
                }
                if una > k.round_end {
                    self.rttvar.0 -= self.rttvar.0.saturating_sub(k.most) / 4;
                    k.round_end = next;
                    k.most = self.min.0;
                }
                SimDuration((7 * srtt.0 + rtt.0) / 8)
            }
        };
        self.srtt = Some(srtt);
        self.base = (srtt + self.rttvar).min(self.max);
        self.backoff = 0;
    }

    pub fn srtt(&self) -> Option<SimDuration> {
        self.srtt
    }

    /// RTTVAR.
    pub fn rttvar(&self) -> SimDuration {
        match self.floor {
            RtoFloor::Timeout => self.rttvar,
            // There it is four times as much.
            RtoFloor::Variance => SimDuration(self.rttvar.0 / 4),
        }
    }

    /// The timeout in force.
    pub fn rto(&self) -> SimDuration {
        // 2^32 times any timeout exceeds every bound, and shifting further would overflow.
        (self.base * (1 << self.backoff.min(32))).min(self.max)
    }

    /// RFC 6298, (5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> SimDuration = SimDuration::from_millis;

    fn estimator(floor: RtoFloor) -> RttEstimator {
        RttEstimator::new(&TcpConfig {
            min_rto: MS(200),
            rto_floor: floor,
            ..TcpConfig::standard()
        })
    }

    #[test]
    fn the_first_samples_give_the_timeouts_worked_out_by_hand() {
        let mut e = estimator(RtoFloor::Timeout);
        assert_eq!(e.rto(), MS(1000));
        e.sample(MS(100), 0, 0);
        // SRTT 100, RTTVAR 50: 100 + 4 * 50.
        assert_eq!((e.srtt(), e.rto()), (Some(MS(100)), MS(300)));
        e.sample(MS(180), 0, 0);
        // RTTVAR (3 * 50 + 80) / 4 = 57.5, SRTT (700 + 180) / 8 = 110: 110 + 230.
        assert_eq!((e.srtt(), e.rto()), (Some(MS(110)), MS(340)));
    }

    #[test]
    fn the_floor_bounds_the_timeout_or_its_variance_term() {
        let mut e = estimator(RtoFloor::Timeout);
        e.sample(MS(20), 0, 0);
        assert_eq!(e.rto(), MS(200));
        let mut e = estimator(RtoFloor::Variance);
        e.sample(MS(20), 0, 0);
        assert_eq!(e.rto(), MS(220));
    }

    #[test]
    fn back_off_doubles_up_to_the_bound_and_a_sample_ends_it() {
        let mut e = estimator(RtoFloor::Timeout);
        e.sample(MS(100), 0, 0);
        let mut seen = Vec::new();
        for _ in 0..10 {
            e.back_off();
            seen.push(e.rto().0 / 1_000_000);
        }
        assert_eq!(seen, [600, 1200, 2400, 4800, 9600, 19200, 38400, 60000, 60000, 60000]);
        e.sample(MS(100), 0, 0);
        // RTTVAR 3 * 50 / 4 = 37.5.
        assert_eq!(e.rto(), MS(250));
    }
}
