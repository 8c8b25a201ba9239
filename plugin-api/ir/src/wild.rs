//! Random modules: everything that the builders can make, sense or not. For tests, here and of whole plugins.

use crate::*;

/// Choices, read from random bytes; 0 when they are used up, so that fewer bytes result in a smaller module.
pub struct Tape<'a> {
    bytes: &'a [u8],
    /// Makes names different.
    n_names: usize,
}

const NAMES: [&str; 10] = ["x", "conv1", "a.b/c:0", "0", "let", "é\"\\", "\u{1}\n", "a b", "::", "const"];

/// A name that may be given to several values.
const SHADOWING: &str = "again";

impl<'a> Tape<'a> {
    /// A tape of these bytes.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, n_names: 0 }
    }

    fn byte(&mut self) -> u8 {
        let (&first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
        self.bytes = rest;
        first
    }

    /// Whether the bytes are used up.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns a number below `n`, which is at most 256.
    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.byte()) % n
    }

    /// As [`below`](Self::below), of many.
    pub fn pick(&mut self, n: usize) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()])) % n
    }

    /// Returns true once in `one_in` times.
    pub fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == one_in - 1
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    fn int(&mut self) -> i64 {
        match self.below(4) {
            0 => self.below(9) as i64 - 1,
            1 => i64::MIN + self.below(2) as i64,
            _ => i64::from(self.word() as i32) << self.below(32),
        }
    }

    fn float(&mut self) -> f32 {
        match self.below(7) {
            0 => self.below(5) as f32,
            1 => -0.0,
            2 => f32::INFINITY,
            3 => f32::NEG_INFINITY,
            4 => f32::NAN,
            5 => f32::from_bits(0x7f80_0001 | self.word()),
            _ => f32::from_bits(self.word()),
        }
    }

    fn name(&mut self) -> &'static str {
        NAMES[self.below(NAMES.len())]
    }

    fn unique(&mut self) -> String {
        if self.chance(8) {
            return SHADOWING.to_owned();
        }
        self.n_names += 1;
        format!("{}{}", self.name(), self.n_names)
    }

    fn raw(&mut self) -> Vec<u8> {
        (0..self.below(6)).map(|_| self.byte()).collect()
    }

    fn many<T>(&mut self, most: usize, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| one(self)).collect()
    }
}

/// Returns a module that consists of whatever the tape says.
pub fn module(tape: &mut Tape<'_>) -> IRModule {
    let mut module = IRModule::new();
    for _ in 0..tape.below(3) {
        let name = tape.name();
        let attr = match tape.below(2) {
            0 => ModuleAttr::int(name, tape.int()),
            _ => ModuleAttr::bytes(name, &tape.raw()),
        };
        module.attrs.push(attr);
    }
    let globals = ["main", "my::f:v", "g"];
    for name in &globals[..tape.below(3) + 1] {
        module.set_function(name, function(tape, name));
    }
    if tape.chance(3) {
        module.set_prim_func("prim func", prim_func(&[("x", ElemType::FLOAT, &[2])], &[("y", ElemType::FLOAT, &[2])]));
    }
    if tape.chance(6) {
        // A kind of a later version.
        let kind = global_kind::PRIM_FUNC + 1 + tape.below(200) as u8;
        module.set_global("later", kind, function(tape, "later"));
    }
    module
}

fn function(tape: &mut Tape<'_>, own_name: &str) -> Function {
    let mut f = Function::new();
    let root = f.root();
    let mut builder = Builder { f: &mut f, visible: Vec::new(), own_name };
    let params = builder.params(tape);
    builder.f.set_params(root, &params);
    if tape.chance(2) {
        builder.f.set_opset_imports(&[("", 17), ("com.microsoft", tape.int())]);
    }
    builder.fill(tape, root, 0);
    f
}

struct Builder<'a> {
    f: &'a mut Function,
    visible: Vec<NodeId>,
    own_name: &'a str,
}

impl Builder<'_> {
    fn params(&mut self, tape: &mut Tape<'_>) -> Vec<NodeId> {
        let params = tape.many(3, |tape| {
            let ty = ty(self.f, tape, 0);
            let name = if tape.chance(4) { String::new() } else { tape.unique() };
            let var = self.f.add_var(&name, ty);
            if tape.chance(4) {
                self.f.set_default_value(var, tensor(tape));
            }
            self.metadata(tape, var, 0);
            self.mark_shadowing(var);
            var
        });
        self.visible.extend(&params);
        params
    }

    /// Fills the block of a function whose parameters are visible.
    fn fill(&mut self, tape: &mut Tape<'_>, function: NodeId, depth: usize) {
        let block = self.f.block_of(function);
        for _ in 0..tape.below(6) {
            self.binding(tape, block, depth);
        }
        let n_results = tape.below(4);
        let results: Vec<NodeId> = (0..n_results).map(|_| self.value(tape, block)).collect();
        self.f.set_results(block, &results);
        if n_results != 1 && tape.chance(3) {
            let (result, ty) = (self.f.result(block), ty(self.f, tape, 0));
            self.f.set_type(result, ty);
        }
        if tape.chance(3) {
            let names = (0..tape.below(4)).map(|_| tape.unique().into_bytes()).collect();
            self.add_attr(function, Attr::meta("output_names", AttrData::Strings(names)));
        }
        self.metadata(tape, function, 0);
        if tape.chance(3) {
            let params: Vec<TypeId> = self.f.operands(function).iter().map(|&param| self.f.type_id(param)).collect();
            let result = ty(self.f, tape, 1);
            let ty = self.f.add_type(Type::Func { params: &params, result });
            self.f.set_type(function, ty);
        }
    }

    fn region(&mut self, tape: &mut Tape<'_>, depth: usize, n_results: Option<usize>) -> NodeId {
        let n_visible = self.visible.len();
        let params = if n_results.is_some() { Vec::new() } else { self.params(tape) };
        let function = self.f.add_function(&params);
        self.fill(tape, function, depth + 1);
        if let Some(n_results) = n_results {
            let block = self.f.block_of(function);
            let results: Vec<NodeId> = (0..n_results).map(|_| self.value(tape, block)).collect();
            self.f.set_results(block, &results);
        }
        if tape.chance(4) {
            self.f.set_name(function, tape.name());
        }
        self.visible.truncate(n_visible);
        function
    }

    /// A visible value, made when there is none.
    fn value(&mut self, tape: &mut Tape<'_>, block: BlockId) -> NodeId {
        if self.visible.is_empty() {
            let constant = self.f.add_constant(tensor(tape), ConstForm::ANY);
            self.bind(tape, block, constant);
        }
        self.visible[tape.below(self.visible.len())]
    }

    fn argument(&mut self, tape: &mut Tape<'_>, block: BlockId) -> NodeId {
        match tape.below(14) {
            0 => NodeId::ABSENT,
            12 => {
                let (kind, flags) =
                    (kind::IMM + 1 + tape.below(127) as u8, tape.byte() & !(flag::EXTRA | flag::PRISTINE));
                self.f.add_leaf(kind, flags, tape.word() as u16, tape.word(), tape.word())
            }
            1 => self.f.add_global_var(self.own_name),
            2 => {
                let op = self.op(tape);
                self.f.op(op).node
            }
            _ => self.value(tape, block),
        }
    }

    fn op(&mut self, tape: &mut Tape<'_>) -> OpId {
        let domain = ["", "", "ai.onnx", "com.microsoft", "my domain"][tape.below(5)];
        let name = ["Relu", "Conv", "if", "node", "odd name", "Split"][tape.below(6)];
        let overload = ["", "", "v1", "1"][tape.below(4)];
        self.f.add_op(domain, name, overload, [0, 0, 11][tape.below(3)])
    }

    fn bind(&mut self, tape: &mut Tape<'_>, block: BlockId, node: NodeId) {
        if tape.chance(2) {
            self.f.set_name(node, &tape.unique());
            self.mark_shadowing(node);
        }
        if tape.chance(3) {
            self.f.set_let(node, LetForm::Let);
        }
        self.f.append(block, node);
        self.visible.push(node);
    }

    fn binding(&mut self, tape: &mut Tape<'_>, block: BlockId, depth: usize) {
        let most = if depth < 3 { 9 } else { 6 };
        let node = match tape.below(most) {
            0 | 1 => {
                let form = ConstForm(tape.below(10) as u16);
                let node = self.f.add_constant(tensor(tape), form);
                if tape.chance(4) {
                    self.f.set_type(node, TypeId::UNKNOWN);
                }
                if tape.chance(4) {
                    self.f.set_listed_input(node);
                }
                self.metadata(tape, node, 0);
                node
            }
            2 => {
                let fields = tape.many(3, |tape| self.value(tape, block));
                let node = self.f.add_tuple(&fields);
                self.metadata(tape, node, 0);
                if !fields.is_empty() {
                    self.bind(tape, block, node);
                    let index = tape.below(fields.len()) as u16;
                    self.f.add_tuple_get_item(node, index)
                } else {
                    node
                }
            }
            3 => {
                // A kind of a later version.
                let operands = tape.many(3, |tape| self.argument(tape, block));
                let (kind, aux) = (kind::N_KINDS + tape.below(3) as u8, tape.word() as u16);
                let flags = tape.byte() & !(flag::LET | flag::EXTRA | flag::PRISTINE);
                let node = self.f.add_raw(kind, flags, aux, &operands, None);
                self.metadata(tape, node, 0);
                node
            }
            4 | 5 => self.call(tape, block, 0, depth),
            6 => {
                let n_regions = tape.below(3);
                self.call(tape, block, n_regions, depth)
            }
            7 => {
                let cond = self.value(tape, block);
                let n_results = tape.below(4) as u16;
                let [then, otherwise] = [(); 2].map(|()| self.region(tape, depth, Some(n_results.max(1).into())));
                // One result that is not a tuple, or any number as a tuple.
                let is_single = n_results == 0;
                let node = self.f.add_if(cond, then, otherwise, (!is_single).then_some(n_results));
                self.metadata(tape, node, 2);
                node
            }
            _ => self.region(tape, depth, None),
        };
        if self.f.kind(node) != kind::FUNCTION {
            self.bind(tape, block, node);
        } else {
            self.f.set_name_id(node, StrId::EMPTY);
            self.bind(tape, block, node);
        }
    }

    fn call(&mut self, tape: &mut Tape<'_>, block: BlockId, n_regions: usize, depth: usize) -> NodeId {
        let callee = match tape.below(8) {
            0 => self.value(tape, block),
            1 => self.f.add_global_var(self.own_name),
            _ => {
                let op = self.op(tape);
                self.f.op(op).node
            }
        };
        let args = tape.many(4, |tape| self.argument(tape, block));
        let regions: Vec<NodeId> = (0..n_regions).map(|_| self.region(tape, depth, None)).collect();
        let n_results = [None, None, Some(1), Some(3)][tape.below(4)];
        let node = self.f.add_call_with(callee, &args, &regions, n_results);
        self.metadata(tape, node, n_regions as u32);
        if n_results.is_none() && tape.chance(2) {
            let ty = ty(self.f, tape, 0);
            self.f.set_type(node, ty);
        }
        node
    }

    fn mark_shadowing(&mut self, node: NodeId) {
        if self.f.name(node) == SHADOWING {
            self.add_attr(node, Attr::meta(SHADOWS, 1));
        }
    }

    fn add_attr(&mut self, node: NodeId, attr: Attr) {
        let rec = self.f.encode_attr(&attr);
        let recs = [self.f.attr_recs(node), &[rec]].concat();
        self.f.set_attr_recs(node, &recs);
    }

    /// Adds attributes and metadata.
    fn metadata(&mut self, tape: &mut Tape<'_>, node: NodeId, n_regions: u32) {
        for region in 0..n_regions {
            let value = match tape.below(4) {
                0 => continue,
                1 => AttrData::Graphs { first: region, count: n_regions - region },
                2 => AttrData::Graph(0),
                _ => AttrData::Graph(region),
            };
            self.add_attr(node, Attr::new(tape.name(), value));
        }
        for _ in 0..tape.below(3) {
            let name =
                ["axis", "form", "opset", "type", "odd name", "output_names", "_", "opset_domains"][tape.below(8)];
            let value = self.attr_value(tape);
            let flags =
                [0, 0, attr_flag::META, attr_flag::UNTYPED, attr_flag::META | attr_flag::UNTYPED, 0x42][tape.below(6)];
            self.add_attr(node, Attr { flags, ..Attr::new(name, value) });
        }
    }

    fn attr_value(&mut self, tape: &mut Tape<'_>) -> AttrData {
        match tape.below(16) {
            0 => AttrData::Int(tape.int()),
            1 => AttrData::Float(tape.float()),
            2 => AttrData::String(tape.raw()),
            3 => AttrData::Tensor(tensor(tape)),
            4 => AttrData::Floats(tape.many(3, Tape::float)),
            5 => AttrData::Ints(tape.many(3, Tape::int)),
            6 => AttrData::Strings(tape.many(3, Tape::raw)),
            7 => AttrData::Tensors(tape.many(2, tensor)),
            8 => AttrData::Graphs { first: tape.word(), count: 0 },
            9 => AttrData::SparseTensor(tape.raw()),
            10 => AttrData::SparseTensors(tape.many(2, Tape::raw)),
            11 => AttrData::Type(ty(self.f, tape, 0)),
            12 => AttrData::Types(tape.many(2, |tape| ty(self.f, tape, 0))),
            13 => AttrData::Ref { name: tape.name().to_owned(), kind: tape.byte() },
            14 => AttrData::Raw(tape.raw()),
            _ => AttrData::String(tape.name().into()),
        }
    }
}

/// Returns a type of the function, with parts up to a depth.
pub fn ty(f: &mut Function, tape: &mut Tape<'_>, depth: usize) -> TypeId {
    let shape = |f: &mut Function, tape: &mut Tape<'_>| {
        tape.many(3, |tape| {
            DimRec::from(match tape.below(4) {
                0 => Dim::Unknown,
                1 => Dim::Symbol(f.intern(tape.name())),
                _ => Dim::Static(tape.int().unsigned_abs() >> 1),
            })
        })
    };
    let elem = |tape: &mut Tape<'_>| ElemType([1, 7, 8, 0, 10, 99][tape.below(6)]);
    let most = if depth < 3 { 12 } else { 6 };
    let made = match tape.below(most) {
        0 => Type::Unknown,
        1 => Type::Tensor { elem: elem(tape), shape: None },
        2 => Type::SparseTensor { elem: elem(tape), shape: None },
        3 => Type::Opaque { domain: f.intern(tape.name()), name: f.intern(tape.name()) },
        4 | 6 => {
            let (shape, elem) = (shape(f, tape), elem(tape));
            return f.add_type(Type::Tensor { elem, shape: Some(&shape) });
        }
        5 => {
            let (shape, elem) = (shape(f, tape), elem(tape));
            return f.add_type(Type::SparseTensor { elem, shape: Some(&shape) });
        }
        7 => {
            let fields = tape.many(3, |tape| ty(f, tape, depth + 1));
            return f.add_type(Type::Tuple(&fields));
        }
        8 => {
            let params = tape.many(3, |tape| ty(f, tape, depth + 1));
            let result = ty(f, tape, depth + 1);
            return f.add_type(Type::Func { params: &params, result });
        }
        9 => Type::Sequence(ty(f, tape, depth + 1)),
        10 => Type::Optional(ty(f, tape, depth + 1)),
        _ => Type::Map { key: ElemType::INT64, value: ty(f, tape, depth + 1) },
    };
    f.add_type(made)
}

/// Returns a tensor of any form.
pub fn tensor(tape: &mut Tape<'_>) -> Tensor {
    let elem = ElemType::ALL[tape.below(ElemType::ALL.len())];
    let dims: Vec<u64> = [&[][..], &[3], &[2, 3], &[0, 2], &[1, 1, 1, 1, 1, 1, 1, 1, 1], &[40], &[0], &[2, 1, 2]]
        [tape.below(8)]
    .to_vec();
    if elem != ElemType::STRING && tape.chance(4) {
        let element: Vec<u8> = (0..elem.bits().div_ceil(8)).map(|_| tape.byte()).collect();
        let dims = if tape.chance(2) { vec![1 << 40, 3] } else { dims };
        return Tensor::splat(elem, &dims, &element).unwrap();
    }
    if tape.chance(12) {
        return Tensor::opaque(2 + tape.below(254) as u8, elem, &dims, tape.raw());
    }
    let count = element_count(&dims).unwrap();
    if elem == ElemType::STRING {
        let strings: Vec<Vec<u8>> = (0..count).map(|_| tape.raw()).collect();
        return Tensor::from_strings(&dims, strings.iter().map(Vec::as_slice)).unwrap();
    }
    let mut bytes: Vec<u8> = (0..elem.bytes_for(count).unwrap()).map(|_| tape.byte()).collect();
    if elem == ElemType::BOOL && tape.chance(2) {
        bytes.iter_mut().for_each(|byte| *byte &= 1);
    }
    Tensor::dense(elem, &dims, bytes).unwrap()
}
