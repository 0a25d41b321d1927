//! Queue disciplines: what happens to a packet that arrives while others wait.
//!
//! Occupancy is always that of the packets *waiting* for the link, without the one in service, at
//! the moment before the arrival: ns-3's and Linux's device queues both work so.

use crate::{Red, RedConfig, Stream};

/// A limit on what may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// At most this many packets wait.
    Packets(u64),
    /// A packet is dropped if the waiting bytes would exceed this with it.
    Bytes(u64),
}

/// A queue discipline with its state.
#[derive(Clone, Debug, PartialEq)]
pub enum Queue {
    /// Holds whatever comes.
    Unlimited,
    /// Drops the packet that does not fit.
    DropTail(Capacity),
    /// Random early detection. Boxed: its state is the largest of the variants by far.
    Red(Box<Red>),
}

impl Queue {
    /// A RED queue that draws from `stream`.
    pub fn red(config: RedConfig, stream: Stream) -> Queue {
        Queue::Red(Box::new(Red::new(config, stream)))
    }

    /// Whether a packet of `size_bytes` is admitted when `waiting_packets` and `waiting_bytes` wait.
    #[inline]
    pub fn admits(&mut self, size_bytes: u64, waiting_packets: u64, waiting_bytes: u64) -> bool {
        match self {
            Queue::Unlimited => true,
            Queue::DropTail(Capacity::Packets(limit)) => waiting_packets < *limit,
            Queue::DropTail(Capacity::Bytes(limit)) => waiting_bytes + size_bytes <= *limit,
            Queue::Red(red) => red.admits(size_bytes, waiting_packets, waiting_bytes),
        }
    }

    /// True if the discipline never looks at the occupancy, so that it need not be kept.
    pub fn ignores_occupancy(&self) -> bool {
        matches!(self, Queue::Unlimited)
    }
}
