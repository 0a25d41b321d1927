//! The receiving half: reassembly, delivery, acknowledgements and what they report.

mod quick_acks;
mod tuning;

use std::collections::VecDeque;

use loadpath_net::{SimDuration, SimTime};

use crate::{
    AckPolicy, AckRange, Delivery, DeliveryOrder, Flags, Recovery, Report, Segment, SeqRange,
    TcpConfig,
};
use quick_acks::QuickAcks;
use tuning::WindowTuning;

/// A segment that arrived ahead of its turn.
#[derive(Clone, Copy, Debug)]
struct Held {
    seq: u64,
    end: u64,
    delivery: Delivery,
    fin: bool,
}

/// State of the receiving half.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    order: DeliveryOrder,
    recovery: Recovery,
    dup_ack_threshold: u32,
    /// Next number expected (RCV.NXT).
    next: u64,
    /// Segments beyond a gap, ascending.
    held: VecDeque<Held>,
    /// Bytes that wait for the application.
    ready: VecDeque<Delivery>,
    unread: u64,
    fin_received: bool,
    /// Segments go up to a connection over several subflows as they arrive, and it keeps the window.
    passes_up: bool,

    buffer: u64,
    scale: u8,
    mss: u64,
    /// One past the last number that the offered window lets the other side send.
    edge: u64,

    ack_every: u32,
    ack_delay: SimDuration,
    push_at_once: bool,
    quick_acks: u32,
    /// Instead of the counting above.
    policy: Option<Box<QuickAcks>>,
    /// Instead of a window as large as the buffer.
    tuning: Option<Box<WindowTuning>>,
    unacknowledged: u32,
    ack_deadline: Option<SimTime>,
    due: AckDue,
    last_ack_sent: u64,
    /// TS.Recent (RFC 7323).
    ts_recent: SimTime,

    /// Blocks for SACK, the one that grew last first; empty ones at the end.
    blocks: [SeqRange; 4],
    /// Gaps below this were reported.
    nacked_to: u64,
    /// The gap that the next duplicate ACK reports.
    nack: Option<SeqRange>,
}

/// What the other side is owed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AckDue {
    /// Nothing now.
    No,
    /// An ACK; data that happens to leave may carry it.
    Yes,
    /// An ACK without data: a duplicate one, which must come alone to be one (RFC 5681, section 2), or one
    /// that leaves before the application has heard of what it acknowledges.
    Alone,
}

impl Receiver {
    pub fn new(config: &TcpConfig) -> Self {
        Receiver {
            order: config.delivery,
            recovery: config.recovery,
            dup_ack_threshold: config.dup_ack_threshold,
            next: 0,
            held: VecDeque::new(),
            ready: VecDeque::new(),
            unread: 0,
            fin_received: false,
            passes_up: false,
            buffer: config.receive_buffer_bytes,
            scale: config.window_scale,
            mss: u64::from(config.mss),
            edge: 0,
            ack_every: config.delayed_ack_segments,
            ack_delay: config.delayed_ack_timeout,
            push_at_once: config.ack_push_at_once,
            quick_acks: config.quick_ack_segments,
            policy: (config.acks == AckPolicy::Linux).then(|| Box::new(QuickAcks::new(config))),
            tuning: config.tuned_window.then(|| Box::new(WindowTuning::new(config))),
            unacknowledged: 0,
            ack_deadline: None,
            due: AckDue::No,
            last_ack_sent: 0,
            ts_recent: SimTime::MAX,
            blocks: [SeqRange::default(); 4],
            nacked_to: 0,
            nack: None,
        }
    }

    /// The receiver of a subflow: it acknowledges and reports, but holds nothing for the application.
    pub fn passing_up(mut self) -> Self {
        self.passes_up = true;
        self
    }

    /// The other side's SYN, which takes number 0.
    pub fn on_syn(&mut self, segment: &Segment) {
        self.next = segment.seq + 1;
        self.edge = self.next;
        self.ts_recent = segment.timestamp;
        self.offer_window();
    }

    /// Next number expected.
    #[inline]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// The clock to echo.
    #[inline]
    pub fn echo(&self) -> SimTime {
        self.ts_recent
    }

    /// The other side is done, and all it sent has arrived.
    pub fn fin_received(&self) -> bool {
        self.fin_received
    }

    #[inline]
    pub fn ack_due(&self) -> AckDue {
        self.due
    }

    #[inline]
    pub fn ack_deadline(&self) -> Option<SimTime> {
        self.ack_deadline
    }

    /// The delay of a waiting ACK is over.
    pub fn on_ack_deadline(&mut self) {
        self.ack_deadline = None;
        self.owe(AckDue::Yes);
        if let Some(policy) = &mut self.policy {
            policy.on_deadline();
        }
    }

    /// An ACK would tell something: a segment waits for its delayed ACK, or the other side asks from before
    /// what is acknowledged (a probe). Segments beyond a gap were acknowledged as they came. One more
    /// duplicate would say that another segment has left the network (RFC 5681, section 3.2, step 4).
    pub fn has_news_before(&self, seq: u64) -> bool {
        self.unacknowledged > 0 || seq < self.next
    }

    pub fn owe(&mut self, due: AckDue) {
        self.due = self.due.max(due);
    }

    /// Any segment's clock (RFC 7323, section 4.3): the echo is that of the oldest segment that waits
    /// for its ACK.
    #[inline]
    pub fn on_timestamp(&mut self, segment: &Segment) {
        if segment.seq <= self.last_ack_sent
            && (segment.timestamp >= self.ts_recent || self.ts_recent == SimTime::MAX)
        {
            self.ts_recent = segment.timestamp;
        }
    }

    /// A segment that takes sequence space.
    #[inline(always)]
    pub fn on_data(&mut self, now: SimTime, segment: &Segment) {
        let end = segment.seq + segment.span();
        let grew = self.tuning.is_some() && self.tune(now, segment);
        let expected = segment.seq == self.next && self.held.is_empty() && !self.fin_received;
        if expected && self.fits(segment) {
            self.accept_in_order(end, delivery_of(segment), segment.flags.has(Flags::FIN));
            if self.policy.is_some() {
                self.acknowledge_as_linux(now, segment, grew);
            } else {
                self.acknowledge_in_order(now, segment.flags);
            }
        } else {
            self.on_unexpected(segment, end);
        }
    }

    /// The payload of a segment whose first byte has number `seq` here, where it continues what came before; false
    /// if it does not. Nothing is owed for it.
    #[inline(always)]
    pub fn take_next(&mut self, seq: u64, segment: &Segment) -> bool {
        let end = seq + u64::from(segment.len);
        let next = seq == self.next && self.held.is_empty() && end <= self.edge;
        if next {
            self.accept_in_order(end, delivery_of(segment), false);
        }
        next
    }

    /// The payload is within the window; FIN needs no room.
    fn fits(&self, segment: &Segment) -> bool {
        segment.seq + u64::from(segment.len) <= self.edge || self.passes_up
    }

    /// What the other side may still send. A subflow holds nothing back.
    fn left_of_window(&self) -> u64 {
        if self.passes_up { self.buffer } else { self.edge - self.next.min(self.edge) }
    }

    /// The window may grow with what arrives.
    fn tune(&mut self, now: SimTime, segment: &Segment) -> bool {
        let held = self.held.back().map_or(0, |last| last.end - self.next);
        let read = self.next - self.unread.min(self.next);
        self.tuning.as_mut().is_some_and(|tuning| tuning.on_data(now, segment, read, held))
    }

    fn acknowledge_as_linux(&mut self, now: SimTime, segment: &Segment, grew: bool) {
        self.unacknowledged += 1;
        let waiting = self.next - self.last_ack_sent;
        let window = self.left_of_window();
        let push = segment.flags.has(Flags::PSH);
        let Some(policy) = &mut self.policy else { return };
        let mut due = policy.on_data(now, segment.len, push, waiting, window, grew);
        if segment.flags.has(Flags::FIN) {
            due = due.max(AckDue::Yes);
        }
        self.owe(due);
        if due == AckDue::No && self.ack_deadline.is_none() {
            self.ack_deadline = Some(now + self.ack_delay);
        }
    }

    fn acknowledge_in_order(&mut self, now: SimTime, flags: Flags) {
        self.unacknowledged += 1;
        let quick = self.quick_acks > 0;
        self.quick_acks = self.quick_acks.saturating_sub(1);
        if quick
            || self.unacknowledged >= self.ack_every
            || flags.has(Flags::FIN)
            || (self.push_at_once && flags.has(Flags::PSH))
        {
            self.owe(AckDue::Yes);
        } else if self.ack_deadline.is_none() {
            self.ack_deadline = Some(now + self.ack_delay);
        }
    }

    /// Out of order, old, or beyond the window.
    fn on_unexpected(&mut self, segment: &Segment, end: u64) {
        if end <= self.next || !self.fits(segment) || self.fin_received {
            let window = self.left_of_window();
            if let Some(policy) = &mut self.policy {
                policy.on_old_data(window);
            }
            self.owe(AckDue::Alone);
            return;
        }
        let fin = segment.flags.has(Flags::FIN);
        let mut delivery = delivery_of(segment);
        if segment.seq <= self.next {
            let old = self.next - segment.seq;
            delivery.offset += old;
            delivery.len -= old as u32;
            let out_of_order = self.order == DeliveryOrder::OutOfOrder;
            self.accept_in_order(end, delivery, fin);
            while self.held.front().is_some_and(|h| h.seq <= self.next) {
                let h = self.held.pop_front().expect("just seen");
                if h.end <= self.next {
                    continue;
                }
                if out_of_order {
                    self.next = h.end;
                    self.edge = self.edge.max(h.end);
                    self.fin_received |= h.fin;
                } else {
                    self.accept_in_order(h.end, h.delivery, h.fin);
                }
            }
            self.forget_blocks();
            // RFC 5681, section 4.2: at once if it fills all or part of a gap.
            self.owe(if self.policy.is_some() { AckDue::Alone } else { AckDue::Yes });
            return;
        }
        let place = match self.held.back() {
            Some(last) if last.end > segment.seq => {
                self.held.partition_point(|h| h.end <= segment.seq)
            }
            _ => self.held.len(),
        };
        if self.held.get(place).is_some_and(|h| h.seq < end) {
            self.owe(AckDue::Alone);
            return;
        }
        self.held.insert(place, Held { seq: segment.seq, end, delivery, fin });
        if self.order == DeliveryOrder::OutOfOrder {
            self.deliver(delivery);
        }
        match self.recovery {
            Recovery::NewReno => {}
            Recovery::Sack | Recovery::Rack => {
                self.grow_block(SeqRange { start: segment.seq, end })
            }
            Recovery::Nack => self.find_gap(),
        }
        self.owe(AckDue::Alone);
    }

    fn accept_in_order(&mut self, end: u64, delivery: Delivery, fin: bool) {
        self.next = end;
        self.edge = self.edge.max(end);
        self.fin_received |= fin;
        self.deliver(delivery);
    }

    /// Hands bytes to the application, in one piece with those before where they continue them.
    fn deliver(&mut self, delivery: Delivery) {
        if delivery.len == 0 || self.passes_up {
            return;
        }
        self.unread += u64::from(delivery.len);
        if let Some(last) = self.ready.back_mut() {
            if last.id == delivery.id
                && last.offset + u64::from(last.len) == delivery.offset
                && last.len.checked_add(delivery.len).is_some()
            {
                last.len += delivery.len;
                last.end |= delivery.end;
                return;
            }
        }
        self.ready.push_back(delivery);
    }

    /// The next bytes for the application.
    #[inline]
    pub fn read(&mut self) -> Option<Delivery> {
        let delivery = self.ready.pop_front()?;
        self.unread -= u64::from(delivery.len);
        // RFC 1122, section 4.2.3.3: tell of the room once it is worth a segment or half the buffer.
        // As long as the offered window holds two segments the next ACK is soon enough.
        let room = self.edge_for(self.window()) - self.edge;
        let worth = self.mss.min(self.buffer / 2).max(1);
        if room >= worth && self.edge - self.next < 2 * self.mss {
            self.owe(AckDue::Yes);
        }
        Some(delivery)
    }

    /// Window to offer, in whole units of the scale.
    fn window(&self) -> u64 {
        let free = match &self.tuning {
            Some(tuning) => tuning.window(self.unread),
            None => self.buffer.saturating_sub(self.unread),
        };
        (free >> self.scale).min(u64::from(u16::MAX)) << self.scale
    }

    fn edge_for(&self, window: u64) -> u64 {
        // A window once offered is not taken back (RFC 1122, section 4.2.2.16).
        self.edge.max(self.next + window)
    }

    /// Moves the edge and returns the window up to it.
    #[inline(always)]
    pub fn offer_window(&mut self) -> u32 {
        let edge = self.edge_for(self.window());
        // Silly window avoidance (RFC 1122, section 4.2.3.3).
        if edge - self.edge >= self.mss.min(self.buffer / 2) {
            self.edge = edge;
        }
        (((self.edge - self.next) >> self.scale) << self.scale) as u32
    }

    /// The window of a SYN is not scaled (RFC 7323, section 2.2).
    pub fn offer_unscaled_window(&self) -> u32 {
        let window = self.tuning.as_ref().map_or(self.buffer, |tuning| tuning.window(0));
        window.min(u64::from(u16::MAX)) as u32
    }

    /// Something arrived beyond a gap.
    #[inline]
    pub fn has_gap(&self) -> bool {
        !self.held.is_empty()
    }

    /// What the next ACK reports. Only a duplicate ACK carries a NACK.
    #[inline]
    pub fn report(&mut self) -> Report {
        if self.held.is_empty() {
            return Report::None;
        }
        match self.recovery {
            Recovery::NewReno => Report::None,
            Recovery::Nack => match self.nack.take() {
                Some(gap) if gap.start >= self.next => Report::Nack(AckRange::of(gap, self.next)),
                _ => Report::None,
            },
            Recovery::Sack | Recovery::Rack => {
                let mut blocks = [AckRange::default(); 3];
                for (block, range) in blocks.iter_mut().zip(&self.blocks) {
                    if !range.is_empty() {
                        *block = AckRange::of(*range, self.next);
                    }
                }
                Report::Sack(blocks)
            }
        }
    }

    /// A segment with data has left, and with them an acknowledgement.
    #[inline]
    pub fn on_data_sent(&mut self, now: SimTime) {
        self.on_ack_sent();
        if let Some(policy) = &mut self.policy {
            policy.on_data_sent(now);
        }
    }

    /// A segment with an acknowledgement has left.
    #[inline]
    pub fn on_ack_sent(&mut self) {
        if let Some(policy) = &mut self.policy
            && (self.unacknowledged > 0 || self.due != AckDue::No)
        {
            policy.on_ack_sent();
        }
        self.due = AckDue::No;
        self.unacknowledged = 0;
        self.ack_deadline = None;
        self.last_ack_sent = self.next;
    }

    /// RFC 2018, section 4: the block with the segment that just arrived comes first.
    fn grow_block(&mut self, mut grown: SeqRange) {
        let mut kept = [SeqRange::default(); 4];
        let mut n = 1;
        for block in self.blocks {
            if block.is_empty() {
                continue;
            }
            if block.start <= grown.end && grown.start <= block.end {
                grown.start = grown.start.min(block.start);
                grown.end = grown.end.max(block.end);
            } else if n < kept.len() {
                kept[n] = block;
                n += 1;
            }
        }
        kept[0] = grown;
        self.blocks = kept;
    }

    /// Forgets the blocks below the cumulative acknowledgement.
    fn forget_blocks(&mut self) {
        let mut n = 0;
        for i in 0..self.blocks.len() {
            let block = self.blocks[i];
            if block.end > self.next {
                self.blocks[n] = block;
                n += 1;
            }
        }
        self.blocks[n..].fill(SeqRange::default());
    }

    /// Appendix B: a gap is reported, once, when more than two segments after it have arrived. The
    /// search goes on where the last one ended, so it looks at each held segment once.
    fn find_gap(&mut self) {
        let Some(first_of_last) = self.held.len().checked_sub(self.dup_ack_threshold as usize)
        else {
            return;
        };
        let limit = self.held[first_of_last].seq;
        self.nacked_to = self.nacked_to.max(self.next);
        let mut i = self.held.partition_point(|h| h.end <= self.nacked_to);
        while let Some(h) = self.held.get(i) {
            if h.seq > limit {
                break;
            }
            let gap = SeqRange { start: self.nacked_to, end: h.seq };
            self.nacked_to = h.end;
            if !gap.is_empty() {
                self.nack = Some(gap);
                break;
            }
            i += 1;
        }
    }
}

fn delivery_of(segment: &Segment) -> Delivery {
    Delivery {
        id: segment.message,
        offset: segment.offset,
        len: segment.len,
        end: segment.flags.has(Flags::PSH),
    }
}
