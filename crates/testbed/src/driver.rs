//! Packets between devices over links, under any clock.

use std::io;

use loadpath_net::{Direction, Link, SimDuration, SimTime};

use crate::flows::Flows;

/// Largest packet that a device may hand over: the largest IP packet.
const MAX_PACKET_BYTES: usize = 65_535;

/// The devices at both ends of each path and the clock. A packet of [`Direction::Down`] is received at
/// the server's end and sent at the client's.
pub trait Environment {
    /// Time since the start; never goes back.
    fn now(&mut self) -> SimTime;

    /// A packet that waits to travel this way, if there is one, without blocking.
    ///
    /// # Errors
    /// If the device has failed.
    fn receive(&mut self, way: Way, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Hands over a packet at the end of its way; false if the device does not take it.
    fn send(&mut self, way: Way, packet: &[u8]) -> bool;

    /// Returns at `until` (never, if `None`), when a packet waits or when it is time to stop,
    /// whichever is first. It may return earlier for no reason, and will return late.
    ///
    /// # Errors
    /// If waiting is impossible.
    fn wait(&mut self, until: Option<SimTime>) -> io::Result<()>;

    /// True once the link is to stop.
    fn stopped(&self) -> bool;
}

/// One direction of one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Way {
    /// Number of the path, from 0.
    pub path: usize,
    /// Along it.
    pub direction: Direction,
}

/// What a link does with a packet that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Takes it.
    Admitted,
    /// Loses it.
    Lost,
    /// Drops it, because its queue is full.
    Dropped,
}

/// Sees every packet.
pub trait Observer {
    /// A packet arrived at its link at `at`.
    fn arrived(&mut self, way: Way, at: SimTime, packet: &[u8], fate: Fate);

    /// A packet that was due at `due` was handed over at `at`; `taken` is false if the device did
    /// not take it.
    fn departed(&mut self, way: Way, due: SimTime, at: SimTime, packet: &[u8], taken: bool);
}

/// A path: a link each way.
#[derive(Clone, Debug)]
pub struct Duplex {
    /// Towards the client.
    pub down: Link<Vec<u8>>,
    /// Towards the server.
    pub up: Link<Vec<u8>>,
    /// Counted for the rate on top of each IP packet.
    pub overhead_bytes: u32,
    flows: Flows,
}

impl Duplex {
    /// A path without packets.
    pub fn new(down: Link<Vec<u8>>, up: Link<Vec<u8>>, overhead_bytes: u32) -> Duplex {
        Duplex { down, up, overhead_bytes, flows: Flows::default() }
    }

    /// The link of one direction.
    pub fn link(&self, direction: Direction) -> &Link<Vec<u8>> {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }

    /// What a small packet takes forth and back, but for its serialisation.
    pub fn rtt(&self) -> SimDuration {
        self.down.hop().delay() + self.up.hop().delay()
    }

    fn link_mut(&mut self, direction: Direction) -> &mut Link<Vec<u8>> {
        match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }

    /// Offers a packet that arrived at `at` to its link. Packets that carry data of the same flow are
    /// counted together, for exact losses.
    pub fn take_in(&mut self, direction: Direction, at: SimTime, packet: &[u8]) -> Fate {
        let size_bytes = packet.len() as u32 + self.overhead_bytes;
        let flow = self.flows.of_data(direction, packet);
        let link = self.link_mut(direction);
        let lost = link.hop().counters().lost_packets;
        if link.enqueue_of(flow, at, size_bytes, packet.to_vec()) {
            Fate::Admitted
        } else if link.hop().counters().lost_packets > lost {
            Fate::Lost
        } else {
            Fate::Dropped
        }
    }
}

/// Moves packets over all paths until the environment says stop.
///
/// Each turn takes at most one packet in and hands one over each way: arrivals get their stamps soon,
/// whatever waits to be handed over, and the other way round.
///
/// # Errors
/// If a device or waiting fails.
pub fn run(
    paths: &mut [Duplex],
    environment: &mut impl Environment,
    observer: &mut impl Observer,
) -> io::Result<()> {
    let mut buffer = vec![0; MAX_PACKET_BYTES];
    while !environment.stopped() {
        let mut idle = true;
        for (number, path) in paths.iter_mut().enumerate() {
            for direction in [Direction::Up, Direction::Down] {
                let way = Way { path: number, direction };
                if let Some(size) = environment.receive(way, &mut buffer)? {
                    let (at, packet) = (environment.now(), &buffer[..size]);
                    let fate = path.take_in(direction, at, packet);
                    observer.arrived(way, at, packet, fate);
                    idle = false;
                }
                idle &= !hand_over(path, way, environment, observer);
            }
        }
        if idle {
            let next = paths.iter().flat_map(|p| [p.up.next_event(), p.down.next_event()]);
            environment.wait(next.flatten().min())?;
        }
    }
    Ok(())
}

/// Hands over the next packet if it is due; false if there is none.
fn hand_over(
    path: &mut Duplex,
    way: Way,
    environment: &mut impl Environment,
    observer: &mut impl Observer,
) -> bool {
    let now = environment.now();
    let Some((due, packet)) = path.link_mut(way.direction).poll(now) else {
        return false;
    };
    let taken = environment.send(way, &packet);
    observer.departed(way, due, now, &packet, taken);
    true
}
