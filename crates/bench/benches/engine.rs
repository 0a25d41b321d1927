//! Parts of the engine and whole loads: `cargo bench -p loadpath-bench`.

use std::hint::black_box;
use std::path::Path;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use loadpath_net::{
    Bitrate, Capacity, EventQueue, Hop, Loss, Queue, SimDuration, SimTime, Streams,
};
use loadpath_sim::{Scenario, summarise};
use loadpath_web::graph::PageGraph;
use loadpath_web::page::Page;

const PACKET_BYTES: u32 = 1502;

/// A page load's queue: a few links that move on at each event, many timers that do not.
fn event_queue(c: &mut Criterion) {
    c.bench_function("event queue: pop and push, 200 pending", |b| {
        let mut queue = EventQueue::default();
        let mut draws = Streams::new(1, 0).stream("bench", 0);
        for i in 0..200u32 {
            queue.push(SimTime((draws.unit() * 1e9) as u64), i);
        }
        b.iter(|| {
            let (at, event) = queue.pop().expect("every pop is followed by a push");
            queue.push(at + SimDuration((draws.unit() * 1e6) as u64), event);
        });
    });
}

fn hop(c: &mut Criterion) {
    let rate = Bitrate::from_bps(10_000_000).expect("positive");
    for (name, queue) in [
        ("hop: no queue limit", Queue::Unlimited),
        ("hop: drop-tail", Queue::DropTail(Capacity::Packets(50))),
    ] {
        c.bench_function(name, |b| {
            let mut hop = Hop::new(rate, SimDuration::from_millis(10), queue.clone(), Loss::None);
            let mut now = SimTime::ZERO;
            b.iter(|| {
                now += SimDuration(1_200_000);
                black_box(hop.admit(now, PACKET_BYTES))
            });
        });
    }
}

fn loads(c: &mut Criterion) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pages");
    for name in ["spdy-page-a", "shape-reddit"] {
        let file = folder.join(format!("{name}.json"));
        let bytes = std::fs::read(&file).expect("the example pages are in the repository");
        c.bench_function(&format!("{name}: read and compile"), |b| {
            b.iter(|| {
                let graph = PageGraph::from_json(&bytes, name).expect("an example");
                Page::compile(&graph).expect("an example")
            });
        });
        let graph = PageGraph::from_json(&bytes, name).expect("an example");
        let page = Page::compile(&graph).expect("an example");
        for (version, paths) in
            [("http/1.1", "single"), ("http/2", "single"), ("http/2", "independent")]
        {
            let overrides = [("http.version", version), ("multipath.paths", paths)];
            let overrides = overrides.map(|(k, v)| (k.to_string(), v.to_string()));
            let scenario = Scenario::resolve(None, None, &overrides).expect("plain values");
            c.bench_function(&format!("{name}: load over {version}, paths {paths}"), |b| {
                let mut run = 0;
                b.iter_batched(
                    || {
                        run += 1;
                        run
                    },
                    |run| summarise(&page, &scenario, run),
                    BatchSize::SmallInput,
                );
            });
        }
    }
}

criterion_group!(benches, event_queue, hop, loads);
criterion_main!(benches);
