//! The longest path to the load event: what no network can beat.

use std::collections::BTreeMap;

use loadpath_net::SimDuration;
use loadpath_web::graph::{ActivityKind, EvaluationKind, IdIndex, PageGraph, Phase, Topology};

/// What a path is made of.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    /// Main-thread time.
    pub computation: bool,
    /// Timeouts of timers, without clamp.
    pub timers: bool,
    /// Time from the request for an activity of the graph to its response.
    pub response: &'a dyn Fn(&str) -> SimDuration,
}

/// The earliest start of the load event, if the main thread were never contended. Written from the
/// rules of the graph, not from the browser: recorded phases, all parents, chunks that stream.
pub fn longest_path(graph: &PageGraph, weights: Weights<'_>) -> SimDuration {
    let ids = IdIndex::new(graph);
    let topology = Topology::new(graph);
    let kind = |i: u32| &graph.activities[i as usize].kind;
    let kept = topology.reachable(ids.get(&graph.root).unwrap(), |i| match kind(i) {
        ActivityKind::Evaluation(e) => !matches!(e.phase, Phase::End | Phase::LoadPlus),
        _ => true,
    });
    let ms = |ms: f64| SimDuration::from_millis_f64(ms);
    let mut start = vec![SimDuration::ZERO; graph.activities.len()];
    let mut end = start.clone();
    for i in topology.topological_order().unwrap() {
        let parents = topology.parents.of(i).iter().filter(|&&p| kept[p as usize]);
        let ready = parents.map(|&p| end[p as usize]).max().unwrap_or_default();
        let (wait, own) = match kind(i) {
            ActivityKind::Resource(_) => {
                (SimDuration::ZERO, (weights.response)(&graph.activities[i as usize].id))
            }
            ActivityKind::ParseChunk(p) => (SimDuration::ZERO, ms(p.duration_ms)),
            ActivityKind::Evaluation(e) => {
                let first = e.kind == EvaluationKind::Timer && e.continues.is_none();
                let wait = if first && weights.timers { e.timeout_ms.unwrap() } else { 0.0 };
                (ms(wait), ms(e.duration_ms))
            }
            ActivityKind::DownloadChunk(_) | ActivityKind::MainThread(_) => Default::default(),
        };
        let computes =
            !matches!(kind(i), ActivityKind::Evaluation(_) | ActivityKind::ParseChunk(_))
                || weights.computation;
        start[i as usize] = ready + wait;
        end[i as usize] = ready + wait + if computes { own } else { SimDuration::ZERO };
    }
    start[ids.get(&graph.load_event).unwrap() as usize]
}

/// Resources that no other reference can serve, and that no cache serves: for them a response takes
/// its full time. Ids, in no order that matters.
pub fn unshared_fetches(graph: &PageGraph) -> BTreeMap<&str, bool> {
    let resources = || {
        graph.activities.iter().filter_map(|a| match &a.kind {
            ActivityKind::Resource(r) => Some((a.id.as_str(), r)),
            _ => None,
        })
    };
    let urls: BTreeMap<&str, &str> = resources().map(|(id, r)| (id, r.url.as_str())).collect();
    let key = |url: &'_ str, original: &Option<String>| match original {
        Some(id) => urls[id.as_str()].to_owned(),
        None => url.to_owned(),
    };
    let mut uses: BTreeMap<String, u32> = BTreeMap::new();
    for (_, r) in resources() {
        *uses.entry(key(&r.url, &r.original)).or_default() += 1;
    }
    resources()
        .map(|(id, r)| {
            let network = r.url.starts_with("http://") || r.url.starts_with("https://");
            let cached = r.cached && r.original.is_none();
            (id, network && !cached && uses[&key(&r.url, &r.original)] == 1)
        })
        .collect()
}
