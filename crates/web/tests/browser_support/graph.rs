//! Small page graphs, written activity by activity.

use loadpath_web::graph::{
    Activity, ActivityKind, DownloadChunk, Evaluation, EvaluationKind, FORMAT, Frame, MainThread,
    PageGraph, ParseChunk, Phase, Resource, VERSION,
};

/// Id of the main document.
pub const ROOT: &str = "download_0";

/// A graph in the making: frame 0 and a main document of 1000 bytes. The order in which activities
/// are added is the order in which the recording began them.
pub struct Builder {
    pub graph: PageGraph,
}

impl Builder {
    pub fn new() -> Self {
        let mut builder = Builder {
            graph: PageGraph {
                format: FORMAT.into(),
                version: VERSION,
                name: "test".into(),
                url: "http://main.example/".into(),
                source: String::new(),
                root: ROOT.into(),
                load_event: "load".into(),
                dom_content_loaded_event: "load".into(),
                frames: vec![frame(0, None)],
                activities: Vec::new(),
                server_delay_file: None,
                recorded_busy_ms: None,
            },
        };
        builder.add(ROOT, resource("text/html", 1000), &[]);
        builder
    }

    /// Adds a frame below `parent`.
    pub fn frame(&mut self, id: u32, parent: u32) -> &mut Self {
        self.graph.frames.push(frame(id, Some(parent)));
        self
    }

    /// Adds an activity that waits for `parents`.
    pub fn add(&mut self, id: &str, kind: ActivityKind, parents: &[&str]) -> &mut Self {
        let began_ms = Some(self.graph.activities.len() as f64);
        let kind = match kind {
            ActivityKind::Resource(r) => ActivityKind::Resource(Resource {
                url: if r.url.is_empty() { format!("http://{id}.example/") } else { r.url },
                recorded_sent_ms: r.recorded_sent_ms.or(began_ms),
                ..r
            }),
            ActivityKind::ParseChunk(p) => ActivityKind::ParseChunk(ParseChunk {
                recorded_start_ms: p.recorded_start_ms.or(began_ms),
                ..p
            }),
            ActivityKind::Evaluation(e) => ActivityKind::Evaluation(Evaluation {
                recorded_start_ms: e.recorded_start_ms.or(began_ms),
                ..e
            }),
            other => other,
        };
        self.graph.activities.push(Activity { id: id.into(), kind, children: Vec::new() });
        for parent in parents {
            self.edge(parent, id);
        }
        self
    }

    /// Makes `child` wait for `parent`.
    pub fn edge(&mut self, parent: &str, child: &str) -> &mut Self {
        let parent = self.graph.activities.iter_mut().find(|a| a.id == parent).expect("a parent");
        parent.children.push(child.into());
        self
    }

    /// Adds the load event, behind `parents`.
    pub fn load(&mut self, parents: &[&str]) -> &PageGraph {
        self.add("load", event(0, 1.0), parents);
        &self.graph
    }
}

fn frame(id: u32, parent: Option<u32>) -> Frame {
    Frame { id, url: String::new(), parent, process: 0 }
}

/// A resource at `http://ID.example/`.
pub fn resource(mime_type: &str, size_bytes: u64) -> ActivityKind {
    ActivityKind::Resource(Resource {
        method: "GET".into(),
        mime_type: mime_type.into(),
        size_bytes,
        ..Resource::default()
    })
}

/// A resource at `url`, served by `original` if one is given.
pub fn resource_at(url: &str, original: Option<&str>) -> ActivityKind {
    ActivityKind::Resource(Resource {
        url: url.into(),
        method: "GET".into(),
        mime_type: "image/png".into(),
        size_bytes: 100,
        original: original.map(str::to_owned),
        cached: original.is_some(),
        ..Resource::default()
    })
}

pub fn script_file() -> ActivityKind {
    resource("text/javascript", 100)
}

pub fn image() -> ActivityKind {
    resource("image/png", 100)
}

/// Bytes `offset_bytes` to `end_bytes` of a document.
pub fn chunk(resource: &str, offset_bytes: u64, end_bytes: u64) -> ActivityKind {
    ActivityKind::DownloadChunk(DownloadChunk {
        resource: resource.into(),
        offset_bytes,
        size_bytes: end_bytes - offset_bytes,
    })
}

pub fn parse(frame: u32, duration_ms: f64) -> ActivityKind {
    ActivityKind::ParseChunk(ParseChunk {
        frame,
        duration_ms,
        recorded_start_ms: None,
        end_tag: String::new(),
        position: None,
        inserts_body: false,
    })
}

pub fn evaluation(kind: EvaluationKind, frame: u32, duration_ms: f64) -> Evaluation {
    Evaluation {
        frame,
        kind,
        duration_ms,
        blocking: Default::default(),
        phase: Phase::Dom,
        url: String::new(),
        position: None,
        timeout_ms: None,
        event_name: String::new(),
        event_target: String::new(),
        continues: None,
        group: None,
        recorded_start_ms: None,
    }
}

pub fn script(frame: u32, duration_ms: f64) -> ActivityKind {
    ActivityKind::Evaluation(evaluation(EvaluationKind::Script, frame, duration_ms))
}

pub fn style(frame: u32, duration_ms: f64) -> ActivityKind {
    ActivityKind::Evaluation(evaluation(EvaluationKind::Style, frame, duration_ms))
}

pub fn event(frame: u32, duration_ms: f64) -> ActivityKind {
    ActivityKind::Evaluation(evaluation(EvaluationKind::Event, frame, duration_ms))
}

pub fn timer(frame: u32, timeout_ms: f64, duration_ms: f64) -> ActivityKind {
    ActivityKind::Evaluation(Evaluation {
        timeout_ms: Some(timeout_ms),
        ..evaluation(EvaluationKind::Timer, frame, duration_ms)
    })
}

/// A later piece of the timer `first`.
pub fn timer_piece(frame: u32, timeout_ms: f64, duration_ms: f64, first: &str) -> ActivityKind {
    ActivityKind::Evaluation(Evaluation {
        timeout_ms: Some(timeout_ms),
        continues: Some(first.into()),
        ..evaluation(EvaluationKind::Timer, frame, duration_ms)
    })
}

pub fn other_work(frame: u32, duration_ms: f64) -> ActivityKind {
    ActivityKind::MainThread(MainThread { frame, kind: "layout".into(), duration_ms })
}

/// The same computation, in a phase of the load.
pub fn in_phase(kind: ActivityKind, phase: Phase) -> ActivityKind {
    match kind {
        ActivityKind::Evaluation(e) => ActivityKind::Evaluation(Evaluation { phase, ..e }),
        other => other,
    }
}
