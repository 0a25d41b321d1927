//! Algorithm 3 of the thesis (section 3.7.2), documents that stream, the session cache (section
//! 3.7.5), normalisation (section 3.7.4) and the events that a load is measured by (section 3.7.3).

mod browser_support;

use browser_support::graph::*;
use browser_support::{ByHand, compile};
use loadpath_web::browser::BrowserConfig;
use loadpath_web::graph::{ActivityKind, Phase, Resource};

fn config() -> BrowserConfig {
    BrowserConfig { preloader: false, ..BrowserConfig::default() }
}

// Algorithm 3, lines 5 to 7.
#[test]
fn a_child_runs_once_its_last_parent_has_completed() {
    let mut b = Builder::new();
    b.add("a", image(), &[ROOT]).add("b", image(), &[ROOT]);
    b.add("both", script(0, 1.0), &["a", "b"]);
    let page = compile(b.load(&["both"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).complete("a").until(5.0);
    assert_eq!(browser.order(), [""; 0]);
    browser.complete("b").until(7.0);
    assert_eq!(browser.work(), [("both", 5.0), ("load", 6.0)]);
}

// Algorithm 3, lines 8 to 13: evaluations queue for the thread, resources do not wait for it.
#[test]
fn resources_are_requested_while_the_main_thread_is_busy() {
    let mut b = Builder::new();
    b.add("busy", script(0, 100.0), &[ROOT]).add("queued", script(0, 1.0), &[ROOT]);
    b.add("a", image(), &[ROOT]);
    b.add("b", image(), &["a"]);
    let page = compile(b.load(&["queued", "b"]));
    let mut browser = ByHand::start(&page, &config());
    assert_eq!(browser.requests(), [ROOT]);
    browser.complete(ROOT);
    assert_eq!(browser.requests(), ["a"]);
    browser.until(50.0).complete("a");
    assert_eq!(browser.requests(), ["b"]);
    assert_eq!(browser.order(), ["busy"]);
    browser.until(100.0);
    assert_eq!(browser.work(), [("busy", 0.0), ("queued", 100.0)]);
}

// Algorithm 3, lines 17 to 19, in recorded order, then by numbers in ids.
#[test]
fn children_run_in_recorded_order_and_ties_in_order_of_numbers() {
    let sent = |sent_ms| {
        ActivityKind::Resource(Resource {
            recorded_sent_ms: Some(sent_ms),
            ..match image() {
                ActivityKind::Resource(r) => r,
                _ => unreachable!(),
            }
        })
    };
    let mut b = Builder::new();
    b.add("download_10", sent(5.0), &[ROOT]).add("download_9", sent(5.0), &[ROOT]);
    b.add("download_100", sent(4.0), &[ROOT]).add("download_1", sent(6.0), &[ROOT]);
    let all = ["download_10", "download_9", "download_100", "download_1"];
    let page = compile(b.load(&all));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT);
    assert_eq!(
        browser.requests(),
        [ROOT, "download_100", "download_9", "download_10", "download_1"]
    );
}

// Algorithm 3, lines 9 and 10: the first child that is pushed finds the thread idle.
#[test]
fn the_first_of_several_children_starts_at_once() {
    let mut b = Builder::new();
    b.add("script", script(0, 3.0), &[ROOT]).add("parse", parse(0, 1.0), &[ROOT]);
    b.add("late", script(0, 1.0), &[ROOT]);
    let page = compile(b.load(&["script", "parse", "late"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).until(10.0);
    assert_eq!(browser.order(), ["script", "parse", "late", "load"]);
}

#[test]
fn resources_outside_http_complete_at_once() {
    let mut b = Builder::new();
    b.add("data", resource_at("data:image/png;base64,AA", None), &[ROOT]);
    b.add("blank", resource_at("about:blank", None), &["data"]);
    b.add("after", script(0, 1.0), &["blank"]);
    let page = compile(b.load(&["after"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).until(1.0);
    assert_eq!(browser.requests(), [ROOT]);
    assert_eq!(browser.order(), ["after", "load"]);
}

#[test]
fn a_cached_resource_costs_nothing_unless_an_original_on_the_page_served_it() {
    let cached = ActivityKind::Resource(Resource {
        url: "http://fonts.example/a.woff".into(),
        method: "GET".into(),
        cached: true,
        ..Resource::default()
    });
    let mut b = Builder::new();
    b.add("font", cached, &[ROOT]);
    let page = compile(b.load(&["font"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT);
    assert_eq!(browser.requests(), [ROOT]);
    assert!(browser.browser.load_event().is_some());
}

#[test]
fn activities_without_duration_leave_no_timeout_behind_and_no_deep_stack() {
    let mut b = Builder::new();
    let ids: Vec<String> = (0..100_000).map(|i| format!("comp_{i}")).collect();
    b.add(&ids[0], script(0, 0.0), &[ROOT]);
    // The builder's look-up of parents would make this quadratic.
    for pair in ids.windows(2) {
        b.graph.activities.last_mut().unwrap().children.push(pair[1].clone());
        b.add(&pair[1], script(0, 0.0), &[]);
    }
    b.graph.activities.last_mut().unwrap().children.push("load".into());
    let page = compile(b.load(&[]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT);
    assert_eq!(browser.browser.load_event().map(|t| t.0), Some(0));
    assert_eq!(browser.order().len(), 100_001);
}

/// A document of 1000 bytes in two chunks, with an image that waits for all of it.
fn streamed(document: &str, b: &mut Builder) {
    b.add("dchunk_0_0", chunk(document, 100, 500), &[document]);
    b.add("pchunk_0_0", parse(0, 1.0), &["dchunk_0_0"]);
    b.add("dchunk_0_1", chunk(document, 500, 1000), &["dchunk_0_0"]);
    b.add("pchunk_0_1", parse(0, 1.0), &["dchunk_0_1", "pchunk_0_0"]);
    b.add("whole", image(), &[document]);
}

#[test]
fn html_is_parsed_as_it_arrives_and_other_children_wait_for_the_response() {
    let mut b = Builder::new();
    streamed(ROOT, &mut b);
    let page = compile(b.load(&["pchunk_0_1", "whole"]));
    let mut browser = ByHand::start(&page, &config());
    browser.bytes(ROOT, 499).until(10.0);
    assert_eq!(browser.order(), [""; 0]);
    browser.bytes(ROOT, 500).until(20.0);
    assert_eq!(browser.work(), [("pchunk_0_0", 10.0)]);
    browser.bytes(ROOT, 999).until(30.0);
    assert_eq!(browser.order().len(), 1);
    browser.bytes(ROOT, 1000).until(40.0);
    assert_eq!(browser.work()[1], ("pchunk_0_1", 30.0));
    assert_eq!(browser.requests(), [ROOT]);
    browser.complete(ROOT);
    assert_eq!(browser.requests(), ["whole"]);
}

#[test]
fn bytes_of_several_chunks_may_arrive_together() {
    let mut b = Builder::new();
    streamed(ROOT, &mut b);
    let page = compile(b.load(&["pchunk_0_1"]));
    let mut browser = ByHand::start(&page, &config());
    browser.bytes(ROOT, 1000).until(2.0);
    assert_eq!(browser.work(), [("pchunk_0_0", 0.0), ("pchunk_0_1", 1.0), ("load", 2.0)]);
}

#[test]
fn an_empty_chunk_waits_for_the_response_to_begin() {
    let mut b = Builder::new();
    b.add("dchunk_0_0", chunk(ROOT, 0, 0), &[ROOT]);
    b.add("pchunk_0_0", parse(0, 1.0), &["dchunk_0_0"]);
    let page = compile(b.load(&["pchunk_0_0"]));
    let mut browser = ByHand::start(&page, &config());
    browser.until(10.0);
    assert_eq!(browser.order(), [""; 0]);
    browser.bytes(ROOT, 1);
    assert_eq!(browser.order(), ["pchunk_0_0"]);
}

#[test]
fn an_empty_document_is_parsed_when_its_response_is_complete() {
    let mut b = Builder::new();
    b.frame(1, 0);
    b.add("inner", resource("text/html", 0), &[ROOT]);
    b.add("dchunk_1_0", chunk("inner", 0, 0), &["inner"]);
    b.add("pchunk_1_0", parse(1, 1.0), &["dchunk_1_0"]);
    let page = compile(b.load(&["pchunk_1_0"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).bytes("inner", 0).until(10.0);
    assert_eq!(browser.order(), [""; 0]);
    browser.complete("inner");
    assert_eq!(browser.order(), ["pchunk_1_0"]);
}

#[test]
fn the_document_of_a_frame_streams_like_the_page_and_an_empty_one_costs_nothing() {
    let mut b = Builder::new();
    b.frame(1, 0).frame(2, 0);
    b.add("inner", resource("text/html", 200), &[ROOT]);
    b.add("dchunk_1_0", chunk("inner", 0, 100), &["inner"]);
    b.add("pchunk_1_0", parse(1, 1.0), &["dchunk_1_0"]);
    b.add("blank", resource_at("about:blank", None), &[ROOT]);
    b.add("dchunk_2_0", chunk("blank", 0, 50), &["blank"]);
    b.add("pchunk_2_0", parse(2, 1.0), &["dchunk_2_0"]);
    let page = compile(b.load(&["pchunk_1_0", "pchunk_2_0"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).until(10.0).bytes("inner", 100).until(20.0);
    assert_eq!(browser.work(), [("pchunk_2_0", 0.0), ("pchunk_1_0", 10.0), ("load", 11.0)]);
}

// Section 3.7.5, the rudimentary session cache.
#[test]
fn references_to_one_url_share_a_fetch_in_flight_or_done() {
    let mut b = Builder::new();
    let url = "http://img.example/a.png";
    b.add("first", resource_at(url, None), &[ROOT]);
    b.add("second", resource_at(url, None), &[ROOT]);
    b.add("other", image(), &[ROOT]);
    b.add("third", resource_at(url, None), &["other"]);
    b.add("after_second", script(0, 1.0), &["second"]);
    b.add("after_third", script(0, 1.0), &["third"]);
    let page = compile(b.load(&["first", "after_second", "after_third"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT);
    assert_eq!(browser.requests(), [ROOT, "first", "other"]);
    browser.until(10.0).complete("first");
    assert_eq!(browser.work(), [("after_second", 10.0)]);
    browser.until(20.0).complete("other").until(30.0);
    assert_eq!(browser.work()[1..], [("after_third", 20.0), ("load", 21.0)]);
    assert_eq!(browser.requests(), [""; 0]);
}

#[test]
fn whoever_runs_first_fetches_for_original_and_reference() {
    let mut b = Builder::new();
    let reference = resource_at("http://redirect.example/", Some("original"));
    b.add("reference", reference, &[ROOT]);
    b.add("original", resource_at("http://target.example/", None), &[ROOT]);
    b.add("after", script(0, 1.0), &["original"]);
    let page = compile(b.load(&["reference", "after"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT);
    assert_eq!(browser.requests(), [ROOT, "reference"]);
    browser.complete("original");
    assert_eq!(browser.order(), [""; 0], "only the fetch in flight counts");
    browser.complete("reference").until(1.0);
    assert_eq!(browser.order(), ["after", "load"]);
}

#[test]
fn a_reference_to_a_document_in_flight_streams_its_bytes() {
    let mut b = Builder::new();
    b.frame(1, 0).frame(2, 0);
    let url = "http://frame.example/";
    let html = |url: &str| {
        ActivityKind::Resource(Resource {
            url: url.into(),
            method: "GET".into(),
            mime_type: "text/html".into(),
            size_bytes: 200,
            ..Resource::default()
        })
    };
    b.add("one", html(url), &[ROOT]).add("two", html(url), &[ROOT]);
    for (frame, document) in [(1, "one"), (2, "two")] {
        b.add(&format!("dchunk_{frame}_0"), chunk(document, 0, 100), &[document]);
        b.add(&format!("pchunk_{frame}_0"), parse(frame, 1.0), &[&format!("dchunk_{frame}_0")]);
    }
    let page = compile(b.load(&["pchunk_1_0", "pchunk_2_0"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT);
    assert_eq!(browser.requests(), [ROOT, "one"]);
    browser.bytes("one", 150).until(5.0);
    assert_eq!(browser.order(), ["pchunk_1_0", "pchunk_2_0", "load"]);
}

#[test]
fn methods_do_not_share_a_fetch() {
    let method = |method: &str| {
        ActivityKind::Resource(Resource {
            url: "http://api.example/".into(),
            method: method.into(),
            ..Resource::default()
        })
    };
    let mut b = Builder::new();
    b.add("preflight", method("OPTIONS"), &[ROOT]).add("post", method("POST"), &["preflight"]);
    let page = compile(b.load(&["post"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).complete("preflight");
    assert_eq!(browser.requests(), [ROOT, "preflight", "post"]);
}

// Section 3.7.4: computations after the load event are disabled, with all that only they bring.
#[test]
fn what_happens_after_load_is_left_out_and_its_children_do_not_wait_for_it() {
    let mut b = Builder::new();
    b.add("first", script(0, 1.0), &[ROOT]);
    b.add("ended", in_phase(timer(0, 10.0, 1.0), Phase::End), &["first"]);
    b.add("plus", in_phase(timer(0, 0.0, 1.0), Phase::LoadPlus), &["first"]);
    b.add("beacon", image(), &["ended"]);
    b.add("both", image(), &["first", "plus"]);
    b.add("orphan", image(), &[]).add("of_orphan", script(0, 1.0), &["orphan", "first"]);
    let graph = b.load(&["both", "of_orphan", "beacon"]);
    let page = compile(graph);
    assert_eq!(page.activity_count(), 5, "root, first, both, of_orphan, load");
    assert_eq!(page.resources.len(), 2);
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).until(2.0);
    assert_eq!(browser.requests(), [ROOT, "both"]);
    browser.complete("both").until(2.0);
    assert_eq!(browser.work(), [("first", 0.0), ("of_orphan", 1.0), ("load", 2.0)]);
}

// Section 3.7.3; PLT is read when the load handler starts.
#[test]
fn the_load_event_counts_from_the_start_of_its_handler_and_ends_the_load() {
    let mut b = Builder::new();
    b.graph.dom_content_loaded_event = "dcl".into();
    b.add("a", image(), &[ROOT]).add("busy", script(0, 10.0), &[ROOT]);
    b.add("dcl", event(0, 5.0), &["busy"]).add("endless", timer(0, 10_000.0, 1.0), &[ROOT]);
    b.add("load", event(0, 500.0), &["a", "dcl"]).add("after", image(), &["load"]);
    let page = compile(&b.graph);
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).until(3.0).complete("a").until(12.0);
    assert_eq!(browser.browser.dom_content_loaded().map(|t| t.0), Some(10_000_000));
    assert_eq!(browser.browser.load_event(), None);
    browser.until(20.0);
    assert_eq!(browser.browser.load_event().map(|t| t.0), Some(15_000_000));
    assert_eq!(browser.browser.next_timeout(), None);
    assert_eq!(browser.browser.why_incomplete(), None);
    browser.until(1000.0).complete("a");
    assert_eq!(browser.requests(), [ROOT, "a"]);
}

#[test]
fn siblings_of_the_load_event_are_not_executed_after_it() {
    let mut b = Builder::new();
    b.load(&[ROOT]);
    b.add("late", image(), &[ROOT]);
    let page = compile(&b.graph);
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).until(10.0);
    assert_eq!(browser.requests(), [ROOT]);
}

#[test]
fn the_load_event_waits_for_the_thread() {
    let mut b = Builder::new();
    b.add("a", image(), &[ROOT]).add("busy", script(0, 10.0), &[ROOT]);
    let page = compile(b.load(&["a"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).until(3.0).complete("a").until(20.0);
    assert_eq!(browser.browser.load_event().map(|t| t.0), Some(10_000_000));
}

// FORMAT of the corpus, section 2.2: defer scripts wait for the last parse chunk, async ones for
// their download only; both are edges of the graph.
#[test]
fn async_scripts_run_between_parse_chunks_and_deferred_ones_after_the_last() {
    let mut b = Builder::new();
    streamed(ROOT, &mut b);
    b.add("async_file", script_file(), &["pchunk_0_0"]);
    b.add("defer_file", script_file(), &["pchunk_0_0"]);
    b.add("async", script(0, 1.0), &["async_file"]);
    b.add("defer", script(0, 1.0), &["defer_file", "pchunk_0_1"]);
    let page = compile(b.load(&["async", "defer"]));
    let mut browser = ByHand::start(&page, &config());
    browser.bytes(ROOT, 500).until(5.0).complete("defer_file").complete("async_file").until(10.0);
    browser.complete(ROOT).until(20.0);
    assert_eq!(
        browser.work(),
        [
            ("pchunk_0_0", 0.0),
            ("async", 5.0),
            ("pchunk_0_1", 10.0),
            ("defer", 11.0),
            ("load", 12.0)
        ]
    );
}

#[test]
fn a_load_that_waits_says_for_what() {
    let mut b = Builder::new();
    b.add("wait", timer(0, 10.0, 1.0), &[ROOT]);
    let page = compile(b.load(&["wait"]));
    let mut browser = ByHand::start(&page, &config());
    let why = browser.browser.why_incomplete().unwrap();
    assert!(why.contains("1 response") && why.contains("http://download_0.example/"), "{why}");
    browser.complete(ROOT);
    assert!(browser.browser.why_incomplete().unwrap().contains("timer"));
    browser.until(10.0);
    assert_eq!(
        browser.browser.why_incomplete().as_deref(),
        Some("timers or main-thread work are outstanding")
    );
    browser.until(11.0);
    assert_eq!(browser.browser.why_incomplete(), None);
}

#[test]
fn answers_nobody_waits_for_are_ignored() {
    let mut b = Builder::new();
    b.add("a", image(), &[ROOT]);
    let page = compile(b.load(&["a"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete("a").bytes("a", 5).complete(ROOT).complete(ROOT);
    assert_eq!(browser.requests(), [ROOT, "a"]);
    assert!(browser.browser.load_event().is_none());
}
