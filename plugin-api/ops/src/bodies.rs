//! The body of an operator: a function that computes the same with other operators; and the gradient of a call.

use crate::{
    error::OpError,
    infer::Inferred,
    one_call::{Symbols, arguments, attrs_of, take_type, tensor_type_in},
    op::OpSchema,
    request::{ArgRec, CallParts, CallValue, InferRequest, known_value, set_known_value},
};
use abi_stable::std_types::RArc;
use relais_ir::{
    diagnostics::PassError,
    text::{self, SideFile},
    *,
};
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

/// How many bodies may be made for one call: an operator in a body may have a body itself, and be called often.
const MAX_BODIES: u32 = 1_000;

/// The bodies of operators that a function is nested in.
#[derive(Clone, Default)]
pub(crate) struct Nesting {
    path: Vec<String>,
    /// The number of bodies made for the outermost call.
    n_made: Arc<AtomicU32>,
}

impl Nesting {
    /// The nesting of the body of an operator.
    ///
    /// # Errors
    /// Returns an error if the operator's body calls itself through others, or if too many bodies were made.
    pub fn enter(&self, domain: &str, name: &str) -> Result<Self, OpError> {
        let full = full_name(domain, name);
        if self.path.contains(&full) {
            return Err(OpError::broken(format_args!("it calls itself: {} -> {full}", self.path.join(" -> "))));
        }
        let mut inner = if self.path.is_empty() { Self::default() } else { self.clone() };
        if inner.n_made.fetch_add(1, Ordering::Relaxed) >= MAX_BODIES {
            return Err(OpError::unsupported(format_args!("it consists of more than {MAX_BODIES} bodies")));
        }
        inner.path.push(full);
        Ok(inner)
    }
}

/// The body of an operator.
pub enum Body {
    /// One for all calls.
    Fixed(Box<Function>),
    /// One for each call: see [`Bodies::body_of`].
    OfCall,
}

/// Parses the body of an operator, and holds it against the operator's record.
///
/// The attributes of the record become those of the function, with their defaults.
///
/// # Errors
/// Returns an error if the text is not one function that imports operator sets, if it has other parameters, results or
/// attributes than the operator, or if it calls the operator itself or a function.
pub fn parse_body(domain: &str, name: &str, schema: &OpSchema, text: &str) -> Result<Function, PassError> {
    let count = |of: u16| if of == u16::MAX { "any number of".to_owned() } else { of.to_string() };
    let (f, params, results) = parse(Text::Body, domain, name, schema, text)?;
    let fault = |why| PassError::new(format_args!("the body of `{}` {why}", full_name(domain, name))).code("B004");
    if params != usize::from(schema.inputs.1) {
        let wanted = count(schema.inputs.1);
        return Err(fault(format!("has {params} parameters, and the operator takes {wanted} arguments"))
            .help("write a parameter for each argument that a call may have"));
    }
    if results != usize::from(schema.outputs.1) {
        let wanted = count(schema.outputs.1);
        return Err(fault(format!("has {results} results, and the operator gives {wanted}"))
            .help("give a result for each one of the operator"));
    }
    Ok(f)
}

/// Parses the body that was made for a call, and holds it against the operator's record and the call.
///
/// # Errors
/// As for [`parse_body`], with the numbers of arguments and results that the call has.
pub(crate) fn parse_body_of(
    (domain, name): (&str, &str),
    schema: &OpSchema,
    text: &str,
    (n_args, n_results): (usize, usize),
) -> Result<Function, OpError> {
    let (f, params, results) =
        parse(Text::Body, domain, name, schema, text).map_err(|error| OpError::lied(error.rec().message.as_str()))?;
    if (params, results) != (n_args, n_results) {
        let why = format_args!(
            "it made a body with {params} parameters and {results} results for a call with {n_args} arguments and \
             {n_results} results"
        );
        return Err(OpError::lied(why));
    }
    Ok(f)
}

/// Parses the gradient that was made for a call, and holds it against the operator's record and the call.
///
/// # Errors
/// As for [`parse_body`], but a gradient may call the operator; and if it has other parameters than the arguments, the
/// results and their gradients, or more results than there are arguments.
pub(crate) fn parse_gradient(
    (domain, name): (&str, &str),
    schema: &OpSchema,
    text: &str,
    (n_args, n_results): (usize, usize),
) -> Result<Function, OpError> {
    let (f, params, results) = parse(Text::Gradient, domain, name, schema, text)
        .map_err(|error| OpError::lied(error.rec().message.as_str()))?;
    if params != n_args + 2 * n_results || results > n_args {
        return Err(OpError::lied(format_args!(
            "it made a gradient with {params} parameters and {results} results for a call with {n_args} arguments and \
             {n_results} results"
        )));
    }
    Ok(f)
}

/// A text that describes an operator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Text {
    Body,
    Gradient,
}

/// Parses a body or a gradient; returns it with the numbers of its parameters and results.
fn parse(
    of: Text,
    domain: &str,
    name: &str,
    schema: &OpSchema,
    text: &str,
) -> Result<(Function, usize, usize), PassError> {
    let full = full_name(domain, name);
    let what = if of == Text::Body { "body" } else { "gradient" };
    let origin = format!("the {what} of `{full}`");
    let fault =
        |code: &'static str, why: std::fmt::Arguments<'_>| PassError::new(format_args!("{origin} {why}")).code(code);
    let module = text::parse(&origin, text, &SideFile::default()).map_err(|faults| {
        let mut faults = faults.iter().map(ToString::to_string);
        let error = PassError::new(faults.next().unwrap_or_default()).code("B001");
        faults.fold(error, |error, fault| error.with_note(fault))
    })?;
    if let Some(first) = verify(&module).first() {
        return Err(fault("B001", format_args!("is not a valid program: {first}")));
    }
    let [global] = module.globals() else {
        let n = module.globals().len();
        return Err(fault("B002", format_args!("is {n} functions")).help("write one"));
    };
    let Some(function) = global.function() else {
        return Err(fault("B002", format_args!("is not a graph function")).help("write one"));
    };
    let mut f = Function::clone(function);
    if f.opset_imports().is_empty() {
        let help = "write, for example, `#[opset = {\"\": 21}]` after the parameters";
        return Err(fault("B003", format_args!("imports no operator set")).help(help));
    }
    let (params, results) = (f.params().len(), f.results(f.body()).len());
    for id in (0..f.n_nodes()).map(NodeId::from_index) {
        if let Expr::GlobalVar(global) = f.expr(id) {
            let error = fault("B005", format_args!("calls the function `@{global}`"));
            return Err(error.help(format_args!("a {what} consists of operators")));
        }
        if of == Text::Body
            && let Some(op) = f.call(id).and_then(CallView::op).map(|op| f.op(op))
            && f.str(op.name) == name
            && is_same_domain(f.str(op.domain), domain)
        {
            let error = fault("B005", format_args!("calls the operator itself"));
            return Err(error.help("a body consists of other operators"));
        }
        let attrs = f.attrs(id);
        for &rec in attrs.recs() {
            let AttrValue::Ref { name: outer, kind } = attrs.decode(rec) else { continue };
            match schema.attr(outer) {
                None => {
                    let known: Vec<&str> = schema.attrs.iter().map(|attr| attr.name.as_str()).collect();
                    let help = match relais_words::nearest(outer, known.iter().copied()) {
                        Some(nearest) => format!("did you mean `${nearest}`?"),
                        None if known.is_empty() => "it has none".to_owned(),
                        None => format!("it has {}", known.join(", ")),
                    };
                    let why = format_args!("refers to the attribute `{outer}`, which the operator does not have");
                    return Err(fault("B006", why).help(help));
                }
                Some(attr) if attr.kind != kind && attr.kind != 0 => {
                    let (is, says) = (attr_kind::name(attr.kind), attr_kind::name(kind));
                    let why =
                        format_args!("refers to the attribute `{outer}` of kind `{says}`, which is of kind `{is}`");
                    return Err(fault("B006", why).help(format_args!("write `${outer}: {is}`")));
                }
                Some(_) => {}
            }
        }
    }
    declare_attributes(&mut f, schema);
    Ok((f, params, results))
}

/// Lists the attributes of an operator as those of a function.
fn declare_attributes(f: &mut Function, schema: &OpSchema) {
    let mut required = Vec::new();
    let mut recs = f.attr_recs(f.root()).to_vec();
    for attr in &schema.attrs {
        match attr.default_value() {
            Some(value) => {
                let attr = Attr::meta(format!("{FUNCTION_DEFAULT}:{}", attr.name), AttrData::from(value));
                recs.push(f.encode_attr(&attr));
            }
            None => required.push(attr.name.clone().into_bytes()),
        }
    }
    if !required.is_empty() {
        recs.push(f.encode_attr(&Attr::meta(FUNCTION_ATTRIBUTES, AttrData::Strings(required))));
    }
    f.set_attr_recs(f.root(), &recs);
}

/// The name of an operator with its domain.
fn full_name(domain: &str, name: &str) -> String {
    match normal_domain(domain) {
        "" => name.to_owned(),
        domain => format!("{domain}::{name}"),
    }
}

/// Infers the types of a call's results from the operator's body.
pub(crate) fn infer_by_body(
    body: &Function,
    request: &mut InferRequest<'_>,
    infer: impl FnOnce(&mut Function) -> Inferred,
) -> Result<(), OpError> {
    let call = request.call;
    let mut symbols = Symbols::new();
    let types = &request.types;
    let mut f = instantiate(body, |f| arguments(f, &call, types, &mut symbols), attrs_of(&call)?);
    let report = infer(&mut f);
    if let Some(first) = report.faults.first() {
        let op = f.call(first.node).map_or("", CallView::op_name);
        return Err(OpError {
            message: format!("its body: `{op}`: {}", first.error.message).into(),
            ..first.error.clone()
        });
    }
    let results = f.results(f.body()).to_vec();
    for (index, &result) in results.iter().enumerate().take(request.outputs.len()) {
        take_type(request, index, &f, f.type_id(result), known_value(&f, result), &symbols);
    }
    Ok(())
}

/// Returns the gradient of a call for its attributes and types; the results of the call follow its arguments. Its
/// parameters are the arguments that are present, the results, and the gradients of the results.
pub(crate) fn gradient_of_call(
    gradient: &Function,
    call: &CallValue<'_>,
    n_results: usize,
) -> Result<Function, OpError> {
    let from = call.types_of;
    let (args, results) = call.args.as_slice().split_at(call.args.len() - n_results);
    let values = |f: &mut Function| {
        let mut var = |name: String, arg: &ArgRec<'_>| {
            if arg.present == 0 {
                return NodeId::ABSENT;
            }
            let ty = tensor_type_in(f, from, from.ty(arg.ty), |_| {});
            let value = tensor_type_in(f, from, from.ty(arg.value), |_| {});
            let var = f.add_var(&name, ty);
            set_known_value(f, var, value);
            var
        };
        let mut vars: Vec<NodeId> = args.iter().enumerate().map(|(at, arg)| var(format!("arg{at}"), arg)).collect();
        vars.extend(results.iter().enumerate().map(|(at, result)| var(format!("result{at}"), result)));
        let of_results = results.iter().enumerate().map(|(at, result)| {
            let unknown = ArgRec { value: TypeId::UNKNOWN, tensor: None, ..*result };
            var(format!("gradient{at}"), &unknown)
        });
        vars.extend(of_results);
        vars
    };
    Ok(instantiate(gradient, values, attrs_of(call)?))
}

/// A function without parameters that computes a call of an operator with a body.
pub(crate) fn closed_body(
    body: &Function,
    function: &Function,
    call: NodeId,
    op: OpId,
    inputs: &[Option<Tensor>],
) -> Result<Function, OpError> {
    let parts = CallParts::new(function, call);
    let attrs = attrs_of(&parts.value(op, 0))?;
    Ok(instantiate(body, |f| constants(f, inputs), attrs))
}

/// Adds arguments as constants.
fn constants(f: &mut Function, inputs: &[Option<Tensor>]) -> Vec<NodeId> {
    let arg = |input: &Option<Tensor>| match input {
        Some(tensor) => f.add_constant(tensor.clone(), ConstForm::ANY),
        None => NodeId::ABSENT,
    };
    inputs.iter().map(arg).collect()
}

/// A function with nothing but a call of an operator with these arguments.
pub(crate) fn one_call(
    function: &Function,
    call: NodeId,
    op: OpId,
    inputs: &[Option<Tensor>],
) -> Result<Function, OpError> {
    let parts = CallParts::new(function, call);
    let attrs = attrs_of(&parts.value(op, 0))?;
    let mut f = Function::new();
    f.set_opset_imports(&function.opset_imports());
    let args = constants(&mut f, inputs);
    let rec = function.op(op);
    let own = f.add_op(function.str(rec.domain), function.str(rec.name), "", rec.version);
    let n_results = function.n_results(call).map(|n| n as u16);
    let made = f.add_call_with(f.op(own).node, &args, &[], n_results);
    f.set_attrs(made, &attrs);
    f.append(f.body(), made);
    Ok(f)
}

/// Where the bodies of operators come from.
pub trait Bodies {
    /// Returns the body of an operator in a version of its domain's operator set; `None` if it has none.
    fn body(&mut self, domain: &str, name: &str, version: i64) -> Option<Result<Body, PassError>>;

    /// Returns the body of a call of an operator whose body depends on the call.
    ///
    /// # Errors
    /// Returns an error if there is none for this call, or the operator's plugin is at fault.
    fn body_of(&mut self, function: &Function, call: NodeId) -> Result<Function, OpError>;

    /// Infers the types of a function's bindings, which the bodies of calls depend on.
    fn infer_types(&mut self, function: &mut Function);

    /// As [`body`](Self::body), also for operators that runtimes know: those of domains that are described completely.
    fn any_body(&mut self, domain: &str, name: &str, version: i64) -> Option<Result<Body, PassError>> {
        self.body(domain, name, version)
    }

    /// Returns the record of an operator in a version of its domain's operator set; `None` if nothing describes it.
    fn schema(&mut self, domain: &str, name: &str, version: i64) -> Option<OpSchema>;
}

/// The result of [`add_bodies`].
#[derive(Default)]
pub struct AddedBodies {
    /// The names of the functions that it added.
    pub functions: Vec<String>,
    /// The calls that have no body, although others of the operator may have one: the function they are in, the operator,
    /// and the reason.
    pub declined: Vec<(String, String, OpError)>,
}

/// Adds the bodies of operators to a module, as functions with the operators' names, and makes calls of them of the
/// calls of those operators. The bodies that one operator has for different calls are numbered from the second one on.
///
/// A body is given the operator sets that `main` imports: runtimes do not distinguish those of functions.
///
/// # Errors
/// Returns an error if a body is at fault, or has an operator that may mean something else in the version that `main`
/// imports, if bodies call each other in a circle, or if the module has another function of that name.
pub fn add_bodies(module: &mut IRModule, bodies: &mut dyn Bodies) -> Result<AddedBodies, PassError> {
    let imports: Vec<(String, i64)> = module.main().map_or_else(Vec::new, |main| owned_imports(main));
    let mut added = AddedBodies::default();
    let mut open: Vec<String> = module.functions().map(|(name, _)| name.to_owned()).collect();
    // The operators that were asked for: `None` has no body.
    let mut known: BTreeMap<String, Option<Body>> = BTreeMap::new();
    // The functions made for calls of an operator.
    let mut made: BTreeMap<String, Vec<String>> = BTreeMap::new();
    while let Some(caller) = open.pop() {
        let Some(f) = module.function(&caller).cloned() else { continue };
        let mut renamed: Vec<(NodeId, String)> = Vec::new();
        // With types, for bodies that depend on them.
        let mut typed: Option<Function> = None;
        let calls: Vec<(NodeId, OpId)> = f.all_bindings().filter_map(|id| Some((id, f.call(id)?.op()?))).collect();
        for (id, op) in calls {
            let rec = f.op(op);
            let (domain, name) = (normal_domain(f.str(rec.domain)), f.str(rec.name));
            let key = format!("{domain}::{name}");
            if !known.contains_key(&key) {
                let mut body = bodies.body(domain, name, f.op_version(op)).transpose()?;
                if let Some(Body::Fixed(body)) = &mut body {
                    adapt(body, "body", &key, &imports, bodies)?;
                    if module.function(&key).is_some_and(|own| equal_functions(own, body).is_err()) {
                        let error = PassError::new(format_args!(
                            "the module has a function `@{key}`, which is not the body of the operator"
                        ));
                        return Err(error.code("B007").help("rename the function or the operator"));
                    }
                }
                known.insert(key.clone(), body);
            }
            let (function, body) = match &known[&key] {
                None => continue,
                Some(Body::Fixed(body)) => (key, Function::clone(body)),
                Some(Body::OfCall) => {
                    let typed = typed.get_or_insert_with(|| {
                        let mut typed = Function::clone(&f);
                        bodies.infer_types(&mut typed);
                        typed
                    });
                    let mut body = match bodies.body_of(typed, id) {
                        Ok(body) => body,
                        Err(error) if error.is_broken() => {
                            return Err(PassError::new(format_args!("the body of `{key}`: {error}")).code("B009"));
                        }
                        Err(error) => {
                            added.declined.push((caller.clone(), full_name(domain, name), error));
                            continue;
                        }
                    };
                    adapt(&mut body, "body", &key, &imports, bodies)?;
                    let made = made.entry(key.clone()).or_default();
                    let is_equal = |name: &&String| {
                        module.function(name).is_some_and(|other| equal_functions(other, &body).is_ok())
                    };
                    let function = made.iter().find(is_equal).cloned().unwrap_or_else(|| {
                        let mut names = (1..).map(|n| if n == 1 { key.clone() } else { format!("{key}_{n}") });
                        let free = names.find(|name| module.function(name).is_none()).unwrap_or_default();
                        made.push(free.clone());
                        free
                    });
                    (function, body)
                }
            };
            if module.function(&function).is_none() {
                module.set_function(&function, RArc::new(body));
                added.functions.push(function.clone());
                open.push(function.clone());
            }
            renamed.push((id, function));
        }
        if !renamed.is_empty() {
            let mut f = Function::clone(&f);
            for (id, name) in renamed {
                let global = f.add_global_var(&name);
                let callee = f.call(id).map(CallView::callee);
                f.map_operands(id, |operand| if Some(operand) == callee { global } else { operand });
            }
            module.set_function(&caller, RArc::new(f));
        }
    }
    check_circles(module, &added.functions)?;
    Ok(added)
}

pub(crate) fn owned_imports(f: &Function) -> Vec<(String, i64)> {
    f.opset_imports().into_iter().map(|(domain, version)| (normal_domain(domain).to_owned(), version)).collect()
}

/// Gives a body, or a gradient, the imports of its caller. All its operators must mean the same in both versions: their records may
/// differ in element types only.
pub(crate) fn adapt(
    body: &mut Function,
    what: &str,
    key: &str,
    imports: &[(String, i64)],
    bodies: &mut dyn Bodies,
) -> Result<(), PassError> {
    let own = owned_imports(body);
    let version_in = |imports: &[(String, i64)], domain: &str| {
        imports.iter().find(|(other, _)| other == domain).map(|&(_, version)| version)
    };
    for op in body.ops().iter().filter(|op| op.version == 0) {
        let (domain, name) = (normal_domain(body.str(op.domain)), body.str(op.name));
        let (Some(a), Some(b)) = (version_in(&own, domain), version_in(imports, domain)) else { continue };
        if a == b {
            continue;
        }
        let is_same = match (bodies.schema(domain, name, a), bodies.schema(domain, name, b)) {
            (Some(a), Some(b)) => a.is_same_but_for_types(&b),
            _ => false,
        };
        if !is_same {
            let set = if domain.is_empty() { "ai.onnx" } else { domain };
            let error = PassError::new(format_args!(
                "the {what} of `{key}` is written for version {a} of `{set}`, and `{name}` may mean something else in \
                 version {b}, which the module imports"
            ));
            return Err(error
                .code("B008")
                .help(format_args!("write the {what} for that version, as another version of the operator")));
        }
    }
    let new: Vec<(&str, i64)> =
        own.iter().map(|(domain, own)| (domain.as_str(), version_in(imports, domain).unwrap_or(*own))).collect();
    if new.iter().zip(&own).any(|(new, own)| new.1 != own.1) {
        body.set_opset_imports(&new);
    }
    Ok(())
}

/// Reports bodies that call each other in a circle.
fn check_circles(module: &IRModule, added: &[String]) -> Result<(), PassError> {
    match recursive(module) {
        Some(names) if names.iter().any(|name| added.contains(name)) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let error = PassError::new(format_args!("the bodies of operators call each other: {}", names.join(", ")));
            Err(error.code("B005").help("a body consists of other operators"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::AttrFacts;

    fn schema(inputs: u16, outputs: u16) -> OpSchema {
        let alpha =
            AttrFacts { name: "alpha".into(), kind: attr_kind::FLOAT, is_required: false, default: "0.5".into() };
        let mut schema = OpSchema::read(&[]);
        (schema.inputs, schema.outputs, schema.attrs) = ((1, inputs), (1, outputs), vec![alpha]);
        schema
    }

    #[track_caller]
    fn refused(schema: &OpSchema, text: &str, code: &str, message: &str) {
        let error = parse_body("acme", "Op", schema, text).err().expect("the body is at fault");
        assert!(error.rec().code == code && error.rec().message.contains(message), "{error}");
    }

    #[test]
    fn a_body_has_the_attributes_of_its_operator() {
        let text = r#"def @Op(%x) #[opset = {"": 13}] { LeakyRelu(%x, alpha = $alpha: float) }"#;
        let body = parse_body("acme", "Op", &schema(1, 1), text).unwrap();
        let default = body.attrs(body.root()).meta("default:alpha");
        assert!(matches!(default, Some(AttrValue::Float(0.5))), "{default:?}");
    }

    #[test]
    fn a_body_at_fault_is_refused() {
        let one = schema(1, 1);
        refused(&one, "def @Op(%x) { Relu(%x }", "B001", "the body of `acme::Op`");
        refused(&one, "", "B002", "is 0 functions");
        let two = r#"def @Op(%x) #[opset = {"": 13}] { %x } def @More(%x) #[opset = {"": 13}] { %x }"#;
        refused(&one, two, "B002", "is 2 functions");
        refused(&one, "def @Op(%x) { Relu(%x) }", "B003", "imports no operator set");
        let relu = r#"def @Op(%x) #[opset = {"": 13}] { Relu(%x) }"#;
        refused(&schema(2, 1), relu, "B004", "has 1 parameters, and the operator takes 2 arguments");
        refused(&schema(u16::MAX, 1), relu, "B004", "the operator takes any number of arguments");
        refused(&schema(1, 2), relu, "B004", "has 1 results, and the operator gives 2");
        let itself = r#"def @Op(%x) #[opset = {"": 13, "acme": 1}] { acme::Op(%x) }"#;
        refused(&one, itself, "B005", "calls the operator itself");
        let function = r#"def @Op(%x) #[opset = {"": 13}] { @Op(%x) }"#;
        refused(&one, function, "B005", "calls the function `@Op`");
        let unknown = r#"def @Op(%x) #[opset = {"": 13}] { LeakyRelu(%x, alpha = $alhpa: float) }"#;
        refused(&one, unknown, "B006", "`alhpa`, which the operator does not have");
        let kind = r#"def @Op(%x) #[opset = {"": 13}] { Softmax(%x, axis = $alpha: int) }"#;
        refused(&one, kind, "B006", "of kind `int`, which is of kind `float`");
    }
}
