//! Connections over several subflows: MPTCP with its schedulers, after chapter 6 of the thesis.

mod config;
mod connection;
mod data_log;
pub(crate) mod scheduler;
mod segment;
mod subflow;

pub use config::*;
pub use connection::MultipathEndpoint;
pub use segment::{MultipathOption, MultipathSegment};
