//! What the load event waited for, as the browser tells it.

mod browser_support;

use browser_support::graph::*;
use browser_support::{ByHand, compile};
use loadpath_net::SimTime;
use loadpath_web::browser::BrowserConfig;
use loadpath_web::page::Page;

fn start(page: &Page) -> ByHand<'_> {
    ByHand::start(page, &BrowserConfig::default())
}

/// The path forwards: id, milliseconds at which the step is ready, due, starts and ends, bytes.
fn path<'p>(page: &'p Page, by_hand: &ByHand<'p>) -> Vec<(&'p str, [u64; 4], Option<u64>)> {
    let ms = |t: SimTime| t.0 / 1_000_000;
    let mut steps: Vec<_> = by_hand
        .browser
        .critical_path()
        .map(|s| {
            let times = [ms(s.ready), ms(s.due), ms(s.start), ms(s.end)];
            (page.activity_id(s.activity), times, s.response.map(|r| r.bytes))
        })
        .collect();
    steps.reverse();
    steps
}

#[test]
fn there_is_none_before_the_load_event() {
    let page = compile(Builder::new().load(&[ROOT]));
    let mut browser = start(&page);
    assert_eq!(path(&page, &browser), []);
    browser.until(10.0).complete(ROOT);
    assert_eq!(
        path(&page, &browser),
        [(ROOT, [0, 0, 0, 10], Some(1000)), ("load", [10, 10, 10, 10], None)]
    );
}

#[test]
fn a_parser_waits_for_the_bytes_of_its_document_that_it_needs() {
    let mut b = Builder::new();
    b.add("dchunk_0_0", chunk(ROOT, 0, 300), &[ROOT]);
    b.add("dchunk_0_1", chunk(ROOT, 300, 600), &["dchunk_0_0"]);
    b.add("pchunk_0_0", parse(0, 1.0), &["dchunk_0_0"]);
    b.add("pchunk_0_1", parse(0, 1.0), &["pchunk_0_0", "dchunk_0_1"]);
    b.add("photo", image(), &["pchunk_0_1"]);
    let page = compile(b.load(&["photo"]));
    let end = [("photo", [31, 31, 31, 50], Some(100)), ("load", [50, 50, 50, 50], None)];

    let mut browser = start(&page);
    browser.until(10.0).bytes(ROOT, 300).until(30.0).bytes(ROOT, 700);
    browser.until(40.0).complete(ROOT).until(50.0).complete("photo");
    let document = (ROOT, [0, 0, 0, 30], Some(600));
    let parse = ("pchunk_0_1", [30, 30, 30, 31], None);
    assert_eq!(path(&page, &browser), [document, parse, end[0], end[1]]);

    // Bytes that are there before the parser gets that far hold nothing up.
    let mut browser = start(&page);
    browser.until(29.0).bytes(ROOT, 700);
    browser.until(40.0).complete(ROOT).until(50.0).complete("photo");
    let document = (ROOT, [0, 0, 0, 29], Some(300));
    let parses = [("pchunk_0_0", [29, 29, 29, 30], None), ("pchunk_0_1", [30, 30, 30, 31], None)];
    assert_eq!(path(&page, &browser), [&[document], &parses[..], &end[..]].concat());
}

/// A parser that waits for a script, and an image behind it.
fn blocked_page() -> Page {
    let mut b = Builder::new();
    b.add("dchunk_0_0", chunk(ROOT, 0, 300), &[ROOT]);
    b.add("dchunk_0_1", chunk(ROOT, 300, 600), &["dchunk_0_0"]);
    b.add("pchunk_0_0", parse(0, 1.0), &["dchunk_0_0"]);
    b.add("file", script_file(), &["pchunk_0_0"]);
    b.add("comp_0", script(0, 2.0), &["file"]);
    b.add("pchunk_0_1", parse(0, 1.0), &["pchunk_0_0", "dchunk_0_1", "comp_0"]);
    b.add("photo", image(), &["pchunk_0_1"]);
    compile(b.load(&["photo"]))
}

#[test]
fn what_the_preloader_requests_waits_for_what_let_it_look() {
    let page = blocked_page();
    let photo_from = |ms: u64| ("photo", [ms, ms, ms, 100], Some(100));
    let load = ("load", [100, 100, 100, 100], None);

    // The text is there when the parser stops: the stop is the cause.
    let mut browser = start(&page);
    browser.until(10.0).complete(ROOT).until(20.0).complete("file").until(100.0).complete("photo");
    let document = (ROOT, [0, 0, 0, 10], Some(300));
    let parse = ("pchunk_0_0", [10, 10, 10, 11], None);
    assert_eq!(path(&page, &browser), [document, parse, photo_from(11), load]);

    // The text comes while the parser waits: the text is the cause.
    let mut browser = start(&page);
    browser.until(10.0).bytes(ROOT, 300).until(15.0).complete(ROOT);
    browser.until(20.0).complete("file").until(100.0).complete("photo");
    let document = (ROOT, [0, 0, 0, 15], Some(600));
    assert_eq!(path(&page, &browser), [document, photo_from(15), load]);

    // The image is there when the parser reaches it: the script is what was waited for.
    let mut browser = start(&page);
    browser.until(10.0).complete(ROOT).until(20.0).complete("photo");
    browser.until(97.0).complete("file").until(100.0);
    let script = [
        ("file", [11, 11, 11, 97], Some(100)),
        ("comp_0", [97, 97, 97, 99], None),
        ("pchunk_0_1", [99, 99, 99, 100], None),
        ("photo", [100, 100, 100, 100], None),
    ];
    let document = (ROOT, [0, 0, 0, 10], Some(300));
    assert_eq!(path(&page, &browser), [&[document, parse], &script[..], &[load]].concat());
}

#[test]
fn timers_and_a_busy_main_thread_are_waits() {
    let mut b = Builder::new();
    b.add("comp", script(0, 10.0), &[ROOT]).add("timer", timer(0, 4.0, 1.0), &[ROOT]);
    let page = compile(b.load(&["timer"]));
    let mut browser = start(&page);
    browser.until(10.0).complete(ROOT).until(30.0);
    assert_eq!(
        path(&page, &browser),
        [
            (ROOT, [0, 0, 0, 10], Some(1000)),
            ("timer", [10, 14, 20, 21], None),
            ("load", [21, 21, 21, 21], None)
        ]
    );
}

#[test]
fn a_repeated_reference_waits_for_the_request_that_serves_it() {
    let url = "http://other.example/";
    let mut b = Builder::new();
    b.add("first", resource_at(url, None), &[ROOT]).add("comp", script(0, 5.0), &[ROOT]);
    b.add("again", resource_at(url, Some("first")), &["comp"]);
    let page = compile(b.load(&["again"]));
    let document = (ROOT, [0, 0, 0, 10], Some(1000));

    let mut browser = start(&page);
    browser.until(10.0).complete(ROOT).until(40.0).complete("first");
    let first = ("first", [10, 10, 10, 40], Some(100));
    assert_eq!(path(&page, &browser), [document, first, ("load", [40, 40, 40, 40], None)]);

    let mut browser = start(&page);
    browser.until(10.0).complete(ROOT).until(12.0).complete("first").until(40.0);
    let steps = [
        ("comp", [10, 10, 10, 15], None),
        ("again", [15, 15, 15, 15], None),
        ("load", [15, 15, 15, 15], None),
    ];
    assert_eq!(path(&page, &browser), [&[document], &steps[..]].concat());
}
