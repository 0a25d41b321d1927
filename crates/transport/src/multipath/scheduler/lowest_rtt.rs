//! Lowest RTT first: the default of MPTCP (thesis section 6.2.2; Raiciu et al., NSDI 2012).

use super::{Choice, Schedule, Situation, first_message};

/// No state.
#[derive(Clone, Debug)]
pub(crate) struct LowestRtt;

impl Schedule for LowestRtt {
    #[inline]
    fn choose(&mut self, s: &Situation) -> Option<Choice> {
        s.fastest_available().map(|(subflow, _)| first_message(subflow))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{path, pool, situation};
    use super::*;

    #[test]
    fn the_fastest_subflow_with_room_is_taken() {
        let pool = pool(&[5000]);
        let both = [path(50, 10, 0), path(20, 10, 0)];
        assert_eq!(LowestRtt.choose(&situation(&both, &pool)), Some(first_message(1)));
        let full = [path(50, 10, 0), path(20, 10, 10)];
        assert_eq!(LowestRtt.choose(&situation(&full, &pool)), Some(first_message(0)));
        let none = [path(50, 10, 10), path(20, 10, 10)];
        assert_eq!(LowestRtt.choose(&situation(&none, &pool)), None);
    }
}
