//! Loop programs on which a rewrite rule applies: instances of its left side, on values of all kinds.

use super::{Miss, theme::Theme};
use crate::{
    asked::{asked, elem_asked, numbers_asked, satisfies},
    random::Random,
};
use relais_patterns::{
    ArgPattern, AttrWanted, CallPattern, Comparison, Computation, Literal, Name, Number, Rule, Sort, variables,
};
use relais_plugin_api::{
    infer::{Checking, Typing},
    ir::{Attr, AttrData, Dim, ElemType, Function, IRModule, Imm, NodeId, Tensor, attr_kind, verify},
    op::{AttrFacts, OpSchema},
    prim::{CoreFacts, CoreOp, DOMAIN, PrimBuilder, RunOptions, prim_func, run},
};
use std::{collections::BTreeMap, sync::Arc};

/// The element types of most values, the likely ones more than once.
const ELEMS: [ElemType; 12] = [
    ElemType::FLOAT,
    ElemType::FLOAT,
    ElemType::FLOAT,
    ElemType::DOUBLE,
    ElemType::FLOAT16,
    ElemType::BFLOAT16,
    ElemType::INT64,
    ElemType::INT64,
    ElemType::INT32,
    ElemType::INT8,
    ElemType::UINT8,
    ElemType::BOOL,
];

/// The name of the loop program.
const NAME: &str = "k";

/// The most turns, and the elements of memory: enough for the lanes of the last turn.
const MOST_TURNS: u64 = 8;
const SIZE: u64 = 64;

/// The most steps of an instance: it has no loops of its own.
const FUEL: u64 = 1 << 16;

/// Makes an instance of a rule's left side that runs to its end.
pub(super) fn instance(rule: &Rule, random: &mut Random) -> Result<IRModule, Miss> {
    let mut facts = CoreFacts::default();
    let n_roots = 1 + rule.others.len();
    let outputs: Vec<String> = (0..n_roots).map(|at| format!("y{at}")).collect();
    let outputs: Vec<(&str, ElemType, &[u64])> =
        outputs.iter().map(|name| (name.as_str(), ElemType::FLOAT, [SIZE].as_slice())).collect();
    let mut f = prim_func(&[], &outputs);
    let params = f.params().to_vec();
    let mut maker = Maker::new(rule, random, &mut facts);
    // One turn is not ended by the values of another one.
    let n_turns = if maker.random.below(2) == 0 { 1 } else { MOST_TURNS };
    let mut builder = PrimBuilder::new(&mut f);
    let extent = builder.index(n_turns as i64);
    let mut is_made = Err(Miss::Unfit);
    builder.each(extent, |b, turn| is_made = maker.body(b, turn, &params));
    let finished = builder.finish();
    is_made?;
    finished.map_err(|_| Miss::Unfit)?;
    let mut module = IRModule::new();
    module.set_prim_func(NAME, f);
    let options = RunOptions { fuel: FUEL, ..RunOptions::default() };
    match verify(&module).is_empty() && run(&module, NAME, &[], &options).is_ok() {
        true => Ok(module),
        false => Err(Miss::Unfit),
    }
}

/// The meaning of a variable in an instance.
#[derive(Clone)]
enum Bound {
    Value(NodeId),
    Attr(AttrData),
}

struct Maker<'m> {
    rule: &'m Rule,
    random: &'m mut Random,
    facts: &'m mut CoreFacts,
    /// The element type of most values.
    elem: ElemType,
    theme: Theme,
    /// The lanes of values, if they are vectors.
    lanes: Option<i64>,
    turn: NodeId,
    bound: BTreeMap<String, Bound>,
}

/// A part of a call, if it can be made.
type Made<T> = Result<T, Miss>;

impl<'m> Maker<'m> {
    fn new(rule: &'m Rule, random: &'m mut Random, facts: &'m mut CoreFacts) -> Self {
        let elem = ELEMS[random.below(ELEMS.len() as u64) as usize];
        let theme = Theme::any(random);
        let lanes = (random.below(4) == 0).then(|| 2 + random.below(3) as i64);
        Self { rule, random, facts, elem, theme, lanes, turn: NodeId::ABSENT, bound: BTreeMap::new() }
    }

    fn body(&mut self, b: &mut PrimBuilder<'_>, turn: NodeId, outputs: &[NodeId]) -> Made<()> {
        self.turn = turn;
        let mut values = vec![NodeId::ABSENT; outputs.len()];
        if self.rule.others.is_empty() {
            let root = self.random.below(self.rule.patterns.len() as u64) as usize;
            values[0] = self.call(b, &self.rule.patterns[root])?;
        } else {
            let roots: Vec<&CallPattern> = self.rule.roots().collect();
            let name = |root: &CallPattern| root.bind.as_ref().map(|bind| bind.text.clone());
            let names: Vec<Option<String>> = roots.iter().map(|root| name(root)).collect();
            let uses_root = |root: &CallPattern| {
                let is_root =
                    |arg: &ArgPattern| matches!(arg, ArgPattern::Var(arg) if names.contains(&Some(arg.text.clone())));
                root.args.iter().any(is_root)
            };
            let mut order: Vec<usize> = (0..roots.len()).collect();
            // One that uses another one comes after it.
            order.sort_by_key(|&root| uses_root(roots[root]));
            for at in order {
                values[at] = self.call(b, roots[at])?;
            }
        }
        for (&output, value) in outputs.iter().zip(values) {
            let elem = b.scalar(value).ok_or(Miss::Unfit)?.elem;
            let f = b.function_mut();
            let ty = f.tensor_type(elem, &[Dim::Static(SIZE)]);
            f.set_type(output, ty);
            b.store(output, value, &[turn]);
        }
        Ok(())
    }

    fn schema(&mut self, op: CoreOp) -> Made<Arc<OpSchema>> {
        let id = self.facts.other(&Function::new(), DOMAIN, op.name()).ok_or(Miss::Unfit)?;
        self.facts.schema(id).cloned().ok_or(Miss::Unfit)
    }

    /// Makes a call, and what it is computed from.
    fn call(&mut self, b: &mut PrimBuilder<'_>, call: &CallPattern) -> Made<NodeId> {
        let op = CoreOp::from_name(&call.op.name).filter(|op| op.is_value());
        let unknown = || Miss::NotComputed(format!("`{}` is not an operator on values of loop programs", call.op));
        let op = op.ok_or_else(unknown)?;
        let schema = self.schema(op)?;
        // The element types of the type variables of this call.
        let mut vars: BTreeMap<&str, ElemType> = BTreeMap::new();
        let mut args = Vec::new();
        for (at, arg) in call.args.iter().enumerate() {
            let formal = schema.formal_input(at).ok_or(Miss::Unfit)?;
            let is_made = matches!(arg, ArgPattern::Call(_) | ArgPattern::Either(..));
            let elem = match vars.get(formal.var.as_str()) {
                Some(&elem) => elem,
                // A call has its own.
                None if is_made => self.elem,
                None => self.elem_of(&schema, &formal.var),
            };
            let value = match arg {
                ArgPattern::Any(_) => self.value(b, None, elem)?,
                ArgPattern::Var(name) | ArgPattern::Const { name, .. } | ArgPattern::Optional(name) => {
                    self.variable(b, name, elem)?
                }
                ArgPattern::Number { value, .. } => {
                    let number = imm(elem, *value).ok_or(Miss::Unfit)?;
                    self.number(b, number)
                }
                ArgPattern::Call(inner) => self.call(b, inner)?,
                ArgPattern::Either(either, _) => {
                    let inner = self.random.below(either.len() as u64) as usize;
                    self.call(b, &either[inner])?
                }
                ArgPattern::Absent(_) | ArgPattern::Rest(_) | ArgPattern::List(..) => return Err(Miss::Unfit),
            };
            let elem = b.scalar(value).ok_or(Miss::Unfit)?.elem;
            vars.entry(&formal.var).or_insert(elem);
            args.push(value);
        }
        let mut attrs = Vec::new();
        for facts in &schema.attrs {
            let pattern = call.attrs.iter().find(|attr| attr.key.text == facts.name).map(|attr| &attr.value);
            attrs.push(Attr { name: facts.name.clone().into(), value: self.attr(facts, pattern)?, flags: 0 });
        }
        let value = b.op_with(op, &args, &attrs);
        if let Some(bind) = &call.bind {
            b.function_mut().set_name(value, &bind.text);
            self.bound.insert(bind.text.clone(), Bound::Value(value));
        }
        Ok(value)
    }

    /// An element type for a type variable of an operator.
    fn elem_of(&mut self, schema: &OpSchema, var: &str) -> ElemType {
        let allowed = schema.type_var(var).map_or(&[][..], |var| var.tensors.as_slice());
        if allowed.is_empty() || allowed.contains(&self.elem) {
            return self.elem;
        }
        let usual: Vec<ElemType> = ELEMS.into_iter().filter(|elem| allowed.contains(elem)).collect();
        let among = if usual.is_empty() { allowed } else { &usual };
        let elem = among[self.random.below(among.len() as u64) as usize];
        if self.bound.is_empty() {
            self.elem = elem;
        }
        elem
    }

    /// The value of a variable, made when it is first met.
    fn variable(&mut self, b: &mut PrimBuilder<'_>, name: &Name, elem: ElemType) -> Made<NodeId> {
        match self.bound.get(&name.text) {
            Some(Bound::Value(value)) => return Ok(*value),
            Some(Bound::Attr(_)) => return Err(Miss::Unfit),
            None => {}
        }
        let elem = elem_asked(self.rule, self.random, name, elem);
        let is_const = variables(self.rule).iter().any(|(other, sort)| other.text == name.text && *sort == Sort::Const);
        let value = if is_const {
            let asked = numbers_asked(self.rule, &name.text);
            let mut number = self.element(elem);
            if let Some((_, value)) = asked.iter().find(|(comparison, _)| *comparison == Comparison::Eq) {
                let stated = if value.fract() == 0.0 { Number::Int(*value as i64) } else { Number::Float(*value) };
                number = imm(elem, stated).ok_or(Miss::Unfit)?;
            }
            for _ in 0..16 {
                let value = number.as_float().or(number.as_int().map(|value| value as f64));
                if value.is_none_or(|value| satisfies(&asked, value)) {
                    break;
                }
                number = self.element(elem);
            }
            self.number(b, number)
        } else {
            self.value(b, Some(name), elem)?
        };
        self.bound.insert(name.text.clone(), Bound::Value(value));
        Ok(value)
    }

    /// A value that is not known before the program runs: it is loaded.
    fn value(&mut self, b: &mut PrimBuilder<'_>, name: Option<&Name>, elem: ElemType) -> Made<NodeId> {
        let numbers: Vec<Imm> = (0..MOST_TURNS + 4).map(|_| self.element(elem)).collect();
        let width = elem.bits() as usize / 8;
        let bytes: Vec<u8> =
            numbers.iter().flat_map(|number| number.bits().to_le_bytes().into_iter().take(width)).collect();
        let memory = Tensor::dense(elem, &[numbers.len() as u64], bytes).map_err(|_| Miss::Unfit)?;
        let memory = b.constant(memory);
        let lanes: Vec<Attr> = self.lanes.iter().map(|&lanes| Attr::new("lanes", lanes)).collect();
        let value = b.op_with(CoreOp::Load, &[memory, self.turn], &lanes);
        if let Some(name) = name {
            b.function_mut().set_name(value, &name.text);
        }
        Ok(value)
    }

    /// A number, in each lane of values that are vectors.
    fn number(&mut self, b: &mut PrimBuilder<'_>, number: Imm) -> NodeId {
        let number = b.imm(number);
        match self.lanes {
            None => number,
            Some(lanes) => b.op_with(CoreOp::Broadcast, &[number], &[Attr::new("lanes", lanes)]),
        }
    }

    fn element(&mut self, elem: ElemType) -> Imm {
        let random = &mut *self.random;
        let made = match elem {
            ElemType::BOOL => Some(Imm::bool(random.below(2) == 1)),
            _ if elem.is_float() => {
                let value = match random.below(100) < 60 {
                    true => self.theme.numbers(elem)[random.below(4) as usize],
                    false => (random.below(33) as f64 - 16.0) / 8.0,
                };
                Imm::float(elem, value)
            }
            _ => {
                // Small ones are indices, too.
                let value = match random.below(100) {
                    0..50 => random.below(4) as i64,
                    50..80 => random.below(17) as i64 - 8,
                    80..90 => i64::MIN >> (64 - elem.bits()),
                    _ => (u64::MAX >> (65 - elem.bits())) as i64,
                };
                Imm::int(elem, value)
            }
        };
        made.unwrap_or(Imm::index(0))
    }

    /// The value of an attribute.
    fn attr(&mut self, facts: &AttrFacts, pattern: Option<&AttrWanted>) -> Made<AttrData> {
        let name = match pattern {
            Some(AttrWanted::Literal(Literal::Number(Number::Int(value)))) => return Ok(AttrData::Int(*value)),
            Some(AttrWanted::Literal(Literal::String(value))) => return Ok(AttrData::from(value.as_str())),
            Some(AttrWanted::Literal(_)) => return Err(Miss::Unfit),
            Some(AttrWanted::Bind(name)) => match self.bound.get(&name.text) {
                Some(Bound::Attr(value)) => return Ok(value.clone()),
                Some(Bound::Value(_)) => return Err(Miss::Unfit),
                None => Some(name),
            },
            Some(AttrWanted::Any) | None => None,
        };
        let stated = name.and_then(|name| {
            let asked = asked(self.rule, "", &name.text).into_iter();
            asked.filter(|(comparison, _)| *comparison == Comparison::Eq).find_map(|(_, expr)| match expr {
                Computation::String(text, _) => Some(AttrData::from(text.as_str())),
                Computation::Number(Number::Int(value), _) => Some(AttrData::Int(*value)),
                _ => None,
            })
        });
        let value = stated.unwrap_or_else(|| match facts.kind {
            attr_kind::INT => AttrData::Int(self.lanes.unwrap_or(2 + self.random.below(3) as i64)),
            _ => {
                let elem = ELEMS[self.random.below(ELEMS.len() as u64) as usize];
                AttrData::from(elem.name().unwrap_or_default())
            }
        });
        if let Some(name) = name {
            self.bound.insert(name.text.clone(), Bound::Attr(value.clone()));
        }
        Ok(value)
    }
}

/// A number of a rule, in an element type that holds it.
fn imm(elem: ElemType, number: Number) -> Option<Imm> {
    match number {
        _ if elem.is_float() => Imm::float(elem, number.to_f64()),
        Number::Int(value @ 0..=1) if elem == ElemType::BOOL => Some(Imm::bool(value == 1)),
        Number::Int(value) => Imm::int(elem, value).filter(|imm| imm.as_int() == Some(value)),
        Number::Float(_) => None,
    }
}
