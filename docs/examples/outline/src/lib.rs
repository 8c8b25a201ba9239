//! Functions for what a model computes more than once, with other weights.

use relais_plugin_api::build::Builder;
use relais_plugin_api::ir::{Subgraph, Users};
use relais_plugin_api::prelude::*;
use std::{cmp::Reverse, collections::BTreeMap};

plugin! { description = "makes functions of repeated sub-graphs" }

/// Options of [`outline`].
#[derive(PassOptions)]
pub struct Options {
    /// The fewest bindings of a function.
    #[option(default = 3, range = 2..)]
    min_size: u32,
    /// The most bindings of a function.
    #[option(default = 48, range = 2..=1024)]
    max_size: u32,
}

/// Makes a function of each run of bindings that a function's body repeats, and calls of the runs. The values
/// that a run uses become parameters, except for constants that are the same everywhere.
///
/// What saves most bindings comes first, until nothing saves any.
#[module_pass(name = "outline.Outline", required = ["relais.InferType"], statistics(outlined = "calls made"))]
pub fn outline(module: &mut IRModule, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    let mut open: Vec<String> = module.functions().map(|(name, _)| name.to_owned()).collect();
    while let Some(caller) = open.pop() {
        cx.check_cancelled()?;
        let Some(f) = module.function(&caller).cloned() else { continue };
        let mut edit = Editor::new(f.clone());
        let users = cx.analysis::<Users>(&f)?;
        let parts = with_constants(&f, &users, repeated(&f, &users, cx, options));
        let [first, _, ..] = &parts[..] else { continue };
        let mut names = (1..).map(|number| format!("outlined_{number}"));
        let Some(name) = names.find(|name| module.global(name).is_none()) else { continue };
        module.set_function(&name, first.to_function(&f)?);
        cx.count("outlined", parts.len());
        let part_of = parts.iter().flat_map(|part| part.nodes().iter().map(move |&id| (id, part)));
        let (part_of, mut relations) = (part_of.collect::<BTreeMap<NodeId, &Subgraph>>(), cx.ops(&f));
        edit.rebuild(&mut |at: &mut RebuildCx<'_>, id: NodeId| -> Result<Action, PassError> {
            let Some(part) = part_of.get(&id) else { return Ok(Action::Keep) };
            // All that a run uses is bound before its last binding, and nothing else uses the run before that.
            if part.nodes().last() == Some(&id) {
                let args: Vec<NodeId> = part.inputs().iter().map(|&input| at.resolve(input)).collect();
                let n_results = part.results().len() as u16;
                let results = Builder::before(at, &mut relations).call_function(&name, &args, n_results)?;
                part.results().iter().zip(results).for_each(|(&old, new)| at.take_over(old, new));
            }
            Ok(if f.constant(id).is_some() { Action::Keep } else { Action::Drop })
        })?;
        module.set_function(&caller, edit.into_function());
        // Either may have further runs.
        open.extend([caller, name]);
    }
    Ok(())
}

/// The equal runs of bindings that save most, in order; none if nothing is saved.
fn repeated(f: &Function, users: &Users, cx: &PassCx<'_>, options: &Options) -> Vec<Subgraph> {
    let ops = cx.ops(f);
    let is_movable = |id: NodeId| match f.expr(id) {
        Expr::Call(call) => ops.effects(call).is_mergeable() && call.regions().is_empty() && !call.attrs().has_refs(),
        Expr::TupleGetItem { .. } => true,
        _ => false,
    };
    let steps: Vec<NodeId> = f.bindings(f.body()).iter().copied().filter(|&id| f.constant(id).is_none()).collect();
    let mut best = (1, Reverse(0), Vec::new());
    for size in options.min_size as usize..=(options.max_size as usize).min(steps.len() / 2) {
        let mut equal: BTreeMap<u64, Vec<(usize, Subgraph)>> = BTreeMap::new();
        for (at, run) in steps.windows(size).enumerate().filter(|(_, run)| run.iter().all(|&id| is_movable(id))) {
            let part = Subgraph::of(f, users, run);
            let is_tuple = |id: &NodeId| f.n_results(*id).is_some() || matches!(f.expr(*id), Expr::Tuple(_));
            if part.results().is_empty() || part.inputs().iter().chain(part.results()).any(is_tuple) {
                continue;
            }
            let same = equal.entry(part.structural_hash(f)).or_default();
            if same.last().is_none_or(|(last, _)| last + size <= at) {
                same.push((at, part));
            }
        }
        for mut same in equal.into_values() {
            let saved = (same.len() - 1) * (size - 1);
            // A saving of one binding is lost to the call.
            if (saved, Reverse(same[0].0)) > (best.0, best.1) {
                let first = same[0].1.clone();
                same.retain(|(_, part)| first.is_same(f, part, f));
                best = (saved, Reverse(same[0].0), same.into_iter().map(|(_, part)| part).collect());
            }
        }
    }
    best.2
}

/// The same runs, with the constants that all of them have at one place.
fn with_constants(f: &Function, users: &Users, parts: Vec<Subgraph>) -> Vec<Subgraph> {
    let is_common = |index: &usize| {
        let mut constants = parts.iter().map(|part| f.constant(part.inputs()[*index]));
        let first = constants.next().flatten();
        first.is_some() && constants.all(|constant| constant == first)
    };
    let n_inputs = parts.first().map_or(0, |part| part.inputs().len());
    let common: Vec<usize> = (0..n_inputs).filter(is_common).collect();
    let with = |part: &Subgraph| {
        let constants = common.iter().map(|&index| part.inputs()[index]);
        Subgraph::of(f, users, &constants.chain(part.nodes().iter().copied()).collect::<Vec<_>>())
    };
    parts.iter().map(with).collect()
}

#[cfg(test)]
mod tests {
    use relais_graph as _;
    use relais_operators as _;
    use relais_plugin_api::testing::Trial;

    fn run(body: &str) -> (String, u64) {
        let header = "def @main(%x: Tensor[(2, N), float32], %y: Tensor[(2, N), float32]) #[opset = {\"\": 17}]";
        let outcome = Trial::of("outline.Outline").run(&format!("{header} {{ {body} }}")).unwrap();
        (outcome.text, outcome.counts["outlined"])
    }

    #[test]
    fn a_run_becomes_a_function_with_what_it_uses_as_parameters() {
        let (text, n) = run("%a = Mul(%x, [2.0]); %b = Exp(%a); %c = Add(%b, %y);
            %d = Mul(%c, [2.0]); %e = Exp(%d); %f = Add(%e, %x); %f");
        assert_eq!(n, 2);
        assert!(text.contains("%c = @outlined_1(%x, %y);") && text.contains("%f = @outlined_1(%c, %x);"), "{text}");
        assert!(text.contains("def @outlined_1(%x: Tensor[(2, N), float32], %y: Tensor[(2, N), float32])"), "{text}");
    }

    #[test]
    fn constants_that_differ_are_parameters_and_values_inside_are_results() {
        let (text, n) = run("%a = Mul(%x, [2.0]); %b = Exp(%a); %c = Add(%b, %y);
            %d = Mul(%y, [3.0]); %e = Exp(%d); %f = Add(%e, %x); (%b, %c, %e, %f)");
        assert_eq!(n, 2);
        assert_eq!(text.matches("@outlined_1(%").count(), 3, "{text}");
        assert!(text.contains("(%b, %c, %e, %f)"), "{text}");
    }

    #[test]
    fn random_calls_and_other_shapes_stay() {
        for body in [
            "%a = Exp(%x); %b = RandomNormalLike(%a); %c = Neg(%b); %d = Exp(%y); %e = RandomNormalLike(%d); %f = Neg(%e); (%c, %f)",
            "%s = ReduceSum(%x, [0]); %a = Exp(%x); %b = Abs(%a); %c = Neg(%b); %d = Exp(%s); %e = Abs(%d); %f = Neg(%e); (%c, %f)",
        ] {
            let outcome = Trial::of("outline.Outline").run(&format!(
                "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) #[opset = {{\"\": 17}}] {{ {body} }}"
            ));
            assert!(!outcome.unwrap().changed, "{body}");
        }
    }
}
