//! Conditions, and computations of attributes.

use super::{
    constant,
    search::{Bound, Search},
};
use crate::ir::*;
use relais_patterns::{Comparison, Condition, Expr, Name, Number, Operation};

/// The value of a computation.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Val {
    Number(Number),
    String(Vec<u8>),
    Elem(ElemType),
    /// A size that is not a known number.
    Size(Dim),
    Shape(Dims),
    List(Vec<Val>),
    /// The elements of a constant that has several.
    Elements(Vec<Number>),
    /// An attribute of another kind.
    Data(AttrData),
}

/// Why something cannot be decided or computed.
type Unknown<T> = Result<T, String>;

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
            other => Self::Data(other),
        }
    }
}

impl Val {
    /// The value as an attribute of a kind; 0 is a kind that is not known.
    pub fn into_data(self, kind: u8) -> Unknown<AttrData> {
        Ok(match self {
            Self::Number(Number::Int(value)) if kind != attr_kind::FLOAT => AttrData::Int(value),
            Self::Number(value) => {
                let value = value.to_f64() as f32;
                if !value.is_finite() {
                    return Err("a number is too large for an attribute".to_owned());
                }
                AttrData::Float(value)
            }
            Self::String(value) => AttrData::String(value),
            Self::Elem(elem) => AttrData::Int(elem.0.into()),
            Self::Shape(dims) => {
                let sizes = dims.iter().map(|dim| i64::try_from(dim.known()?).ok());
                AttrData::Ints(sizes.collect::<Option<_>>().ok_or("a size is not known")?)
            }
            Self::Data(data) => data,
            Self::Size(_) => return Err("a size is not known".to_owned()),
            Self::Elements(_) => return Err("a constant has several elements".to_owned()),
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

impl Search<'_, '_> {
    /// Checks the conditions of the rule.
    ///
    /// # Errors
    /// Returns the first condition that does not hold or cannot be decided.
    pub fn conditions(&self) -> Unknown<()> {
        for condition in &self.rule.rule.conditions {
            match self.holds(condition) {
                Ok(true) => {}
                Ok(false) => return Err(format!("`{condition}` does not hold")),
                Err(why) => return Err(format!("`{condition}` cannot be decided: {why}")),
            }
        }
        Ok(())
    }

    fn holds(&self, condition: &Condition) -> Unknown<bool> {
        match condition {
            Condition::Compare(left, comparison, right) => compare(*comparison, &self.eval(left)?, &self.eval(right)?),
            Condition::In(left, options) => {
                let left = self.eval(left)?;
                let mut unknown = None;
                for option in options {
                    match self.eval(option).and_then(|option| compare(Comparison::Eq, &left, &option)) {
                        Ok(true) => return Ok(true),
                        Ok(false) => {}
                        Err(why) => unknown = Some(why),
                    }
                }
                unknown.map_or(Ok(false), Err)
            }
            Condition::Holds(function, args) => match (function.text.as_str(), args.as_slice()) {
                ("broadcasts", [from, to]) => self.broadcasts(from, to),
                ("finite", [constant]) => {
                    let elements = self.elements(constant)?;
                    Ok(elements.iter().all(|element| element.to_f64().is_finite()))
                }
                _ => Err("this version has no such function".to_owned()),
            },
        }
    }

    /// Returns the meaning of a variable.
    pub fn of(&self, name: &Name) -> Option<&Bound> {
        self.bound.get(self.rule.slot(&name.text)?)?.as_ref()
    }

    fn node(&self, name: &Name) -> Unknown<NodeId> {
        match self.of(name) {
            Some(Bound::Node(id)) => Ok(*id),
            _ => Err(format!("`{}` is absent", name.text)),
        }
    }

    fn elements(&self, name: &Name) -> Unknown<Vec<Number>> {
        let tensor = self.cx.tensor(self.node(name)?).ok_or_else(|| format!("`{}` is not a constant", name.text))?;
        constant::elements(tensor).map_err(|why| format!("`{}`: {why}", name.text))
    }

    fn shape(&self, name: &Name) -> Unknown<Dims> {
        let shape = self.cx.type_of(self.node(name)?);
        let shape = shape.shape().ok_or_else(|| format!("the rank of `{}` is not known", name.text))?;
        Ok(shape.iter().map(|&dim| dim.into()).collect())
    }

    fn broadcasts(&self, from: &Name, to: &Name) -> Unknown<bool> {
        let (small, large) = (self.shape(from)?, self.shape(to)?);
        if small.len() > large.len() {
            return Ok(false);
        }
        let mut is_known = true;
        for (&a, &b) in small.iter().rev().zip(large.iter().rev()) {
            match (a, b) {
                (Dim::Static(1), _) => {}
                (Dim::Static(a), Dim::Static(b)) if a != b => return Ok(false),
                _ => is_known &= a.is_same(b),
            }
        }
        if is_known { Ok(true) } else { Err("a size is not known".to_owned()) }
    }

    /// Computes a value.
    pub fn eval(&self, expr: &Expr) -> Unknown<Val> {
        Ok(match expr {
            Expr::Number(number, _) => Val::Number(*number),
            Expr::String(text, _) => Val::String(text.clone().into_bytes()),
            Expr::List(items, _) => Val::List(items.iter().map(|item| self.eval(item)).collect::<Result<_, _>>()?),
            Expr::Var(name) => match self.of(name) {
                Some(Bound::Attr(data)) => data.clone().into(),
                Some(_) => match self.elements(name)?.as_slice() {
                    [one] => Val::Number(*one),
                    several => Val::Elements(several.to_vec()),
                },
                None => Val::Elem(elem(&name.text).ok_or_else(|| format!("`{}` is absent", name.text))?),
            },
            Expr::Call(function, args) => return self.function(&function.text, args),
            Expr::Neg(inner, _) => arithmetic(Operation::Sub, Number::Int(0), number(self.eval(inner)?)?)?,
            Expr::Binary(operation, sides) => {
                arithmetic(*operation, number(self.eval(&sides.0)?)?, number(self.eval(&sides.1)?)?)?
            }
        })
    }

    fn function(&self, function: &str, args: &[Expr]) -> Unknown<Val> {
        let [Expr::Var(name), rest @ ..] = args else { return Err("this version has no such function".to_owned()) };
        let int = |value: usize| Val::Number(Number::Int(value as i64));
        Ok(match function {
            "rank" => int(self.shape(name)?.len()),
            "shape" => Val::Shape(self.shape(name)?),
            "users" => int(self.n_uses(self.node(name)?) as usize),
            "elem" => {
                let elem = self.cx.type_of(self.node(name)?).elem();
                Val::Elem(elem.ok_or_else(|| format!("the element type of `{}` is not known", name.text))?)
            }
            "dim" => {
                let shape = self.shape(name)?;
                let index = match rest {
                    [index] => number(self.eval(index)?)?,
                    _ => return Err("`dim` takes two arguments".to_owned()),
                };
                let at = match index {
                    Number::Int(index @ 0..) => usize::try_from(index).ok(),
                    Number::Int(index) => {
                        usize::try_from(index.unsigned_abs()).ok().and_then(|back| shape.len().checked_sub(back))
                    }
                    Number::Float(_) => None,
                };
                let dim = at.and_then(|at| shape.get(at));
                match dim.ok_or_else(|| format!("`{}` has no such dimension", name.text))? {
                    Dim::Static(size) => int(usize::try_from(*size).unwrap_or(usize::MAX)),
                    &other => Val::Size(other),
                }
            }
            _ => return Err("this version has no such function".to_owned()),
        })
    }
}

/// The element type of a name.
fn elem(name: &str) -> Option<ElemType> {
    (1..=u8::MAX)
        .map(ElemType)
        .find(|elem| elem.bits() + u32::from(*elem == ElemType::STRING) > 0 && elem.to_string() == name)
}

fn number(value: Val) -> Unknown<Number> {
    match value {
        Val::Number(number) => Ok(number),
        Val::Size(_) => Err("a size is not known".to_owned()),
        Val::Elements(_) => Err("a constant has several elements".to_owned()),
        _ => Err("an attribute is not a number".to_owned()),
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
        _ => Err("the two cannot be ordered".to_owned()),
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
            false => Err("a size is not known".to_owned()),
        }
    };
    match (a, b) {
        (Val::Number(Number::Int(a)), Val::Number(Number::Int(b))) => Ok(a == b),
        (Val::Number(a), Val::Number(b)) => Ok(a.to_f64() == b.to_f64()),
        (Val::Size(a), Val::Size(b)) => dims(&[*a], &[*b]),
        (Val::Size(_), Val::Number(_)) | (Val::Number(_), Val::Size(_)) => Err("a size is not known".to_owned()),
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
