//! The core operators, domain `tir`: what each of them takes and does.

use crate::{Effects, Function, Imm, NodeId};

/// The domain of the core operators.
pub const DOMAIN: &str = "tir";

/// The way in which an operator is typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// Two numbers of one type; the result has that type.
    Arithmetic,
    /// Two integers of one type; the result has that type.
    Integer,
    /// Two integers or two `bool`s of one type; the result has that type.
    Logic,
    /// Two values of one type; the result is `bool`.
    Comparison,
    /// One number; the result has its type.
    Sign,
    /// Floating-point numbers of one type; the result has that type.
    Math,
    /// One floating-point number; the result is `bool`.
    Test,
    /// The operators that [`infer`](super::infer) types one by one.
    Own,
}

/// The properties of a core operator.
#[derive(Debug)]
pub struct OpInfo {
    /// The name within the domain.
    pub name: &'static str,
    /// How it is typed.
    pub class: Class,
    /// The least and the largest number of arguments.
    pub arity: (usize, usize),
    /// The infix form in the text, if there is one.
    pub infix: Option<&'static str>,
    /// The names of its functions, in order; the `else` of a `when` may be missing.
    pub regions: &'static [&'static str],
    /// The names of its attributes that are not functions.
    pub attrs: &'static [&'static str],
    /// Its effects beside computing its result, whatever the types. For loops and conditionals: without their bodies.
    pub effects: Effects,
}

/// The most arguments of operators whose number of arguments is not fixed.
const ANY: usize = usize::MAX;
const LOADS: Effects = Effects::READS.and(Effects::TRAPS);
const STORES: Effects = Effects::WRITES.and(Effects::TRAPS);

macro_rules! core_ops {
    ($($(#[$doc:meta])* $op:ident = $name:literal, $class:ident, $least:literal..$most:expr, $effects:expr
        $(, infix $infix:literal)? $(, regions [$($region:literal),*])? $(, attrs [$($attr:literal),*])?;)*) => {
        /// A core operator: an operator of the domain `tir`, version 1. Part of the representation as the kinds of node are.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum CoreOp {
            $($(#[$doc])* $op,)*
        }

        impl CoreOp {
            /// Every core operator.
            pub const ALL: &'static [Self] = &[$(Self::$op),*];

            const INFO: &'static [OpInfo] = &[$(OpInfo {
                name: $name,
                class: Class::$class,
                arity: ($least, $most),
                infix: core_ops!(@infix $($infix)?),
                regions: &[$($($region),*)?],
                attrs: &[$($($attr),*)?],
                effects: $effects,
            }),*];

            /// The operator of that name in the domain `tir`.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$op),)* _ => None }
            }
        }
    };
    (@infix $infix:literal) => { Some($infix) };
    (@infix) => { None };
}

core_ops! {
    // ---- memory
    /// `alloc(; shape, elem, scope)`: memory of a static shape (`INTS`) and an element type (its name), which lives until
    /// the end of its block. Its contents are undefined. `scope` is `"stack"`, the default, or `"static"`.
    Alloc = "alloc", Own, 0..0, Effects::STATEFUL, attrs ["shape", "elem", "scope"];
    /// `load(b, i…; lanes)`: an element of `b`, or `lanes` of them in a row of the last dimension, as a vector.
    Load = "load", Own, 1..ANY, LOADS, attrs ["lanes"];
    /// `store(b, v, i…)`: sets an element of `b`, or as many in a row of the last dimension as the vector `v` has lanes.
    Store = "store", Own, 2..ANY, STORES;
    /// `view(b; shape)`: the memory of `b` in another shape with as many elements, in row-major order.
    View = "view", Own, 1..1, Effects::PURE, attrs ["shape"];
    /// `dim(b; axis)`: the size of a dimension, `int64`.
    Dim = "dim", Own, 1..1, Effects::PURE, attrs ["axis"];
    /// `gather(b, i…)`: the last index is a vector: the elements at its lanes.
    Gather = "gather", Own, 2..ANY, LOADS;
    /// `scatter(b, v, i…)`: the last index is a vector: sets the elements at its lanes, in order.
    Scatter = "scatter", Own, 3..ANY, STORES;
    /// `load_masked(b, mask, i…)`: as `load` with as many lanes as `mask`, a vector of `bool`s: where it is false, nothing
    /// is read, and the lane is zero.
    LoadMasked = "load_masked", Own, 3..ANY, LOADS;
    /// `store_masked(b, v, mask, i…)`: as `store`; nothing is written where `mask` is false.
    StoreMasked = "store_masked", Own, 4..ANY, STORES;

    // ---- control
    /// `for(min, extent, carried…; kind, body)`: runs `body(i, carried…)` for each `i` in `min..min + extent`, in order. The
    /// results of the body are the carried values of the next turn, and at last the results. With an extent below one there are no turns.
    /// `kind` is `"serial"`, the default, `"parallel"` (turns in any order, at the same time), `"vectorized"` or
    /// `"unrolled"`.
    For = "for", Own, 2..ANY, Effects::PURE, regions ["body"], attrs ["kind"];
    /// `while(carried…; cond, body)`: as long as `cond(carried…)` holds, the carried values become `body(carried…)`.
    While = "while", Own, 0..ANY, Effects::PURE, regions ["cond", "body"];
    /// `when(c; then, else)`: runs one of the two for its effects.
    When = "when", Own, 1..1, Effects::PURE, regions ["then", "else"];
    /// `select(c, a, b)`: `a` where `c` holds, else `b`. Both were computed.
    Select = "select", Own, 3..3, Effects::PURE;
    /// `assert(c; message)`: ends the program with that message unless `c` holds.
    Assert = "assert", Own, 1..1, Effects::TRAPS.and(Effects::STATEFUL), attrs ["message"];

    // ---- arithmetic; integers wrap, floats are rounded once in each operation
    /// The sum.
    Add = "add", Arithmetic, 2..2, Effects::PURE, infix "+";
    /// The difference.
    Sub = "sub", Arithmetic, 2..2, Effects::PURE, infix "-";
    /// The product.
    Mul = "mul", Arithmetic, 2..2, Effects::PURE, infix "*";
    /// The quotient; of integers rounded towards zero, a division by zero ends the program.
    Div = "div", Arithmetic, 2..2, Effects::TRAPS, infix "/";
    /// The remainder of [`Div`](Self::Div), with the sign of the first operand (C's `%` and `fmod`).
    Mod = "mod", Arithmetic, 2..2, Effects::TRAPS;
    /// The quotient of integers, rounded down.
    FloorDiv = "floordiv", Integer, 2..2, Effects::TRAPS;
    /// The remainder of [`FloorDiv`](Self::FloorDiv), with the sign of the second operand.
    FloorMod = "floormod", Integer, 2..2, Effects::TRAPS;
    /// The smaller one; NaN if one is NaN, and of zeros the negative one.
    Min = "min", Arithmetic, 2..2, Effects::PURE;
    /// The larger one; NaN if one is NaN, and of zeros the positive one.
    Max = "max", Arithmetic, 2..2, Effects::PURE;
    /// The negative.
    Neg = "neg", Sign, 1..1, Effects::PURE;
    /// The absolute value; of the least integer, itself.
    Abs = "abs", Sign, 1..1, Effects::PURE;
    /// `fma(a, b, c)`: `a * b + c`, rounded once.
    Fma = "fma", Math, 3..3, Effects::PURE;
    /// Bits moved up; the number of places is taken modulo the number of bits.
    Shl = "shl", Integer, 2..2, Effects::PURE, infix "<<";
    /// Bits moved down, of signed integers with the sign; the number of places as for [`Shl`](Self::Shl).
    Shr = "shr", Integer, 2..2, Effects::PURE, infix ">>";
    /// Bitwise and.
    And = "and", Logic, 2..2, Effects::PURE, infix "&";
    /// Bitwise or.
    Or = "or", Logic, 2..2, Effects::PURE, infix "|";
    /// Bitwise exclusive or.
    Xor = "xor", Logic, 2..2, Effects::PURE, infix "^";
    /// Bitwise complement.
    Not = "not", Own, 1..1, Effects::PURE;
    /// Equality; of floats as in IEEE 754: NaN equals nothing.
    Eq = "eq", Comparison, 2..2, Effects::PURE, infix "==";
    /// Whether they differ.
    Ne = "ne", Comparison, 2..2, Effects::PURE, infix "!=";
    /// Whether the first is less.
    Lt = "lt", Comparison, 2..2, Effects::PURE, infix "<";
    /// Whether the first is less or equal.
    Le = "le", Comparison, 2..2, Effects::PURE, infix "<=";
    /// Whether the first is greater.
    Gt = "gt", Comparison, 2..2, Effects::PURE, infix ">";
    /// Whether the first is greater or equal.
    Ge = "ge", Comparison, 2..2, Effects::PURE, infix ">=";
    /// `cast(x; elem)`: the value in another element type: integers wrap, floats are rounded to the nearest, towards zero
    /// where the result is an integer. A float beyond the integer type's range is undefined. `bool` of a number is whether
    /// it is not zero.
    Cast = "cast", Own, 1..1, Effects::PURE, attrs ["elem"];
    /// `bitcast(x; elem)`: the same bits as a value of another element type of that size.
    Bitcast = "bitcast", Own, 1..1, Effects::PURE, attrs ["elem"];

    // ---- mathematics, of floating-point numbers
    /// The square root.
    Sqrt = "sqrt", Math, 1..1, Effects::PURE;
    /// The exponential.
    Exp = "exp", Math, 1..1, Effects::PURE;
    /// The natural logarithm.
    Log = "log", Math, 1..1, Effects::PURE;
    /// A power.
    Pow = "pow", Math, 2..2, Effects::PURE;
    /// The error function.
    Erf = "erf", Math, 1..1, Effects::PURE;
    /// The sine.
    Sin = "sin", Math, 1..1, Effects::PURE;
    /// The cosine.
    Cos = "cos", Math, 1..1, Effects::PURE;
    /// The tangent.
    Tan = "tan", Math, 1..1, Effects::PURE;
    /// The arc sine.
    Asin = "asin", Math, 1..1, Effects::PURE;
    /// The arc cosine.
    Acos = "acos", Math, 1..1, Effects::PURE;
    /// The arc tangent.
    Atan = "atan", Math, 1..1, Effects::PURE;
    /// The hyperbolic sine.
    Sinh = "sinh", Math, 1..1, Effects::PURE;
    /// The hyperbolic cosine.
    Cosh = "cosh", Math, 1..1, Effects::PURE;
    /// The hyperbolic tangent.
    Tanh = "tanh", Math, 1..1, Effects::PURE;
    /// The inverse of the hyperbolic sine.
    Asinh = "asinh", Math, 1..1, Effects::PURE;
    /// The inverse of the hyperbolic cosine.
    Acosh = "acosh", Math, 1..1, Effects::PURE;
    /// The inverse of the hyperbolic tangent.
    Atanh = "atanh", Math, 1..1, Effects::PURE;
    /// The largest integral number that is not larger.
    Floor = "floor", Math, 1..1, Effects::PURE;
    /// The smallest integral number that is not smaller.
    Ceil = "ceil", Math, 1..1, Effects::PURE;
    /// The nearest integral number, of two the even one.
    Round = "round", Math, 1..1, Effects::PURE;
    /// The integral part.
    Trunc = "trunc", Math, 1..1, Effects::PURE;
    /// Whether it is NaN.
    IsNan = "isnan", Test, 1..1, Effects::PURE;
    /// Whether it is an infinity.
    IsInf = "isinf", Test, 1..1, Effects::PURE;

    // ---- vectors
    /// `ramp(base, stride; lanes)`: the integers `base`, `base + stride`, …
    Ramp = "ramp", Own, 2..2, Effects::PURE, attrs ["lanes"];
    /// `broadcast(x; lanes)`: a vector of equal lanes.
    Broadcast = "broadcast", Own, 1..1, Effects::PURE, attrs ["lanes"];
    /// `lane(v, i)`: one lane of a vector.
    Lane = "lane", Own, 2..2, Effects::TRAPS;
}

impl CoreOp {
    /// The operator's properties.
    #[inline]
    pub const fn info(self) -> &'static OpInfo {
        &Self::INFO[self as usize]
    }

    /// The name within the domain.
    #[inline]
    pub const fn name(self) -> &'static str {
        self.info().name
    }

    /// Whether it is one of the statements: it has no result but `()`, or those of its bodies.
    pub const fn is_statement(self) -> bool {
        matches!(
            self,
            Self::Store | Self::Scatter | Self::StoreMasked | Self::For | Self::While | Self::When | Self::Assert
        )
    }

    /// Whether it gives memory rather than a value.
    pub const fn gives_memory(self) -> bool {
        matches!(self, Self::Alloc | Self::View)
    }

    /// Whether its first argument is memory rather than a value.
    pub const fn takes_memory(self) -> bool {
        use CoreOp::*;
        matches!(self, Load | Store | View | Dim | Gather | Scatter | LoadMasked | StoreMasked)
    }

    /// Whether it computes a value from values: it is not a statement, and has nothing to do with memory.
    pub const fn is_value(self) -> bool {
        !self.is_statement() && !self.gives_memory() && !self.takes_memory()
    }

    /// The number of arguments before its indices; `None` if it has no indices.
    pub const fn first_index(self) -> Option<usize> {
        match self {
            Self::Load | Self::Gather => Some(1),
            Self::Store | Self::Scatter | Self::LoadMasked => Some(2),
            Self::StoreMasked => Some(3),
            _ => None,
        }
    }

    /// Whether its operands can be exchanged: the result stays the same number. The bits of a NaN may differ.
    pub const fn is_commutative(self) -> bool {
        use CoreOp::*;
        matches!(self, Add | Mul | Min | Max | And | Or | Xor | Eq | Ne)
    }

    /// The comparison that holds whenever this one does not. Of floats that is true for [`Eq`](Self::Eq) and
    /// [`Ne`](Self::Ne) only: NaN compares with nothing.
    pub const fn negated(self) -> Option<Self> {
        Some(match self {
            Self::Eq => Self::Ne,
            Self::Ne => Self::Eq,
            Self::Lt => Self::Ge,
            Self::Ge => Self::Lt,
            Self::Gt => Self::Le,
            Self::Le => Self::Gt,
            _ => return None,
        })
    }

    /// The comparison with its operands exchanged.
    pub const fn swapped(self) -> Option<Self> {
        Some(match self {
            Self::Eq => Self::Eq,
            Self::Ne => Self::Ne,
            Self::Lt => Self::Gt,
            Self::Gt => Self::Lt,
            Self::Le => Self::Ge,
            Self::Ge => Self::Le,
            _ => return None,
        })
    }
}

/// Whether a name, with its domain, is that of an operator that computes a value from values.
pub const fn is_value_op(name: &str) -> bool {
    let name = name.as_bytes();
    let mut at = 0;
    while at < CoreOp::ALL.len() {
        let op = CoreOp::ALL[at];
        if op.is_value() && is_joined(name, DOMAIN.as_bytes(), op.name().as_bytes()) {
            return true;
        }
        at += 1;
    }
    false
}

/// Whether a name is that of an operator in a domain.
const fn is_joined(name: &[u8], domain: &[u8], op: &[u8]) -> bool {
    let start = domain.len() + 2;
    if name.len() != start + op.len() {
        return false;
    }
    let mut at = 0;
    while at < name.len() {
        let wanted = if at < domain.len() {
            domain[at]
        } else if at < start {
            b':'
        } else {
            op[at - start]
        };
        if name[at] != wanted {
            return false;
        }
        at += 1;
    }
    true
}

/// The number that a value is known to be, in each lane if it is a vector: an immediate, or a `broadcast` of one.
pub fn number_of(f: &Function, id: NodeId) -> Option<Imm> {
    match f.call(id) {
        Some(call) => f.imm(*call.args().first().filter(|_| call.is_op("tir::broadcast"))?),
        None => f.imm(id),
    }
}

/// The order in which a loop runs its turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum LoopKind {
    /// In order.
    #[default]
    Serial,
    /// In any order, and at the same time.
    Parallel,
    /// In order; `VectorizeLoop` is asked to make vectors of it.
    Vectorized,
    /// In order; `UnrollLoop` is asked to write each turn out.
    Unrolled,
}

impl LoopKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Serial, Self::Parallel, Self::Vectorized, Self::Unrolled];

    /// The value of the attribute `kind`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Parallel => "parallel",
            Self::Vectorized => "vectorized",
            Self::Unrolled => "unrolled",
        }
    }

    /// The kind of that name.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name().as_bytes() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_infix_forms_too() {
        for (at, &op) in CoreOp::ALL.iter().enumerate() {
            assert_eq!((op as usize, CoreOp::from_name(op.name())), (at, Some(op)));
            let twins = CoreOp::ALL.iter().filter(|other| other.info().infix == op.info().infix);
            assert!(op.info().infix.is_none() || twins.count() == 1, "{op:?}");
            assert!(op.info().arity.0 <= op.info().arity.1);
            assert!(op.first_index().is_none() || op.takes_memory());
        }
    }

    #[test]
    fn comparisons_are_negated_and_swapped_there_and_back() {
        for &op in CoreOp::ALL {
            let is_comparison = op.info().class == Class::Comparison;
            assert_eq!(op.negated().is_some(), is_comparison, "{op:?}");
            assert_eq!(op.swapped().is_some(), is_comparison, "{op:?}");
            assert!(op.negated().is_none_or(|other| other.negated() == Some(op)));
            assert!(op.swapped().is_none_or(|other| other.swapped() == Some(op)));
        }
    }
}
