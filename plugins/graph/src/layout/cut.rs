//! The least cut between two nodes of a directed graph, by Dinic's algorithm.

use std::collections::VecDeque;

/// The capacity of an edge that is never cut.
pub const NEVER: u32 = u32::MAX / 2;

/// How many rounds of shortest paths there may be. Each takes time proportional to the graph; graphs of models need a
/// handful.
const MAX_ROUNDS: usize = 64;

struct Edge {
    to: usize,
    left: u32,
}

/// A graph with capacities. Each edge is followed by the one in the other direction.
pub struct Graph {
    edges: Vec<Edge>,
    from: Vec<Vec<usize>>,
}

impl Graph {
    /// A graph of that many nodes, and no edges.
    pub fn new(n_nodes: usize) -> Self {
        Self { edges: Vec::new(), from: vec![Vec::new(); n_nodes] }
    }

    /// Adds a node.
    pub fn add_node(&mut self) -> usize {
        self.from.push(Vec::new());
        self.from.len() - 1
    }

    /// Adds an edge, which a cut that has `from` on the side of the source, and `to` on the other, pays for.
    pub fn add_edge(&mut self, from: usize, to: usize, capacity: u32) {
        for (from, to, left) in [(from, to, capacity), (to, from, 0)] {
            self.from[from].push(self.edges.len());
            self.edges.push(Edge { to, left });
        }
    }

    /// Returns which nodes are on the side of `source` in a least cut; `None` if it takes too many rounds to find.
    pub fn cut(mut self, source: usize, sink: usize) -> Option<Vec<bool>> {
        for _ in 0..MAX_ROUNDS {
            let distances = self.distances(source);
            if distances[sink] == usize::MAX {
                return Some(distances.into_iter().map(|distance| distance != usize::MAX).collect());
            }
            self.block(source, sink, &distances);
        }
        None
    }

    fn distances(&self, source: usize) -> Vec<usize> {
        let mut distances = vec![usize::MAX; self.from.len()];
        let mut queue = VecDeque::from([source]);
        distances[source] = 0;
        while let Some(node) = queue.pop_front() {
            for edge in self.from[node].iter().map(|&edge| &self.edges[edge]) {
                if edge.left > 0 && distances[edge.to] == usize::MAX {
                    distances[edge.to] = distances[node] + 1;
                    queue.push_back(edge.to);
                }
            }
        }
        distances
    }

    /// Fills all shortest paths.
    fn block(&mut self, source: usize, sink: usize, distances: &[usize]) {
        // By node: the first of its edges that may lead on.
        let mut next = vec![0; self.from.len()];
        let mut path: Vec<usize> = Vec::new();
        loop {
            let at = path.last().map_or(source, |&edge| self.edges[edge].to);
            if at == sink {
                let least = path.iter().map(|&edge| self.edges[edge].left).min().unwrap_or(0);
                for &edge in &path {
                    self.edges[edge].left -= least;
                    self.edges[edge ^ 1].left = self.edges[edge ^ 1].left.saturating_add(least);
                }
                let full = path.iter().position(|&edge| self.edges[edge].left == 0).unwrap_or(0);
                path.truncate(full);
                continue;
            }
            let leads_on = |&edge: &usize| {
                let Edge { to, left } = self.edges[edge];
                left > 0 && distances[to] == distances[at] + 1
            };
            match self.from[at][next[at]..].iter().position(leads_on) {
                Some(skipped) => {
                    next[at] += skipped;
                    path.push(self.from[at][next[at]]);
                }
                None => {
                    next[at] = self.from[at].len();
                    let Some(back) = path.pop() else { return };
                    next[self.edges[back ^ 1].to] += 1;
                }
            }
        }
    }
}
