//! Scalar operations as expressions of C.

use crate::{
    names::{c_type, literal},
    program::unsupported,
    writer::Writer,
};
use relais_plugin_api::{
    prelude::*,
    prim::{Bounds, CoreOp, value_type},
};

impl Writer<'_> {
    /// The element type of a value.
    pub fn elem(&self, id: NodeId) -> Result<ElemType, PassError> {
        match value_type(self.f.type_of(id)) {
            Some(scalar) if c_type(scalar.elem).is_none() => {
                Err(unsupported(id, format_args!("C has no numbers of the type {}", scalar.elem)))
            }
            Some(scalar) => Ok(scalar.elem),
            None => Err(unsupported(id, "its type is not known")),
        }
    }

    /// The C type of a value.
    pub fn value_type(&self, id: NodeId) -> Result<&'static str, PassError> {
        self.elem(id).map(|elem| c_type(elem).unwrap_or_default())
    }

    /// A value that was computed before, or a number; of a vector, the element of the lane.
    pub fn value(&self, id: NodeId) -> Result<String, PassError> {
        if let Some(text) = self.vectors.text(id) {
            return Ok(text);
        }
        match self.f.imm(id) {
            Some(imm) => self.elem(id).map(|_| literal(imm)),
            None => {
                self.names_of.get(&id).cloned().ok_or_else(|| unsupported(id, "a value is used before it is computed"))
            }
        }
    }

    /// The bounds of an integer, or of the lanes of a vector.
    pub fn bounds(&self, id: NodeId) -> Bounds {
        if self.ops.of(self.f, id) != Some(CoreOp::Ramp) {
            return self.intervals.of(self.f, self.scalar_of(id));
        }
        self.ramp_bounds(id).unwrap_or(Bounds::ANY)
    }

    /// An operation that is not a statement and does not touch memory.
    pub fn operation(&mut self, op: CoreOp, id: NodeId) -> Result<String, PassError> {
        use CoreOp::*;
        let args: Vec<NodeId> = self.f.operands(id)[1..].iter().map(|&arg| self.scalar_of(arg)).collect();
        let values: Vec<String> = args.iter().map(|&arg| self.value(arg)).collect::<Result<_, _>>()?;
        let [first, ..] = args[..] else { return Err(unsupported(id, "an operand is missing")) };
        let (elem, result) = (self.elem(first)?, self.elem(id)?);
        let ty = c_type(result).unwrap_or_default();
        let is_float = elem.is_float();
        let [a, b, c] = [0, 1, 2].map(|at| values.get(at).map_or("", String::as_str));
        Ok(match op {
            Add | Sub | Mul if is_float => format!("{a} {} {b}", op.info().infix.unwrap_or_default()),
            Add | Sub | Mul => {
                let infix = op.info().infix.unwrap_or_default();
                self.integer(id, result, format!("{a} {infix} {b}"), format_args!("({{U}}){a} {infix} ({{U}}){b}"))
            }
            Neg if is_float => negative(a),
            Neg => self.integer(id, result, negative(a), format_args!("0u - ({{U}}){a}")),
            Abs if is_float => format!("{}({a})", math("fabs", elem)),
            Abs if is_unsigned(elem) => a.to_owned(),
            Abs => {
                let negative = self.integer(id, result, negative(a), format_args!("0u - ({{U}}){a}"));
                format!("{a} < 0 ? {negative} : {a}")
            }
            Div | Mod if is_float => match op {
                Div => format!("{a} / {b}"),
                _ => format!("{}({a}, {b})", math("fmod", elem)),
            },
            Div | Mod | FloorDiv | FloorMod => {
                self.check_divisor(id, args[1], b)?;
                let (is_floor, is_rest) = (matches!(op, FloorDiv | FloorMod), matches!(op, Mod | FloorMod));
                // Of numbers that are not negative, both ways of rounding are C's.
                let is_plain = self.bounds(first).min >= 0 && self.bounds(args[1]).min > 0 || is_unsigned(elem);
                let sign = if is_rest { '%' } else { '/' };
                match is_plain {
                    true if elem.bits() < 32 => format!("({ty})({a} {sign} {b})"),
                    true => format!("{a} {sign} {b}"),
                    false => format!("{}({a}, {b})", self.globals.helpers.divide(elem, is_floor, is_rest)),
                }
            }
            Min | Max if is_float => {
                let is_max = op == Max;
                // With a number that is neither NaN nor a zero of the other sign, one comparison is enough.
                let number = |at: usize| self.f.imm(args[at]).and_then(|imm| imm.as_float());
                let is_other_zero = |c: f64| c == 0.0 && c.is_sign_negative() == is_max;
                let is_simple = |c: f64| !c.is_nan() && !is_other_zero(c);
                let sign = if is_max { "<=" } else { ">=" };
                match (number(0), number(1)) {
                    (None, Some(number)) if is_simple(number) => format!("!({a} {sign} {b}) ? {a} : {b}"),
                    (Some(number), None) if is_simple(number) => format!("!({b} {sign} {a}) ? {b} : {a}"),
                    _ => format!("{}({a}, {b})", self.globals.helpers.extreme(elem, is_max)),
                }
            }
            Min => format!("{a} < {b} ? {a} : {b}"),
            Max => format!("{a} > {b} ? {a} : {b}"),
            Fma => format!("{}({a}, {b}, {c})", math("fma", elem)),
            Shl => format!("({ty})(({}){a} << ({b} & {}))", wide(elem), elem.bits() - 1),
            Shr => format!("({ty})({a} >> ({b} & {}))", elem.bits() - 1),
            And | Or | Xor => format!("({ty})({a} {} {b})", op.info().infix.unwrap_or_default()),
            Not if elem == ElemType::BOOL => format!("!{a}"),
            Not => format!("({ty})~{a}"),
            Eq | Ne | Lt | Le | Gt | Ge => format!("{a} {} {b}", op.info().infix.unwrap_or_default()),
            Select => {
                let (b, c) = (values[1].as_str(), values[2].as_str());
                format!("{a} ? {b} : {c}")
            }
            Cast if result == ElemType::BOOL => format!("{a} != 0"),
            Cast if is_float && result.is_integer() => {
                format!("{}({a})", self.globals.helpers.float_to_integer(elem, result))
            }
            Cast => format!("({ty}){a}"),
            Bitcast => format!("{}({a})", self.globals.helpers.bits(elem, result)),
            IsNan => format!("isnan({a}) != 0"),
            IsInf => format!("isinf({a}) != 0"),
            Ramp => self.ramp(id, a, args[1], b),
            // To the nearest, of two the even one, as long as the program does not change the mode of rounding.
            Round => format!("{}({a})", math("rint", elem)),
            Pow => format!("{}({a}, {b})", math("pow", elem)),
            Sqrt | Exp | Log | Erf | Sin | Cos | Tan | Asin | Acos | Atan | Sinh | Cosh | Tanh | Asinh | Acosh
            | Atanh | Floor | Ceil | Trunc => format!("{}({a})", math(op.name(), elem)),
            _ => return Err(unsupported(id, format_args!("`{}` is not written as C", op.name()))),
        })
    }

    /// Integer arithmetic: as it is where nothing wraps, otherwise in unsigned numbers, which wrap in C, too.
    fn integer(&self, id: NodeId, elem: ElemType, plain: String, wrapping: std::fmt::Arguments<'_>) -> String {
        let ty = c_type(elem).unwrap_or_default();
        if self.is_exact(id) {
            // C computes with numbers alone as with an `int`.
            let is_number = |&arg: &NodeId| self.f.imm(self.scalar_of(arg)).is_some();
            return match elem.bits() {
                64 if self.f.operands(id)[1..].iter().all(is_number) => format!("({ty}){plain}"),
                32.. => plain,
                _ => format!("({ty})({plain})"),
            };
        }
        format!("({ty})({})", wrapping.to_string().replace("{U}", wide(elem)))
    }

    /// Whether a sum, difference or product of integers is within its type.
    fn is_exact(&self, id: NodeId) -> bool {
        let args: Vec<NodeId> = self.f.operands(id)[1..].iter().map(|&arg| self.scalar_of(arg)).collect();
        let Some(range) = value_type(self.f.type_of(id)).and_then(|scalar| Bounds::of_type(scalar.elem)) else {
            return false;
        };
        let wide = |bounds: Bounds| (i128::from(bounds.min), i128::from(bounds.max));
        let (a, b) = (wide(self.bounds(args[0])), args.get(1).map_or((0, 0), |&arg| wide(self.bounds(arg))));
        let (least, most) = match self.ops.of(self.f, id) {
            Some(CoreOp::Add) => (a.0 + b.0, a.1 + b.1),
            Some(CoreOp::Sub) => (a.0 - b.1, a.1 - b.0),
            Some(CoreOp::Mul) => {
                let products = [a.0 * b.0, a.0 * b.1, a.1 * b.0, a.1 * b.1];
                (products.into_iter().min().unwrap_or(0), products.into_iter().max().unwrap_or(0))
            }
            Some(CoreOp::Neg | CoreOp::Abs) => (-a.1, -a.0),
            _ => return false,
        };
        // The bounds of the types of 64 bits say nothing about unsigned ones.
        !matches!(self.elem(id), Ok(ElemType::UINT64)) && least >= range.min.into() && most <= range.max.into()
    }

    fn check_divisor(&mut self, id: NodeId, divisor: NodeId, text: &str) -> Result<(), PassError> {
        let bounds = self.bounds(divisor);
        if bounds.min > 0 || bounds.max < 0 {
            return Ok(());
        }
        match self.f.imm(divisor).map(|imm| imm.bits()) {
            Some(0) => Err(unsupported(id, "a division by zero")),
            Some(_) => Ok(()),
            None => {
                self.stop_if(&format!("{text} == 0"), "DIVISION_BY_ZERO");
                Ok(())
            }
        }
    }
}

/// The unsigned type that arithmetic wraps in.
pub fn wide(elem: ElemType) -> &'static str {
    if elem.bits() == 64 { "uint64_t" } else { "uint32_t" }
}

/// The negative of a name or a number; two signs in a row would be another operator.
fn negative(value: &str) -> String {
    if value.starts_with('-') { format!("-({value})") } else { format!("-{value}") }
}

fn is_unsigned(elem: ElemType) -> bool {
    matches!(elem, ElemType::UINT8 | ElemType::UINT16 | ElemType::UINT32 | ElemType::UINT64)
}

/// A function of `math.h`.
fn math(name: &str, elem: ElemType) -> String {
    if elem == ElemType::DOUBLE { name.to_owned() } else { format!("{name}f") }
}
