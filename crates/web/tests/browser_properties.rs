//! What holds for every page.

mod browser_support;

use std::collections::{BTreeMap, BTreeSet};

use browser_support::bound::{Weights, longest_path, unshared_fetches};
use browser_support::random::{graphs, renamed};
use browser_support::{Load, compile, load_until, load_with_delays};
use loadpath_net::{SimDuration, SimTime};
use loadpath_web::browser::{BrowserConfig, MainThreads};
use loadpath_web::graph::ActivityKind;
use loadpath_web::page::Page;
use proptest::prelude::*;

fn configs() -> impl Strategy<Value = BrowserConfig> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(preloader, work, processes)| {
        BrowserConfig {
            preloader,
            other_main_thread_work: work,
            threads: if processes { MainThreads::OnePerProcess } else { MainThreads::OnePerPage },
            ..BrowserConfig::default()
        }
    })
}

fn run(page: &Page, config: &BrowserConfig) -> Load {
    load_with_delays(page, config, |r| {
        page.resources[r as usize].server_delay.unwrap_or_default() + SimDuration::from_millis(1)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn every_load_ends(graph in graphs(), config in configs()) {
        let load = run(&compile(&graph), &config);
        prop_assert!(load.load_event.is_some() && load.why_incomplete.is_none(), "{:?}", load);
    }

    #[test]
    fn a_load_that_is_cut_off_says_why(graph in graphs(), config in configs(), lost in 0u32..8) {
        let page = compile(&graph);
        let never = SimDuration::from_secs(1_000_000);
        let load = load_until(&page, &config, |r| {
            if r == lost { never } else { SimDuration::from_millis(1) }
        }, SimTime::ZERO + SimDuration::from_secs(1000));
        prop_assert_eq!(load.load_event.is_none(), load.why_incomplete.is_some());
        if let Some(why) = &load.why_incomplete {
            let url = &page.resources[lost as usize].url;
            prop_assert!(why.starts_with("1 response") && why.contains(url.as_str()), "{}", why);
        }
    }

    #[test]
    fn nothing_is_requested_or_evaluated_twice(graph in graphs(), config in configs()) {
        let page = compile(&graph);
        let load = run(&page, &config);
        let activities: BTreeSet<u32> = load.work.iter().map(|w| w.activity).collect();
        prop_assert_eq!(activities.len(), load.work.len());
        let urls: BTreeSet<&str> = load
            .requests
            .iter()
            .map(|(_, r)| page.resources[r.resource as usize].url.as_str())
            .collect();
        let by_original = graph.activities.iter().any(
            |a| matches!(&a.kind, ActivityKind::Resource(r) if r.original.is_some()));
        prop_assert!(by_original || urls.len() == load.requests.len());
    }

    #[test]
    fn a_thread_never_does_two_things_at_once(graph in graphs(), config in configs()) {
        let page = compile(&graph);
        let mut free: BTreeMap<u32, _> = BTreeMap::new();
        for work in run(&page, &config).work {
            prop_assert!(free.get(&work.thread).is_none_or(|&end| end <= work.start));
            free.insert(work.thread, work.end);
        }
        let threads = if config.threads == MainThreads::OnePerPage { 1 } else { 2 };
        prop_assert!(free.len() <= threads);
    }

    #[test]
    fn evaluations_begin_after_all_their_parents_have_ended(graph in graphs(), config in configs()) {
        let page = compile(&graph);
        let load = run(&page, &config);
        let times: BTreeMap<&str, _> = load
            .work
            .iter()
            .map(|w| (page.activity_id(w.activity), (w.start, w.end)))
            .collect();
        for parent in &graph.activities {
            for child in &parent.children {
                if let (Some(p), Some(c)) = (times.get(&*parent.id), times.get(&**child)) {
                    prop_assert!(p.1 <= c.0, "{} {}", parent.id, child);
                }
            }
        }
    }

    #[test]
    fn no_load_beats_its_longest_path(graph in graphs(), config in configs()) {
        let page = compile(&graph);
        let unshared = unshared_fetches(&graph);
        let zero = |_: &str| SimDuration::ZERO;
        let delay = |id: &str| match page.resources.iter().find(|r| r.id == id) {
            Some(r) if unshared[id] && !config.preloader => {
                r.server_delay.unwrap_or_default() + SimDuration::from_millis(1)
            }
            _ => SimDuration::ZERO,
        };
        let response: &dyn Fn(&str) -> SimDuration = if config.preloader { &zero } else { &delay };
        let bound = longest_path(&graph, Weights { computation: true, timers: true, response });
        if let Some(plt) = run(&page, &config).load_event {
            prop_assert!(plt.0 >= bound.0, "{} before {:?}", plt, bound);
        }
    }

    #[test]
    fn neither_the_order_of_the_file_nor_the_names_of_hosts_matter(
        graph in graphs(),
        config in configs(),
        shuffle in prop::collection::vec(any::<u32>(), 50),
    ) {
        let mut other = graph.clone();
        let key = |text: &str| {
            text.bytes().fold(shuffle[0], |h, b| h.rotate_left(5) ^ shuffle[b as usize % 50])
        };
        other.activities.sort_by_key(|a| key(&a.id));
        other.frames.sort_by_key(|f| key(&f.id.to_string()));
        for activity in &mut other.activities {
            activity.children.sort_by_key(|c| key(c));
            if let ActivityKind::Resource(r) = &mut activity.kind {
                r.url = renamed(&r.url);
            }
        }
        let (page, other) = (&compile(&graph), &compile(&other));
        let keys = |page: &Page| page.hosts.iter().map(|h| h.key).collect::<Vec<_>>();
        prop_assert_eq!(keys(page), keys(other));
        for (a, b) in page.resources.iter().zip(&other.resources) {
            prop_assert_eq!((&a.id, a.host, a.key), (&b.id, b.host, b.key));
            prop_assert_eq!(&renamed(&a.url), &b.url);
        }
        prop_assert_eq!(run(page, &config), run(other, &config));
    }
}

// The strategy would prove nothing if its pages never did anything.
#[test]
fn the_random_pages_are_not_trivial() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut seen = [0; 4];
    for _ in 0..200 {
        let graph = graphs().new_tree(&mut runner).unwrap().current();
        let page = compile(&graph);
        let load = run(&page, &BrowserConfig::default());
        seen[0] += u32::from(page.activity_count() < graph.activities.len());
        seen[1] += u32::from(load.requests.len() > 5);
        seen[2] += u32::from(load.work.len() > 10);
        seen[3] += u32::from(load.requests.iter().any(|(_, r)| r.preload));
    }
    println!("{seen:?}");
    assert!(seen.iter().all(|&n| n > 50), "{seen:?}");
}
