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
//! * [`Endpoint::read`] — the next bytes for the application; call until `None` after `on_segment`;
//! * [`Endpoint::next_timeout`] — when to call `on_timeout`; ask again after each of the above. It
//!   may come early (timers are lazy): the call then does nothing but move it.

mod config;
mod congestion;
mod endpoint;
mod growth;
mod receiver;
mod rtt;
mod segment;
mod sender;
mod sent;
mod unsent;
mod validation;

pub use config::*;
pub use endpoint::{Endpoint, Failure, Stats};
pub use segment::*;
