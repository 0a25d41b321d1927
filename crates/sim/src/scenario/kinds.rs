//! Named values of scenario keys.

use loadpath_net::{Gentle, RedUnit};
use loadpath_transport::{
    AckPolicy, Congestion, Estimator, Growth, Join, LossWindow, PartialAckTimer, PathScheduler,
    Recovery, RecoveryExit, RtoFloor, SendOrder, SlowStart, TailLossProbe, ValidationFloor,
    WindowRoom,
};
use loadpath_web::http::tls::Handshake;
use loadpath_web::http::{PoolOrder, Protocol, ServerModel};

use super::value::{Parameter, choice};

/// Queue disciplines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// Random early detection.
    Red,
    /// Drops what does not fit.
    DropTail,
    /// Holds everything.
    Unlimited,
}

/// What connections run over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathsKind {
    /// The first path.
    Single,
    /// Both paths, each with its own bottleneck.
    Independent,
    /// Both paths behind the first one's bottleneck; the second adds what its RTT is longer by.
    SharedBottleneck,
    /// Several subflows over the first path.
    Same,
}

/// How the congestion windows of subflows are coupled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CouplingKind {
    /// Not at all.
    None,
    /// Linked increases.
    Lia,
    /// Opportunistic linked increases.
    Olia,
    /// Balanced linked adaptation.
    Balia,
}

/// Variants of congestion window validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValidationKind {
    /// None.
    Off,
    /// One halving for each idle RTO since data were last sent.
    Cumulative,
    /// One halving for each idle RTO since data were last sent or acknowledged.
    CumulativeAcks,
    /// One halving an idle period since data were last sent.
    Once,
    /// One halving an idle period since data were last sent or acknowledged.
    OnceAcks,
}

/// Sources of priorities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityKind {
    /// All alike.
    None,
    /// Recorded by-MIME-type order of the graph; by class where there is none.
    MimeType,
    /// HTML, CSS, JavaScript, images, others.
    MimeClass,
    /// Recorded critical-path order of the graph; computed where there is none.
    CriticalPath,
    /// Longest path in resources.
    NodeDepth,
    /// The four levels of SPDY/2 as Chromium 16 used them.
    Spdy,
    /// The browser's own, as the graph has them; Chromium's of the class where it has none.
    Browser,
}

/// What ends the first slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartExitKind {
    /// A loss.
    Loss,
    /// A loss, or HyStart as in Linux 2.6.29 to 5.4.
    HyStart,
    /// A loss or, with CUBIC, HyStart as in Linux since 5.16.
    HyStartLinux,
}

/// Which CUBIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CubicKind {
    /// That of the standard.
    Rfc9438,
    /// That of the kernel.
    Linux,
}

/// Main threads of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadKind {
    /// One.
    Page,
    /// One a process.
    Process,
}

choice!(QueueKind {
    "red" => QueueKind::Red, "drop-tail" => QueueKind::DropTail,
    "unlimited" => QueueKind::Unlimited,
});
choice!(PathsKind {
    "single" => PathsKind::Single, "independent" => PathsKind::Independent,
    "shared-bottleneck" => PathsKind::SharedBottleneck, "same" => PathsKind::Same,
});
choice!(CouplingKind {
    "none" => CouplingKind::None, "lia" => CouplingKind::Lia, "olia" => CouplingKind::Olia,
    "balia" => CouplingKind::Balia,
});
choice!(Join {
    "after-dss" => Join::AfterDss, "after-handshake" => Join::AfterHandshake,
    "at-once" => Join::AtOnce,
});
choice!(PathScheduler {
    "lowest-rtt" => PathScheduler::LowestRtt, "round-robin" => PathScheduler::RoundRobin,
    "redundant" => PathScheduler::Redundant, "blest" => PathScheduler::Blest,
    "ecf" => PathScheduler::Ecf, "otias" => PathScheduler::Otias, "linux" => PathScheduler::Linux,
    "stream-simple" => PathScheduler::StreamSimple, "stream" => PathScheduler::Stream,
});
choice!(Estimator { "loop" => Estimator::Loop, "closed-form" => Estimator::ClosedForm });
choice!(TailLossProbe {
    "off" => TailLossProbe::Off, "delayed-ack" => TailLossProbe::DelayedAck,
    "signalled" => TailLossProbe::Signalled, "rack" => TailLossProbe::Rack,
});
choice!(RedUnit { "packets" => RedUnit::Packets, "bytes" => RedUnit::Bytes });
choice!(Gentle {
    "twice-max" => Gentle::TwiceMaxThreshold, "queue-limit" => Gentle::QueueLimit,
    "off" => Gentle::Off,
});
choice!(AckPolicy { "counted" => AckPolicy::Counted, "linux" => AckPolicy::Linux });
choice!(Recovery {
    "newreno" => Recovery::NewReno, "nack" => Recovery::Nack, "sack" => Recovery::Sack,
    "rack" => Recovery::Rack,
});
choice!(RecoveryExit {
    "flight-plus-one" => RecoveryExit::FlightPlusOne,
    "flight-plus-one-ns3" => RecoveryExit::FlightPlusOneNs3,
    "rfc6582" => RecoveryExit::Rfc6582, "ssthresh" => RecoveryExit::Ssthresh,
});
choice!(LossWindow {
    "flight-size" => LossWindow::FlightSize,
    "flight-size-rfc5681" => LossWindow::FlightSizeRfc5681, "cwnd" => LossWindow::Cwnd,
});
choice!(Growth {
    "always" => Growth::Always, "if-window-full" => Growth::IfWindowFull,
    "if-half-used" => Growth::IfHalfUsed,
});
choice!(WindowRoom {
    "full-segment" => WindowRoom::FullSegment, "what-fits" => WindowRoom::WhatFits,
    "segments" => WindowRoom::Segments,
});
choice!(PartialAckTimer {
    "first" => PartialAckTimer::First, "every" => PartialAckTimer::Every,
});
choice!(RtoFloor { "timeout" => RtoFloor::Timeout, "variance" => RtoFloor::Variance });
choice!(ValidationFloor {
    "initial" => ValidationFloor::Initial, "never-raise" => ValidationFloor::NeverRaise,
});
choice!(Congestion { "newreno" => Congestion::NewReno, "cubic" => Congestion::Cubic });
choice!(SlowStart { "per-ack" => SlowStart::PerAck, "bytes-acked" => SlowStart::BytesAcked });
choice!(ValidationKind {
    "off" => ValidationKind::Off, "cumulative" => ValidationKind::Cumulative,
    "cumulative-acks" => ValidationKind::CumulativeAcks, "once" => ValidationKind::Once,
    "once-acks" => ValidationKind::OnceAcks,
});
choice!(PriorityKind {
    "none" => PriorityKind::None, "mime-type" => PriorityKind::MimeType,
    "mime-class" => PriorityKind::MimeClass, "critical-path" => PriorityKind::CriticalPath,
    "node-depth" => PriorityKind::NodeDepth, "spdy" => PriorityKind::Spdy,
    "browser" => PriorityKind::Browser,
});
choice!(SlowStartExitKind {
    "loss" => SlowStartExitKind::Loss, "hystart" => SlowStartExitKind::HyStart,
    "hystart-linux" => SlowStartExitKind::HyStartLinux,
});
choice!(CubicKind { "rfc9438" => CubicKind::Rfc9438, "linux" => CubicKind::Linux });
choice!(SendOrder {
    "fifo" => SendOrder::Fifo, "priority" => SendOrder::Priority,
    "preemptive" => SendOrder::PriorityPreemptive,
});
choice!(Handshake {
    "none" => Handshake::None, "1.2" => Handshake::Tls12, "1.2-resumed" => Handshake::Tls12Resumed,
    "1.3" => Handshake::Tls13, "1.3-resumed" => Handshake::Tls13Resumed,
    "1.3-0rtt" => Handshake::Tls13ZeroRtt,
});
choice!(ServerModel {
    "serial" => ServerModel::Serial, "parallel" => ServerModel::Parallel,
    "out-of-order" => ServerModel::OutOfOrder,
});
choice!(PoolOrder { "arrival" => PoolOrder::Arrival, "urgency" => PoolOrder::Urgency });
choice!(ThreadKind { "page" => ThreadKind::Page, "process" => ThreadKind::Process });

impl Parameter for &'static Protocol {
    type Bounds = ();

    fn read(value: &toml::Value, unit: &str, bounds: &()) -> Result<Self, String> {
        value
            .as_str()
            .and_then(Protocol::by_name)
            .ok_or_else(|| format!("expected {}", Self::allowed(unit, bounds)))
    }

    fn write(&self) -> toml::Value {
        self.name.into()
    }

    fn allowed(_: &str, _: &()) -> String {
        let names: Vec<_> = Protocol::ALL.iter().map(|p| p.name).collect();
        format!("one of {}", names.join(", "))
    }
}
