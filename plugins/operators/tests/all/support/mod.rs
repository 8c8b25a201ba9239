//! Runs type relations over case files.
//!
//! A case is lines of words:
//!
//! ```text
//! case NAME
//! value NAME TYPE                  a parameter
//! const NAME TYPE [= NUMBER…]      a constant; zeros when there are no numbers
//! node DOMAIN OPERATOR VERSION     a call, then:
//! attr NAME i|f|s|ints|floats|strings|t|ty|g|ref|raw …
//! args NAME…                       `-` is absent
//! outs NAME…
//! expect NAME TYPE                 the type must be this
//! holds NAME INT…                  the known integers must be these
//! fails TEXT                       the relation must say this
//! judge NAME TYPE TYPE             to be compared with what another implementation infers, and what a run gave
//! end
//! ```
//!
//! Types are written `float32[2,$N,?]`, `float32[*]`, `seq:…`, `opt:…`, `?`.

use relais_plugin_api::{ir::*, op::*};
use std::{collections::HashMap, fmt};

/// One line: a question about a result.
pub struct Judged<'a> {
    /// The case.
    pub case: &'a str,
    /// The operator.
    pub op_name: &'a str,
    /// The inferred type.
    pub found: String,
    /// The type that the other implementation infers.
    pub expected: &'a str,
    /// The type from a run.
    pub truth: &'a str,
}

impl fmt::Display for Judged<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, op_name, found, expected, truth } = self;
        write!(f, "{case}: {op_name}: {found} where {expected} is expected, {truth} is true")
    }
}

struct Call<'a> {
    domain: &'a str,
    name: &'a str,
    version: u32,
    attrs: Vec<Attr>,
    regions: Vec<NodeId>,
    args: Vec<NodeId>,
}

#[derive(Default)]
struct Case<'a> {
    name: &'a str,
    function: Function,
    values: HashMap<&'a str, NodeId>,
    call: Option<Call<'a>>,
    op_name: &'a str,
    failure: Option<OpError>,
}

/// Runs all cases; `judge` receives the results to compare.
///
/// # Panics
/// Panics if an expectation does not hold.
pub fn run<'a>(text: &'a str, mut judge: impl FnMut(Judged<'a>)) -> usize {
    let mut case = Case::default();
    let mut n_cases = 0;
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut words = rest.split_ascii_whitespace();
        match word {
            "case" => {
                case = Case { name: rest, ..Case::default() };
                n_cases += 1;
            }
            "value" => {
                let name = words.next().unwrap();
                let ty = parse_type(&mut case.function, words.next().unwrap());
                let var = case.function.add_var(name, ty);
                case.values.insert(name, var);
            }
            "const" => {
                let tensor = parse_tensor(&mut case.function, words.clone().skip(1));
                let node = case.function.add_constant(tensor, ConstForm::INITIALIZER);
                case.values.insert(words.next().unwrap(), node);
            }
            "node" => {
                case.expect_no_failure();
                let [domain, name, version] = [(); 3].map(|()| words.next().unwrap());
                let domain = if domain == "ai.onnx" { "" } else { domain };
                let version = version.parse().unwrap();
                case.op_name = name;
                case.call = Some(Call { domain, name, version, attrs: vec![], regions: vec![], args: vec![] });
            }
            "attr" => case.add_attr(words),
            "args" => {
                let node = |word| if word == "-" { NodeId::ABSENT } else { case.values[word] };
                case.call.as_mut().unwrap().args = words.map(node).collect();
            }
            "outs" => case.infer(&words.collect::<Vec<_>>()),
            "expect" => {
                case.expect_no_failure();
                let (name, wanted) = (words.next().unwrap(), words.next().unwrap());
                assert_eq!(case.type_text(name), wanted, "{}: {name}", case.name);
            }
            "holds" => {
                let name = words.next().unwrap();
                assert_eq!(case.value_text(name), words.collect::<Vec<_>>().join(" "), "{}: {name}", case.name);
            }
            "fails" => {
                let error = case.failure.take().unwrap_or_else(|| panic!("{}: no failure", case.name));
                assert!(error.message.contains(rest), "{}: {error}", case.name);
            }
            "judge" => {
                let name = words.next().unwrap();
                if let Some(error) = &case.failure {
                    assert!(error.kind != 0, "{}: {}: {error}", case.name, case.op_name);
                }
                let found = case.type_text(name);
                let [expected, truth] = [words.next().unwrap(), words.next().unwrap()];
                judge(Judged { case: case.name, op_name: case.op_name, found, expected, truth });
            }
            "end" => {
                case.failure.take_if(|error| error.kind != 0);
                case.expect_no_failure();
            }
            other => panic!("{}: unknown line `{other}`", case.name),
        }
    }
    n_cases
}

impl<'a> Case<'a> {
    fn expect_no_failure(&mut self) {
        if let Some(error) = self.failure.take_if(|error| error.kind == 0) {
            panic!("{}: `{}`: {error}", self.name, self.op_name);
        }
        self.failure = None;
    }

    fn add_attr(&mut self, mut words: std::str::SplitAsciiWhitespace<'a>) {
        let f = &mut self.function;
        let call = self.call.as_mut().unwrap();
        let (name, kind) = (words.next().unwrap(), words.next().unwrap());
        let mut rest = words.clone();
        let mut first = || rest.next().unwrap();
        let value = match kind {
            "i" => AttrData::Int(first().parse().unwrap()),
            "f" => AttrData::Float(first().parse().unwrap()),
            "s" => AttrData::String(parse_bytes(first())),
            "ints" => AttrData::Ints(words.map(|word| word.parse().unwrap()).collect()),
            "floats" => AttrData::Floats(words.map(|word| word.parse().unwrap()).collect()),
            "strings" => AttrData::Strings(words.map(parse_bytes).collect()),
            "t" => AttrData::Tensor(parse_tensor(f, words)),
            "ty" => AttrData::Type(parse_type(f, first())),
            "ref" => AttrData::Ref { name: "outer".into(), kind: attr_kind::INT },
            "raw" => AttrData::Raw(vec![]),
            "g" => {
                let types: Vec<TypeId> = words.map(|word| parse_type(f, word)).collect();
                let results: Vec<NodeId> = types.into_iter().map(|ty| f.add_var("", ty)).collect();
                let region = f.add_function(&[]);
                f.set_results(f.block_of(region), &results);
                call.regions.push(region);
                AttrData::Graph(call.regions.len() as u32 - 1)
            }
            other => panic!("{}: unknown attribute kind `{other}`", self.name),
        };
        call.attrs.push(Attr::new(name.to_owned(), value));
    }

    fn infer(&mut self, outs: &[&'a str]) {
        let call = self.call.take().unwrap();
        let f = &mut self.function;
        let op = f.add_op(call.domain, call.name, "", call.version);
        let callee = f.op(op).node;
        let n_results = (outs.len() > 1).then_some(outs.len() as u16);
        let node = f.add_call_with(callee, &call.args, &call.regions, n_results);
        f.set_attrs(node, &call.attrs);
        let operator = find(call.domain, call.name, call.version);
        // Anything that a relation reports before it fails is discarded.
        let mut results = vec![(TypeId::UNKNOWN, TypeId::UNKNOWN); outs.len()];
        if let Some(infer) = operator.and_then(|operator| operator.infer) {
            match relate(infer, f, node, call.version.into()) {
                Ok(given) => results = given,
                Err(error) => self.failure = Some(error),
            }
        }
        for (index, &name) in outs.iter().enumerate() {
            let result = if n_results.is_some() { f.add_tuple_get_item(node, index as u16) } else { node };
            let (ty, value) = results[index];
            f.set_type(result, ty);
            let table = f.table_mut(VALUES_TABLE, 4, table_policy::DERIVED);
            table.get_mut(result).copy_from_slice(&value.0.to_le_bytes());
            self.values.insert(name, result);
        }
    }

    fn type_text(&self, name: &str) -> String {
        let mut text = String::new();
        let mut id = self.function.type_id(self.values[name]);
        loop {
            match self.function.ty(id) {
                Type::Sequence(item) => (id, text) = (item, text + "seq:"),
                Type::Optional(item) => (id, text) = (item, text + "opt:"),
                Type::Tensor { elem, shape } => {
                    let dims = shape.map_or("*".into(), |dims| self.dims_text(dims, ","));
                    return format!("{text}{elem}[{dims}]");
                }
                _ => return text + "?",
            }
        }
    }

    fn value_text(&self, name: &str) -> String {
        let Some(ty) = known_value(&self.function, self.values[name]) else {
            return String::new();
        };
        self.dims_text(self.function.ty(ty).shape().unwrap(), " ")
    }

    fn dims_text(&self, dims: &[DimRec], separator: &str) -> String {
        let text = |&dim: &DimRec| match Dim::from(dim) {
            Dim::Static(size) => size.to_string(),
            Dim::Symbol(name) => format!("${}", self.function.str(name)),
            Dim::Unknown => "?".into(),
        };
        dims.iter().map(text).collect::<Vec<_>>().join(separator)
    }
}

/// The operator that a call of a version means.
pub fn find(domain: &str, name: &str, version: u32) -> Option<&'static Operator> {
    relais_operators::operators()
        .filter(|op| op.domain == domain && op.name == name && op.since_version <= version)
        .max_by_key(|op| op.since_version)
}

fn parse_bytes(word: &str) -> Vec<u8> {
    match word.strip_prefix("hex:") {
        Some(hex) => (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()).collect(),
        None => word.into(),
    }
}

fn parse_type(f: &mut Function, word: &str) -> TypeId {
    if let Some(item) = word.strip_prefix("seq:") {
        let item = parse_type(f, item);
        return f.add_type(Type::Sequence(item));
    }
    if let Some(item) = word.strip_prefix("opt:") {
        let item = parse_type(f, item);
        return f.add_type(Type::Optional(item));
    }
    if word == "?" || word.starts_with("sparse:") {
        return TypeId::UNKNOWN;
    }
    let (elem, dims) = word.strip_suffix(']').unwrap().split_once('[').unwrap();
    let elem = ElemType::from_name(elem).unwrap_or_default();
    if dims == "*" {
        return f.add_type(Type::Tensor { elem, shape: None });
    }
    let dims: Vec<Dim> = dims.split(',').filter(|dim| !dim.is_empty()).map(|dim| parse_dim(f, dim)).collect();
    f.tensor_type(elem, &dims)
}

fn parse_dim(f: &mut Function, word: &str) -> Dim {
    match word.strip_prefix('$') {
        Some(name) => Dim::Symbol(f.intern(name)),
        None => word.parse().map_or(Dim::Unknown, Dim::Static),
    }
}

fn parse_tensor<'a>(f: &mut Function, mut words: impl Iterator<Item = &'a str>) -> Tensor {
    let ty = parse_type(f, words.next().unwrap());
    let (elem, dims) = (f.ty(ty).elem().unwrap(), f.ty(ty).static_shape().unwrap());
    if words.next() == Some("=") {
        return match elem {
            ElemType::FLOAT => {
                let values: Vec<f32> = words.map(|word| word.parse().unwrap()).collect();
                Tensor::from_f32(&dims, &values)
            }
            ElemType::INT32 => {
                let bytes: Vec<u8> = words.flat_map(|word| word.parse::<i32>().unwrap().to_le_bytes()).collect();
                Tensor::dense(elem, &dims, bytes).unwrap()
            }
            _ => Tensor::from_i64(&dims, &words.map(|word| word.parse().unwrap()).collect::<Vec<_>>()),
        };
    }
    if elem == ElemType::STRING {
        let n = element_count(&dims).unwrap() as usize;
        return Tensor::from_strings(&dims, vec![&b""[..]; n]).unwrap();
    }
    Tensor::splat(elem, &dims, &vec![0; elem.bytes_for(1).unwrap() as usize]).unwrap()
}
