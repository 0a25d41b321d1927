//! The sending half: what may be sent now, and what an ACK or a timeout means.

mod fast_open;
mod rack;
mod shared_pool;
mod tail_probe;
mod window;

use loadpath_net::{SimDuration, SimTime};

use crate::congestion::{AckSample, Controller, LossSignal};
use crate::growth::GrowthGate;
use crate::rack::{Pending, Rack};
use crate::rtt::RttEstimator;
use crate::sent::{Sent, SentLog};
use crate::tail_loss::TailLoss;
use crate::unsent::{Chunk, UnsentPool};
use crate::validation::{Conditions, Validator};
use crate::{
    Failure, Flags, LossWindow, Message, MessageId, PartialAckTimer, Recovery, RecoveryExit,
    Report, Segment, Stats, TcpConfig, WindowRoom,
};

/// Whether a loss is being repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No.
    Open,
    /// Fast recovery, until what was sent when it began is acknowledged.
    Recovery,
    /// After a timeout: slow start over what was sent before it.
    Loss,
}

/// State of the sending half.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    config: TcpConfig,
    mss: u64,
    unsent: UnsentPool,
    log: SentLog,
    controller: Controller,
    growth: GrowthGate,
    validator: Validator,
    rtt: RttEstimator,

    phase: Phase,
    /// What was sent when the loss was found: the end of recovery (RFC 6582 `recover`).
    recover: u64,
    /// The last loss was found by a timeout: duplicate ACKs of `recover` then come from segments that
    /// were sent again in vain, not from a loss.
    after_timeout: bool,
    dup_acks: u32,
    /// Bytes sent by limited transmit since the last ACK of new data.
    limited_bytes: u64,
    /// The first lost segment leaves whatever the window says.
    resend_at_once: bool,
    partial_acks: u32,
    rescued: bool,

    /// One past the last number that the other side's window allows.
    peer_edge: u64,
    peer_window: u32,
    /// The connection over several subflows keeps the window; this subflow's is open.
    shares_window: bool,
    largest_peer_window: u32,
    /// Numbers of the segment that last set the window (SND.WL1, SND.WL2).
    window_seq: u64,
    window_ack: u64,

    rto_deadline: Option<SimTime>,
    /// When the timer was set.
    rto_set_at: SimTime,
    retries: u32,
    /// When the last byte was acknowledged, until the next one leaves.
    idle_since: Option<SimTime>,
    probe_deadline: Option<SimTime>,
    probe_backoff: u32,
    probe_due: bool,
    tail_loss: TailLoss,
    /// Losses are found by time, in a way of their own (`sender/rack.rs`).
    rack: Option<Box<Rack>>,
    /// The pool that this subflow shares had more when this subflow last sent of it.
    shared_pool_has_more: bool,
    /// End of the last short segment with which all that was written had left.
    short_end: u64,

    fin: Fin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    No,
    Wanted,
    Sent,
    Acknowledged,
}

impl Sender {
    pub fn new(config: &TcpConfig) -> Self {
        Sender {
            config: *config,
            mss: u64::from(config.mss),
            unsent: UnsentPool::new(config.send_order),
            // The SYN takes number 0.
            log: SentLog::new(1),
            controller: Controller::new(config),
            growth: GrowthGate::new(config),
            validator: Validator::new(config),
            rtt: RttEstimator::new(config),
            phase: Phase::Open,
            recover: 0,
            after_timeout: false,
            dup_acks: 0,
            limited_bytes: 0,
            resend_at_once: false,
            partial_acks: 0,
            rescued: false,
            peer_edge: 0,
            peer_window: 0,
            shares_window: false,
            largest_peer_window: 0,
            window_seq: 0,
            window_ack: 0,
            rto_deadline: None,
            rto_set_at: SimTime::ZERO,
            retries: 0,
            idle_since: None,
            probe_deadline: None,
            probe_backoff: 0,
            probe_due: false,
            tail_loss: TailLoss::new(config),
            rack: crate::rack::of(config),
            shared_pool_has_more: false,
            short_end: 0,
            fin: Fin::No,
        }
    }

    pub fn write(&mut self, message: Message) {
        if self.fin == Fin::No {
            self.unsent.write(message);
        }
    }

    pub fn write_rest(&mut self, message: Message, written: u64) {
        if self.fin == Fin::No {
            self.unsent.write_rest(message, written);
        }
    }

    pub fn close(&mut self) {
        if self.fin == Fin::No {
            self.fin = Fin::Wanted;
        }
    }

    /// Forgets all there is to send.
    pub fn abandon(&mut self) {
        self.unsent = UnsentPool::new(self.config.send_order);
        self.rto_deadline = None;
        self.probe_deadline = None;
        self.tail_loss.cancel();
        self.fin = Fin::Sent;
    }

    pub fn controller(&self) -> &Controller {
        &self.controller
    }

    pub fn controller_mut(&mut self) -> &mut Controller {
        &mut self.controller
    }

    pub fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    pub fn sample_rtt(&mut self, rtt: SimDuration) {
        if let Some(rack) = &mut self.rack {
            rack.min_rtt = rack.min_rtt.min(rtt);
        }
        self.rtt.sample(rtt, self.log.una(), self.log.next());
    }

    pub fn unsent_bytes(&self) -> u64 {
        self.unsent.bytes()
    }

    pub fn outstanding(&self) -> u64 {
        self.log.outstanding()
    }

    pub fn pipe(&self) -> u64 {
        self.log.pipe()
    }

    /// Number of the next new byte.
    #[inline]
    pub fn next_seq(&self) -> u64 {
        self.log.next()
    }

    /// Oldest number not acknowledged.
    pub fn una(&self) -> u64 {
        self.log.una()
    }

    pub fn fin_acknowledged(&self) -> bool {
        self.fin == Fin::Acknowledged
    }

    pub fn state_name(&self) -> &'static str {
        match self.phase {
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
            Phase::Open if self.controller.in_slow_start() => "slow_start",
            Phase::Open => "avoidance",
        }
    }

    #[inline]
    pub fn next_timeout(&self) -> Option<SimTime> {
        let first = self.rto_deadline.or(self.probe_deadline).unwrap_or(SimTime::MAX);
        let first = first.min(self.tail_loss.deadline());
        (first < SimTime::MAX).then_some(first)
    }

    // ---- ACKs

    /// A segment with an acknowledgement arrived.
    ///
    /// `window_only` says that it tells nothing but a new window, in a way that `segment` itself does not
    /// show; it is then no duplicate.
    #[inline(always)]
    pub fn on_ack(
        &mut self,
        now: SimTime,
        segment: &Segment,
        window_only: bool,
        stats: &mut Stats,
    ) {
        if segment.ack < self.log.una() || segment.ack > self.log.next() {
            return;
        }
        let window_changed = !self.shares_window && segment.window != self.peer_window;
        if !self.shares_window {
            self.update_window(now, segment);
        }
        if self.rack.is_some() {
            if self.probe_deadline.is_none() || segment.ack > self.log.una() {
                let bare = segment.span() == 0 && !window_changed && !window_only;
                self.on_ack_rack(now, segment, bare, stats);
            }
        } else if segment.ack > self.log.una() {
            self.on_new_ack(now, segment, stats);
        } else if self.log.outstanding() > 0 && self.probe_deadline.is_none() {
            let news = self.take_report(segment);
            // RFC 5681, section 2; with SACK it is the news that counts (RFC 6675, section 2).
            let duplicate = match self.config.recovery {
                Recovery::Sack | Recovery::Rack => news,
                _ => segment.span() == 0 && !window_changed && !window_only,
            };
            if duplicate {
                self.on_duplicate_ack(stats);
            }
            if self.tail_loss.is_planned() {
                self.schedule_probe(now);
            }
        }
    }

    /// Marks what the option tells; true if it is news.
    fn take_report(&mut self, segment: &Segment) -> bool {
        match segment.report {
            Report::None => false,
            Report::Nack(range) => {
                self.log.mark_lost(range.from(segment.ack));
                true
            }
            Report::Sack(blocks) => {
                let mut news = false;
                for block in blocks.iter().filter(|b| b.start < b.end) {
                    news |= self.log.mark_received(block.from(segment.ack));
                }
                if news {
                    self.log.judge_losses(self.config.dup_ack_threshold, self.config.mss);
                }
                news
            }
        }
    }

    fn on_new_ack(&mut self, now: SimTime, segment: &Segment, stats: &mut Stats) {
        if segment.echo <= now {
            let rtt = now.since(segment.echo);
            let (una, next) = (self.log.una(), self.log.next());
            self.rtt.sample(rtt, una, next);
            self.controller.on_rtt_sample(now, rtt, una, next);
        }
        let may_grow = self.growth.allows(&self.controller, self.log.pipe());
        let outstanding_before = self.log.outstanding();
        let acked = self.log.acknowledge(segment.ack);
        self.take_report(segment);
        self.retries = 0;
        self.dup_acks = 0;
        self.limited_bytes = 0;
        self.validator.on_ack(now);
        self.growth.on_ack(segment.ack);
        self.controller.on_acknowledged(acked);
        if self.fin == Fin::Sent && self.log.outstanding() == 0 {
            self.fin = Fin::Acknowledged;
        }
        let mut restart_timer = true;
        match self.phase {
            Phase::Open => {
                if may_grow {
                    self.grow(now, acked);
                }
            }
            Phase::Loss => {
                if may_grow {
                    self.grow(now, acked);
                }
                if segment.ack >= self.recover {
                    self.phase = Phase::Open;
                    // A loss of new data may have been reported in the meantime.
                    if self.log.has_waiting() {
                        self.enter_recovery(stats);
                    }
                }
            }
            Phase::Recovery if segment.ack >= self.recover => {
                self.leave_recovery(now, acked, outstanding_before);
            }
            Phase::Recovery => {
                self.on_partial_ack(acked);
                restart_timer = self.partial_acks == 1
                    || self.config.partial_ack_timer == PartialAckTimer::Every;
            }
        }
        if self.log.outstanding() == 0 {
            self.idle_since = Some(now);
            self.rto_deadline = None;
        } else if restart_timer && self.probe_deadline.is_none() {
            self.arm_rto(now);
        }
        if !self.tail_loss.is_off() {
            self.tail_loss.end();
            if self.tail_loss.is_planned() {
                self.schedule_probe(now);
            }
        }
    }

    fn grow(&mut self, now: SimTime, acked: u64) {
        let srtt = self.rtt.srtt().unwrap_or(SimDuration::ZERO);
        let (una, next) = (self.log.una(), self.log.next());
        self.controller.on_ack(&AckSample { now, acked, srtt, una, next });
    }

    /// RFC 6582, section 3.2, step 3. Without SACK a partial ACK reveals the next gap, if the receiver
    /// has not reported it already (appendix B of the thesis: the fallback).
    fn on_partial_ack(&mut self, acked: u64) {
        self.partial_acks += 1;
        if self.config.recovery == Recovery::Sack {
            return;
        }
        let inflated = self.controller.cwnd().saturating_sub(acked);
        let added_back = if acked >= self.mss { self.mss } else { 0 };
        self.controller.set_cwnd(inflated + added_back);
        if !self.log.first_is_lost() {
            self.log.mark_first_lost();
            self.resend_at_once = true;
        }
    }

    fn leave_recovery(&mut self, now: SimTime, acked: u64, outstanding_before: u64) {
        self.phase = Phase::Open;
        self.resend_at_once = false;
        let ssthresh = self.controller.ssthresh();
        let flight = self.log.outstanding();
        let exit = match self.config.recovery_exit {
            RecoveryExit::FlightPlusOne => flight + self.mss,
            RecoveryExit::FlightPlusOneNs3 => outstanding_before + self.mss,
            RecoveryExit::Rfc6582 => flight.max(self.mss) + self.mss,
            RecoveryExit::Ssthresh => ssthresh,
        };
        self.controller.set_cwnd(exit.min(ssthresh));
        if self.config.recovery_exit == RecoveryExit::FlightPlusOneNs3 {
            self.grow(now, acked);
        }
    }

    fn on_duplicate_ack(&mut self, stats: &mut Stats) {
        stats.dup_acks += 1;
        self.dup_acks += 1;
        match self.phase {
            Phase::Open => {
                let reported = self.log.first_is_lost();
                let counted = self.dup_acks >= self.config.dup_ack_threshold
                    && !(self.after_timeout && self.log.una() <= self.recover);
                let probed = self.tail_loss.is_probed();
                if (reported || counted || probed) && !self.log.first_was_resent() {
                    self.enter_recovery(stats);
                }
            }
            Phase::Recovery if self.config.recovery != Recovery::Sack => {
                // A segment has left the network (RFC 5681, section 3.2, step 4).
                self.controller.set_cwnd(self.controller.cwnd() + self.mss);
            }
            _ => {}
        }
    }

    fn enter_recovery(&mut self, stats: &mut Stats) {
        stats.recoveries += 1;
        self.controller.on_loss(LossSignal::Recovery, self.window_in_use());
        let inflation = match self.config.recovery {
            Recovery::Sack | Recovery::Rack => 0,
            // The segments that the duplicate ACKs say have left the network.
            _ => u64::from(self.dup_acks) * self.mss,
        };
        self.controller.set_cwnd(self.controller.ssthresh() + inflation);
        self.phase = Phase::Recovery;
        self.after_timeout = false;
        self.recover = self.log.next();
        self.partial_acks = 0;
        self.rescued = false;
        self.log.mark_first_lost();
        self.resend_at_once = true;
        self.tail_loss.cancel();
        self.tail_loss.end();
    }

    /// What the threshold is a share of.
    fn window_in_use(&self) -> u64 {
        match self.config.loss_window {
            LossWindow::FlightSize => self.log.outstanding(),
            LossWindow::FlightSizeRfc5681 => self.log.outstanding() - self.limited_bytes,
            LossWindow::Cwnd => self.controller.cwnd(),
        }
    }

    // ---- timers

    fn arm_rto(&mut self, now: SimTime) {
        if let Some(rack) = &mut self.rack {
            rack.pending = Pending::Timeout;
        }
        self.rto_set_at = now;
        self.rto_deadline = Some(now + self.rtt.rto());
    }

    /// Called at any time; acts on the deadlines that have passed.
    pub fn on_timeout(&mut self, now: SimTime, stats: &mut Stats) -> Option<Failure> {
        if self.probe_deadline.is_some_and(|at| at <= now) {
            self.probe_due = true;
            self.arm_probe(now);
        }
        if self.tail_loss.deadline() <= now {
            self.tail_loss.on_deadline();
        }
        if self.rto_deadline.is_none_or(|at| at > now) {
            return None;
        }
        if self.rack.is_some() {
            return self.on_timer_rack(now, stats);
        }
        let with_todays_estimate = self.rto_set_at + self.rtt.rto();
        if self.config.rearm_stale_rto && with_todays_estimate > now {
            self.rto_deadline = Some(with_todays_estimate);
            return None;
        }
        self.on_retransmission_timeout(now, stats)
    }

    fn on_retransmission_timeout(&mut self, now: SimTime, stats: &mut Stats) -> Option<Failure> {
        stats.timeouts += 1;
        if !self.log.first_was_resent()
            && self.log.segments_after_first() < self.config.dup_ack_threshold as usize
        {
            stats.tail_losses += 1;
        }
        if self.retries >= self.config.max_data_retries {
            return Some(Failure::DataTimeout);
        }
        if self.phase == Phase::Recovery {
            // Inflation is over.
            self.controller.set_cwnd(self.controller.ssthresh());
        }
        if self.retries == 0 {
            // The threshold changes once for the same data (RFC 5681, section 3.1); Linux also leaves
            // it when recovery has just reduced it (`tcp_enter_loss`).
            match self.config.loss_window {
                LossWindow::Cwnd if self.phase == Phase::Recovery => self.controller.restart(),
                LossWindow::Cwnd => {
                    self.controller.on_loss(LossSignal::Timeout, self.controller.cwnd());
                }
                _ => self.controller.on_loss(LossSignal::Timeout, self.log.outstanding()),
            }
        } else {
            self.controller.restart();
        }
        self.retries += 1;
        self.rtt.back_off();
        self.phase = Phase::Loss;
        self.after_timeout = true;
        self.recover = self.log.next();
        self.dup_acks = 0;
        self.limited_bytes = 0;
        self.resend_at_once = false;
        self.tail_loss.cancel();
        self.tail_loss.end();
        self.log.mark_all_lost();
        self.arm_rto(now);
        None
    }

    // ---- transmission

    /// The next segment to send now and whether it was sent before.
    #[inline(always)]
    pub fn poll(&mut self, now: SimTime, stats: &mut Stats) -> Option<(Sent, bool)> {
        if self.log.has_waiting() || self.probe_due || self.tail_loss.is_due() {
            if let Some(sent) = self.poll_again(now, stats) {
                return Some(sent);
            }
            if self.log.has_waiting() && !self.holds_back() {
                return None;
            }
        }
        if self.unsent.bytes() > 0 {
            if let Some(sent) = self.poll_new(now, stats) {
                return Some((sent, false));
            }
        } else if self.fin == Fin::Wanted {
            // FIN needs no room in a window: it carries nothing.
            return Some((self.push_fin(now), false));
        }
        if self.stop_holding_back() {
            return self.poll_again(now, stats);
        }
        self.poll_rescue(now, stats)
    }

    /// What is sent again before anything new, and probes.
    pub fn poll_again(&mut self, now: SimTime, stats: &mut Stats) -> Option<(Sent, bool)> {
        if self.probe_due {
            self.probe_due = false;
            return match self.send_probe_rack(now, stats) {
                None if self.probe_deadline.is_some() => self.probe(stats),
                sent => sent,
            };
        }
        if self.log.has_waiting() {
            if self.holds_back() {
                return None;
            }
            let room = self.controller.cwnd() >= self.log.pipe() + self.mss;
            if self.resend_at_once || room {
                self.resend_at_once = false;
                let sent = self.log.resend_waiting();
                return sent.map(|sent| self.sent_again(now, sent, stats));
            }
            return None;
        }
        if self.tail_loss.take_due() {
            return self.probe_tail(now, stats);
        }
        None
    }

    /// What is sent again because there is nothing new to send.
    #[inline]
    pub fn poll_rescue(&mut self, now: SimTime, stats: &mut Stats) -> Option<(Sent, bool)> {
        if self.phase == Phase::Recovery && self.config.recovery == Recovery::Sack {
            return self.rescue(now, stats);
        }
        None
    }

    /// Algorithm 10.
    #[inline(always)]
    fn poll_new(&mut self, now: SimTime, stats: &mut Stats) -> Option<Sent> {
        let len = self.allowed_len(now)?;
        let last = u64::from(len) == self.unsent.bytes();
        let conditions = self.admits(now, len, last)?;
        let chunk = self.unsent.take(len)?;
        let mut flags = if chunk.end { Flags::PSH } else { Flags::default() };
        let more = self.unsent.bytes() > 0;
        if self.fin == Fin::Wanted && !more {
            flags = flags.with(Flags::FIN);
            self.fin = Fin::Sent;
        }
        let sent = self.push(now, chunk, flags, more, stats);
        let pipe = self.flight();
        self.validator.check_application_limited(&conditions, pipe, more, &mut self.controller);
        Some(sent)
    }

    /// The congestion window, validated under the conditions returned, has room for a new segment of `len`
    /// bytes.
    #[inline(always)]
    fn admits(&mut self, now: SimTime, len: u32, last: bool) -> Option<Conditions> {
        if self.config.nagle && last && self.fin == Fin::No && self.waits_for_more(len) {
            return None;
        }
        let pipe = self.flight();
        let limited = self.limited_allowance();
        if !self.has_room(self.controller.cwnd() + limited, pipe, len, last) {
            self.growth.on_blocked(&self.log, pipe);
            return None;
        }
        let conditions = self.conditions(now);
        if let Some(since) = self.idle_since {
            self.controller.on_idle(now.since(since));
            self.idle_since = Some(now);
        }
        self.validator.validate(&conditions, &mut self.controller);
        let room = self.has_room(self.controller.cwnd() + limited, pipe, len, last);
        room.then_some(conditions)
    }

    /// Nagle's algorithm holds back `len` bytes behind which nothing was written.
    fn waits_for_more(&self, len: u32) -> bool {
        u64::from(len) < self.mss && self.log.una() < self.short_end
    }

    /// A new segment leaves.
    #[inline(always)]
    fn push(
        &mut self,
        now: SimTime,
        chunk: Chunk,
        flags: Flags,
        more: bool,
        stats: &mut Stats,
    ) -> Sent {
        if self.dup_acks > 0
            && !self.has_room(self.controller.cwnd(), self.log.outstanding(), chunk.len, !more)
        {
            self.limited_bytes += u64::from(chunk.len);
        }
        let sent = self.log.push(chunk.message, chunk.offset, chunk.len, flags);
        if !more && u64::from(chunk.len) < self.mss {
            self.short_end = self.log.next();
            if self.config.window_room == WindowRoom::Segments {
                self.log.pad_last(self.mss - u64::from(chunk.len));
            }
        }
        stats.data_segments += 1;
        stats.data_bytes += u64::from(chunk.len);
        self.idle_since = None;
        self.after_sending(now);
        self.growth.on_sent(&self.log, self.flight());
        if self.rack.is_some() {
            self.after_new_rack(now);
        }
        if !self.tail_loss.is_off() {
            self.schedule_probe(now);
        }
        sent
    }

    /// Bytes in flight as new data see them. Without limited transmit a reported segment makes room
    /// only once recovery has begun.
    #[inline]
    fn flight(&self) -> u64 {
        if self.phase == Phase::Open && !self.config.limited_transmit {
            self.log.pipe() + self.log.received()
        } else {
            self.log.pipe()
        }
    }

    /// RFC 3042: one segment beyond the window for each of the first duplicate ACKs. With SACK the
    /// reports make that room by themselves (RFC 6675, section 5, step 3).
    #[inline]
    fn limited_allowance(&self) -> u64 {
        if self.dup_acks == 0
            || self.phase != Phase::Open
            || !self.config.limited_transmit
            || self.config.recovery.has_reports()
        {
            return 0;
        }
        u64::from(self.dup_acks.min(self.config.dup_ack_threshold - 1)) * self.mss
    }

    #[inline]
    fn has_room(&self, window: u64, pipe: u64, len: u32, last_of_all: bool) -> bool {
        match self.config.window_room {
            WindowRoom::WhatFits if last_of_all => window >= pipe + u64::from(len),
            _ => window >= pipe + self.mss,
        }
    }

    /// RFC 6675 `NextSeg`, rules (3) and (4).
    fn rescue(&mut self, now: SimTime, stats: &mut Stats) -> Option<(Sent, bool)> {
        if self.controller.cwnd() < self.log.pipe() + self.mss {
            return None;
        }
        let mut sent = self.log.resend_unreported();
        if sent.is_none() && !self.rescued {
            self.rescued = true;
            sent = self.log.resend_last_unreported();
        }
        sent.map(|sent| self.sent_again(now, sent, stats))
    }

    fn sent_again(&mut self, now: SimTime, sent: Sent, stats: &mut Stats) -> (Sent, bool) {
        stats.retransmissions += 1;
        stats.retransmitted_bytes += u64::from(sent.len);
        self.after_sending(now);
        if self.rack.is_some() {
            self.after_again_rack(now, &sent);
        }
        (sent, true)
    }

    /// FIN leaves alone.
    fn push_fin(&mut self, now: SimTime) -> Sent {
        self.fin = Fin::Sent;
        let sent = self.log.push(MessageId(0), 0, 0, Flags::FIN);
        self.after_sending(now);
        if self.rack.is_some() {
            self.after_new_rack(now);
        }
        sent
    }

    #[inline]
    fn after_sending(&mut self, now: SimTime) {
        self.validator.on_sent(now);
        if self.rto_deadline.is_none() && self.probe_deadline.is_none() {
            self.arm_rto(now);
        }
    }

    #[inline]
    fn conditions(&self, now: SimTime) -> Conditions {
        Conditions {
            now,
            rto: self.rtt.rto(),
            receive_window: u64::from(self.peer_window),
            open: self.phase == Phase::Open,
        }
    }
}
