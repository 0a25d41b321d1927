//! Packets between two devices over two links, under any clock.

use std::io;

use loadpath_net::{Direction, Link, SimTime};

/// Largest packet that a device may hand over: the largest IP packet.
const MAX_PACKET_BYTES: usize = 65_535;

/// The devices at both ends and the clock. A packet of [`Direction::Down`] is received at the
/// server's end and sent at the client's.
pub trait Environment {
    /// Time since the start; never goes back.
    fn now(&mut self) -> SimTime;

    /// A packet that waits to travel in this direction, if there is one, without blocking.
    ///
    /// # Errors
    /// If the device has failed.
    fn receive(&mut self, direction: Direction, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Hands over a packet at the end of its way; false if the device does not take it.
    fn send(&mut self, direction: Direction, packet: &[u8]) -> bool;

    /// Returns at `until` (never, if `None`), when a packet waits or when it is time to stop,
    /// whichever is first. It may return earlier for no reason, and will return late.
    ///
    /// # Errors
    /// If waiting is impossible.
    fn wait(&mut self, until: Option<SimTime>) -> io::Result<()>;

    /// True once the link is to stop.
    fn stopped(&self) -> bool;
}

/// Sees every packet.
pub trait Observer {
    /// A packet arrived at its link at `at`; `admitted` is false if it was lost or dropped.
    fn arrived(&mut self, direction: Direction, at: SimTime, packet: &[u8], admitted: bool);

    /// A packet that was due at `due` was handed over at `at`; `taken` is false if the device did
    /// not take it.
    fn departed(
        &mut self,
        direction: Direction,
        due: SimTime,
        at: SimTime,
        packet: &[u8],
        taken: bool,
    );
}

/// A link each way.
#[derive(Clone, Debug)]
pub struct Duplex {
    /// Towards the client.
    pub down: Link<Vec<u8>>,
    /// Towards the server.
    pub up: Link<Vec<u8>>,
    /// Counted for the rate on top of each IP packet.
    pub overhead_bytes: u32,
}

impl Duplex {
    /// The link of one direction.
    pub fn link(&self, direction: Direction) -> &Link<Vec<u8>> {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }

    fn link_mut(&mut self, direction: Direction) -> &mut Link<Vec<u8>> {
        match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }

    /// Moves packets until the environment says stop.
    ///
    /// Each turn takes at most one packet in and hands one over in each direction: arrivals get their
    /// stamps soon, whatever waits to be handed over, and the other way round.
    ///
    /// # Errors
    /// If a device or waiting fails.
    pub fn run(
        &mut self,
        environment: &mut impl Environment,
        observer: &mut impl Observer,
    ) -> io::Result<()> {
        let mut buffer = vec![0; MAX_PACKET_BYTES];
        while !environment.stopped() {
            let mut idle = true;
            for direction in [Direction::Up, Direction::Down] {
                if let Some(size) = environment.receive(direction, &mut buffer)? {
                    self.take_in(direction, environment.now(), &buffer[..size], observer);
                    idle = false;
                }
                idle &= !self.hand_over(direction, environment, observer);
            }
            if idle {
                let next = [self.up.next_event(), self.down.next_event()].into_iter().flatten();
                environment.wait(next.min())?;
            }
        }
        Ok(())
    }

    fn take_in(
        &mut self,
        direction: Direction,
        at: SimTime,
        packet: &[u8],
        observer: &mut impl Observer,
    ) {
        let size_bytes = packet.len() as u32 + self.overhead_bytes;
        let admitted = self.link_mut(direction).enqueue(at, size_bytes, packet.to_vec());
        observer.arrived(direction, at, packet, admitted);
    }

    /// Hands over the next packet if it is due; false if there is none.
    fn hand_over(
        &mut self,
        direction: Direction,
        environment: &mut impl Environment,
        observer: &mut impl Observer,
    ) -> bool {
        let now = environment.now();
        let Some((due, packet)) = self.link_mut(direction).poll(now) else {
            return false;
        };
        let taken = environment.send(direction, &packet);
        observer.departed(direction, due, now, &packet, taken);
        true
    }
}
