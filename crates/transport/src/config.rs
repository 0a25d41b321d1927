//! Parameters of a TCP endpoint. The profiles that fill them in, with their sources, are in the
//! `sim` crate.

use loadpath_net::SimDuration;

/// Parameters of one endpoint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TcpConfig {
    /// Largest payload of a segment, bytes (timestamp option already subtracted).
    pub mss: u32,
    /// IP and TCP headers with the timestamp option, bytes.
    pub header_bytes: u32,
    /// Link-layer header, bytes (point-to-point: 2).
    pub link_header_bytes: u32,
    /// Initial congestion window, segments.
    pub initial_window_segments: u32,
    /// Most bytes sent and not yet acknowledged: the socket holds them until then.
    pub send_buffer_bytes: u64,
    /// Largest receive window offered, bytes.
    pub receive_buffer_bytes: u64,
    /// Window-scale shift (RFC 7323); the window on the wire is a multiple of `1 << shift`.
    pub window_scale: u8,
    /// Lower bound of the retransmission timeout.
    pub min_rto: SimDuration,
    /// What `min_rto` bounds.
    pub rto_floor: RtoFloor,
    /// Upper bound of the retransmission timeout.
    pub max_rto: SimDuration,
    /// Timeout of the first SYN, doubling with each retry; also the data RTO without an RTT sample.
    pub syn_timeout: SimDuration,
    /// What is written before the handshake goes with the SYN, as far as a segment holds it, and the server
    /// may answer at once (RFC 7413; the client has a cookie).
    pub fast_open: bool,
    /// SYN retransmissions before the connection fails.
    pub max_syn_retries: u32,
    /// Retransmissions of the same data before the connection fails.
    pub max_data_retries: u32,
    /// A timeout that was set with a smaller RTT estimate than today's waits for the difference
    /// instead of firing (thesis section 3.7.7.2).
    pub rearm_stale_rto: bool,
    /// Segments that may wait for one ACK; 1 acknowledges each at once.
    pub delayed_ack_segments: u32,
    /// Longest delay of an ACK.
    pub delayed_ack_timeout: SimDuration,
    /// Segments acknowledged at once at the start of a connection (Linux quick ACKs), 0 for none.
    pub quick_ack_segments: u32,
    /// A segment with PSH is acknowledged at once.
    pub ack_push_at_once: bool,
    /// When an ACK is due.
    pub acks: AckPolicy,
    /// The receive window starts at 64 kB and grows as Linux's does, instead of being the buffer.
    pub tuned_window: bool,
    /// Duplicate ACKs that mean a loss.
    pub dup_ack_threshold: u32,
    /// RFC 3042.
    pub limited_transmit: bool,
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// Congestion window at the end of fast recovery.
    pub recovery_exit: RecoveryExit,
    /// Which ACKs restart the retransmission timer in fast recovery.
    pub partial_ack_timer: PartialAckTimer,
    /// What the slow-start threshold is half of when fast recovery begins.
    pub loss_window: LossWindow,
    /// Congestion controller.
    pub congestion: Congestion,
    /// Growth in slow start.
    pub slow_start: SlowStart,
    /// HyStart may end the first slow start. `None`: only a loss ends it.
    pub hystart: Option<HyStartConfig>,
    /// A short segment waits while one that was sent is not acknowledged: Nagle's algorithm (RFC 896) as
    /// Linux has it (`tcp_nagle_check`, Minshall's variant).
    pub nagle: bool,
    /// When an ACK may grow the window.
    pub growth: Growth,
    /// How much room in the congestion window a segment needs.
    pub window_room: WindowRoom,
    /// Congestion window validation after idle and application-limited periods.
    pub validation: Validation,
    /// Lower bound of the window after validation.
    pub validation_floor: ValidationFloor,
    /// In which order messages leave the send buffer.
    pub send_order: SendOrder,
    /// In which order bytes reach the application.
    pub delivery: DeliveryOrder,
    /// Whether the last segments are probed for before a timeout.
    pub tail_loss_probe: TailLossProbe,
    /// Proportional rate reduction (RFC 6937) in fast recovery; with [`Recovery::Rack`] only.
    pub prr: bool,
    /// F-RTO (RFC 5682) after a timeout; with [`Recovery::Rack`] only.
    pub frto: bool,
}

impl TcpConfig {
    /// The same with a receiver that counts, and whose window is its buffer.
    pub(crate) fn fixed(self) -> TcpConfig {
        TcpConfig { acks: AckPolicy::Counted, tuned_window: false, ..self }
    }

    /// The plain standard: each value from the RFC that its field names, no option of the thesis. A
    /// base to write others on.
    pub const fn standard() -> TcpConfig {
        TcpConfig {
            // An MTU of 1500 bytes less IPv4 (20), TCP (20) and timestamps (12).
            mss: 1448,
            header_bytes: 52,
            link_header_bytes: 2,
            // RFC 6928.
            initial_window_segments: 10,
            send_buffer_bytes: 1 << 30,
            // RFC 7323, section 2.3: the largest window and shift.
            receive_buffer_bytes: 1 << 30,
            window_scale: 14,
            // RFC 6298, (2.1), (2.4), (2.5).
            min_rto: SimDuration::from_secs(1),
            rto_floor: RtoFloor::Timeout,
            max_rto: SimDuration::from_secs(60),
            syn_timeout: SimDuration::from_secs(1),
            fast_open: false,
            // Linux tcp_syn_retries and tcp_retries2.
            max_syn_retries: 6,
            max_data_retries: 15,
            rearm_stale_rto: false,
            // RFC 1122, section 4.2.3.2: every second segment; 40 ms is Linux's.
            delayed_ack_segments: 2,
            delayed_ack_timeout: SimDuration::from_millis(40),
            quick_ack_segments: 0,
            ack_push_at_once: false,
            acks: AckPolicy::Counted,
            tuned_window: false,
            dup_ack_threshold: 3,
            limited_transmit: true,
            recovery: Recovery::NewReno,
            recovery_exit: RecoveryExit::Rfc6582,
            partial_ack_timer: PartialAckTimer::First,
            loss_window: LossWindow::FlightSizeRfc5681,
            congestion: Congestion::NewReno,
            slow_start: SlowStart::PerAck,
            hystart: None,
            nagle: false,
            growth: Growth::Always,
            window_room: WindowRoom::FullSegment,
            validation: Validation::Off,
            validation_floor: ValidationFloor::Initial,
            send_order: SendOrder::Fifo,
            delivery: DeliveryOrder::InOrder,
            tail_loss_probe: TailLossProbe::Off,
            prr: false,
            frto: false,
        }
    }
}

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// RFC 6582: one retransmission a round trip, on partial ACKs.
    NewReno,
    /// Appendix B of the thesis: the receiver reports gaps.
    Nack,
    /// RFC 2018 and 6675.
    Sack,
    /// RFC 2018, with losses found by time: RACK (RFC 8985), as in Linux.
    Rack,
}

impl Recovery {
    /// The receiver reports what it has.
    pub const fn has_reports(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::Rack)
    }
}

/// When an ACK is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// After so many segments or so much time, at once for the first ones.
    Counted,
    /// By the rules of Linux: also at once while the window grows, and for what the application has read, unless
    /// it answers at once (`ack_push_at_once` is without effect).
    Linux,
}

/// Congestion window at the end of fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryExit {
    /// min(ssthresh, FlightSize + SMSS), FlightSize being what is outstanding after the ACK:
    /// RFC 3782 and the thesis (section 5.3.4.1: "effectively zero at this point").
    FlightPlusOne,
    /// The same with FlightSize from before the ACK, and the ACK then grows the window once more
    /// (ns-3.18 `TcpNewReno::NewAck`, which discards the acknowledged data last).
    FlightPlusOneNs3,
    /// min(ssthresh, max(FlightSize, SMSS) + SMSS): RFC 6582, section 3.2, step 3, option 1.
    Rfc6582,
    /// ssthresh: RFC 6582 option 2, Linux.
    Ssthresh,
}

/// What the slow-start threshold is half of when fast recovery begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossWindow {
    /// Data outstanding when the loss is detected (thesis section 5.3.4.1, ns-3).
    FlightSize,
    /// The same without what limited transmit sent (RFC 5681, section 3.2, step 2).
    FlightSizeRfc5681,
    /// The congestion window (Linux; thesis section 5.3.4.1).
    Cwnd,
}

/// Congestion controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Congestion {
    /// RFC 5681 additive increase, multiplicative decrease by half.
    NewReno,
    /// RFC 9438.
    Cubic,
    /// The same as Linux counts it, in segments.
    CubicLinux,
    /// Linked increases over the subflows of a connection: RFC 6356, thesis equation 6.1. On a single path
    /// it is NewReno, and so are the other coupled controllers.
    Lia,
    /// Opportunistic linked increases: Khalili et al., CoNEXT 2012; draft-khalili-mptcp-congestion-control.
    Olia,
    /// Balanced linked adaptation: Peng et al., IEEE/ACM ToN 2016; draft-walid-mptcp-congestion-control.
    Balia,
}

impl Congestion {
    /// The controller looks at the other subflows of its connection.
    pub const fn is_coupled(self) -> bool {
        matches!(self, Congestion::Lia | Congestion::Olia | Congestion::Balia)
    }
}

/// Tail loss probes (thesis section 6.4.5, Algorithm 9; draft-dukkipati-tcpm-tcp-loss-probe).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TailLossProbe {
    /// None.
    Off,
    /// Algorithm 9: a lone segment waits for the delayed ACK, too.
    DelayedAck,
    /// Without that wait, because the end of a message is acknowledged at once. On several subflows the
    /// end of a message is signalled on each (PSH/ACK).
    Signalled,
    /// Those of RFC 8985, section 7, as in Linux; with [`Recovery::Rack`] only.
    Rack,
}

/// HyStart, with the constants of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyStartConfig {
    /// Largest gap between the ACKs of a train.
    pub ack_delta: SimDuration,
    /// As in Linux since 5.16; false: as in 2.6.29 to 5.4.
    pub current: bool,
}

/// Growth in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStart {
    /// One SMSS an ACK, whatever it acknowledges (ns-3; ×1.5 a round with delayed ACKs).
    PerAck,
    /// By the bytes acknowledged (RFC 3465 with L unlimited; Linux). NewReno's avoidance then counts
    /// bytes too (RFC 3465, section 2.1).
    BytesAcked,
}

/// Congestion window validation (appendix C, RFC 2861).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validation {
    /// None.
    Off,
    /// Algorithms 10 to 12; one halving for each RTO of idleness, as the thesis's text and RFC 2861.
    Cumulative {
        /// T_last is also refreshed when an ACK arrives.
        refresh_on_ack: bool,
    },
    /// Algorithm 11 to the letter: one halving an idle period, however long.
    Once {
        /// T_last is also refreshed when an ACK arrives.
        refresh_on_ack: bool,
    },
}

/// Lower bound of the window after validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationFloor {
    /// The initial window, so that a smaller window is raised to it: Algorithms 11 and 12 to the
    /// letter.
    Initial,
    /// The initial window or the window before, whichever is smaller: validation never raises it
    /// (Linux `tcp_cwnd_restart`).
    NeverRaise,
}

/// When an ACK may grow the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Always (RFC 5681, ns-3).
    Always,
    /// If the window had no room for a segment when the ACK came (RFC 2861, thesis appendix C).
    IfWindowFull,
    /// In slow start if more than half the window was used in the last round trip, in avoidance if
    /// the window held segments back (Linux `tcp_is_cwnd_limited`).
    IfHalfUsed,
}

/// How much room in the congestion window a segment needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowRoom {
    /// One SMSS, whatever the length of the segment (Algorithm 10).
    FullSegment,
    /// The same, and a short segment behind which nothing was written takes as much until it is
    /// acknowledged (Linux `tcp_packets_in_flight` counts segments).
    Segments,
    /// Its own length, if it is the last of all that is written (ns-3 `SendPendingData`).
    WhatFits,
}

/// What the lower bound of the retransmission timeout bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    /// The timeout (RFC 6298, ns-3).
    Timeout,
    /// Its variance term, so that the timeout is at least SRTT + the bound (Linux
    /// `tcp_rtt_estimator`).
    Variance,
}

/// Which ACKs restart the retransmission timer in fast recovery. Duplicate ACKs never do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialAckTimer {
    /// The first partial ACK only (RFC 6582, section 3.2; later ns-3, `m_isFirstPartialAck`), so that a
    /// recovery longer than a timeout ends in one, as in appendix B of the thesis.
    First,
    /// Every partial ACK (RFC 6298; ns-3.18, Linux).
    Every,
}

/// In which order messages leave the send buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOrder {
    /// As written.
    Fifo,
    /// By priority; a message whose first byte was transmitted is finished first.
    Priority,
    /// By priority, byte by byte.
    PriorityPreemptive,
}

/// In which order bytes reach the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOrder {
    /// In sequence.
    InOrder,
    /// As segments arrive, each once (QUIC-lite, thesis section 4.3).
    OutOfOrder,
}
