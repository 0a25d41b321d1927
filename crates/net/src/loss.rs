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
    /// Exactly these packets are lost.
    Exact(Box<DropList>),
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

impl Loss {
    /// Loses exactly the packets with the given ordinals, counted from 0.
    pub fn pattern(ordinals: Vec<u64>) -> Loss {
        Loss::exactly(DropList::new(ordinals, &[]))
    }

    /// Loses exactly these packets.
    pub fn exactly(list: DropList) -> Loss {
        Loss::Exact(Box::new(list))
    }

    /// Decides the fate of the next packet, which carries data of flow `flow`, if any.
    #[inline]
    pub fn loses_next(&mut self, flow: Option<u32>) -> bool {
        match self {
            Loss::None => false,
            Loss::Bernoulli { probability, stream } => stream.unit() < *probability,
            Loss::Exact(list) => list.takes_next(flow),
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
        let lost: Vec<_> = flows.iter().map(|flow| loss.loses_next(*flow)).collect();
        assert_eq!(lost, [false, false, false, true, true, false, false, true, false]);
        assert!(loss.loses_next(None), "the tenth of all");
    }
}
