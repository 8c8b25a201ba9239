//! The printer: the forms in which the bindings of loop programs are written, and which of them are nested in others.

use super::{
    prim::{PREFIXES, SCOPES, level},
    printer::{Printer, is_plain_if},
};
use crate::{
    prim::{CoreOp, LoopKind, Made, rule},
    *,
};
use smallvec::SmallVec;

/// Bindings are nested no deeper.
pub(super) const MOST_NESTED: usize = 64;
/// Bindings are nested as long as the expression has about that many characters.
const MOST_WIDTH: usize = 100;

/// How a binding is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form<'a> {
    /// As in graphs.
    General,
    For,
    While,
    When,
    /// `alloc static float32[4]`
    Alloc,
    /// `%b[%i]`
    Load,
    /// `%b[%i] = %v`, if it is a statement; else a call.
    Store,
    /// `float32(%x)`
    Cast(&'a str),
    Infix(&'a str, u8),
    Prefix(u8),
    /// `min(%a, %b)`
    Call(CoreOp),
}

/// A copy whose immediates have their types, unless all have.
pub(super) fn with_typed_immediates(f: &Function) -> Option<Function> {
    let is_typed = |f: &Function, id: NodeId, imm: Imm| match f.type_of(id) {
        Type::Tensor { elem, shape: Some([]) } => elem == imm.elem(),
        _ => false,
    };
    let immediates = (0..f.n_nodes()).map(NodeId::from_index).filter_map(|id| Some((id, f.imm(id)?)));
    let untyped: Vec<(NodeId, Imm)> = immediates.filter(|&(id, imm)| !is_typed(f, id, imm)).collect();
    if untyped.is_empty() {
        return None;
    }
    let mut f = f.clone();
    for (id, imm) in untyped {
        let ty = f.add_type(Type::Tensor { elem: imm.elem(), shape: Some(&[]) });
        f.set_type(id, ty);
    }
    Some(f)
}

/// The values among a node's operands: not the callee, and not the functions. Empty for what no builder makes.
pub(super) fn args(f: &Function, id: NodeId) -> &[NodeId] {
    let operands = f.operands(id);
    let first = usize::from(f.kind(id) == kind::CALL);
    operands.get(first..operands.len() - f.n_regions(id)).unwrap_or_default()
}

/// The attributes that are not metadata.
fn operator_attrs(f: &Function, id: NodeId) -> SmallVec<[AttrRec; 4]> {
    f.attr_recs(id).iter().filter(|rec| rec.flags & attr_flag::META == 0).copied().collect()
}

/// The value of a string attribute of that name.
fn string_attr<'a>(f: &'a Function, rec: &AttrRec, name: &str) -> Option<&'a str> {
    let is_it = rec.kind == attr_kind::STRING && rec.flags == 0 && f.bytes(rec.name) == name.as_bytes();
    is_it.then(|| std::str::from_utf8(f.bytes(StrId(rec.a))).ok()).flatten()
}

/// Whether attributes are the functions of these names, in order.
fn are_functions(f: &Function, recs: &[AttrRec], names: &[&str]) -> bool {
    recs.len() == names.len()
        && recs.iter().zip(names).zip(0..).all(|((rec, name), at)| {
            (rec.kind, rec.flags, rec.a) == (attr_kind::GRAPH, 0, at) && f.bytes(rec.name) == name.as_bytes()
        })
}

/// Whether a function has that many parameters and nothing else that a block could not say.
fn is_block(f: &Function, function: NodeId, n_params: usize) -> bool {
    f.kind(function) == kind::FUNCTION
        && f.operands(function).len() == n_params
        && f.name_id(function) == StrId::EMPTY
        && f.type_id(function) == TypeId::UNKNOWN
        && f.attr_recs(function).is_empty()
        && f.operands(function).iter().all(|&param| f.kind(param) == kind::VAR && f.default_value(param).is_none())
}

/// Whether an operand is a value or a number: what expressions are made of.
pub(super) fn is_plain(f: &Function, id: NodeId) -> bool {
    match f.kind(id) {
        kind::ABSENT | kind::OP | kind::GLOBAL_VAR => false,
        kind::IMM => f.imm(id).is_some(),
        other => other < kind::FIRST_LEAF,
    }
}

pub(super) fn form<'a>(p: &Printer<'a>, id: NodeId) -> Form<'a> {
    let f = p.function;
    let Some(prim) = &p.prim else { return Form::General };
    let (Some(op), Some(call)) = (prim.ops.of(f, id), f.call(id)) else { return Form::General };
    let args = args(f, id);
    let is_unversioned = call.op().is_some_and(|op| f.op(op).version == 0);
    if !is_unversioned
        || args.len() + f.n_regions(id) + 1 != f.operands(id).len()
        || !args.iter().all(|&id| is_plain(f, id))
    {
        return Form::General;
    }
    let attrs = operator_attrs(f, id);
    if matches!(op, CoreOp::For | CoreOp::While | CoreOp::When) {
        return control(f, id, op, args, &attrs).unwrap_or(Form::General);
    }
    if f.n_regions(id) > 0 || f.n_results(id).is_some() {
        return Form::General;
    }
    let is_memory = |id| prim.ops.is_memory(f, id);
    match (op, args, &attrs[..]) {
        (CoreOp::Alloc, [], [shape, elem, scope @ ..]) => {
            let is_shape = (shape.kind, shape.flags) == (attr_kind::INTS, 0) && f.bytes(shape.name) == b"shape";
            let is_elem = string_attr(f, elem, "elem").is_some_and(|elem| ElemType::from_name(elem).is_some());
            let is_scope = match scope {
                [] => true,
                [scope] => string_attr(f, scope, "scope").is_some_and(|scope| SCOPES.contains(&scope)),
                _ => false,
            };
            if is_shape && is_elem && is_scope { Form::Alloc } else { Form::Call(op) }
        }
        (CoreOp::Load, &[memory, ..], []) if is_memory(memory) => Form::Load,
        (CoreOp::Store, &[memory, _, ..], []) if is_memory(memory) => Form::Store,
        (CoreOp::Cast, [_], [elem]) => match string_attr(f, elem, "elem") {
            Some(elem) if ElemType::from_name(elem).is_some() => Form::Cast(elem),
            _ => Form::Call(op),
        },
        (_, &[operand], []) if f.imm(operand).is_none() => {
            PREFIXES.into_iter().find(|&(_, other)| other == op).map_or(Form::Call(op), |(mark, _)| Form::Prefix(mark))
        }
        (_, [_, _], []) => match op.info().infix.and_then(|mark| Some((mark, level(mark.as_bytes())?))) {
            Some((mark, level)) => Form::Infix(mark, level),
            None => Form::Call(op),
        },
        _ => Form::Call(op),
    }
}

/// The form of a `for`, `while` or `when`, if it has one.
fn control<'a>(f: &'a Function, id: NodeId, op: CoreOp, args: &[NodeId], attrs: &[AttrRec]) -> Option<Form<'a>> {
    let regions = f.regions(id);
    let names = op.info().regions.get(..regions.len())?;
    let (n_args, n_bounds, form) = match op {
        CoreOp::For => (args.len(), 2, Form::For),
        CoreOp::While => (args.len(), 0, Form::While),
        _ => (1, 1, Form::When),
    };
    let n_carried = n_args.checked_sub(n_bounds)?;
    let n_params = n_carried + usize::from(op == CoreOp::For);
    let mut attrs = attrs;
    if op == CoreOp::For
        && let [kind, rest @ ..] = attrs
        && string_attr(f, kind, "kind").is_some_and(|kind| LoopKind::from_name(kind.as_bytes()).is_some())
    {
        attrs = rest;
    }
    let is_right = args.len() == n_args
        && (regions.len() == op.info().regions.len() || op == CoreOp::When && regions.len() == 1)
        && are_functions(f, attrs, names)
        && regions.iter().all(|&region| is_block(f, region, n_params))
        && f.n_results(id) == Some(n_carried).filter(|&n| n > 1);
    is_right.then_some(form)
}

/// The type that the rules give a binding; `None` for what they are not about.
pub(super) fn made(p: &Printer<'_>, id: NodeId) -> Option<Made> {
    let f = p.function;
    let is_sound = match f.kind(id) {
        kind::CALL => f.operands(id).len() > f.n_regions(id),
        kind::IF => is_plain_if(f, id) && f.regions(id).iter().all(|&id| f.kind(id) == kind::FUNCTION),
        kind => kind == kind::TUPLE_GET_ITEM,
    };
    let prim = p.prim.as_ref().filter(|_| is_sound)?;
    rule(f, &prim.ops, id).ok()
}

/// Whether a binding has the type that it is read with if none is written.
pub(super) fn is_implied(p: &Printer<'_>, id: NodeId) -> bool {
    let ty = p.function.type_id(id);
    match made(p, id) {
        Some(made) => made.is(p.function, ty),
        None => ty == TypeId::UNKNOWN,
    }
}

/// Whether a binding is a statement without a name.
pub(super) fn is_effect(p: &Printer<'_>, id: NodeId) -> bool {
    let f = p.function;
    let is_unused = p.prim.as_ref().is_some_and(|prim| prim.uses(id) == 0);
    is_unused
        && f.name_id(id) == StrId::EMPTY
        && f.node(id).flags & (flag::LET | flag::LISTED_INPUT) == 0
        && (f.n_regions(id) == 0 || form(p, id) != Form::General)
        && matches!(made(p, id), Some(made @ Made::Unit) if made.is(f, f.type_id(id)))
}

/// Whether a binding may be nested in the one that uses it.
fn may_nest(p: &Printer<'_>, id: NodeId) -> bool {
    let f = p.function;
    let is_expression = match form(p, id) {
        Form::Load | Form::Cast(_) | Form::Infix(..) | Form::Prefix(_) => true,
        Form::Call(op) => !op.is_statement() && !op.gives_memory(),
        _ => false,
    };
    is_expression
        && p.prim.as_ref().is_some_and(|prim| prim.uses(id) == 1)
        && f.name_id(id) == StrId::EMPTY
        && f.node(id).flags & (flag::LET | flag::LISTED_INPUT) == 0
        && f.attr_recs(id).iter().all(|rec| rec.flags & attr_flag::META == 0)
        && is_implied(p, id)
}

/// The operands of a binding that may be nested, in the order of the text.
fn in_text<'a>(p: &Printer<'a>, id: NodeId) -> SmallVec<[NodeId; 4]> {
    let f = p.function;
    let args = match f.kind(id) {
        kind::FUNCTION | kind::TUPLE_GET_ITEM => &[],
        _ => args(f, id),
    };
    match (form(p, id), args) {
        (Form::Store, [memory, value, indices @ ..]) if is_effect(p, id) => {
            [*memory].iter().chain(indices).chain([value]).copied().collect()
        }
        _ => args.iter().copied().collect(),
    }
}

/// About how long the name of an operand is. Numbers count as equally long, so that other numbers change nothing else.
fn width(f: &Function, id: NodeId) -> usize {
    match f.bytes(f.name_id(id)).len() {
        0 => 5,
        len => 1 + len,
    }
}

/// Decides which bindings of a block are nested in the ones that use them: those that are read back at the same place, because
/// everything between the two is nested there, too.
pub(super) fn plan(p: &mut Printer<'_>, block: BlockId) {
    /// A binding with all that is nested in it.
    #[derive(Clone, Copy, Default)]
    struct Tree {
        /// Where it begins among the bindings.
        start: usize,
        width: usize,
        depth: usize,
        may_nest: bool,
    }
    if p.prim.is_none() || p.options.flat {
        return;
    }
    let f = p.function;
    let bindings = f.bindings(block);
    let mut trees: Vec<Tree> = Vec::with_capacity(bindings.len());
    for at in 0..=bindings.len() {
        let node = bindings.get(at).copied();
        let operands = match node {
            Some(node) => in_text(p, node),
            None => f.results(block).iter().copied().collect(),
        };
        // Blanks, a mark or a name, and parentheses.
        let own = 6 + operands.len();
        let width_of = |id| width(f, id);
        let mut tree =
            Tree { start: at, width: own + operands.iter().map(|&id| width_of(id)).sum::<usize>(), ..Tree::default() };
        for &operand in operands.iter().rev() {
            let Some(before) = tree.start.checked_sub(1) else { break };
            let inner = trees[before];
            let wider = tree.width + inner.width.saturating_sub(width_of(operand));
            if bindings[before] == operand && inner.may_nest && inner.depth < MOST_NESTED && wider <= MOST_WIDTH {
                tree = Tree { start: inner.start, width: wider, depth: tree.depth.max(inner.depth + 1), ..tree };
                if let Some(is_nested) = p.prim.as_mut().and_then(|prim| prim.is_nested.get_mut(operand.index())) {
                    *is_nested = true;
                }
            }
        }
        tree.may_nest = node.is_some_and(|node| may_nest(p, node));
        trees.push(tree);
    }
}
