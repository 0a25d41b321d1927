//! The connection over several subflows: thesis section 6.2.2, RFC 6824 and 8684 where they agree with it.
//!
//! The connection holds what is unsent, numbers data when they are first sent, and keeps the window that
//! the other side offers; a subflow has its own sequence numbers, congestion window and recovery. Whenever
//! a subflow has room the scheduler decides what it sends, so nothing waits on a subflow ahead of its
//! window (but with OTIAS, whose idea that is).
//!
//! Deviations from the RFCs. Closing: the subflows send FIN, which stands for DATA_FIN too, once all data
//! are acknowledged on the connection. A closed window is probed by PSH/ACK, which is answered at once,
//! instead of by a byte beyond the window.

use std::collections::BTreeMap;

use loadpath_net::{SimDuration, SimTime};

use super::config::{Join, MAX_SUBFLOWS, MultipathConfig};
use super::data_log::DataLog;
use super::scheduler::estimator::CompletionEstimator;
use super::scheduler::{Choice, PathView, Schedule, Scheduler, Situation};
use super::segment::{DSS_MAPPING_BYTES, MultipathOption, MultipathSegment};
use super::subflow::Subflow;
use crate::congestion::SubflowView;
use crate::endpoint::{Endpoint, Failure, Stats};
use crate::receiver::{AckDue, Receiver};
use crate::unsent::{Chunk, UnsentPool};
use crate::{
    Delivery, DeliveryOrder, Flags, Message, PathId, Recovery, Segment, TailLossProbe, TcpConfig,
};

/// Why data are to be sent again on another subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Again {
    /// A segment of its subflow was lost: if another one is idle (thesis section 6.4.1.3).
    Lost,
    /// Its subflow failed or had a timeout: as soon as possible.
    Stranded,
}

/// A segment with data that leaves.
struct Departure {
    subflow: usize,
    tcp: Segment,
    data_seq: u64,
}

/// Places of the bits that are set, lowest first.
#[inline]
fn places(mut bits: u8) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = bits.trailing_zeros() as usize;
        bits &= bits.checked_sub(1)?;
        Some(place)
    })
}

/// One end of a connection over several subflows.
#[derive(Clone, Debug)]
pub struct MultipathEndpoint {
    config: MultipathConfig,
    is_client: bool,
    subflows: Vec<Subflow>,
    mss: u32,
    pool: UnsentPool,
    log: DataLog,
    scheduler: Scheduler,
    estimator: CompletionEstimator,
    /// One past the last data sequence number that the other side's window allows.
    edge: u64,
    /// Data to be sent again on another subflow, by data sequence number.
    again: BTreeMap<u64, Again>,
    /// Reassembly by data sequence number.
    receiver: Receiver,
    joined: bool,
    closing: bool,
    persist_deadline: Option<SimTime>,
    persist_backoff: u32,
    /// Segments sent again on another subflow.
    reinjected: u64,
    /// Something was queued on a subflow ahead of its window.
    queues: bool,
    /// Nothing is to be sent before something happens.
    quiet: bool,
    /// Room for what is looked at for each segment.
    views: Vec<PathView>,
    siblings: Vec<SubflowView>,
}

impl MultipathEndpoint {
    /// The side that will connect.
    pub fn client(config: &MultipathConfig) -> Self {
        Self::new(config, true)
    }

    /// The side that waits to be connected to.
    pub fn server(config: &MultipathConfig) -> Self {
        Self::new(config, false)
    }

    fn new(config: &MultipathConfig, is_client: bool) -> Self {
        let option_bytes = if config.options_on_the_wire { DSS_MAPPING_BYTES } else { 0 };
        let mss = config.tcp.mss.saturating_sub(option_bytes).max(1);
        let subflow_tcp = TcpConfig {
            mss,
            send_buffer_bytes: u64::MAX,
            receive_buffer_bytes: u64::MAX,
            delivery: DeliveryOrder::OutOfOrder,
            tuned_window: false,
            ..config.tcp
        };
        let subflow = |i: usize| {
            let confirmed = i == 0 || !is_client || !config.fourth_ack;
            Subflow::new(&subflow_tcp, config.paths[i], is_client, confirmed)
        };
        let count = usize::from(config.subflows).clamp(1, MAX_SUBFLOWS);
        let mut receiver =
            Receiver::new(&TcpConfig { mss, recovery: Recovery::NewReno, ..config.tcp.fixed() });
        // Data begin at 1 on both sides, as if a SYN had been seen.
        receiver.on_syn(&Segment::default());
        MultipathEndpoint {
            config: *config,
            is_client,
            subflows: (0..count).map(subflow).collect(),
            mss,
            pool: UnsentPool::new(config.tcp.send_order),
            log: DataLog::new(),
            scheduler: Scheduler::new(config),
            estimator: CompletionEstimator::new(config.estimator, &config.tcp),
            edge: 1,
            again: BTreeMap::new(),
            receiver,
            joined: false,
            closing: false,
            persist_deadline: None,
            persist_backoff: 0,
            reinjected: 0,
            queues: false,
            quiet: false,
            views: Vec::with_capacity(count),
            siblings: Vec::with_capacity(count),
        }
    }

    /// Starts the handshake of the first subflow.
    pub fn connect(&mut self, now: SimTime) {
        self.quiet = false;
        let fast_open = self.config.tcp.fast_open;
        let chunk = if fast_open { self.pool.take(self.mss) } else { None };
        if let Some(chunk) = chunk {
            let data_seq = self.log.push(chunk, 0);
            self.subflows[0].map_syn_data(data_seq);
        }
        self.subflows[0].endpoint.connect_with(now, chunk);
        if self.config.join == Join::AtOnce {
            self.join(now);
        }
    }

    fn join(&mut self, now: SimTime) {
        if !self.joined {
            self.joined = true;
            for subflow in &mut self.subflows[1..] {
                subflow.endpoint.connect(now);
            }
        }
    }

    /// Puts a message into the send buffer; see [`Endpoint::write`].
    pub fn write(&mut self, message: Message) {
        self.quiet = false;
        if !self.closing && self.failure().is_none() {
            self.pool.write(message);
        }
    }

    /// See [`Endpoint::write_rest`].
    pub fn write_rest(&mut self, message: Message, written: u64) {
        if !self.closing && self.failure().is_none() {
            self.pool.write_rest(message, written);
        }
    }

    /// FIN on all subflows after what was written is acknowledged.
    pub fn close(&mut self) {
        self.quiet = false;
        self.closing = true;
    }

    /// The next bytes for the application; see [`Endpoint::read`].
    #[inline]
    pub fn read(&mut self) -> Option<Delivery> {
        let delivery = self.receiver.read();
        // The window may have opened so far that it is worth telling.
        self.quiet &= delivery.is_none();
        delivery
    }

    /// A segment arrived.
    pub fn on_segment(&mut self, now: SimTime, segment: &MultipathSegment) {
        let i = usize::from(segment.subflow);
        if i >= self.subflows.len() {
            return;
        }
        self.quiet = false;
        let tcp = &segment.tcp;
        if self.config.tcp.congestion.is_coupled() && self.subflows[i].may_need_coupling(tcp) {
            self.couple(i);
        }
        let edge = segment.data_ack + u64::from(tcp.window);
        let window_only = segment.data_ack == self.log.una() && edge > self.edge;
        let was_open = self.subflows[i].endpoint.is_open_to_send();
        self.subflows[i].endpoint.on_subflow_segment(now, tcp, window_only);
        if tcp.flags.has(Flags::SYN) {
            // The window of a SYN, which the first segment behind it replaces.
            self.edge = self.edge.max(1 + u64::from(tcp.window));
            if tcp.len > 0 && self.subflows[i].endpoint.is_open_to_send() {
                self.receive_data(now, segment);
            }
        } else if self.subflows[i].endpoint.is_open_to_send() {
            self.on_open_subflow(now, i, segment, edge);
        }
        self.after_handshake(now, i, segment, was_open);
        self.look_for_losses(i);
    }

    /// Shows the congestion controller of subflow `me` all subflows.
    fn couple(&mut self, me: usize) {
        self.siblings.clear();
        self.siblings.extend(self.subflows.iter().filter_map(Subflow::congestion_view));
        let open = |s: &&Subflow| s.congestion_view().is_some();
        let place = self.subflows[..me].iter().filter(open).count();
        if open(&&self.subflows[me]) {
            self.subflows[me].endpoint.couple(place, &self.siblings);
        }
    }

    /// What a segment says of the connection.
    fn on_open_subflow(&mut self, now: SimTime, i: usize, segment: &MultipathSegment, edge: u64) {
        let tcp = &segment.tcp;
        let subflow = &mut self.subflows[i];
        subflow.confirmed = true;
        subflow.forget_acknowledged();
        if tcp.flags.has(Flags::ACK) && segment.data_ack <= self.log.next() {
            self.log.acknowledge(segment.data_ack);
            if self.queues {
                let una = self.log.una();
                self.subflows.iter_mut().for_each(|s| s.forget_queued(una));
            }
            if edge > self.edge {
                self.edge = edge;
                self.persist_deadline = None;
                self.persist_backoff = 0;
            }
        }
        if tcp.len > 0 {
            self.receive_data(now, segment);
        }
    }

    fn receive_data(&mut self, now: SimTime, segment: &MultipathSegment) {
        let tcp = &segment.tcp;
        let flags = if tcp.flags.has(Flags::PSH) { Flags::PSH } else { Flags::default() };
        self.receiver.on_data(now, &Segment { seq: segment.data_seq, flags, ..*tcp });
        // Each subflow acknowledges for itself; the data ACK rides along.
        self.receiver.on_ack_sent();
    }

    fn after_handshake(
        &mut self,
        now: SimTime,
        i: usize,
        segment: &MultipathSegment,
        was_open: bool,
    ) {
        let opened = !was_open && self.subflows[i].endpoint.is_open_to_send();
        if self.is_client && !self.joined {
            let joins = match self.config.join {
                Join::AfterDss => segment.option == MultipathOption::Dss,
                Join::AfterHandshake => opened,
                Join::AtOnce => false,
            };
            if joins {
                self.join(now);
            }
        }
        if opened && !self.is_client && i > 0 && self.config.fourth_ack {
            self.subflows[i].endpoint.owe_ack();
        }
    }

    /// Notes what subflow `i` has lost, if that may go elsewhere.
    fn look_for_losses(&mut self, i: usize) {
        let subflow = &self.subflows[i];
        let sender = subflow.endpoint.sender();
        if !sender.has_waiting() {
            return;
        }
        let why = if sender.is_after_timeout() {
            if !self.config.reinject_on_timeout {
                return;
            }
            Again::Stranded
        } else if self.config.retransmit_on_other {
            Again::Lost
        } else {
            return;
        };
        for data_seq in sender.waiting_seqs().filter_map(|seq| subflow.data_seq(seq)) {
            if data_seq >= self.log.una() {
                self.again.entry(data_seq).or_insert(why);
            }
        }
    }

    /// The time of [`next_timeout`](Self::next_timeout) has come. Early calls do nothing.
    pub fn on_timeout(&mut self, now: SimTime) {
        self.quiet = false;
        for i in 0..self.subflows.len() {
            let subflow = &mut self.subflows[i];
            subflow.endpoint.on_timeout(now);
            if subflow.endpoint.failure().is_some() {
                if !subflow.abandoned {
                    subflow.abandoned = true;
                    self.strand(i);
                }
            } else if self.config.reinject_on_timeout {
                self.look_for_losses(i);
            }
        }
        if self.persist_deadline.is_some_and(|at| at <= now) {
            self.persist_deadline = None;
            if self.pool.bytes() > 0 {
                self.arm_persist(now);
                if let Some(i) = self.fastest_usable() {
                    self.subflows[i].probe_due = true;
                }
            }
        }
    }

    /// What subflow `i` had under way or queued goes to the others.
    fn strand(&mut self, i: usize) {
        for entry in self.log.carried_by(i) {
            self.again.insert(entry.data_seq, Again::Stranded);
        }
        self.subflows[i].clear_queue();
    }

    fn arm_persist(&mut self, now: SimTime) {
        let rto = self
            .fastest_usable()
            .map_or(self.config.tcp.syn_timeout, |i| self.subflows[i].endpoint.rto());
        let wait = rto * (1 << self.persist_backoff.min(32));
        self.persist_deadline = Some(now + wait.min(self.config.tcp.max_rto));
        self.persist_backoff += 1;
    }

    fn fastest_usable(&self) -> Option<usize> {
        (0..self.subflows.len())
            .filter(|&i| self.subflows[i].is_usable())
            .min_by_key(|&i| self.subflows[i].endpoint.srtt().unwrap_or_default())
    }

    /// When to call [`on_timeout`](Self::on_timeout).
    pub fn next_timeout(&self) -> Option<SimTime> {
        let mut first = self.persist_deadline.unwrap_or(SimTime::MAX);
        for subflow in &self.subflows {
            first = first.min(subflow.endpoint.next_timeout().unwrap_or(SimTime::MAX));
        }
        (first < SimTime::MAX).then_some(first)
    }

    /// The next segment to send now, with its path. On each subflow what is sent again comes before new
    /// data, and an ACK alone only if nothing carries it.
    pub fn poll_transmit(&mut self, now: SimTime) -> Option<(PathId, MultipathSegment)> {
        if self.quiet {
            return None;
        }
        let (mut own, mut rest) = (0, 0);
        for (i, subflow) in self.subflows.iter().enumerate() {
            own |= u8::from(subflow.may_have_own()) << i;
            rest |= u8::from(subflow.endpoint.may_have_rest()) << i;
        }
        for i in places(own) {
            let subflow = &mut self.subflows[i];
            if let Some(tcp) = subflow.endpoint.poll_own(now) {
                return Some(self.dress(i, tcp));
            }
            if subflow.push_due || subflow.probe_due {
                let probe = subflow.probe_due;
                (subflow.push_due, subflow.probe_due) = (false, false);
                if subflow.endpoint.is_open_to_send() {
                    let tcp = subflow.endpoint.push_signal(now, probe);
                    return Some(self.dress(i, tcp));
                }
            }
        }
        if let Some(sent) = self.poll_data(now) {
            return Some(self.dress_data(sent.subflow, sent.tcp, sent.data_seq));
        }
        if self.receiver.ack_due() == AckDue::Yes {
            // The application has read, and the window is worth telling.
            self.receiver.on_ack_sent();
            if let Some(i) = self.fastest_usable() {
                self.subflows[i].endpoint.owe_ack();
                rest |= 1 << i;
            }
        }
        if self.closing && self.pool.bytes() == 0 && self.log.outstanding() == 0 {
            self.subflows.iter_mut().for_each(|s| s.endpoint.close());
            rest = !0 >> (MAX_SUBFLOWS - self.subflows.len());
        }
        for i in places(rest) {
            let endpoint = &mut self.subflows[i].endpoint;
            if let Some(tcp) = endpoint.poll_rest(now) {
                // An ACK alone changes nothing for what comes before it.
                let last = rest >> i == 1 && tcp.span() == 0 && !endpoint.may_have_rest();
                self.quiet = last && self.has_nothing_to_schedule();
                return Some(self.dress(i, tcp));
            }
        }
        self.quiet = self.has_nothing_to_schedule();
        None
    }

    /// Adds what the connection puts into every segment of its subflows.
    #[inline]
    fn dress(&mut self, i: usize, tcp: Segment) -> (PathId, MultipathSegment) {
        let data_seq = if tcp.len > 0 {
            let first = tcp.seq + u64::from(tcp.flags.has(Flags::SYN));
            self.subflows[i].data_seq(first).unwrap_or_default()
        } else {
            self.log.next()
        };
        self.dress_data(i, tcp, data_seq)
    }

    #[inline]
    fn dress_data(
        &mut self,
        i: usize,
        mut tcp: Segment,
        data_seq: u64,
    ) -> (PathId, MultipathSegment) {
        let subflow = &mut self.subflows[i];
        let handshake = if i == 0 { MultipathOption::Capable } else { MultipathOption::Join };
        let option = if tcp.flags.has(Flags::SYN) {
            tcp.window = self.receiver.offer_unscaled_window();
            handshake
        } else {
            tcp.window = self.receiver.offer_window();
            let third = subflow.handshake_option_due && tcp.len == 0;
            subflow.handshake_option_due = false;
            if third { handshake } else { MultipathOption::Dss }
        };
        let mut segment = MultipathSegment {
            tcp,
            subflow: i as u8,
            path: subflow.path,
            option,
            data_seq,
            data_ack: self.receiver.next(),
        };
        if self.config.options_on_the_wire {
            segment.count_option();
        }
        (segment.path, segment)
    }

    // ---- data

    #[inline]
    fn has_nothing_to_schedule(&self) -> bool {
        self.pool.bytes() == 0 && self.again.is_empty() && !self.queues && !self.repeats()
    }

    #[inline]
    fn repeats(&self) -> bool {
        self.scheduler.repeats() && self.log.outstanding() > 0
    }

    fn poll_data(&mut self, now: SimTime) -> Option<Departure> {
        if self.has_nothing_to_schedule() {
            return None;
        }
        let repeats = self.repeats();
        if self.queues
            && let Some(sent) = self.poll_queues(now)
        {
            return Some(sent);
        }
        let len = self.pool.next_len(self.mss);
        let last = u64::from(len) == self.pool.bytes();
        let mut room = 0u8;
        for (i, subflow) in self.subflows.iter_mut().enumerate() {
            room |= u8::from(subflow.has_room_for(now, len, last)) << i;
        }
        if room == 0 && !self.scheduler.queues_ahead() {
            // Nothing can leave, but a closed window is noticed.
            self.forget_arrived();
            if self.pool.bytes() > 0
                && self.log.outstanding() == 0
                && self.subflows.iter().any(Subflow::is_usable)
            {
                self.window_room(now);
            }
            return None;
        }
        let mut views = std::mem::take(&mut self.views);
        views.clear();
        let view = |(i, subflow): (usize, &Subflow)| subflow.path_view(room & (1 << i) != 0);
        views.extend(self.subflows.iter().enumerate().map(view));
        let sent = if views.iter().any(|view| view.usable) {
            self.schedule(now, &mut views, repeats)
        } else {
            None
        };
        self.views = views;
        sent
    }

    fn schedule(
        &mut self,
        now: SimTime,
        views: &mut [PathView],
        repeats: bool,
    ) -> Option<Departure> {
        if !self.again.is_empty()
            && let Some(sent) = self.poll_again(now, views)
        {
            return Some(sent);
        }
        if self.pool.bytes() == 0 && !repeats {
            return None;
        }
        loop {
            let Some(room) = self.window_room(now) else {
                return self.when_blocked(now, views, repeats);
            };
            match self.choose(now, views)? {
                Choice::Again { subflow, data_seq } => {
                    if let Some(sent) = self.repeat(now, subflow, data_seq) {
                        return Some(sent);
                    }
                }
                Choice::New { subflow, message } => {
                    let chunk = self.pool.take_of(message, self.mss.min(room))?;
                    let data_seq = self.log.push(chunk, subflow);
                    if views[subflow].room {
                        return Some(self.send_new(now, subflow, chunk, data_seq));
                    }
                    self.queues = true;
                    self.subflows[subflow].enqueue(chunk, data_seq);
                    views[subflow].queued += u64::from(chunk.len);
                    if self.pool.bytes() == 0 {
                        return None;
                    }
                }
            }
        }
    }

    fn choose(&mut self, now: SimTime, views: &[PathView]) -> Option<Choice> {
        let retransmissions =
            self.subflows.iter().map(|s| s.endpoint.stats().retransmissions).sum();
        let situation = Situation {
            now,
            paths: views,
            pool: &self.pool,
            mss: u64::from(self.mss),
            log: &self.log,
            data_edge: self.send_edge(),
            retransmissions,
        };
        self.scheduler.choose(&situation)
    }

    /// End of the window as far as the other side and the send buffer allow.
    fn send_edge(&self) -> u64 {
        self.edge.min(self.log.una().saturating_add(self.config.tcp.send_buffer_bytes))
    }

    /// Most bytes of the next new segment; `None` while the window holds it back. A segment cut short by
    /// the window leaves only if nothing is outstanding (silly windows, RFC 1122, section 4.2.3.4).
    fn window_room(&mut self, now: SimTime) -> Option<u32> {
        if self.pool.bytes() == 0 {
            return Some(0);
        }
        let room = self.send_edge().saturating_sub(self.log.next());
        let wanted = u64::from(self.pool.next_len(self.mss));
        let outstanding = self.log.outstanding();
        if room >= wanted || (room > 0 && outstanding == 0) {
            return Some(room.min(u64::from(u32::MAX)) as u32);
        }
        if outstanding == 0 && self.persist_deadline.is_none() {
            self.arm_persist(now);
        }
        None
    }

    fn send_new(&mut self, now: SimTime, i: usize, chunk: Chunk, data_seq: u64) -> Departure {
        let sent = self.send_on(now, i, chunk, data_seq);
        self.subflows[i].own_what_was_sent();
        sent
    }

    fn send_on(&mut self, now: SimTime, i: usize, chunk: Chunk, data_seq: u64) -> Departure {
        let more = self.pool.bytes() > 0;
        let tcp = self.subflows[i].send(now, chunk, data_seq, more);
        let signal = chunk.end && self.config.tcp.tail_loss_probe == TailLossProbe::Signalled;
        for (j, subflow) in self.subflows.iter_mut().enumerate() {
            if !subflow.endpoint.is_open_to_send() {
                continue;
            }
            subflow.endpoint.sender_mut().check_application_limited(now, more);
            if j != i {
                if !more {
                    subflow.endpoint.sender_mut().on_pool_empty(now);
                }
                // Thesis section 6.4.5: what the other subflow sent of this message ends, too.
                subflow.push_due |= signal && subflow.endpoint.outstanding_bytes() > 0;
            }
        }
        Departure { subflow: i, tcp, data_seq }
    }

    fn poll_queues(&mut self, now: SimTime) -> Option<Departure> {
        for i in 0..self.subflows.len() {
            if let Some(first) = self.subflows[i].dequeue(now) {
                return Some(self.send_new(now, i, first.chunk, first.data_seq));
            }
        }
        None
    }

    /// Sends the data of `data_seq` on subflow `i`, too, unless they were there or are acknowledged.
    fn repeat(&mut self, now: SimTime, i: usize, data_seq: u64) -> Option<Departure> {
        let entry = self.log.at(data_seq)?;
        if entry.was_on(i) {
            return None;
        }
        entry.carriers |= 1 << i;
        let entry = *entry;
        self.reinjected += 1;
        Some(self.send_on(now, i, entry.chunk, entry.data_seq))
    }

    /// What arrived in the meantime need not be sent again.
    fn forget_arrived(&mut self) {
        let una = self.log.una();
        while self.again.first_key_value().is_some_and(|(&data_seq, _)| data_seq < una) {
            self.again.pop_first();
        }
    }

    /// What was lost or stranded on one subflow goes on another.
    fn poll_again(&mut self, now: SimTime, views: &[PathView]) -> Option<Departure> {
        self.forget_arrived();
        let mut chosen = None;
        for (&data_seq, &why) in &self.again {
            let Some(entry) = self.log.at(data_seq).filter(|e| e.data_seq == data_seq) else {
                continue;
            };
            let (carriers, len) = (entry.carriers, u64::from(entry.chunk.len));
            let usable = views.iter().filter(|v| v.usable);
            let alpha = self.estimator.earliest(len, usable).unwrap_or_default();
            let takes = |i: usize, view: &PathView| {
                let other = view.room && carriers & (1 << i) == 0;
                let in_time = SimDuration(view.srtt.0 / 2) <= alpha;
                other
                    && (why == Again::Stranded
                        || (self.pool.bytes() == 0 && self.subflows[i].is_idle() && in_time))
            };
            let best = (0..self.subflows.len())
                .filter(|&i| takes(i, &views[i]))
                .min_by_key(|&i| views[i].srtt);
            if let Some(i) = best {
                chosen = Some((i, data_seq));
                break;
            }
        }
        let (i, data_seq) = chosen?;
        self.again.remove(&data_seq);
        self.repeat(now, i, data_seq)
    }

    /// The window holds new data back: the scheduler may repeat, and opportunistic retransmission does.
    fn when_blocked(
        &mut self,
        now: SimTime,
        views: &[PathView],
        repeats: bool,
    ) -> Option<Departure> {
        while repeats && let Some(Choice::Again { subflow, data_seq }) = self.choose(now, views) {
            if let Some(sent) = self.repeat(now, subflow, data_seq) {
                return Some(sent);
            }
        }
        if !self.config.opportunistic_retransmission {
            return None;
        }
        let una = self.log.una();
        let first = *self.log.at(una)?;
        let holder = (0..self.subflows.len()).find(|&i| first.was_on(i))?;
        let i = (0..self.subflows.len())
            .filter(|&i| views[i].room && !first.was_on(i))
            .min_by_key(|&i| views[i].srtt)?;
        self.penalise(now, holder, views[i].srtt);
        self.repeat(now, i, first.data_seq)
    }

    /// Halves the window of the subflow that holds the connection up, once in each of its round trips.
    fn penalise(&mut self, now: SimTime, holder: usize, helper_srtt: SimDuration) {
        let subflow = &mut self.subflows[holder];
        let srtt = subflow.endpoint.srtt().unwrap_or_default();
        let recently = subflow.penalised.is_some_and(|at| now.since(at) < srtt);
        if srtt > helper_srtt && !recently {
            subflow.penalised = Some(now);
            subflow.endpoint.sender_mut().penalise();
        }
    }

    // ---- what can be seen

    /// The first handshake is done.
    pub fn is_established(&self) -> bool {
        self.subflows.iter().any(|s| s.endpoint.is_established())
    }

    /// Both sides closed every subflow that was open.
    pub fn is_closed(&self) -> bool {
        let mut open = self.subflows.iter().filter(|s| s.endpoint.is_open_to_send()).peekable();
        self.closing && open.peek().is_some() && open.all(|s| s.endpoint.is_closed())
    }

    /// The other side closed.
    pub fn peer_closed(&self) -> bool {
        self.subflows.iter().any(|s| s.endpoint.peer_closed())
    }

    /// Why the connection ended before its time: the last of its subflows failed.
    pub fn failure(&self) -> Option<Failure> {
        let mut failure = None;
        for subflow in &self.subflows {
            if subflow.endpoint.is_alive() {
                return None;
            }
            failure = failure.or(subflow.endpoint.failure());
        }
        failure
    }

    /// Bytes written and not yet sent.
    pub fn unsent_bytes(&self) -> u64 {
        self.pool.bytes() + self.subflows.iter().map(Subflow::queued_bytes).sum::<u64>()
    }

    /// Data sequence numbers sent and not acknowledged.
    pub fn outstanding_bytes(&self) -> u64 {
        self.log.outstanding()
    }

    /// The subflows in order of opening, with their paths.
    pub fn subflows(&self) -> impl Iterator<Item = (PathId, &Endpoint)> {
        self.subflows.iter().map(|s| (s.path, &s.endpoint))
    }

    /// When `bytes` from now on would have arrived over the best subflow alone (thesis section 6.4.1.2);
    /// `None` before the handshake.
    pub fn estimated_completion(&self, bytes: u64) -> Option<SimDuration> {
        let usable = self.subflows.iter().filter(|s| s.is_usable());
        let views: Vec<PathView> = usable.map(|s| PathView::of(&s.endpoint)).collect();
        self.estimator.earliest(bytes, views.iter())
    }

    /// Segments that were sent again on another subflow.
    pub fn reinjections(&self) -> u64 {
        self.reinjected
    }

    /// Counters of all subflows together; what went over a second subflow counts as sent again.
    pub fn stats(&self) -> Stats {
        let mut sum = Stats::default();
        for subflow in &self.subflows {
            sum.add(subflow.endpoint.stats());
        }
        let queued: u64 = self.subflows.iter().map(Subflow::queued_segments).sum();
        let queued_bytes: u64 = self.subflows.iter().map(Subflow::queued_bytes).sum();
        let once = self.log.segments() - queued;
        let bytes_once = self.log.next() - 1 - queued_bytes;
        sum.retransmissions += sum.data_segments.saturating_sub(once);
        sum.retransmitted_bytes += sum.data_bytes.saturating_sub(bytes_once);
        sum.data_segments = once;
        sum.data_bytes = bytes_once;
        sum
    }
}
