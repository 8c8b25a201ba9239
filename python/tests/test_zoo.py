"""Many models: the journal, shards, and the cache."""

from __future__ import annotations

import hashlib
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


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")
def test_a_link_to_the_models_is_no_folder_for_results(models, tmp_path):
    before = contents(models)
    (tmp_path / "link").symlink_to(models)
    with pytest.raises(ValueError, match="contains models"):
        zoo.optimize(f"{models}/**/*.onnx", tmp_path / "link")
    assert contents(models) == before


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_two_runs_do_not_write_one_journal(models, tmp_path):
    out, seen = tmp_path / "out", []

    def another(_row):
        with pytest.raises(BlockingIOError, match="another run writes here"):
            zoo.optimize(f"{models}/**/*.onnx", out)
        # Another part has another journal.
        seen.append(len(zoo.optimize(f"{models}/**/*.onnx", out, shard="2/2")))

    table = zoo.optimize(f"{models}/part0/m0.onnx", out, progress=another)
    assert (len(table), seen) == (1, [3])
    assert len(zoo.optimize(f"{models}/**/*.onnx", out)) == 6


@pytest.mark.thread_unsafe(reason="changes models of a fixture")
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


def external(folder: pathlib.Path, name: str = "m.onnx", seed: int = 0) -> pathlib.Path:
    """A model with its weights in another file."""
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(conftest.network(seed=seed), folder / name, save_as_external_data=True, location=f"{name}.bin", size_threshold=0)
    return folder / name


def test_weights_in_other_files_are_cached_by_contents(tmp_path):
    path = external(tmp_path / "models")
    weights = path.with_suffix(".onnx.bin")

    def run(out: str):
        (row,) = zoo.optimize([path], tmp_path / out, cache=tmp_path / "cache")
        assert row.status == "ok" and row.files == ("m.onnx", "m.onnx.data")
        return row, [(tmp_path / out / name).read_bytes() for name in row.files]

    (first, files), (second, same) = run("a"), run("b")
    assert (first.cached, second.cached) == (False, True) and files == same and first.key == second.key
    conftest.assert_same(str(tmp_path / "b" / "m.onnx"), str(path))
    # Other weights, in a file of the same size and time.
    time = weights.stat()
    changed = bytearray(weights.read_bytes())
    changed[:4] = np.float32(3).tobytes()
    weights.write_bytes(changed)
    os.utime(weights, ns=(time.st_atime_ns, time.st_mtime_ns))
    third, others = run("b")
    assert third.key != first.key and not third.cached and others != files
    conftest.assert_same(str(tmp_path / "b" / "m.onnx"), str(path))
    # The same contents under another name are another result: a model names the file of its weights.
    renamed = tmp_path / "renamed" / "n.onnx"
    renamed.parent.mkdir()
    renamed.write_bytes(path.read_bytes())
    (renamed.parent / "m.onnx.bin").write_bytes(changed)
    (row,) = zoo.optimize([renamed], tmp_path / "c", cache=tmp_path / "cache")
    assert not row.cached and row.files == ("n.onnx", "n.onnx.data")


def test_a_result_without_its_weights_is_made_again(tmp_path):
    path = external(tmp_path / "models")
    (first,) = zoo.optimize([path], tmp_path / "out")
    (tmp_path / "out" / "m.onnx.data").unlink()
    (again,) = zoo.optimize([path], tmp_path / "out")
    assert again.files == first.files
    conftest.assert_same(str(tmp_path / "out" / "m.onnx"), str(path))
    (weights,) = zoo.optimize([path], tmp_path / "out", external_data="never")
    assert weights.files == ("m.onnx",)
    assert [path.name for path in (tmp_path / "out").glob(".*")] == [], "nothing is left of the work"


@pytest.mark.parametrize("name", ["m.onnx", "m.onnx.data"])
@pytest.mark.parametrize("change", [-1, -(2**20), 1])
def test_a_result_of_another_length_is_made_again(tmp_path, name, change):
    path, out = external(tmp_path / "models"), tmp_path / "out"
    (first,) = zoo.optimize([path], out)
    file = out / name
    data = file.read_bytes()
    assert first.sizes == tuple((out / each).stat().st_size for each in first.files)
    os.truncate(file, max(len(data) + change, 0))
    (again,) = zoo.optimize([path], out)
    assert again.status == "ok" and file.read_bytes() == data
    assert zoo.optimize([path], out) == [again]


@pytest.mark.thread_unsafe(reason="exchanges functions of os")
def test_what_a_store_gives_is_on_the_disk_before_it_has_its_name(models, tmp_path, monkeypatch):
    """A journal that is synced says that it is there."""
    path, synced = models / "part0" / "m0.onnx", set()
    cache = f"file://{tmp_path}/store"
    zoo.optimize([path], tmp_path / "cold", cache=cache)
    sync = os.fsync

    def fsync(handle: int) -> None:
        synced.add(os.fstat(handle).st_ino)
        sync(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    (row,) = zoo.optimize([path], tmp_path / "warm", cache=cache)
    # It was moved to its place, and so is the same file.
    assert row.cached and os.stat(tmp_path / "warm" / "m0.onnx").st_ino in synced


@pytest.mark.thread_unsafe(reason="changes models of a fixture")
@pytest.mark.parametrize("url", ["memory://zoo/{}", "file://{}/store"])
def test_object_stores(models, tmp_path, url):
    url = url.format(str(tmp_path))
    external(models, seed=7)
    first = zoo.optimize(f"{models}/**/*.onnx", tmp_path / "a", cache=url)
    second = zoo.optimize(f"{models}/**/*.onnx", tmp_path / "b", cache=url)
    assert [row.cached for row in first + second] == [False] * 7 + [True] * 7
    names = [name for row in first for name in (pathlib.Path(row.model).parent / name for name in row.files)]
    assert len(names) == 8
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_models_in_text_form_are_told_apart(tmp_path):
    # Of one name, which is a part of the key.
    for folder, op in (("a", "Exp"), ("b", "Tanh")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.relay").write_text(conftest.TEXT.replace("Relu", op))
        zoo.optimize([tmp_path / folder / "m.relay"], tmp_path / f"out-{folder}", cache=tmp_path / "cache")
    assert relais.load(tmp_path / "out-a" / "m.relay")["main"].ops == ["Exp"]
    assert relais.load(tmp_path / "out-b" / "m.relay")["main"].ops == ["Tanh"]
    (tmp_path / "a" / "m.relay").write_text(conftest.TEXT)
    (row,) = zoo.optimize([tmp_path / "a" / "m.relay"], tmp_path / "out-a", cache=tmp_path / "cache")
    assert not row.cached and relais.load(tmp_path / "out-a" / "m.relay")["main"].ops == ["Relu"]


def test_a_digest_is_of_what_a_module_has(module):
    values = [relais.Tensor(np.full(32, at, np.float32) + np.arange(32, dtype=np.float32)) for at in range(2)]
    made = []
    for value in values:
        builder = relais.Builder(17)
        builder.output(builder.Add(builder.input("x", "float32", [32]), builder.constant(value)), "y")
        made.append(relais.IRModule({"main": builder.result()}))
    assert len({each.digest() for each in (module, *made)}) == 3
    assert module.digest() == relais.parse(conftest.TEXT + "// a comment\n").digest()
    assert module.with_function("other", module["main"]).digest() != module.digest()
    # That of a file in ONNX is that of its bytes, as keys of caches have it.
    data = made[0].to_bytes()
    assert relais.from_bytes(data).digest() == hashlib.sha256(len(data).to_bytes(8, "little") + data).hexdigest()


def test_contexts_have_no_effect_on_results_that_are_kept(models, tmp_path):
    path = models / "part0" / "m0.onnx"
    with relais.PassContext(opt_level=0, disabled_pass=["FoldConstant", "DeadCodeElimination"]):
        zoo.optimize([path], tmp_path / "out", cache=tmp_path / "cache")
    assert (tmp_path / "out" / "m0.onnx").read_bytes() == relais.optimize(path.read_bytes())


def test_what_is_wrong_in_a_cache_is_not_used(models, tmp_path, caplog):
    cache = tmp_path / "cache"
    path = models / "part0" / "m0.onnx"
    (first,) = zoo.optimize([path], tmp_path / "out", cache=cache)
    data = (tmp_path / "out" / "m0.onnx").read_bytes()
    note, entry = next(cache.rglob("*.json")), next(cache.rglob("*.0"))
    good = note.read_text()
    digest = hashlib.sha256(data).hexdigest()

    def with_files(*names: str) -> bytes:
        return json.dumps({**json.loads(good), "files": [[name, digest] for name in names]}).encode()

    damages = [
        (entry, data[:-1], "is not what was put in"),
        (entry, b"", "is not what was put in"),
        (note, good[:-9].encode(), "is not used"),
        (note, b"[]", "is not used"),
        (note, with_files("../../escaped"), "`../../escaped` is not the name of a file"),
        (note, with_files("another.onnx"), "`another.onnx` is not the name of a file of this model"),
        (note, with_files("m0.data"), "`m0.onnx` is not in it"),
        (note, with_files(), "`m0.onnx` is not in it"),
    ]
    for at, (file, damaged, text) in enumerate(damages):
        file.write_bytes(damaged)
        caplog.clear()
        (row,) = zoo.optimize([path], tmp_path / f"out{at}", cache=cache)
        assert row.status == "ok" and not row.cached and text in caplog.text
        assert (tmp_path / f"out{at}" / "m0.onnx").read_bytes() == data
        # It was put in again.
        assert zoo.optimize([path], tmp_path / f"again{at}", cache=cache)[0].cached
    assert not list(tmp_path.rglob("escaped"))
    entry.unlink()
    assert not zoo.optimize([path], tmp_path / "last", cache=cache)[0].cached


def test_a_cache_that_fails_stops_nothing(models, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    (row, *_) = zoo.optimize(f"{models}/**/*.onnx", tmp_path / "out", cache=tmp_path / "file" / "cache")
    assert row.status == "ok" and not row.cached and "nothing is kept in the cache" in caplog.text


def test_packages_that_are_missing(models, tmp_path, monkeypatch):
    for missing, given in (("fsspec", {"cache": "missing://bucket"}), ("ray", {"on": "ray"})):
        monkeypatch.setitem(sys.modules, missing, None)
        with pytest.raises(ImportError, match=r"help: pip install 'relais-onnx\["):
            zoo.optimize(f"{models}/**/*.onnx", tmp_path / "out", **given)


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
        ({"passes": ["test.Own"]}, relais.PipelineError, "pass `test.Own` is one of this program"),
        ({"passes": [relais.rule("Neg(Neg(x)) => x")]}, relais.PipelineError, "pass `rule` is one of this program"),
        ({"on": "dask"}, ValueError, "`on` must be \"ray\" or None, not `dask`"),
        ({"external_data": "x"}, ValueError, "`external_data`"),
    ],
)
def test_bad_arguments(models, tmp_path, change, error, text):
    relais.register_pass(relais.module_pass(lambda mod, ctx: None, opt_level=0, name="test.Own"))
    given = {"models": f"{models}/**/*.onnx", "out": tmp_path / "out", **change}
    with pytest.raises(error, match=text):
        zoo.optimize(**given)
    assert contents(tmp_path / "out") == {}
    with pytest.raises(ValueError, match="contains models"):
        zoo.optimize(f"{models}/**/*.onnx", models)
