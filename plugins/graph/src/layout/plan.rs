//! The order in which each value is computed.

use super::{
    cut::{Graph, NEVER},
    moves::{Move, Reason, Side},
    orders::{Layout, Pair},
};
use relais_plugin_api::{ir::BlockId, prelude::*};
use std::collections::{BTreeMap, HashMap};

/// Something that computes or uses a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// Something that stays in the order in which it was written.
    Fixed(Layout),
    /// A call that is free.
    Free(usize),
}

/// A value in both orders, and its users.
pub struct Net {
    /// The value as it is computed.
    pub value: NodeId,
    /// Where it is computed.
    pub from: End,
    pub users: Vec<End>,
    /// How many transposes make the one order of the other.
    pub n_links: u32,
    /// Whether one of its ends is a quantisation.
    pub is_quantised: bool,
}

impl Net {
    /// How many transposes are needed, if its ends are in these orders.
    fn cost(&self, layout: impl Fn(End) -> Layout) -> u32 {
        u32::from(self.users.iter().any(|&user| layout(user) != layout(self.from)))
    }
}

/// A call that can be in either order.
pub struct Free {
    /// The order in which it was written.
    pub layout: Layout,
    /// The call in the other one; `None` for the argument or the result of a transpose to a third order.
    pub moved: Option<Move>,
    /// The arguments that follow the order, as the call was written.
    pub args: Vec<NodeId>,
    /// Whether it turned out not to be free.
    pub is_pinned: bool,
}

impl Free {
    /// The cost of the other order, in transposes.
    fn cost(&self) -> u32 {
        u32::from(self.moved.as_ref().is_some_and(|moved| moved.gathered.is_some()))
    }
}

/// A value in a block. Values of outer blocks have a net of their own in each block that uses them.
pub type Place = (BlockId, NodeId);

/// The orders in which the values of a function are computed.
pub struct Plan {
    pub pair: Pair,
    pub members: HashMap<Place, (usize, Layout)>,
    pub nets: Vec<Net>,
    pub free: Vec<Free>,
    pub by_call: HashMap<(NodeId, Side), usize>,
    /// By free call: the order in which it is computed.
    pub layouts: Vec<Layout>,
    /// How many transposes there are less.
    pub n_gone: usize,
    /// The calls that transposes cannot be moved past, and why.
    pub refused: BTreeMap<NodeId, Reason>,
}

impl Plan {
    /// A plan about nothing.
    pub fn new(pair: Pair) -> Self {
        Self {
            pair,
            members: HashMap::new(),
            nets: Vec::new(),
            free: Vec::new(),
            by_call: HashMap::new(),
            layouts: Vec::new(),
            n_gone: 0,
            refused: BTreeMap::new(),
        }
    }

    /// The order in which an end was written.
    fn written(&self, end: End) -> Layout {
        match end {
            End::Fixed(layout) => layout,
            End::Free(free) => self.free[free].layout,
        }
    }

    /// The order in which an end is computed.
    pub fn chosen(&self, end: End) -> Layout {
        match end {
            End::Fixed(layout) => layout,
            End::Free(free) => self.layouts[free],
        }
    }

    /// How many transposes of a net are not needed as it was written: those that undo each other, and equal ones.
    fn surplus(&self, net: &Net) -> u32 {
        net.n_links.saturating_sub(net.cost(|end| self.written(end)))
    }

    /// Whether a call is not in the order in which it was written.
    pub fn is_moved(&self, free: usize) -> bool {
        self.layouts[free] != self.free[free].layout
    }

    /// Whether transposes of a net go, or something that uses or computes it is moved.
    pub fn is_touched(&self, net: &Net) -> bool {
        let is_moved = |end: &End| matches!(*end, End::Free(free) if self.is_moved(free));
        self.surplus(net) > 0 || is_moved(&net.from) || net.users.iter().any(is_moved)
    }

    /// Whether something uses a net in an order.
    pub fn is_needed(&self, net: usize, layout: Layout) -> bool {
        self.nets[net].users.iter().any(|&user| self.chosen(user) == layout)
    }

    /// Chooses the orders.
    pub fn choose(&mut self) {
        const SOURCE: usize = 0;
        const SINK: usize = 1;
        self.layouts = self.free.iter().map(|free| free.layout).collect();
        self.n_gone = self.nets.iter().map(|net| self.surplus(net) as usize).sum();
        let mut graph = Graph::new(2 + self.free.len());
        let node = |end: End| match end {
            End::Fixed(Layout::First) => SOURCE,
            End::Fixed(Layout::Second) => SINK,
            End::Free(free) => 2 + free,
        };
        for net in self.nets.iter().filter(|net| !net.users.is_empty()) {
            let is_whole = net.cost(|end| self.written(end)) == 0;
            let capacity = if net.is_quantised && is_whole { NEVER } else { 1 };
            let (from, to, back) = (node(net.from), graph.add_node(), graph.add_node());
            graph.add_edge(from, to, capacity);
            graph.add_edge(back, from, capacity);
            for user in net.users.iter().map(|&user| node(user)) {
                graph.add_edge(to, user, NEVER);
                graph.add_edge(user, back, NEVER);
            }
        }
        for (at, free) in self.free.iter().enumerate() {
            let capacity = if free.is_pinned { NEVER } else { free.cost() };
            match free.layout {
                Layout::First => graph.add_edge(SOURCE, 2 + at, capacity),
                Layout::Second => graph.add_edge(2 + at, SINK, capacity),
            }
        }
        let Some(is_first) = graph.cut(SOURCE, SINK) else { return };
        for (at, layout) in self.layouts.iter_mut().enumerate() {
            *layout = if is_first[2 + at] { Layout::First } else { Layout::Second };
        }
        self.keep_what_gains_nothing();
    }

    /// Leaves the parts of the graph as they were in which no transpose is gone.
    fn keep_what_gains_nothing(&mut self) {
        let parts = self.parts();
        let mut gains = vec![0i64; self.free.len()];
        for net in &self.nets {
            let free = net.users.iter().chain([&net.from]).find_map(|&end| match end {
                End::Free(free) => Some(free),
                End::Fixed(_) => None,
            });
            let Some(free) = free else { continue };
            let (before, after) = (net.cost(|end| self.written(end)), net.cost(|end| self.chosen(end)));
            gains[parts[free]] += i64::from(before) - i64::from(after);
        }
        for (at, free) in self.free.iter().enumerate().filter(|&(at, _)| self.is_moved(at)) {
            gains[parts[at]] -= i64::from(free.cost());
        }
        for (at, free) in self.free.iter().enumerate() {
            if gains[parts[at]] <= 0 {
                self.layouts[at] = free.layout;
            }
        }
        self.n_gone += gains.into_iter().filter(|&gain| gain > 0).sum::<i64>() as usize;
    }

    /// By free call: the first one that it is connected to.
    fn parts(&self) -> Vec<usize> {
        let mut parts: Vec<usize> = (0..self.free.len()).collect();
        let root = |parts: &mut Vec<usize>, mut at: usize| {
            while parts[at] != at {
                parts[at] = parts[parts[at]];
                at = parts[at];
            }
            at
        };
        for net in &self.nets {
            let mut first = None;
            for &end in net.users.iter().chain([&net.from]) {
                let End::Free(free) = end else { continue };
                let this = root(&mut parts, free);
                let first = *first.get_or_insert(this);
                let (a, b) = (root(&mut parts, first), this);
                parts[a.max(b)] = a.min(b);
            }
        }
        (0..parts.len()).map(|at| root(&mut parts, at)).collect()
    }
}
