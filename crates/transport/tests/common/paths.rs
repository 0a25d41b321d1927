//! Two ends of a connection over several paths, in virtual time.

use loadpath_net::{Bitrate, Hop, Link, Loss, Queue, SimDuration, SimTime};
use loadpath_transport::{
    Delivery, Message, MessageId, MultipathConfig, MultipathEndpoint, MultipathSegment, PathId,
};

/// One path: the same rate and queue both ways.
pub struct PathSpec {
    pub rate_bps: u64,
    pub rtt: SimDuration,
    /// Towards the server, towards the client.
    pub losses: [Loss; 2],
    pub queue: Queue,
}

#[allow(dead_code, reason = "each test program uses a part of it")]
impl PathSpec {
    /// Without losses and with a queue that holds whatever comes.
    pub fn new(rate_bps: u64, rtt_ms: u64) -> PathSpec {
        PathSpec {
            rate_bps,
            rtt: SimDuration::from_millis(rtt_ms),
            losses: [Loss::None, Loss::None],
            queue: Queue::Unlimited,
        }
    }
}

/// A segment that reached its end.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "each test program uses a part of it")]
pub struct Arrival {
    pub at: SimTime,
    pub to_client: bool,
    pub segment: MultipathSegment,
}

/// The connection. Index 0 is the client, 1 the server; link 0 of a path leads to the server.
pub struct Paths {
    pub now: SimTime,
    pub ends: [MultipathEndpoint; 2],
    links: Vec<[Link<MultipathSegment>; 2]>,
    pub read: [Vec<(SimTime, Delivery)>; 2],
    pub bytes_read: [u64; 2],
    pub arrivals: Vec<Arrival>,
    /// Segments on these paths get lost from now on.
    pub dead: Vec<PathId>,
    /// The ends read what arrives.
    pub reads: bool,
    /// When the server could first send on each subflow.
    pub server_ready: Vec<Option<SimTime>>,
}

#[allow(dead_code, reason = "each test program uses a part of it")]
impl Paths {
    pub fn new(client: &MultipathConfig, server: &MultipathConfig, paths: Vec<PathSpec>) -> Paths {
        let link = |path: &PathSpec, direction: usize| {
            let rate = Bitrate::from_bps(path.rate_bps).expect("not zero");
            let delay = SimDuration(path.rtt.0 / 2);
            Link::new(Hop::new(rate, delay, path.queue.clone(), path.losses[direction].clone()))
        };
        Paths {
            now: SimTime::ZERO,
            ends: [MultipathEndpoint::client(client), MultipathEndpoint::server(server)],
            links: paths.iter().map(|p| [link(p, 0), link(p, 1)]).collect(),
            read: [Vec::new(), Vec::new()],
            bytes_read: [0, 0],
            arrivals: Vec::new(),
            dead: Vec::new(),
            reads: true,
            server_ready: vec![None; usize::from(client.subflows)],
        }
    }

    /// The client connects and asks with 100 bytes; the server answers with `len` bytes as soon as it is
    /// asked, unless `len` is 0. Runs until the answer is complete and returns when that was.
    pub fn ask(&mut self, len: u64) -> SimTime {
        self.ends[0].write(Message { id: MessageId(1), len: 100, priority: 0 });
        self.ends[0].connect(self.now);
        assert!(self.run_until(|p| p.bytes_read[1] == 100), "the request arrives");
        if len > 0 {
            self.ends[1].write(Message { id: MessageId(1), len, priority: 0 });
            assert!(self.run_until(|p| p.bytes_read[0] == len), "the answer arrives");
        }
        self.now
    }

    pub fn flush(&mut self) {
        for i in 0..2 {
            while self.reads
                && let Some(delivery) = self.ends[i].read()
            {
                self.read[i].push((self.now, delivery));
                self.bytes_read[i] += u64::from(delivery.len);
            }
            let mut sent = 0;
            while let Some((path, segment)) = self.ends[i].poll_transmit(self.now) {
                sent += 1;
                assert!(sent < 200_000, "an endless burst at {}", self.now);
                assert_eq!(path, segment.path);
                if !self.dead.contains(&path) {
                    let link = &mut self.links[usize::from(path.0)][i];
                    link.enqueue(self.now, segment.tcp.wire_bytes, segment);
                }
            }
        }
        for (i, (_, subflow)) in self.ends[1].subflows().enumerate() {
            if subflow.is_established() {
                self.server_ready[i].get_or_insert(self.now);
            }
        }
    }

    /// Goes on to the next event; false if there is none.
    pub fn step(&mut self) -> bool {
        self.flush();
        let links = self.links.iter().flatten().filter_map(Link::next_event);
        let timers = self.ends.iter().filter_map(MultipathEndpoint::next_timeout);
        let Some(next) = links.chain(timers).min() else { return false };
        assert!(next >= self.now, "time went back from {} to {next}", self.now);
        self.now = next;
        for path in 0..self.links.len() {
            for i in 0..2 {
                while let Some((at, segment)) = self.links[path][i].poll(next) {
                    self.arrivals.push(Arrival { at, to_client: i == 1, segment });
                    self.ends[1 - i].on_segment(at, &segment);
                    self.flush();
                }
            }
        }
        for i in 0..2 {
            let due = self.ends[i].next_timeout().is_some_and(|at| at <= next);
            self.ends[i].on_timeout(next);
            if due {
                assert!(
                    self.ends[i].next_timeout().is_none_or(|at| at > next),
                    "a timer that stays due at {next}"
                );
            }
            self.flush();
        }
        true
    }

    /// Runs until `done` or until nothing happens any more; false in the latter case.
    pub fn run_until(&mut self, mut done: impl FnMut(&Paths) -> bool) -> bool {
        let mut steps = 0;
        self.flush();
        while !done(self) {
            if !self.step() {
                return false;
            }
            steps += 1;
            assert!(steps < 2_000_000, "no end in sight at {}", self.now);
        }
        true
    }

    /// Bytes that reached the client on each path.
    pub fn bytes_down(&self, path: u8) -> u64 {
        let on_path = |a: &&Arrival| a.to_client && a.segment.path == PathId(path);
        self.arrivals.iter().filter(on_path).map(|a| u64::from(a.segment.tcp.len)).sum()
    }
}
