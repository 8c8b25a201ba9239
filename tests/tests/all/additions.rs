//! Additions of plugins to operators that others describe: by target and rank, disputed until one is chosen, and seen.

use relais_tests::{
    cargo_built::plugin,
    cli::{Run, command, folder},
};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

const PRODUCT: &str = r#"def @main(%a: Tensor[(3, 4), float32], %b: Tensor[(4, 5), float32], %c: Tensor[(2, 5, 6), float32]) -> (%y, %z) #[opset = {"": 17}] {
  %y = MatMul(%a, %b);
  %z = MatMul(%y, %c);
  (%y, %z)
}
"#;

/// Runs the program with plugins of the tests.
fn relais(here: &Path, args: &[&str], plugins: &[&str]) -> Run {
    let mut relais = command();
    relais.current_dir(here).args(args).arg("--allow-writable-plugins");
    for name in plugins {
        relais.arg("--plugin").arg(plugin(name));
    }
    Run::of(&mut relais)
}

/// Runs a pipeline over a model, and returns the result and what was said.
#[track_caller]
fn ran(here: &Path, model: &str, pipeline: &str, plugins: &[&str]) -> (String, String) {
    fs::write(here.join("model.relay"), model).unwrap();
    fs::write(here.join("p.toml"), pipeline).unwrap();
    let args = ["run", "model.relay", "-p", "p.toml", "-o", "out.relay", "--no-reproducer"];
    let said = relais(here, &args, plugins).expect_success();
    (fs::read_to_string(here.join("out.relay")).unwrap(), said.stderr)
}

const LOWER: &str = "steps = [\"LowerOps\"]\n";

/// The loop of the vendor's kernel that adds up in memory; the shipped kernel has none over the elements of a sum alone.
fn kernels_of_vendor(text: &str) -> usize {
    text.matches("in 0..4 {").count()
}

#[test]
fn a_kernel_for_a_target_is_used_there_and_only_for_the_calls_that_it_covers() {
    let here = folder("additions-target");
    let (shipped, _) = ran(&here, PRODUCT, LOWER, &[]);
    let (untargeted, said) = ran(&here, PRODUCT, LOWER, &["npu"]);
    assert_eq!(untargeted, shipped, "{said}");
    let (other, said) = ran(&here, PRODUCT, &format!("target = \"gpu\"\n{LOWER}"), &["npu"]);
    assert_eq!(other, shipped);
    assert!(said.contains("no plugin adds anything for the target `gpu`; there are: `npu`"), "{said}");
    let (targeted, said) = ran(&here, PRODUCT, &format!("target = \"npu\"\n{LOWER}"), &["npu"]);
    assert!(!said.contains("target"), "{said}");
    // The product of more than two axes is left to the shipped kernel: its function is the same.
    let functions = |text: &str| text.split("\n}").map(str::to_owned).collect::<Vec<_>>();
    let same = functions(&targeted).iter().filter(|f| functions(&shipped).contains(f)).count();
    assert_ne!(targeted, shipped);
    assert!(same >= 2, "{targeted}\n{shipped}");
    assert!(kernels_of_vendor(&targeted) > 0 && kernels_of_vendor(&shipped) == 0, "{targeted}\n{shipped}");
}

#[test]
fn a_pass_for_a_target_is_added_to_pipelines_for_it_alone() {
    let here = folder("additions-passes");
    let placed = |pipeline: &str| ran(&here, PRODUCT, pipeline, &["npu"]).1.contains("placed on the accelerator");
    let steps = "steps = [{ include = \"builtin:O1\" }]\n";
    assert!(!placed(steps) && !placed(&format!("target = \"gpu\"\n{steps}")));
    assert!(placed(&format!("target = \"npu\"\n{steps}")) && placed("steps = [\"acme.npu.Place\"]\n"));
    let said = relais(&here, &["describe", "acme.npu.Place"], &["npu"]).expect_success().stdout;
    assert!(said.contains("target   npu\n"), "{said}");
}

#[test]
fn a_kernel_for_the_target_is_built_and_computes_the_same() {
    let here = folder("additions-built");
    fs::write(here.join("model.relay"), PRODUCT).unwrap();
    let build = |output: &str, target: &[&str]| {
        let args = [&["build", "model.relay", "-o", output, "--main", "--test-vectors"], target].concat();
        relais(&here, &args, &["npu"]).expect_success();
        fs::read_to_string(here.join(output)).unwrap()
    };
    let given = ["build", "model.relay", "-o", "x.c", "--passes", "EmitC", "--target"];
    let run = relais(&here, &[&given[..], &["nqu"]].concat(), &["npu"]);
    assert_eq!(run.status, Some(2));
    assert!(run.stderr.contains("no plugin adds anything for the target `nqu`"), "{}", run.stderr);
    let (shipped, vendor) = (build("plain.c", &[]), build("vendor.c", &["--target", "npu"]));
    assert_ne!(shipped.replace("plain", "vendor").replace("PLAIN", "VENDOR"), vendor);
    if cfg!(unix) {
        let vectors = |kind: &str| {
            let mut files = relais_tests::cli::files(&here);
            files.retain(|name| name.starts_with(&format!("vendor_{kind}_")));
            files.sort();
            files
        };
        let cc =
            Command::new("cc").current_dir(&here).args(["vendor.c", "vendor_main.c", "-lm", "-o", "vendor"]).status();
        assert!(cc.unwrap().success());
        let mut program = Command::new(here.join("vendor"));
        program.current_dir(&here).args(vectors("in")).args(vectors("out")).stdout(Stdio::piped());
        Run::of(&mut program).expect_success();
    }
}

#[test]
fn parts_of_one_rank_are_disputed_until_a_plugin_is_chosen() {
    let here = folder("additions-disputed");
    let target = format!("target = \"npu\"\n{LOWER}");
    let (vendor, _) = ran(&here, PRODUCT, &target, &["npu"]);
    let (shipped, _) = ran(&here, PRODUCT, LOWER, &["npu"]);
    let (disputed, said) = ran(&here, PRODUCT, &target, &["npu", "npu-rival"]);
    assert_eq!(disputed, shipped, "neither counts");
    for part in ["the kernel of operator `MatMul` is given by", "`acme-npu 0.1.0`", "`acme-npu-rival 0.1.0`"] {
        assert!(said.contains(part), "{said}");
    }
    assert!(said.contains("that of `relais-operators` stands") && said.contains("operators = [\"MatMul\"]"), "{said}");
    let chosen = format!("{target}[plugins]\nacme-npu = {{ operators = [\"MatMul\"] }}\n");
    let (text, said) = ran(&here, PRODUCT, &chosen, &["npu", "npu-rival"]);
    assert_eq!(text, vendor);
    assert!(!said.contains("is given by"), "{said}");
    let own = format!("{target}[plugins]\nrelais-operators = {{ operators = [\"MatMul\"] }}\n");
    let (text, said) = ran(&here, PRODUCT, &own, &["npu", "npu-rival"]);
    assert_eq!(text, shipped);
    assert!(!said.contains("is given by"), "{said}");
    // Nothing is said of operators that the model does not have.
    let relu = "def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {\"\": 17}] {\n  %y = Relu(%x);\n  %y\n}\n";
    let (_, said) = ran(&here, relu, &target, &["npu", "npu-rival"]);
    assert!(!said.contains("MatMul") && !said.contains("Softsign"), "{said}");
}

#[test]
fn a_shipped_description_stands_beside_a_second_one() {
    let here = folder("additions-described");
    let model = "def @main(%x: Tensor[(2), float32]) -> (%y) #[opset = {\"\": 17}] {\n  %y = Softsign(%x);\n  %y\n}\n";
    let (shipped, _) = ran(&here, model, LOWER, &[]);
    let (text, said) = ran(&here, model, LOWER, &["npu-rival"]);
    assert_eq!(text, shipped);
    assert!(said.contains("operator `Softsign` is described by") && said.contains("`acme-npu-rival 0.1.0`"), "{said}");
    assert!(said.contains("that of `relais-operators` stands"), "{said}");
}

#[test]
fn a_layout_is_added_to_an_operator_of_another() {
    let here = folder("additions-layout");
    let model = r#"def @main(%x: Tensor[(1, 4, 4, 3), float32]) -> (%y) #[opset = {"": 17, "acme.npu": 1}] {
  %1 = Transpose(%x, perm = [0, 3, 1, 2]);
  %2 = GlobalAveragePool(%1);
  %y = Transpose(%2, perm = [0, 2, 3, 1]);
  %y
}
"#;
    let pipeline = "opt_level = 3\nsteps = [\"AlterOpLayout\", \"DeadCodeElimination\"]\n";
    let (without, _) = ran(&here, model, pipeline, &[]);
    let (with, said) = ran(&here, model, pipeline, &["npu"]);
    assert!(!without.contains("PoolLast") && with.contains("acme.npu::PoolLast("), "{with}\n{said}");
    assert!(!with.contains("Transpose("), "{with}");
}

#[test]
fn who_gives_what_is_described() {
    let here = folder("additions-shown");
    let said = relais(&here, &["describe", "MatMul"], &["npu", "npu-rival"]).expect_success().stdout;
    for part in [
        "\nadditions\n",
        "  acme-npu 0.1.0, priority 0, for the target `npu`\n    kernel\n",
        "  acme-npu 0.1.0, priority 0\n    formula of multiply-accumulates, property `acme.engine`\n",
        "acme.engine = \"systolic\", by acme-npu 0.1.0\n",
        "multiply-accumulates\n  y0 * x0[-1]\n",
    ] {
        assert!(said.contains(part), "{part}\n{said}");
    }
    let said = relais(&here, &["describe", "Softplus"], &["npu"]).expect_success().stdout;
    assert!(said.contains("multiply-accumulates\n  y0, by acme-npu 0.1.0\n"), "{said}");
    let said = relais(&here, &["describe", "GlobalAveragePool"], &["npu"]).expect_success().stdout;
    assert!(said.contains("layouts\n      NHWC -> NHWC, as `acme.npu::PoolLast`\n"), "{said}");
    let said = relais(&here, &["describe", "acme-npu"], &["npu"]).expect_success().stdout;
    assert!(said.contains("adds to     GlobalAveragePool, MatMul, Softplus"), "{said}");
    let said = relais(&here, &["list", "operators", "--json"], &["npu"]).expect_success().stdout;
    let listed: serde_json::Value = serde_json::from_str(&said).unwrap();
    let is_added = |op: &&serde_json::Value| op["name"] == "MatMul" && !op["additions"].is_null();
    let all = listed["operators"].as_array().or(listed.as_array()).unwrap();
    let op = all.iter().find(is_added).unwrap();
    let added = op["additions"].as_array().unwrap();
    assert!(added.iter().any(|it| it["target"] == "npu" && it["parts"][0] == "kernel"), "{added:?}");
}

#[test]
fn the_kit_judges_what_a_plugin_adds() {
    let here = folder("additions-judged");
    let path = plugin("npu");
    let test = |args: &[&str]| {
        let all = [&["plugin", "test", path.to_str().unwrap(), "--modules", "24"], args].concat();
        relais(&here, &all, &[])
    };
    let said = test(&["--only", "MatMul"]).expect_success().stdout;
    assert!(
        said.contains("1 operators: ") && said.contains("kernels run") && !said.contains(" 0 kernels run"),
        "{said}"
    );
    let said = test(&["--only", "Softplus"]).expect_failure().stderr;
    assert!(said.contains("the plugin has nothing called `Softplus`"), "{said}");
    let said = test(&["--target", "cpu"]).expect_failure().stderr;
    assert!(said.contains("adds nothing for the target `cpu`") && said.contains("`npu`"), "{said}");
    let rival = plugin("npu-rival");
    let said = relais(&here, &["plugin", "test", rival.to_str().unwrap()], &[]).expect_failure().stderr;
    assert!(said.contains("it adds to operator `Gemm` since version 12, which no plugin describes"), "{said}");
    assert!(said.contains("it is described since version 1, 6, 7, 9, 11, 13"), "{said}");
}
