//! The output of the command line, word by word: each case is a file in `tests/golden`. `RELAIS_BLESS=1` rewrites them.

use crate::common;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A model with one call, and an output that is its input.
const MODEL: &str = "def @main(%x: Tensor[(N, 4), float32]) { %y = Relu(%x); %z = Relu(%y); %z }\n";

/// A run over the model in a folder of its own: the existing files, and the command line.
struct Case {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    command: &'static str,
}

const fn case(name: &'static str, command: &'static str) -> Case {
    Case { name, files: &[], command }
}

const fn pipeline(name: &'static str, text: &'static [(&'static str, &'static str)]) -> Case {
    Case { name, files: text, command: "run model.relay -o out.relay -p p.toml" }
}

/// A case in which nothing changes.
const ONE: (&str, &str) = (
    "filetests/Cancel/one.relay",
    "//! unchanged = true\ndef @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] { %1 = Neg(%x); %1 }\n",
);

/// A module in which something changes.
macro_rules! two {
    () => {
        "def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] { %1 = Neg(%x); %2 = Neg(%1); %3 = Abs(%2); %3 }\n"
    };
}

/// A model with a nested block, two outputs, weights and no imports of the model.
const BRANCHES: (&str, &str) = (
    "branches.relay",
    "#[ir_version = 8, producer_name = \"pytorch\", producer_version = \"2.3\"]\n\
     def @main(%x: Tensor[(N, 4), float32], %c: Tensor[(), bool]) -> (%y, %a) #[opset = {\"\": 17, \"acme\": 2}] {\n\
     %w = const(float32, [1.0, 2.0, 3.0, 4.0]); %s = const(int64, 7); %a = Add(%x, %w);\n\
     %b = if (%c) { %i = Neg(%a); %i } else { %j = Abs(%a); %k = Neg(%j); %k };\n\
     %y = Mul(%a, %b); (%y, %a) }\n",
);

/// Calls that take multiply-accumulates by their formula, by their body, in a function of the model and in branches; and
/// such as are not counted.
const PRODUCTS: (&str, &str) = (
    "products.relay",
    "def @twice(%x: Tensor[(N, 8), float32], %w: Tensor[(8, 8), float32]) #[opset = {\"\": 24}] {\n\
     %a = MatMul(%x, %w); %b = MatMul(%a, %w); %b }\n\
     def @main(%x: Tensor[(N, 8), float32], %i: Tensor[(1, 3, 8, 8), float32], %q: Tensor[(2, 4, N, 8), float32], \
     %c: Tensor[(), bool], %n: Tensor[(), int64]) -> (%y, %p, %t, %e, %o, %l) #[opset = {\"\": 24, \"acme\": 1}] {\n\
     %w: Tensor[(8, 8), float32] = ConstantOfShape([8, 8]); %k: Tensor[(16, 3, 3, 3), float32] = ConstantOfShape([16, 3, 3, 3]);\n\
     %y = @twice(%x, %w); %p = Conv(%i, %k); %t = Attention(%q, %q, %q); %e = Einsum(%x, %w, equation = \"ab,bc->ac\");\n\
     %b = if (%c) { %f = Neg(%p); %f } else { %g = ConstantOfShape([16, 16, 1, 1]); %h = Conv(%p, %g); %h };\n\
     %o = acme::Unknown(%b); %u = const(bool, true);\n\
     %l = Loop(%n, %u, %x, body = fn(%at: Tensor[(), int64], %go: Tensor[(), bool], %v: Tensor[(N, 8), float32]) {\n\
     %m = MatMul(%v, %w); (%go, %m) }); (%y, %p, %t, %e, %o, %l) }\n",
);

/// The same, with other names inside and in another order.
const RENAMED: (&str, &str) = (
    "renamed.relay",
    "#[ir_version = 8, producer_name = \"other\"]\n\
     def @main(%x: Tensor[(N, 4), float32], %c: Tensor[(), bool]) -> (%y, %a) #[opset = {\"\": 17, \"acme\": 2}] {\n\
     %two = const(int64, 7); %one = const(float32, [1.0, 2.0, 3.0, 4.0]); %a = Add(%x, %one);\n\
     %r = if (%c) { %p = Neg(%a); %p } else { %q = Abs(%a); %s = Neg(%q); %s };\n\
     %y = Mul(%a, %r); (%y, %a) }\n",
);

/// Another model in every respect.
const OTHER: (&str, &str) = (
    "other.relay",
    "#[ir_version = 9]\n\
     def @half(%x: Tensor[(N, 4), float32]) #[opset = {\"\": 18}] { %h = Neg(%x); %h }\n\
     def @main(%c: Tensor[(), bool], %x: Tensor[(2, 4), float32], %z: Tensor[(4), float32]) -> (%y, %b) #[opset = {\"\": 18}] {\n\
     %w = const(float32, [1.0, 2.0, 3.0, 4.0]); %s = const(int64, 8); %a = Sub(%x, %w);\n\
     %b = if (%c) { %i = Neg(%a); %i } else { %j = Softmax(%a, axis = 1); %k = Neg(%j); %k };\n\
     %y = Mul(%a, %b); (%y, %b) }\n",
);

/// A model with an attribute, a shape and a nested graph.
macro_rules! nodes {
    ($call:literal, $shape:literal) => {
        concat!(
            "def @main(%x: Tensor[(4), float32], %c: Tensor[(), bool]) -> (%y) #[opset = {\"\": 17}] { %s = const(int64, ",
            $shape,
            "); %a = ",
            $call,
            "; %b = if (%c) { %i = Neg(%a); %i } else { %x }; %y = Reshape(%b, %s); %y }\n"
        )
    };
}

/// A model with constants of 16 and 17 elements.
const LARGE: (&str, &str) = (
    "large.relay",
    "def @main(%x: Tensor[(1), int64]) -> (%z) #[opset = {\"\": 17}] {\n\
     %a = const(int64, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);\n\
     %b = const(int8, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]);\n\
     %y = Add(%x, %a); %s = Cast(%b, to = 7); %t = ReduceSum(%s); %z = Add(%y, %t); %z }\n",
);

/// A model whose folded constants take 16 and 800 bytes.
const TILES: (&str, &str) = (
    "tiles.relay",
    "def @main(%x: Tensor[(200), float32], %v: Tensor[(4), float32]) -> (%y, %z) #[opset = {\"\": 17}] {\n\
     %a = const(float32, [1.0, 2.0]); %b = const(int64, [100]); %c = const(int64, [2]);\n\
     %r = Tile(%a, %b); %y = Add(%x, %r); %s = Tile(%a, %c); %z = Mul(%v, %s); (%y, %z) }\n",
);

/// Another weight.
const WEIGHTS: (&str, &str) = (
    "weights.relay",
    "#[ir_version = 8, producer_name = \"pytorch\", producer_version = \"2.3\"]\n\
     def @main(%x: Tensor[(N, 4), float32], %c: Tensor[(), bool]) -> (%y, %a) #[opset = {\"\": 17, \"acme\": 2}] {\n\
     %w = const(float32, [1.0, 2.0, 3.01, 4.0]); %s = const(int64, 7); %a = Add(%x, %w);\n\
     %b = if (%c) { %i = Neg(%a); %i } else { %j = Abs(%a); %k = Neg(%j); %k };\n\
     %y = Mul(%a, %b); (%y, %a) }\n",
);

/// Filetests with which nothing is wrong.
const FILETESTS: &[(&str, &str)] = &[
    ONE,
    (
        "filetests/Cancel/two.relay",
        concat!(
            two!(),
            "// expected:\n// def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n//   %1 = Neg(%x);\n//   %3 = Abs(%x);\n//   %3\n// }\n"
        ),
    ),
];

const CASES: &[Case] = &[
    // The row "Options".
    case("option_unknown", "run model.relay -o out.relay --passes Rename --set Rename.prefx=a"),
    case("option_missing", "run model.relay -o out.relay --passes Rename"),
    case(
        "option_out_of_range",
        "run model.relay -o out.relay --passes Rename --set Rename.prefix=a --set Rename.weight=1.5",
    ),
    case(
        "option_huge",
        "run model.relay -o out.relay --passes Rename --set Rename.prefix=a --set Rename.inner.times=99999999999999999999",
    ),
    case("option_nan", "run model.relay -o out.relay --passes Rename --set Rename.prefix=a --set Rename.weight=nan"),
    case("option_without_value", "run model.relay -o out.relay --set sample.depth"),
    case("option_of_context_unknown", "run model.relay -o out.relay --passes Nothing --set sample.dept=3"),
    case("option_of_context_wrong_type", "run model.relay -o out.relay --passes Nothing --set sample.depth=true"),
    pipeline(
        "options_all_at_once",
        &[(
            "p.toml",
            "steps = [\n    { pass = \"Rename\", options = { prefix = 3, style = \"lodu\", keep_params = 1, weight = 1, except = [2], inner = { time = 1 } } },\n]\n",
        )],
    ),
    pipeline(
        "option_duplicate",
        &[("p.toml", "steps = [{ pass = \"Rename\", options = { prefix = \"a\", prefix = \"b\" } }]\n")],
    ),
    pipeline(
        "option_too_deep",
        &[("p.toml", "steps = [{ pass = \"Rename\", options = { prefix = [[[[[[[[[[[[1]]]]]]]]]]]] } }]\n")],
    ),
    // The row "Pipelines".
    pipeline("pipeline_not_toml", &[("p.toml", "steps = [\"Nothing\"\nverify = \"each\"\n")]),
    pipeline(
        "pipeline_unknown_keys",
        &[
            (
                "p.toml",
                "optlevel = 2\nsteps = [\n    { pass = \"Nothing\", option = {} },\n    { sequence = [], nam = \"s\" },\n    { fixpoint = [], rounds = 2 },\n    { include = \"q.toml\", as = 1 },\n]\ninstruments = [{ instrument = \"timing\", opts = {} }]\n[plugins]\nsample-passes = { versoin = \"1\" }\n",
            ),
            ("q.toml", "steps = []\n"),
        ],
    ),
    pipeline("pipeline_unknown_pass", &[("p.toml", "steps = [\"ReluReul\"]\n")]),
    pipeline(
        "pipeline_includes_itself",
        &[("p.toml", "steps = [{ include = \"q.toml\" }]\n"), ("q.toml", "steps = [{ include = \"p.toml\" }]\n")],
    ),
    pipeline("pipeline_include_missing", &[("p.toml", "steps = [{ include = \"gone.toml\" }]\n")]),
    pipeline(
        "pipeline_plugin_version",
        &[("p.toml", "steps = []\n[plugins]\nsample-passes = \">=99\"\nsample-pases = \"1\"\n")],
    ),
    pipeline("pipeline_instrument_unknown", &[("p.toml", "instruments = [\"timming\"]\nsteps = []\n")]),
    pipeline(
        "pipeline_requirement_disabled",
        &[(
            "p.toml",
            "disabled = [\"ReluRelu\"]\nsteps = [\n    { pass = \"Rename\", options = { prefix = \"a\" } },\n]\n",
        )],
    ),
    case("pipeline_missing", "run model.relay -o out.relay -p gone.toml"),
    case("pipeline_misnamed", "run model.relay -o out.relay -p defualt"),
    // Usage, models and outputs.
    case("usage_unknown_argument", "run model.relay -o out.relay --opt 3"),
    case("usage_pipeline_and_passes", "run model.relay -o out.relay -p p.toml --passes A"),
    case("passes_empty_name", "run model.relay -o out.relay --passes Nothing,,Rename"),
    case("passes_unknown", "run model.relay -o out.relay --passes Nothing,Renam --disable Nothign"),
    case("usage_model_alone", "model.onnx"),
    case("usage_models_alone", "model.onnx out.onnx"),
    case("usage_model_and_output", "model.onnx -o out.onnx -O1"),
    case("usage_two_models", "run model.onnx out.onnx"),
    case("usage_no_output", "run model.relay -O1"),
    case("usage_unknown_command", "modle"),
    Case { name: "model_is_program", files: &[("t.py", "print(1)\n")], command: "run t.py -o out.relay" },
    Case { name: "model_is_pipeline", files: &[("p.toml", "steps = []\n")], command: "inspect p.toml" },
    case("run_unchanged", "run model.relay -o out.relay --passes Nothing"),
    case("model_missing", "run gone.relay -o out.relay -O0"),
    case("model_folder", "run . -o out.relay -O0"),
    Case {
        name: "model_not_text",
        files: &[("bad.relay", "def @main(%x) { Relu(%y) }\n")],
        command: "run bad.relay -o out.relay -O0",
    },
    Case {
        name: "model_not_onnx",
        files: &[("bad.onnx", "\u{8}\u{1}\u{12}")],
        command: "run bad.onnx -o out.relay -O0",
    },
    case("output_folder_missing", "run model.relay -o gone/out.relay -O0"),
    case("output_is_folder", "run model.relay -o . -O0"),
    case("input_shape_unknown_input", "run model.relay -o out.relay -O0 --input-shape X:1,4"),
    case("input_shape_rank", "run model.relay -o out.relay -O0 --input-shape x:1,4,4"),
    case("input_shape_overwritten", "run model.relay -o out.relay -O0 --input-shape x:1,5"),
    case("input_shape_no_shape", "run model.relay -o out.relay -O0 --input-shape x:1;4"),
    Case {
        name: "extract",
        files: &[BRANCHES],
        command: "run branches.relay -o out.relay -O0 --inputs c,a --outputs y --input-shape a:2,4",
    },
    Case { name: "extract_unknown", files: &[BRANCHES], command: "run branches.relay -o out.relay -O0 --outputs Y" },
    Case { name: "extract_nested", files: &[BRANCHES], command: "run branches.relay -o out.relay -O0 --outputs k" },
    Case { name: "extract_missing", files: &[BRANCHES], command: "run branches.relay -o out.relay -O0 --inputs a" },
    Case {
        name: "extract_unused",
        files: &[BRANCHES],
        command: "run branches.relay -o out.relay -O0 --inputs a,c,x --outputs y",
    },
    Case { name: "extract_twice", files: &[BRANCHES], command: "run branches.relay -o out.relay -O0 --outputs y,y" },
    Case {
        name: "extract_untyped",
        files: &[(
            "own.relay",
            "def @main(%x) #[opset = {\"\": 17, \"acme\": 1}] { %y = acme::Own(%x); %z = Neg(%y); %z }\n",
        )],
        command: "run own.relay -o out.relay -O0 --inputs y",
    },
    case("describe_unknown", "describe ReluReul"),
    // A pass that fails, and working ones.
    case("pass_fails", "run model.relay -o out.relay --passes ReluRelu,Bad --set Bad.fault=error"),
    case("describe_pass", "describe Rename"),
    case("describe_pass_of_rules", "describe Cancel"),
    case("list_rules", "list rules"),
    case("list_options", "list options"),
    // Instruments and their arguments.
    case("list_instruments", "list instruments"),
    case("describe_instrument", "describe print-changed"),
    case("describe_instrument_unknown", "describe print-chnged"),
    case("time_passes_tree", "run model.relay -o out.relay --passes ReluRelu,Nothing --time-passes"),
    case("time_passes_list", "run model.relay -o out.relay --passes ReluRelu,Nothing --time-passes=list"),
    case("time_passes_json", "run -q model.relay -o out.relay --passes ReluRelu,Nothing --time-passes=json"),
    case("time_passes_wrong", "run model.relay -o out.relay -O0 --time-passes=flat"),
    case(
        "time_passes_after_fault",
        "run model.relay -o out.relay --passes ReluRelu,Bad --set Bad.fault=error --time-passes=list --no-reproducer",
    ),
    case("print_before", "run -q model.relay -o out.relay --passes ReluRelu,Nothing --print-before Nothing"),
    case("print_after_all", "run -q model.relay -o out.relay --passes ReluRelu,sample.Nothing --print-after *"),
    case(
        "print_unknown_pass",
        "run model.relay -o out.relay --passes ReluRelu --print-before ReluReul --print-after Nothign",
    ),
    case("print_changed", "run -q model.relay -o out.relay --passes ReluRelu,Nothing --print-changed"),
    case("print_changed_diff", "run -q model.relay -o out.relay --passes ReluRelu,Nothing --print-changed=diff"),
    case(
        "filter_function",
        "run model.relay -o out.relay --passes ReluRelu --print-changed=diff --print-after * --filter-function mian",
    ),
    case("filter_function_alone", "run -q model.relay -o out.relay --passes ReluRelu --filter-function main"),
    case("stats", "run -q model.relay -o out.relay --passes Nothing --stats"),
    // Messages of passes, shown by their severity.
    case("said_note", "run -v model.relay -o out.relay --passes Rename --set Rename.prefix=a"),
    case(
        "said_error",
        "run model.relay -o out.relay --passes Rename --set Rename.prefix=a --set Rename.keep_params=false --no-reproducer",
    ),
    case("remarks_passed", "run -q model.relay -o out.relay --passes ReluRelu --remarks=passed"),
    case("remarks", "run -q model.relay -o out.relay --passes ReluRelu --remarks"),
    case("remarks_missed", "run -q model.relay -o out.relay --passes ReluRelu --remarks=missed"),
    case("ir_size", "run -q model.relay -o out.relay --passes ReluRelu --instrument ir-size"),
    case(
        "instrument_options",
        "run -q model.relay -o out.relay --passes ReluRelu --instrument print-changed:form=diff,context=0",
    ),
    case("instrument_unknown", "run model.relay -o out.relay -O0 --instrument irsize"),
    case(
        "instrument_wrong_options",
        "run model.relay -o out.relay -O0 --instrument budget:nodes=-1,seconds=2 --instrument timing:",
    ),
    case("instrument_mandatory_option", "run model.relay -o out.relay -O0 --instrument trace"),
    case("instrument_option_twice", "run model.relay -o out.relay -O0 --instrument timing:format=list,format=tree"),
    case(
        "instrument_passes",
        "run -q model.relay -o out.relay --passes ReluRelu,Nothing --instrument print-after:passes=[\"Nothing\"]",
    ),
    case("budget_nodes", "run model.relay -o out.relay --passes ReluRelu --instrument budget:nodes=1"),
    case("trace_folder_missing", "run model.relay -o out.relay --passes Nothing --trace gone/t.json"),
    case("dump_dir_taken", "run model.relay -o out.relay --passes Nothing --dump-dir ."),
    case("stop_after", "run model.relay -o out.relay --passes Nothing,ReluRelu,Nothing --stop-after 2"),
    case("stop_after_too_many", "run model.relay -o out.relay --passes ReluRelu --stop-after 5"),
    // Pipelines without a run.
    Case {
        name: "pipeline_check",
        files: &[("p.toml", "opt_level = 3\nsteps = [\"ReluRelu\", { fixpoint = [\"Nothing\"] }]\n")],
        command: "pipeline check p.toml",
    },
    Case {
        name: "pipeline_check_faults",
        files: &[("p.toml", "opt_level = 300\nsteps = [\"ReluReul\"]\n")],
        command: "pipeline check p.toml --set sample.dept=3",
    },
    Case {
        name: "pipeline_check_names",
        files: &[("p.toml", "disabled = [\"Nothign\"]\nsteps = [\"ReluReul\"]\n")],
        command: "pipeline check p.toml --set sample.dept=3",
    },
    Case {
        name: "pipeline_print",
        files: &[
            (
                "p.toml",
                "verify = \"each\"\ninstruments = [\"timing\"]\nsteps = [\n    { include = \"q.toml\" },\n    { pass = \"Rename\", options = { prefix = \"a\" } },\n]\n",
            ),
            ("q.toml", "steps = [\"ReluRelu\"]\n"),
        ],
        command: "pipeline print p.toml --set Rename.inner.times=3",
    },
    case("pipeline_print_misnamed", "pipeline print defualt"),
    // Rules.
    Case {
        name: "rules_unsound",
        files: &[(
            "own.rules",
            "pool: MaxRoiPool{pooled_shape = [1, 1]}(Neg(x), r) => MaxRoiPool{pooled_shape = [1, 1]}(x, r);\nNeg(Neg(x)) => x;\n  Abs(Neg(x)) => x if elem(x) == int64\n",
        )],
        command: "run model.relay -o out.relay --rules own.rules",
    },
    pipeline(
        "rules_file_missing",
        &[("p.toml", "steps = [\n    { pass = \"relais.Rewrite\", options = { files = [\"gone.rules\"] } },\n]\n")],
    ),
    pipeline(
        "rules_file_wrong",
        &[
            ("own.rules", "Neg(Neg(x)) => x;\n  Relu(x => x;\nAbs(y) => x\n"),
            ("p.toml", "steps = [\n    { pass = \"relais.Rewrite\", options = { files = [\"own.rules\"] } },\n]\n"),
        ],
    ),
    case("rules_of_pass", "rules relais.SimplifyExpr"),
    case("rules_as_functions", "rules relais.SimplifyExpr -o out.onnx"),
    Case { name: "rules_not_functions", files: &[("own.onnx", "Neg(Neg(x)) => x\n")], command: "rules own.onnx" },
    Case { name: "rules_unknown", files: &[], command: "rules relais.SimplfyExpr" },
    case("help_rules", "rules --help"),
    // Filetests.
    Case { name: "filetest", files: FILETESTS, command: "filetest filetests" },
    Case { name: "filetest_verbose", files: FILETESTS, command: "filetest -v filetests filetests/Cancel/one.relay" },
    Case { name: "filetest_quiet", files: FILETESTS, command: "filetest -q filetests" },
    Case { name: "filetest_only", files: FILETESTS, command: "filetest filetests --only l/o --only gone -v" },
    Case { name: "filetest_only_nothing", files: FILETESTS, command: "filetest filetests --only gone" },
    Case {
        name: "filetest_other_files",
        files: &[("f/Cancel/one.rely", ""), ONE, ("f/.swp", "")],
        command: "filetest f filetests",
    },
    Case {
        name: "filetest_differs",
        files: &[
            ONE,
            ("filetests/Cancel/changed.relay", concat!("//! types = true\n//! unchanged = true\n", two!())),
            ("filetests/Cancel/empty.relay", concat!(two!(), "// expected:\n")),
            ("filetests/Cancel/missing.relay", two!()),
            ("filetests/Cancel/stays.relay", "def @main(%x) { %1 = Neg(%x); %1 }\n"),
            (
                "filetests/Cancel/two.relay",
                concat!(
                    "// About.\n",
                    two!(),
                    "\n// expected:\n// def @main(%x: Tensor[(2), float32]) #[opset = {\"\": 17}] {\n//   %3 = Abs(%1);\n//   %3\n// }\n"
                ),
            ),
        ],
        command: "filetest filetests",
    },
    Case {
        name: "filetest_numbers",
        files: &[
            (
                "f/Nothing/declared.relay",
                concat!("//! unchanged = true\n//! numbers = \"not evaluated: Neg\"\n", two!()),
            ),
            ("f/Cancel/not_declared.relay", "def @main(%x) { %1 = Neg(%x); %2 = Neg(%1); %3 = Abs(%2); %3 }\n"),
        ],
        command: "filetest f",
    },
    Case {
        name: "filetest_json",
        files: &[ONE, ("filetests/Cancel/missing.relay", two!())],
        command: "filetest filetests --json",
    },
    Case {
        name: "filetest_faults",
        files: &[
            ("f/a.relay", "//! pass = \"ReluReul\"\ndef @main(%x) { %x }\n"),
            ("f/b.relay", "//! pass = \"ReluRelu\"\n//! before = [\"Nothing\", \"Bad\"]\ndef @main(%x) { %x }\n"),
            ("f/c.relay", "//! pass = \"Rename\"\n//! options = { prefx = \"a\" }\ndef @main(%x) { %x }\n"),
            ("f/d.relay", "//! unchange = true\ndef @main(%x) { %x }\n"),
            ("f/e.relay", "//! unchanged =\ndef @main(%x) { %x }\n"),
            ("f/f.relay", "//! unchanged = 1\ndef @main(%x) { %x }\n"),
            ("f/g.relay", "// About.\n//! unchanged = true\ndef @main(%x) { %x }\n"),
            (
                "f/h.relay",
                "//! pass = \"Nothing\"\n//! unchanged = true\ndef @main(%x) {\n  %1 = Relu(%y);\n  %2 = Relu(%z)\n  %2\n}\n",
            ),
            ("f/i.relay", "//! pass = \"Nothing\"\ndef @main(%x) { %x }\n// expected:\n\n// %x\n%x\n"),
            ("f/j.relay", "\u{0}"),
            ("f/Bad/error.relay", "//! options = { fault = \"error\" }\ndef @main(%x) {\n  %x\n}\n"),
            ("f/Bad/exit.relay", "//! options = { fault = \"exit\" }\ndef @main(%x) {\n  %x\n}\n"),
            ("f/Bad/panic.relay", "//! options = { fault = \"formatted\" }\ndef @main(%x) {\n  %x\n}\n"),
            ("f/Nothing/good.relay", "//! unchanged = true\ndef @main(%x) { %x }\n"),
        ],
        command: "filetest f",
    },
    Case {
        name: "filetest_no_case",
        files: &[("f/ReluRelu/one.rely", ""), ("f/.hidden.relay", "")],
        command: "filetest f",
    },
    case("filetest_missing", "filetest gone"),
    case("filetest_no_path", "filetest"),
    case("help_filetest", "filetest --help"),
    // Help.
    case("help", "help"),
    case("help_run", "run --help"),
    case("help_replay", "replay --help"),
    case("help_pipeline", "pipeline --help"),
    case("help_pipeline_check", "pipeline check --help"),
    case("help_list", "list --help"),
    case("help_inspect", "inspect --help"),
    case("inspect", "inspect model.relay"),
    Case { name: "inspect_json", files: &[BRANCHES], command: "inspect branches.relay --json --input-shape x:2,4" },
    Case { name: "inspect_two", files: &[BRANCHES], command: "inspect model.relay branches.relay --input-shape x:2,4" },
    Case { name: "inspect_products", files: &[PRODUCTS], command: "inspect products.relay" },
    Case {
        name: "inspect_products_json",
        files: &[PRODUCTS],
        command: "inspect products.relay --json --input-shape x:2,8",
    },
    case("inspect_missing", "inspect model.relay gone.onnx"),
    case("inspect_wrong_shape", "inspect model.relay --input-shape y:2,4"),
    Case { name: "diff_same", files: &[BRANCHES, RENAMED], command: "diff branches.relay renamed.relay" },
    Case { name: "diff", files: &[BRANCHES, OTHER], command: "diff branches.relay other.relay" },
    Case { name: "diff_json", files: &[BRANCHES, OTHER], command: "diff branches.relay other.relay --json" },
    Case { name: "diff_numeric", files: &[BRANCHES, WEIGHTS], command: "diff branches.relay weights.relay --numeric" },
    Case { name: "diff_values_aside", files: &[BRANCHES, WEIGHTS], command: "diff branches.relay weights.relay" },
    Case {
        name: "diff_tolerant",
        files: &[BRANCHES, WEIGHTS],
        command: "diff branches.relay weights.relay --numeric --rtol 1e-2",
    },
    Case {
        name: "diff_nodes",
        files: &[
            ("a.relay", nodes!("Elu(%x, alpha = 0.5)", "[2, 2]")),
            ("b.relay", nodes!("Elu(%x, alpha = 0.25, beta = 2)", "[4, 1]")),
        ],
        command: "diff a.relay b.relay",
    },
    Case { name: "diff_missing", files: &[BRANCHES], command: "diff branches.relay gone.onnx" },
    Case { name: "diff_tolerance_alone", files: &[BRANCHES], command: "diff branches.relay branches.relay --rtol 1" },
    case("help_diff", "diff --help"),
    Case { name: "show", files: &[LARGE], command: "show large.relay" },
    Case { name: "show_full", files: &[LARGE], command: "show large.relay --full" },
    case("show_full_file", "show model.relay --full -o out.relay"),
    case("help_show", "show --help"),
    Case { name: "size", files: &[TILES], command: "run tiles.relay -o out.relay -p size" },
    Case { name: "size_default", files: &[TILES], command: "run tiles.relay -o out.relay" },
    case("replay_nothing", "replay gone.repro"),
    Case { name: "replay_no_reproducer", files: &[("r.json", "{ \"format\": 7 }")], command: "replay r.json" },
];

#[test]
fn the_command_line_says_what_it_should() {
    let sample = common::SAMPLE.as_path();
    let bless = std::env::var_os("RELAIS_BLESS").is_some();
    let mut wrong = Vec::new();
    for case in CASES {
        let text = run(case, sample);
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{}.txt", case.name));
        if bless {
            fs::write(&golden, &text).unwrap();
        }
        let expected = fs::read_to_string(&golden).unwrap_or_default();
        if text != expected {
            wrong.push(format!("{}:\n--- expected\n{expected}\n--- said\n{text}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_golden_file_has_its_case() {
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(CASES.iter().any(|case| case.name == name), "no case is named `{name}`");
    }
}

/// The program in a folder that has no plugins beside it. A link, because a file that was just written cannot be run as
/// long as a process that another test starts still has it open.
fn program(folder: &Path) -> PathBuf {
    let program = folder.join(format!("relais{}", std::env::consts::EXE_SUFFIX));
    let _ = fs::remove_file(&program);
    fs::hard_link(env!("CARGO_BIN_EXE_relais"), &program).unwrap();
    program
}

fn run(case: &Case, sample: &Path) -> String {
    let folder = common::folder(&format!("golden-{}", case.name));
    let program = program(&common::folder(&format!("golden-{}-bin", case.name)));
    fs::write(folder.join("model.relay"), MODEL).unwrap();
    for (name, text) in case.files {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut command = Command::new(&program);
    command
        .current_dir(&folder)
        .args(case.command.split(' '))
        .env_remove("RELAIS_PLUGIN_PATH")
        .env_remove("RELAIS_LOG")
        .env("RELAIS_HOME", folder.join("home"));
    command.env_remove("CLICOLOR_FORCE").env("NO_COLOR", "1").env("COLUMNS", "100");
    // Usage errors come before plugins are looked for.
    let plugin = ["--plugin", sample.to_str().unwrap(), "--allow-writable-plugins"];
    let takes_plugins = case.command != "help" && !["diff ", "show "].iter().any(|it| case.command.starts_with(it));
    let output = if !takes_plugins { &mut command } else { command.args(plugin) }.output().unwrap();
    let status = output.status.code();
    if status != Some(0) {
        assert!(!folder.join("out.relay").exists(), "{}: nothing is written on failure", case.name);
        assert_eq!(fs::read_to_string(folder.join("model.relay")).unwrap(), MODEL, "{}", case.name);
    }
    let said = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace(sample.to_str().unwrap(), "<sample>");
        let text = text.replace(folder.to_str().unwrap(), "<folder>");
        let mut lines: Vec<String> = text.lines().map(|line| without_times(line.trim_end())).collect();
        if case.command.contains("--time-passes=list") {
            // Their order is that of the times.
            lines.sort_by_key(|line| if line.ends_with('%') { line.clone() } else { String::new() });
        }
        lines.into_iter().map(|line| format!("{line}\n")).collect::<String>()
    };
    format!(
        "$ relais {}\n{}{}status: {}\n",
        case.command,
        said(&output.stdout),
        said(&output.stderr),
        status.map_or("none".into(), |status| status.to_string())
    )
}

/// A line with `_` in the place of every time and share, and of text aligned by their widths.
fn without_times(line: &str) -> String {
    const UNITS: [&str; 3] = ["ms", "s", "%"];
    let words: Vec<&str> = line.split(' ').collect();
    let is_time = |at: usize| {
        let is_number = words[at].contains('.') && words[at].parse::<f64>().is_ok();
        is_number && words.get(at + 1).is_some_and(|unit| UNITS.contains(unit))
    };
    let is_json = line.trim_start().starts_with("\"seconds\":") || line.trim_start().starts_with("\"own_seconds\":");
    if is_json {
        return format!("{}: _", line.split(':').next().unwrap());
    }
    let is_header = line.starts_with("pass ") && line.ends_with("share");
    if !(0..words.len()).any(is_time) && !is_header {
        return line.to_owned();
    }
    let kept = words.iter().enumerate().map(|(at, word)| if is_time(at) { "_" } else { word });
    let indent = line.len() - line.trim_start().len();
    let words: Vec<&str> = kept.filter(|word| !word.is_empty()).collect();
    format!("{}{}", " ".repeat(indent), words.join(" "))
}

/// Runs the program on the model with these arguments.
fn relais(folder: &Path, args: &[&str]) -> std::process::Output {
    let program = program(&common::folder(&format!("{}-bin", folder.file_name().unwrap().to_str().unwrap())));
    let mut command = Command::new(program);
    command.current_dir(folder).args(args).env("RELAIS_PLUGIN_PATH", "").env("NO_COLOR", "1");
    command.env("RELAIS_HOME", folder.join("home"));
    command.args(["--plugin", common::SAMPLE.to_str().unwrap(), "--allow-writable-plugins"]).output().unwrap()
}

#[test]
fn a_run_writes_the_model_and_a_report() {
    let folder = common::folder("cli-run");
    fs::write(folder.join("model.relay"), MODEL).unwrap();
    let output = relais(
        &folder,
        &[
            "run",
            "model.relay",
            "-o",
            "model.relay",
            "--passes",
            "ReluRelu",
            "--report",
            "r.json",
            "--time-passes",
            "--input-shape",
            "x:2,4",
        ],
    );
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}{stderr}");
    assert!(
        stdout.contains("Relu") && stdout.contains("total nodes") && stderr.contains("sample.ReluRelu"),
        "{stdout}{stderr}"
    );
    let text = fs::read_to_string(folder.join("model.relay")).unwrap();
    assert_eq!(text.matches("Relu(").count(), 1, "{text}");
    assert!(text.contains("Tensor[(2, 4), float32]"), "{text}");
    let report: serde_json::Value = serde_json::from_str(&fs::read_to_string(folder.join("r.json")).unwrap()).unwrap();
    assert_eq!((&report["before"]["n_nodes"], &report["after"]["n_nodes"]), (&2.into(), &1.into()));
    assert_eq!(report["run"]["passes"][0]["fate"], "changed");
    assert_eq!(report["run"]["instruments"][0]["instrument"], "timing");
    assert_eq!(report["run"]["instruments"][0]["data"][0]["within"][0]["pass"], "sample.ReluRelu");
    assert_eq!(report["reproducers"], serde_json::json!([]));
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn quiet_says_nothing_and_a_failed_run_still_reports() {
    let folder = common::folder("cli-quiet");
    fs::write(folder.join("model.relay"), MODEL).unwrap();
    let output = relais(&folder, &["run", "model.relay", "-o", "out.relay", "--passes", "Nothing", "-q"]);
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
    let args =
        ["run", "model.relay", "-o", "bad.relay", "--passes", "Bad", "--set", "Bad.fault=error", "--report", "r.json"];
    let output = relais(&folder, &args);
    assert_eq!(output.status.code(), Some(1));
    let report = fs::read_to_string(folder.join("r.json")).unwrap();
    assert!(report.contains("sample.Bad") && !folder.join("bad.relay").exists(), "{report}");
}

#[test]
fn text_becomes_onnx_and_back() {
    let folder = common::folder("cli-formats");
    let model = |ty: &str| {
        format!(
            "def @main(%x: Tensor[(N, 4), float32]) #[opset = {{\"\": 17, \"acme\": 1}}] {{ %y{ty} = acme::Nobody(%x); %y }}\n"
        )
    };
    // Nothing infers what the text leaves out, and an ONNX model cannot.
    fs::write(folder.join("model.relay"), model("")).unwrap();
    let refused = relais(&folder, &["run", "model.relay", "-o", "m.onnx", "-O0"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("error: the type of output `y` is not known") && !folder.join("m.onnx").exists(), "{said}");
    fs::write(folder.join("model.relay"), model(": Tensor[(N, 4), float32]")).unwrap();
    assert!(relais(&folder, &["run", "model.relay", "-o", "m.onnx", "-O0"]).status.success());
    // The name does not reveal the format, the content does.
    fs::rename(folder.join("m.onnx"), folder.join("plain")).unwrap();
    let output = relais_show(&folder, "plain");
    assert!(output.contains("acme::Nobody(%x)") && output.contains("Tensor[(N, 4), float32]"), "{output}");
    fs::rename(folder.join("model.relay"), folder.join("text")).unwrap();
    assert!(relais_show(&folder, "text").contains("acme::Nobody(%x)"));
}

fn relais_show(folder: &Path, model: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_relais")).current_dir(folder).args(["show", model]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn r04_the_plugins_table_chooses_among_providers() {
    use relais::{
        pass::{Catalogue, NoPass},
        pipeline::{Disk, PipelineSpec},
        registry::{Linked, Registry},
    };
    let spec = |text: &str| PipelineSpec::parse("p.toml", text, &Disk).unwrap();
    let found = || common::find(&[&common::SAMPLE, &common::MARK]);
    let plain = spec("steps = []").registry(found(), Linked::Exclude);
    let Err(NoPass::Ambiguous(several)) = Catalogue::pass(&plain, "Nothing") else { panic!("two passes end so") };
    let names: Vec<&str> = several.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["mark.Nothing", "sample.Nothing"]);
    let short = spec("steps = [\"Nothing\"]\n[plugins]\nmark = { passes = [\"Nothing\"] }");
    let chosen = short.registry(found(), Linked::Exclude);
    assert_eq!(Registry::pass(&chosen, "Nothing").unwrap().name, "mark.Nothing");
    assert!(short.resolve(&chosen).is_ok());
    let faults = spec("steps = [\"Nothing\"]").resolve(&plain).unwrap_err().to_string();
    for part in
        ["`mark.Nothing` of plugin `mark`", "`sample.Nothing` of plugin `sample-passes`", "write `mark.Nothing` or"]
    {
        assert!(faults.contains(part), "{faults}");
    }
    assert!(faults.contains("`mark = { passes = [\"Nothing\"] }`"), "{faults}");
    let wrong = spec("steps = []\n[plugins]\nmark = { passes = [\"sample.Nothing\"] }");
    let faults = wrong.resolve(&wrong.registry(found(), Linked::Exclude)).unwrap_err().to_string();
    assert!(faults.contains("plugin `mark` does not provide pass `sample.Nothing`"), "{faults}");
    let chosen =
        spec("steps = []\n[plugins]\nmark = { passes = [\"mark.Nothing\"] }").registry(found(), Linked::Exclude);
    assert_eq!(Registry::pass(&chosen, "mark.Nothing").unwrap().name, "mark.Nothing");
    let other = spec("steps = []\n[plugins]\nsample-passes = \"^9\"").registry(found(), Linked::Exclude);
    assert!(Registry::pass(&other, "ReluRelu").is_ok(), "a version that will not do is told at resolution");
}

#[test]
fn listing_opens_no_plugin() {
    let folder = common::folder("cli-list");
    let mark = folder.join("mark");
    for args in [
        &["list"][..],
        &["list", "plugins", "--json"],
        &["list", "operators"],
        &["list", "instruments"],
        &["list", "pipelines"],
        &["list", "rules", "--json"],
        &["pipeline", "schema"],
        &["describe", "default"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_relais"))
            .args(args)
            .args(["--plugin", common::MARK.to_str().unwrap(), "--allow-writable-plugins"])
            .env("RELAIS_TEST_MARK", &mark)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(!mark.exists());
}

#[test]
fn r13_every_instrument_says_the_same_whatever_the_number_of_threads() {
    let folder = common::folder("cli-threads");
    let function =
        |name: String| format!("def @{name}(%x: Tensor[(4,), float32]) {{ %y = Relu(%x); %z = Relu(%y); %z }}\n");
    let names = (0..40).map(|n| format!("f{n}"));
    fs::write(folder.join("model.relay"), names.chain(["main".into()]).map(function).collect::<String>()).unwrap();
    let run = |threads: &str| {
        let dump = format!("dump-{threads}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_relais"));
        command.current_dir(&folder).args([
            "run",
            "-q",
            "model.relay",
            "-o",
            "out.relay",
            "--passes",
            "ReluRelu,Rename",
        ]);
        command.args([
            "--set",
            "Rename.prefix=a",
            "--print-changed=diff",
            "--print-before",
            "*",
            "--remarks",
            "--stats",
        ]);
        command.args(["--instrument", "ir-size", "--instrument", "memory", "--instrument", "verifier"]);
        command.args([
            "--instrument",
            "budget:pass_seconds=600.0,nodes=1000",
            "--time-passes=json",
            "--trace",
            "t.json",
        ]);
        for old in ["t.json", "r.json"] {
            let _ = fs::remove_file(folder.join(old));
        }
        command.args(["--dump-dir", &dump, "--report", "r.json", "--plugin", common::SAMPLE.to_str().unwrap()]);
        command.arg("--allow-writable-plugins").env("RAYON_NUM_THREADS", threads).env("NO_COLOR", "1");
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        // Times and memory, and the head of a column that is as wide as they are.
        let differs = ["seconds\":", "KiB", "MiB", "growth"];
        let is_the_same = |line: &&str| !differs.iter().any(|word| line.contains(word));
        let said: Vec<&str> = said.lines().filter(is_the_same).collect();
        let said = said.join("\n").replace(&dump, "dump");
        let index = fs::read_to_string(folder.join(&dump).join("index.jsonl")).unwrap();
        let out = fs::read_to_string(folder.join("out.relay")).unwrap();
        (said, index, out)
    };
    let one = run("1");
    assert!(one.0.matches("passed: `sample.ReluRelu`: rewrote 1 call (in `@f").count() == 40, "{}", one.0);
    assert_eq!(run("8"), one);
}

#[test]
fn r22_colours_come_when_they_are_asked_for() {
    let folder = common::folder("cli-colours");
    fs::write(folder.join("model.relay"), MODEL).unwrap();
    let run = |variable: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_relais"));
        command.current_dir(&folder).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env(variable, "1");
        command.args(["run", "-q", "model.relay", "-o", "out.relay", "--passes", "ReluRelu", "--print-changed=diff"]);
        let output = command.args(["--plugin", common::SAMPLE.to_str().unwrap(), "--allow-writable-plugins"]).output();
        String::from_utf8(output.unwrap().stderr).unwrap()
    };
    assert!(run("CLICOLOR_FORCE").contains("\u{1b}[32m+"));
    let plain = run("NO_COLOR");
    assert!(plain.contains("\n+") && !plain.contains('\u{1b}'), "{plain}");
}

#[test]
fn completions_are_printed() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = Command::new(env!("CARGO_BIN_EXE_relais")).args(["completions", shell]).output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty(), "{shell}");
    }
}
