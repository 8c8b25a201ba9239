//! The right side of a rule, at a match.

use super::{
    compile::{Compiled, Made, Program, Set},
    condition::View,
    constant,
    search::{Bound, Known, Match},
};
use crate::{boundary::record::formal_kind, infer::contradiction, ir::*, op::OpSchema, rewrite::RewriteCx};
use relais_patterns::Number;
use smallvec::SmallVec;

/// Values that are made, or stand for a variable.
type Values = SmallVec<[NodeId; 4]>;

impl Made<'_> {
    /// The values of a match that it uses.
    pub fn nodes(&self, found: &Match, nodes: &mut Vec<NodeId>) {
        match self {
            Self::Var(slot) | Self::Rest(slot) => match found.bound[*slot] {
                Bound::Node(id) => nodes.push(id),
                Bound::Rest(first, n) => nodes.extend(found.rest(first, n)),
                _ => {}
            },
            Self::Call { args, .. } | Self::Like { args, .. } => args.iter().for_each(|arg| arg.nodes(found, nodes)),
            Self::Absent | Self::Numbers { .. } => {}
        }
    }
}

/// A match whose right side is made.
#[derive(Clone, Copy)]
pub(super) struct Maker<'m> {
    pub program: &'m Program<'m>,
    pub known: &'m Known,
    pub rule: &'m Compiled<'m>,
    pub found: &'m Match,
}

impl Maker<'_> {
    /// Makes what takes the place of the results of a call.
    ///
    /// # Errors
    /// Returns why it cannot be made, or cannot take their place.
    pub fn results(&self, call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Result<Values, String> {
        let f = cx.function();
        let n_results = call.n_results();
        let old = |index: usize| match (n_results, f.type_of(call.id)) {
            (None, _) => f.type_id(call.id),
            (Some(_), Type::Tuple(fields)) => fields.get(index).copied().unwrap_or(TypeId::UNKNOWN),
            _ => TypeId::UNKNOWN,
        };
        let (has, makes) = (n_results.unwrap_or(1), self.rule.results.len());
        if makes > has {
            return Err(format!("the call has {has} results, and the right side {makes}"));
        }
        let mut results = Values::new();
        for (index, made) in self.rule.results.iter().enumerate() {
            let new = match made {
                Made::Absent => NodeId::ABSENT,
                Made::Numbers { values, is_list } => full(values, *is_list, old(index), cx)?,
                _ => match self.make(made, cx)?.as_slice() {
                    &[one] if !one.is_absent() => one,
                    _ => return Err("a result is not one value".to_owned()),
                },
            };
            if let (false, Some(why)) = (new.is_absent(), contradiction(f.ty(old(index)), cx.type_of(new))) {
                return Err(format!("the right side is of another type: {why}"));
            }
            results.push(new);
        }
        results.resize(has, NodeId::ABSENT);
        Ok(results)
    }

    /// Makes the values that a part of the right side stands for.
    fn make(&self, made: &Made<'_>, cx: &mut RewriteCx<'_>) -> Result<Values, String> {
        Ok(match made {
            Made::Var(slot) | Made::Rest(slot) => match self.found.bound[*slot] {
                Bound::Node(id) => Values::from_slice(&[id]),
                Bound::Rest(first, n) => Values::from_slice(self.found.rest(first, n)),
                Bound::Absent => Values::from_slice(&[NodeId::ABSENT]),
                Bound::Attr(_) | Bound::Nothing => {
                    return Err(format!("`{}` is not a value", self.rule.slots[*slot]));
                }
            },
            Made::Absent => Values::from_slice(&[NodeId::ABSENT]),
            Made::Numbers { .. } => return Err("a number is not an argument here".to_owned()),
            Made::Call { symbol, attrs, args } => {
                let symbol = &self.program.symbols[*symbol];
                let attrs = self.attrs(attrs, symbol.schema.as_ref(), cx)?;
                let args = self.args(args, symbol.schema.as_ref(), cx)?;
                Values::from_slice(&[cx.call_in(symbol.domain.clone(), symbol.name.clone(), &args, attrs)])
            }
            Made::Like { call, attrs, args } => {
                let named = match self.found.bound[*call] {
                    Bound::Node(id) => cx.call_of(id),
                    _ => None,
                };
                let named = named.filter(|call| call.n_results().is_none());
                let named = named.ok_or_else(|| format!("`{}` is one of several results", self.rule.slots[*call]))?;
                let symbol = named.op().and_then(|op| self.known.infos.get(op.index())?.symbol);
                let schema = symbol.and_then(|symbol| self.program.symbols[symbol].schema.as_ref());
                let attrs = self.attrs(attrs, schema, cx)?;
                let args = self.args(args, schema, cx)?;
                Values::from_slice(&[cx.call_like(named, &args, attrs)])
            }
        })
    }

    fn attrs(&self, sets: &[Set<'_>], schema: Option<&OpSchema>, cx: &RewriteCx<'_>) -> Result<Vec<Attr>, String> {
        let view = View { cx, known: self.known, rule: self.rule, found: self.found };
        let attr = |Set { value, setting }: &Set<'_>| {
            let key = &setting.key.text;
            let kind = schema.and_then(|schema| schema.attr(key)).map_or(0, |attr| attr.kind);
            let value = view.eval(value).and_then(|value| value.into_owned().into_data(kind));
            let value = value.map_err(|why| format!("`{setting}` cannot be computed: {}", why.say(self.rule)))?;
            Ok(Attr { name: key.clone().into(), value, flags: 0 })
        };
        sets.iter().map(attr).collect()
    }

    /// Makes the arguments of a call: first those whose element types decide about those of numbers.
    fn args(&self, made: &[Made<'_>], schema: Option<&OpSchema>, cx: &mut RewriteCx<'_>) -> Result<Values, String> {
        let mut args = Values::new();
        let mut literals: SmallVec<[(usize, &[Number], bool); 2]> = SmallVec::new();
        for arg in made {
            if let Made::Numbers { values, is_list } = arg {
                literals.push((args.len(), values, *is_list));
                args.push(NodeId::ABSENT);
            } else {
                args.extend(self.make(arg, cx)?);
            }
        }
        let literal_places: SmallVec<[usize; 2]> = literals.iter().map(|(at, ..)| *at).collect();
        for (at, values, is_list) in literals {
            let elem = literal_type(at, &args, &literal_places, values, cx, schema)?;
            let dims: &[u64] = if is_list { &[values.len() as u64] } else { &[] };
            let tensor = constant::tensor(elem, dims, values).ok_or_else(|| cannot_hold(elem))?;
            args[at] = cx.constant(tensor);
        }
        while args.last().is_some_and(|arg| arg.is_absent()) {
            args.pop();
        }
        Ok(args)
    }
}

/// Makes the constant that takes the place of a value of a type: its elements are a number, or those of a vector.
fn full(values: &[Number], is_list: bool, old: TypeId, cx: &mut RewriteCx<'_>) -> Result<NodeId, String> {
    let ty = cx.function().ty(old);
    let elem = ty.elem().ok_or("the element type of the replaced value is not known")?;
    let sizes = ty.shape().and_then(|shape| shape.iter().map(|&dim| Dim::from(dim).known()).collect());
    let dims: Vec<u64> = sizes.ok_or("the sizes of the replaced value are not known")?;
    let tensor = if is_list {
        constant::tensor(elem, &[values.len() as u64], values).ok_or_else(|| cannot_hold(elem))?
    } else {
        let one = constant::tensor(elem, &[], values).ok_or_else(|| cannot_hold(elem))?;
        Tensor::splat(elem, &dims, &one.to_bytes()).map_err(|error| error.to_string())?
    };
    Ok(cx.constant(tensor))
}

fn cannot_hold(elem: ElemType) -> String {
    format!("the right side has a number that `{elem}` cannot hold")
}

/// The element type of a number that is argument `at`.
fn literal_type(
    at: usize,
    args: &[NodeId],
    literals: &[usize],
    values: &[Number],
    cx: &RewriteCx<'_>,
    schema: Option<&OpSchema>,
) -> Result<ElemType, String> {
    let has_float = values.iter().any(|value| matches!(value, Number::Float(_)));
    let written = if has_float { ElemType::FLOAT } else { ElemType::INT64 };
    let Some((schema, formal)) = schema.and_then(|schema| Some((schema, schema.formal_input(at)?))) else {
        return Ok(written);
    };
    let mut is_shared = false;
    for (other, &arg) in args.iter().enumerate().filter(|(_, arg)| !arg.is_absent()) {
        let is_same = schema.formal_input(other).is_some_and(|other| other.var == formal.var);
        if other == at || literals.contains(&other) || !is_same || formal.kind == formal_kind::MIXED {
            continue;
        }
        if let Some(elem) = cx.type_of(arg).elem() {
            return Ok(elem);
        }
        is_shared = true;
    }
    match schema.type_var(&formal.var).map(|var| var.tensors.as_slice()) {
        Some(&[only]) => Ok(only),
        _ if is_shared => Err("the element type of the other arguments is not known, nor that of a number".to_owned()),
        Some(allowed) if !allowed.is_empty() && !allowed.contains(&written) => {
            Err(format!("a number on the right side is of `{written}`, which the operator does not take"))
        }
        _ => Ok(written),
    }
}
