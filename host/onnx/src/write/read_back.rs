//! Reading back: a model is put in place only if what was written is what was meant.
//!
//! The bytes are read as those of any file are, with the data files that they name, and the module that they are is
//! compared with the one that was to be written: inputs and outputs, nodes with their operators, operands and attributes,
//! constants by their bytes or by their place in a file, imports, stated types, quantisation annotations. Names of inner
//! values are compared by what they stand for.

mod difference;
mod parts;
mod statements;

use super::{
    StatedTypes,
    graph::{is_known, is_worth_a_node, named_values, types},
    model_field,
    names::is_listed,
    steps::{FunctionKey, Writer},
};
use crate::{
    error::{ErrorKind, OnnxError, Result, Warning},
    external::DataFolder,
    meta,
    names::FastMap,
    read::{Form, global_name, read_with},
    types::{agree, agree_across, states_type},
};
use difference::{Compared, Difference, differ, same_tensor};
use parts::{
    Value, attributes, callee, declared_types, graphs, has_encoding, inputs, is_constant, is_same_type, listed,
    listed_inputs, node_name, operator, place, stated_tensor, value, values_by_name,
};
use relais_plugin_api::ir::{
    AttrValue, Blob, CallView, ConstForm, Function, IRModule, MAIN, ModuleAttr, NodeId, OpId, Tensor, TypeId,
    attr_flag, kind, normal_domain,
};
use statements::{Statement, annotations, unknown_fields, value_info};
use std::{collections::BTreeMap, path::PathBuf};

#[cfg(test)]
mod tests;

/// The files that a model is read back from.
pub(super) struct Written {
    pub model: Blob,
    /// The folder of the model.
    pub folder: Option<PathBuf>,
    /// Files that will be in it, by their paths from it.
    pub files: BTreeMap<String, Blob>,
}

impl Writer<'_> {
    /// Reads what was written, and compares it with what was meant.
    ///
    /// Returns what was read.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, or differs.
    pub fn read_back(&self, written: Written) -> Result<IRModule> {
        let fault = |what: String| OnnxError::new(ErrorKind::ReadBack(what));
        let data = DataFolder::with_files(written.folder, written.files);
        let read = read_with(&written.model, data).map_err(|error| fault(format!("it cannot be read: {error}")))?;
        if let Some(Warning::Sorted { graph }) =
            read.warnings.iter().find(|warning| matches!(warning, Warning::Sorted { .. }))
        {
            return Err(fault(format!("the nodes of graph `{graph}` are in another order")));
        }
        self.is_same(&read.module).map_err(|Difference { place, what }| {
            fault(if place.is_empty() { what } else { format!("{place}: {what}") })
        })?;
        Ok(read.module)
    }

    fn is_same(&self, read: &IRModule) -> Compared {
        self.same_model_fields(read)?;
        let others = read.globals();
        if others.len() != self.globals.len() {
            return differ(format!("{} functions where {} were meant", others.len(), self.globals.len()));
        }
        for (scene, other) in others.iter().enumerate() {
            let global = self.globals[scene];
            let within = |difference: Difference| match global {
                MAIN => difference,
                _ => difference.within(|| format!("function `{global}`")),
            };
            if scene > 0 && other.name.as_str() != self.written_name(global) {
                return differ(format!("it is `{}`", other.name)).map_err(within);
            }
            let Some(function) = other.function() else { return differ("it is not a function").map_err(within) };
            Comparer::new(self, scene, function).run().map_err(within)?;
        }
        Ok(())
    }

    /// The name of one of the model's functions, as it is read.
    fn written_name(&self, global: &str) -> String {
        let FunctionKey { domain, name, overload } = &self.functions[global];
        global_name((normal_domain(domain), name, overload))
    }

    fn same_model_fields(&self, read: &IRModule) -> Compared {
        let is_field = |attr: &&ModuleAttr| {
            attr.name != meta::IR_VERSION && model_field(attr).is_some_and(|(_, bytes)| !bytes.is_empty())
        };
        for (some, others) in [(self.module, read), (read, self.module)] {
            if let Some(attr) = some.attrs.iter().filter(is_field).find(|attr| !others.attrs.contains(attr)) {
                return differ(format!("the model's field `{}`", attr.name));
            }
        }
        let version = read.attr(meta::IR_VERSION).and_then(ModuleAttr::as_int).unwrap_or(0);
        if version != self.ir_version {
            return differ(format!("format version {version} where {} was meant", self.ir_version));
        }
        Ok(())
    }
}

/// One function of the module, and the one that was read.
struct Comparer<'a, 'w> {
    writer: &'a Writer<'w>,
    scene: usize,
    /// The function that was meant.
    f: &'a Function,
    /// The function that was read.
    g: &'a Function,
    /// By node of `f`, the node of `g` that stands for it, or the absent operand.
    to_read: Vec<NodeId>,
    /// By node of `g`, the value that it passes on.
    passed_on: BTreeMap<NodeId, (NodeId, usize)>,
    /// Graphs that are still to be compared.
    graphs: Vec<(NodeId, NodeId)>,
    /// By operator of `f`, the one of `g` that was last found to be the same.
    same_ops: Vec<Option<OpId>>,
    /// The types of `f` and `g` that were last found to be the same.
    same_types: FastMap<TypeId, TypeId>,
}

/// The properties of nodes and graphs that mean nothing to a runtime.
const NOTES: [&str; 2] = [meta::DOC, meta::METADATA_PROPS];

impl<'a, 'w> Comparer<'a, 'w> {
    fn new(writer: &'a Writer<'w>, scene: usize, g: &'a Function) -> Self {
        let f = writer.scenes[scene].f;
        let to_read = vec![NodeId::ABSENT; f.n_nodes()];
        let same_ops = vec![None; f.ops().len()];
        let (passed_on, graphs, same_types) = Default::default();
        Self { writer, scene, f, g, to_read, passed_on, graphs, same_ops, same_types }
    }

    fn run(&mut self) -> Compared {
        let (f, g) = (self.f, self.g);
        self.imports()?;
        if self.writer.scenes[self.scene].form == Form::Function {
            self.function_attributes()?;
        }
        self.graphs.push((f.root(), g.root()));
        while let Some((x, y)) = self.graphs.pop() {
            self.graph(x, y)?;
        }
        Ok(())
    }

    fn imports(&self) -> Compared {
        let scene = &self.writer.scenes[self.scene];
        let further = scene.imports.iter().map(|(domain, version)| (domain.as_str(), *version));
        let mut meant: Vec<_> = self.f.opset_imports().into_iter().chain(further).collect();
        let mut read = self.g.opset_imports();
        meant.sort_unstable();
        read.sort_unstable();
        if meant != read {
            return differ(format!("the imports {read:?} where {meant:?} were meant"));
        }
        // Those in an unusual encoding had it before.
        let unusual = |f: &'a Function| match f.attrs(f.root()).meta(meta::OPSET_IMPORT_RAW) {
            Some(AttrValue::Strings(raws)) => raws.strings().filter(|raw| !raw.is_empty()).collect(),
            _ => Vec::new(),
        };
        let known: Vec<&[u8]> = unusual(self.f);
        let has_known = unusual(self.g).iter().all(|raw| known.contains(raw));
        if has_known { Ok(()) } else { differ("the encoding of an import") }
    }

    /// The names of a function's attributes, and the values of those that have defaults.
    fn function_attributes(&self) -> Compared {
        let names = |f: &Function| match f.attrs(f.root()).meta(meta::ATTRIBUTES) {
            Some(AttrValue::Strings(names)) => names.strings().map(<[u8]>::to_vec).collect(),
            _ => Vec::new(),
        };
        let prefix = meta::about(meta::DEFAULT, "");
        let defaults = |f: &'a Function| {
            let recs = f.attrs(f.root()).recs().iter().filter(|rec| rec.flags & attr_flag::META != 0);
            recs.filter_map(|&rec| Some((f.str(rec.name).strip_prefix(&prefix)?, f.attrs(f.root()).decode(rec))))
                .collect::<BTreeMap<_, _>>()
        };
        let (meant, read) = (defaults(self.f), defaults(self.g));
        let same =
            |(name, &value): (&&str, &AttrValue<'_>)| read.get(name).is_some_and(|&read| self.same_value(value, read));
        if names(self.f) != names(self.g) || meant.len() != read.len() || !meant.iter().all(same) {
            return differ("other attributes of the function");
        }
        Ok(())
    }

    fn graph(&mut self, x: NodeId, y: NodeId) -> Compared {
        let (f, g) = (self.f, self.g);
        let is_main = self.scene == 0 && x == f.root();
        let (params, others) = (f.operands(x), g.operands(y));
        if params.len() != others.len() {
            return differ(format!("{} inputs where {} were meant", others.len(), params.len()));
        }
        for (&p, &q) in params.iter().zip(others) {
            self.parameter(p, q, is_main)
                .map_err(|difference| difference.within(|| format!("input `{}`", g.name(q))))?;
        }
        let name = match g.attrs(y).meta(meta::GRAPH_NAME) {
            Some(AttrValue::String(name)) => Some(name),
            _ => None,
        };
        let is_graph = x != f.root() || self.writer.scenes[self.scene].form == Form::Graph;
        if is_graph && self.writer.graph_name(f.attrs(x)) != name {
            return differ("another name of the graph");
        }
        self.same_notes(x, y)?;
        self.nodes(x, y)?;
        self.interface(x, y, is_main)?;
        if is_graph {
            self.output_types(x, y)?;
        }
        self.other_constants(x, y)?;
        self.statements(x, y, is_graph)
    }

    fn parameter(&mut self, p: NodeId, q: NodeId, is_main: bool) -> Compared {
        let (f, g) = (self.f, self.g);
        self.to_read[p.index()] = q;
        if is_main && !f.name(p).is_empty() && f.name(p) != g.name(q) {
            return differ(format!("it was meant to be `{}`", f.name(p)));
        }
        match (f.default_value(p), g.default_value(q)) {
            (None, None) => {}
            (Some(meant), Some(read)) => same_tensor(meant, read)?,
            _ => return differ("another default"),
        }
        let rest = |f: &Function, id| match f.attrs(id).meta(meta::INPUT_RAW) {
            Some(AttrValue::Raw(raw)) => unknown_fields(raw),
            _ => Vec::new(),
        };
        if rest(f, p) != rest(g, q) {
            return differ("another documentation");
        }
        let meant = if has_encoding(f, f.type_id(p)) { f.type_id(p) } else { TypeId::UNKNOWN };
        let is_typed = self.writer.scenes[self.scene].form == Form::Graph;
        if is_typed && !is_same_type((f, meant), (g, g.type_id(q))) {
            return differ("another type");
        }
        Ok(())
    }

    /// Pairs the nodes of two graphs, in order.
    fn nodes(&mut self, x: NodeId, y: NodeId) -> Compared {
        let (f, g) = (self.f, self.g);
        let is_node = |f: &Function, id: NodeId| matches!(f.kind(id), kind::CALL | kind::IF) && !is_constant(f, id);
        let bindings = f.bindings(f.block_of(x)).iter().copied();
        let mut meant = bindings.filter(|&id| is_node(f, id) || self.is_made_splat(id)).collect::<Vec<_>>().into_iter();
        let mut read = g.bindings(g.block_of(y)).iter().copied().filter(|&id| is_node(g, id));
        let mut names = FastMap::default();
        for id in meant.by_ref() {
            let Some(other) = read.next() else {
                return differ("it is missing").map_err(|difference| difference.within(|| place(f, id)));
            };
            let named = self.same_name(id, other, &mut names);
            named.and_then(|()| self.node(id, other)).map_err(|difference| difference.within(|| place(g, other)))?;
        }
        // The others give outputs their names.
        for other in read {
            let [from] = inputs(g, other) else {
                return differ("it was not meant").map_err(|difference| difference.within(|| place(g, other)));
            };
            if operator(g, other) != ("", "Identity", "") {
                return differ("it was not meant").map_err(|difference| difference.within(|| place(g, other)));
            }
            let from = self.read_value(*from);
            self.passed_on.insert(other, from);
        }
        Ok(())
    }

    /// Whether a node has its name, or one with a number where another node of the graph has that one.
    fn same_name(&self, x: NodeId, y: NodeId, names: &mut FastMap<&'a [u8], bool>) -> Compared {
        if self.f.kind(x) == kind::CONSTANT {
            return Ok(());
        }
        let (meant, read) = (node_name(self.f, x), node_name(self.g, y));
        if read.is_empty() {
            return if meant.is_empty() { Ok(()) } else { differ("it has lost its name") };
        }
        let number = read.strip_prefix(meant).and_then(|rest| rest.strip_prefix(b"_"));
        let is_numbered = !meant.is_empty() && number.is_some_and(|number| number.iter().all(u8::is_ascii_digit));
        let is_as_read = self.f.is_pristine(x);
        let others = names.insert(read, is_as_read);
        let is_own = others.is_none_or(|other| other && is_as_read);
        if is_own && (meant == read || is_numbered) { Ok(()) } else { differ("another name of the node") }
    }

    /// Whether a constant is written as a `ConstantOfShape`.
    fn is_made_splat(&self, id: NodeId) -> bool {
        let f = self.f;
        f.kind(id) == kind::CONSTANT
            && ConstForm(f.node(id).aux) == ConstForm::ANY
            && f.stored_constant(id)
                .is_some_and(|tensor| tensor.as_splat().is_some() && is_worth_a_node(f, tensor, f.name(id)))
    }

    fn node(&mut self, x: NodeId, y: NodeId) -> Compared {
        let (f, g) = (self.f, self.g);
        self.to_read[x.index()] = y;
        self.same_type(x, y)?;
        if f.kind(x) == kind::CONSTANT {
            return self.splat(x, y);
        }
        self.same_operator(x, y)?;
        self.same_notes(x, y)?;
        let (p, q) = (inputs(f, x), inputs(g, y));
        if p.len() != q.len() {
            return differ(format!("{} inputs where {} were meant", q.len(), p.len()));
        }
        for (at, (&p, &q)) in p.iter().zip(q).enumerate() {
            self.operand(p, q).map_err(|difference| difference.within(|| format!("input {at}")))?;
        }
        self.same_attributes(x, y)?;
        if f.n_regions(x) + g.n_regions(y) == 0 {
            return Ok(());
        }
        let (meant, read) = (graphs(f, x), graphs(g, y));
        let names = |graphs: &[(&str, Vec<NodeId>)]| {
            graphs.iter().map(|(name, regions)| (name.to_string(), regions.len())).collect::<Vec<_>>()
        };
        if names(&meant) != names(&read) {
            return differ("other graphs");
        }
        for ((_, meant), (_, read)) in meant.into_iter().zip(read) {
            self.graphs.extend(meant.into_iter().zip(read));
        }
        Ok(())
    }

    fn same_operator(&mut self, x: NodeId, y: NodeId) -> Compared {
        let (f, g) = (self.f, self.g);
        let ops = (f.call(x).and_then(CallView::op), g.call(y).and_then(CallView::op));
        if let (Some(meant), Some(read)) = ops
            && self.same_ops[meant.index()] == Some(read)
        {
            return Ok(());
        }
        let is_same = match (callee(f, x), callee(g, y)) {
            (None, None) => operator(f, x) == operator(g, y),
            (Some(meant), Some(read)) => {
                self.writer.functions.contains_key(meant) && self.writer.written_name(meant) == read
            }
            // An operator of one of the model's functions' names is that function.
            (None, Some(read)) => global_name(operator(f, x)) == read,
            (Some(_), None) => false,
        };
        if !is_same || f.kind(x) == kind::IF && g.kind(y) != kind::IF {
            return differ("another operator");
        }
        if let (Some(meant), Some(read)) = ops {
            self.same_ops[meant.index()] = Some(read);
        }
        Ok(())
    }

    /// A constant and the `ConstantOfShape` that it is written as.
    fn splat(&self, x: NodeId, y: NodeId) -> Compared {
        let (f, g) = (self.f, self.g);
        let meant = f.stored_constant(x).expect("such a constant is stored");
        let shape = inputs(g, y).first().and_then(|&shape| g.stored_constant(shape)).and_then(Tensor::to_i64s);
        let dims = shape.map(|dims| dims.iter().map(|&dim| dim as u64).collect::<Vec<_>>());
        let element = match g.attrs(y).get("value") {
            Some(AttrValue::Tensor(tensor)) if tensor.len() == 1 && tensor.elem() == meant.elem() => {
                Some(tensor.to_bytes())
            }
            _ => None,
        };
        let is_same = operator(g, y) == ("", "ConstantOfShape", "")
            && dims.as_deref() == Some(meant.dims())
            && element.as_deref() == meant.as_splat();
        if is_same { Ok(()) } else { differ("another constant") }
    }

    /// The value of the function that was read that a node stands for.
    fn read_value(&self, id: NodeId) -> Value {
        let (id, index) = value(self.g, id);
        self.passed_on.get(&id).copied().unwrap_or((id, index))
    }

    fn operand(&mut self, p: NodeId, q: NodeId) -> Compared {
        let (f, g) = (self.f, self.g);
        let ((x, i), (y, j)) = (value(f, p), self.read_value(q));
        if x.is_absent() || y.is_absent() {
            return if x.is_absent() && y.is_absent() { Ok(()) } else { differ("absent in one of the two") };
        }
        if self.to_read[x.index()] == y && i == j {
            return Ok(());
        }
        if !is_constant(f, x) || !is_constant(g, y) {
            return differ(format!("it is `{}` where `{}` was meant", g.name(q), f.name(p)));
        }
        self.constant(x, y).map_err(|difference| difference.within(|| format!("constant `{}`", g.name(y))))?;
        self.to_read[x.index()] = y;
        Ok(())
    }

    fn constant(&self, x: NodeId, y: NodeId) -> Compared {
        let (f, g) = (self.f, self.g);
        let is_of_main = self.scene == 0;
        if is_of_main && is_listed(f, x) != is_listed(g, y) {
            return differ("listed as an input in one of the two");
        }
        self.same_unknown_fields(x, y)?;
        match (f.stored_constant(x), g.stored_constant(y)) {
            (Some(meant), Some(read)) => same_tensor(meant, read),
            (None, None) if listed(f, x).is_some() && listed(f, x) == listed(g, y) => Ok(()),
            (None, None) => self.same_attributes(x, y),
            (None, Some(read)) => match stated_tensor(f, x) {
                Some(meant) => same_tensor(&meant, read),
                None => differ("it is stored"),
            },
            (Some(_), None) => differ("it is not stored"),
        }
    }

    fn interface(&mut self, x: NodeId, y: NodeId, is_main: bool) -> Compared {
        let (f, g) = (self.f, self.g);
        let (meant, read) = (listed_inputs(f, x), listed_inputs(g, y));
        for (at, (p, q)) in meant.into_iter().zip(read).enumerate() {
            self.operand(p, q).map_err(|difference| difference.within(|| format!("listed input {at}")))?;
        }
        let (meant, read) = (f.results(f.block_of(x)), g.results(g.block_of(y)));
        if meant.len() != read.len() {
            return differ(format!("{} outputs where {} were meant", read.len(), meant.len()));
        }
        for (at, (&p, &q)) in meant.iter().zip(read).enumerate() {
            self.operand(p, q).map_err(|difference| difference.within(|| format!("output {at}")))?;
        }
        if !is_main {
            return Ok(());
        }
        let names = |f: &Function, id| match f.attrs(id).meta(meta::OUTPUT_NAMES) {
            Some(AttrValue::Strings(names)) => names.strings().map(<[u8]>::to_vec).collect(),
            _ => Vec::new(),
        };
        let (mut meant, read) = (names(f, x), names(g, y));
        meant.truncate(read.len());
        let is_same = meant.iter().zip(&read).all(|(meant, read)| meant.is_empty() || meant == read);
        if is_same { Ok(()) } else { differ("other names of outputs") }
    }

    /// The types that the outputs are declared with, as far as they are known.
    fn output_types(&self, x: NodeId, y: NodeId) -> Compared {
        let (f, g) = (self.f, self.g);
        let (meant, read) = (types(f.attrs(x), meta::OUTPUT_TYPES), types(g.attrs(y), meta::OUTPUT_TYPES));
        for (at, &result) in f.results(f.block_of(x)).iter().enumerate() {
            let of = |types: &[TypeId]| types.get(at).copied().unwrap_or(TypeId::UNKNOWN);
            let (stated, found) = (of(&meant), of(&read));
            let is_same = match stated {
                TypeId::UNKNOWN if self.writer.source.is_empty() => {
                    found != TypeId::UNKNOWN || !states_type(f, f.type_id(result))
                }
                TypeId::UNKNOWN => true,
                _ => !has_encoding(f, stated) || is_same_type((f, stated), (g, found)),
            };
            if !is_same {
                return differ(format!("another type of output {at}"));
            }
        }
        Ok(())
    }

    /// Constants that nothing in the graph itself uses, by the names that they are written under.
    fn other_constants(&mut self, x: NodeId, y: NodeId) -> Compared {
        let (f, writer) = (self.f, self.writer);
        let is_open = |id: &NodeId| self.to_read[id.index()].is_absent() && is_constant(f, *id);
        let open: Vec<NodeId> = f.bindings(f.block_of(x)).iter().copied().filter(is_open).collect();
        if open.is_empty() {
            return Ok(());
        }
        let read = values_by_name(self.g, y);
        for id in open {
            let name = writer.scenes[self.scene].names.bytes(id).unwrap_or_default();
            let found = match read.get(name) {
                Some(&other) => self.operand(id, other),
                None => differ("it is missing"),
            };
            found.map_err(|difference| {
                difference.within(|| format!("constant `{}` of the graph", String::from_utf8_lossy(name)))
            })?;
        }
        Ok(())
    }

    /// The types that a graph states for inner values, and its quantisation annotations.
    fn statements(&mut self, x: NodeId, y: NodeId, is_graph: bool) -> Compared {
        let (f, g) = (self.f, self.g);
        let adds_types = is_graph && self.writer.stated_types == StatedTypes::Known;
        let lists = [
            ("the type of a value", value_info(f, x), value_info(g, y), adds_types),
            ("a quantisation annotation", annotations(f, x), annotations(g, y), false),
        ];
        if lists.iter().all(|(_, meant, read, _)| meant.is_empty() && read.is_empty()) {
            return Ok(());
        }
        let writer = self.writer;
        let names = &writer.scenes[self.scene].names;
        let mut values = named_values(f, x, names);
        values.retain(|_, id| names.name(*id).is_some());
        let read_values = values_by_name(g, y);
        let value_of = |name: &Vec<u8>| values.get(std::str::from_utf8(name).ok()?).copied();
        let read_value_of = |name: &Vec<u8>| read_values.get(name.as_slice()).copied();
        for (what, meant, read, adds) in lists {
            let mut read = read.into_iter();
            for statement in meant {
                let Some(ty) = self.meant_type(&statement, adds, value_of) else { continue };
                let is_same = read.next().is_some_and(|other| {
                    let is_alike = statement.names.len() == other.names.len() && statement.rest == other.rest;
                    let mut names = statement.names.iter().zip(&other.names);
                    let mut is_same_value = |(p, q): (&Vec<u8>, &Vec<u8>)| match (value_of(p), read_value_of(q)) {
                        _ if !statement.is_bound => p == q,
                        (Some(p), Some(q)) => self.operand(p, q).is_ok(),
                        _ => false,
                    };
                    is_alike && is_same_type((f, ty), (g, other.ty)) && names.all(&mut is_same_value)
                });
                if !is_same {
                    let about = String::from_utf8_lossy(statement.names.first().map_or(b"", Vec::as_slice));
                    return differ(format!("{what} (`{about}`)"));
                }
            }
            let meant = if adds { self.meant_for(x) } else { FastMap::default() };
            let is_added = |other: &Statement| {
                let value = other.names.first().and_then(read_value_of).map(|id| self.read_value(id));
                let id = value.and_then(|value| meant.get(&value));
                id.is_some_and(|&id| is_same_type((f, f.type_id(id)), (g, other.ty)))
            };
            if !read.all(|other| is_added(&other)) {
                return differ(format!("{what} that was not meant"));
            }
        }
        Ok(())
    }

    /// The values of a graph that nodes of the one that was read stand for.
    fn meant_for(&self, x: NodeId) -> FastMap<Value, NodeId> {
        let f = self.f;
        let values = f.bindings(f.block_of(x)).iter().filter(|&&id| f.n_results(id).is_none());
        let pair = |&id: &NodeId| {
            let (node, index) = value(f, id);
            ((self.to_read[node.index()], index), id)
        };
        values.map(pair).collect()
    }

    /// The type that is written in a statement; `None` if what it is about is gone, or ONNX has no such type.
    fn meant_type(
        &self,
        statement: &Statement,
        adds_types: bool,
        value_of: impl Fn(&Vec<u8>) -> Option<NodeId>,
    ) -> Option<TypeId> {
        let mut ty = statement.ty;
        if statement.is_bound {
            let values: Option<Vec<NodeId>> = statement.names.iter().map(value_of).collect();
            let own = values?.first().map_or(TypeId::UNKNOWN, |&id| self.f.type_id(id));
            if !agree(self.f, ty, own) || adds_types && is_known(self.f, own) {
                ty = own;
            }
        }
        has_encoding(self.f, ty).then_some(ty)
    }

    /// Whether the type that is stated, if it is, may be the value's.
    fn same_type(&mut self, x: NodeId, y: NodeId) -> Compared {
        let (a, b) = (self.f.type_id(x), self.g.type_id(y));
        if b == TypeId::UNKNOWN || self.same_types.get(&a) == Some(&b) {
            return Ok(());
        }
        let may_be = |ty| is_same_type((self.f, ty), (self.g, b)) || agree_across((self.f, ty), (self.g, b));
        if may_be(a) {
            self.same_types.insert(a, b);
        } else if !declared_types(self.f, x).into_iter().any(may_be) {
            return differ("another type");
        }
        Ok(())
    }

    /// The attributes, of which those with graphs are compared by name here.
    fn same_attributes(&self, x: NodeId, y: NodeId) -> Compared {
        let (f, g) = (self.f, self.g);
        let (mut meant, mut read) = (attributes(f, x), attributes(g, y));
        loop {
            let (p, q) = match (meant.next(), read.next()) {
                (None, None) => return Ok(()),
                (Some(p), Some(q)) => (p, q),
                _ => return differ("another number of attributes"),
            };
            let name = f.bytes(p.name);
            let is_stated = (p.flags ^ q.flags) & attr_flag::UNTYPED == 0;
            let is_same = is_stated && self.same_value(f.attrs(x).decode(p), g.attrs(y).decode(q));
            if name != g.bytes(q.name) || !is_same {
                return differ(format!("attribute `{}`", String::from_utf8_lossy(name)));
            }
        }
    }

    /// Whether fields that no reader knows, and attributes without a kind, are those that were there before.
    fn same_unknown_fields(&self, x: NodeId, y: NodeId) -> Compared {
        let (f, g) = (self.f, self.g);
        for rec in g.attr_recs(y).iter().filter(|rec| rec.flags & attr_flag::META != 0) {
            let key = g.str(rec.name);
            let is_extra = |rest: &str| rest.starts_with(':');
            let is_unknown =
                [meta::EXTRA, meta::UNTYPED].contains(&key) || key.strip_prefix(meta::ATTR_EXTRA).is_some_and(is_extra);
            if is_unknown && f.attrs(x).meta(key) != g.attrs(y).meta(key) {
                return differ(format!("`{key}`"));
            }
        }
        let is_lost = f.attrs(x).meta(meta::EXTRA).is_some() && g.attrs(y).meta(meta::EXTRA).is_none();
        if is_lost { differ(format!("`{}`", meta::EXTRA)) } else { Ok(()) }
    }

    /// The documentation of a node or a graph.
    fn same_notes(&self, x: NodeId, y: NodeId) -> Compared {
        let (f, g) = (self.f, self.g);
        if f.attr_recs(x).is_empty() && g.attr_recs(y).is_empty() {
            return Ok(());
        }
        self.same_unknown_fields(x, y)?;
        for key in NOTES {
            let is_same = match (f.attrs(x).meta(key), g.attrs(y).meta(key)) {
                (None, None) => true,
                (Some(meant), Some(read)) => self.same_value(meant, read),
                _ => false,
            };
            if !is_same {
                return differ(format!("`{key}`"));
            }
        }
        Ok(())
    }

    fn same_value(&self, meant: AttrValue<'_>, read: AttrValue<'_>) -> bool {
        let same_type = |a, b| is_same_type((self.f, a), (self.g, b));
        match (meant, read) {
            (AttrValue::Float(a), AttrValue::Float(b)) => a.to_bits() == b.to_bits(),
            (AttrValue::Floats(a), AttrValue::Floats(b)) | (AttrValue::Ints(a), AttrValue::Ints(b)) => {
                a.raw() == b.raw()
            }
            (AttrValue::Strings(a), AttrValue::Strings(b))
            | (AttrValue::SparseTensors(a), AttrValue::SparseTensors(b)) => a.strings().eq(b.strings()),
            (AttrValue::Tensor(a), AttrValue::Tensor(b)) => same_tensor(a, b).is_ok(),
            (AttrValue::Tensors(a), AttrValue::Tensors(b)) => a.tensors().eq(b.tensors()),
            (AttrValue::Type(a), AttrValue::Type(b)) => same_type(a, b),
            (AttrValue::Types(a), AttrValue::Types(b)) => {
                a.raw().len() == b.raw().len() && a.types().zip(b.types()).all(|(a, b)| same_type(a, b))
            }
            (AttrValue::Other(_), AttrValue::Other(_)) => true,
            (AttrValue::Graph(_), AttrValue::Graph(_)) | (AttrValue::Graphs(_), AttrValue::Graphs(_)) => true,
            (a, b) => a == b,
        }
    }
}
