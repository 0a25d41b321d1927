//! The pending events of one simulated load.

use crate::SimTime;

/// A 4-ary min-heap of events in `(time, insertion)` order, so that events at the same instant
/// happen in the order in which they were scheduled.
///
/// Links deliver in order and timers are lazy, so a load keeps a few entries here per link and
/// connection, not one per packet: the heap stays inside the cache, where four children a node need
/// half the levels of two. Handling an event mostly schedules the next of its link, so a popped root
/// stays vacant until the next call: a push then takes its place in one pass.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: Vec<Entry<E>>,
    inserted: u64,
    /// The root was popped and not replaced yet.
    vacant: bool,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: SimTime,
    order: u64,
    event: E,
}

impl<E: Copy> Entry<E> {
    /// One comparison without branches.
    #[inline]
    fn key(&self) -> u128 {
        (self.at.0 as u128) << 64 | self.order as u128
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        EventQueue { heap: Vec::with_capacity(256), inserted: 0, vacant: false }
    }
}

impl<E: Copy> EventQueue<E> {
    /// Schedules `event` at `at`, behind all events already scheduled for that instant.
    #[inline]
    pub fn push(&mut self, at: SimTime, event: E) {
        let entry = Entry { at, order: self.inserted, event };
        self.inserted += 1;
        if self.vacant {
            self.vacant = false;
            self.sift_down(entry);
        } else {
            self.sift_up(entry);
        }
    }

    /// Removes and returns the earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(SimTime, E)> {
        self.settle();
        let first = self.heap.first()?;
        self.vacant = true;
        Some((first.at, first.event))
    }

    /// Fills a vacant root with the last entry.
    #[inline]
    fn settle(&mut self) {
        if self.vacant {
            self.vacant = false;
            let last = self.heap.pop().expect("a vacant root has a place");
            if !self.heap.is_empty() {
                self.sift_down(last);
            }
        }
    }

    /// Time of the earliest event.
    pub fn next_time(&self) -> Option<SimTime> {
        if self.vacant {
            return self.heap.iter().skip(1).take(4).map(|e| e.at).min();
        }
        self.heap.first().map(|e| e.at)
    }

    /// As [`next_time`](Self::next_time), [`SimTime::MAX`] if nothing is pending; prepares
    /// [`pop`](Self::pop).
    #[inline]
    pub fn settled_time(&mut self) -> SimTime {
        self.settle();
        self.heap.first().map_or(SimTime::MAX, |e| e.at)
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.heap.len() - usize::from(self.vacant)
    }

    /// True if nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all pending events and keeps the memory.
    pub fn clear(&mut self) {
        self.heap.clear();
        self.inserted = 0;
        self.vacant = false;
    }

    #[inline]
    fn sift_up(&mut self, entry: Entry<E>) {
        let mut hole = self.heap.len();
        self.heap.push(entry);
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if entry.key() >= self.heap[parent].key() {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
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
                if heap[child].key() < heap[least].key() {
                    least = child;
                }
            }
            if heap[least].key() >= entry.key() {
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

        #[test]
        fn pops_and_pushes_in_any_order_give_the_earliest_each_time(
            steps in prop::collection::vec(prop::option::of(0u64..20), 0..300),
        ) {
            let mut queue = EventQueue::default();
            let mut pending = Vec::new();
            for (i, step) in steps.iter().enumerate() {
                if let Some(t) = *step {
                    queue.push(SimTime(t), i);
                    pending.push((t, i));
                } else {
                    pending.sort();
                    let first = (!pending.is_empty()).then(|| pending.remove(0));
                    prop_assert_eq!(queue.pop().map(|(t, i)| (t.0, i)), first);
                }
                prop_assert_eq!(queue.len(), pending.len());
                prop_assert_eq!(queue.next_time().map(|t| t.0), pending.iter().map(|p| p.0).min());
            }
        }
    }
}
