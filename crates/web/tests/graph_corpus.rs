//! The corpus imports whole, and its known oddities are all there.

#[allow(dead_code, reason = "each test program uses a part of it")]
mod graph_support;

use std::fs;

use graph_support::{Corpus, corpus};
use loadpath_web::graph::{ActivityKind, DelayClass, EvaluationKind, PageGraph, normalise};
use loadpath_web::import::InputFile;
use loadpath_web::import::pcp::{self, ImportReport};

#[test]
fn all_pages_import_validate_round_trip_and_show_every_known_oddity() {
    let Some(corpus) = corpus() else { return };
    assert_eq!(corpus.pages.len(), 301);
    let mut sum = ImportReport::default();
    let mut pages_with_unreachable = 0;
    for page in &corpus.pages {
        let (graph, report) = corpus.import(page);
        let json = graph.to_json();
        assert_eq!(PageGraph::from_json(json.as_bytes(), &page.name).as_ref(), Ok(&graph));
        assert_eq!(page.no_sharding, Some(!pcp::is_sharded(&graph)), "{}", page.name);
        pages_with_unreachable += u32::from(report.unreachable > 0);
        sum.add(&report);
    }
    assert_eq!(pages_with_unreachable, 49);
    let known = ImportReport {
        activities: 190_628,
        edges: 279_844,
        resources: 50_823,
        fetched: 34_889,
        delays_exact: 34_333,
        delays_other_method: 286,
        delays_missing: 270,
        delay_rows_split: 0,
        negative_durations: 5,
        received_before_sent: 4_414,
        absurd_received: 3,
        chunks_clamped: 1_402,
        documents_clamped: 186,
        unreachable: 320,
        orphan_resources: 96,
        without_priority: 124,
        empty_responses: 1_892,
        without_mime_type: 541,
        repeated_fetches: 909,
        before_their_original: 677,
        redirected: 555,
        // The import itself keeps the recording as it is.
        late_references_served: 0,
    };
    assert_eq!(sum, known);
}

#[test]
fn references_that_the_cache_served_after_load_cost_nothing_once_served() {
    let Some(corpus) = corpus() else { return };
    let mut served = Vec::new();
    for page in &corpus.pages {
        let (mut graph, _) = corpus.import(page);
        let count = pcp::serve_late_references(&mut graph);
        graph.validate(&page.name).unwrap();
        assert_eq!(pcp::serve_late_references(&mut graph), 0, "{}: nothing is left", page.name);
        if count > 0 {
            served.push((&*page.name, count));
        }
    }
    let expected = [
        ("giphy.com_22", 13),
        ("www.aol.co.uk_r_www.aol.com_87", 2),
        ("www.wp.pl_284", 1),
        ("www.youtube.com_296", 2),
    ];
    assert_eq!(served, expected);
}

#[test]
fn seventeen_pages_are_not_sharded() {
    let Some(corpus) = corpus() else { return };
    let without = corpus.pages.iter().filter(|page| page.no_sharding == Some(true)).count();
    assert_eq!(without, 17);
}

#[test]
fn names_from_the_public_origin_shorten_to_those_of_the_folder() {
    let Some(corpus) = corpus() else { return };
    let pages = pcp::pages_in_origin(corpus.pages.iter().map(|page| &*page.original_name));
    let mut expected: Vec<_> = corpus.pages.iter().map(|page| (page.number, &page.name)).collect();
    expected.sort();
    assert_eq!(pages.iter().map(|page| (page.number, &page.name)).collect::<Vec<_>>(), expected);
}

#[test]
fn the_two_rows_that_the_public_origin_glues_are_taken_apart() {
    let Some(corpus) = corpus() else { return };
    for (name, first_of_pair) in [("allegro.pl_2", 112), ("www.amazon.co.jp_82", 100)] {
        let page = corpus.pages.iter().find(|page| page.name == name).unwrap();
        let (repaired, _) = corpus.import(page);
        // The file in the corpus folder is repaired: glue two of its rows again.
        let text = String::from_utf8(corpus.read(&page.delays)).unwrap();
        let mut rows: Vec<&str> = text.lines().collect();
        let glued = format!("{}{}", rows[first_of_pair], rows[first_of_pair + 1]);
        rows.splice(first_of_pair..first_of_pair + 2, [&*glued]);
        let text = rows.join("\n");
        let graph = corpus.read(&page.graph);
        let (graph, report) = pcp::import_graph(
            name,
            InputFile { origin: name, bytes: &graph },
            Some(InputFile { origin: name, bytes: text.as_bytes() }),
        )
        .unwrap();
        assert_eq!(report.delay_rows_split, 1);
        assert_eq!(graph, repaired);
    }
}

#[test]
fn distributions_of_the_corpus_are_interpolated_linearly() {
    let Some(corpus) = corpus() else { return };
    let mut files = Vec::new();
    for entry in fs::read_dir(corpus.folder.join("dist")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        if let Some(class) = pcp::distribution_class(&name) {
            files.push((class, name, fs::read(path).unwrap()));
        }
    }
    let files: Vec<_> = files
        .iter()
        .map(|(class, name, bytes)| (*class, InputFile { origin: name, bytes }))
        .collect();
    let delays = pcp::import_distributions(&files).unwrap();
    // Worked out from the two rows around each quantile.
    let expected = [
        (DelayClass::Css, 23.005, 197.8046, 823.21),
        (DelayClass::Image, 39.0135, 265.4033, 995.47),
        (DelayClass::Javascript, 34.691, 227.72, 970.43),
        (DelayClass::Other, 75.4605, 301.709, 996.3),
        (DelayClass::Post, 115.85, 251.222, 431.72),
        (DelayClass::Text, 77.2375, 311.6886, 992.6),
    ];
    for (class, median, ninth_decile, maximum) in expected {
        for (u, expected) in [(0.5, median), (0.9, ninth_decile), (1.0, maximum)] {
            let ms = delays.quantile(class, u).as_millis_f64();
            assert!((ms - expected).abs() < 0.001, "{class:?} at {u}: {ms} ms");
        }
    }
}

fn load(corpus: &Corpus, name: &str) -> PageGraph {
    corpus.import(corpus.pages.iter().find(|page| page.name == name).unwrap()).0
}

#[test]
fn giants_are_kept_as_they_are() {
    let Some(corpus) = corpus() else { return };
    let panda = load(&corpus, "www.panda.tv_221");
    let size = |id: &str| match &panda.activities.iter().find(|a| a.id == id).unwrap().kind {
        ActivityKind::Resource(resource) => resource.size_bytes,
        _ => 0,
    };
    assert_eq!(size("download_167"), 18_325_706);
    let kakaku = load(&corpus, "kakaku.com_27");
    let longest = kakaku.activities.iter().filter_map(|a| match &a.kind {
        ActivityKind::Evaluation(evaluation) => Some((evaluation.duration_ms, &*a.id)),
        _ => None,
    });
    let (ms, id) = longest.max_by(|a, b| a.0.total_cmp(&b.0)).unwrap();
    assert_eq!((ms.round(), id), (8450.0, "comp_61_0"));
}

#[test]
fn normalised_pages_are_valid_and_leave_no_one_waiting() {
    let Some(corpus) = corpus() else { return };
    let mut unreachable_parents = 0;
    let mut long_timers = 0;
    for page in &corpus.pages {
        let (graph, _) = corpus.import(page);
        let normal = normalise(&graph);
        normal.validate(&page.name).unwrap();
        let topology = loadpath_web::graph::Topology::new(&normal);
        let orphans = (0..)
            .zip(&normal.activities)
            .filter(|(index, activity)| {
                topology.parents.of(*index).is_empty() && activity.id != normal.root
            })
            .count();
        assert_eq!(orphans, 0, "{}", page.name);
        let waits_for_ever = |graph: &PageGraph| blocked(graph);
        unreachable_parents += u32::from(waits_for_ever(&graph));
        assert!(!waits_for_ever(&normal), "{}", page.name);
        long_timers += normal
            .activities
            .iter()
            .filter(|activity| match &activity.kind {
                ActivityKind::Evaluation(e) => {
                    e.kind == EvaluationKind::Timer
                        && e.continues.is_none()
                        && e.timeout_ms > Some(1000.0)
                }
                _ => false,
            })
            .count();
    }
    assert_eq!(unreachable_parents, 7);
    assert_eq!(long_timers, 10);
}

/// Whether an activity that nothing leads to is an ancestor of the load event.
fn blocked(graph: &PageGraph) -> bool {
    let topology = loadpath_web::graph::Topology::new(graph);
    let ids = loadpath_web::graph::IdIndex::new(graph);
    let mut pending = vec![ids.get(&graph.load_event).unwrap()];
    let mut seen = vec![false; graph.activities.len()];
    while let Some(index) = pending.pop() {
        if std::mem::replace(&mut seen[index as usize], true) {
            continue;
        }
        let parents = topology.parents.of(index);
        if parents.is_empty() && graph.activities[index as usize].id != graph.root {
            return true;
        }
        pending.extend_from_slice(parents);
    }
    false
}
