//! The nodes that a rewrite makes, before they are in an arena.

use crate::{
    build::{Callee, NewAttrs, NewNode},
    error::OpError,
    relations::TypeRelations,
    request::{ArgRec, CallValue, Given},
};
use abi_stable::std_types::RSlice;
use relais_ir::*;
use smallvec::SmallVec;

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

    /// A staged node.
    #[inline]
    pub fn get(&self, id: NodeId) -> Option<&Staged> {
        self.made.get(id)
    }

    /// The type of an id, of the function or of the staged nodes.
    pub fn ty<'a>(&'a self, function: &'a Function, id: TypeId) -> Type<'a> {
        self.given.types.ty(function, id)
    }

    /// The number of staged nodes.
    pub fn len(&self) -> usize {
        self.made.nodes.len()
    }

    /// Forgets the nodes from this number of them on.
    pub fn truncate(&mut self, len: usize) {
        self.made.nodes.truncate(len);
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

    /// The first call whose arguments its operator does not take: the operator's name, and why.
    pub fn refused<'a>(&'a self, f: &'a Function) -> Option<(&'a str, &'a OpError)> {
        self.made.nodes.iter().find_map(|staged| {
            let (_, error) =
                staged.fault.as_ref().filter(|(_, error)| !error.is_unsupported() && !error.is_broken())?;
            let NewNode::Call { callee, .. } = &staged.node else { return None };
            Some((callee.domain_and_name(f).1, error))
        })
    }

    /// The nodes that those which were made use.
    pub fn operands(&self) -> impl Iterator<Item = NodeId> + '_ {
        let operands = self.made.nodes.iter().flat_map(|staged| match &staged.node {
            NewNode::Constant(_) | NewNode::Imm(_) => &[],
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
    pub fn stage(&mut self, f: &Function, relations: &mut dyn TypeRelations, node: NewNode) -> NodeId {
        let (mut ty, mut value) = NOTHING;
        let (mut results, mut fault) = (SmallVec::new(), None);
        match &node {
            NewNode::Constant(tensor) => {
                let dims: Dims = tensor.dims().iter().map(|&dim| Dim::Static(dim)).collect();
                ty = self.given.types.tensor(f, tensor.elem(), &dims);
            }
            NewNode::Imm(imm) => ty = self.given.types.tensor(f, imm.elem(), &[]),
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
                    fault = fault.or_else(|| Some((op, self.wrong_elems(f, relations, op, args)?)));
                }
            }
        }
        let id = NodeId(STAGED | (self.made.first + self.made.nodes.len() as u32));
        self.made.nodes.push(Staged { node, ty, value, results, fault });
        id
    }

    /// Why an operator does not take arguments of these element types.
    fn wrong_elems(
        &self,
        f: &Function,
        relations: &mut dyn TypeRelations,
        op: OpId,
        args: &[NodeId],
    ) -> Option<OpError> {
        let elem = |&arg: &NodeId| {
            let arg = self.made.arg(f, arg);
            self.given.types.ty(f, arg.ty).elem().filter(|_| arg.present != 0)
        };
        let fault = relations.schema(op)?.check_elems(args.iter().map(elem)).err()?;
        Some(OpError::invalid(&fault.message))
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
        let (domain, name) = callee.domain_and_name(f);
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
