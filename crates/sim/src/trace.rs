//! Observers of a load. Tracing is a generic parameter of the world: an observer that does nothing
//! compiles to nothing.

use loadpath_net::{Direction, SimTime};
use loadpath_transport::{Flags, MAX_SUBFLOWS, Report, Segment, Transport, Wire};

use crate::outcome::{
    CompletionRecord, MultipathRecord, PacketEvent, PacketRecord, QueueRecord, Trace, WindowRecord,
};

pub(crate) trait Tracer {
    fn packet<W: Wire>(
        &mut self,
        at: SimTime,
        event: PacketEvent,
        to: Direction,
        connection: u32,
        wire: &W,
    );
    /// After each step of a server's endpoint.
    fn window<C: Transport>(&mut self, at: SimTime, connection: u32, server: &C);
    /// [`completion`](Self::completion) does something.
    const KEEPS_COMPLETIONS: bool = false;
    /// New data of a response left, of which `remaining_bytes` were to go with them.
    fn completion<C: Transport>(
        &mut self,
        _at: SimTime,
        _connection: u32,
        _wire: &C::Wire,
        _server: &C,
        _remaining_bytes: u64,
    ) {
    }
    /// Occupancy (packets, bytes) that a packet finds; a closure since asking costs something.
    fn queue(&mut self, at: SimTime, queue: usize, occupancy: impl FnOnce() -> (u64, u64));
}

/// Observes nothing.
pub(crate) struct Off;

impl Tracer for Off {
    #[inline(always)]
    fn packet<W: Wire>(&mut self, _: SimTime, _: PacketEvent, _: Direction, _: u32, _: &W) {}
    #[inline(always)]
    fn window<C: Transport>(&mut self, _: SimTime, _: u32, _: &C) {}
    #[inline(always)]
    fn queue(&mut self, _: SimTime, _: usize, _: impl FnOnce() -> (u64, u64)) {}
}

/// A hash over every packet: FNV-1a over its integers, a word at a time.
pub(crate) struct Hash(pub(crate) u64);

impl Default for Hash {
    fn default() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    pub(crate) fn add(&mut self, value: u64) {
        self.0 = (self.0 ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
    }
}

impl Tracer for Hash {
    fn packet<W: Wire>(
        &mut self,
        at: SimTime,
        event: PacketEvent,
        to: Direction,
        c: u32,
        wire: &W,
    ) {
        let s = wire.tcp();
        for value in [
            at.0,
            event as u64,
            to as u64,
            c.into(),
            s.flags.0.into(),
            s.seq,
            s.ack,
            s.len.into(),
            s.message.0.into(),
            s.offset,
            s.wire_bytes.into(),
        ] {
            self.add(value);
        }
        if let Some(m) = wire.multipath() {
            for value in [m.subflow.into(), m.data_seq, m.data_ack] {
                self.add(value);
            }
        }
    }
    fn window<C: Transport>(&mut self, _: SimTime, _: u32, server: &C) {
        for (_, subflow) in server.subflows() {
            self.add(subflow.cwnd_bytes());
        }
    }
    fn queue(&mut self, _: SimTime, _: usize, occupancy: impl FnOnce() -> (u64, u64)) {
        self.add(occupancy().1);
    }
}

/// Keeps everything, and the hash.
#[derive(Default)]
pub(crate) struct Full {
    pub(crate) hash: Hash,
    pub(crate) trace: Trace,
    last_window: Vec<Option<WindowRecord>>,
}

impl Tracer for Full {
    const KEEPS_COMPLETIONS: bool = true;

    fn packet<W: Wire>(
        &mut self,
        at: SimTime,
        event: PacketEvent,
        to: Direction,
        c: u32,
        wire: &W,
    ) {
        self.hash.packet(at, event, to, c, wire);
        let s = wire.tcp();
        self.trace.packets.push(PacketRecord {
            t_ms: ms(at),
            event,
            connection: c as usize,
            up: to == Direction::Up,
            flags: flag_text(s.flags),
            seq: s.seq,
            len: s.len,
            ack: s.ack,
            window: s.window.into(),
            sack: sack_blocks(s),
            wire_bytes: s.wire_bytes,
            retransmission: s.retransmission,
            resource: (s.len > 0).then_some(s.message.0 as usize),
            offset: s.offset,
            multipath: wire.multipath().map(|m| MultipathRecord {
                subflow: m.subflow,
                path: m.path.0 + 1,
                data_seq: m.data_seq,
                data_ack: m.data_ack,
            }),
        });
    }

    fn window<C: Transport>(&mut self, at: SimTime, connection: u32, server: &C) {
        self.hash.window(at, connection, server);
        for (i, (_, subflow)) in server.subflows().enumerate() {
            let record = WindowRecord {
                t_ms: ms(at),
                connection: connection as usize,
                subflow: C::SEVERAL_PATHS.then_some(i as u8),
                cwnd_bytes: subflow.cwnd_bytes(),
                ssthresh_bytes: subflow.ssthresh_bytes(),
                in_flight_bytes: subflow.in_flight_bytes(),
                state: subflow.state_name(),
            };
            let place = connection as usize * MAX_SUBFLOWS + i;
            self.last_window.resize(self.last_window.len().max(place + 1), None);
            let last = &mut self.last_window[place];
            let unchanged = last
                .as_ref()
                .is_some_and(|l| WindowRecord { t_ms: l.t_ms, ..record.clone() } == *l);
            if !unchanged {
                *last = Some(record.clone());
                self.trace.windows.push(record);
            }
        }
    }

    fn completion<C: Transport>(
        &mut self,
        at: SimTime,
        connection: u32,
        wire: &C::Wire,
        server: &C,
        remaining_bytes: u64,
    ) {
        let Some(estimate) = server.estimated_completion(remaining_bytes) else { return };
        let subflow = server.subflows().nth(usize::from(wire.subflow()));
        self.trace.completions.push(CompletionRecord {
            t_ms: ms(at),
            connection: connection as usize,
            subflow: C::SEVERAL_PATHS.then_some(wire.subflow()),
            resource: Some(wire.tcp().message.0 as usize),
            remaining_bytes,
            estimate_ms: estimate.as_millis_f64(),
            state: subflow.map_or("", |(_, endpoint)| endpoint.state_name()),
        });
    }

    fn queue(&mut self, at: SimTime, queue: usize, occupancy: impl FnOnce() -> (u64, u64)) {
        let (packets, bytes) = occupancy();
        self.hash.add(bytes);
        self.trace.queues.push(QueueRecord { t_ms: ms(at), queue, packets, bytes });
    }
}

pub(crate) fn ms(at: SimTime) -> f64 {
    at.0 as f64 / 1e6
}

fn flag_text(f: Flags) -> &'static str {
    let has = |x| f.has(x);
    match (has(Flags::SYN), has(Flags::FIN), has(Flags::RST), has(Flags::PSH), has(Flags::ACK)) {
        (true, _, _, _, false) => "S",
        (true, _, _, _, true) => "SA",
        (_, _, true, _, _) => "R",
        (_, true, _, true, _) => "FPA",
        (_, true, _, _, _) => "FA",
        (_, _, _, true, _) => "PA",
        _ => "A",
    }
}

fn sack_blocks(s: &Segment) -> Vec<(u64, u64)> {
    match s.report {
        Report::Sack(blocks) => blocks
            .iter()
            .filter(|b| b.end > b.start)
            .map(|b| b.from(s.ack))
            .map(|r| (r.start, r.end))
            .collect(),
        _ => Vec::new(),
    }
}
