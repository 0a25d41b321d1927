//! Everything above the transport: the page graph and its transforms, the browser that executes it,
//! and the HTTP clients and servers that fetch its resources.

pub mod browser;
pub mod graph;
pub mod http;
pub mod import;
pub mod page;
pub mod site;
pub mod transform;
