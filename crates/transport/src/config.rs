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
    /// Most bytes written and not yet acknowledged.
    pub send_buffer_bytes: u64,
    /// Largest receive window offered, bytes.
    pub receive_buffer_bytes: u64,
    /// Window-scale shift (RFC 7323); the window on the wire is a multiple of `1 << shift`.
    pub window_scale: u8,
    /// Lower bound of the retransmission timeout.
    pub min_rto: SimDuration,
    /// Upper bound of the retransmission timeout.
    pub max_rto: SimDuration,
    /// Timeout of the first SYN, doubling with each retry; also the data RTO without an RTT sample.
    pub syn_timeout: SimDuration,
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
    /// Duplicate ACKs that mean a loss.
    pub dup_ack_threshold: u32,
    /// RFC 3042.
    pub limited_transmit: bool,
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// Congestion window at the end of fast recovery.
    pub recovery_exit: RecoveryExit,
    /// What the slow-start threshold is half of when fast recovery begins.
    pub loss_window: LossWindow,
    /// Congestion controller.
    pub congestion: Congestion,
    /// Growth in slow start.
    pub slow_start: SlowStart,
    /// The window grows only if it was in use (RFC 2861; Linux `tcp_is_cwnd_limited`).
    pub grow_only_if_limited: bool,
    /// Congestion window validation after idle and application-limited periods.
    pub validation: Validation,
    /// In which order messages leave the send buffer.
    pub send_order: SendOrder,
    /// In which order bytes reach the application.
    pub delivery: DeliveryOrder,
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
}

/// Congestion window at the end of fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryExit {
    /// min(ssthresh, FlightSize + SMSS): RFC 3782 and the thesis (section 5.3.4.1).
    FlightPlusOne,
    /// min(ssthresh, max(FlightSize, SMSS) + SMSS): RFC 6582, section 3.2, step 3, option 1.
    Rfc6582,
    /// ssthresh: RFC 6582 option 2, Linux.
    Ssthresh,
}

/// What the slow-start threshold is half of when fast recovery begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossWindow {
    /// Data outstanding (RFC 5681).
    FlightSize,
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
}

/// Growth in slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStart {
    /// One SMSS an ACK, whatever it acknowledges (ns-3; ×1.5 a round with delayed ACKs).
    PerAck,
    /// By the bytes acknowledged (RFC 3465 with L unlimited; Linux).
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
