//! The right side of a rule, at a match.

use super::{
    condition::View,
    constant,
    found::{Bound, Known, Match, Root, Values},
    program::{Calc, Compiled, Made, Program, Set},
};
use crate::{
    op::{OpSchema, tags::formal_kind},
    relations::Operators,
    rewrite::{Replacements, Rewrite, RewriteCx},
};
use relais_ir::*;
use relais_patterns::{NewValue, Number};
use smallvec::SmallVec;

/// Lends the facts about the operators of a function.
pub type WithOperators<'c> = dyn Fn(&Function, &mut dyn FnMut(&mut dyn Operators)) + 'c;

impl Made<'_> {
    /// The values of a match that it uses.
    pub fn nodes(&self, found: &Match, nodes: &mut Values) {
        match self {
            Self::Var(slot) | Self::Rest(slot) => match found.bound[*slot] {
                Bound::Node(id) => nodes.push(id),
                Bound::Rest(first, n) => nodes.extend_from_slice(found.rest(first, n)),
                _ => {}
            },
            Self::Call { args, .. } | Self::Like { args, .. } => args.iter().for_each(|arg| arg.nodes(found, nodes)),
            // The elements of constants, not the constants.
            Self::Absent | Self::Numbers { .. } | Self::Eval { .. } => {}
        }
    }
}

/// The most bytes that a computed constant may take beyond those of the constants that it replaces: as many as where
/// constants are folded.
const GROWTH: u64 = 4096;

/// A computation of a constant.
struct Eval<'e> {
    budget: u64,
    shown: &'e NewValue,
}

/// A match whose right side is made.
#[derive(Clone, Copy)]
pub(super) struct Maker<'m> {
    pub compute: &'m WithOperators<'m>,
    pub program: &'m Program<'m>,
    pub known: &'m Known,
    pub rule: &'m Compiled<'m>,
    pub found: &'m Match,
}

impl Maker<'_> {
    /// Makes what takes the place of the outermost calls.
    ///
    /// # Errors
    /// Returns why it cannot be made, or cannot take their place.
    pub fn rewrite(&self, call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Result<Rewrite, String> {
        if self.found.roots.is_empty() {
            let results = self.results(call, cx)?;
            return Ok(match call.n_results() {
                None => Rewrite::Replace(results[0]),
                Some(_) => Rewrite::ReplaceResults(results.into_vec()),
            });
        }
        Ok(Rewrite::ReplaceCalls(Replacements { calls: self.several(cx)?, moved: self.found.moved.clone() }))
    }

    /// Makes a value for each result of the outermost calls, of which the first is the call that was offered.
    fn several(&self, cx: &mut RewriteCx<'_>) -> Result<Vec<(NodeId, Vec<NodeId>)>, String> {
        let roots = &self.found.roots;
        let f = cx.function();
        let together = match self.rule.results.as_slice() {
            [Made::Call { symbol, attrs, args }] => {
                let symbol = &self.program.symbols[*symbol];
                let attrs = self.attrs(attrs, symbol.schema.as_deref(), cx)?;
                let args = self.args(args, symbol.schema.as_deref(), cx)?;
                let (domain, name) = (symbol.domain.clone(), symbol.name.clone());
                Some(cx.call_results_in(domain, name, &args, attrs, roots.len() as u16))
            }
            _ => None,
        };
        let mut all = Vec::with_capacity(roots.len());
        for &Root { root, call, value } in roots {
            let new = match &together {
                Some(results) => results[root],
                None => self.result(&self.rule.results[root], (value, f.type_id(value)), cx)?,
            };
            if let Some(why) = contradiction(f.type_of(value), cx.type_of(new)) {
                return Err(format!("the right side is of another type: {why}"));
            }
            let by = match f.expr(value) {
                Expr::TupleGetItem { index, .. } if value != call => {
                    let n_results = f.n_results(call).unwrap_or(0).max(index + 1);
                    let mut by = vec![NodeId::ABSENT; n_results];
                    by[index] = new;
                    by
                }
                _ => vec![new],
            };
            all.push((call, by));
        }
        Ok(all)
    }

    /// Makes what takes the place of a value, or of a call's result, of a type.
    fn result(
        &self,
        made: &Made<'_>,
        (value, old): (NodeId, TypeId),
        cx: &mut RewriteCx<'_>,
    ) -> Result<NodeId, String> {
        match made {
            Made::Numbers { values, shown } if self.rule.is_prim => {
                let ty = cx.function().ty(old);
                let elem = ty.elem().ok_or("the element type of the replaced value is not known")?;
                let number = constant::tensor(elem, &[], &self.numbers(values, shown, cx)?);
                let number = number.as_ref().and_then(constant::imm).ok_or_else(|| cannot_hold(elem))?;
                Ok(cx.number(number, value))
            }
            Made::Numbers { values, shown } => full(&self.numbers(values, shown, cx)?, is_list(shown), old, cx),
            _ => match self.make(made, cx)?.as_slice() {
                &[one] if !one.is_absent() => Ok(one),
                _ => Err("a result is not one value".to_owned()),
            },
        }
    }

    /// Computes the elements of a constant.
    fn numbers(&self, values: &[Calc], shown: &NewValue, cx: &RewriteCx<'_>) -> Result<Vec<Number>, String> {
        let view = View { cx, known: self.known, rule: self.rule, found: self.found };
        let number = |calc: &Calc| view.number(calc);
        let numbers: Result<Vec<Number>, _> = values.iter().map(number).collect();
        numbers.map_err(|why| format!("`{shown}` cannot be computed: {}", why.say(self.rule)))
    }

    /// Makes what takes the place of the results of a call.
    fn results(&self, call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Result<Values, String> {
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
                made => self.result(made, (call.id, old(index)), cx)?,
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
                let (symbol, callee) = (&self.program.symbols[*symbol], self.known.callees[*symbol]);
                let attrs = self.attrs(attrs, symbol.schema.as_deref(), cx)?;
                let args = self.args(args, symbol.schema.as_deref(), cx)?;
                Values::from_slice(&[match callee {
                    Some(callee) => cx.call_same(callee, &args, attrs),
                    None => cx.call_in(symbol.domain.clone(), symbol.name.clone(), &args, attrs),
                }])
            }
            Made::Eval { call, shown } => {
                let eval = Eval { budget: GROWTH.saturating_add(self.freed(call, cx)), shown };
                Values::from_slice(&[self.eval(call, &eval, cx)?])
            }
            Made::Like { call, attrs, args } => {
                let named = match self.found.bound[*call] {
                    Bound::Node(id) => cx.call_of(id),
                    _ => None,
                };
                let named = named.filter(|call| call.n_results().is_none());
                let named = named.ok_or_else(|| format!("`{}` is one of several results", self.rule.slots[*call]))?;
                let symbol = named.op().and_then(|op| self.known.infos.get(op.index())?.symbol);
                let schema = symbol.and_then(|symbol| self.program.symbols[symbol].schema.as_deref());
                let attrs = self.attrs(attrs, schema, cx)?;
                let args = self.args(args, schema, cx)?;
                Values::from_slice(&[cx.call_like(named, &args, attrs)])
            }
        })
    }

    /// Returns the bytes of the constants in a call that nothing else uses.
    fn freed(&self, made: &Made<'_>, cx: &RewriteCx<'_>) -> u64 {
        match made {
            Made::Var(slot) => match self.found.bound[*slot] {
                Bound::Node(id) if self.known.n_live_uses(id, cx.n_uses(id)) <= 1 => {
                    cx.tensor(id).map_or(0, constant::stored_bytes)
                }
                _ => 0,
            },
            Made::Call { args, .. } => args.iter().map(|arg| self.freed(arg, cx)).fold(0, u64::saturating_add),
            Made::Eval { call, .. } => self.freed(call, cx),
            _ => 0,
        }
    }

    /// Makes the constant that a call of constants gives.
    fn eval(&self, made: &Made<'_>, eval: &Eval<'_>, cx: &mut RewriteCx<'_>) -> Result<NodeId, String> {
        let Made::Call { symbol, attrs, args } = made else { return Err("only calls are computed".to_owned()) };
        let symbol = &self.program.symbols[*symbol];
        let mark = cx.mark();
        let attrs = self.attrs(attrs, symbol.schema.as_deref(), cx)?;
        let args = self.args(args, symbol.schema.as_deref(), cx)?;
        let call = cx.call_in(symbol.domain.clone(), symbol.name.clone(), &args, attrs);
        let value = cx.closed(call).and_then(|(f, call, inputs)| self.compute(&f, call, &inputs, eval.budget));
        let value = value.map_err(|why| format!("`eval({})` is not computed: {why}", eval.shown))?;
        cx.undo(mark);
        Ok(cx.constant(value))
    }

    /// Computes a call of constants.
    ///
    /// # Errors
    /// Returns why it is not computed, or is too large.
    fn compute(&self, f: &Function, call: NodeId, inputs: &[Option<Tensor>], budget: u64) -> Result<Tensor, String> {
        let op = f.call(call).and_then(CallView::op).ok_or("it is not a call of an operator")?;
        let mut values = None;
        (self.compute)(f, &mut |ops| values = ops.evaluate(op, f, call, inputs, budget));
        let values = values.ok_or("the operator has no evaluator")?;
        let value = values.map_err(|error| error.to_string())?.into_iter().next().ok_or("it has no result")?;
        match constant::stored_bytes(&value) {
            size if size > budget => Err(format!("it takes {size} bytes, and may take {budget}")),
            _ => Ok(value),
        }
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
        let mut literals: SmallVec<[(usize, Vec<Number>, bool); 2]> = SmallVec::new();
        for arg in made {
            if let Made::Numbers { values, shown } = arg {
                literals.push((args.len(), self.numbers(values, shown, cx)?, is_list(shown)));
                args.push(NodeId::ABSENT);
            } else {
                args.extend(self.make(arg, cx)?);
            }
        }
        let literal_places: SmallVec<[usize; 2]> = literals.iter().map(|(at, ..)| *at).collect();
        for (at, values, is_list) in literals {
            let (elem, like) = literal_type(at, &args, &literal_places, &values, cx, schema)?;
            let dims: &[u64] = if is_list { &[values.len() as u64] } else { &[] };
            let tensor = constant::tensor(elem, dims, &values).ok_or_else(|| cannot_hold(elem))?;
            args[at] = match self.rule.is_prim {
                true => cx.number(constant::imm(&tensor).ok_or_else(|| cannot_hold(elem))?, like),
                false => cx.constant(tensor),
            };
        }
        while args.last().is_some_and(|arg| arg.is_absent()) {
            args.pop();
        }
        Ok(args)
    }
}

/// Whether a constant is a vector.
fn is_list(shown: &NewValue) -> bool {
    matches!(shown, NewValue::List(..))
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

/// The element type of a number that is argument `at`, and another argument of the same type if there is one.
fn literal_type(
    at: usize,
    args: &[NodeId],
    literals: &[usize],
    values: &[Number],
    cx: &RewriteCx<'_>,
    schema: Option<&OpSchema>,
) -> Result<(ElemType, NodeId), String> {
    let has_float = values.iter().any(|value| matches!(value, Number::Float(_)));
    let written = if has_float { ElemType::FLOAT } else { ElemType::INT64 };
    let Some((schema, formal)) = schema.and_then(|schema| Some((schema, schema.formal_input(at)?))) else {
        return Ok((written, NodeId::ABSENT));
    };
    let mut is_shared = false;
    for (other, &arg) in args.iter().enumerate().filter(|(_, arg)| !arg.is_absent()) {
        let is_same = schema.formal_input(other).is_some_and(|other| other.var == formal.var);
        if other == at || literals.contains(&other) || !is_same || formal.kind == formal_kind::MIXED {
            continue;
        }
        if let Some(elem) = cx.type_of(arg).elem() {
            return Ok((elem, arg));
        }
        is_shared = true;
    }
    let elem = match schema.type_var(&formal.var).map(|var| var.tensors.as_slice()) {
        Some(&[only]) => Ok(only),
        _ if is_shared => Err("the element type of the other arguments is not known, nor that of a number".to_owned()),
        Some(allowed) if !allowed.is_empty() && !allowed.contains(&written) => {
            Err(format!("a number on the right side is of `{written}`, which the operator does not take"))
        }
        _ => Ok(written),
    };
    Ok((elem?, NodeId::ABSENT))
}
