//! What names of hosts and places in a file may not change, on random pages.

use std::collections::{BTreeMap, BTreeSet};

use loadpath_web::graph::priority::{PriorityScheme, assign};
use loadpath_web::graph::{
    Activity, ActivityKind, Evaluation, EvaluationKind, FORMAT, Frame, PageGraph, Phase, Resource,
    VERSION, normalise,
};
use proptest::prelude::*;

/// What a random activity is made of: resource or script, duration, host, phase, and which later
/// activities wait for it.
type Draw = (bool, u8, u8, u8, Vec<prop::sample::Index>);

fn draws() -> impl Strategy<Value = Vec<Draw>> {
    let children = prop::collection::vec(any::<prop::sample::Index>(), 0..4);
    prop::collection::vec((any::<bool>(), 0..20u8, 0..4u8, 0..8u8, children), 1..40)
}

fn page(draws: &[Draw]) -> PageGraph {
    let resource = |delay: u8, host: u8| Resource {
        url: format!("http://host{host}.example/{delay}"),
        method: "GET".into(),
        mime_type: ["text/html", "text/css", "image/png", ""][host as usize].into(),
        size_bytes: 100,
        server_delay_ms: Some(delay.into()),
        ..Resource::default()
    };
    let script = |duration: u8, phase: u8| Evaluation {
        frame: 0,
        kind: EvaluationKind::Script,
        duration_ms: duration.into(),
        blocking: Default::default(),
        phase: match phase {
            0 => Phase::End,
            1 => Phase::LoadPlus,
            2 => Phase::Load,
            _ => Phase::Dom,
        },
        url: String::new(),
        position: None,
        timeout_ms: None,
        event_name: String::new(),
        event_target: String::new(),
        continues: None,
        group: None,
        recorded_start_ms: None,
    };
    let last = draws.len() + 1;
    let mut activities = vec![Activity {
        id: "x_0".into(),
        kind: ActivityKind::Resource(resource(1, 0)),
        children: vec!["x_1".into(), format!("x_{last}")],
    }];
    let mut previous_resource = None;
    for (index, (is_resource, duration, host, phase, children)) in draws.iter().enumerate() {
        let at = index + 1;
        let kind = if *is_resource {
            let mut resource = resource(*duration, *host);
            match previous_resource.clone() {
                Some(original) if *phase == 7 => resource.original = Some(original),
                _ => previous_resource = Some(format!("x_{at}")),
            }
            ActivityKind::Resource(resource)
        } else {
            ActivityKind::Evaluation(script(*duration, *phase))
        };
        let later: BTreeSet<usize> =
            children.iter().map(|child| at + 1 + child.index(last - at)).collect();
        let children = later.into_iter().map(|child| format!("x_{child}")).collect();
        activities.push(Activity { id: format!("x_{at}"), kind, children });
    }
    activities.push(Activity {
        id: format!("x_{last}"),
        kind: ActivityKind::Evaluation(script(0, 3)),
        children: Vec::new(),
    });
    if last == 1 {
        activities[0].children = vec!["x_1".into()];
    }
    PageGraph {
        format: FORMAT.into(),
        version: VERSION,
        name: "random".into(),
        url: "http://host0.example/".into(),
        source: String::new(),
        root: "x_0".into(),
        load_event: format!("x_{last}"),
        dom_content_loaded_event: format!("x_{last}"),
        frames: vec![Frame { id: 0, url: String::new(), parent: None, process: 0 }],
        activities,
        server_delay_file: None,
        recorded_busy_ms: None,
    }
}

fn shuffled(graph: &PageGraph, seed: u64) -> PageGraph {
    // Any permutation that depends on the seed will do.
    let key = |text: &str| {
        text.bytes().fold(seed | 1, |h, b| (h ^ u64::from(b)).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    };
    let mut graph = graph.clone();
    graph.activities.sort_by_key(|activity| key(&activity.id));
    for activity in &mut graph.activities {
        activity.children.sort_by_key(|child| key(child) >> 7);
    }
    graph
}

fn with_renamed_hosts(graph: &PageGraph) -> PageGraph {
    let mut graph = graph.clone();
    for activity in &mut graph.activities {
        if let ActivityKind::Resource(resource) = &mut activity.kind {
            for (from, to) in
                [("host0", "zeta"), ("host1", "alpha"), ("host2", "m"), ("host3", "b")]
            {
                resource.url = resource.url.replace(from, to);
            }
        }
    }
    graph
}

const SCHEMES: [PriorityScheme; 4] = [
    PriorityScheme::None,
    PriorityScheme::MimeClass,
    PriorityScheme::NodeDepth,
    PriorityScheme::CriticalPath,
];

fn priorities(graph: &PageGraph) -> BTreeMap<String, Vec<u32>> {
    let by_scheme = SCHEMES.map(|scheme| assign(graph, scheme));
    let of = |index: usize| by_scheme.iter().map(|priorities| priorities[index]).collect();
    graph.activities.iter().enumerate().map(|(index, a)| (a.id.clone(), of(index))).collect()
}

/// The activities by id, children in order of id.
fn by_id(graph: &PageGraph) -> BTreeMap<String, Activity> {
    let sorted = |activity: &Activity| {
        let mut activity = activity.clone();
        activity.children.sort();
        (activity.id.clone(), activity)
    };
    graph.activities.iter().map(sorted).collect()
}

proptest! {
    #[test]
    fn json_reads_back_equal(draws in draws()) {
        let graph = page(&draws);
        prop_assert_eq!(graph.validate("random"), Ok(()));
        prop_assert_eq!(PageGraph::from_json(graph.to_json().as_bytes(), "random"), Ok(graph));
    }

    #[test]
    fn places_in_the_file_change_neither_priorities_nor_normalisation(
        draws in draws(),
        seed: u64,
    ) {
        let graph = page(&draws);
        let shuffled = shuffled(&graph, seed);
        prop_assert_eq!(priorities(&graph), priorities(&shuffled));
        prop_assert_eq!(by_id(&normalise(&graph)), by_id(&normalise(&shuffled)));
    }

    #[test]
    fn names_of_hosts_change_neither_priorities_nor_normalisation(draws in draws()) {
        let graph = page(&draws);
        let renamed = with_renamed_hosts(&graph);
        prop_assert_eq!(priorities(&graph), priorities(&renamed));
        prop_assert_eq!(normalise(&renamed), with_renamed_hosts(&normalise(&graph)));
    }

    #[test]
    fn a_normalised_page_is_valid_and_stays_as_it_is(draws in draws()) {
        let normal = normalise(&page(&draws));
        prop_assert_eq!(normal.validate("normalised"), Ok(()));
        prop_assert_eq!(&normalise(&normal), &normal);
    }

    #[test]
    fn damaged_json_never_panics(draws in draws(), cuts in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..4)) {
        let mut bytes = page(&draws).to_json().into_bytes();
        for (at, byte) in cuts {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Err(error) = PageGraph::from_json(&bytes, "damaged") {
            prop_assert!(error.to_string().starts_with("damaged:"));
        }
    }
}
