//! Round robin: the subflows in turn, a segment each, leaving out those without room (Linux `mptcp_rr.c`
//! with `num_segments` 1).

use super::{Choice, Schedule, Situation, first_message};

/// Whose turn it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct RoundRobin {
    next: usize,
}

impl Schedule for RoundRobin {
    fn choose(&mut self, s: &Situation) -> Option<Choice> {
        let n = s.paths.len();
        let (subflow, _) = s.available().min_by_key(|(i, _)| (i + n - self.next) % n)?;
        self.next = (subflow + 1) % n;
        Some(first_message(subflow))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{path, pool, situation};
    use super::*;

    #[test]
    fn the_subflows_take_turns_and_full_ones_lose_theirs() {
        let pool = pool(&[5000]);
        let mut rr = RoundRobin::default();
        let both = [path(50, 10, 0), path(20, 10, 0)];
        for turn in [0, 1, 0, 1] {
            assert_eq!(rr.choose(&situation(&both, &pool)), Some(first_message(turn)));
        }
        let full = [path(50, 10, 10), path(20, 10, 0)];
        for turn in [1, 1] {
            assert_eq!(rr.choose(&situation(&full, &pool)), Some(first_message(turn)));
        }
        assert_eq!(rr.choose(&situation(&both, &pool)), Some(first_message(0)));
    }
}
