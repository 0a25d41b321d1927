//! The network between the client and the servers: thesis Figures 3.17 and 6.2.
//!
//! A path leads through a bottleneck, each direction a hop with a queue; paths may share it. Every server
//! has one link to the switch, over which all paths to it go.

use loadpath_net::{Direction, Hop, Lane, Link, Loss, Queue, SimDuration, SimTime, Streams};
use loadpath_web::page::Page;

use crate::scenario::{BottleneckId, Scenario};

/// All links. `P` is a packet.
pub(crate) struct Topology<P> {
    /// In the order of [`BottleneckId`].
    pub(crate) bottlenecks: Vec<Bottleneck>,
    pub(crate) paths: Vec<Path<P>>,
    pub(crate) servers: Vec<ServerLinks<P>>,
}

/// The hops of one bottleneck.
pub(crate) struct Bottleneck {
    pub(crate) down: Hop,
    pub(crate) up: Hop,
}

/// What is on its way behind a bottleneck, on one of the paths through it.
pub(crate) struct Path<P> {
    pub(crate) bottleneck: BottleneckId,
    pub(crate) extra_delay: SimDuration,
    pub(crate) down: Lane<P>,
    /// Used if packets of several paths merge at the switch.
    pub(crate) up: Lane<P>,
}

/// A server's link in both directions.
pub(crate) struct ServerLinks<P> {
    pub(crate) to_switch: Link<P>,
    pub(crate) from_switch: Link<P>,
    /// When the host's name is known, once somebody asked for it.
    pub(crate) name_known_at: Option<SimTime>,
    /// TLS sessions of the host that the browser can resume.
    pub(crate) tls_sessions: u64,
}

impl<P> Topology<P> {
    pub(crate) fn new(scenario: &Scenario, page: &Page, streams: &Streams) -> Self {
        let plan = scenario.topology();
        let delay_of = |bottleneck: BottleneckId| {
            let path = plan.paths.iter().find(|p| p.bottleneck == bottleneck);
            path.map_or(SimDuration::ZERO, |p| p.delay)
        };
        let bottlenecks = plan
            .bottlenecks
            .iter()
            .map(|&b| {
                let hop = |direction| {
                    scenario.bottleneck(b, direction, delay_of(b), streams).counting_waiting()
                };
                Bottleneck { down: hop(Direction::Down), up: hop(Direction::Up) }
            })
            .collect();
        let paths = plan
            .paths
            .iter()
            .map(|p| Path {
                bottleneck: p.bottleneck,
                extra_delay: p.extra_delay,
                down: Lane::default(),
                up: Lane::default(),
            })
            .collect();
        let jitter_fraction = scenario.network.jitter_fraction;
        let servers = page
            .hosts
            .iter()
            .map(|host| {
                let jitter = streams.stream("server.jitter", host.key).symmetric();
                let delay = plan.server_delay.0 as f64 * (1.0 + jitter_fraction * jitter);
                let link = || {
                    let delay = SimDuration(delay.round() as u64);
                    Link::new(Hop::new(plan.server_rate, delay, Queue::Unlimited, Loss::None))
                };
                ServerLinks {
                    to_switch: link(),
                    from_switch: link(),
                    name_known_at: None,
                    tls_sessions: 0,
                }
            })
            .collect();
        Topology { bottlenecks, paths, servers }
    }
}
