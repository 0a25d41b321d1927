//! The network below the endpoints: virtual time, the event queue, named random streams, and links
//! with a rate, a delay, a queue and a loss process.
//!
//! Nothing here reads a clock, a socket or a source of entropy. A [`Link`] is data that is told the
//! time, so the same code serves virtual time (the simulator) and real time (the testbed).

mod event;
mod link;
mod loss;
mod pace;
mod queue;
mod random;
mod red;
mod time;

pub use event::EventQueue;
pub use link::{Direction, Hop, HopCounters, Lane, Link};
pub use loss::{DropList, Loss, Outage};
pub use pace::{OPPORTUNITY_BYTES, Schedule};
pub use queue::{Capacity, Queue};
pub use random::{Stream, Streams, key_of};
pub use red::{Gentle, Red, RedConfig, RedUnit};
pub use time::{Bitrate, SimDuration, SimTime};
