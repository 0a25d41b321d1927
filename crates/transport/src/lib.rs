//! Sans-IO transport endpoints.
//!
//! An [`Endpoint`] never reads a clock, a socket or a source of entropy. It is told what happened
//! and asked what to do:
//!
//! * [`Endpoint::on_segment`] — a segment arrived;
//! * [`Endpoint::on_timeout`] — the time of [`Endpoint::next_timeout`] has come;
//! * [`Endpoint::write`], [`Endpoint::close`] — the application has something to send, or is done;
//! * [`Endpoint::poll_transmit`] — the next segment to send now, with its path; call until `None`
//!   after each of the above;
//! * [`Endpoint::read`] — the next bytes for the application; call until `None` after `on_segment`,
//!   and before `poll_transmit`, because the window on offer counts what is not read;
//! * [`Endpoint::next_timeout`] — when to call `on_timeout`; ask again after each of the above. It
//!   may come early (timers are lazy): the call then does nothing but move it.

//!
//! Inside, an endpoint is a sender over two structures and a receiver. Messages wait in the
//! unsent pool, which priorities reorder. A segment gets its sequence numbers when it first leaves and goes
//! into the sent log, from which a retransmission repeats it. The log also holds what is known of each
//! segment (reported, lost, sent again), so that NewReno, NACK and SACK differ only in how they learn of a
//! loss. Congestion control, window validation and the rule of growth look at the sender from outside and
//! know nothing of segments.

mod config;
mod congestion;
mod endpoint;
mod growth;
mod multipath;
mod rack;
mod receiver;
mod rtt;
mod segment;
mod sender;
mod sent;
mod tail_loss;
mod transport;
mod unsent;
mod validation;

pub use config::*;
pub use endpoint::{Endpoint, Failure, Stats};
pub use multipath::*;
pub use segment::*;
pub use transport::{Transport, Wire};
