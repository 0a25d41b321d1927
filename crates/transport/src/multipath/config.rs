//! Parameters of a connection over several subflows.

use crate::{PathId, TcpConfig};

/// Most subflows of a connection.
pub const MAX_SUBFLOWS: usize = 8;

/// Parameters of one side of a connection over several subflows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MultipathConfig {
    /// Of each subflow. `send_order`, `delivery`, `send_buffer_bytes` and `receive_buffer_bytes` are those
    /// of the connection.
    pub tcp: TcpConfig,
    /// Path of each subflow; the first `subflows` count. The first is opened first.
    pub paths: [PathId; MAX_SUBFLOWS],
    /// Subflows, from 1 to [`MAX_SUBFLOWS`].
    pub subflows: u8,
    /// When the client opens the other subflows.
    pub join: Join,
    /// The client sends on a joined subflow only after a fourth segment of its handshake (RFC 8684,
    /// section 3.2).
    pub fourth_ack: bool,
    /// Which subflow sends what next.
    pub scheduler: PathScheduler,
    /// How the Stream Scheduler estimates completion times.
    pub estimator: Estimator,
    /// What is lost on a subflow is also sent on an idle one, if that arrives in time (thesis section
    /// 6.4.1.3).
    pub retransmit_on_other: bool,
    /// While the receive window holds the connection back, the segment that it waits for is also sent on
    /// another subflow, and the window of its own is halved, once a round trip (Raiciu et al., NSDI 2012).
    pub opportunistic_retransmission: bool,
    /// What a subflow had under way is also sent on the others after its retransmission timeout (Linux
    /// `mptcp_reinject_data`), not only when it fails.
    pub reinject_on_timeout: bool,
    /// MPTCP's options count on the wire, and segments are shorter by them.
    pub options_on_the_wire: bool,
}

impl MultipathConfig {
    /// Two subflows on paths 0 and 1, as the baseline of the thesis (section 6.2.2) without its linked
    /// increases, which are `tcp.congestion`.
    pub const fn new(tcp: TcpConfig) -> MultipathConfig {
        let mut paths = [PathId(0); MAX_SUBFLOWS];
        paths[1] = PathId(1);
        MultipathConfig {
            tcp,
            paths,
            subflows: 2,
            join: Join::AfterDss,
            fourth_ack: false,
            scheduler: PathScheduler::LowestRtt,
            estimator: Estimator::Loop,
            retransmit_on_other: false,
            opportunistic_retransmission: false,
            reinject_on_timeout: false,
            options_on_the_wire: true,
        }
    }
}

/// When the client sends MP_JOIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// When a DSS option has come back over the first subflow (RFC 6824, section 3.1; thesis Figure 6.14).
    AfterDss,
    /// When the first subflow's handshake is done (thesis section 6.4.6).
    AfterHandshake,
    /// With the first subflow's SYN (thesis section 6.6.2: a handshake on both paths simultaneously).
    AtOnce,
}

/// Which subflow sends what next. One file each in `multipath/scheduler`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathScheduler {
    /// The subflow with room whose smoothed RTT is the lowest.
    LowestRtt,
    /// In turn, those with room.
    RoundRobin,
    /// Everything on every subflow.
    Redundant,
    /// Blocking estimation.
    Blest,
    /// Earliest completion first.
    Ecf,
    /// Out-of-order transmission for in-order arrival.
    Otias,
    /// The kernel's default: bursts to the subflow that drains first.
    Linux,
    /// The Stream Scheduler without look-ahead (thesis Algorithm 6).
    StreamSimple,
    /// The Stream Scheduler with look-ahead (thesis Algorithm 7).
    Stream,
}

/// Form of the completion estimator (thesis section 6.4.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// Algorithm 8.
    Loop,
    /// Equations 6.2 and 6.3, with the rate ssThresh / RTT behind slow start.
    ClosedForm,
}
