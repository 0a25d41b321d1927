//! What transforms ask of a graph: who requests a resource, who waits for a script.

use std::collections::BTreeSet;

use crate::graph::priority::computation;
use crate::graph::{
    ActivityKind, EvaluationKind, IdIndex, PageGraph, Topology, compare_ids, executed_before_load,
};

pub(super) struct View<'g> {
    pub graph: &'g PageGraph,
    pub ids: IdIndex<'g>,
    pub topology: Topology,
    order: Vec<u32>,
    until_load: Vec<bool>,
}

impl<'g> View<'g> {
    pub fn new(graph: &'g PageGraph) -> Self {
        let ids = IdIndex::new(graph);
        let topology = Topology::new(graph);
        let mut order: Vec<u32> = (0..graph.activities.len() as u32).collect();
        let id = |index: u32| &graph.activities[index as usize].id;
        order.sort_by(|&a, &b| compare_ids(id(a), id(b)));
        let root = ids.get(&graph.root).expect("validated: it exists");
        let load_event = ids.get(&graph.load_event);
        let until_load = topology.reachable(root, |index| {
            Some(index) != load_event && executed_before_load(&graph.activities[index as usize])
        });
        View { graph, ids, topology, order, until_load }
    }

    pub fn kind(&self, index: u32) -> &'g ActivityKind {
        &self.graph.activities[index as usize].kind
    }

    pub fn id(&self, index: u32) -> &'g str {
        &self.graph.activities[index as usize].id
    }

    /// Of a resource, else "".
    pub fn url(&self, index: u32) -> &'g str {
        match self.kind(index) {
            ActivityKind::Resource(resource) => &resource.url,
            _ => "",
        }
    }

    /// Whether the activity is a resource that goes by this URL or id.
    pub fn is_named(&self, index: u32, name: &str) -> bool {
        matches!(self.kind(index), ActivityKind::Resource(_))
            && (self.url(index) == name || self.id(index) == name)
    }

    pub fn resources_named(&self, name: &str) -> Vec<u32> {
        self.in_order().filter(|&index| self.is_named(index, name)).collect()
    }

    /// All activities, in order of ids.
    pub fn in_order(&self) -> impl Iterator<Item = u32> + '_ {
        self.order.iter().copied()
    }

    /// Whether the activity happens before the load event.
    pub fn is_before_load(&self, index: u32) -> bool {
        self.until_load[index as usize]
    }

    pub fn main_frame(&self) -> u32 {
        let main = self.graph.frames.iter().find(|frame| frame.parent.is_none());
        main.expect("validated: a main frame").id
    }

    /// The parse chunk with which the main document begins: no parse chunk and no computation comes
    /// before it.
    pub fn head(&self) -> Option<u32> {
        let began_ms = |index: u32| match self.kind(index) {
            ActivityKind::ParseChunk(chunk) => chunk.recorded_start_ms.unwrap_or(f64::INFINITY),
            _ => f64::INFINITY,
        };
        self.in_order()
            .filter(|&index| {
                matches!(self.kind(index), ActivityKind::ParseChunk(c) if c.frame == self.main_frame())
                    && self.topology.parents.of(index).iter().all(|&parent| {
                        matches!(
                            self.kind(parent),
                            ActivityKind::Resource(_) | ActivityKind::DownloadChunk(_)
                        )
                    })
                    && self.is_before_load(index)
            })
            .min_by(|&a, &b| began_ms(a).total_cmp(&began_ms(b)))
    }

    pub fn load_event(&self) -> u32 {
        self.ids.get(&self.graph.load_event).expect("validated: it exists")
    }

    /// What leads to an activity.
    pub fn ancestors(&self, index: u32) -> Vec<bool> {
        let mut above = vec![false; self.graph.activities.len()];
        let mut pending = vec![index];
        while let Some(index) = pending.pop() {
            for &parent in self.topology.parents.of(index) {
                if !above[parent as usize] {
                    above[parent as usize] = true;
                    pending.push(parent);
                }
            }
        }
        above
    }

    /// Whether stretches of the resource are parsed, whatever its type.
    pub fn is_document(&self, index: u32) -> bool {
        let children = self.topology.children.of(index);
        children.iter().any(|&child| matches!(self.kind(child), ActivityKind::DownloadChunk(_)))
    }

    /// What made the browser request a resource: its parents, and in place of timers what set them
    /// (importers write unexplained waits as timers that the parser sets).
    pub fn causes(&self, resource: u32) -> BTreeSet<u32> {
        let mut causes = BTreeSet::new();
        let mut pending = self.topology.parents.of(resource).to_vec();
        let mut seen = BTreeSet::new();
        while let Some(index) = pending.pop() {
            if !seen.insert(index) {
                continue;
            }
            let parents = self.topology.parents.of(index);
            match self.kind(index) {
                ActivityKind::Evaluation(e)
                    if e.kind == EvaluationKind::Timer
                        && e.duration_ms == 0.0
                        && !parents.is_empty() =>
                {
                    pending.extend(parents);
                }
                _ => {
                    causes.insert(index);
                }
            }
        }
        causes
    }

    /// The activities in which a script's file is handled and runs: what the computation that begins
    /// with it consists of.
    pub fn pieces_of_script(&self, file: u32) -> BTreeSet<u32> {
        let mut pieces = BTreeSet::new();
        let mut names = BTreeSet::new();
        let mut pending: Vec<u32> = self.topology.children.of(file).to_vec();
        while let Some(index) = pending.pop() {
            match self.kind(index) {
                // The handling of the response comes between file and script.
                ActivityKind::MainThread(_)
                    if self.topology.parents.of(index) == [file] && pieces.insert(index) =>
                {
                    pending.extend(self.topology.children.of(index));
                }
                ActivityKind::Evaluation(e) if e.kind == EvaluationKind::Script => {
                    pieces.insert(index);
                    names.insert(computation(self.id(index), e));
                }
                _ => {}
            }
        }
        for index in self.in_order() {
            if let ActivityKind::Evaluation(e) = self.kind(index)
                && e.continues.as_deref().is_some_and(|name| names.contains(name))
            {
                pieces.insert(index);
            }
        }
        pieces
    }

    /// The parse chunks that wait for an activity.
    pub fn parsers_waiting_for(&self, index: u32) -> impl Iterator<Item = &u32> {
        self.topology
            .children
            .of(index)
            .iter()
            .filter(|&&child| matches!(self.kind(child), ActivityKind::ParseChunk(_)))
    }

    /// Whether any parser waits for the script in this file.
    pub fn holds_up_a_parser(&self, file: u32) -> bool {
        let pieces = self.pieces_of_script(file);
        std::iter::once(&file)
            .chain(&pieces)
            .any(|&piece| self.parsers_waiting_for(piece).next().is_some())
    }

    /// Whether it is the file of a script that the main document's parser met and waits for.
    pub fn holds_up_main_parser(&self, file: u32) -> bool {
        let of_main = |index: u32| matches!(self.kind(index), ActivityKind::ParseChunk(c) if c.frame == self.main_frame());
        let pieces = self.pieces_of_script(file);
        let causes = self.causes(file);
        matches!(self.kind(file), ActivityKind::Resource(_))
            && self.is_before_load(file)
            && !causes.is_empty()
            && causes.iter().all(|&cause| of_main(cause))
            && std::iter::once(&file)
                .chain(&pieces)
                .any(|&piece| self.parsers_waiting_for(piece).any(|&chunk| of_main(chunk)))
    }
}
