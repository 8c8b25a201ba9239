//! The context of a rewrite, and how it requests new nodes.

use super::ahead::Ahead;
use crate::{
    build::{Callee, NewAttrs, NewNode, Nodes, place},
    infer::{TypeRelations, contradiction},
    ir::*,
    op::{ArgRec, CallValue, Given, OpError, known_value},
};
use abi_stable::std_types::RSlice;
use smallvec::SmallVec;
use std::{borrow::Cow, cell::OnceCell, collections::BTreeMap};

/// Marks ids of nodes that are not in the arena yet.
const STAGED: u32 = 1 << 31;

/// Type and integers about which nothing is known.
const NOTHING: (TypeId, TypeId) = (TypeId::UNKNOWN, TypeId::UNKNOWN);

/// Nodes that a rewrite has made, which are not in an arena yet. Their ids are never reused within a drive, so that an
/// id that a rewrite keeps for later then names nothing.
#[derive(Default)]
pub(super) struct Stage {
    made: MadeNodes,
    /// The results of type relations for them; the types are numbered above those of the function.
    given: Given,
    /// Holds the attributes of the call whose type is requested, from the first call that has any.
    pools: Option<Function>,
    /// By number of the node within a rewrite: the last such call that was made there. Most rewrites of a rule make alike
    /// calls, of which a type relation says the same.
    plain: Vec<PlainCall>,
}

/// At how many nodes of a rewrite calls are compared to those of other rewrites.
const MOST_PLAIN: usize = 16;

#[derive(Default)]
struct MadeNodes {
    /// The number of the first one.
    first: u32,
    nodes: Vec<Staged>,
}

/// A node that was staged.
pub(super) struct Staged {
    pub node: NewNode,
    /// The type, of the function or above.
    pub ty: TypeId,
    /// The integers that it is known to hold.
    pub value: TypeId,
    /// The types and values of the results of a call with several, and of the fields of a tuple.
    pub results: SmallVec<[(TypeId, TypeId); 2]>,
    /// The objection of the operator's type relation.
    pub fault: Option<(OpId, OpError)>,
}

/// A call without attributes whose arguments are not constants, and whose types are the function's.
#[derive(Default)]
struct PlainCall {
    /// The operator, the number of results, and of each argument its type and its integers, or that it is absent.
    key: SmallVec<[u32; 8]>,
    /// The same of the call that was looked at last.
    other: SmallVec<[u32; 8]>,
    /// The types and integers of the results.
    results: SmallVec<[(TypeId, TypeId); 2]>,
}

impl PlainCall {
    /// Looks at another call; returns whether it may take the place of this one.
    fn look(&mut self, f: &Function, op: OpId, n_results: u16, args: &[ArgRec<'_>]) -> bool {
        self.other.clear();
        self.other.extend([op.0, n_results.into()]);
        for arg in args {
            if arg.tensor.is_some() || [arg.ty, arg.value].iter().any(|ty| ty.index() >= f.n_types()) {
                self.other.clear();
                return false;
            }
            let absent = [u32::MAX; 2];
            self.other.extend(if arg.present == 0 { absent } else { [arg.ty.0, arg.value.0] });
        }
        true
    }

    /// Whether the call that was looked at is like this one.
    fn is_alike(&self) -> bool {
        self.other == self.key
    }

    /// Takes the place of this one, with these results.
    fn learn(&mut self, f: &Function, given: &Given) {
        let results = given.outputs.iter().copied().zip(given.values.iter().copied());
        if results.clone().all(|(ty, value)| ty.index() < f.n_types() && value.index() < f.n_types()) {
            self.results.clear();
            self.results.extend(results);
            std::mem::swap(&mut self.key, &mut self.other);
        }
    }
}

impl MadeNodes {
    fn index(&self, id: NodeId) -> Option<usize> {
        let index = (id.0 & !STAGED).checked_sub(self.first)? as usize;
        (Stage::is_staged(id) && index < self.nodes.len()).then_some(index)
    }

    #[inline]
    fn get(&self, id: NodeId) -> Option<&Staged> {
        if !Stage::is_staged(id) {
            return None;
        }
        self.index(id).map(|index| &self.nodes[index])
    }

    fn arg<'a>(&'a self, f: &'a Function, id: NodeId) -> ArgRec<'a> {
        if !Stage::is_staged(id) {
            // An unknown id is reported when the rewrite ends.
            return if id.index() < f.n_nodes() { ArgRec::of(f, id) } else { ArgRec::ABSENT };
        }
        let Some(staged) = self.get(id) else { return ArgRec::ABSENT };
        let tensor = if let NewNode::Constant(tensor) = &staged.node { Some(tensor) } else { None };
        ArgRec { ty: staged.ty, value: staged.value, tensor, present: 1, reserved: 0 }
    }
}

impl Stage {
    /// Forgets all nodes; the ids of the next ones are others.
    pub fn clear(&mut self, function: &Function) {
        let MadeNodes { first, nodes } = &mut self.made;
        *first = (*first + nodes.len() as u32) & !STAGED;
        nodes.clear();
        self.given.types.reset(function);
    }

    pub fn is_staged(id: NodeId) -> bool {
        id.0 & STAGED != 0
    }

    /// Returns the index of a staged node; `None` if the id is not one.
    pub fn index(&self, id: NodeId) -> Option<usize> {
        self.made.index(id)
    }

    #[inline]
    fn get(&self, id: NodeId) -> Option<&Staged> {
        self.made.get(id)
    }

    /// The nodes, and their types that are numbered above those of the function. Their ids mean nothing from here on.
    pub fn take(&mut self) -> (Vec<Staged>, NewTypes) {
        let nodes = std::mem::take(&mut self.made.nodes);
        self.made.first = (self.made.first + nodes.len() as u32) & !STAGED;
        (nodes, std::mem::take(&mut self.given.types))
    }

    /// Takes back the lists that [`take`](Self::take) returned, to use their memory again.
    pub fn recycle(&mut self, mut nodes: Vec<Staged>, types: NewTypes) {
        nodes.clear();
        (self.made.nodes, self.given.types) = (nodes, types);
    }

    /// Returns the index of a node among those that were taken, from the number of the first one.
    pub fn position(first: u32, id: NodeId) -> usize {
        ((id.0 & !STAGED) - first) as usize
    }

    /// The nodes that those which were made use.
    pub fn operands(&self) -> impl Iterator<Item = NodeId> + '_ {
        let operands = self.made.nodes.iter().flat_map(|staged| match &staged.node {
            NewNode::Constant(_) => &[],
            NewNode::Projection { tuple, .. } => std::slice::from_ref(tuple),
            NewNode::Tuple(operands) | NewNode::Call { args: operands, .. } => operands.as_slice(),
        });
        operands.copied()
    }

    /// Returns the number of the first node that [`take`](Self::take) will return.
    pub fn first(&self) -> u32 {
        self.made.first
    }

    /// Types a node and keeps it.
    fn stage(&mut self, f: &Function, relations: &mut dyn TypeRelations, node: NewNode) -> NodeId {
        let (mut ty, mut value) = NOTHING;
        let (mut results, mut fault) = (SmallVec::new(), None);
        match &node {
            NewNode::Constant(tensor) => {
                let dims: Dims = tensor.dims().iter().map(|&dim| Dim::Static(dim)).collect();
                ty = self.given.types.tensor(f, tensor.elem(), &dims);
            }
            NewNode::Tuple(fields) => {
                results = fields.iter().map(|&id| self.made.arg(f, id)).map(|arg| (arg.ty, arg.value)).collect();
            }
            NewNode::Projection { tuple, index } => {
                let index = usize::from(*index);
                (ty, value) = match self.get(*tuple) {
                    Some(tuple) => tuple.results.get(index).copied().unwrap_or(NOTHING),
                    None if tuple.index() < f.n_nodes() => match f.type_of(*tuple) {
                        Type::Tuple(fields) => (fields.get(index).copied().unwrap_or(TypeId::UNKNOWN), TypeId::UNKNOWN),
                        _ => NOTHING,
                    },
                    None => NOTHING,
                };
            }
            NewNode::Call { callee, args, attrs, n_results } => {
                let op = match callee {
                    Callee::Same(callee) if f.kind(*callee) == kind::OP => Some(OpId(f.node(*callee).a)),
                    Callee::Same(_) => None,
                    Callee::Op { domain, name } => relations.other(f, domain, name),
                };
                if let Some(op) = op {
                    match self.ask(f, relations, op, callee, args, attrs, n_results.unwrap_or(1)) {
                        Err(error) => fault = Some((op, error)),
                        Ok(given) if n_results.is_none() => (ty, value) = given[0],
                        Ok(given) => results = given,
                    }
                }
            }
        }
        let id = NodeId(STAGED | (self.made.first + self.made.nodes.len() as u32));
        self.made.nodes.push(Staged { node, ty, value, results, fault });
        id
    }

    /// Returns the types and integers of the results of a call.
    #[expect(clippy::too_many_arguments, reason = "the parts of one call")]
    fn ask(
        &mut self,
        f: &Function,
        relations: &mut dyn TypeRelations,
        op: OpId,
        callee: &Callee,
        args: &[NodeId],
        attrs: &NewAttrs,
        n_results: u16,
    ) -> Result<SmallVec<[(TypeId, TypeId); 2]>, OpError> {
        let Self { made, given, pools, plain } = self;
        let at = made.nodes.len().min(MOST_PLAIN);
        if plain.len() <= at {
            plain.resize_with(at + 1, PlainCall::default);
        }
        let last = &mut plain[at];
        let args: SmallVec<[ArgRec<'_>; 6]> = args.iter().map(|&arg| made.arg(f, arg)).collect();
        let has_attrs = !matches!(attrs, NewAttrs::New(attrs) if attrs.is_empty());
        let is_plain = !has_attrs && last.look(f, op, n_results, &args);
        if is_plain && last.is_alike() {
            return Ok(last.results.clone());
        }
        let (domain, name) = match callee {
            Callee::Op { domain, name } => (&**domain, &**name),
            Callee::Same(callee) => {
                let rec = f.op(OpId(f.node(*callee).a));
                (f.str(rec.domain), f.str(rec.name))
            }
        };
        let recs: SmallVec<[AttrRec; 8]>;
        let (attrs_of, attrs): (&Function, &[AttrRec]) = match attrs {
            NewAttrs::New(attrs) if attrs.is_empty() => (f, &[]),
            NewAttrs::New(attrs) => {
                let pools = pools.get_or_insert_with(Function::new);
                recs = attrs.iter().map(|attr| pools.encode_attr(attr)).collect();
                (pools, &recs)
            }
            NewAttrs::Like(other, attrs) if attrs.is_empty() => (f, f.attr_recs(*other)),
            NewAttrs::Like(other, attrs) => {
                let is_new = |name: &str| attrs.iter().any(|attr| attr.name == name);
                let kept = f.attrs(*other).iter().filter(|(name, _)| !is_new(name));
                let kept: Vec<Attr> = kept.filter_map(|(name, value)| Attr::of(name.to_owned(), value)).collect();
                let pools = pools.get_or_insert_with(Function::new);
                recs = kept.iter().chain(attrs).map(|attr| pools.encode_attr(attr)).collect();
                (pools, &recs)
            }
        };
        let call = CallValue {
            domain: domain.into(),
            name: name.into(),
            version: relations.version(f, op),
            args: args.as_slice().into(),
            attrs: attrs.into(),
            attrs_of,
            region_types: RSlice::EMPTY,
            region_ends: RSlice::EMPTY,
            types_of: f,
        };
        given.expect(n_results.into());
        given.ask(call, |request| relations.infer(op, request)).unwrap_or(Ok(()))?;
        if is_plain {
            last.learn(f, given);
        }
        // Pools only grow: those of a function that rewrites many calls are recreated now and then.
        if pools.as_ref().is_some_and(|pools| pools.n_constants() > 256) {
            *pools = None;
        }
        Ok(given.outputs.iter().copied().zip(given.values.iter().copied()).collect())
    }
}

/// A rewrite's view of its call, and its means to make new nodes. Nodes that it makes are inserted before the call if
/// the rewrite replaces it, and vanish otherwise: their ids mean nothing once the rewrite has returned.
pub struct RewriteCx<'a> {
    pub(super) function: &'a Function,
    pub(super) uses: &'a [u32],
    /// By node: the block that contains it, as far as the driver has come.
    pub(super) home: &'a [BlockId],
    pub(super) block: BlockId,
    /// The binding that is offered.
    pub(super) at: NodeId,
    /// The bindings that come later, from when this round first asked for it.
    pub(super) ahead: &'a OnceCell<Ahead>,
    pub(super) stage: &'a mut Stage,
    pub(super) relations: &'a mut dyn TypeRelations,
}

impl<'a> RewriteCx<'a> {
    /// The function that owns the call.
    pub fn function(&self) -> &'a Function {
        self.function
    }

    fn arena_id(&self, id: NodeId) -> Option<NodeId> {
        (id.index() < self.function.n_nodes()).then_some(id)
    }

    /// The call that defines a node; `None` for one that the rewrite made.
    pub fn call_of(&self, id: NodeId) -> Option<CallView<'a>> {
        self.function.call(self.arena_id(id)?)
    }

    /// The call that defines a node, if it is of this operator, named as for [`CallView::is_op`].
    pub fn call_of_op(&self, id: NodeId, name: &str) -> Option<CallView<'a>> {
        self.call_of(id).filter(|call| call.is_op(name))
    }

    /// The attributes of a call; [`Attrs::int`] and its siblings return the default of the operator's record, in the
    /// version of the call, for one that is absent.
    ///
    /// ```
    /// use relais_plugin_api::{ir::attr_kind, op::{AttrSchema, Required}, prelude::*, testing};
    ///
    /// const BY: AttrSchema = AttrSchema { name: "by", kind: attr_kind::INT, required: Required::No, default: "1" };
    /// operators! { &[Operator::new("acme", "Scale", 1).attrs(&[BY])] }
    ///
    /// /// Removes scaling by 1.
    /// #[rewrite_pass(name = "acme.NoScale", ops = ["acme::Scale"])]
    /// fn no_scale(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    ///     match (cx.attrs(call).int("by"), call.arg(0)) {
    ///         (Some(1), Some(input)) => Rewrite::Replace(input),
    ///         _ => Rewrite::Keep,
    ///     }
    /// }
    ///
    /// # fn main() {
    /// let text = r#"def @main(%x) #[opset = {"acme": 1}] { %a = acme::Scale(%x); acme::Scale(%a, by = 2) }"#;
    /// assert!(testing::run("acme.NoScale", text).contains("acme::Scale(%x, by = 2)"));
    /// # }
    /// ```
    pub fn attrs<'b>(&'b self, call: CallView<'b>) -> Attrs<'b> {
        call.attrs().with_defaults(call.op().and_then(|op| self.relations.schema(op)))
    }

    /// The tensor of a constant.
    pub fn tensor(&self, id: NodeId) -> Option<&Tensor> {
        match self.stage.get(id) {
            Some(Staged { node: NewNode::Constant(tensor), .. }) => Some(tensor),
            Some(_) => None,
            None => self.function.constant(self.arena_id(id)?),
        }
    }

    /// Returns the type of a node's value, including nodes that the rewrite made.
    #[inline]
    pub fn type_of(&self, id: NodeId) -> Type<'_> {
        match self.stage.get(id) {
            Some(staged) => self.stage.given.types.ty(self.function, staged.ty),
            None => self.arena_id(id).map_or(Type::Unknown, |id| self.function.type_of(id)),
        }
    }

    /// The integers that a node is known to hold because they were computed from shapes.
    pub fn known_value(&self, id: NodeId) -> Option<Dims> {
        let value = match self.stage.get(id) {
            Some(staged) => staged.value,
            None => known_value(self.function, self.arena_id(id)?)?,
        };
        Some(self.stage.given.types.ty(self.function, value).shape()?.iter().map(|&dim| dim.into()).collect())
    }

    /// How often each node is used.
    pub(crate) fn uses(&self) -> &'a [u32] {
        self.uses
    }

    /// How often a node is used.
    pub fn n_uses(&self, id: NodeId) -> u32 {
        self.uses.get(id.index()).copied().unwrap_or(0)
    }

    /// Whether a binding is in the same block as the call, so that computing it again here instead of there is neither
    /// inside a loop nor under an additional condition.
    pub fn is_in_same_block(&self, id: NodeId) -> bool {
        self.home.get(id.index()) == Some(&self.block)
    }

    fn ahead(&self) -> &'a Ahead {
        self.ahead.get_or_init(|| Ahead::of(self.function))
    }

    /// Whether a binding comes after the call, in the same block, so that
    /// [`Rewrite::ReplaceCalls`](super::Rewrite::ReplaceCalls) can replace or move it.
    pub fn comes_later(&self, id: NodeId) -> bool {
        self.ahead().is_after(id, self.at)
    }

    /// The bindings that use a node, in program order, once for each use. Calls that were made in this round may be
    /// missing; rewrites are offered another round then.
    pub fn users(&self, id: NodeId) -> &'a [NodeId] {
        self.ahead().users(id)
    }

    /// The number of a binding in program order.
    pub(crate) fn number(&self, id: NodeId) -> u32 {
        self.ahead().number(id)
    }

    /// Whether the driver has come to a binding.
    pub(crate) fn was_visited(&self, id: NodeId) -> bool {
        self.home.get(id.index()).is_some_and(|&home| home != super::NOWHERE)
    }

    /// The operator-set version of the default domain that calls here are written for.
    pub fn opset(&self) -> i64 {
        self.function.opset_version("").unwrap_or(0)
    }

    /// The operands of the nodes that were made.
    pub(crate) fn made_from(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.stage.operands()
    }

    /// Forgets all nodes that were made.
    pub(crate) fn forget_made(&mut self) {
        self.stage.clear(self.function);
    }

    /// The number of nodes that were made.
    pub(crate) fn mark(&self) -> usize {
        self.stage.made.nodes.len()
    }

    /// Forgets the nodes that were made since; they must not be used any more.
    pub(crate) fn undo(&mut self, mark: usize) {
        self.stage.made.nodes.truncate(mark);
    }

    /// Returns a function whose only call is one that was made, the call, and the constants that are its arguments.
    ///
    /// # Errors
    /// Returns why there is none: the operator objects to the call, or it is not a call of constants.
    pub(crate) fn closed(&mut self, id: NodeId) -> Result<(Function, NodeId, Vec<Option<Tensor>>), String> {
        let other = || "it is not a call of constants".to_owned();
        let staged = self.stage.get(id).ok_or_else(other)?;
        let NewNode::Call { callee: Callee::Op { domain, name }, args, attrs: NewAttrs::New(attrs), n_results } =
            &staged.node
        else {
            return Err(other());
        };
        if let Some((_, error)) = &staged.fault {
            return Err(error.to_string());
        }
        let input = |&arg: &NodeId| match arg.is_absent() {
            true => Some(None),
            false => self.tensor(arg).cloned().map(Some),
        };
        let inputs: Vec<Option<Tensor>> = args.iter().map(input).collect::<Option<_>>().ok_or_else(other)?;
        let mut f = Function::new();
        f.set_opset_imports(&self.function.opset_imports());
        let mut arg = |input: &Option<Tensor>| match input {
            Some(tensor) => f.add_constant(tensor.clone(), ConstForm::ANY),
            None => NodeId::ABSENT,
        };
        let args: Vec<NodeId> = inputs.iter().map(&mut arg).collect();
        let node = NewNode::call(domain.clone(), name.clone(), &args, attrs.clone(), *n_results);
        let call = place(&mut f, self.relations, node);
        Ok((f, call, inputs))
    }

    fn stage(&mut self, node: NewNode) -> NodeId {
        self.stage.stage(self.function, self.relations, node)
    }

    /// A new constant.
    pub fn constant(&mut self, tensor: Tensor) -> NodeId {
        self.stage(NewNode::Constant(tensor))
    }

    /// A new tuple.
    pub fn tuple(&mut self, fields: &[NodeId]) -> NodeId {
        self.stage(NewNode::Tuple(Nodes::from_slice(fields)))
    }

    /// Makes a call of an operator of the default domain, in the version that the function imports.
    pub fn call(&mut self, name: impl Into<Cow<'static, str>>, args: &[NodeId]) -> NodeId {
        self.call_with(name, args, Vec::new())
    }

    /// A new call with attributes.
    pub fn call_with(&mut self, name: impl Into<Cow<'static, str>>, args: &[NodeId], attrs: Vec<Attr>) -> NodeId {
        self.call_in("", name, args, attrs)
    }

    /// A call with a callee that the function has, with one result.
    pub(crate) fn call_same(&mut self, callee: NodeId, args: &[NodeId], attrs: Vec<Attr>) -> NodeId {
        let (callee, attrs) = (Callee::Same(callee), NewAttrs::New(attrs));
        self.stage(NewNode::Call { callee, args: Nodes::from_slice(args), attrs, n_results: None })
    }

    /// Makes a call of an operator of any domain. A domain that the function does not import is imported in the newest
    /// version that is described.
    pub fn call_in(
        &mut self,
        domain: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        args: &[NodeId],
        attrs: Vec<Attr>,
    ) -> NodeId {
        self.stage(NewNode::call(domain, name, args, attrs, None))
    }

    /// A new call with several results; returns each of them.
    pub fn call_results(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        args: &[NodeId],
        attrs: Vec<Attr>,
        n_results: u16,
    ) -> Vec<NodeId> {
        self.call_results_in("", name, args, attrs, n_results)
    }

    /// A new call of an operator of any domain with several results; returns each of them.
    pub fn call_results_in(
        &mut self,
        domain: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        args: &[NodeId],
        attrs: Vec<Attr>,
        n_results: u16,
    ) -> Vec<NodeId> {
        let tuple = self.stage(NewNode::call(domain, name, args, attrs, Some(n_results)));
        (0..n_results).map(|index| self.stage(NewNode::Projection { tuple, index })).collect()
    }

    /// Makes a call like another one of the function, with as many results, including its attributes and metadata, with
    /// other arguments; `attrs` replace those of the same name. Returns each result.
    pub fn call_results_like(&mut self, call: CallView<'_>, args: &[NodeId], attrs: Vec<Attr>) -> Vec<NodeId> {
        let Some(n_results) = call.n_results() else { return vec![self.call_like(call, args, attrs)] };
        let tuple = self.stage_like(call, args, attrs, u16::try_from(n_results).ok());
        (0..n_results as u16).map(|index| self.stage(NewNode::Projection { tuple, index })).collect()
    }

    /// Makes a call like another one of the function, with one result, including its attributes and metadata, with
    /// other arguments; `attrs` replace those of the same name.
    pub fn call_like(&mut self, call: CallView<'_>, args: &[NodeId], attrs: Vec<Attr>) -> NodeId {
        self.stage_like(call, args, attrs, None)
    }

    /// Makes the calls of a body, with the arguments of a call in place of its parameters, and returns what takes the place
    /// of each of the call's results. [`Bodies::body_of`](crate::op::Bodies::body_of) returns one for its operator. An
    /// `Identity` of it makes no call.
    ///
    /// # Errors
    /// Returns why there is none, and makes nothing: the body is not in the caller's operator sets or consists of more than
    /// calls of operators, an operator does not accept its call, or a result is not of the call's type.
    pub fn expand(&mut self, call: CallView<'_>, body: &Function) -> Result<Vec<NodeId>, Cow<'static, str>> {
        let mark = self.mark();
        let made = self.stage_body(call, body);
        if made.is_err() {
            self.undo(mark);
        }
        made
    }

    fn stage_body(&mut self, call: CallView<'_>, body: &Function) -> Result<Vec<NodeId>, Cow<'static, str>> {
        let params = body.params();
        if params.len() != call.args().len() {
            return Err("the call has other arguments than the body".into());
        }
        let mut nodes: BTreeMap<NodeId, NodeId> = params.iter().copied().zip(call.args().iter().copied()).collect();
        nodes.insert(NodeId::ABSENT, NodeId::ABSENT);
        for &id in body.bindings(body.body()) {
            let node = |id: NodeId| nodes.get(&id).copied().ok_or("the body has a value of another function");
            let made = match body.expr(id) {
                Expr::Constant(tensor) => self.constant(tensor.clone()),
                Expr::TupleGetItem { tuple, index } => {
                    let index = u16::try_from(index).map_err(|_| "the body has too many results")?;
                    let tuple = node(tuple)?;
                    self.stage(NewNode::Projection { tuple, index })
                }
                Expr::Call(inner) => {
                    let args = inner.args().iter().map(|&arg| node(arg)).collect::<Result<Nodes, _>>()?;
                    if inner.is_op("Identity") && args.len() == 1 {
                        nodes.insert(id, args[0]);
                        continue;
                    }
                    self.stage_copy(inner, &args)?
                }
                _ => return Err("the body consists of more than calls".into()),
            };
            nodes.insert(id, made);
        }
        let results = body.results(body.body());
        let results = results.iter().map(|id| nodes.get(id).copied()).collect::<Option<Vec<NodeId>>>();
        let results = results.ok_or("the body has a value of another function")?;
        let n_results = call.n_results();
        if results.len() != n_results.unwrap_or(1) {
            return Err("the call has other results than the body".into());
        }
        for (index, &result) in results.iter().enumerate() {
            let old = match (self.function.type_of(call.id), n_results) {
                (Type::Tuple(fields), Some(_)) => fields.get(index).map_or(Type::Unknown, |&ty| self.function.ty(ty)),
                (ty, None) => ty,
                _ => Type::Unknown,
            };
            if let Some(why) = contradiction(old, self.type_of(result)) {
                return Err(format!("the body computes something else: {why}").into());
            }
        }
        Ok(results)
    }

    /// Makes a call of another function, with other arguments.
    fn stage_copy(&mut self, inner: CallView<'_>, args: &[NodeId]) -> Result<NodeId, Cow<'static, str>> {
        let body = inner.owner();
        let op = inner.op().filter(|_| inner.regions().is_empty() && !inner.attrs().has_refs());
        let op = op.ok_or("the body consists of more than calls with attributes")?;
        let rec = body.op(op);
        let (domain, name) = (normal_domain(body.str(rec.domain)), body.str(rec.name));
        if body.opset_version(domain) != self.function.opset_version(domain) {
            let domain = if domain.is_empty() { "ai.onnx" } else { domain };
            return Err(format!("the body is written for another version of `{domain}`").into());
        }
        let attrs = inner.attrs().iter().map(|(name, value)| Attr::of(name.to_owned(), value));
        let attrs = attrs.collect::<Option<Vec<Attr>>>().ok_or("the body has an attribute that cannot be copied")?;
        let n_results =
            inner.n_results().map(u16::try_from).transpose().map_err(|_| "the body has too many results")?;
        let made = self.stage(NewNode::call(domain.to_owned(), name.to_owned(), args, attrs, n_results));
        match self.stage.get(made).and_then(|staged| staged.fault.as_ref()) {
            Some((_, fault)) if !fault.is_unsupported() => Err(format!("its body has `{name}`: {fault}").into()),
            _ => Ok(made),
        }
    }

    fn stage_like(&mut self, call: CallView<'_>, args: &[NodeId], attrs: Vec<Attr>, n_results: Option<u16>) -> NodeId {
        let (callee, attrs) = (Callee::Same(call.callee()), NewAttrs::Like(call.id, attrs));
        self.stage(NewNode::Call { callee, args: Nodes::from_slice(args), attrs, n_results })
    }
}
