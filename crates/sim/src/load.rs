//! Running loads: one with its whole outcome, or many of which only the figures are kept.

use loadpath_net::{Hop, SimTime};
use loadpath_transport::{Endpoint, MultipathEndpoint, Stats, Transport};
use loadpath_web::graph::MimeClass;
use loadpath_web::page::{Page, PageResource};
use serde::Serialize;

use crate::critical_path::critical_path;
use crate::outcome::*;
use crate::scenario::{End, PathsKind, PriorityKind, Scenario};
use crate::topology::Bottleneck;
use crate::trace::{Full, Hash, Off, Tracer, ms};
use crate::world::{Connection, Timeline, World};

/// What to record besides the outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Packets, windows, queues, main thread.
    pub trace: bool,
}

/// The figures of one load, cheap enough for millions of them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// How the load ended.
    pub status: Status,
    /// When the load event handler started.
    pub plt_ms: Option<f64>,
    /// When the DOMContentLoaded handler of the main frame started.
    pub dcl_ms: Option<f64>,
    /// Connections opened.
    pub connections: u64,
    /// Requests sent over the network.
    pub requests: u64,
    /// Sums over the load.
    pub totals: Totals,
    /// What the load event waited for, without the steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_path: Option<CriticalPath>,
}

/// Loads `page` once and reports everything.
pub fn simulate(page: &Page, scenario: &Scenario, run: u64, options: &Options) -> Outcome {
    match scenario.multipath.paths {
        PathsKind::Single => {
            simulate_over::<Endpoint>(page, scenario, |end| scenario.tcp(end), run, options)
        }
        _ => {
            let config = |end| scenario.multipath(end);
            simulate_over::<MultipathEndpoint>(page, scenario, config, run, options)
        }
    }
}

fn simulate_over<C: Transport>(
    page: &Page,
    scenario: &Scenario,
    transport: impl Fn(End) -> C::Config,
    run: u64,
    options: &Options,
) -> Outcome {
    if options.trace {
        let tracer = Full::default();
        let mut world = World::<_, C>::new(page, scenario, transport, run, tracer, true);
        let status = status(world.run());
        let main_thread = main_thread(&world);
        let mut hash = std::mem::take(&mut world.tracer.hash);
        for m in &main_thread {
            hash.add(m.start_ms.to_bits());
            hash.add(m.end_ms.to_bits());
        }
        let mut trace = std::mem::take(&mut world.tracer.trace);
        trace.main_thread = main_thread;
        outcome(&world, scenario, run, status, hash.0, Some(trace))
    } else {
        let tracer = Hash::default();
        let mut world = World::<_, C>::new(page, scenario, transport, run, tracer, true);
        let status = status(world.run());
        for m in main_thread(&world) {
            world.tracer.add(m.start_ms.to_bits());
            world.tracer.add(m.end_ms.to_bits());
        }
        let hash = world.tracer.0;
        outcome(&world, scenario, run, status, hash, None)
    }
}

/// Loads `page` once and keeps only the figures.
pub fn summarise(page: &Page, scenario: &Scenario, run: u64) -> Summary {
    match scenario.multipath.paths {
        PathsKind::Single => {
            summarise_over::<Endpoint>(page, scenario, |end| scenario.tcp(end), run)
        }
        _ => {
            let config = |end| scenario.multipath(end);
            summarise_over::<MultipathEndpoint>(page, scenario, config, run)
        }
    }
}

fn summarise_over<C: Transport>(
    page: &Page,
    scenario: &Scenario,
    transport: impl Fn(End) -> C::Config,
    run: u64,
) -> Summary {
    let mut world = World::<_, C>::new(page, scenario, transport, run, Off, false);
    let status = status(world.run());
    Summary {
        status,
        plt_ms: world.browser.load_event().map(ms),
        dcl_ms: world.browser.dom_content_loaded().map(ms),
        connections: world.connections.len() as u64,
        requests: world.requested.len() as u64,
        totals: totals(&world),
        critical_path: critical_path(&world, false),
    }
}

impl PriorityKind {
    pub(crate) fn of(self, resource: &PageResource) -> u32 {
        let p = &resource.priorities;
        match self {
            PriorityKind::None => 0,
            PriorityKind::MimeType => p.mime_type,
            PriorityKind::MimeClass => p.mime_class,
            PriorityKind::CriticalPath => p.critical_path,
            PriorityKind::NodeDepth => p.node_depth,
            PriorityKind::Spdy => spdy_level(resource.mime_class),
            PriorityKind::Browser => p.browser,
        }
    }
}

/// Chromium 16, DetermineRequestPriority in resource_dispatcher_host.cc: frames, then style sheets and
/// scripts, then other resources, then images. SPDY/2 has these four levels, 0 the most urgent.
fn spdy_level(class: MimeClass) -> u32 {
    match class {
        MimeClass::Html => 0,
        MimeClass::Css | MimeClass::Javascript => 1,
        MimeClass::Other => 2,
        MimeClass::Image => 3,
    }
}

fn status(result: Result<(), String>) -> Status {
    match result {
        Ok(()) => Status::Complete,
        Err(reason) => Status::Failed { reason },
    }
}

fn outcome<T: Tracer, C: Transport>(
    world: &World<T, C>,
    scenario: &Scenario,
    run: u64,
    status: Status,
    hash: u64,
    trace: Option<Trace>,
) -> Outcome {
    Outcome {
        label: Label::Simulated,
        page: world.page.name.clone(),
        seed: scenario.random.seed,
        run,
        status,
        plt_ms: world.browser.load_event().map(ms),
        dcl_ms: world.browser.dom_content_loaded().map(ms),
        resources: world.requested.iter().map(|&r| resource(world, scenario, r)).collect(),
        connections: connections(world),
        queues: queues(world),
        totals: totals(world),
        critical_path: critical_path(world, true),
        trace_hash: format!("{hash:016x}"),
        trace: trace.map(|t| with_resource_order(t, &world.requested)),
    }
}

/// Packets name resources by their place in the page; outcomes by their place in the list of
/// requests.
fn with_resource_order(mut trace: Trace, requested: &[u32]) -> Trace {
    let mut place = std::collections::BTreeMap::new();
    for (i, &r) in requested.iter().enumerate() {
        place.insert(r as usize, i);
    }
    for packet in &mut trace.packets {
        packet.resource = packet.resource.and_then(|r| place.get(&r).copied());
    }
    for completion in &mut trace.completions {
        completion.resource = completion.resource.and_then(|r| place.get(&r).copied());
    }
    trace
}

fn resource<T, C: Transport>(
    world: &World<T, C>,
    scenario: &Scenario,
    index: u32,
) -> ResourceOutcome {
    let r = &world.page.resources[index as usize];
    let t = &world.timelines[index as usize];
    ResourceOutcome {
        id: r.id.clone(),
        url: r.url.clone(),
        host: world.page.hosts[r.host as usize].name.clone(),
        mime_type: r.mime_type.clone(),
        connection: t.connection.map(|c| c as usize),
        size_bytes: r.size_bytes,
        preloaded: t.preloaded,
        priority: scenario.http.priorities.of(r),
        start_ms: ms(t.requested),
        end_ms: t.last_byte.map(ms),
        phases: phases(world, t, t.last_byte),
    }
}

/// Where the time of a resource went, from its request until `end`, not before its first byte.
pub(crate) fn phases<T, C: Transport>(
    world: &World<T, C>,
    t: &Timeline,
    end: Option<SimTime>,
) -> Option<Phases> {
    let connection = &world.connections[t.connection? as usize];
    let sent = t.request_sent?;
    let ready = connection.ready?.min(sent);
    // Setup counts for the part of the wait during which this connection was being set up.
    let setup = ready.since(t.requested.max(connection.opened));
    let waited = sent.since(t.requested);
    let span = |from: Option<SimTime>, to: Option<SimTime>| -> Option<f64> {
        Some(to?.since(from?).as_millis_f64())
    };
    Some(Phases {
        connection_setup_ms: setup.as_millis_f64(),
        client_queue_ms: (waited - setup).as_millis_f64(),
        request_flight_ms: span(t.request_sent, t.request_arrived)?,
        server_queue_ms: span(t.request_arrived, t.processing_started)?,
        server_processing_ms: span(t.processing_started, t.processed)?,
        response_wait_ms: span(t.processed, t.response_sent)?,
        first_byte_flight_ms: span(t.response_sent, t.first_byte)?,
        transfer_ms: span(t.first_byte, end)?,
    })
}

fn connections<T, C: Transport>(world: &World<T, C>) -> Vec<ConnectionOutcome> {
    world
        .connections
        .iter()
        .map(|c| {
            let (client, server) = (c.client.stats(), c.server.stats());
            let first = c.server.subflows().next().map(|(_, subflow)| subflow);
            ConnectionOutcome {
                host: world.page.hosts[c.host as usize].name.clone(),
                opened_ms: ms(c.opened),
                established_ms: c.ready.map(ms),
                requests: c.requests,
                bytes_up: client.data_bytes,
                bytes_down: server.data_bytes,
                data_segments: server.data_segments,
                retransmissions: client.retransmissions + server.retransmissions,
                timeouts: client.timeouts + server.timeouts,
                tail_losses: client.tail_losses + server.tail_losses,
                recoveries: server.recoveries,
                srtt_ms: first.and_then(Endpoint::srtt).map(|d| d.as_millis_f64()),
                cwnd_bytes: c.server.subflows().map(|(_, s)| s.cwnd_bytes()).sum(),
                subflows: if C::SEVERAL_PATHS { subflows(c) } else { Vec::new() },
            }
        })
        .collect()
}

fn subflows<C: Transport>(c: &Connection<C>) -> Vec<SubflowOutcome> {
    c.server
        .subflows()
        .zip(c.client.subflows())
        .enumerate()
        .map(|(i, ((path, server), (_, client)))| {
            let both = |count: fn(&Stats) -> u64| count(server.stats()) + count(client.stats());
            SubflowOutcome {
                path: u64::from(path.0) + 1,
                server_ready_ms: c.subflows_ready.get(i).copied().flatten().map(ms),
                bytes_down: server.stats().data_bytes,
                data_segments: server.stats().data_segments,
                retransmissions: both(|s| s.retransmissions),
                timeouts: both(|s| s.timeouts),
                tail_losses: both(|s| s.tail_losses),
                srtt_ms: server.srtt().map(|d| d.as_millis_f64()),
                cwnd_bytes: server.cwnd_bytes(),
            }
        })
        .collect()
}

fn queues<T, C: Transport>(world: &World<T, C>) -> Vec<QueueOutcome> {
    let named = |(i, b): (usize, &Bottleneck)| {
        let name = if i == 0 { "bottleneck".to_string() } else { format!("bottleneck{}", i + 1) };
        [
            queue(world.now, format!("{name}.down"), &b.down),
            queue(world.now, format!("{name}.up"), &b.up),
        ]
    };
    world.topology.bottlenecks.iter().enumerate().flat_map(named).collect()
}

fn queue(now: SimTime, name: String, hop: &Hop) -> QueueOutcome {
    let c = hop.counters();
    QueueOutcome {
        name,
        offered_packets: c.offered_packets,
        offered_bytes: c.offered_bytes,
        dropped_packets: c.queue_drops,
        lost_packets: c.lost_packets,
        max_waiting_packets: c.max_waiting_packets,
        utilisation: hop.busy_by(now).as_secs_f64() / now.as_secs_f64().max(1e-9),
    }
}

fn totals<T, C: Transport>(world: &World<T, C>) -> Totals {
    let hops = world.topology.bottlenecks.iter().flat_map(|b| [&b.down, &b.up]);
    let mut totals = Totals {
        bytes: world.timelines.iter().map(Timeline::body_received).sum(),
        data_packets: world.data_packets,
        packets: world.packets,
        drops: hops.map(|hop| hop.counters().queue_drops).sum(),
        events: world.events_handled,
        ..Totals::default()
    };
    for c in &world.connections {
        for stats in [c.client.stats(), c.server.stats()] {
            totals.retransmissions += stats.retransmissions;
            totals.timeouts += stats.timeouts;
            totals.tail_losses += stats.tail_losses;
            totals.tail_probes += stats.tail_probes;
        }
    }
    totals
}

fn main_thread<T, C: Transport>(world: &World<T, C>) -> Vec<MainThreadRecord> {
    world
        .browser
        .main_thread_log()
        .iter()
        .map(|span| {
            let a = world.page.describe(span.activity);
            MainThreadRecord {
                start_ms: ms(span.start),
                end_ms: ms(span.end),
                id: a.id.to_string(),
                kind: a.kind,
                frame: a.frame,
                detail: a.detail.to_string(),
            }
        })
        .collect()
}
