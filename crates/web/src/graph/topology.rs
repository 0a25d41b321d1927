//! The graph's edges by activity index.

use super::PageGraph;

/// Finds activities by id.
#[derive(Clone, Debug)]
pub struct IdIndex<'a> {
    sorted: Vec<(&'a str, u32)>,
}

impl<'a> IdIndex<'a> {
    /// Of all activities of `graph`.
    pub fn new(graph: &'a PageGraph) -> Self {
        let mut sorted: Vec<_> = (0..).zip(&graph.activities).map(|(i, a)| (&*a.id, i)).collect();
        sorted.sort_unstable();
        IdIndex { sorted }
    }

    /// Index into `activities`; the lowest if ids are repeated.
    pub fn get(&self, id: &str) -> Option<u32> {
        let at = self.sorted.partition_point(|&(known, _)| known < id);
        self.sorted.get(at).filter(|&&(known, _)| known == id).map(|&(_, index)| index)
    }

    pub(super) fn duplicate(&self) -> Option<&'a str> {
        self.sorted.windows(2).find(|pair| pair[0].0 == pair[1].0).map(|pair| pair[0].0)
    }
}

/// Lists of activity indices, one list an activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edges {
    start: Vec<u32>,
    target: Vec<u32>,
}

impl Edges {
    /// The list of activity `index`.
    pub fn of(&self, index: u32) -> &[u32] {
        let index = index as usize;
        &self.target[self.start[index] as usize..self.start[index + 1] as usize]
    }

    fn reversed(&self) -> Edges {
        let nodes = self.start.len() - 1;
        let mut start = vec![0; nodes + 1];
        for &to in &self.target {
            start[to as usize + 1] += 1;
        }
        for node in 0..nodes {
            start[node + 1] += start[node];
        }
        let mut next = start.clone();
        let mut target = vec![0; self.target.len()];
        for from in 0..nodes as u32 {
            for &to in self.of(from) {
                let slot = &mut next[to as usize];
                target[*slot as usize] = from;
                *slot += 1;
            }
        }
        Edges { start, target }
    }
}

/// Children and parents of every activity, by index into [`PageGraph::activities`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// In the order of the graph's child lists.
    pub children: Edges,
    /// In ascending order.
    pub parents: Edges,
}

impl Topology {
    /// # Panics
    /// If a child does not exist: the graph must be valid ([`PageGraph::validate`]).
    pub fn new(graph: &PageGraph) -> Topology {
        let ids = IdIndex::new(graph);
        Topology::try_new(graph, &ids)
            .unwrap_or_else(|(parent, child)| panic!("{parent} has no valid child {child}"))
    }

    /// The first dangling (parent, child) if there is one.
    pub(super) fn try_new<'a>(
        graph: &'a PageGraph,
        ids: &IdIndex<'_>,
    ) -> Result<Topology, (&'a str, &'a str)> {
        let mut start = Vec::with_capacity(graph.activities.len() + 1);
        let mut target = Vec::new();
        start.push(0);
        for activity in &graph.activities {
            for child in &activity.children {
                target.push(ids.get(child).ok_or((&*activity.id, &**child))?);
            }
            start.push(target.len() as u32);
        }
        let children = Edges { start, target };
        Ok(Topology { parents: children.reversed(), children })
    }

    /// Parents before children; `Err` with the activities of one cycle, in its order, if there is one.
    pub fn topological_order(&self) -> Result<Vec<u32>, Vec<u32>> {
        let nodes = self.children.start.len() as u32 - 1;
        let mut waiting: Vec<u32> =
            (0..nodes).map(|node| self.parents.of(node).len() as u32).collect();
        let mut order: Vec<u32> = (0..nodes).filter(|&node| waiting[node as usize] == 0).collect();
        let mut done = 0;
        while let Some(&node) = order.get(done) {
            done += 1;
            for &child in self.children.of(node) {
                waiting[child as usize] -= 1;
                if waiting[child as usize] == 0 {
                    order.push(child);
                }
            }
        }
        if done == nodes as usize { Ok(order) } else { Err(self.a_cycle(&waiting)) }
    }

    /// Every activity that still waits has a parent that still waits: going up must come round.
    fn a_cycle(&self, waiting: &[u32]) -> Vec<u32> {
        let mut node = waiting.iter().position(|&n| n > 0).unwrap_or_default() as u32;
        let mut place = vec![None; waiting.len()];
        let mut path = Vec::new();
        while place[node as usize].is_none() {
            place[node as usize] = Some(path.len());
            path.push(node);
            let up = self.parents.of(node).iter().find(|&&parent| waiting[parent as usize] > 0);
            node = *up.unwrap_or(&node);
        }
        let mut cycle = path.split_off(place[node as usize].unwrap_or_default());
        cycle.reverse();
        cycle
    }

    /// Which activities can be reached from `root` through activities for which `executed` holds
    /// (`root` included if it is executed).
    pub fn reachable(&self, root: u32, executed: impl Fn(u32) -> bool) -> Vec<bool> {
        let mut reached = vec![false; self.children.start.len() - 1];
        let mut pending = Vec::new();
        if executed(root) {
            reached[root as usize] = true;
            pending.push(root);
        }
        while let Some(node) = pending.pop() {
            for &child in self.children.of(node) {
                if !reached[child as usize] && executed(child) {
                    reached[child as usize] = true;
                    pending.push(child);
                }
            }
        }
        reached
    }
}
