//! Conditions, and computations of attributes.

use super::{
    constant,
    found::{Bound, Known, Match, Slot},
    matched::{Asked, Matched, Unmet},
    program::{Calc, Compiled, Test, Val},
};
use crate::rewrite::RewriteCx;
use relais_ir::*;
use relais_patterns::{Comparison, Computation, Condition, Literal, Name, Number, Operation};
use std::borrow::Cow;

impl Test {
    pub fn new(condition: &Condition, slots: &[&str], functions: &[Asked]) -> Self {
        let calc = |expr| Calc::new(expr, slots);
        match condition {
            Condition::Compare(left, comparison, right) => match (calc(left), comparison, calc(right)) {
                (Calc::Rank(slot), Comparison::Eq, Calc::Is(Val::Number(Number::Int(rank @ 0..)))) => {
                    Self::Rank(slot, usize::try_from(rank).unwrap_or(usize::MAX))
                }
                (Calc::Elem(slot), Comparison::Eq, Calc::Is(Val::Elem(elem))) => Self::Elem(slot, vec![elem]),
                (left, _, right) => Self::Compare(left, *comparison, right),
            },
            Condition::In(left, options) => {
                let options: Vec<Calc> = options.iter().map(calc).collect();
                let elem = |option: &Calc| if let Calc::Is(Val::Elem(elem)) = option { Some(*elem) } else { None };
                match (calc(left), options.iter().map(elem).collect()) {
                    (Calc::Elem(slot), Some(elems)) => Self::Elem(slot, elems),
                    (left, _) => Self::In(left, options),
                }
            }
            Condition::Holds(function, args) => {
                let Some(args) = args.iter().map(|name| slot(name, slots)).collect::<Option<Vec<Slot>>>() else {
                    return Self::Unknown;
                };
                match (function.text.as_str(), args.as_slice()) {
                    ("broadcasts", &[from, to]) => Self::Broadcasts(from, to),
                    ("finite", &[constant]) => Self::Finite(constant),
                    (name, _) => match functions.iter().find(|function| function.name() == name) {
                        Some(function) => Self::Function(function.clone(), args),
                        None => Self::Unknown,
                    },
                }
            }
        }
    }

    /// The variable whose type alone decides, if there is one.
    pub fn typed(&self) -> Option<Slot> {
        match self {
            Self::Rank(slot, _) | Self::Elem(slot, _) => Some(*slot),
            _ => None,
        }
    }

    /// Whether the condition holds for the [`typed`](Self::typed) variable if its value has a type.
    pub fn holds_for(&self, ty: Type<'_>) -> bool {
        match self {
            Self::Rank(_, rank) => ty.shape().is_some_and(|shape| shape.len() == *rank),
            Self::Elem(_, elems) => ty.elem().is_some_and(|elem| elems.contains(&elem)),
            _ => true,
        }
    }
}

fn slot(name: &Name, slots: &[&str]) -> Option<Slot> {
    slots.iter().position(|slot| *slot == name.text)
}

impl Calc {
    pub fn new(expr: &Computation, slots: &[&str]) -> Self {
        let calc = |expr| Self::new(expr, slots);
        match expr {
            Computation::Number(number, _) => Self::Is(Val::Number(*number)),
            Computation::String(text, _) => Self::Is(Val::String(text.clone().into_bytes())),
            Computation::Var(name) => match slot(name, slots) {
                Some(slot) => Self::Var(slot),
                None => ElemType::from_name(&name.text).map_or(Self::Unknown, |elem| Self::Is(Val::Elem(elem))),
            },
            Computation::List(items, _) => {
                let items: Vec<Self> = items.iter().map(calc).collect();
                let values =
                    items.iter().map(|item| if let Self::Is(value) = item { Some(value.clone()) } else { None });
                match values.collect() {
                    Some(values) => Self::Is(Val::List(values)),
                    None => Self::List(items),
                }
            }
            Computation::Call(function, args) => {
                let [Computation::Var(name), rest @ ..] = args.as_slice() else { return Self::Unknown };
                match (function.text.as_str(), slot(name, slots), rest) {
                    ("rank", Some(slot), []) => Self::Rank(slot),
                    ("elem", Some(slot), []) => Self::Elem(slot),
                    ("shape", Some(slot), []) => Self::Shape(slot),
                    ("users", Some(slot), []) => Self::Users(slot),
                    ("dim", Some(slot), [index]) => Self::Dim(slot, Box::new(calc(index))),
                    _ => Self::Unknown,
                }
            }
            Computation::Neg(inner, _) => Self::Neg(Box::new(calc(inner))),
            Computation::Binary(operation, sides) => {
                Self::Binary(*operation, Box::new((calc(&sides.0), calc(&sides.1))))
            }
        }
    }
}

/// The numbers of a list, which the parser has checked.
pub(super) fn numbers(items: &[Literal]) -> Vec<Number> {
    items.iter().filter_map(|item| if let Literal::Number(number) = item { Some(*number) } else { None }).collect()
}

/// Why something cannot be decided or computed.
#[derive(Clone, Copy, Debug)]
pub(super) enum Why {
    Text(&'static str),
    /// The text before the name of a variable, and the text after it.
    Of(&'static str, Slot, &'static str),
    /// Why the elements of a constant cannot be computed with.
    Elements(Slot, &'static str),
}

impl Why {
    pub fn say(self, rule: &Compiled<'_>) -> String {
        let name = |slot: Slot| rule.slots.get(slot).copied().unwrap_or_default();
        match self {
            Self::Text(text) => text.to_owned(),
            Self::Of(before, slot, after) => format!("{before}`{}`{after}", name(slot)),
            Self::Elements(slot, why) => format!("`{}`: {why}", name(slot)),
        }
    }
}

impl From<&'static str> for Why {
    fn from(text: &'static str) -> Self {
        Self::Text(text)
    }
}

type Unknown<T> = Result<T, Why>;

const SIZE: Why = Why::Text("a size is not known");
const NO_FUNCTION: Why = Why::Text("this version has no such function");

impl From<AttrData> for Val {
    fn from(data: AttrData) -> Self {
        let int = |value| Self::Number(Number::Int(value));
        let float = |value: f32| Self::Number(Number::Float(value.into()));
        match data {
            AttrData::Int(value) => int(value),
            AttrData::Float(value) => float(value),
            AttrData::String(value) => Self::String(value),
            AttrData::Ints(values) => Self::List(values.into_iter().map(int).collect()),
            AttrData::Floats(values) => Self::List(values.into_iter().map(float).collect()),
            AttrData::Strings(values) => Self::List(values.into_iter().map(Self::String).collect()),
            other => Self::Data(Box::new(other)),
        }
    }
}

impl Val {
    /// The value with its floats rounded to an element type; those that are out of its range stay.
    fn rounded(self, elem: ElemType) -> Self {
        match self {
            Self::Number(Number::Float(value)) => {
                let rounded = Tensor::full(elem, &[], value).and_then(|tensor| tensor.to_f64());
                Self::Number(Number::Float(rounded.filter(|rounded| rounded.is_finite()).unwrap_or(value)))
            }
            Self::List(items) => Self::List(items.into_iter().map(|item| item.rounded(elem)).collect()),
            other => other,
        }
    }

    /// The value as an attribute of a kind; 0 is a kind that is not known.
    pub fn into_data(self, kind: u8) -> Unknown<AttrData> {
        Ok(match self {
            Self::Number(Number::Int(value)) if kind != attr_kind::FLOAT => AttrData::Int(value),
            Self::Number(value) => {
                let value = value.to_f64() as f32;
                if !value.is_finite() {
                    return Err(Why::Text("a number is too large for an attribute"));
                }
                AttrData::Float(value)
            }
            Self::String(value) => AttrData::String(value),
            Self::Elem(elem) => AttrData::Int(elem.0.into()),
            Self::Shape(dims) => {
                let sizes = dims.iter().map(|dim| i64::try_from(dim.known()?).ok());
                AttrData::Ints(sizes.collect::<Option<_>>().ok_or(SIZE)?)
            }
            Self::Data(data) => *data,
            Self::Size(_) => return Err(SIZE),
            Self::Elements(_) => return Err(Why::Text("a constant has several elements")),
            Self::List(items) => {
                let has_float = items.iter().any(|item| matches!(item, Self::Number(Number::Float(_))));
                let kind = match items.first() {
                    _ if kind != 0 => kind,
                    Some(Self::String(_)) => attr_kind::STRINGS,
                    _ if has_float => attr_kind::FLOATS,
                    _ => attr_kind::INTS,
                };
                let items = items
                    .into_iter()
                    .map(|item| item.into_data(if kind == attr_kind::FLOATS { attr_kind::FLOAT } else { 0 }));
                let items: Vec<AttrData> = items.collect::<Result<_, _>>()?;
                let list = match kind {
                    attr_kind::INTS => {
                        let values =
                            items.iter().map(|item| if let AttrData::Int(value) = item { Some(*value) } else { None });
                        values.collect::<Option<_>>().map(AttrData::Ints)
                    }
                    attr_kind::FLOATS => {
                        let values = items
                            .iter()
                            .map(|item| if let AttrData::Float(value) = item { Some(*value) } else { None });
                        values.collect::<Option<_>>().map(AttrData::Floats)
                    }
                    attr_kind::STRINGS => {
                        let values = items
                            .into_iter()
                            .map(|item| if let AttrData::String(value) = item { Some(value) } else { None });
                        values.collect::<Option<_>>().map(AttrData::Strings)
                    }
                    _ => None,
                };
                list.ok_or("a list has items of another kind than the attribute")?
            }
        })
    }
}

/// Why a match is declined at a condition.
pub(super) enum NotHeld {
    No,
    Undecided(Why),
    /// The reason of a function.
    Function(Unmet),
}

impl NotHeld {
    pub fn say(self, condition: &Condition, rule: &Compiled<'_>) -> String {
        match self {
            Self::No => format!("`{condition}` does not hold"),
            Self::Undecided(why) => format!("`{condition}` cannot be decided: {}", why.say(rule)),
            Self::Function(why) => format!("`{condition}` does not hold: {why}"),
        }
    }
}

/// A match with what is needed to compute from it.
#[derive(Clone, Copy)]
pub(super) struct View<'v, 'f> {
    pub cx: &'v RewriteCx<'f>,
    pub known: &'v Known,
    pub rule: &'v Compiled<'v>,
    pub found: &'v Match,
}

impl<'v> View<'v, '_> {
    /// Returns the first condition of the rule that does not hold, or cannot be decided, and why.
    pub fn first_not_held(&self) -> Option<(&'v Condition, NotHeld)> {
        let rule = self.rule;
        rule.conditions.iter().enumerate().find_map(|(at, (test, condition))| {
            let not_held = match test {
                Test::Function(function, args) => self.ask(at, function, args).err().map(NotHeld::Function),
                test => match self.holds(test) {
                    Ok(true) => None,
                    Ok(false) => Some(NotHeld::No),
                    Err(why) => Some(NotHeld::Undecided(why)),
                },
            };
            not_held.map(|not_held| (*condition, not_held))
        })
    }

    /// Asks the function that is a condition of the rule.
    fn ask(&self, at: usize, function: &Asked, args: &[Slot]) -> Result<(), Unmet> {
        let Self { cx, known, rule, found } = *self;
        let matched = Matched { f: cx.function(), uses: cx.uses(), known, slots: &rule.slots, found, args };
        // It stays if the function panics.
        known.asked.set(Some((rule.index, at)));
        let held = function.ask(&matched, cx);
        known.asked.set(None);
        held
    }

    fn holds(&self, test: &Test) -> Unknown<bool> {
        match test {
            Test::Rank(slot, rank) => Ok(self.dims(*slot)?.len() == *rank),
            Test::Elem(slot, elems) => Ok(elems.contains(&self.elem(*slot)?)),
            Test::Compare(left, comparison, right) => {
                compare(*comparison, &*self.side(left, right)?, &*self.side(right, left)?)
            }
            Test::In(left, options) => {
                let (calc, left) = (left, self.eval(left)?);
                let mut unknown = None;
                for option in options {
                    match self.side(option, calc).and_then(|option| compare(Comparison::Eq, &left, &option)) {
                        Ok(true) => return Ok(true),
                        Ok(false) => {}
                        Err(why) => unknown = Some(why),
                    }
                }
                unknown.map_or(Ok(false), Err)
            }
            Test::Broadcasts(from, to) => self.broadcasts(*from, *to),
            Test::Finite(constant) => {
                let elements = self.elements(*constant)?;
                Ok(elements.iter().all(|element| element.to_f64().is_finite()))
            }
            // Functions are asked by `first_not_held`, since they have reasons of their own.
            Test::Function(..) | Test::Unknown => Err(NO_FUNCTION),
        }
    }

    /// Returns the number of live uses of a node.
    pub fn n_uses(&self, id: NodeId) -> u32 {
        self.known.n_live_uses(id, self.cx.n_uses(id))
    }

    fn node(&self, slot: Slot) -> Unknown<NodeId> {
        match self.found.bound[slot] {
            Bound::Node(id) => Ok(id),
            _ => Err(Why::Of("", slot, " is absent")),
        }
    }

    fn elements(&self, slot: Slot) -> Unknown<Vec<Number>> {
        if let Some(number) = self.cx.number_of(self.node(slot)?) {
            let int = number.as_int().or(number.as_bool().map(i64::from)).map(Number::Int);
            let value = int.or(number.as_float().map(Number::Float));
            return value.map(|value| vec![value]).ok_or(Why::Elements(slot, "it is too large to be compared"));
        }
        let tensor = self.cx.constant_of(self.node(slot)?).ok_or(Why::Of("", slot, " is not a constant"))?;
        constant::elements(&tensor).map_err(|why| Why::Elements(slot, why))
    }

    fn dims(&self, slot: Slot) -> Unknown<&'v [DimRec]> {
        let ty = self.cx.type_of(self.node(slot)?);
        ty.shape().ok_or(Why::Of("the rank of ", slot, " is not known"))
    }

    fn elem(&self, slot: Slot) -> Unknown<ElemType> {
        let elem = self.cx.type_of(self.node(slot)?).elem();
        elem.ok_or(Why::Of("the element type of ", slot, " is not known"))
    }

    fn broadcasts(&self, from: Slot, to: Slot) -> Unknown<bool> {
        let (small, large) = (self.dims(from)?, self.dims(to)?);
        if small.len() > large.len() {
            return Ok(false);
        }
        let mut is_known = true;
        for (&a, &b) in small.iter().rev().zip(large.iter().rev()) {
            match (Dim::from(a), Dim::from(b)) {
                (Dim::Static(1), _) => {}
                (Dim::Static(a), Dim::Static(b)) if a != b => return Ok(false),
                (a, b) => is_known &= a.is_same(b),
            }
        }
        if is_known { Ok(true) } else { Err(SIZE) }
    }

    /// Computes a number.
    pub fn number(&self, calc: &Calc) -> Unknown<Number> {
        number(&*self.eval(calc)?)
    }

    /// Computes one side of a comparison: a number that the rule states is rounded to the type of a variable on the
    /// other side, as it is in a pattern.
    fn side<'c>(&self, side: &'c Calc, other: &Calc) -> Unknown<Cow<'c, Val>> {
        let value = self.eval(side)?;
        let &Calc::Var(slot) = other else { return Ok(value) };
        if !side.is_stated() {
            return Ok(value);
        }
        let elem = match self.found.bound[slot] {
            Bound::Attr(index) => match self.found.attr(index) {
                AttrData::Float(_) | AttrData::Floats(_) => ElemType::FLOAT,
                _ => return Ok(value),
            },
            _ => self.cx.constant_of(self.node(slot)?).map_or(ElemType::UNKNOWN, |tensor| tensor.elem()),
        };
        Ok(Cow::Owned(value.into_owned().rounded(elem)))
    }

    /// Computes a value.
    pub fn eval<'c>(&self, calc: &'c Calc) -> Unknown<Cow<'c, Val>> {
        let int = |value: usize| Val::Number(Number::Int(value as i64));
        let value = match calc {
            Calc::Is(value) => return Ok(Cow::Borrowed(value)),
            Calc::Var(slot) => match self.found.bound[*slot] {
                Bound::Attr(index) => self.found.attr(index).clone().into(),
                _ => match self.elements(*slot)?.as_slice() {
                    [one] => Val::Number(*one),
                    several => Val::Elements(several.to_vec()),
                },
            },
            Calc::Rank(slot) => int(self.dims(*slot)?.len()),
            Calc::Shape(slot) => Val::Shape(self.dims(*slot)?.iter().map(|&dim| dim.into()).collect()),
            Calc::Users(slot) => int(self.n_uses(self.node(*slot)?) as usize),
            Calc::Elem(slot) => Val::Elem(self.elem(*slot)?),
            Calc::Dim(slot, index) => {
                let shape = self.dims(*slot)?;
                let at = match number(&*self.eval(index)?)? {
                    Number::Int(index @ 0..) => usize::try_from(index).ok(),
                    Number::Int(index) => {
                        usize::try_from(index.unsigned_abs()).ok().and_then(|back| shape.len().checked_sub(back))
                    }
                    Number::Float(_) => None,
                };
                let dim = at.and_then(|at| shape.get(at));
                match Dim::from(*dim.ok_or(Why::Of("", *slot, " has no such dimension"))?) {
                    Dim::Static(size) => int(usize::try_from(size).unwrap_or(usize::MAX)),
                    other => Val::Size(other),
                }
            }
            Calc::List(items) => {
                let items = items.iter().map(|item| self.eval(item).map(Cow::into_owned));
                Val::List(items.collect::<Result<_, _>>()?)
            }
            // A product, since 0 - 0.0 is not -0.0.
            Calc::Neg(inner) => arithmetic(Operation::Mul, Number::Int(-1), number(&*self.eval(inner)?)?)?,
            Calc::Binary(operation, sides) => {
                arithmetic(*operation, number(&*self.eval(&sides.0)?)?, number(&*self.eval(&sides.1)?)?)?
            }
            Calc::Unknown => return Err(NO_FUNCTION),
        };
        Ok(Cow::Owned(value))
    }
}

fn number(value: &Val) -> Unknown<Number> {
    match value {
        Val::Number(number) => Ok(*number),
        Val::Size(_) => Err(SIZE),
        Val::Elements(_) => Err(Why::Text("a constant has several elements")),
        _ => Err(Why::Text("an attribute is not a number")),
    }
}

fn arithmetic(operation: Operation, a: Number, b: Number) -> Unknown<Val> {
    let result = match (a, b) {
        (Number::Int(a), Number::Int(b)) => {
            let result = match operation {
                Operation::Add => a.checked_add(b),
                Operation::Sub => a.checked_sub(b),
                Operation::Mul => a.checked_mul(b),
                Operation::Div => a.checked_rem(b).filter(|&rest| rest == 0).and_then(|_| a.checked_div(b)),
            };
            result.map(Number::Int)
        }
        (a, b) => {
            let (a, b) = (a.to_f64(), b.to_f64());
            let result = match operation {
                Operation::Add => a + b,
                Operation::Sub => a - b,
                Operation::Mul => a * b,
                Operation::Div => a / b,
            };
            result.is_finite().then_some(Number::Float(result))
        }
    };
    let result = result.ok_or("a computation overflows, divides by zero or leaves a remainder")?;
    Ok(Val::Number(result))
}

fn compare(comparison: Comparison, a: &Val, b: &Val) -> Unknown<bool> {
    let numbers = |a: Number, b: Number| {
        let (less, equal) = match (a, b) {
            (Number::Int(a), Number::Int(b)) => (a < b, a == b),
            (a, b) => (a.to_f64() < b.to_f64(), a.to_f64() == b.to_f64()),
        };
        let is_nan = a.to_f64().is_nan() || b.to_f64().is_nan();
        match comparison {
            Comparison::Eq => equal,
            Comparison::Ne => !equal,
            Comparison::Lt => less,
            Comparison::Le => less || equal,
            Comparison::Gt => !less && !equal && !is_nan,
            Comparison::Ge => !less && !is_nan,
        }
    };
    match (a, b) {
        (Val::Number(a), Val::Number(b)) => return Ok(numbers(*a, *b)),
        (Val::Elements(many), Val::Number(b)) => return Ok(many.iter().all(|a| numbers(*a, *b))),
        (Val::Number(a), Val::Elements(many)) => return Ok(many.iter().all(|b| numbers(*a, *b))),
        (Val::Elements(a), Val::Elements(b)) => {
            return Ok(a.len() == b.len() && a.iter().zip(b).all(|(a, b)| numbers(*a, *b)));
        }
        _ => {}
    }
    let is_equal = equal(a, b)?;
    match comparison {
        Comparison::Eq => Ok(is_equal),
        Comparison::Ne => Ok(!is_equal),
        _ => Err(Why::Text("the two cannot be ordered")),
    }
}

fn equal(a: &Val, b: &Val) -> Unknown<bool> {
    let dims = |a: &[Dim], b: &[Dim]| {
        let differ = |(a, b): (&Dim, &Dim)| matches!((a, b), (Dim::Static(a), Dim::Static(b)) if a != b);
        if a.len() != b.len() || a.iter().zip(b).any(differ) {
            return Ok(false);
        }
        match a.iter().zip(b).all(|(a, b)| a.is_same(*b)) {
            true => Ok(true),
            false => Err(SIZE),
        }
    };
    match (a, b) {
        (Val::Number(Number::Int(a)), Val::Number(Number::Int(b))) => Ok(a == b),
        (Val::Number(a), Val::Number(b)) => Ok(a.to_f64() == b.to_f64()),
        (Val::Size(a), Val::Size(b)) => dims(&[*a], &[*b]),
        (Val::Size(_), Val::Number(_)) | (Val::Number(_), Val::Size(_)) => Err(SIZE),
        (Val::Shape(a), Val::Shape(b)) => dims(a, b),
        (Val::Shape(shape), Val::List(items)) | (Val::List(items), Val::Shape(shape)) => {
            let size = |item: &Val| match item {
                Val::Number(Number::Int(size)) => u64::try_from(*size).ok().map(Dim::Static),
                Val::Size(dim) => Some(*dim),
                _ => None,
            };
            match items.iter().map(size).collect::<Option<Dims>>() {
                Some(sizes) => dims(shape, &sizes),
                None => Ok(false),
            }
        }
        (Val::List(a), Val::List(b)) => {
            if a.len() != b.len() {
                return Ok(false);
            }
            for (a, b) in a.iter().zip(b) {
                if !equal(a, b)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (a, b) => Ok(a == b),
    }
}
