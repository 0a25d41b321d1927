//! What the load event waited for.
//!
//! Every activity notes at whose completion it was executed, every request at whose completion it was
//! made. That is the last of all that it waited for, so the notes lead from the load event back to the
//! start of the load without a gap.

use loadpath_net::{SimDuration, SimTime};

use super::Browser;
use crate::page::{NONE, Step};

/// When an activity was executed or a request made, and at whose completion.
#[derive(Clone, Copy, Debug)]
pub(super) struct Began {
    /// [`NONE`] at the start of the load.
    pub after: u32,
    pub at: SimTime,
}

impl Began {
    pub const NEVER: Began = Began { after: NONE, at: SimTime::MAX };
}

/// A step of the critical path; it is ready when the step before it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathStep {
    /// Index of the activity in the page: see [`Page::activity_id`](crate::page::Page::activity_id).
    pub activity: u32,
    /// When all that it waits for had completed.
    pub ready: SimTime,
    /// When its timer ran out; `ready` if it is no timer.
    pub due: SimTime,
    /// When it got the main thread; `due` if it needs none.
    pub start: SimTime,
    /// When what follows on the path could begin.
    pub end: SimTime,
    /// The response that was awaited, from request to `end`.
    pub response: Option<AwaitedResponse>,
}

/// How much of which response a step waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AwaitedResponse {
    /// Index in [`Page::resources`](crate::page::Page::resources).
    pub resource: u32,
    /// Leading bytes of its body.
    pub bytes: u64,
}

/// The critical path from the load event back to the start of the load.
#[derive(Clone, Debug)]
pub struct CriticalPath<'b, 'p> {
    browser: &'b Browser<'p>,
    activity: u32,
    /// When `activity` was complete, or, of the load event, began.
    until: SimTime,
}

impl<'p> Browser<'p> {
    /// What the load event waited for, from it back to the start of the load; nothing before the load
    /// event.
    pub fn critical_path(&self) -> CriticalPath<'_, 'p> {
        let (activity, until) = match self.load_event {
            Some(at) => (self.page.load_event, at),
            None => (NONE, SimTime::MAX),
        };
        CriticalPath { browser: self, activity, until }
    }

    /// What an executed activity waits for: its timer, and how long it keeps the main thread.
    fn waits(&self, activity: u32) -> (SimDuration, SimDuration) {
        let a = &self.page.activities[activity as usize];
        match a.step {
            // The path ends where the load event begins.
            _ if activity == self.page.load_event => (SimDuration::ZERO, SimDuration::ZERO),
            Step::Timer { timeout, level, .. } => {
                (self.timer_wait(timeout, level), self.duration(activity))
            }
            Step::OtherWork { .. } if !self.config.other_main_thread_work => {
                (SimDuration::ZERO, SimDuration::ZERO)
            }
            Step::Parse { .. }
            | Step::Evaluate { .. }
            | Step::Event { .. }
            | Step::OtherWork { .. } => (SimDuration::ZERO, self.duration(activity)),
            Step::AtOnce | Step::Fetch(_) | Step::Chunk { .. } => {
                (SimDuration::ZERO, SimDuration::ZERO)
            }
        }
    }
}

impl CriticalPath<'_, '_> {
    /// Goes on to what `began` names.
    fn follow(&mut self, began: Began) {
        self.activity = began.after;
        self.until = began.at;
    }

    /// The wait for the response in a session-cache slot, whole or as far as `need`.
    fn response(&mut self, slot: u32, need: Option<u64>) -> PathStep {
        let fetch = &self.browser.fetches[slot as usize];
        let resource = &self.browser.page.resources[fetch.leader as usize];
        let asked = fetch.began.at;
        let step = PathStep {
            activity: resource.activity,
            ready: asked,
            due: asked,
            start: asked,
            end: self.until,
            response: Some(AwaitedResponse {
                resource: fetch.leader,
                // A chunk may ask for more than the response that its page shares with another has.
                bytes: need.map_or(resource.size_bytes, |need| need.min(resource.size_bytes)),
            }),
        };
        self.follow(fetch.began);
        step
    }
}

impl Iterator for CriticalPath<'_, '_> {
    type Item = PathStep;

    fn next(&mut self) -> Option<PathStep> {
        while self.activity != NONE {
            let (activity, end) = (self.activity, self.until);
            let began = self.browser.began[activity as usize];
            let page = self.browser.page;
            match page.activities[activity as usize].step {
                Step::Fetch(resource) if began.at < end => {
                    let slot = page.resources[resource as usize].slot;
                    return Some(self.response(slot, None));
                }
                Step::Chunk { slot, need } if began.at < end => {
                    return Some(self.response(slot, Some(need)));
                }
                // Bytes that were there already held nothing up.
                Step::Chunk { .. } => self.follow(began),
                _ => {
                    let (timer, work) = self.browser.waits(activity);
                    let start = SimTime(end.0 - work.0);
                    self.follow(began);
                    return Some(PathStep {
                        activity,
                        ready: began.at,
                        due: began.at + timer,
                        start,
                        end,
                        response: None,
                    });
                }
            }
        }
        None
    }
}
