//! What the tests of the simulator share: pages, scenarios, the corpus.

#![allow(dead_code, reason = "each test program uses a part of it")]

#[path = "../../../web/tests/browser_support/mod.rs"]
pub mod browser_support;
#[path = "../../../web/tests/graph_support/mod.rs"]
pub mod graph_support;
pub mod random_scenario;

use std::path::Path;

use loadpath_sim::Scenario;
use loadpath_web::graph::PageGraph;
use loadpath_web::page::Page;

/// `pcp` with changes.
pub fn scenario(changes: &[(&str, &str)]) -> Scenario {
    scenario_of("pcp", changes)
}

/// A profile with changes.
pub fn scenario_of(profile: &str, changes: &[(&str, &str)]) -> Scenario {
    let changes: Vec<_> = changes.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    Scenario::resolve(Some(profile), None, &changes).unwrap_or_else(|error| panic!("{error}"))
}

/// One of the pages that ship with the project, by the name of its file.
pub fn example(name: &str) -> PageGraph {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pages");
    let file = format!("{name}.json");
    let bytes = std::fs::read(folder.join(&file)).expect("the example pages are in the repository");
    PageGraph::from_json(&bytes, &file).unwrap_or_else(|error| panic!("{error}"))
}

/// As [`example`], compiled.
pub fn example_page(name: &str) -> Page {
    browser_support::compile(&example(name))
}

/// Whole nanoseconds, which outcomes hold as milliseconds.
pub fn ns(ms: f64) -> i64 {
    (ms * 1e6).round() as i64
}
