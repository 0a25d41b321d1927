//! The window that the other side offers, and what is done about one that is shut.

use loadpath_net::SimTime;

use super::Sender;
use crate::sent::Sent;
use crate::{Flags, Segment, Stats};

/// Window of a subflow: the connection's is the one that counts (RFC 6824, section 3.3.5).
const OPEN_WINDOW: u32 = 1 << 30;

impl Sender {
    /// The window that a segment offers to this sender.
    #[inline]
    pub(super) fn offered(&self, segment: &Segment) -> u32 {
        if self.shares_window { OPEN_WINDOW } else { segment.window }
    }

    /// The window of a SYN.
    pub fn set_peer_window(&mut self, segment: &Segment) {
        self.peer_window = self.offered(segment);
        self.largest_peer_window = self.peer_window;
        self.peer_edge = self.log.una() + u64::from(self.peer_window);
        self.window_seq = segment.seq;
        self.window_ack = segment.ack;
    }

    pub(super) fn update_window(&mut self, now: SimTime, segment: &Segment) {
        let newer = segment.seq > self.window_seq
            || (segment.seq == self.window_seq && segment.ack >= self.window_ack);
        if !newer {
            return;
        }
        self.window_seq = segment.seq;
        self.window_ack = segment.ack;
        self.peer_window = self.offered(segment);
        self.largest_peer_window = self.largest_peer_window.max(self.peer_window);
        self.peer_edge = segment.ack + u64::from(self.peer_window);
        if self.probe_deadline.is_some() && !self.blocked_by_peer() {
            self.probe_deadline = None;
            self.probe_backoff = 0;
            self.probe_due = false;
            if self.log.outstanding() > 0 {
                self.arm_rto(now);
            }
        }
    }

    pub(super) fn arm_probe(&mut self, now: SimTime) {
        let wait = self.rtt.rto() * (1 << self.probe_backoff.min(32));
        self.probe_deadline = Some(now + wait.min(self.config.max_rto));
        self.probe_backoff += 1;
    }

    /// Length of the next new segment as far as the other side's window and the send buffer go; `None`
    /// if they hold it back.
    #[inline(always)]
    pub(super) fn allowed_len(&mut self, now: SimTime) -> Option<u32> {
        let len = self.unsent.next_len(self.config.mss);
        if self.log.outstanding() + u64::from(len) > self.config.send_buffer_bytes
            && self.log.outstanding() > 0
        {
            return None;
        }
        let room = self.peer_edge.saturating_sub(self.log.next());
        if room >= u64::from(len) {
            return Some(len);
        }
        if self.blocked_by_peer() {
            if self.log.outstanding() == 0 && self.probe_deadline.is_none() {
                self.arm_probe(now);
            }
            return None;
        }
        Some(room as u32)
    }

    /// The other side's window has no room for a segment, nor for half the largest window it ever
    /// offered (RFC 1122, section 4.2.3.4).
    pub(super) fn blocked_by_peer(&self) -> bool {
        let room = self.peer_edge.saturating_sub(self.log.next());
        let wanted = u64::from(self.unsent.next_len(self.config.mss));
        if self.log.next() > self.peer_edge {
            return true;
        }
        room < wanted && (room == 0 || room < u64::from(self.largest_peer_window / 2))
    }

    /// A byte beyond the window, to be told when it opens (RFC 9293, section 3.8.6.1).
    pub(super) fn probe(&mut self, stats: &mut Stats) -> Option<(Sent, bool)> {
        stats.window_probes += 1;
        if let Some(first) = self.log.first() {
            return Some((first, true));
        }
        let chunk = self.unsent.take(1)?;
        let flags = if chunk.end { Flags::PSH } else { Flags::default() };
        stats.data_segments += 1;
        stats.data_bytes += 1;
        Some((self.log.push(chunk.message, chunk.offset, chunk.len, flags), false))
    }
}
