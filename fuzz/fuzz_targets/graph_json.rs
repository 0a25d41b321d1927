//! Any bytes are a page graph or an error, and a page graph can be normalised, prioritised and written.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loadpath_web::graph::priority::{PriorityScheme, assign};
use loadpath_web::graph::{PageGraph, ServerDelays, normalise};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(delays) = ServerDelays::from_json(bytes, "fuzz") {
        let again = ServerDelays::from_json(delays.to_json().as_bytes(), "again");
        assert_eq!(again, Ok(delays));
    }
    let graph = match PageGraph::from_json(bytes, "fuzz") {
        Ok(graph) => graph,
        Err(error) => {
            assert!(error.to_string().starts_with("fuzz:"));
            assert!(error.to_string().lines().count() <= 2);
            return;
        }
    };
    assert_eq!(PageGraph::from_json(graph.to_json().as_bytes(), "again").as_ref(), Ok(&graph));
    for scheme in
        [PriorityScheme::MimeClass, PriorityScheme::NodeDepth, PriorityScheme::CriticalPath]
    {
        assert_eq!(assign(&graph, scheme).len(), graph.activities.len());
    }
    let normal = normalise(&graph);
    assert_eq!(normal.validate("normalised"), Ok(()));
    assert_eq!(normalise(&normal), normal);
});
