//! Tail loss probes: thesis section 6.4.5 and Algorithm 9, after draft-dukkipati-tcpm-tcp-loss-probe.
//!
//! The last segments of a message leave too few behind them for duplicate ACKs. If nothing is heard for a
//! probe timeout, a segment is sent whose ACK tells; until the next ACK of new data one duplicate ACK then
//! means a loss (the state TAIL_LOSS). As in the thesis a loss that the probe itself repairs does not
//! shrink the window.

use loadpath_net::{SimDuration, SimTime};

use crate::{TailLossProbe, TcpConfig};

/// Least probe timeout: 10 ms (Algorithm 9, where `min` is a misprint for the draft's `max`).
const MIN_TIMEOUT: SimDuration = SimDuration::from_millis(10);

/// The timer and the state TAIL_LOSS.
#[derive(Clone, Debug)]
pub(crate) struct TailLoss {
    mode: TailLossProbe,
    dup_ack_threshold: usize,
    ack_delay: SimDuration,
    deadline: SimTime,
    /// A probe is to be sent.
    due: bool,
    /// A probe was sent, and nothing new was acknowledged since.
    probed: bool,
}

/// What Algorithm 9 looks at.
pub(crate) struct Tail {
    /// State OPEN.
    pub open: bool,
    /// Nothing is left to send.
    pub application_limited: bool,
    /// Segments in flight.
    pub segments: usize,
    pub srtt: Option<SimDuration>,
}

impl TailLoss {
    pub fn new(config: &TcpConfig) -> Self {
        TailLoss {
            mode: config.tail_loss_probe,
            dup_ack_threshold: config.dup_ack_threshold as usize,
            ack_delay: config.delayed_ack_timeout,
            deadline: SimTime::MAX,
            due: false,
            probed: false,
        }
    }

    #[inline]
    pub fn is_off(&self) -> bool {
        matches!(self.mode, TailLossProbe::Off | TailLossProbe::Rack)
    }

    /// When the probe is due; `SimTime::MAX` if none is planned.
    #[inline]
    pub fn deadline(&self) -> SimTime {
        self.deadline
    }

    pub fn is_planned(&self) -> bool {
        self.deadline < SimTime::MAX
    }

    /// State TAIL_LOSS.
    pub fn is_probed(&self) -> bool {
        self.probed
    }

    /// Algorithm 9; called when new data leave, and on an ACK while the timer runs.
    pub fn schedule(&mut self, now: SimTime, tail: &Tail) {
        self.cancel();
        let Some(srtt) = tail.srtt else { return };
        let few = tail.segments < self.dup_ack_threshold;
        if tail.segments == 0 || !tail.open || !(tail.application_limited || few) {
            return;
        }
        let mut timeout = (srtt * 2).max(MIN_TIMEOUT);
        if tail.segments == 1 && self.mode == TailLossProbe::DelayedAck {
            timeout = timeout + self.ack_delay;
        }
        self.deadline = now + timeout;
    }

    pub fn cancel(&mut self) {
        self.deadline = SimTime::MAX;
        self.due = false;
    }

    /// Nothing was heard for the probe timeout.
    pub fn on_deadline(&mut self) {
        self.deadline = SimTime::MAX;
        self.due = true;
    }

    /// A probe is to be sent.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.due
    }

    /// True once after each deadline; the state is then TAIL_LOSS.
    pub fn take_due(&mut self) -> bool {
        let due = self.due;
        self.probed |= due;
        self.due = false;
        due
    }

    /// New data were acknowledged, or the loss is being repaired.
    pub fn end(&mut self) {
        self.probed = false;
    }
}
