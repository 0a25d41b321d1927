//! Requests that are held back until a document has a body, as Chromium's resource_load_scheduler.cc does.

mod browser_support;

use browser_support::graph::*;
use browser_support::{ByHand, compile};
use loadpath_web::browser::BrowserConfig;
use loadpath_web::graph::{ActivityKind, ParseChunk, Resource};
use loadpath_web::page::Page;

fn tight() -> BrowserConfig {
    BrowserConfig { preload_on_arrival: true, tight_mode: true, ..BrowserConfig::default() }
}

fn of_priority(mime_type: &str, priority: &str) -> ActivityKind {
    let ActivityKind::Resource(r) = resource(mime_type, 10) else { unreachable!() };
    ActivityKind::Resource(Resource { browser_priority: Some(priority.into()), ..r })
}

/// A head with two scripts that hold up the parser, and a body with images; the scripts run for `script_ms`.
fn page(script_ms: f64) -> Page {
    let mut b = Builder::new();
    b.add("dchunk_0_0", chunk(ROOT, 0, 300), &[ROOT]);
    b.add("dchunk_0_1", chunk(ROOT, 300, 600), &["dchunk_0_0"]);
    b.add("dchunk_0_2", chunk(ROOT, 600, 900), &["dchunk_0_1"]);
    b.add("pchunk_0_0", parse(0, 1.0), &["dchunk_0_0"]);
    b.add("one", of_priority("text/javascript", "High"), &["pchunk_0_0"]);
    b.add("comp_0", script(0, script_ms), &["one"]);
    b.add("pchunk_0_1", parse(0, 1.0), &["pchunk_0_0", "dchunk_0_1", "comp_0"]);
    b.add("two", of_priority("text/javascript", "High"), &["pchunk_0_1"]);
    b.add("comp_1", script(0, script_ms), &["two"]);
    b.add("deferred", of_priority("text/javascript", "Low"), &["pchunk_0_1"]);
    let body = ActivityKind::ParseChunk(ParseChunk {
        frame: 0,
        duration_ms: 1.0,
        recorded_start_ms: None,
        end_tag: String::new(),
        position: None,
        inserts_body: true,
    });
    b.add("pchunk_0_2", body, &["pchunk_0_1", "dchunk_0_2", "comp_1"]);
    for name in ["a", "b", "c"] {
        b.add(name, of_priority("image/png", "Medium"), &["pchunk_0_2"]);
    }
    b.add("film", of_priority("video/webm", "Low"), &["pchunk_0_2"]);
    b.add("d", of_priority("image/png", "Low"), &["pchunk_0_2"]);
    compile(b.load(&["deferred", "a", "b", "c", "d", "film"]))
}

const HEAD: [&str; 4] = ["one (preload)", "two (preload)", "a (preload)", "b (preload)"];

#[test]
fn two_images_of_medium_priority_begin_whatever_else_is_under_way() {
    let page = page(1.0);
    let mut browser = ByHand::start(&page, &tight());
    browser.complete(ROOT).until(10.0);
    assert_eq!(browser.requests()[1..], HEAD);
    browser.complete("a");
    assert_eq!(browser.requests(), ["c (preload)"]);
}

#[test]
fn others_begin_when_less_than_two_are_under_way() {
    let page = page(1.0);
    let mut browser = ByHand::start(&page, &tight());
    browser.complete(ROOT).until(10.0).complete("one").until(20.0);
    assert_eq!(browser.requests()[1..], HEAD, "three are under way");
    browser.complete("a");
    assert_eq!(browser.requests(), ["c (preload)"]);
    browser.complete("b");
    assert_eq!(browser.requests(), <[&str; 0]>::default(), "two are under way");
    browser.complete("c");
    assert_eq!(browser.requests(), ["deferred (preload)"], "in the order of the document");
}

#[test]
fn the_main_thread_deals_with_a_response_between_two_tasks() {
    let page = page(10.0);
    let mut browser = ByHand::start(&page, &tight());
    browser.complete(ROOT).until(10.0).complete("one").until(15.0).complete("a");
    assert_eq!(browser.requests()[1..], HEAD, "the first script runs until 20 ms");
    browser.until(21.0);
    assert_eq!(browser.requests(), ["c (preload)"]);
}

#[test]
fn with_the_body_all_begin() {
    let page = page(1.0);
    let mut browser = ByHand::start(&page, &tight());
    browser.complete(ROOT).until(10.0).complete("one").complete("two");
    browser.until(30.0);
    let after = [&HEAD[..], &["c (preload)", "deferred (preload)", "d (preload)", "film"]].concat();
    assert_eq!(browser.requests()[1..], after, "the preloader asks for no film");
}

#[test]
fn without_tight_mode_or_word_of_a_body_nothing_waits() {
    let all =
        ["one", "two", "deferred", "a", "b", "c", "d"].map(|name| format!("{name} (preload)"));
    let page = page(1.0);
    let mut browser = ByHand::start(&page, &BrowserConfig { tight_mode: false, ..tight() });
    browser.complete(ROOT).until(10.0);
    assert_eq!(browser.requests()[1..], all);
}
