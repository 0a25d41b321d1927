//! Priorities of resources (thesis section 3.5.3).

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use loadpath_net::SimDuration;
use serde::{Deserialize, Serialize};

use super::mime::MimeClass;
use super::order::compare_ids;
use super::{
    Activity, ActivityKind, Evaluation, EvaluationKind, IdIndex, PageGraph, Resource, Topology,
};

/// Priority of what a scheme does not rank: behind everything else.
pub const LAST: u32 = u32::MAX;

/// Where the priorities of a page's resources come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PriorityScheme {
    /// All equal.
    #[default]
    None,
    /// HTML, then CSS, JavaScript, images, all others; equal within a class (section 3.5.3.1).
    MimeClass,
    /// Algorithms 1 and 2 with every resource of the same duration and all else of none (the
    /// node-depth prioritisation at the end of section 3.5.3.2).
    NodeDepth,
    /// Algorithms 1 and 2 with the recorded durations (section 3.5.3.2).
    CriticalPath,
    /// The recording's `mime-type`: the graph builder of the thesis wrote it.
    RecordedMimeType,
    /// The recording's `depth`.
    RecordedDepth,
    /// The recording's `cp`, its critical-path priorities.
    RecordedCriticalPath,
    /// The recording's `cp-plus`, a variant of `cp` that the thesis does not describe.
    RecordedCriticalPathPlus,
}

/// The priority of each activity, by index: lower is more urgent. Activities that are not resources,
/// resources that no path leads to, and those without the recorded field have [`LAST`].
///
/// Only `None` and `MimeClass` give equal priorities to several resources. The algorithms count from
/// 1, as the recordings do.
///
/// # Panics
/// If the graph is not valid ([`PageGraph::validate`]).
pub fn assign(graph: &PageGraph, scheme: PriorityScheme) -> Vec<u32> {
    let each = |rule: &dyn Fn(&Resource) -> u32| {
        let priority = |activity: &Activity| match &activity.kind {
            ActivityKind::Resource(resource) => rule(resource),
            _ => LAST,
        };
        graph.activities.iter().map(priority).collect()
    };
    // A recorded 0 means that the recording gave none.
    let recorded = |key: &str| {
        each(&|resource| match resource.priorities.get(key) {
            None | Some(0) => LAST,
            Some(&priority) => priority,
        })
    };
    match scheme {
        PriorityScheme::None => each(&|_| 0),
        PriorityScheme::MimeClass => each(&|resource| MimeClass::of(&resource.mime_type) as u32),
        PriorityScheme::NodeDepth => {
            let topology = Topology::new(graph);
            let weights = path_weights(&topology, &unit_durations(graph));
            rank(graph, &topology, &weights)
        }
        PriorityScheme::CriticalPath => {
            let topology = Topology::new(graph);
            let weights = path_weights(&topology, &recorded_durations(graph, &topology));
            rank(graph, &topology, &weights)
        }
        PriorityScheme::RecordedMimeType => recorded("mime-type"),
        PriorityScheme::RecordedDepth => recorded("depth"),
        PriorityScheme::RecordedCriticalPath => recorded("cp"),
        PriorityScheme::RecordedCriticalPathPlus => recorded("cp-plus"),
    }
}

/// Durations for [`PriorityScheme::NodeDepth`]: 1 for a resource, 0 for all else.
pub fn unit_durations(graph: &PageGraph) -> Vec<u64> {
    let is_resource = |a: &Activity| matches!(a.kind, ActivityKind::Resource(_));
    graph.activities.iter().map(|activity| u64::from(is_resource(activity))).collect()
}

/// Durations for [`PriorityScheme::CriticalPath`], in nanoseconds.
///
/// Computations have their main-thread time; timers do not count their wait; download chunks have
/// none, as the recording does not say when each arrived. A resource lasts from its request until
/// its response was complete. The request is issued where its parent ends, if that is a parse chunk or
/// a computation that was cut there; else when it was sent, which can be later (a limit on
/// connections), and which for repeated requests is the time of the last. Cached references, and
/// responses complete before their request, last no time. Without recorded times a resource has its
/// measured server delay.
///
/// What the thesis's graph builder took can be seen in the lists of critical paths at the public
/// origin of its corpus; `docs/validation/priorities.md` compares.
pub fn recorded_durations(graph: &PageGraph, topology: &Topology) -> Vec<u64> {
    let cuts = cuts(graph);
    let duration_ms = |(index, activity): (u32, &Activity)| match &activity.kind {
        ActivityKind::DownloadChunk(_) => 0.0,
        ActivityKind::ParseChunk(chunk) => chunk.duration_ms,
        ActivityKind::Evaluation(evaluation) => evaluation.duration_ms,
        ActivityKind::MainThread(work) => work.duration_ms,
        ActivityKind::Resource(resource) => {
            match (resource.recorded_sent_ms, resource.recorded_received_ms) {
                (Some(sent), Some(received)) => {
                    let parent = topology.parents.of(index).first();
                    let parent = parent.map(|&parent| &graph.activities[parent as usize]);
                    let issued = parent.and_then(|p| issued_ms(p, sent, received, &cuts));
                    received - issued.unwrap_or(sent)
                }
                (Some(_), None) => 0.0,
                _ => resource.server_delay_ms.unwrap_or(0.0),
            }
        }
    };
    (0..)
        .zip(&graph.activities)
        .map(|pair| SimDuration::from_millis_f64(duration_ms(pair)).0)
        .collect()
}

/// When `parent` issued a request that was sent at `sent` and complete at `received`; `None` if its
/// end says nothing about that.
fn issued_ms(
    parent: &Activity,
    sent: f64,
    received: f64,
    cuts: &BTreeSet<(&str, u64)>,
) -> Option<f64> {
    match &parent.kind {
        ActivityKind::ParseChunk(chunk) => {
            chunk.recorded_start_ms.map(|start| start + chunk.duration_ms)
        }
        ActivityKind::Evaluation(evaluation) => {
            let end = evaluation.recorded_start_ms? + evaluation.duration_ms;
            let cut_here = evaluation.kind != EvaluationKind::Style
                && cuts.contains(&(computation(&parent.id, evaluation), microseconds(end)));
            (cut_here || received < sent).then_some(end)
        }
        _ => None,
    }
}

/// Where computations were cut: name of the computation and start of a later piece.
fn cuts(graph: &PageGraph) -> BTreeSet<(&str, u64)> {
    graph
        .activities
        .iter()
        .filter_map(|activity| match &activity.kind {
            ActivityKind::Evaluation(e) => {
                Some((e.continues.as_deref()?, microseconds(e.recorded_start_ms?)))
            }
            _ => None,
        })
        .collect()
}

/// Name of the computation of which an evaluation is a piece.
pub(crate) fn computation<'a>(id: &'a str, evaluation: &'a Evaluation) -> &'a str {
    evaluation.continues.as_deref().unwrap_or_else(|| id.strip_suffix("_0").unwrap_or(id))
}

/// Recordings are exact to a microsecond; sums of binary fractions are not.
fn microseconds(ms: f64) -> u64 {
    (ms * 1e3).round() as u64
}

/// Algorithm 1: each activity's weight is the longest sum of durations on a path from it, itself
/// included, to a leaf.
pub fn path_weights(topology: &Topology, durations: &[u64]) -> Vec<u64> {
    let mut weights = vec![0; durations.len()];
    let mut unexamined: Vec<usize> =
        (0..durations.len() as u32).map(|index| topology.children.of(index).len()).collect();
    let mut ready: Vec<u32> =
        (0..durations.len() as u32).filter(|&index| unexamined[index as usize] == 0).collect();
    for &leaf in &ready {
        weights[leaf as usize] = durations[leaf as usize];
    }
    while let Some(activity) = ready.pop() {
        for &parent in topology.parents.of(activity) {
            let through = durations[parent as usize].saturating_add(weights[activity as usize]);
            let parent = parent as usize;
            weights[parent] = weights[parent].max(through);
            unexamined[parent] -= 1;
            if unexamined[parent] == 0 {
                ready.push(parent as u32);
            }
        }
    }
    weights
}

/// Algorithm 2: walks from the root, always on to the heaviest activity at hand, and ranks resources
/// in the order in which it meets them, from 1.
///
/// The thesis does not say which of two equal weights comes first. Here computations and chunks do,
/// so that what they lead to can compete, and then the lower id ([`compare_ids`]).
pub fn rank(graph: &PageGraph, topology: &Topology, weights: &[u64]) -> Vec<u32> {
    let mut priorities = vec![LAST; graph.activities.len()];
    let Some(root) = IdIndex::new(graph).get(&graph.root) else { return priorities };
    let place_by_id = place_by_id(graph);
    let is_resource =
        |index: u32| matches!(graph.activities[index as usize].kind, ActivityKind::Resource(_));
    let entry = |index: u32| {
        let place = place_by_id[index as usize];
        (weights[index as usize], Reverse(is_resource(index)), Reverse(place), index)
    };
    let mut heap = BinaryHeap::from([entry(root)]);
    let mut visited = vec![false; graph.activities.len()];
    visited[root as usize] = true;
    let mut next_priority = 1;
    while let Some((.., activity)) = heap.pop() {
        if is_resource(activity) {
            priorities[activity as usize] = next_priority;
            next_priority += 1;
        }
        for &child in topology.children.of(activity) {
            if !visited[child as usize] {
                visited[child as usize] = true;
                heap.push(entry(child));
            }
        }
    }
    priorities
}

/// The activities of the longest path from the root, by index, for the weights that
/// [`path_weights`] gives; of equal branches the one with the lower id.
pub fn critical_path(graph: &PageGraph, topology: &Topology, weights: &[u64]) -> Vec<u32> {
    let heaviest_first = |&a: &u32, &b: &u32| {
        weights[b as usize].cmp(&weights[a as usize]).then_with(|| {
            compare_ids(&graph.activities[a as usize].id, &graph.activities[b as usize].id)
        })
    };
    let root = IdIndex::new(graph).get(&graph.root);
    std::iter::successors(root, |&activity| {
        topology.children.of(activity).iter().copied().min_by(heaviest_first)
    })
    .collect()
}

/// The place of each activity in the order of ids.
fn place_by_id(graph: &PageGraph) -> Vec<u32> {
    let id = |index: u32| &graph.activities[index as usize].id;
    let mut order: Vec<u32> = (0..graph.activities.len() as u32).collect();
    order.sort_unstable_by(|&a, &b| compare_ids(id(a), id(b)));
    let mut places = vec![0; order.len()];
    for (place, index) in (0..).zip(order) {
        places[index as usize] = place;
    }
    places
}
