//! Expressions and loops in few words.

use super::PrimBuilder;
use crate::{prim::CoreOp, *};

/// The rest of a nest of loops that carries values.
type Step<'f, 'b, const N: usize> = Box<dyn FnOnce(&mut PrimBuilder<'b>, &[NodeId], [NodeId; N]) -> [NodeId; N] + 'f>;

macro_rules! core_ops {
    ($($name:ident = $op:ident($($arg:ident),*);)*) => {
        /// The core operators of values.
        impl PrimBuilder<'_> {
            $(#[doc = concat!("[`CoreOp::", stringify!($op), "`].")]
            pub fn $name(&mut self, $($arg: NodeId),*) -> NodeId {
                self.op(CoreOp::$op, &[$($arg),*])
            })*
        }
    };
}

core_ops! {
    add = Add(x, y);
    sub = Sub(x, y);
    mul = Mul(x, y);
    div = Div(x, y);
    rem = Mod(x, y);
    floordiv = FloorDiv(x, y);
    floormod = FloorMod(x, y);
    min = Min(x, y);
    max = Max(x, y);
    neg = Neg(x);
    abs = Abs(x);
    fma = Fma(x, y, z);
    and = And(x, y);
    or = Or(x, y);
    xor = Xor(x, y);
    not = Not(x);
    shl = Shl(x, by);
    shr = Shr(x, by);
    eq = Eq(x, y);
    ne = Ne(x, y);
    lt = Lt(x, y);
    le = Le(x, y);
    gt = Gt(x, y);
    ge = Ge(x, y);
    select = Select(c, x, y);
    sqrt = Sqrt(x);
    exp = Exp(x);
    log = Log(x);
    pow = Pow(x, y);
    erf = Erf(x);
    sin = Sin(x);
    cos = Cos(x);
    tanh = Tanh(x);
    floor = Floor(x);
    ceil = Ceil(x);
    round = Round(x);
    trunc = Trunc(x);
    isnan = IsNan(x);
    isinf = IsInf(x);
}

impl<'b> PrimBuilder<'b> {
    /// A number of some element type, rounded to it.
    pub fn num(&mut self, elem: ElemType, value: f64) -> NodeId {
        match elem {
            ElemType::BOOL => self.imm(Imm::bool(value != 0.0)),
            _ if elem.is_float() => self.float(elem, value),
            _ => self.imm(Imm::int(elem, value as i64).unwrap_or(Imm::index(0))),
        }
    }

    /// Ends the program with a message unless a condition holds: an argument has no result.
    pub fn assert(&mut self, cond: NodeId, message: &str) -> NodeId {
        self.op_with(CoreOp::Assert, &[cond], &[Attr::new("message", message)])
    }

    /// Loops over all indices of these sizes that carry values, in order: a reduction. `body` gets the indices and the values,
    /// and gives those of the next turn.
    ///
    /// ```
    /// use relais_plugin_api::{ir::*, prim::*};
    ///
    /// // y = the sum of all elements
    /// let mut f = prim_func(&[("x", ElemType::FLOAT, &[2, 3])], &[("y", ElemType::FLOAT, &[])]);
    /// let [x, y] = *f.params() else { unreachable!() };
    /// let mut b = PrimBuilder::new(&mut f);
    /// let zero = b.float(ElemType::FLOAT, 0.0);
    /// let [sum] = b.fold_all(&[2, 3], [zero], |b, at, [sum]| {
    ///     let value = b.load(x, at);
    ///     [b.add(sum, value)]
    /// });
    /// b.store(y, sum, &[]);
    /// b.finish().unwrap();
    /// let mut module = IRModule::new();
    /// module.set_prim_func("sum", f);
    /// let x = Tensor::from_f32(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// let outputs = run(&module, "sum", &[x], &RunOptions::default()).unwrap();
    /// assert_eq!(outputs, [Tensor::from_f32(&[], &[21.0])]);
    /// ```
    pub fn fold_all<const N: usize>(
        &mut self,
        sizes: &[u64],
        carried: [NodeId; N],
        body: impl FnOnce(&mut Self, &[NodeId], [NodeId; N]) -> [NodeId; N],
    ) -> [NodeId; N] {
        fold_nest(self, sizes, &mut Vec::new(), carried, Box::new(body))
    }
}

/// As deep as there are sizes.
fn fold_nest<'b, const N: usize>(
    b: &mut PrimBuilder<'b>,
    sizes: &[u64],
    outer: &mut Vec<NodeId>,
    carried: [NodeId; N],
    body: Step<'_, 'b, N>,
) -> [NodeId; N] {
    let Some((&size, inner)) = sizes.split_first() else { return body(b, outer, carried) };
    let (min, extent) = (b.index(0), b.index(i64::try_from(size).unwrap_or(i64::MAX)));
    if size == 1 {
        outer.push(min);
        return fold_nest(b, inner, outer, carried, body);
    }
    b.fold(min, extent, carried, |b, at, carried| {
        outer.push(at);
        fold_nest(b, inner, outer, carried, body)
    })
}
