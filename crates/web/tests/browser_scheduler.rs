//! The main thread: Algorithms 4 and 5 of the thesis (section 3.7.2), timers, and one thread a
//! process.

mod browser_support;

use browser_support::graph::*;
use browser_support::{ByHand, compile};
use loadpath_net::SimDuration;
use loadpath_web::browser::{BrowserConfig, MainThreads};
use loadpath_web::graph::ActivityKind;
use loadpath_web::page::Page;

fn config() -> BrowserConfig {
    BrowserConfig::default()
}

/// Runs a page that needs nothing but its main document, which is there at time 0.
fn run<'p>(page: &'p Page, config: &BrowserConfig) -> Vec<(&'p str, f64)> {
    let mut browser = ByHand::start(page, config);
    browser.complete(ROOT).until(100_000.0);
    assert_eq!(browser.browser.why_incomplete(), None);
    browser.work()
}

fn order(page: &Page) -> Vec<&str> {
    run(page, &config()).into_iter().map(|(id, _)| id).collect()
}

/// A page whose thread is busy for 10 ms while all of `work`, (id, activity), is queued.
fn behind_busy(frames: &[(u32, u32)], busy_frame: u32, work: &[(&str, ActivityKind)]) -> Page {
    let mut b = Builder::new();
    for &(id, parent) in frames {
        b.frame(id, parent);
    }
    b.add("busy", script(busy_frame, 10.0), &[ROOT]);
    for (id, kind) in work {
        b.add(id, kind.clone(), &[ROOT]);
    }
    let ids: Vec<&str> = work.iter().map(|&(id, _)| id).collect();
    compile(b.load(&ids))
}

// Algorithm 4, line 3: nothing starts while the scheduler is evaluating.
#[test]
fn activities_run_one_at_a_time() {
    let page = behind_busy(&[], 0, &[("a", script(0, 2.0)), ("b", script(0, 3.0))]);
    assert_eq!(run(&page, &config()), [("busy", 0.0), ("a", 10.0), ("b", 12.0), ("load", 15.0)]);
}

// Algorithm 4, lines 8 to 10.
#[test]
fn events_and_due_timers_go_before_the_frame_queue_in_order_of_arrival() {
    let page = behind_busy(
        &[(1, 0)],
        0,
        &[
            ("script", script(0, 1.0)),
            ("parse", parse(0, 1.0)),
            ("timer_late", timer(0, 6.0, 1.0)),
            ("timer_early", timer(0, 2.0, 1.0)),
            ("event_of_a_subframe", event(1, 1.0)),
        ],
    );
    assert_eq!(
        order(&page),
        ["busy", "event_of_a_subframe", "timer_early", "timer_late", "parse", "script", "load"]
    );
}

// Section 3.7.2, before Algorithm 4: the order within a frame's queue.
#[test]
fn a_frame_parses_before_it_runs_scripts_and_style_sheets() {
    let page = behind_busy(
        &[],
        0,
        &[
            ("style", style(0, 1.0)),
            ("script", script(0, 1.0)),
            ("parse_a", parse(0, 1.0)),
            ("parse_b", parse(0, 1.0)),
        ],
    );
    assert_eq!(order(&page), ["busy", "parse_a", "parse_b", "style", "script", "load"]);
}

// Algorithm 4, lines 12 to 14: a frame's queue is emptied before the next frame has its turn.
#[test]
fn the_current_frame_keeps_the_thread_until_its_queue_is_empty() {
    let page = behind_busy(
        &[(1, 0)],
        0,
        &[
            ("sub_parse", parse(1, 1.0)),
            ("main_script", script(0, 1.0)),
            ("main_parse", parse(0, 1.0)),
        ],
    );
    assert_eq!(order(&page), ["busy", "main_parse", "main_script", "sub_parse", "load"]);
}

// Algorithm 5, lines 7 to 11, 14 to 18 and 20 to 23. The current frame is 2, below 1, beside 3.
#[test]
fn the_next_frame_is_a_subframe_then_the_parent_then_any_other() {
    let page = behind_busy(
        &[(1, 0), (2, 1), (3, 1), (4, 2), (5, 2)],
        2,
        &[
            ("main", script(0, 1.0)),
            ("parent", script(1, 1.0)),
            ("sibling", script(3, 1.0)),
            ("subframe_5", script(5, 1.0)),
        ],
    );
    // 2 to its subframe 5; 5 has no subframe and its parent 2 no work, so the first other: 0; then
    // its subframe 1, and the subframe of that, 3.
    assert_eq!(order(&page), ["busy", "subframe_5", "main", "parent", "sibling", "load"]);

    let page = behind_busy(
        &[(1, 0), (2, 1), (3, 1), (4, 2), (5, 2)],
        2,
        &[("main", script(0, 1.0)), ("sibling", script(3, 1.0)), ("parent", script(1, 1.0))],
    );
    // 2 to its parent 1, not to 0; then 1 to its subframe 3, not to 0.
    assert_eq!(order(&page), ["busy", "parent", "sibling", "main", "load"]);
}

#[test]
fn subframes_are_tried_in_order_of_their_ids() {
    let page =
        behind_busy(&[(9, 0), (4, 0)], 0, &[("nine", script(9, 1.0)), ("four", script(4, 1.0))]);
    assert_eq!(order(&page), ["busy", "four", "nine", "load"]);
}

// Algorithm 5 starts from the current frame, which stays where work was last found.
#[test]
fn an_idle_thread_stays_with_its_frame() {
    let mut b = Builder::new();
    b.frame(1, 0).frame(2, 0);
    b.add("in_2", script(2, 1.0), &[ROOT]);
    b.add("image", image(), &[ROOT]);
    b.add("busy", event(0, 5.0), &["image"]);
    for (id, frame) in [("a", 0), ("b", 1), ("c", 2)] {
        b.add(id, script(frame, 1.0), &["image"]);
    }
    let page = compile(b.load(&["a", "b", "c"]));
    let mut browser = ByHand::start(&page, &config());
    browser.complete(ROOT).until(50.0).complete("image").until(100.0);
    // The event belongs to frame 0 but does not move the pointer away from frame 2.
    assert_eq!(browser.order(), ["in_2", "busy", "c", "a", "b", "load"]);
}

// The main frame is not always frame 0.
#[test]
fn the_thread_begins_with_the_main_frame() {
    let mut b = Builder::new();
    b.graph.frames[0].id = 7;
    b.frame(1, 7);
    b.add("busy", event(7, 5.0), &[ROOT]);
    b.add("sub", script(1, 1.0), &[ROOT]).add("main", script(7, 1.0), &[ROOT]);
    b.add("load", event(7, 1.0), &["sub", "main"]);
    assert_eq!(order(&compile(&b.graph)), ["busy", "main", "sub", "load"]);
}

#[test]
fn a_timer_waits_and_then_for_the_thread() {
    let mut b = Builder::new();
    b.add("idle", timer(0, 5.0, 1.0), &[ROOT]);
    b.add("busy", script(0, 3.0), &["idle"]);
    b.add("held_up", timer(0, 1.0, 1.0), &["idle"]);
    let page = compile(b.load(&["held_up", "busy"]));
    assert_eq!(
        run(&page, &config()),
        [("idle", 5.0), ("busy", 6.0), ("held_up", 9.0), ("load", 10.0)]
    );
}

#[test]
fn without_timers_timeouts_are_zero() {
    let mut b = Builder::new();
    b.add("timer", timer(0, 5.0, 1.0), &[ROOT]);
    let page = compile(b.load(&["timer"]));
    let config = BrowserConfig { timers: false, ..config() };
    assert_eq!(run(&page, &config), [("timer", 0.0), ("load", 1.0)]);
}

#[test]
fn later_pieces_of_a_timer_do_not_wait_again() {
    let mut b = Builder::new();
    b.add("comp_1_0", timer(0, 5.0, 1.0), &[ROOT]);
    b.add("nested", script(0, 1.0), &["comp_1_0"]);
    b.add("comp_1_1", timer_piece(0, 5.0, 1.0, "comp_1"), &["nested"]);
    let page = compile(b.load(&["comp_1_1"]));
    assert_eq!(
        run(&page, &config()),
        [("comp_1_0", 5.0), ("nested", 6.0), ("comp_1_1", 7.0), ("load", 8.0)]
    );
}

#[test]
fn later_pieces_of_a_timer_go_ahead_of_the_frame_queue_like_the_first() {
    let mut b = Builder::new();
    b.add("comp_1_0", timer(0, 0.0, 2.0), &[ROOT]);
    b.add("queued", timer(0, 1.0, 1.0), &[ROOT]);
    b.add("parse", parse(0, 1.0), &["comp_1_0"]);
    b.add("comp_1_1", timer_piece(0, 0.0, 1.0, "comp_1"), &["comp_1_0"]);
    b.add("parse_2", parse(0, 1.0), &["comp_1_0"]);
    let page = compile(b.load(&["comp_1_1", "queued", "parse_2"]));
    assert_eq!(order(&page), ["comp_1_0", "queued", "comp_1_1", "parse", "parse_2", "load"]);
}

/// A chain of `count` timers of `timeout_ms` without duration.
fn timer_chain(b: &mut Builder, count: usize, timeout_ms: f64) -> Vec<String> {
    let ids: Vec<String> = (1..=count).map(|i| format!("timer_{i}")).collect();
    for (i, id) in ids.iter().enumerate() {
        let parent = if i == 0 { ROOT } else { &ids[i - 1] };
        b.add(id, timer(0, timeout_ms, 0.0), &[parent]);
    }
    ids
}

fn starts(page: &Page, config: &BrowserConfig) -> Vec<f64> {
    run(page, config).into_iter().map(|(_, ms)| ms).collect()
}

// Section 3.7.2, before Algorithm 4: the clamp of nested timeouts.
#[test]
fn nested_zero_timeouts_take_4_ms_from_the_sixth_level_on() {
    let mut b = Builder::new();
    let ids = timer_chain(&mut b, 8, 0.0);
    let page = compile(b.load(&[&ids[7]]));
    assert_eq!(starts(&page, &config()), [0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 8.0, 12.0, 12.0]);
    let other = BrowserConfig {
        timer_clamp: SimDuration::from_millis(10),
        timer_clamp_level: 8,
        ..config()
    };
    assert_eq!(starts(&page, &other), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 10.0, 10.0]);
}

#[test]
fn the_clamp_lengthens_short_timeouts_only() {
    let mut b = Builder::new();
    let ids = timer_chain(&mut b, 7, 3.0);
    let page = compile(b.load(&[&ids[6]]));
    assert_eq!(starts(&page, &config()), [3.0, 6.0, 9.0, 12.0, 15.0, 19.0, 23.0, 23.0]);
    let mut b = Builder::new();
    let ids = timer_chain(&mut b, 7, 5.0);
    let page = compile(b.load(&[&ids[6]]));
    assert_eq!(starts(&page, &config()), [5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 35.0]);
}

#[test]
fn nesting_goes_through_pieces_and_scripts_of_the_timer_but_not_through_responses() {
    let mut b = Builder::new();
    let ids = timer_chain(&mut b, 5, 0.0);
    b.add("piece", timer_piece(0, 0.0, 0.0, "timer_5"), &[&ids[4]]);
    b.add("script", script(0, 0.0), &["piece"]);
    b.add("sixth", timer(0, 0.0, 0.0), &["script"]);
    b.add("data", resource_at("data:,", None), &[&ids[4]]);
    b.add("event", event(0, 0.0), &["data"]);
    b.add("first_again", timer(0, 0.0, 0.0), &["event"]);
    let page = compile(b.load(&["sixth", "first_again"]));
    let start = |id: &str| run(&page, &config()).iter().find(|w| w.0 == id).unwrap().1;
    assert_eq!(start("sixth"), 4.0);
    assert_eq!(start("first_again"), 0.0);
}

// The reason that section 3.7.2 gives for the clamp.
#[test]
fn a_clamped_chain_lets_other_work_run() {
    let mut b = Builder::new();
    b.add("busy", script(0, 1.0), &[ROOT]);
    for i in 1..=8 {
        let parent = if i == 1 { "busy".into() } else { format!("timer_{}", i - 1) };
        b.add(&format!("timer_{i}"), timer(0, 0.0, 1.0), &[&parent]);
    }
    b.add("parse", parse(0, 1.0), &["timer_1"]);
    b.add("parse_2", parse(0, 1.0), &["parse"]);
    let page = compile(b.load(&["timer_8", "parse_2"]));
    // A zero timeout is over as soon as the thread has looked for other work.
    let order = order(&page);
    let place = |id: &str| order.iter().position(|&o| o == id).unwrap();
    assert!(place("parse_2") < place("timer_6"), "{order:?}");
}

#[test]
fn a_script_goes_on_before_the_zero_timeout_that_it_set() {
    let mut b = Builder::new();
    b.add("comp_1_0", script(0, 1.0), &[ROOT]);
    b.add("timer", timer(0, 0.0, 1.0), &["comp_1_0"]);
    b.add("comp_1_1", script(0, 1.0), &["comp_1_0"]);
    let page = compile(b.load(&["comp_1_1", "timer"]));
    assert_eq!(order(&page), ["comp_1_0", "comp_1_1", "timer", "load"]);
}

#[test]
fn other_main_thread_work_takes_the_thread_only_if_asked_for() {
    let mut b = Builder::new();
    b.add("script", script(0, 1.0), &[ROOT]);
    b.add("layout", other_work(0, 5.0), &["script"]);
    b.add("after", script(0, 1.0), &["layout"]);
    let page = compile(b.load(&["after"]));
    assert_eq!(run(&page, &config()), [("script", 0.0), ("after", 1.0), ("load", 2.0)]);
    let all = BrowserConfig { other_main_thread_work: true, ..config() };
    assert_eq!(run(&page, &all), [("script", 0.0), ("layout", 1.0), ("after", 6.0), ("load", 7.0)]);
}

#[test]
fn frames_of_other_processes_run_at_the_same_time_if_so_configured() {
    let mut b = Builder::new();
    b.frame(1, 0).frame(2, 0).frame(3, 1);
    b.graph.frames[1].process = 40;
    b.graph.frames[3].process = 40;
    for frame in 0..4 {
        b.add(&format!("script_{frame}"), script(frame, 10.0), &[ROOT]);
    }
    b.add("event_1", event(1, 10.0), &[ROOT]);
    let page = compile(b.load(&["script_0", "script_1", "script_2", "script_3", "event_1"]));

    let alone = run(&page, &config());
    assert_eq!(alone.last(), Some(&("load", 50.0)));

    let processes = BrowserConfig { threads: MainThreads::OnePerProcess, ..config() };
    let mut browser = ByHand::start(&page, &processes);
    browser.complete(ROOT).until(100.0);
    assert_eq!(
        browser.work(),
        [
            ("script_0", 0.0),
            ("script_1", 0.0),
            ("script_2", 10.0),
            ("event_1", 10.0),
            ("script_3", 20.0),
            ("load", 30.0),
        ]
    );
    let threads: Vec<u32> = browser.browser.main_thread_log().iter().map(|w| w.thread).collect();
    assert_eq!(threads, [0, 1, 0, 1, 1, 0]);
}
