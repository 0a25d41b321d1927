//! A link: loss, queue, rate, delay, in this order.
//!
//! Departures are computed, not simulated: behind a FIFO the departure of a packet is known when it
//! arrives, `max(arrival, busy until) + size / rate`. All stamps are ideal ones. Whoever drives a
//! link late (a real clock) still gets the stamps of an ideal one.

use std::collections::VecDeque;

use crate::pace::Pace;
use crate::{Bitrate, Loss, Queue, Schedule, SimDuration, SimTime};

/// Nanoseconds that a byte takes at 1 bit/s.
const BIT_NS_PER_BYTE: u64 = 8_000_000_000;

/// Which way a packet travels between the client and the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Towards the servers.
    Up,
    /// Towards the client.
    Down,
}

/// What happened at a hop so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopCounters {
    /// Packets that arrived.
    pub offered_packets: u64,
    /// Bytes that arrived.
    pub offered_bytes: u64,
    /// Packets that the queue dropped.
    pub queue_drops: u64,
    /// Packets that the loss process took.
    pub lost_packets: u64,
    /// Time that sending what was admitted takes; see [`Hop::busy_by`].
    pub busy: SimDuration,
    /// Most packets that waited at once; 0 unless the hop counts what waits.
    pub max_waiting_packets: u64,
}

/// The sending side of a link: decides the fate of each packet and computes its delivery stamp.
#[derive(Clone, Debug)]
pub struct Hop {
    rate: Bitrate,
    /// Where that is a whole number, which spares a division a packet; else 0.
    ns_per_byte: u64,
    delay: SimDuration,
    queue: Queue,
    loss: Loss,
    busy_until: SimTime,
    /// The part of a nanosecond, in units of 1/rate ns, by which the last departure lies behind
    /// `busy_until`. Without it a million packets would drift by half a millisecond.
    remainder: u64,
    /// Service start and size of each packet that may still wait.
    waiting: VecDeque<(SimTime, u32)>,
    waiting_bytes: u64,
    /// `waiting` is kept up.
    counts_waiting: bool,
    /// Where the rate changes over time; it then replaces `rate`. Boxed: few hops have one.
    pace: Option<Box<Pace>>,
    counters: HopCounters,
}

impl Hop {
    /// An idle hop. It counts what waits only if its queue looks at that.
    pub fn new(rate: Bitrate, delay: SimDuration, queue: Queue, loss: Loss) -> Hop {
        let exact = BIT_NS_PER_BYTE % rate.bps() == 0;
        Hop {
            rate,
            ns_per_byte: if exact { BIT_NS_PER_BYTE / rate.bps() } else { 0 },
            delay,
            counts_waiting: !queue.ignores_occupancy(),
            queue,
            loss,
            busy_until: SimTime::ZERO,
            remainder: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            pace: None,
            counters: HopCounters::default(),
        }
    }

    /// The same hop, which counts what waits whatever its queue.
    pub fn counting_waiting(mut self) -> Hop {
        self.counts_waiting = true;
        self
    }

    /// The same hop with another loss process.
    pub fn losing(mut self, loss: Loss) -> Hop {
        self.loss = loss;
        self
    }

    /// The same hop with a rate that changes over time.
    pub fn paced(mut self, schedule: Schedule) -> Hop {
        self.ns_per_byte = 0;
        self.pace = Some(Box::new(Pace::new(schedule)));
        self
    }

    /// Offers a packet that arrives at `arrival`, no earlier than the packet before it, and returns
    /// when its last bit reaches the far end; `None` if it is dropped or lost.
    #[inline]
    pub fn admit(&mut self, arrival: SimTime, size_bytes: u32) -> Option<SimTime> {
        self.admit_of(None, arrival, size_bytes)
    }

    /// As [`admit`](Self::admit) for a packet that carries data of flow `flow`, for exact losses.
    #[inline]
    pub fn admit_of(
        &mut self,
        flow: Option<u32>,
        arrival: SimTime,
        size_bytes: u32,
    ) -> Option<SimTime> {
        self.counters.offered_packets += 1;
        self.counters.offered_bytes += size_bytes as u64;
        if self.loss.loses_next(flow, arrival) {
            self.counters.lost_packets += 1;
            return None;
        }
        if self.pace.is_some() {
            return self.admit_paced(arrival, size_bytes);
        }
        let idle = arrival > self.busy_until;
        if self.counts_waiting {
            self.drain(arrival);
            let waiting = self.waiting.len() as u64;
            if !self.queue.admits(size_bytes as u64, waiting, self.waiting_bytes) {
                self.counters.queue_drops += 1;
                return None;
            }
            let service_start = if idle { arrival } else { self.busy_until };
            self.waiting.push_back((service_start, size_bytes));
            self.waiting_bytes += size_bytes as u64;
            self.counters.max_waiting_packets =
                self.counters.max_waiting_packets.max(waiting + u64::from(!idle));
        }
        if idle {
            self.busy_until = arrival;
            self.remainder = 0;
        }
        let span = if self.ns_per_byte > 0 {
            SimDuration(size_bytes as u64 * self.ns_per_byte)
        } else {
            let numerator = size_bytes as u64 * BIT_NS_PER_BYTE + self.remainder;
            self.remainder = numerator % self.rate.bps();
            SimDuration(numerator / self.rate.bps())
        };
        self.busy_until += span;
        self.counters.busy = self.counters.busy + span;
        Some(self.busy_until + self.delay)
    }

    #[cold]
    fn admit_paced(&mut self, arrival: SimTime, size_bytes: u32) -> Option<SimTime> {
        self.drain(arrival);
        let waiting = self.waiting.len() as u64;
        if !self.queue.admits(size_bytes as u64, waiting, self.waiting_bytes) {
            self.counters.queue_drops += 1;
            return None;
        }
        let pace = self.pace.as_mut().expect("asked before");
        let (start, end) = pace.serve(arrival, self.busy_until, size_bytes);
        if self.counts_waiting {
            self.waiting.push_back((start, size_bytes));
            self.waiting_bytes += size_bytes as u64;
            self.counters.max_waiting_packets =
                self.counters.max_waiting_packets.max(waiting + u64::from(start > arrival));
        }
        self.counters.busy = self.counters.busy + (end - arrival.max(self.busy_until));
        self.busy_until = end;
        Some(end + self.delay)
    }

    /// Packets and bytes that wait for service at `now`, the one in service not counted; zero unless
    /// the hop counts what waits.
    pub fn occupancy(&mut self, now: SimTime) -> (u64, u64) {
        self.drain(now);
        (self.waiting.len() as u64, self.waiting_bytes)
    }

    /// What every packet takes beyond its serialisation and its wait.
    pub fn delay(&self) -> SimDuration {
        self.delay
    }

    /// Time spent sending until `now`, for utilisation.
    pub fn busy_by(&self, now: SimTime) -> SimDuration {
        self.counters.busy - self.busy_until.since(now)
    }

    /// Counters so far.
    pub fn counters(&self) -> HopCounters {
        self.counters
    }

    #[inline]
    fn drain(&mut self, now: SimTime) {
        while let Some(&(service_start, size)) = self.waiting.front() {
            if service_start > now {
                break;
            }
            self.waiting.pop_front();
            self.waiting_bytes -= size as u64;
        }
    }
}

/// A [`Hop`] and the packets on their way behind it. `P` is a header in simulation, bytes in the
/// testbed.
#[derive(Clone, Debug)]
pub struct Link<P> {
    hop: Hop,
    in_flight: Lane<P>,
}

/// Packets on their way in the order of their arrival: what is behind a hop, or behind one of several
/// wires that leave the same hop.
#[derive(Clone, Debug)]
pub struct Lane<P>(VecDeque<(SimTime, P)>);

impl<P> Default for Lane<P> {
    fn default() -> Self {
        Lane(VecDeque::new())
    }
}

impl<P> Lane<P> {
    /// Adds a packet that arrives at `delivery`, no earlier than those before it.
    #[inline]
    pub fn push(&mut self, delivery: SimTime, packet: P) {
        debug_assert!(self.0.back().is_none_or(|(at, _)| *at <= delivery), "overtaking");
        self.0.push_back((delivery, packet));
    }

    /// When the next packet is delivered.
    #[inline]
    pub fn next_event(&self) -> Option<SimTime> {
        self.0.front().map(|(at, _)| *at)
    }

    /// The next packet due at or before `now`, with its ideal delivery stamp.
    #[inline]
    pub fn poll(&mut self, now: SimTime) -> Option<(SimTime, P)> {
        if self.next_event()? > now {
            return None;
        }
        self.0.pop_front()
    }

    /// Packets on their way.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<P> Link<P> {
    /// An idle link.
    pub fn new(hop: Hop) -> Self {
        Link { hop, in_flight: Lane::default() }
    }

    /// Offers `packet`, arriving at `arrival`; false if it was dropped or lost.
    #[inline]
    pub fn enqueue(&mut self, arrival: SimTime, size_bytes: u32, packet: P) -> bool {
        self.enqueue_of(None, arrival, size_bytes, packet)
    }

    /// As [`enqueue`](Self::enqueue) for a packet that carries data of flow `flow`.
    #[inline]
    pub fn enqueue_of(
        &mut self,
        flow: Option<u32>,
        arrival: SimTime,
        size_bytes: u32,
        packet: P,
    ) -> bool {
        match self.hop.admit_of(flow, arrival, size_bytes) {
            Some(delivery) => {
                self.in_flight.push(delivery, packet);
                true
            }
            None => false,
        }
    }

    /// When the next packet is delivered.
    #[inline]
    pub fn next_event(&self) -> Option<SimTime> {
        self.in_flight.next_event()
    }

    /// The next packet due at or before `now`, with its ideal delivery stamp.
    #[inline]
    pub fn poll(&mut self, now: SimTime) -> Option<(SimTime, P)> {
        self.in_flight.poll(now)
    }

    /// Packets waiting, in service or on the wire.
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// The sending side.
    pub fn hop(&self) -> &Hop {
        &self.hop
    }

    /// The sending side, to ask for its occupancy.
    pub fn hop_mut(&mut self) -> &mut Hop {
        &mut self.hop
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Capacity;
    use proptest::prelude::*;

    fn hop(bps: u64, queue: Queue) -> Hop {
        Hop::new(Bitrate::from_bps(bps).unwrap(), SimDuration::ZERO, queue, Loss::None)
    }

    #[test]
    fn serialisation_is_exact_over_a_million_packets() {
        // 1502 bytes at 7 Mbit/s take 1 716 571 + 3/7 ns: the fraction must not be lost.
        let mut h = hop(7_000_000, Queue::Unlimited);
        let mut last = SimTime::ZERO;
        for _ in 0..1_000_000 {
            last = h.admit(SimTime::ZERO, 1502).unwrap();
        }
        assert_eq!(last.0, 1_000_000 * 1502 * 8 * 1_000 / 7);
    }

    #[test]
    fn an_idle_link_starts_at_the_arrival() {
        let mut h = Hop::new(
            Bitrate::from_bps(8_000_000).unwrap(),
            SimDuration::from_millis(10),
            Queue::Unlimited,
            Loss::None,
        );
        assert_eq!(h.admit(SimTime(5_000), 1000), Some(SimTime(5_000 + 1_000_000 + 10_000_000)));
        assert_eq!(h.admit(SimTime(5_000_000), 1000), Some(SimTime(16_000_000)));
    }

    #[test]
    fn a_link_is_busy_for_no_longer_than_time_has_passed() {
        let mut h = hop(8_000_000, Queue::Unlimited);
        for _ in 0..5 {
            h.admit(SimTime(2_000_000), 1000);
        }
        let busy = |ns| h.busy_by(SimTime(ns)).0;
        assert_eq!((busy(2_000_000), busy(4_500_000)), (0, 2_500_000));
        assert_eq!((busy(7_000_000), busy(9_000_000)), (5_000_000, 5_000_000));
    }

    #[test]
    fn drop_tail_holds_exactly_its_limit_in_packets() {
        let mut h = hop(1_000_000, Queue::DropTail(Capacity::Packets(10)));
        let admitted = (0..50).filter(|_| h.admit(SimTime::ZERO, 1500).is_some()).count();
        assert_eq!(admitted, 11, "one in service and ten waiting");
        // 12 ms a packet: at 24 ms the third has just entered service, so two places are free.
        assert!(h.admit(SimTime(24_000_000), 1500).is_some());
        assert!(h.admit(SimTime(24_000_000), 1500).is_some());
        assert!(h.admit(SimTime(24_000_000), 1500).is_none());
    }

    #[test]
    fn drop_tail_holds_exactly_its_limit_in_bytes() {
        let mut h = hop(1_000_000, Queue::DropTail(Capacity::Bytes(4500)));
        let admitted = (0..50).filter(|_| h.admit(SimTime::ZERO, 1500).is_some()).count();
        assert_eq!(admitted, 4);
        assert!(h.admit(SimTime::ZERO, 1).is_none());
    }

    #[test]
    fn an_unlimited_queue_counts_what_waits_if_asked() {
        let mut h = hop(8_000_000, Queue::Unlimited).counting_waiting();
        for _ in 0..10 {
            h.admit(SimTime::ZERO, 1000);
        }
        assert_eq!(h.occupancy(SimTime::ZERO), (9, 9000));
        assert_eq!(h.occupancy(SimTime(1_000_000)), (8, 8000));
        assert_eq!(h.counters().max_waiting_packets, 9);
    }

    #[test]
    fn a_loss_pattern_takes_exactly_its_packets() {
        let mut h = Hop::new(
            Bitrate::from_bps(1_000_000).unwrap(),
            SimDuration::ZERO,
            Queue::Unlimited,
            Loss::pattern(vec![4, 1]),
        );
        let fates: Vec<bool> = (0..6).map(|_| h.admit(SimTime::ZERO, 100).is_some()).collect();
        assert_eq!(fates, [true, false, true, true, false, true]);
        assert_eq!(h.counters().lost_packets, 2);
    }

    proptest! {
        #[test]
        fn packets_offered_are_delivered_dropped_or_in_flight_and_keep_their_order(
            gaps in prop::collection::vec((0u64..3_000_000, 40u32..1502), 1..300),
            limit in 1u64..20,
            bps in 10_000u64..100_000_000,
            polled_at in 0u64..500_000_000,
        ) {
            let mut link = Link::new(hop(bps, Queue::DropTail(Capacity::Packets(limit))));
            let mut now = SimTime::ZERO;
            for (i, &(gap, size)) in gaps.iter().enumerate() {
                now += SimDuration(gap);
                link.enqueue(now, size, i);
            }
            let mut delivered = Vec::new();
            while let Some((at, i)) = link.poll(SimTime(polled_at)) {
                prop_assert!(at <= SimTime(polled_at));
                delivered.push((at, i));
            }
            prop_assert!(delivered.windows(2).all(|w| w[0] < w[1]));
            let c = link.hop().counters();
            prop_assert_eq!(
                c.offered_packets,
                delivered.len() as u64 + c.queue_drops + link.in_flight() as u64
            );
        }
    }
}
