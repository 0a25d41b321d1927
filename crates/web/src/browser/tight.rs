//! Requests that Chromium holds back until a document has a body (third_party/blink/renderer/platform/
//! loader/fetch/resource_load_scheduler.cc, `ThrottlingPolicy::kTight`): so style sheets and scripts of
//! its head are not slowed down by what can wait.

use std::collections::VecDeque;

use super::Request;
use crate::page::Urgency;

/// `kTightLimitForRendererSideResourceScheduler`: requests of a frame, of any priority, that may be under
/// way when one below high priority begins.
const LIMIT: u32 = 2;
/// `kBoostImagePriorityTightMediumLimit`: of medium priority, which may begin whatever else is under way.
const MEDIUM_LIMIT: u32 = 2;

/// The requests of one frame.
#[derive(Clone, Debug, Default)]
pub(super) struct TightMode {
    /// The document has no body yet.
    on: bool,
    /// Those under way, and of these the ones of medium priority.
    running: u32,
    running_medium: u32,
    /// Those that are held back, in order.
    medium: VecDeque<Request>,
    low: VecDeque<Request>,
}

impl TightMode {
    /// Of a frame whose document will have a body.
    pub fn new(on: bool) -> TightMode {
        TightMode { on, ..TightMode::default() }
    }

    pub fn is_on(&self) -> bool {
        self.on
    }

    /// A request is made; poll for what may begin.
    pub fn add(&mut self, request: Request, urgency: Urgency, started: &mut VecDeque<Request>) {
        match urgency {
            Urgency::High => {
                self.running += 1;
                started.push_back(request);
            }
            Urgency::Medium => self.medium.push_back(request),
            Urgency::Low => self.low.push_back(request),
        }
        self.start(started);
    }

    /// The browser has dealt with a response.
    pub fn finish(&mut self, urgency: Urgency, started: &mut VecDeque<Request>) {
        self.running -= 1;
        self.running_medium -= u32::from(urgency == Urgency::Medium);
        self.start(started);
    }

    /// The document has a body.
    pub fn loosen(&mut self, started: &mut VecDeque<Request>) {
        self.on = false;
        started.extend(self.medium.drain(..));
        started.extend(self.low.drain(..));
    }

    fn start(&mut self, started: &mut VecDeque<Request>) {
        loop {
            let room = self.running < LIMIT;
            if room || self.running_medium < MEDIUM_LIMIT {
                if let Some(request) = self.medium.pop_front() {
                    self.running += 1;
                    self.running_medium += 1;
                    started.push_back(request);
                    continue;
                }
            }
            if room
                && self.medium.is_empty()
                && let Some(request) = self.low.pop_front()
            {
                self.running += 1;
                started.push_back(request);
                continue;
            }
            return;
        }
    }
}
