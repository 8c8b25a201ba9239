"""Installs the tools, builds the programs, and runs them."""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "windows"
WORK = ROOT / "target" / "windows"
TARGET = "x86_64-pc-windows-gnu"
GCC = "x86_64-w64-mingw32-gcc"
# The shipped plugins, and those of the tests: one that ends the process or panics, one that leaves a mark when opened, and
# the one that the museum keeps.
PLUGINS = [
    "relais_evaluator",
    "relais_gradient",
    "relais_emit_c",
    "relais_graph",
    "relais_loops",
    "relais_onnxruntime",
    "relais_operators",
]
TEST_PLUGINS = ["quitter", "mark", "sample"]
# The models of the README come with this package.
ONNX = "onnx==1.23.2"
TIMEOUT = 120

BUILT = ROOT / "target" / TARGET / "release"
LINUX = ROOT / "target" / "release" / "relais"
TEST_BUILT = WORK / "plugins" / TARGET / "release"
VENV = WORK / "venv"

ENV = os.environ | {
    "WINEPREFIX": str(WORK / "prefix"),
    "WINEARCH": "win64",
    "WINEDEBUG": "-all",
    # Wine would offer to install them.
    "WINEDLLOVERRIDES": "mscoree=;mshtml=",
    # In the locale `C`, wine turns letters beyond ASCII in names of files into others.
    "LC_ALL": "C.UTF-8",
    "RUST_BACKTRACE": "0",
    "NO_COLOR": "1",
}
for name in ["DISPLAY", "RELAIS_HOME", "RELAIS_PLUGIN_PATH", "RELAIS_LOG"]:
    ENV.pop(name, None)


def say(text):
    print(text, flush=True)


def do(*command, **options):
    """Runs a command that has to succeed."""
    say(f"$ {' '.join(map(str, command))}")
    subprocess.run(list(map(str, command)), check=True, **options)


def install():
    """Installs the tools that are missing."""
    has_venv = importlib.util.find_spec("ensurepip") is not None
    if not (shutil.which(GCC) and shutil.which("wine") and has_venv):
        packages = ["gcc-mingw-w64-x86-64", "wine", "wine64", "python3-venv"]
        sudo = [] if os.geteuid() == 0 else ["sudo"]
        do(*sudo, "apt-get", "update", "-qq")
        do(*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-qq", "-y",
           "--no-install-recommends", *packages, stdout=subprocess.DEVNULL)
    do("rustup", "target", "add", TARGET, cwd=ROOT)
    if not models():
        do(sys.executable, "-m", "venv", VENV)
        do(VENV / "bin" / "pip", "install", "--quiet", "--no-deps", ONNX)


def models():
    """The light models of the `onnx` package."""
    return sorted(VENV.glob("lib/python3*/site-packages/onnx/backend/test/data/light/light_*.onnx"))


def build():
    """Builds the command line for this machine, and everything for Windows."""
    do("cargo", "build", "--release", "--package=relais-opt", cwd=ROOT)
    packages = [f"--package={name.replace('_', '-')}" for name in ["relais-opt", *PLUGINS]]
    do("cargo", "build", "--release", f"--target={TARGET}", *packages, cwd=ROOT)
    for plugin in TEST_PLUGINS:
        manifest = ROOT / "tests" / "plugins" / plugin / "Cargo.toml"
        do("cargo", "build", "--release", f"--target={TARGET}", f"--manifest-path={manifest}",
           f"--target-dir={WORK / 'plugins'}", cwd=ROOT)
    # Wine 8 lacks the library that the standard library takes random numbers from.
    compile("bcryptprimitives.dll", "-shared", "-ladvapi32")
    compile("plain.dll", "-shared")
    compile("hold.exe", "-municode")
    compile("interrupt.exe", "-municode")


def compile(name, *arguments):
    source = HERE / Path(name).with_suffix(".c")
    do(GCC, "-O", "-Wall", "-Werror", "-o", WORK / name, source, *arguments)


def start():
    """Empties the folders of wine and of the cases, and starts a program that waits: without one, wine would end after
    each case."""
    say(f"$ wineboot --init, in {ENV['WINEPREFIX']}")
    shutil.rmtree(ENV["WINEPREFIX"], ignore_errors=True)
    shutil.rmtree(WORK / "cases", ignore_errors=True)
    subprocess.run(["wineboot", "--init"], env=ENV, check=True, capture_output=True, timeout=600)
    return hold(WORK / "hold.exe", 7)


def hold(file, share):
    """Starts a program that has a file open; its end of input ends it. `share` is what others may do meanwhile."""
    holder = subprocess.Popen(
        ["wine", str(WORK / "hold.exe"), windows(file), str(share)], env=ENV, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )
    assert holder.stdout.readline().strip() == b"held", f"{file} can be held"
    return holder


def folder(name):
    """An empty folder of that name."""
    path = WORK / "cases" / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def install_relais(folder, *plugins):
    """Puts the program into a folder, with plugins beside it. Returns it."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in [BUILT / "relais.exe", WORK / "bcryptprimitives.dll", *plugins]:
        shutil.copy2(file, folder / file.name)
    return folder / "relais.exe"


def dll(name):
    """A plugin that was built."""
    return (TEST_BUILT if name in TEST_PLUGINS else BUILT) / f"{name}.dll"


def windows(path):
    """A path as Windows programs know it."""
    return "Z:" + str(path).replace("/", "\\")


def wine(program, *arguments, cwd, **more):
    """Runs a Windows program to its end."""
    options = {key: more.pop(key) for key in ["input"] if key in more}
    return subprocess.run(
        ["wine", str(program), *map(str, arguments)], cwd=cwd, env=ENV | more, capture_output=True, timeout=TIMEOUT,
        **options,
    )


def interrupt(program, *arguments, cwd, **more):
    """Runs a Windows program in a terminal, and interrupts it. Status 0 means that it ended then."""
    command = subprocess.list2cmdline([windows(program), *map(str, arguments)])
    line = f"wine {WORK / 'interrupt.exe'} 2000 {shlex.quote(command)}"
    return subprocess.run(
        ["script", "--quiet", "--return", "--command", line, "/dev/null"], cwd=cwd, env=ENV | {"TERM": "xterm"} | more,
        stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT,
    )


def linux(*arguments, cwd):
    """Runs the program of this machine to its end."""
    return subprocess.run(
        [str(LINUX), *map(str, arguments)], cwd=cwd, env=ENV | {"RELAIS_HOME": str(WORK / "no-home")},
        capture_output=True, timeout=TIMEOUT,
    )
