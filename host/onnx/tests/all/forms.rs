//! Every form of names and constants, written in many ways (rule C15). `tests/mutants/run writer` judges mutants of the
//! writer by the line that is printed for each model.

mod models;

use crate::common::{Forget, TempFolder, touch_all};
use relais_onnx::{
    self as onnx, ErrorKind, ExternalData, ReadOptions, StatedTypes, WriteOptions, inline_functions, meta,
};
use relais_plugin_api::{
    ir::{Attr, AttrData, Dim, ElemType, Function, Hash64, IRModule, MAIN, ModuleAttr, NodeId, Tensor, kind},
    text,
};
use std::{fs, path::Path};

/// The names that values get, in whichever function there are such values.
const RENAMED: [(&str, &str); 10] = [
    ("a", "b"),
    ("b", "a"),
    ("s", "t"),
    ("t", "s"),
    ("w", "weights"),
    ("q", "scale"),
    ("e", "half"),
    ("u", "result"),
    ("k", "limit"),
    ("raw", "same"),
];

/// The name of a change, and the change.
type Change = (&'static str, fn(&mut IRModule));

/// The changes with which a model is written.
const CHANGES: [Change; 8] = [
    ("as read", |_| ()),
    ("touched", |module| touch_all(module, Forget::Provenance)),
    ("bare", |module| touch_all(module, Forget::Encodings)),
    ("renamed", rename),
    ("moved", move_outputs),
    ("cut", cut),
    ("edited", edit),
    ("inlined", |module| _ = inline_functions(module)),
];

fn options() -> [(&'static str, WriteOptions); 4] {
    let with = |external| WriteOptions::default().with_external_data(external);
    [
        ("default", WriteOptions::default()),
        ("external", with(ExternalData::External { min_bytes: 0 })),
        ("inline", with(ExternalData::Inline)),
        ("types", WriteOptions::default().with_stated_types(StatedTypes::Known)),
    ]
}

fn rename(module: &mut IRModule) {
    for (_, function) in module.functions_mut() {
        let mut f = Function::clone(function);
        for id in (0..f.n_nodes()).map(NodeId::from_index) {
            let new = RENAMED.iter().find(|(old, _)| *old == f.name(id)).map(|(_, new)| *new);
            if let Some(new) = new.filter(|_| f.kind(id) != kind::VAR) {
                f.set_name(id, new);
            }
        }
        *function = f.into();
    }
}

/// Makes outputs of inner values, which are written under the names of the outputs.
fn move_outputs(module: &mut IRModule) {
    for (_, function) in module.functions_mut() {
        let mut f = Function::clone(function);
        let mut results = f.results(f.body()).to_vec();
        let find = |name: &&str| f.bindings(f.body()).iter().copied().find(|&id| f.name(id) == *name);
        for (result, inner) in results.iter_mut().zip(["a", "q", "t"].iter().filter_map(find)) {
            *result = inner;
        }
        f.set_results(f.body(), &results);
        *function = f.into();
    }
}

/// The module without its first node, whose users take what it took.
fn cut(module: &mut IRModule) {
    let f = module.function_mut(MAIN).unwrap();
    let bindings = f.bindings(f.body()).to_vec();
    let results = f.results(f.body());
    let is_node = |id: &&NodeId| f.kind(**id) == kind::CALL && f.operands(**id).len() > 1 && !results.contains(id);
    let Some(&first) = bindings.iter().find(is_node) else { return };
    let instead = f.operands(first)[1];
    for id in (0..f.n_nodes()).map(NodeId::from_index).filter(|&id| id != first) {
        if f.operands(id).contains(&first) {
            f.map_operands(id, |operand| if operand == first { instead } else { operand });
        }
    }
    let others: Vec<NodeId> = bindings.into_iter().filter(|&id| id != first).collect();
    f.set_bindings(f.body(), &others);
}

/// Another version of operators, types of inputs and outputs, documentation, metadata and defaults, and inputs in another
/// order.
fn edit(module: &mut IRModule) {
    for (_, function) in module.functions_mut() {
        let mut f = Function::clone(function);
        let mut recs = f.attr_recs(f.root()).to_vec();
        if let Some(at) = recs.iter().position(|rec| f.str(rec.name) == "default:table") {
            recs[at] =
                f.encode_attr(&Attr::meta("default:table", AttrData::Tensor(Tensor::from_f32(&[2], &[8.5, 9.5]))));
        }
        f.set_attr_recs(f.root(), &recs);
        *function = f.into();
    }
    let is_kept = |attr: &ModuleAttr| !attr.name.starts_with(meta::MODEL_METADATA) && attr.name != meta::MODEL_VERSION;
    module.attrs.retain(is_kept);
    module.attrs.push(ModuleAttr::int(meta::MODEL_VERSION, 3));
    let f = module.function_mut(MAIN).unwrap();
    let imports: Vec<(String, i64)> =
        f.opset_imports().into_iter().map(|(domain, version)| (domain.to_owned(), version + 1)).collect();
    f.set_opset_imports(&imports.iter().map(|(domain, version)| (domain.as_str(), *version)).collect::<Vec<_>>());
    let ty = f.tensor_type(ElemType::FLOAT, &[Dim::Static(5), Dim::Static(2)]);
    let input = f.params()[0];
    f.set_type(input, ty);
    let reordered: Vec<NodeId> = f.params().iter().rev().copied().collect();
    f.set_params(f.root(), &reordered);
    let root = f.root();
    let mut recs = f.attr_recs(root).to_vec();
    recs.retain(|rec| f.str(rec.name) != meta::OUTPUT_TYPES && f.str(rec.name) != meta::DOC);
    let n_outputs = f.results(f.body()).len();
    recs.push(f.encode_attr(&Attr::meta(meta::OUTPUT_TYPES, AttrData::Types(vec![ty; n_outputs]))));
    f.set_attr_recs(root, &recs);
    for id in f.bindings(f.body()).to_vec() {
        let mut recs = f.attr_recs(id).to_vec();
        let n_recs = recs.len();
        recs.retain(|rec| f.str(rec.name) != meta::DOC);
        if recs.len() != n_recs {
            f.set_attr_recs(id, &recs);
        }
    }
}

/// Writes a model, and says what came of it: a number for the files that were put in place, or why there are none.
fn write(module: &IRModule, folder: &Path, options: &WriteOptions) -> Result<u64, String> {
    fs::create_dir_all(folder).unwrap();
    let written = onnx::write(module, folder.join("out.onnx"), options);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    match written {
        Ok(_) => Ok(files
            .iter()
            .fold(Hash64::new(), |hash, path| {
                hash.bytes(path.file_name().unwrap().as_encoded_bytes()).bytes(&fs::read(path).unwrap())
            })
            .finish()),
        Err(error) => match error.kind() {
            ErrorKind::ReadBack(what) if files.is_empty() => Err(format!("refused: {what}")),
            _ => Err(format!("failed: {error}, with {} files", files.len())),
        },
    }
}

#[test]
fn c15_every_form_is_written_as_it_was_meant() {
    let folder = TempFolder::new("forms");
    fs::write(folder.join("weights.bin"), models::data()).unwrap();
    let mut modules = vec![("made", text::parse_str(models::MADE).unwrap_or_else(|faults| panic!("{}", faults[0])))];
    for (name, bytes) in models::FILES {
        let path = folder.join("in.onnx");
        fs::write(&path, bytes()).unwrap();
        let read = onnx::read(&path, &ReadOptions::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        modules.push((name, read));
    }
    let mut wrong = Vec::new();
    for (model, module) in &modules {
        for (change, apply) in CHANGES {
            let mut module = module.clone();
            apply(&mut module);
            for (with, options) in options() {
                let case = format!("{model}, {change}, {with}");
                let written = write(&module, &folder.join(&case.replace(", ", "/")), &options);
                match written {
                    Ok(number) => println!("wrote {case}: {number:016x}"),
                    Err(fault) => {
                        println!("{fault} ({case})");
                        wrong.push(format!("{case}: {fault}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
