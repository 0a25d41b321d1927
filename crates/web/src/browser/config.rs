//! What the browser model can vary.

use loadpath_net::{SimDuration, Streams};

/// Options of the browser model.
#[derive(Clone, Debug, PartialEq)]
pub struct BrowserConfig {
    /// Scan ahead for resources while a parser waits for a script (section 3.7.5, "Preloading").
    pub preloader: bool,
    /// Scan all text that has arrived once the parser has begun, whether it waits or not.
    pub preload_on_arrival: bool,
    /// Hold back less urgent requests of a frame until its document has a body.
    pub tight_mode: bool,
    /// Let timers wait for their timeouts; without, they are due at once.
    pub timers: bool,
    /// Least timeout of deeply nested timers.
    pub timer_clamp: SimDuration,
    /// First nesting level that is clamped; a timer that no timer set is level 1.
    pub timer_clamp_level: u32,
    /// How many main threads share the work.
    pub threads: MainThreads,
    /// Execute activities of other main-thread work; without, they take no time.
    pub other_main_thread_work: bool,
    /// By how much activities of main threads differ from the recorded ones.
    pub jitter: Jitter,
}

impl Default for BrowserConfig {
    /// The browser of the thesis (section 3.7.2).
    fn default() -> Self {
        BrowserConfig {
            preloader: true,
            preload_on_arrival: false,
            tight_mode: false,
            timers: true,
            // Section 3.7.2: Chrome's 4 ms, beyond five levels.
            timer_clamp: SimDuration::from_millis(4),
            timer_clamp_level: 6,
            threads: MainThreads::OnePerPage,
            other_main_thread_work: false,
            jitter: Jitter::NONE,
        }
    }
}

/// What a browser does takes longer in one load than in another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// Most by which a duration differs, as a part of it.
    pub fraction: f64,
    /// Where each is drawn from, by name and the key of what takes the time.
    pub streams: Streams,
}

impl Jitter {
    /// All takes as long as it was recorded.
    pub const NONE: Jitter = Jitter { fraction: 0.0, streams: Streams::FIXED };

    /// The duration in this load, uniform within the fraction.
    #[inline]
    pub fn of(&self, duration: SimDuration, name: &str, key: impl FnOnce() -> u64) -> SimDuration {
        if self.fraction == 0.0 || duration == SimDuration::ZERO {
            return duration;
        }
        let factor = 1.0 + self.fraction * self.streams.stream(name, key()).symmetric();
        SimDuration((duration.0 as f64 * factor).round() as u64)
    }
}

/// How many main threads a page has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MainThreads {
    /// One for all frames.
    OnePerPage,
    /// One for each renderer process of the graph (site isolation).
    OnePerProcess,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_differ_from_run_to_run_by_no_more_than_the_fraction() {
        let recorded = SimDuration::from_millis(100);
        let of = |fraction, run| {
            let jitter = Jitter { fraction, streams: Streams::new(1, run) };
            jitter.of(recorded, "browser.work", || 7)
        };
        let drawn: Vec<u64> = (0..1000).map(|run| of(0.2, run).0).collect();
        assert!(drawn.iter().all(|&ns| (80_000_000..=120_000_000).contains(&ns)));
        let below = drawn.iter().filter(|&&ns| ns < recorded.0).count();
        assert!((450..=550).contains(&below), "{below} of 1000 are shorter");
        assert_eq!(drawn[3], of(0.2, 3).0);
        assert_eq!(of(0.0, 3), recorded);
        assert_eq!(Jitter::NONE.of(recorded, "browser.work", || 7), recorded);
    }
}
