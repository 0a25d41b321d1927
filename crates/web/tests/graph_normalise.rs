//! Normalisation to what happens before load (thesis section 3.7.4).

use loadpath_web::graph::{ActivityKind, PageGraph, normalise};

fn page(activities: &str) -> PageGraph {
    let json = format!(
        r#"{{"format": "loadpath-page-graph", "version": 1, "name": "test", "url": "http://a/",
            "root": "r", "load_event": "load", "dom_content_loaded_event": "load",
            "frames": [{{"id": 0, "url": "http://a/"}}], "activities": [{activities}]}}"#
    );
    PageGraph::from_json(json.as_bytes(), "test").unwrap_or_else(|error| panic!("{error}"))
}

fn resource(id: &str, more: &str) -> String {
    format!(
        r#"{{"id": "{id}", "type": "resource", "url": "http://a/{id}", "size_bytes": 1{more}}}"#
    )
}

fn script(id: &str, more: &str) -> String {
    format!(
        r#"{{"id": "{id}", "type": "evaluation", "frame": 0, "kind": "script", "duration_ms": 1{more}}}"#
    )
}

fn edges(graph: &PageGraph) -> Vec<String> {
    graph.activities.iter().map(|a| format!("{} -> {}", a.id, a.children.join(" "))).collect()
}

#[test]
fn activities_of_phase_end_and_load_plus_go_with_all_that_only_they_lead_to() {
    let graph = page(
        &[
            resource("r", r#", "children": ["late", "later", "both", "load"]"#),
            script("late", r#", "phase": "end", "children": ["only", "both"]"#),
            script("later", r#", "phase": "load_plus", "children": ["only"]"#),
            resource("only", r#", "children": ["after", "load"]"#),
            script("after", ""),
            resource("both", r#", "children": ["load"]"#),
            script("load", ""),
        ]
        .join(","),
    );
    assert_eq!(edges(&normalise(&graph)), ["r -> both load", "both -> load", "load -> "]);
}

#[test]
fn parents_that_nothing_leads_to_are_no_longer_waited_for() {
    let graph = page(
        &[
            resource("r", r#", "children": ["load"]"#),
            resource("orphan", r#", "children": ["handler"]"#),
            script("handler", r#", "children": ["load"]"#),
            script("load", ""),
        ]
        .join(","),
    );
    assert_eq!(edges(&normalise(&graph)), ["r -> load", "load -> "]);
}

#[test]
fn the_first_reference_takes_the_place_of_an_original_that_is_gone() {
    let graph = page(
        &[
            resource("r", r#", "children": ["late", "b", "a", "load"]"#),
            script("late", r#", "phase": "end", "children": ["o"]"#),
            resource("o", r#", "mime_type": "image/png", "server_delay_ms": 4"#),
            resource("a", r#", "original": "o", "cached": true, "recorded_sent_ms": 9"#),
            resource("b", r#", "original": "o", "cached": true, "recorded_sent_ms": 2"#),
            script("load", ""),
        ]
        .join(","),
    );
    let normal = normalise(&graph);
    assert_eq!(normal.validate("normalised"), Ok(()));
    let of = |id: &str| match &normal.activities.iter().find(|a| a.id == id).unwrap().kind {
        ActivityKind::Resource(resource) => resource.clone(),
        _ => panic!(),
    };
    assert_eq!(of("a").original.as_deref(), Some("b"));
    let heir = of("b");
    assert_eq!((heir.original, heir.cached), (None, false));
    assert_eq!(
        (&*heir.url, &*heir.mime_type, heir.server_delay_ms),
        ("http://a/o", "image/png", Some(4.0))
    );
    assert_eq!(heir.recorded_sent_ms, Some(2.0));
}
