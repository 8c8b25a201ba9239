//! The result of a search: the values of a rule's variables, and what is known of a function.

use relais_ir::*;
use smallvec::SmallVec;
use std::cell::{Cell, OnceCell};

/// The index of a variable of a rule.
pub(super) type Slot = usize;

/// Values that are made, or stand for a variable.
pub(super) type Values = SmallVec<[NodeId; 4]>;

/// The facts about an operator of a function.
pub(super) struct OpInfo {
    /// Its index among those of all left sides.
    pub symbol: Option<usize>,
    pub version: i64,
    pub is_commutative: bool,
    /// Whether its calls may be matched and moved.
    pub is_removable: bool,
    pub defaults: Vec<(String, AttrData)>,
}

/// The meaning of a variable in a match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Bound {
    #[default]
    Nothing,
    Node(NodeId),
    Absent,
    /// Values of [`Match::rest`]: the first one and their number.
    Rest(u32, u32),
    /// An attribute of [`Match::attrs`].
    Attr(u32),
}

/// A call of a match other than the outermost one.
#[derive(Clone, Copy)]
pub(super) struct Inner {
    /// The call, or its result.
    pub value: NodeId,
    pub call: NodeId,
    pub is_shared: bool,
}

/// One of several outermost calls of a match.
#[derive(Clone, Copy)]
pub(super) struct Root {
    /// Its number in the rule.
    pub root: usize,
    pub call: NodeId,
    /// The call, or its result.
    pub value: NodeId,
}

/// A match, as far as it is found. Its lists are kept for the next search.
#[derive(Default)]
pub(super) struct Match {
    /// By variable.
    pub bound: Vec<Bound>,
    /// The variables that were bound, in order.
    trail: Vec<Slot>,
    rest: Vec<NodeId>,
    attrs: Vec<AttrData>,
    /// The inner calls, each after the call whose argument it is.
    pub inner: Vec<Inner>,
    /// The outermost calls, if the rule has several; the first one in the program comes first.
    pub roots: Vec<Root>,
    /// Later bindings that the right side uses, directly or through others, in program order.
    pub moved: Vec<NodeId>,
}

/// The lengths of the lists of a match.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    trail: usize,
    rest: usize,
    attrs: usize,
    inner: usize,
    roots: usize,
}

impl Match {
    pub fn clear(&mut self, n_slots: usize) {
        self.bound.clear();
        self.bound.resize(n_slots, Bound::Nothing);
        self.trail.clear();
        self.rest.clear();
        self.attrs.clear();
        self.inner.clear();
        self.roots.clear();
        self.moved.clear();
    }

    /// The values of a variable that stands for several.
    pub fn rest(&self, first: u32, n: u32) -> &[NodeId] {
        &self.rest[first as usize..][..n as usize]
    }

    /// The attribute that a variable is bound to.
    pub fn attr(&self, index: u32) -> &AttrData {
        &self.attrs[index as usize]
    }

    pub fn set(&mut self, slot: Slot, new: Bound) {
        self.bound[slot] = new;
        self.trail.push(slot);
    }

    /// Binds a variable to arguments. Returns `false` if it is bound to something else.
    pub fn bind_rest(&mut self, slot: Slot, args: &[NodeId]) -> bool {
        match self.bound[slot] {
            Bound::Nothing => {
                let bound = Bound::Rest(self.rest.len() as u32, args.len() as u32);
                self.rest.extend_from_slice(args);
                self.set(slot, bound);
                true
            }
            Bound::Rest(first, n) => self.rest(first, n) == args,
            _ => false,
        }
    }

    /// Binds a variable to an attribute. Returns `false` if it is bound to something else.
    pub fn bind_attr(&mut self, slot: Slot, value: AttrData) -> bool {
        match self.bound[slot] {
            Bound::Nothing => {
                let bound = Bound::Attr(self.attrs.len() as u32);
                self.attrs.push(value);
                self.set(slot, bound);
                true
            }
            Bound::Attr(index) => *self.attr(index) == value,
            _ => false,
        }
    }

    pub fn mark(&self) -> Mark {
        let Self { trail, rest, attrs, inner, roots, .. } = self;
        Mark { trail: trail.len(), rest: rest.len(), attrs: attrs.len(), inner: inner.len(), roots: roots.len() }
    }

    /// Forgets everything since a mark.
    pub fn undo(&mut self, mark: Mark) {
        for &slot in &self.trail[mark.trail..] {
            self.bound[slot] = Bound::Nothing;
        }
        self.trail.truncate(mark.trail);
        self.rest.truncate(mark.rest);
        self.attrs.truncate(mark.attrs);
        self.inner.truncate(mark.inner);
        self.roots.truncate(mark.roots);
    }
}

/// The knowledge that all searches share.
#[derive(Default)]
pub(super) struct Known {
    /// By operator of the function.
    pub infos: Vec<OpInfo>,
    /// By operator that rules name: the callee of its calls, once the function has one.
    pub callees: Vec<Option<NodeId>>,
    /// By node, as far as there are any: uses by calls that were replaced and that nothing uses any more. Those calls
    /// stay until dead code is removed.
    pub dead_uses: Vec<u32>,
    /// Computed when it is first needed. A result that is not used can never become used.
    pub used: OnceCell<UsedResults>,
    /// Whether remarks are wanted.
    pub says_why: bool,
    /// The function that is being asked: the index of the rule, and of the condition.
    pub asked: Cell<Option<(usize, usize)>>,
}

impl Known {
    /// Returns how many of the uses of a node are by calls that stay.
    pub fn n_live_uses(&self, id: NodeId, n_uses: u32) -> u32 {
        n_uses.saturating_sub(self.dead_uses.get(id.index()).copied().unwrap_or(0))
    }
}
