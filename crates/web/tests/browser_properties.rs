//! What holds for every page.

mod browser_support;

use std::collections::{BTreeMap, BTreeSet};

use browser_support::bound::{Weights, longest_path, unshared_fetches};
use browser_support::graph::*;
use browser_support::{Load, compile, load_until, load_with_delays};
use loadpath_net::{SimDuration, SimTime};
use loadpath_web::browser::{BrowserConfig, MainThreads};
use loadpath_web::graph::{ActivityKind, PageGraph, Phase, Resource};
use loadpath_web::page::Page;
use proptest::prelude::*;

/// What an activity is made from.
#[derive(Clone, Debug)]
struct Seed {
    kind: u8,
    parents: Vec<prop::sample::Index>,
    frame: u32,
    duration_ms: f64,
    timeout_ms: f64,
    began_ms: Option<f64>,
    pick: prop::sample::Index,
    variant: u8,
}

fn seed() -> impl Strategy<Value = Seed> {
    (
        0u8..10,
        prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        0u32..4,
        prop_oneof![Just(0.0), 0.1..5.0],
        prop_oneof![Just(0.0), 0.0..20.0],
        prop::option::of((0u8..5).prop_map(f64::from)),
        any::<prop::sample::Index>(),
        0u8..12,
    )
        .prop_map(
            |(kind, parents, frame, duration_ms, timeout_ms, began_ms, pick, variant)| Seed {
                kind,
                parents,
                frame,
                duration_ms,
                timeout_ms,
                began_ms,
                pick,
                variant,
            },
        )
}

/// The chunks of the main document, each with an image; scripts hold up the parser here and there.
fn document(b: &mut Builder, seeds: &[Seed]) -> Vec<String> {
    let mut ids = vec![ROOT.to_owned()];
    for (n, seed) in seeds.iter().enumerate() {
        let (before, end) = (n.wrapping_sub(1), 100 * (n as u64 + 1));
        let (dchunk, pchunk) = (format!("dchunk_0_{n}"), format!("pchunk_0_{n}"));
        if n == 0 {
            b.add(&dchunk, chunk(ROOT, 0, end), &[ROOT]);
            b.add(&pchunk, parse(0, seed.duration_ms), &[&dchunk]);
        } else {
            let parent = format!("pchunk_0_{before}");
            b.add(&dchunk, chunk(ROOT, end - 100, end), &[&format!("dchunk_0_{before}")]);
            b.add(&pchunk, parse(0, seed.duration_ms), &[&dchunk, &parent]);
            if seed.variant % 2 == 0 {
                let (file, comp) = (format!("file_{n}"), format!("comp_{n}"));
                b.add(&file, script_file(), &[&parent]);
                b.add(&comp, script(0, seed.duration_ms), &[&file]);
                b.edge(&comp, &pchunk);
            }
        }
        let photo = format!("photo_{n}");
        b.add(&photo, image(), &[&pchunk]);
        ids.extend([dchunk, pchunk, photo]);
    }
    ids
}

/// A directed acyclic graph of every kind of activity, most of them reachable.
fn graph(seeds: &[Seed]) -> PageGraph {
    let mut b = Builder::new();
    b.frame(1, 0).frame(2, 1).frame(3, 0);
    b.graph.frames[2].process = 1;
    let (chunks, seeds) = seeds.split_at(seeds.len() / 8);
    let mut ids = document(&mut b, chunks);
    let mut resources = vec![(ROOT.to_owned(), "http://download_0.example/".to_owned(), true)];
    for (n, seed) in seeds.iter().enumerate() {
        // Names whose order as text differs from their order as numbers and from that of addition.
        let id = format!("act_{}", (n * 7 + 3) % 101);
        let document = resources[seed.pick.index(resources.len())].clone();
        let kind = match seed.kind {
            0..=2 => resource_of(seed, &id, &mut resources),
            3 => chunk(&document.0, 0, seed.variant.into()),
            4 => parse(seed.frame, seed.duration_ms),
            5 => style(seed.frame, seed.duration_ms),
            6 => event(seed.frame, seed.duration_ms),
            7 if seed.variant % 3 == 0 => {
                timer_piece(seed.frame, seed.timeout_ms, seed.duration_ms, "elsewhere")
            }
            7 => timer(seed.frame, seed.timeout_ms, seed.duration_ms),
            8 => other_work(seed.frame, seed.duration_ms),
            _ => script(seed.frame, seed.duration_ms),
        };
        let kind = match seed.variant {
            0 => in_phase(kind, Phase::End),
            _ => kind,
        };
        let mut parents: BTreeSet<&str> =
            seed.parents.iter().map(|p| ids[p.index(ids.len())].as_str()).collect();
        if seed.kind == 3 {
            parents = [&*document.0].into();
        }
        if seed.variant > 1 && parents.is_empty() {
            parents.insert(ROOT);
        }
        let parents: Vec<&str> = parents.into_iter().collect();
        b.add(&id, kind, &parents);
        set_began(&mut b.graph, seed.began_ms);
        ids.push(id);
    }
    let last: BTreeSet<&str> =
        ids.iter().rev().step_by(3).map(String::as_str).chain([ROOT]).collect();
    b.load(&last.into_iter().collect::<Vec<_>>()).clone()
}

fn resource_of(seed: &Seed, id: &str, resources: &mut Vec<(String, String, bool)>) -> ActivityKind {
    let types = ["text/html", "text/css", "text/javascript", "image/png", "font/woff"];
    let (other, other_url, is_original) = &resources[seed.pick.index(resources.len())];
    let (url, original) = match seed.variant {
        1 => ("data:,".to_owned(), None),
        2 => (other_url.clone(), None),
        3 if *is_original => (other_url.clone(), Some(other.clone())),
        4 => (format!("http://shared.example/{id}"), None),
        _ => (format!("http://{id}.example/"), None),
    };
    resources.push((id.to_owned(), url.clone(), original.is_none()));
    ActivityKind::Resource(Resource {
        url,
        method: "GET".into(),
        mime_type: types[seed.variant as usize % types.len()].into(),
        size_bytes: 100,
        cached: original.is_some() || seed.variant == 5,
        original,
        server_delay_ms: Some(seed.timeout_ms),
        recorded_sent_ms: seed.began_ms,
        ..Resource::default()
    })
}

fn set_began(graph: &mut PageGraph, began_ms: Option<f64>) {
    match &mut graph.activities.last_mut().unwrap().kind {
        ActivityKind::Resource(r) => r.recorded_sent_ms = began_ms,
        ActivityKind::ParseChunk(p) => p.recorded_start_ms = began_ms,
        ActivityKind::Evaluation(e) => e.recorded_start_ms = began_ms,
        _ => {}
    }
}

fn graphs() -> impl Strategy<Value = PageGraph> {
    prop::collection::vec(seed(), 0..40).prop_map(|seeds| graph(&seeds))
}

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

/// Letters of a host name, exchanged so that the alphabetical order of hosts changes.
fn renamed(url: &str) -> String {
    match url.strip_prefix("http://").and_then(|rest| rest.split_once('/')) {
        Some((host, path)) => {
            let host: String = host.chars().rev().collect();
            format!("http://{}/{path}", host.replace('a', "zz"))
        }
        None => url.to_owned(),
    }
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
