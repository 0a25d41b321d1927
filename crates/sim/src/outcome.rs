//! What a load gives back. One schema for all worlds; `label` says which one it comes from.
//!
//! Times are milliseconds since the start of the load, exact to the nanosecond.

use std::ops::AddAssign;

use serde::Serialize;

/// Where numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Label {
    /// Computed by the simulator.
    Simulated,
    /// Real kernels, servers and browser behind an emulated link.
    Emulated,
    /// A real load on a real network.
    Observed,
}

/// How a load ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "result", rename_all = "snake_case")]
pub enum Status {
    /// The load event fired.
    Complete,
    /// It did not; `reason` says why (a connection failed, nothing left to do, time limit).
    Failed {
        /// For people.
        reason: String,
    },
}

/// One page load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Origin of the numbers.
    pub label: Label,
    /// Name of the page.
    pub page: String,
    /// Master seed.
    pub seed: u64,
    /// Repetition.
    pub run: u64,
    /// How the load ended.
    pub status: Status,
    /// When the load event handler started: the page load time.
    pub plt_ms: Option<f64>,
    /// When the DOMContentLoaded handler of the main frame started.
    pub dcl_ms: Option<f64>,
    /// Everything that went over the network, in order of request.
    pub resources: Vec<ResourceOutcome>,
    /// Every connection, in order of opening.
    pub connections: Vec<ConnectionOutcome>,
    /// Every queue that can drop, in order `bottleneck.down`, `bottleneck.up`, then those of the second
    /// path's bottleneck, `bottleneck2.down`, `bottleneck2.up`, if it has one.
    pub queues: Vec<QueueOutcome>,
    /// Sums over the load.
    pub totals: Totals,
    /// What the load event waited for, if it fired and the world tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub critical_path: Option<CriticalPath>,
    /// Hash over all packets and main-thread activity: equal hashes mean equal loads.
    pub trace_hash: String,
    /// Packet by packet, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// One resource that went over the network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResourceOutcome {
    /// Activity id in the page graph.
    pub id: String,
    /// Its URL.
    pub url: String,
    /// Host that served it.
    pub host: String,
    /// Its MIME type.
    pub mime_type: String,
    /// Index into `connections`.
    pub connection: Option<usize>,
    /// Size of the response body in bytes.
    pub size_bytes: u64,
    /// The preloader asked for it before the parser did.
    pub preloaded: bool,
    /// Priority used by the server; lower is more urgent.
    pub priority: u32,
    /// When the browser asked for it.
    pub start_ms: f64,
    /// When the last byte reached the browser, if it did.
    pub end_ms: Option<f64>,
    /// From `start_ms` to `end_ms` without gaps; absent if the response did not complete.
    pub phases: Option<Phases>,
}

/// The phases of Figure 4.27 of the thesis; they add up to `end_ms - start_ms`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Phases {
    /// Waiting for DNS, the handshake and TLS of its connection.
    pub connection_setup_ms: f64,
    /// Waiting at the client for its turn on a connection.
    pub client_queue_ms: f64,
    /// From the first transmission of the request to its arrival.
    pub request_flight_ms: f64,
    /// Waiting at a serial server behind other requests.
    pub server_queue_ms: f64,
    /// Server processing delay.
    pub server_processing_ms: f64,
    /// Ready at the server, waiting for earlier responses (in order) or in the send buffer.
    pub response_wait_ms: f64,
    /// First byte under way.
    pub first_byte_flight_ms: f64,
    /// From first to last byte at the browser.
    pub transfer_ms: f64,
}

impl AddAssign for Phases {
    fn add_assign(&mut self, other: Phases) {
        self.connection_setup_ms += other.connection_setup_ms;
        self.client_queue_ms += other.client_queue_ms;
        self.request_flight_ms += other.request_flight_ms;
        self.server_queue_ms += other.server_queue_ms;
        self.server_processing_ms += other.server_processing_ms;
        self.response_wait_ms += other.response_wait_ms;
        self.first_byte_flight_ms += other.first_byte_flight_ms;
        self.transfer_ms += other.transfer_ms;
    }
}

/// What the load event waited for: always the last of what a step waited for is the step before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CriticalPath {
    /// Bytes of response bodies that were waited for.
    pub bytes: u64,
    /// Where the time went; the sum is the page load time.
    pub phases: CriticalPhases,
    /// From the main document to the load event; summaries leave them out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<CriticalStep>,
}

/// The time to the load event by what was waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CriticalPhases {
    /// Waiting for responses.
    #[serde(flatten)]
    pub network: Phases,
    /// Waiting for timers to run out.
    pub timer_wait_ms: f64,
    /// Waiting for the main thread while it did something else.
    pub main_thread_wait_ms: f64,
    /// Parsing HTML.
    pub parse_ms: f64,
    /// Evaluating scripts.
    pub script_ms: f64,
    /// Evaluating style sheets.
    pub style_ms: f64,
    /// Running timers.
    pub timer_ms: f64,
    /// Running event handlers.
    pub event_ms: f64,
    /// Other main-thread work.
    pub other_ms: f64,
}

/// An activity on the critical path; its waits begin when the step before it ends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CriticalStep {
    /// Activity id in the page graph; of a response that of the resource that was requested.
    pub id: String,
    /// Until its timer ran out.
    pub timer_wait_ms: f64,
    /// Until the main thread was free.
    pub main_thread_wait_ms: f64,
    /// Start of its main-thread work, or of its request.
    pub start_ms: f64,
    /// When the next step could begin: end of the work, or arrival of the last byte awaited.
    pub end_ms: f64,
    /// Body bytes awaited, of a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// From `start_ms` to `end_ms`, of a response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
}

/// One connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConnectionOutcome {
    /// Host.
    pub host: String,
    /// When the client sent the first SYN (or DNS query).
    pub opened_ms: f64,
    /// When the client could send its first request.
    pub established_ms: Option<f64>,
    /// Requests sent on it.
    pub requests: u64,
    /// Payload bytes first transmitted by the client.
    pub bytes_up: u64,
    /// Payload bytes first transmitted by the server.
    pub bytes_down: u64,
    /// Data segments sent by the server, retransmissions included.
    pub data_segments: u64,
    /// Retransmitted segments, both sides.
    pub retransmissions: u64,
    /// Retransmission timeouts, both sides.
    pub timeouts: u64,
    /// Timeouts of data too close to the end of what was sent for duplicate ACKs to reveal the loss.
    pub tail_losses: u64,
    /// Fast recoveries of the server.
    pub recoveries: u64,
    /// Server's smoothed RTT at the end; that of the first of several subflows.
    pub srtt_ms: Option<f64>,
    /// Server's congestion window at the end, bytes, all subflows together.
    pub cwnd_bytes: u64,
    /// Subflows in order of opening; none for a connection over a single path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subflows: Vec<SubflowOutcome>,
}

/// One subflow of a connection over several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SubflowOutcome {
    /// Its path: 1 or 2.
    pub path: u64,
    /// When the server could first send on it.
    pub server_ready_ms: Option<f64>,
    /// Payload bytes sent by the server for the first time on this subflow, those included that another
    /// subflow had carried before.
    pub bytes_down: u64,
    /// Data segments sent by the server for the first time on this subflow.
    pub data_segments: u64,
    /// Segments sent again on this subflow, both sides.
    pub retransmissions: u64,
    /// Retransmission timeouts, both sides.
    pub timeouts: u64,
    /// Tail losses, both sides.
    pub tail_losses: u64,
    /// Server's smoothed RTT at the end.
    pub srtt_ms: Option<f64>,
    /// Server's congestion window at the end, bytes.
    pub cwnd_bytes: u64,
}

/// One queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueOutcome {
    /// Which: "bottleneck.down", "bottleneck.up", "bottleneck2.down", "bottleneck2.up".
    pub name: String,
    /// Packets that arrived.
    pub offered_packets: u64,
    /// Bytes that arrived.
    pub offered_bytes: u64,
    /// Packets that the queue dropped.
    pub dropped_packets: u64,
    /// Packets lost by the link's loss process.
    pub lost_packets: u64,
    /// Most packets waiting at once.
    pub max_waiting_packets: u64,
    /// Time busy over time to the load event.
    pub utilisation: f64,
}

/// Sums over a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Totals {
    /// Response bytes delivered to the browser.
    pub bytes: u64,
    /// Data segments delivered to the client.
    pub data_packets: u64,
    /// All packets sent, both directions.
    pub packets: u64,
    /// Packets dropped by queues.
    pub drops: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Tail losses.
    pub tail_losses: u64,
    /// Tail loss probes.
    pub tail_probes: u64,
    /// Events processed by the simulator.
    pub events: u64,
}

/// A load packet by packet.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trace {
    /// Every packet, in order of time.
    pub packets: Vec<PacketRecord>,
    /// The server's congestion state after each of its steps that changed it.
    pub windows: Vec<WindowRecord>,
    /// Queue occupancy whenever a packet arrived.
    pub queues: Vec<QueueRecord>,
    /// What the main thread did.
    pub main_thread: Vec<MainThreadRecord>,
    /// For every segment of a response that left for the first time, when the rest was expected to arrive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub completions: Vec<CompletionRecord>,
}

/// The server's estimate of the completion of a response (thesis section 6.4.1.2, Figure 6.20).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CompletionRecord {
    /// When the segment left.
    pub t_ms: f64,
    /// Index into `Outcome::connections`.
    pub connection: usize,
    /// Index into `Outcome::resources`.
    pub resource: Option<usize>,
    /// Bytes of the response from this segment on.
    pub remaining_bytes: u64,
    /// From `t_ms` to the arrival of the last of them, over the best subflow alone.
    pub estimate_ms: f64,
    /// Congestion state of the subflow: "slow_start", "avoidance", "recovery", "loss".
    pub state: &'static str,
    /// Number of the subflow, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subflow: Option<u8>,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum PacketEvent {
    /// Left its endpoint.
    Sent,
    /// Reached the other endpoint.
    Delivered,
    /// Was dropped by a queue or lost on a link.
    Dropped,
}

/// One packet at one point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PacketRecord {
    /// When.
    pub t_ms: f64,
    /// What.
    pub event: PacketEvent,
    /// Index into `Outcome::connections`.
    pub connection: usize,
    /// True from client to server.
    pub up: bool,
    /// Header flags: "S", "SA", "A", "PA", "FA", "FPA", "R".
    pub flags: &'static str,
    /// Sequence number, SYN is 0.
    pub seq: u64,
    /// Payload bytes.
    pub len: u32,
    /// Acknowledgement number.
    pub ack: u64,
    /// Receive window, bytes.
    pub window: u64,
    /// Up to three SACK blocks (start, end).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sack: Vec<(u64, u64)>,
    /// Bytes on the wire.
    pub wire_bytes: u32,
    /// Sent before.
    pub retransmission: bool,
    /// Index into `Outcome::resources` of the request or response that the payload belongs to.
    pub resource: Option<usize>,
    /// Offset of the payload within that message.
    pub offset: u64,
    /// What several subflows add; absent on a single path.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub multipath: Option<MultipathRecord>,
}

/// What a packet of one of several subflows carries besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MultipathRecord {
    /// Number of the subflow, from 0 in order of opening.
    pub subflow: u8,
    /// Its path: 1 or 2.
    pub path: u8,
    /// Data sequence number of the first payload byte.
    pub data_seq: u64,
    /// Data acknowledgement number.
    pub data_ack: u64,
}

/// A server's congestion state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WindowRecord {
    /// When.
    pub t_ms: f64,
    /// Index into `Outcome::connections`.
    pub connection: usize,
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// Slow-start threshold, bytes; absent while unset.
    pub ssthresh_bytes: Option<u64>,
    /// Bytes in flight.
    pub in_flight_bytes: u64,
    /// "slow_start", "avoidance", "recovery", "loss".
    pub state: &'static str,
    /// Number of the subflow, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subflow: Option<u8>,
}

/// A queue's occupancy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueRecord {
    /// When.
    pub t_ms: f64,
    /// Index into `Outcome::queues`.
    pub queue: usize,
    /// Packets waiting.
    pub packets: u64,
    /// Bytes waiting.
    pub bytes: u64,
}

/// A stretch of main-thread work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MainThreadRecord {
    /// Start.
    pub start_ms: f64,
    /// End.
    pub end_ms: f64,
    /// Activity id in the page graph.
    pub id: String,
    /// "parse", "script", "style", "timer", "event", "other".
    pub kind: &'static str,
    /// Frame id.
    pub frame: u32,
    /// Script URL, event name or end tag, for display.
    pub detail: String,
}
