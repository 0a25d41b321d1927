//! Congestion control. A controller owns the window; the sender tells it what happened. One file a
//! controller; adding one is a variant of [`Kind`] here and one of [`Congestion`] in the
//! configuration.

mod balia;
mod coupled;
mod cubic;
mod cubic_linux;
mod hystart;
mod lia;
mod newreno;
mod olia;

use loadpath_net::{SimDuration, SimTime};

use crate::{Congestion, SlowStart, TcpConfig};
use balia::Balia;
pub(crate) use coupled::SubflowView;
use cubic::Cubic;
use cubic_linux::CubicLinux;
use hystart::HyStart;
use lia::Lia;
use newreno::NewReno;
use olia::Olia;

/// No threshold yet: "unsigned int max" in Table 3.3.
pub(crate) const NO_THRESHOLD: u64 = u64::MAX;

/// What an ACK of new data says.
pub(crate) struct AckSample {
    pub now: SimTime,
    /// Bytes newly acknowledged.
    pub acked: u64,
    /// Smoothed round-trip time.
    pub srtt: SimDuration,
    /// First byte that is not acknowledged, and first that was not sent.
    pub una: u64,
    pub next: u64,
}

/// How a loss was found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LossSignal {
    /// By duplicate ACKs or reports: the window shrinks.
    Recovery,
    /// By the retransmission timer: the window starts from one segment.
    Timeout,
}

/// A congestion window and the rule by which it grows and shrinks.
#[derive(Clone, Debug)]
pub(crate) struct Controller {
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
    slow_start: SlowStart,
    hystart: Option<HyStart>,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    NewReno(NewReno),
    Cubic(Cubic),
    CubicLinux(CubicLinux),
    Lia(Lia),
    Olia(Olia),
    Balia(Balia),
}

impl Controller {
    pub fn new(config: &TcpConfig) -> Self {
        let mss = u64::from(config.mss);
        Controller {
            mss,
            cwnd: mss * u64::from(config.initial_window_segments),
            ssthresh: NO_THRESHOLD,
            slow_start: config.slow_start,
            hystart: config.hystart.map(|hystart| HyStart::new(mss, hystart)),
            kind: match config.congestion {
                Congestion::NewReno => Kind::NewReno(NewReno::new(config)),
                Congestion::Cubic => Kind::Cubic(Cubic::new(config)),
                Congestion::CubicLinux => Kind::CubicLinux(CubicLinux::new(config)),
                Congestion::Lia => Kind::Lia(Lia::new(config)),
                Congestion::Olia => Kind::Olia(Olia::new(config)),
                Congestion::Balia => Kind::Balia(Balia::new(config)),
            },
        }
    }

    /// Congestion window, bytes.
    #[inline]
    pub fn cwnd(&self) -> u64 {
        self.cwnd
    }

    /// Slow-start threshold, bytes; [`NO_THRESHOLD`] before the first loss.
    pub fn ssthresh(&self) -> u64 {
        self.ssthresh
    }

    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// An ACK of new data brought an RTT sample. `una` and `next` as in [`AckSample`], before or after the
    /// ACK as the sender counts.
    #[inline]
    pub fn on_rtt_sample(&mut self, now: SimTime, rtt: SimDuration, una: u64, next: u64) {
        if let Kind::CubicLinux(c) = &mut self.kind {
            c.on_rtt_sample(rtt);
        }
        let cwnd = self.in_slow_start().then_some(self.cwnd);
        if let Some(hystart) = &mut self.hystart
            && hystart.on_sample(now, rtt, cwnd, una, next)
        {
            self.ssthresh = self.ssthresh.min(self.cwnd);
        }
    }

    /// Growth on an ACK of new data outside recovery.
    #[inline]
    pub fn on_ack(&mut self, sample: &AckSample) {
        let mut acked = sample.acked;
        if self.in_slow_start() {
            if let Some(hystart) = &mut self.hystart {
                hystart.on_ack(sample.now, sample.una, sample.next);
            }
            match self.slow_start {
                SlowStart::PerAck => {
                    self.cwnd += self.mss;
                    return;
                }
                SlowStart::BytesAcked => {
                    let step = acked.min(self.ssthresh - self.cwnd);
                    self.cwnd += step;
                    acked -= step;
                    if acked == 0 {
                        return;
                    }
                }
            }
        }
        self.cwnd = match &mut self.kind {
            Kind::NewReno(c) => c.avoidance(self.cwnd, acked),
            Kind::Cubic(c) => c.avoidance(self.cwnd, acked, sample),
            Kind::CubicLinux(c) => c.avoidance(self.cwnd, acked, sample.now),
            Kind::Lia(c) => c.avoidance(self.cwnd, acked),
            Kind::Olia(c) => c.avoidance(self.cwnd, acked),
            Kind::Balia(c) => c.avoidance(self.cwnd, acked),
        };
    }

    /// Bytes were acknowledged, whether they grow the window or not.
    #[inline]
    pub fn on_acknowledged(&mut self, acked: u64) {
        if let Kind::Olia(c) = &mut self.kind {
            c.on_acknowledged(acked);
        }
    }

    /// Shows a coupled controller, number `me`, all subflows of its connection.
    pub fn couple(&mut self, me: usize, all: &[SubflowView]) {
        match &mut self.kind {
            Kind::NewReno(_) | Kind::Cubic(_) | Kind::CubicLinux(_) => {}
            Kind::Lia(c) => c.couple(all),
            Kind::Olia(c) => c.couple(me, all),
            Kind::Balia(c) => c.couple(me, all),
        }
    }

    /// Its siblings count when it shrinks, too.
    pub fn is_balia(&self) -> bool {
        matches!(self.kind, Kind::Balia(_))
    }

    /// Bytes since the last loss or between the last two, whichever is more; 0 if nobody asks for it.
    pub fn loss_interval(&self) -> u64 {
        match &self.kind {
            Kind::Olia(c) => c.loss_interval(),
            _ => 0,
        }
    }

    /// A loss. `in_use` is the window that the threshold is a share of: FlightSize or cwnd. The floor
    /// of two segments is that of RFC 5681, equation (4).
    pub fn on_loss(&mut self, signal: LossSignal, in_use: u64) {
        let share = match &mut self.kind {
            Kind::NewReno(_) | Kind::Lia(_) => in_use / 2,
            Kind::Olia(c) => {
                c.on_loss();
                in_use / 2
            }
            Kind::Balia(c) => c.on_loss(in_use),
            Kind::Cubic(c) => c.on_loss(signal, self.cwnd, in_use),
            Kind::CubicLinux(c) => c.on_loss(signal, in_use),
        };
        self.ssthresh = share.max(2 * self.mss);
        if signal == LossSignal::Timeout {
            if let Some(hystart) = &mut self.hystart {
                hystart.reset();
            }
            self.restart();
        }
    }

    /// The loss window of RFC 5681: one segment.
    pub fn restart(&mut self) {
        self.cwnd = self.mss;
    }

    /// The sender was idle for `idle` and sends again.
    pub fn on_idle(&mut self, idle: SimDuration) {
        match &mut self.kind {
            Kind::Cubic(c) => c.on_idle(idle),
            Kind::CubicLinux(c) => c.on_idle(idle),
            _ => {}
        }
    }

    /// Sets the window, at least one segment: entry to and exit from recovery, inflation, validation.
    pub fn set_cwnd(&mut self, cwnd: u64) {
        self.cwnd = cwnd.max(self.mss);
    }

    /// Sets the threshold: validation.
    pub fn set_ssthresh(&mut self, ssthresh: u64) {
        self.ssthresh = ssthresh;
    }
}
