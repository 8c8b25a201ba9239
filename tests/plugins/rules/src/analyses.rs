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
#[function_pass(name = "acme.AskChain", statistics(depth = "calls in the longest chains", known = "known before"))]
fn ask_chain(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
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

/// Asks about a copy of the module that it is of, without an end.
#[derive(PartialEq)]
struct Copies;

#[analysis(name = "acme.Copies")]
impl Analysis for Copies {
    type Of = IRModule;

    fn compute(module: &IRModule, cx: &AnalysisCx<'_, IRModule>) -> Result<Self, PassError> {
        cx.analysis::<Self>(&module.clone()).map(|_| Self)
    }
}

/// Asks for that.
#[module_pass(name = "acme.AskCopies")]
fn ask_copies(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.analysis::<Copies>(module).map(drop)
}

/// Changes the function, and then asks for an analysis that needs itself.
#[function_pass(name = "acme.AskHenLate")]
fn ask_hen_late(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function_mut();
    let result = f.result(f.body());
    f.set_name(result, "changed");
    cx.analysis::<Hen>(edit).map(drop)
}

/// Changes a name, and preserves an analysis of types, which the host infers then.
#[function_pass(name = "acme.RenameTyped", preserves = ["acme.Typed"])]
fn rename_typed(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function_mut();
    let result = f.result(f.body());
    f.set_name(result, "renamed");
    Ok(())
}

/// Compares two analyses with what they are of.
#[function_pass(name = "acme.CheckKnown", statistics(wrong = "wrong results", known = "known before"))]
fn check_known(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.count("known", usize::from(cx.known_analysis::<Users>(edit)?.is_some()));
    let (users, typed) = (cx.analysis::<Users>(edit)?, cx.analysis::<Typed>(edit)?);
    let f = edit.function();
    let n_typed = f.all_bindings().filter(|&id| f.type_of(id).elem().is_some()).count();
    cx.count("wrong", usize::from(*users != Users::compute(f)) + usize::from(typed.0 != n_typed));
    Ok(())
}

/// Inserts a call at the beginning.
#[function_pass(name = "acme.InsertFirst")]
fn insert_first(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function_mut();
    let (relu, first) = (f.add_op("", "Relu", "", 0), f.params()[0]);
    let call = f.add_call(relu, &[first]);
    let mut all = f.bindings(f.body()).to_vec();
    f.set_operand(all[0], 1, call);
    all.insert(0, call);
    f.set_bindings(f.body(), &all);
    Ok(())
}

/// Tries calls out that it does not keep, and changes a name: the host compacts the function.
#[function_pass(name = "acme.TryOut", preserves = ["structure"])]
fn try_out(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function_mut();
    let (relu, first) = (f.add_op("", "Relu", "", 0), f.params()[0]);
    (0..3000).for_each(|_| _ = f.add_call(relu, &[first]));
    let result = f.result(f.body());
    f.set_name(result, "tried");
    Ok(())
}

/// Says that it only infers types, and adds a call.
#[function_pass(name = "acme.TypesAndMore", establishes = "types")]
fn types_and_more(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function_mut();
    let (relu, result) = (f.add_op("", "Relu", "", 0), f.result(f.body()));
    let call = f.add_call(relu, &[result]);
    f.append(f.body(), call);
    f.set_result(f.body(), call);
    Ok(())
}

/// Asks about the module from each function.
#[function_pass(name = "acme.AskWholeOften", statistics(depth = "the depth, by function"))]
fn ask_whole_often(_: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.count("depth", cx.analysis::<Whole>(cx.module())?.depth as usize);
    Ok(())
}

/// Counts how often the users of loop programs were known.
#[prim_func_pass(name = "acme.AskUsersOfPrims", statistics(known = "known before"))]
fn ask_users_of_prims(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError> {
    cx.count("known", usize::from(cx.known_analysis::<Users>(edit)?.is_some()));
    cx.analysis::<Users>(edit).map(drop)
}

/// Gives loop programs a fact that changes no structure.
#[prim_func_pass(name = "acme.NotePrims", preserves = ["structure"])]
fn note_prims(edit: &mut Editor, _: &PassCx<'_>) -> Result<(), PassError> {
    let f = edit.function_mut();
    let first = f.params()[0];
    let name = format!("{}_", f.name(first));
    f.set_name(first, &name);
    Ok(())
}
