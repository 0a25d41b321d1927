//! Transforms: what each changes in a graph, and what it leaves alone.

mod browser_support;

use std::collections::BTreeSet;

use browser_support::graph::*;
use browser_support::random::graphs;
use browser_support::{ByHand, compile, load_with_delays};
use loadpath_net::SimDuration;
use loadpath_web::browser::BrowserConfig;
use loadpath_web::graph::{ActivityKind, EvaluationKind, PageGraph, Resource};
use loadpath_web::transform::{FORMS, Transform};
use proptest::prelude::*;

fn transformed(graph: &PageGraph, transform: &str) -> PageGraph {
    let transform: Transform = transform.parse().unwrap_or_else(|error| panic!("{error}"));
    transform.apply(graph).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(graph: &PageGraph, transform: &str) -> String {
    match transform.parse::<Transform>().and_then(|transform| transform.apply(graph)) {
        Ok(_) => panic!("{transform} was not refused"),
        Err(error) => error.to_string(),
    }
}

fn parents<'g>(graph: &'g PageGraph, child: &str) -> BTreeSet<&'g str> {
    let lists_it = |children: &[String]| children.iter().any(|id| id == child);
    graph.activities.iter().filter(|a| lists_it(&a.children)).map(|a| &*a.id).collect()
}

fn resource_of<'g>(graph: &'g PageGraph, id: &str) -> &'g Resource {
    let activity = graph.activities.iter().find(|a| a.id == id).unwrap();
    let ActivityKind::Resource(resource) = &activity.kind else { panic!("{id} is no resource") };
    resource
}

/// Head with a style sheet and a blocking script; the script asks for data, the style sheet for a
/// font; then the rest of the document with an inline script.
fn page() -> Builder {
    let mut b = Builder::new();
    b.add("head_bytes", chunk(ROOT, 0, 400), &[ROOT]);
    b.add("head", parse(0, 1.0), &["head_bytes"]);
    b.add("css", resource("text/css", 1000), &["head"]);
    b.add("style", style(0, 1.0), &["css"]);
    b.add("font", resource("font/woff2", 2001), &["style"]);
    b.add("js", resource("text/javascript", 3000), &["head"]);
    b.add("run", script(0, 2.0), &["js", "style"]);
    b.add("rest_bytes", chunk(ROOT, 400, 1000), &["head_bytes"]);
    b.add("rest", parse(0, 1.0), &["rest_bytes", "run"]);
    b.add("data", resource("application/json", 500), &["run"]);
    b.add("answered", event(0, 3.0), &["data"]);
    b.add("inline", script(0, 1.0), &["rest"]);
    b.load(&["css", "font", "answered", "inline"]);
    b
}

#[test]
fn text_forms_are_read_and_written_alike() {
    for text in [
        "preload",
        "preload:all",
        "preload:https://a.example/x.js?y=1:2",
        "async",
        "async:https://a.example/x.js",
        "cut-bytes:script:30",
        "cut-bytes:all:12.5",
        "cut-server-delay:100",
    ] {
        assert_eq!(text.parse::<Transform>().unwrap().to_string(), text);
    }
    assert_eq!(
        "cut-bytes:image:30%".parse::<Transform>().unwrap().to_string(),
        "cut-bytes:image:30"
    );
}

#[test]
fn errors_say_which_transform_what_and_the_choices() {
    let graph = page().graph;
    let unknown = refusal(&graph, "minify");
    for &(_, form, _) in FORMS {
        assert!(unknown.contains(form), "{unknown}");
    }
    for (transform, words) in [
        (
            "cut-bytes:scripts:30",
            &["cut-bytes:scripts:30", "\"scripts\"", "script, image, font"][..],
        ),
        ("cut-bytes:script", &["a type and a share are missing"]),
        ("cut-bytes:script:0", &["\"0\" is no share", "above 0, at most 100"]),
        ("cut-bytes:script:NaN", &["is no share"]),
        ("cut-bytes:image:10", &["the page has no image bytes to cut"]),
        ("cut-server-delay:10", &["the page has no measured server delays"]),
        ("preload:http://other.example/", &["the page has no such resource"]),
        ("preload:css", &["not found late"]),
        ("async:css", &["does not hold up", "http://js.example/"]),
    ] {
        let message = refusal(&graph, transform);
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
    }
    let mut plain = Builder::new();
    plain.add("photo", image(), &[ROOT]);
    let plain = plain.load(&["photo"]);
    assert!(refusal(plain, "preload").contains("no parse chunk"));
    assert!(refusal(plain, "async").contains("no external script"));
}

#[test]
fn the_source_of_a_changed_page_says_what_was_done() {
    let once = transformed(&page().graph, "cut-bytes:script:50");
    assert_eq!(once.source, "transformed: cut-bytes:script:50");
    let twice = transformed(&once, "async");
    assert_eq!(twice.source, "transformed: cut-bytes:script:50; transformed: async");
}

#[test]
fn bytes_are_cut_in_one_class_and_rounded_up() {
    let graph = page().graph;
    let cut = transformed(&graph, "cut-bytes:font:50");
    assert_eq!(resource_of(&cut, "font").size_bytes, 1001);
    assert_eq!(resource_of(&cut, "js").size_bytes, 3000);
    let cut = transformed(&graph, "cut-bytes:script:100");
    assert_eq!(resource_of(&cut, "js").size_bytes, 0);
}

#[test]
fn stretches_of_a_document_shrink_with_it() {
    let cut = transformed(&page().graph, "cut-bytes:html:30");
    assert_eq!(resource_of(&cut, ROOT).size_bytes, 700);
    let chunks: Vec<(u64, u64)> = cut
        .activities
        .iter()
        .filter_map(|a| match &a.kind {
            ActivityKind::DownloadChunk(c) => Some((c.offset_bytes, c.size_bytes)),
            _ => None,
        })
        .collect();
    assert_eq!(chunks, [(0, 280), (280, 420)]);
}

#[test]
fn server_delays_are_cut() {
    let mut b = page();
    for activity in &mut b.graph.activities {
        if let ActivityKind::Resource(resource) = &mut activity.kind {
            resource.server_delay_ms = (activity.id == "data").then_some(80.0);
        }
    }
    let cut = transformed(&b.graph, "cut-server-delay:25");
    assert_eq!(resource_of(&cut, "data").server_delay_ms, Some(60.0));
    assert_eq!(resource_of(&cut, "js").server_delay_ms, None);
}

#[test]
fn a_hint_in_the_head_requests_what_a_script_would_find_late() {
    let graph = page().graph;
    let hinted = transformed(&graph, "preload:data");
    assert_eq!(parents(&hinted, "data"), ["head"].into());
    // The answer is handled once it is there, and the script that asks for it has run.
    assert_eq!(parents(&hinted, "answered"), ["data", "run"].into());

    let (plain, hinted) = (compile(&graph), compile(&hinted));
    let config = BrowserConfig::default();
    let mut load = ByHand::start(&plain, &config);
    load.bytes(ROOT, 400).until(1.0);
    assert_eq!(load.requests(), [ROOT, "css", "js"]);
    let mut load = ByHand::start(&hinted, &config);
    load.bytes(ROOT, 400).until(1.0);
    assert_eq!(load.requests(), [ROOT, "css", "js", "data"]);
    load.complete("data").until(2.0);
    assert_eq!(load.order(), ["head"]);
    load.complete("js").complete("css").until(10.0);
    assert_eq!(load.order(), ["head", "style", "run", "answered"]);
}

#[test]
fn preload_takes_the_critical_path_or_all_that_is_late() {
    // The way through script and data is the longer one in the recording.
    let graph = page().graph;
    let path = transformed(&graph, "preload");
    assert_eq!(parents(&path, "data"), ["head"].into());
    assert_eq!(parents(&path, "font"), ["style"].into());
    let all = transformed(&graph, "preload:all");
    assert_eq!(parents(&all, "data"), ["head"].into());
    assert_eq!(parents(&all, "font"), ["head"].into());
    assert_eq!(parents(&all, "load"), ["answered", "css", "font", "inline", "style"].into());
}

#[test]
fn documents_other_frames_and_uploads_are_not_preloaded() {
    let mut b = page();
    b.frame(1, 0);
    b.add("framed", script(1, 1.0), &["run"]);
    b.add("frame_data", resource("application/json", 100), &["framed"]);
    b.add("frame_html", resource("text/html", 100), &["run"]);
    b.add("beacon", resource("text/plain", 100), &["run"]);
    for id in ["frame_data", "frame_html", "beacon"] {
        b.edge(id, "load");
    }
    let beacon = b.graph.activities.iter_mut().find(|a| a.id == "beacon").unwrap();
    let ActivityKind::Resource(beacon) = &mut beacon.kind else { unreachable!() };
    beacon.method = "POST".into();
    let all = transformed(&b.graph, "preload:all");
    for (id, parent) in [("frame_data", "framed"), ("frame_html", "run"), ("beacon", "run")] {
        assert_eq!(parents(&all, id), [parent].into());
        assert!(refusal(&b.graph, &format!("preload:{id}")).contains("not found late"));
    }
}

#[test]
fn a_wait_that_the_parser_set_does_not_make_a_resource_late() {
    let mut b = page();
    b.add("wait", timer(0, 5.0, 0.0), &["rest"]);
    b.add("photo", image(), &["wait"]);
    b.edge("photo", "load");
    assert!(refusal(&b.graph, "preload:photo").contains("not found late"));
}

#[test]
fn an_async_script_holds_up_neither_parser_nor_waits_for_style_sheets() {
    let graph = page().graph;
    let released = transformed(&graph, "async:http://js.example/");
    assert_eq!(parents(&released, "rest"), ["head", "rest_bytes"].into());
    assert_eq!(parents(&released, "run"), ["js"].into());
    assert_eq!(parents(&released, "load"), ["answered", "css", "font", "inline", "run"].into());
    assert_eq!(released, transformed(&graph, "async").into_source(&released.source));

    let page = compile(&released);
    let mut load = ByHand::start(&page, &BrowserConfig::default());
    load.bytes(ROOT, 400).until(1.0).complete(ROOT).until(3.0);
    assert_eq!(load.order(), ["head", "rest", "inline"]);
    load.complete("js").until(5.0);
    assert_eq!(load.order(), ["head", "rest", "inline", "run"]);
}

trait IntoSource {
    fn into_source(self, source: &str) -> PageGraph;
}

impl IntoSource for PageGraph {
    fn into_source(self, source: &str) -> PageGraph {
        PageGraph { source: source.into(), ..self }
    }
}

#[test]
fn the_parser_still_waits_for_what_the_async_script_waited_for() {
    let mut b = Builder::new();
    b.add("head_bytes", chunk(ROOT, 0, 400), &[ROOT]);
    b.add("head", parse(0, 1.0), &["head_bytes"]);
    b.add("inline", script(0, 5.0), &["head"]);
    b.add("js", script_file(), &["head"]);
    b.add("handling", other_work(0, 1.0), &["js"]);
    b.add("comp_1_0", script(0, 2.0), &["handling", "inline"]);
    let mut later = evaluation(EvaluationKind::Script, 0, 1.0);
    later.continues = Some("comp_1".into());
    b.add("comp_1_1", ActivityKind::Evaluation(later), &["comp_1_0"]);
    b.add("rest_bytes", chunk(ROOT, 400, 1000), &["head_bytes"]);
    b.add("rest", parse(0, 1.0), &["rest_bytes", "comp_1_1"]);
    let graph = b.load(&["rest"]);
    let released = transformed(graph, "async");
    assert_eq!(parents(&released, "rest"), ["head", "inline", "rest_bytes"].into());
    assert_eq!(parents(&released, "comp_1_0"), ["handling", "inline"].into());
    assert_eq!(parents(&released, "load"), ["comp_1_1", "rest"].into());
}

#[test]
fn scripts_that_scripts_insert_stay_as_they_are() {
    let mut b = page();
    b.add("written", script_file(), &["inline"]);
    b.add("run_written", script(0, 1.0), &["written"]);
    b.add("end", parse(0, 1.0), &["run_written"]);
    b.edge("end", "load");
    let released = transformed(&b.graph, "async");
    assert_eq!(parents(&released, "end"), ["run_written"].into());
    // What is written into the document comes at its place: no hint for it either.
    assert!(refusal(&b.graph, "preload:written").contains("not found late"));
}

const EACH: [&str; 6] = [
    "preload",
    "preload:all",
    "async",
    "cut-bytes:html:37",
    "cut-bytes:all:100",
    "cut-server-delay:40",
];

/// For each activity, all that must have ended before it.
fn all_before(graph: &PageGraph) -> std::collections::BTreeMap<&str, BTreeSet<&str>> {
    let topology = loadpath_web::graph::Topology::new(graph);
    let mut before = vec![BTreeSet::new(); graph.activities.len()];
    for index in topology.topological_order().unwrap() {
        for &parent in topology.parents.of(index) {
            let mut through: BTreeSet<&str> = before[parent as usize].clone();
            through.insert(&graph.activities[parent as usize].id);
            before[index as usize].extend(through);
        }
    }
    graph.activities.iter().map(|a| &*a.id).zip(before).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_changed_page_is_valid_keeps_its_ids_and_loads(graph in graphs(), which in 0..EACH.len()) {
        let transform: Transform = EACH[which].parse().unwrap();
        let Ok(changed) = transform.apply(&graph) else { return Ok(()) };
        prop_assert_eq!(changed.validate("changed"), Ok(()));
        let ids = |g: &PageGraph| g.activities.iter().map(|a| a.id.clone()).collect::<Vec<_>>();
        prop_assert_eq!(ids(&changed), ids(&graph));
        let read = PageGraph::from_json(changed.to_json().as_bytes(), "written").unwrap();
        prop_assert_eq!(&read, &changed);
        let load = load_with_delays(&compile(&changed), &BrowserConfig::default(), |_| {
            SimDuration::from_millis(1)
        });
        prop_assert!(load.load_event.is_some(), "{:?}", load.why_incomplete);
    }

    #[test]
    fn a_hint_changes_when_resources_are_requested_and_no_other_order(graph in graphs()) {
        let Ok(changed) = "preload:all".parse::<Transform>().unwrap().apply(&graph) else {
            return Ok(());
        };
        let now = all_before(&changed);
        for (id, before) in all_before(&graph) {
            let activity = graph.activities.iter().find(|a| a.id == id).unwrap();
            let moved = parents(&graph, id) != parents(&changed, id);
            if matches!(activity.kind, ActivityKind::Resource(_)) && moved {
                prop_assert!(now[id].is_subset(&before) || now[id].len() <= before.len() + 3);
                continue;
            }
            prop_assert!(before.is_subset(&now[id]), "{} lost {:?}", id, before.difference(&now[id]));
        }
    }

    #[test]
    fn an_async_script_releases_but_delays_nothing(graph in graphs()) {
        let Ok(changed) = "async".parse::<Transform>().unwrap().apply(&graph) else {
            return Ok(());
        };
        let before = all_before(&graph);
        let now = all_before(&changed);
        for (id, now) in &now {
            if *id != graph.load_event {
                prop_assert!(now.is_subset(&before[id]), "{} waits for more", id);
            }
        }
        // The load event still waits for all that it waited for, but for what only held up scripts.
        let lost: Vec<&&str> =
            before[&*graph.load_event].difference(&now[&*graph.load_event]).collect();
        let is_style = |id: &str| {
            let activity = graph.activities.iter().find(|a| a.id == id).unwrap();
            matches!(&activity.kind, ActivityKind::Evaluation(e) if e.kind == EvaluationKind::Style)
        };
        prop_assert!(lost.is_empty() || lost.iter().any(|id| is_style(id)), "lost {:?}", lost);
    }
}
