//! Random loop programs as C, which computes what the interpreter does, bit for bit.

use relais_conformance::{check::random_inputs, loop_programs};
use relais_plugin_api::{
    ir::{ElemType, IRModule, MAIN, Tensor},
    prim::{self, RunOptions, n_outputs},
    text::{self, PrintOptions},
};
use relais_tests::{
    cli::{Run, command, folder},
    venv::every,
};
use std::{fs, path::Path, process::Command};

/// The contents of an npy file.
fn npy(tensor: &Tensor) -> Vec<u8> {
    let descr = if tensor.elem() == ElemType::INT64 { "<i8" } else { "<f4" };
    let dims: Vec<String> = tensor.dims().iter().map(u64::to_string).collect();
    let shape = if dims.len() == 1 { format!("{},", dims[0]) } else { dims.join(", ") };
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    let header = format!("{text:<117}\n");
    let start = [&b"\x93NUMPY\x01\x00"[..], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
    [&start[..], &tensor.to_bytes()].concat()
}

/// The elements, a NaN without its sign and payload, which are the machine's.
fn elements(tensor: &Tensor) -> Vec<String> {
    match tensor.to_f64s() {
        Some(floats) => floats.iter().map(|x| format!("{x:?}")).collect(),
        None => tensor.to_i64s().into_iter().flatten().map(|x| x.to_string()).collect(),
    }
}

/// How a program becomes C: by which passes, and the warnings that its compiler does not give.
type Way = (&'static str, &'static [&'static str]);

/// As it is, a program compares values with themselves, and computes some that nothing uses.
const AS_IT_IS: &[&str] = &["-Wno-tautological-compare", "-Wno-unused-variable"];

const WAYS: [Way; 6] = [
    ("PlanMemory,EmitC", AS_IT_IS),
    (
        "Simplify,RemoveNoOp,UnrollLoop,LoopPartition,Simplify,FlattenBuffer,NarrowIndex,RemoveNoOp,CommonSubexprElim,\
         PlanMemory,EmitC",
        &[],
    ),
    ("NarrowIndex,Simplify,PlanMemory,EmitC", &[]),
    (
        "FuseLoops,ComputeAt,ScheduleCpu,Simplify,LoopPartition,Hoist,CommonSubexprElim,RemoveNoOp,PlanMemory,StorageRewrite,EmitC",
        &[],
    ),
    ("VectorizeLoop,PlanMemory,EmitC", AS_IT_IS),
    (
        "FuseLoops,ScheduleCpu,VectorizeLoop,Simplify,RemoveNoOp,FlattenBuffer,Simplify,ReuseMemory,PlanMemory,EmitC",
        &[],
    ),
];

/// Options by which `ComputeAt` makes memory of any size smaller.
const SMALL: [&str; 4] = ["--set", "ComputeAt.most_bytes=0", "--set", "ComputeAt.fewest=1"];

/// Builds a program and runs it on the inputs; returns its outputs, or `None` if it stopped.
fn run_as_c(
    here: &Path,
    (passes, allowed): Way,
    module: &IRModule,
    inputs: &[Tensor],
    outputs: &[Tensor],
) -> Option<Vec<Tensor>> {
    fs::write(here.join("nest.relay"), text::print(module, &PrintOptions::default())).unwrap();
    let mut relais = command();
    relais.current_dir(here).args(["build", "-q", "nest.relay", "-o", "nest.c", "--main"]);
    relais.args(["--passes", passes, "--set", "EmitC.bounds=all"]);
    if passes.contains("ComputeAt") {
        relais.args(SMALL);
    }
    if passes.contains("VectorizeLoop") {
        relais.args(["--set", "VectorizeLoop.widths=4", "--set", "VectorizeLoop.masked=true"]);
    }
    Run::of(&mut relais).expect_success();
    let mut compiler = Command::new("cc");
    let strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-O1"];
    compiler.current_dir(here).args(strict).args(allowed);
    compiler.args(["-fsanitize=undefined", "-fno-sanitize-recover=all"]);
    Run::of(compiler.args(["nest.c", "nest_main.c", "-lm", "-o", "nest"])).expect_success();
    let mut nest = Command::new(here.join("nest"));
    for (at, input) in inputs.iter().enumerate() {
        fs::write(here.join(format!("in{at}.npy")), npy(input)).unwrap();
        nest.arg(format!("in{at}.npy"));
    }
    let files: Vec<String> = (0..outputs.len()).map(|at| format!("out{at}.npy")).collect();
    let ran = Run::of(nest.current_dir(here).args(&files));
    if ran.status != Some(0) {
        assert!(ran.stderr.starts_with("the model stopped: "), "{}", ran.stderr);
        return None;
    }
    let read = |(file, like): (&String, &Tensor)| {
        let bytes = fs::read(here.join(file)).unwrap();
        let elements = bytes[bytes.len() - like.byte_len() as usize..].to_vec();
        Tensor::dense(like.elem(), like.dims(), elements).unwrap()
    };
    Some(files.iter().zip(outputs).map(read).collect())
}

/// Every operator on vectors.
const VECTORS: &str = r#"
prim @main(%x: Tensor[(4, 8), float32], %n: Tensor[(16), int64]) -> (%y: Tensor[(12, 8), float32], %z: Tensor[(20, 8), int64]) {
  %f = view(%x, shape = [32]);
  %g = view(%y, shape = [96]);
  for %q in 0..96 { %g[%q] = 0.0; }
  for %q in 0..20 { for %r in 0..8 { %z[%q, %r] = 0; } }
  // Floats.
  %a = load(%x, 1, 0, lanes = 8);
  %b = gather(%f, ramp(%n[0], 3, lanes = 8));
  %c = %a < %b | isnan(%a) & not(isinf(%b));
  %y[0, 0] = select(%c, %a + %b, %a - %b * %a);
  %y[1, 0] = select(%n[1] > 0, min(%a, %b), max(%a, broadcast(-0.0, lanes = 8)));
  %y[2, 0] = fma(%a, %b, neg(%a)) / abs(%b) + floor(%a) + ceil(%b) * round(%a) - trunc(%b);
  %y[3, 0] = sqrt(abs(%a)) + mod(%b, broadcast(0.75, lanes = 8));
  // Masks, of which some lanes are out of range.
  %m = ramp(0, 1, lanes = 8) < broadcast(%n[2] + 5, lanes = 8);
  %l = load_masked(%x, %m, 3, %n[0] + 1);
  store_masked(%y, %l + broadcast(1.0, lanes = 8), %m, 4, %n[0] + 1);
  scatter(%y, %a, 5, floormod(ramp(2, 3, lanes = 8), broadcast(8, lanes = 8)));
  scatter(%y, %a, 6, broadcast(3, lanes = 8));
  // Integers, which wrap.
  %i = load(%n, 0, lanes = 8);
  %j = gather(%n, ramp(15, -2, lanes = 8));
  %z[0, 0] = %i + %j;
  %z[1, 0] = %i - %j * broadcast(4611686018427387904, lanes = 8);
  %z[2, 0] = floordiv(%i, broadcast(-3, lanes = 8)) + floormod(%j, broadcast(5, lanes = 8));
  %z[3, 0] = %i / broadcast(7, lanes = 8) - mod(%j, abs(%i) + broadcast(1, lanes = 8));
  %z[4, 0] = (%i << broadcast(3, lanes = 8)) ^ (%j >> broadcast(1, lanes = 8)) & not(%i) | ramp(%n[1], 9223372036854775807, lanes = 8);
  %z[5, 0] = cast(cast(%i, elem = "int8") * cast(%j, elem = "int8"), elem = "int64");
  %z[6, 0] = cast(cast(%i, elem = "uint16") - cast(%j, elem = "uint16"), elem = "int64") + cast(ramp(250u8, 3u8, lanes = 8), elem = "int64");
  %z[7, 0] = cast(bitcast(%a, elem = "int32") + ramp(2147483647i32, 1i32, lanes = 8), elem = "int64");
  %z[8, 0] = cast(%i == %j, elem = "int64") + cast(%i != %j, elem = "int64") * cast(%i >= %j, elem = "int64") + min(%i, max(%j, neg(%i)));
  %z[9, 0] = cast(max(min(%a, broadcast(100.0, lanes = 8)), broadcast(-100.0, lanes = 8)), elem = "int64");
  %y[7, 0] = cast(cast(%i, elem = "bool"), elem = "float32") + cast(%i, elem = "float32") + cast(cast(%a, elem = "float64") * cast(%b, elem = "float64"), elem = "float32");
  // Elements that one lane stores, and others load before or afterwards.
  %s = load(%y, 0, 0, lanes = 4);
  store(%y, %s + broadcast(1.0, lanes = 4), 0, 2);
  %t = load(%y, 0, 1, lanes = 4);
  store(%y, %t, 0, 3);
  store(%y, load(%y, 0, 0, lanes = 4), 0, 0);
  // Lanes.
  %u = floormod(%n[3], 8);
  %y[8, 0] = lane(%a, %u);
  %y[8, 1] = lane(broadcast(%x[0, 0], lanes = 8), 3);
  %y[8, 2] = lane(%a + %b, 7);
  // Vectors that loops carry, exchanged and the same in all lanes.
  (%p, %q, %r) = for %k in 0..5 with %d = %a, %e = broadcast(1.0, lanes = 8), %h = 2.0 {
    %o = %d * broadcast(%h, lanes = 8) + %e;
    (%e, %o, %h + 1.0)
  };
  %y[9, 0] = %p + %q * broadcast(%r, lanes = 8);
  (%v, %w) = for %k in 0..3 with %d = %a, %h = 3.0 { (broadcast(%h, lanes = 8), %h * 0.5) };
  %y[10, 0] = %v + broadcast(%w, lanes = 8);
  (%aa, %ab) = while with %ac = 0, %ad = %i { %ac < 3 } do { (%ac + 1, %ad + %ad) };
  %z[10, 0] = %ab + broadcast(%aa, lanes = 8);
  // Vectors that conditionals give.
  (%ba, %bb) = if (%n[4] > 0) { %bc = %a + %a; (%bc, %i) } else { (%b, broadcast(%n[5], lanes = 8)) };
  %y[11, 0] = %ba;
  %z[11, 0] = %bb;
  %ca = if (%n[6] > 0) { ramp(%n[7], 2, lanes = 8) } else { %i };
  when (%n[8] > 0) { %z[12, 0] = %ca * %ca; } else { %z[12, 0] = %ca; }
  // Other numbers of lanes.
  store(%z, ramp(1, 1, lanes = 2), 13, 4);
  store(%z, load(%n, 1, lanes = 3) + ramp(0, 5, lanes = 3), 14, 1);
}
"#;

#[test]
#[cfg_attr(not(unix), ignore = "compilers have other arguments there")]
fn vectors_compute_as_c_what_the_interpreter_does() {
    let here = folder("vectors");
    let module = text::parse_str(VECTORS).unwrap_or_else(|errors| panic!("{errors:?}"));
    let f = module.global(MAIN).and_then(|main| main.prim_func()).unwrap();
    let mut n_done = 0;
    // The compiler takes seconds for each.
    let (ways, least) = if every() == 1 { (&[0, 1, 5, 2, 3, 4, 0, 1][..], 4) } else { (&[0, 1, 5][..], 1) };
    for (seed, way) in (0..).zip(ways.iter().map(|&way| &WAYS[way])) {
        let mut inputs = random_inputs(f, seed, 0).next().unwrap().unwrap();
        let outputs = inputs.split_off(2);
        // The first numbers are indices; the others may be anything.
        let mut numbers: Vec<i64> = inputs[1].to_i64s().unwrap();
        numbers[0] = [0, 1, 2][seed as usize % 3];
        numbers[2] = [-5, 0, -2][seed as usize % 3];
        inputs[1] = Tensor::from_i64(&[16], &numbers);
        let printed = || text::print(&module, &PrintOptions::default());
        let expected = prim::run(&module, MAIN, &inputs, &RunOptions::default());
        let got = run_as_c(&here, *way, &module, &inputs, &outputs);
        match (expected, got) {
            (Ok(expected), Some(got)) => {
                for (at, (got, expected)) in got.iter().zip(&expected).enumerate() {
                    assert_eq!(elements(got), elements(expected), "output {at} after {} of {}", way.0, printed());
                }
                n_done += 1;
            }
            (Err(stop), got) => assert!(got.is_none(), "{stop:?}"),
            (Ok(_), None) => panic!("it stops"),
        }
    }
    assert!(n_done >= least, "{n_done}");
}

#[test]
fn what_is_computed_lane_by_lane_is_one_loop_without_arrays() {
    let here = folder("lanes");
    let text = "prim @main(%x: Tensor[(8), float32]) -> (%y: Tensor[(8), float32]) {
  for %i in 0..8 vectorized {
    %a = max(%x[%i], 0.5) * 2.0;
    %y[%i] = select(%a > 3.0, sqrt(%a), %a) + %a;
  }
}
";
    fs::write(here.join("lanes.relay"), text).unwrap();
    let mut relais = command();
    relais.current_dir(&here).args(["build", "-q", "lanes.relay", "-o", "lanes.c"]);
    Run::of(relais.args(["--passes", "VectorizeLoop,EmitC"])).expect_success();
    let c = fs::read_to_string(here.join("lanes.c")).unwrap();
    assert_eq!(c.matches("for (int l = 0; l < 8; ++l) {").count(), 1, "{c}");
    assert!(!c.contains("[8];"), "{c}");
}

#[test]
#[cfg_attr(not(unix), ignore = "compilers have other arguments there")]
fn random_programs_compute_as_c_what_the_interpreter_does() {
    let here = folder("nests");
    let (mut n_same, mut n_stopped) = (0, 0);
    let all = loop_programs(7, 300 / every()).filter(|module| module.global(MAIN).is_some());
    for (module, &way) in all.zip(WAYS.iter().cycle()) {
        let f = module.global(MAIN).and_then(|main| main.prim_func()).unwrap();
        let mut inputs = random_inputs(f, 1, 0).next().unwrap().unwrap();
        // Random values for the outputs have their types.
        let outputs = inputs.split_off(f.params().len() - n_outputs(f));
        let run = |poison: bool| {
            let mut options = RunOptions::default();
            (options.poison, options.fuel) = (poison, 1 << 22);
            prim::run(&module, MAIN, &inputs, &options)
        };
        let printed = || text::print(&module, &PrintOptions::default());
        let got = run_as_c(&here, way, &module, &inputs, &outputs);
        let (expected, poisoned) = match (run(false), run(true)) {
            (Ok(expected), Ok(poisoned)) => (expected, poisoned),
            // Passes may remove what stops a program.
            (Err(_), _) => {
                assert!(got.is_none() || way != WAYS[0], "{}", printed());
                n_stopped += 1;
                continue;
            }
            (Ok(_), Err(_)) => continue,
        };
        let got = got.unwrap_or_else(|| panic!("it stops: {}", printed()));
        for (at, (got, (expected, poisoned))) in got.iter().zip(expected.iter().zip(&poisoned)).enumerate() {
            let all = elements(expected).into_iter().zip(elements(poisoned)).zip(elements(got));
            // Numbers that depend on memory that was not written may be anything.
            for ((expected, _), got) in all.filter(|((expected, poisoned), _)| expected == poisoned) {
                assert_eq!(got, expected, "output {at} after {} of {}", way.0, printed());
            }
        }
        n_same += 1;
    }
    println!("{n_same} compute the same, {n_stopped} stop");
    assert!(n_same >= 75 / every(), "{n_same}");
}

/// A program in which windows of rows are read of memory that loops fill, by its number.
fn windows(number: u64) -> String {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5bf0_3635;
    let mut pick = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let (rows, columns, taps, step) = (9 + pick(12), 3 + pick(6), 1 + pick(3), 1 + pick(3));
    let reader = pick(4);
    let pad = if reader < 2 { 0 } else { pick(taps) };
    let made = (rows + 2 * pad - taps) / step + 1;
    let filled = match pick(3) {
        0 => format!("for %i in 0..{rows} {{ for %j in 0..{columns} {{ %a[%i, %j] = %x[%i, %j] * 2.0 + 1.0; }} }}"),
        1 => format!(
            "%f = view(%a, shape = [{n}]);
             for %n in 0..{n} {{ %f[%n] = 0.5; }}
             for %t in 0..3 {{
               for %i in 0..{rows} {{ for %j in 0..{columns} {{ %a[%i, %j] = %a[%i, %j] * 0.5 + %x[%i, %j]; }} }}
             }}",
            n = rows * columns
        ),
        _ => format!(
            "for %i in 0..{rows} {{
               for %j in 0..{columns} {{
                 %s = for %k in 0..{columns} with %c = 0.25 {{ %c * 0.5 + %x[%i, %k] }};
                 %a[%i, %j] = %s * %x[%i, %j];
               }}
             }}"
        ),
    };
    let start = format!("for %i in 0..{made} {{ for %j in 0..{columns} {{ %y[%i, %j] = 1.0; }} }}");
    let read = match reader {
        0 => format!(
            "for %i in 0..{made} {{
               for %j in 0..{columns} {{
                 %s = for %t in 0..{taps} with %c = 0.0 {{ %c * 0.5 + %a[%i * {step} + %t, %j] }};
                 %y[%i, %j] = %s;
               }}
             }}"
        ),
        1 => format!(
            "%b = view(%a, shape = [{rows}, {columns}, 1]);
             %z = view(%y, shape = [{n}]);
             for %i in 0..{made} {{
               for %j in 0..{columns} {{
                 %z[%i * {columns} + %j] = %b[%i * {step}, %j, 0] - %b[%i * {step} + {last}, %j, 0] * 3.0;
               }}
             }}",
            n = made * columns,
            last = taps - 1
        ),
        2 => format!(
            "{start}
             for %t in 0..{taps} {{
               %low = max(0, floordiv({pad} - %t + {step} - 1, {step}));
               %n = min({made}, floordiv({rows} - 1 + {pad} - %t, {step}) + 1) - %low;
               for %i in %low count %n {{
                 for %j in 0..{columns} {{ %y[%i, %j] = %y[%i, %j] * 0.5 + %a[%i * {step} + %t - {pad}, %j]; }}
               }}
             }}"
        ),
        _ => format!(
            "{start}
             for %i in 0..{made} {{
               for %j in 0..{columns} {{
                 for %t in 0..{taps} {{
                   %r = %i * {step} + %t - {pad};
                   when (%r >= 0 & %r < {rows}) {{ %y[%i, %j] = %y[%i, %j] * 0.5 + %a[%r, %j]; }}
                 }}
               }}
             }}"
        ),
    };
    format!(
        "prim @main(%x: Tensor[({rows}, {columns}), float32]) -> (%y: Tensor[({made}, {columns}), float32]) {{
           %a = alloc float32[{rows}, {columns}];
           {filled}
           {read}
         }}"
    )
}

#[test]
#[cfg_attr(not(unix), ignore = "compilers have other arguments there")]
fn windows_of_smaller_memory_compute_what_those_of_the_whole_do() {
    let here = folder("windows");
    let n = 400 / every();
    let mut n_shrunk = 0;
    for number in 0..n as u64 {
        let source = windows(number);
        let module = text::parse_str(&source).unwrap_or_else(|errors| panic!("{errors:?} in {source}"));
        let f = module.global(MAIN).and_then(|main| main.prim_func()).unwrap();
        let mut inputs = random_inputs(f, number, 0).next().unwrap().unwrap();
        let outputs = inputs.split_off(1);
        fs::write(here.join("before.relay"), &source).unwrap();
        let mut relais = command();
        relais.current_dir(&here).args(["run", "-q", "before.relay", "-o", "after.relay", "--passes", "ComputeAt"]);
        Run::of(relais.args(SMALL)).expect_success();
        let after = fs::read_to_string(here.join("after.relay")).unwrap();
        let after_module = text::parse_str(&after).unwrap_or_else(|errors| panic!("{errors:?} in {after}"));
        let run = |module: &IRModule| {
            let options = RunOptions { poison: true, ..RunOptions::default() };
            let all = prim::run(module, MAIN, &inputs, &options);
            all.unwrap_or_else(|stop| panic!("{stop:?} of {source} after {after}"))
        };
        let (expected, got) = (run(&module), run(&after_module));
        assert_eq!(elements(&got[0]), elements(&expected[0]), "{source} after {after}");
        let alloc = |text: &str| text.split("alloc ").nth(1).and_then(|rest| rest.split(';').next()).map(str::to_owned);
        n_shrunk += usize::from(alloc(&after) != alloc(&source));
        if number % 8 == 0 {
            let as_c = run_as_c(&here, WAYS[4], &module, &inputs, &outputs).unwrap();
            assert_eq!(elements(&as_c[0]), elements(&expected[0]), "{source}");
        }
    }
    println!("{n_shrunk} of {n} need less memory");
    assert!(n_shrunk * 2 > n, "{n_shrunk} of {n}");
}
