//! `relais.Sizes`: which sizes of the values of a function are equal, whatever the inputs are.

use relais_plugin_api::{
    analysis::{Analysis, AnalysisCx},
    infer::{TypeRelations, infer_node},
    ir::{Dim, DimRec, ElemType, Lists, Numbers, StrId, Type, TypeId, Walk, WalkStep},
    prelude::*,
};
use std::collections::HashMap;

/// The sizes of values: numbers, and classes of sizes that are equal.
#[derive(PartialEq)]
struct Sizes {
    ranks: Numbers<u32>,
    starts: Numbers<u32>,
    sizes: Numbers<i64>,
}

#[analysis(
    name = "relais.Sizes",
    lists(
        ranks = "by node: one more than the rank of a tensor, or 0 where it is not known",
        starts = "by node, and one more: where its sizes begin in `sizes`",
        sizes = "for each axis of each node: the size, or a negative number that stands for an unknown one; equal numbers \
                 are equal sizes",
    )
)]
impl Analysis for Sizes {
    /// Types are inferred again with a name for each size that is not known: type relations pass names on.
    fn compute(f: &Function, cx: &AnalysisCx<'_>) -> Result<Self, PassError> {
        let mut named = f.clone();
        let mut ops = cx.ops(f);
        let mut classes = Classes::default();
        let mut walk = Walk::new(f);
        while let Some(step) = walk.next(f) {
            match step {
                WalkStep::Enter(block) => {
                    cx.check_cancelled()?;
                    for &param in f.operands(f.block(block).owner) {
                        classes.name_sizes(&mut named, param);
                    }
                }
                WalkStep::Binding(id) if f.n_regions(id) == 0 => classes.infer(f, &mut named, &mut ops, id),
                WalkStep::Leave(id) => classes.infer(f, &mut named, &mut ops, id),
                WalkStep::Binding(_) | WalkStep::Exit(_) => {}
            }
        }
        let (mut ranks, mut starts, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for id in (0..f.n_nodes()).map(NodeId::from_index) {
            starts.push(sizes.len() as u32);
            let shape = shape_of(&named, named.type_id(id));
            ranks.push(shape.as_ref().map_or(0, |shape| shape.len() as u32 + 1));
            sizes.extend(shape.into_iter().flatten().map(|dim| classes.number(dim)));
        }
        starts.push(sizes.len() as u32);
        Ok(Self { ranks: ranks.into(), starts: starts.into(), sizes: sizes.into() })
    }

    fn lists(&self) -> Lists {
        Lists::new().with("ranks", &self.ranks).with("starts", &self.starts).with("sizes", &self.sizes)
    }
}

fn shape_of(f: &Function, ty: TypeId) -> Option<Vec<Dim>> {
    match f.ty(ty) {
        Type::Tensor { shape, .. } => Some(shape?.iter().map(|&dim| dim.into()).collect()),
        _ => None,
    }
}

/// The names of sizes that are equal.
#[derive(Default)]
struct Classes {
    /// The size that another one equals: a number, or a name that was there before.
    equals: HashMap<StrId, Dim>,
    n_names: usize,
    /// How many sizes of nodes that no block has were given numbers.
    n_fresh: i64,
    /// The negative numbers of names.
    numbers: HashMap<StrId, i64>,
}

impl Classes {
    /// The first of the sizes that equal one.
    fn first(&self, mut dim: Dim) -> Dim {
        while let Dim::Symbol(name) = dim
            && let Some(&other) = self.equals.get(&name)
        {
            dim = other;
        }
        dim
    }

    /// Notes that two sizes are one.
    fn join(&mut self, a: Dim, b: Dim) {
        match (self.first(a), self.first(b)) {
            (Dim::Symbol(a), Dim::Symbol(b)) if a != b => drop(self.equals.insert(a.max(b), Dim::Symbol(a.min(b)))),
            (Dim::Symbol(name), size @ Dim::Static(_)) | (size @ Dim::Static(_), Dim::Symbol(name)) => {
                self.equals.insert(name, size);
            }
            // Two numbers that differ are a fault of the module, which others report.
            _ => {}
        }
    }

    fn number(&mut self, dim: Dim) -> i64 {
        match self.first(dim) {
            Dim::Static(size) => i64::try_from(size).unwrap_or(i64::MAX),
            Dim::Symbol(name) => {
                let next = -1 - self.numbers.len() as i64;
                *self.numbers.entry(name).or_insert(next)
            }
            Dim::Unknown => self.fresh(),
        }
    }

    /// The number of a size of its own.
    fn fresh(&mut self) -> i64 {
        self.n_fresh += 1;
        i64::MIN + self.n_fresh
    }

    /// Infers the type of a binding from named sizes, and names those that nothing is known of.
    fn infer(&mut self, f: &Function, named: &mut Function, ops: &mut dyn TypeRelations, id: NodeId) {
        // A call that its operator does not accept has the type that it was stated to have.
        let _ = infer_node(named, ops, id);
        if let (Some(stated), Some(inferred)) = (shape_of(f, f.type_id(id)), shape_of(named, named.type_id(id))) {
            for (stated, inferred) in stated.into_iter().zip(inferred) {
                if stated != Dim::Unknown && inferred != Dim::Unknown {
                    self.join(stated, inferred);
                }
            }
        }
        self.name_sizes(named, id);
    }

    fn name_sizes(&mut self, named: &mut Function, id: NodeId) {
        let ty = named.type_id(id);
        let new = match named.ty(ty) {
            Type::Tuple(fields) => {
                let fields = fields.to_vec();
                let fields: Vec<TypeId> = fields.into_iter().map(|field| self.with_names(named, field)).collect();
                named.add_type(Type::Tuple(&fields))
            }
            _ => self.with_names(named, ty),
        };
        named.set_type(id, new);
    }

    fn with_names(&mut self, named: &mut Function, ty: TypeId) -> TypeId {
        let Type::Tensor { elem, shape: Some(shape) } = named.ty(ty) else { return ty };
        if !shape.iter().any(|&dim| Dim::from(dim) == Dim::Unknown) {
            return ty;
        }
        let (elem, shape): (ElemType, Vec<DimRec>) = (elem, shape.to_vec());
        let shape: Vec<DimRec> = shape.into_iter().map(|dim| self.with_name(named, dim)).collect();
        named.add_type(Type::Tensor { elem, shape: Some(&shape) })
    }

    fn with_name(&mut self, named: &mut Function, dim: DimRec) -> DimRec {
        if Dim::from(dim) != Dim::Unknown {
            return dim;
        }
        self.n_names += 1;
        // No file can have it: names are text without control characters.
        Dim::Symbol(named.intern(&format!("\0{}", self.n_names))).into()
    }
}
