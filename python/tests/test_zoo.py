"""Many models: the journal, shards, and the cache."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys

import conftest
import numpy as np
import onnx
import pytest

import relais_onnx as relais
from relais_onnx import zoo


@pytest.fixture
def models(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "models"
    for at in range(6):
        path = folder / f"part{at % 2}" / f"m{at}.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(conftest.network(seed=at), path)
    return folder


def contents(folder: pathlib.Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.onnx"))}


def test_a_folder_of_models(models, tmp_path):
    rows = []
    table = zoo.optimize(f"{models}/**/*.onnx", tmp_path / "out", progress=rows.append)
    assert list(table) == rows and not table.failed
    assert [row.model for row in table] == ["part0/m0.onnx", "part0/m2.onnx", "part0/m4.onnx", "part1/m1.onnx", "part1/m3.onnx", "part1/m5.onnx"]
    assert all(row.calls == (11, 5) and not row.cached for row in table)
    for name, data in contents(tmp_path / "out").items():
        assert data == relais.optimize((models / name).read_bytes())
        conftest.assert_same(data, (models / name).read_bytes())
    assert json.loads((tmp_path / "out" / "relais-results.json").read_text())[0]["model"] == "part0/m0.onnx"
    assert "part0/m0.onnx" in str(table) and str(table).endswith("6 of 6 models")


def test_a_second_run_does_nothing_again(models, tmp_path):
    out = tmp_path / "out"
    first = zoo.optimize(f"{models}/**/*.onnx", out)
    files = [out / row.model for row in first]

    def times() -> list[int]:
        # A time that no file has by itself, so that one that is written again is known whatever the clock's steps are.
        return [path.stat().st_mtime_ns for path in files]

    for path in files:
        os.utime(path, ns=(1, 1))
    assert zoo.optimize(f"{models}/**/*.onnx", out) == first
    assert times() == [1] * 6
    # A result that is missing, another model, other options.
    (out / "part0" / "m0.onnx").unlink()
    onnx.save(conftest.network(seed=99), models / "part0" / "m2.onnx")
    again = zoo.optimize(f"{models}/**/*.onnx", out)
    assert [time == 1 for time in times()] == [False, False, True, True, True, True]
    assert [a.key == b.key for a, b in zip(first, again)] == [True, False, True, True, True, True]
    assert not {row.key for row in again} & {row.key for row in zoo.optimize(f"{models}/**/*.onnx", out, level=0)}


def test_the_cache_gives_the_same_bytes(models, tmp_path):
    first = zoo.optimize(f"{models}/**/*.onnx", tmp_path / "a", cache=tmp_path / "cache")
    second = zoo.optimize(f"{models}/**/*.onnx", tmp_path / "b", cache=tmp_path / "cache")
    assert [row.cached for row in first + second] == [False] * 6 + [True] * 6
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert [row.calls for row in first] == [row.calls for row in second]
    other = zoo.optimize(f"{models}/**/*.onnx", tmp_path / "c", cache=tmp_path / "cache", disable=["SimplifyExpr"])
    assert not any(row.cached for row in other)


def test_shards_are_parts(models, tmp_path):
    out = tmp_path / "out"
    names = [row.model for part in ("1/4", "2/4", "3/4", "4/4") for row in zoo.optimize(f"{models}/**/*.onnx", out, shard=part)]
    assert len(names) == 6 and len(set(names)) == 6 and len(contents(out)) == 6
    assert len(list(out.glob("relais-journal-*-of-4.jsonl"))) == 4


def test_failures_are_rows(models, tmp_path):
    (models / "part0" / "broken.onnx").write_bytes(b"not a model")
    out = tmp_path / "out"
    table = zoo.optimize(f"{models}/**/*.onnx", out)
    (failed,) = table.failed
    assert failed.model == "part0/broken.onnx" and failed.error.startswith("ModelError: ")
    assert not (out / "part0" / "broken.onnx").exists() and len(contents(out)) == 6
    assert "6 of 7 models" in str(table) and failed.error.splitlines()[0] in str(table)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without signals")
def test_a_killed_run_goes_on(models, tmp_path):
    for at in range(6, 20):
        onnx.save(conftest.network(seed=at), models / f"m{at}.onnx")
    out = tmp_path / "out"
    journal = out / "relais-journal.jsonl"
    # Ends its own process at the fourth model, so that no other process has to be in time.
    program = """
import os, signal, sys
import relais_onnx.zoo
done = []
def progress(row):
    done.append(row)
    if len(done) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
relais_onnx.zoo.optimize(sys.argv[1], sys.argv[2], progress=progress)
"""
    run = subprocess.run([sys.executable, "-c", program, f"{models}/**/*.onnx", str(out)], capture_output=True)
    before = journal.read_bytes()
    assert run.returncode == -signal.SIGKILL and before.count(b"\n") == 4, run.stderr
    with open(journal, "ab") as file:
        file.write(b'{"model": "part0/m')
    command = [sys.executable, "-m", "relais_onnx.zoo", f"{models}/**/*.onnx", "--out-dir", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "20 of 20 models" in done.stdout, done.stderr
    lines = journal.read_bytes().splitlines(keepends=True)
    assert b"".join(lines).startswith(before) and len(lines) == 20, "each model once"
    for name, data in contents(out).items():
        assert data == relais.optimize((models / name).read_bytes()), name


def test_weights_in_other_files_are_part_of_the_key(tmp_path):
    model = conftest.network()
    path = tmp_path / "models" / "m.onnx"
    path.parent.mkdir()
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    (first,) = zoo.optimize([path], tmp_path / "out", cache=tmp_path / "cache")
    weights = bytearray((path.parent / "w.bin").read_bytes())
    weights[:4] = np.float32(3).tobytes()
    (path.parent / "w.bin").write_bytes(weights)
    (second,) = zoo.optimize([path], tmp_path / "out", cache=tmp_path / "cache")
    assert first.status == second.status == "ok" and first.key != second.key and not second.cached


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"models": 3}, TypeError, "`models` must be a list of paths"),
        ({"models": []}, ValueError, "`models` is empty"),
        ({"models": "nothing/*.onnx"}, FileNotFoundError, "no file is named like"),
        ({"models": ["nothing.onnx"]}, FileNotFoundError, "nothing.onnx"),
        ({"shard": "5/4"}, ValueError, "`shard` must be a part"),
        ({"shard": "2"}, ValueError, "`shard` must be a part"),
        ({"shard": 2}, TypeError, "`shard` must be a str"),
        ({"level": 9}, ValueError, "`level` must be between"),
        ({"levels": 1}, TypeError, "levels"),
        ({"passes": ["Nothing"]}, relais.PipelineError, "Nothing"),
        ({"external_data": "x"}, ValueError, "`external_data`"),
    ],
)
def test_bad_arguments(models, tmp_path, change, error, text):
    given = {"models": f"{models}/**/*.onnx", "out": tmp_path / "out", **change}
    with pytest.raises(error, match=text):
        zoo.optimize(**given)
    assert contents(tmp_path / "out") == {}
    with pytest.raises(ValueError, match="contains models"):
        zoo.optimize(f"{models}/**/*.onnx", models)
