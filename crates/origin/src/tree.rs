//! Dependencies and weights of HTTP/2's first edition (RFC 7540, section 5.3), for clients that do not
//! know RFC 9218.

use std::collections::BTreeMap;

/// What a client says about a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The stream to be served before; 0 for none.
    pub on: u32,
    /// From 1 to 256: the share among streams with the same dependency.
    pub weight: u16,
    /// Whether those depend on this stream from now on.
    pub exclusive: bool,
}

impl Default for Dependency {
    /// RFC 7540, section 5.3.5.
    fn default() -> Self {
        Dependency { on: 0, weight: 16, exclusive: false }
    }
}

/// Streams that are closed stay a while: others may be made to depend on them. Of these and the open
/// ones together, so many.
const MAX_NODES: usize = 256;

#[derive(Debug)]
struct Node {
    parent: u32,
    weight: u16,
    /// Bytes that it and its dependents sent, by their weight: the least is next.
    served: u64,
}

/// The dependency tree of a connection.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    nodes: BTreeMap<u32, Node>,
}

impl Tree {
    /// A stream depends on another now. Streams that nobody spoke of are made.
    pub fn set(&mut self, id: u32, dependency: Dependency) {
        let Dependency { mut on, weight, exclusive } = dependency;
        if id == 0 || on == id {
            return;
        }
        if on != 0 && !self.nodes.contains_key(&on) {
            on = 0;
        }
        if self.is_below(on, id) {
            // Section 5.3.3: the dependent one moves to where this stream was.
            let parent = self.nodes[&id].parent;
            self.node(on).parent = parent;
        }
        if exclusive {
            for (&other, node) in &mut self.nodes {
                if node.parent == on && other != id {
                    node.parent = id;
                }
            }
        }
        let siblings = self.nodes.iter().filter(|(other, node)| node.parent == on && **other != id);
        let served = siblings.map(|(_, node)| node.served).min().unwrap_or(0);
        self.nodes.insert(id, Node { parent: on, weight, served });
        if self.nodes.len() > MAX_NODES {
            let oldest = *self.nodes.keys().find(|other| **other != id).expect("there are more");
            self.remove(oldest);
        }
    }

    /// Whether the client spoke of a stream.
    pub fn contains(&self, id: u32) -> bool {
        self.nodes.contains_key(&id)
    }

    fn node(&mut self, id: u32) -> &mut Node {
        self.nodes.get_mut(&id).expect("it is in the tree")
    }

    fn is_below(&self, mut id: u32, ancestor: u32) -> bool {
        while let Some(node) = self.nodes.get(&id) {
            if node.parent == ancestor {
                return true;
            }
            id = node.parent;
        }
        false
    }

    fn remove(&mut self, id: u32) {
        let Some(removed) = self.nodes.remove(&id) else {
            return;
        };
        for node in self.nodes.values_mut().filter(|node| node.parent == id) {
            node.parent = removed.parent;
        }
    }

    /// A stream sent so much.
    pub fn sent(&mut self, mut id: u32, bytes: usize) {
        while let Some(node) = self.nodes.get_mut(&id) {
            node.served += ((bytes as u64) << 8) / u64::from(node.weight);
            id = node.parent;
        }
    }

    /// All streams in the order in which they may send.
    pub fn order(&self) -> Vec<u32> {
        let mut children: BTreeMap<u32, Vec<(u64, u32)>> = BTreeMap::new();
        for (&id, node) in &self.nodes {
            children.entry(node.parent).or_default().push((node.served, id));
        }
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut next = vec![0];
        while let Some(id) = next.pop() {
            order.push(id);
            if let Some(mut below) = children.remove(&id) {
                below.sort_unstable_by(|one, other| other.cmp(one));
                next.extend(below.into_iter().map(|(_, id)| id));
            }
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(on: u32, weight: u16, exclusive: bool) -> Dependency {
        Dependency { on, weight, exclusive }
    }

    #[test]
    fn a_chain_of_exclusive_streams_is_served_from_its_top() {
        let mut tree = Tree::default();
        tree.set(1, on(0, 256, true));
        tree.set(3, on(1, 220, true));
        tree.set(5, on(1, 256, true));
        assert_eq!(tree.order(), [0, 1, 5, 3]);
        tree.set(3, on(0, 256, true));
        assert_eq!(tree.order(), [0, 3, 1, 5]);
    }

    #[test]
    fn siblings_share_by_weight() {
        let mut tree = Tree::default();
        tree.set(1, on(0, 200, false));
        tree.set(3, on(0, 100, false));
        let mut sent = [0, 0];
        for _ in 0..300 {
            let id = tree.order()[1];
            tree.sent(id, 1000);
            sent[usize::from(id == 3)] += 1;
        }
        assert_eq!(sent, [200, 100]);
    }

    #[test]
    fn a_stream_may_come_to_depend_on_its_dependent() {
        // RFC 7540, figure 5.
        let mut tree = Tree::default();
        for (id, parent) in [(1, 0), (3, 1), (5, 1), (7, 5), (9, 5), (11, 7)] {
            tree.set(id, on(parent, 16, false));
        }
        tree.set(1, on(7, 16, false));
        assert!(tree.is_below(1, 7) && tree.is_below(5, 1) && !tree.is_below(7, 1));
        tree.set(1, on(7, 16, true));
        assert!(tree.is_below(11, 1));
        assert_eq!(tree.order().len(), 7);
    }

    #[test]
    fn whatever_a_client_says_the_tree_stays_one_and_small() {
        let mut tree = Tree::default();
        let mut state = 1u32;
        let mut random = |below: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        for _ in 0..20_000 {
            let weight = random(256) as u16 + 1;
            tree.set(random(600), on(random(600), weight, random(2) == 0));
            assert!(tree.nodes.len() <= MAX_NODES);
        }
        assert_eq!(tree.order().len(), tree.nodes.len() + 1);
    }
}
