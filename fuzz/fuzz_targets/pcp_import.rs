//! Any bytes are files of the PCP corpus or an error, and what is imported is a valid page graph.
//! The input is up to four files with a NUL byte between them: graph, delays, distribution, index.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loadpath_web::graph::{DelayClass, PageGraph, normalise};
use loadpath_web::import::InputFile;
use loadpath_web::import::pcp;

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(4, |&byte| byte == 0);
    let mut file = |origin| parts.next().map(|bytes| InputFile { origin, bytes });
    let (graph, delays) = (file("graph"), file("delays"));
    let (distribution, index) = (file("distribution"), file("index"));
    if let Some(distribution) = distribution {
        let _ = pcp::import_distributions(&DelayClass::ALL.map(|class| (class, distribution)));
    }
    if let Some(index) = index {
        let _ = pcp::parse_index(index);
    }
    let Some(graph) = graph else { return };
    if let Ok((graph, _)) = pcp::import_graph("fuzz", graph, delays) {
        assert_eq!(PageGraph::from_json(graph.to_json().as_bytes(), "again").as_ref(), Ok(&graph));
        pcp::is_sharded(&graph);
        assert_eq!(normalise(&graph).validate("normalised"), Ok(()));
    }
});
