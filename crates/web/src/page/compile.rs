//! From a page graph to the arrays of a [`Page`].

use std::collections::BTreeMap;

use loadpath_net::{SimDuration, key_of};

use super::{
    Activity, Block, FrameNode, Host, NONE, Page, PageResource, Priorities, Step, Urgency,
    http_host,
};
use crate::graph::priority::{PriorityScheme, assign};
use crate::graph::{
    self, ActivityKind, DelayClass, DiscoveredBy, Edges, EvaluationKind, GraphError, IdIndex,
    MimeClass, PageGraph, Topology, compare_ids, normalise,
};

impl Page {
    /// Compiles a graph, normalised.
    ///
    /// # Errors
    /// If the graph is not valid ([`PageGraph::validate`]).
    pub fn compile(graph: &PageGraph) -> Result<Page, GraphError> {
        graph.validate(&graph.name)?;
        let before_load = normalise(graph);
        let mut compiler = Compiler::new(&before_load);
        compiler.add_frames();
        compiler.add_resources(&IdIndex::new(graph), &priorities(graph));
        compiler.add_activities();
        compiler.follow_chains();
        compiler.add_raises();
        Ok(compiler.page)
    }
}

/// Priorities of each activity of a graph, by place.
fn priorities(graph: &PageGraph) -> Vec<Priorities> {
    let recorded = |scheme: &str| {
        graph.activities.iter().any(|a| match &a.kind {
            ActivityKind::Resource(r) => r.priorities.contains_key(scheme),
            _ => false,
        })
    };
    let either = |name, if_recorded, otherwise| {
        assign(graph, if recorded(name) { if_recorded } else { otherwise })
    };
    let class = assign(graph, PriorityScheme::MimeClass);
    let by_type = either("mime-type", PriorityScheme::RecordedMimeType, PriorityScheme::MimeClass);
    let path = either("cp", PriorityScheme::RecordedCriticalPath, PriorityScheme::CriticalPath);
    let depth = either("depth", PriorityScheme::RecordedDepth, PriorityScheme::NodeDepth);
    (0..graph.activities.len())
        .map(|i| Priorities {
            mime_class: class[i],
            mime_type: by_type[i],
            critical_path: path[i],
            node_depth: depth[i],
            browser: match &graph.activities[i].kind {
                ActivityKind::Resource(r) => {
                    let class = MimeClass::of(&r.mime_type);
                    Priorities::browser(class, r.browser_priority.as_deref())
                }
                _ => 0,
            },
        })
        .collect()
}

/// Appends to a list of which an activity has a range; those of one activity follow each other.
fn push_to_range<T>(all: &mut Vec<T>, range: &mut (u32, u32), item: T) {
    let end = all.len() as u32;
    if range.0 == range.1 {
        range.0 = end;
    }
    range.1 = end + 1;
    all.push(item);
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

struct Compiler<'g> {
    graph: &'g PageGraph,
    ids: IdIndex<'g>,
    topology: Topology,
    /// Places of the activities in the graph, in order of ids.
    order: Vec<u32>,
    /// The inverse of `order`.
    compiled: Vec<u32>,
    /// Place of each frame id.
    frames: BTreeMap<u32, u32>,
    page: Page,
}

impl<'g> Compiler<'g> {
    fn new(graph: &'g PageGraph) -> Self {
        let ids = IdIndex::new(graph);
        let mut order: Vec<u32> = (0..graph.activities.len() as u32).collect();
        let id = |i: u32| &graph.activities[i as usize].id;
        order.sort_by(|&a, &b| compare_ids(id(a), id(b)));
        let mut compiled = vec![NONE; order.len()];
        for (new, &old) in (0..).zip(&order) {
            compiled[old as usize] = new;
        }
        let place = |id: &str| compiled[ids.get(id).expect("validated: it exists") as usize];
        let page = Page {
            name: graph.name.clone(),
            hosts: Vec::new(),
            resources: Vec::new(),
            server_delays: None,
            activities: Vec::with_capacity(order.len()),
            edges: Vec::new(),
            blocks: Vec::new(),
            raises: Vec::new(),
            frames: Vec::new(),
            process_frames: Vec::new(),
            slots: 0,
            root: place(&graph.root),
            load_event: place(&graph.load_event),
            dom_content_loaded_event: place(&graph.dom_content_loaded_event),
            main_frame: 0,
        };
        let topology = Topology::new(graph);
        Compiler { graph, ids, topology, order, compiled, frames: BTreeMap::new(), page }
    }

    fn activity(&self, new: u32) -> &'g graph::Activity {
        &self.graph.activities[self.order[new as usize] as usize]
    }

    fn kind(&self, new: u32) -> &'g ActivityKind {
        &self.activity(new).kind
    }

    fn renumbered<'a>(&'a self, edges: &'a Edges, new: u32) -> impl Iterator<Item = u32> + 'a {
        edges.of(self.order[new as usize]).iter().map(|&old| self.compiled[old as usize])
    }

    fn add_frames(&mut self) {
        let mut frames: Vec<&graph::Frame> = self.graph.frames.iter().collect();
        frames.sort_by_key(|f| f.id);
        self.frames = frames.iter().map(|f| f.id).zip(0..).collect();
        let main = frames.iter().find(|f| f.parent.is_none()).expect("validated: a main frame");
        self.page.main_frame = self.frames[&main.id];
        self.page.process_frames.push(self.page.main_frame);
        let mut processes = BTreeMap::from([(main.process, 0)]);
        for (new, frame) in (0..).zip(&frames) {
            let process = *processes.entry(frame.process).or_insert_with(|| {
                self.page.process_frames.push(new);
                self.page.process_frames.len() as u32 - 1
            });
            let parent = frame.parent.map_or(NONE, |id| self.frames[&id]);
            self.page.frames.push(FrameNode { parent, subframes: Vec::new(), body: NONE, process });
        }
        for new in 0..frames.len() {
            let parent = self.page.frames[new].parent;
            if parent != NONE {
                self.page.frames[parent as usize].subframes.push(new as u32);
            }
        }
    }

    /// Lists hosts and resources, both in order of resource ids, so that neither the order of the
    /// file nor the names of hosts matter.
    fn add_resources(&mut self, ids_as_given: &IdIndex<'_>, priorities: &[Priorities]) {
        let mut hosts = BTreeMap::new();
        let mut slots = BTreeMap::new();
        for new in 0..self.order.len() as u32 {
            let ActivityKind::Resource(r) = self.kind(new) else { continue };
            let Some(host_name) = http_host(&r.url) else { continue };
            let id = &self.activity(new).id;
            let key = key_of(id);
            let original = match &r.original {
                Some(id) => &self.graph.activities[self.ids.get(id).expect("validated") as usize],
                None => self.activity(new),
            };
            let ActivityKind::Resource(original) = &original.kind else {
                unreachable!("validated: originals are resources")
            };
            let page = &mut self.page;
            let host = *hosts.entry(host_name).or_insert_with_key(|name| {
                page.hosts.push(Host { name: name.clone(), key });
                page.hosts.len() as u32 - 1
            });
            let next_slot = slots.len() as u32;
            let slot = *slots.entry((&*original.method, &*original.url)).or_insert(next_slot);
            let graph_index = ids_as_given.get(id).expect("normalising adds nothing");
            page.resources.push(PageResource {
                id: id.clone(),
                url: r.url.clone(),
                method: r.method.clone(),
                mime_type: r.mime_type.clone(),
                mime_class: MimeClass::of(&r.mime_type),
                host,
                size_bytes: r.size_bytes,
                server_delay: r.server_delay_ms.map(SimDuration::from_millis_f64),
                stalled: r.stalled_ms.map(SimDuration::from_millis_f64).unwrap_or_default(),
                frame: page.main_frame,
                request_header_bytes: r.request_header_bytes.map(|bytes| bytes as u32),
                response_header_bytes: r.response_header_bytes.map(|bytes| bytes as u32),
                found_by_preloader: r.discovered_by.map(|by| by == DiscoveredBy::Preload),
                urgency: Urgency::of(&r.mime_type, r.browser_priority.as_deref()),
                delay_class: DelayClass::of(&r.method, &r.mime_type),
                priorities: priorities[graph_index as usize],
                key,
                activity: new,
                graph_index,
                slot,
            });
        }
        self.page.slots = slots.len() as u32;
    }

    fn add_activities(&mut self) {
        for new in 0..self.order.len() as u32 {
            let step = self.step(new);
            let kind = self.kind(new);
            if let (Step::Parse { frame }, ActivityKind::ParseChunk(p)) = (step, kind)
                && p.inserts_body
            {
                self.page.frames[frame as usize].body = new;
            }
            let duration_ms = match kind {
                ActivityKind::ParseChunk(p) => p.duration_ms,
                ActivityKind::Evaluation(e) => e.duration_ms,
                ActivityKind::MainThread(m) => m.duration_ms,
                ActivityKind::Resource(_) | ActivityKind::DownloadChunk(_) => 0.0,
            };
            let id = &self.activity(new).id;
            let (streams, children): (Vec<u32>, Vec<u32>) =
                self.ordered_children(new).into_iter().partition(|&child| {
                    // The first chunks of a document start with its request, not its response.
                    matches!(self.kind(child), ActivityKind::DownloadChunk(c) if c.resource == *id)
                });
            let parents = self.renumbered(&self.topology.parents, new).count() as u32;
            let edges = &mut self.page.edges;
            let mut append = |list: Vec<u32>| {
                let start = edges.len() as u32;
                edges.extend(list);
                (start, edges.len() as u32)
            };
            self.page.activities.push(Activity {
                id: id.clone(),
                kind: kind_of(kind),
                frame_id: frame_of(kind),
                detail: detail_of(kind),
                step,
                duration: SimDuration::from_millis_f64(duration_ms),
                parents,
                children: append(children),
                streams: append(streams),
                blocks: (0, 0),
                raises: (0, 0),
            });
        }
    }

    /// Children in the order in which the recording began them, which decides the order of requests;
    /// then by id. Those without a recorded time come last.
    fn ordered_children(&self, new: u32) -> Vec<u32> {
        let began_ms = |child: u32| {
            let time = match self.kind(child) {
                ActivityKind::Resource(r) => r.recorded_sent_ms,
                ActivityKind::ParseChunk(p) => p.recorded_start_ms,
                ActivityKind::Evaluation(e) => e.recorded_start_ms,
                ActivityKind::DownloadChunk(_) | ActivityKind::MainThread(_) => None,
            };
            time.unwrap_or(f64::INFINITY)
        };
        let mut children: Vec<u32> = self.renumbered(&self.topology.children, new).collect();
        children.sort_by(|&a, &b| began_ms(a).total_cmp(&began_ms(b)).then(a.cmp(&b)));
        children
    }

    fn step(&self, new: u32) -> Step {
        match self.kind(new) {
            ActivityKind::Resource(r) => match self.network_resource(new) {
                // Served by a cache in the recording, and no resource of the page had filled it: of
                // no cost.
                Some(_) if r.cached && r.original.is_none() => Step::AtOnce,
                Some(_) if r.failed => Step::AtOnce,
                Some(resource) => Step::Fetch(resource),
                None => Step::AtOnce,
            },
            ActivityKind::DownloadChunk(chunk) => {
                let document = self.ids.get(&chunk.resource).expect("validated: it exists");
                match self.step(self.compiled[document as usize]) {
                    Step::Fetch(resource) => Step::Chunk {
                        slot: self.page.resources[resource as usize].slot,
                        // An empty stretch, too, waits for the response to begin.
                        need: (chunk.offset_bytes + chunk.size_bytes).max(1),
                    },
                    _ => Step::Chunk { slot: NONE, need: 0 },
                }
            }
            ActivityKind::ParseChunk(p) => Step::Parse { frame: self.frames[&p.frame] },
            ActivityKind::MainThread(m) => Step::OtherWork { frame: self.frames[&m.frame] },
            ActivityKind::Evaluation(e) => {
                let frame = self.frames[&e.frame];
                match e.kind {
                    EvaluationKind::Timer if e.continues.is_none() => Step::Timer {
                        frame,
                        timeout: SimDuration::from_millis_f64(e.timeout_ms.unwrap_or_default()),
                        level: 0,
                    },
                    EvaluationKind::Timer | EvaluationKind::Event => Step::Event { frame },
                    EvaluationKind::Script | EvaluationKind::Style | EvaluationKind::Other => {
                        Step::Evaluate { frame }
                    }
                }
            }
        }
    }

    fn network_resource(&self, new: u32) -> Option<u32> {
        self.page.resources.binary_search_by_key(&new, |r| r.activity).ok().map(|r| r as u32)
    }

    /// Follows computations from parents to children: nesting levels of timers, which downloads hold up
    /// which parsers, and whose frame requests what.
    fn follow_chains(&mut self) {
        let order = self.topology.topological_order().expect("validated: no cycle");
        let mut chains = vec![Chain::default(); self.order.len()];
        let mut blocks = Vec::new();
        for new in order.into_iter().map(|old| self.compiled[old as usize]) {
            chains[new as usize] = self.chain(new, &chains, &mut blocks);
            if let Step::Fetch(resource) = self.page.activities[new as usize].step {
                self.page.resources[resource as usize].frame = chains[new as usize].frame;
            }
            if let Step::Timer { level, .. } = &mut self.page.activities[new as usize].step {
                *level = chains[new as usize].timers;
            }
        }
        blocks.sort_unstable();
        blocks.dedup();
        for (download, block) in blocks {
            let range = &mut self.page.activities[download as usize].blocks;
            push_to_range(&mut self.page.blocks, range, block);
        }
    }

    /// Lists the resources that each activity raises.
    fn add_raises(&mut self) {
        let raised_by = |resource: &PageResource| match &self.kind(resource.activity) {
            ActivityKind::Resource(r) => r
                .raised_by
                .as_ref()
                .map(|id| self.compiled[self.ids.get(id).expect("validated") as usize]),
            _ => None,
        };
        let mut raises: Vec<(u32, u32)> = (0..)
            .zip(&self.page.resources)
            .filter_map(|(number, resource)| Some((raised_by(resource)?, number)))
            .collect();
        raises.sort_unstable();
        for (activity, resource) in raises {
            let range = &mut self.page.activities[activity as usize].raises;
            push_to_range(&mut self.page.raises, range, resource);
        }
    }

    fn chain(&self, new: u32, chains: &[Chain], blocks: &mut Vec<(u32, Block)>) -> Chain {
        let mut own = Chain { frame: self.page.main_frame, ..Chain::default() };
        if let Some(frame) = self.page.activities[new as usize].step.frame() {
            own.frame = frame;
        } else if let Some(parent) = self.renumbered(&self.topology.parents, new).next() {
            own.frame = chains[parent as usize].frame;
        }
        let mut only_computations = true;
        for parent in self.renumbered(&self.topology.parents, new) {
            let from = &chains[parent as usize];
            own.timers = own.timers.max(from.timers);
            match (self.kind(parent), self.kind(new)) {
                (ActivityKind::Evaluation(_), ActivityKind::Evaluation(_)) => {
                    own.download = own.download.min(from.download);
                }
                (ActivityKind::Resource(_), ActivityKind::Evaluation(e))
                    if e.kind == EvaluationKind::Script =>
                {
                    own.download = own.download.min(parent);
                }
                // The handling of a response comes between the two.
                (ActivityKind::Resource(_), ActivityKind::MainThread(_)) => {
                    own.download = own.download.min(parent);
                }
                (ActivityKind::MainThread(_), ActivityKind::Evaluation(e))
                    if e.kind == EvaluationKind::Script =>
                {
                    own.download = own.download.min(from.download);
                }
                // The parser waits for a script that does not come, too.
                (ActivityKind::MainThread(_), ActivityKind::ParseChunk(p))
                    if from.download != NONE =>
                {
                    let block = Block { frame: self.frames[&p.frame], until: parent };
                    blocks.push((from.download, block));
                }
                (ActivityKind::Resource(_), ActivityKind::ParseChunk(p)) => {
                    blocks.push((parent, Block { frame: self.frames[&p.frame], until: parent }));
                }
                // What makes a script synchronous is that the parser waits for it (section 3.5).
                (ActivityKind::Evaluation(_), ActivityKind::ParseChunk(p))
                    if from.download != NONE =>
                {
                    let block = Block { frame: self.frames[&p.frame], until: parent };
                    blocks.push((from.download, block));
                }
                _ => {}
            }
            only_computations &= matches!(
                self.kind(parent),
                ActivityKind::Evaluation(_) | ActivityKind::MainThread(_)
            );
        }
        // Only what a timer's own task does is nested in it, not what the parser or a response
        // brings about later.
        if !only_computations {
            own.timers = 0;
        }
        if let Step::Timer { .. } = self.page.activities[new as usize].step {
            own.timers += 1;
        }
        own
    }
}

/// What chains of computations hand down.
#[derive(Clone, Copy, Debug)]
struct Chain {
    /// Timers of the chain, up to and with this activity.
    timers: u32,
    /// Of a computation: the script file that the chain began with, or [`NONE`].
    download: u32,
    /// The frame whose work it is or, of a download, was that asked for it.
    frame: u32,
}

impl Default for Chain {
    fn default() -> Self {
        Chain { timers: 0, download: NONE, frame: NONE }
    }
}
