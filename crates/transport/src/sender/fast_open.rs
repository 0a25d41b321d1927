//! Data on the SYN: RFC 7413.

use loadpath_net::SimTime;

use super::Sender;
use crate::sent::Sent;
use crate::unsent::Chunk;
use crate::{Flags, Segment, Stats};

impl Sender {
    /// What goes with a SYN.
    pub fn take_for_syn(&mut self) -> Option<Chunk> {
        self.unsent.take(self.config.mss)
    }

    /// Data leave with a SYN, whose timer counts.
    pub fn push_with_syn(&mut self, chunk: Chunk, stats: &mut Stats) -> Sent {
        let flags = if chunk.end { Flags::PSH } else { Flags::default() };
        stats.data_segments += 1;
        stats.data_bytes += u64::from(chunk.len);
        self.log.push(chunk.message, chunk.offset, chunk.len, flags)
    }

    /// The answer to a SYN with data, which acknowledges them or not.
    pub fn on_syn_answer(&mut self, now: SimTime, segment: &Segment, stats: &mut Stats) {
        if segment.ack > self.log.una() {
            self.on_ack(now, segment, false, stats);
        } else {
            self.log.mark_all_lost();
            self.arm_rto(now);
        }
    }
}
