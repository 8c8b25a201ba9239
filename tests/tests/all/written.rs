//! Modules written as ONNX load (rule C10): every module of the filetests, before its pass and after it.

use relais::onnx::{self, ExternalData, WriteOptions};
use relais_plugin_api::{boundary::local, options::Value, text};
use relais_tests::{
    cli::folder,
    filetest::{Case, find_cases},
    graph as _, operators as _,
    venv::judge,
};
use std::{fs, path::Path};

/// Cases whose modules do not load as they are, and why.
const APART: &[(&str, &str)] = &[
    ("BackwardFoldScaleAxis/n03_batch_norm", "parameters that do not fit, on purpose"),
    ("BackwardFoldScaleAxis/training_mode", "too few results, on purpose"),
    ("CastLikeToCast/known", "onnxruntime has no kernel for these types"),
    ("CastLikeToCast/unknown", "an input has no type, on purpose"),
    ("FoldConstant/integer_division_by_zero_stays", "a division by zero, on purpose"),
    ("FoldConstant/split_in_too_few_parts", "too few parts, on purpose"),
    ("Inline/other_operator_set", "operator sets that differ, on purpose"),
    ("SimplifyInference/parameters_that_do_not_fit", "parameters that do not fit, on purpose"),
];

#[test]
fn c10_every_filetest_that_is_written_passes_the_checker_and_loads() {
    let here = folder("written");
    let cases = find_cases(&Path::new(env!("CARGO_MANIFEST_DIR")).join("filetests")).unwrap();
    let gone: Vec<&str> = APART.iter().map(|(name, _)| *name).filter(|name| !cases.contains_key(*name)).collect();
    assert!(gone.is_empty(), "{gone:?}");
    let (mut n_written, mut refused) = (0, Vec::new());
    for (name, path) in cases {
        if APART.iter().any(|(apart, _)| *apart == name) {
            continue;
        }
        let case = Case::parse(name.split('/').next().unwrap(), &fs::read_to_string(path).unwrap()).unwrap();
        let texts = [("before", Some(case.input)), ("after", case.expected)];
        for (when, source) in texts.into_iter().filter_map(|(when, source)| Some((when, source?))) {
            let Ok(module) = text::parse_str(&source) else { continue };
            // With the types that a run finds.
            let typed = local::run("InferType", &Value::Struct(Vec::new()), &module);
            let module = typed.map_or(module, |run| run.module);
            let file = here.join(format!("{}-{when}.onnx", name.replace(['/', '.'], "-")));
            let options = WriteOptions::default().with_external_data(ExternalData::Inline);
            match onnx::write(&module, &file, &options) {
                Ok(_) => n_written += 1,
                Err(error) => refused.push(format!("{name}: {error}")),
            }
        }
    }
    for line in &refused {
        println!("{line}");
    }
    assert!(n_written > 100, "{n_written} written, {} refused", refused.len());
    println!("{}", judge(["written".as_ref(), here.as_os_str()]));
}
