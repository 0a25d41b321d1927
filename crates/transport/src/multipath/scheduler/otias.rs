//! OTIAS: out-of-order transmission for in-order arrival (Yang, Wang, Amer, IEEE AINA Workshops 2014). Each
//! segment is given to the subflow on which it would arrive first, even if that has no room yet:
//!
//! > T = (round trips to wait + 1/2) · RTT
//!
//! A segment has to wait one round trip for each window that the queue in front of it, with it, exceeds the
//! room by.

use super::{Choice, PathView, Schedule, Situation, first_message};

/// No state: what is queued is seen at the subflows.
#[derive(Clone, Debug)]
pub(crate) struct Otias;

/// Arrival in units of half a nanosecond.
fn arrival(path: &PathView, mss: u64) -> u128 {
    let room = path.window.saturating_sub(path.in_flight);
    let excess = (path.queued + mss).saturating_sub(room);
    let waits = u128::from(excess.div_ceil(path.window.max(1)));
    (2 * waits + 1) * u128::from(path.srtt.0)
}

impl Schedule for Otias {
    fn choose(&mut self, s: &Situation) -> Option<Choice> {
        let (subflow, _) = s.usable().min_by_key(|(_, p)| arrival(p, s.mss))?;
        Some(first_message(subflow))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{path, pool, situation};
    use super::*;

    #[test]
    fn a_segment_queues_where_it_would_arrive_first() {
        let pool = pool(&[100_000]);
        // Full, but 1.5 · 20 ms is before 0.5 · 100 ms; so is not a second window behind the first.
        let mut paths = [path(20, 10, 10), path(100, 10, 0)];
        assert_eq!(Otias.choose(&situation(&paths, &pool)), Some(first_message(0)));
        paths[0].queued = 10_000;
        assert_eq!(
            Otias.choose(&situation(&paths, &pool)),
            Some(first_message(0)),
            "2.5 · 20 = 50"
        );
        paths[0].queued = 20_000;
        assert_eq!(
            Otias.choose(&situation(&paths, &pool)),
            Some(first_message(1)),
            "3.5 · 20 = 70"
        );
    }
}
