//! When Linux acknowledges (net/ipv4/tcp_input.c, `__tcp_ack_snd_check` and `tcp_event_data_recv`;
//! tcp.c, `tcp_cleanup_rbuf`): at once at the start, while the window grows, and what the application has
//! read of a short segment; every second full segment otherwise, or after the delay.
//!
//! The delay is the least one here: the kernel's adapts itself between 40 ms and the larger of 40 ms and
//! the round-trip time.

use loadpath_net::{SimDuration, SimTime};

use super::AckDue;
use crate::TcpConfig;

/// The kernel's first guess of the other side's segments (`TCP_MSS_DEFAULT`).
const FIRST_MSS: u64 = 536;

/// State of one receiver.
#[derive(Clone, Debug)]
pub(crate) struct QuickAcks {
    most: u32,
    delay: SimDuration,
    /// Bytes that may wait for one ACK.
    patience: u64,
    mss: u32,
    /// ACKs still sent at once.
    quick: u32,
    /// The application answers at once, so that ACKs can ride on its answers (`pingpong`).
    interactive: bool,
    /// Short or pushed segments since the last ACK, at most 2 (`ICSK_ACK_PUSHED`, `ICSK_ACK_PUSHED2`).
    pushed: u8,
    last_received: Option<SimTime>,
}

impl QuickAcks {
    pub fn new(config: &TcpConfig) -> Self {
        QuickAcks {
            most: config.quick_ack_segments,
            delay: config.delayed_ack_timeout,
            patience: u64::from(config.delayed_ack_segments.saturating_sub(1))
                * u64::from(config.mss),
            mss: config.mss,
            quick: 0,
            interactive: false,
            pushed: 0,
            last_received: None,
        }
    }

    /// A segment in order arrived, with which `waiting` bytes have no ACK; `grew` says that the window did. What
    /// is due at once leaves before the application can answer, unless its reading is the reason.
    pub fn on_data(
        &mut self,
        now: SimTime,
        len: u32,
        push: bool,
        waiting: u64,
        window: u64,
        grew: bool,
    ) -> AckDue {
        if self.last_received.is_none() {
            self.hurry(window);
        }
        self.last_received = Some(now);
        if grew {
            self.quick |= 1;
        }
        if len < self.mss || push {
            self.pushed = (self.pushed + 1).min(if len < self.mss { 2 } else { 1 });
        }
        if waiting > self.patience || (self.quick > 0 && !self.interactive) {
            AckDue::Alone
        } else if self.pushed == 2 || (self.pushed == 1 && !self.interactive) {
            AckDue::Yes
        } else {
            AckDue::No
        }
    }

    /// What arrived before came again.
    pub fn on_old_data(&mut self, window: u64) {
        self.interactive = false;
        self.hurry(window);
    }

    /// `tcp_incr_quickack`.
    fn hurry(&mut self, window: u64) {
        let half = u32::try_from(window / (2 * FIRST_MSS)).unwrap_or(u32::MAX);
        self.quick = self.quick.max(half.max(2).min(self.most));
    }

    /// Data leave (`tcp_event_data_sent`).
    #[inline]
    pub fn on_data_sent(&mut self, now: SimTime) {
        self.interactive |= self.last_received.is_some_and(|at| now.since(at) < self.delay);
    }

    /// An ACK that was owed leaves.
    pub fn on_ack_sent(&mut self) {
        self.quick = self.quick.saturating_sub(1);
        self.pushed = 0;
    }

    /// An ACK was delayed in vain (`tcp_delack_timer_handler`).
    pub fn on_deadline(&mut self) {
        self.interactive = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_waits_for_an_answer_only_if_reading_is_its_reason() {
        let config = TcpConfig { quick_ack_segments: 2, ..TcpConfig::standard() };
        let mss = config.mss;
        let mut policy = QuickAcks::new(&config);
        let on_data = |policy: &mut QuickAcks, len, push, waiting| {
            policy.on_data(SimTime::ZERO, len, push, waiting, 1, false)
        };
        // Two are quick (tcp_incr_quickack), then every second full segment.
        for waiting in [1, 1] {
            assert_eq!(on_data(&mut policy, mss, false, waiting), AckDue::Alone);
            policy.on_ack_sent();
        }
        assert_eq!(on_data(&mut policy, mss, false, u64::from(mss)), AckDue::No);
        assert_eq!(on_data(&mut policy, mss, false, 2 * u64::from(mss)), AckDue::Alone);
        policy.on_ack_sent();
        // A short segment: once the application has read it.
        assert_eq!(on_data(&mut policy, 300, true, 300), AckDue::Yes);
        // It answers: no ACK of its own any more.
        policy.on_ack_sent();
        policy.on_data_sent(SimTime::ZERO);
        assert_eq!(on_data(&mut policy, 300, true, 300), AckDue::No);
    }
}
