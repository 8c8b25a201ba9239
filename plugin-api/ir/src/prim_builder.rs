//! Making loop programs.

mod terms;

use crate::{
    diagnostics::PassError,
    prim::{CoreOp, LoopKind, LoopOps, OUTPUTS, Scalar, rule, value_type},
    *,
};
use smallvec::SmallVec;

/// As many values as most loops carry.
type Values = SmallVec<[NodeId; 4]>;

/// Makes the bindings of a prim func, typed by the [rules](crate::prim::rule).
///
/// A binding that breaks a rule has no type, and the first such fault is the error of [`finish`](Self::finish): so that expressions
/// can be written without a `?` behind each operator.
///
/// ```
/// use relais_plugin_api::{ir::{ElemType, IRModule, verify}, prim::{CoreOp, PrimBuilder, prim_func}};
///
/// // y[i] = max(x[i], 0)
/// let mut f = prim_func(&[("x", ElemType::FLOAT, &[8])], &[("y", ElemType::FLOAT, &[8])]);
/// let [x, y] = *f.params() else { unreachable!() };
/// let mut b = PrimBuilder::new(&mut f);
/// let (zero, eight) = (b.float(ElemType::FLOAT, 0.0), b.index(8));
/// b.each(eight, |b, i| {
///     let value = b.load(x, &[i]);
///     let value = b.op(CoreOp::Max, &[value, zero]);
///     b.store(y, value, &[i]);
/// });
/// b.finish().unwrap();
/// let mut module = IRModule::new();
/// module.set_prim_func("relu", f);
/// assert_eq!(verify(&module), []);
/// ```
pub struct PrimBuilder<'a> {
    f: &'a mut Function,
    place: Place<'a>,
    ops: Ops<'a>,
    fault: Option<PassError>,
}

/// The operators of the function: the builder's, or those of a pass that goes on with them.
enum Ops<'a> {
    Own(Box<LoopOps>),
    Lent(&'a mut LoopOps),
}

impl Ops<'_> {
    fn get(&mut self) -> &mut LoopOps {
        match self {
            Self::Own(ops) => ops,
            Self::Lent(ops) => ops,
        }
    }
}

/// Makes the body of a nest of loops, for their indices.
type Innermost<'f, B> = Box<dyn FnOnce(&mut B, &[NodeId]) + 'f>;

/// Where bindings are put.
enum Place<'a> {
    Block(BlockId),
    Before(&'a mut Vec<NodeId>),
}

/// A prim func with an empty block, whose parameters have these names, element types and sizes.
pub fn prim_func(inputs: &[(&str, ElemType, &[u64])], outputs: &[(&str, ElemType, &[u64])]) -> Function {
    let mut f = Function::new();
    let params: Vec<NodeId> = inputs
        .iter()
        .chain(outputs)
        .map(|&(name, elem, sizes)| {
            let dims: Vec<Dim> = sizes.iter().map(|&size| Dim::Static(size)).collect();
            let ty = f.tensor_type(elem, &dims);
            f.add_var(name, ty)
        })
        .collect();
    f.set_params(f.root(), &params);
    f.set_attrs(f.root(), &[Attr::meta(OUTPUTS, outputs.len() as i64)]);
    f.set_results(f.body(), &[]);
    f
}

impl<'a> PrimBuilder<'a> {
    /// Adds bindings at the end of a function's block.
    pub fn new(f: &'a mut Function) -> Self {
        let body = f.body();
        Self::at(f, body)
    }

    /// Adds bindings at the end of a block.
    pub fn at(f: &'a mut Function, block: BlockId) -> Self {
        let ops = Ops::Own(Box::new(LoopOps::new(f)));
        Self { f, place: Place::Block(block), ops, fault: None }
    }

    /// Adds bindings before the one that a [`Rebuild`] visits, in a function with these operators.
    pub fn before(cx: &'a mut RebuildCx<'_>, ops: &'a mut LoopOps) -> Self {
        let (f, before) = cx.parts();
        Self { f, place: Place::Before(before), ops: Ops::Lent(ops), fault: None }
    }

    /// The function.
    pub fn function(&self) -> &Function {
        self.f
    }

    /// The function, to be given metadata and names.
    pub fn function_mut(&mut self) -> &mut Function {
        self.f
    }

    /// Ends the building.
    ///
    /// # Errors
    /// Returns the first fault.
    pub fn finish(self) -> Result<(), PassError> {
        self.fault.map_or(Ok(()), Err)
    }

    fn placed(&mut self, id: NodeId) -> NodeId {
        match &mut self.place {
            Place::Block(block) => self.f.append(*block, id),
            Place::Before(before) => before.push(id),
        }
        id
    }

    /// Types a new binding and puts it into its place.
    fn typed(&mut self, id: NodeId) -> NodeId {
        match rule(self.f, self.ops.get(), id) {
            Ok(made) => {
                let ty = made.add_to(self.f);
                self.f.set_type(id, ty);
            }
            Err(broken) if self.fault.is_none() => {
                let message = format!("{}, at `{}`", broken.message, crate::text::display(self.f, id));
                self.fault = Some(PassError::new(message));
            }
            Err(_) => {}
        }
        self.placed(id)
    }

    /// The element type and the lanes of a value.
    pub fn scalar(&self, id: NodeId) -> Option<Scalar> {
        value_type(self.f.type_of(id))
    }

    // ---- numbers ------------------------------------------------------------------------------------------------------

    /// A number.
    pub fn imm(&mut self, imm: Imm) -> NodeId {
        self.f.add_imm(imm)
    }

    /// An index.
    pub fn index(&mut self, value: i64) -> NodeId {
        self.imm(Imm::index(value))
    }

    /// A floating-point number.
    ///
    /// # Panics
    /// Panics if the element type is not a floating-point type.
    pub fn float(&mut self, elem: ElemType, value: f64) -> NodeId {
        self.imm(Imm::float(elem, value).expect("a floating-point type of loop programs"))
    }

    /// Memory with these contents.
    pub fn constant(&mut self, tensor: Tensor) -> NodeId {
        let id = self.f.add_constant(tensor, ConstForm::ANY);
        self.placed(id)
    }

    // ---- calls --------------------------------------------------------------------------------------------------------

    fn op_id(&mut self, op: CoreOp) -> OpId {
        self.ops.get().id(self.f, op)
    }

    /// A call of a core operator without attributes or functions.
    pub fn op(&mut self, op: CoreOp, args: &[NodeId]) -> NodeId {
        let op = self.op_id(op);
        let id = self.f.add_call(op, args);
        self.typed(id)
    }

    /// A call of a core operator with attributes.
    pub fn op_with(&mut self, op: CoreOp, args: &[NodeId], attrs: &[Attr]) -> NodeId {
        let op = self.op_id(op);
        let id = self.f.add_call(op, args);
        self.f.set_attrs(id, attrs);
        self.typed(id)
    }

    /// The value in another element type.
    pub fn cast(&mut self, value: NodeId, elem: ElemType) -> NodeId {
        if self.scalar(value).is_some_and(|scalar| scalar.elem == elem) {
            return value;
        }
        self.op_with(CoreOp::Cast, &[value], &[Attr::new("elem", elem.name().unwrap_or_default())])
    }

    /// Memory on the stack, until the end of the block.
    pub fn alloc(&mut self, elem: ElemType, sizes: &[u64]) -> NodeId {
        let sizes: Vec<i64> = sizes.iter().map(|&size| i64::try_from(size).unwrap_or(i64::MAX)).collect();
        let attrs = [Attr::new("shape", sizes), Attr::new("elem", elem.name().unwrap_or_default())];
        self.op_with(CoreOp::Alloc, &[], &attrs)
    }

    /// An element of memory.
    pub fn load(&mut self, memory: NodeId, indices: &[NodeId]) -> NodeId {
        let args: Values = [memory].iter().chain(indices).copied().collect();
        self.op(CoreOp::Load, &args)
    }

    /// Sets an element of memory.
    pub fn store(&mut self, memory: NodeId, value: NodeId, indices: &[NodeId]) -> NodeId {
        let args: Values = [memory, value].iter().chain(indices).copied().collect();
        self.op(CoreOp::Store, &args)
    }

    /// A call of another prim func.
    pub fn call(&mut self, name: &str, memory: &[NodeId]) -> NodeId {
        let callee = self.f.add_global_var(name);
        let id = self.f.add_call_with(callee, memory, &[], None);
        self.typed(id)
    }

    // ---- control ------------------------------------------------------------------------------------------------------

    /// A function with parameters of these types, whose block `body` fills, and the values that it returns.
    fn region(&mut self, params: &[TypeId], body: impl FnOnce(&mut Self, &[NodeId]) -> Values) -> NodeId {
        let params: Values = params.iter().map(|&ty| self.f.add_var("", ty)).collect();
        let function = self.f.add_function(&params);
        let block = self.f.block_of(function);
        let outer = std::mem::replace(&mut self.place, Place::Block(block));
        let results = body(self, &params);
        self.place = outer;
        self.f.set_results(block, &results);
        function
    }

    fn control(&mut self, op: CoreOp, args: &[NodeId], regions: &[NodeId], attrs: &[Attr], n_carried: usize) -> NodeId {
        let op_id = self.op_id(op);
        let callee = self.f.op(op_id).node;
        let n_results = u16::try_from(n_carried).ok().filter(|&n| n > 1);
        let id = self.f.add_call_with(callee, args, regions, n_results);
        let named = op.info().regions.iter().zip(0..).take(regions.len());
        let graphs = named.map(|(&name, at)| Attr::new(name, AttrData::Graph(at)));
        let all: Vec<Attr> = attrs.iter().cloned().chain(graphs).collect();
        self.f.set_attrs(id, &all);
        self.typed(id)
    }

    /// The results of a loop that carries that many values.
    fn results(&mut self, id: NodeId, n_carried: usize) -> Values {
        match n_carried {
            0 => Values::new(),
            1 => Values::from_slice(&[id]),
            _ => (0..n_carried as u16)
                .map(|at| {
                    let item = self.f.add_tuple_get_item(id, at);
                    self.typed(item)
                })
                .collect(),
        }
    }

    /// A serial loop from 0 to `extent`.
    pub fn each(&mut self, extent: NodeId, body: impl FnOnce(&mut Self, NodeId)) -> NodeId {
        self.each_of(LoopKind::Serial, extent, body)
    }

    /// A loop of some kind from 0 to `extent`.
    pub fn each_of(&mut self, kind: LoopKind, extent: NodeId, body: impl FnOnce(&mut Self, NodeId)) -> NodeId {
        let index = self.f.type_id(extent);
        let min = self.scalar(extent).and_then(|scalar| Imm::int(scalar.elem, 0)).unwrap_or(Imm::index(0));
        let min = self.imm(min);
        let region = self.region(&[index], |b, params| {
            body(b, params[0]);
            Values::new()
        });
        let kind = Attr::new("kind", kind.name());
        let attrs = if kind == Attr::new("kind", LoopKind::Serial.name()) { vec![] } else { vec![kind] };
        self.control(CoreOp::For, &[min, extent], &[region], &attrs, 0)
    }

    /// Serial loops over every index of memory of these sizes, the last one innermost; `body` gets the indices. Where a size
    /// is 1, the index is 0, without a loop.
    pub fn each_of_all(&mut self, sizes: &[u64], body: impl FnOnce(&mut Self, &[NodeId])) {
        self.nest(sizes, &mut Values::new(), Box::new(body));
    }

    fn nest(&mut self, sizes: &[u64], outer: &mut Values, body: Innermost<'_, Self>) {
        let Some((&size, inner)) = sizes.split_first() else { return body(self, outer) };
        if size == 1 {
            outer.push(self.index(0));
            return self.nest(inner, outer, body);
        }
        let extent = self.index(i64::try_from(size).unwrap_or(i64::MAX));
        self.each(extent, |b, index| {
            outer.push(index);
            b.nest(inner, outer, body);
        });
    }

    /// A serial loop from `min` on, of `extent` turns, that carries values: `body` gives those of the next turn.
    pub fn fold<const N: usize>(
        &mut self,
        min: NodeId,
        extent: NodeId,
        carried: [NodeId; N],
        body: impl FnOnce(&mut Self, NodeId, [NodeId; N]) -> [NodeId; N],
    ) -> [NodeId; N] {
        let mut types: SmallVec<[TypeId; 4]> = SmallVec::from_slice(&[self.f.type_id(min)]);
        types.extend(carried.iter().map(|&value| self.f.type_id(value)));
        let region = self.region(&types, |b, params| {
            let inner = std::array::from_fn(|at| params[1 + at]);
            Values::from_slice(&body(b, params[0], inner))
        });
        let args: Values = [min, extent].iter().chain(&carried).copied().collect();
        let id = self.control(CoreOp::For, &args, &[region], &[], N);
        let results = self.results(id, N);
        std::array::from_fn(|at| results[at])
    }

    /// A loop that runs as long as `cond` holds of the carried values.
    pub fn while_loop<const N: usize>(
        &mut self,
        carried: [NodeId; N],
        cond: impl FnOnce(&mut Self, [NodeId; N]) -> NodeId,
        body: impl FnOnce(&mut Self, [NodeId; N]) -> [NodeId; N],
    ) -> [NodeId; N] {
        let types: SmallVec<[TypeId; 4]> = carried.iter().map(|&value| self.f.type_id(value)).collect();
        let cond = self.region(&types, |b, params| {
            let inner = std::array::from_fn(|at| params[at]);
            Values::from_slice(&[cond(b, inner)])
        });
        let body = self.region(&types, |b, params| {
            let inner = std::array::from_fn(|at| params[at]);
            Values::from_slice(&body(b, inner))
        });
        let id = self.control(CoreOp::While, &carried, &[cond, body], &[], N);
        let results = self.results(id, N);
        std::array::from_fn(|at| results[at])
    }

    /// Runs `then` for its effects if the condition holds.
    pub fn when(&mut self, cond: NodeId, then: impl FnOnce(&mut Self)) -> NodeId {
        let then = self.effects(then);
        self.control(CoreOp::When, &[cond], &[then], &[], 0)
    }

    /// Runs one of two for its effects.
    pub fn when_else(
        &mut self,
        cond: NodeId,
        then: impl FnOnce(&mut Self),
        otherwise: impl FnOnce(&mut Self),
    ) -> NodeId {
        let regions = [self.effects(then), self.effects(otherwise)];
        self.control(CoreOp::When, &[cond], &regions, &[], 0)
    }

    fn effects(&mut self, body: impl FnOnce(&mut Self)) -> NodeId {
        self.region(&[], |b, _| {
            body(b);
            Values::new()
        })
    }

    /// The value of one of two expressions, of which only that one is computed.
    pub fn lazy(
        &mut self,
        cond: NodeId,
        then: impl FnOnce(&mut Self) -> NodeId,
        otherwise: impl FnOnce(&mut Self) -> NodeId,
    ) -> NodeId {
        let then = self.region(&[], |b, _| Values::from_slice(&[then(b)]));
        let otherwise = self.region(&[], |b, _| Values::from_slice(&[otherwise(b)]));
        let id = self.f.add_if(cond, then, otherwise, None);
        self.typed(id)
    }
}

/// Whether products of any of these sizes are within an `int64`, so that indices and counts can be computed with.
pub fn count_fits(sizes: &[u64]) -> bool {
    let mut positive = sizes.iter().filter(|&&size| size != 0);
    positive.try_fold(1u64, |count, &size| count.checked_mul(size)).is_some_and(|count| count <= i64::MAX as u64)
}
