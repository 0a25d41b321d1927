//! When an ACK may grow the congestion window.

use crate::congestion::Controller;
use crate::sent::SentLog;
use crate::{Growth, TcpConfig};

/// The rule and what it remembers of the last round trip.
#[derive(Clone, Debug)]
pub(crate) struct GrowthGate {
    rule: Growth,
    mss: u64,
    /// Most bytes in flight, and whether the window held segments back, since `una` passed the last
    /// `round_end` (Linux `max_packets_out`, `is_cwnd_limited`, `cwnd_usage_seq`).
    most: u64,
    blocked: bool,
    round_end: u64,
    una: u64,
}

impl GrowthGate {
    pub fn new(config: &TcpConfig) -> Self {
        GrowthGate {
            rule: config.growth,
            mss: u64::from(config.mss),
            most: 0,
            blocked: false,
            round_end: 0,
            una: 0,
        }
    }

    /// Whether an ACK that comes while `pipe` bytes are in flight may grow the window.
    #[inline]
    pub fn allows(&self, controller: &Controller, pipe: u64) -> bool {
        match self.rule {
            Growth::Always => true,
            Growth::IfWindowFull => controller.cwnd() < pipe + self.mss,
            Growth::IfHalfUsed => {
                self.blocked || (controller.in_slow_start() && controller.cwnd() < 2 * self.most)
            }
        }
    }

    #[inline]
    pub fn on_ack(&mut self, una: u64) {
        self.una = una;
    }

    /// A segment left, which makes `pipe` bytes in flight.
    #[inline]
    pub fn on_sent(&mut self, log: &SentLog, pipe: u64) {
        if self.rule == Growth::IfHalfUsed {
            self.note(log, pipe, false);
        }
    }

    /// The window holds a segment back.
    #[inline]
    pub fn on_blocked(&mut self, log: &SentLog, pipe: u64) {
        if self.rule == Growth::IfHalfUsed {
            self.note(log, pipe, true);
        }
    }

    fn note(&mut self, log: &SentLog, pipe: u64, blocked: bool) {
        let new_round = self.una >= self.round_end;
        if new_round || blocked || (!self.blocked && pipe > self.most) {
            self.blocked = blocked;
            self.most = pipe;
            self.round_end = log.next();
        }
    }
}
