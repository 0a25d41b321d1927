//! Random early detection as the thesis uses it (section 3.7.7.3, Table 3.4): on the instantaneous
//! queue, as "drop-tail with added randomness".
//!
//! The rules that the thesis leaves to ns-3 follow `RedQueue` of ns-3 3.2x (`red-queue.cc`): the
//! packet in service is not part of the occupancy, occupancy is taken before the arrival, the hard
//! limit drops when that occupancy has reached it, and early drops are uniformised by the packets
//! (or bytes) since the last one (Floyd and Jacobson 1993, section IV).

use crate::Stream;

/// What thresholds and occupancy count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedUnit {
    /// Whole packets.
    Packets,
    /// Bytes; early drops scale with packet size over `mean_packet_bytes`.
    Bytes,
}

/// How the drop probability grows beyond the maximum threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gentle {
    /// From `max_p` to 1 between the maximum threshold and twice it, as ns-3 does.
    TwiceMaxThreshold,
    /// From `max_p` to 1 between the maximum threshold and the queue limit, as the thesis's text
    /// describes (Figure 3.18).
    QueueLimit,
    /// 1 from the maximum threshold on.
    Off,
}

/// Parameters of a RED queue; `min`, `max` and `limit` in the unit of `unit`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RedConfig {
    /// What `min`, `max` and `limit` count.
    pub unit: RedUnit,
    /// No early drop below this.
    pub min: f64,
    /// Drop probability `max_p` is reached here.
    pub max: f64,
    /// Everything that finds this much waiting is dropped.
    pub limit: f64,
    /// Drop probability at `max`.
    pub max_p: f64,
    /// Growth beyond `max`.
    pub gentle: Gentle,
    /// Mean packet size of byte mode (ns-3 `MeanPktSize`, 500 bytes by default).
    pub mean_packet_bytes: f64,
}

/// A RED queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Red {
    config: RedConfig,
    stream: Stream,
    above_min: bool,
    packets_since_drop: u64,
    bytes_since_drop: u64,
}

impl Red {
    /// An empty queue.
    pub fn new(config: RedConfig, stream: Stream) -> Red {
        Red { config, stream, above_min: false, packets_since_drop: 0, bytes_since_drop: 0 }
    }

    /// See [`crate::Queue::admits`].
    #[inline]
    pub fn admits(&mut self, size_bytes: u64, waiting_packets: u64, waiting_bytes: u64) -> bool {
        let c = &self.config;
        let occupancy = match c.unit {
            RedUnit::Packets => waiting_packets as f64,
            RedUnit::Bytes => waiting_bytes as f64,
        };
        self.packets_since_drop += 1;
        self.bytes_since_drop += size_bytes;
        if occupancy >= c.limit && waiting_packets > 0 {
            // An empty queue takes one packet whatever the limit: at 500 kbit/s and 8 ms 1.5 BDP is
            // half a packet.
            return false;
        }
        if occupancy < c.min || waiting_packets <= 1 {
            self.above_min = false;
            return true;
        }
        let probability = match self.early_probability(occupancy) {
            Some(p) => p,
            None => return false,
        };
        if !self.above_min {
            // The first packet above the minimum only starts the count.
            self.above_min = true;
            self.packets_since_drop = 1;
            self.bytes_since_drop = size_bytes;
            return true;
        }
        if self.stream.unit() < self.uniformised(probability, size_bytes) {
            self.packets_since_drop = 0;
            self.bytes_since_drop = 0;
            return false;
        }
        true
    }

    /// Drop probability by occupancy alone; `None` where every packet is dropped.
    fn early_probability(&self, occupancy: f64) -> Option<f64> {
        let c = &self.config;
        if occupancy < c.max {
            return Some(c.max_p * (occupancy - c.min) / (c.max - c.min));
        }
        let certain = match c.gentle {
            Gentle::TwiceMaxThreshold => 2.0 * c.max,
            Gentle::QueueLimit => c.limit,
            Gentle::Off => c.max,
        };
        if occupancy >= certain {
            return None;
        }
        Some(c.max_p + (1.0 - c.max_p) * (occupancy - c.max) / (certain - c.max))
    }

    /// Spreads early drops evenly: p / (1 - count·p).
    fn uniformised(&self, p: f64, size_bytes: u64) -> f64 {
        let c = &self.config;
        let count = match c.unit {
            RedUnit::Packets => self.packets_since_drop as f64,
            RedUnit::Bytes => (self.bytes_since_drop as f64 / c.mean_packet_bytes).floor(),
        };
        let uniform = if count * p < 1.0 { p / (1.0 - count * p) } else { 1.0 };
        match c.unit {
            RedUnit::Packets => uniform,
            RedUnit::Bytes if uniform < 1.0 => uniform * size_bytes as f64 / c.mean_packet_bytes,
            RedUnit::Bytes => uniform,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Streams;

    fn config() -> RedConfig {
        RedConfig {
            unit: RedUnit::Packets,
            min: 10.0,
            max: 20.0,
            limit: 30.0,
            max_p: 0.1,
            gentle: Gentle::TwiceMaxThreshold,
            mean_packet_bytes: 500.0,
        }
    }

    fn red(config: RedConfig) -> Red {
        Red::new(config, Streams::new(1, 0).stream("test", 0))
    }

    #[test]
    fn nothing_is_dropped_below_the_minimum() {
        let mut q = red(config());
        assert!((0..10_000).all(|i| q.admits(1500, i % 10, 0)));
    }

    #[test]
    fn everything_is_dropped_at_the_limit() {
        let mut q = red(config());
        assert!((0..1_000).all(|_| !q.admits(1500, 30, 0)));
        assert!(q.admits(1500, 9, 0), "and the queue recovers");
    }

    #[test]
    fn one_packet_may_always_wait() {
        let mut q = red(RedConfig { min: 0.33, max: 0.4, limit: 0.5, ..config() });
        assert!(q.admits(1500, 0, 0));
        assert!(!q.admits(1500, 1, 1500));
    }

    #[test]
    fn the_first_packet_above_the_minimum_passes() {
        // Just under twice the maximum threshold the probability is nearly 1.
        for seed in 0..100 {
            let mut q = Red::new(
                RedConfig { limit: 100.0, ..config() },
                Streams::new(seed, 0).stream("test", 0),
            );
            assert!(q.admits(1500, 39, 0));
        }
    }

    #[test]
    fn uniformised_drops_are_spread_evenly_between_one_and_one_over_p() {
        // At constant marking probability p the gaps between drops are uniform (Floyd and Jacobson
        // 1993). ns-3 counts the arriving packet too, so they lie on 1..1/p with mean 1/(2p).
        let mut q = red(config());
        q.admits(1500, 15, 0);
        let p = 0.05;
        let (mut gap, mut gaps) = (0u64, Vec::new());
        for _ in 0..200_000 {
            gap += 1;
            if !q.admits(1500, 15, 0) {
                gaps.push(gap);
                gap = 0;
            }
        }
        let mean = gaps[1..].iter().sum::<u64>() as f64 / (gaps.len() - 1) as f64;
        assert!((mean - 0.5 / p).abs() < 0.2, "mean gap {mean}");
        assert!(gaps[1..].iter().all(|&g| g as f64 <= 1.0 / p));
    }

    #[test]
    fn gentle_variants_reach_certainty_where_they_say() {
        let p = |gentle, occupancy| {
            red(RedConfig { gentle, limit: 100.0, ..config() }).early_probability(occupancy)
        };
        assert_eq!(p(Gentle::TwiceMaxThreshold, 20.0), Some(0.1));
        assert_eq!(p(Gentle::TwiceMaxThreshold, 30.0), Some(0.55));
        assert_eq!(p(Gentle::TwiceMaxThreshold, 40.0), None);
        assert_eq!(p(Gentle::QueueLimit, 60.0), Some(0.55));
        assert_eq!(p(Gentle::QueueLimit, 100.0), None);
        assert_eq!(p(Gentle::Off, 20.0), None);
        assert_eq!(p(Gentle::Off, 15.0), Some(0.05));
    }

    #[test]
    fn byte_mode_scales_early_drops_by_size() {
        let c = RedConfig { unit: RedUnit::Bytes, mean_packet_bytes: 1500.0, ..config() };
        let q = red(c);
        let full = q.uniformised(0.05, 1500);
        let small = q.uniformised(0.05, 150);
        assert!((full / small - 10.0).abs() < 1e-9);
    }
}
