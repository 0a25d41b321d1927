//! Loss detection by time: RACK-TLP (RFC 8985), with what Linux does around it.
//!
//! Here is what is remembered; `sender/rack.rs` acts on it. A segment is lost if one that was sent later
//! arrived, and a round-trip time and the reordering window have passed since. That also finds
//! retransmissions that are lost, for which the log forgets that they were sent again.

use std::collections::VecDeque;

use loadpath_net::{SimDuration, SimTime};

use crate::TcpConfig;
use crate::sent::{Sent, SentLog};

/// What timers are longer by than computed (Linux `TCP_TIMEOUT_MIN_US`).
pub(crate) const SLACK: SimDuration = SimDuration::from_millis(2);

/// When a segment last left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub at: SimTime,
    /// It was sent more than once.
    pub again: bool,
}

/// What the one timer means (Linux `icsk_pending`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    Timeout,
    Probe,
    Reordering,
}

/// The window before a reduction, to go back to if it was for nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    pub cwnd: u64,
    pub ssthresh: u64,
}

/// State of one sender.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    /// Of each segment in the log.
    sent: VecDeque<Transmission>,
    /// Transmissions with the ends of their segments, oldest first; also some that count no more.
    order: VecDeque<(SimTime, u64)>,
    /// The last one that arrived, as known (`RACK.xmit_ts`, `RACK.end_seq`).
    newest: (SimTime, u64),
    /// Its round-trip time.
    rtt: SimDuration,
    pub min_rtt: SimDuration,
    /// Something arrived since losses were last looked for.
    advanced: bool,
    /// Segments in the log that are reported as received.
    reported: u32,
    pub pending: Pending,

    /// End of what was sent when the probe left; 0 if none is out (`TLP.end_seq`).
    pub probe_end: u64,
    /// The probe was old data.
    pub probe_was_old: bool,
    pub probe_due: bool,

    /// Window when the reduction began, delivered and sent since: PRR.
    pub prior_cwnd: u64,
    pub prr_delivered: u64,
    pub prr_out: u64,

    /// F-RTO watches whether the timeout was for nothing.
    pub frto: bool,
    /// Nothing is sent again before the next ACK: F-RTO sends new data.
    pub holds: bool,
    pub undo: Option<Undo>,
    /// When the first segment was sent again in this repair.
    pub retransmitted_at: Option<SimTime>,
}

impl Rack {
    pub fn new() -> Self {
        Rack {
            sent: VecDeque::new(),
            order: VecDeque::new(),
            newest: (SimTime::ZERO, 0),
            rtt: SimDuration::ZERO,
            min_rtt: SimDuration(u64::MAX),
            advanced: false,
            reported: 0,
            pending: Pending::Timeout,
            probe_end: 0,
            probe_was_old: false,
            probe_due: false,
            prior_cwnd: 0,
            prr_delivered: 0,
            prr_out: 0,
            frto: false,
            holds: false,
            undo: None,
            retransmitted_at: None,
        }
    }

    /// Notes what was appended to the log and left at `at`; if that is a guess, it is no RTT sample.
    pub fn note_new(&mut self, log: &SentLog, at: SimTime, guess: bool) {
        while let Some(sent) = log.at(self.sent.len()) {
            self.sent.push_back(Transmission { at, again: guess });
            self.order.push_back((at, sent.end()));
        }
    }

    /// A segment left again.
    pub fn note_again(&mut self, log: &SentLog, sent: &Sent, now: SimTime) {
        // Window probes and what left with a SYN have not been noted.
        self.note_new(log, now, true);
        if let Some(place) = log.place_of(sent.end()) {
            self.sent[place] = Transmission { at: now, again: true };
            self.order.push_back((now, sent.end()));
        }
    }

    pub fn transmission(&self, place: usize) -> Transmission {
        self.sent[place]
    }

    /// Of the oldest segment that is not acknowledged.
    pub fn first(&self) -> Option<Transmission> {
        self.sent.front().copied()
    }

    /// A segment at `place` was reported as received.
    pub fn note_reported(&mut self) {
        self.reported += 1;
    }

    /// The first segment is acknowledged, which had been reported before or not.
    pub fn forget_first(&mut self, reported: bool) {
        self.sent.pop_front();
        self.reported -= u32::from(reported);
    }

    /// Drops what was sent up to `una`.
    pub fn forget_order(&mut self, una: u64) {
        while self.order.front().is_some_and(|(_, end)| *end <= una) {
            self.order.pop_front();
        }
    }

    /// A segment arrived that left as told (Linux `tcp_rack_advance`).
    pub fn advance(&mut self, now: SimTime, transmission: Transmission, end: u64) {
        let rtt = now.since(transmission.at);
        if transmission.again && rtt < self.min_rtt {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        self.newest = self.newest.max((transmission.at, end));
    }

    /// Losses are to be looked for, even if nothing arrives (Linux, after an undo).
    pub fn look_again(&mut self) {
        self.advanced = true;
    }

    /// Takes the segment at `place` for received so late that it is lost.
    fn overdue_at(&self, sent_at: SimTime, window: SimDuration) -> SimTime {
        sent_at + self.rtt + window
    }

    /// At a timeout segments that left lately are not taken for lost.
    pub fn is_recent(&self, place: usize, now: SimTime) -> bool {
        self.overdue_at(self.sent[place].at, SimDuration::ZERO) > now
    }

    /// The reordering window (RFC 8985, section 6.2, step 4; `tcp_rack_reo_wnd`). Reordering itself is not
    /// looked for: links keep the order.
    pub fn reordering_window(
        &self,
        repairs: bool,
        srtt: SimDuration,
        threshold: u32,
    ) -> SimDuration {
        if repairs || self.reported >= threshold {
            return SimDuration::ZERO;
        }
        SimDuration(self.min_rtt.0 / 4).min(srtt)
    }

    /// Marks losses in the log (step 5; `tcp_rack_detect_loss`), if there may be any. Returns the bytes newly
    /// lost, whether retransmissions are among them, and how long others are waited for.
    pub fn detect(&mut self, log: &mut SentLog, now: SimTime, window: SimDuration) -> Losses {
        let mut losses = Losses::default();
        if !std::mem::take(&mut self.advanced) {
            return losses;
        }
        self.scan(log, now, window, &mut losses);
        losses
    }

    /// The same when the timer for late segments has run down.
    pub fn detect_late(&mut self, log: &mut SentLog, now: SimTime, window: SimDuration) -> Losses {
        let mut losses = Losses::default();
        self.scan(log, now, window, &mut losses);
        losses
    }

    fn scan(&mut self, log: &mut SentLog, now: SimTime, window: SimDuration, found: &mut Losses) {
        let mut i = 0;
        while let Some(&(at, end)) = self.order.get(i) {
            if (at, end) >= self.newest {
                break;
            }
            let alive = log.place_of(end).filter(|&place| {
                self.sent.get(place).is_some_and(|t| t.at == at)
                    && !log.is_received(place)
                    && !log.is_waiting(place)
            });
            if let Some(place) = alive {
                let overdue = self.overdue_at(at, window);
                if overdue > now {
                    found.wait = found.wait.max(overdue.since(now));
                    i += 1;
                    continue;
                }
                found.bytes += log.at(place).map_or(0, Sent::span);
                found.again |= self.sent[place].again;
                log.lose(place);
            }
            if i == 0 {
                self.order.pop_front();
            } else {
                i += 1;
            }
        }
    }

    /// How much the window lets go now (RFC 6937bis; `tcp_cwnd_reduction`), in whole segments.
    pub fn prr_allowance(
        &mut self,
        mss: u64,
        pipe: u64,
        ssthresh: u64,
        delivered: u64,
        safe: bool,
    ) -> u64 {
        self.prr_delivered += delivered;
        let allowance = if pipe > ssthresh {
            let share = u128::from(ssthresh) * u128::from(self.prr_delivered);
            let share = share.div_ceil(u128::from(self.prior_cwnd.max(1))) as u64;
            share.div_ceil(mss) * mss
        } else {
            let conserved = (self.prr_delivered.saturating_sub(self.prr_out)).max(delivered);
            // Slow start while nothing more is lost, else packet conservation.
            let allowed = conserved + if safe { mss } else { 0 };
            return allowed.min(ssthresh - pipe).max(self.first_segment(mss));
        };
        allowance.saturating_sub(self.prr_out).max(self.first_segment(mss))
    }

    /// A reduction begins with a retransmission, whatever the window says.
    fn first_segment(&self, mss: u64) -> u64 {
        if self.prr_out == 0 { mss } else { 0 }
    }
}

/// What was found lost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    pub bytes: u64,
    pub again: bool,
    /// Longest time after which a segment that may only be late is lost.
    pub wait: SimDuration,
}

/// Recovery by RACK, if the configuration says so.
pub(crate) fn of(config: &TcpConfig) -> Option<Box<Rack>> {
    (config.recovery == crate::Recovery::Rack).then(|| Box::new(Rack::new()))
}
