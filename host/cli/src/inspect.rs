//! `relais inspect`: the contents of models, side by side.

use super::{
    args::InspectArgs,
    catalogue, model,
    terminal::{self, CliError},
};
use relais::{
    ir::{Dim, Function, IRModule, MAIN, Tensor, Type, element_count, kind},
    onnx::meta::{IR_VERSION, PRODUCER_NAME, PRODUCER_VERSION},
    pass::Catalogue,
    registry::Registry,
    report::{Summary, inputs},
    table::Columns,
    words::bytes,
};
use relais_conformance::interface::output_names;
use relais_plugin_api::{
    infer::{Coverage, infer_function},
    text,
};
use relais_session::model::{Format, MacCount, Model, Part, count_macs};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// How many of the largest weights are shown.
const MOST_WEIGHTS: usize = 5;

/// Prints the contents of models.
pub(crate) fn inspect(args: &InspectArgs) -> Result<(), CliError> {
    let registry = catalogue::registry(&args.plugins)?;
    let read = |path| Contents::read(path, &args.input_shape, &registry);
    let all: Vec<Contents> = args.models.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    if args.json {
        let all: Vec<Value> = all.iter().map(Contents::to_json).collect();
        return terminal::print(&format!("{:#}\n", json!(all)));
    }
    terminal::print(&table(&all))
}

/// The contents of a model.
struct Contents {
    file: String,
    format: Format,
    n_bytes: u64,
    ir_version: Option<i64>,
    producer: String,
    opsets: Vec<(String, i64)>,
    /// Names and types.
    inputs: Vec<(String, String)>,
    outputs: Vec<(String, String)>,
    operators: BTreeMap<String, u64>,
    weights: Weights,
    activations: Activations,
    count: MacCount,
}

/// The constants of a model, each counted once.
#[derive(Default)]
struct Weights {
    n_elements: u64,
    n_bytes: u64,
    /// Names, types and bytes, the largest first.
    largest: Vec<(String, String, u64)>,
}

/// The memory of the values that are alive at once, if calls run in their order and each value has memory of its own.
#[derive(Default)]
struct Activations {
    most: u64,
    n_values: usize,
    /// Values whose sizes are not known.
    n_unknown: usize,
    /// The symbols in the types of the inputs.
    symbols: BTreeSet<String>,
}

impl Contents {
    fn read(path: &Path, input_shapes: &[String], registry: &Registry) -> Result<Self, CliError> {
        let Model { mut module, format, n_bytes, .. } = model::read(path)?;
        Part { input_shapes: input_shapes.to_vec(), ..Part::default() }.cut(&mut module, registry)?;
        if let Some(main) = module.function_mut(MAIN) {
            // Calls that are invalid have no types, and so no sizes.
            infer_function(main, &mut *registry.relations(), Coverage::Everything);
        }
        let mut operators = Summary::of(&module, None, "").operators;
        operators.remove("Constant");
        let attr = |name: &str| module.attr(name);
        let text = |name: &str| attr(name).and_then(|attr| attr.as_str()).unwrap_or_default().to_owned();
        let producer = format!("{} {}", text(PRODUCER_NAME), text(PRODUCER_VERSION)).trim().to_owned();
        let main = module.main().map(|main| &**main);
        let opsets = main.map(Function::opset_imports).unwrap_or_default();
        Ok(Self {
            file: path.display().to_string(),
            format,
            n_bytes,
            ir_version: attr(IR_VERSION).and_then(|attr| attr.as_int()),
            producer,
            opsets: opsets.into_iter().map(|(domain, version)| (domain.to_owned(), version)).collect(),
            inputs: main.map(inputs).unwrap_or_default(),
            outputs: main.map(outputs).unwrap_or_default(),
            operators,
            weights: Weights::of(&module),
            activations: main.map(Activations::of).unwrap_or_default(),
            count: count_macs(&module, registry),
        })
    }

    fn n_operators(&self) -> u64 {
        self.operators.values().sum()
    }

    fn format(&self) -> String {
        match (self.format, self.ir_version) {
            (Format::Text, _) => "text form".to_owned(),
            (Format::Onnx, Some(version)) => format!("ONNX, IR version {version}"),
            (Format::Onnx, None) => "ONNX".to_owned(),
        }
    }

    fn shown_opsets(&self) -> String {
        let shown = |(domain, version): &(String, i64)| match domain.as_str() {
            "" => format!("ai.onnx {version}"),
            domain => format!("{domain} {version}"),
        };
        self.opsets.iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    fn to_json(&self) -> Value {
        let values = |values: &[(String, String)]| -> Vec<Value> {
            values.iter().map(|(name, ty)| json!({ "name": name, "type": ty })).collect()
        };
        let Self { weights, activations, count, .. } = self;
        let largest = weights.largest.iter().map(|(name, ty, n)| json!({ "name": name, "type": ty, "bytes": n }));
        let opsets = self.opsets.iter().map(|(domain, version)| json!({ "domain": domain, "version": version }));
        let products = count.macs.products().map(|(sizes, n)| json!({ "factor": saturated(n), "sizes": sizes }));
        json!({
            "file": self.file,
            "format": if self.format == Format::Onnx { "onnx" } else { "text" },
            "model_bytes": self.n_bytes,
            "ir_version": self.ir_version,
            "producer": self.producer,
            "opsets": opsets.collect::<Vec<_>>(),
            "inputs": values(&self.inputs),
            "outputs": values(&self.outputs),
            "n_operators": self.n_operators(),
            "operators": self.operators,
            "parameters": { "elements": weights.n_elements, "bytes": weights.n_bytes },
            "largest_weights": largest.collect::<Vec<_>>(),
            "activations": {
                "bytes": (activations.n_unknown == 0).then_some(activations.most),
                "n_values": activations.n_values,
                "n_unknown": activations.n_unknown,
                "symbols": activations.symbols,
            },
            "macs": {
                "products": products.collect::<Vec<_>>(),
                "uncounted": count.uncounted,
            },
        })
    }
}

/// The names and types of the outputs of a function.
fn outputs(f: &Function) -> Vec<(String, String)> {
    let names = output_names(f);
    let name = |at: usize| names.get(at).cloned().unwrap_or_else(|| at.to_string());
    let ty = |id| text::display_type(f, f.type_id(id)).to_string();
    f.results(f.body()).iter().enumerate().map(|(at, &id)| (name(at), ty(id))).collect()
}

impl Weights {
    fn of(module: &IRModule) -> Self {
        let mut weights = Self::default();
        let mut all: Vec<(String, &Tensor)> = Vec::new();
        for (_, f) in module.bodies() {
            let constants = f.all_bindings().filter_map(|id| Some((id, f.stored_constant(id)?)));
            let defaults = f.params().iter().filter_map(|&id| Some((id, f.default_value(id)?)));
            all.extend(constants.chain(defaults).map(|(id, tensor)| (f.name(id).to_owned(), tensor)));
        }
        for (_, tensor) in &all {
            weights.n_elements = weights.n_elements.saturating_add(tensor.len());
            weights.n_bytes = weights.n_bytes.saturating_add(tensor.byte_len());
        }
        all.sort_by_key(|(_, tensor)| std::cmp::Reverse(tensor.byte_len()));
        let shown = |(name, tensor): (String, &Tensor)| {
            let dims: Vec<String> = tensor.dims().iter().map(u64::to_string).collect();
            (name, format!("{}({})", tensor.elem().name().unwrap_or("?"), dims.join(", ")), tensor.byte_len())
        };
        weights.largest = all.into_iter().take(MOST_WEIGHTS).map(shown).collect();
        weights
    }
}

impl Activations {
    fn of(f: &Function) -> Self {
        let mut out = Self::default();
        for &param in f.params() {
            let dims = f.type_of(param).shape().unwrap_or_default().iter().map(|&dim| Dim::from(dim));
            let names =
                dims.filter_map(|dim| if let Dim::Symbol(name) = dim { Some(f.str(name).to_owned()) } else { None });
            out.symbols.extend(names);
        }
        // Constants and parameters with values are weights; a tuple's memory is that of its items.
        let is_value = |id: &_| !matches!(f.kind(*id), kind::CONSTANT | kind::TUPLE | kind::FUNCTION);
        let params = f.params().iter().copied().filter(|&id| f.default_value(id).is_none());
        let order: Vec<_> = params.chain(f.all_bindings().filter(is_value)).collect();
        let mut last_use = vec![0usize; f.n_nodes()];
        for (at, &id) in order.iter().enumerate() {
            last_use[id.index()] = last_use[id.index()].max(at);
            f.operands(id).iter().for_each(|operand| last_use[operand.index()] = at);
        }
        f.results(f.body()).iter().for_each(|id| last_use[id.index()] = order.len());
        let mut ends = vec![0u64; order.len() + 1];
        let mut alive = 0u64;
        for (at, &id) in order.iter().enumerate() {
            match size_of(f.type_of(id)) {
                Some(size) => {
                    alive = alive.saturating_add(size);
                    ends[last_use[id.index()]] = ends[last_use[id.index()]].saturating_add(size);
                }
                None => out.n_unknown += 1,
            }
            out.most = out.most.max(alive);
            alive = alive.saturating_sub(ends[at]);
        }
        out.n_values = order.len();
        out
    }

    fn shown(&self) -> String {
        if self.n_unknown == 0 {
            return bytes(self.most);
        }
        let symbols: Vec<&str> = self.symbols.iter().map(String::as_str).collect();
        let open =
            if symbols.is_empty() { String::new() } else { format!("; inputs leave {} open", symbols.join(", ")) };
        format!("{} of {} values have no known size{open}", self.n_unknown, self.n_values)
    }
}

/// The bytes of a value; `None` if they are not known.
fn size_of(ty: Type<'_>) -> Option<u64> {
    if let Type::Tuple(_) = ty {
        return Some(0);
    }
    let (bits, count) = (u64::from(ty.elem()?.bits()), element_count(&ty.static_shape()?)?);
    // Strings have no size of their own.
    (bits > 0).then(|| bits.saturating_mul(count).div_ceil(8))
}

fn saturated(n: u128) -> u64 {
    n.try_into().unwrap_or(u64::MAX)
}

/// As `3.86 G`, or `3.86 G * N`, and which calls are not among them.
fn shown_macs(count: &MacCount) -> String {
    let product = |(sizes, n): (&[String], u128)| {
        sizes.iter().fold(metric(saturated(n)), |shown, size| match size.contains(' ') {
            true => format!("{shown} * ({size})"),
            false => format!("{shown} * {size}"),
        })
    };
    let mut shown: Vec<String> = count.macs.products().map(product).collect();
    if shown.is_empty() {
        shown.push("0".to_owned());
    }
    let shown = shown.join(" + ");
    let others: Vec<String> = count.uncounted.iter().map(|(operator, n)| format!("{n} {operator}")).collect();
    if others.is_empty() { shown } else { format!("{shown}; not counted: {}", others.join(", ")) }
}

/// A number with three digits and a decimal prefix.
fn metric(n: u64) -> String {
    let Some((unit, prefix)) =
        [(1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")].into_iter().find(|&(unit, _)| n as f64 >= unit)
    else {
        return n.to_string();
    };
    let value = n as f64 / unit;
    let decimals = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.decimals$} {prefix}")
}

/// Rows with a column for each model.
fn table(all: &[Contents]) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |label: &str, of: &dyn Fn(&Contents) -> String| {
        let cells: Vec<String> = all.iter().map(of).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            rows.push(std::iter::once(label.to_owned()).chain(cells).collect());
        }
    };
    row("model", &|it| it.file.clone());
    row("format", &Contents::format);
    row("producer", &|it| it.producer.clone());
    row("operator sets", &Contents::shown_opsets);
    row("model size", &|it| bytes(it.n_bytes));
    row("parameters", &|it| format!("{}, {}", it.weights.n_elements, bytes(it.weights.n_bytes)));
    row("activations", &|it| it.activations.shown());
    row("MACs", &|it| shown_macs(&it.count));
    for (what, list) in
        [("input", (|it| &it.inputs) as fn(&Contents) -> &Vec<(String, String)>), ("output", |it| &it.outputs)]
    {
        let mut names: Vec<&String> = Vec::new();
        for (name, _) in all.iter().flat_map(list) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        for name in names {
            let ty = |it: &Contents| list(it).iter().find(|(known, _)| known == name).map(|(_, ty)| ty.clone());
            row(&format!("{what} {name}"), &|it| ty(it).unwrap_or_default());
        }
    }
    row("operators", &|it| it.n_operators().to_string());
    let names: BTreeSet<&String> = all.iter().flat_map(|it| it.operators.keys()).collect();
    for name in names {
        row(&format!("  {name}"), &|it| it.operators.get(name).copied().unwrap_or(0).to_string());
    }
    let most = all.iter().map(|it| it.weights.largest.len()).max().unwrap_or(0);
    for at in 0..most {
        let label = if at == 0 { "largest weights" } else { "" };
        let weight = |it: &Contents| {
            let weight = it.weights.largest.get(at);
            weight.map(|(name, ty, n)| format!("{name} {ty}, {}", bytes(*n))).unwrap_or_default()
        };
        row(label, &weight);
    }
    let columns = Columns::of(all.len() + 1, &rows);
    rows.iter().map(|row| columns.line(row)).collect()
}
