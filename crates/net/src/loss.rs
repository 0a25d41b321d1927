//! Loss that no queue explains.

use crate::Stream;

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
}

impl Loss {
    /// Loses exactly the packets with the given ordinals, counted from 0.
    pub fn pattern(mut ordinals: Vec<u64>) -> Loss {
        ordinals.sort_unstable();
        Loss::Pattern { ordinals, seen: 0 }
    }

    /// Decides the fate of the next packet.
    #[inline]
    pub fn loses_next(&mut self) -> bool {
        match self {
            Loss::None => false,
            Loss::Bernoulli { probability, stream } => stream.unit() < *probability,
            Loss::Pattern { ordinals, seen } => {
                let lost = ordinals.binary_search(seen).is_ok();
                *seen += 1;
                lost
            }
        }
    }
}
