//! The corpus imports whole, and its known oddities are all there.

#[allow(dead_code)]
mod graph_support;

use graph_support::corpus;
use loadpath_web::graph::PageGraph;
use loadpath_web::import::pcp::{self, ImportReport};

#[test]
fn all_pages_import_validate_and_round_trip() {
    let Some(corpus) = corpus() else { return };
    assert_eq!(corpus.pages.len(), 301);
    let mut sum = ImportReport::default();
    for page in &corpus.pages {
        let (graph, report) = corpus.import(page);
        let json = graph.to_json();
        assert_eq!(PageGraph::from_json(json.as_bytes(), &page.name).as_ref(), Ok(&graph));
        assert_eq!(page.no_sharding, Some(!pcp::is_sharded(&graph)), "{}", page.name);
        sum.add(&report);
    }
    println!("{sum:#?}");
}
