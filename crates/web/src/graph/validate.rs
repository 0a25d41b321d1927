//! The rules that a page graph keeps, each with its message.

use super::error::{GraphError, clip};
use super::order::compare_ids;
use super::{
    Activity, ActivityKind, DownloadChunk, Evaluation, EvaluationKind, FORMAT, Frame, IdIndex,
    PageGraph, Phase, Resource, Topology, VERSION,
};

/// Most activities of a graph; the largest of the PCP corpus has 5652.
pub const MAX_ACTIVITIES: usize = 2_000_000;
/// Most edges of a graph; the largest of the PCP corpus has 8436.
pub const MAX_EDGES: usize = 20_000_000;
/// Most frames of a graph; the largest of the PCP corpus has 117.
pub const MAX_FRAMES: usize = 100_000;
/// Longest computation, timeout or server delay: one hour.
pub const MAX_DURATION_MS: f64 = 3_600_000.0;
/// Latest recorded time: one day, as recordings hold times long after the load.
pub const MAX_RECORDED_MS: f64 = 86_400_000.0;
/// Largest resource: 1 TiB.
pub const MAX_SIZE_BYTES: u64 = 1 << 40;
/// Longest header block: 1 MB, as scenarios have it.
pub const MAX_HEADER_BYTES: u64 = 1_000_000;
/// Longest id or name, in bytes.
pub const MAX_ID_BYTES: usize = 1000;

/// The values that a field of the JSON form takes, "" if its type says it all.
pub(super) fn allowed(field: &str) -> &'static str {
    match field {
        "size_bytes" | "offset_bytes" => "a whole number of bytes, 0 to 1099511627776",
        "request_header_bytes" | "response_header_bytes" => "a whole number of bytes, 1 to 1000000",
        "duration_ms" | "timeout_ms" | "server_delay_ms" | "stalled_ms" => "0 to 3600000 ms",
        "recorded_sent_ms" | "recorded_received_ms" | "recorded_start_ms" | "recorded_busy_ms" => {
            "0 to 86400000 ms"
        }
        "frame" | "id" | "parent" => {
            "the id of a frame, a whole number from 0; activities have strings"
        }
        "children" => "a list of activity ids",
        "priorities" => "whole numbers from 0 by scheme",
        "activities" => "a list of at most 2000000 activities",
        "frames" => "a list of at most 100000 frames",
        "version" => "1",
        _ => "",
    }
}

impl PageGraph {
    /// Checks everything that [`PageGraph::from_json`] promises, for graphs made by other means.
    /// `origin` names the graph in the error.
    ///
    /// # Errors
    /// With the first rule that is broken: format and version; limits on count and range; unique ids;
    /// references to existing activities, frames and resources of the right type; no cycle; frames in
    /// one tree; a root that is a resource without parents; load and DOMContentLoaded events that
    /// are evaluations, reachable from the root through what is executed before load.
    pub fn validate(&self, origin: &str) -> Result<(), GraphError> {
        self.check().map_err(|error| error.with_origin(origin))
    }

    fn check(&self) -> Result<(), GraphError> {
        if self.format != FORMAT {
            return Err(GraphError::new(format!("not \"{FORMAT}\"")).with_field("format"));
        }
        if self.version != VERSION {
            return Err(
                GraphError::new(format!("{} is not {VERSION}", self.version)).with_field("version")
            );
        }
        for (field, text) in [("name", &self.name), ("root", &self.root)] {
            check_name(text).map_err(|error| error.with_field(field))?;
        }
        if let Some(file) = &self.server_delay_file {
            check_file_name(file).map_err(|error| error.with_field("server_delay_file"))?;
        }
        check_recorded("recorded_busy_ms", self.recorded_busy_ms)?;
        let frames = check_frames(&self.frames)?;
        let ids = self.check_ids()?;
        let check = ActivityCheck { graph: self, ids: &ids, frames: &frames };
        for activity in &self.activities {
            check
                .activity(activity)
                .map_err(|error| error.with_subject("activity", &activity.id))?;
        }
        let topology = self.check_edges(&ids)?;
        self.check_ends(&ids, &topology)
    }

    fn check_ids(&self) -> Result<IdIndex<'_>, GraphError> {
        let count = self.activities.len();
        if count > MAX_ACTIVITIES {
            return Err(GraphError::new(format!(
                "{count} are too many (allowed: {MAX_ACTIVITIES})"
            ))
            .with_field("activities"));
        }
        for (index, activity) in self.activities.iter().enumerate() {
            check_name(&activity.id).map_err(|error| {
                error.with_subject("activity number", index + 1).with_field("id")
            })?;
        }
        let ids = IdIndex::new(self);
        match ids.duplicate() {
            Some(id) => Err(GraphError::new("two activities have this id")
                .with_subject("activity", id)
                .with_field("id")
                .with_hint("give every activity an id of its own")),
            None => Ok(ids),
        }
    }

    fn check_edges(&self, ids: &IdIndex<'_>) -> Result<Topology, GraphError> {
        let edges: usize = self.activities.iter().map(|activity| activity.children.len()).sum();
        if edges > MAX_EDGES {
            return Err(GraphError::new(format!("{edges} are too many (allowed: {MAX_EDGES})"))
                .with_field("children"));
        }
        let topology = Topology::try_new(self, ids).map_err(|(parent, child)| {
            GraphError::new(format!("there is no activity {}", clip(child)))
                .with_subject("activity", parent)
                .with_field("children")
                .with_hint("add it or remove it from the list")
        })?;
        for (index, activity) in (0..).zip(&self.activities) {
            let children = topology.children.of(index);
            let mut sorted = children.to_vec();
            sorted.sort_unstable();
            let repeated = sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
            let problem = match repeated {
                _ if children.contains(&index) => "waits for itself".to_string(),
                Some(twice) => {
                    format!("{} is listed twice", clip(&self.activities[twice as usize].id))
                }
                None => continue,
            };
            return Err(GraphError::new(problem)
                .with_subject("activity", &activity.id)
                .with_field("children"));
        }
        if let Err(cycle) = topology.topological_order() {
            return Err(self.cycle_error(cycle));
        }
        self.check_chunk_parents(&topology)?;
        Ok(topology)
    }

    /// Thesis rules 5 to 9: a chunk follows its document's request or an earlier chunk. That, and
    /// nothing else, makes its bytes arrive.
    fn check_chunk_parents(&self, topology: &Topology) -> Result<(), GraphError> {
        for (index, activity) in (0..).zip(&self.activities) {
            let ActivityKind::DownloadChunk(chunk) = &activity.kind else { continue };
            let of_same_document = |&parent: &u32| {
                let parent = &self.activities[parent as usize];
                match &parent.kind {
                    ActivityKind::Resource(_) => parent.id == chunk.resource,
                    ActivityKind::DownloadChunk(earlier) => earlier.resource == chunk.resource,
                    _ => false,
                }
            };
            let parents = topology.parents.of(index);
            let problem = match parents.iter().find(|parent| !of_same_document(parent)) {
                Some(&other) => {
                    format!("is a child of {}", clip(&self.activities[other as usize].id))
                }
                None if parents.is_empty() => "is nobody's child".to_string(),
                None => continue,
            };
            return Err(GraphError::new(problem).with_subject("activity", &activity.id).with_hint(
                "download chunks are children of their resource or of an earlier chunk of it",
            ));
        }
        Ok(())
    }

    fn cycle_error(&self, mut cycle: Vec<u32>) -> GraphError {
        const SHOWN: usize = 8;
        let id = |&index: &u32| clip(&self.activities[index as usize].id);
        let lowest = (0..cycle.len()).min_by(|&a, &b| compare_ids(&id(&cycle[a]), &id(&cycle[b])));
        cycle.rotate_left(lowest.unwrap_or_default());
        let mut path: Vec<String> = cycle.iter().take(SHOWN).map(id).collect();
        if cycle.len() > SHOWN {
            path.push(format!("({} more)", cycle.len() - SHOWN));
        }
        path.extend(cycle.first().map(id));
        GraphError::new(format!("a cycle: {}", path.join(" -> ")))
            .with_subject("activity", path.first().map_or("", |first| first))
            .with_field("children")
            .with_hint("each would wait for the others without end: remove one of these edges")
    }

    fn check_ends(&self, ids: &IdIndex<'_>, topology: &Topology) -> Result<(), GraphError> {
        let missing = |field, id: &str| {
            GraphError::new(format!("there is no activity {}", clip(id))).with_field(field)
        };
        let root = ids.get(&self.root).ok_or_else(|| missing("root", &self.root))?;
        if !matches!(self.activities[root as usize].kind, ActivityKind::Resource(_)) {
            return Err(GraphError::new(format!("{} is not a resource", clip(&self.root)))
                .with_field("root")
                .with_hint("name the main document's resource"));
        }
        if let Some(&parent) = topology.parents.of(root).first() {
            let parent = clip(&self.activities[parent as usize].id);
            return Err(GraphError::new(format!("{} waits for {parent}", clip(&self.root)))
                .with_field("root")
                .with_hint("the load begins with the root: it can have no parent"));
        }
        let reached = topology
            .reachable(root, |index| executed_before_load(&self.activities[index as usize]));
        for (field, id) in [
            ("load_event", &self.load_event),
            ("dom_content_loaded_event", &self.dom_content_loaded_event),
        ] {
            let event = ids.get(id).ok_or_else(|| missing(field, id))?;
            if !matches!(self.activities[event as usize].kind, ActivityKind::Evaluation(_)) {
                return Err(GraphError::new(format!("{} is not an evaluation", clip(id)))
                    .with_field(field)
                    .with_hint("name the activity in which the event's handlers run"));
            }
            if !reached[event as usize] {
                let problem = format!("no path leads from {} to {}", clip(&self.root), clip(id));
                return Err(GraphError::new(problem)
                    .with_field(field)
                    .with_hint("activities of phase \"end\" and \"load_plus\" are not executed"));
            }
        }
        Ok(())
    }
}

/// What the check of one activity looks up.
struct ActivityCheck<'a> {
    graph: &'a PageGraph,
    ids: &'a IdIndex<'a>,
    /// Id and parent of each frame, by id.
    frames: &'a [(u32, Option<u32>)],
}

impl ActivityCheck<'_> {
    fn activity(&self, activity: &Activity) -> Result<(), GraphError> {
        match &activity.kind {
            ActivityKind::Resource(resource) => self.resource(activity, resource),
            ActivityKind::DownloadChunk(chunk) => self.download_chunk(chunk),
            ActivityKind::ParseChunk(chunk) => {
                self.frame(chunk.frame)?;
                check_duration("duration_ms", chunk.duration_ms)?;
                check_recorded("recorded_start_ms", chunk.recorded_start_ms)
            }
            ActivityKind::Evaluation(evaluation) => self.evaluation(evaluation),
            ActivityKind::MainThread(work) => {
                self.frame(work.frame)?;
                check_duration("duration_ms", work.duration_ms)
            }
        }
    }

    fn frame(&self, frame: u32) -> Result<(), GraphError> {
        if self.frames.binary_search_by_key(&frame, |&(id, _)| id).is_ok() {
            return Ok(());
        }
        Err(GraphError::new(format!("there is no frame {frame}"))
            .with_field("frame")
            .with_hint("add it to \"frames\" or name one that is there"))
    }

    fn resource(&self, activity: &Activity, resource: &Resource) -> Result<(), GraphError> {
        if resource.url.is_empty() {
            return Err(GraphError::new("empty")
                .with_field("url")
                .with_hint("give an absolute URL"));
        }
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if resource.method.is_empty() || !resource.method.bytes().all(is_token) {
            return Err(GraphError::new(format!("\"{}\" is no method", clip(&resource.method)))
                .with_field("method")
                .with_hint("GET, POST, HEAD, OPTIONS, ... (RFC 9110 section 9)"));
        }
        check_size("size_bytes", resource.size_bytes)?;
        if let Some(delay) = resource.server_delay_ms {
            check_duration("server_delay_ms", delay)?;
        }
        for (field, bytes) in [
            ("request_header_bytes", resource.request_header_bytes),
            ("response_header_bytes", resource.response_header_bytes),
        ] {
            check_headers(field, bytes)?;
        }
        if let Some(stalled) = resource.stalled_ms {
            check_duration("stalled_ms", stalled)?;
        }
        check_recorded("recorded_sent_ms", resource.recorded_sent_ms)?;
        check_recorded("recorded_received_ms", resource.recorded_received_ms)?;
        if let Some(raised_by) = &resource.raised_by
            && (*raised_by == activity.id || self.kind_of(raised_by).is_none())
        {
            let problem = match *raised_by == activity.id {
                true => "a resource cannot raise its own priority".to_string(),
                false => format!("there is no activity {}", clip(raised_by)),
            };
            return Err(GraphError::new(problem)
                .with_field("raised_by")
                .with_hint("name the activity after which its priority is high, or leave it out"));
        }
        let Some(original) = &resource.original else { return Ok(()) };
        let hint = "name the resource whose response is used";
        let problem = if *original == activity.id {
            "a resource cannot be its own original".to_string()
        } else {
            match self.kind_of(original) {
                Some(ActivityKind::Resource(Resource { original: None, .. })) => return Ok(()),
                Some(ActivityKind::Resource(Resource { original: Some(next), .. })) => {
                    format!("{} has an original itself, {}", clip(original), clip(next))
                }
                Some(_) => format!("{} is not a resource", clip(original)),
                None => format!("there is no activity {}", clip(original)),
            }
        };
        Err(GraphError::new(problem).with_field("original").with_hint(hint))
    }

    fn download_chunk(&self, chunk: &DownloadChunk) -> Result<(), GraphError> {
        check_size("offset_bytes", chunk.offset_bytes)?;
        check_size("size_bytes", chunk.size_bytes)?;
        let named = clip(&chunk.resource);
        let resource = match self.kind_of(&chunk.resource) {
            Some(ActivityKind::Resource(resource)) => resource,
            Some(_) => {
                return Err(GraphError::new(format!("{named} is not a resource"))
                    .with_field("resource")
                    .with_hint("name the HTML document that the chunk is part of"));
            }
            None => {
                return Err(GraphError::new(format!("there is no activity {named}"))
                    .with_field("resource")
                    .with_hint("name the HTML document that the chunk is part of"));
            }
        };
        let end = chunk.offset_bytes + chunk.size_bytes;
        if end > resource.size_bytes {
            let size = resource.size_bytes;
            return Err(GraphError::new(format!(
                "ends at byte {end} of {named} (allowed: {size})"
            ))
            .with_field("size_bytes")
            .with_hint("bytes that never arrive would be waited for without end"));
        }
        Ok(())
    }

    fn evaluation(&self, evaluation: &Evaluation) -> Result<(), GraphError> {
        self.frame(evaluation.frame)?;
        check_duration("duration_ms", evaluation.duration_ms)?;
        check_recorded("recorded_start_ms", evaluation.recorded_start_ms)?;
        match (evaluation.kind, evaluation.timeout_ms) {
            (EvaluationKind::Timer, None) if evaluation.continues.is_none() => {
                Err(GraphError::new("missing on a timer")
                    .with_field("timeout_ms")
                    .with_hint("0 if it fires at once"))
            }
            (EvaluationKind::Timer, Some(timeout)) => check_duration("timeout_ms", timeout),
            (_, Some(_)) => Err(GraphError::new("only timers have one")
                .with_field("timeout_ms")
                .with_hint("make it \"kind\": \"timer\", or leave timeout_ms out")),
            _ => Ok(()),
        }
    }

    fn kind_of(&self, id: &str) -> Option<&ActivityKind> {
        self.ids.get(id).map(|index| &self.graph.activities[index as usize].kind)
    }
}

/// Whether the activity is part of the load: thesis section 3.7.4 disables what the recording ran
/// after the load event.
pub(crate) fn executed_before_load(activity: &Activity) -> bool {
    match &activity.kind {
        ActivityKind::Evaluation(evaluation) => {
            !matches!(evaluation.phase, Phase::End | Phase::LoadPlus)
        }
        _ => true,
    }
}

fn check_name(text: &str) -> Result<(), GraphError> {
    let problem = if text.is_empty() {
        "empty".to_string()
    } else if text.len() > MAX_ID_BYTES {
        format!("{} bytes are too long (allowed: {MAX_ID_BYTES})", text.len())
    } else if text.chars().any(char::is_control) {
        format!("\"{}\" holds control characters", clip(text))
    } else {
        return Ok(());
    };
    Err(GraphError::new(problem))
}

fn check_file_name(name: &str) -> Result<(), GraphError> {
    check_name(name)?;
    if name.contains(['/', '\\', ':']) || name == "." || name == ".." {
        return Err(GraphError::new(format!("\"{}\" is not a bare file name", clip(name)))
            .with_hint("put the file beside the graph and name it without its folder"));
    }
    Ok(())
}

pub(super) fn check_duration(field: &str, ms: f64) -> Result<(), GraphError> {
    if (0.0..=MAX_DURATION_MS).contains(&ms) {
        return Ok(());
    }
    Err(GraphError::new(format!("{ms} is out of range (allowed: {})", allowed("duration_ms")))
        .with_field(field)
        .with_hint("times are milliseconds"))
}

fn check_recorded(field: &str, ms: Option<f64>) -> Result<(), GraphError> {
    match ms {
        Some(ms) if !(0.0..=MAX_RECORDED_MS).contains(&ms) => {
            Err(GraphError::new(format!("{ms} is out of range (allowed: {})", allowed(field)))
                .with_field(field)
                .with_hint("milliseconds since the start of navigation"))
        }
        _ => Ok(()),
    }
}

fn check_headers(field: &str, bytes: Option<u64>) -> Result<(), GraphError> {
    match bytes {
        Some(bytes) if !(1..=MAX_HEADER_BYTES).contains(&bytes) => Err(GraphError::new(format!(
            "{bytes} is out of range (allowed: {})",
            allowed("request_header_bytes")
        ))
        .with_field(field)),
        _ => Ok(()),
    }
}

fn check_size(field: &str, bytes: u64) -> Result<(), GraphError> {
    if bytes <= MAX_SIZE_BYTES {
        return Ok(());
    }
    Err(GraphError::new(format!("{bytes} is out of range (allowed: {})", allowed("size_bytes")))
        .with_field(field))
}

/// Id and parent of each frame, by id.
fn check_frames(frames: &[Frame]) -> Result<Vec<(u32, Option<u32>)>, GraphError> {
    let error = |problem: String| GraphError::new(problem).with_field("frames");
    let mut roots = frames.iter().filter(|frame| frame.parent.is_none());
    match (roots.next(), roots.next()) {
        (Some(_), None) => {}
        (None, _) => {
            return Err(error("no frame is without a parent".into())
                .with_hint("leave \"parent\" out of the main frame"));
        }
        (Some(one), Some(other)) => {
            return Err(error(format!("frames {} and {} have no parent", one.id, other.id))
                .with_hint("only the main frame has none"));
        }
    }
    if frames.len() > MAX_FRAMES {
        return Err(error(format!("{} are too many (allowed: {MAX_FRAMES})", frames.len())));
    }
    let mut sorted: Vec<(u32, Option<u32>)> = frames.iter().map(|f| (f.id, f.parent)).collect();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        return Err(GraphError::new("two frames have this id").with_subject("frame", pair[0].0));
    }
    let place = |id: u32| sorted.binary_search_by_key(&id, |&(known, _)| known);
    // Frames known to hang on the main frame; going up from any other must meet one of them.
    let mut rooted: Vec<bool> = sorted.iter().map(|&(_, parent)| parent.is_none()).collect();
    for start in 0..sorted.len() {
        let mut path = Vec::new();
        let mut at = start;
        while !rooted[at] {
            let (id, parent) = sorted[at];
            let parent = parent.unwrap_or_default();
            path.push(at);
            at = place(parent).map_err(|_| {
                GraphError::new(format!("there is no frame {parent}"))
                    .with_subject("frame", id)
                    .with_field("parent")
            })?;
            if path.len() > sorted.len() {
                return Err(GraphError::new("it is its own ancestor")
                    .with_subject("frame", id)
                    .with_field("parent")
                    .with_hint("frames form a tree below the main frame"));
            }
        }
        path.into_iter().for_each(|at| rooted[at] = true);
    }
    Ok(sorted)
}
