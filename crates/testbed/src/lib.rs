//! The links of the simulation in real time: packets of real kernels pass them between two TUN
//! devices, each in a network namespace of its own.
//!
//! [`run`] moves packets and knows neither clock nor device: an [`Environment`] gives it both, so
//! that tests can drive it with a clock of their own. Everything that needs Linux is behind it:
//! [`Namespaces`] makes the namespaces, [`RunningLink`] runs a link between them.

mod driver;
mod flows;
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
#[cfg(target_os = "linux")]
mod tap;

pub use driver::{Duplex, Environment, Fate, Observer, Way, run};
pub use report::{DirectionReport, PathReport, Percentiles, Report, Stopwatch, TapReport, Verdict};

#[cfg(target_os = "linux")]
pub use error::Error;
#[cfg(target_os = "linux")]
pub use link::{LinkConfig, PathConfig, RunningLink};
#[cfg(target_os = "linux")]
pub use namespaces::{
    CLIENT_ADDRESS, CLIENT_ADDRESSES, Namespaces, SERVER_ADDRESS, SERVER_ADDRESSES, become_init,
    die_with_parent, enter,
};
