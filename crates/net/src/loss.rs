//! Loss that no queue explains.

use crate::{SimTime, Stream};

/// The loss process of a link, applied before its queue.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// Every packet passes.
    None,
    /// Each packet is lost with this probability, independently of all others.
    Bernoulli {
        /// Probability in [0, 1].
        probability: f64,
        /// Where the draws come from.
        stream: Stream,
    },
    /// Exactly the packets with these ordinals (counted from 0 at this link) are lost.
    Pattern {
        /// Ordinals in ascending order.
        ordinals: Vec<u64>,
        /// Packets seen so far.
        seen: u64,
    },
    /// Every packet that arrives during an outage, and some of the others.
    Outage(Box<Outage>),
}

/// A link that dies, comes back, or is not there at first.
#[derive(Clone, Debug, PartialEq)]
pub struct Outage {
    /// From here on every packet is lost, ...
    pub down_at: SimTime,
    /// ... and from here on none is for that reason. If this is the earlier of the two, the link is down before it,
    /// too.
    pub up_at: SimTime,
    /// Losses while the link is up.
    pub otherwise: Loss,
}

impl Outage {
    /// Whether the link is down at `at`.
    pub fn is_down(&self, at: SimTime) -> bool {
        if self.down_at <= self.up_at {
            self.down_at <= at && at < self.up_at
        } else {
            at < self.up_at || self.down_at <= at
        }
    }

    fn loses(&mut self, at: SimTime) -> bool {
        self.is_down(at) || self.otherwise.loses_next(at)
    }
}

impl Loss {
    /// Loses exactly the packets with the given ordinals, counted from 0.
    pub fn pattern(mut ordinals: Vec<u64>) -> Loss {
        ordinals.sort_unstable();
        Loss::Pattern { ordinals, seen: 0 }
    }

    /// The same losses, and all packets from `down_at` until `up_at`; see [`Outage`].
    pub fn with_outage(self, down_at: SimTime, up_at: SimTime) -> Loss {
        Loss::Outage(Box::new(Outage { down_at, up_at, otherwise: self }))
    }

    /// Decides the fate of the next packet, which arrives at `at`.
    #[inline]
    pub fn loses_next(&mut self, at: SimTime) -> bool {
        !matches!(self, Loss::None) && self.loses_one_of_some(at)
    }

    #[inline(never)]
    fn loses_one_of_some(&mut self, at: SimTime) -> bool {
        match self {
            Loss::None => false,
            Loss::Bernoulli { probability, stream } => stream.unit() < *probability,
            Loss::Pattern { ordinals, seen } => {
                let lost = ordinals.binary_search(seen).is_ok();
                *seen += 1;
                lost
            }
            Loss::Outage(outage) => outage.loses(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(down_at: u64, up_at: u64, otherwise: Loss) -> Vec<bool> {
        let mut loss = otherwise.with_outage(SimTime(down_at), SimTime(up_at));
        (0..6).map(|at| loss.loses_next(SimTime(at))).collect()
    }

    #[test]
    fn an_outage_lasts_from_its_first_instant_to_before_its_last() {
        let none = || Loss::None;
        assert_eq!(fates(2, 4, none()), [false, false, true, true, false, false]);
        assert_eq!(fates(0, 3, none()), [true, true, true, false, false, false], "comes at 3");
        assert_eq!(fates(4, 0, none()), [false, false, false, false, true, true], "dies at 4");
        assert_eq!(fates(4, 2, none()), [true, true, false, false, true, true], "comes and dies");
        assert_eq!(fates(3, 3, none()), [false; 6]);
    }

    #[test]
    fn losses_beside_an_outage_are_counted_while_the_link_is_up() {
        assert_eq!(fates(1, 3, Loss::pattern(vec![2])), [false, true, true, false, true, false]);
    }
}
