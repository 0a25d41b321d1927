//! What Chromium's network service keeps back of requests that reach it
//! (services/network/resource_scheduler/resource_scheduler.cc): those that can be delayed, to servers of which it
//! does not know that they order responses by priority.

use std::collections::VecDeque;

/// `kMaxNumDelayableRequestsPerHostPerClient`: requests of a frame to a host, of any priority, that are under way
/// when one that can be delayed has to wait.
const HOST_LIMIT: u32 = 6;
/// `kDefaultMaxNumDelayableRequestsPerClient`: the same of those of a frame that can be delayed.
const LIMIT: u32 = 10;
/// The first of Chromium's priorities that can be delayed, counted from the most urgent:
/// `kDelayablePriorityThreshold`, DevTools' "Medium".
const DELAYABLE: u32 = 2;

/// A request as the network service knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Its number.
    pub request: u32,
    /// The frame that made it.
    pub frame: u32,
    /// Index of the host.
    pub host: u32,
    /// Chromium's priority, 0 the most urgent.
    pub urgency: u32,
}

/// The requests of a page but for its navigations, which other processes make.
#[derive(Debug)]
pub struct Throttle {
    frames: Vec<Frame>,
    /// By request.
    states: Vec<State>,
    /// By host: it orders responses by priority.
    has_priorities: Vec<bool>,
}

#[derive(Clone, Debug, Default)]
struct Frame {
    /// Requests under way that could have been delayed.
    delayable: u32,
    /// Requests under way, by host; empty before the first.
    under_way: Vec<u32>,
    /// The most urgent first, then in order.
    waiting: VecDeque<Asked>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unknown,
    Waiting,
    UnderWay { delayable: bool },
}

impl Throttle {
    /// For a page with so many frames, hosts and requests.
    pub fn new(frames: usize, hosts: usize, requests: usize) -> Throttle {
        Throttle {
            frames: vec![Frame::default(); frames],
            states: vec![State::Unknown; requests],
            has_priorities: vec![false; hosts],
        }
    }

    /// From now on a host is known to order responses by priority.
    pub fn on_priorities(&mut self, host: u32) {
        self.has_priorities[host as usize] = true;
    }

    /// A request arrives; poll for what begins.
    pub fn add(&mut self, new: Asked) {
        let frame = &mut self.frames[new.frame as usize];
        if frame.under_way.is_empty() {
            frame.under_way = vec![0; self.has_priorities.len()];
        }
        let urgency = if self.has_priorities[new.host as usize] { 0 } else { new.urgency };
        let place = frame.waiting.partition_point(|before| before.urgency <= urgency);
        frame.waiting.insert(place, Asked { urgency, ..new });
        self.states[new.request as usize] = State::Waiting;
    }

    /// A request has become one of high priority: the parser waits for its script, or its image is to be seen.
    pub fn promote(&mut self, request: u32, frame: u32) {
        if self.states[request as usize] != State::Waiting {
            return;
        }
        let waiting = &mut self.frames[frame as usize].waiting;
        let Some(place) = waiting.iter().position(|asked| asked.request == request) else { return };
        let asked = waiting.remove(place).expect("it was found");
        let urgency = asked.urgency.min(DELAYABLE - 1);
        let place = waiting.partition_point(|before| before.urgency <= urgency);
        waiting.insert(place, Asked { urgency, ..asked });
    }

    /// A response is complete.
    pub fn finish(&mut self, request: u32, frame: u32, host: u32) {
        let State::UnderWay { delayable } = self.states[request as usize] else { return };
        self.states[request as usize] = State::Unknown;
        let frame = &mut self.frames[frame as usize];
        frame.delayable -= u32::from(delayable);
        frame.under_way[host as usize] -= 1;
    }

    /// The next request of a frame that may begin; call until `None`.
    pub fn poll(&mut self, frame: u32) -> Option<u32> {
        let frame = &mut self.frames[frame as usize];
        for (place, asked) in frame.waiting.iter().enumerate() {
            let delayable = asked.urgency >= DELAYABLE;
            if delayable && frame.delayable >= LIMIT {
                return None;
            }
            let under_way = &mut frame.under_way[asked.host as usize];
            if delayable && *under_way >= HOST_LIMIT {
                continue;
            }
            *under_way += 1;
            frame.delayable += u32::from(delayable);
            let request = asked.request;
            self.states[request as usize] = State::UnderWay { delayable };
            frame.waiting.remove(place);
            return Some(request);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(request: u32, host: u32, urgency: u32) -> Asked {
        Asked { request, frame: 0, host, urgency }
    }

    fn begun(t: &mut Throttle) -> Vec<u32> {
        std::iter::from_fn(|| t.poll(0)).collect()
    }

    #[test]
    fn six_to_a_host_are_under_way_when_what_can_wait_waits() {
        let mut t = Throttle::new(1, 2, 20);
        for request in 0..5 {
            t.add(asked(request, 0, 0));
        }
        for request in 5..8 {
            t.add(asked(request, 0, 2));
        }
        t.add(asked(8, 1, 3));
        assert_eq!(begun(&mut t), [0, 1, 2, 3, 4, 5, 8], "the other host has room");
        t.add(asked(9, 0, 1));
        assert_eq!(begun(&mut t), [9], "what is urgent never waits");
        t.finish(0, 0, 0);
        assert!(begun(&mut t).is_empty(), "still six");
        t.finish(1, 0, 0);
        assert_eq!(begun(&mut t), [6]);
    }

    #[test]
    fn ten_of_a_frame_that_can_wait_are_under_way() {
        let mut t = Throttle::new(1, 4, 20);
        for request in 0..14 {
            t.add(asked(request, request % 4, if request == 13 { 2 } else { 3 }));
        }
        assert_eq!(begun(&mut t), [13, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        t.finish(0, 0, 0);
        assert_eq!(begun(&mut t), [9]);
    }

    #[test]
    fn known_priorities_and_scripts_that_are_waited_for_do_not_wait() {
        let mut t = Throttle::new(1, 1, 20);
        for request in 0..9 {
            t.add(asked(request, 0, 2));
        }
        assert_eq!(begun(&mut t), [0, 1, 2, 3, 4, 5]);
        t.promote(8, 0);
        t.promote(0, 0);
        assert_eq!(begun(&mut t), [8]);
        t.on_priorities(0);
        t.add(asked(9, 0, 4));
        assert_eq!(begun(&mut t), [9]);
        assert!(begun(&mut t).is_empty(), "what waits goes on waiting");
    }
}
