//! What has arrived of one message, in any order.

use loadpath_transport::Delivery;

/// Received ranges of a message.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    contiguous: u64,
    /// Ranges above the contiguous part, sorted, disjoint, not touching.
    islands: Vec<(u64, u64)>,
}

impl Reassembly {
    /// Adds a delivery; returns the length of the contiguous part from the start of the message.
    #[inline]
    pub fn add(&mut self, delivery: &Delivery) -> u64 {
        let (start, end) = (delivery.offset, delivery.offset + delivery.len as u64);
        if start <= self.contiguous && self.islands.is_empty() {
            self.contiguous = self.contiguous.max(end);
            return self.contiguous;
        }
        self.add_island(start, end);
        self.contiguous
    }

    fn add_island(&mut self, mut start: u64, mut end: u64) {
        let first = self.islands.partition_point(|&(_, e)| e < start);
        let mut last = first;
        while last < self.islands.len() && self.islands[last].0 <= end {
            start = start.min(self.islands[last].0);
            end = end.max(self.islands[last].1);
            last += 1;
        }
        self.islands.splice(first..last, [(start, end)]);
        while let Some(&(s, e)) = self.islands.first() {
            if s > self.contiguous {
                break;
            }
            self.contiguous = self.contiguous.max(e);
            self.islands.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loadpath_transport::MessageId;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_order_of_arrival_reassembles_and_the_prefix_is_exact(
            order in Just((0u64..40).collect::<Vec<_>>()).prop_shuffle(),
        ) {
            let mut r = Reassembly::default();
            let mut seen = [false; 40];
            for k in order {
                seen[k as usize] = true;
                let prefix = seen.iter().take_while(|s| **s).count() as u64 * 10;
                let d = Delivery { id: MessageId(0), offset: k * 10, len: 10, end: k == 39 };
                prop_assert_eq!(r.add(&d), prefix);
            }
        }
    }
}
