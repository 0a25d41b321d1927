//! The pages that ship with the project are valid, and the program writes them as they are.

use std::path::Path;

use loadpath_web::graph::{ActivityKind, PageGraph};
use serde_json::Value;

#[test]
fn all_example_pages_validate_and_round_trip() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pages");
    let index = std::fs::read(folder.join("index.json")).expect("index.json");
    let index: Value = serde_json::from_slice(&index).expect("index.json is JSON");
    let entries = index.as_array().expect("index.json is a list");
    assert_eq!(entries.len(), 24);
    for entry in entries {
        let file = entry["file"].as_str().expect("file");
        let bytes = std::fs::read(folder.join(file)).expect(file);
        let graph = PageGraph::from_json(&bytes, file).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(graph.name, entry["name"], "{file}");
        let sizes = graph.activities.iter().filter_map(|activity| match &activity.kind {
            ActivityKind::Resource(resource) => Some(resource.size_bytes),
            _ => None,
        });
        assert_eq!(sizes.clone().count() as u64, entry["resources"], "{file}");
        assert_eq!(sizes.sum::<u64>(), entry["bytes"], "{file}");
        assert_eq!(PageGraph::from_json(graph.to_json().as_bytes(), file), Ok(graph), "{file}");
    }
}
