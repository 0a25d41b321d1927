//! A page graph compiled for execution: dense arrays that every load of the page shares, read-only.
//!
//! Indices follow the order of activity ids ([`compare_ids`](crate::graph::compare_ids)), so nothing
//! depends on the order of activities in a file. Compilation keeps only what happens before the load event (section 3.7.4).

mod compile;
mod url;

pub(crate) use url::http_authority;
pub use url::http_host;

use std::sync::Arc;

use loadpath_net::SimDuration;

use crate::graph::{DelayClass, MimeClass, ServerDelays};

/// Stands for "no such index".
pub(crate) const NONE: u32 = u32::MAX;

/// A compiled page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Short name for tables.
    pub name: String,
    /// The hosts of the http and https resources.
    pub hosts: Vec<Host>,
    /// The http and https resources, in order of their ids. All others complete at once and are
    /// activities only.
    pub resources: Vec<PageResource>,

    /// Where server delays come from that were not measured; without, they are zero.
    server_delays: Option<Arc<ServerDelays>>,
    pub(crate) activities: Vec<Activity>,
    /// Children of all activities; [`Activity::children`] and [`Activity::streams`] point here.
    pub(crate) edges: Vec<u32>,
    pub(crate) blocks: Vec<Block>,
    /// Resources whose priorities activities raise.
    pub(crate) raises: Vec<u32>,
    pub(crate) frames: Vec<FrameNode>,
    /// Main frame, or else the lowest frame, of each renderer process.
    pub(crate) process_frames: Vec<u32>,
    pub(crate) slots: u32,
    pub(crate) root: u32,
    pub(crate) load_event: u32,
    pub(crate) dom_content_loaded_event: u32,
    pub(crate) main_frame: u32,
}

/// A server name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Lower case, without scheme and port.
    pub name: String,
    /// Index for random streams: [`loadpath_net::key_of`] of the lowest id of a resource on this
    /// host, by which hosts are ordered too, so that renaming hosts changes nothing.
    pub key: u64,
}

/// An http or https resource.
#[derive(Clone, Debug, PartialEq)]
pub struct PageResource {
    /// Activity id in the graph.
    pub id: String,
    /// Absolute URL.
    pub url: String,
    /// Request method.
    pub method: String,
    /// MIME type, "" if unknown.
    pub mime_type: String,
    /// Class of the MIME type.
    pub mime_class: MimeClass,
    /// Index in [`Page::hosts`].
    pub host: u32,
    /// Bytes of the response body as transmitted.
    pub size_bytes: u64,
    /// Measured server processing delay; `None`: draw from the distribution of `delay_class`.
    pub server_delay: Option<SimDuration>,
    /// What the browser takes before its network stack acts.
    pub stalled: SimDuration,
    /// The frame that requests it.
    pub frame: u32,
    /// Recorded header block of its request as HTTP/1.1 writes it.
    pub request_header_bytes: Option<u32>,
    /// The same of its response.
    pub response_header_bytes: Option<u32>,
    /// Whether the preloader of the recording found it, where it is known.
    pub(crate) found_by_preloader: Option<bool>,
    /// How urgent it is for its frame; `None`: the frame's loader has no say (documents, media).
    pub(crate) urgency: Option<Urgency>,
    /// Which distribution of server delays applies.
    pub delay_class: DelayClass,
    /// Priorities by scheme.
    pub priorities: Priorities,
    /// Index for random streams: [`loadpath_net::key_of`] of the id.
    pub key: u64,
    /// Index of its activity in the compiled page.
    pub activity: u32,
    /// Place in the `activities` of the graph that was compiled.
    pub graph_index: u32,
    /// Session-cache slot: references with the same slot share one fetch.
    pub(crate) slot: u32,
}

/// Priorities of a resource; lower is more urgent. Each scheme is the recording's if the graph
/// brought one, else computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Priorities {
    /// By class: HTML, CSS, JavaScript, images, others (thesis section 3.5.3.1).
    pub mime_class: u32,
    /// The recording's order by type, else by class.
    pub mime_type: u32,
    /// Critical path (section 3.5.3.2).
    pub critical_path: u32,
    /// Node depth (end of section 3.5.3.2).
    pub node_depth: u32,
    /// The browser's own: DevTools' names, "VeryHigh" first. Where the graph has none, what Chromium gives
    /// the class (third_party/blink/renderer/platform/loader/fetch/resource_fetcher.cc).
    pub browser: u32,
}

impl Priorities {
    fn browser(class: MimeClass, name: Option<&str>) -> u32 {
        match (name, class) {
            (Some("VeryHigh"), _) => 0,
            (Some("High"), _) => 1,
            (Some("Medium"), _) => 2,
            (Some("Low"), _) => 3,
            (Some(_), _) => 4,
            (None, MimeClass::Html | MimeClass::Css) => 0,
            (None, MimeClass::Javascript | MimeClass::Other) => 1,
            (None, MimeClass::Image) => 3,
        }
    }
}

/// How urgent the browser takes a request to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// High or above, or not known.
    High,
    /// Medium: the first images, scripts in the body.
    Medium,
    /// Below: other images, scripts that hold up no parser.
    Low,
}

impl Urgency {
    /// Of the request of a resource, by DevTools' name of its priority.
    fn of(mime_type: &str, browser_priority: Option<&str>) -> Option<Urgency> {
        let media = ["audio/", "video/"].iter().any(|start| mime_type.starts_with(start));
        if media || MimeClass::of(mime_type) == MimeClass::Html {
            return None;
        }
        Some(match browser_priority {
            Some("Medium") => Urgency::Medium,
            Some("Low" | "VeryLow") => Urgency::Low,
            _ => Urgency::High,
        })
    }
}

/// What an activity is, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description<'a> {
    /// Activity id.
    pub id: &'a str,
    /// "parse", "script", "style", "timer", "event", "other", "resource" or "download".
    pub kind: &'static str,
    /// Frame id, 0 for downloads.
    pub frame: u32,
    /// Script URL, event name or end tag.
    pub detail: &'a str,
}

/// What executing an activity means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Completes without cost: a resource outside the network.
    AtOnce,
    /// Fetches `Page::resources[_]`, or waits for the fetch in flight.
    Fetch(u32),
    /// Waits for the first `need` bytes of the response in a session-cache slot; completes at once
    /// if that is [`NONE`].
    Chunk { slot: u32, need: u64 },
    /// Runs on the main thread of a frame, ahead of the frame's other evaluations.
    Parse { frame: u32 },
    /// Runs on the main thread of a frame: scripts, style sheets, continuation of either.
    Evaluate { frame: u32 },
    /// Runs ahead of all frame queues: event handlers, and later pieces of timers.
    Event { frame: u32 },
    /// Joins the events after its timeout. `level` counts the timers of its chain, itself included.
    Timer { frame: u32, timeout: SimDuration, level: u32 },
    /// Other main-thread work, executed if so configured.
    OtherWork { frame: u32 },
}

impl Step {
    /// The frame of main-thread work.
    pub fn frame(self) -> Option<u32> {
        match self {
            Step::Parse { frame }
            | Step::Evaluate { frame }
            | Step::Event { frame }
            | Step::Timer { frame, .. }
            | Step::OtherWork { frame } => Some(frame),
            Step::AtOnce | Step::Fetch(_) | Step::Chunk { .. } => None,
        }
    }
}

/// One activity.
#[derive(Clone, Debug)]
pub(crate) struct Activity {
    pub id: String,
    pub kind: &'static str,
    /// Id of its frame in the graph.
    pub frame_id: u32,
    pub detail: String,
    pub step: Step,
    /// Main-thread time.
    pub duration: SimDuration,
    /// Number of activities that it waits for.
    pub parents: u32,
    /// Released when it completes: a range of [`Page::edges`].
    pub children: (u32, u32),
    /// Released when its request is issued: the first chunks of a document.
    pub streams: (u32, u32),
    /// For the download of a script that holds up a parser: a range of [`Page::blocks`].
    pub blocks: (u32, u32),
    /// What has high priority when it has completed: a range of [`Page::raises`].
    pub raises: (u32, u32),
}

/// A parser that waits for a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Block {
    /// The frame whose parser waits.
    pub frame: u32,
    /// The piece of the script with whose end the parser goes on.
    pub until: u32,
}

/// A frame in the tree of frames.
#[derive(Clone, Debug)]
pub(crate) struct FrameNode {
    pub parent: u32,
    pub subframes: Vec<u32>,
    /// The parse chunk with which its document has a body, or [`NONE`] if the graph does not say.
    pub body: u32,
    /// Index in [`Page::process_frames`].
    pub process: u32,
}

impl Page {
    /// Number of activities that a load executes.
    pub fn activity_count(&self) -> usize {
        self.activities.len()
    }

    /// Draws delays that were not measured from `delays`.
    pub fn with_server_delays(mut self, delays: Arc<ServerDelays>) -> Page {
        self.server_delays = Some(delays);
        self
    }

    /// Server delay of a resource by a uniform draw `u` in [0, 1).
    pub fn drawn_delay(&self, resource: &PageResource, u: f64) -> SimDuration {
        match &self.server_delays {
            Some(delays) => delays.quantile(resource.delay_class, u),
            None => SimDuration::ZERO,
        }
    }

    /// What a compiled activity is.
    pub fn describe(&self, activity: u32) -> Description<'_> {
        let a = &self.activities[activity as usize];
        Description { id: &a.id, kind: a.kind, frame: a.frame_id, detail: &a.detail }
    }

    /// Id of a compiled activity in its graph.
    pub fn activity_id(&self, activity: u32) -> &str {
        &self.activities[activity as usize].id
    }

    pub(crate) fn children(&self, activity: u32) -> &[u32] {
        slice(&self.edges, self.activities[activity as usize].children)
    }

    pub(crate) fn streams(&self, activity: u32) -> &[u32] {
        slice(&self.edges, self.activities[activity as usize].streams)
    }

    /// Frames, of which the resources have numbers below.
    pub fn frame_count(&self) -> usize {
        self.frames.len()
    }

    pub(crate) fn raises(&self, activity: u32) -> &[u32] {
        slice(&self.raises, self.activities[activity as usize].raises)
    }

    pub(crate) fn blocks(&self, activity: u32) -> &[Block] {
        slice(&self.blocks, self.activities[activity as usize].blocks)
    }
}

fn slice<T>(all: &[T], (start, end): (u32, u32)) -> &[T] {
    &all[start as usize..end as usize]
}
