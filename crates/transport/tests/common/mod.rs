//! Two endpoints and the two links between them, in virtual time.

use loadpath_net::{Bitrate, Hop, Link, Loss, Queue, SimDuration, SimTime};
use loadpath_transport::{Delivery, Endpoint, Segment, TcpConfig};

/// A segment that reached its endpoint.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "each test program uses a part of it")]
pub struct Arrival {
    pub at: SimTime,
    pub to_client: bool,
    pub segment: Segment,
}

/// One connection. Index 0 is the client, 1 the server; link 0 leads from the client to the server.
pub struct Pair {
    pub now: SimTime,
    pub ends: [Endpoint; 2],
    links: [Link<Segment>; 2],
    /// What each end has read, with the time.
    pub read: [Vec<(SimTime, Delivery)>; 2],
    /// How many bytes that is.
    pub bytes_read: [u64; 2],
    pub arrivals: Vec<Arrival>,
    /// Most segments sent at one instant by one end, as a guard against endless loops.
    burst_limit: usize,
}

impl Pair {
    /// Links of `rate_bps` and a one-way delay of `delay`, losing as told.
    pub fn new(
        client: &TcpConfig,
        server: &TcpConfig,
        rate_bps: u64,
        delay: SimDuration,
        losses: [Loss; 2],
        queue: Queue,
    ) -> Pair {
        let rate = Bitrate::from_bps(rate_bps).expect("not zero");
        let link = |loss| Link::new(Hop::new(rate, delay, queue.clone(), loss));
        let [up, down] = losses;
        Pair {
            now: SimTime::ZERO,
            ends: [Endpoint::client(client), Endpoint::server(server)],
            links: [link(up), link(down)],
            read: [Vec::new(), Vec::new()],
            bytes_read: [0, 0],
            arrivals: Vec::new(),
            burst_limit: 200_000,
        }
    }

    /// Sends what may be sent now.
    pub fn flush(&mut self) {
        for i in 0..2 {
            while let Some(delivery) = self.ends[i].read() {
                self.read[i].push((self.now, delivery));
                self.bytes_read[i] += u64::from(delivery.len);
            }
            let mut sent = 0;
            while let Some((_, segment)) = self.ends[i].poll_transmit(self.now) {
                self.links[i].enqueue(self.now, segment.wire_bytes, segment);
                sent += 1;
                assert!(sent < self.burst_limit, "an endless burst at {}", self.now);
            }
            let cwnd = self.ends[i].cwnd_bytes();
            assert!(cwnd >= 1, "an empty window at {}", self.now);
        }
    }

    /// Goes on to the next event; false if there is none.
    pub fn step(&mut self) -> bool {
        self.flush();
        let next = (0..2)
            .flat_map(|i| [self.links[i].next_event(), self.ends[i].next_timeout()])
            .flatten()
            .min();
        let Some(next) = next else { return false };
        assert!(next >= self.now, "time went back from {} to {next}", self.now);
        self.now = next;
        for i in 0..2 {
            // One segment at a time, as a simulator does.
            while let Some((at, segment)) = self.links[i].poll(next) {
                let to = 1 - i;
                self.arrivals.push(Arrival { at, to_client: to == 0, segment });
                self.ends[to].on_segment(at, &segment);
                self.flush();
            }
            let due = self.ends[i].next_timeout().is_some_and(|at| at <= next);
            self.ends[i].on_timeout(next);
            if due {
                assert!(
                    self.ends[i].next_timeout().is_none_or(|at| at > next),
                    "a timer that stays due at {next}"
                );
                self.flush();
            } else {
                // An early call does nothing.
                assert!(self.ends[i].poll_transmit(next).is_none(), "an early timeout at {next}");
            }
        }
        true
    }

    /// Runs until `done` or until nothing happens any more; false in the latter case.
    pub fn run_until(&mut self, mut done: impl FnMut(&Pair) -> bool) -> bool {
        let mut steps = 0;
        while !done(self) {
            if !self.step() {
                return false;
            }
            steps += 1;
            assert!(steps < 2_000_000, "no end in sight at {}", self.now);
        }
        true
    }
}

/// No loss either way.
#[allow(dead_code, reason = "each test program uses a part of it")]
pub fn lossless() -> [Loss; 2] {
    [Loss::None, Loss::None]
}

/// Checks that `read` is each byte of the messages in `written` (id, length) exactly once, and in
/// order within the stream if `in_order`.
#[allow(dead_code, reason = "each test program uses a part of it")]
pub fn assert_delivered_once(
    written: &[(u32, u64)],
    read: &[(SimTime, Delivery)],
    in_order: bool,
) -> Result<(), String> {
    for &(id, len) in written {
        let mut pieces: Vec<(u64, u64, bool)> = read
            .iter()
            .filter(|(_, d)| d.id.0 == id)
            .map(|(_, d)| (d.offset, d.offset + u64::from(d.len), d.end))
            .collect();
        if in_order && !pieces.is_sorted() {
            return Err(format!("message {id} came out of order"));
        }
        pieces.sort_unstable();
        let mut next = 0;
        for &(start, end, last) in &pieces {
            if start != next {
                return Err(format!("message {id}: byte {start} after {next}"));
            }
            if last != (end == len) {
                return Err(format!("message {id}: end mark at {end} of {len}"));
            }
            next = end;
        }
        if next != len {
            return Err(format!("message {id}: {next} of {len} bytes"));
        }
    }
    let total: u64 = read.iter().map(|(_, d)| u64::from(d.len)).sum();
    let expected: u64 = written.iter().map(|(_, len)| len).sum();
    if total != expected {
        return Err(format!("{total} bytes read of {expected}"));
    }
    Ok(())
}
