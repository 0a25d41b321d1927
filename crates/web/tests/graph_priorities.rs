//! Algorithms 1 and 2 give the orders that the corpus recorded, as far as its files tell.
//! The numbers are those of `docs/validation/priorities.md`; `--nocapture` prints them.

#[allow(dead_code)]
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
fn recorded_depth_is_an_order_of_algorithms_1_and_2_in_all_pages_but_one() {
    let Some(corpus) = corpus() else { return };
    let mut contradicting = Vec::new();
    let mut equal = 0;
    for page in &corpus.pages {
        let (graph, _) = corpus.import(page);
        let topology = Topology::new(&graph);
        let weights = path_weights(&topology, &unit_durations(&graph));
        let recorded = assign(&graph, PriorityScheme::RecordedDepth);
        equal += u32::from(recorded == assign(&graph, PriorityScheme::NodeDepth));
        if largest_contradiction(&graph, &topology, (&weights, &weights), &recorded) != Some(0) {
            contradicting.push(page.name.clone());
        }
    }
    println!("depth: equal with our ties {equal}, contradicting {contradicting:?}");
    assert_eq!(contradicting, ["www.engadget.com_uk_130"]);
}

/// Weights when the first chunk of each document lasts from the request of the document until its
/// parsing begins, at most: the recording does not say how long.
fn weights_with_slowest_chunks(
    graph: &PageGraph,
    topology: &Topology,
    durations: &[u64],
) -> Vec<u64> {
    let mut durations = durations.to_vec();
    let sent = |index: u32| match &graph.activities[index as usize].kind {
        ActivityKind::Resource(resource) => resource.recorded_sent_ms,
        _ => None,
    };
    let parsed = |index: u32| match &graph.activities[index as usize].kind {
        ActivityKind::ParseChunk(chunk) => chunk.recorded_start_ms,
        _ => None,
    };
    for (index, activity) in (0..).zip(&graph.activities) {
        if let ActivityKind::DownloadChunk(_) = activity.kind {
            let request = topology.parents.of(index).iter().find_map(|&parent| sent(parent));
            let parse = topology.children.of(index).iter().find_map(|&child| parsed(child));
            if let (Some(request), Some(parse)) = (request, parse) {
                durations[index as usize] = ((parse - request).max(0.0) * 1e6) as u64;
            }
        }
    }
    path_weights(topology, &durations)
}

#[test]
fn recorded_critical_path_order_contradicts_algorithms_1_and_2_only_by_what_was_not_recorded() {
    let Some(corpus) = corpus() else { return };
    let limits_ms = [0.0, 0.1, 1.0, 5.0, 20.0, 100.0];
    let mut all = [0; 6];
    let mut one_document = [0; 6];
    let mut bounded = [0; 6];
    let (mut equal, mut with_one_document) = (0, 0);
    let mut worst_of_one = Vec::new();
    for page in &corpus.pages {
        let (graph, _) = corpus.import(page);
        let topology = Topology::new(&graph);
        let durations = recorded_durations(&graph, &topology);
        let weights = path_weights(&topology, &durations);
        let slowest = weights_with_slowest_chunks(&graph, &topology, &durations);
        let recorded = assign(&graph, PriorityScheme::RecordedCriticalPath);
        equal += u32::from(recorded == assign(&graph, PriorityScheme::CriticalPath));
        let worst = |high: &[u64]| {
            largest_contradiction(&graph, &topology, (&weights, high), &recorded)
                .map_or(f64::INFINITY, |ns| ns as f64 / 1e6)
        };
        let (plain_ms, bounded_ms) = (worst(&weights), worst(&slowest));
        let alone = documents(&graph) == 1;
        with_one_document += u32::from(alone);
        for (slot, limit) in limits_ms.into_iter().enumerate() {
            all[slot] += u32::from(plain_ms <= limit);
            one_document[slot] += u32::from(alone && plain_ms <= limit);
            bounded[slot] += u32::from(bounded_ms <= limit);
        }
        if alone && plain_ms > 20.0 {
            worst_of_one.push(format!("{} {plain_ms:.0} ms", page.name));
        }
    }
    println!("cp: equal with our ties {equal}; pages consistent within {limits_ms:?} ms:");
    println!("  all 301: {all:?}, with chunks bounded: {bounded:?}");
    println!(
        "  the {with_one_document} with one document: {one_document:?}, beyond 20 ms: {worst_of_one:?}"
    );
}
