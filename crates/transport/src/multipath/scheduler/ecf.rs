//! ECF: earliest completion first (Lim, Nahum, Towsley, Gibbens, CoNEXT 2017, Algorithm 1). If the fastest
//! subflow has no room, what is left may still complete earlier by waiting for it than by using the slower
//! one:
//!
//! > (1 + k / cwnd_f) · RTT_f < (1 + waiting · β) · (RTT_s + δ), and k / cwnd_s · RTT_s ≥ 2 RTT_f + δ
//!
//! where k is unsent and δ the larger of the deviations of both round-trip times. Less than a window takes a
//! round trip, too: k / cwnd is at least 1, as in the authors' own scheduler (`mptcp_ecf.c` of
//! multipath-tcp.org's Linux). Without that the end of every message would go on the slower subflow at once.

use super::{Choice, Schedule, Situation, first_message};

/// β = 1/4 (section 5 of the paper).
const BETA_INVERSE: u128 = 4;

/// Whether it waited the last time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ecf {
    waiting: bool,
}

impl Schedule for Ecf {
    fn choose(&mut self, s: &Situation) -> Option<Choice> {
        let (fast_number, fast) = s.fastest()?;
        if fast.room {
            return Some(first_message(fast_number));
        }
        let (slow_number, slow) = s.fastest_available()?;
        let left = u128::from(s.pool.bytes());
        let (rtt_fast, rtt_slow) = (u128::from(fast.srtt.0), u128::from(slow.srtt.0));
        let delta = u128::from(fast.rttvar.0.max(slow.rttvar.0));
        let transfer = |rtt: u128, window: u64| {
            let window = u128::from(window.max(1));
            left.max(window) * rtt / window
        };
        let on_fast = rtt_fast + transfer(rtt_fast, fast.window);
        let on_slow = rtt_slow + delta;
        let margin = if self.waiting { on_slow / BETA_INVERSE } else { 0 };
        if on_fast < on_slow + margin {
            if transfer(rtt_slow, slow.window) >= 2 * rtt_fast + delta {
                self.waiting = true;
                return None;
            }
        } else {
            self.waiting = false;
        }
        Some(first_message(slow_number))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{path, pool, situation};
    use super::*;

    fn choose(ecf: &mut Ecf, left: u64) -> Option<Choice> {
        choose_between(ecf, left, 100)
    }

    fn choose_between(ecf: &mut Ecf, left: u64, slow_ms: u64) -> Option<Choice> {
        let paths = [path(20, 10, 10), path(slow_ms, 10, 0)];
        let pool = pool(&[left * 1000]);
        ecf.choose(&situation(&paths, &pool))
    }

    #[test]
    fn it_waits_for_the_fast_subflow_if_that_completes_earlier() {
        let mut ecf = Ecf::default();
        // 60 segments: (1 + 6) · 20 = 140 ms on the fast one, not below 100.
        assert_eq!(choose(&mut ecf, 60), Some(first_message(1)));
        // 20 segments: 60 ms below 100, and 2 · 100 ms on the slow one is at least 40.
        assert_eq!(choose(&mut ecf, 20), None);
        // Once waiting, up to 125 ms: 50 segments are 120 ms.
        assert_eq!(choose(&mut ecf, 50), None);
        assert_eq!(choose(&mut ecf, 60), Some(first_message(1)));
        assert_eq!(choose(&mut ecf, 50), Some(first_message(1)), "no longer waiting");
    }

    #[test]
    fn less_than_a_window_takes_a_round_trip_on_either() {
        // 3 segments: 40 ms on the fast one after a wait, 100 ms on the slow one.
        assert_eq!(choose(&mut Ecf::default(), 3), None);
        // 39 ms are below the 40 ms of the fast one.
        assert_eq!(choose_between(&mut Ecf::default(), 3, 39), Some(first_message(1)));
    }
}
