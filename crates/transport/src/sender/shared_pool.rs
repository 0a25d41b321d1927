//! A sender whose new data come from a pool that it shares with other subflows: the connection asks which
//! subflow has room, decides, and hands over one segment's worth at a time (thesis section 6.2.2: nothing
//! is queued on a subflow ahead of its window).

use loadpath_net::SimTime;

use super::{Fin, Phase, Sender};
use crate::sent::Sent;
use crate::unsent::Chunk;
use crate::{Flags, MessageId, Recovery, Stats};

impl Sender {
    /// The sender of a subflow: the window that a segment offers is the connection's.
    pub fn sharing_window(self) -> Self {
        Sender { shares_window: true, ..self }
    }

    /// [`poll_again`](Self::poll_again) may have something.
    #[inline]
    pub fn may_send_again(&self) -> bool {
        self.probe_due || self.log.has_waiting() || self.tail_loss.is_due()
    }

    /// Neither FIN nor a rescue is wanted.
    #[inline]
    pub fn has_no_rest(&self) -> bool {
        self.fin != Fin::Wanted
            && (self.phase != Phase::Recovery || self.config.recovery != Recovery::Sack)
    }

    /// The window has room for a new segment of `len` bytes, the last of the pool if `last`. The window is
    /// validated first (Algorithm 10), so that what a scheduler sees is not stale.
    #[inline(always)]
    pub fn has_room_for(&mut self, now: SimTime, len: u32, last: bool) -> bool {
        !self.log.has_waiting() && self.fin == Fin::No && self.admits(now, len, last).is_some()
    }

    /// Sends `chunk`, for which there is room. `more` says whether the pool still has something.
    #[inline(always)]
    pub fn send(&mut self, now: SimTime, chunk: Chunk, more: bool, stats: &mut Stats) -> Sent {
        let flags = if chunk.end { Flags::PSH } else { Flags::default() };
        self.shared_pool_has_more = more;
        self.push(now, chunk, flags, more, stats)
    }

    /// Algorithm 12 where the pool is shared (thesis, end of section 6.2.2): whether this subflow is
    /// limited by the application shows only when the connection has scheduled the rest elsewhere.
    #[inline(always)]
    pub fn check_application_limited(&mut self, now: SimTime, more: bool) {
        let pipe = self.flight();
        if more {
            self.validator.note_full_window(now, pipe, &self.controller);
        } else {
            let conditions = self.conditions(now);
            self.validator.check_application_limited(&conditions, pipe, more, &mut self.controller);
        }
    }

    /// The last of the pool left on another subflow.
    pub fn on_pool_empty(&mut self, now: SimTime) {
        self.shared_pool_has_more = false;
        if !self.tail_loss.is_off() && !self.tail_loss.is_planned() {
            self.schedule_probe(now);
        }
    }

    /// FIN, once all that the connection had to send is acknowledged.
    pub fn poll_fin(&mut self, now: SimTime) -> Option<Sent> {
        if self.fin != Fin::Wanted || self.log.has_waiting() {
            return None;
        }
        self.fin = Fin::Sent;
        let sent = self.log.push(MessageId(0), 0, 0, Flags::FIN);
        self.after_sending(now);
        Some(sent)
    }

    /// The window without what duplicate ACKs add to it in recovery, bytes: what other subflows and
    /// schedulers look at (thesis section 6.4.1.2).
    pub fn window(&self) -> u64 {
        match self.phase {
            Phase::Recovery => self.controller.ssthresh(),
            _ => self.controller.cwnd(),
        }
    }

    /// Halves the window of a subflow that holds the others up (penalisation).
    pub fn penalise(&mut self) {
        if self.phase == Phase::Open {
            let half = (self.controller.cwnd() / 2).max(self.mss);
            self.controller.set_cwnd(half);
            self.controller.set_ssthresh(half.max(2 * self.mss));
        }
    }

    /// Sequence numbers of segments that wait to be sent again.
    pub fn waiting_seqs(&self) -> impl Iterator<Item = u64> {
        self.log.waiting().map(|sent| sent.seq)
    }

    pub fn has_waiting(&self) -> bool {
        self.log.has_waiting()
    }

    /// After a timeout.
    pub fn is_after_timeout(&self) -> bool {
        self.phase == Phase::Loss
    }
}
