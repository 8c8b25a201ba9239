//! `relais::frontend`, as programs other than the command line call it.

use crate::common::*;
use relais::{
    frontend::{
        Format, Listed, Model, Search, headline, instruments, list_json, pipeline, pipeline_in_part,
        pipeline_of_passes, set_input_shapes, set_options, user_dir,
    },
    ir::Blob,
    pipeline::PipelineSpec,
    plugin::{Discovery, Origin},
    registry::{Choices, Linked, Registry},
};
use relais_plugin_api::text::{self, PrintOptions};
use std::{
    fs,
    path::{Path, PathBuf},
};

const MODEL: &str = "def @main(%x: Tensor[(?, 2), float32]) { %y = Relu(%x); %y }\n";

fn nothing() -> Registry {
    Registry::new(Discovery::default(), Linked::Exclude, &Choices::new())
}

fn model() -> Model {
    Model::from_bytes(Path::new("-"), Blob::from(MODEL.as_bytes().to_vec())).unwrap()
}

#[test]
fn a_model_is_read_in_the_format_of_its_name_or_its_content() {
    let folder = folder("frontend-model");
    let write = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        path
    };
    for name in ["model.relay", "model"] {
        let model = Model::read(&write(name, MODEL.as_bytes())).unwrap();
        assert_eq!(
            (model.format, model.n_bytes, model.warnings.len()),
            (Format::Text, MODEL.len() as u64, 0),
            "{name}"
        );
    }
    assert_eq!(model().format, Format::Text);
    assert_eq!(Format::of_bytes(&[8, 10]), Format::Onnx);
    let onnx = Model::read(&write("wrong.onnx", MODEL.as_bytes())).err().unwrap();
    assert!(onnx.to_string().contains("wrong.onnx") && onnx.help().is_some(), "{onnx}");
    let text = Model::from_bytes(Path::new("x.relay"), Blob::from(b"def @main(".to_vec())).err().unwrap();
    assert!(text.to_string().starts_with("model `x.relay` cannot be parsed:\n"), "{text}");
    let unsound = b"def @main(%x) { %y = Relu(%x); %y } def @main(%x) { %x }".to_vec();
    assert!(Model::from_bytes(Path::new("-"), Blob::from(unsound)).is_err());
    assert!(Model::read(&folder).err().unwrap().to_string().ends_with("is a folder"));
    let gone = Model::read(&folder.join("gone")).err().unwrap();
    assert_eq!(gone.help(), Some("check the path and the permissions"));
}

#[test]
fn shapes_are_set_unless_they_have_another_rank() {
    let shaped = |wanted: &str| {
        let mut module = model().module;
        let set = set_input_shapes(&mut module, &[wanted.to_owned()], &sample());
        set.map(|_| text::print(&module, &PrintOptions::default()))
    };
    for (wanted, shape) in [("x:3,2", "3, 2"), ("3,2", "3, 2"), ("3,?", "3, ?"), ("x:3,4", "3, 4"), ("a.0,2", "a.0, 2")]
    {
        let text = shaped(wanted).unwrap();
        assert!(text.contains(&format!("%x: Tensor[({shape}), float32]")), "{text}");
    }
    let no = |wanted: &str| {
        let error = shaped(wanted).unwrap_err();
        (error.is_usage(), error.to_string())
    };
    assert_eq!(no("x:3,a-b"), (true, "input shape `x:3,a-b` is not a shape".into()));
    assert!(no("y:3,2").1.starts_with("the model has no input `y`; it has `x`"));
    assert!(no("x:3").1.contains("contradicts the model: it has 2 dimensions, not 1"));
}

#[test]
fn plugins_are_found_beside_a_program_that_has_such_a_folder() {
    let beside = |search: &Search| search.folders().iter().filter(|dir| dir.origin == Origin::Beside).count();
    let file = SAMPLE.clone();
    let embedded = Search { files: vec![file.clone()], policy: TRUSTING, ..Search::default() };
    assert_eq!(beside(&embedded), 0);
    let found = embedded.find().unwrap();
    assert!(found.plugins.iter().any(|plugin| plugin.path == file));
    let own = Search { beside: Some(folder("frontend-beside")), ..embedded };
    assert_eq!(beside(&own), 1);
    let missing = PathBuf::from("gone.so");
    let gone = Search { files: vec![missing], ..Search::default() }.find().unwrap_err();
    assert!(gone.to_string().starts_with("plugin `gone.so` is not used: "), "{gone}");
    assert!(user_dir().is_none_or(|folder| folder.ends_with("plugins")));
}

#[test]
fn pipelines_are_those_of_a_name_or_of_passes() {
    let registry = nothing();
    assert!(!pipeline("O1", &registry).unwrap().steps.is_empty());
    let unknown = pipeline("O9", &registry).unwrap_err();
    assert!(unknown.to_string().contains("O9"), "{unknown}");
    let path = folder("frontend-pipeline").join("half.toml");
    fs::write(&path, "name = \"half\"\nsteps = [\"a.B\"]\nwrong = 1\n").unwrap();
    let (half, faults) = pipeline_in_part(path.to_str().unwrap(), &registry).unwrap();
    assert_eq!((half.steps.len(), faults.len()), (1, 1));
    assert!(pipeline(path.to_str().unwrap(), &registry).is_err());
    assert!(pipeline_in_part("gone.toml", &registry).is_err());
    assert_eq!(pipeline_of_passes("a.B, a.C").unwrap().steps.len(), 2);
    assert_eq!(pipeline_of_passes("a.B,,").unwrap_err().list.len(), 2);
}

#[test]
fn options_are_set_and_every_text_that_sets_nothing_is_a_fault() {
    let mut spec = PipelineSpec::default();
    let settings = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    set_options(&mut spec, "--set", &settings(&["B.depth=2", "name=plain"])).unwrap();
    assert_eq!(spec.settings.len(), 2);
    let faults = set_options(&mut spec, "--set", &settings(&["depth", "B.depth=3", "=1"])).unwrap_err();
    assert_eq!((faults.list.len(), spec.settings.len()), (2, 3));
}

#[test]
fn lists_have_what_plugins_and_the_host_provide() {
    let all = [Listed::Passes, Listed::Plugins, Listed::Operators, Listed::Options, Listed::Instruments];
    let names = |registry: &Registry, what: Listed| -> Vec<String> {
        let list = list_json(registry, what);
        list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect()
    };
    let (plugin, host) = (sample(), nothing());
    assert!(names(&plugin, Listed::Passes).contains(&"sample.Nothing".to_owned()));
    for what in all.into_iter().filter(|what| *what != Listed::Instruments) {
        assert!(names(&host, what).is_empty(), "{what:?}");
    }
    let own: Vec<String> = instruments(&host).into_iter().map(|it| it.name).collect();
    assert!(own.contains(&"timing".to_owned()));
    assert_eq!(own, names(&host, Listed::Instruments));
    assert!(names(&host, Listed::Pipelines).contains(&"default".to_owned()));
    assert_eq!(headline("#:schema x\n\n# All of it.\n# And more. And more.\n"), "All of it");
    assert_eq!(headline("steps = []"), "");
}
