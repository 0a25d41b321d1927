//! The connection over several subflows: thesis section 6.2.2, RFC 6824 and 8684 where they agree with it.
//!
//! The connection holds what is unsent, numbers data when they are first sent, and keeps the window that
//! the other side offers; a subflow has its own sequence numbers, congestion window and recovery. Whenever
//! a subflow has room the scheduler decides what it sends, so nothing waits on a subflow ahead of its
//! window (but with OTIAS and the kernel's scheduler, whose idea that is).
//!
//! Deviations from the RFCs. Closing: the subflows send FIN, which stands for DATA_FIN too, once all data
//! are acknowledged on the connection. A closed window is probed by PSH/ACK, which is answered at once,
//! instead of by a byte beyond the window. An end that gives up a subflow does not tell the other one, which finds
//! out by its own timeouts.

mod transmit;

use std::collections::BTreeMap;

use loadpath_net::{SimDuration, SimTime};

use super::config::{Join, MAX_SUBFLOWS, MultipathConfig};
use super::data_log::DataLog;
use super::scheduler::estimator::CompletionEstimator;
use super::scheduler::{PathView, Scheduler};
use super::segment::{DSS_MAPPING_BYTES, MultipathOption, MultipathSegment};
use super::subflow::Subflow;
use crate::congestion::SubflowView;
use crate::endpoint::{Endpoint, Failure, Stats};
use crate::receiver::{AckDue, Receiver};
use crate::unsent::UnsentPool;
use crate::{Delivery, DeliveryOrder, Flags, Message, PathId, Recovery, Segment, TcpConfig};

/// Why data are to be sent again on another subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Again {
    /// A segment of its subflow was lost: if another one is idle (thesis section 6.4.1.3).
    Lost,
    /// Its subflow failed or had a timeout: as soon as possible.
    Stranded,
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
    /// The scheduler may repeat what was sent.
    repeating: bool,
    /// Nothing is to be sent before something happens.
    quiet: bool,
    /// When the subflows were last asked for room.
    asked_at: SimTime,
    /// The subflows as a scheduler sees them.
    views: Vec<PathView>,
    /// Room for what coupled congestion controllers see.
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
        let scheduler = Scheduler::new(config);
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
            repeating: scheduler.repeats(),
            scheduler,
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
            asked_at: SimTime::ZERO,
            views: vec![PathView::default(); count],
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
        self.subflows[0].forget();
        if self.config.join == Join::AtOnce {
            self.join(now);
        }
    }

    fn join(&mut self, now: SimTime) {
        if !self.joined {
            self.joined = true;
            for subflow in &mut self.subflows[1..] {
                subflow.forget();
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
        self.quiet &= self.receiver.ack_due() == AckDue::No;
        delivery
    }

    /// A segment arrived.
    pub fn on_segment(&mut self, now: SimTime, segment: &MultipathSegment) {
        let i = usize::from(segment.subflow);
        if i >= self.subflows.len() {
            return;
        }
        let mut was_quiet = std::mem::take(&mut self.quiet);
        let tcp = &segment.tcp;
        if self.config.tcp.congestion.is_coupled() && self.subflows[i].may_need_coupling(tcp) {
            self.couple(i);
        }
        let edge = segment.data_ack + u64::from(tcp.window);
        let window_only = segment.data_ack == self.log.una() && edge > self.edge;
        let subflow = &mut self.subflows[i];
        subflow.forget();
        let was_open = subflow.endpoint.is_open_to_send();
        let una = subflow.endpoint.sender().una();
        subflow.endpoint.on_subflow_segment(now, tcp, window_only);
        let is_open = subflow.endpoint.is_open_to_send();
        if subflow.endpoint.sender().una() > una {
            subflow.forget_acknowledged();
        }
        if tcp.flags.has(Flags::SYN) {
            // The window of a SYN, which the first segment behind it replaces.
            self.edge = self.edge.max(1 + u64::from(tcp.window));
            if tcp.len > 0 && is_open {
                self.receive_data(now, segment);
            }
        } else if is_open {
            subflow.confirmed = true;
            self.on_open_subflow(now, segment, edge);
        }
        if !was_open || (self.is_client && !self.joined) {
            self.after_handshake(now, i, segment, !was_open && is_open);
            was_quiet = false;
        }
        if was_open && !is_open {
            // A reset.
            self.give_up(i);
        }
        let subflow = &mut self.subflows[i];
        if subflow.endpoint.sender().has_waiting() {
            self.look_for_losses(i);
        } else if was_quiet {
            self.quiet = subflow.has_nothing_due() && self.has_nothing_else_due();
        }
    }

    /// Nothing but what is due on a subflow could leave now.
    #[inline]
    fn has_nothing_else_due(&self) -> bool {
        self.has_nothing_to_schedule() && self.receiver.ack_due() == AckDue::No && !self.closing
    }

    /// Shows the congestion controller of subflow `me` all subflows.
    #[inline(never)]
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
    #[inline(always)]
    fn on_open_subflow(&mut self, now: SimTime, segment: &MultipathSegment, edge: u64) {
        let tcp = &segment.tcp;
        if tcp.flags.has(Flags::ACK) && segment.data_ack <= self.log.next() {
            if segment.data_ack > self.log.una() {
                self.log.acknowledge(segment.data_ack);
            }
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

    #[inline(always)]
    fn receive_data(&mut self, now: SimTime, segment: &MultipathSegment) {
        if !self.receiver.take_next(segment.data_seq, &segment.tcp) {
            self.receive_out_of_order(now, segment);
        }
        // Each subflow acknowledges for itself; the data ACK rides along.
        self.receiver.on_ack_sent();
    }

    #[inline(never)]
    fn receive_out_of_order(&mut self, now: SimTime, segment: &MultipathSegment) {
        let tcp = &segment.tcp;
        let flags = if tcp.flags.has(Flags::PSH) { Flags::PSH } else { Flags::default() };
        self.receiver.on_data(now, &Segment { seq: segment.data_seq, flags, ..*tcp });
    }

    /// `opened`: this segment opened subflow `i`.
    #[inline(never)]
    fn after_handshake(
        &mut self,
        now: SimTime,
        i: usize,
        segment: &MultipathSegment,
        opened: bool,
    ) {
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
    #[inline(never)]
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
            subflow.forget();
            subflow.endpoint.on_timeout(now);
            if subflow.endpoint.failure().is_some() {
                self.give_up(i);
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

    /// What subflow `i`, which failed, had under way or queued goes to the others.
    fn give_up(&mut self, i: usize) {
        if std::mem::replace(&mut self.subflows[i].abandoned, true) {
            return;
        }
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
