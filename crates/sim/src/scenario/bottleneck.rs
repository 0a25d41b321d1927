//! From scenario values to links: the bottlenecks, for the simulated world and for links in real
//! time, and the paths through them.

use loadpath_net::{
    Bitrate, Capacity, Direction, Hop, Loss, Queue, RedConfig, RedUnit, Schedule, SimDuration,
    SimTime, Stream, Streams,
};

use super::{PathsKind, QueueKind, Scenario};

/// Which of a scenario's bottlenecks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BottleneckId {
    /// That of `network`: of the first path, or of all if they share it.
    First,
    /// That of `path2`, if the paths are independent.
    Second,
}

impl BottleneckId {
    /// Number of its hop in one direction, in traces, outcomes and names of random streams.
    #[inline]
    pub(crate) fn hop_index(self, direction: Direction) -> usize {
        let place = match direction {
            Direction::Down => 0,
            Direction::Up => 1,
        };
        2 * self as usize + place
    }
}

/// A path between the client and the switch.
pub(crate) struct PathPlan {
    pub bottleneck: BottleneckId,
    /// One-way delay of the bottleneck.
    pub delay: SimDuration,
    /// One-way delay beside it.
    pub extra_delay: SimDuration,
}

/// Everything between the client and the servers.
pub(crate) struct TopologyPlan {
    /// In the order of their numbers.
    pub bottlenecks: &'static [BottleneckId],
    pub paths: Vec<PathPlan>,
    /// Rate and one-way delay of the servers' links.
    pub server_rate: Bitrate,
    pub server_delay: SimDuration,
}

/// How long a queue may grow.
struct QueueLimit {
    /// In the scenario's unit; replaces `bdp` if positive.
    limit: u64,
    /// In bandwidth-delay products of the path.
    bdp: f64,
    rtt_ms: f64,
}

impl Scenario {
    /// A bottleneck in one direction, `delay` long, with the random draws of `streams`.
    pub fn bottleneck(
        &self,
        bottleneck: BottleneckId,
        direction: Direction,
        delay: SimDuration,
        streams: &Streams,
    ) -> Hop {
        let (n, p) = (&self.network, &self.path2);
        let limit = match bottleneck {
            BottleneckId::First => {
                QueueLimit { limit: n.queue_limit, bdp: n.queue_limit_bdp, rtt_ms: n.rtt_ms }
            }
            BottleneckId::Second => QueueLimit {
                limit: p.queue_limit.get(),
                bdp: p.queue_limit_bdp.get(),
                rtt_ms: p.rtt_ms.get(),
            },
        };
        let (queue, loss_fraction, drops) = match (bottleneck, direction) {
            (BottleneckId::First, Direction::Down) => (n.queue, n.loss_down_fraction, &n.drop_down),
            (BottleneckId::First, Direction::Up) => (n.up_queue, n.loss_up_fraction, &n.drop_up),
            (BottleneckId::Second, Direction::Down) => {
                (p.queue.get(), p.loss_down_fraction, &p.drop_down)
            }
            (BottleneckId::Second, Direction::Up) => {
                (p.up_queue.get(), p.loss_up_fraction, &p.drop_up)
            }
        };
        let schedule = self.schedule(bottleneck, direction);
        let constant = bitrate(self.rate_bps(bottleneck, direction));
        let rate = schedule.map_or(constant, Schedule::mean);
        let index = bottleneck.hop_index(direction) as u64;
        let queue = self.queue(queue, rate, &limit, streams.stream("queue.red", index));
        let random = match loss_fraction {
            probability if probability > 0.0 => {
                Loss::Bernoulli { probability, stream: streams.stream("link.loss", index) }
            }
            _ => Loss::None,
        };
        let (down_at_ms, up_at_ms) = match bottleneck {
            BottleneckId::First => (n.down_at_ms, n.up_at_ms),
            BottleneckId::Second => (p.down_at_ms, p.up_at_ms),
        };
        let at = |ms| SimTime::ZERO + SimDuration::from_millis_f64(ms);
        let loss = drops.loss().unwrap_or(random);
        let loss = if down_at_ms == up_at_ms {
            loss
        } else {
            loss.with_outage(at(down_at_ms), at(up_at_ms))
        };
        let hop = Hop::new(rate, delay, queue, loss);
        match schedule {
            Some(schedule) => hop.paced(schedule.clone()),
            None => hop,
        }
    }

    /// Thesis Figures 3.17 and 6.2. A path is defined by its round-trip time: the servers' links have a
    /// quarter of the smaller one, the rest lies between client and switch.
    pub(crate) fn topology(&self) -> TopologyPlan {
        use BottleneckId::{First, Second};
        let rtt = SimDuration::from_millis_f64(self.network.rtt_ms);
        let rtt2 = SimDuration::from_millis_f64(self.path2.rtt_ms.get());
        let smaller = if self.uses_path2() { rtt.min(rtt2) } else { rtt };
        let server_delay = SimDuration((smaller.0 + 2) / 4);
        let delay = |rtt: SimDuration| {
            if rtt == smaller { server_delay } else { SimDuration(rtt.0 / 2) - server_delay }
        };
        let path = |bottleneck, delay, extra_delay| PathPlan { bottleneck, delay, extra_delay };
        let none = SimDuration::ZERO;
        let first = path(First, delay(rtt), none);
        let paths = match self.multipath.paths {
            PathsKind::Single | PathsKind::Same => vec![first],
            PathsKind::Independent => vec![first, path(Second, delay(rtt2), none)],
            PathsKind::SharedBottleneck => {
                vec![first, path(First, delay(rtt), delay(rtt2) - delay(rtt))]
            }
        };
        let bottlenecks: &[_] = match self.multipath.paths {
            PathsKind::Independent => &[First, Second],
            _ => &[First],
        };
        let sum = |direction| bottlenecks.iter().map(|&b| self.peak_bps(b, direction)).sum();
        let faster = bitrate(sum(Direction::Down)).max(bitrate(sum(Direction::Up)));
        let server_rate = faster.times(self.network.server_rate_factor);
        TopologyPlan { bottlenecks, paths, server_rate, server_delay }
    }

    fn rate_bps(&self, bottleneck: BottleneckId, direction: Direction) -> u64 {
        match (bottleneck, direction) {
            (BottleneckId::First, Direction::Down) => self.network.rate_bps,
            (BottleneckId::First, Direction::Up) => self.network.up_rate_bps.get(),
            (BottleneckId::Second, Direction::Down) => self.path2.rate_bps.get(),
            (BottleneckId::Second, Direction::Up) => self.path2.up_rate_bps.get(),
        }
    }

    /// Number, from 0, of the path on which connections are opened.
    pub fn first_path(&self) -> usize {
        if self.uses_path2() && self.multipath.first_path == 2 { 1 } else { 0 }
    }

    fn schedule(&self, bottleneck: BottleneckId, direction: Direction) -> Option<&Schedule> {
        match (bottleneck, direction) {
            (BottleneckId::First, Direction::Down) => &self.network.rate_schedule,
            (BottleneckId::First, Direction::Up) => &self.network.up_rate_schedule,
            (BottleneckId::Second, Direction::Down) => &self.path2.rate_schedule,
            (BottleneckId::Second, Direction::Up) => &self.path2.up_rate_schedule,
        }
        .schedule()
    }

    /// What the servers' links must be faster than.
    fn peak_bps(&self, bottleneck: BottleneckId, direction: Direction) -> u64 {
        let peak = self.schedule(bottleneck, direction).map(|s| s.peak().bps());
        peak.unwrap_or_else(|| self.rate_bps(bottleneck, direction))
    }

    /// Bytes of a full packet on the bottleneck.
    fn packet_bytes(&self) -> u64 {
        self.transport.mss_bytes + self.transport.header_bytes + self.transport.link_header_bytes
    }

    fn queue(&self, kind: QueueKind, rate: Bitrate, limit: &QueueLimit, stream: Stream) -> Queue {
        let n = &self.network;
        let packet = match n.queue_unit {
            RedUnit::Packets => 1.0,
            RedUnit::Bytes => self.packet_bytes() as f64,
        };
        let limit = if limit.limit > 0 {
            limit.limit as f64
        } else {
            let packets = rate.bps() as f64 * limit.rtt_ms / 8_000.0 / self.packet_bytes() as f64;
            packet * (limit.bdp * packets).max(n.queue_floor_packets as f64)
        };
        match kind {
            QueueKind::Unlimited => Queue::Unlimited,
            QueueKind::DropTail => Queue::DropTail(match n.queue_unit {
                RedUnit::Packets => Capacity::Packets(limit as u64),
                RedUnit::Bytes => Capacity::Bytes(limit as u64),
            }),
            QueueKind::Red => {
                let config = RedConfig {
                    unit: n.queue_unit,
                    min: n.red_min_fraction * limit,
                    max: n.red_max_fraction * limit,
                    limit,
                    max_p: n.red_max_probability,
                    gentle: n.red_gentle,
                    mean_packet_bytes: n.red_mean_packet_bytes,
                };
                Queue::red(config, stream)
            }
        }
    }
}

fn bitrate(bps: u64) -> Bitrate {
    Bitrate::from_bps(bps).expect("scenario rates are positive")
}
