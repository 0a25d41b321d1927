//! Every key of a scenario: type, bounds, meaning, value and source in each profile. The structs, the
//! TOML keys, the command line's `--set` and the reference all come from this list.

use loadpath_net::{Gentle, RedUnit};
use loadpath_transport::{
    AckPolicy, Congestion, Estimator, Growth, Join, LossWindow, MAX_SUBFLOWS, PartialAckTimer,
    PathScheduler, Recovery, RecoveryExit, RtoFloor, SendOrder, SlowStart, TailLossProbe,
    ValidationFloor, WindowRoom,
};
use loadpath_web::http::tls::Handshake;
use loadpath_web::http::{PoolOrder, Protocol, ServerModel};

use super::kinds::*;
use super::lists::{Drops, RateSchedule};
use super::value::Parameter;
use super::{Auto, Key, Profile};

macro_rules! sections {
    ($(
        $(#[doc = $section_doc:literal])*
        $section:ident: $Section:ident {
            $(
                #[doc = $doc:literal]
                $field:ident: $type:ty, $bounds:expr,
                pcp $pcp:expr, $pcp_source:literal,
                linux $linux:expr, $linux_source:literal;
            )*
        }
    )*) => {
        /// Everything about a load but the page.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Scenario {
            /// Name of the profile that the values started from.
            pub profile: String,
            $($(#[doc = $section_doc])* pub $section: $Section,)*
        }

        $(
            $(#[doc = $section_doc])*
            #[derive(Clone, Debug, PartialEq)]
            pub struct $Section {
                $(#[doc = $doc] pub $field: $type,)*
            }
        )*

        /// Every key with its documentation.
        pub const KEYS: &[Key] = &[$($(
            Key {
                name: concat!(stringify!($section), ".", stringify!($field)),
                doc: $doc,
                pcp_source: $pcp_source,
                linux_source: $linux_source,
                allowed: || <$type as Parameter>::allowed(unit_of(stringify!($field)), &$bounds),
            },
        )*)*];

        impl Scenario {
            pub(super) fn defaults(profile: Profile) -> Scenario {
                match profile {
                    Profile::Pcp => Scenario {
                        profile: String::new(),
                        $($section: $Section { $($field: $pcp,)* },)*
                    },
                    Profile::Linux => Scenario {
                        profile: String::new(),
                        $($section: $Section { $($field: $linux,)* },)*
                    },
                }
            }

            /// `None` if there is no such key.
            pub(super) fn try_set(
                &mut self, name: &str, value: &toml::Value,
            ) -> Option<Result<(), String>> {
                match name {
                    $($(
                        concat!(stringify!($section), ".", stringify!($field)) => {
                            let unit = unit_of(stringify!($field));
                            Some(<$type as Parameter>::read(value, unit, &$bounds).map(|v| {
                                self.$section.$field = v;
                            }))
                        }
                    )*)*
                    _ => None,
                }
            }

            /// The value of a key as TOML; `None` if there is no such key.
            pub fn get(&self, name: &str) -> Option<toml::Value> {
                match name {
                    $($(
                        concat!(stringify!($section), ".", stringify!($field)) =>
                            Some(self.$section.$field.write()),
                    )*)*
                    _ => None,
                }
            }
        }
    };
}

/// The last part of a key's name.
fn unit_of(field: &str) -> &str {
    field.rsplit('_').next().unwrap_or(field)
}

const RATE: std::ops::RangeInclusive<u64> = 1_000..=1_000_000_000_000;
const FRACTION: std::ops::RangeInclusive<f64> = 0.0..=1.0;
const MS: std::ops::RangeInclusive<f64> = 0.0..=600_000.0;
/// Retransmission timeouts: a timeout of no time would fire for ever at one instant.
const RTO_MS: std::ops::RangeInclusive<f64> = 0.001..=600_000.0;

sections! {
    /// Random draws.
    random: Random {
        #[doc = "Master seed; repetition k of a load uses the streams of (seed, k)."]
        seed: u64, 0..=u64::MAX >> 1,
        pcp 1, "thesis section 3.7.7.4: a fixed seed, another run number for each repetition",
        linux 1, "as pcp";
    }

    /// The star of thesis Figure 3.17.
    network: Network {
        #[doc = "Rate of the bottleneck towards the client."]
        rate_bps: u64, RATE,
        pcp 10_000_000, "thesis Table 4.1, the middle of its range",
        linux 10_000_000, "as pcp";

        #[doc = "Rate of the bottleneck towards the servers."]
        up_rate_bps: Auto<u64>, RATE,
        pcp Auto::Auto, "auto: as rate_bps (thesis Figure 3.17)",
        linux Auto::Auto, "as pcp";

        #[doc = "Round-trip time between client and servers without serialisation and queues."]
        rtt_ms: f64, 0.0..=60_000.0,
        pcp 40.0, "thesis Table 4.1, CDN distance (section 4.3)",
        linux 40.0, "as pcp";

        #[doc = "Each server link's one-way delay varies by up to this part of it, drawn for each run."]
        jitter_fraction: f64, FRACTION,
        pcp 0.1, "thesis section 3.7.7.1: delta within 0.1 d",
        linux 0.0, "an emulated link has none";

        #[doc = "Rate of a server's link as a multiple of the bottleneck's."]
        server_rate_factor: u64, 1..=1000,
        pcp 2, "thesis section 3.7.7.1",
        linux 1000, "an emulated link has none: what a window allows arrives at the bottleneck at once";

        #[doc = "Queue discipline of the bottleneck towards the servers."]
        up_queue: QueueKind, (),
        pcp QueueKind::Unlimited, "thesis section 3.7.7.5: no drops on the client-to-server path",
        linux QueueKind::DropTail, "as towards the client";

        #[doc = "Queue discipline of the bottleneck towards the client."]
        queue: QueueKind, (),
        pcp QueueKind::Red, "thesis Table 3.2",
        linux QueueKind::DropTail, "the common buffer in real networks (thesis section 3.7.7.3)";

        #[doc = "What the queue limit counts."]
        queue_unit: RedUnit, (),
        pcp RedUnit::Bytes, "not stated in the thesis; ns-3 limits are whole packets, and 1.5 BDP is none at 500 kbit/s, 8 ms",
        linux RedUnit::Packets, "Linux pfifo and most routers count packets";

        #[doc = "Full packets that the queue limit is never below."]
        queue_floor_packets: u64, 1..=1_000_000,
        pcp 1, "an empty queue takes a packet; sensitivity in docs/validation",
        linux 50, "dummynet's default queue, ipfw(8); a choice, not a measurement";

        #[doc = "Queue limit in bandwidth-delay products."]
        queue_limit_bdp: f64, 0.0..=1000.0,
        pcp 1.5, "thesis Table 3.4",
        linux 1.0, "one bandwidth-delay product (thesis section 3.7.7.3)";

        #[doc = "Queue limit in queue_unit; replaces queue_limit_bdp if positive."]
        queue_limit: u64, 0..=1 << 40,
        pcp 0, "thesis Table 3.4 gives it in BDP",
        linux 0, "as pcp";

        #[doc = "RED minimum threshold as a part of the limit."]
        red_min_fraction: f64, FRACTION,
        pcp 0.66, "thesis Table 3.4",
        linux 0.66, "as pcp";

        #[doc = "RED maximum threshold as a part of the limit."]
        red_max_fraction: f64, FRACTION,
        pcp 0.8, "thesis Table 3.4",
        linux 0.8, "as pcp";

        #[doc = "RED drop probability at the maximum threshold."]
        red_max_probability: f64, FRACTION,
        pcp 0.1, "thesis Table 3.4",
        linux 0.1, "as pcp";

        #[doc = "Where RED's gentle slope beyond the maximum threshold reaches 1."]
        red_gentle: Gentle, (),
        pcp Gentle::TwiceMaxThreshold, "ns-3 red-queue.cc; the thesis's text has queue-limit",
        linux Gentle::TwiceMaxThreshold, "as pcp";

        #[doc = "RED's mean packet size in byte mode."]
        red_mean_packet_bytes: f64, 1.0..=65_535.0,
        pcp 500.0, "ns-3 RedQueue attribute MeanPktSize",
        linux 500.0, "as pcp";

        #[doc = "Probability that the bottleneck loses a packet towards the client."]
        loss_down_fraction: f64, FRACTION,
        pcp 0.0, "thesis section 3.7.7: losses by queues only",
        linux 0.0, "as pcp";

        #[doc = "Probability that the bottleneck loses a packet towards the servers."]
        loss_up_fraction: f64, FRACTION,
        pcp 0.0, "thesis section 3.7.7: losses by queues only",
        linux 0.0, "as pcp";

        #[doc = "How the rate towards the client changes over time, instead of a constant one: steps, or a Mahimahi trace; its mean sizes the queue."]
        rate_schedule: RateSchedule, (),
        pcp RateSchedule::default(), "thesis section 3.7.7.1: constant rates",
        linux RateSchedule::default(), "as pcp";

        #[doc = "How the rate towards the servers changes over time, instead of a constant one: steps, or a Mahimahi trace; its mean sizes the queue."]
        up_rate_schedule: RateSchedule, (),
        pcp RateSchedule::default(), "thesis section 3.7.7.1: constant rates",
        linux RateSchedule::default(), "as pcp";

        #[doc = "Packets towards the client that are lost, instead of random ones: by number at the bottleneck, or by flow and number among the flow's packets with data."]
        drop_down: Drops, (),
        pcp Drops::default(), "thesis section 3.7.7: losses by queues only",
        linux Drops::default(), "as pcp";

        #[doc = "Packets towards the servers that are lost, instead of random ones: by number at the bottleneck, or by flow and number among the flow's packets with data."]
        drop_up: Drops, (),
        pcp Drops::default(), "thesis section 3.7.7: losses by queues only",
        linux Drops::default(), "as pcp";

        #[doc = "Time from the start of the load at which the bottleneck begins to lose every packet; the same as up_at_ms for never."]
        down_at_ms: f64, MS,
        pcp 0.0, "the thesis's networks stay as they are",
        linux 0.0, "as pcp";

        #[doc = "Time from which the bottleneck carries packets (again). Before down_at_ms: it comes then; 0: it does not come back."]
        up_at_ms: f64, MS,
        pcp 0.0, "the thesis's networks stay as they are",
        linux 0.0, "as pcp";

        #[doc = "Time of the DNS lookup before the first connection to a host; 0 for a cached name."]
        dns_ms: f64, MS,
        pcp 0.0, "thesis section 3.7.2: every lookup is a cache hit",
        linux 0.0, "names are cached or mapped, as in an emulated load";
    }

    /// TCP, both sides.
    transport: Transport {
        #[doc = "Largest payload of a segment."]
        mss_bytes: u64, 100..=65_000,
        pcp 1448, "thesis Table 3.3",
        linux 1448, "1500 - 20 (IP) - 20 (TCP) - 12 (timestamps)";

        #[doc = "IP and TCP headers with the timestamp option."]
        header_bytes: u64, 0..=200,
        pcp 52, "RFC 791, 9293, 7323: 20 + 20 + 12",
        linux 52, "RFC 791, 9293, 7323: 20 + 20 + 12";

        #[doc = "Link-layer header that counts for the rate of links."]
        link_header_bytes: u64, 0..=200,
        pcp 2, "thesis Table 3.3: point-to-point header (PPP)",
        linux 0, "IP packets are what a TUN device and a rate in a plan count";

        #[doc = "Initial congestion window in segments."]
        initial_window_segments: u64, 1..=1000,
        pcp 4, "thesis Table 3.3",
        linux 10, "RFC 6928; Linux TCP_INIT_CWND";

        #[doc = "Initial congestion window of the client in segments."]
        client_initial_window_segments: Auto<u64>, 1..=1000,
        pcp Auto::Auto, "auto: as initial_window_segments (thesis Table 3.3 makes no difference)",
        linux Auto::Auto, "auto: as initial_window_segments";

        #[doc = "Send buffer."]
        send_buffer_bytes: u64, 1000..=1 << 40,
        pcp 1 << 30, "thesis Table 3.3",
        linux 4 << 20, "Linux tcp_wmem maximum, 4 MiB";

        #[doc = "Receive buffer."]
        receive_buffer_bytes: u64, 1000..=1 << 40,
        pcp 1 << 30, "thesis Table 3.3",
        linux 6 << 20, "Linux tcp_rmem maximum, 6 MiB";

        #[doc = "Window scale shift."]
        window_scale: u64, 0..=14,
        pcp 14, "RFC 7323 section 2.3: the largest, for the thesis's 1 GiB buffers",
        linux 7, "Linux's shift for a 6 MiB receive buffer";

        #[doc = "Smallest retransmission timeout."]
        min_rto_ms: f64, RTO_MS,
        pcp 200.0, "thesis Table 3.3",
        linux 200.0, "Linux TCP_RTO_MIN";

        #[doc = "Largest retransmission timeout."]
        max_rto_ms: f64, RTO_MS,
        pcp 60_000.0, "RFC 6298 (2.5): at least 60 s; the thesis gives none",
        linux 120_000.0, "Linux TCP_RTO_MAX";

        #[doc = "Timeout of the first SYN; doubles with each retry."]
        syn_timeout_ms: Auto<f64>, 1.0..=600_000.0,
        pcp Auto::Auto, "auto: 1 s below 200 ms RTT, else 2 s (thesis Table 3.3)",
        linux Auto::Set(1000.0), "Linux TCP_TIMEOUT_INIT";

        #[doc = "TCP Fast Open with a known cookie: the first request goes with the SYN."]
        fast_open: bool, (),
        pcp false, "not in the thesis's results; its section 6.4.6 names it",
        linux false, "browsers do not use it";

        #[doc = "SYN retransmissions before a connection fails."]
        syn_retries: u64, 0..=100,
        pcp 20, "thesis Table 3.3",
        linux 6, "Linux tcp_syn_retries";

        #[doc = "Retransmissions of the same data before a connection fails."]
        data_retries: u64, 0..=100,
        pcp 20, "thesis Table 3.3",
        linux 15, "Linux tcp_retries2";

        #[doc = "A timeout set with a smaller RTT estimate waits for the difference."]
        rearm_stale_rto: bool, (),
        pcp true, "thesis section 3.7.7.2",
        linux false, "Linux does not";

        #[doc = "Segments that may wait for one ACK."]
        delayed_ack_segments: u64, 1..=100,
        pcp 2, "thesis Table 3.3",
        linux 2, "RFC 5681 section 4.2; Linux acknowledges every second full segment";

        #[doc = "Longest delay of an ACK."]
        delayed_ack_ms: f64, MS,
        pcp 100.0, "thesis Table 3.3",
        linux 40.0, "Linux TCP_DELACK_MIN";

        #[doc = "Segments acknowledged at once at the start of a connection."]
        quick_ack_segments: u64, 0..=10_000,
        pcp 0, "thesis Table 3.3 has two segments or 100 ms only; 1 is ns-3.18 to 3.22 (ProcessSynSent sets m_delAckCount)",
        linux 16, "Linux TCP_MAX_QUICKACKS";

        #[doc = "A segment that ends a message is acknowledged at once."]
        ack_push_at_once: bool, (),
        pcp true, "thesis section 3.7.7.2",
        linux false, "Linux does not look at PSH once quick ACKs are used up";

        #[doc = "When an ACK is due: by the counts and delays above, or also by what Linux looks at."]
        acks: AckPolicy, (),
        pcp AckPolicy::Counted, "thesis Table 3.3",
        linux AckPolicy::Linux, "Linux __tcp_ack_snd_check, tcp_event_data_recv, tcp_cleanup_rbuf";

        #[doc = "The receive window starts at 64 kB and grows up to 5/8 of the receive buffer."]
        receive_window_tuning: bool, (),
        pcp false, "ns-3 offers the buffer; thesis Table 3.3",
        linux true, "Linux tcp_grow_window, tcp_rcv_space_adjust";

        #[doc = "Duplicate ACKs that mean a loss."]
        dup_ack_threshold: u64, 1..=100,
        pcp 3, "thesis Table 3.3",
        linux 3, "Linux tcp_reordering";

        #[doc = "Send new data on the first two duplicate ACKs."]
        limited_transmit: bool, (),
        pcp true, "thesis Table 3.3",
        linux true, "RFC 3042; Linux";

        #[doc = "How losses are found and repaired."]
        recovery: Recovery, (),
        pcp Recovery::Nack, "thesis Table 3.2, appendix B",
        linux Recovery::Rack, "Linux tcp_recovery.c: RACK (RFC 8985) with SACK";

        #[doc = "Proportional rate reduction in fast recovery; with recovery rack only."]
        prr: bool, (),
        pcp false, "not in the thesis",
        linux true, "RFC 6937; Linux tcp_cwnd_reduction";

        #[doc = "F-RTO, which takes needless timeouts back; with recovery rack only."]
        frto: bool, (),
        pcp false, "not in the thesis",
        linux true, "RFC 5682; Linux tcp_frto";

        #[doc = "Congestion window at the end of fast recovery."]
        recovery_exit: RecoveryExit, (),
        pcp RecoveryExit::FlightPlusOne, "thesis section 5.3.4.1; RFC 3782",
        linux RecoveryExit::Ssthresh, "Linux tcp_end_cwnd_reduction";

        #[doc = "What fast recovery halves."]
        loss_window: LossWindow, (),
        pcp LossWindow::FlightSize, "thesis section 5.3.4.1; RFC 5681",
        linux LossWindow::Cwnd, "Linux ssthresh of reno and cubic";

        #[doc = "Congestion controller."]
        congestion: Congestion, (),
        pcp Congestion::NewReno, "thesis Table 3.2",
        linux Congestion::Cubic, "Linux tcp_congestion_control";

        #[doc = "Details of CUBIC: those of the standard or of the kernel."]
        cubic: CubicKind, (),
        pcp CubicKind::Rfc9438, "RFC 9438",
        linux CubicKind::Linux, "Linux tcp_cubic.c";

        #[doc = "Growth in slow start."]
        slow_start: SlowStart, (),
        pcp SlowStart::PerAck, "ns-3 TcpNewReno: one segment an ACK",
        linux SlowStart::BytesAcked, "Linux tcp_slow_start counts segments acknowledged";

        #[doc = "What ends the first slow start besides a loss: nothing, or the signs of HyStart."]
        slow_start_exit: SlowStartExitKind, (),
        pcp SlowStartExitKind::Loss, "ns-3 TcpNewReno",
        linux SlowStartExitKind::HyStartLinux, "Linux tcp_cubic.c, hystart_update";

        #[doc = "Largest gap between the ACKs of a train, for HyStart."]
        hystart_ack_delta_ms: f64, MS,
        pcp 2.0, "Linux tcp_cubic.c hystart_ack_delta",
        linux 2.0, "Linux tcp_cubic.c hystart_ack_delta";

        #[doc = "When an ACK may grow the window."]
        growth: Growth, (),
        pcp Growth::IfWindowFull, "thesis section 3.7.7.6, appendix C",
        linux Growth::IfHalfUsed, "Linux tcp_is_cwnd_limited";

        #[doc = "Room in the congestion window that a segment needs; with segments, short ones that leave alone take a whole one."]
        window_room: WindowRoom, (),
        pcp WindowRoom::FullSegment, "thesis Algorithm 10, line 5",
        linux WindowRoom::Segments, "Linux tcp_packets_in_flight";

        #[doc = "Which ACKs restart the retransmission timer in fast recovery."]
        partial_ack_timer: PartialAckTimer, (),
        pcp PartialAckTimer::First, "thesis appendix B",
        linux PartialAckTimer::Every, "Linux tcp_rearm_rto";

        #[doc = "What min_rto_ms bounds."]
        rto_floor: RtoFloor, (),
        pcp RtoFloor::Timeout, "thesis Table 3.3; RFC 6298",
        linux RtoFloor::Variance, "Linux tcp_rtt_estimator";

        #[doc = "Congestion window validation after idle and application-limited periods."]
        validation: ValidationKind, (),
        pcp ValidationKind::CumulativeAcks, "thesis appendix C, RFC 2861; see docs/validation",
        linux ValidationKind::Cumulative, "Linux tcp_slow_start_after_idle: tcp_cwnd_restart, tcp_cwnd_application_limited";

        #[doc = "Lower bound of the window after validation."]
        validation_floor: ValidationFloor, (),
        pcp ValidationFloor::Initial, "thesis Algorithms 11 and 12",
        linux ValidationFloor::NeverRaise, "Linux tcp_cwnd_restart";

        #[doc = "Probes for lost last segments."]
        tail_loss_probe: TailLossProbe, (),
        pcp TailLossProbe::Off, "thesis Table 3.3 has none; signalled is its section 6.4.5, delayed-ack its Algorithm 9",
        linux TailLossProbe::Rack, "RFC 8985 section 7; Linux tcp_send_loss_probe";
    }

    /// The second path of thesis Figure 6.2. The first is that of `network`; both share the servers'
    /// links, whose delay is a quarter of the smaller round-trip time.
    path2: Path2 {
        #[doc = "Rate of its bottleneck towards the client."]
        rate_bps: Auto<u64>, RATE,
        pcp Auto::Auto, "auto: as network.rate_bps (thesis section 6.3.1: equivalent paths)",
        linux Auto::Auto, "auto: as network.rate_bps";

        #[doc = "Rate of its bottleneck towards the servers."]
        up_rate_bps: Auto<u64>, RATE,
        pcp Auto::Auto, "auto: as path2.rate_bps (thesis Figure 6.2)",
        linux Auto::Auto, "auto: as path2.rate_bps";

        #[doc = "Round-trip time on it without serialisation and queues."]
        rtt_ms: Auto<f64>, 0.0..=60_000.0,
        pcp Auto::Auto, "auto: as network.rtt_ms (thesis section 6.3.1: equivalent paths)",
        linux Auto::Auto, "auto: as network.rtt_ms";

        #[doc = "Queue discipline of its bottleneck towards the client."]
        queue: Auto<QueueKind>, (),
        pcp Auto::Auto, "auto: as network.queue (thesis section 6.2.1)",
        linux Auto::Auto, "auto: as network.queue";

        #[doc = "Queue discipline of its bottleneck towards the servers."]
        up_queue: Auto<QueueKind>, (),
        pcp Auto::Auto, "auto: as network.up_queue",
        linux Auto::Auto, "auto: as network.up_queue";

        #[doc = "Queue limit in its own bandwidth-delay products."]
        queue_limit_bdp: Auto<f64>, 0.0..=1000.0,
        pcp Auto::Auto, "auto: as network.queue_limit_bdp (thesis section 6.2.1: sized for that path)",
        linux Auto::Auto, "auto: as network.queue_limit_bdp";

        #[doc = "Queue limit in network.queue_unit; replaces queue_limit_bdp if positive."]
        queue_limit: Auto<u64>, 0..=1 << 40,
        pcp Auto::Auto, "auto: as network.queue_limit",
        linux Auto::Auto, "auto: as network.queue_limit";

        #[doc = "Probability that its bottleneck loses a packet towards the client."]
        loss_down_fraction: f64, FRACTION,
        pcp 0.0, "thesis section 3.7.7: losses by queues only",
        linux 0.0, "as pcp";

        #[doc = "Probability that its bottleneck loses a packet towards the servers."]
        loss_up_fraction: f64, FRACTION,
        pcp 0.0, "thesis section 3.7.7: losses by queues only",
        linux 0.0, "as pcp";

        #[doc = "How its rate towards the client changes over time, instead of a constant one: steps, or a Mahimahi trace; its mean sizes the queue."]
        rate_schedule: RateSchedule, (),
        pcp RateSchedule::default(), "thesis section 3.7.7.1: constant rates",
        linux RateSchedule::default(), "as pcp";

        #[doc = "How its rate towards the servers changes over time, instead of a constant one: steps, or a Mahimahi trace; its mean sizes the queue."]
        up_rate_schedule: RateSchedule, (),
        pcp RateSchedule::default(), "thesis section 3.7.7.1: constant rates",
        linux RateSchedule::default(), "as pcp";

        #[doc = "Packets towards the client that it loses, instead of random ones: by number there, or by flow and number among the flow's packets with data."]
        drop_down: Drops, (),
        pcp Drops::default(), "thesis section 3.7.7: losses by queues only",
        linux Drops::default(), "as pcp";

        #[doc = "Packets towards the servers that it loses, instead of random ones: by number there, or by flow and number among the flow's packets with data."]
        drop_up: Drops, (),
        pcp Drops::default(), "thesis section 3.7.7: losses by queues only",
        linux Drops::default(), "as pcp";

        #[doc = "Time from the start of the load at which its bottleneck begins to lose every packet; the same as up_at_ms for never."]
        down_at_ms: f64, MS,
        pcp 0.0, "the thesis's networks stay as they are",
        linux 0.0, "as pcp";

        #[doc = "Time from which its bottleneck carries packets (again). Before down_at_ms: it comes then; 0: it does not come back."]
        up_at_ms: f64, MS,
        pcp 0.0, "the thesis's networks stay as they are",
        linux 0.0, "as pcp";
    }

    /// Connections over several subflows: MPTCP as in thesis chapter 6.
    multipath: Multipath {
        #[doc = "Which paths connections use: the first alone, both with a bottleneck each, both behind the first's bottleneck, or several subflows over the first."]
        paths: PathsKind, (),
        pcp PathsKind::Single, "thesis chapters 3 to 5",
        linux PathsKind::Single, "MPTCP has to be asked for";

        #[doc = "Subflows of a connection; the paths take turns."]
        subflows: u64, 2..=MAX_SUBFLOWS as u64,
        pcp 2, "thesis section 6.2.2: one a path",
        linux 2, "one a path";

        #[doc = "Path on which connections are opened."]
        first_path: u64, 1..=2,
        pcp 1, "thesis section 6.3.4",
        linux 1, "that of the default route";

        #[doc = "When the client opens the other subflows."]
        join: Join, (),
        pcp Join::AfterDss, "thesis Figure 6.14; RFC 6824 section 3.1",
        linux Join::AfterDss, "RFC 8684 section 3.1";

        #[doc = "The client sends on a joined subflow only after a fourth segment of its handshake."]
        fourth_ack: bool, (),
        pcp false, "thesis Figure 6.14 has three",
        linux true, "RFC 8684 section 3.2";

        #[doc = "Congestion control over the subflows; none couples them, and each has transport.congestion."]
        congestion: CouplingKind, (),
        pcp CouplingKind::Lia, "thesis section 6.2.3",
        linux CouplingKind::None, "Linux net/mptcp couples nothing";

        #[doc = "Which subflow sends what next."]
        scheduler: PathScheduler, (),
        pcp PathScheduler::LowestRtt, "thesis section 6.2.2",
        linux PathScheduler::LowestRtt, "default of multipath-tcp.org's Linux";

        #[doc = "Completion estimator of the Stream Scheduler."]
        estimator: Estimator, (),
        pcp Estimator::Loop, "thesis Algorithm 8",
        linux Estimator::Loop, "as pcp";

        #[doc = "Send what is lost on a subflow on an idle one, too, if it arrives in time."]
        retransmit_on_other: bool, (),
        pcp false, "thesis section 6.4.1.3, off in its results",
        linux false, "not in Linux";

        #[doc = "Opportunistic retransmission and penalisation while the receive window blocks."]
        opportunistic_retransmission: bool, (),
        pcp false, "thesis section 6.2.2: not limited by the receive buffer",
        linux false, "multipath-tcp.org's Linux has it, net/mptcp not";

        #[doc = "After a retransmission timeout send what the subflow had under way on the others, too."]
        reinject_on_timeout: bool, (),
        pcp false, "thesis section 6.2.2",
        linux true, "Linux __mptcp_retrans";

        #[doc = "MPTCP's options count on the wire, and segments are shorter by them."]
        options_on_the_wire: bool, (),
        pcp true, "RFC 6824 section 3; the thesis does not say",
        linux true, "RFC 8684 section 3";
    }

    /// HTTP.
    http: Http {
        #[doc = "HTTP version."]
        version: &'static Protocol, (),
        pcp http2(), "thesis chapter 5",
        linux http2(), "what most sites serve";

        #[doc = "Most connections to a host."]
        connections_per_host: Auto<u64>, 1..=loadpath_web::http::MAX_CONNECTIONS_PER_HOST as u64,
        pcp Auto::Auto, "auto: by version (thesis section 4.4.1.4)",
        linux Auto::Auto, "auto: by version; Chromium has 6 for HTTP/1.1";

        #[doc = "Which request a pool of connections that carry one at a time serves first: arrival (and the connection that was opened first) or urgency by http.priorities (and the connection that was used last)."]
        pool_order: PoolOrder, (),
        pcp PoolOrder::Arrival, "thesis section 4.3",
        linux PoolOrder::Urgency, "Chromium, net/socket/transport_client_socket_pool.cc";

        #[doc = "Priorities of responses at the server."]
        priorities: PriorityKind, (),
        pcp PriorityKind::MimeType, "thesis section 5.2",
        linux PriorityKind::Browser, "what Chromium signals (RFC 7540 section 5.3, RFC 9218)";

        #[doc = "Order in which responses leave the send buffer."]
        send_order: Auto<SendOrder>, (),
        pcp Auto::Auto, "auto: by version (thesis section 4.3)",
        linux Auto::Auto, "auto: by version, see http.preemption";

        #[doc = "Where the version's order is by priority, a response under way gives way to a more urgent one."]
        preemption: bool, (),
        pcp false, "thesis section 4.3",
        linux true, "servers choose a stream for each frame (RFC 9113 section 5)";

        #[doc = "Size of a request."]
        request_bytes: u64, 1..=1_000_000,
        pcp 400, "not stated in the thesis (one segment); sensitivity in docs/validation",
        linux 540, "HTTP/1.1 requests of Chromium (studies/header_bytes.py)";

        #[doc = "Header block of a response."]
        response_header_bytes: u64, 0..=1_000_000,
        pcp 0, "the thesis counts bodies only; sensitivity in docs/validation",
        linux 250, "HTTP/1.1 responses of the origin server, seen by Chromium (studies/header_bytes.py)";

        #[doc = "Use the header sizes that a page graph has of its requests and responses."]
        recorded_headers: bool, (),
        pcp false, "the thesis counts bodies only",
        linux true, "as recorded";

        #[doc = "Compress headers of HTTP/2 as HPACK does, of HTTP/3 as QPACK without a dynamic table, where the parts below are auto."]
        hpack: bool, (),
        pcp false, "thesis section 4.3",
        linux true, "RFC 7541, RFC 9204";

        #[doc = "Part of its header block that compression leaves of a connection's first request."]
        request_first_fraction: Auto<f64>, FRACTION,
        pcp Auto::Auto, "auto: by version; 1 but for spdy/2, whose parts are measured",
        linux Auto::Auto, "auto: by version; measured for http/2, quic-lite and spdy/2, else 1";

        #[doc = "Part of its header block that compression leaves of a later request."]
        request_later_fraction: Auto<f64>, FRACTION,
        pcp Auto::Auto, "auto: by version; 1 but for spdy/2, whose parts are measured",
        linux Auto::Auto, "auto: by version; measured for http/2, quic-lite and spdy/2, else 1";

        #[doc = "Part of its header block that compression leaves of a connection's first response."]
        response_first_fraction: Auto<f64>, FRACTION,
        pcp Auto::Auto, "auto: by version; 1 but for spdy/2, whose parts are measured",
        linux Auto::Auto, "auto: by version; measured for http/2, quic-lite and spdy/2, else 1";

        #[doc = "Part of its header block that compression leaves of a later response."]
        response_later_fraction: Auto<f64>, FRACTION,
        pcp Auto::Auto, "auto: by version; 1 but for spdy/2, whose parts are measured",
        linux Auto::Auto, "auto: by version; measured for http/2, quic-lite and spdy/2, else 1";

        #[doc = "TLS handshake of a new connection."]
        tls: Handshake, (),
        pcp Handshake::None, "thesis section 3.7.2",
        linux Handshake::Tls13, "what current servers negotiate";

        #[doc = "Size of the ClientHello."]
        tls_client_hello_bytes: u64, 1..=100_000,
        pcp 1750, "RFC 8446 with a 1216-byte X25519MLKEM768 share: two packets",
        linux 1750, "RFC 8446 with a 1216-byte X25519MLKEM768 share: two packets";

        #[doc = "Size of the server's first TLS flight without certificates."]
        tls_server_hello_bytes: u64, 1..=100_000,
        pcp 1400, "RFC 8446 with a 1120-byte X25519MLKEM768 share",
        linux 1400, "RFC 8446 with a 1120-byte X25519MLKEM768 share";

        #[doc = "Size of the certificate chain."]
        tls_certificate_bytes: u64, 0..=1_000_000,
        pcp 2500, "an ECDSA leaf and one intermediate, about 1.2 kB each",
        linux 2500, "an ECDSA leaf and one intermediate, about 1.2 kB each";

        #[doc = "Size of the session tickets that follow a handshake of TLS 1.3."]
        tls_tickets_bytes: u64, 0..=100_000,
        pcp 0, "thesis section 3.7.2",
        linux 184, "rustls, seen in a capture; nginx with OpenSSL sends two";

        #[doc = "TLS sessions of a host that the browser remembers and later connections resume, without certificates."]
        tls_sessions: u64, 0..=100,
        pcp 0, "thesis section 3.7.2",
        linux 2, "Chromium's net/ssl/ssl_client_session_cache.h; each session of TLS 1.3 is used once (RFC 8446 appendix C.4)";

        #[doc = "Most payload of a TLS record, whose bytes can be read when its last has arrived; 0: at once."]
        tls_record_bytes: u64, 0..=16_384,
        pcp 0, "thesis section 3.7.2",
        linux 16_384, "RFC 8446 section 5.1; rustls, and nginx by default, fill them";

        #[doc = "SETTINGS frames precede the first request and the first response."]
        preface: bool, (),
        pcp false, "thesis section 4.3",
        linux true, "RFC 9113 section 3.4";
    }

    /// Servers.
    server: Server {
        #[doc = "How a server treats several requests on one connection."]
        model: Auto<ServerModel>, (),
        pcp Auto::Auto, "auto: by version (thesis section 4.3)",
        linux Auto::Auto, "auto: by version";

        #[doc = "Write the headers of a response apart from its body, so that they leave in a segment of their own."]
        headers_apart: bool, (),
        pcp false, "ns-3 sends what is in the buffer; the thesis has no headers",
        linux false, "servers write both at once (writev, MSG_MORE, TCP_CORK)";

        #[doc = "Nagle's algorithm: a short segment waits while another is not acknowledged."]
        nagle: bool, (),
        pcp false, "not in the thesis; ns-3 TcpNoDelay is set where latency counts",
        linux false, "servers set TCP_NODELAY (nginx tcp_nodelay on)";

        #[doc = "Apply server processing delays."]
        delays: bool, (),
        pcp true, "thesis section 3.4.1",
        linux true, "as pcp";
    }

    /// The browser.
    browser: BrowserSection {
        #[doc = "Request resources ahead of a parser that waits for a script."]
        preloader: bool, (),
        pcp true, "thesis section 3.7.5",
        linux true, "Chromium's preload scanner";

        #[doc = "The preloader looks at text as it arrives, not only while the parser waits for a script."]
        preload_on_arrival: bool, (),
        pcp false, "thesis section 3.7.5",
        linux true, "Chromium, html_document_parser.cc: what is appended is scanned before it is parsed";

        #[doc = "Until a document has a body, requests below high priority wait while two of its requests are under way."]
        tight_mode: bool, (),
        pcp false, "thesis section 3.7.2",
        linux true, "Chromium, resource_load_scheduler.cc: ThrottlingPolicy::kTight";

        #[doc = "Timers wait for their timeouts."]
        timers: bool, (),
        pcp true, "thesis section 3.7.2",
        linux true, "as pcp";

        #[doc = "Smallest timeout of deeply nested timers."]
        timer_clamp_ms: f64, MS,
        pcp 4.0, "thesis section 3.7.2",
        linux 4.0, "HTML standard, timer initialisation steps";

        #[doc = "Main threads of a page."]
        main_threads: ThreadKind, (),
        pcp ThreadKind::Page, "thesis section 3.7.2: one",
        linux ThreadKind::Process, "Chromium's site isolation";

        #[doc = "Requests wait for as long as the browser took to hand them to its network stack."]
        stalls: bool, (),
        pcp false, "thesis section 3.2",
        linux true, "Chromium: requests pass from the renderer to the network service";

        #[doc = "Keep back less urgent requests as Chromium's network service does, where it does not know that a server orders responses by priority: ten of a frame are under way at once, and six of any priority to a host."]
        throttle: bool, (),
        pcp false, "thesis section 3.7.2",
        linux true, "services/network/resource_scheduler/resource_scheduler.cc";

        #[doc = "Main-thread work and stalls vary by up to this part of what was recorded, drawn for each run."]
        jitter_fraction: f64, FRACTION,
        pcp 0.0, "thesis section 3.2: as recorded",
        linux 0.0, "as recorded; 0.2 is what passes of profiles show (docs/linux-profile.md)";

        #[doc = "Execute main-thread work outside the thesis's rules (style, layout, paint)."]
        other_main_thread_work: bool, (),
        pcp false, "thesis section 3.2",
        linux true, "Chromium";
    }

    /// When to give up.
    limits: Limits {
        #[doc = "Virtual time after which a load that has not finished is reported as failed."]
        time_ms: f64, 1.0..=1e12,
        pcp 3_600_000.0, "an hour",
        linux 3_600_000.0, "an hour";
    }
}

fn http2() -> &'static Protocol {
    Protocol::by_name("http/2").expect("HTTP/2 is in the list")
}
