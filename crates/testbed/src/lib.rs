//! The links of the simulation in real time: packets of real kernels pass them between two TUN
//! devices, each in a network namespace of its own.
//!
//! [`Duplex`] moves packets and knows neither clock nor device: an [`Environment`] gives it both, so
//! that tests can drive it with a clock of their own. Everything that needs Linux is behind it:
//! [`Namespaces`] makes the namespaces, [`RunningLink`] runs a link between them.

mod driver;
mod report;

#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod realtime;
#[cfg(target_os = "linux")]
mod sys;

pub use driver::{Duplex, Environment, Observer};
pub use report::{DirectionReport, Percentiles, Report, Stopwatch, Verdict};

#[cfg(target_os = "linux")]
pub use error::Error;
#[cfg(target_os = "linux")]
pub use link::{LinkConfig, RunningLink};
#[cfg(target_os = "linux")]
pub use namespaces::{
    CLIENT_ADDRESS, Namespaces, SERVER_ADDRESS, SERVER_ADDRESSES, become_init, die_with_parent,
    enter,
};
