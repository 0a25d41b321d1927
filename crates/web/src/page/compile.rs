//! From a page graph to the arrays of a [`Page`].

use std::collections::BTreeMap;

use loadpath_net::{SimDuration, key_of};

use super::{
    Activity, Block, FrameNode, Host, NONE, Page, PageResource, Priorities, Step, compare_ids,
    http_host,
};
use crate::graph::{
    ActivityKind, DelayClass, EvaluationKind, MimeClass, PageGraph, Phase, Resource,
};

/// Why a graph is not a page that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PageError {
    /// Ids must be unique.
    #[error("activity `{0}` is defined twice")]
    DuplicateActivity(String),
    /// Frame ids must be unique.
    #[error("frame {0} is defined twice")]
    DuplicateFrame(u32),
    /// A reference leads nowhere.
    #[error("{of}: {field} names activity `{target}`, which does not exist")]
    UnknownActivity {
        /// Who refers.
        of: String,
        /// Where it refers from.
        field: &'static str,
        /// To whom.
        target: String,
    },
    /// A reference leads nowhere.
    #[error("{of}: frame {frame} does not exist")]
    UnknownFrame {
        /// Who refers.
        of: String,
        /// To which frame.
        frame: u32,
    },
    /// Exactly one frame is the page's own.
    #[error("{0} frames have no parent; expected one, the main frame")]
    MainFrames(usize),
    /// Dependencies must not form a cycle.
    #[error("activity `{0}` waits for itself: the dependencies around it form a cycle")]
    Cycle(String),
    /// A chunk of a document that is not loaded.
    #[error("download chunk `{chunk}`: resource `{resource}` is not loaded before the load event")]
    ChunkOfNothing {
        /// The chunk.
        chunk: String,
        /// Its resource.
        resource: String,
    },
    /// The page would never be loaded.
    #[error(
        "load event `{0}` cannot be reached from the root without evaluations of phase `end` or \
         `load_plus`"
    )]
    LoadEventUnreachable(String),
}

impl Page {
    /// Compiles a graph.
    ///
    /// # Errors
    /// Refuses graphs whose load could not end: see [`PageError`].
    pub fn compile(graph: &PageGraph) -> Result<Page, PageError> {
        let full = FullGraph::new(graph)?;
        let kept = full.before_load();
        if !kept[full.load_event] {
            return Err(PageError::LoadEventUnreachable(graph.load_event.clone()));
        }
        Compiler::new(graph, full, &kept)?.finish()
    }
}

/// The graph with its references resolved to places in `activities`.
struct FullGraph<'g> {
    graph: &'g PageGraph,
    index: BTreeMap<&'g str, usize>,
    children: Vec<Vec<usize>>,
    root: usize,
    load_event: usize,
    dom_content_loaded_event: usize,
}

impl<'g> FullGraph<'g> {
    fn new(graph: &'g PageGraph) -> Result<Self, PageError> {
        let mut index = BTreeMap::new();
        for (i, a) in graph.activities.iter().enumerate() {
            if index.insert(a.id.as_str(), i).is_some() {
                return Err(PageError::DuplicateActivity(a.id.clone()));
            }
        }
        let find = |of: &str, field, target: &str| {
            index.get(target).copied().ok_or_else(|| PageError::UnknownActivity {
                of: of.to_owned(),
                field,
                target: target.to_owned(),
            })
        };
        let children = graph
            .activities
            .iter()
            .map(|a| a.children.iter().map(|c| find(&a.id, "children", c)).collect())
            .collect::<Result<_, _>>()?;
        Ok(FullGraph {
            root: find("graph", "root", &graph.root)?,
            load_event: find("graph", "load_event", &graph.load_event)?,
            dom_content_loaded_event: find(
                "graph",
                "dom_content_loaded_event",
                &graph.dom_content_loaded_event,
            )?,
            graph,
            index,
            children,
        })
    }

    /// Normalisation (section 3.7.4): what the root reaches without evaluations of the phases after
    /// the load event.
    fn before_load(&self) -> Vec<bool> {
        let mut kept = vec![false; self.children.len()];
        let mut pending = vec![self.root];
        while let Some(i) = pending.pop() {
            if !kept[i] && !is_after_load(&self.graph.activities[i].kind) {
                kept[i] = true;
                pending.extend(&self.children[i]);
            }
        }
        kept
    }

    fn resource(&self, of: &str, field: &'static str, id: &str) -> Result<&'g Resource, PageError> {
        match self.index.get(id).map(|&i| &self.graph.activities[i].kind) {
            Some(ActivityKind::Resource(r)) => Ok(r),
            _ => {
                Err(PageError::UnknownActivity { of: of.to_owned(), field, target: id.to_owned() })
            }
        }
    }
}

/// A recorded priority of 0 means that the recording gave none: last.
fn priorities(r: &Resource) -> Priorities {
    let mime_class = MimeClass::of(&r.mime_type) as u32;
    let recorded =
        |scheme: &str| r.priorities.get(scheme).map(|&p| if p == 0 { u32::MAX } else { p });
    Priorities {
        mime_class,
        mime_type: recorded("mime-type").unwrap_or(mime_class),
        critical_path: recorded("cp").unwrap_or(mime_class),
        node_depth: recorded("depth").unwrap_or(mime_class),
    }
}

fn kind_of(kind: &ActivityKind) -> &'static str {
    match kind {
        ActivityKind::Resource(_) => "resource",
        ActivityKind::DownloadChunk(_) => "download",
        ActivityKind::ParseChunk(_) => "parse",
        ActivityKind::MainThread(_) => "other",
        ActivityKind::Evaluation(e) => match e.kind {
            EvaluationKind::Script => "script",
            EvaluationKind::Style => "style",
            EvaluationKind::Timer => "timer",
            EvaluationKind::Event => "event",
            EvaluationKind::Other => "other",
        },
    }
}

fn frame_of(kind: &ActivityKind) -> u32 {
    match kind {
        ActivityKind::ParseChunk(p) => p.frame,
        ActivityKind::Evaluation(e) => e.frame,
        ActivityKind::MainThread(m) => m.frame,
        ActivityKind::Resource(_) | ActivityKind::DownloadChunk(_) => 0,
    }
}

fn detail_of(kind: &ActivityKind) -> String {
    match kind {
        ActivityKind::ParseChunk(p) => p.end_tag.clone(),
        ActivityKind::Evaluation(e) if e.kind == EvaluationKind::Event => e.event_name.clone(),
        ActivityKind::Evaluation(e) => e.url.clone(),
        ActivityKind::MainThread(m) => m.kind.clone(),
        ActivityKind::Resource(r) => r.url.clone(),
        ActivityKind::DownloadChunk(d) => d.resource.clone(),
    }
}

fn is_after_load(kind: &ActivityKind) -> bool {
    matches!(kind, ActivityKind::Evaluation(e) if matches!(e.phase, Phase::End | Phase::LoadPlus))
}

/// When the recording began an activity, for the order among siblings. Activities without a
/// recorded time follow those with one.
fn recorded_ms(kind: &ActivityKind) -> f64 {
    let time = match kind {
        ActivityKind::Resource(r) => r.recorded_sent_ms,
        ActivityKind::ParseChunk(p) => p.recorded_start_ms,
        ActivityKind::Evaluation(e) => e.recorded_start_ms,
        ActivityKind::DownloadChunk(_) | ActivityKind::MainThread(_) => None,
    };
    time.unwrap_or(f64::INFINITY)
}

struct Compiler<'g> {
    full: FullGraph<'g>,
    /// Places in the graph of the kept activities, in order of their ids.
    order: Vec<usize>,
    /// The inverse of `order`, or [`NONE`].
    compiled: Vec<u32>,
    /// Children of each kept activity, in the order in which they are executed.
    children: Vec<Vec<u32>>,
    frames: BTreeMap<u32, u32>,
    page: Page,
}

impl<'g> Compiler<'g> {
    fn new(graph: &'g PageGraph, full: FullGraph<'g>, kept: &[bool]) -> Result<Self, PageError> {
        let mut order: Vec<usize> = (0..kept.len()).filter(|&i| kept[i]).collect();
        order.sort_by(|&a, &b| compare_ids(&graph.activities[a].id, &graph.activities[b].id));
        let mut compiled = vec![NONE; kept.len()];
        for (new, &old) in order.iter().enumerate() {
            compiled[old] = new as u32;
        }
        let children = order
            .iter()
            .map(|&i| {
                let mut children: Vec<usize> =
                    full.children[i].iter().copied().filter(|&c| kept[c]).collect();
                children.sort_by(|&a, &b| {
                    let time = |i: usize| recorded_ms(&graph.activities[i].kind);
                    time(a).total_cmp(&time(b)).then(compiled[a].cmp(&compiled[b]))
                });
                children.into_iter().map(|c| compiled[c]).collect()
            })
            .collect();
        let mut compiler = Compiler {
            page: Page {
                name: graph.name.clone(),
                hosts: Vec::new(),
                resources: Vec::new(),
                server_delays: None,
                activities: Vec::with_capacity(order.len()),
                edges: Vec::new(),
                blocks: Vec::new(),
                frames: Vec::new(),
                process_frames: Vec::new(),
                slots: 0,
                root: compiled[full.root],
                load_event: compiled[full.load_event],
                dom_content_loaded_event: compiled[full.dom_content_loaded_event],
                main_frame: 0,
            },
            full,
            order,
            compiled,
            children,
            frames: BTreeMap::new(),
        };
        compiler.add_frames()?;
        Ok(compiler)
    }

    fn finish(mut self) -> Result<Page, PageError> {
        self.add_resources()?;
        for new in 0..self.order.len() {
            self.add_activity(new)?;
        }
        self.follow_chains()?;
        Ok(self.page)
    }

    fn add_frames(&mut self) -> Result<(), PageError> {
        let graph = self.full.graph;
        let mut order: Vec<_> = graph.frames.iter().collect();
        order.sort_by_key(|f| f.id);
        for (new, frame) in order.iter().enumerate() {
            if self.frames.insert(frame.id, new as u32).is_some() {
                return Err(PageError::DuplicateFrame(frame.id));
            }
        }
        let main: Vec<_> = order.iter().filter(|f| f.parent.is_none()).collect();
        let [main] = main[..] else { return Err(PageError::MainFrames(main.len())) };
        self.page.main_frame = self.frames[&main.id];
        let mut processes = BTreeMap::from([(main.process, 0)]);
        self.page.process_frames.push(self.page.main_frame);
        for (new, frame) in order.iter().enumerate() {
            let parent = match frame.parent {
                Some(parent) => self.frame(&format!("frame {}", frame.id), parent)?,
                None => NONE,
            };
            let process = *processes.entry(frame.process).or_insert_with(|| {
                self.page.process_frames.push(new as u32);
                self.page.process_frames.len() as u32 - 1
            });
            self.page.frames.push(FrameNode { parent, subframes: Vec::new(), process });
        }
        for frame in 0..order.len() {
            let parent = self.page.frames[frame].parent;
            if parent != NONE {
                self.page.frames[parent as usize].subframes.push(frame as u32);
            }
        }
        Ok(())
    }

    fn frame(&self, of: &str, id: u32) -> Result<u32, PageError> {
        self.frames
            .get(&id)
            .copied()
            .ok_or_else(|| PageError::UnknownFrame { of: of.to_owned(), frame: id })
    }

    /// Lists hosts and resources. Places are given in order of ids, so that neither the order of the
    /// file nor the names of hosts matter.
    fn add_resources(&mut self) -> Result<(), PageError> {
        let graph = self.full.graph;
        let mut hosts = BTreeMap::new();
        let mut slots = BTreeMap::new();
        for (new, &old) in self.order.iter().enumerate() {
            let activity = &graph.activities[old];
            let ActivityKind::Resource(r) = &activity.kind else { continue };
            let Some(host_name) = http_host(&r.url) else { continue };
            let page = &mut self.page;
            let key = key_of(&activity.id);
            let host = *hosts.entry(host_name).or_insert_with_key(|name| {
                page.hosts.push(Host { name: name.clone(), key });
                page.hosts.len() as u32 - 1
            });
            let original = match &r.original {
                Some(id) => self.full.resource(&activity.id, "original", id)?,
                None => r,
            };
            let next_slot = slots.len() as u32;
            let slot = *slots
                .entry((original.method.as_str(), original.url.as_str()))
                .or_insert(next_slot);
            page.resources.push(PageResource {
                id: activity.id.clone(),
                url: r.url.clone(),
                method: r.method.clone(),
                mime_type: r.mime_type.clone(),
                mime_class: MimeClass::of(&r.mime_type),
                host,
                size_bytes: r.size_bytes,
                server_delay: r.server_delay_ms.map(SimDuration::from_millis_f64),
                delay_class: DelayClass::of(&r.method, &r.mime_type),
                priorities: priorities(r),
                key,
                activity: new as u32,
                graph_index: old,
                slot,
            });
        }
        self.page.slots = slots.len() as u32;
        Ok(())
    }

    fn add_activity(&mut self, new: usize) -> Result<(), PageError> {
        let activity = &self.full.graph.activities[self.order[new]];
        let duration = match &activity.kind {
            ActivityKind::ParseChunk(p) => p.duration_ms,
            ActivityKind::Evaluation(e) => e.duration_ms,
            ActivityKind::MainThread(m) => m.duration_ms,
            ActivityKind::Resource(_) | ActivityKind::DownloadChunk(_) => 0.0,
        };
        let step = self.step(new)?;
        // The first chunks of a document start with its request, not with its response.
        let streams = |&child: &u32| {
            let child = &self.full.graph.activities[self.order[child as usize]];
            matches!(&child.kind, ActivityKind::DownloadChunk(c) if c.resource == activity.id)
        };
        let (streams, children): (Vec<u32>, Vec<u32>) =
            self.children[new].iter().partition(|c| streams(c));
        let edges = &mut self.page.edges;
        let mut push = |list: Vec<u32>| {
            let start = edges.len() as u32;
            edges.extend(list);
            (start, edges.len() as u32)
        };
        self.page.activities.push(Activity {
            id: activity.id.clone(),
            kind: kind_of(&activity.kind),
            frame_id: frame_of(&activity.kind),
            detail: detail_of(&activity.kind),
            step,
            duration: SimDuration::from_millis_f64(duration),
            parents: 0,
            children: push(children),
            streams: push(streams),
            blocks: (0, 0),
        });
        Ok(())
    }

    fn step(&self, new: usize) -> Result<Step, PageError> {
        let activity = &self.full.graph.activities[self.order[new]];
        Ok(match &activity.kind {
            ActivityKind::Resource(r) => match self.network_resource(new as u32) {
                // Served by a cache in the recording, and nothing on the page could have filled
                // the session's (fonts, preconnected shells): of no cost.
                Some(_) if r.cached && r.original.is_none() => Step::AtOnce,
                Some(resource) => Step::Fetch(resource),
                None => Step::AtOnce,
            },
            ActivityKind::DownloadChunk(chunk) => {
                let resource = self.full.resource(&activity.id, "resource", &chunk.resource)?;
                let document = self.compiled[self.full.index[chunk.resource.as_str()]];
                if document == NONE {
                    return Err(PageError::ChunkOfNothing {
                        chunk: activity.id.clone(),
                        resource: chunk.resource.clone(),
                    });
                }
                match self.step(document as usize)? {
                    Step::Fetch(r) => Step::Chunk {
                        slot: self.page.resources[r as usize].slot,
                        // Text that scripts wrote lengthens a document beyond its response. An
                        // empty stretch still waits for the response to begin.
                        need: chunk
                            .offset_bytes
                            .saturating_add(chunk.size_bytes)
                            .min(resource.size_bytes)
                            .max(1),
                    },
                    _ => Step::Chunk { slot: NONE, need: 0 },
                }
            }
            ActivityKind::ParseChunk(p) => {
                Step::Parse { frame: self.frame(&activity.id, p.frame)? }
            }
            ActivityKind::MainThread(m) => {
                Step::OtherWork { frame: self.frame(&activity.id, m.frame)? }
            }
            ActivityKind::Evaluation(e) => {
                let frame = self.frame(&activity.id, e.frame)?;
                match e.kind {
                    EvaluationKind::Timer if e.continues.is_none() => Step::Timer {
                        frame,
                        timeout: SimDuration::from_millis_f64(e.timeout_ms.unwrap_or(0.0)),
                        level: 0,
                    },
                    EvaluationKind::Timer | EvaluationKind::Event => Step::Event { frame },
                    EvaluationKind::Script | EvaluationKind::Style | EvaluationKind::Other => {
                        Step::Evaluate { frame }
                    }
                }
            }
        })
    }

    fn network_resource(&self, activity: u32) -> Option<u32> {
        let found = self.page.resources.binary_search_by_key(&activity, |r| r.activity);
        found.ok().map(|r| r as u32)
    }

    /// One pass in topological order for everything that is handed down: numbers of parents, nesting
    /// levels of timers, and which download a blocking script waited for.
    fn follow_chains(&mut self) -> Result<(), PageError> {
        let count = self.order.len();
        let mut inherited = vec![Inherited::default(); count];
        for &child in self.children.iter().flatten() {
            self.page.activities[child as usize].parents += 1;
        }
        let mut missing: Vec<u32> = self.page.activities.iter().map(|a| a.parents).collect();
        let mut ready: Vec<u32> = (0..count as u32).filter(|&i| missing[i as usize] == 0).collect();
        let mut blocks = Vec::new();
        let mut done = 0;
        while let Some(i) = ready.pop() {
            done += 1;
            let own = self.own_chain(i, inherited[i as usize]);
            for &child in &self.children[i as usize] {
                self.hand_down(i, own, child, &mut inherited[child as usize], &mut blocks);
                missing[child as usize] -= 1;
                if missing[child as usize] == 0 {
                    ready.push(child);
                }
            }
        }
        if done < count {
            let cyclic = missing.iter().position(|&m| m > 0).expect("some activity is not done");
            return Err(PageError::Cycle(self.page.activities[cyclic].id.clone()));
        }
        self.add_blocks(blocks);
        Ok(())
    }

    /// What activity `i` hands down, given what its parents did.
    fn own_chain(&mut self, i: u32, from_parents: Inherited) -> Inherited {
        let mut own = from_parents;
        // A task that a resource or the parser starts is no timer's.
        if !own.only_computations {
            own.level = 0;
        }
        if let Step::Timer { level, .. } = &mut self.page.activities[i as usize].step {
            own.level += 1;
            *level = own.level;
        }
        match self.kind(i) {
            ActivityKind::Evaluation(e) if e.kind != EvaluationKind::Style => {}
            _ => own.script = NO_SCRIPT,
        }
        own
    }

    fn hand_down(
        &self,
        parent: u32,
        own: Inherited,
        child: u32,
        to: &mut Inherited,
        blocks: &mut Vec<(u32, Block)>,
    ) {
        use ActivityKind as Kind;
        to.level = to.level.max(own.level);
        to.script = to.script.min(own.script);
        to.only_computations &=
            matches!(self.kind(parent), Kind::Evaluation(_) | Kind::MainThread(_));
        match (self.kind(parent), self.kind(child)) {
            (Kind::ParseChunk(p), Kind::Resource(_)) => {
                to.parser = to.parser.min(self.frames[&p.frame]);
            }
            (Kind::Resource(_), Kind::Evaluation(e))
                if e.kind == EvaluationKind::Script && own.parser != NONE =>
            {
                to.script = to.script.min((parent, own.parser));
            }
            (Kind::Evaluation(_), Kind::ParseChunk(p))
                if own.script != NO_SCRIPT && own.script.1 == self.frames[&p.frame] =>
            {
                let (download, frame) = own.script;
                blocks.push((download, Block { frame, until: parent }));
            }
            _ => {}
        }
    }

    fn kind(&self, activity: u32) -> &'g ActivityKind {
        &self.full.graph.activities[self.order[activity as usize]].kind
    }

    fn add_blocks(&mut self, mut blocks: Vec<(u32, Block)>) {
        blocks.sort();
        blocks.dedup();
        for (download, block) in blocks {
            let end = self.page.blocks.len() as u32;
            let range = &mut self.page.activities[download as usize].blocks;
            if range.0 == range.1 {
                range.0 = end;
            }
            range.1 = end + 1;
            self.page.blocks.push(block);
        }
    }
}

/// What chains of computations hand down.
#[derive(Clone, Copy, Debug)]
struct Inherited {
    /// Timers in the chain.
    level: u32,
    /// All parents are computations.
    only_computations: bool,
    /// Of a resource: the frame whose parser requests it.
    parser: u32,
    /// The download at the head of a chain of scripts, and the frame whose parser requested it.
    script: (u32, u32),
}

const NO_SCRIPT: (u32, u32) = (NONE, NONE);

impl Default for Inherited {
    fn default() -> Self {
        Inherited { level: 0, only_computations: true, parser: NONE, script: NO_SCRIPT }
    }
}
