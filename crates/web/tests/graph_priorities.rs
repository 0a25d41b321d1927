//! Algorithms 1 and 2 give the orders that the corpus recorded, as far as its files tell.
//! The numbers are those of `docs/validation/priorities.md`; `--nocapture` prints them.

#[allow(dead_code, reason = "each test program uses a part of it")]
mod graph_support;

use std::collections::{BTreeSet, BinaryHeap};

use graph_support::corpus;
use loadpath_web::graph::priority::{
    LAST, PriorityScheme, assign, path_weights, recorded_durations, unit_durations,
};
use loadpath_web::graph::{ActivityKind, IdIndex, PageGraph, Topology};

/// Follows the recorded order and returns the largest weight by which Algorithm 2 would have
/// preferred another resource at hand, 0 if it never would. Weights are known to lie between `low`
/// and `high`. `None` if a resource was ranked before anything led to it.
fn largest_contradiction(
    graph: &PageGraph,
    topology: &Topology,
    (low, high): (&[u64], &[u64]),
    recorded: &[u32],
) -> Option<u64> {
    let is_resource =
        |i: u32| matches!(graph.activities[i as usize].kind, ActivityKind::Resource(_));
    let mut order: Vec<u32> =
        (0..recorded.len() as u32).filter(|&i| recorded[i as usize] != LAST).collect();
    order.sort_by_key(|&i| recorded[i as usize]);
    let root = IdIndex::new(graph).get(&graph.root).unwrap();
    let mut visited = vec![false; recorded.len()];
    visited[root as usize] = true;
    let mut resources = BTreeSet::from([(low[root as usize], root)]);
    let mut others = BinaryHeap::new();
    let mut worst = 0;
    for next in order {
        let entry = (low[next as usize], next);
        while let Some(&(weight, other)) = others.peek() {
            if resources.contains(&entry) && weight <= high[next as usize] {
                break;
            }
            others.pop();
            visit(topology, other, &mut visited, |child| match is_resource(child) {
                true => drop(resources.insert((low[child as usize], child))),
                false => others.push((low[child as usize], child)),
            });
        }
        let &(heaviest, _) = resources.last()?;
        if !resources.remove(&entry) {
            return None;
        }
        worst = worst.max(heaviest.saturating_sub(high[next as usize]));
        visit(topology, next, &mut visited, |child| match is_resource(child) {
            true => drop(resources.insert((low[child as usize], child))),
            false => others.push((low[child as usize], child)),
        });
    }
    Some(worst)
}

fn visit(topology: &Topology, from: u32, visited: &mut [bool], mut take: impl FnMut(u32)) {
    for &child in topology.children.of(from) {
        if !std::mem::replace(&mut visited[child as usize], true) {
            take(child);
        }
    }
}

fn documents(graph: &PageGraph) -> usize {
    let of_chunk = |kind: &ActivityKind| match kind {
        ActivityKind::DownloadChunk(chunk) => Some(chunk.resource.clone()),
        _ => None,
    };
    graph.activities.iter().filter_map(|a| of_chunk(&a.kind)).collect::<BTreeSet<_>>().len()
}

#[test]
fn recorded_depth_is_an_order_of_algorithms_1_and_2() {
    let Some(corpus) = corpus() else { return };
    let mut contradicting = Vec::new();
    let mut equal = 0;
    for page in &corpus.pages {
        let (mut graph, _) = corpus.import(page);
        let consistent = |graph: &PageGraph| {
            let topology = Topology::new(graph);
            let weights = path_weights(&topology, &unit_durations(graph));
            let recorded = assign(graph, PriorityScheme::RecordedDepth);
            largest_contradiction(graph, &topology, (&weights, &weights), &recorded) == Some(0)
        };
        equal += u32::from(
            assign(&graph, PriorityScheme::RecordedDepth)
                == assign(&graph, PriorityScheme::NodeDepth),
        );
        if !consistent(&graph) {
            contradicting.push(page.name.clone());
            // Two beacons without children rank as if the load event waited for them.
            for activity in &mut graph.activities {
                if ["download_138", "download_142"].contains(&&*activity.id) {
                    activity.children.push(graph.load_event.clone());
                }
            }
            assert!(consistent(&graph), "{} with two edges more", page.name);
        }
    }
    println!("depth: equal with our ties {equal} of 301, contradicting {contradicting:?}");
    assert_eq!(contradicting, ["www.engadget.com_uk_130"]);
    assert_eq!(equal, 7);
}

/// Least and most that activities can have lasted, where the recording does not say:
///
/// * A parse chunk issues a request between its own end and the time at which the request was sent.
/// * The first chunk of a document lasts from the request of the document until its parsing begins,
///   at most.
fn bounds(graph: &PageGraph, topology: &Topology, durations: &[u64]) -> (Vec<u64>, Vec<u64>) {
    let (mut low, mut high) = (durations.to_vec(), durations.to_vec());
    let kind = |index: &u32| &graph.activities[*index as usize].kind;
    let ns = |ms: f64| (ms.max(0.0) * 1e6) as u64;
    for index in 0..graph.activities.len() as u32 {
        let parents = topology.parents.of(index);
        let place = index as usize;
        match kind(&index) {
            ActivityKind::Resource(resource) => {
                let parse = parents.first().map(kind);
                if let Some(ActivityKind::ParseChunk(parse)) = parse
                    && let Some(received) = resource.recorded_received_ms
                {
                    let end = parse.recorded_start_ms.unwrap() + parse.duration_ms;
                    let sent = resource.recorded_sent_ms.unwrap();
                    low[place] = ns(received - sent.max(end));
                    high[place] = ns(received - sent.min(end));
                }
            }
            ActivityKind::DownloadChunk(_) => {
                let request = parents.iter().map(kind).find_map(|kind| match kind {
                    ActivityKind::Resource(resource) => resource.recorded_sent_ms,
                    _ => None,
                });
                let parse =
                    topology.children.of(index).iter().map(kind).find_map(|kind| match kind {
                        ActivityKind::ParseChunk(chunk) => chunk.recorded_start_ms,
                        _ => None,
                    });
                if let (Some(request), Some(parse)) = (request, parse) {
                    high[place] = ns(parse - request);
                }
            }
            _ => {}
        }
    }
    (path_weights(topology, &low), path_weights(topology, &high))
}

const LIMITS_MS: [f64; 4] = [0.0, 1.0, 20.0, 100.0];

#[test]
fn recorded_critical_path_order_is_one_of_algorithms_1_and_2_within_what_was_recorded() {
    let Some(corpus) = corpus() else { return };
    let mut plain = [0; 4];
    let mut plain_one_document = [0; 4];
    let mut bounded = [0; 4];
    let mut bounded_one_document = [0; 4];
    let (mut equal, mut with_one_document) = (0, 0);
    let mut beyond = Vec::new();
    for page in &corpus.pages {
        let (graph, _) = corpus.import(page);
        let topology = Topology::new(&graph);
        let durations = recorded_durations(&graph, &topology);
        let weights = path_weights(&topology, &durations);
        let (low, high) = bounds(&graph, &topology, &durations);
        let recorded = assign(&graph, PriorityScheme::RecordedCriticalPath);
        equal += u32::from(recorded == assign(&graph, PriorityScheme::CriticalPath));
        let worst_ms = |weights| {
            largest_contradiction(&graph, &topology, weights, &recorded)
                .map_or(f64::INFINITY, |ns| ns as f64 / 1e6)
        };
        let (plain_ms, bounded_ms) = (worst_ms((&weights, &weights)), worst_ms((&low, &high)));
        let one_document = u32::from(documents(&graph) == 1);
        with_one_document += one_document;
        for (slot, limit) in LIMITS_MS.into_iter().enumerate() {
            plain[slot] += u32::from(plain_ms <= limit);
            bounded[slot] += u32::from(bounded_ms <= limit);
            if one_document == 1 {
                plain_one_document[slot] += u32::from(plain_ms <= limit);
                bounded_one_document[slot] += u32::from(bounded_ms <= limit);
            }
        }
        if bounded_ms > 20.0 {
            beyond.push((bounded_ms as u64, page.name.clone()));
        }
    }
    println!("cp: equal with our ties {equal} of 301");
    println!("cp: pages without a contradiction beyond {LIMITS_MS:?} ms");
    println!(
        "  as recorded: {plain:?}, of {with_one_document} with one document {plain_one_document:?}"
    );
    println!("  within bounds: {bounded:?}, with one document {bounded_one_document:?}");
    beyond.sort();
    println!("  more than 20 ms out of bounds: {beyond:?}");
    assert_eq!((equal, with_one_document, beyond.len()), (41, 88, 34));
    assert_eq!((plain, plain_one_document), ([70, 109, 134, 175], [54, 73, 83, 87]));
    assert_eq!((bounded, bounded_one_document), ([225, 250, 267, 272], [82, 87, 88, 88]));
}
