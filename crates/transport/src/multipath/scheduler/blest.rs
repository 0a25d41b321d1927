//! BLEST: blocking estimation (Ferlin, Alay, Mehani, Boreli, IFIP Networking 2016; Linux `mptcp_blest.c`).
//! A segment goes on the slower subflow only if what the faster one can send in the meantime still fits
//! the connection's window beside it. With r = RTT_slow / RTT_fast that is
//!
//! > X = (cwnd_fast + (r − 1) / 2) · r segments, X · λ ≤ window − (in flight on the slow one + 1)
//!
//! λ grows when segments were sent again since the last look and shrinks otherwise; range, steps and
//! interval are those of Linux.

use loadpath_net::SimTime;

use super::{Choice, Schedule, Situation, first_message};

/// λ in thousandths: start, bounds, steps (`lambda`, `min_lambda`, `max_lambda`, `dyn_lambda_good`,
/// `dyn_lambda_bad`).
const START: u64 = 1200;
const LEAST: u64 = 1000;
const MOST: u64 = 1300;
const STEP_DOWN: u64 = 10;
const STEP_UP: u64 = 40;

/// λ and what it follows.
#[derive(Clone, Debug)]
pub(crate) struct Blest {
    lambda: u64,
    updated: SimTime,
    retransmissions: u64,
}

impl Blest {
    pub fn new() -> Self {
        Blest { lambda: START, updated: SimTime::ZERO, retransmissions: 0 }
    }

    fn update(&mut self, s: &Situation, slow: &super::PathView) {
        if s.now.since(self.updated) < slow.srtt {
            return;
        }
        let retransmissions = (s.retransmissions)();
        self.lambda = if retransmissions > self.retransmissions {
            (self.lambda + STEP_UP).min(MOST)
        } else {
            (self.lambda - STEP_DOWN).max(LEAST)
        };
        self.updated = s.now;
        self.retransmissions = retransmissions;
    }
}

impl Schedule for Blest {
    fn choose(&mut self, s: &Situation) -> Option<Choice> {
        let (fast_number, fast) = s.fastest()?;
        if fast.room {
            return Some(first_message(fast_number));
        }
        let (slow_number, slow) = s.fastest_available()?;
        self.update(s, slow);
        let ratio = u128::from(slow.srtt.0) * 1000 / u128::from(fast.srtt.0.max(1));
        let growth = u128::from(s.mss) * ratio.saturating_sub(1000) / 2000;
        let meanwhile = (u128::from(fast.window) + growth) * ratio / 1000;
        let window = u128::from(s.data_edge.saturating_sub(s.log.una()));
        let beside = window.saturating_sub(u128::from(slow.in_flight + s.mss));
        (meanwhile * u128::from(self.lambda) / 1000 <= beside).then(|| first_message(slow_number))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{path, pool, situation};
    use super::*;

    #[test]
    fn the_slow_subflow_waits_if_the_window_would_block_the_fast_one() {
        let pool = pool(&[100_000]);
        // r = 5: the fast one sends (10 + 2) · 5 = 60 segments meanwhile, 72 with λ = 1.2; one more on the
        // slow one makes 73.
        let paths = [path(20, 10, 10), path(100, 10, 0)];
        let with_window = |segments: u64| {
            let s = Situation { data_edge: 1 + segments * 1000, ..situation(&paths, &pool) };
            Blest::new().choose(&s)
        };
        assert_eq!(with_window(73), Some(first_message(1)));
        assert_eq!(with_window(72), None);
        assert_eq!(with_window(1_000_000), Some(first_message(1)));
    }

    #[test]
    fn lambda_follows_retransmissions() {
        let pool = pool(&[100_000]);
        let paths = [path(20, 10, 10), path(100, 10, 0)];
        let mut blest = Blest::new();
        let mut look = |ms: u64, sent_again| {
            let (now, retransmissions) = (SimTime(ms * 1_000_000), &|| sent_again);
            blest.choose(&Situation { now, retransmissions, ..situation(&paths, &pool) });
            blest.lambda
        };
        assert_eq!(look(50, 0), 1200, "not within a round trip");
        assert_eq!(look(100, 0), 1190);
        assert_eq!(look(200, 3), 1230);
        assert_eq!(look(300, 3), 1220);
    }
}
