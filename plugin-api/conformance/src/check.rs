//! Running a module, to compare it with another one that should compute the same.

mod precision;
mod seen;
mod telling;
mod ties;

pub use precision::TwinPrecision;
pub use seen::{Seen, Unseen};
pub use telling::{Telling, telling};
pub use ties::Pair;

use super::{
    interpret::{self, Compute, Computed, NotComputed, ResultForm},
    numbers::Recipe,
};
use relais_plugin_api::{
    facts::{OpFactsTable, OpSource},
    infer::Operators,
    ir::*,
};
use std::collections::{BTreeMap, BTreeSet};

/// The most elements of an input.
const MOST: u64 = 1 << 26;

/// The most bytes of the results of a run, unless it says otherwise.
const MAX_BYTES: u64 = 1 << 34;

/// The sizes of dimensions that are not known: of the first one of a shape, which is often a batch, and of others.
#[derive(Clone, Copy)]
struct Sizes {
    first: u64,
    other: u64,
    others: Others,
}

/// Which dimensions have the other size.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    /// All but the first ones, each symbol a larger one than the symbol before it.
    Distinct,
    /// All but the first ones.
    All,
    /// The last ones, such as the samples of a sound.
    Last,
}

/// The sizes for runs with even and with odd numbers, the most telling ones first; then those of the others. A model may
/// take only some of them: images of a multiple of 32 pixels, for example, or one batch.
const SIZES: [[Sizes; 2]; 10] = {
    use Others::{All, Distinct, Last};
    const fn sizes(first: u64, other: u64, others: Others) -> Sizes {
        Sizes { first, other, others }
    }
    [
        [sizes(2, 3, Distinct), sizes(3, 4, Distinct)],
        [sizes(1, 16, All), sizes(2, 32, All)],
        [sizes(1, 64, All), sizes(2, 96, All)],
        [sizes(1, 64, All), sizes(1, 96, All)],
        [sizes(1, 256, Last), sizes(2, 512, Last)],
        [sizes(1, 512, Last), sizes(1, 512, Last)],
        [sizes(1, 224, All), sizes(2, 256, All)],
        [sizes(1, 224, All), sizes(1, 256, All)],
        [sizes(2, 2, All), sizes(3, 3, All)],
        [sizes(1, 1, All), sizes(1, 1, All)],
    ]
};

/// The name of a dimension that a function leaves open: `?` where it has none.
fn dimension(f: &Function, dim: Dim) -> Option<String> {
    match dim {
        Dim::Symbol(name) => Some(f.str(name).to_owned()),
        Dim::Unknown => Some("?".to_owned()),
        Dim::Static(_) => None,
    }
}

/// The first ones for images.
const FOR_IMAGES: usize = 2;

/// Returns random values for the parameters of a function, in one run of several: of other sizes and numbers in each.
/// There are several for dimensions that are not known, to be tried in turn: the model may not take all sizes.
/// Parameters that have a value by default keep it.
///
/// # Errors
/// Each is an error if no values can be made for a parameter of its type: the parameter is returned.
pub fn random_inputs(f: &Function, seed: u64, run: u64) -> impl Iterator<Item = Result<Vec<Tensor>, NodeId>> {
    let dims = |param: &NodeId| match f.type_of(*param) {
        Type::Tensor { shape: Some(shape), .. } if f.default_value(*param).is_none() => shape.to_vec(),
        Type::Tensor { shape: None, .. } => vec![DimRec::from(Dim::Unknown)],
        _ => Vec::new(),
    };
    let shapes: Vec<Vec<DimRec>> = f.params().iter().map(dims).collect();
    let key = |dim: Dim| dimension(f, dim);
    // A symbol that leads one shape, and is not all of it, has the size of a leading dimension everywhere.
    let several = shapes.iter().filter(|dims| dims.len() > 1);
    let leading: BTreeSet<String> = several.clone().filter_map(|dims| key(dims[0].into())).collect();
    let last: BTreeSet<String> = several.filter_map(|dims| key((*dims.last()?).into())).collect();
    let mut symbols: Vec<String> = shapes.iter().flatten().filter_map(|&dim| key(dim.into())).collect();
    let mut seen = BTreeSet::new();
    symbols.retain(|symbol| seen.insert(symbol.clone()));
    let turn = (run % 2) as usize;
    let has_image = shapes.iter().any(|dims| dims.len() > 3 && dims.iter().any(|&dim| key(dim.into()).is_some()));
    let first = if has_image { FOR_IMAGES } else { 0 };
    let at = |turn: usize| (first..SIZES.len()).chain(0..first).map(move |at| SIZES[at][turn]);
    let n_attempts = if symbols.is_empty() { 1 } else { 2 * SIZES.len() };
    at(turn).chain(at(1 - turn)).take(n_attempts).map(move |Sizes { first, other, others }| {
        let size = |dim: Dim, at: usize, rank: usize| {
            let symbol = key(dim).unwrap_or_default();
            let (is_leading, is_last) = match symbol.as_str() {
                "?" => (at == 0, at + 1 == rank),
                symbol => (leading.contains(symbol), last.contains(symbol)),
            };
            let nth = symbols.iter().position(|known| *known == symbol).unwrap_or(0) as u64;
            match others {
                _ if is_leading => first,
                Others::Distinct => other + 2 * nth,
                Others::Last if !is_last => first,
                Others::All | Others::Last => other,
            }
        };
        let given = |param: NodeId| f.default_value(param).cloned();
        let recipe = Recipe { seed: seed.wrapping_add(run), special: &[], most: MOST, size: &size, given: &given };
        recipe.make(f)
    })
}

/// The results of a model: the tensors of all its outputs, one after another, of which a sequence has any number.
#[derive(Clone, Debug, Default)]
pub struct ModelOutputs {
    /// The form of each output.
    pub forms: Vec<ResultForm>,
    /// The tensors of the first output, then those of the second one, and so on.
    pub tensors: Vec<Tensor>,
}

impl ModelOutputs {
    /// The output to which a tensor belongs, and its position there, if that is a sequence.
    ///
    /// # Panics
    /// Panics if there is no such tensor.
    pub fn place(&self, tensor: usize) -> (usize, Option<usize>) {
        let mut left = tensor;
        for (output, form) in self.forms.iter().enumerate() {
            if left < form.n_tensors() {
                return (output, matches!(form, ResultForm::Sequence(_)).then_some(left));
            }
            left -= form.n_tensors();
        }
        panic!("there is no tensor {tensor}")
    }
}

/// Runs modules with the evaluators of a source, wherever they have a result: also where runtimes are known to have
/// another one.
pub struct Evaluators<'a, S> {
    source: S,
    /// Is told the operator of each call before it is computed.
    progress: &'a (dyn Fn(&str) + Sync),
    is_stopped: &'a (dyn Fn() -> bool + Sync),
    seen: Option<&'a Seen>,
    max_bytes: u64,
}

impl<'a, 's, S: OpSource<'s>> Evaluators<'a, S> {
    /// With the evaluators of a source. `progress` is told the operator of each call.
    pub fn new(source: S, progress: &'a (dyn Fn(&str) + Sync)) -> Self {
        Self { source, progress, is_stopped: &|| false, seen: None, max_bytes: MAX_BYTES }
    }

    /// The same that compute nothing more once `is_stopped` returns true.
    #[must_use]
    pub fn stopped_by(self, is_stopped: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { is_stopped, ..self }
    }

    /// The same whose results take at most that many bytes at once.
    #[must_use]
    pub fn within(self, max_bytes: u64) -> Self {
        Self { max_bytes, ..self }
    }

    /// The same that note which blocks run.
    #[must_use]
    pub fn noting(self, seen: &'a Seen) -> Self {
        Self { seen: Some(seen), ..self }
    }

    /// Runs `@main` of a module, and computes its results in another precision beside it.
    ///
    /// # Errors
    /// Returns an error if a result cannot be computed.
    pub fn run_in(
        &self,
        precision: TwinPrecision,
        module: &IRModule,
        inputs: &[Tensor],
    ) -> Result<Vec<Computed>, NotComputed> {
        let compute = precision::WithTwins { evaluators: self, precision };
        Ok(interpret::run_whole(module, MAIN, inputs, &compute)?.1)
    }

    /// Runs `@main` of a module.
    ///
    /// # Errors
    /// Returns an error if a result cannot be computed.
    pub fn run(&self, module: &IRModule, inputs: &[Tensor]) -> Result<ModelOutputs, NotComputed> {
        let (forms, tensors) = interpret::run_whole(module, MAIN, inputs, self)?;
        Ok(ModelOutputs { forms, tensors: tensors.into_iter().map(|computed| computed.tensor).collect() })
    }

    /// Returns the operators that a module calls and that have neither an evaluator nor a body nor kernels, with how often
    /// they are called.
    pub fn not_covered(&self, module: &IRModule) -> BTreeMap<String, u64> {
        let mut found = BTreeMap::new();
        for (_, f) in module.functions() {
            self.add_not_covered(f, f.all_bindings(), &mut found);
        }
        found
    }

    /// As [`not_covered`](Self::not_covered): those without which an output of `@main` is never computed.
    pub fn always_lacking(&self, module: &IRModule) -> BTreeMap<String, u64> {
        let mut found = BTreeMap::new();
        if let Some(main) = module.main() {
            let mut needed = vec![false; main.n_nodes()];
            main.results(main.body()).iter().for_each(|id| needed[id.index()] = true);
            for &id in main.bindings(main.body()).iter().rev().filter(|id| main.n_regions(**id) == 0) {
                if needed[id.index()] {
                    main.operands(id).iter().for_each(|operand| needed[operand.index()] = true);
                }
            }
            let bindings = main.bindings(main.body()).iter().copied();
            self.add_not_covered(main, bindings.filter(|id| needed[id.index()]), &mut found);
        }
        found
    }

    fn add_not_covered(&self, f: &Function, among: impl Iterator<Item = NodeId>, found: &mut BTreeMap<String, u64>) {
        let table = OpFactsTable::new(self.source, f);
        let calls = among.filter_map(|id| f.call(id)).filter(|&call| !interpret::is_known(call));
        for op in calls.filter_map(CallView::op) {
            if !table.is_computed(op) {
                let name = match normal_domain(f.str(f.op(op).domain)) {
                    "" => f.str(f.op(op).name).to_owned(),
                    domain => format!("{domain}::{}", f.str(f.op(op).name)),
                };
                *found.entry(name).or_default() += 1;
            }
        }
    }
}

impl<'s, S: OpSource<'s>> Compute for Evaluators<'_, S> {
    fn with_ops(&self, function: &Function, body: &mut dyn FnMut(&mut dyn Operators)) {
        body(&mut OpFactsTable::new(self.source, function).lenient());
    }

    fn known(&self, call: CallView<'_>, _: &[Option<Tensor>]) -> Option<Tensor> {
        (self.progress)(call.op_name());
        None
    }

    fn enters(&self, function: &Function, block: BlockId) {
        self.seen.iter().for_each(|seen| seen.enter(function, block));
    }

    fn is_stopped(&self) -> bool {
        (self.is_stopped)()
    }

    fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    fn max_bytes_alive(&self) -> u64 {
        self.max_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use relais_plugin_api::text;

    /// The shapes of the inputs that are tried in a run.
    fn tried(params: &str, run: u64) -> Vec<Vec<Vec<u64>>> {
        let module = text::parse_str(&format!("def @main({params}) {{ %x }}")).unwrap();
        let main = module.main().unwrap();
        let all = random_inputs(main, 1, run).map(|inputs| inputs.unwrap());
        all.map(|inputs| inputs.iter().map(|input| input.dims().to_vec()).collect()).collect()
    }

    #[test]
    fn a_symbol_has_one_size_that_alternates() {
        let params = "%x: Tensor[(N, L), float32], %y: Tensor[(L, 7), int64], %z: Tensor[(N), bool]";
        // `L` leads a shape, too.
        assert_eq!(tried(params, 0)[0], [vec![2, 2], vec![2, 7], vec![2]]);
        let params = "%x: Tensor[(N, L, M), float32], %y: Tensor[(N, M), int64]";
        let (even, odd) = (tried(params, 0), tried(params, 1));
        assert_eq!((&even[0], &odd[0]), (&vec![vec![2, 5, 7], vec![2, 7]], &vec![vec![3, 6, 8], vec![3, 8]]));
        assert_eq!(tried(params, 2), even);
        // In the end, the sizes of the other turn are tried.
        assert_eq!((even.len(), &even[10..]), (20, &odd[..10]));
    }

    #[test]
    fn images_are_large_and_known_shapes_are_kept() {
        assert_eq!(tried("%x: Tensor[(N, 3, H, W), float32]", 1)[0], [[2, 3, 96, 96]]);
        assert_eq!(tried("%x: Tensor[(2, 3), float32]", 1), [[[2, 3]]]);
        assert!(
            tried("%x: Tensor[(?, ?), float32], %y: Tensor[(2, ?, 128), float32]", 0)
                .contains(&vec![vec![1, 512], vec![2, 1, 128]])
        );
    }

    #[test]
    fn numbers_are_those_of_the_seed_and_the_run() {
        let module = text::parse_str("def @main(%x: Tensor[(8), float32]) { %x }").unwrap();
        let of = |seed, run| random_inputs(module.main().unwrap(), seed, run).next().unwrap().unwrap();
        assert_eq!(of(1, 0), of(1, 0));
        assert_ne!(of(1, 0), of(1, 1));
        assert_ne!(of(1, 0), of(2, 0));
        let texts = text::parse_str("def @main(%x: Seq[Tensor[(8), string]]) { %x }").unwrap();
        let main = texts.main().unwrap();
        assert_eq!(random_inputs(main, 1, 0).next().unwrap(), Err(main.params()[0]));
    }
}
