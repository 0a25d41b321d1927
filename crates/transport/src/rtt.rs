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
        }
    }

    /// RFC 6298, (2.2) and (2.3); a sample ends the back-off (section 5).
    pub fn sample(&mut self, rtt: SimDuration) {
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
        self.base = match self.floor {
            RtoFloor::Timeout => (srtt + self.rttvar * 4).max(self.min),
            RtoFloor::Variance => srtt + (self.rttvar * 4).max(self.min),
        }
        .min(self.max);
        self.backoff = 0;
    }

    pub fn srtt(&self) -> Option<SimDuration> {
        self.srtt
    }

    /// RTTVAR.
    pub fn rttvar(&self) -> SimDuration {
        self.rttvar
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
        e.sample(MS(100));
        // SRTT 100, RTTVAR 50: 100 + 4 * 50.
        assert_eq!((e.srtt(), e.rto()), (Some(MS(100)), MS(300)));
        e.sample(MS(180));
        // RTTVAR (3 * 50 + 80) / 4 = 57.5, SRTT (700 + 180) / 8 = 110: 110 + 230.
        assert_eq!((e.srtt(), e.rto()), (Some(MS(110)), MS(340)));
    }

    #[test]
    fn the_floor_bounds_the_timeout_or_its_variance_term() {
        let mut e = estimator(RtoFloor::Timeout);
        e.sample(MS(20));
        assert_eq!(e.rto(), MS(200));
        let mut e = estimator(RtoFloor::Variance);
        e.sample(MS(20));
        assert_eq!(e.rto(), MS(220));
    }

    #[test]
    fn back_off_doubles_up_to_the_bound_and_a_sample_ends_it() {
        let mut e = estimator(RtoFloor::Timeout);
        e.sample(MS(100));
        let mut seen = Vec::new();
        for _ in 0..10 {
            e.back_off();
            seen.push(e.rto().0 / 1_000_000);
        }
        assert_eq!(seen, [600, 1200, 2400, 4800, 9600, 19200, 38400, 60000, 60000, 60000]);
        e.sample(MS(100));
        // RTTVAR 3 * 50 / 4 = 37.5.
        assert_eq!(e.rto(), MS(250));
    }
}
