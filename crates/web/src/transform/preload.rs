//! Preload: resources that only a script or style sheet names, requested by a hint in the head.

use std::fmt;

use super::TransformError;
use super::view::View;
use crate::graph::priority::recorded_durations;
use crate::graph::{ActivityKind, MAX_RECORDED_MS, MimeClass, PageGraph, Resource, Topology};
use crate::page::http_host;

/// Which resources get a hint (`<link rel="preload">`, HTML standard section 4.6.8.20).
///
/// A resource with a hint is requested when the parser has read the head: by the first parse chunk of
/// the main document, behind what that chunk asks for itself. What used it waits for its response and,
/// as before, for what used to request it. Hints themselves do not hold up the load event (Chromium,
/// `Resource::ShouldBlockLoadEvent`), only the uses do that did before.
///
/// Late-found resources are those that computations of the main frame request by GET. Documents
/// are not among them (browsers preload none), nor what is in frames (a hint of the page does not serve
/// them). What a graph cannot know: whether a URL is the same in every load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preload {
    /// The late-found resources on the critical path by recorded durations (thesis section 3.5.3.2).
    CriticalPath,
    /// All late-found resources that the load event waits for.
    All,
    /// One late-found resource, by URL or activity id.
    One(String),
}

impl Preload {
    pub(super) fn parse(argument: Option<&str>) -> Result<Self, TransformError> {
        match argument {
            None => Ok(Preload::CriticalPath),
            Some("all") => Ok(Preload::All),
            Some("") => Err(TransformError::new("the URL is missing")
                .with_hint("write preload, preload:all, or preload:URL")),
            Some(target) => Ok(Preload::One(target.to_owned())),
        }
    }

    pub(super) fn apply(&self, graph: &PageGraph) -> Result<PageGraph, TransformError> {
        let view = View::new(graph);
        let head = view.head().ok_or_else(|| {
            TransformError::new(
                "the page's main document has no parse chunk that could hold a hint",
            )
        })?;
        let late = late_found(&view, head);
        let durations = recorded_durations(graph, &view.topology);
        let chosen = self.choose(&view, late, &durations)?;
        let mut changed = graph.clone();
        for &resource in &chosen {
            request_at_head(&mut changed, &view, head, resource, &durations);
        }
        Ok(changed)
    }

    fn choose(
        &self,
        view: &View<'_>,
        late: Vec<u32>,
        durations: &[u64],
    ) -> Result<Vec<u32>, TransformError> {
        if late.is_empty() {
            return Err(TransformError::new(
                "the page finds no resource late: \
                the parser meets all that a hint could name",
            ));
        }
        match self {
            Preload::All => {
                let awaited = view.ancestors(view.load_event());
                Ok(late.into_iter().filter(|&index| awaited[index as usize]).collect())
            }
            Preload::CriticalPath => {
                let path = recorded_path(view, durations);
                let chosen: Vec<u32> = late.into_iter().filter(|i| path.contains(i)).collect();
                if chosen.is_empty() {
                    return Err(TransformError::new(
                        "no late-found resource is on the recorded \
                        critical path",
                    )
                    .with_hint("preload:all takes those off the path, too"));
                }
                Ok(chosen)
            }
            Preload::One(target) => {
                let chosen: Vec<u32> =
                    late.into_iter().filter(|&index| view.is_named(index, target)).collect();
                match chosen.is_empty() {
                    false => Ok(chosen),
                    true if view.resources_named(target).is_empty() => {
                        Err(TransformError::new("the page has no such resource"))
                    }
                    true => Err(TransformError::new(
                        "not found late by a computation of the main \
                        frame: a hint would change nothing, or is not possible",
                    )),
                }
            }
        }
    }
}

impl fmt::Display for Preload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preload::CriticalPath => f.write_str("preload"),
            Preload::All => f.write_str("preload:all"),
            Preload::One(target) => write!(f, "preload:{target}"),
        }
    }
}

/// What a hint could bring forward, in order of ids.
fn late_found(view: &View<'_>, head: u32) -> Vec<u32> {
    let above_head = view.ancestors(head);
    view.in_order()
        .filter(|&index| {
            let ActivityKind::Resource(resource) = view.kind(index) else { return false };
            let causes = view.causes(index);
            is_preloadable(resource)
                && view.is_before_load(index)
                && !above_head[index as usize]
                && !causes.is_empty()
                && causes.iter().all(|&cause| match view.kind(cause) {
                    ActivityKind::Evaluation(e) => e.frame == view.main_frame(),
                    ActivityKind::MainThread(m) => m.frame == view.main_frame(),
                    _ => false,
                })
                && !view.holds_up_a_parser(index)
        })
        .collect()
}

fn is_preloadable(resource: &Resource) -> bool {
    http_host(&resource.url).is_some()
        && resource.method == "GET"
        && resource.original.is_none()
        && !resource.cached
        && !resource.failed
        && MimeClass::of(&resource.mime_type) != MimeClass::Html
}

/// The longest path to the load event by recorded durations.
fn recorded_path(view: &View<'_>, durations: &[u64]) -> Vec<u32> {
    let topology: &Topology = &view.topology;
    let order = topology.topological_order().expect("validated: no cycle");
    let root = view.ids.get(&view.graph.root).expect("validated: it exists");
    let load_event = view.load_event();
    // Time to the end of an activity, and what came before it.
    let mut reached: Vec<Option<(u64, u32)>> = vec![None; durations.len()];
    reached[root as usize] = Some((durations[root as usize], root));
    for index in order {
        let Some((end, _)) = reached[index as usize].filter(|_| index != load_event) else {
            continue;
        };
        for &child in topology.children.of(index) {
            if !view.is_before_load(child) && child != load_event {
                continue;
            }
            let through = end.saturating_add(durations[child as usize]);
            let slot = &mut reached[child as usize];
            if slot.is_none_or(|(known, _)| through > known) {
                *slot = Some((through, index));
            }
        }
    }
    let before = |&index: &u32| match reached[index as usize] {
        Some((_, before)) if before != index => Some(before),
        _ => None,
    };
    std::iter::successors(Some(load_event), before).collect()
}

/// Moves a request to the head; whoever used the response still waits for what used to ask for it.
fn request_at_head(
    changed: &mut PageGraph,
    view: &View<'_>,
    head: u32,
    resource: u32,
    durations: &[u64],
) {
    let id = view.id(resource).to_owned();
    let users: Vec<String> = changed.activities[resource as usize].children.clone();
    for &parent in view.topology.parents.of(resource) {
        let children = &mut changed.activities[parent as usize].children;
        children.retain(|child| *child != id);
        for user in &users {
            if !children.contains(user) {
                children.push(user.clone());
            }
        }
    }
    changed.activities[head as usize].children.push(id);
    let ActivityKind::Resource(moved) = &mut changed.activities[resource as usize].kind else {
        unreachable!("only resources are preloaded")
    };
    // It lasts as long as it did in the recording, from where it would have been requested: the
    // priorities of the thesis count recorded durations.
    if let (Some(_), Some(_), ActivityKind::ParseChunk(chunk)) =
        (moved.recorded_sent_ms, moved.recorded_received_ms, view.kind(head))
    {
        let issued_ms = chunk.recorded_start_ms.unwrap_or_default() + chunk.duration_ms;
        let received_ms = issued_ms + durations[resource as usize] as f64 / 1e6;
        let received_ms = received_ms.min(MAX_RECORDED_MS);
        moved.recorded_sent_ms = Some(behind_the_others(view, head, issued_ms).min(received_ms));
        moved.recorded_received_ms = Some(received_ms);
    }
    moved.evidence = None;
    moved.discovered_by = None;
}

/// When the recording had sent what the head itself asks for.
fn behind_the_others(view: &View<'_>, head: u32, issued_ms: f64) -> f64 {
    let sent_ms = |&child: &u32| match view.kind(child) {
        ActivityKind::Resource(resource) => resource.recorded_sent_ms.unwrap_or_default(),
        _ => 0.0,
    };
    view.topology.children.of(head).iter().map(sent_ms).fold(issued_ms, f64::max)
}
