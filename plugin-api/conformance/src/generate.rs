//! Random modules of the kind that exporters write: typed, and mostly computable. The bytes of a tape decide what is
//! made; fewer bytes make a smaller module.

use super::{
    bench::{AttrShape, Bench, OpShape},
    interpret::Compute,
    random::Random,
};
use relais_ir::wild::{self, Tape};
use relais_plugin_api::{
    infer::{Operators, infer_node},
    ir::*,
    text::{self, PrintOptions},
};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// The operators that modules consist of.
#[derive(Debug, Default)]
pub struct Vocabulary {
    ops: Vec<OpShape>,
    /// For each of them, the versions of the operator: their numbers.
    versions: Vec<Arc<[usize]>>,
    /// The most common ones.
    common: Vec<usize>,
    /// Those that the tested pass looks at.
    favourites: Vec<usize>,
}

/// ONNX operators whose results have the type of their arguments, with their number of arguments, for use when no
/// plugin describes any operator.
const COMMON: [(&str, u16); 12] = [
    ("Relu", 1),
    ("Abs", 1),
    ("Neg", 1),
    ("Identity", 1),
    ("Sigmoid", 1),
    ("Tanh", 1),
    ("Exp", 1),
    ("Sqrt", 1),
    ("Add", 2),
    ("Sub", 2),
    ("Mul", 2),
    ("Div", 2),
];

/// The operator sets that models import.
const VERSIONS: [i64; 5] = [17, 13, 21, 11, 9];

/// The element types of parameters.
const ELEMS: [ElemType; 8] = [
    ElemType::FLOAT,
    ElemType::FLOAT,
    ElemType::FLOAT,
    ElemType::INT64,
    ElemType::BOOL,
    ElemType::FLOAT16,
    ElemType::DOUBLE,
    ElemType::INT32,
];

/// The most bytes of a small module's tape.
const TAPE: usize = 360;

/// How often another call is tried if an operator does not accept its arguments.
const N_TRIES: usize = 4;

/// The most elements of a value whose size is known.
const MAX_ELEMENTS: u64 = 1 << 12;

/// How deep branches are nested.
const MAX_DEPTH: usize = 3;

/// Modules as exporters write them, at random, of the operators on a bench; small ones first.
pub fn sensible_modules(bench: &dyn Bench, seed: u64, n: usize) -> impl Iterator<Item = IRModule> {
    let vocabulary = Vocabulary::of(bench, &[]);
    (0..n).map(move |at| sensible(&tape(&mut Random::of(seed, "sensible", at as u64), at, n), &vocabulary, bench))
}

/// Modules with anything that the IR can express, at random, which need not make sense; small ones first.
pub fn wild_modules(seed: u64, n: usize) -> impl Iterator<Item = IRModule> {
    (0..n).map(move |at| wild(&tape(&mut Random::of(seed, "wild", at as u64), at, n)))
}

impl Vocabulary {
    /// The operators of a bench. A rewrite names its favourites; otherwise, the operators that are tested are the nearest
    /// choice.
    pub fn of(bench: &dyn Bench, favourites: &[String]) -> Self {
        let operators = bench.operators();
        let mut favourites = favourites.to_vec();
        if favourites.is_empty() {
            favourites.extend(operators.iter().filter(|op| op.is_judged()).map(|op| op.name.clone()));
        }
        Self::new(operators, &favourites)
    }

    /// The operators of a bench. `favourites`, by name, are called as often as all others together, and so are the most
    /// common ones where there are none.
    pub fn new(mut ops: Vec<OpShape>, favourites: &[String]) -> Self {
        if !ops.iter().any(|op| op.domain.is_empty()) {
            ops.extend(COMMON.iter().map(|&(name, n)| common(name, n)));
        }
        for name in favourites {
            if !ops.iter().any(|op| op.name == *name) {
                ops.push(common(name, 1));
            }
        }
        let all = |is_meant: &dyn Fn(&str) -> bool| (0..ops.len()).filter(|&at| is_meant(&ops[at].name)).collect();
        let common: Vec<usize> = all(&|name| COMMON.iter().any(|&(common, _)| common == name));
        let favourites = match favourites {
            [] => common.clone(),
            favourites => all(&|name| favourites.iter().any(|favourite| favourite == name)),
        };
        let mut of_name: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
        for (at, op) in ops.iter().enumerate() {
            of_name.entry((&op.domain, &op.name)).or_default().push(at);
        }
        let of_name: HashMap<_, Arc<[usize]>> = of_name.into_iter().map(|(name, all)| (name, all.into())).collect();
        let versions = ops.iter().map(|op| of_name[&(&*op.domain, &*op.name)].clone()).collect();
        Self { ops, versions, common, favourites }
    }

    /// The operator of a number as it was when the operator set had a version.
    fn at_version(&self, index: usize, version: i64) -> Option<&OpShape> {
        let op = &self.ops[index];
        if !op.domain.is_empty() {
            return Some(op);
        }
        let versions = self.versions[index].iter().map(|&at| &self.ops[at]);
        versions.filter(|other| i64::from(other.since) <= version).max_by_key(|other| other.since)
    }

    /// The version of a domain other than ONNX's own: the newest that a plugin describes.
    fn domain_version(&self, domain: &str) -> i64 {
        let versions = self.ops.iter().filter(|op| op.domain == domain).map(|op| i64::from(op.since));
        versions.max().unwrap_or(1).max(1)
    }
}

fn common(name: &str, n_inputs: u16) -> OpShape {
    OpShape {
        domain: String::new(),
        name: name.to_owned(),
        since: 1,
        inputs: (n_inputs, n_inputs),
        outputs: (1, 1),
        attrs: Vec::new(),
        judges_infer: false,
        judges_eval: false,
        judges_verify: false,
        judges_layouts: false,
        judges_kernel: false,
    }
}

/// The bytes of the module of a number out of `n`: few at first, so that the first findings are small.
pub fn tape(random: &mut Random, at: usize, n: usize) -> Vec<u8> {
    random.bytes(4 + TAPE * at / n.max(1))
}

/// A module of a sensible kind.
pub fn sensible(bytes: &[u8], vocabulary: &Vocabulary, compute: &dyn Compute) -> IRModule {
    make(bytes, vocabulary, compute, MOST)
}

/// A module with about that many bindings, in one function.
pub fn large(bytes: &[u8], vocabulary: &Vocabulary, compute: &dyn Compute, n: usize) -> IRModule {
    make(bytes, vocabulary, compute, n)
}

/// The most bindings of a small function.
const MOST: usize = 64;

/// The number of newest values that are considered when one of a certain type is needed.
const WINDOW: usize = 64;

fn make(bytes: &[u8], vocabulary: &Vocabulary, compute: &dyn Compute, most: usize) -> IRModule {
    let tape = &mut Tape::new(bytes);
    let version = VERSIONS[tape.below(VERSIONS.len())];
    let mut module = IRModule::new();
    let helper = tape.chance(3).then(|| function(tape, vocabulary, compute, version, None, MOST));
    let main = function(tape, vocabulary, compute, version, helper.as_ref(), most);
    module.set_function(MAIN, main);
    if let Some(helper) = helper {
        module.set_function(HELPER, helper);
    }
    canonical(&module).unwrap_or_default()
}

/// A module with everything that the IR can express, meaningful or not.
pub fn wild(bytes: &[u8]) -> IRModule {
    canonical(&wild::module(&mut Tape::new(bytes))).unwrap_or_default()
}

/// The module as parsed from its text: numbered as it is printed, without the parts that only the arena holds.
pub fn canonical(module: &IRModule) -> Option<IRModule> {
    text::parse_str(&text::print(module, &PrintOptions::default())).ok()
}

/// The function that `main` may call.
const HELPER: &str = "helper";

fn function(
    tape: &mut Tape<'_>,
    vocabulary: &Vocabulary,
    compute: &dyn Compute,
    version: i64,
    helper: Option<&Function>,
    most: usize,
) -> Function {
    let mut f = Function::new();
    let domains: BTreeSet<&str> = vocabulary.ops.iter().map(|op| op.domain.as_str()).collect();
    let version_of = |domain: &str| if domain.is_empty() { version } else { vocabulary.domain_version(domain) };
    let imports: Vec<(&str, i64)> = domains.into_iter().map(|domain| (domain, version_of(domain))).collect();
    f.set_opset_imports(&imports);
    // Facts about operators are requested by their number in a function, so an empty function is enough.
    compute.with_ops(&Function::new(), &mut |ops| {
        let mut builder =
            Builder { f: &mut f, vocabulary, version, ops, helper, most, visible: Vec::new(), n_names: 0 };
        builder.whole(tape);
    });
    f
}

struct Builder<'a> {
    f: &'a mut Function,
    vocabulary: &'a Vocabulary,
    version: i64,
    ops: &'a mut dyn Operators,
    helper: Option<&'a Function>,
    most: usize,
    visible: Vec<NodeId>,
    n_names: usize,
}

impl Builder<'_> {
    fn whole(&mut self, tape: &mut Tape<'_>) {
        let root = self.f.root();
        let n_params = 1 + tape.below(3);
        let params: Vec<NodeId> = (0..n_params).map(|at| self.param(tape, at)).collect();
        self.f.set_params(root, &params);
        self.visible = params;
        let body = self.f.body();
        self.fill(tape, body, 0);
        let results = self.results(tape, body);
        self.f.set_results(body, &results);
        if tape.chance(2) {
            let names = (0..results.len()).map(|at| format!("y{at}").into_bytes()).collect();
            let rec = self.f.encode_attr(&Attr::meta("output_names", AttrData::Strings(names)));
            let recs = [self.f.attr_recs(root), &[rec]].concat();
            self.f.set_attr_recs(root, &recs);
        }
        if tape.chance(2) {
            let [params, types] =
                [self.f.params(), &results].map(|ids| ids.iter().map(|&id| self.f.type_id(id)).collect::<Vec<_>>());
            let result = if let [one] = types[..] { one } else { self.f.add_type(Type::Tuple(&types)) };
            let ty = self.f.add_type(Type::Func { params: &params, result });
            self.f.set_type(root, ty);
        }
    }

    fn param(&mut self, tape: &mut Tape<'_>, at: usize) -> NodeId {
        let elem = ELEMS[tape.below(ELEMS.len())];
        let n = self.f.intern("n");
        let (fixed, symbol) = (Dim::Static, Dim::Symbol(n));
        let shapes: [&[Dim]; 8] = [
            &[fixed(2), fixed(3)],
            &[fixed(2), fixed(3)],
            &[fixed(3)],
            &[],
            &[symbol, fixed(3)],
            &[fixed(1), fixed(2), fixed(4), fixed(4)],
            &[fixed(2), fixed(1)],
            &[fixed(1), Dim::Unknown, fixed(3)],
        ];
        let ty = self.f.tensor_type(elem, shapes[tape.below(shapes.len())]);
        self.f.add_var(&format!("x{at}"), ty)
    }

    /// Bindings of a block, as many as there are bytes for.
    fn fill(&mut self, tape: &mut Tape<'_>, block: BlockId, depth: usize) {
        let most = if depth == 0 { self.most } else { 4 };
        let mut n = 0;
        while n < most && (depth > 0 && n < 2 || !tape.is_empty()) {
            n += 1;
            match tape.below(16) {
                12 | 13 => {
                    let tensor = self.some_constant(tape, None);
                    self.constant(tape, block, tensor);
                }
                14 if depth < MAX_DEPTH => self.conditional(tape, block, depth),
                15 => self.call_of_helper(tape, block),
                _ => self.call(tape, block),
            }
        }
    }

    /// Results that are used nowhere: the last one, some, or all of them, so that little and much is computed for
    /// nothing.
    fn results(&mut self, tape: &mut Tape<'_>, block: BlockId) -> Vec<NodeId> {
        let counts = self.f.use_counts();
        let is_unused = |id: &NodeId| counts.get(id.index()).is_none_or(|&count| count == 0);
        let bindings = self.f.bindings(block).iter().rev().copied();
        let fits = |id: &NodeId| !matches!(self.f.type_of(*id), Type::Tuple(_) | Type::Func { .. });
        let mut results: Vec<NodeId> =
            bindings.filter(is_unused).filter(fits).take([1, 2, 4, usize::MAX][tape.below(4)]).collect();
        if results.is_empty() {
            results.push(self.visible[tape.below(self.visible.len())]);
        }
        results
    }

    fn bind(&mut self, tape: &mut Tape<'_>, block: BlockId, node: NodeId) {
        self.n_names += 1;
        if tape.below(4) != 3 {
            let name = format!("t{}", self.n_names);
            self.f.set_name(node, &name);
        }
        self.f.append(block, node);
        self.visible.push(node);
    }

    fn constant(&mut self, tape: &mut Tape<'_>, block: BlockId, tensor: Tensor) -> NodeId {
        let form = if tape.chance(2) { ConstForm::INITIALIZER } else { ConstForm::ANY };
        let node = self.f.add_constant(tensor, form);
        self.bind(tape, block, node);
        node
    }

    /// A call that its operator takes.
    fn call(&mut self, tape: &mut Tape<'_>, block: BlockId) {
        for _ in 0..N_TRIES {
            let Vocabulary { ops, common, favourites, .. } = self.vocabulary;
            let index = match tape.below(8) {
                0..4 if !favourites.is_empty() => favourites[tape.pick(favourites.len())],
                4 | 5 if !common.is_empty() => common[tape.pick(common.len())],
                _ => tape.pick(ops.len()),
            };
            let Some(op) = self.vocabulary.at_version(index, self.version) else { continue };
            let Some(node) = self.try_call(tape, block, op) else { continue };
            let n_results = self.f.n_results(node);
            self.bind(tape, block, node);
            for at in 0..n_results.unwrap_or(0) {
                let item = self.f.add_tuple_get_item(node, at as u16);
                if let Type::Tuple(types) = self.f.type_of(node) {
                    let ty = types.get(at).copied().unwrap_or(TypeId::UNKNOWN);
                    self.f.set_type(item, ty);
                }
                self.bind(tape, block, item);
            }
            if n_results.is_some() {
                self.visible.retain(|&id| id != node);
            }
            return;
        }
    }

    fn try_call(&mut self, tape: &mut Tape<'_>, block: BlockId, op: &OpShape) -> Option<NodeId> {
        let (fewest, most) = op.inputs;
        let n_args = usize::from(fewest) + tape.below(usize::from(most.saturating_sub(fewest).min(2)) + 1);
        let mut args = Vec::new();
        for at in 0..n_args {
            let first = args.first().copied();
            let arg = match at >= usize::from(fewest) && tape.chance(4) {
                true => NodeId::ABSENT,
                false => self.argument(tape, block, first),
            };
            args.push(arg);
        }
        let recs = self.attributes(tape, &op.attrs)?;
        let n_results = match op.outputs {
            (0 | 1, 1) => None,
            (fewest, most) => {
                let n = usize::from(fewest) + tape.below(usize::from(most.saturating_sub(fewest).min(2)) + 1);
                (n > 1 || fewest > 1).then_some(n as u16)
            }
        };
        let op_id = self.f.add_op(&op.domain, &op.name, "", 0);
        let callee = self.f.op(op_id).node;
        let node = self.f.add_call_with(callee, &args, &[], n_results);
        self.f.set_attr_recs(node, &recs);
        if infer_node(self.f, self.ops, node).is_err() {
            return None;
        }
        if self.f.type_id(node) == TypeId::UNKNOWN
            && op.domain.is_empty()
            && COMMON.contains(&(&op.name, n_args as u16))
        {
            let ty = self.f.type_id(args[0]);
            if args.iter().any(|&arg| self.f.type_id(arg) != ty) {
                return None;
            }
            self.f.set_type(node, ty);
        }
        let is_small = |ty: &TypeId| match self.f.ty(*ty).static_shape() {
            Some(dims) => element_count(&dims).is_some_and(|count| count <= MAX_ELEMENTS),
            None => true,
        };
        let ty = self.f.type_id(node);
        let types = if let Type::Tuple(types) = self.f.ty(ty) { types.to_vec() } else { vec![ty] };
        types.iter().all(is_small).then_some(node)
    }

    fn argument(&mut self, tape: &mut Tape<'_>, block: BlockId, first: Option<NodeId>) -> NodeId {
        let n = self.visible.len();
        let recent = |tape: &mut Tape<'_>| n - 1 - tape.below(3.min(n));
        let Some(first) = first.filter(|first| !first.is_absent()) else {
            return self.visible[if tape.below(4) == 3 { tape.below(n) } else { recent(tape) }];
        };
        match tape.below(4) {
            0 | 1 => {
                let tensor = self.some_constant(tape, Some(first));
                self.constant(tape, block, tensor)
            }
            2 => {
                let elem = self.f.type_of(first).elem();
                let near = &self.visible[n.saturating_sub(WINDOW)..];
                let same = near.iter().copied().filter(|&id| self.f.type_of(id).elem() == elem);
                let same: Vec<NodeId> = same.collect();
                if same.is_empty() { first } else { same[tape.below(same.len())] }
            }
            _ => self.visible[recent(tape)],
        }
    }

    /// A constant that matches a value: of its element type and a shape like its own, or the integers that operators
    /// use as shapes and axes.
    fn some_constant(&mut self, tape: &mut Tape<'_>, with: Option<NodeId>) -> Tensor {
        let ty = with.map_or(Type::Unknown, |id| self.f.type_of(id));
        let elem = ty.elem().filter(|&elem| number(elem, 0.0).is_some()).unwrap_or(ElemType::FLOAT);
        let dims = ty.static_shape().unwrap_or_else(|| vec![2, 3]);
        let rank = dims.len() as u64;
        let last = dims.last().copied().unwrap_or(1);
        match tape.below(8) {
            0 | 1 => filled(tape, elem, &[]),
            2 | 3 if element_count(&dims).is_some_and(|count| count <= MAX_ELEMENTS) => filled(tape, elem, &dims),
            4 => filled(tape, elem, &[last]),
            5 => {
                let values: Vec<i64> = dims.iter().map(|&dim| i64::try_from(dim).unwrap_or(1)).collect();
                Tensor::from_i64(&[rank], &values)
            }
            6 => {
                let values: Vec<i64> = (0..rank).map(|_| tape.below(5) as i64 - 1).collect();
                Tensor::from_i64(&[rank], &values)
            }
            _ => Tensor::from_i64(&[1], &[tape.below(5) as i64 - 2]),
        }
    }

    fn attributes(&mut self, tape: &mut Tape<'_>, attrs: &[AttrShape]) -> Option<Vec<AttrRec>> {
        let mut recs = Vec::new();
        for attr in attrs {
            if !attr.is_required && tape.below(4) != 3 {
                continue;
            }
            match attribute(tape, attr.kind) {
                Some(value) => recs.push(self.f.encode_attr(&Attr::new(attr.name.clone(), value))),
                None if attr.is_required => return None,
                None => {}
            }
        }
        Some(recs)
    }

    /// An `if` whose branches have results of the same types.
    fn conditional(&mut self, tape: &mut Tape<'_>, block: BlockId, depth: usize) {
        let is_bool = |id: &NodeId| match self.f.type_of(*id) {
            Type::Tensor { elem: ElemType::BOOL, shape: Some(shape) } => shape.is_empty(),
            _ => false,
        };
        let cond = match self.visible.iter().rev().take(WINDOW).copied().find(is_bool) {
            Some(cond) => cond,
            None => {
                let value = u8::from(tape.chance(2));
                let tensor = Tensor::dense(ElemType::BOOL, &[], vec![value]).expect("one byte is one boolean");
                self.constant(tape, block, tensor)
            }
        };
        let n_visible = self.visible.len();
        let mut branches = Vec::new();
        let mut wanted: Option<TypeId> = None;
        for _ in 0..2 {
            let branch = self.f.add_function(&[]);
            let inner = self.f.block_of(branch);
            self.fill(tape, inner, depth + 1);
            let fits = |id: &NodeId| wanted.is_none_or(|wanted| self.f.type_id(*id) == wanted);
            // The first branch's value is one that both see when nothing else fits.
            let candidates =
                if wanted.is_none() && tape.chance(2) { &self.visible[..n_visible] } else { &self.visible };
            let result = candidates.iter().rev().take(WINDOW).copied().find(fits);
            let result = result.unwrap_or(self.visible[0]);
            wanted.get_or_insert(self.f.type_id(result));
            self.f.set_results(inner, &[result]);
            self.visible.truncate(n_visible);
            branches.push(branch);
        }
        let node = self.f.add_if(cond, branches[0], branches[1], None);
        // The branches have different types if nothing fits; then the type is their common part.
        if infer_node(self.f, self.ops, node).is_ok() {
            self.bind(tape, block, node);
        }
    }

    fn call_of_helper(&mut self, tape: &mut Tape<'_>, block: BlockId) {
        let Some(helper) = self.helper else { return self.call(tape, block) };
        let mut args = Vec::new();
        for &param in helper.params() {
            let Type::Tensor { elem, shape: Some(shape) } = helper.type_of(param) else { return };
            let dims: Vec<u64> = shape.iter().map(|&dim| Dim::from(dim).known().unwrap_or(2)).collect();
            let fixed: Vec<Dim> = dims.iter().map(|&dim| Dim::Static(dim)).collect();
            let ty = self.f.tensor_type(elem, &fixed);
            let found = self.visible.iter().rev().take(WINDOW).copied().find(|&id| self.f.type_id(id) == ty);
            let arg = match found {
                Some(arg) => arg,
                None => {
                    let tensor = filled(tape, elem, &dims);
                    self.constant(tape, block, tensor)
                }
            };
            args.push(arg);
        }
        let callee = self.f.add_global_var(HELPER);
        let n_results = helper.results(helper.body()).len();
        let node = self.f.add_call_with(callee, &args, &[], (n_results != 1).then_some(n_results as u16));
        let ty = relais_plugin_api::infer::result_of(self.f, helper);
        self.f.set_type(node, ty);
        self.bind(tape, block, node);
        if n_results != 1 {
            self.visible.pop();
        }
    }
}

fn attribute(tape: &mut Tape<'_>, kind: u8) -> Option<AttrData> {
    const FLOATS: [f32; 5] = [1.0, 0.0, 0.5, -1.0, 1e-5];
    let float = |tape: &mut Tape<'_>| FLOATS[tape.below(FLOATS.len())];
    let int = |tape: &mut Tape<'_>| [0, 1, -1, 2, 7, 10, 3, 4][tape.below(8)];
    let n = 1 + tape.below(4);
    Some(match kind {
        attr_kind::FLOAT => AttrData::Float(float(tape)),
        attr_kind::INT => AttrData::Int(int(tape)),
        attr_kind::FLOATS => AttrData::Floats((0..n).map(|_| float(tape)).collect()),
        attr_kind::INTS => AttrData::Ints((0..n).map(|_| int(tape)).collect()),
        attr_kind::TENSOR => AttrData::Tensor(filled(tape, ElemType::FLOAT, &[1])),
        attr_kind::STRING => AttrData::String(b"a".to_vec()),
        attr_kind::STRINGS => AttrData::Strings(vec![b"a".to_vec(); n]),
        _ => return None,
    })
}

/// A dense tensor: of one value, or of different ones.
fn filled(tape: &mut Tape<'_>, elem: ElemType, dims: &[u64]) -> Tensor {
    const VALUES: [f64; 6] = [0.0, 1.0, 2.0, -1.0, 0.5, 3.0];
    let count = element_count(dims).unwrap_or(1);
    let (first, step) = (VALUES[tape.below(VALUES.len())], [0.0, 0.0, 1.0][tape.below(3)]);
    let value = |at: u64| number(elem, first + step * (at % 7) as f64);
    let bytes: Option<Vec<u8>> = (0..count).map(value).collect::<Option<Vec<_>>>().map(|values| values.concat());
    let tensor = bytes.and_then(|bytes| Tensor::dense(elem, dims, bytes).ok());
    tensor.unwrap_or_else(|| Tensor::from_f32(&[], &[first as f32]))
}

/// A number as an element of a tensor.
fn number(elem: ElemType, value: f64) -> Option<Vec<u8>> {
    let int = value as i64;
    Some(match elem {
        ElemType::INT64 => int.to_le_bytes().to_vec(),
        ElemType::INT32 => (int as i32).to_le_bytes().to_vec(),
        ElemType::INT8 => vec![int as u8],
        ElemType::UINT8 => vec![int.unsigned_abs() as u8],
        ElemType::BOOL => vec![u8::from(value != 0.0)],
        _ => return Some(Tensor::from_f64s(elem, &[], &[value])?.to_bytes().into_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bench::LinkedItems, random::Random};

    fn module(seed: u64, n_bytes: usize) -> IRModule {
        let bytes = Random::of(seed, "test", 0).bytes(n_bytes);
        sensible(&bytes, &Vocabulary::new(Vec::new(), &["Relu".to_owned()]), &LinkedItems)
    }

    fn n_bindings(module: &IRModule) -> usize {
        module.functions().map(|(_, f)| f.all_bindings().count()).sum()
    }

    #[test]
    fn modules_are_sound_and_the_same_each_time() {
        let mut n_calls = 0;
        for seed in 0..64 {
            let made = module(seed, 200);
            assert_eq!(verify(&made).iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
            assert!(equal(&made, &module(seed, 200)).is_ok());
            let main = made.main().expect("there is an entry function");
            n_calls += main.all_bindings().filter(|&id| main.call(id).is_some_and(|call| call.is_op("Relu"))).count();
        }
        assert!(n_calls > 100, "favourites are called: {n_calls}");
    }

    #[test]
    fn fewer_bytes_make_a_smaller_module() {
        assert_eq!(n_bindings(&module(1, 0)), 0);
        assert!(n_bindings(&module(1, 40)) < n_bindings(&module(1, 400)));
        let bytes = Random::of(1, "test", 0).bytes(4000);
        let vocabulary = Vocabulary::new(Vec::new(), &[]);
        let large = n_bindings(&large(&bytes, &vocabulary, &LinkedItems, 300));
        assert!((300..900).contains(&large), "{large}");
    }

    #[test]
    fn operators_are_those_of_the_version() {
        let op = |since| OpShape { since, ..common("Foo", 1) };
        let vocabulary = Vocabulary::new(vec![op(1), op(7), op(13)], &[]);
        let since = |version| vocabulary.at_version(0, version).map(|op| op.since);
        assert_eq!([6, 7, 12, 21].map(since), [Some(1), Some(7), Some(7), Some(13)]);
        assert_eq!(Vocabulary::new(vec![op(7)], &[]).at_version(0, 6).map(|op| op.since), None);
    }
}
