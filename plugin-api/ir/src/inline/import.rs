//! Copying the nodes of a function into another one.

use super::*;

/// An attribute value for another function, whose ids of types are `types`; `None` for a value that only its node can
/// hold.
pub(crate) fn owned(value: AttrValue<'_>, types: &[TypeId]) -> Option<AttrData> {
    let ty = |id: TypeId| types.get(id.index()).copied();
    Some(match value {
        AttrValue::Float(value) => AttrData::Float(value),
        AttrValue::Int(value) => AttrData::Int(value),
        AttrValue::String(value) => AttrData::String(value.to_vec()),
        AttrValue::Tensor(value) => AttrData::Tensor(value.clone()),
        AttrValue::Floats(values) => AttrData::Floats(values.floats().collect()),
        AttrValue::Ints(values) => AttrData::Ints(values.ints().collect()),
        AttrValue::Strings(values) => AttrData::Strings(values.strings().map(<[u8]>::to_vec).collect()),
        AttrValue::Tensors(values) => AttrData::Tensors(values.tensors().cloned().collect()),
        AttrValue::SparseTensor(value) => AttrData::SparseTensor(value.to_vec()),
        AttrValue::SparseTensors(values) => AttrData::SparseTensors(values.strings().map(<[u8]>::to_vec).collect()),
        AttrValue::Type(id) => AttrData::Type(ty(id)?),
        AttrValue::Types(ids) => AttrData::Types(ids.types().map(ty).collect::<Option<_>>()?),
        AttrValue::Ref { name, kind } => AttrData::Ref { name: name.to_owned(), kind },
        _ => return None,
    })
}

/// Copies nodes of one function into another.
pub(crate) struct Import<'a> {
    pub(crate) from: &'a Function,
    /// For each node of `from`, its counterpart in the other function.
    pub(crate) map: Vec<NodeId>,
    pub(crate) types: Vec<TypeId>,
    /// The values for references to attributes; `None` leaves the references.
    pub(crate) given: Option<Given>,
    /// Whether symbols name the same sizes in both functions.
    pub(crate) has_same_symbols: bool,
}

/// A block being copied.
pub(crate) struct Copying<'a> {
    pub(crate) function: NodeId,
    pub(crate) bindings: &'a [NodeId],
    pub(crate) next: usize,
    pub(crate) regions: Vec<NodeId>,
    pub(crate) params: Vec<NodeId>,
    pub(crate) list: Vec<NodeId>,
}

impl<'a> Import<'a> {
    pub(crate) fn new(from: &'a Function) -> Self {
        let map = vec![NodeId::ABSENT; from.n_nodes()];
        Self { from, map, types: Vec::new(), given: None, has_same_symbols: false }
    }

    /// Adds all types: parts have lower ids than the types that contain them.
    pub(crate) fn add_types(&mut self, to: &mut Function) {
        for id in 0..self.from.n_types() {
            let part = |id: TypeId, types: &[TypeId]| types.get(id.index()).copied().unwrap_or(TypeId::UNKNOWN);
            // A symbol names a size within its function only.
            let (from, has_same_symbols) = (self.from, self.has_same_symbols);
            let dims = |to: &mut Function, shape: &[DimRec]| -> Vec<DimRec> {
                let mut dim = |&dim: &DimRec| match Dim::from(dim) {
                    Dim::Symbol(name) if has_same_symbols => Dim::Symbol(to.intern(from.str(name))).into(),
                    dim => dim.known().map_or(Dim::Unknown, Dim::Static).into(),
                };
                shape.iter().map(&mut dim).collect()
            };
            let types = &self.types;
            let id = match self.from.ty(TypeId::from_index(id)) {
                Type::Tensor { elem, shape } => {
                    let shape = shape.map(|shape| dims(to, shape));
                    to.add_type(Type::Tensor { elem, shape: shape.as_deref() })
                }
                Type::SparseTensor { elem, shape } => {
                    let shape = shape.map(|shape| dims(to, shape));
                    to.add_type(Type::SparseTensor { elem, shape: shape.as_deref() })
                }
                Type::Tuple(fields) => {
                    let fields: Vec<TypeId> = fields.iter().map(|&id| part(id, types)).collect();
                    to.add_type(Type::Tuple(&fields))
                }
                Type::Func { params, result } => {
                    let params: Vec<TypeId> = params.iter().map(|&id| part(id, types)).collect();
                    to.add_type(Type::Func { params: &params, result: part(result, types) })
                }
                Type::Sequence(item) => to.add_type(Type::Sequence(part(item, types))),
                Type::Optional(item) => to.add_type(Type::Optional(part(item, types))),
                Type::Map { key, value } => to.add_type(Type::Map { key, value: part(value, types) }),
                Type::Opaque { domain, name } => {
                    let domain = to.intern(self.from.str(domain));
                    let name = to.intern(self.from.str(name));
                    to.add_type(Type::Opaque { domain, name })
                }
                _ => TypeId::UNKNOWN,
            };
            self.types.push(id);
        }
    }

    pub(crate) fn open(
        &mut self,
        to: &mut Function,
        function: NodeId,
        name: &mut impl FnMut(&str) -> String,
    ) -> Copying<'a> {
        let mut params = Vec::new();
        for &param in self.from.operands(function) {
            let ty = self.types[self.from.type_id(param).index()];
            let copy = to.add_var(&name(self.from.name(param)), ty);
            self.map[param.index()] = copy;
            params.push(copy);
        }
        let bindings = self.from.bindings(self.from.block_of(function));
        Copying { function, bindings, next: 0, regions: Vec::new(), params, list: Vec::new() }
    }

    /// Copies the bindings of the function's body to the end of `list`.
    pub(crate) fn body(&mut self, to: &mut Function, list: &mut Vec<NodeId>, name: impl FnMut(&str) -> String) {
        self.bindings(to, self.from.bindings(self.from.body()), list, name);
    }

    /// Copies bindings, with the functions that belong to them, to the end of `list`.
    pub(crate) fn bindings<'b>(
        &mut self,
        to: &mut Function,
        bindings: &'b [NodeId],
        list: &mut Vec<NodeId>,
        mut name: impl FnMut(&str) -> String,
    ) where
        'a: 'b,
    {
        let from = self.from;
        let (regions, params, made) = (Vec::new(), Vec::new(), Vec::new());
        let mut frames: Vec<Copying<'b>> =
            vec![Copying { function: from.root(), bindings, next: 0, regions, params, list: made }];
        while let Some(frame) = frames.last_mut() {
            if let Some(&binding) = frame.bindings.get(frame.next) {
                if let Some(&region) = from.regions(binding).get(frame.regions.len()) {
                    let inner = self.open(to, region, &mut name);
                    frames.push(inner);
                    continue;
                }
                let regions = std::mem::take(&mut frame.regions);
                let copy = self.binding(to, binding, &regions);
                if !from.name(binding).is_empty() {
                    to.set_name(copy, &name(from.name(binding)));
                }
                self.map[binding.index()] = copy;
                frame.list.push(copy);
                frame.next += 1;
                continue;
            }
            let Some(Copying { function, params, list: made, .. }) = frames.pop() else { break };
            let Some(outer) = frames.last_mut() else {
                list.extend(made);
                break;
            };
            let copy = to.add_function(&params);
            let block = to.block_of(copy);
            to.set_bindings(block, &made);
            let results: Vec<NodeId> =
                from.results(from.block_of(function)).iter().map(|id| self.map[id.index()]).collect();
            to.set_results(block, &results);
            let attrs = self.attributes(to, function);
            to.set_attr_recs(copy, &attrs);
            outer.regions.push(copy);
        }
    }

    pub(crate) fn binding(&mut self, to: &mut Function, id: NodeId, regions: &[NodeId]) -> NodeId {
        let from = self.from;
        let operand = |id: &NodeId| self.map[id.index()];
        let n_results = from.n_results(id).and_then(|count| u16::try_from(count).ok());
        let attrs = self.attributes(to, id);
        let copy = match from.expr(id) {
            Expr::Constant(tensor) => to.add_constant(tensor.clone(), ConstForm(from.node(id).aux)),
            Expr::Tuple(fields) => {
                let fields: Vec<NodeId> = fields.iter().map(operand).collect();
                to.add_tuple(&fields)
            }
            Expr::TupleGetItem { tuple, .. } => to.add_tuple_get_item(operand(&tuple), from.node(id).aux),
            Expr::If(view) => to.add_if(operand(&view.cond()), regions[0], regions[1], n_results),
            Expr::Call(call) => {
                let args: Vec<NodeId> = call.args().iter().map(operand).collect();
                let callee = match from.expr(call.callee()) {
                    Expr::Op(op) => {
                        let OpRec { domain, name, overload, version, .. } = *from.op(op);
                        let op = to.add_op(from.str(domain), from.str(name), from.str(overload), version);
                        to.op(op).node
                    }
                    Expr::GlobalVar(name) => to.add_global_var(name),
                    _ => operand(&call.callee()),
                };
                match constant(to, from, id, &attrs) {
                    Some(constant) => return constant,
                    None => to.add_call_with(callee, &args, regions, n_results),
                }
            }
            // No other kind passes `is_copied`.
            _ => NodeId::ABSENT,
        };
        if !attrs.is_empty() && !copy.is_absent() {
            to.set_attr_recs(copy, &attrs);
        }
        let ty = self.types[from.type_id(id).index()];
        if !copy.is_absent() && to.type_id(copy) == TypeId::UNKNOWN {
            to.set_type(copy, ty);
        }
        if from.node(id).flags & flag::LET != 0 {
            to.set_let(copy, LetForm::Let);
        }
        copy
    }

    /// The attributes of a node for the other function, references replaced.
    pub(crate) fn attributes(&self, to: &mut Function, id: NodeId) -> Vec<AttrRec> {
        let attrs = self.from.attrs(id);
        let mut recs = Vec::new();
        for &rec in attrs.recs() {
            let name = self.from.str(rec.name);
            let value = match attrs.decode(rec) {
                AttrValue::Ref { name: outer, .. } if let Some(given) = &self.given => {
                    // An attribute that has neither a value in the call nor a default is omitted.
                    if let Some(&given) = given.get(outer) {
                        recs.push(AttrRec { name: to.intern(name), flags: rec.flags, ..given });
                    }
                    continue;
                }
                AttrValue::Graph(_) => AttrData::Graph(rec.a),
                AttrValue::Graphs(_) => AttrData::Graphs { first: rec.a, count: rec.b },
                AttrValue::Raw(bytes) => AttrData::Raw(bytes.to_vec()),
                value => match owned(value, &self.types) {
                    Some(value) => value,
                    None => continue,
                },
            };
            let attr = Attr { name: name.to_owned().into(), value, flags: rec.flags };
            recs.push(to.encode_attr(&attr));
        }
        recs
    }
}

/// Whether nodes of this kind can be copied.
pub(crate) fn is_copied(f: &Function, id: NodeId) -> bool {
    matches!(f.expr(id), Expr::Call(_) | Expr::If(_) | Expr::Constant(_) | Expr::Tuple(_) | Expr::TupleGetItem { .. })
}

/// A `Constant` whose value was a reference, now that the value is known.
pub(crate) fn constant(to: &mut Function, from: &Function, id: NodeId, recs: &[AttrRec]) -> Option<NodeId> {
    let call = from.call(id)?;
    if !call.is_op("Constant") || !call.args().is_empty() || call.n_results().is_some() || !call.attrs().has_refs() {
        return None;
    }
    let mut operator = recs.iter().filter(|rec| rec.flags & attr_flag::META == 0);
    let (rec, None) = (operator.next()?, operator.next()) else { return None };
    let (form, tensor) = {
        let name = to.str(rec.name);
        match (name, to.attrs(to.root()).decode(*rec)) {
            ("value", AttrValue::Tensor(tensor)) => (ConstForm::VALUE, tensor.clone()),
            ("value_float", AttrValue::Float(value)) => (ConstForm::VALUE_FLOAT, Tensor::from_f32(&[], &[value])),
            ("value_int", AttrValue::Int(value)) => (ConstForm::VALUE_INT, Tensor::from_i64(&[], &[value])),
            ("value_floats", AttrValue::Floats(values)) => {
                let values: Vec<f32> = values.floats().collect();
                (ConstForm::VALUE_FLOATS, Tensor::from_f32(&[values.len() as u64], &values))
            }
            ("value_ints", AttrValue::Ints(values)) => {
                let values: Vec<i64> = values.ints().collect();
                (ConstForm::VALUE_INTS, Tensor::from_i64(&[values.len() as u64], &values))
            }
            _ => return None,
        }
    };
    let constant = to.add_constant(tensor, form);
    let metadata: Vec<AttrRec> = recs.iter().filter(|rec| rec.flags & attr_flag::META != 0).copied().collect();
    if !metadata.is_empty() {
        to.set_attr_recs(constant, &metadata);
    }
    Some(constant)
}
