//! The attributes that make a pass of a function.

use crate::{
    register::{register, unique},
    values::{
        Pairs, a_name, boolean, condition_name, conditions, doc, int, literal, literal_value, ops, ops_of_level,
        samples, some, statistic, text, texts,
    },
};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use relais_patterns::{Functions, Rule};
use relais_words::nearest;
use syn::{
    Expr, ExprAssign, ExprPath, FnArg, Ident, ItemConst, ItemFn, Lit, LitBool, LitInt, LitStr, Type, ext::IdentExt,
    spanned::Spanned,
};

#[derive(Clone, Copy, PartialEq)]
pub enum Level {
    Module,
    Function,
    PrimFunc,
    Rewrite,
    /// A function pass that consists of rules.
    Rules,
    Sequential,
}

impl Level {
    fn signature(self) -> &'static str {
        match self {
            Self::Module => "fn(module: &mut IRModule, cx: &PassCx<'_>) -> Result<(), PassError>",
            Self::Function => "fn(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError>",
            Self::PrimFunc => "fn(edit: &mut Editor, cx: &PassCx<'_>) -> Result<(), PassError>",
            Self::Rules => "const NAME: &str",
            Self::Rewrite => "fn(call: CallView<'_>, cx: &mut RewriteCx<'_>) -> Rewrite",
            Self::Sequential => "fn() -> Vec<Step>",
        }
    }

    /// The keys that its attribute takes beside [`SHARED_KEYS`].
    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Rewrite => &["level", "check", "ops", "max_rounds", "parallel"],
            Self::Rules => &["level", "parallel", "conditions", "samples(…)"],
            Self::Function => {
                &["begin", "end", "check", "parallel", "establishes", "changes_interface", "preserves", "statistics(…)"]
            }
            Self::PrimFunc => &["begin", "end", "check", "parallel", "preserves", "statistics(…)"],
            Self::Sequential => &["check", "passes"],
            Self::Module => &["check", "establishes", "changes_interface", "preserves", "statistics(…)"],
        }
    }

    /// The types behind the references of the first parameters.
    fn param_types(self) -> &'static [&'static str] {
        match self {
            Self::Module => &["IRModule", "PassCx"],
            Self::Function | Self::PrimFunc => &["Editor", "PassCx"],
            Self::Rewrite => &["CallView", "RewriteCx"],
            Self::Rules | Self::Sequential => &[],
        }
    }

    fn n_params(self) -> usize {
        if matches!(self, Self::Rules | Self::Sequential) { 0 } else { 2 }
    }
}

/// The keys that every attribute takes.
const SHARED_KEYS: &[&str] =
    &["name", "aliases", "opt_level", "required", "extends", "before", "after", "phase", "runtime", "target"];

/// The phases, and their names in `Phase`.
const PHASES: [(&str, &str); 5] =
    [("types", "TYPES"), ("folding", "FOLDING"), ("rewrites", "REWRITES"), ("clean-up", "CLEAN_UP"), ("none", "NONE")];

/// The levels of rewrites and rules: whether their names are those of loop programs.
const LEVELS: [(&str, bool); 2] = [("graph", false), ("prim", true)];

struct Args {
    name: LitStr,
    /// Whether a rewrite, or rules, are for loop programs, if it is said.
    is_prim: Option<bool>,
    aliases: Vec<LitStr>,
    /// Expressions of type `RequiredSpec`.
    required: Option<Vec<TokenStream>>,
    ops: Vec<LitStr>,
    passes: Option<Vec<LitStr>>,
    opt_level: Option<LitInt>,
    max_rounds: Option<LitInt>,
    parallel: bool,
    /// Whether it declares that it establishes types.
    types: bool,
    extends: Option<LitStr>,
    /// The passes before and after which it is added at that point.
    before: Vec<LitStr>,
    after: Vec<LitStr>,
    /// The name of a constant of `Phase`.
    phase: &'static str,
    /// The runtime that it is for.
    runtime: Option<LitStr>,
    /// The target that it is for.
    target: Option<LitStr>,
    /// The function that says whether it can work on a module.
    check: Option<ExprPath>,
    /// The functions that are called before the first and after the last function of a module.
    begin: Option<ExprPath>,
    end: Option<ExprPath>,
    /// The option that asks it to change the program's interface; empty if it may without one.
    changes_interface: Option<String>,
    /// The analyses whose results hold after it changed a function.
    preserves: Vec<LitStr>,
    statistics: Vec<(LitStr, LitStr)>,
    /// The functions that rules name as conditions.
    conditions: Vec<ExprPath>,
    /// Examples for rules: the rule's name, and an expression that is a text.
    samples: Vec<(Ident, Expr)>,
}

impl Args {
    fn parse(level: Level, args: TokenStream) -> syn::Result<Self> {
        let Pairs { pairs, groups } = syn::parse2(args)?;
        let mut name = None;
        let mut parsed = Self {
            name: LitStr::new("", Span::call_site()),
            is_prim: None,
            aliases: Vec::new(),
            required: None,
            ops: Vec::new(),
            passes: None,
            opt_level: None,
            max_rounds: None,
            parallel: true,
            types: false,
            extends: None,
            before: Vec::new(),
            after: Vec::new(),
            phase: "REWRITES",
            runtime: None,
            target: None,
            check: None,
            begin: None,
            end: None,
            changes_interface: None,
            preserves: Vec::new(),
            statistics: Vec::new(),
            conditions: Vec::new(),
            samples: Vec::new(),
        };
        let mut seen: Vec<Ident> = Vec::new();
        for (key, pairs) in groups {
            let takes = match level {
                Level::Rewrite | Level::Sequential => None,
                Level::Rules => Some("samples"),
                Level::Module | Level::Function | Level::PrimFunc => Some("statistics"),
            };
            if takes.is_none_or(|takes| key != takes) || seen.contains(&key) {
                let known =
                    takes.map_or_else(String::new, |takes| format!(": this attribute takes `{takes}(…)`, once"));
                return Err(syn::Error::new(key.span(), format!("unknown key `{key}(…)`{known}")));
            }
            match level {
                Level::Rules => parsed.samples = pairs.into_iter().flat_map(samples).collect(),
                _ => parsed.statistics = pairs.iter().map(statistic).collect::<syn::Result<_>>()?,
            }
            seen.push(key);
        }
        for (key, value) in pairs {
            if seen.contains(&key) {
                return Err(syn::Error::new(key.span(), format!("`{key}` is given twice")));
            }
            match key.to_string().as_str() {
                "name" => name = Some(text(&value)?),
                "aliases" => parsed.aliases = texts(&value)?,
                "required" => parsed.required = Some(required(&value)?),
                "opt_level" => {
                    let level = int(&value)?;
                    let message = "a level is at most 255: `-O3`, the highest one of the command line, runs up to 3";
                    level.base10_parse::<u8>().map_err(|_| syn::Error::new(level.span(), message))?;
                    parsed.opt_level = Some(level);
                }
                "extends" => {
                    parsed.extends = Some(a_name(&value, "say which extension point: `extends = \"after-simplify\"`")?);
                }
                "before" => parsed.before = some(&value, "name the passes: `before = [\"acme.Other\"]`")?,
                "after" => parsed.after = some(&value, "name the passes: `after = [\"acme.Other\"]`")?,
                "phase" => {
                    let phase = text(&value)?;
                    let known = PHASES.iter().find(|(name, _)| *name == phase.value());
                    let Some((_, constant)) = known else {
                        let names: Vec<String> = PHASES.iter().map(|(name, _)| format!("`\"{name}\"`")).collect();
                        return Err(syn::Error::new(phase.span(), format!("a phase is one of {}", names.join(", "))));
                    };
                    parsed.phase = constant;
                }
                "runtime" => {
                    parsed.runtime = Some(a_name(&value, "say for which runtime it is: `runtime = \"onnxruntime\"`")?);
                }
                "target" => {
                    parsed.target = Some(a_name(&value, "say for which target it is: `target = \"cortex-m\"`")?);
                }
                "level" if matches!(level, Level::Rewrite | Level::Rules) => {
                    let given = text(&value)?;
                    let Some((_, is_prim)) = LEVELS.iter().find(|(name, _)| *name == given.value()) else {
                        let message =
                            "a level is `\"graph\"`, the default of a rewrite, or `\"prim\"` for loop programs";
                        return Err(syn::Error::new(given.span(), message));
                    };
                    parsed.is_prim = Some(*is_prim);
                }
                "check" if level != Level::Rules => {
                    let message = "name the function that says whether the pass can work: `check = can_work`";
                    parsed.check = Some(a_path(value, message)?);
                }
                "begin" if matches!(level, Level::Function | Level::PrimFunc) => {
                    let message = "name the function that makes the state of the pass: `begin = prepare`";
                    parsed.begin = Some(a_path(value, message)?);
                }
                "end" if matches!(level, Level::Function | Level::PrimFunc) => {
                    let message = "name the function that takes the state in the end: `end = conclude`";
                    parsed.end = Some(a_path(value, message)?);
                }
                "changes_interface" if level == Level::Module || level == Level::Function => {
                    parsed.changes_interface = match literal(&value) {
                        Some(Lit::Bool(LitBool { value, .. })) => value.then(String::new),
                        _ => Some(a_name(&value, "name the option that asks for it, or write `true`")?.value()),
                    };
                }
                "preserves" if matches!(level, Level::Module | Level::Function | Level::PrimFunc) => {
                    let message = "name the analyses, or `\"structure\"`: `preserves = [\"relais.Users\"]`";
                    parsed.preserves = some(&value, message)?;
                }
                "conditions" if level == Level::Rules => parsed.conditions = conditions(&value)?,
                "ops" if level == Level::Rewrite => parsed.ops = ops(&value)?,
                "max_rounds" if level == Level::Rewrite => parsed.max_rounds = Some(int(&value)?),
                "passes" if level == Level::Sequential => {
                    parsed.passes = Some(some(&value, "name the passes: `passes = [\"FoldConstant\"]`")?);
                }
                "parallel" if level != Level::Sequential && level != Level::Module => {
                    parsed.parallel = boolean(&value)?.value
                }
                "establishes" if level == Level::Module || level == Level::Function => {
                    let what = text(&value)?;
                    if what.value() != "types" {
                        return Err(syn::Error::new(what.span(), "a pass establishes `\"types\"`, or nothing"));
                    }
                    parsed.types = true;
                }
                unknown => {
                    let own = level.keys();
                    let known = || SHARED_KEYS.iter().chain(own).copied();
                    let listed = known().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
                    let help = match nearest(unknown, known()) {
                        Some(nearest) => format!("\n  help: did you mean `{nearest}`?"),
                        None => String::new(),
                    };
                    let message = format!("unknown key `{unknown}`: this attribute takes {listed}{help}");
                    return Err(syn::Error::new(key.span(), message));
                }
            }
            seen.push(key);
        }
        if let (None, [name, ..]) = (&parsed.extends, [&parsed.before[..], &parsed.after].concat().as_slice()) {
            let message = "`before` and `after` order passes at an extension point: `extends = \"after-simplify\"`";
            return Err(syn::Error::new(name.span(), message));
        }
        if let (None, Some(end)) = (&parsed.begin, &parsed.end) {
            let message = "`end` takes the state that `begin` makes: name both";
            return Err(syn::Error::new(end.span(), message));
        }
        if level == Level::Rewrite {
            ops_of_level(&parsed.ops, parsed.is_prim.unwrap_or(false))?;
        }
        parsed.name =
            name.ok_or_else(|| syn::Error::new(Span::call_site(), "a pass has a name: `name = \"acme.FuseMyThing\"`"))?;
        Ok(parsed)
    }
}

/// The passes that a pass requires, as expressions of type `RequiredSpec`: each a name, or a name and options in parentheses.
fn required(value: &Expr) -> syn::Result<Vec<TokenStream>> {
    let syntax = "expected a list of passes: `[\"A\", (\"B\", limit = 2)]`";
    let Expr::Array(list) = value else { return Err(syn::Error::new(value.span(), syntax)) };
    let one = |value: &Expr| {
        let (name, options) = match value {
            Expr::Tuple(tuple) => (tuple.elems.first(), tuple.elems.iter().skip(1).collect()),
            _ => (Some(value), Vec::new()),
        };
        let name = a_name(name.ok_or_else(|| syn::Error::new(value.span(), syntax))?, syntax)
            .map_err(|error| syn::Error::new(error.span(), syntax))?;
        let mut seen: Vec<Ident> = Vec::new();
        let mut option = |pair: &Expr| {
            let wrong = || syn::Error::new_spanned(pair, syntax);
            let Expr::Assign(ExprAssign { left, right, .. }) = pair else { return Err(wrong()) };
            let Expr::Path(ExprPath { path, .. }) = &**left else { return Err(wrong()) };
            let key = path.require_ident()?;
            if seen.contains(key) {
                return Err(syn::Error::new(key.span(), format!("`{key}` is given twice")));
            }
            seen.push(key.clone());
            let (key, given) = (key.unraw().to_string(), literal_value(right)?);
            Ok(quote!((#key, #given)))
        };
        let options: Vec<TokenStream> = options.into_iter().map(&mut option).collect::<syn::Result<_>>()?;
        Ok(quote!(rt::RequiredSpec { pass: #name, options: &[#(#options),*] }))
    };
    list.elems.iter().map(one).collect()
}

/// A function, by its path.
fn a_path(value: Expr, message: &str) -> syn::Result<ExprPath> {
    match value {
        Expr::Path(path) => Ok(path),
        other => Err(syn::Error::new(other.span(), message)),
    }
}

/// The type behind the reference of the parameter that takes options: the one after `n_params` others.
fn options_type(level: Level, function: &ItemFn, has_members: bool, n_params: usize) -> syn::Result<Type> {
    let sig = &function.sig;
    let wrong = |span: Span, what: &str| {
        let message = format!("{what}; this attribute goes before `{}`", level.signature());
        syn::Error::new(span, message)
    };
    if let Some(asyncness) = sig.asyncness {
        return Err(wrong(asyncness.span(), "a pass is not `async`"));
    }
    if !sig.generics.params.is_empty() {
        return Err(wrong(sig.generics.span(), "a pass has no generic parameters"));
    }
    if has_members && !sig.inputs.is_empty() {
        return Err(wrong(sig.inputs.span(), "a pass with `passes` takes no parameters"));
    }
    if sig.inputs.len() != n_params && sig.inputs.len() != n_params + 1 {
        let what = format!("a pass takes {n_params} parameters, or {} with its options", n_params + 1);
        return Err(wrong(sig.inputs.span(), &what));
    }
    for (input, wanted) in sig.inputs.iter().zip(level.param_types()) {
        let FnArg::Typed(param) = input else { continue };
        if let Some(found) = param_type(&param.ty).filter(|found| found != wanted) {
            return Err(wrong(found.span(), &format!("this pass is given `{wanted}`, not `{found}`")));
        }
    }
    match sig.inputs.iter().nth(n_params) {
        None => Ok(syn::parse_quote!(())),
        Some(FnArg::Typed(param)) => match &*param.ty {
            Type::Reference(reference) if reference.mutability.is_none() => Ok((*reference.elem).clone()),
            other => Err(wrong(other.span(), "options are taken as `&MyOptions`")),
        },
        Some(FnArg::Receiver(receiver)) => Err(wrong(receiver.span(), "a pass cannot be a method")),
    }
}

/// The name of a type, if it is one that passes of some level are given: the compiler explains all others.
fn param_type(ty: &Type) -> Option<&Ident> {
    let ty = if let Type::Reference(reference) = ty { &reference.elem } else { ty };
    let Type::Path(path) = ty else { return None };
    let name = &path.path.segments.last()?.ident;
    let known = ["IRModule", "Editor", "Function", "CallView", "PassCx", "RewriteCx", "InstrumentCx"];
    known.iter().any(|known| name == known).then_some(name)
}

/// Checks that a constant is a text, and that it has rules, with those that have examples, if it is written out. Returns
/// whether they are for loop programs: as their operators, or else the attribute, say.
fn check_rules(level: Level, item: &ItemConst, args: &Args) -> syn::Result<bool> {
    let is_text =
        matches!(&*item.ty, Type::Reference(it) if matches!(&*it.elem, Type::Path(it) if it.path.is_ident("str")));
    if !is_text {
        return Err(syn::Error::new(item.ty.span(), format!("rules are a text; expected `{}`", level.signature())));
    }
    let Some(Lit::Str(text)) = literal(&item.expr) else { return Ok(args.is_prim.unwrap_or(false)) };
    let source = text.value();
    let names: Vec<String> = args.conditions.iter().map(condition_name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let faults = match relais_patterns::parse_with(&source, Functions::Named(&names)) {
        Ok(rules) => {
            check_samples(&rules, &args.samples)?;
            return level_of(&rules, text.span(), args.is_prim);
        }
        Err(faults) => faults,
    };
    let mut faults = faults.into_iter().map(|fault| {
        let (line, column) = fault.place(&source);
        let help = if fault.help.is_empty() { String::new() } else { format!("\n  help: {}", fault.help) };
        let code = fault.code.as_str();
        syn::Error::new(text.span(), format!("[{code}] line {line}, column {column}: {}{help}", fault.message))
    });
    let first = faults.next().unwrap_or_else(|| syn::Error::new(text.span(), "the rules are at fault"));
    Err(faults.fold(first, |mut all, fault| {
        all.combine(fault);
        all
    }))
}

/// Whether all rules are for loop programs; none is.
fn level_of(rules: &[Rule], span: Span, said: Option<bool>) -> syn::Result<bool> {
    let is_prim = |rule: &Rule| rule.level() == relais_patterns::RuleLevel::Prim;
    let first = said.or_else(|| rules.first().map(is_prim)).unwrap_or(false);
    let Some(other) = rules.iter().find(|rule| is_prim(rule) != first) else { return Ok(first) };
    let [of, others] = if first { ["graphs", "loop programs"] } else { ["loop programs", "graphs"] };
    let why = if said.is_some() { "`level` says that all are" } else { "the first one is" };
    let message =
        format!("`{other}` is a rule for {of}, and {why} for {others}\n  help: a pass is of one level: make two");
    Err(syn::Error::new(span, message))
}

fn check_samples(rules: &[Rule], samples: &[(Ident, Expr)]) -> syn::Result<()> {
    let names = || rules.iter().filter_map(|rule| Some(rule.name.as_ref()?.text.as_str()));
    let Some((key, _)) = samples.iter().find(|(key, _)| !names().any(|name| key == name)) else { return Ok(()) };
    let help = match names().map(|name| format!("`{name}`")).collect::<Vec<_>>() {
        named if named.is_empty() => format!("name it: `{key}: {}`", rules.first().map_or("…".into(), Rule::to_string)),
        named => format!("there are {}", named.join(", ")),
    };
    Err(syn::Error::new(key.span(), format!("no rule is named `{key}`\n  help: {help}")))
}

/// The item that a pass is made of.
enum Source {
    Function(ItemFn),
    Rules(ItemConst),
}

impl Source {
    fn parse(level: Level, item: TokenStream) -> syn::Result<Self> {
        let parsed = match level {
            Level::Rules => syn::parse2(item).map(Self::Rules),
            _ => syn::parse2(item).map(Self::Function),
        };
        parsed.map_err(|error| syn::Error::new(error.span(), format!("expected `{}`", level.signature())))
    }
}

pub fn pass(level: Level, args: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let args = Args::parse(level, args)?;
    let source = Source::parse(level, item)?;
    let (ident, attrs, span) = match &source {
        Source::Function(function) => (&function.sig.ident, &function.attrs, function.sig.span()),
        Source::Rules(item) => (&item.ident, &item.attrs, item.ident.span()),
    };
    let (options, has_options, is_prim) = match &source {
        Source::Function(function) => {
            // The state of one that has begun comes before the options.
            let n_params = level.n_params() + usize::from(args.begin.is_some());
            let options = options_type(level, function, args.passes.is_some(), n_params)?;
            (options, function.sig.inputs.len() > n_params, args.is_prim.unwrap_or(false))
        }
        Source::Rules(item) => (syn::parse_quote!(()), false, check_rules(level, item, &args)?),
    };
    let entry = Ident::new(if is_prim { "prim_func" } else { "function" }, Span::call_site());
    // A parameter of the generated code may have the same name as the function.
    let local = |name: &str| Ident::new(name, Span::mixed_site().located_at(span));
    let (options_arg, cx, subject) = (local("options"), local("cx"), local("subject"));
    let with = has_options.then(|| quote!(, #options_arg));
    let body = match level {
        Level::Module => quote_spanned! {span=>
            fn module(#options_arg: &Self::Options, #cx: &api::pass::PassCx<'_>, #subject: &mut api::ir::IRModule)
                -> Result<(), api::diagnostics::PassError> { #ident(#subject, #cx #with) }
        },
        Level::Function | Level::PrimFunc if args.begin.is_some() => {
            let begun = local("begun");
            quote_spanned! {span=>
                fn on_function(
                    #options_arg: &Self::Options,
                    #cx: &api::pass::PassCx<'_>,
                    #subject: &mut api::ir::Editor,
                    #begun: &rt::Begun,
                ) -> Result<(), api::diagnostics::PassError> { #ident(#subject, #cx, #begun.get()? #with) }
            }
        }
        Level::Function => quote_spanned! {span=>
            fn function(#options_arg: &Self::Options, #cx: &api::pass::PassCx<'_>, #subject: &mut api::ir::Editor)
                -> Result<(), api::diagnostics::PassError> { #ident(#subject, #cx #with) }
        },
        Level::PrimFunc => quote_spanned! {span=>
            fn prim_func(#options_arg: &Self::Options, #cx: &api::pass::PassCx<'_>, #subject: &mut api::ir::Editor)
                -> Result<(), api::diagnostics::PassError> { #ident(#subject, #cx #with) }
        },
        Level::Rewrite => {
            let rounds = args.max_rounds.as_ref().map(|rounds| quote!(max_rounds: #rounds,));
            let (call, rewrite_cx, rule, drive_options) =
                (local("call"), local("rewrite_cx"), local("rule"), local("drive_options"));
            let prim = is_prim.then(|| quote!(is_prim: true,));
            quote_spanned! {span=>
                fn #entry(#options_arg: &Self::Options, #cx: &api::pass::PassCx<'_>, #subject: &mut api::ir::Editor)
                    -> Result<(), api::diagnostics::PassError>
                {
                    let mut #rule = |#call: api::ir::CallView<'_>, #rewrite_cx: &mut api::rewrite::RewriteCx<'_>|
                        -> api::rewrite::Rewrite { #ident(#call, #rewrite_cx #with) };
                    let #drive_options = rt::DriveOptions { #rounds #prim ..rt::DriveOptions::default() };
                    rt::drive(#subject, #cx, &mut #rule, Self::SPEC.ops, #drive_options).map(|_| ())
                }
            }
        }
        Level::Rules => quote_spanned! {span=>
            fn #entry(#options_arg: &Self::Options, #cx: &api::pass::PassCx<'_>, #subject: &mut api::ir::Editor)
                -> Result<(), api::diagnostics::PassError>
            {
                api::pattern::apply(#subject, #cx, THIS_RULES.get()?).map(|_| ())
            }

            fn check(#options_arg: &Self::Options, #cx: &api::pass::PassCx<'_>, #subject: &api::ir::IRModule)
                -> Result<(), api::diagnostics::PassError> { api::pattern::check_module(THIS_RULES.get()?, #subject, #cx) }
        },
        Level::Sequential => {
            let steps = match args.passes {
                Some(_) => quote! {
                    #ident();
                    Ok(Self::SPEC.members.iter().map(|name| api::pass::Step::new(name)).collect())
                },
                None if has_options => quote_spanned!(span=> Ok(#ident(#options_arg))),
                None => quote_spanned!(span=> Ok(#ident())),
            };
            quote_spanned! {span=>
                fn steps(#options_arg: &Self::Options) -> Result<Vec<api::pass::Step>, api::diagnostics::PassError> {
                    let _ = #options_arg;
                    #steps
                }
            }
        }
    };
    let check = args.check.map(|check| {
        quote_spanned! {check.span()=>
            fn check(#options_arg: &Self::Options, #cx: &api::pass::PassCx<'_>, #subject: &api::ir::IRModule)
                -> Result<(), api::diagnostics::PassError> { #check(#subject, #cx #with) }
        }
    });
    let begin = args.begin.as_ref().map(|begin| {
        let (begun, edit) = (local("begun"), local("edit"));
        quote_spanned! {begin.span()=>
            fn begin(#options_arg: &Self::Options, #cx: &api::pass::PassCx<'_>, #subject: &api::ir::IRModule)
                -> Result<rt::Begun, api::diagnostics::PassError>
            {
                let #begun = #begin(#subject, #cx #with)?;
                // The compiler compares the type of the state with the one that the pass takes.
                let _ = |#edit: &mut api::ir::Editor| #ident(#edit, #cx, &#begun #with);
                Ok(rt::Begun::new(#begun))
            }
        }
    });
    let end = args.end.as_ref().map(|end| {
        let begun = local("begun");
        quote_spanned! {end.span()=>
            fn end(
                #options_arg: &Self::Options,
                #cx: &api::pass::PassCx<'_>,
                #subject: &api::ir::IRModule,
                #begun: rt::Begun,
            ) -> Result<(), api::diagnostics::PassError> { #end(#begun.take()?, #subject, #cx #with) }
        }
    });
    let begins = args.begin.is_some().then(|| quote!(| rt::pass_flag::BEGINS));
    let rewrites = matches!(level, Level::Rewrite | Level::Rules).then(|| quote!(rt::REWRITES));
    // A function of a wrong type is reported at its name in the attribute.
    let conditions = args.conditions.iter().map(|path| {
        let name = condition_name(path);
        quote_spanned!(path.span()=> api::pattern::ConditionFn::new(#name, #path))
    });
    let (rules, parsed) = match &source {
        Source::Function(_) => (quote!(""), None),
        Source::Rules(_) => (
            quote!(#ident),
            Some(quote!(
                static THIS_RULES: api::pattern::Declared =
                    api::pattern::Declared::new(THIS_SPEC.rules, &[#(#conditions),*]);
            )),
        ),
    };
    let samples = args.samples.iter().map(|(rule, module)| {
        let rule = rule.to_string();
        quote_spanned!(module.span()=> rt::SampleSpec { rule: #rule, module: #module })
    });
    // Conditions of rules ask about types.
    let inferred = || vec![quote!(rt::RequiredSpec { pass: "relais.InferType", options: &[] })];
    let is_inferred = level == Level::Rules && !is_prim;
    let required = args.required.unwrap_or_else(|| if is_inferred { inferred() } else { Vec::new() });
    // The compiler looks at operators of loop programs, which are known.
    let of_values = (is_prim && level == Level::Rewrite).then(|| {
        let ops = &args.ops;
        quote!(const _: () = { #(assert!(rt::is_value_op(#ops), "a rewrite is of operators that compute values from values; `#[prim_func_pass]` is for statements and memory");)* };)
    });
    let level = Ident::new(
        match level {
            Level::Module => "MODULE",
            Level::Rewrite | Level::Rules if is_prim => "PRIM_FUNC",
            Level::Function | Level::Rules => "FUNCTION",
            Level::PrimFunc => "PRIM_FUNC",
            Level::Rewrite => "REWRITE",
            Level::Sequential => "SEQUENTIAL",
        },
        Span::call_site(),
    );
    let doc = doc(attrs);
    let mut names: Vec<&LitStr> = vec![&args.name];
    names.extend(args.aliases.iter().filter(|alias| alias.value() != args.name.value()));
    let names: Vec<TokenStream> = names.into_iter().map(|name| unique("pass", name)).collect();
    let Args { name, aliases, ops, passes, opt_level, parallel, types, statistics, .. } = args;
    let or_empty = |name: Option<LitStr>| name.map_or_else(String::new, |name| name.value());
    let (extends, runtime, target) = (or_empty(args.extends), or_empty(args.runtime), or_empty(args.target));
    let changes_interface = match args.changes_interface {
        Some(option) => quote!(Some(#option)),
        None => quote!(None),
    };
    let (before, after, preserves) = (args.before, args.after, args.preserves);
    let phase = Ident::new(args.phase, Span::call_site());
    let statistics = statistics.iter().map(|(name, doc)| quote!(rt::StatisticSpec { name: #name, doc: #doc }));
    let statistics = statistics.chain(rewrites);
    let members = passes.unwrap_or_default();
    let opt_level = opt_level.map_or_else(|| quote!(0), |level| quote!(#level));
    let serial = (!parallel).then(|| quote!(| rt::pass_flag::SERIAL));
    let types = types.then(|| quote!(| rt::pass_flag::TYPES));
    let register =
        register(quote!(rt::Spec::Pass(&THIS_SPEC)), quote!(rt::Item::Pass(&THIS_SPEC, rt::create::<ThisPass>)));
    // A wrong type of options is reported at its place in the source.
    let options_span = options.span();
    let fields = quote_spanned!(options_span=> <#options as rt::PassOptions>::FIELDS);
    let item = match &source {
        Source::Function(function) => quote!(#function),
        Source::Rules(item) => quote!(#item),
    };
    Ok(quote! {
        #item

        #(#names)*

        const _: () = {
            use ::relais_plugin_api as api;
            use api::__private as rt;

            const THIS_SPEC: rt::PassSpec = rt::PassSpec {
                name: #name,
                aliases: &[#(#aliases),*],
                level: rt::Level::#level,
                opt_level: #opt_level,
                required: &[#(#required),*],
                ops: &[#(#ops),*],
                members: &[#(#members),*],
                doc: #doc,
                flags: 0 #serial #types #begins,
                extends: #extends,
                before: &[#(#before),*],
                after: &[#(#after),*],
                phase: rt::Phase::#phase,
                runtime: #runtime,
                target: #target,
                changes_interface: #changes_interface,
                statistics: &[#(#statistics),*],
                rules: #rules,
                samples: &[#(#samples),*],
                preserves: &[#(#preserves),*],
                options: #fields,
            };

            #parsed
            #of_values

            struct ThisPass;

            #[allow(unused_variables)]
            impl rt::PassImpl for ThisPass {
                type Options = #options;
                const SPEC: &'static rt::PassSpec = &THIS_SPEC;

                #body

                #check

                #begin

                #end
            }

            #register
        };
    })
}
