"""The cases: each adds rows to the table."""

import lzma
import subprocess

from machine import (
    ENV, PLUGINS, ROOT, TEST_BUILT, TIMEOUT, WORK, dll, folder, hold, install_relais, interrupt, linux, models, windows, wine,
)
from records import BOUNDARY, FINGERPRINT, NEEDS, PANIC, TARGET, flipped, version, with_fields, without_entry

ROWS = []

MODEL = """def @main(%x: Tensor[(2,), float32]) -> (%y) #[opset = {"": 17, "quit": 1}, ir_version = 9] {
  %w = const(float32, (2), [1.0, 2.0]);
  %a = quit::Same(%w);
  %b = Identity(%x);
  %y = Add(%b, %a);
  %y
}
"""
PLAIN = MODEL.replace("  %a = quit::Same(%w);\n", "").replace(", \"quit\": 1", "").replace("%a)", "%w)")


def row(group, what, expected, seen):
    """Adds a row: two lists of short facts, which have to be equal."""
    ROWS.append((group, what, "; ".join(expected), "; ".join(seen)))


def files(here):
    """The files below a folder, and their bytes."""
    return {str(path.relative_to(here)): path.read_bytes() for path in here.rglob("*") if path.is_file()}


def said(run):
    return (run.stdout + run.stderr).decode(errors="replace")


def facts(run, *needles):
    """How a run ended: its status, and which of these texts it printed; if it lacks one, its first error."""
    text = said(run)
    lacks = [needle for needle in needles if needle not in text]
    seen = [f"status {run.returncode}", *(f"“{needle}”" for needle in needles if needle in text)]
    if lacks:
        errors = [line for line in text.splitlines() if "error" in line] or text.splitlines() or ["nothing"]
        seen.append(f"it said: {errors[0].strip()}")
    return seen


def expect(status, *needles):
    return [f"status {status}", *(f"“{needle}”" for needle in needles)]


def changes(before, here):
    """Which files are new, gone or other than before."""
    after = files(here)
    new = [f"new {name}" for name in sorted(after.keys() - before.keys())]
    gone = [f"lost {name}" for name in sorted(before.keys() - after.keys())]
    other = [f"changed {name}" for name in sorted(before) if name in after and after[name] != before[name]]
    return new + gone + other or ["files as before"]


def relais():
    """The program with the shipped plugins beside it, made once."""
    program = WORK / "cases" / "program" / "relais.exe"
    return program if program.exists() else install_relais(program.parent, *map(dll, PLUGINS))


def run(here, *arguments, **more):
    return wine(relais(), *arguments, cwd=here, RELAIS_HOME=windows(WORK / "no-home"), **more)


def workshop(name):
    """A folder with a model in both forms."""
    here = folder(name)
    (here / "m.relay").write_text(PLAIN)
    linux("run", "m.relay", "-o", "m.onnx", "-q", "--passes", "InferType", cwd=here).check_returncode()
    return here


def expected_output(here, source="m.onnx"):
    """What the program of this machine makes of a model."""
    # Outside the folder, so that it is not among its files.
    output = WORK / "expected.onnx"
    linux("run", source, "-o", output, "-q", cwd=here).check_returncode()
    return output.read_bytes()


def refused(group, what, says, here, *arguments):
    """Adds a row for a run that has to fail with a message and to leave all files as they were."""
    before = files(here)
    done = run(here, "run", *arguments)
    row(group, what, [*expect(1, says), "files as before"], [*facts(done, says), *changes(before, here)])


def is_equal(path, expected):
    if not path.exists():
        return "no output"
    return "equal bytes" if path.read_bytes() == expected else "other bytes"


# Loading.


def load_beside():
    here = folder("load-beside")
    listed = run(here, "list", "plugins", "--json")
    beside = [f"{plugin} beside the program" for plugin in PLUGINS]
    text = said(listed)
    seen = [name for name, plugin in zip(beside, PLUGINS) if f"program\\\\{plugin}.dll" in text]
    row("load", "`relais list plugins`", [*expect(0), *beside], [*facts(listed), *seen])
    for model in models():
        expected = expected_output(folder("load-linux"), model)
        done = run(here, "run", windows(model), "-o", model.name, "-q")
        row("load", f"{model.stem}, plugins beside the program", [*expect(0), "equal bytes"],
            [*facts(done), is_equal(here / model.name, expected)])


def load_alone():
    program = install_relais(folder("load-alone") / "bin")
    here = folder("load-alone-work")
    listed = wine(program, "list", "plugins", cwd=here)
    row("load", "alone: `relais list plugins`", [*expect(0, "linked"), "0 files"],
        [*facts(listed, "linked"), f"{said(listed).count('.dll')} files"])
    model = next(model for model in models() if model.stem == "light_resnet50")
    for level in ["-O0", "-O1", "-O2", "-O3"]:
        linux("run", model, "-o", here / "linux.onnx", "-q", level, cwd=here).check_returncode()
        done = wine(program, "run", windows(model), "-o", "out.onnx", "-q", level, cwd=here)
        row("load", f"alone: {model.stem} {level}", [*expect(0), "equal bytes"],
            [*facts(done), is_equal(here / "out.onnx", (here / "linux.onnx").read_bytes())])
        (here / "out.onnx").unlink(missing_ok=True)


def load_museum():
    """Libraries of earlier hosts do what the same plugin does when it is built today."""
    here = folder("load-museum")
    museum = ROOT / "tests" / "museum"
    for name in ["model.relay", "sample.toml"]:
        (here / name).write_bytes((museum / name).read_bytes())

    def result(library, output):
        done = run(here, "run", "model.relay", "-o", output, "-p", "sample.toml", "-q", "--plugin", windows(library))
        text = (here / output).read_text() if (here / output).exists() else "nothing"
        return done, text

    today, expected = result(TEST_BUILT / "sample_passes.dll", "today.relay")
    row("load", "the plugin of the museum as it is built today", [*expect(0), "renamed"],
        [*facts(today), "renamed" if "%s3" in expected else expected])
    kept = sorted(museum.glob("*.dll.xz"))
    row("load", "libraries in the museum", ["some"], ["some" if kept else "none"])
    for packed in kept:
        library = here / packed.stem
        library.write_bytes(lzma.decompress(packed.read_bytes()))
        done, text = result(library, packed.stem + ".relay")
        row("load", packed.stem, [*expect(0), "the same"], [*facts(done), "the same" if text == expected else text])


def load_named():
    """Discovery runs no code of a plugin, and opening runs it."""
    here = workshop("load-named")
    mark = here / "mark"
    more = {"RELAIS_TEST_MARK": windows(mark)}
    checked = run(here, "plugin", "check", "--no-open", windows(dll("mark")), **more)
    row("load", "`plugin check --no-open`", [*expect(0, "accepted"), "not opened"],
        [*facts(checked, "accepted"), "opened" if mark.exists() else "not opened"])
    named = ["--plugin", windows(dll("mark")), "--passes", "mark.Nothing"]
    done = run(here, "run", "m.onnx", "-o", "out.onnx", *named, **more)
    row("load", "`--plugin mark.dll --passes mark.Nothing`", [*expect(0), "opened"],
        [*facts(done), "opened" if mark.exists() else "not opened"])
    folders = f"{windows(here)};{windows(dll('mark').parent)}"
    done = run(here, "run", "m.onnx", "-o", "out.onnx", "-q", "--passes", "mark.Nothing", RELAIS_PLUGIN_PATH=folders)
    row("load", "a second folder in `RELAIS_PLUGIN_PATH`", expect(0), facts(done))
    (here / "p.toml").write_text('steps = ["mark.Nothing"]\n')
    plugin = ["--plugin", windows(dll("mark")), "--pipeline", "p.toml"]
    locked = run(here, "lock", *plugin)
    done = run(here, "run", "m.onnx", "-o", "out.onnx", "-q", *plugin, "--locked")
    row("load", "`relais lock` and `run --locked`", [*expect(0), *expect(0)], [*facts(locked), *facts(done)])
    tested = run(here, "plugin", "test", windows(dll("mark")))
    row("load", "`plugin test`, in a process of its own", expect(0), facts(tested))
    checked = run(here, "plugin", "check", windows(dll("quitter")))
    row("load", "`plugin check`, in a process of its own", expect(0, "accepted"), facts(checked, "accepted"))


def load_installed():
    """`relais plugin install`, a run and `remove`, in the system's folder for the data of programs."""
    program = install_relais(folder("load-installed") / "bin")
    here = workshop("load-installed-work")
    installed = wine(program, "plugin", "install", windows(dll("mark")), cwd=here)
    row("load", "`plugin install`", expect(0, "AppData\\Roaming\\relais\\plugins\\mark.dll"),
        facts(installed, "AppData\\Roaming\\relais\\plugins\\mark.dll"))
    done = wine(program, "run", "m.onnx", "-o", "out.onnx", "-q", "--passes", "mark.Nothing", cwd=here)
    row("load", "a run that finds it there", [*expect(0), "new out.onnx"],
        [*facts(done), *changes({name: b for name, b in files(here).items() if name != "out.onnx"}, here)])
    again = wine(program, "plugin", "install", windows(dll("mark")), cwd=here)
    row("load", "`plugin install` again, in its place", expect(0), facts(again))
    removed = wine(program, "plugin", "remove", "mark", cwd=here)
    listed = wine(program, "plugin", "list", cwd=here)
    row("load", "`plugin remove`", [*expect(0), *expect(0, "no plugin is installed")],
        [*facts(removed), *facts(listed, "no plugin is installed")])


# Refusing.


def refuse():
    """Each file is refused by a check and by a run that names it, and others are as usable as ever in its folder."""
    good = dll("mark").read_bytes()
    later, earlier = version(0, 9, 0), version(0, 1, 0)
    other = "this machine is X86_64"
    foreign = "it was built for `x86_64-pc-windows-foo`"
    matrix = [
        ("a text file", b"This is text.\n", "it is not a shared library"),
        ("an empty file", b"", "it is not a shared library: it is empty"),
        ("a library that is not a plugin", (WORK / "plain.dll").read_bytes(), "it is not a plugin: it has no records"),
        ("half of a plugin", good[:len(good) // 2], "it is not a"),
        ("the first KiB of a plugin", good[:1024], "it is not a"),
        ("a library for another machine", good.replace(b"PE\0\0\x64\x86", b"PE\0\0\x64\xaa", 1), other),
        ("a damaged record", flipped(good), "is damaged: its checksum differs"),
        ("a later boundary", with_fields(good, {BOUNDARY: later, NEEDS: later}), "0.9.0 of the plugin boundary"),
        ("an earlier boundary", with_fields(good, {BOUNDARY: earlier, NEEDS: earlier}), "0.1.0 of the plugin boundary"),
        ("another fingerprint", with_fields(good, {FINGERPRINT: b"\1" * 8}), "its types are laid out differently"),
        ("another target", with_fields(good, {TARGET: b"x86_64-pc-windows-foo"}), foreign),
        ("`panic = \"abort\"`", with_fields(good, {PANIC: b"abort"}), "it was built with `panic = \"abort\"`"),
        # It is missed only when the library is open.
        ("a missing entry", without_entry(good), "its entry `"),
    ]
    here = workshop("refuse")
    for what, data, says in matrix:
        plugin = here / "plugin.dll"
        plugin.write_bytes(data)
        checked = run(here, "plugin", "check", "plugin.dll")
        row("refuse", f"{what}: `plugin check`", expect(1, says), facts(checked, says))
        named = ["--no-reproducer", "--plugin", "plugin.dll", "--passes", "mark.Nothing"]
        refused("refuse", f"{what}: `run --plugin`", says, here, "m.onnx", "-o", "out.onnx", *named)
    plugin = ["m.onnx", "-o", "out.onnx", "--plugin"]
    refused("refuse", "a missing file", "there is no such file", here, *plugin, "gone.dll")
    refused("refuse", "a folder", "it is not a file", here, *plugin, ".")
    (here / "plugin.dll").write_bytes(b"text")
    done = run(here, "run", "m.onnx", "-o", "out.onnx", "-q", "--plugin-dir", ".")
    row("refuse", "a text file in a folder: others are used", [*expect(0), "equal bytes"],
        [*facts(done), is_equal(here / "out.onnx", expected_output(here))])


# Quitting.

QUIT_PLACES = [
    "module", "function", "steps", "rewrite", "check", "instrument-new", "enter", "exit", "before", "after", "infer",
    "eval", "options-drop", "instrument-drop",
]


def quit():
    here = folder("quit")
    (here / "m.relay").write_text(MODEL)
    before = files(here)
    passes = "quit.Module,quit.Function,quit.Sequence,quit.Rewrite,InferType,FoldConstant"
    arguments = [
        "run", "m.relay", "-o", "out.relay", "--no-reproducer", "--plugin", windows(dll("quitter")), "--instrument",
        "quit.Watch", "--passes", passes,
    ]
    done = run(here, *arguments)
    row("quit", "a plugin that does not quit", [*expect(0), "new out.relay"], [*facts(done), *changes(before, here)])
    (here / "out.relay").unlink(missing_ok=True)
    for place in QUIT_PLACES:
        hows = [("exit", 70, "ended the process"), ("panic", 1, "told to panic")]
        if place == "module":
            hows.append(("exit-in-thread", 70, "ended the process"))
        for how, status, says in hows:
            # A failure of type relations and evaluators is reported by the pass that called them.
            if how == "panic" and place in ("infer", "eval"):
                continue
            done = run(here, *arguments, RELAIS_TEST_QUIT=f"{place}:{how}")
            needles = [says, "quit" if how == "panic" else "plugin `quitter 0.2.0`"]
            # Passes are dropped when their work is done: the output may be there.
            seen = [] if place == "options-drop" and how == "exit" else changes(before, here)
            row("quit", f"{how} in `{place}`", [*expect(status, *needles), *(["files as before"] if seen else [])],
                [*facts(done, *needles), *seen])
            (here / "out.relay").unlink(missing_ok=True)
    more = {"RELAIS_HOME": windows(WORK / "no-home"), "RELAIS_TEST_QUIT": "module:sleep"}
    done = interrupt(relais(), *arguments, cwd=here, **more)
    blamed = "a plugin is blamed" if "ended the process" in said(done) else "no plugin is blamed"
    row("quit", "Ctrl-C while a plugin runs", ["ended by it", "no plugin is blamed", "files as before"],
        ["ended by it" if done.returncode == 0 else f"status {done.returncode}", blamed, *changes(before, here)])
    arguments.remove("--no-reproducer")
    run(here, *arguments, RELAIS_TEST_QUIT="module:panic")
    done = run(here, "replay", "out.relay.repro", "--plugin", windows(dll("quitter")), RELAIS_TEST_QUIT="module:panic")
    says = "this is the error that was recorded"
    row("quit", "a panic leaves a reproducer, and `replay` repeats it", expect(1, says), facts(done, says))
    opened = run(here, "plugin", "check", windows(dll("mark")), RELAIS_TEST_EXIT="1")
    says = "opened in a process of its own, and was refused: plugin `mark 0.1.0`"
    row("quit", "`exit(0)` in a constructor: `plugin check`", expect(1, says), facts(opened, says))


# Writing.


def write():
    here = workshop("write")
    expected = expected_output(here)
    original = (here / "m.onnx").read_bytes()

    def case(what, output, path=None):
        """A run that writes where it should."""
        before = files(here)
        done = run(here, "run", "m.onnx", "-o", output, "-q")
        path = path or here / output
        name = str(path.relative_to(here))
        changed = f"changed {name}" if name in before else f"new {name}"
        row("write", what, [*expect(0), "equal bytes", changed],
            [*facts(done), is_equal(path, expected), *changes(before, here)])
        if name not in before:
            path.unlink(missing_ok=True)

    case("a new file", "out.onnx")
    case("in place", "m.onnx")
    (here / "m.onnx").write_bytes(original)
    (here / "out.onnx").write_bytes(b"old")
    case("an existing file", "out.onnx")
    (here / "out.onnx").unlink()
    out, inner = here / "out.onnx", here / "sub" / "out.onnx"
    inner.parent.mkdir()
    case("a backslash", "sub\\out.onnx", inner)
    case("a slash", "sub/out.onnx", inner)
    case("a drive letter", windows(inner), inner)
    case("a drive letter and slashes", windows(inner).replace("\\", "/"), inner)
    case("a drive letter without a root", "Z:out.onnx", out)
    case("`\\\\?\\`", "\\\\?\\" + windows(out), out)
    case("spaces", "two words.onnx")
    case("letters beyond ASCII", "größe-模型.onnx")
    both = here / "ein Ordner-模型" / "größe 1.onnx"
    both.parent.mkdir()
    case("a folder with both", "ein Ordner-模型\\größe 1.onnx", both)
    deep = here / "/".join(["d" * 50] * 6) / "out.onnx"
    deep.parent.mkdir(parents=True)
    case("a path of more than 300 characters", windows(deep), deep)
    case("a name of 250 characters", "n" * 245 + ".onnx")


def write_odd():
    """Devices, streams, names that cannot be written, several outputs."""
    here = workshop("odd")
    expected = expected_output(here)
    (here / "folder").mkdir()
    (here / "report.json").write_text("precious")
    before = files(here)
    for device in ["NUL", "nul", "\\\\.\\NUL"]:
        done = run(here, "run", "m.onnx", "-o", device, "-q")
        row("write", f"the device `{device}`", [*expect(0), "files as before"], [*facts(done), *changes(before, here)])
    done = run(here, "run", "-", "-o", "-", "-q", input=(here / "m.onnx").read_bytes())
    row("write", "`-`: from pipe to pipe", [*expect(0), "equal bytes", "files as before"],
        [f"status {done.returncode}", "equal bytes" if done.stdout == expected else "other bytes",
         *changes(before, here)])
    model = ["m.onnx", "-q", "-o"]
    beside = [*model, "NUL", "--external-data", "always"]
    refused("write", "`NUL`, with weights beside it", "there is no place for weights", here, *beside)
    refused("write", "the device `NUL` as the model", "model `NUL` cannot be read", here, "NUL", "-o", "out.onnx")
    refused("write", "a folder", "is a folder", here, *model, "folder")
    refused("write", "a folder that is missing", "does not exist", here, *model, "gone\\out.onnx")
    refused("write", "a drive that is missing", "does not exist", here, *model, "Q:\\out.onnx")
    refused("write", "a name that Windows does not allow", "cannot be written", here, *model, "a|b?.onnx")
    there = "is there already"
    for name in ["report.json", "REPORT.JSON"]:
        refused("write", f"`--report {name}`, which is there", there, here, *model, "out.onnx", "--report", name)
    one = [*model, "REPORT.json", "--report", "report.JSON"]
    refused("write", "one file as output and report, in other letters", there, here, *one)
    more = ["--report", "r.json", "--trace", "t.json", "--dump-dir", "dumps"]
    done = run(here, "run", *model, "out.onnx", *more)
    new = [line for line in changes(before, here) if not line.startswith("new dumps/")]
    row("write", "a report, a trace and dumps", [*expect(0), "new out.onnx", "new r.json", "new t.json", "dumps"],
        [*facts(done), *new, *(["dumps"] if (here / "dumps").is_dir() else [])])
    (here / "out.onnx").unlink(missing_ok=True)
    before = files(here)
    (here / ".x.onnx.0123456789abcdef.relais-tmp").write_bytes(b"half")
    done = run(here, "run", *model, "out.onnx")
    row("write", "the remains of a killed run are removed", [*expect(0), "new out.onnx"],
        [*facts(done), *changes(before, here)])


def write_weights():
    """Weights beside the model, and files that are mapped."""
    here = workshop("weights")

    def wide(n, weights):
        return PLAIN.replace("(2,)", f"({n},)").replace("(2), [1.0, 2.0]", f'({n}), hex"{weights}"')

    def both(what, *arguments, outputs):
        """The same run on both systems, and its files."""
        linux(*arguments, cwd=here).check_returncode()
        expected = [(here / name).read_bytes() for name in outputs]
        for name in outputs:
            (here / name).unlink()
        before = files(here)
        done = run(here, *arguments)
        wanted = [*(f"{name}: equal bytes" for name in outputs), *(f"new {name}" for name in outputs)]
        seen = [f"{name}: {is_equal(here / name, data)}" for name, data in zip(outputs, expected)]
        row("write", what, [*expect(0), *wanted], [*facts(done), *seen, *changes(before, here)])

    (here / "large.relay").write_text(wide(1024, "00008040" * 1024))
    outside, inside = ["-q", "--external-data", "always"], ["-q", "--external-data", "never"]
    both("weights beside the model", "run", "large.relay", "-o", "large.onnx", *outside,
         outputs=["large.onnx", "large.onnx.data"])
    both("weights beside the text form", "run", "large.relay", "-o", "text.relay", "-q",
         outputs=["text.relay", "text.relay.safetensors"])
    data = (here / "large.onnx.data").read_bytes()
    done = run(here, "run", "large.onnx", "-o", "large.onnx", "-q")
    shown = run(here, "show", "large.onnx")
    row("write", "in place, with weights beside it", [*expect(0), *expect(0), "equal bytes"],
        [*facts(done), *facts(shown), is_equal(here / "large.onnx.data", data)])
    refused("write", "its own weights, in other letters", "would replace weights of the model", here,
            "large.onnx", "-o", "LARGE.onnx.DATA", "-q")
    n = 5 << 20
    (here / "huge.relay").write_text(wide(n, "0000c03f" * (n - 1) + "00000040"))
    made = linux("run", "huge.relay", "-o", "huge.onnx", "--passes", "InferType", *inside, cwd=here)
    made.check_returncode()
    both("a model of 20 MiB", "run", "huge.onnx", "-o", "out.onnx", *inside, outputs=["out.onnx"])
    done = run(here, "run", "huge.onnx", "-o", "huge.onnx", *inside)
    row("write", "a model of 20 MiB in place", [*expect(0), "equal bytes"],
        [*facts(done), is_equal(here / "huge.onnx", (here / "out.onnx").read_bytes())])
    run(here, "run", "huge.onnx", "-o", "huge.relay", "-q")
    refused("write", "a text in place, with mapped weights beside it", "cannot be written", here,
            "huge.relay", "-o", "huge.relay", "-q", "--passes", "InferType")


def write_held():
    """Files that other programs have open, or that are protected."""
    here = workshop("held")
    expected = expected_output(here)
    model = ["m.onnx", "-q", "-o"]
    (here / "out.onnx").write_bytes(b"precious")

    def held(what, file, share, says, output):
        holder = hold(here / file, share)
        refused("write", what, says, here, *model, output)
        holder.communicate(b"\n", timeout=TIMEOUT)

    unwritten = "cannot be written"
    held("an output that another program has open, alone", "out.onnx", 0, unwritten, "out.onnx")
    held("an output that others may read meanwhile", "out.onnx", 1, unwritten, "out.onnx")
    held("an output that others may read and write meanwhile", "out.onnx", 3, unwritten, "out.onnx")
    # Windows 10 replaces this one, wine 8 does not.
    held("an output that others may also remove meanwhile", "out.onnx", 7, unwritten, "out.onnx")
    held("a model that another program has open, alone", "m.onnx", 0, "cannot be read", "new.onnx")
    held("a model in place that others may read meanwhile", "m.onnx", 1, unwritten, "m.onnx")
    (here / "out.onnx").chmod(0o444)
    refused("write", "a read-only output", "`attrib -r out.onnx`", here, *model, "out.onnx")
    (here / "out.onnx").chmod(0o644)
    (here / "out.onnx").unlink()
    before = files(here)
    command = ["wine", str(relais()), "run", *model, "out.onnx"]
    outputs = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    runs = [subprocess.Popen(command, cwd=here, env=ENV, **outputs) for _ in range(4)]
    errors = [done.communicate(timeout=TIMEOUT)[1].decode(errors="replace") for done in runs]
    row("write", "four runs on one output", ["status 0"] * 4 + ["equal bytes", "new out.onnx"],
        [*(f"status {done.returncode}" for done in runs), is_equal(here / "out.onnx", expected),
         *changes(before, here), *(error.splitlines()[0] for error in errors if error)])


CASES = [
    load_beside, load_alone, load_museum, load_named, load_installed, refuse, quit, write, write_odd, write_weights, write_held,
]
