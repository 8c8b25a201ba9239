//! One call by value as a function of its own, and the types of its results back.

use crate::{
    error::OpError,
    request::{ArgRec, CallRequest, CallValue, EvalRequest, InferRequest, known_value, set_known_value},
};
use relais_ir::*;
use std::collections::BTreeMap;

/// The attributes of a call by value.
pub(crate) fn attrs_of(call: &CallValue<'_>) -> Result<Vec<Attr>, OpError> {
    let attrs = Attrs::of_recs(call.attrs_of, call.attrs.as_slice());
    let attr = |(name, value): (&str, AttrValue<'_>)| {
        let value = value.to_data().filter(|_| !matches!(value, AttrValue::Ref { .. } | AttrValue::Type(_)));
        let value = value.ok_or_else(|| OpError::unsupported(format_args!("attribute `{name}` has no value here")))?;
        Ok(Attr::new(name.to_owned(), value))
    };
    attrs.iter().map(attr).collect()
}

/// Adds the type of a tensor in another function, with the same symbols; unknown for other types.
pub(crate) fn tensor_type_in(f: &mut Function, from: &Function, ty: Type<'_>, mut symbol: impl FnMut(StrId)) -> TypeId {
    let Type::Tensor { elem, shape } = ty else { return TypeId::UNKNOWN };
    let mut dim = |&dim: &DimRec| match Dim::from(dim) {
        Dim::Symbol(name) => {
            symbol(name);
            Dim::Symbol(f.intern(from.str(name))).into()
        }
        other => other.into(),
    };
    let shape = shape.map(|shape| shape.iter().map(&mut dim).collect::<Vec<DimRec>>());
    f.add_type(Type::Tensor { elem, shape: shape.as_deref() })
}

/// The names of the dimensions that a call has, with their ids in the function whose types those of the call are.
pub(crate) type Symbols = BTreeMap<String, StrId>;

/// Adds the arguments of a call: constants as they are, the others as variables of their types.
pub(crate) fn arguments(
    f: &mut Function,
    call: &CallValue<'_>,
    types: &NewTypes,
    symbols: &mut Symbols,
) -> Vec<NodeId> {
    let from = call.types_of;
    let mut ty_of = |f: &mut Function, id: TypeId| {
        tensor_type_in(f, from, types.ty(from, id), |name| {
            symbols.insert(from.str(name).to_owned(), name);
        })
    };
    let mut arg = |(index, arg): (usize, &ArgRec<'_>)| match arg.tensor {
        _ if arg.present == 0 => NodeId::ABSENT,
        Some(tensor) => f.add_constant(tensor.clone(), ConstForm::ANY),
        None => {
            let (ty, value) = (ty_of(f, arg.ty), ty_of(f, arg.value));
            let var = f.add_var(&format!("arg{index}"), ty);
            set_known_value(f, var, value);
            var
        }
    };
    call.args.iter().enumerate().map(&mut arg).collect()
}

/// Sets the type of a result, and what is known of its value, from types of another function.
pub(crate) fn take_type(
    request: &mut InferRequest<'_>,
    index: usize,
    f: &Function,
    ty: TypeId,
    value: Option<TypeId>,
    symbols: &Symbols,
) {
    let types_of = request.call.types_of;
    let mut back = |ty: Type<'_>| {
        let Type::Tensor { elem, shape } = ty else { return TypeId::UNKNOWN };
        let Some(shape) = shape else { return request.types.add(types_of, Type::Tensor { elem, shape: None }) };
        let dim = |&dim: &DimRec| match Dim::from(dim) {
            Dim::Symbol(name) => symbols.get(f.str(name)).map_or(Dim::Unknown, |&name| Dim::Symbol(name)),
            other => other,
        };
        request.types.tensor(types_of, elem, &shape.iter().map(dim).collect::<Dims>())
    };
    request.outputs[index] = back(f.ty(ty));
    if let Some(value) = value {
        request.values[index] = back(f.ty(value));
    }
}

/// A function with nothing but a call, which is its result. Its parameters are the arguments that are not constants.
struct OneCall {
    f: Function,
    symbols: Symbols,
}

impl OneCall {
    /// A call with that many results, of these types if they are known.
    fn new(
        call: &CallValue<'_>,
        n_results: usize,
        results: &[ArgRec<'_>],
        args: impl FnOnce(&mut Function, &mut Symbols) -> Vec<NodeId>,
    ) -> Result<Self, OpError> {
        if !call.region_ends.is_empty() {
            return Err(OpError::unsupported("calls with functions of their own are not handed over"));
        }
        let (mut f, mut symbols) = (Function::new(), Symbols::new());
        let domain = normal_domain(&call.domain);
        let others = call.types_of.opset_imports().into_iter().filter(|(other, _)| normal_domain(other) != domain);
        let imports: Vec<(&str, i64)> = others.chain([(domain, call.version)]).collect();
        f.set_opset_imports(&imports);
        let args = args(&mut f, &mut symbols);
        let params: Vec<NodeId> = args.iter().copied().filter(|&arg| f.kind(arg) == kind::VAR).collect();
        f.set_params(f.root(), &params);
        for &arg in &args {
            if f.kind(arg) == kind::CONSTANT {
                f.append(f.body(), arg);
            }
        }
        let op = f.add_op(&call.domain, &call.name, "", 0);
        let n = (n_results != 1).then_some(n_results as u16);
        let made = f.add_call_with(f.op(op).node, &args, &[], n);
        f.set_attrs(made, &attrs_of(call)?);
        let types: Vec<TypeId> = results
            .iter()
            .map(|result| tensor_type_in(&mut f, call.types_of, call.types_of.ty(result.ty), |_| {}))
            .collect();
        let ty = match types[..] {
            [ty] => ty,
            [] => TypeId::UNKNOWN,
            _ => f.add_type(Type::Tuple(&types)),
        };
        f.set_type(made, ty);
        f.append(f.body(), made);
        f.set_result(f.body(), made);
        Ok(Self { f, symbols })
    }
}

/// Infers the types of a call's results by code that receives the call as a function of its own and returns it with the
/// type of its result: a tuple if there are several.
///
/// # Errors
/// Returns an error if that code does, or a call like this one is not handed over.
pub fn infer_by(
    request: &mut InferRequest<'_>,
    answer: impl FnOnce(&Function) -> Result<Function, OpError>,
) -> Result<(), OpError> {
    let (call, n_results) = (request.call, request.outputs.len());
    let types = &request.types;
    let args = |f: &mut Function, symbols: &mut Symbols| arguments(f, &call, types, symbols);
    let OneCall { f, symbols } = OneCall::new(&call, n_results, &[], args)?;
    let f = answer(&f)?;
    let result = f.result(f.body());
    match (n_results, f.type_of(result)) {
        (1, _) => take_type(request, 0, &f, f.type_id(result), known_value(&f, result), &symbols),
        (n, Type::Tuple(fields)) if fields.len() == n => {
            let fields = fields.to_vec();
            for (index, &ty) in fields.iter().enumerate() {
                take_type(request, index, &f, ty, None, &symbols);
            }
        }
        (_, Type::Unknown) => {}
        (n, _) => return Err(OpError::lied(format_args!("its result is not a tuple of {n} types"))),
    }
    Ok(())
}

/// Evaluates a call by code that receives the call as a function without parameters and returns a function whose results
/// are constants.
///
/// # Errors
/// Returns an error if that code does, or a call like this one is not handed over.
pub fn evaluate_by(
    request: &mut EvalRequest<'_>,
    answer: impl FnOnce(&Function) -> Result<Function, OpError>,
) -> Result<(), OpError> {
    let call = request.call;
    let (inputs, present) = (&request.inputs, &request.present);
    let args = |f: &mut Function, _: &mut Symbols| {
        let arg = |(input, &present): (&Tensor, &u8)| match present {
            0 => NodeId::ABSENT,
            _ => f.add_constant(input.clone(), ConstForm::ANY),
        };
        inputs.iter().zip(present.iter()).map(arg).collect()
    };
    let OneCall { f, .. } = OneCall::new(&call, request.n_outputs as usize, &[], args)?;
    let f = answer(&f)?;
    for &result in f.results(f.body()) {
        let tensor = f.constant(result).ok_or_else(|| OpError::lied("a result that it gave is not a constant"))?;
        request.outputs.push(tensor.clone());
    }
    Ok(())
}

/// Makes the text of a body, a gradient or a kernel by code that is given the call as a function of its own; the types of
/// its results are known where the request has them.
///
/// # Errors
/// Returns an error if that code does, or a call like this one is not handed over.
pub fn text_by(
    request: &mut CallRequest<'_>,
    has_results: bool,
    answer: impl FnOnce(&Function) -> Result<String, OpError>,
) -> Result<(), OpError> {
    let n_results = request.n_outputs as usize;
    let n_args = request.call.args.len() - if has_results { n_results.min(request.call.args.len()) } else { 0 };
    let (args, results) = request.call.args.as_slice().split_at(n_args);
    let call = CallValue { args: args.into(), ..request.call };
    let mut types = NewTypes::default();
    types.reset(call.types_of);
    let args = |f: &mut Function, symbols: &mut Symbols| arguments(f, &call, &types, symbols);
    let OneCall { f, .. } = OneCall::new(&call, n_results, results, args)?;
    request.text = answer(&f)?.into();
    Ok(())
}
