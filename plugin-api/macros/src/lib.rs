//! The macros of `relais-plugin-api`. Use them through its prelude; no crate needs to name this one.
//!
//! # Modules
//!
//! Each uses only those listed before it; one that is not listed is used by no other.
//!
//! 1. `register`: the registration of one item: its record in the file, and its constructor
//! 2. `values`: the values of the keys that attributes and macros take
//! 3. `pass`: the attributes that make a pass of a function
//! 4. `instrument`: the attribute that makes an instrument of an `impl Instrument for …`
//! 5. `analysis`: the attribute that makes an analysis of an `impl Analysis for …`
//! 6. `options`: `#[derive(PassOptions)]` and `config_option!`
//! 7. `plugin`: `plugin!`, `operators!`, `additions!`, `evaluators!` and `pipeline!`

mod analysis;
mod instrument;
mod options;
mod pass;
mod plugin;
mod register;
mod values;

use proc_macro::TokenStream;

/// Makes the crate a plugin: `plugin! { description = "what it has" }`. Name, version and licence are the package's.
#[proc_macro]
pub fn plugin(input: TokenStream) -> TokenStream {
    finish(plugin::plugin(input.into()))
}

/// Registers operators: `operators! { TABLE }`, with an expression of type `&'static [Operator]` that is constant.
#[proc_macro]
pub fn operators(input: TokenStream) -> TokenStream {
    finish(plugin::table(input.into(), "Operators", "Operator"))
}

/// Registers evaluators for operators that another plugin describes: `evaluators! { TABLE }`, with an expression of
/// type `&'static [Evaluator]` that is constant.
#[proc_macro]
pub fn evaluators(input: TokenStream) -> TokenStream {
    finish(plugin::table(input.into(), "Evaluators", "Evaluator"))
}

/// Registers what the plugin adds to operators that other plugins describe, kernels or layouts, say: `additions! { TABLE }`,
/// with an expression of type `&'static [Addition]` that is constant.
#[proc_macro]
pub fn additions(input: TokenStream) -> TokenStream {
    finish(plugin::table(input.into(), "Additions", "Addition"))
}

/// Registers an option of the context: `config_option! { "acme.max_depth": i64, default = 3, range = 0..=10, doc = "…" }`.
/// With `aliases = ["other.max_depth"]`, other keys set it, too.
#[proc_macro]
pub fn config_option(input: TokenStream) -> TokenStream {
    finish(options::config_option(input.into()))
}

/// Registers a pipeline: `pipeline! { name = "acme.tidy", toml = include_str!("tidy.toml") }`. The pipeline is TOML, as
/// in a pipeline's file, and is stored in the plugin's records: it is read without opening the plugin.
#[proc_macro]
pub fn pipeline(input: TokenStream) -> TokenStream {
    finish(plugin::pipeline(input.into()))
}

/// Makes a pass of `fn(CallView<'_>, &mut RewriteCx<'_>) -> Rewrite`; a third parameter `&Options` takes options.
///
/// `#[rewrite_pass(name = "acme.ReluRelu", opt_level = 1, required = ["relais.InferType"], ops = ["Relu"])]`
///
/// With `level = "prim"` it rewrites values of loop programs: the calls of operators such as `ops = ["tir::exp"]`, which
/// compute values from values. Statements and memory are for [`macro@prim_func_pass`].
///
/// `extends = "after-simplify"`, in this attribute and the other four, adds the pass at the extension point of that
/// name in every pipeline that has it, `before = ["acme.Other"]` and `after = […]` others that are added there. `phase` sets when it runs among all passes of a level (`passes = "level<=3"`):
/// in `"types"`, `"folding"`, `"rewrites"` (the default) or `"clean-up"`, or with `"none"` never.
#[proc_macro_attribute]
pub fn rewrite_pass(args: TokenStream, item: TokenStream) -> TokenStream {
    finish(pass::pass(pass::Level::Rewrite, args.into(), item.into()))
}

/// Makes a pass of rules: of `const NAME: &str = "Neg(Neg(x)) => x";`, a text in the language of `docs/patterns.md`.
///
/// `#[rule_pass(name = "acme.NegNeg", opt_level = 1)]`
///
/// Syntax and variables are checked when the text is compiled, if it is a literal, operators and their attributes
/// before the first pass of a run. All rules share one matcher; `relais list rules` shows them. Unless `required` says
/// otherwise, types are inferred first.
///
/// Rules whose operators are of the domain `tir` rewrite values of loop programs. Where the text is not a literal,
/// `level = "prim"` says so.
///
/// `conditions = [is_even]` gives functions `fn(&Matched<'_>, &RewriteCx<'_>) -> Result<(), Unmet>` that the rules
/// can name as conditions. `samples(halve = include_str!("halve.relay"))` gives modules on which the rule `halve`
/// matches, or a list of them, for the conformance kit.
#[proc_macro_attribute]
pub fn rule_pass(args: TokenStream, item: TokenStream) -> TokenStream {
    finish(pass::pass(pass::Level::Rules, args.into(), item.into()))
}

/// Makes a pass of `fn(&mut Editor, &PassCx<'_>) -> Result<(), PassError>`; a third parameter `&Options` takes
/// options. The function counts as changed when the editor was written.
///
/// `#[function_pass(name = "acme.Fold", aliases = ["acme.Folding"], opt_level = 2, parallel = false)]`
///
/// `statistics(folded = "calls folded")` declares what `cx.count("folded", 1)` counts.
///
/// `establishes = "types"` declares that the pass only infers types: the host keeps types up to date after every later
/// pass, so that it need not run again where it is required.
///
/// `begin = prepare` names a function `fn(&IRModule, &PassCx<'_>) -> Result<State, PassError>` that is called before the
/// first function of a module; the pass then takes a parameter `&State` before its options. `end = conclude` names a
/// `fn(State, &IRModule, &PassCx<'_>) -> Result<(), PassError>` that is called after the last one, with the module that
/// the pass has made, unless it failed. Both take the options, too, if the pass does.
///
/// `preserves = ["structure"]`, or names of analyses, declares which results hold for the functions that it changed.
#[proc_macro_attribute]
pub fn function_pass(args: TokenStream, item: TokenStream) -> TokenStream {
    finish(pass::pass(pass::Level::Function, args.into(), item.into()))
}

/// Makes a pass of `fn(&mut IRModule, &PassCx<'_>) -> Result<(), PassError>`; a third parameter `&Options` takes
/// options.
#[proc_macro_attribute]
pub fn module_pass(args: TokenStream, item: TokenStream) -> TokenStream {
    finish(pass::pass(pass::Level::Module, args.into(), item.into()))
}

/// Makes a pass over prim funcs of `fn(&mut Editor, &PassCx<'_>) -> Result<(), PassError>`; a third parameter `&Options` takes
/// options.
#[proc_macro_attribute]
pub fn prim_func_pass(args: TokenStream, item: TokenStream) -> TokenStream {
    finish(pass::pass(pass::Level::PrimFunc, args.into(), item.into()))
}

/// Makes a pass that runs others: of `fn() -> Vec<Step>` (a parameter `&Options` takes options), or, with
/// `passes = ["A", "B"]`, of an empty `fn()`.
#[proc_macro_attribute]
pub fn sequential_pass(args: TokenStream, item: TokenStream) -> TokenStream {
    finish(pass::pass(pass::Level::Sequential, args.into(), item.into()))
}

/// Makes an instrument of an `impl Instrument for MyType`: `#[instrument(name = "acme.Counter")]`. `type Options` and
/// `new` may be left out of a type that is `Default`; documentation comments on the `impl` are the instrument's.
#[proc_macro_attribute]
pub fn instrument(args: TokenStream, item: TokenStream) -> TokenStream {
    finish(instrument::instrument(args.into(), item.into()))
}

/// Makes an analysis of an `impl Analysis for MyType`: `#[analysis(name = "acme.Depth", depends = "structure")]`. It is of
/// functions unless the `impl` says `type Of = IRModule`; documentation comments on the `impl` are the analysis's.
///
/// With `depends = "structure"`, results hold where a pass declares that it preserves the structure; without, only while
/// nothing changes. `lists(depth = "by node: how many calls are above it")` declares the lists that the function `lists`
/// returns, for everybody.
#[proc_macro_attribute]
pub fn analysis(args: TokenStream, item: TokenStream) -> TokenStream {
    finish(analysis::analysis(args.into(), item.into()))
}

/// Makes the fields of a struct options, or the variants of an enum the choices of one.
///
/// `#[option(default = 3, range = 0..=10)]` on a field; an option without a default is mandatory, unless its type is
/// `Option<_>`. `unit = "bytes"` makes an integer a number of bytes, for which users may write `"64KiB"`. Documentation
/// comments are the options' documentation. An enum's choices are its variants in snake case.
///
/// `#[options(check = function)]` on a struct names a `fn(&Options) -> Result<(), String>` (or another error that
/// converts to `PassError`) that refuses values that do not go together.
#[proc_macro_derive(PassOptions, attributes(option, options))]
pub fn pass_options(item: TokenStream) -> TokenStream {
    finish(options::derive(item.into()))
}

fn finish(result: syn::Result<proc_macro2::TokenStream>) -> TokenStream {
    result.unwrap_or_else(|error| error.into_compile_error()).into()
}
