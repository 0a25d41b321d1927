//! An origin server that replays a page archive (HAR 1.2 with bodies) over HTTP/1.1, HTTP/2 and
//! HTTP/3 to a real browser, over loopback or behind an emulated link.
//!
//! Apart from `loadpath-testbed`, for it needs no namespaces or devices and has as many dependencies
//! as all other crates together.

mod archive;
mod coding;
mod config;
mod error;
mod freeze;
mod gate;
mod h1;
mod h2;
mod h3;
mod har;
mod order;
mod quic;
mod report;
mod run;
mod server;
mod signals;
mod tap;
mod tls;
mod tree;
mod turns;

pub use archive::Summary;
pub use config::{Config, Delays, Http, Priorities, ServerModel};
pub use error::Error;
pub use report::{Miss, Report};
pub use run::run;
pub use server::{Place, Ready, Server};
