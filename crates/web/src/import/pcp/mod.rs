//! The page graphs and server delays that were published with the PCP thesis: 301 front pages,
//! recorded with an instrumented Chromium in September 2016.
//!
//! Two layouts hold the same data. The public origin (github.com/kusoof/alexa_traces) has graphs in
//! `dependency_graphs/alexa_deps_24_3_2017/NAME`, delays in
//! `server_delays/split_delays_for_alexa_16_03_2017/NAME_delay` and distributions in
//! `server_delays/delays_for_alexa_21_9_2016/server_times_16_03_2017/*.dist`; the corpus folder has
//! an `index.json` and `graphs/`, `delays/`, `dist/` with shortened names.

mod delays;
mod graph;
mod index;
mod late;

pub use delays::{distribution_class, import_distributions};
pub use graph::{ImportReport, import_graph};
pub use index::{CorpusPage, ORIGIN_DELAYS, ORIGIN_DISTRIBUTIONS, ORIGIN_GRAPHS};
pub use index::{is_sharded, pages_in_origin, parse_index};
pub use late::serve_late_references;
