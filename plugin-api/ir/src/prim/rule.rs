//! The type rules of loop programs: what each binding takes and gives.

use super::{Class, CoreOp, LoopKind, LoopOps};
use crate::*;
use smallvec::SmallVec;
use std::fmt;

/// A broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    /// The kind of fault.
    pub code: FaultCode,
    /// The error message.
    pub message: String,
}

/// The type of a binding, before it is added to its function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Made {
    /// `()`
    Unit,
    /// A type that the function has.
    Type(TypeId),
    /// A scalar, or a vector of that many lanes.
    Value(Scalar),
    /// Memory.
    Memory(ElemType, Dims),
    /// Several results.
    Results(SmallVec<[TypeId; 4]>),
}

/// The type of a value: its element type, and its lanes if it is a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scalar {
    /// The element type.
    pub elem: ElemType,
    /// The number of lanes; `None` for a scalar.
    pub lanes: Option<u64>,
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lanes {
            None => write!(f, "{}", self.elem),
            Some(lanes) => write!(f, "{lanes} lanes of {}", self.elem),
        }
    }
}

impl Made {
    /// Adds the type to a function.
    pub fn add_to(&self, f: &mut Function) -> TypeId {
        match self {
            Self::Unit => f.add_type(Type::Tuple(&[])),
            Self::Type(ty) => *ty,
            Self::Value(Scalar { elem, lanes: None }) => f.add_type(Type::Tensor { elem: *elem, shape: Some(&[]) }),
            Self::Value(Scalar { elem, lanes: Some(lanes) }) => f.tensor_type(*elem, &[Dim::Static(*lanes)]),
            Self::Memory(elem, dims) => f.tensor_type(*elem, dims),
            Self::Results(types) => f.add_type(Type::Tuple(types)),
        }
    }

    /// Whether a function's type is that one.
    pub fn is(&self, f: &Function, ty: TypeId) -> bool {
        match (self, f.ty(ty)) {
            (Self::Type(made), _) => is_same(f, *made, ty),
            (Self::Unit, Type::Tuple(types)) => types.is_empty(),
            (Self::Value(made), other) => value_type(other) == Some(*made),
            (Self::Memory(elem, dims), Type::Tensor { elem: other, shape: Some(shape) }) => {
                *elem == other && dims.len() == shape.len() && dims.iter().zip(shape).all(|(&a, &b)| a == Dim::from(b))
            }
            (Self::Results(made), Type::Tuple(types)) => {
                made.len() == types.len() && made.iter().zip(types).all(|(&a, &b)| is_same(f, a, b))
            }
            _ => false,
        }
    }
}

/// The type of a value; `None` if no value has it.
pub fn value_type(ty: Type<'_>) -> Option<Scalar> {
    let (elem, shape) = ty.as_tensor()?;
    let lanes = match shape {
        [] => None,
        [lanes] => Some(Dim::from(*lanes).known().filter(|&lanes| lanes > 0)?),
        _ => return None,
    };
    elem.is_scalar().then_some(Scalar { elem, lanes })
}

type Checked<T> = Result<T, Broken>;

fn broken<T>(code: FaultCode, message: impl fmt::Display) -> Checked<T> {
    Err(Broken { code, message: message.to_string() })
}

/// The rule of one binding of a prim func, whose operands are typed, and whose regions' parameters and results are: what
/// type it has.
///
/// # Errors
/// Returns an error that says which rule is broken.
pub fn rule(f: &Function, ops: &LoopOps, id: NodeId) -> Checked<Made> {
    let call = Call { f, ops, id };
    match f.kind(id) {
        kind::CONSTANT => call.constant(),
        kind::TUPLE_GET_ITEM => call.item(),
        kind::IF => call.lazy_value(),
        kind::CALL => match ops.of(f, id) {
            Some(op) => call.core(op),
            None if f.operands(id).first().is_some_and(|&callee| f.kind(callee) == kind::GLOBAL_VAR) => {
                match f.n_regions(id) {
                    0 => Ok(Made::Unit),
                    _ => broken(FaultCode::PrimCall, "the call of a prim func has no functions of its own"),
                }
            }
            None => broken(FaultCode::ForeignOp, "a prim func calls core operators (`tir::…`) and prim funcs only"),
        },
        _ => broken(FaultCode::ForeignOp, "a node of this kind stands in no prim func"),
    }
}

#[derive(Clone, Copy)]
struct Call<'a> {
    f: &'a Function,
    ops: &'a LoopOps,
    id: NodeId,
}

impl<'a> Call<'a> {
    fn args(self) -> &'a [NodeId] {
        let operands = self.f.operands(self.id);
        let start = usize::from(self.f.kind(self.id) == kind::CALL);
        operands.get(start..operands.len() - self.f.n_regions(self.id)).unwrap_or_default()
    }

    fn attr(self, name: &str) -> Option<AttrValue<'a>> {
        self.f.attrs(self.id).get(name)
    }

    // ---- kinds of node ------------------------------------------------------------------------------------------------

    fn constant(self) -> Checked<Made> {
        match self.f.constant(self.id) {
            Some(tensor) if tensor.elem().is_scalar() => {
                Ok(Made::Memory(tensor.elem(), tensor.dims().iter().map(|&dim| Dim::Static(dim)).collect()))
            }
            Some(_) => broken(FaultCode::ElemType, "no loop program handles elements of this constant's type"),
            None => broken(FaultCode::ElemType, "the constant is in a form of a later version"),
        }
    }

    fn item(self) -> Checked<Made> {
        let [tuple] = *self.f.operands(self.id) else {
            return broken(FaultCode::Operands, "an item is one of one tuple");
        };
        match self.f.type_of(tuple) {
            Type::Tuple(types) => match types.get(usize::from(self.f.node(self.id).aux)) {
                Some(&ty) => Ok(Made::Type(ty)),
                None => broken(FaultCode::Projection, format_args!("`{tuple}` has {} results", types.len())),
            },
            _ => broken(FaultCode::Projection, format_args!("`{tuple}` has one result")),
        }
    }

    /// `if` with a value.
    fn lazy_value(self) -> Checked<Made> {
        let (&[condition], &[then, otherwise]) = (self.args(), self.f.regions(self.id)) else {
            return broken(FaultCode::Control, "an `if` has a condition and two branches");
        };
        self.condition(condition)?;
        let (then, otherwise) = (self.function(then)?, self.function(otherwise)?);
        let [then, otherwise] = [then, otherwise].map(|branch| self.f.results(self.f.block_of(branch)));
        let types: SmallVec<[TypeId; 4]> = then.iter().map(|&id| self.f.type_id(id)).collect();
        for (&a, &b) in then.iter().zip(otherwise) {
            let (a, b) = (self.value(a)?, self.value(b)?);
            if a != b {
                return broken(FaultCode::Control, format_args!("the branches give {a} and {b}"));
            }
        }
        match types[..] {
            _ if then.len() != otherwise.len() => broken(FaultCode::Control, "the branches give different numbers"),
            [] => broken(FaultCode::Control, "an `if` gives a value; `when` is for effects"),
            [one] => Ok(Made::Type(one)),
            _ => Ok(Made::Results(types)),
        }
    }

    fn core(self, op: CoreOp) -> Checked<Made> {
        let info = op.info();
        let args = self.args();
        if args.len() < info.arity.0 || args.len() > info.arity.1 {
            let (least, most) = info.arity;
            let wanted = match () {
                _ if least == most => format!("{least}"),
                _ if most == usize::MAX => format!("at least {least}"),
                _ => format!("{least} to {most}"),
            };
            let message = format_args!("`{}` takes {wanted} arguments, not {}", op.name(), args.len());
            return broken(FaultCode::OperandTypes, message);
        }
        self.attrs(op)?;
        self.n_regions(op)?;
        if self.f.n_results(self.id).is_some_and(|_| !matches!(op, CoreOp::For | CoreOp::While)) {
            return broken(FaultCode::Control, format_args!("`{}` has one result, which is not a tuple", op.name()));
        }
        if info.class != Class::Own {
            return self.same(op);
        }
        use CoreOp::*;
        match op {
            Alloc => self.alloc(),
            View => self.view(),
            Dim => self.dim(),
            Load | Store | Gather | Scatter | LoadMasked | StoreMasked => self.access(op),
            For => self.loops(op, 2),
            While => self.loops(op, 0),
            When => {
                self.condition(args[0])?;
                for (at, &region) in self.f.regions(self.id).iter().enumerate() {
                    self.region(op, at, region, &[], &[])?;
                }
                Ok(Made::Unit)
            }
            Assert => self.condition(args[0]).map(|()| Made::Unit),
            Select => self.select(),
            Not => match self.value(args[0])? {
                Scalar { elem, .. } if elem == ElemType::BOOL || elem.is_integer() => {
                    Ok(Made::Type(self.f.type_id(args[0])))
                }
                other => broken(FaultCode::OperandTypes, format_args!("`not` takes integers and `bool`, not {other}")),
            },
            Cast | Bitcast => self.conversion(op),
            Ramp => {
                let (base, stride) = (self.value(args[0])?, self.value(args[1])?);
                if base != stride || base.lanes.is_some() || !base.elem.is_integer() {
                    let message = format_args!("`ramp` takes two integers of one type, not {base} and {stride}");
                    return broken(FaultCode::OperandTypes, message);
                }
                Ok(Made::Value(Scalar { lanes: Some(self.lanes(2)?), ..base }))
            }
            Broadcast => match self.value(args[0])? {
                scalar @ Scalar { lanes: None, .. } => {
                    Ok(Made::Value(Scalar { lanes: Some(self.lanes(2)?), ..scalar }))
                }
                vector => broken(FaultCode::OperandTypes, format_args!("`broadcast` takes a scalar, not {vector}")),
            },
            Lane => {
                self.index(args[1])?;
                match self.value(args[0])? {
                    Scalar { elem, lanes: Some(_) } => Ok(Made::Value(Scalar { elem, lanes: None })),
                    scalar => broken(FaultCode::OperandTypes, format_args!("`lane` takes a vector, not {scalar}")),
                }
            }
            _ => broken(FaultCode::ForeignOp, format_args!("`{}` has no rule", op.name())),
        }
    }

    // ---- operands -----------------------------------------------------------------------------------------------------

    /// The type of an operand that has to be a value.
    fn value(self, id: NodeId) -> Checked<Scalar> {
        if id.is_absent() {
            return broken(FaultCode::Absent, "an operand is absent that cannot be");
        }
        if self.ops.is_memory(self.f, id) {
            return broken(FaultCode::MemoryUse, format_args!("`{id}` is memory and used as a value"));
        }
        match value_type(self.f.type_of(id)) {
            Some(value) => Ok(value),
            None if self.f.kind(id) == kind::IMM => {
                broken(FaultCode::Immediate, "an immediate is not a number of its type")
            }
            None => broken(FaultCode::MemoryUse, format_args!("`{id}` is neither a scalar nor a vector")),
        }
    }

    /// The element type and the dimensions of an operand that has to be memory.
    fn memory(self, id: NodeId) -> Checked<(ElemType, &'a [DimRec])> {
        if !self.ops.is_memory(self.f, id) {
            return broken(FaultCode::MemoryUse, format_args!("`{id}` is a value and used as memory"));
        }
        match self.f.type_of(id).as_tensor() {
            Some((elem, shape)) if elem.is_scalar() => Ok((elem, shape)),
            _ => broken(FaultCode::ElemType, format_args!("no loop program handles memory of the type of `{id}`")),
        }
    }

    fn condition(self, id: NodeId) -> Checked<()> {
        match self.value(id)? {
            Scalar { elem: ElemType::BOOL, lanes: None } => Ok(()),
            other => broken(FaultCode::OperandTypes, format_args!("a condition is a `bool`, not {other}")),
        }
    }

    fn index(self, id: NodeId) -> Checked<()> {
        match self.value(id)? {
            Scalar { elem: ElemType::INT64 | ElemType::INT32, lanes: None } => Ok(()),
            other => broken(FaultCode::Access, format_args!("an index is an `int64` or `int32`, not {other}")),
        }
    }

    /// The attribute `lanes`.
    fn lanes(self, least: i64) -> Checked<u64> {
        match self.attr("lanes") {
            Some(AttrValue::Int(lanes)) if lanes >= least && lanes <= MOST_LANES => Ok(lanes as u64),
            None if least <= 1 => Ok(1),
            _ => broken(FaultCode::OperandTypes, format_args!("`lanes` is a number from {least} to {MOST_LANES}")),
        }
    }

    /// The attribute `elem`.
    fn elem(self) -> Checked<ElemType> {
        let named = match self.attr("elem") {
            Some(AttrValue::String(name)) => std::str::from_utf8(name).ok().and_then(ElemType::from_name),
            _ => None,
        };
        match named.filter(|elem| elem.is_scalar()) {
            Some(elem) => Ok(elem),
            None => broken(FaultCode::ElemType, "`elem` names no element type that loop programs handle"),
        }
    }

    /// Refuses attributes that the operator does not have.
    fn attrs(self, op: CoreOp) -> Checked<()> {
        if self.f.node(self.id).c == 0 {
            return Ok(());
        }
        let info = op.info();
        for (name, value) in self.f.attrs(self.id).iter() {
            let is_known = match value {
                AttrValue::Graph(_) => info.regions.contains(&name),
                _ => info.attrs.contains(&name),
            };
            if !is_known {
                return broken(FaultCode::OperandTypes, format_args!("`{}` has no attribute `{name}`", op.name()));
            }
        }
        Ok(())
    }

    fn n_regions(self, op: CoreOp) -> Checked<()> {
        let regions = op.info().regions;
        let n_regions = self.f.n_regions(self.id);
        let is_right = n_regions == regions.len() || op == CoreOp::When && n_regions == 1;
        if !is_right {
            let message = format_args!("`{}` has {} functions, not {n_regions}", op.name(), regions.len());
            return broken(FaultCode::Control, message);
        }
        // They are found by their places; their names say the same.
        for (at, name) in regions.iter().take(n_regions).enumerate() {
            let is_named = self.f.attr_recs(self.id).iter().any(|rec| {
                rec.kind == attr_kind::GRAPH && rec.a as usize == at && self.f.bytes(rec.name) == name.as_bytes()
            });
            if !is_named {
                return broken(FaultCode::Control, format_args!("function {at} of `{}` is not `{name}`", op.name()));
            }
        }
        Ok(())
    }

    // ---- operators ----------------------------------------------------------------------------------------------------

    /// Operators whose operands have one type.
    fn same(self, op: CoreOp) -> Checked<Made> {
        let info = op.info();
        let args = self.args();
        let first = self.value(args[0])?;
        for &other in &args[1..] {
            let other = self.value(other)?;
            if other != first {
                let message = format_args!("`{}` takes operands of one type, not {first} and {other}", op.name());
                return broken(FaultCode::OperandTypes, message);
            }
        }
        let (takes, what) = match info.class {
            Class::Arithmetic | Class::Sign => (first.elem != ElemType::BOOL, "numbers"),
            Class::Integer => (first.elem.is_integer(), "integers"),
            Class::Logic => (!first.elem.is_float(), "integers and `bool`"),
            Class::Comparison => (true, "values"),
            Class::Math | Class::Test => (first.elem.is_float(), "floating-point numbers"),
            Class::Own => (false, "nothing"),
        };
        if !takes {
            return broken(FaultCode::OperandTypes, format_args!("`{}` takes {what}, not {first}", op.name()));
        }
        match info.class {
            Class::Comparison | Class::Test => Ok(Made::Value(Scalar { elem: ElemType::BOOL, ..first })),
            _ => Ok(Made::Type(self.f.type_id(args[0]))),
        }
    }

    fn select(self) -> Checked<Made> {
        let [c, a, b] = *self.args() else { return broken(FaultCode::OperandTypes, "`select` takes three arguments") };
        let (c, a_type, b) = (self.value(c)?, self.value(a)?, self.value(b)?);
        if a_type != b {
            return broken(
                FaultCode::OperandTypes,
                format_args!("`select` takes values of one type, not {a_type} and {b}"),
            );
        }
        if c.elem != ElemType::BOOL || c.lanes.is_some_and(|lanes| a_type.lanes != Some(lanes)) {
            let message = format_args!("`select` of {a_type} takes a `bool` or as many, not {c}");
            return broken(FaultCode::OperandTypes, message);
        }
        Ok(Made::Type(self.f.type_id(a)))
    }

    fn conversion(self, op: CoreOp) -> Checked<Made> {
        let from = self.value(self.args()[0])?;
        let elem = self.elem()?;
        if op == CoreOp::Bitcast
            && (elem.bits() != from.elem.bits() || ElemType::BOOL == elem || from.elem == ElemType::BOOL)
        {
            let message = format_args!("`bitcast` keeps the number of bits: {from} is not {elem}");
            return broken(FaultCode::OperandTypes, message);
        }
        Ok(Made::Value(Scalar { elem, ..from }))
    }

    /// The attribute `shape`; one size may be -1 if `is_open`.
    fn shape(self, is_open: bool) -> Checked<Vec<i64>> {
        let Some(AttrValue::Ints(sizes)) = self.attr("shape") else {
            return broken(FaultCode::Access, "`shape` is a list of sizes");
        };
        let sizes: Vec<i64> = sizes.ints().collect();
        let n_open = sizes.iter().filter(|&&size| size == -1).count();
        let is_right = sizes.iter().all(|&size| size >= -1) && n_open <= usize::from(is_open);
        match element_count(&sizes.iter().map(|&size| size.max(1) as u64).collect::<Vec<_>>()) {
            Some(_) if is_right => Ok(sizes),
            _ => broken(FaultCode::Access, format_args!("{sizes:?} is not a shape of memory")),
        }
    }

    fn alloc(self) -> Checked<Made> {
        if let Some(scope) = self.attr("scope")
            && !matches!(scope, AttrValue::String(b"stack" | b"static"))
        {
            return broken(FaultCode::OperandTypes, "`scope` is \"stack\" or \"static\"");
        }
        let sizes = self.shape(false)?;
        Ok(Made::Memory(self.elem()?, sizes.iter().map(|&size| Dim::Static(size as u64)).collect()))
    }

    fn view(self) -> Checked<Made> {
        let (elem, shape) = self.memory(self.args()[0])?;
        let sizes = self.shape(true)?;
        let whole = shape.iter().map(|&dim| Dim::from(dim).known()).collect::<Option<Vec<_>>>();
        let whole = whole.and_then(|dims| element_count(&dims));
        let rest = sizes.iter().filter(|&&size| size != -1).product::<i64>() as u64;
        let is_open = sizes.contains(&-1);
        let open = match whole {
            Some(whole) if is_open && rest > 0 && whole % rest == 0 => Dim::Static(whole / rest),
            Some(whole) if !is_open && whole == rest => Dim::Unknown,
            None => Dim::Unknown,
            Some(whole) => {
                return broken(FaultCode::Access, format_args!("{whole} elements do not have the shape {sizes:?}"));
            }
        };
        Ok(Made::Memory(
            elem,
            sizes.iter().map(|&size| if size == -1 { open } else { Dim::Static(size as u64) }).collect(),
        ))
    }

    fn dim(self) -> Checked<Made> {
        let (_, shape) = self.memory(self.args()[0])?;
        match self.attr("axis") {
            Some(AttrValue::Int(axis)) if axis >= 0 && (axis as usize) < shape.len() => {
                Ok(Made::Value(Scalar { elem: ElemType::INT64, lanes: None }))
            }
            _ => broken(FaultCode::Access, format_args!("`axis` is one of {} axes, from 0 on", shape.len())),
        }
    }

    /// Loads and stores.
    fn access(self, op: CoreOp) -> Checked<Made> {
        use CoreOp::*;
        let args = self.args();
        let (elem, shape) = self.memory(args[0])?;
        let indices = &args[op.first_index().unwrap_or(1)..];
        if indices.len() != shape.len() {
            let message = format_args!("{} indices into memory of {} dimensions", indices.len(), shape.len());
            return broken(FaultCode::Access, message);
        }
        let mut lanes = None;
        let scalars = match op {
            Gather | Scatter => {
                let (&last, rest) = indices.split_last().unwrap_or((&NodeId::ABSENT, &[]));
                match self.value(last)? {
                    Scalar { elem: ElemType::INT64 | ElemType::INT32, lanes: Some(n) } => lanes = Some(n),
                    other => return broken(FaultCode::Access, format_args!("the last index is a vector, not {other}")),
                }
                rest
            }
            _ => indices,
        };
        scalars.iter().try_for_each(|&index| self.index(index))?;
        match op {
            Load => lanes = Some(self.lanes(1)?).filter(|&lanes| lanes > 1),
            LoadMasked => lanes = Some(self.mask(args[1])?),
            StoreMasked => lanes = Some(self.mask(args[2])?),
            _ => {}
        }
        if lanes.is_some() && shape.is_empty() {
            return broken(FaultCode::Access, "memory without dimensions has one element");
        }
        if matches!(op, Load | LoadMasked | Gather) {
            return Ok(Made::Value(Scalar { elem, lanes }));
        }
        let stored = self.value(args[1])?;
        let is_right = match op {
            Store => stored.elem == elem && (stored.lanes.is_none() || !shape.is_empty()),
            _ => stored == Scalar { elem, lanes },
        };
        if !is_right {
            return broken(FaultCode::StoreType, format_args!("{stored} is stored in memory of {elem}"));
        }
        if !self.ops.is_writable(self.f, args[0]) {
            return broken(FaultCode::ReadOnly, format_args!("`{}` is not written: an input or a constant", args[0]));
        }
        Ok(Made::Unit)
    }

    fn mask(self, id: NodeId) -> Checked<u64> {
        match self.value(id)? {
            Scalar { elem: ElemType::BOOL, lanes: Some(lanes) } => Ok(lanes),
            other => broken(FaultCode::OperandTypes, format_args!("a mask is a vector of `bool`s, not {other}")),
        }
    }

    // ---- loops --------------------------------------------------------------------------------------------------------

    /// `for` and `while`: the carried values begin after `n_bounds` arguments.
    fn loops(self, op: CoreOp, n_bounds: usize) -> Checked<Made> {
        let (bounds, carried) = self.args().split_at(n_bounds);
        for &bound in bounds {
            self.index(bound)?;
        }
        if let [min, extent] = *bounds
            && !is_same(self.f, self.f.type_id(min), self.f.type_id(extent))
        {
            return broken(FaultCode::OperandTypes, "the bounds of a loop have one type");
        }
        for &value in carried {
            self.value(value)?;
        }
        let types: SmallVec<[TypeId; 4]> = carried.iter().map(|&id| self.f.type_id(id)).collect();
        let mut params: SmallVec<[TypeId; 4]> = bounds.iter().take(1).map(|&min| self.f.type_id(min)).collect();
        params.extend_from_slice(&types);
        let regions = self.f.regions(self.id);
        match op {
            CoreOp::For => {
                match LoopOps::loop_kind(self.f, self.id) {
                    None => return broken(FaultCode::Control, "`kind` is serial, parallel, vectorized or unrolled"),
                    Some(LoopKind::Parallel) if !carried.is_empty() => {
                        return broken(FaultCode::Control, "a parallel loop carries no values");
                    }
                    Some(_) => {}
                }
                self.region(op, 0, regions[0], &params, &types)?;
            }
            _ => {
                if let [condition] = *self.f.results(self.f.block_of(self.function(regions[0])?)) {
                    self.condition(condition)?;
                    self.region(op, 0, regions[0], &params, &[self.f.type_id(condition)])?;
                } else {
                    return broken(FaultCode::Control, "`cond` of `while` has one result, a `bool`");
                }
                self.region(op, 1, regions[1], &params, &types)?;
            }
        }
        let n_results = self.f.n_results(self.id);
        match types[..] {
            _ if n_results != Some(types.len()).filter(|&n| n > 1) => broken(
                FaultCode::Control,
                format_args!("{} values are carried, and the results are not as many", types.len()),
            ),
            [] => Ok(Made::Unit),
            [one] => Ok(Made::Type(one)),
            _ => Ok(Made::Results(types)),
        }
    }

    fn function(self, region: NodeId) -> Checked<NodeId> {
        match self.f.kind(region) {
            kind::FUNCTION => Ok(region),
            _ => broken(FaultCode::Control, format_args!("`{region}` should be a function")),
        }
    }

    fn region(self, op: CoreOp, at: usize, region: NodeId, params: &[TypeId], results: &[TypeId]) -> Checked<()> {
        let f = self.f;
        let name = format_args!("`{}` of `{}`", op.info().regions[at], op.name()).to_string();
        self.function(region)?;
        let agree = |ids: &[NodeId], types: &[TypeId]| {
            ids.len() == types.len() && ids.iter().zip(types).all(|(&id, &ty)| is_same(f, f.type_id(id), ty))
        };
        let shown = |types: &[TypeId]| {
            let types = types.iter().map(|&ty| value_type(f.ty(ty)).map_or("?".to_owned(), |value| value.to_string()));
            types.collect::<Vec<_>>().join(", ")
        };
        let given = f.operands(region);
        if !agree(given, params) {
            let given: Vec<TypeId> = given.iter().map(|&id| f.type_id(id)).collect();
            let message = format_args!("the parameters of {name} are ({}), not ({})", shown(params), shown(&given));
            return broken(FaultCode::Control, message);
        }
        let given = f.results(f.block_of(region));
        if let Some(&memory) = given.iter().find(|&&id| self.ops.is_memory(f, id)) {
            return broken(FaultCode::Escape, format_args!("`{memory}` is memory, and does not leave its block"));
        }
        if !agree(given, results) {
            let given: Vec<TypeId> = given.iter().map(|&id| f.type_id(id)).collect();
            let message = format_args!("the results of {name} are ({}), not ({})", shown(results), shown(&given));
            return broken(FaultCode::Control, message);
        }
        Ok(())
    }
}

/// Whether two types of one function are the same type.
fn is_same(f: &Function, a: TypeId, b: TypeId) -> bool {
    a == b || value_type(f.ty(a)).is_some_and(|value| value_type(f.ty(b)) == Some(value))
}

/// The most lanes of a vector.
const MOST_LANES: i64 = 1 << 10;
