//! The passes of a company.

use relais_plugin_api::prelude::*;

plugin! { description = "the passes of a company" }

/// Replaces `Neg(Neg(x))` by `x`.
#[rewrite_pass(name = "acme.NegNeg", opt_level = 1, ops = ["Neg"])]
fn neg_neg(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite {
    match call.arg(0).and_then(|x| cx.call_of_op(x, "Neg")).and_then(|inner| inner.arg(0)) {
        Some(x) => Rewrite::Replace(x),
        None => Rewrite::decline("the argument is not a `Neg`"),
    }
}

/// The abilities of the accelerator.
#[derive(PassOptions)]
struct Accelerator {
    /// The most dimensions of a tensor.
    #[option(default = 4, range = 1..=8)]
    max_rank: i64,
    /// Whether it takes tensors of unknown shape.
    #[option(default = false)]
    dynamic: bool,
}

config_option! { "acme.Accelerator": Accelerator, doc = "The abilities of the accelerator." }

/// The treatment of a call that the accelerator does not take.
#[derive(PassOptions)]
enum Refused {
    /// It is warned of.
    Warn,
    /// The pass fails.
    Fail,
}

/// Options of [`check_ranks`].
#[derive(PassOptions)]
struct RankOptions {
    /// Operators that run elsewhere.
    #[option(default = [])]
    except: Vec<String>,
    /// The treatment of a call that the accelerator does not take.
    #[option(default = "warn")]
    refused: Refused,
}

/// Checks that the accelerator takes every call.
#[function_pass(
    name = "acme.CheckRanks",
    required = ["relais.InferType"],
    statistics(checked = "calls checked", unknown = "calls of unknown rank")
)]
fn check_ranks(edit: &mut Editor, cx: &PassCx<'_>, options: &RankOptions) -> Result<(), PassError> {
    let accelerator: Accelerator = cx.config("acme.Accelerator")?.ok_or("`acme.Accelerator` is not registered")?;
    let f = edit.function();
    for &id in f.bindings(f.body()) {
        let Some(call) = f.call(id) else { continue };
        if options.except.iter().any(|name| call.is_op(name)) {
            continue;
        }
        cx.count("checked", 1);
        let Some(shape) = f.type_of(id).shape() else {
            cx.count("unknown", 1);
            if !accelerator.dynamic {
                cx.remark(id, "its rank is not known");
            }
            continue;
        };
        if shape.len() as i64 > accelerator.max_rank {
            let message = format!("`{}` has {} dimensions", call.op_name(), shape.len());
            let diagnostic = match options.refused {
                Refused::Warn => Diagnostic::warning(message),
                Refused::Fail => Diagnostic::error(message),
            };
            cx.diagnostic(diagnostic.code("acme-rank").at(id).help("reshape it, or name its operator in `except`"));
        }
    }
    Ok(())
}

/// Options of [`drop_functions`].
#[derive(PassOptions)]
struct DropOptions {
    /// How the names of the functions begin. Nothing stands for it, so it is mandatory.
    prefix: String,
}

/// Removes functions by name.
#[module_pass(name = "acme.DropFunctions")]
fn drop_functions(module: &mut IRModule, _: &PassCx<'_>, options: &DropOptions) -> Result<(), PassError> {
    let names = module.functions().map(|(name, _)| name.to_owned());
    let unwanted: Vec<String> = names.filter(|name| name.starts_with(&options.prefix)).collect();
    for name in unwanted {
        module.remove(&name);
    }
    Ok(())
}

/// Forgets what loop programs do.
#[prim_func_pass(name = "acme.ForgetLoops")]
fn forget_loops(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let body = edit.function().body();
    if !edit.function().bindings(body).is_empty() {
        let function = edit.function_mut();
        function.set_bindings(body, &[]);
        function.set_results(body, &[]);
    }
    Ok(())
}

/// Cancels negations, and removes what that leaves behind.
#[sequential_pass(name = "acme.Tidy", opt_level = 1, passes = ["acme.NegNeg", "relais.DeadCodeElimination"])]
fn tidy() {}

/// Drops the functions that tests left.
#[sequential_pass(name = "acme.DropTests")]
fn drop_tests() -> Vec<Step> {
    vec![Step::new("acme.DropFunctions").option("prefix", Value::Str("test_".into()))]
}

pipeline! {
    name = "acme.Release",
    toml = "# What the company's models go through before they are shipped.
steps = [{ include = \"builtin:O2\" }, \"acme.Tidy\", { extension = \"acme-checks\" }]
"
}

/// Runs a pass until it changes nothing.
#[module_pass(name = "acme.Settle")]
fn settle(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let pass = cx.get_pass("acme.Tidy")?;
    loop {
        cx.check_cancelled()?;
        let next = pass.run(module)?;
        if next.version() == module.version() {
            return Ok(());
        }
        *module = next;
    }
}

use relais_plugin_api::ir::{Children, ExprMutator, ExprVisitor};

/// Counts calls, those in nested functions too.
#[derive(Default)]
struct CallCounter(usize);

impl ExprVisitor for CallCounter {
    fn visit_call(&mut self, _: &Function, _: CallView<'_>) -> Children {
        self.0 += 1;
        Children::All
    }
}

/// Replaces every conditional by its first branch.
struct IfCollapser;

impl ExprMutator for IfCollapser {
    fn mutate_if(&mut self, cx: &mut RebuildCx<'_>, id: NodeId) -> Action {
        let Expr::If(branch) = cx.function().expr(id) else { return Action::Keep };
        Action::Inline(cx.function().block_of(branch.then_branch()))
    }
}

/// Replaces every conditional by its first branch, and says how many calls that saved.
#[function_pass(
    name = "acme.CollapseIf",
    opt_level = 1,
    extends = "acme-checks",
    statistics(saved = "calls that are gone")
)]
fn collapse_if(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let count = |f: &Function| {
        let mut counter = CallCounter::default();
        counter.visit(f, f.root());
        counter.0
    };
    let before = count(edit.function());
    IfCollapser.run(edit);
    cx.count("saved", before - count(edit.function()));
    Ok(())
}

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

fn none_seen(_: &IRModule, _: &PassCx<'_>) -> Result<AtomicUsize, PassError> {
    Ok(AtomicUsize::new(0))
}

fn say_how_many(seen: AtomicUsize, _: &IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.diagnostic(Diagnostic::note(format_args!("{} functions call `Dropout`", seen.into_inner())));
    Ok(())
}

/// Counts functions with calls of `Dropout`.
#[function_pass(name = "acme.FindDropout", begin = none_seen, end = say_how_many)]
fn find_dropout(edit: &mut Editor, _: &PassCx<'_>, seen: &AtomicUsize) -> Result<(), PassError> {
    let f = edit.function();
    let is_dropout = |id: NodeId| f.call(id).is_some_and(|call| call.is_op("Dropout"));
    seen.fetch_add(usize::from(f.all_bindings().any(is_dropout)), Relaxed);
    Ok(())
}

use relais_plugin_api::{
    analysis::{Analysis, AnalysisCx},
    ir::{Lists, Numbers},
};

/// How many calls are above each node, itself included.
#[derive(PartialEq)]
struct Depth(Numbers<u32>);

#[analysis(name = "acme.Depth", depends = "structure", lists(depth = "by node: how many calls are above it"))]
impl Analysis for Depth {
    fn compute(f: &Function, _: &AnalysisCx<'_>) -> Result<Self, PassError> {
        let mut depths = vec![0; f.n_nodes()];
        for id in f.all_bindings() {
            let deepest = f.operands(id).iter().map(|operand| depths[operand.index()]).max().unwrap_or(0);
            depths[id.index()] = deepest + u32::from(f.call(id).is_some());
        }
        Ok(Self(depths.into()))
    }

    fn lists(&self) -> Lists {
        Lists::new().with("depth", &self.0)
    }
}

/// Counts how deep functions are.
#[function_pass(name = "acme.CountDepth", statistics(depth = "calls in the longest chains"))]
fn count_depth(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let depth = cx.analysis::<Depth>(edit)?;
    cx.count("depth", depth.0.iter().copied().max().unwrap_or(0) as usize);
    Ok(())
}

use relais_plugin_api::op::{Addition, Kernel, OpCall};

/// A sign that the accelerator changes by a product.
fn negate(_: &OpCall<'_>, kernel: &mut Kernel<'_>) -> Result<(), OpError> {
    let (x, y) = (kernel.needed_input(0)?, kernel.output(0));
    let (sizes, elem) = (kernel.sizes(y), kernel.elem(y));
    kernel.each_of_all(&sizes, |loops, at| {
        let (minus_one, value) = (loops.num(elem, -1.0), loops.load(x, at));
        let negative = loops.mul(minus_one, value);
        loops.store(y, negative, at);
    });
    Ok(())
}

additions! {
    &[
        Addition::of(Operator::new("", "Neg", 13).compute(negate)).target("acme-accelerator"),
        Addition::of(Operator::new("", "Neg", 13).properties(&[("acme.engine", "vector")])),
    ]
}

use relais_plugin_api::instrument::Skipped;

/// Options of [`Gate`].
#[derive(PassOptions)]
struct GateOptions {
    /// The most functions of a module that passes run on.
    #[option(default = 1000, range = 1..)]
    max_functions: u64,
}

struct Gate(GateOptions);

/// Keeps passes from large modules.
#[instrument(name = "acme.Gate")]
impl Instrument for Gate {
    type Options = GateOptions;

    fn new(options: GateOptions) -> Result<Self, PassError> {
        Ok(Self(options))
    }

    fn should_run(&self, module: &IRModule, _: &PassInfo<'_>, _: &InstrumentCx<'_>) -> Result<bool, PassError> {
        Ok(module.functions().count() as u64 <= self.0.max_functions)
    }

    fn skipped(&self, _: &IRModule, pass: &PassInfo<'_>, reason: &Skipped<'_>, cx: &InstrumentCx<'_>) {
        cx.info(format_args!("`{}` did not run: {reason}", pass.name));
    }
}

#[cfg(test)]
mod tests {
    use relais_plugin_api::testing;

    #[test]
    fn two_negations_cancel_and_one_stays() {
        let after = testing::run("acme.NegNeg", "def @main(%x) { %1 = Neg(%x); %2 = Neg(%1); %3 = Relu(%2); %3 }");
        assert!(after.contains("Relu(%x)"), "{after}");
        let after = testing::run("acme.NegNeg", "def @main(%x) { %1 = Neg(%x); %1 }");
        assert!(after.contains("Neg(%x)"), "{after}");
    }
}
