//! Analyses, honest ones and others, and passes that ask for them.

use relais_plugin_api::{
    analysis::{Analysis, AnalysisCx},
    ir::{Lists, Numbers, Users},
    prelude::*,
};
use std::sync::atomic::{AtomicU32, Ordering};

/// How many calls are above each node, itself included.
#[derive(PartialEq)]
struct Depth(Numbers<u32>);

impl Depth {
    fn greatest(&self) -> u32 {
        self.0.iter().copied().max().unwrap_or(0)
    }
}

#[analysis(name = "acme.Depth", depends = "structure", lists(depth = "by node: how many calls are above it"))]
impl Analysis for Depth {
    fn compute(f: &Function, _: &AnalysisCx<'_>) -> Result<Self, PassError> {
        let mut depths = vec![0; f.n_nodes()];
        for id in f.all_bindings() {
            let above = f.operands(id).iter().map(|operand| depths[operand.index()]).max().unwrap_or(0);
            depths[id.index()] = above + u32::from(f.call(id).is_some());
        }
        Ok(Self(depths.into()))
    }

    fn lists(&self) -> Lists {
        Lists::new().with("depth", &self.0)
    }
}

/// The depth of the deepest function, and how many values of all functions have types.
#[derive(PartialEq)]
struct Whole {
    depth: u32,
    n_typed: usize,
}

#[analysis(name = "acme.Whole")]
impl Analysis for Whole {
    type Of = IRModule;

    fn compute(module: &IRModule, cx: &AnalysisCx<'_, IRModule>) -> Result<Self, PassError> {
        let mut whole = Self { depth: 0, n_typed: 0 };
        for (_, f) in module.functions() {
            whole.depth = whole.depth.max(cx.analysis::<Depth>(f)?.greatest());
            whole.n_typed += cx.analysis::<Typed>(f)?.0;
        }
        Ok(whole)
    }
}

/// How many values have types.
#[derive(PartialEq)]
struct Typed(usize);

#[analysis(name = "acme.Typed")]
impl Analysis for Typed {
    fn compute(f: &Function, _: &AnalysisCx<'_>) -> Result<Self, PassError> {
        Ok(Self(f.all_bindings().filter(|&id| f.type_of(id).elem().is_some()).count()))
    }
}

/// Needs an analysis that needs it.
#[derive(PartialEq)]
struct Hen;

#[analysis(name = "acme.Hen")]
impl Analysis for Hen {
    fn compute(_: &Function, cx: &AnalysisCx<'_>) -> Result<Self, PassError> {
        cx.same::<Egg>().map(|_| Self)
    }
}

/// Needs the other one.
#[derive(PartialEq)]
struct Egg;

#[analysis(name = "acme.Egg")]
impl Analysis for Egg {
    fn compute(_: &Function, cx: &AnalysisCx<'_>) -> Result<Self, PassError> {
        cx.same::<Hen>().map(|_| Self)
    }
}

/// Is another one each time.
#[derive(PartialEq)]
struct Moody(u32);

#[analysis(name = "acme.Moody", lists(mood = "how often it was computed"))]
impl Analysis for Moody {
    fn compute(_: &Function, _: &AnalysisCx<'_>) -> Result<Self, PassError> {
        static MOOD: AtomicU32 = AtomicU32::new(0);
        Ok(Self(MOOD.fetch_add(1, Ordering::Relaxed)))
    }

    fn lists(&self) -> Lists {
        Lists::new().with("mood", &Numbers::from(vec![self.0]))
    }
}

/// Panics.
#[derive(PartialEq)]
struct Broken;

#[analysis(name = "acme.Broken", lists(pieces = "none"))]
impl Analysis for Broken {
    fn compute(_: &Function, _: &AnalysisCx<'_>) -> Result<Self, PassError> {
        panic!("in pieces")
    }

    fn lists(&self) -> Lists {
        Lists::new()
    }
}

/// Gives another list than its record says.
#[derive(PartialEq)]
struct Mislabelled;

#[analysis(name = "acme.Mislabelled", lists(apples = "fruit"))]
impl Analysis for Mislabelled {
    fn compute(_: &Function, _: &AnalysisCx<'_>) -> Result<Self, PassError> {
        Ok(Self)
    }

    fn lists(&self) -> Lists {
        Lists::new().with("pears", &Numbers::from(vec![1u32]))
    }
}

/// Counts the calls in the longest chains, and how often they were known.
#[function_pass(name = "acme.AskDepth", statistics(depth = "calls in the longest chains", known = "known before"))]
fn ask_depth(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.count("known", usize::from(cx.known_analysis::<Depth>(edit)?.is_some()));
    cx.count("depth", cx.analysis::<Depth>(edit)?.greatest() as usize);
    Ok(())
}

/// Asks before and after it makes a chain longer.
#[function_pass(name = "acme.DeepenAndAsk", statistics(before = "calls before", after = "calls after"))]
fn deepen_and_ask(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.count("before", cx.analysis::<Depth>(edit)?.greatest() as usize);
    let f = edit.function_mut();
    let result = f.result(f.body());
    let relu = f.add_op("", "Relu", "", 0);
    let call = f.add_call(relu, &[result]);
    f.append(f.body(), call);
    f.set_result(f.body(), call);
    let first = cx.analysis::<Depth>(edit)?;
    // The second time it is known here.
    assert!(std::ptr::eq(&*first, &*cx.analysis::<Depth>(edit)?));
    cx.count("after", first.greatest() as usize);
    assert!(cx.analysis_lists("Depth", edit).is_err());
    Ok(())
}

/// Counts the users of the first parameter, of the host's own analysis.
#[function_pass(name = "acme.AskUsers", statistics(users = "users of the first parameter"))]
fn ask_users(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let users = cx.analysis::<Users>(edit)?;
    let first = edit.function().params().first().copied();
    cx.count("users", first.map_or(0, |first| users.of(first).len()));
    Ok(())
}

/// Counts what the whole module has.
#[module_pass(name = "acme.AskWhole", statistics(depth = "the depth", typed = "values with types"))]
fn ask_whole(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    let whole = cx.analysis::<Whole>(module)?;
    cx.count("depth", whole.depth as usize);
    cx.count("typed", whole.n_typed);
    Ok(())
}

#[derive(PassOptions)]
struct Named {
    /// The analysis.
    name: String,
}

/// Asks for the lists of an analysis, by name, and says how many numbers the first one has.
#[function_pass(name = "acme.AskByName")]
fn ask_by_name(edit: &mut Editor, cx: &PassCx<'_>, options: &Named) -> Result<(), PassError> {
    let lists = cx.analysis_lists(&options.name, edit)?;
    let names: Vec<&str> = lists.names().collect();
    let n = lists.narrow(names[0]).map_or(0, |list| list.len());
    cx.diagnostic(Diagnostic::note(format_args!("{}: {n} numbers in `{}`", options.name, names.join("`, `"))));
    Ok(())
}

/// Gives results other names, which changes no structure.
#[function_pass(name = "acme.Rename", preserves = ["structure"])]
fn rename(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function_mut();
    let result = f.result(f.body());
    let name = format!("{}_", f.name(result));
    f.set_name(result, &name);
    Ok(())
}

/// Says that it changes no structure, and makes the last call one of the first parameter.
#[function_pass(name = "acme.Shorten", preserves = ["acme.Depth"])]
fn shorten(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function_mut();
    let (result, first) = (f.result(f.body()), f.params()[0]);
    f.set_operand(result, 1, first);
    Ok(())
}
