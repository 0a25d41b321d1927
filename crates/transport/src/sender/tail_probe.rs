//! When a tail loss probe is planned, and what it is.

use loadpath_net::SimTime;

use super::{Phase, Sender};
use crate::sent::Sent;
use crate::tail_loss::Tail;
use crate::{Flags, Stats};

impl Sender {
    /// Algorithm 9.
    pub(super) fn schedule_probe(&mut self, now: SimTime) {
        let tail = Tail {
            open: self.phase == Phase::Open,
            application_limited: self.unsent.bytes() == 0 && !self.shared_pool_has_more,
            segments: self.log.segments(),
            srtt: self.rtt.srtt(),
        };
        self.tail_loss.schedule(now, &tail);
    }

    /// New data if there are any and the other side has room, else the last segment again.
    pub(super) fn probe_tail(&mut self, now: SimTime, stats: &mut Stats) -> Option<(Sent, bool)> {
        if self.phase != Phase::Open || self.log.outstanding() == 0 {
            return None;
        }
        stats.tail_probes += 1;
        let sent = if self.unsent.bytes() > 0
            && let Some(len) = self.allowed_len(now)
            && let Some(chunk) = self.unsent.take(len)
        {
            let flags = if chunk.end { Flags::PSH } else { Flags::default() };
            let more = self.unsent.bytes() > 0;
            let sent = (self.push(now, chunk, flags, more, stats), false);
            // One probe for each silence.
            self.tail_loss.cancel();
            sent
        } else {
            let last = self.log.last()?;
            self.sent_again(now, last, stats)
        };
        self.arm_rto(now);
        Some(sent)
    }
}
