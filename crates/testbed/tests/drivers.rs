//! One packet schedule through the virtual and the real driver.

use std::io;

use loadpath_net::{
    Bitrate, Capacity, Direction, Gentle, Hop, Link, Loss, Queue, RedConfig, RedUnit, Schedule,
    SimDuration, SimTime, Streams,
};
use loadpath_testbed::{Duplex, Environment, Fate, Observer, Way, run};
use proptest::prelude::*;

const OVERHEAD_BYTES: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Offered {
    at: SimTime,
    way: Way,
    size: usize,
}

const WAYS: [Way; 4] = [
    Way { path: 0, direction: Direction::Up },
    Way { path: 0, direction: Direction::Down },
    Way { path: 1, direction: Direction::Up },
    Way { path: 1, direction: Direction::Down },
];

fn place(way: Way) -> usize {
    WAYS.iter().position(|w| *w == way).unwrap()
}

/// How late a clock is, step by step.
#[derive(Clone, Debug)]
struct Lateness {
    /// Time that reading the clock, a packet or nothing takes.
    step_ns: u64,
    /// Added to each wake-up in turn; the last is followed by the first.
    wake_ups_ns: Vec<u64>,
}

/// A clock and two devices that give packets to a schedule.
struct Scripted {
    clock: u64,
    lateness: Lateness,
    wakes: usize,
    schedule: Vec<Offered>,
    /// Place in the schedule of the next packet of each way.
    next: [usize; 4],
    sent: Vec<(Way, usize)>,
    done: bool,
}

impl Scripted {
    fn new(schedule: &[Offered], lateness: Lateness) -> Scripted {
        let mut scripted = Scripted {
            clock: 0,
            lateness,
            wakes: 0,
            schedule: schedule.to_vec(),
            next: [0; 4],
            sent: Vec::new(),
            done: false,
        };
        for way in WAYS {
            scripted.find_next(way, 0);
        }
        scripted
    }

    fn find_next(&mut self, way: Way, from: usize) {
        let behind = self.schedule[from..].iter().position(|p| p.way == way);
        self.next[place(way)] = behind.map_or(self.schedule.len(), |n| from + n);
    }

    fn next_arrival(&self) -> Option<u64> {
        self.next.iter().filter_map(|&i| self.schedule.get(i)).map(|p| p.at.0).min()
    }
}

impl Environment for Scripted {
    fn now(&mut self) -> SimTime {
        self.clock += self.lateness.step_ns;
        SimTime(self.clock)
    }

    fn receive(&mut self, way: Way, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let index = self.next[place(way)];
        let Some(packet) = self.schedule.get(index).copied() else { return Ok(None) };
        if packet.at.0 > self.clock {
            return Ok(None);
        }
        buffer[..4].copy_from_slice(&(index as u32).to_be_bytes());
        self.find_next(way, index + 1);
        Ok(Some(packet.size))
    }

    fn send(&mut self, way: Way, packet: &[u8]) -> bool {
        self.sent.push((way, id(packet)));
        true
    }

    fn wait(&mut self, until: Option<SimTime>) -> io::Result<()> {
        let Some(event) = [until.map(|t| t.0), self.next_arrival()].into_iter().flatten().min()
        else {
            self.done = true;
            return Ok(());
        };
        let late = self.lateness.wake_ups_ns[self.wakes % self.lateness.wake_ups_ns.len()];
        self.wakes += 1;
        self.clock = self.clock.max(event) + late;
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.done
    }
}

fn id(packet: &[u8]) -> usize {
    u32::from_be_bytes(packet[..4].try_into().unwrap()) as usize
}

#[derive(Default)]
struct Log {
    arrived: Vec<(Offered, usize, Fate)>,
    departed: Vec<Departure>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Departure {
    way: Way,
    due: SimTime,
    at: SimTime,
    id: usize,
}

impl Observer for Log {
    fn arrived(&mut self, way: Way, at: SimTime, packet: &[u8], fate: Fate) {
        let offered = Offered { at, way, size: packet.len() };
        self.arrived.push((offered, id(packet), fate));
    }

    fn departed(&mut self, way: Way, due: SimTime, at: SimTime, packet: &[u8], _: bool) {
        self.departed.push(Departure { way, due, at, id: id(packet) });
    }
}

/// Links with everything that has a state: loss, RED, a rate that does not divide a second; on the
/// second path rates that change, steps down and a trace up.
fn paths(down_bps: u64, up_bps: u64, limit: u64, loss: f64) -> Vec<Duplex> {
    let streams = Streams::new(7, 0);
    let hop = |bps, delay_ms, queue, index| {
        let loss =
            Loss::Bernoulli { probability: loss, stream: streams.stream("link.loss", index) };
        let delay = SimDuration::from_millis(delay_ms);
        Hop::new(Bitrate::from_bps(bps).unwrap(), delay, queue, loss)
    };
    let red = RedConfig {
        unit: RedUnit::Packets,
        min: 0.5 * limit as f64,
        max: 0.8 * limit as f64,
        limit: limit as f64,
        max_p: 0.1,
        gentle: Gentle::TwiceMaxThreshold,
        mean_packet_bytes: 500.0,
    };
    let tail = || Queue::DropTail(Capacity::Packets(limit));
    let bytes = Queue::DropTail(Capacity::Bytes(1500 * limit));
    let steps = [(0, down_bps), (13, down_bps / 7), (29, 0)];
    let steps = steps.map(|(ms, bps)| (SimTime(ms * 1_000_000), bps)).to_vec();
    let steps = Schedule::steps(steps, Some(SimDuration::from_millis(37))).unwrap();
    let trace = Schedule::trace(&[0, 1, 1, 4, 9, 9, 9, 15]).unwrap();
    vec![
        Duplex::new(
            Link::new(hop(down_bps, 20, Queue::red(red, streams.stream("queue.red", 0)), 0)),
            Link::new(hop(up_bps, 5, tail(), 1)),
            OVERHEAD_BYTES,
        ),
        Duplex::new(
            Link::new(hop(down_bps, 11, bytes, 2).paced(steps)),
            Link::new(hop(up_bps, 3, tail(), 3).paced(trace)),
            OVERHEAD_BYTES,
        ),
    ]
}

fn drive(mut paths: Vec<Duplex>, schedule: &[Offered], lateness: Lateness) -> Log {
    let mut environment = Scripted::new(schedule, lateness);
    let mut log = Log::default();
    run(&mut paths, &mut environment, &mut log).unwrap();
    assert!(paths.iter().all(|path| path.up.in_flight() + path.down.in_flight() == 0));
    let handed: Vec<_> = log.departed.iter().map(|d| (d.way, d.id)).collect();
    assert_eq!(environment.sent, handed);
    log
}

/// The virtual driver: time is that of the next event. Fates in order of arrival and, for each way,
/// departures.
fn simulate(
    mut paths: Vec<Duplex>,
    arrivals: &[(Offered, usize, Fate)],
) -> (Vec<Fate>, [Vec<(SimTime, usize)>; 4]) {
    let mut departures = [const { Vec::new() }; 4];
    let mut poll = |paths: &mut [Duplex], until: SimTime| {
        for (departures, way) in departures.iter_mut().zip(WAYS) {
            let path = &mut paths[way.path];
            let link = match way.direction {
                Direction::Up => &mut path.up,
                Direction::Down => &mut path.down,
            };
            while let Some(at) = link.next_event().filter(|at| *at <= until) {
                let (due, packet) = link.poll(at).unwrap();
                departures.push((due, id(&packet)));
            }
        }
    };
    let mut fates = Vec::new();
    for (offered, id, _) in arrivals {
        poll(&mut paths, offered.at);
        let path = &mut paths[offered.way.path];
        fates.push(path.take_in(offered.way.direction, offered.at, &packet(*id, offered.size)));
    }
    poll(&mut paths, SimTime::MAX);
    (fates, departures)
}

fn packet(id: usize, size: usize) -> Vec<u8> {
    let mut packet = vec![0; size];
    packet[..4].copy_from_slice(&(id as u32).to_be_bytes());
    packet
}

fn stamps(log: &Log) -> [Vec<(SimTime, usize)>; 4] {
    WAYS.map(|way| log.departed.iter().filter(|d| d.way == way).map(|d| (d.due, d.id)).collect())
}

fn schedule() -> impl Strategy<Value = Vec<Offered>> {
    let packet = (0u64..2_000_000, 0usize..4, 40usize..=1500);
    prop::collection::vec(packet, 1..200).prop_map(|packets| {
        let mut at = SimTime::ZERO;
        packets
            .into_iter()
            .map(|(gap, way, size)| {
                // Half of the packets come in bursts.
                at += SimDuration(if gap % 2 == 0 { 0 } else { gap });
                Offered { at, way: WAYS[way], size }
            })
            .collect()
    })
}

proptest! {
    /// Whatever the wake-ups: packets arrive when they are read, and from there on every stamp is the
    /// simulation's.
    #[test]
    fn late_wake_ups_leave_departure_stamps_and_fates_those_of_the_simulation(
        schedule in schedule(),
        wake_ups_ns in prop::collection::vec(prop_oneof![0u64..10_000, 0u64..30_000_000], 1..20),
        step_ns in 0u64..20_000,
        down_bps in 100_000u64..100_000_000,
        up_bps in 100_000u64..100_000_000,
        limit in 3u64..40,
        loss in prop_oneof![Just(0.0), Just(0.1)],
    ) {
        let links = paths(down_bps, up_bps, limit, loss);
        let log = drive(links.clone(), &schedule, Lateness { step_ns, wake_ups_ns });
        prop_assert_eq!(log.arrived.len(), schedule.len());
        let (fates, departures) = simulate(links, &log.arrived);
        prop_assert_eq!(log.arrived.iter().map(|a| a.2).collect::<Vec<_>>(), fates);
        prop_assert_eq!(stamps(&log), departures);
        prop_assert!(log.departed.iter().all(|d| d.at >= d.due));
    }

    /// With a clock that is never late, arrivals have the stamps of the schedule, too, and packets are
    /// handed over when they are due.
    #[test]
    fn an_exact_clock_gives_the_simulation(
        schedule in schedule(),
        down_bps in 100_000u64..100_000_000,
        up_bps in 100_000u64..100_000_000,
        limit in 3u64..40,
    ) {
        let links = paths(down_bps, up_bps, limit, 0.1);
        let exact = Lateness { step_ns: 0, wake_ups_ns: vec![0] };
        let log = drive(links.clone(), &schedule, exact);
        for (offered, id, _) in &log.arrived {
            prop_assert_eq!(*offered, schedule[*id]);
        }
        let nominal: Vec<_> =
            schedule.iter().enumerate().map(|(id, o)| (*o, id, Fate::Admitted)).collect();
        let (_, departures) = simulate(links, &nominal);
        prop_assert_eq!(stamps(&log), departures);
        prop_assert!(log.departed.iter().all(|d| d.at == d.due));
    }
}

#[test]
fn a_late_wake_up_delays_nothing_but_the_packets_that_it_makes_late() {
    // 1000 bytes at 8 Mbit/s take 1 ms; 20 ms of delay.
    let at_ms = |ms: u64| SimTime(ms * 1_000_000);
    let packet = |ms| Offered { at: at_ms(ms), way: WAYS[1], size: 998 };
    let schedule = [packet(10), packet(10), packet(50)];
    // Woken for the arrivals at 10 ms in time, for the departure at 31 ms 5 ms late.
    let lateness = Lateness { step_ns: 0, wake_ups_ns: vec![0, 5_000_000, 0, 0] };
    let log = drive(paths(8_000_000, 8_000_000, 10, 0.0), &schedule, lateness);
    let departed: Vec<_> = log.departed.iter().map(|d| (d.due, d.at)).collect();
    assert_eq!(departed, [(at_ms(31), at_ms(36)), (at_ms(32), at_ms(36)), (at_ms(71), at_ms(71))]);
}
