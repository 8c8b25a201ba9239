//! No type relation panics, whatever types, attributes and constants a file makes up.

use relais_plugin_api::{ir::*, op::*};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A small generator of numbers that are random enough.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn int(&mut self) -> i64 {
        self.pick(&[0, 0, 1, 1, 1, 2, 2, 3, 4, 7, -1, -1, -2, -5, 1 << 31, 1 << 62, i64::MAX, i64::MIN, i64::MIN + 1])
    }

    fn ints(&mut self) -> Vec<i64> {
        (0..self.below(7)).map(|_| self.int()).collect()
    }

    fn ty(&mut self, f: &mut Function) -> TypeId {
        let elem = self.pick(&[ElemType::FLOAT, ElemType::INT64, ElemType::INT64, ElemType::UNKNOWN, ElemType(200)]);
        let tensor = match self.below(8) {
            0 => f.add_type(Type::Tensor { elem, shape: None }),
            _ => {
                let dims: Vec<Dim> = (0..self.below(6)).map(|_| self.dim(f)).collect();
                f.tensor_type(elem, &dims)
            }
        };
        match self.below(12) {
            0 => f.add_type(Type::Sequence(tensor)),
            1 => f.add_type(Type::Optional(tensor)),
            2 => f.add_type(Type::Tuple(&[tensor])),
            3 => TypeId::UNKNOWN,
            _ => tensor,
        }
    }

    fn dim(&mut self, f: &mut Function) -> Dim {
        match self.below(5) {
            0 => Dim::Unknown,
            1 => Dim::Symbol(f.intern("N")),
            _ => Dim::Static(self.pick(&[0, 1, 1, 1, 2, 2, 3, 4, 4, 8, 1 << 32, 1 << 62, i64::MAX as u64])),
        }
    }

    fn arg(&mut self, f: &mut Function) -> NodeId {
        match self.below(4) {
            0 => {
                let values = self.ints();
                let dims: &[u64] = if values.len() == 1 { &[] } else { &[values.len() as u64] };
                f.add_constant(Tensor::from_i64(dims, &values), ConstForm::ANY)
            }
            1 => {
                let dims = self.pick::<&[u64]>(&[&[], &[4], &[1 << 40], &[0], &[2, 3]]);
                let elem = self.pick(&[ElemType::FLOAT, ElemType::INT64]);
                let bytes = vec![self.below(256) as u8; elem.bytes_for(1).unwrap() as usize];
                f.add_constant(Tensor::splat(elem, dims, &bytes).unwrap(), ConstForm::ANY)
            }
            _ if self.below(10) == 0 => NodeId::ABSENT,
            _ => {
                let ty = self.ty(f);
                f.add_var("", ty)
            }
        }
    }

    fn attr(&mut self, schema: &AttrSchema, f: &mut Function, regions: &mut Vec<NodeId>) -> AttrData {
        let kind = if self.below(20) == 0 { attr_kind::INT } else { schema.kind };
        let strings =
            ["", "NOTSET", "SAME_UPPER", "VALID", "bidirectional", "none", "...ij,jk->ik...", "ii->i", "\u{0}"];
        match kind {
            _ if self.below(30) == 0 => AttrData::Ref { name: "outer".into(), kind },
            attr_kind::INT => AttrData::Int(self.int()),
            attr_kind::FLOAT => AttrData::Float(self.pick(&[0.0, 1.0, -1.0, 1e30, f32::NAN, f32::INFINITY, 0.5])),
            attr_kind::INTS => AttrData::Ints(self.ints()),
            attr_kind::FLOATS => AttrData::Floats(vec![self.pick(&[0.5, 2.0, f32::NAN]); self.below(5)]),
            attr_kind::STRING => AttrData::String(self.pick(&strings).into()),
            attr_kind::STRINGS => AttrData::Strings(vec![vec![b'a']; self.below(3)]),
            attr_kind::TENSOR => AttrData::Tensor(Tensor::from_i64(&[1], &[self.int()])),
            attr_kind::TYPE => AttrData::Type(self.ty(f)),
            attr_kind::GRAPH => {
                let results: Vec<NodeId> = (0..self.below(4)).map(|_| self.arg(f)).collect();
                let region = f.add_function(&[]);
                f.set_results(f.block_of(region), &results);
                regions.push(region);
                AttrData::Graph(regions.len() as u32 - 1 + (self.below(8) / 7) as u32)
            }
            _ => AttrData::Raw(vec![]),
        }
    }
}

/// Runs the relation over a made-up call.
fn attempt(operator: &Operator, random: &mut Random) {
    let mut f = Function::new();
    let most = operator.inputs.1.min(operator.inputs.0.saturating_add(5));
    let n_args = random.below(usize::from(most) + 2);
    let args: Vec<NodeId> = (0..n_args).map(|_| random.arg(&mut f)).collect();
    let mut regions = Vec::new();
    let mut attrs = Vec::new();
    for schema in operator.attrs {
        if random.below(3) > 0 {
            attrs.push(Attr::new(schema.name, random.attr(schema, &mut f, &mut regions)));
        }
    }
    let op = f.add_op(operator.domain, operator.name, "", operator.since_version);
    let callee = f.op(op).node;
    let n_outputs = random.below(4) as u16;
    let node = f.add_call_with(callee, &args, &regions, (n_outputs > 1).then_some(n_outputs));
    f.set_attrs(node, &attrs);
    // Some arguments were computed from shapes.
    for arg in args.into_iter().filter(|arg| !arg.is_absent()) {
        if random.below(3) == 0 {
            let dims: Vec<Dim> = (0..random.below(5)).map(|_| random.dim(&mut f)).collect();
            let value = f.tensor_type(ElemType::INT64, &dims);
            f.table_mut(VALUES_TABLE, 4, table_policy::DERIVED).get_mut(arg).copy_from_slice(&value.0.to_le_bytes());
        }
    }
    if let Some(infer) = operator.infer {
        // Whatever the call is like, the relation does not lie about it.
        if let Err(error) = relate(infer, &mut f, node, operator.since_version.into()) {
            assert!(!error.is_broken(), "{error}");
        }
    }
}

#[test]
fn no_relation_panics() {
    let n_rounds: u64 = std::env::var("RELAIS_HOSTILE_ROUNDS").map_or(100, |n| n.parse().unwrap());
    for operator in relais_operators::operators() {
        for round in 0..n_rounds {
            let seed = round << 16 | u64::from(operator.since_version) << 8 | operator.name.len() as u64;
            let outcome = catch_unwind(AssertUnwindSafe(|| attempt(operator, &mut Random(seed))));
            assert!(outcome.is_ok(), "{}@{}, seed {seed}", operator.name, operator.since_version);
        }
    }
}

#[test]
fn a_million_axes_take_linear_time() {
    let dims = vec![Dim::Static(1); 1_000_000];
    let axes: Vec<i64> = (0..1_000_000).collect();
    for (name, version, attr) in
        [("Transpose", 13, "perm"), ("ReduceSum", 1, "axes"), ("Squeeze", 1, "axes"), ("Unsqueeze", 1, "axes")]
    {
        let mut f = Function::new();
        let ty = f.tensor_type(ElemType::FLOAT, &dims);
        let arg = f.add_var("x", ty);
        let op = f.add_op("", name, "", version);
        let node = f.add_call(op, &[arg]);
        f.set_attrs(node, &[Attr::new(attr, axes.clone())]);
        let operator = relais_operators::operators().find(|op| op.name == name).unwrap();
        let results = relate(operator.infer.unwrap(), &mut f, node, version.into()).unwrap();
        let (output, _) = results[0];
        assert_ne!(f.ty(output), Type::Unknown, "{name}");
    }
}
