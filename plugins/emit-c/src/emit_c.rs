//! Writes the loop programs of a module as standalone C99.
//!
//! ```text
//! prim @main(%x: Tensor[(4), float32]) -> (%y: Tensor[(4), float32]) { … }
//! ```
//! becomes `model.c` with the function
//! ```c
//! int model_run(const float x[4], float y[4], void *arena);
//! ```
//! and `model.h`, which declares it. The pass changes nothing in the module; what runs it writes the files. All functions of
//! the module are loop programs then: `LowerOps` and `LowerMain` make them of graphs.
//!
//! The code needs a C99 compiler and `math.h`, and nothing else: it allocates nothing, and constants are arrays. Memory that
//! `PlanMemory` gave an offset is in the arena, which the caller provides; other memory is on the stack. The result is 0,
//! or says why the program stopped: a pointer is null, an index is outside the memory, an integer is divided by zero, an
//! `assert` does not hold.
//!
//! The C computes the same as the interpreter, bit for bit where no function of `math.h` is called, if the compiler
//! follows IEEE 754: `-std=c99 -ffp-contract=off`, and never `-ffast-math`. `-fno-math-errno -fno-trapping-math` make it faster
//! and change nothing else. A float that is cast to an integer type that does not hold it is 0.
//!
//! Integers wrap: where that cannot be excluded, they are computed in unsigned types. Indices that depend on data are
//! checked before each access, unless they are proven to be inside; the others are the same in each run.
//!
//! Vectors are computed in loops over their lanes, with as many operations in one as can be computed lane by lane, which compilers
//! make vectors of; a vector that is needed elsewhere is an array. Floats of 16 bits are not written.

use crate::{
    body::Written,
    driver,
    globals::Globals,
    names::{LONGEST_NAME, Names, c_type, identifier},
    program::{Checked, Program, sizes, unsupported},
    writer::Writer,
};
use relais_plugin_api::{
    ir::AttrValue,
    prelude::*,
    prim::{ARENA_ALIGNMENT, ORIGINS, checked_arena, n_outputs, remove_unused},
    text::display_type,
};
use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write,
};

config_option! { "build.name": String, default = "model", doc = "How the files of `relais build` and what they define are named." }
config_option! { "build.weights": bool, default = false, doc = "Whether weights are in a file that the caller loads, rather than in arrays." }
config_option! { "build.bench": bool, default = false, doc = "Whether a program that times the model is written, too." }
config_option! { "build.main": bool, default = false, doc = "Whether a program that runs the model on npy files is written, too." }

/// The entry function.
const MAIN: &str = "main";
/// The headers that are included, which one of the same name would hide.
const HEADERS: [&str; 8] = ["math", "stdbool", "stddef", "stdint", "stdio", "stdlib", "string", "time"];
/// Why a program stops, in the order of the numbers.
const STATUS: [(&str, &str); 4] = [
    ("NULL_POINTER", "an argument is null"),
    ("OUT_OF_BOUNDS", "an index is outside the memory"),
    ("DIVISION_BY_ZERO", "an integer is divided by zero"),
    ("ASSERTION", "an assertion does not hold"),
];

/// Options of [`emit_c`].
#[derive(PassOptions)]
pub struct Options {
    /// Which indices are checked before each access, as far as they are not proven to be inside the memory.
    #[option(default = "data")]
    bounds: Checked,
    /// The most bytes of memory that a function may have on the stack.
    #[option(default = 262144, range = 0..)]
    stack: i64,
}

/// Writes the loop programs of a module as standalone C99.
#[module_pass(name = "relais.EmitC", opt_level = 0, phase = "none", check = has_name)]
pub fn emit_c(module: &mut IRModule, cx: &PassCx<'_>, options: &Options) -> Result<(), PassError> {
    let name = name(cx)?;
    let has_weights = cx.config("build.weights")? == Some(true);
    let mut globals = Globals::new(&name, has_weights);
    let mut program = Program::new(module, &name, options, has_weights)?;
    let foreign = program.foreign_elements();
    if !foreign.is_empty() {
        foreign.into_iter().for_each(|fault| cx.diagnostic(fault));
        return Ok(());
    }
    for (file, text) in program.write(&mut globals)? {
        cx.file(&file, text.as_bytes())?;
    }
    if let Some(weights) = globals.weights() {
        cx.file(&format!("{name}.bin"), weights)?;
    }
    if cx.config("build.main")? == Some(true) {
        cx.file(&format!("{name}_main.c"), driver::program(entry(module)?, &name, has_weights)?.as_bytes())?;
    }
    if cx.config("build.bench")? == Some(true) {
        cx.file(&format!("{name}_bench.c"), driver::bench(entry(module)?, &name, has_weights)?.as_bytes())?;
    }
    Ok(())
}

/// Returns an error if the program has no name that C allows, before anything is done.
fn has_name(_module: &IRModule, cx: &PassCx<'_>, _options: &Options) -> Result<(), PassError> {
    name(cx).map(drop)
}

/// The name of the program.
fn name(cx: &PassCx<'_>) -> Result<String, PassError> {
    let name = cx.config::<String>("build.name")?.unwrap_or_else(|| "model".to_owned());
    if name.len() > LONGEST_NAME {
        return Err(PassError::new(format_args!("`{name}` is too long a name"))
            .code("C002")
            .help(format_args!("name the file by at most {LONGEST_NAME} letters")));
    }
    if identifier(&name) != name {
        return Err(PassError::new(format_args!("`{name}` is not an identifier of C"))
            .code("C002")
            .help("name the file by letters, digits and `_`, beginning with a letter"));
    }
    match HEADERS.contains(&&*name) {
        true => Err(PassError::new(format_args!("`{name}.h` is a header of C"))
            .code("C004")
            .help("name the file otherwise")),
        false => Ok(name),
    }
}

/// The entry function.
fn entry(module: &IRModule) -> Result<&Function, PassError> {
    let main = module.global(MAIN).and_then(|main| main.prim_func());
    main.map(|main| &**main).ok_or_else(|| {
        PassError::new("the module has no loop program `@main`")
            .code("C003")
            .help("run `LowerOps` and `LowerMain` before")
    })
}

impl<'m> Program<'m> {
    fn new(module: &IRModule, name: &'m str, options: &Options, has_weights: bool) -> Result<Self, PassError> {
        let main = entry(module)?;
        let mut functions = Vec::new();
        for name in callees_first(module)? {
            let Some(f) = module.global(&name).and_then(|global| global.prim_func()) else { continue };
            let mut edit = Editor::new(f.clone());
            remove_unused(&mut edit);
            functions.push((name, Function::clone(&edit.into_function())));
        }
        let arena = checked_arena(main).map_err(|error| error.in_function(MAIN))?;
        let (checked, most_stack) = (options.bounds, u64::try_from(options.stack).unwrap_or(0));
        Ok(Self { functions, name, checked, most_stack, written: HashMap::new(), arena, has_weights })
    }

    /// The errors about elements of types that C does not have, one for each type.
    fn foreign_elements(&self) -> Vec<Diagnostic> {
        // By type: the first place, and the names of what has such elements.
        let mut found: BTreeMap<String, (&str, NodeId, Vec<String>)> = BTreeMap::new();
        for (name, f) in &self.functions {
            let regions = f.all_bindings().flat_map(|id| f.regions(id).iter().flat_map(|&region| f.operands(region)));
            let all = f.params().iter().chain(regions).copied().chain(f.all_bindings());
            for id in all {
                let Some(elem) = f.type_of(id).elem().filter(|&elem| c_type(elem).is_none()) else { continue };
                let shown = match (name == MAIN, f.name(id)) {
                    (true, "") => continue,
                    (true, value) => format!("`{}`", comment(value)),
                    (false, _) => origins(f).map_or_else(|| format!("`@{name}`"), |names| format!("`{names}`")),
                };
                let (.., names) = found.entry(elem.to_string()).or_insert_with(|| (name, id, Vec::new()));
                if !names.contains(&shown) {
                    names.push(shown);
                }
            }
        }
        let fault = |(elem, (function, id, names)): (String, (&str, NodeId, Vec<String>))| {
            let more = if names.len() > 8 { format!(" and {} more", names.len() - 8) } else { String::new() };
            let shown = names.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
            Diagnostic::error(format_args!("C has no numbers of the type {elem}, which there are in {shown}{more}"))
                .code("C005")
                .at(id)
                .in_function(function)
        };
        found.into_iter().map(fault).collect()
    }

    /// Writes the files.
    fn write(&mut self, globals: &mut Globals) -> Result<[(String, String); 2], PassError> {
        let mut text = String::new();
        let mut header = String::new();
        for (name, f) in std::mem::take(&mut self.functions) {
            let in_function = |error: PassError| error.in_function(&name);
            let is_main = name == MAIN;
            let Written { body, params, stops } = Writer::write(self, &f, globals, is_main).map_err(in_function)?;
            let c_name = match is_main {
                true => format!("{}_run", self.name),
                false => globals.name(&name),
            };
            let declared = parameters(&f, &params, is_main).map_err(in_function)?;
            let status = if body.contains("status = ") { "    int status;\n" } else { "" };
            if is_main {
                let weights = if self.has_weights { ", const void *weights" } else { "" };
                let prototype = format!("int {c_name}({declared}, void *arena{weights})");
                let checks = self.checks(&params);
                header = self.header(&f, &prototype, globals).map_err(in_function)?;
                writeln!(text, "\n{prototype} {{\n{status}{checks}{body}    return 0;\n}}").map_err(PassError::new)?;
            } else {
                let result = if stops { "int" } else { "void" };
                let origin = origins(&f).map_or_else(String::new, |names| format!("/* {names} */\n"));
                let end = if stops { "    return 0;\n" } else { "" };
                writeln!(text, "\n{origin}static {result} {c_name}({declared}) {{\n{status}{body}{end}}}")
                    .map_err(PassError::new)?;
            }
            self.written.insert(name, (c_name, stops));
        }
        let helpers: String = globals.helpers.definitions().collect();
        let arrays = globals.arrays();
        let name = self.name;
        let source = format!(
            "/* `{name}`, written by Relais: do not edit. C99; build with -std=c99 -O3 -ffp-contract=off. */\n\
             #include \"{name}.h\"\n\n#include <math.h>\n#include <stddef.h>\n#include <string.h>\n\n{helpers}\n{arrays}{text}"
        );
        Ok([(format!("{name}.c"), source), (format!("{name}.h"), header)])
    }

    /// The first statements of the entry function.
    fn checks(&self, params: &[String]) -> String {
        let mut null: Vec<String> = params.iter().map(|param| format!("!{param}")).collect();
        let mut text = String::new();
        if self.arena > 0 {
            null.push("!arena".to_owned());
        } else {
            text += "    (void)arena;\n";
        }
        if self.has_weights {
            null.push("!weights".to_owned());
        }
        if !null.is_empty() {
            text += &format!("    if ({}) return {};\n", null.join(" || "), self.status(STATUS[0].0));
        }
        text
    }

    fn header(&self, main: &Function, prototype: &str, globals: &Globals) -> Result<String, PassError> {
        let (name, upper) = (self.name, self.upper());
        let mut out =
            format!("/* `{name}`, written by Relais: do not edit. */\n#ifndef {upper}_H\n#define {upper}_H\n\n");
        out += "#include <stdbool.h>\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
        out += "/* The memory that a run needs beside its arguments. */\n";
        out += &format!(
            "#define {upper}_ARENA_BYTES {}u\n#define {upper}_ARENA_ALIGNMENT {ARENA_ALIGNMENT}u\n\n",
            // C has no arrays without elements, and programs declare one of this size.
            self.arena.max(1)
        );
        if let Some(weights) = globals.weights() {
            out += &format!(
                "/* What `{name}.bin` holds, in little-endian order, for an address that is a multiple of 8. */\n"
            );
            out += &format!("#define {upper}_WEIGHTS_BYTES {}u\n\n", weights.len());
        }
        out += "/* The elements of inputs and outputs. */\n";
        let mut about = String::new();
        let first_output = main.params().len() - n_outputs(main);
        let mut names = Names::default();
        for (at, &param) in main.params().iter().enumerate() {
            let count: u64 = sizes(main, param)?.iter().product();
            let macro_name =
                names.give(&format!("{upper}_{}_COUNT", identifier(main.name(param)).to_ascii_uppercase()));
            out += &format!("#define {macro_name} {count}u\n");
            let what = if at < first_output { "input" } else { "output" };
            let ty = display_type(main, main.type_id(param)).to_string();
            about += &format!(" * {what} {}: {}\n", comment(main.name(param)), comment(&ty));
        }
        out += "\n/* Why a run stopped; 0 if it did not. */\n";
        for (at, (status, what)) in STATUS.iter().enumerate() {
            out += &format!("#define {upper}_{status} {} /* {what} */\n", at + 1);
        }
        out += &format!(
            "\n/* Runs the model: returns 0, or one of the numbers above. Inputs, outputs and the \
             arena do not overlap.\n * Calls may run at the same time if each has an arena.\n *\n{about} */\n{prototype};\n"
        );
        out += "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
        Ok(out)
    }
}

/// A text that does not end a comment.
fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *").replace(|c: char| c.is_control(), " ")
}

/// The names of the values that a kernel computes.
fn origins(f: &Function) -> Option<String> {
    let AttrValue::Strings(names) = f.attrs(f.root()).meta(ORIGINS)? else { return None };
    let names: Vec<String> = names.strings().map(|name| comment(&String::from_utf8_lossy(name))).collect();
    let shown = names.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
    Some(if names.len() > 8 { format!("{shown} and {} more", names.len() - 8) } else { shown })
}

/// The parameters of a function as C declares them.
fn parameters(f: &Function, names: &[String], is_main: bool) -> Result<String, PassError> {
    let first_output = f.params().len() - n_outputs(f);
    let mut all = Vec::new();
    for (at, (&param, name)) in f.params().iter().zip(names).enumerate() {
        let elem = f.type_of(param).elem().unwrap_or(ElemType::UNKNOWN);
        let ty = c_type(elem).ok_or_else(|| unsupported(param, format_args!("C has no numbers of the type {elem}")))?;
        let constant = if at < first_output { "const " } else { "" };
        let count = sizes(f, param)?.iter().product::<u64>().max(1);
        // Callers in C++ do not know `restrict`.
        all.push(match is_main {
            true => format!("{constant}{ty} {name}[{count}]"),
            false => format!("{constant}{ty} *restrict {name}"),
        });
    }
    Ok(all.join(", "))
}

/// The loop programs that the entry function calls, and itself: each after those that it calls.
fn callees_first(module: &IRModule) -> Result<Vec<String>, PassError> {
    let mut order = Vec::new();
    // By function: whether it comes after all that it calls.
    let mut state: BTreeMap<String, bool> = BTreeMap::new();
    let mut open = vec![(MAIN.to_owned(), false)];
    while let Some((name, is_done)) = open.pop() {
        if is_done {
            state.insert(name.clone(), true);
            order.push(name);
            continue;
        }
        if let Some(&is_done) = state.get(&name) {
            if is_done {
                continue;
            }
            return Err(PassError::new(format_args!("`@{name}` calls itself")).code("C003"));
        }
        state.insert(name.clone(), false);
        open.push((name.clone(), true));
        let Some(f) = module.global(&name).and_then(|global| global.prim_func()) else { continue };
        let callees = f.all_bindings().filter_map(|id| match f.expr(f.call(id)?.callee()) {
            Expr::GlobalVar(callee) if state.get(callee) != Some(&true) => Some((callee.to_owned(), false)),
            _ => None,
        });
        // In the order of the calls.
        open.extend(callees.collect::<Vec<_>>().into_iter().rev());
    }
    Ok(order)
}
