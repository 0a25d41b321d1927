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
    /// Exactly these packets are lost.
    Exact(Box<DropList>),
    /// Every packet that arrives during an outage, and some of the others.
    Outage(Box<Outage>),
}

/// Exact losses: packets by their place at a link, or by their place in their flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DropList {
    /// Of all packets, counted from 0, in ascending order.
    packets: Vec<u64>,
    seen: u64,
    /// Of each flow's packets with data.
    flows: Vec<FlowDrops>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct FlowDrops {
    packets: Vec<u64>,
    seen: u64,
}

impl DropList {
    /// `packets` are places at the link, counted from 0. `of_flows` are pairs of a flow, by order of
    /// appearance, and the place among its packets that carry data (retransmissions too), both from 0.
    pub fn new(mut packets: Vec<u64>, of_flows: &[(u32, u64)]) -> DropList {
        packets.sort_unstable();
        let mut flows = Vec::new();
        for &(flow, packet) in of_flows {
            let flow = flow as usize;
            if flows.len() <= flow {
                flows.resize(flow + 1, FlowDrops::default());
            }
            flows[flow].packets.push(packet);
        }
        for flow in &mut flows {
            flow.packets.sort_unstable();
        }
        DropList { packets, seen: 0, flows }
    }

    fn takes_next(&mut self, flow: Option<u32>) -> bool {
        let mut taken = self.packets.binary_search(&self.seen).is_ok();
        self.seen += 1;
        if let Some(flow) = flow.and_then(|flow| self.flows.get_mut(flow as usize)) {
            taken |= flow.packets.binary_search(&flow.seen).is_ok();
            flow.seen += 1;
        }
        taken
    }
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

    fn loses(&mut self, flow: Option<u32>, at: SimTime) -> bool {
        self.is_down(at) || self.otherwise.loses_next(flow, at)
    }
}

impl Loss {
    /// Loses exactly the packets with the given ordinals, counted from 0.
    pub fn pattern(ordinals: Vec<u64>) -> Loss {
        Loss::exactly(DropList::new(ordinals, &[]))
    }

    /// Loses exactly these packets.
    pub fn exactly(list: DropList) -> Loss {
        Loss::Exact(Box::new(list))
    }

    /// The same losses, and all packets from `down_at` until `up_at`; see [`Outage`].
    pub fn with_outage(self, down_at: SimTime, up_at: SimTime) -> Loss {
        Loss::Outage(Box::new(Outage { down_at, up_at, otherwise: self }))
    }

    /// Decides the fate of the next packet, which carries data of flow `flow`, if any, and arrives at `at`.
    #[inline]
    pub fn loses_next(&mut self, flow: Option<u32>, at: SimTime) -> bool {
        !matches!(self, Loss::None) && self.loses_one_of_some(flow, at)
    }

    #[inline(never)]
    fn loses_one_of_some(&mut self, flow: Option<u32>, at: SimTime) -> bool {
        match self {
            Loss::None => false,
            Loss::Bernoulli { probability, stream } => stream.unit() < *probability,
            Loss::Exact(list) => list.takes_next(flow),
            Loss::Outage(outage) => outage.loses(flow, at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_counted_apart_and_only_what_carries_data() {
        let list = DropList::new(vec![9], &[(1, 0), (0, 2), (0, 1)]);
        let mut loss = Loss::exactly(list);
        let flows = [None, Some(0), None, Some(1), Some(0), Some(1), Some(7), Some(0), Some(0)];
        let lost: Vec<_> = flows.iter().map(|flow| loss.loses_next(*flow, SimTime::ZERO)).collect();
        assert_eq!(lost, [false, false, false, true, true, false, false, true, false]);
        assert!(loss.loses_next(None, SimTime::ZERO), "the tenth of all");
    }

    fn fates(down_at: u64, up_at: u64, otherwise: Loss) -> Vec<bool> {
        let mut loss = otherwise.with_outage(SimTime(down_at), SimTime(up_at));
        (0..6).map(|at| loss.loses_next(None, SimTime(at))).collect()
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
