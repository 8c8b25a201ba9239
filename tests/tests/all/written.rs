//! A model that is written loads (rule C10): the checker of `onnx` accepts it, and onnxruntime loads it where it has the
//! operators. `models.rs` demands it of models that were read.

use relais::{
    manager::{self, ManagerOptions},
    onnx::{self, ExternalData, ReadOptions, WriteOptions},
    pipeline::{Disk, PipelineSpec},
    registry::{Linked, Registry},
};
use relais_conformance::{bench, sensible_modules, wild_modules};
use relais_plugin_api::{
    boundary::local,
    build::check_made,
    infer::TypeRelations,
    ir::{Function, IRModule, MAIN, NodeId, Type},
    options::Value,
    text,
};
use relais_tests::{
    cli::{Run, command, files, folder},
    filetest::cases,
    page::{self, find},
    venv::{judge, judge_tests, models, share},
};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Modules that are written into a folder, to be judged together.
struct Written {
    folder: PathBuf,
    n_written: usize,
    refused: Vec<String>,
}

impl Written {
    fn into(name: &str) -> Self {
        Self { folder: folder(name), n_written: 0, refused: Vec::new() }
    }

    fn add(&mut self, name: &str, module: &IRModule) {
        let file = self.folder.join(format!("{}.onnx", name.replace(['/', '.'], "-")));
        let options = WriteOptions::default().with_external_data(ExternalData::Inline);
        match onnx::write(module, &file, &options) {
            Ok(_) => self.n_written += 1,
            Err(error) => self.refused.push(format!("{name}: {error}")),
        }
    }

    /// Judges them. Modules that ONNX cannot express are refused; at least `least` must be written.
    #[track_caller]
    fn judge(self, least: usize, arguments: &[&str]) {
        let Self { folder, n_written, refused } = self;
        println!("{n_written} written, {} refused\n{}", refused.len(), refused.join("\n"));
        assert!(n_written >= least, "{n_written} written, {} refused", refused.len());
        println!("{}", judge(["written", folder.to_str().unwrap()].iter().chain(arguments)));
    }
}

/// Cases whose modules do not load as they are, and why.
const APART: &[(&str, &str)] = &[
    ("BackwardFoldScaleAxis/n03_batch_norm", "parameters that do not fit, on purpose"),
    ("BackwardFoldScaleAxis/training_mode", "too few results, on purpose"),
    ("CastLikeToCast/known", "onnxruntime has no kernel for these types"),
    ("CastLikeToCast/unknown", "an input has no type, on purpose"),
    ("FoldConstant/integer_division_by_zero_stays", "a division by zero, on purpose"),
    ("FoldConstant/more_results_than_there_are", "too many results, on purpose"),
    ("FoldConstant/split_in_too_few_parts", "too few parts, on purpose"),
    ("Inline/bodies_of_calls_that_are_not_known", "an input has no type, on purpose"),
    ("Inline/other_operator_set", "operator sets that differ, on purpose"),
    ("SimplifyInference/calls_that_are_wrong", "calls that no operator takes, on purpose"),
    ("SimplifyInference/element_types", "an input has no type, on purpose"),
    ("SimplifyInference/group_normalization_of_version_18", "the checker refuses the operator in this version"),
    ("SimplifyInference/mean_variance_normalization_in_half_precision", "onnxruntime takes it in `float32` only"),
    ("SimplifyInference/parameters_that_do_not_fit", "parameters that do not fit, on purpose"),
    ("SimplifyTranspose/contradicting", "orders of axes that no value has, on purpose"),
    ("ToMixedPrecision/bfloat16", "onnxruntime has no kernel for these types"),
    ("ToMixedPrecision/bfloat16_before_it_had_it", "onnxruntime has no kernel for these types"),
    ("ToMixedPrecision/bfloat16_of_later_versions", "onnxruntime has no kernel for these types"),
    ("ToMixedPrecision/conditional_before_it_had_bfloat16", "onnxruntime has no kernel for these types"),
];

/// With the types that a run finds: once more than functions are nested, as the results of functions are known first.
fn typed(module: IRModule) -> IRModule {
    (0..3).fold(module, |module, _| {
        local::run("InferType", &Value::Struct(Vec::new()), &module).map_or(module, |run| run.module)
    })
}

#[test]
fn c10_every_filetest_that_is_written_passes_the_checker_and_loads() {
    let mut written = Written::into("written");
    let cases = cases();
    let gone: Vec<&str> = APART.iter().map(|(name, _)| *name).filter(|name| !cases.contains_key(*name)).collect();
    assert!(gone.is_empty(), "{gone:?}");
    for (name, file) in cases {
        if APART.iter().any(|(apart, _)| *apart == name) {
            continue;
        }
        let case = file.read().unwrap();
        let texts = [("before", Some(case.input)), ("after", case.expected)];
        for (when, source) in texts.into_iter().filter_map(|(when, source)| Some((when, source?))) {
            let Ok(module) = text::parse_str(&source) else { continue };
            written.add(&format!("{name}-{when}"), &typed(module));
        }
    }
    written.judge(130, &[]);
}

/// Whether each call is one that its operator takes, and has arguments of its types.
fn is_sound(module: &IRModule) -> bool {
    let strict = Value::Struct(vec![("strict".into(), Value::Bool(true))]);
    if local::run("InferType", &strict, module).is_err() {
        return false;
    }
    let takes = |ops: &mut dyn TypeRelations, f: &Function, id| match f.call(id).and_then(|call| call.op()) {
        Some(op) => {
            ops.version(f, op);
            check_made(f, ops, id, op).is_ok()
        }
        None => true,
    };
    module.functions().all(|(_, f)| local::with_ops(f, |ops| f.all_bindings().all(|id| takes(ops, f, id))))
}

#[test]
fn c10_random_modules_pass_the_checker_and_load_before_and_after_the_default_pipeline() {
    let registry = Registry::new(Default::default(), Linked::Include, &Default::default());
    let steps = "steps = [{ include = \"builtin:default\" }]";
    let default = PipelineSpec::parse("default.toml", steps, &Disk).unwrap().resolve(&registry).unwrap();
    let add = |written: &mut Written, name: &str, module: IRModule| {
        written.add(&format!("{name}-before"), &module);
        match manager::run(&default, &module, &registry, &ManagerOptions::default()) {
            Ok((after, _)) => written.add(&format!("{name}-after"), &after),
            Err(error) => written.refused.push(format!("{name}: pipeline: {error}")),
        }
    };
    let mut written = Written::into("written-random");
    let sensible = sensible_modules(&bench::LinkedItems, 1, share(800)).map(typed).enumerate();
    sensible.filter(|(_, module)| is_sound(module)).for_each(|(at, module)| add(&mut written, &at.to_string(), module));
    written.judge(share(160), &["--random"]);
    let mut written = Written::into("written-wild");
    wild_modules(1, share(1500))
        .map(typed)
        .enumerate()
        .for_each(|(at, module)| add(&mut written, &at.to_string(), module));
    written.judge(share(50), &["--random", "--read"]);
}

/// The pages of blocks that cannot be parsed as they are, and why.
const PARTS: &[(&str, &str)] = &[
    ("docs/running.md", "what `PrintIR` says is a message around a program"),
    ("docs/passes/InferType.md", "the beginning of a program"),
    ("docs/passes/InferType.md", "the beginning of a program"),
    ("docs/passes/Inline.md", "a body is left out"),
    ("docs/passes/LowerOps.md", "the body of a loop program is left out"),
    ("docs/passes/PrintIR.md", "what `PrintIR` says is a message around a program"),
    ("docs/passes/RemoveUnusedFunctions.md", "bodies are left out"),
];

#[test]
fn c10_the_programs_of_the_pages_pass_the_checker_and_load() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    find(root, "md", &mut found);
    find(&root.join("docs/passes"), "md", &mut found);
    find(&root.join("docs/examples"), "relay", &mut found);
    let mut written = Written::into("written-pages");
    let mut unparsed = Vec::new();
    for file in found {
        let name = file.strip_prefix(root).unwrap().to_str().unwrap();
        let source = fs::read_to_string(&file).unwrap();
        let programs = if name.ends_with(".md") { programs(source.leak()) } else { vec![(1, source)] };
        for (line, program) in programs {
            match text::parse_str(&program) {
                Ok(module) => written.add(&format!("{name}-{line}"), &typed(module)),
                Err(_) => unparsed.push(name.to_owned()),
            }
        }
    }
    assert_eq!(unparsed, PARTS.iter().map(|(page, _)| *page).collect::<Vec<_>>());
    written.judge(14, &[]);
}

/// The programs among the blocks of a page, and among what commands print, with their lines.
fn programs(page: &'static str) -> Vec<(usize, String)> {
    let mut programs = Vec::new();
    for block in page::blocks("", page) {
        let texts = match block.language {
            "console" => page::commands(&block).into_iter().map(|(_, output)| output.to_owned()).collect(),
            "text" => vec![block.text.clone()],
            _ => Vec::new(),
        };
        let is_program = |text: &String| text.lines().any(|line| line.starts_with("def @"));
        programs.extend(texts.into_iter().filter(is_program).map(|text| (block.line, text)));
    }
    programs
}

#[test]
fn c10_what_never_was_a_model_passes_the_checker_and_loads() {
    let mut written = Written::into("written-new");
    // As deep as protobuf reads.
    let deep = (0..31).fold("Relu(%x)".to_owned(), |inner, _| format!("if (%c) {{ {inner} }} else {{ Neg(%x) }}"));
    let deep = format!("{{ {deep} }}");
    for (at, body) in NEW.iter().copied().chain([deep.as_str()]).enumerate() {
        let source =
            format!("def @main(%x: Tensor[(2), float32], %c: Tensor[(), bool]) #[opset = {{\"\": 17}}] {body}");
        written.add(&at.to_string(), &typed(text::parse_str(&source).unwrap()));
    }
    written.judge(NEW.len() + 1, &[]);
}

/// Functions of a module's own, domains that are not imported, values without names.
const NEW: &[&str] = &[
    "{ @double(%x) } def @double(%v) { Add(%v, %v) }",
    "{ @same(%x) } def @same(%v) { %v }",
    "{ (%1, %2) = @both(%x); (%1, %2) } def @both(%v) { %3 = Relu(%v); (%3, %3) }",
    "{ @outer(%x) } def @outer(%v) { @inner(%v) } def @inner(%v) { Mul(%v, [1.0, 2.0]) }",
    "{ if (%c) { @double(%x) } else { %x } } def @double(%v) { Add(%v, %v) }",
    "{ @choice(%x, %c) } def @choice(%v, %c) { if (%c) { %v } else { Neg(%v) } }",
    "{ @\"my::f:first\"(%x) } def @\"my::f:first\"(%v) { Relu(%v) }",
    "{ @gelu(%x) } def @gelu(%v) { com.microsoft::Gelu(%v) }",
    "{ %1 = com.microsoft::Gelu(%x); acme::Fused(%1) }",
    "{ if (%c) { com.microsoft::Gelu(%x) } else { com.microsoft::Gelu(%x) } }",
    "{ %1 = Relu(%x); (%1, %1, %x) }",
    "{ (%1, _) = Split(%x, axis = 0); %2 = Clip(%1, _, 1.0); (%2, %1) }",
    "{ [1.0, 2.0] }",
];

#[test]
fn c10_models_that_were_read_load_with_a_function_that_a_pass_added() {
    let added = text::parse_str("def @added(%v) { Identity(%v) }").unwrap().function("added").unwrap().clone();
    let mut written = Written::into("written-added");
    for kind in ["light", "node"] {
        let folder = models().folder.join(kind);
        for name in files(&folder).into_iter().step_by(1800 / share(1800)) {
            let model = folder.join(&name).join("model.onnx");
            let mut module = onnx::read(&model, &ReadOptions::default()).unwrap();
            let f = module.function_mut(MAIN).unwrap();
            let mut results = f.results(f.body()).to_vec();
            // The first `Identity` takes tensors only, and onnxruntime has none for elements of less than a byte.
            let is_taken = |&id: &NodeId| matches!(f.type_of(id), Type::Tensor { elem, .. } if elem.bits() >= 8);
            let Some(output) = results.first().copied().filter(is_taken) else { continue };
            let callee = f.add_global_var("added");
            let call = f.add_call_with(callee, &[output], &[], None);
            f.set_type(call, f.type_id(output));
            f.append(f.body(), call);
            results[0] = call;
            f.set_results(f.body(), &results);
            module.set_function("added", added.clone());
            written.add(&format!("{name}-after"), &module);
            fs::copy(model, written.folder.join(format!("{name}-before.onnx"))).unwrap();
        }
    }
    written.judge(share(1700), &["--read"]);
}

/// Those that take little time; `.ci/full judge` runs all.
#[test]
fn the_judge_is_right_about_values_and_inputs() {
    judge_tests(&["test_made", "test_pool", "test_real", "test_values"]);
}

#[test]
fn c10_the_judge_catches_what_does_not_load() {
    let where_nothing_is_run = "test_sound.SoundTest.test_what_does_not_load_is_caught_where_nothing_is_run";
    judge_tests(&["test_written", where_nothing_is_run]);
}

#[test]
fn c10_a_tensor_that_no_file_holds_is_refused() {
    let here = folder("written-endless");
    let model = "#[ir_version = 9]\ndef @main(%x: Tensor[(1), float32]) -> (%y) #[opset = {\"\": 18}] {\n  %k = splat(float32, (4611686018427387904), 0.5) #[form = initializer];\n  %s = Shape(%k);\n  %y = Cast(%s, to = 1);\n  %y\n}\n";
    fs::write(here.join("m.relay"), model).unwrap();
    let mut relais = command();
    let run =
        Run::of(relais.current_dir(&here).args(["-q", "run", "m.relay", "-o", "m.onnx", "--passes", "InferType"]));
    let run = run.expect_failure();
    assert!(run.stderr.contains("ONNX cannot express a tensor of 2^63 bytes or more"), "{}", run.stderr);
    assert_eq!(files(&here), ["m.relay"]);
}
