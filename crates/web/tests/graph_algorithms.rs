//! Algorithms 1 and 2 of the thesis (section 3.5.3.2) on graphs small enough to work out by hand.

use loadpath_web::graph::priority::{
    LAST, PriorityScheme, assign, critical_path, path_weights, rank, recorded_durations,
    unit_durations,
};
use loadpath_web::graph::{PageGraph, Topology};

/// A page of `activities` (JSON without ids' quotes would be nicer, but JSON it is) with root `r`
/// and load event `load`.
fn page(activities: &[&str]) -> PageGraph {
    let json = format!(
        r#"{{"format": "loadpath-page-graph", "version": 1, "name": "test", "url": "http://a/",
            "root": "r", "load_event": "load", "dom_content_loaded_event": "load",
            "frames": [{{"id": 0, "url": "http://a/"}}], "activities": [{}]}}"#,
        activities.join(",")
    );
    PageGraph::from_json(json.as_bytes(), "test").unwrap_or_else(|error| panic!("{error}"))
}

/// A resource without recorded times: its duration is its server delay.
fn resource(id: &str, delay_ms: u32, children: &[&str]) -> String {
    format!(
        r#"{{"id": "{id}", "type": "resource", "url": "http://a/{id}", "size_bytes": 1,
            "server_delay_ms": {delay_ms}, "children": {children:?}}}"#
    )
}

fn script(id: &str, duration_ms: u32, children: &[&str]) -> String {
    format!(
        r#"{{"id": "{id}", "type": "evaluation", "frame": 0, "kind": "script",
            "duration_ms": {duration_ms}, "children": {children:?}}}"#
    )
}

fn build(activities: &[String]) -> PageGraph {
    page(&activities.iter().map(|activity| &**activity).collect::<Vec<_>>())
}

/// By id, for readable expectations.
fn named<T: Copy>(graph: &PageGraph, values: &[T]) -> Vec<(String, T)> {
    let mut named: Vec<_> = graph
        .activities
        .iter()
        .map(|activity| activity.id.clone())
        .zip(values.iter().copied())
        .collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    named
}

fn weights_ms(graph: &PageGraph) -> Vec<(String, u64)> {
    let topology = Topology::new(graph);
    let weights = path_weights(&topology, &recorded_durations(graph, &topology));
    let ms: Vec<u64> = weights.iter().map(|ns| ns / 1_000_000).collect();
    named(graph, &ms)
}

fn is(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|&(id, value)| (id.into(), value)).collect()
}

fn ranked(graph: &PageGraph, scheme: PriorityScheme) -> Vec<String> {
    let priorities = assign(graph, scheme);
    let mut order: Vec<_> = named(graph, &priorities);
    order.retain(|&(_, priority)| priority != LAST);
    order.sort_by_key(|&(_, priority)| priority);
    assert!(order.iter().map(|&(_, priority)| priority).eq(1..=order.len() as u32));
    order.into_iter().map(|(id, _)| id).collect()
}

// r(10) ─┬─ a(30) ─── x(5) ──┬─ load(1)
//        └─ b(20) ─── y(50) ─┘
fn diamond() -> PageGraph {
    build(&[
        resource("r", 10, &["a", "b"]),
        resource("a", 30, &["x"]),
        resource("b", 20, &["y"]),
        script("x", 5, &["load"]),
        script("y", 50, &["load"]),
        script("load", 1, &[]),
    ])
}

#[test]
fn algorithm_1_lines_1_and_2_leaves_weigh_their_own_duration() {
    let graph = build(&[
        resource("r", 10, &["load", "leaf"]),
        script("load", 7, &[]),
        resource("leaf", 3, &[]),
    ]);
    assert_eq!(weights_ms(&graph), is(&[("leaf", 3), ("load", 7), ("r", 17)]));
}

#[test]
fn algorithm_1_lines_3_to_8_walk_back_from_the_leaves_to_the_root() {
    let graph =
        build(&[resource("r", 1, &["a"]), resource("a", 20, &["load"]), script("load", 300, &[])]);
    assert_eq!(weights_ms(&graph), is(&[("a", 320), ("load", 300), ("r", 321)]));
}

#[test]
fn algorithm_1_lines_9_and_10_keep_the_longest_path() {
    assert_eq!(
        weights_ms(&diamond()),
        is(&[("a", 36), ("b", 71), ("load", 1), ("r", 81), ("x", 6), ("y", 51)])
    );
}

// Were a parent examined after its first child, r would weigh 10 + 6 by x, before a and s are known.
#[test]
fn algorithm_1_lines_11_and_12_examine_a_parent_after_all_its_children() {
    let graph = build(&[
        resource("r", 10, &["load", "a"]),
        script("load", 6, &[]),
        resource("a", 1, &["s"]),
        script("s", 1, &["load"]),
    ]);
    assert_eq!(weights_ms(&graph), is(&[("a", 8), ("load", 6), ("r", 18), ("s", 7)]));
}

#[test]
fn algorithm_2_lines_1_to_9_rank_the_root_first_and_resources_only() {
    assert_eq!(ranked(&diamond(), PriorityScheme::CriticalPath), ["r", "b", "a"]);
}

// c weighs more than all others, but nothing leads to it before a has been popped.
#[test]
fn algorithm_2_lines_10_to_13_offer_children_only_once_a_parent_is_ranked() {
    let graph = build(&[
        resource("r", 1, &["a", "b"]),
        resource("a", 1, &["c"]),
        resource("b", 90, &["load"]),
        resource("c", 80, &["load"]),
        script("load", 1, &[]),
    ]);
    // Weights: a 82, b 91, c 81.
    assert_eq!(ranked(&graph, PriorityScheme::CriticalPath), ["r", "b", "a", "c"]);
}

// d is a child of a and of b; pushed twice it would be ranked twice and leave a gap behind.
#[test]
fn algorithm_2_lines_11_and_13_visit_a_shared_child_once() {
    let graph = build(&[
        resource("r", 1, &["a", "b"]),
        resource("a", 9, &["d"]),
        resource("b", 8, &["d", "e"]),
        resource("d", 7, &["load"]),
        resource("e", 2, &["load"]),
        script("load", 0, &[]),
    ]);
    assert_eq!(ranked(&graph, PriorityScheme::CriticalPath), ["r", "a", "b", "d", "e"]);
}

// The heap is sorted by weight, not by the order of pushing: e (50) overtakes d (20).
#[test]
fn algorithm_2_line_6_takes_the_heaviest_at_hand() {
    let graph = build(&[
        resource("r", 1, &["a", "d"]),
        resource("a", 10, &["e"]),
        resource("d", 20, &["load"]),
        resource("e", 50, &["load"]),
        script("load", 0, &[]),
    ]);
    assert_eq!(ranked(&graph, PriorityScheme::CriticalPath), ["r", "a", "e", "d"]);
}

#[test]
fn node_depth_counts_resources_on_the_longest_path_and_nothing_else() {
    let graph = build(&[
        resource("r", 0, &["a", "b"]),
        resource("a", 900, &["slow"]),
        script("slow", 900, &["load"]),
        resource("b", 1, &["c"]),
        resource("c", 1, &["load"]),
        script("load", 1, &[]),
    ]);
    let weights = path_weights(&Topology::new(&graph), &unit_durations(&graph));
    let expected = [("a", 1), ("b", 2), ("c", 1), ("load", 0), ("r", 3), ("slow", 0)];
    assert_eq!(named(&graph, &weights), is(&expected));
    assert_eq!(ranked(&graph, PriorityScheme::NodeDepth), ["r", "b", "a", "c"]);
    assert_eq!(ranked(&graph, PriorityScheme::CriticalPath), ["r", "a", "b", "c"]);
}

#[test]
fn equal_weights_rank_by_number_in_the_id_after_computations() {
    let graph = build(&[
        resource("r", 1, &["d_10", "d_9", "s"]),
        resource("d_10", 5, &["load"]),
        resource("d_9", 5, &["load"]),
        script("s", 0, &["d_2"]),
        resource("d_2", 5, &["load"]),
        script("load", 0, &[]),
    ]);
    assert_eq!(ranked(&graph, PriorityScheme::CriticalPath), ["r", "d_2", "d_9", "d_10"]);
}

#[test]
fn resources_that_nothing_leads_to_come_last() {
    let graph = build(&[
        resource("r", 1, &["load"]),
        resource("stray", 5, &["load"]),
        script("load", 0, &[]),
    ]);
    assert_eq!(ranked(&graph, PriorityScheme::CriticalPath), ["r"]);
}

#[test]
fn the_critical_path_follows_the_heaviest_child_to_a_leaf() {
    let graph = diamond();
    let topology = Topology::new(&graph);
    let weights = path_weights(&topology, &recorded_durations(&graph, &topology));
    let path = critical_path(&graph, &topology, &weights);
    let ids: Vec<&str> = path.iter().map(|&i| &*graph.activities[i as usize].id).collect();
    assert_eq!(ids, ["r", "b", "y", "load"]);
    let durations = recorded_durations(&graph, &topology);
    let sum: u64 = path.iter().map(|&i| durations[i as usize]).sum();
    assert_eq!(sum, weights[path[0] as usize]);
    assert_eq!(rank(&graph, &topology, &weights)[path[1] as usize], 2);
}

#[test]
fn mime_classes_rank_html_css_javascript_images_others() {
    let types = [
        ("r", "text/html"),
        ("css", "text/css"),
        ("js", "application/x-javascript"),
        ("png", "image/png"),
        ("font", "font/woff"),
        ("xhtml", "application/xhtml+xml"),
        ("unknown", ""),
    ];
    let mut activities: Vec<String> = types
        .iter()
        .map(|(id, mime)| {
            let children = if *id == "r" { r#"["load"]"# } else { "[]" };
            format!(
                r#"{{"id": "{id}", "type": "resource", "url": "http://a/", "size_bytes": 0,
                    "mime_type": "{mime}", "children": {children}}}"#
            )
        })
        .collect();
    activities.push(script("load", 0, &[]));
    let graph = build(&activities);
    let priorities = assign(&graph, PriorityScheme::MimeClass);
    let expected = [
        ("css", 1),
        ("font", 4),
        ("js", 2),
        ("load", LAST),
        ("png", 3),
        ("r", 0),
        ("unknown", 4),
        ("xhtml", 0),
    ];
    let expected: Vec<_> = expected.iter().map(|&(id, p)| (id.to_string(), p)).collect();
    assert_eq!(named(&graph, &priorities), expected);
    let resources = assign(&graph, PriorityScheme::None);
    assert!(resources[..7].iter().all(|&p| p == 0) && resources[7] == LAST);
}

#[test]
fn recorded_priorities_are_taken_as_they_are_and_zero_comes_last() {
    let graph = page(&[
        r#"{"id": "r", "type": "resource", "url": "http://a/", "size_bytes": 0, "children": ["load"],
            "priorities": {"mime-type": 2, "cp": 1, "depth": 7, "cp-plus": 0}}"#,
        &script("load", 0, &[]),
    ]);
    let of_root = |scheme| assign(&graph, scheme)[0];
    assert_eq!(of_root(PriorityScheme::RecordedMimeType), 2);
    assert_eq!(of_root(PriorityScheme::RecordedCriticalPath), 1);
    assert_eq!(of_root(PriorityScheme::RecordedDepth), 7);
    assert_eq!(of_root(PriorityScheme::RecordedCriticalPathPlus), LAST);
}

/// Duration of a resource "x" requested by `parent`, in ms: sent at 100, complete at 180.
fn duration_of_x(parents: &[String]) -> u64 {
    let x = r#"{"id": "x", "type": "resource", "url": "http://a/x", "size_bytes": 1,
        "recorded_sent_ms": 100, "recorded_received_ms": 180}"#;
    let mut activities =
        vec![resource("r", 0, &["p_0", "load"]), x.to_string(), script("load", 0, &[])];
    activities.extend_from_slice(parents);
    let graph = build(&activities);
    let topology = Topology::new(&graph);
    recorded_durations(&graph, &topology)[1] / 1_000_000
}

#[test]
fn a_resource_of_a_parse_chunk_lasts_from_the_end_of_the_chunk() {
    let chunk = r#"{"id": "p_0", "type": "parse_chunk", "frame": 0, "duration_ms": 10,
        "recorded_start_ms": 30, "children": ["x"]}"#;
    assert_eq!(duration_of_x(&[chunk.into()]), 140);
}

#[test]
fn a_resource_of_a_computation_lasts_from_where_the_computation_was_cut_else_from_being_sent() {
    let piece = |id: &str, start: u32, continues: &str, children: &str| {
        format!(
            r#"{{"id": "{id}", "type": "evaluation", "frame": 0, "kind": "script",
                "duration_ms": 10, "recorded_start_ms": {start}, {continues}
                "children": [{children}]}}"#
        )
    };
    let cut = [piece("p_0", 80, "", r#""x", "p_1""#), piece("p_1", 90, r#""continues": "p","#, "")];
    assert_eq!(duration_of_x(&cut), 90);
    assert_eq!(duration_of_x(&[piece("p_0", 80, "", r#""x""#)]), 80);
}
