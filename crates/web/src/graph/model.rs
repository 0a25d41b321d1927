//! The types of the page graph and of its JSON form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Value of `format` in the JSON form.
pub const FORMAT: &str = "loadpath-page-graph";
/// Current value of `version` in the JSON form.
pub const VERSION: u32 = 1;

/// A page: activities, dependencies, frames. Read with [`PageGraph::from_json`], which validates.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PageGraph {
    /// Always [`FORMAT`].
    pub format: String,
    /// Always [`VERSION`] once loaded.
    pub version: u32,
    /// Short name for tables, unique in a collection.
    pub name: String,
    /// URL of the main document.
    pub url: String,
    /// Where the graph came from ("corpus alexa 2016", "synthetic: ...", "profiled ..."), for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub source: String,
    /// Id of the main document's resource, where every load begins.
    pub root: String,
    /// Id of the activity whose start is the load event (PLT).
    pub load_event: String,
    /// Id of the activity whose start is DOMContentLoaded of the main frame.
    pub dom_content_loaded_event: String,
    /// All frames; exactly one has no parent.
    pub frames: Vec<Frame>,
    /// All activities, in any order: their ids, not their places, carry meaning.
    pub activities: Vec<Activity>,
    /// Name of a server-delay file in the same folder (a bare file name), for resources without
    /// a measured `server_delay_ms`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_delay_file: Option<String>,
    /// How long the recording's main threads were busy before the load event: activities that do
    /// not add up to it leave the rest unexplained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_busy_ms: Option<f64>,
}

/// A frame of the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Unique in the graph.
    pub id: u32,
    /// URL of its document, "" if a script filled it.
    pub url: String,
    /// The enclosing frame; absent on the main frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// The renderer process that ran it, 0 for the main frame's. The `linux` profile has a main
    /// thread for each process, `pcp` one for all.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub process: u32,
}

/// Something that the browser does during the load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Activity {
    /// Unique in the graph. Random streams are keyed by it, so renaming it changes draws.
    pub id: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: ActivityKind,
    /// Ids of the activities that wait for this one, in any order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<String>,
}

/// The kinds of activity, with their fields.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ActivityKind {
    /// A download.
    Resource(Resource),
    /// A stretch of an HTML document arriving.
    DownloadChunk(DownloadChunk),
    /// A stretch of an HTML document being parsed.
    ParseChunk(ParseChunk),
    /// A script, style sheet, timer or event handler running.
    Evaluation(Evaluation),
    /// Other main-thread work (style, layout, paint, garbage collection) attached to its trigger;
    /// executed by the `linux` profile, of no duration in `pcp`.
    MainThread(MainThread),
}

/// A download.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// Absolute URL. Only http and https go over the network; all others complete at once.
    pub url: String,
    /// Request method.
    #[serde(default = "get", skip_serializing_if = "is_get")]
    pub method: String,
    /// MIME type, lower case, "" if unknown.
    #[serde(default)]
    pub mime_type: String,
    /// Bytes of the response body as transmitted.
    pub size_bytes: u64,
    /// Measured server processing delay; absent: drawn from the distribution of the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_delay_ms: Option<f64>,
    /// What the browser itself takes from asking for the resource until its network stack acts on it,
    /// waits for a connection left out (part of what DevTools calls "Stalled"); executed by the
    /// `linux` profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalled_ms: Option<f64>,
    /// Bytes of the request's start line and headers as HTTP/1.1 writes them, whatever version it was
    /// recorded with; used by the `linux` profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_header_bytes: Option<u64>,
    /// The same of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_header_bytes: Option<u64>,
    /// Id of another resource whose response serves this one (session cache, redirect). That one has
    /// no original itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// How the server delay was obtained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_delay_source: Option<DelaySource>,
    /// Served by a cache in the recording.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cached: bool,
    /// Got no answer in the recording (no such host, blocked, refused): completes at once.
    #[serde(default, skip_serializing_if = "is_false")]
    pub failed: bool,
    /// Recorded priorities by scheme ("mime-type", "cp", "depth", ...): lower is more urgent,
    /// 0 means that the recording gave none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub priorities: BTreeMap<String, u32>,
    /// Priority that the browser itself gave the request when it made it ("VeryHigh", ...).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub browser_priority: Option<String>,
    /// Id of the activity after which the browser raised the request's priority to high: of an image that
    /// layout found within the window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raised_by: Option<String>,
    /// Who found it first in the recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discovered_by: Option<DiscoveredBy>,
    /// How it is known what made the browser request it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// When the recording sent the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_sent_ms: Option<f64>,
    /// When the recording had the whole response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_received_ms: Option<f64>,
}

/// How a server delay was obtained (thesis section 3.4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelaySource {
    /// Time to the response's first byte by the browser's clock, less the host's least round trip.
    Timing,
    /// From the request's acknowledgement to the response, in a packet capture.
    Capture,
    /// An upper bound: in the capture the acknowledgement came with the response, or no round trip to
    /// the host is known.
    Censored,
    /// Drawn from the delays of the same host and type.
    Host,
    /// Drawn from the distribution of the type.
    Distribution,
}

/// How it is known which activity made the browser request a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Evidence {
    /// The URL stands in the tag at which the browser says that the parser found it.
    Source,
    /// The computation was running on the main thread when the request was made.
    Trace,
    /// The call stack of the request names the computation.
    Stack,
    /// A style sheet names the URL.
    Style,
    /// The response before it sent the browser there.
    Redirect,
    /// A guess from the order of times.
    Fallback,
    /// Another tool's word, not checked against any source.
    Unverified,
}

/// Who found a resource's URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiscoveredBy {
    /// The preload scanner, ahead of the parser.
    Preload,
    /// The parser or a script.
    Parser,
}

/// A stretch of an HTML document arriving: complete when the first `offset_bytes + size_bytes` bytes
/// of its resource have arrived. The first chunk of a document starts with its request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DownloadChunk {
    /// The HTML resource.
    pub resource: String,
    /// Where the stretch begins.
    pub offset_bytes: u64,
    /// Its length.
    pub size_bytes: u64,
}

/// A stretch of an HTML document being parsed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ParseChunk {
    /// The frame whose document it is.
    pub frame: u32,
    /// Main-thread time.
    pub duration_ms: f64,
    /// When the recording started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_start_ms: Option<f64>,
    /// Tag that ended the chunk.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub end_tag: String,
    /// Where the chunk lies in the source: start row, start column, end row, end column, as the
    /// recording counts them; profiled pages count from 1 and end a chunk behind its tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<[i64; 4]>,
    /// The document has a body from here on: Chromium holds back less urgent requests before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub inserts_body: bool,
}

/// A script, style sheet, timer or event handler running, or a piece of one: computations are cut at
/// the requests that they issue and the computations that they start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evaluation {
    /// The frame whose queue it joins.
    pub frame: u32,
    /// What is evaluated.
    pub kind: EvaluationKind,
    /// Main-thread time.
    pub duration_ms: f64,
    /// How it relates to the parser.
    #[serde(default)]
    pub blocking: Blocking,
    /// In which phase of the load the recording ran it.
    #[serde(default)]
    pub phase: Phase,
    /// URL of the script, style sheet or document that holds its code, "" if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub url: String,
    /// Line and column, from 1, at which its code stands in `url`: of an inline script the character
    /// after the tag, of an event handler the function, of a timer the call that registered it.
    /// External scripts and style sheets have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<[u32; 2]>,
    /// Timers: wait between registration and firing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<f64>,
    /// Events: name ("load", "DOMContentLoaded", "readystatechange", ...).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub event_name: String,
    /// Events: kind of target ("Window", "Document", "Element", "XMLHTTPRequest", "MessagePort").
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub event_target: String,
    /// Name of the computation of which this is a later piece: it does not wait for its timeout
    /// again. The first piece has the id NAME or NAME_0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// Outermost computation of a re-entrant group, for drawing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// When the recording started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_start_ms: Option<f64>,
}

/// What an [`Evaluation`] evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvaluationKind {
    /// JavaScript, inline or external.
    Script,
    /// A style sheet.
    Style,
    /// A timer's callback.
    Timer,
    /// An event handler.
    Event,
    /// Set-up code of the browser; behaves as a synchronous script.
    Other,
}

/// How an evaluation relates to the parser.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocking {
    /// Inline and plain external scripts, events, most timers.
    #[default]
    Sync,
    /// `defer` scripts.
    Defer,
    /// `async` and script-inserted scripts.
    Async,
    /// Style sheets.
    Style,
}

/// Phase of the load in which the recording ran an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Before DOMContentLoaded.
    #[default]
    Dom,
    /// Before the load event.
    Load,
    /// After the load event, or pruned: not executed.
    End,
    /// Zero timeouts that fired after the load event: not executed.
    LoadPlus,
}

/// Main-thread work outside the 25 rules of the thesis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MainThread {
    /// The frame whose main thread it occupies.
    pub frame: u32,
    /// "style", "layout", "paint", "gc", ...
    pub kind: String,
    /// Main-thread time.
    pub duration_ms: f64,
}

fn get() -> String {
    "GET".into()
}
fn is_get(m: &str) -> bool {
    m == "GET"
}
fn is_false(b: &bool) -> bool {
    !b
}
fn is_zero(n: &u32) -> bool {
    *n == 0
}
