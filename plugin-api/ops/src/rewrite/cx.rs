//! The context of a rewrite, and how it requests new nodes.

use super::{
    ahead::Ahead,
    stage::{Stage, Staged},
};
use crate::{
    build::{Callee, MakesNodes, NewAttrs, NewNode, Nodes, place},
    relations::TypeRelations,
    request::known_value,
};
use relais_ir::{
    prim::{CoreOp, DOMAIN, number_of, value_type},
    *,
};
use std::{borrow::Cow, cell::OnceCell, collections::BTreeMap, convert::Infallible};

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
        call.attrs().with_defaults(call.op().and_then(|op| self.relations.schema(op)).map(|schema| &**schema))
    }

    /// The tensor of a constant.
    pub fn tensor(&self, id: NodeId) -> Option<&Tensor> {
        match self.stage.get(id) {
            Some(Staged { node: NewNode::Constant(tensor), .. }) => Some(tensor),
            Some(_) => None,
            None => self.function.constant(self.arena_id(id)?),
        }
    }

    /// The number that a node of a loop program is, or that it is in each of its lanes, including nodes that the rewrite
    /// made.
    pub fn number_of(&self, id: NodeId) -> Option<Imm> {
        let is_broadcast = |name: &str| name == CoreOp::Broadcast.name();
        match self.stage.get(id) {
            Some(Staged { node: NewNode::Imm(imm), .. }) => Some(*imm),
            Some(Staged { node: NewNode::Call { callee: Callee::Op { name, .. }, args, .. }, .. }) => {
                is_broadcast(name).then(|| self.number_of(*args.first()?))?
            }
            Some(_) => None,
            None => number_of(self.function, self.arena_id(id)?),
        }
    }

    /// The tensor of a constant, or the number of a loop program as one.
    pub(crate) fn constant_of(&self, id: NodeId) -> Option<Cow<'_, Tensor>> {
        match self.tensor(id) {
            Some(tensor) => Some(Cow::Borrowed(tensor)),
            None => {
                let imm = self.number_of(id)?;
                let width = imm.elem().bits() as usize / 8;
                let bytes = imm.bits().to_le_bytes()[..width].to_vec();
                Tensor::dense(imm.elem(), &[], bytes).ok().map(Cow::Owned)
            }
        }
    }

    /// Returns the type of a node's value, including nodes that the rewrite made.
    #[inline]
    pub fn type_of(&self, id: NodeId) -> Type<'_> {
        match self.stage.get(id) {
            Some(staged) => self.stage.ty(self.function, staged.ty),
            None => self.arena_id(id).map_or(Type::Unknown, |id| self.function.type_of(id)),
        }
    }

    /// The integers that a node is known to hold because they were computed from shapes.
    pub fn known_value(&self, id: NodeId) -> Option<Dims> {
        let value = match self.stage.get(id) {
            Some(staged) => staged.value,
            None => known_value(self.function, self.arena_id(id)?)?,
        };
        Some(self.stage.ty(self.function, value).shape()?.iter().map(|&dim| dim.into()).collect())
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
    pub(crate) fn position(&self, id: NodeId) -> u32 {
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

    /// Why an operator does not take the arguments of one of the calls that were made.
    pub(crate) fn refused(&self) -> Option<String> {
        self.stage.refused(self.function).map(|(name, error)| format!("`{name}` does not take its arguments: {error}"))
    }

    /// Forgets all nodes that were made.
    pub(crate) fn forget_made(&mut self) {
        self.stage.clear(self.function);
    }

    /// The number of nodes that were made.
    pub(crate) fn mark(&self) -> usize {
        self.stage.len()
    }

    /// Forgets the nodes that were made since; they must not be used any more.
    pub(crate) fn undo(&mut self, mark: usize) {
        self.stage.truncate(mark);
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
        let Ok(staged) = self.make(node);
        staged
    }

    /// A new constant.
    pub fn constant(&mut self, tensor: Tensor) -> NodeId {
        self.stage(NewNode::Constant(tensor))
    }

    /// A new number of a loop program, in as many lanes as another value has.
    pub fn number(&mut self, number: Imm, like: NodeId) -> NodeId {
        let lanes = value_type(self.type_of(like)).and_then(|scalar| scalar.lanes);
        let number = self.stage(NewNode::Imm(number));
        match lanes.and_then(|lanes| i64::try_from(lanes).ok()) {
            None => number,
            Some(lanes) => self.call_in(DOMAIN, CoreOp::Broadcast.name(), &[number], vec![Attr::new("lanes", lanes)]),
        }
    }

    /// A new call of an operator of loop programs that computes a value from values.
    pub fn op(&mut self, op: CoreOp, args: &[NodeId]) -> NodeId {
        self.call_in(DOMAIN, op.name(), args, Vec::new())
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
        let callee = Callee::Op { domain: domain.into(), name: name.into() };
        let Ok((_, results)) = self.make_call(callee, args, NewAttrs::New(attrs), Some(n_results));
        results
    }

    /// Makes a call like another one of the function, with as many results, including its attributes and metadata, with
    /// other arguments; `attrs` replace those of the same name. Returns each result.
    pub fn call_results_like(&mut self, call: CallView<'_>, args: &[NodeId], attrs: Vec<Attr>) -> Vec<NodeId> {
        let n_results = call.n_results().map(|n| u16::try_from(n).unwrap_or(u16::MAX));
        let Ok((_, results)) =
            self.make_call(Callee::Same(call.callee()), args, NewAttrs::Like(call.id, attrs), n_results);
        results
    }

    /// Makes a call like another one of the function, with one result, including its attributes and metadata, with
    /// other arguments; `attrs` replace those of the same name.
    pub fn call_like(&mut self, call: CallView<'_>, args: &[NodeId], attrs: Vec<Attr>) -> NodeId {
        let (callee, attrs) = (Callee::Same(call.callee()), NewAttrs::Like(call.id, attrs));
        self.stage(NewNode::Call { callee, args: Nodes::from_slice(args), attrs, n_results: None })
    }

    /// Makes the calls of a body, with the arguments of a call in place of its parameters, and returns what takes the place
    /// of each of the call's results. [`Bodies::body_of`](crate::bodies::Bodies::body_of) returns one for its operator. An
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
}

impl MakesNodes for RewriteCx<'_> {
    type Error = Infallible;

    fn make(&mut self, new: NewNode) -> Result<NodeId, Infallible> {
        Ok(self.stage.stage(self.function, self.relations, new))
    }
}
