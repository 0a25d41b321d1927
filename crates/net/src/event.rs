//! The pending events of one simulated load.

use crate::SimTime;

/// A 4-ary min-heap of events in `(time, insertion)` order, so that events at the same instant
/// happen in the order in which they were scheduled.
///
/// Links deliver in order and timers are lazy, so a load keeps a few entries here per link and
/// connection, not one per packet: the heap stays inside the cache, where four children a node need
/// half the levels of two.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: Vec<Entry<E>>,
    inserted: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: SimTime,
    // 32 bits suffice: order matters only among the events of one instant, and those are compared
    // by wrapping distance.
    order: u32,
    event: E,
}

impl<E: Copy> Entry<E> {
    #[inline]
    fn before(&self, other: &Self) -> bool {
        self.at < other.at
            || (self.at == other.at && (self.order.wrapping_sub(other.order) as i32) < 0)
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue { heap: Vec::with_capacity(256), inserted: 0 }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Schedules `event` at `at`, behind all events already scheduled for that instant.
    #[inline]
    pub fn push(&mut self, at: SimTime, event: E) {
        let entry = Entry { at, order: self.inserted, event };
        self.inserted = self.inserted.wrapping_add(1);
        let mut hole = self.heap.len();
        self.heap.push(entry);
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if !entry.before(&self.heap[parent]) {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    /// Removes and returns the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        let first = *self.heap.first()?;
        let last = self.heap.pop().expect("the heap has a first entry");
        if !self.heap.is_empty() {
            self.sift_down(last);
        }
        Some((first.at, first.event))
    }

    /// Time of the earliest event.
    pub fn next_time(&self) -> Option<SimTime> {
        self.heap.first().map(|e| e.at)
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// True if nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Forgets all pending events and keeps the memory.
    pub fn clear(&mut self) {
        self.heap.clear();
        self.inserted = 0;
    }

    #[inline]
    fn sift_down(&mut self, entry: Entry<E>) {
        let heap = &mut self.heap[..];
        let mut hole = 0;
        loop {
            let first_child = 4 * hole + 1;
            if first_child >= heap.len() {
                break;
            }
            let mut least = first_child;
            for child in first_child + 1..(first_child + 4).min(heap.len()) {
                if heap[child].before(&heap[least]) {
                    least = child;
                }
            }
            if !heap[least].before(&entry) {
                break;
            }
            heap[hole] = heap[least];
            hole = least;
        }
        heap[hole] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_leave_in_time_order_and_ties_in_insertion_order(
            times in prop::collection::vec(0u64..20, 0..300),
        ) {
            let mut queue = EventQueue::default();
            for (i, &t) in times.iter().enumerate() {
                queue.push(SimTime(t), i);
            }
            let mut expected: Vec<_> = times.iter().copied().enumerate().map(|(i, t)| (t, i)).collect();
            expected.sort();
            let left: Vec<_> =
                std::iter::from_fn(|| queue.pop()).map(|(t, i)| (t.0, i)).collect();
            prop_assert_eq!(left, expected);
        }
    }

    #[test]
    fn the_order_counter_may_wrap() {
        let mut queue = EventQueue { heap: Vec::new(), inserted: u32::MAX };
        queue.push(SimTime(5), 'a');
        queue.push(SimTime(5), 'b');
        assert_eq!(queue.pop(), Some((SimTime(5), 'a')));
        assert_eq!(queue.pop(), Some((SimTime(5), 'b')));
    }
}
