//! Named random streams.
//!
//! Every purpose draws from a stream of its own, keyed by master seed, run, name and index. Changing
//! one part of a scenario leaves the draws of all others alone, which keeps paired comparisons
//! paired.

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The streams of one run of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams {
    seed: u64,
    run: u64,
}

impl Streams {
    /// Streams for what draws nothing.
    pub const FIXED: Streams = Streams { seed: 0, run: 0 };

    /// The streams of repetition `run` under the master seed.
    pub fn new(seed: u64, run: u64) -> Self {
        Streams { seed, run }
    }

    /// The stream `name`, number `index` (for instance the host's key for `"server.jitter"`).
    pub fn stream(&self, name: &str, index: u64) -> Stream {
        let mut key = mix(self.seed ^ 0x4c6f_6164_7061_7468);
        for part in [self.run, key_of(name), index] {
            key = mix(key ^ part);
        }
        Stream(Xoshiro256PlusPlus::seed_from_u64(key))
    }
}

/// A stable 64-bit key of a text (FNV-1a), for use as a stream index.
pub fn key_of(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ b as u64).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection that spreads every input bit.
fn mix(x: u64) -> u64 {
    let mut z = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// One stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// Uniform in [0, 1), with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [-1, 1).
    pub fn symmetric(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_reproducible_and_independent_of_each_other() {
        let draw = |seed, run, name: &str, index| {
            let mut s = Streams::new(seed, run).stream(name, index);
            (s.unit(), s.unit())
        };
        let base = draw(1, 0, "queue.red", 0);
        assert_eq!(base, draw(1, 0, "queue.red", 0));
        for other in [
            draw(2, 0, "queue.red", 0),
            draw(1, 1, "queue.red", 0),
            draw(1, 0, "server.jitter", 0),
            draw(1, 0, "queue.red", 1),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn unit_draws_fill_the_unit_interval() {
        let mut s = Streams::new(7, 0).stream("test", 0);
        let draws: Vec<f64> = (0..10_000).map(|_| s.unit()).collect();
        assert!(draws.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        assert!((mean - 0.5).abs() < 0.01, "mean {mean}");
    }
}
