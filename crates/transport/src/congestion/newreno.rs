//! Additive increase: RFC 5681, section 3.1.

use crate::{SlowStart, TcpConfig};

/// State of the additive increase.
#[derive(Clone, Debug)]
pub(crate) struct NewReno {
    mss: u64,
    by_bytes: bool,
    /// Bytes acknowledged since the window last grew, when bytes are counted.
    acked: u64,
}

impl NewReno {
    pub fn new(config: &TcpConfig) -> Self {
        NewReno {
            mss: u64::from(config.mss),
            by_bytes: config.slow_start == SlowStart::BytesAcked,
            acked: 0,
        }
    }

    /// The window after an ACK in congestion avoidance.
    pub fn avoidance(&mut self, cwnd: u64, acked: u64) -> u64 {
        if self.by_bytes {
            // RFC 3465, section 2.1: one segment for each window of bytes acknowledged.
            self.acked += acked;
            if self.acked < cwnd {
                return cwnd;
            }
            self.acked -= cwnd;
            cwnd + self.mss
        } else {
            // RFC 5681, equation (3), in whole bytes, rounded down but at least one; so does ns-3
            // (`TcpNewReno::NewAck`).
            cwnd + (self.mss * self.mss / cwnd).max(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn avoidance_adds_a_segment_a_window_less_the_rounding() {
        let mut c = NewReno::new(&TcpConfig { mss: 1000, ..TcpConfig::standard() });
        // 100, 99, 98, ... : 10^6 / 10 000, 10^6 / 10 100, 10^6 / 10 199.
        assert_eq!(c.avoidance(10_000, 1000), 10_100);
        assert_eq!(c.avoidance(10_100, 1000), 10_199);
        assert_eq!(c.avoidance(10_199, 1000), 10_297);
        assert_eq!(c.avoidance(5_000_000, 1000), 5_000_001, "never less than a byte");
    }

    #[test]
    fn byte_counting_adds_a_segment_for_each_window_acknowledged() {
        let mut c = NewReno::new(&TcpConfig {
            mss: 1000,
            slow_start: SlowStart::BytesAcked,
            ..TcpConfig::standard()
        });
        assert_eq!(c.avoidance(4000, 2000), 4000);
        assert_eq!(c.avoidance(4000, 2000), 5000);
        assert_eq!(c.avoidance(5000, 4000), 5000);
        assert_eq!(c.avoidance(5000, 2000), 6000, "1000 bytes are carried over");
    }
}
