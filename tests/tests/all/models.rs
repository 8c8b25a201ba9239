//! The default pipeline on models as exporters write them, and on the cases of the `onnx` package: fewer nodes, the
//! same results.

use relais_tests::{
    cargo_built::workspace,
    cli::relais,
    venv::{judge_models, models, some_cases, some_models},
};
use std::ffi::OsStr;

#[test]
fn the_models_are_all_there() {
    let counts = &models().counts;
    for wanted in ["light: 9", "node: 1884", "simple: ", "pytorch-operator: ", "pytorch-converted: ", "made: "] {
        assert!(counts.contains(wanted), "`{wanted}` is missing:\n{counts}");
    }
}

#[test]
fn light_models_become_small() {
    println!("{}", judge_models(&["light"], &[]));
}

/// The numbers that torchvision states for these networks.
#[test]
fn multiply_accumulates_are_those_that_are_published() {
    for (name, published) in [("resnet50", "4.09 G"), ("vgg19", "19.6 G"), ("densenet121", "2.83 G")] {
        let model = models().folder.join(format!("light/{name}/model.onnx"));
        let run = relais([OsStr::new("inspect"), model.as_os_str()]);
        let row = run.stdout.lines().find(|line| line.starts_with("MACs "));
        assert_eq!(row.map(|row| row["MACs".len()..].trim()), Some(published), "{name}\n{}", run.stderr);
    }
}

#[test]
fn sound_node() {
    judge_models(&["sound", "--kind", "node"], &some_cases().each_ref().map(String::as_str));
}

macro_rules! sound {
    ($($name:ident: $($kind:literal)*;)*) => {$(
        #[test]
        fn $name() {
            let some = some_models();
            let some = some.each_ref().map(String::as_str);
            judge_models(&["sound"], &[&[$("--kind", $kind),*], &some[..]].concat());
        }
    )*};
}

sound! {
    sound_simple: "simple";
    sound_pytorch: "pytorch-operator" "pytorch-converted";
    sound_made: "made";
}

macro_rules! twins {
    ($($name:ident: $twin:literal $($slow:literal)?;)*) => {$(
        #[test]
        $(#[ignore = $slow])?
        fn $name() {
            let twins = workspace().scratch.join("judge-twins");
            judge_models(&["twins", "check"], &["--twins", &twins.to_string_lossy(), "--name", $twin]);
        }
    )*};
}

twins! {
    twin_shufflenet: "shufflenet";
    twin_resnet50: "resnet50" "its proof runs a hundred models; `.ci/full large` runs it";
    twin_inception_v1: "inception_v1" "like `twin_resnet50`";
    twin_inception_v2: "inception_v2" "like `twin_resnet50`";
    twin_densenet121: "densenet121" "like `twin_resnet50`";
}
