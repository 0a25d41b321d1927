//! JSON to page graph and back: one error that says where, on which activity and which field.

use std::borrow::Cow;

use serde::Deserialize;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::error::{GraphError, clip};
use super::read::{BoundedList, Source};
use super::validate::{MAX_ACTIVITIES, MAX_FRAMES, allowed};
use super::{Activity, ActivityKind, FORMAT, Frame, PageGraph, VERSION};

/// The document without looking into frames and activities, so that each of these is parsed, and
/// blamed, on its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'a> {
    format: String,
    version: u32,
    name: String,
    url: String,
    #[serde(default)]
    source: String,
    root: String,
    load_event: String,
    dom_content_loaded_event: String,
    #[serde(borrow)]
    frames: BoundedList<&'a RawValue, MAX_FRAMES>,
    #[serde(borrow)]
    activities: BoundedList<&'a RawValue, MAX_ACTIVITIES>,
    #[serde(default)]
    server_delay_file: Option<String>,
    #[serde(default)]
    recorded_busy_ms: Option<f64>,
}

/// What tells one file format from another.
#[derive(Deserialize)]
struct Header {
    format: Option<String>,
    version: Option<u32>,
    /// Only in graphs of the PCP corpus.
    root_activity: Option<String>,
}

/// The fields that all activities share.
#[derive(Deserialize)]
struct Head<'a> {
    id: String,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(default)]
    children: Vec<String>,
}

const HEAD_FIELDS: [&str; 3] = ["id", "type", "children"];

impl PageGraph {
    /// Reads and validates the JSON form. `origin` names the file in errors.
    ///
    /// # Errors
    /// If the text is not UTF-8, not JSON, not a page graph of this version, or not a valid one
    /// ([`PageGraph::validate`]).
    pub fn from_json(bytes: &[u8], origin: &str) -> Result<PageGraph, GraphError> {
        let source = Source::new(bytes, origin)?;
        read_graph(&source).map_err(|error| source.blame_not_a_number(error, read_graph))
    }

    /// The JSON form, one frame or activity a line. What [`PageGraph::from_json`] reads back is
    /// equal, provided that the graph is valid.
    pub fn to_json(&self) -> String {
        let mut out = String::from("{\n");
        let mut field = |name: &str, value: String, last: bool| {
            out += &format!("  \"{name}\": {value}{}\n", if last { "" } else { "," });
        };
        field("format", json(&self.format), false);
        field("version", json(&self.version), false);
        field("name", json(&self.name), false);
        field("url", json(&self.url), false);
        if !self.source.is_empty() {
            field("source", json(&self.source), false);
        }
        if let Some(file) = &self.server_delay_file {
            field("server_delay_file", json(file), false);
        }
        if let Some(busy) = self.recorded_busy_ms {
            field("recorded_busy_ms", json(&busy), false);
        }
        field("root", json(&self.root), false);
        field("load_event", json(&self.load_event), false);
        field("dom_content_loaded_event", json(&self.dom_content_loaded_event), false);
        field("frames", lines(&self.frames), false);
        field("activities", lines(&self.activities), true);
        out + "}\n"
    }
}

/// Model types have string keys only and serialise without error.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn lines(items: &[impl Serialize]) -> String {
    let items: Vec<String> = items.iter().map(|item| format!("    {}", json(item))).collect();
    format!("[\n{}\n  ]", items.join(",\n"))
}

fn read_graph(source: &Source<'_>) -> Result<PageGraph, GraphError> {
    let document: Document<'_> = source
        .object(source.text, |_| true)
        .map_err(|fault| wrong_format(source).unwrap_or_else(|| fault.explain(source, allowed)))?;
    if let Some(error) = wrong_version(&document.format, document.version) {
        return Err(error.with_origin(source.origin));
    }
    let mut frames = Vec::with_capacity(document.frames.0.len());
    for (index, raw) in document.frames.0.iter().enumerate() {
        let frame: Frame = source.object(raw.get(), |_| true).map_err(|fault| {
            fault.explain(source, allowed).with_subject("frame number", index + 1)
        })?;
        frames.push(frame);
    }
    let mut activities = Vec::with_capacity(document.activities.0.len());
    for (index, raw) in document.activities.0.iter().enumerate() {
        activities.push(read_activity(source, index, raw.get())?);
    }
    let graph = PageGraph {
        format: document.format,
        version: document.version,
        name: document.name,
        url: document.url,
        source: document.source,
        root: document.root,
        load_event: document.load_event,
        dom_content_loaded_event: document.dom_content_loaded_event,
        frames,
        activities,
        server_delay_file: document.server_delay_file,
        recorded_busy_ms: document.recorded_busy_ms,
    };
    graph.validate(source.origin)?;
    Ok(graph)
}

fn read_activity(source: &Source<'_>, index: usize, text: &str) -> Result<Activity, GraphError> {
    let head: Head<'_> =
        source.object(text, |key| HEAD_FIELDS.contains(&key)).map_err(|fault| {
            let error = fault.explain(source, allowed);
            match source.id_of(text) {
                Some(id) => error.with_subject("activity", id),
                None => error.with_subject("activity number", index + 1),
            }
        })?;
    let kind = match &*head.kind {
        "resource" => read_kind(source, text, &head, ActivityKind::Resource),
        "download_chunk" => read_kind(source, text, &head, ActivityKind::DownloadChunk),
        "parse_chunk" => read_kind(source, text, &head, ActivityKind::ParseChunk),
        "evaluation" => read_kind(source, text, &head, ActivityKind::Evaluation),
        "main_thread" => read_kind(source, text, &head, ActivityKind::MainThread),
        other => Err(GraphError::new(format!("unknown type \"{}\"", clip(other)))
            .with_origin(source.origin)
            .with_position(source.position_of(text))
            .with_subject("activity", &head.id)
            .with_field("type")
            .with_hint("use resource, download_chunk, parse_chunk, evaluation or main_thread")),
    }?;
    Ok(Activity { id: head.id, kind, children: head.children })
}

fn read_kind<T: DeserializeOwned>(
    source: &Source<'_>,
    text: &str,
    head: &Head<'_>,
    kind: impl Fn(T) -> ActivityKind,
) -> Result<ActivityKind, GraphError> {
    source
        .object(text, |key| !HEAD_FIELDS.contains(&key))
        .map(kind)
        .map_err(|fault| fault.explain(source, allowed).with_subject("activity", &head.id))
}

/// A better word than "missing field" for JSON that is something else altogether.
fn wrong_format(source: &Source<'_>) -> Option<GraphError> {
    let header: Header = serde_json::from_str(source.text).ok()?;
    let error = match (&header.format, header.version) {
        (None, _) => {
            let hint = match header.root_activity {
                Some(_) => "this is a graph of the PCP corpus: convert it with `loadpath import`",
                None => {
                    "a page graph begins {\"format\": \"loadpath-page-graph\", \"version\": 1, ...}"
                }
            };
            Some(GraphError::new("this is not a page graph").with_field("format").with_hint(hint))
        }
        (Some(format), version) => wrong_version(format, version.unwrap_or(VERSION)),
    };
    error.map(|error| error.with_origin(source.origin))
}

fn wrong_version(format: &str, version: u32) -> Option<GraphError> {
    if format != FORMAT {
        Some(
            GraphError::new(format!("\"{}\" is not \"{FORMAT}\"", clip(format)))
                .with_field("format")
                .with_hint("name a page graph, not another kind of file"),
        )
    } else if version != VERSION {
        Some(
            GraphError::new(format!("{version} is not supported (allowed: {VERSION})"))
                .with_field("version")
                .with_hint("import or profile the page again with this version of the program"),
        )
    } else {
        None
    }
}
