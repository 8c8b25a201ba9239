//! Expressions and loops in few words.

use relais_plugin_api::{
    ir::{ElemType, Imm, NodeId},
    prim::{CoreOp, PrimBuilder},
};

/// The rest of a nest of loops that carries values.
type Step<'f, 'b, const N: usize> = Box<dyn FnOnce(&mut PrimBuilder<'b>, &[NodeId], [NodeId; N]) -> [NodeId; N] + 'f>;

macro_rules! core_ops {
    ($($name:ident = $op:ident($($arg:ident),*);)*) => {
        $(fn $name(&mut self, $($arg: NodeId),*) -> NodeId {
            self.builder().op(CoreOp::$op, &[$($arg),*])
        })*
    };
}

/// Expressions and loops in few words.
pub trait Terms<'b> {
    fn builder(&mut self) -> &mut PrimBuilder<'b>;

    core_ops! {
        add = Add(x, y);
        sub = Sub(x, y);
        mul = Mul(x, y);
        div = Div(x, y);
        min = Min(x, y);
        max = Max(x, y);
        neg = Neg(x);
        abs = Abs(x);
        exp = Exp(x);
        log = Log(x);
        sqrt = Sqrt(x);
        lt = Lt(x, y);
        gt = Gt(x, y);
        ge = Ge(x, y);
        eq = Eq(x, y);
        and = And(x, y);
        select = Select(c, x, y);
    }

    /// A number of some type, rounded to it.
    fn num(&mut self, elem: ElemType, value: f64) -> NodeId {
        let b = self.builder();
        match elem {
            ElemType::BOOL => b.imm(Imm::bool(value != 0.0)),
            _ if elem.is_float() => b.float(elem, value),
            _ => b.imm(Imm::int(elem, value as i64).unwrap_or(Imm::index(0))),
        }
    }

    /// The value of an index that is a number.
    fn known(&mut self, index: NodeId) -> Option<i64> {
        self.builder().function().imm(index).and_then(Imm::as_int)
    }

    /// The sum of indices, in the simplest form.
    fn plus(&mut self, x: NodeId, y: NodeId) -> NodeId {
        match (self.known(x), self.known(y)) {
            (Some(x), Some(y)) => self.builder().index(x + y),
            (Some(0), _) => y,
            (_, Some(0)) => x,
            _ => self.add(x, y),
        }
    }

    /// A multiple of an index, in the simplest form.
    fn times(&mut self, x: NodeId, by: u64) -> NodeId {
        let by = by as i64;
        match self.known(x) {
            Some(x) => self.builder().index(x * by),
            None if by == 1 => x,
            None => {
                let by = self.builder().index(by);
                self.mul(x, by)
            }
        }
    }

    /// `x + by`, in the simplest form.
    fn shifted(&mut self, x: NodeId, by: i64) -> NodeId {
        if by < 0 && self.known(x).is_none() {
            let by = self.builder().index(-by);
            return self.sub(x, by);
        }
        let by = self.builder().index(by);
        self.plus(x, by)
    }

    /// The index of an element of a part among parts of one size.
    fn within(&mut self, part: NodeId, size: u64, at: NodeId) -> NodeId {
        let start = self.times(part, size);
        self.plus(start, at)
    }

    /// A loop from 0 to `size`; no loop for one turn.
    fn over(&mut self, size: u64, body: impl FnOnce(&mut PrimBuilder<'b>, NodeId)) {
        let b = self.builder();
        if size == 1 {
            let zero = b.index(0);
            return body(b, zero);
        }
        let extent = b.index(size as i64);
        b.each(extent, body);
    }

    /// A loop from `min` on, of `extent` turns.
    fn from(&mut self, min: NodeId, extent: NodeId, body: impl FnOnce(&mut PrimBuilder<'b>, NodeId)) {
        self.builder().fold(min, extent, [], |b, at, []| {
            body(b, at);
            []
        });
    }

    /// Loops over all indices of these sizes that carry values.
    fn fold_all<const N: usize>(
        &mut self,
        sizes: &[u64],
        carried: [NodeId; N],
        body: impl FnOnce(&mut PrimBuilder<'b>, &[NodeId], [NodeId; N]) -> [NodeId; N],
    ) -> [NodeId; N] {
        fold_nest(self.builder(), sizes, &mut Vec::new(), carried, Box::new(body))
    }
}

impl<'b> Terms<'b> for PrimBuilder<'b> {
    fn builder(&mut self) -> &mut Self {
        self
    }
}

fn fold_nest<'b, const N: usize>(
    b: &mut PrimBuilder<'b>,
    sizes: &[u64],
    outer: &mut Vec<NodeId>,
    carried: [NodeId; N],
    body: Step<'_, 'b, N>,
) -> [NodeId; N] {
    let Some((&size, inner)) = sizes.split_first() else { return body(b, outer, carried) };
    let (min, extent) = (b.index(0), b.index(size as i64));
    if size == 1 {
        outer.push(min);
        return fold_nest(b, inner, outer, carried, body);
    }
    b.fold(min, extent, carried, |b, at, carried| {
        outer.push(at);
        fold_nest(b, inner, outer, carried, body)
    })
}
