//! `docs/building.md`, followed to the letter: its files are written and its commands are run, in order, with the compiler
//! of this machine.

use relais_tests::{
    cli::{Run, command, folder},
    page::{self, Block, commands, is_as},
};
use std::{fs, path::Path, process::Command};

const PAGE: &str = include_str!("../../../docs/building.md");

fn blocks() -> Vec<Block> {
    page::blocks("building.md", PAGE)
}

fn types(here: &Path, line: &str, expected: &str) {
    let words: Vec<&str> = line.strip_prefix("$ ").expect("a command").split(' ').collect();
    let (program, args) = (words[0], &words[1..]);
    let mut command = match program {
        "relais" => command(),
        "cc" | "ld" => Command::new(program),
        _ => Command::new(here.join(program.strip_prefix("./").unwrap_or_else(|| panic!("`{line}`")))),
    };
    let run = Run::of(command.current_dir(here).args(args)).expect_success();
    let printed = run.stdout + &run.stderr;
    // A difference is a number with spaces around it, and compilers differ in what they say.
    let shown = expected.replace(" …\n", "\n…\n");
    let printed = match expected.contains(" …\n") {
        true => printed.replace("difference is ", "difference is\n"),
        false => printed,
    };
    assert!(is_as(&shown, &printed), "`{line}` prints\n{printed}\nand not\n{expected}");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "linkers have other arguments there")]
fn the_example_for_microcontrollers_is_built_and_checked() {
    let here = folder("guide-to-c");
    let mut n_run = 0;
    for block in blocks() {
        match (block.language, block.mark) {
            ("console", None) => {
                for (line, expected) in commands(&block) {
                    types(&here, line, expected);
                    n_run += 1;
                }
            }
            (_, Some(("file", name))) => fs::write(here.join(name), &block.text).unwrap(),
            (_, Some(("not run", _))) => {}
            other => panic!("line {}: nothing is known to be done with {other:?}", block.line),
        }
    }
    assert!(n_run >= 6);
    // The lines of the header that the page shows.
    let header = fs::read_to_string(here.join("keywords.h")).unwrap();
    let shown = blocks().into_iter().find(|block| block.text.starts_with("#define KEYWORDS_ARENA_BYTES"));
    for line in shown.expect("the page shows them").text.lines() {
        assert!(header.contains(line), "{line}\n{header}");
    }
}

/// A wrong number is found by the program of the page.
#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "linkers have other arguments there")]
fn its_program_finds_other_numbers() {
    let here = folder("guide-to-c-wrong");
    for block in blocks() {
        if let Some(("file", name)) = block.mark {
            fs::write(here.join(name), &block.text).unwrap();
        }
    }
    types(&here, "$ relais build keywords.relay -o keywords.c --test-vectors -q", "");
    let expected = here.join("keywords_out_0.npy");
    let mut bytes = fs::read(&expected).unwrap();
    let last = bytes.len() - 2;
    bytes[last] ^= 0x40;
    fs::write(&expected, bytes).unwrap();
    types(&here, "$ ld -r -b binary -z noexecstack -o vectors.o keywords_in_0.npy keywords_out_0.npy", "");
    types(&here, "$ cc -std=gnu99 -O2 keywords.c check.c vectors.o -lm -o check", "");
    let said = Run::of(&mut Command::new(here.join("check")));
    assert_eq!((said.status, said.stdout.as_str()), (Some(102), "NOT the same: 102\n"));
}

/// The page says what `--disable TransposeWeights` does. Four products are added at once, and the three that are left over.
#[test]
#[cfg_attr(not(unix), ignore = "compilers have other arguments there")]
fn the_weights_of_dense_layers_are_transposed() {
    let here = folder("guide-to-c-columns");
    let weights: Vec<String> = (0..40 * 11).map(|at| format!("{}.5", at % 7 - 3)).collect();
    let model = format!(
        "def @main(%x: Tensor[(2, 11), float32]) -> (%y) #[opset = {{\"\": 17}}] {{
  %w = const(float32, (40, 11), [{}]);
  %y = Gemm(%x, %w, transB = 1);
  %y
}}
",
        weights.join(", ")
    );
    fs::write(here.join("model.relay"), model).unwrap();
    for (without, index) in [("", " * 40 + "), (" --disable TransposeWeights", " * 11 + ")] {
        let line = format!("$ relais build model.relay -o net.c --main --test-vectors --overwrite -q{without}");
        types(&here, &line, "");
        let source = fs::read_to_string(here.join("net.c")).unwrap();
        let mut weights = source.lines().filter(|line| line.contains(" = x1[")).peekable();
        assert!(weights.peek().is_some() && weights.all(|line| line.contains(index)), "{source}");
        types(&here, "$ cc -std=c99 -O1 -ffp-contract=off net.c net_main.c -lm -o net", "");
        let mut net = Command::new(here.join("net"));
        let said = Run::of(net.current_dir(&here).args(["--compare", "net_in_0.npy", "net_out_0.npy"]));
        assert!(said.expect_success().stdout.contains(": the same"));
    }
}
