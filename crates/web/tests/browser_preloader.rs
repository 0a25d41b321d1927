//! The preloader (thesis section 3.7.5).

mod browser_support;

use browser_support::graph::*;
use browser_support::{ByHand, compile};
use loadpath_web::browser::BrowserConfig;
use loadpath_web::graph::PageGraph;
use loadpath_web::page::Page;

fn config() -> BrowserConfig {
    BrowserConfig::default()
}

/// A document in three chunks. The first ends with a script file that holds up the parser, the
/// second has one resource of each kind, the third an image.
fn blocked_page() -> Builder {
    let mut b = Builder::new();
    b.frame(1, 0);
    b.add("dchunk_0_0", chunk(ROOT, 0, 300), &[ROOT]);
    b.add("dchunk_0_1", chunk(ROOT, 300, 600), &["dchunk_0_0"]);
    b.add("dchunk_0_2", chunk(ROOT, 600, 900), &["dchunk_0_1"]);
    b.add("pchunk_0_0", parse(0, 1.0), &["dchunk_0_0"]);
    b.add("file", script_file(), &["pchunk_0_0"]);
    b.add("comp_0", script(0, 2.0), &["file"]).add("comp_1", script(0, 2.0), &["comp_0"]);
    b.add("pchunk_0_1", parse(0, 1.0), &["pchunk_0_0", "dchunk_0_1", "comp_1"]);
    b.add("sheet", resource("text/css", 10), &["pchunk_0_1"]);
    b.add("frame", resource("text/html", 10), &["pchunk_0_1"]);
    b.add("photo", image(), &["pchunk_0_1"]);
    b.add("font", resource("font/woff", 10), &["pchunk_0_1"]);
    b.add("async_file", script_file(), &["pchunk_0_1"]);
    b.add("pchunk_0_2", parse(0, 1.0), &["pchunk_0_1", "dchunk_0_2"]);
    b.add("last", image(), &["pchunk_0_2"]);
    b
}

fn blocked_graph() -> PageGraph {
    blocked_page().load(&["sheet", "frame", "photo", "font", "async_file", "last"]).clone()
}

/// The browser of a blocked page, all of whose text arrives at 10 ms, at 20 ms.
fn blocked<'p>(page: &'p Page, config: &BrowserConfig) -> ByHand<'p> {
    let mut browser = ByHand::start(page, config);
    browser.until(10.0).complete(ROOT).until(20.0);
    browser
}

#[test]
fn style_sheets_scripts_and_images_ahead_are_requested_while_the_parser_waits_for_a_script() {
    let page = compile(&blocked_graph());
    let mut browser = ByHand::start(&page, &config());
    browser.until(10.0).complete(ROOT);
    assert_eq!(browser.requests(), [ROOT], "nothing before the parser is blocked");
    browser.until(20.0);
    assert_eq!(
        browser.requests(),
        ["file", "sheet (preload)", "photo (preload)", "async_file (preload)", "last (preload)"],
        "not the frame, not the font"
    );
}

#[test]
fn the_parser_joins_preloads_and_requests_the_rest() {
    let page = compile(&blocked_graph());
    let mut browser = blocked(&page, &config());
    browser.requests();
    browser.complete("photo").complete("file").until(30.0);
    assert_eq!(browser.requests(), ["frame", "font"]);
    for id in ["sheet", "frame", "font", "last"] {
        browser.complete(id);
    }
    assert_eq!(browser.browser.load_event(), None, "async_file is still in flight");
    browser.complete("async_file");
    assert!(browser.browser.load_event().is_some());
}

#[test]
fn without_preloader_the_parser_requests_everything_itself() {
    let page = compile(&blocked_graph());
    let mut browser = blocked(&page, &BrowserConfig { preloader: false, ..config() });
    assert_eq!(browser.requests(), [ROOT, "file"]);
    browser.complete("file").until(30.0);
    assert_eq!(browser.requests(), ["sheet", "frame", "photo", "font", "async_file", "last"]);
}

#[test]
fn a_preloader_of_what_arrives_does_not_wait_for_a_script_to_block_the_parser() {
    let page = compile(&blocked_graph());
    let on_arrival = BrowserConfig { preload_on_arrival: true, ..config() };
    let mut browser = ByHand::start(&page, &on_arrival);
    browser.bytes(ROOT, 300).until(0.5);
    assert_eq!(browser.requests(), [ROOT, "file (preload)"], "while the first chunk is parsed");
    browser.bytes(ROOT, 600);
    assert_eq!(browser.requests(), ["sheet (preload)", "photo (preload)", "async_file (preload)"]);
    browser.complete("file").until(30.0).bytes(ROOT, 900);
    assert_eq!(browser.requests(), ["frame", "font", "last (preload)"]);
    let without = BrowserConfig { preloader: false, ..on_arrival };
    let mut browser = ByHand::start(&page, &without);
    browser.bytes(ROOT, 600).until(0.5);
    assert_eq!(browser.requests(), [ROOT]);
}

#[test]
fn text_that_arrives_while_the_parser_is_blocked_is_scanned_as_it_arrives() {
    let page = compile(&blocked_graph());
    let mut browser = ByHand::start(&page, &config());
    browser.bytes(ROOT, 599).until(10.0);
    assert_eq!(browser.requests(), [ROOT, "file"]);
    browser.bytes(ROOT, 600);
    assert_eq!(browser.requests(), ["sheet (preload)", "photo (preload)", "async_file (preload)"]);
    browser.bytes(ROOT, 900);
    assert_eq!(browser.requests(), ["last (preload)"]);
}

// The preloader pauses when the script has been executed, not when it has arrived.
#[test]
fn the_preloader_goes_on_during_the_script_and_pauses_after_it() {
    let page = compile(&blocked_graph());
    let mut browser = ByHand::start(&page, &config());
    browser.bytes(ROOT, 300).until(10.0).complete("file").until(13.0);
    browser.requests();
    browser.bytes(ROOT, 600);
    assert_eq!(browser.order(), ["pchunk_0_0", "comp_0", "comp_1"], "the last piece is running");
    assert_eq!(browser.requests().len(), 3);

    let mut browser = ByHand::start(&page, &config());
    browser.bytes(ROOT, 300).until(10.0).complete("file").until(14.0).bytes(ROOT, 900);
    assert_eq!(browser.requests(), [ROOT, "file"], "the script is over: the parser goes on");
    assert_eq!(browser.order().last(), Some(&"pchunk_0_1"));
}

#[test]
fn a_script_that_is_there_already_does_not_block() {
    let mut b = blocked_page();
    b.add("early", script_file(), &[ROOT]);
    for activity in &mut b.graph.activities {
        if let ("early" | "file", loadpath_web::graph::ActivityKind::Resource(r)) =
            (&*activity.id, &mut activity.kind)
        {
            r.url = "http://shared.example/a.js".into();
        }
    }
    // The document's text arrives after "early", which waits for its response; chunks after that
    // cannot be: let the chunks be those of an inner frame's document instead.
    b.add("inner", resource("text/html", 1000), &["early"]);
    for activity in &mut b.graph.activities {
        if let loadpath_web::graph::ActivityKind::DownloadChunk(c) = &mut activity.kind {
            c.resource = "inner".into();
        }
    }
    b.graph.activities[0].children.retain(|c| c != "dchunk_0_0");
    b.edge("inner", "dchunk_0_0");
    let page = compile(b.load(&["last"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).until(10.0).complete("early").until(20.0).bytes("inner", 900);
    browser.until(21.0);
    assert_eq!(browser.requests(), [ROOT, "early", "inner"]);
    assert_eq!(browser.order(), ["pchunk_0_0", "comp_0"]);
}

// Only the blocked frame's text is scanned.
#[test]
fn the_text_of_other_frames_is_not_scanned() {
    let mut b = blocked_page();
    b.add("inner", resource("text/html", 100), &[ROOT]);
    b.add("dchunk_1_0", chunk("inner", 0, 100), &["inner"]);
    b.add("long", script(0, 5.0), &["pchunk_0_0"]);
    b.add("pchunk_1_0", parse(1, 1.0), &["dchunk_1_0"]);
    b.add("inner_photo", image(), &["pchunk_1_0"]);
    let page = compile(b.load(&["last", "inner_photo", "long"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).until(2.0).complete("inner");
    assert_eq!(browser.order(), ["pchunk_0_0", "long"]);
    assert!(!browser.requests().iter().any(|r| r.contains("inner_photo")));
    browser.until(10.0);
    assert!(browser.requests().iter().any(|r| r == "inner_photo"));
}

#[test]
fn scripts_that_hold_up_no_parser_start_no_preloader() {
    let mut b = Builder::new();
    b.add("dchunk_0_0", chunk(ROOT, 0, 300), &[ROOT]);
    b.add("dchunk_0_1", chunk(ROOT, 300, 600), &["dchunk_0_0"]);
    b.add("pchunk_0_0", parse(0, 1.0), &["dchunk_0_0"]);
    b.add("async_file", script_file(), &["pchunk_0_0"]);
    b.add("async", script(0, 1.0), &["async_file"]);
    b.add("inline", script(0, 100.0), &["pchunk_0_0"]);
    b.add("pchunk_0_1", parse(0, 1.0), &["pchunk_0_0", "dchunk_0_1", "inline"]);
    b.add("photo", image(), &["pchunk_0_1"]);
    let page = compile(b.load(&["photo", "async"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).until(50.0);
    assert_eq!(browser.requests(), [ROOT, "async_file"], "an inline script is not waited for");
    assert_eq!(browser.order(), ["pchunk_0_0", "inline"]);
}

// Section 3.7.5 speaks of the download of a synchronous script; a style sheet that the script waits
// for as well is not one, but the script is not complete before it.
#[test]
fn a_blocking_script_may_wait_for_a_style_sheet_too() {
    let mut b = blocked_page();
    b.add("sheet_0", resource("text/css", 10), &["pchunk_0_0"]);
    b.add("style_0", style(0, 1.0), &["sheet_0"]);
    b.edge("style_0", "comp_0");
    let page = compile(b.load(&["last"]));
    let mut browser = ByHand::start(&page, &config());
    browser.bytes(ROOT, 300).until(10.0).complete("file").until(20.0);
    assert_eq!(browser.requests(), [ROOT, "file", "sheet_0"]);
    browser.bytes(ROOT, 900);
    assert_eq!(browser.requests().len(), 4);
    browser.complete("sheet_0").until(30.0);
    assert_eq!(browser.order()[1..5], ["style_0", "comp_0", "comp_1", "pchunk_0_1"]);
}

#[test]
fn responses_other_than_script_files_start_no_preloader() {
    // The response of an image, in place of the script's, holds the parser up through an event.
    let mut b = blocked_page();
    for activity in &mut b.graph.activities {
        if activity.id == "comp_0" {
            activity.kind = event(0, 2.0);
        }
    }
    let page = compile(b.load(&["last"]));
    assert_eq!(blocked(&page, &config()).requests(), [ROOT, "file"]);
}

#[test]
fn a_file_that_a_script_wrote_into_the_document_blocks_like_one_in_its_text() {
    let mut b = blocked_page();
    b.graph.activities.iter_mut().find(|a| a.id == "pchunk_0_0").unwrap().children.clear();
    b.edge("pchunk_0_0", "pchunk_0_1");
    b.add("inline", script(0, 1.0), &["pchunk_0_0"]).edge("inline", "file");
    let page = compile(b.load(&["last"]));
    let mut browser = blocked(&page, &config());
    assert_eq!(browser.requests()[..3], [ROOT, "file", "sheet (preload)"]);
}

#[test]
fn text_that_the_parser_has_passed_is_not_scanned() {
    let mut b = blocked_page();
    b.add("timer", timer(0, 50.0, 1.0), &[ROOT]);
    b.add("held", image(), &["pchunk_0_0", "timer"]);
    let page = compile(b.load(&["last", "held"]));
    let mut browser = blocked(&page, &config());
    assert!(!browser.requests().iter().any(|r| r.contains("held")));
    browser.until(100.0);
    assert_eq!(browser.requests(), ["held"]);
}

#[test]
fn nothing_is_preloaded_after_the_load_event() {
    let page = compile(blocked_page().load(&["pchunk_0_0"]));
    let mut browser = ByHand::start(&page, &config());
    browser.bytes(ROOT, 300).until(10.0);
    assert!(browser.browser.load_event().is_some());
    browser.bytes(ROOT, 600).complete(ROOT).until(20.0);
    assert_eq!(browser.requests(), [ROOT, "file"]);
}

#[test]
fn a_preloader_can_be_set_going_twice_in_a_document() {
    let mut b = blocked_page();
    b.add("file_2", script_file(), &["pchunk_0_1"]);
    b.add("comp_2", script(0, 1.0), &["file_2"]).edge("comp_2", "pchunk_0_2");
    let page = compile(b.load(&["last"]));
    let mut browser = ByHand::start(&page, &config());
    browser.bytes(ROOT, 300).until(10.0).complete("file").until(20.0).bytes(ROOT, 600);
    browser.until(30.0).requests();
    browser.bytes(ROOT, 900);
    assert_eq!(browser.requests(), ["last (preload)"]);
}
