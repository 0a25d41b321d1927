//! Congestion window validation: Algorithms 10 to 12 of the thesis (appendix C) after RFC 2861.
//!
//! The window is validated only when a segment is about to be sent. Validating when nothing can be
//! sent would halve it again and again, because T_last moves only with a segment.

use loadpath_net::{SimDuration, SimTime};

use crate::congestion::Controller;
use crate::{TcpConfig, Validation, ValidationFloor};

/// State of the validation, named as in the thesis.
#[derive(Clone, Debug)]
pub(crate) struct Validator {
    mode: Validation,
    floor: ValidationFloor,
    initial_window: u64,
    mss: u64,
    t_last: Option<SimTime>,
    t_prev: Option<SimTime>,
    w_used: u64,
}

/// What the algorithms look at besides the congestion window.
pub(crate) struct Conditions {
    pub now: SimTime,
    pub rto: SimDuration,
    pub receive_window: u64,
    /// TCPState == OPEN: no loss is being repaired.
    pub open: bool,
}

impl Validator {
    pub fn new(config: &TcpConfig) -> Self {
        let mss = u64::from(config.mss);
        Validator {
            mode: config.validation,
            floor: config.validation_floor,
            initial_window: mss * u64::from(config.initial_window_segments),
            mss,
            t_last: None,
            t_prev: None,
            w_used: 0,
        }
    }

    /// Algorithm 10, line 7.
    #[inline]
    pub fn on_sent(&mut self, now: SimTime) {
        self.t_last = Some(now);
    }

    /// An ACK of new data arrived.
    #[inline]
    pub fn on_ack(&mut self, now: SimTime) {
        if let Validation::Cumulative { refresh_on_ack: true }
        | Validation::Once { refresh_on_ack: true } = self.mode
        {
            self.t_last = Some(now);
        }
    }

    /// Algorithm 11, before a segment is sent.
    #[inline]
    pub fn validate(&mut self, c: &Conditions, controller: &mut Controller) {
        let Some(t_last) = self.t_last else { return };
        let duration = c.now.since(t_last);
        if self.mode == Validation::Off || duration < c.rto || !c.open {
            return;
        }
        self.keep_threshold(controller);
        let window = controller.cwnd().min(c.receive_window);
        let halvings = match self.mode {
            Validation::Cumulative { .. } => duration.0 / c.rto.0.max(1),
            _ => 1,
        };
        self.reduce(controller, window >> halvings.min(63));
        self.t_prev = Some(c.now);
        self.w_used = 0;
        // The idle time is paid for, even if the smaller window has no room for the segment now.
        self.t_last = Some(c.now);
    }

    /// Algorithm 12, after a segment was sent.
    #[inline]
    pub fn check_application_limited(
        &mut self,
        c: &Conditions,
        pipe: u64,
        more_to_send: bool,
        controller: &mut Controller,
    ) {
        if self.mode == Validation::Off {
            return;
        }
        if controller.cwnd() < pipe + self.mss {
            self.t_prev = Some(c.now);
            self.w_used = 0;
        } else if !more_to_send {
            self.w_used = self.w_used.max(pipe);
            if self.t_prev.is_some_and(|t_prev| c.now.since(t_prev) >= c.rto) && c.open {
                self.keep_threshold(controller);
                let window = controller.cwnd().min(c.receive_window);
                self.reduce(controller, (window + self.w_used) / 2);
                self.t_prev = Some(c.now);
                self.w_used = 0;
            }
        }
    }

    /// The same while there is more to send.
    #[inline]
    pub fn note_full_window(&mut self, now: SimTime, pipe: u64, controller: &Controller) {
        if self.mode != Validation::Off && controller.cwnd() < pipe + self.mss {
            self.t_prev = Some(now);
            self.w_used = 0;
        }
    }

    /// ssThresh = max(ssThresh, 3/4 cwnd).
    fn keep_threshold(&self, controller: &mut Controller) {
        controller.set_ssthresh(controller.ssthresh().max(controller.cwnd() * 3 / 4));
    }

    fn reduce(&self, controller: &mut Controller, window: u64) {
        let floor = match self.floor {
            ValidationFloor::Initial => self.initial_window,
            ValidationFloor::NeverRaise => self.initial_window.min(controller.cwnd()),
        };
        controller.set_cwnd(window.max(floor));
    }
}
