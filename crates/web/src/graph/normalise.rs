//! The page as it is loaded: what the recording ran before the load event (thesis section 3.7.4).

use std::collections::BTreeMap;

use super::order::compare_ids;
use super::validate::executed_before_load;
use super::{Activity, ActivityKind, IdIndex, PageGraph, Resource, Topology};

/// The graph without evaluations of phase `End` and `LoadPlus`, and without whatever only they, or
/// nothing, leads to from the root. Activities that remain no longer wait for those that are gone.
///
/// A reference whose original is gone takes its place: of several, the one that the recording sent
/// first (of equals, the one with the lower id) becomes the original of the others.
///
/// # Panics
/// If the graph is not valid ([`PageGraph::validate`]).
pub fn normalise(graph: &PageGraph) -> PageGraph {
    let ids = IdIndex::new(graph);
    let topology = Topology::new(graph);
    let kept = match ids.get(&graph.root) {
        Some(root) => topology
            .reachable(root, |index| executed_before_load(&graph.activities[index as usize])),
        None => Vec::new(),
    };
    let is_kept = |id: &str| ids.get(id).is_some_and(|index| kept[index as usize]);
    let mut activities: Vec<Activity> = graph
        .activities
        .iter()
        .zip(&kept)
        .filter(|&(_, &kept)| kept)
        .map(|(activity, _)| Activity {
            children: activity.children.iter().filter(|id| is_kept(id)).cloned().collect(),
            ..activity.clone()
        })
        .collect();
    let heirs = heirs(&activities, is_kept);
    for activity in &mut activities {
        let ActivityKind::Resource(reference) = &mut activity.kind else { continue };
        reference.raised_by.take_if(|id| !is_kept(id));
        let Some(gone) = reference.original.clone().filter(|id| !is_kept(id)) else { continue };
        match (heirs.get(&*gone), ids.get(&gone)) {
            (Some(heir), Some(gone)) if *heir == activity.id => {
                if let ActivityKind::Resource(gone) = &graph.activities[gone as usize].kind {
                    inherit(reference, gone);
                }
            }
            (heir, _) => reference.original = heir.cloned(),
        }
    }
    PageGraph { activities, ..graph.clone() }
}

/// Which reference takes the place of each original that is gone.
fn heirs(activities: &[Activity], is_kept: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let mut references: Vec<(&str, f64, &str)> = activities
        .iter()
        .filter_map(|activity| match &activity.kind {
            ActivityKind::Resource(Resource { original: Some(gone), recorded_sent_ms, .. })
                if !is_kept(gone) =>
            {
                Some((&**gone, recorded_sent_ms.unwrap_or(0.0), &*activity.id))
            }
            _ => None,
        })
        .collect();
    references
        .sort_by(|a, b| a.0.cmp(b.0).then(a.1.total_cmp(&b.1)).then_with(|| compare_ids(a.2, b.2)));
    references.dedup_by_key(|reference| reference.0);
    references.into_iter().map(|(gone, _, heir)| (gone.into(), heir.into())).collect()
}

/// What goes over the network is the original's request and response.
fn inherit(reference: &mut Resource, gone: &Resource) {
    reference.original = None;
    reference.cached = gone.cached;
    reference.url.clone_from(&gone.url);
    reference.method.clone_from(&gone.method);
    reference.mime_type.clone_from(&gone.mime_type);
    reference.size_bytes = gone.size_bytes;
    reference.request_header_bytes = gone.request_header_bytes;
    reference.response_header_bytes = gone.response_header_bytes;
    reference.server_delay_ms = gone.server_delay_ms;
}
