//! The printer: loop programs. The text is read back as the same bindings; a binding that has no form of its own is printed
//! as in graphs.

mod control;

use super::{
    literal,
    prim::{
        COUNT, PREFIX, PREFIXES, PRIMARY, SCOPES, WEAKEST, default_elem, elem_of, level, partners, scalar_elem, suffix,
    },
    print::{Printer, Types, Work},
    print_node::{self, Header},
};
use crate::{
    ir::*,
    prim::{CoreOp, LoopKind, LoopOps, Made, OUTPUTS, rule},
};
use control::{carried, for_head, items, result, targets};
pub(super) use control::{do_header, end_control, outputs};
use smallvec::SmallVec;
use std::ops::Range;

/// Bindings are nested no deeper.
const MOST_NESTED: usize = 64;
/// Bindings are nested as long as the expression has about that many characters.
const MOST_WIDTH: usize = 100;

/// The facts about the bindings of a loop program.
pub(super) struct Prim {
    ops: LoopOps,
    /// By node, how often it is used.
    uses: Vec<u32>,
    /// By node, whether it is nested in the binding that uses it.
    is_nested: Vec<bool>,
}

/// How a binding is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form<'a> {
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

impl Prim {
    pub fn of(f: &Function) -> Self {
        Self { ops: LoopOps::new(f), uses: use_counts(f), is_nested: vec![false; f.n_nodes()] }
    }

    /// As much as one node on its own needs.
    pub fn of_one(f: &Function) -> Self {
        Self { ops: LoopOps::new(f), uses: Vec::new(), is_nested: Vec::new() }
    }

    fn uses(&self, id: NodeId) -> u32 {
        self.uses.get(id.index()).copied().unwrap_or(0)
    }

    fn is_nested(&self, id: NodeId) -> bool {
        self.is_nested.get(id.index()) == Some(&true)
    }
}

/// How often each node is used. Each function is visited once: a broken one may contain itself.
fn use_counts(f: &Function) -> Vec<u32> {
    let mut uses = vec![0u32; f.n_nodes()];
    let mut is_seen = vec![false; f.n_nodes()];
    let mut functions = vec![f.root()];
    while let Some(function) = functions.pop() {
        if f.kind(function) != kind::FUNCTION || std::mem::replace(&mut is_seen[function.index()], true) {
            continue;
        }
        let block = f.block_of(function);
        for &id in f.bindings(block) {
            match f.kind(id) {
                kind::FUNCTION => functions.push(id),
                _ => f.operands(id).iter().for_each(|operand| uses[operand.index()] += 1),
            }
            functions.extend(f.regions(id));
        }
        f.results(block).iter().for_each(|result| uses[result.index()] += 1);
    }
    uses
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

// ---- forms ------------------------------------------------------------------------------------------------------------

/// The values among a node's operands: not the callee, and not the functions. Empty for what no builder makes.
fn args(f: &Function, id: NodeId) -> &[NodeId] {
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
fn is_plain(f: &Function, id: NodeId) -> bool {
    match f.kind(id) {
        kind::ABSENT | kind::OP | kind::GLOBAL_VAR => false,
        kind::IMM => f.imm(id).is_some(),
        other => other < kind::FIRST_LEAF,
    }
}

fn form<'a>(p: &Printer<'a>, id: NodeId) -> Form<'a> {
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
fn made(p: &Printer<'_>, id: NodeId) -> Option<Made> {
    let f = p.function;
    let is_sound = match f.kind(id) {
        kind::CALL => f.operands(id).len() > f.n_regions(id),
        kind::IF => print_node::is_plain_if(f, id) && f.regions(id).iter().all(|&id| f.kind(id) == kind::FUNCTION),
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
fn is_effect(p: &Printer<'_>, id: NodeId) -> bool {
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

// ---- nesting ----------------------------------------------------------------------------------------------------------

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

// ---- operands ---------------------------------------------------------------------------------------------------------

/// The text of an operand, counted over all operands of its user.
pub(super) fn operand(p: &mut Printer<'_>, user: NodeId, at: usize, least: u8) {
    nested_operand(p, user, at, least, 0);
}

fn nested_operand(p: &mut Printer<'_>, user: NodeId, at: usize, least: u8, depth: usize) {
    let id = p.function.operands(user)[at];
    let Some(prim) = &p.prim else { return p.value(id) };
    if let Some(imm) = p.function.imm(id) {
        let has_suffix = has_suffix(p.function, prim, user, at, imm);
        return number(&mut p.out, imm, has_suffix);
    }
    // In a broken function, depth could be without a bound.
    match prim.is_nested(id) && depth <= MOST_NESTED {
        true => expression(p, id, form(p, id), least, depth + 1),
        false => p.value(id),
    }
}

/// Whether an immediate would be read with another element type without a suffix.
fn has_suffix(f: &Function, prim: &Prim, user: NodeId, at: usize, imm: Imm) -> bool {
    let is_default = |imm: Imm| imm.elem() == default_elem(imm.elem());
    let first = usize::from(f.kind(user) == kind::CALL);
    let args = args(f, user);
    let range = match prim.ops.of(f, user) {
        Some(op) => partners(op, at - first, args.len()),
        None => 0..0,
    };
    let partners = args.get(range).unwrap_or_default();
    match partners.iter().find_map(|&id| elem_of(f, id)) {
        Some(elem) => imm.elem() != elem,
        None => !is_default(imm) || partners.iter().any(|&id| f.imm(id).is_some_and(|imm| !is_default(imm))),
    }
}

/// A number, as a literal.
fn number(out: &mut String, imm: Imm, has_suffix: bool) {
    let start = out.len();
    let n_bytes = imm.elem().bits().div_ceil(8) as usize;
    literal::element(out, imm.elem(), &imm.bits().to_le_bytes()[..n_bytes]);
    let suffix = suffix(imm.elem());
    if !has_suffix || suffix.is_empty() {
        return;
    }
    if !out[start..].contains(['n', 'i']) {
        return out.push_str(suffix);
    }
    let end = out[start..].find('(').map_or(out.len(), |at| start + at);
    out.insert_str(end, &format!("_{suffix}"));
}

/// An immediate where nothing gives it a type, or a type with this element type does.
pub(super) fn immediate(p: &mut Printer<'_>, id: NodeId, wanted: Option<ElemType>) {
    if let Some(imm) = p.function.imm(id) {
        number(&mut p.out, imm, imm.elem() != wanted.unwrap_or(default_elem(imm.elem())));
    }
}

/// The tuple of a projection. `%b[0]` of memory would be its element.
pub(super) fn tuple_of_item(p: &mut Printer<'_>, tuple: NodeId) {
    let f = p.function;
    let is_value = is_plain(f, tuple) && f.kind(tuple) != kind::IMM;
    match &p.prim {
        Some(prim) if !is_value || prim.ops.is_memory(f, tuple) => {
            p.out.push('(');
            p.value(tuple);
            p.out.push(')');
        }
        _ => p.value(tuple),
    }
}

/// The operands from one on, separated by commas.
fn list(p: &mut Printer<'_>, user: NodeId, range: Range<usize>, depth: usize) {
    for at in range.clone() {
        p.out.push_str(if at > range.start { ", " } else { "" });
        nested_operand(p, user, at, WEAKEST, depth);
    }
}

/// An expression without functions; in parentheses if it binds more weakly than its place asks for.
fn expression(p: &mut Printer<'_>, id: NodeId, form: Form<'_>, least: u8, depth: usize) {
    let f = p.function;
    let n_operands = f.operands(id).len();
    let level = match form {
        Form::Infix(_, level) => level,
        Form::Prefix(_) => PREFIX,
        _ => PRIMARY,
    };
    if level < least {
        p.out.push('(');
    }
    match form {
        Form::Infix(mark, level) => {
            nested_operand(p, id, 1, level, depth);
            literal::push(&mut p.out, format_args!(" {mark} "));
            nested_operand(p, id, 2, level + 1, depth);
        }
        Form::Prefix(mark) => {
            p.out.push(char::from(mark));
            nested_operand(p, id, 1, PRIMARY, depth);
        }
        Form::Load => {
            nested_operand(p, id, 1, PRIMARY, depth);
            p.out.push('[');
            list(p, id, 2..n_operands, depth);
            p.out.push(']');
        }
        Form::Cast(elem) => {
            literal::push(&mut p.out, format_args!("{elem}("));
            list(p, id, 1..n_operands, depth);
            p.out.push(')');
        }
        Form::Alloc => alloc(p, id),
        Form::Call(op) => call(p, id, op, depth),
        Form::Store => call(p, id, CoreOp::Store, depth),
        Form::General | Form::For | Form::While | Form::When => p.value(id),
    }
    if level < least {
        p.out.push(')');
    }
}

fn call(p: &mut Printer<'_>, id: NodeId, op: CoreOp, depth: usize) {
    literal::push(&mut p.out, format_args!("{}(", op.name()));
    list(p, id, 1..p.function.operands(id).len(), depth);
    print_node::regions(p, id, &mut Vec::new());
}

fn alloc(p: &mut Printer<'_>, id: NodeId) {
    let f = p.function;
    let attrs = f.attrs(id);
    let text = |name| match attrs.get(name) {
        Some(AttrValue::String(text)) => std::str::from_utf8(text).ok(),
        _ => None,
    };
    p.out.push_str("alloc ");
    if let Some(scope) = text("scope") {
        literal::push(&mut p.out, format_args!("{scope} "));
    }
    literal::push(&mut p.out, format_args!("{}[", text("elem").unwrap_or_default()));
    if let Some(AttrValue::Ints(sizes)) = attrs.get("shape") {
        for (at, size) in sizes.ints().enumerate() {
            literal::push(&mut p.out, format_args!("{}{size}", if at > 0 { ", " } else { "" }));
        }
    }
    p.out.push(']');
}

// ---- statements -------------------------------------------------------------------------------------------------------

/// A statement from its name on up to its first function, or the end of a block.
pub(super) fn binding(p: &mut Printer<'_>, block: BlockId, at: usize, header: Header, work: &mut Vec<Work>) {
    let bindings = p.function.bindings(block);
    let is_nested = |&&id: &&NodeId| p.prim.as_ref().is_some_and(|prim| prim.is_nested(id));
    let at = at + bindings[at.min(bindings.len())..].iter().take_while(is_nested).count();
    let Some(&node) = bindings.get(at) else {
        return result(p, block, header);
    };
    p.line();
    p.choose_name(node);
    let form = form(p, node);
    let items = items(p, block, at);
    work.push(Work::Bindings(block, items.end, header));
    let before = work.len();
    let is_control = matches!(form, Form::For | Form::While | Form::When) || !items.is_empty();
    work.push(if is_control { Work::EndControl(node, block, items.clone()) } else { Work::End(node) });
    if !items.is_empty() {
        targets(p, node, &bindings[items]);
    } else if !is_effect(p, node) {
        print_node::target(p, node);
    }
    right_side(p, node, form, work);
    // The pieces were pushed in the order of the text.
    work[before + 1..].reverse();
}

/// One node on one line, without blocks.
pub(super) fn line(p: &mut Printer<'_>, node: NodeId) {
    if p.function.kind(node) == kind::IMM {
        return p.value(node);
    }
    let form = form(p, node);
    if !is_effect(p, node) {
        print_node::target(p, node);
    }
    let mut work = Vec::new();
    right_side(p, node, form, &mut work);
    for piece in work {
        match piece {
            Work::Text(text) => p.out.push_str(&text),
            Work::Function(_, Header::Do(_)) => p.out.push_str(" do {…}"),
            _ => p.out.push_str(" {…}"),
        }
    }
    match form {
        Form::For | Form::While | Form::When => print_node::metadata(p, node, &[]),
        _ => print_node::tail(p, node),
    }
}

/// A right-hand side; its functions and the text between them are added in the order of the text.
fn right_side(p: &mut Printer<'_>, node: NodeId, form: Form<'_>, work: &mut Vec<Work>) {
    let f = p.function;
    let regions = f.regions(node);
    match form {
        Form::General => {
            print_node::expression(p, node);
            print_node::regions(p, node, work);
        }
        Form::For => {
            for_head(p, node);
            work.push(Work::Function(regions[0], Header::Block(1)));
        }
        Form::While => {
            p.out.push_str("while");
            carried(p, node, f.operands(regions[0]), 1);
            work.push(Work::Function(regions[0], Header::Block(usize::MAX)));
            work.push(Work::Function(regions[1], Header::Do(regions[0])));
        }
        Form::When => {
            p.out.push_str("when (");
            operand(p, node, 1, WEAKEST);
            p.out.push(')');
            work.push(Work::Function(regions[0], Header::Block(0)));
            if let Some(&otherwise) = regions.get(1) {
                work.push(Work::Text(" else".to_owned()));
                work.push(Work::Function(otherwise, Header::Block(0)));
            }
        }
        Form::Store if is_effect(p, node) => {
            operand(p, node, 1, PRIMARY);
            p.out.push('[');
            list(p, node, 3..f.operands(node).len(), 0);
            p.out.push_str("] = ");
            operand(p, node, 2, WEAKEST);
        }
        _ => expression(p, node, form, WEAKEST, 0),
    }
}
