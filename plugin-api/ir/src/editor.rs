//! Changing a function that may be shared: it is copied on the first write.

use super::*;
use abi_stable::std_types::RArc;
use smallvec::SmallVec;
use std::{
    any,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

/// A function being edited. Other holders of it keep seeing it as it was: the first write copies it (a handful of
/// memory copies), unless it is held only here.
pub struct Editor {
    shared: RArc<Function>,
    owned: Option<Box<Function>>,
    /// Results computed from the function in its current state, by name.
    kept: Kept,
    /// Replacements whose types contradict each other: the replaced node and its replacements. They are checked where
    /// the operators are known.
    suspects: Vec<(NodeId, Vec<NodeId>)>,
}

type Kept = RefCell<BTreeMap<&'static str, Rc<dyn any::Any>>>;

/// The types of the values that take the place of a node's results: of each, or of all as one tuple.
pub fn given_types(f: &Function, old: NodeId, new: &[NodeId]) -> SmallVec<[TypeId; 4]> {
    if let (Some(_), &[whole]) = (f.n_results(old), new)
        && let Type::Tuple(fields) = f.type_of(whole)
    {
        return SmallVec::from_slice(fields);
    }
    new.iter().map(|&new| if new.is_absent() { TypeId::UNKNOWN } else { f.type_id(new) }).collect()
}

impl Editor {
    /// Edits a function.
    pub fn new(function: RArc<Function>) -> Self {
        Self { shared: function, owned: None, kept: Kept::default(), suspects: Vec::new() }
    }

    /// Returns the function in its current state.
    #[inline]
    pub fn function(&self) -> &Function {
        match &self.owned {
            Some(owned) => owned,
            None => &self.shared,
        }
    }

    /// The function, to be written to. From here on it counts as changed.
    #[inline]
    pub fn function_mut(&mut self) -> &mut Function {
        self.kept.get_mut().clear();
        self.owned.get_or_insert_with(|| Box::new(self.shared.clone_to_grow()))
    }

    /// The function that is edited, if it was not written to.
    pub fn unwritten(&self) -> Option<&RArc<Function>> {
        self.owned.is_none().then_some(&self.shared)
    }

    /// A result that was computed from the function in its current state and kept under a name.
    #[doc(hidden)]
    pub fn kept(&self, name: &str) -> Option<Rc<dyn any::Any>> {
        self.kept.borrow().get(name).cloned()
    }

    /// Forgets what was kept under a name.
    #[doc(hidden)]
    pub fn forget(&self, name: &str) {
        self.kept.borrow_mut().remove(name);
    }

    /// Keeps something under a name, until the function is written to.
    #[doc(hidden)]
    pub fn keep(&self, name: &'static str, value: Rc<dyn any::Any>) {
        self.kept.borrow_mut().insert(name, value);
    }

    /// Discards all changes.
    pub fn revert(&mut self) {
        self.kept.get_mut().clear();
        self.suspects.clear();
        self.owned = None;
    }

    /// The replacements so far whose types contradict each other.
    #[doc(hidden)]
    pub fn take_suspects(&mut self) -> Vec<(NodeId, Vec<NodeId>)> {
        std::mem::take(&mut self.suspects)
    }

    /// Notes a replacement, if the types contradict each other.
    fn suspect(&mut self, old: NodeId, new: &[NodeId]) {
        let f = self.function();
        let declared = match f.n_results(old) {
            None => std::slice::from_ref(&old).iter().map(|&old| f.type_id(old)).collect(),
            Some(_) => match f.type_of(old) {
                Type::Tuple(fields) => SmallVec::<[TypeId; 4]>::from_slice(fields),
                _ => return,
            },
        };
        let is_contradicted =
            |(&old, &new): (&TypeId, &TypeId)| new != old && contradiction_within((f, old), (f, new)).is_some();
        if declared.iter().zip(&given_types(f, old, new)).any(is_contradicted) {
            self.suspects.push((old, new.to_vec()));
        }
    }

    /// Whether the function was written.
    pub fn is_changed(&self) -> bool {
        self.owned.is_some()
    }

    /// Returns the function in its current state: the same object if it was never written to.
    pub fn into_function(self) -> RArc<Function> {
        let shared = self.shared.clone();
        self.into_changed().map_or(shared, RArc::new)
    }

    /// Returns the function in its current state if it was written to. Nothing is copied.
    pub fn into_changed(self) -> Option<Function> {
        self.owned.map(|mut owned| {
            owned.share_constants();
            *owned
        })
    }

    /// Drops bindings from a block, in one pass over it.
    pub fn retain(&mut self, block: BlockId, mut keep: impl FnMut(&Function, NodeId) -> Retain) {
        let function = self.function();
        let bindings = function.bindings(block);
        let Some(first) = bindings.iter().position(|&id| keep(function, id) == Retain::Drop) else { return };
        let mut kept = bindings[..first].to_vec();
        kept.extend(bindings[first + 1..].iter().copied().filter(|&id| keep(function, id) == Retain::Keep));
        self.function_mut().set_bindings(block, &kept);
    }

    /// Visits all bindings in program order, each with its operands already replaced, and lets `rewriter` keep, drop,
    /// replace or inline them. One linear pass; a function in which nothing changes is not written to.
    ///
    /// # Errors
    /// Returns the first error of `rewriter`; the function is then half rewritten and must be discarded.
    pub fn rebuild<R: Rebuild + ?Sized>(&mut self, rewriter: &mut R) -> Result<(), R::Error> {
        let mut subst = Subst::default();
        let mut open: Vec<Open> = Vec::new();
        let mut before: Vec<NodeId> = Vec::new();
        let mut pending = vec![Pending::Enter(self.function().body())];
        while let Some(next) = pending.pop() {
            match next {
                Pending::Enter(block) => {
                    let len = self.function().block(block).len as usize;
                    open.push(Open { block, emitted: Vec::new(), changed: false });
                    pending.push(Pending::List { list: block, at: 0, len, inlined_for: None });
                    rewriter.enter(self, block)?;
                }
                Pending::List { list, mut at, len, inlined_for } => {
                    // Up to a binding with functions, which come before the next one.
                    let is_over = loop {
                        if at == len {
                            break true;
                        }
                        let id = self.function().bindings(list)[at];
                        at += 1;
                        self.map_binding(id, &mut subst);
                        let frame = open.last_mut().expect("a binding stands in an open block");
                        let action = match subst.projection(self.function(), id) {
                            Some(field) if field.is_absent() => Action::Drop,
                            Some(field) => {
                                self.name_after(field, id);
                                Action::Replace(field)
                            }
                            None if subst.gone.contains(&id) => Action::Drop,
                            None => {
                                let mut cx = RebuildCx { editor: self, subst: &mut subst, before: &mut before };
                                let action = rewriter.binding(&mut cx, id)?;
                                if subst.gone.contains(&id) { Action::Drop } else { action }
                            }
                        };
                        // The list is copied only from the first change on.
                        if !frame.changed && (!before.is_empty() || action != Action::Keep) {
                            frame.changed = true;
                            frame.emitted = Vec::with_capacity(len);
                            frame.emitted.extend_from_slice(&self.function().bindings(frame.block)[..at - 1]);
                        }
                        let is_new = matches!(action, Action::Replace(by) if before.contains(&by));
                        frame.emitted.append(&mut before);
                        match action {
                            Action::Keep => {
                                if frame.changed {
                                    frame.emitted.push(id);
                                }
                                if has_nested(self.function(), id) {
                                    pending.push(Pending::List { list, at, len, inlined_for });
                                    push_nested(self.function(), id, &mut pending);
                                    break false;
                                }
                            }
                            Action::Drop => {}
                            Action::Replace(by) => {
                                self.suspect(id, &[by]);
                                subst.set(id, by);
                                if is_new {
                                    self.name_after(by, id);
                                }
                            }
                            Action::Inline(block) => {
                                pending.push(Pending::List { list, at, len, inlined_for });
                                let len = self.function().block(block).len as usize;
                                pending.push(Pending::List { list: block, at: 0, len, inlined_for: Some(id) });
                                break false;
                            }
                        }
                    };
                    if !is_over {
                        continue;
                    }
                    self.map_results(list, &mut subst);
                    let Some(owner) = inlined_for else {
                        let Open { emitted, changed, .. } = open.pop().expect("a block ends after it began");
                        if changed {
                            self.function_mut().set_bindings(list, &emitted);
                        }
                        rewriter.exit(self, list)?;
                        continue;
                    };
                    let results = self.function().results(list).to_vec();
                    self.function_mut().set_bindings(list, &[]);
                    match (self.function().n_results(owner), results.first()) {
                        (Some(_), _) => subst.set_results(owner, results),
                        (None, Some(&result)) => subst.set(owner, result),
                        // A statement has no value that anything could use.
                        (None, None) => {}
                    }
                }
            }
        }
        Ok(())
    }

    /// Gives a value without a name the name of the value that it replaces, with what else describes that.
    fn name_after(&mut self, new: NodeId, old: NodeId) {
        let is_nameless = |id| self.function().name_id(id) == StrId::EMPTY;
        if is_nameless(new) && !is_nameless(old) {
            self.function_mut().inherit_value(new, old);
        }
    }

    fn map_binding(&mut self, id: NodeId, subst: &mut Subst) {
        if subst.is_empty() || self.function().kind(id) == kind::FUNCTION {
            return;
        }
        if self.function().operands(id).iter().any(|&operand| subst.get(operand) != operand) {
            self.function_mut().map_operands(id, |operand| subst.get(operand));
        }
    }

    fn map_results(&mut self, block: BlockId, subst: &mut Subst) {
        if subst.is_empty() {
            return;
        }
        let result = self.function().result(block);
        let results = self.function().results(block);
        if results.iter().all(|&id| subst.get(id) == id) {
            return;
        }
        if results.len() == 1 && results[0] == result {
            let by = subst.get(result);
            self.function_mut().set_result(block, by);
        } else {
            self.function_mut().map_operands(result, |id| subst.get(id));
        }
    }
}

/// Whether [`Editor::retain`] keeps a binding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retain {
    /// It stays.
    Keep,
    /// It is removed.
    Drop,
}

/// The decision about a binding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// It stays; the functions that belong to it are visited next.
    Keep,
    /// It is removed. It must be unused.
    Drop,
    /// It is removed, and every later use of it becomes a use of this node. One that was made before it gets its name.
    Replace(NodeId),
    /// It is removed; the bindings of this block of its own, which are visited next, take its place, and the block's
    /// results replace its results. A node with several results must be used only through projections, and one whose block
    /// has no results not at all.
    Inline(BlockId),
}

/// Decides about each binding, for [`Editor::rebuild`].
pub trait Rebuild {
    /// Why it may stop.
    type Error;

    /// A binding whose operands are as they will be.
    fn binding(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Action, Self::Error>;

    /// A block begins.
    fn enter(&mut self, _editor: &mut Editor, _block: BlockId) -> Result<(), Self::Error> {
        Ok(())
    }

    /// A block ended; its list and result have their final form.
    fn exit(&mut self, _editor: &mut Editor, _block: BlockId) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// A function decides about each binding alone.
///
/// ```
/// use relais_plugin_api::prelude::*;
///
/// /// Removes calls of `Identity`.
/// #[function_pass(name = "acme.NoIdentity")]
/// fn no_identity(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
///     edit.rebuild(&mut |cx: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
///         let identity = cx.function().call(id).filter(|call| call.is_op("Identity"));
///         Ok(identity.and_then(|call| call.arg(0)).map_or(Action::Keep, Action::Replace))
///     })
/// }
/// ```
impl<F, E> Rebuild for F
where
    F: FnMut(&mut RebuildCx<'_>, NodeId) -> Result<Action, E>,
{
    type Error = E;

    fn binding(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Result<Action, E> {
        self(cx, id)
    }
}

/// The context of a [`Rebuild`].
pub struct RebuildCx<'a> {
    editor: &'a mut Editor,
    subst: &'a mut Subst,
    before: &'a mut Vec<NodeId>,
}

impl RebuildCx<'_> {
    /// Returns the function in its current state.
    #[inline]
    pub fn function(&self) -> &Function {
        self.editor.function()
    }

    /// The function, to be written.
    #[inline]
    pub fn function_mut(&mut self) -> &mut Function {
        self.editor.function_mut()
    }

    /// The function, to be written, and the new bindings before the one being visited.
    #[doc(hidden)]
    pub fn parts(&mut self) -> (&mut Function, &mut Vec<NodeId>) {
        (self.editor.function_mut(), self.before)
    }

    /// Places a new binding before the one being visited.
    pub fn insert(&mut self, id: NodeId) {
        self.before.push(id);
    }

    /// Makes every later use of `old` a use of `new`, in addition to the action on the visited binding.
    pub fn replace(&mut self, old: NodeId, new: NodeId) {
        self.editor.suspect(old, &[new]);
        self.subst.set(old, new);
    }

    /// Lets `new`, which was made before the visited binding, take the place of `old`, which is that binding, comes
    /// later, or was dropped: as [`replace`](Self::replace), and `new` gets the name and the type of `old`, which is
    /// dropped.
    pub fn take_over(&mut self, old: NodeId, new: NodeId) {
        self.replace(old, new);
        self.subst.gone.insert(old);
        self.editor.name_after(new, old);
        let f = self.editor.function_mut();
        let (known, declared) = (f.type_id(new), f.type_id(old));
        if contradiction(f.ty(declared), f.ty(known)).is_none() {
            let merged = merge(f, known, declared);
            f.set_type(new, merged);
        }
    }

    /// Moves a later binding of this block before the visited one; its operands must be there.
    #[doc(hidden)]
    pub fn hoist(&mut self, id: NodeId) {
        self.editor.map_binding(id, self.subst);
        self.before.push(id);
        self.subst.gone.insert(id);
    }

    /// Drops a later binding when it is reached. Nothing uses it.
    #[doc(hidden)]
    pub fn forget(&mut self, id: NodeId) {
        self.subst.gone.insert(id);
    }

    /// Makes every later projection of `old` the corresponding one of `results`; what nothing uses may be absent. Nothing
    /// else may use `old`.
    pub fn replace_results(&mut self, old: NodeId, results: Vec<NodeId>) {
        self.editor.suspect(old, &results);
        self.subst.set_results(old, results);
    }

    /// Returns the current replacement of a node.
    pub fn resolve(&mut self, id: NodeId) -> NodeId {
        self.subst.get(id)
    }
}

/// The replacements of nodes: a dense map with path compression.
#[derive(Default)]
pub struct Subst {
    by: Vec<NodeId>,
    /// For nodes with several results, the replacement of each.
    results: BTreeMap<NodeId, Vec<NodeId>>,
    /// Bindings that are dropped when they are reached.
    gone: BTreeSet<NodeId>,
}

impl Subst {
    /// Whether nothing was replaced.
    pub fn is_empty(&self) -> bool {
        self.by.is_empty() && self.results.is_empty()
    }

    /// Returns the replacement of `id`, or `id` itself if it has none.
    #[inline]
    pub fn get(&mut self, id: NodeId) -> NodeId {
        let Some(&by) = self.by.get(id.index()).filter(|by| !by.is_absent()) else { return id };
        let mut last = by;
        while let Some(&next) = self.by.get(last.index()).filter(|next| !next.is_absent()) {
            last = next;
        }
        let mut at = id;
        while at != last {
            at = std::mem::replace(&mut self.by[at.index()], last);
        }
        last
    }

    /// Replaces `old` by `new` from now on. A node may be replaced by the absent operand only if it is unused.
    pub fn set(&mut self, old: NodeId, new: NodeId) {
        if self.get(new) == old || new.is_absent() {
            return;
        }
        if self.by.len() <= old.index() {
            self.by.resize(old.index() + 1, NodeId::ABSENT);
        }
        self.by[old.index()] = new;
    }

    /// Replaces the projections of `old` by `results`, by position.
    pub fn set_results(&mut self, old: NodeId, results: Vec<NodeId>) {
        self.results.insert(old, results);
    }

    fn projection(&mut self, function: &Function, id: NodeId) -> Option<NodeId> {
        if self.results.is_empty() {
            return None;
        }
        let Expr::TupleGetItem { tuple, index } = function.expr(id) else { return None };
        let field = *self.results.get(&tuple)?.get(index)?;
        Some(self.get(field))
    }
}

struct Open {
    block: BlockId,
    emitted: Vec<NodeId>,
    changed: bool,
}

enum Pending {
    Enter(BlockId),
    List { list: BlockId, at: usize, len: usize, inlined_for: Option<NodeId> },
}

fn has_nested(function: &Function, id: NodeId) -> bool {
    function.kind(id) == kind::FUNCTION || function.n_regions(id) > 0
}

fn push_nested(function: &Function, id: NodeId, pending: &mut Vec<Pending>) {
    if function.kind(id) == kind::FUNCTION {
        pending.push(Pending::Enter(function.block_of(id)));
        return;
    }
    for &region in function.regions(id).iter().rev() {
        if function.kind(region) == kind::FUNCTION {
            pending.push(Pending::Enter(function.block_of(region)));
        }
    }
}
