//! Making nodes: the one way in which rewrites and passes add calls, checked against the records of their operators.

use crate::{
    infer::Inference,
    op::{CallFault, CallRule},
    relations::{TypeRelations, nearest_op},
    request::CallParts,
};
use relais_ir::{diagnostics::PassError, prim::DOMAIN, *};
use smallvec::SmallVec;
use std::{borrow::Cow, collections::HashSet};

/// As many nodes as most calls have operands.
pub(crate) type Nodes = SmallVec<[NodeId; 6]>;

/// A node to be made.
pub(crate) enum NewNode {
    Constant(Tensor),
    /// A number of a loop program, which is in no block.
    Imm(Imm),
    Tuple(Nodes),
    Projection {
        tuple: NodeId,
        index: u16,
    },
    Call {
        callee: Callee,
        args: Nodes,
        attrs: NewAttrs,
        n_results: Option<u16>,
    },
}

/// The callee of a new call.
pub(crate) enum Callee {
    Op { domain: Cow<'static, str>, name: Cow<'static, str> },
    Same(NodeId),
}

impl Callee {
    /// The domain and the name of the operator, for a call in this function.
    pub fn domain_and_name<'a>(&'a self, f: &'a Function) -> (&'a str, &'a str) {
        match self {
            Self::Op { domain, name } => (domain, name),
            Self::Same(callee) => {
                let rec = f.op(OpId(f.node(*callee).a));
                (f.str(rec.domain), f.str(rec.name))
            }
        }
    }
}

/// The attributes of a new call.
pub(crate) enum NewAttrs {
    New(Vec<Attr>),
    /// The attributes of that node, with those of the same name replaced, and the rest added.
    Like(NodeId, Vec<Attr>),
}

impl NewNode {
    pub fn call(
        domain: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        args: &[NodeId],
        attrs: Vec<Attr>,
        n_results: Option<u16>,
    ) -> Self {
        let callee = Callee::Op { domain: domain.into(), name: name.into() };
        Self::Call { callee, args: Nodes::from_slice(args), attrs: NewAttrs::New(attrs), n_results }
    }
}

/// Makes nodes from their descriptions: at once, as a [`Builder`] does, or staged, as a rewrite does.
pub(crate) trait MakesNodes {
    /// Why a node is refused.
    type Error;

    fn make(&mut self, new: NewNode) -> Result<NodeId, Self::Error>;

    /// Makes a call and each of its results; without a number of results, it is its only one.
    fn make_call(
        &mut self,
        callee: Callee,
        args: &[NodeId],
        attrs: NewAttrs,
        n_results: Option<u16>,
    ) -> Result<(NodeId, Vec<NodeId>), Self::Error> {
        let call = self.make(NewNode::Call { callee, args: Nodes::from_slice(args), attrs, n_results })?;
        let results = match n_results {
            None => vec![call],
            Some(n) => {
                (0..n).map(|index| self.make(NewNode::Projection { tuple: call, index })).collect::<Result<_, _>>()?
            }
        };
        Ok((call, results))
    }
}

/// Makes nodes in a function and types them at once. Those of [`before`](Self::before) are placed before the binding that
/// a [`Rebuild`] visits; those of [`new`](Self::new) are not in a block yet: [`Function::append`] places them.
///
/// A call is checked against its operator's record in the version that the function imports. If the function does not
/// import the operator's domain, the import is added.
pub struct Builder<'a> {
    function: &'a mut Function,
    relations: &'a mut dyn TypeRelations,
    inference: Inference<'static>,
    /// The bindings before the one that is visited.
    before: Option<&'a mut Vec<NodeId>>,
}

impl<'a> Builder<'a> {
    /// Makes nodes in a function, typed by these relations.
    pub fn new(function: &'a mut Function, relations: &'a mut dyn TypeRelations) -> Self {
        Self { function, relations, inference: Inference::default(), before: None }
    }

    /// Makes nodes before the binding that a [`Rebuild`] visits, typed by these relations.
    pub fn before(cx: &'a mut RebuildCx<'_>, relations: &'a mut dyn TypeRelations) -> Self {
        let (function, before) = cx.parts();
        Self { function, relations, inference: Inference::default(), before: Some(before) }
    }

    /// Puts a node into its place, if there is one.
    fn placed(&mut self, node: NodeId) -> NodeId {
        if let Some(before) = &mut self.before {
            before.push(node);
        }
        node
    }

    /// The function.
    pub fn function(&self) -> &Function {
        self.function
    }

    /// A constant.
    pub fn constant(&mut self, tensor: Tensor) -> NodeId {
        let constant = self.function.add_constant(tensor, ConstForm::ANY);
        self.placed(constant)
    }

    /// A call of an operator of the default domain with one result.
    ///
    /// # Errors
    /// Returns an error if the operator does not take it.
    pub fn call(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        args: &[NodeId],
        attrs: Vec<Attr>,
    ) -> Result<NodeId, PassError> {
        self.call_in("", name, args, attrs)
    }

    /// A call of an operator of any domain with one result.
    ///
    /// # Errors
    /// As for [`call`](Self::call).
    pub fn call_in(
        &mut self,
        domain: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        args: &[NodeId],
        attrs: Vec<Attr>,
    ) -> Result<NodeId, PassError> {
        self.make(NewNode::call(domain, name, args, attrs, None))
    }

    /// A call of an operator of any domain with several results: the call, then each of them.
    ///
    /// # Errors
    /// As for [`call`](Self::call).
    pub fn call_results(
        &mut self,
        domain: impl Into<Cow<'static, str>>,
        name: impl Into<Cow<'static, str>>,
        args: &[NodeId],
        attrs: Vec<Attr>,
        n_results: u16,
    ) -> Result<(NodeId, Vec<NodeId>), PassError> {
        let callee = Callee::Op { domain: domain.into(), name: name.into() };
        self.make_call(callee, args, NewAttrs::New(attrs), Some(n_results))
    }

    /// A call like another one: of the same callee, with as many results, and with its attributes, of which those that are
    /// given take the places. Returns each of its results.
    ///
    /// # Errors
    /// As for [`call`](Self::call), and if `call` is not a call.
    pub fn call_like(&mut self, call: NodeId, args: &[NodeId], attrs: Vec<Attr>) -> Result<Vec<NodeId>, PassError> {
        let Some(like) = self.function.call(call) else {
            return Err(PassError::new("it makes a call like a node that is not one"));
        };
        let n_results = like.n_results().map(|n| u16::try_from(n).unwrap_or(u16::MAX));
        let callee = Callee::Same(like.callee());
        Ok(self.make_call(callee, args, NewAttrs::Like(call, attrs), n_results)?.1)
    }

    /// A call of a function of the module; returns each of its results.
    ///
    /// # Errors
    /// Returns an error if a type relation is at fault.
    pub fn call_function(&mut self, name: &str, args: &[NodeId], n_results: u16) -> Result<Vec<NodeId>, PassError> {
        let callee = Callee::Same(self.function.add_global_var(name));
        Ok(self.make_call(callee, args, NewAttrs::New(Vec::new()), (n_results != 1).then_some(n_results))?.1)
    }

    /// A call of an operator with functions of its own: `attrs` name them, by position, as [`AttrData::Graph`].
    ///
    /// # Errors
    /// As for [`call`](Self::call).
    pub fn call_with_regions(
        &mut self,
        (domain, name): (&str, &str),
        args: &[NodeId],
        regions: &[NodeId],
        attrs: &[Attr],
        n_results: Option<u16>,
    ) -> Result<NodeId, PassError> {
        import(self.function, self.relations, domain, name);
        let op = self.function.add_op(domain, name, "", 0);
        let callee = self.function.op(op).node;
        let call = self.function.add_call_with(callee, args, regions, n_results);
        self.function.set_attrs(call, attrs);
        self.finish(call, Some(op))
    }

    /// A conditional; the branches are functions without parameters that have as many results.
    ///
    /// # Errors
    /// Returns an error if the results of the branches have different numbers.
    ///
    /// # Panics
    /// Panics if a branch is not a function.
    pub fn if_else(
        &mut self,
        cond: NodeId,
        then_branch: NodeId,
        else_branch: NodeId,
        n_results: Option<u16>,
    ) -> Result<NodeId, PassError> {
        let f = &*self.function;
        let counts = [then_branch, else_branch].map(|branch| f.results(f.block_of(branch)).len());
        let n = n_results.map_or(1, usize::from);
        if counts != [n, n] {
            let [then_count, else_count] = counts;
            let message = format_args!(
                "it makes a conditional whose branches have {then_count} and {else_count} results, not {n}"
            );
            return Err(PassError::new(message).code(CallRule::Outputs.code()));
        }
        let node = self.function.add_if(cond, then_branch, else_branch, n_results);
        self.finish(node, None)
    }

    /// A tuple.
    pub fn tuple(&mut self, fields: &[NodeId]) -> NodeId {
        let tuple = self.function.add_tuple(fields);
        let _ = self.inference.node(self.function, self.relations, tuple);
        self.placed(tuple)
    }

    fn finish(&mut self, node: NodeId, op: Option<OpId>) -> Result<NodeId, PassError> {
        let typed = self.inference.node(self.function, self.relations, node);
        if let Some(op) = op {
            check_made(self.function, self.relations, node, op).map_err(|fault| refused(self.function, op, &fault))?;
        }
        match typed {
            Err(error) if error.is_broken() => {
                let fault = op.map(|op| self.relations.fault(op, &error));
                Err(fault.unwrap_or_else(|| PassError::new(error)))
            }
            Err(error) => {
                let fault = CallFault::new(CallRule::Types, error);
                Err(op.map_or_else(|| PassError::new(&fault.message), |op| refused(self.function, op, &fault)))
            }
            Ok(()) => Ok(self.placed(node)),
        }
    }
}

impl MakesNodes for Builder<'_> {
    type Error = PassError;

    fn make(&mut self, new: NewNode) -> Result<NodeId, PassError> {
        let node = place(self.function, self.relations, new);
        let op = self.function.call(node).and_then(CallView::op);
        self.finish(node, op)
    }
}

/// The failure of a pass that makes a call which its operator does not accept.
pub fn refused(f: &Function, op: OpId, fault: &CallFault) -> PassError {
    if let Some(broken) = &fault.broken {
        return broken.clone();
    }
    let rec = f.op(op);
    let (domain, name) = (f.str(rec.domain), f.str(rec.name));
    refused_as(domain, name, fault)
}

fn refused_as(domain: &str, name: &str, fault: &CallFault) -> PassError {
    let colons = if domain.is_empty() { "" } else { "::" };
    PassError::new(format_args!("it makes a call of `{domain}{colons}{name}` that is wrong: {}", fault.message))
        .code(fault.rule.code())
}

/// Holds a call that a pass made against its operator's record, then has its verifier look at it.
///
/// # Errors
/// Returns the first mismatch, or the error of the verifier.
pub fn check_made(f: &Function, relations: &mut dyn TypeRelations, call: NodeId, op: OpId) -> Result<(), CallFault> {
    check_references(f, call)?;
    check_record(f, relations, call, op)?;
    check_verifier(f, relations, call, op)
}

/// Checks all calls of a function as [`check_made`] does, and calls that are alike to their records but once.
#[derive(Default)]
pub struct CallChecker {
    accepted: HashSet<Box<[u32]>>,
    /// Everything about a call that its record speaks of.
    alike: Vec<u32>,
    /// The same of the last call that was accepted.
    last: Vec<u32>,
}

impl CallChecker {
    /// Checks a call of the function.
    ///
    /// # Errors
    /// As for [`check_made`].
    pub fn check(
        &mut self,
        f: &Function,
        relations: &mut dyn TypeRelations,
        call: NodeId,
        op: OpId,
    ) -> Result<(), CallFault> {
        check_references(f, call)?;
        let n_results = f.n_results(call).map_or(u32::MAX, |n| n as u32);
        self.alike.clear();
        self.alike.extend([op.0, n_results]);
        for rec in f.attr_recs(call) {
            let kind = if rec.kind == attr_kind::REF { rec.b } else { rec.kind.into() };
            self.alike.extend([rec.name.0, kind, rec.flags.into()]);
        }
        self.alike.push(u32::MAX);
        let args = f.call(call).map_or(&[][..], CallView::args);
        self.alike.extend(args.iter().map(|&arg| if arg.is_absent() { u32::MAX } else { f.type_id(arg).0 }));
        if self.alike != self.last {
            if !self.accepted.contains(&*self.alike) {
                check_record(f, relations, call, op)?;
                self.accepted.insert(self.alike.as_slice().into());
            }
            std::mem::swap(&mut self.last, &mut self.alike);
        }
        check_verifier(f, relations, call, op)
    }
}

/// Checks that the function has the attributes that those of a call refer to.
fn check_references(f: &Function, call: NodeId) -> Result<(), CallFault> {
    let referred = f.attr_recs(call).iter().filter(|rec| rec.kind == attr_kind::REF).map(|rec| f.str(StrId(rec.a)));
    for name in referred {
        if !has_function_attribute(f, name) {
            let message = format_args!("it refers to the attribute `{name}`, which the function does not have");
            return Err(CallFault::new(CallRule::Reference, message));
        }
    }
    Ok(())
}

fn check_record(f: &Function, relations: &mut dyn TypeRelations, call: NodeId, op: OpId) -> Result<(), CallFault> {
    let version = relations.version(f, op);
    let Some(schema) = relations.schema(op) else {
        return match relations.is_closed(op) {
            true => Err(CallFault::new(CallRule::UnknownOperator, unknown(f, relations, op, version))),
            false => Ok(()),
        };
    };
    schema.check(&CallParts::new(f, call).value(op, version), f.n_results(call))
}

fn check_verifier(f: &Function, relations: &mut dyn TypeRelations, call: NodeId, op: OpId) -> Result<(), CallFault> {
    match relations.verify(f, call, op) {
        Some(Err(error)) if error.is_broken() => {
            let broken = Some(relations.verifier_fault(op, &error));
            Err(CallFault { broken, ..CallFault::new(CallRule::Verifier, &error) })
        }
        Some(Err(error)) if !error.is_unsupported() => Err(CallFault::new(CallRule::Verifier, &error)),
        // A verifier that does not cover the case finds no fault.
        _ => Ok(()),
    }
}

/// Why an operator of a closed domain does not exist.
fn unknown(f: &Function, relations: &mut dyn TypeRelations, op: OpId, version: i64) -> String {
    let rec = f.op(op);
    let (domain, name) = (f.str(rec.domain), f.str(rec.name));
    let message = format!("version {version} of its domain has no such operator");
    match (relations.newest_version(domain, name), nearest_op(relations, domain, name)) {
        (Some(newest), _) => format!("{message}; version {newest} has"),
        (None, Some(nearest)) => format!("{message}: did you mean `{nearest}`?"),
        (None, None) => message,
    }
}

/// Adds a node that is not in a block and has no type yet.
pub(crate) fn place(f: &mut Function, relations: &mut dyn TypeRelations, new: NewNode) -> NodeId {
    match new {
        NewNode::Constant(tensor) => f.add_constant(tensor, ConstForm::ANY),
        NewNode::Imm(imm) => f.add_imm(imm),
        NewNode::Tuple(fields) => f.add_tuple(&fields),
        NewNode::Projection { tuple, index } => f.add_tuple_get_item(tuple, index),
        NewNode::Call { callee, args, attrs, n_results } => {
            let callee = match callee {
                Callee::Same(callee) => callee,
                Callee::Op { domain, name } => {
                    import(f, relations, &domain, &name);
                    let op = f.add_op(&domain, &name, "", 0);
                    f.op(op).node
                }
            };
            let id = f.add_call_with(callee, &args, &[], n_results);
            let recs = match attrs {
                NewAttrs::New(attrs) => attrs.iter().map(|attr| f.encode_attr(attr)).collect(),
                NewAttrs::Like(other, attrs) => merged_attrs(f, other, &attrs),
            };
            f.set_attr_recs(id, &recs);
            id
        }
    }
}

/// Lets a function import the domain of an operator that it is about to call.
fn import(f: &mut Function, relations: &mut dyn TypeRelations, domain: &str, name: &str) {
    // The operators of loop programs are part of the representation.
    if normal_domain(domain).is_empty() || domain == DOMAIN || f.opset_version(domain).is_some() {
        return;
    }
    let version = relations.newest_version(domain, name).unwrap_or(1);
    let imports: Vec<(String, i64)> =
        f.opset_imports().into_iter().map(|(domain, version)| (domain.to_owned(), version)).collect();
    let mut imports: Vec<(&str, i64)> = imports.iter().map(|(domain, version)| (domain.as_str(), *version)).collect();
    imports.push((domain, version));
    f.set_opset_imports(&imports);
}

fn merged_attrs(f: &mut Function, other: NodeId, attrs: &[Attr]) -> SmallVec<[AttrRec; 8]> {
    let mut recs: SmallVec<[AttrRec; 8]> = SmallVec::from_slice(f.attr_recs(other));
    for attr in attrs {
        let new = f.encode_attr(attr);
        let meta = |rec: &AttrRec| rec.flags & attr_flag::META;
        match recs.iter_mut().find(|rec| f.bytes(rec.name) == attr.name.as_bytes() && meta(rec) == meta(&new)) {
            Some(rec) => *rec = new,
            None => recs.push(new),
        }
    }
    recs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        error::OpError,
        relations::{Blaming, Checking, Typing},
        request::InferRequest,
    };
    use relais_ir::text;

    struct NoTypes;

    impl Typing for NoTypes {
        fn version(&mut self, _: &Function, _: OpId) -> i64 {
            0
        }

        fn infer(&mut self, _: OpId, _: &mut InferRequest<'_>) -> Option<Result<(), OpError>> {
            None
        }
    }

    impl Checking for NoTypes {}

    impl Blaming for NoTypes {}

    const TEXT: &str = "def @main(%x: Tensor[(2), float32]) -> (%b, %c) {
        %a = Relu(%x);
        %b: Tensor[(2), float32] = Neg(%x);
        %c = if (true) { Abs(%b) } else { %b };
        (%b, %c)
    }
    def @one(%x) { %x }
    def @two(%x) { (%x, %x) }";

    /// The text after what `edit` does when it comes to the call of an operator.
    fn edited(op: &str, mut edit: impl FnMut(&mut RebuildCx<'_>, NodeId) -> Action) -> String {
        let mut module = text::parse_str(TEXT).unwrap();
        let mut editor = Editor::new(module.main().unwrap().clone());
        let at_op = |cx: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
            let is_op = cx.function().call(id).is_some_and(|call| call.is_op(op));
            Ok(if is_op { edit(cx, id) } else { Action::Keep })
        };
        editor.rebuild(&mut { at_op }).unwrap();
        module.set_function(MAIN, editor.into_function());
        let faults = verify(&module);
        assert!(faults.is_empty(), "{faults:?}");
        text::print(&module, &text::PrintOptions::default())
    }

    fn call_of(f: &Function, op: &str) -> NodeId {
        f.all_bindings().find(|&id| f.call(id).is_some_and(|call| call.is_op(op))).unwrap()
    }

    #[test]
    fn nodes_stand_before_the_binding_that_is_visited() {
        let text = edited("Neg", |cx, _| {
            let x = cx.function().params()[0];
            let mut types = NoTypes;
            let mut build = Builder::before(cx, &mut types);
            let one = build.constant(Tensor::from_f32(&[], &[1.0]));
            let (_, results) = build.call_results("", "Made", &[x, one], vec![], 2).unwrap();
            assert_eq!(results.len(), 2);
            Action::Keep
        });
        assert!(text.find("Made(").unwrap() < text.find("%b: ").unwrap(), "{text}");
        assert!(text.find("%a = ").unwrap() < text.find("Made(").unwrap(), "{text}");
    }

    #[test]
    fn a_new_value_takes_over_one_that_comes_later() {
        let text = edited("Relu", |cx, _| {
            let (x, old) = (cx.function().params()[0], call_of(cx.function(), "Neg"));
            let new = Builder::before(cx, &mut NoTypes).call("Made", &[x], vec![]).unwrap();
            cx.take_over(old, new);
            Action::Keep
        });
        assert!(text.contains("%b: Tensor[(2), float32] = Made(%x);") && !text.contains("Neg"), "{text}");
        assert!(text.contains("Abs(%b)") && text.contains("(%b, %c)\n"), "{text}");
    }

    #[test]
    fn a_new_value_that_replaces_one_has_its_name() {
        let text = edited("Neg", |cx, _| {
            let x = cx.function().params()[0];
            Action::Replace(Builder::before(cx, &mut NoTypes).call("Made", &[x], vec![]).unwrap())
        });
        assert!(text.contains("%b = Made(%x)") && text.contains("Abs(%b)"), "{text}");
        // One that was there stays what it is, and so does a new one that takes no place.
        let text = edited("Neg", |cx, _| {
            let x = cx.function().params()[0];
            Builder::before(cx, &mut NoTypes).call("Made", &[x], vec![]).unwrap();
            Action::Replace(call_of(cx.function(), "Relu"))
        });
        assert!(text.contains(" = Made(%x)") && !text.contains("%b = "), "{text}");
        assert!(text.contains("%a = Relu(%x)") && text.contains("Abs(%a)"), "{text}");
    }

    #[test]
    fn a_new_value_takes_over_the_visited_one_and_one_in_a_branch() {
        for op in ["Neg", "Abs"] {
            let text = edited("Neg", |cx, _| {
                let (x, old) = (cx.function().params()[0], call_of(cx.function(), op));
                let new = Builder::before(cx, &mut NoTypes).call("Made", &[x], vec![]).unwrap();
                cx.take_over(old, new);
                Action::Keep
            });
            assert!(text.contains("Made(%x)") && !text.contains(&format!("{op}(")), "{text}");
        }
    }

    #[test]
    fn an_attribute_refers_to_one_that_the_function_has() {
        let text = "def @f(%x) #[attributes = [\"a\"], \"default:b\" = 1.0] {
            %0 = LeakyRelu(%x, alpha = $a: float);
            %1 = LeakyRelu(%0, alpha = $b: float);
            %2 = LeakyRelu(%1, alpha = $c: float);
            %2
        }";
        let module = text::parse_str(text).unwrap();
        let f = module.function("f").unwrap();
        let mut checker = CallChecker::default();
        let mut rule = |id: NodeId| {
            let op = f.call(id).unwrap().op().unwrap();
            let alone = check_made(f, &mut NoTypes, id, op).err();
            let fault = checker.check(f, &mut NoTypes, id, op).err();
            assert_eq!(fault.as_ref().map(|fault| &fault.message), alone.as_ref().map(|fault| &fault.message));
            fault.map(|fault| fault.rule)
        };
        let [a, b, c] = *f.bindings(f.body()) else { panic!() };
        assert_eq!((rule(a), rule(b), rule(c)), (None, None, Some(CallRule::Reference)));
    }

    #[test]
    fn a_conditional_has_as_many_results_as_its_branches() {
        let mut f = Function::new();
        let cond = f.add_var("c", TypeId::UNKNOWN);
        f.set_params(f.root(), &[cond]);
        let [one, two] = [1, 2].map(|n| {
            let branch = f.add_function(&[]);
            f.set_results(f.block_of(branch), &vec![cond; n]);
            branch
        });
        let mut make = |branches: [NodeId; 2], n_results| {
            Builder::new(&mut f, &mut NoTypes).if_else(cond, branches[0], branches[1], n_results)
        };
        assert!(make([one, one], None).is_ok() && make([two, two], Some(2)).is_ok());
        let error = make([one, two], None).unwrap_err();
        assert_eq!(error.rec().message, "it makes a conditional whose branches have 1 and 2 results, not 1");
    }

    #[test]
    fn a_function_of_the_module_is_called_with_one_result_or_several() {
        for (n, name, expected) in [(1, "one", "@one(%x);"), (2, "two", "@two(%x) -> 2;")] {
            let text = edited("Neg", |cx, _| {
                let x = cx.function().params()[0];
                let results = Builder::before(cx, &mut NoTypes).call_function(name, &[x], n).unwrap();
                assert_eq!(results.len(), usize::from(n));
                Action::Keep
            });
            assert!(text.contains(expected), "{text}");
        }
    }
}
