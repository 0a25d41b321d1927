//! A graph file of the corpus to our page graph.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::delays::MeasuredDelays;
use crate::graph::read::{BoundedList, Source};
use crate::graph::{
    Activity, ActivityKind, Blocking, DownloadChunk, Evaluation, EvaluationKind, FORMAT, Frame,
    GraphError, IdIndex, MAX_ACTIVITIES, PageGraph, ParseChunk, Phase, Resource, Topology, VERSION,
};
use crate::import::InputFile;

/// A completion time of a resource later than this, in seconds, is a fault of the recording: the
/// longest recording ends after 61 s, and three resources claim to complete after 10 000 s and more.
const ABSURD_RECEIVE_S: f64 = 10_000.0;

/// What the import met, for people and for tests: sums of these over the corpus are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Activities of all types.
    pub activities: u64,
    /// Dependencies.
    pub edges: u64,
    /// Resources of all schemes, cached ones included.
    pub resources: u64,
    /// Resources that the recording fetched over http or https: not marked as cached.
    pub fetched: u64,
    /// Fetched resources with a delay measured for their method and URL.
    pub delays_exact: u64,
    /// Fetched resources with a delay measured for their URL under another method.
    pub delays_other_method: u64,
    /// Fetched resources without: their delay is drawn from the distribution of their class.
    pub delays_missing: u64,
    /// Delay rows that had lost the line break between them and were taken apart.
    pub delay_rows_split: u64,
    /// Computations that end before they start: duration set to 0.
    pub negative_durations: u64,
    /// Resources that were complete before they were requested: both times kept as recorded.
    pub received_before_sent: u64,
    /// Resources complete after more than 10 000 s: kept as recorded.
    pub absurd_received: u64,
    /// Download chunks cut off at the end of their document.
    pub chunks_clamped: u64,
    /// Documents with such chunks.
    pub documents_clamped: u64,
    /// Activities that no path leads to from the root.
    pub unreachable: u64,
    /// Resources other than the root that nothing requests.
    pub orphan_resources: u64,
    /// Resources without recorded priority (0).
    pub without_priority: u64,
    /// Fetched resources with an empty body: only a header comes back.
    pub empty_responses: u64,
    /// Resources of unknown MIME type.
    pub without_mime_type: u64,
    /// Fetched resources whose method and URL another fetched resource of the page has, too.
    pub repeated_fetches: u64,
    /// References to an original that was sent after them: whoever runs first fetches.
    pub before_their_original: u64,
    /// References whose URL is not their original's (redirects).
    pub redirected: u64,
    /// References that cost nothing by [`serve_late_references`](super::serve_late_references).
    pub late_references_served: u64,
}

impl ImportReport {
    /// Adds the counts of another page.
    pub fn add(&mut self, other: &ImportReport) {
        let ImportReport {
            activities,
            edges,
            resources,
            fetched,
            delays_exact,
            delays_other_method,
            delays_missing,
            delay_rows_split,
            negative_durations,
            received_before_sent,
            absurd_received,
            chunks_clamped,
            documents_clamped,
            unreachable,
            orphan_resources,
            without_priority,
            empty_responses,
            without_mime_type,
            repeated_fetches,
            before_their_original,
            redirected,
            late_references_served,
        } = other;
        self.activities += activities;
        self.edges += edges;
        self.resources += resources;
        self.fetched += fetched;
        self.delays_exact += delays_exact;
        self.delays_other_method += delays_other_method;
        self.delays_missing += delays_missing;
        self.delay_rows_split += delay_rows_split;
        self.negative_durations += negative_durations;
        self.received_before_sent += received_before_sent;
        self.absurd_received += absurd_received;
        self.chunks_clamped += chunks_clamped;
        self.documents_clamped += documents_clamped;
        self.unreachable += unreachable;
        self.orphan_resources += orphan_resources;
        self.without_priority += without_priority;
        self.empty_responses += empty_responses;
        self.without_mime_type += without_mime_type;
        self.repeated_fetches += repeated_fetches;
        self.before_their_original += before_their_original;
        self.redirected += redirected;
        self.late_references_served += late_references_served;
    }
}

/// Converts a graph of the corpus, with the delays measured for its page if there are any. `name`
/// is the page's name in tables. `server_delay_file` stays empty: it is the caller's to name.
///
/// Seconds become milliseconds; negative durations become 0; download chunks end at the end of their
/// document; everything else is kept, and oddities are counted in the report.
///
/// # Errors
/// If the graph is not one of the corpus or breaks a rule of [`PageGraph::validate`], or if the
/// delays are malformed.
pub fn import_graph(
    name: &str,
    graph: InputFile<'_>,
    delays: Option<InputFile<'_>>,
) -> Result<(PageGraph, ImportReport), GraphError> {
    let source = Source::new(graph.bytes, graph.origin)?;
    let delays = delays.map(MeasuredDelays::parse).transpose()?.unwrap_or_default();
    let page: PcpGraph<'_> =
        source.object(source.text, |_| true).map_err(|fault| fault.explain(&source, no_range))?;
    let mut report = ImportReport { delay_rows_split: delays.rows_split, ..Default::default() };
    let mut activities = Vec::with_capacity(page.activities.0.len());
    for raw in &page.activities.0 {
        activities.push(read_activity(&source, raw.get(), &delays, &mut report)?);
    }
    let frames = page.frames.into_iter().map(|f| Frame {
        id: f.id,
        url: f.url,
        parent: f.parent,
        process: 0,
    });
    let mut graph = PageGraph {
        format: FORMAT.into(),
        version: VERSION,
        name: name.into(),
        url: page.name,
        source: "PCP corpus, recorded September 2016".into(),
        root: page.root_activity,
        load_event: page.load_event,
        dom_content_loaded_event: page.dom_content_loaded_event,
        frames: frames.collect(),
        activities,
        server_delay_file: None,
        recorded_busy_ms: None,
    };
    clamp_chunks(&mut graph, &mut report);
    graph.validate(source.origin)?;
    count_oddities(&graph, &mut report);
    Ok((graph, report))
}

#[derive(Deserialize)]
struct PcpGraph<'a> {
    name: String,
    root_activity: String,
    #[serde(rename = "loadEvent")]
    load_event: String,
    #[serde(rename = "DOMContentLoadedEvent")]
    dom_content_loaded_event: String,
    frames: Vec<PcpFrame>,
    #[serde(borrow)]
    activities: BoundedList<&'a RawValue, MAX_ACTIVITIES>,
}

/// `subframes` is the inverse of `parent` and not read.
#[derive(Deserialize)]
struct PcpFrame {
    id: u32,
    url: String,
    parent: Option<u32>,
}

#[derive(Deserialize)]
struct PcpHead {
    id: String,
    children: Vec<String>,
    r#type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PcpResource {
    url: String,
    http_method: String,
    mime_type: String,
    size: u64,
    sent_time: f64,
    receive_time: Option<f64>,
    cached: bool,
    original_resource: Option<String>,
    priority: BTreeMap<String, u32>,
}

#[derive(Deserialize)]
struct PcpDownloadChunk {
    resource: String,
    offset: u64,
    size: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PcpParseChunk {
    frame: u32,
    start_time: f64,
    end_time: f64,
    start_row: i64,
    start_column: i64,
    end_row: i64,
    end_column: i64,
    end_tag: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PcpEvaluation {
    eval_type: PcpEvaluationType,
    start_time: f64,
    end_time: f64,
    frame: u32,
    blocking: u8,
    mode: PcpMode,
    #[serde(default)]
    url: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    target_type: String,
    /// Milliseconds, unlike all other times.
    timeout: Option<f64>,
    enclosing: String,
    subtree: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum PcpEvaluationType {
    ExecScript,
    FireEvent,
    Timer,
    RecalcStyle,
    Other,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum PcpMode {
    Dom,
    Load,
    End,
    LoadPlus,
}

fn read_activity(
    source: &Source<'_>,
    text: &str,
    delays: &MeasuredDelays<'_>,
    report: &mut ImportReport,
) -> Result<Activity, GraphError> {
    let head: PcpHead = fields(source, text)?;
    let kind = match &*head.r#type {
        "resource" => ActivityKind::Resource(resource(fields(source, text)?, delays, report)),
        "download_chunk" => {
            let chunk: PcpDownloadChunk = fields(source, text)?;
            ActivityKind::DownloadChunk(DownloadChunk {
                resource: chunk.resource,
                offset_bytes: chunk.offset,
                size_bytes: chunk.size,
            })
        }
        "parse_chunk" => ActivityKind::ParseChunk(parse_chunk(fields(source, text)?, report)),
        "eval" => {
            let evaluation = evaluation(&head.id, fields(source, text)?, report);
            ActivityKind::Evaluation(evaluation.map_err(|error| {
                error
                    .with_origin(source.origin)
                    .with_position(source.position_of(text))
                    .with_subject("activity", &head.id)
            })?)
        }
        other => {
            return Err(GraphError::new(format!("unknown type \"{other}\""))
                .with_origin(source.origin)
                .with_position(source.position_of(text))
                .with_subject("activity", &head.id)
                .with_field("type")
                .with_hint("the corpus has resource, download_chunk, parse_chunk and eval"));
        }
    };
    Ok(Activity { id: head.id, kind, children: head.children })
}

fn fields<T: serde::de::DeserializeOwned>(
    source: &Source<'_>,
    text: &str,
) -> Result<T, GraphError> {
    source.object(text, |_| true).map_err(|fault| {
        let error = fault.explain(source, no_range);
        match source.id_of(text) {
            Some(id) => error.with_subject("activity", id),
            None => error,
        }
    })
}

fn no_range(_field: &str) -> &'static str {
    ""
}

/// Seconds to milliseconds. The recording has microseconds, which the noise of binary fractions of
/// large clock values hides: rounding them back keeps the JSON short and loses nothing.
fn ms(seconds: f64) -> f64 {
    (seconds * 1e6).round() / 1e3
}

fn duration_ms(start: f64, end: f64, report: &mut ImportReport) -> f64 {
    if end < start {
        report.negative_durations += 1;
        return 0.0;
    }
    ms(end - start)
}

fn resource(from: PcpResource, delays: &MeasuredDelays<'_>, report: &mut ImportReport) -> Resource {
    let over_http = super::index::host(&from.url).is_some();
    let fetched = over_http && !from.cached;
    let exact = delays.exact(&from.http_method, &from.url);
    let delay = exact.or_else(|| delays.other_method(&from.url));
    report.resources += 1;
    if fetched {
        report.fetched += 1;
        report.empty_responses += u64::from(from.size == 0);
        match (exact, delay) {
            (Some(_), _) => report.delays_exact += 1,
            (None, Some(_)) => report.delays_other_method += 1,
            (None, None) => report.delays_missing += 1,
        }
    }
    if let Some(received) = from.receive_time {
        report.received_before_sent += u64::from(received < from.sent_time);
        report.absurd_received += u64::from(received > ABSURD_RECEIVE_S);
    }
    report.without_mime_type += u64::from(from.mime_type.is_empty());
    report.without_priority += u64::from(from.priority.values().all(|&priority| priority == 0));
    Resource {
        url: from.url,
        method: from.http_method,
        mime_type: from.mime_type,
        size_bytes: from.size,
        server_delay_ms: if over_http { delay.map(ms) } else { None },
        stalled_ms: None,
        request_header_bytes: None,
        response_header_bytes: None,
        original: from.original_resource,
        server_delay_source: None,
        cached: from.cached,
        failed: false,
        priorities: from.priority,
        browser_priority: None,
        raised_by: None,
        discovered_by: None,
        evidence: None,
        recorded_sent_ms: Some(ms(from.sent_time)),
        recorded_received_ms: from.receive_time.map(ms),
    }
}

fn parse_chunk(from: PcpParseChunk, report: &mut ImportReport) -> ParseChunk {
    ParseChunk {
        inserts_body: false,
        frame: from.frame,
        duration_ms: duration_ms(from.start_time, from.end_time, report),
        recorded_start_ms: Some(ms(from.start_time)),
        end_tag: from.end_tag,
        position: Some([from.start_row, from.start_column, from.end_row, from.end_column]),
    }
}

fn evaluation(
    id: &str,
    from: PcpEvaluation,
    report: &mut ImportReport,
) -> Result<Evaluation, GraphError> {
    let kind = match from.eval_type {
        PcpEvaluationType::ExecScript => EvaluationKind::Script,
        PcpEvaluationType::FireEvent => EvaluationKind::Event,
        PcpEvaluationType::Timer => EvaluationKind::Timer,
        PcpEvaluationType::RecalcStyle => EvaluationKind::Style,
        PcpEvaluationType::Other => EvaluationKind::Other,
    };
    let blocking = match from.blocking {
        1 => Blocking::Sync,
        2 => Blocking::Defer,
        3 => Blocking::Async,
        4 => Blocking::Style,
        other => {
            return Err(GraphError::new(format!("{other} is unknown (allowed: 1 to 4)"))
                .with_field("blocking"));
        }
    };
    let phase = match from.mode {
        PcpMode::Dom => Phase::Dom,
        PcpMode::Load => Phase::Load,
        PcpMode::End => Phase::End,
        PcpMode::LoadPlus => Phase::LoadPlus,
    };
    let is_piece = from.enclosing != "None";
    Ok(Evaluation {
        frame: from.frame,
        kind,
        duration_ms: duration_ms(from.start_time, from.end_time, report),
        blocking,
        phase,
        url: from.url,
        position: None,
        timeout_ms: from.timeout,
        event_name: from.name,
        event_target: from.target_type,
        continues: (is_piece && !id.ends_with("_0")).then_some(from.enclosing),
        group: from.subtree.strip_prefix("subtree_").map(str::to_string),
        recorded_start_ms: Some(ms(from.start_time)),
    })
}

/// Scripts that write into their document make its recorded ranges run past the bytes that the
/// server sends.
fn clamp_chunks(graph: &mut PageGraph, report: &mut ImportReport) {
    let sizes: BTreeMap<String, u64> = graph
        .activities
        .iter()
        .filter_map(|activity| match &activity.kind {
            ActivityKind::Resource(resource) => Some((activity.id.clone(), resource.size_bytes)),
            _ => None,
        })
        .collect();
    let mut documents = BTreeSet::new();
    for activity in &mut graph.activities {
        let ActivityKind::DownloadChunk(chunk) = &mut activity.kind else { continue };
        let Some(&size) = sizes.get(&chunk.resource) else { continue };
        if chunk.offset_bytes.saturating_add(chunk.size_bytes) > size {
            chunk.offset_bytes = chunk.offset_bytes.min(size);
            chunk.size_bytes = size - chunk.offset_bytes;
            report.chunks_clamped += 1;
            documents.insert(&chunk.resource);
        }
    }
    report.documents_clamped = documents.len() as u64;
}

fn count_oddities(graph: &PageGraph, report: &mut ImportReport) {
    let ids = IdIndex::new(graph);
    let topology = Topology::new(graph);
    report.activities = graph.activities.len() as u64;
    report.edges = graph.activities.iter().map(|activity| activity.children.len() as u64).sum();
    if let Some(root) = ids.get(&graph.root) {
        let reached = topology.reachable(root, |_| true);
        report.unreachable = reached.iter().filter(|&&reached| !reached).count() as u64;
    }
    let mut fetched = BTreeSet::new();
    for (index, activity) in (0..).zip(&graph.activities) {
        let ActivityKind::Resource(resource) = &activity.kind else { continue };
        if topology.parents.of(index).is_empty() && activity.id != graph.root {
            report.orphan_resources += 1;
        }
        if !resource.cached
            && super::index::host(&resource.url).is_some()
            && !fetched.insert((&resource.method, &resource.url))
        {
            report.repeated_fetches += 1;
        }
        let original = resource.original.as_ref().and_then(|id| ids.get(id));
        if let Some(original) = original
            && let ActivityKind::Resource(original) = &graph.activities[original as usize].kind
        {
            let early = resource.recorded_sent_ms < original.recorded_sent_ms;
            report.before_their_original += u64::from(early);
            report.redirected += u64::from(resource.url != original.url);
        }
    }
}
