//! Products of one value with several weights as one product, which is then split.

use relais_plugin_api::build::Builder;
use relais_plugin_api::{
    ir::{BlockTree, Users},
    prelude::*,
};
use std::collections::BTreeMap;

plugin! { description = "combines parallel matrix products" }

/// The fewest products that are combined.
const MIN_BRANCHES: usize = 2;

/// Combines products of one value with constant matrices, and the sums with their biases: one `MatMul` with the
/// concatenated weights, and a `Split`.
///
/// Runtimes may compute a wider product in another order, so results may be rounded differently: hence the level.
#[function_pass(name = "dense.CombineParallel", opt_level = 4, statistics(combined = "products combined"))]
pub fn combine_parallel(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let (users, places) = (edit.analysis::<Users>(), edit.analysis::<BlockTree>());
    let f = edit.function();
    let mut groups: BTreeMap<_, Vec<Branch>> = BTreeMap::new();
    for branch in f.all_bindings().filter_map(|id| branch(f, &users, &places, id)) {
        let Branch { product, x, weight, bias, .. } = &branch;
        let key = (places.block_of(*product), *x, weight.elem(), weight.dims()[0], bias.is_some());
        groups.entry(key).or_default().push(branch);
    }
    groups.retain(|_, group| (MIN_BRANCHES..=u16::MAX.into()).contains(&group.len()));
    let mut groups: BTreeMap<NodeId, _> = groups.into_values().map(|group| (group[0].product, group)).collect();
    let mut relations = cx.ops(f);
    edit.rebuild(&mut |at: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
        if let Some(group) = groups.remove(&id) {
            cx.count("combined", group.len());
            let x = at.resolve(group[0].x);
            let parts = combine(&mut Builder::before(at, &mut relations), x, &group)?;
            group.iter().zip(parts).for_each(|(branch, part)| at.take_over(branch.result, part));
        }
        Ok(Action::Keep)
    })
}

/// A product with a constant matrix.
struct Branch {
    product: NodeId,
    x: NodeId,
    weight: Tensor,
    bias: Option<Tensor>,
    /// The product, or the sum with its bias.
    result: NodeId,
}

fn branch(f: &Function, users: &Users, places: &BlockTree, product: NodeId) -> Option<Branch> {
    // Before version 13, the sizes of `Split` are an attribute.
    let call = f.call(product).filter(|call| call.is_op("MatMul") && call.version() >= 13 && users.is_used(product))?;
    let &[x, weight] = call.args() else { return None };
    // Weights that something else uses would be stored twice.
    users.only(weight)?;
    let weight = f.constant(weight).filter(|weight| weight.dims().len() == 2)?.clone();
    let sum = users.only(product).filter(|&sum| places.block_of(sum) == places.block_of(product));
    let sum = sum.and_then(|sum| f.call(sum)).filter(|sum| sum.is_op("Add"));
    let mut addends = sum.iter().flat_map(|sum| sum.args()).filter_map(|&id| f.constant(id));
    let bias = addends.find(|bias| bias.dims() == &weight.dims()[1..]).cloned();
    let result = bias.as_ref().and(sum).map_or(product, |sum| sum.id);
    Some(Branch { product, x, weight, bias, result })
}

/// Makes one product of those of a group; returns its parts.
fn combine(build: &mut Builder<'_>, x: NodeId, group: &[Branch]) -> Result<Vec<NodeId>, PassError> {
    let weights: Vec<NodeId> = group.iter().map(|branch| build.constant(branch.weight.clone())).collect();
    let weights = build.call("Concat", &weights, vec![Attr::new("axis", 1)])?;
    let mut result = build.call("MatMul", &[x, weights], vec![])?;
    let biases: Vec<NodeId> = group.iter().filter_map(|branch| Some(build.constant(branch.bias.clone()?))).collect();
    if !biases.is_empty() {
        let biases = build.call("Concat", &biases, vec![Attr::new("axis", 0)])?;
        result = build.call("Add", &[result, biases], vec![])?;
    }
    let sizes: Vec<i64> = group.iter().map(|branch| branch.weight.dims()[1] as i64).collect();
    let sizes = build.constant(Tensor::from_i64(&[sizes.len() as u64], &sizes));
    Ok(build.call_results("", "Split", &[result, sizes], vec![Attr::new("axis", -1)], group.len() as u16)?.1)
}

#[cfg(test)]
mod tests {
    use relais_graph as _;
    use relais_operators as _;
    use relais_plugin_api::testing::{Outcome, Trial};

    fn run(body: &str) -> Outcome {
        let text = format!("def @main(%x: Tensor[(N, 2), float32]) #[opset = {{\"\": 17}}] {{ {body} }}");
        Trial::of("dense.CombineParallel").run(&text).unwrap()
    }

    const WEIGHTS: &str = "%w1 = splat(float32, (2, 3), 1.0); %w2 = splat(float32, (2, 5), 2.0);";

    #[test]
    fn biases_are_combined_where_every_product_has_one() {
        let both = run(&format!(
            "{WEIGHTS} %m = MatMul(%x, %w1); %a = Add(%m, [1.0, 2.0, 3.0]);
            %n = MatMul(%x, %w2); %b = Add(splat(float32, (5), 1.0), %n); (%a, %b)"
        ));
        let count = |op: &str| both.text.matches(op).count();
        // One is new, and dead code elimination removes the other two.
        assert_eq!((count("MatMul("), count("Add("), both.counts["combined"]), (3, 1, 2), "{}", both.text);
        assert!(both.text.contains("(%a, %b)\n") && both.text.contains("Split("), "{}", both.text);
    }

    #[test]
    fn products_of_other_values_with_others_biases_or_columns_stay() {
        for second in [
            "%y = Relu(%x); %n = MatMul(%y, %w2); (%m, %n)",
            "%n = MatMul(%x, %w2); %b = Add(%n, splat(float32, (5), 1.0)); (%m, %b)",
            "%w3 = splat(float32, (2), 1.0); %n = MatMul(%x, %w3); (%m, %n)",
            "%n = MatMul(%x, %w2); %s = ReduceSum(%w2); (%m, %n, %s)",
        ] {
            let outcome = run(&format!("{WEIGHTS} %m = MatMul(%x, %w1); {second}"));
            assert!(!outcome.changed, "{second}: {}", outcome.text);
        }
    }
}
