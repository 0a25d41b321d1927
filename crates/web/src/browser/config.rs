//! What the browser model can vary.

use loadpath_net::SimDuration;

/// Options of the browser model.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        }
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
