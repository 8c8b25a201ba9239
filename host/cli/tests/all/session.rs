//! The parts that the command line shares with other programs, as these call them.

use crate::common::*;
use relais::{
    ir::Blob,
    listing::{Listed, headline, instruments, list_json},
    plugin::{Discovery, Origin},
    registry::{Choices, Linked, Registry},
};
use relais_plugin_api::text::{self, PrintOptions};
use relais_session::{
    Search,
    model::{Format, Model, set_input_shapes},
    user_dir,
};
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
    let folder = folder("session-model");
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
    let own = Search { beside: Some(folder("session-beside")), ..embedded };
    assert_eq!(beside(&own), 1);
    let missing = PathBuf::from("gone.so");
    let gone = Search { files: vec![missing], ..Search::default() }.find().unwrap_err();
    assert!(gone.to_string().starts_with("plugin `gone.so` is not used: "), "{gone}");
    assert!(user_dir().is_none_or(|folder| folder.ends_with("plugins")));
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
