//! What an ACK, a timer or a transmission means to a sender with RACK-TLP: the steps of Linux `tcp_ack`,
//! `tcp_fastretrans_alert` and `tcp_retransmit_timer`, for connections with SACK and timestamps.

use loadpath_net::{SimDuration, SimTime};

use super::{Phase, Sender};
use crate::congestion::LossSignal;
use crate::rack::{Losses, Pending, Rack, SLACK, Undo};
use crate::sent::Sent;
use crate::{Failure, Flags, Report, Segment, Stats, TailLossProbe};

/// What one ACK tells.
#[derive(Default)]
struct News {
    /// Bytes that arrived: acknowledged or reported for the first time.
    delivered: u64,
    reported: bool,
    /// When the first and the last of the segments left that are acknowledged, and of those reported.
    acked: Option<(SimTime, SimTime)>,
    sacked: Option<(SimTime, SimTime)>,
    /// Something acknowledged was sent more than once.
    again: bool,
    /// Something arrived that was sent once, before the loss was found.
    original: bool,
}

impl News {
    fn note(span: &mut Option<(SimTime, SimTime)>, at: SimTime) {
        let (first, _) = span.unwrap_or((at, at));
        *span = Some((first, at));
    }
}

impl Sender {
    /// An ACK within the window; `update_window` is done, and `duplicate` says that it tells no new window and
    /// carries nothing.
    pub(super) fn on_ack_rack(
        &mut self,
        now: SimTime,
        segment: &Segment,
        bare: bool,
        stats: &mut Stats,
    ) {
        let mut rack = self.rack.take().expect("the caller has looked");
        self.process_ack(&mut rack, now, segment, bare, stats);
        self.rack = Some(rack);
    }

    fn process_ack(
        &mut self,
        rack: &mut Rack,
        now: SimTime,
        segment: &Segment,
        bare: bool,
        stats: &mut Stats,
    ) {
        if self.log.outstanding() == 0 {
            self.on_probe_ack(rack, segment.ack, bare);
            return;
        }
        rack.note_new(&self.log, now, true);
        rack.holds = false;
        let before = self.log.una();
        let advanced = segment.ack > before;
        let news = self.take_news(rack, now, segment);
        let acked = if advanced { self.log.acknowledge(segment.ack) } else { 0 };
        rack.forget_order(segment.ack);
        let rtt_of_report = self.sample_times(rack, now, segment, &news, advanced);
        if advanced {
            self.retries = 0;
            self.validator.on_ack(now);
            self.growth.on_ack(segment.ack);
            self.controller.on_acknowledged(acked);
            if self.fin == super::Fin::Sent && self.log.outstanding() == 0 {
                self.fin = super::Fin::Acknowledged;
            }
        }
        stats.dup_acks += u64::from(!advanced && (bare || news.reported));
        self.on_probe_ack(rack, segment.ack, bare && !advanced && !news.reported);

        let may_grow = self.growth.allows(&self.controller, self.log.pipe());
        let losses = self.change_phase(rack, now, segment, &news, advanced, bare, stats);
        let late = losses.wait > SimDuration::ZERO;
        if late {
            self.rto_deadline = Some(now + losses.wait + SLACK);
            rack.pending = Pending::Reordering;
        }
        // RTO and probe move with what is acknowledged, and with a report of what left after the first segment.
        let moves = advanced
            || rtt_of_report
                .is_some_and(|rtt| rack.first().is_some_and(|first| rtt > now.since(first.at)));
        if self.log.outstanding() == 0 {
            self.idle_since = Some(now);
            self.rto_deadline = None;
            rack.pending = Pending::Timeout;
        } else if moves && !late && self.probe_deadline.is_none() {
            self.rearm(rack, now);
        }
        if self.phase == Phase::Recovery {
            if self.config.prr {
                self.reduce(rack, news.delivered, advanced && losses.bytes == 0);
            }
        } else if acked > 0 && may_grow {
            // Linux counts segments, and a short one is one.
            self.grow(now, news.delivered.div_ceil(self.mss) * self.mss);
        }
    }

    /// Marks what the ACK tells of each segment and compares times (RFC 8985, section 6.2, steps 1 to 4).
    fn take_news(&mut self, rack: &mut Rack, now: SimTime, segment: &Segment) -> News {
        let mut news = News::default();
        let recover = self.recover;
        if let Report::Sack(blocks) = segment.report {
            for block in blocks.iter().filter(|b| b.start < b.end) {
                self.log.mark_received_with(block.from(segment.ack), |place, sent| {
                    let transmission = rack.transmission(place);
                    news.delivered += sent.span();
                    news.reported = true;
                    if !transmission.again {
                        News::note(&mut news.sacked, transmission.at);
                        news.original |= sent.end() <= recover;
                    }
                    rack.note_reported();
                    rack.advance(now, transmission, sent.end());
                });
            }
        }
        let mut place = 0;
        while let Some(sent) = self.log.at(place).filter(|sent| sent.end() <= segment.ack) {
            let reported = self.log.is_received(place);
            let transmission = rack.transmission(0);
            rack.forget_first(reported);
            place += 1;
            news.again |= transmission.again;
            if reported {
                continue;
            }
            news.delivered += sent.span();
            if !transmission.again {
                News::note(&mut news.acked, transmission.at);
                news.original |= sent.end() <= recover;
            }
            // An echo from before it was sent again is of the first transmission (RFC 3522).
            if !transmission.again || segment.echo >= transmission.at {
                rack.advance(now, transmission, sent.end());
            }
        }
        news
    }

    /// RTT samples (`tcp_ack_update_rtt`): from transmission times where they are certain, else from timestamps.
    /// Returns the sample of a report.
    fn sample_times(
        &mut self,
        rack: &mut Rack,
        now: SimTime,
        segment: &Segment,
        news: &News,
        advanced: bool,
    ) -> Option<SimDuration> {
        let ages = |(first, last): (SimTime, SimTime)| (now.since(first), now.since(last));
        let of_report = news.sacked.map(ages);
        let echoed = || (advanced && segment.echo <= now).then(|| now.since(segment.echo));
        let certain = news.acked.filter(|_| !news.again).map(ages);
        let (rtt, latest) = certain.or(of_report).or_else(|| echoed().map(|rtt| (rtt, rtt)))?;
        rack.min_rtt = rack.min_rtt.min(latest);
        self.rtt.sample(rtt, self.log.una(), self.log.next());
        if advanced {
            self.controller.on_rtt_sample(now, latest, self.log.una(), self.log.next());
        }
        of_report.map(|(first, _)| first)
    }

    /// A probe was answered (RFC 8985, section 7.4; `tcp_process_tlp_ack`).
    fn on_probe_ack(&mut self, rack: &mut Rack, ack: u64, duplicate: bool) {
        if rack.probe_end == 0 || ack < rack.probe_end {
            return;
        }
        if !rack.probe_was_old || duplicate {
            rack.probe_end = 0;
        } else if ack > rack.probe_end {
            // The probe repaired a loss.
            rack.probe_end = 0;
            self.controller.on_loss(LossSignal::Recovery, self.window_in_use());
            self.controller.set_cwnd(self.controller.ssthresh());
        }
    }

    /// `tcp_fastretrans_alert`.
    #[allow(clippy::too_many_arguments, reason = "what one ACK tells, looked at once")]
    fn change_phase(
        &mut self,
        rack: &mut Rack,
        now: SimTime,
        segment: &Segment,
        news: &News,
        advanced: bool,
        bare: bool,
        stats: &mut Stats,
    ) -> Losses {
        let complete = self.log.una() >= self.recover;
        match self.phase {
            Phase::Open => {}
            Phase::Recovery if complete => {
                self.phase = Phase::Open;
                self.resend_at_once = false;
                if !self.try_undo(rack, segment, false) {
                    self.controller.set_cwnd(self.controller.ssthresh());
                }
            }
            Phase::Recovery => {}
            Phase::Loss => self.process_loss(rack, segment, news, advanced, bare, complete),
        }
        if self.log.outstanding() == 0 {
            return Losses::default();
        }
        let window = self.reordering_window(rack);
        let losses = rack.detect(&mut self.log, now, window);
        match self.phase {
            Phase::Recovery => {}
            Phase::Loss if !losses.again => {}
            _ if self.log.has_lost() => self.begin_recovery(rack, stats),
            _ => {}
        }
        losses
    }

    /// F-RTO (RFC 5682, section 3.1; `tcp_process_loss`): was the timeout for nothing?
    fn process_loss(
        &mut self,
        rack: &mut Rack,
        segment: &Segment,
        news: &News,
        advanced: bool,
        bare: bool,
        complete: bool,
    ) {
        if advanced && self.try_undo(rack, segment, false) {
            return;
        }
        if rack.frto {
            if news.original && self.try_undo(rack, segment, true) {
                return;
            }
            if self.log.next() > self.recover {
                if news.reported || (bare && !advanced) {
                    rack.frto = false;
                }
            } else if advanced && !complete {
                self.recover = self.log.next();
                if self.unsent.bytes() > 0 && self.peer_edge > self.log.next() {
                    rack.holds = true;
                    return;
                }
                rack.frto = false;
            }
        }
        if complete {
            self.phase = Phase::Open;
            rack.undo = None;
        }
    }

    /// Takes the reduction back if it was for nothing (RFC 4015; `tcp_may_undo`): F-RTO says so, or the ACK
    /// echoes a clock from before anything was sent again.
    fn try_undo(&mut self, rack: &mut Rack, segment: &Segment, sure: bool) -> bool {
        let delayed = rack.retransmitted_at.is_some_and(|at| segment.echo < at);
        let Some(undo) = rack.undo.filter(|_| sure || delayed) else { return false };
        rack.undo = None;
        rack.look_again();
        self.log.unlose();
        self.controller.set_cwnd(self.controller.cwnd().max(undo.cwnd));
        self.controller.set_ssthresh(self.controller.ssthresh().max(undo.ssthresh));
        self.retries = 0;
        self.phase = Phase::Open;
        true
    }

    fn reordering_window(&self, rack: &Rack) -> SimDuration {
        let srtt = self.rtt.srtt().unwrap_or_default();
        rack.reordering_window(self.phase != Phase::Open, srtt, self.config.dup_ack_threshold)
    }

    /// `tcp_enter_recovery`.
    fn begin_recovery(&mut self, rack: &mut Rack, stats: &mut Stats) {
        stats.recoveries += 1;
        self.note_undo(rack);
        rack.probe_end = 0;
        rack.prior_cwnd = self.controller.cwnd();
        rack.prr_delivered = 0;
        rack.prr_out = 0;
        self.controller.on_loss(LossSignal::Recovery, self.window_in_use());
        if !self.config.prr {
            self.controller.set_cwnd(self.controller.ssthresh());
            self.resend_at_once = true;
        }
        self.phase = Phase::Recovery;
        self.recover = self.log.next();
    }

    fn note_undo(&self, rack: &mut Rack) {
        let cwnd = self.controller.cwnd();
        let ssthresh = match self.phase {
            Phase::Recovery => self.controller.ssthresh(),
            _ => self.controller.ssthresh().max(cwnd * 3 / 4),
        };
        rack.undo = Some(Undo { cwnd, ssthresh });
        rack.retransmitted_at = None;
    }

    /// PRR.
    fn reduce(&mut self, rack: &mut Rack, delivered: u64, safe: bool) {
        if delivered == 0 {
            return;
        }
        let (pipe, ssthresh) = (self.log.pipe(), self.controller.ssthresh());
        let delivered = delivered.div_ceil(self.mss) * self.mss;
        let allowance = rack.prr_allowance(self.mss, pipe, ssthresh, delivered, safe);
        self.controller.set_cwnd(pipe + allowance);
    }

    // ---- timers

    /// The timer begins anew after an ACK: a probe, or the timeout (`tcp_set_xmit_timer`).
    fn rearm(&mut self, rack: &mut Rack, now: SimTime) {
        if !self.plan_probe(rack, now, now + self.rtt.rto()) {
            self.rearm_timeout(rack, now);
        }
    }

    /// `tcp_rearm_rto`.
    fn rearm_timeout(&mut self, rack: &mut Rack, now: SimTime) {
        let at = match rack.pending {
            Pending::Timeout => now + self.rtt.rto(),
            _ => self.timeout_of_first(rack, now),
        };
        self.rto_deadline = Some(at.max(now + SimDuration::from_micros(1)));
        rack.pending = Pending::Timeout;
    }

    fn timeout_of_first(&self, rack: &Rack, now: SimTime) -> SimTime {
        rack.first().map_or(now, |first| first.at) + self.rtt.rto()
    }

    /// RFC 8985, section 7.2; `tcp_schedule_loss_probe`. False if no probe is wanted.
    fn plan_probe(&mut self, rack: &mut Rack, now: SimTime, latest: SimTime) -> bool {
        if self.config.tail_loss_probe != TailLossProbe::Rack
            || self.phase != Phase::Open
            || !self.log.is_orderly()
        {
            return false;
        }
        let wait = match self.rtt.srtt() {
            // A lone segment may wait for its delayed ACK.
            Some(srtt) if self.log.segments() == 1 => srtt * 2 + self.config.min_rto,
            Some(srtt) => srtt * 2 + SLACK,
            None => self.config.syn_timeout,
        };
        let at = if latest > now { latest.min(now + wait) } else { now + wait };
        self.rto_deadline = Some(at);
        rack.pending = Pending::Probe;
        true
    }

    /// New data left.
    pub(super) fn after_new_rack(&mut self, now: SimTime) {
        let Some(mut rack) = self.rack.take() else { return };
        rack.note_new(&self.log, now, false);
        if self.phase == Phase::Recovery {
            rack.prr_out += self.mss;
        }
        if self.probe_deadline.is_none() {
            if self.log.segments() == 1 || rack.pending == Pending::Probe {
                self.rearm_timeout(&mut rack, now);
            }
            let latest = self.timeout_of_first(&rack, now);
            self.plan_probe(&mut rack, now, latest);
        }
        self.rack = Some(rack);
    }

    /// Old data left.
    pub(super) fn after_again_rack(&mut self, now: SimTime, sent: &Sent) {
        let Some(mut rack) = self.rack.take() else { return };
        rack.note_again(&self.log, sent, now);
        rack.retransmitted_at.get_or_insert(now);
        if self.phase == Phase::Recovery {
            rack.prr_out += self.mss;
        }
        if sent.seq == self.log.una()
            && rack.pending != Pending::Reordering
            && self.probe_deadline.is_none()
        {
            self.rto_deadline = Some(now + self.rtt.rto());
            rack.pending = Pending::Timeout;
        }
        self.rack = Some(rack);
    }

    /// The timer has run down.
    pub(super) fn on_timer_rack(&mut self, now: SimTime, stats: &mut Stats) -> Option<Failure> {
        let mut rack = self.rack.take().expect("the caller has looked");
        rack.note_new(&self.log, now, true);
        let pending = rack.pending;
        let failure = match pending {
            Pending::Probe => {
                rack.probe_due = true;
                self.probe_due = true;
                self.rearm_timeout(&mut rack, now);
                None
            }
            Pending::Reordering => {
                self.on_late_segments(&mut rack, now, stats);
                None
            }
            Pending::Timeout => self.on_timeout_rack(&mut rack, now, stats),
        };
        self.rack = Some(rack);
        failure
    }

    /// `tcp_rack_reo_timeout`.
    fn on_late_segments(&mut self, rack: &mut Rack, now: SimTime, stats: &mut Stats) {
        let window = self.reordering_window(rack);
        let losses = rack.detect_late(&mut self.log, now, window);
        if losses.bytes > 0 && self.phase != Phase::Recovery {
            self.begin_recovery(rack, stats);
            if self.config.prr {
                self.reduce(rack, self.mss, false);
            }
        }
        self.rearm_timeout(rack, now);
    }

    /// `tcp_retransmit_timer` and `tcp_enter_loss`.
    fn on_timeout_rack(
        &mut self,
        rack: &mut Rack,
        now: SimTime,
        stats: &mut Stats,
    ) -> Option<Failure> {
        stats.timeouts += 1;
        if !self.log.first_was_resent()
            && self.log.segments_after_first() < self.config.dup_ack_threshold as usize
        {
            stats.tail_losses += 1;
        }
        if self.retries >= self.config.max_data_retries {
            return Some(Failure::DataTimeout);
        }
        for place in 0..self.log.segments() {
            if place == 0 || !rack.is_recent(place, now) {
                self.log.lose(place);
            }
        }
        let anew = self.phase == Phase::Open;
        let again_in_loss = self.phase == Phase::Loss && self.retries > 0;
        if anew || self.recover <= self.log.una() || (self.phase == Phase::Loss && !again_in_loss) {
            self.note_undo(rack);
            self.controller.on_loss(LossSignal::Timeout, self.window_in_use());
        } else {
            self.controller.restart();
        }
        self.controller.set_cwnd(self.log.pipe() + self.mss);
        self.resend_at_once = false;
        rack.frto = self.config.frto && (anew || self.retries > 0);
        rack.holds = false;
        rack.probe_end = 0;
        self.retries += 1;
        self.rtt.back_off();
        self.phase = Phase::Loss;
        self.recover = self.log.next();
        self.rto_deadline = Some(now + self.rtt.rto());
        rack.pending = Pending::Timeout;
        None
    }

    // ---- transmission

    /// RFC 8985, section 7.3; `tcp_send_loss_probe`: new data if there are any, else the last segment again.
    pub(super) fn send_probe_rack(
        &mut self,
        now: SimTime,
        stats: &mut Stats,
    ) -> Option<(Sent, bool)> {
        let rack = self.rack.as_deref_mut()?;
        if !std::mem::take(&mut rack.probe_due)
            || rack.probe_end > 0
            || self.phase != Phase::Open
            || self.log.outstanding() == 0
        {
            return None;
        }
        stats.tail_probes += 1;
        let new = self.take_beyond_window(now);
        let was_old = new.is_none();
        let sent = match new {
            Some(chunk) => {
                let flags = if chunk.end { Flags::PSH } else { Flags::default() };
                let more = self.unsent.bytes() > 0;
                (self.push(now, chunk, flags, more, stats), false)
            }
            None => {
                let last = self.log.last()?;
                self.sent_again(now, last, stats)
            }
        };
        let end = self.log.next();
        let rack = self.rack.as_deref_mut()?;
        rack.probe_end = end;
        rack.probe_was_old = was_old;
        rack.pending = Pending::Timeout;
        self.rto_deadline = Some(now + self.rtt.rto());
        Some(sent)
    }

    fn take_beyond_window(&mut self, now: SimTime) -> Option<crate::unsent::Chunk> {
        if self.unsent.bytes() == 0 {
            return None;
        }
        let len = self.allowed_len(now)?;
        self.unsent.take(len)
    }

    /// Whether F-RTO lets new data leave instead of old; if none can, old data are sent again after all.
    pub(super) fn holds_back(&self) -> bool {
        self.rack.as_deref().is_some_and(|rack| rack.holds)
    }

    /// F-RTO found no new data to send.
    pub(super) fn stop_holding_back(&mut self) -> bool {
        let (recover, next) = (self.recover, self.log.next());
        let Some(rack) = self.rack.as_deref_mut() else { return false };
        if next > recover {
            return false;
        }
        rack.holds = false;
        rack.frto = false;
        true
    }
}
