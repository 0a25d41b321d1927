//! Random small pages.

use std::collections::BTreeSet;

use loadpath_web::graph::{ActivityKind, PageGraph, Phase, Resource};
use proptest::prelude::*;

use super::graph::*;

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

/// Pages of up to 40 activities, all of which load.
pub fn graphs() -> impl Strategy<Value = PageGraph> {
    prop::collection::vec(seed(), 0..40).prop_map(|seeds| graph(&seeds))
}

/// Letters of a host name, exchanged so that the alphabetical order of hosts changes.
pub fn renamed(url: &str) -> String {
    match url.strip_prefix("http://").and_then(|rest| rest.split_once('/')) {
        Some((host, path)) => {
            let host: String = host.chars().rev().collect();
            format!("http://{}/{path}", host.replace('a', "zz"))
        }
        None => url.to_owned(),
    }
}
