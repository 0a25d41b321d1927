//! The Stream Scheduler: thesis section 6.4.1, Algorithms 6 and 7. A segment goes only where it arrives
//! before the rest of its message, and of the messages in front of it, could arrive without that subflow.
//! Of the subflows that qualify, the one of the highest RTT sends first, since it ceases to qualify first.

use loadpath_net::SimDuration;

use super::estimator::CompletionEstimator;
use super::{Choice, PathView, Schedule, Situation};

/// The rule and its estimator.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    look_ahead: bool,
    estimator: CompletionEstimator,
}

impl Stream {
    pub fn new(look_ahead: bool, estimator: CompletionEstimator) -> Self {
        Stream { look_ahead, estimator }
    }
}

impl Schedule for Stream {
    #[inline(always)]
    fn choose(&mut self, s: &Situation) -> Option<Choice> {
        let (mut available, mut only, mut shortest) = (0, 0, SimDuration(u64::MAX));
        for (subflow, path) in s.usable() {
            shortest = shortest.min(path.srtt);
            if path.room {
                available += 1;
                only = subflow;
            }
        }
        match available {
            0 => None,
            // No subflow, and so not the best of them, is faster than half this one's round trip.
            1 if s.paths[only].srtt == shortest => Some(Choice::New { subflow: only, message: 0 }),
            _ => self.compare(s),
        }
    }
}

impl Stream {
    #[inline(never)]
    fn compare(&self, s: &Situation) -> Option<Choice> {
        let mut bytes = 0;
        let messages = if self.look_ahead { usize::MAX } else { 1 };
        for (message, remaining) in s.pool.remaining().enumerate().take(messages) {
            bytes += remaining;
            let mut viable: Option<(usize, &PathView)> = None;
            for (subflow, path) in s.available() {
                // The first of equals.
                let later = viable.is_none_or(|(_, best)| path.srtt > best.srtt);
                if later && self.arrives_in_time(s, bytes, path) {
                    viable = Some((subflow, path));
                }
            }
            if let Some((subflow, _)) = viable {
                return Some(Choice::New { subflow, message });
            }
        }
        None
    }

    /// Half a round trip on `path` is at most α. No subflow needs less than half its own, so that only those with a
    /// shorter one are looked at.
    #[inline]
    fn arrives_in_time(&self, s: &Situation, bytes: u64, path: &PathView) -> bool {
        let arrival = SimDuration(path.srtt.0 / 2);
        s.paths
            .iter()
            .filter(|p| p.usable && p.srtt < path.srtt)
            .all(|p| arrival <= self.estimator.completion(bytes, p))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::config::Estimator;
    use super::super::tests::{path, pool, situation};
    use super::*;
    use crate::TcpConfig;

    fn choose(look_ahead: bool, fast_in_flight: u64, lengths: &[u64]) -> Option<Choice> {
        let estimator = CompletionEstimator::new(Estimator::Loop, &TcpConfig::standard());
        let mut stream = Stream::new(look_ahead, estimator);
        let paths = [path(20, 10, fast_in_flight), path(100, 10, 0)];
        stream.choose(&situation(&paths, &pool(lengths)))
    }

    #[test]
    fn the_slow_subflow_sends_first_while_its_segments_arrive_in_time() {
        // Both in avoidance at 10 segments: the fast one needs 10 + 2 · n ms for n segments, and a segment on
        // the slow one 50 ms.
        let at = |subflow, message| Some(Choice::New { subflow, message });
        assert_eq!(choose(false, 0, &[20_000]), at(1, 0), "50 ms: just in time");
        assert_eq!(choose(false, 0, &[19_000]), at(0, 0), "48 ms: too late");
        assert_eq!(choose(false, 10, &[19_000]), None, "rather wait");
    }

    #[test]
    fn look_ahead_finds_a_message_that_the_slow_subflow_does_not_delay() {
        let at = |subflow, message| Some(Choice::New { subflow, message });
        assert_eq!(choose(true, 10, &[15_000, 5000]), at(1, 1), "both need 50 ms on the fast one");
        assert_eq!(choose(true, 10, &[15_000, 4000]), None);
        assert_eq!(choose(true, 10, &[10_000, 4000, 6000]), at(1, 2));
        assert_eq!(choose(false, 10, &[15_000, 5000]), None, "Algorithm 6 looks at the first only");
    }
}
