"""Builds the package with maturin, and the command line, `relais`, into its wheels: maturin does not build both.

With `RELAIS_PROGRAM`, the absolute path of a command line, that is taken, and none is built.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import maturin
from maturin import (
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

HERE = pathlib.Path(__file__).resolve().parent
SCRIPTS = HERE / "target" / "data" / "scripts"
FEATURE = ["--features", "program"]

# `pyproject.toml` names this folder, which maturin wants to be there.
SCRIPTS.mkdir(parents=True, exist_ok=True)


def built(args: list[str]) -> pathlib.Path:
    """The command line, built in the profile and for the machine that maturin is asked for."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--profile", default="release")
    parser.add_argument("--target")
    given, _ = parser.parse_known_args(args)
    # A source distribution has the manifest elsewhere, and says where.
    manifest = maturin.get_config().get("manifest-path", "Cargo.toml")
    command = ["cargo", "rustc", "--manifest-path", manifest, "--bin", "relais", *FEATURE]
    command += ["--profile", given.profile, "--message-format", "json-render-diagnostics"]
    command += ["--target", given.target] if given.target else []
    command += ["--", "-C", "strip=symbols"]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"`{' '.join(command)}` failed")
    messages = [json.loads(line) for line in done.stdout.splitlines()]
    (program,) = (message["executable"] for message in messages if message.get("executable"))
    return pathlib.Path(program)


def with_program(config_settings: Mapping[str, Any] | None) -> dict[str, Any]:
    """Puts the command line where maturin takes it from, and returns the settings for maturin."""
    if not shutil.which("cargo") and not os.environ.get("MATURIN_NO_INSTALL_RUST"):
        # As maturin does it, which asked for this package.
        from puccinialin import setup_rust

        os.environ.update(setup_rust())
    args = list(maturin.get_maturin_pep517_args(config_settings))
    program = os.environ.get("RELAIS_PROGRAM")
    if program:
        path = pathlib.Path(program)
    else:
        path = built(args)
        args += FEATURE
    # Replaced as a whole: another build may be reading it.
    copy = HERE / "target" / f"relais-{os.getpid()}"
    shutil.copy2(path, copy)
    os.replace(copy, SCRIPTS / ("relais.exe" if path.suffix == ".exe" else "relais"))
    return {**(config_settings or {}), "maturin.build-args": args}


def build_wheel(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """The hook of PEP 517."""
    return maturin.build_wheel(wheel_directory, with_program(config_settings), metadata_directory)


def build_editable(
    wheel_directory: str,
    config_settings: Mapping[str, Any] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """The hook of PEP 660."""
    return maturin.build_editable(wheel_directory, with_program(config_settings), metadata_directory)
