"""Two hundred models: a killed run that goes on, shards, a cluster of which a part is killed. `.ci/full zoo` runs this."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import onnx.numpy_helper as numpy_helper
import pytest
import ray
from ray.cluster_utils import Cluster

import relais_onnx as relais
from relais_onnx import zoo

N_MODELS = 200


def cases() -> list[pathlib.Path]:
    """Light models and cases of operators that come with the package `onnx`."""
    data = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    light = sorted((data / "light").glob("*.onnx"))
    nodes = sorted(path for path in (data / "node").glob("*/model.onnx"))
    step = max(1, len(nodes) // (N_MODELS - 2 * len(light)))
    return light + nodes[::step]


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """Two hundred models that differ from each other, some with weights in another file, one that is broken."""
    folder = tmp_path_factory.mktemp("models")
    paths = cases()
    for at in range(N_MODELS - 1):
        model = onnx.load(paths[at % len(paths)])
        model.producer_version = str(at)
        target = folder / f"part{at % 7}" / f"m{at:03}.onnx"
        target.parent.mkdir(exist_ok=True)
        if at % 10 == 3:
            weight = numpy_helper.from_array(np.full((64, 64), at, np.float32), "zoo.weight")
            model.graph.initializer.append(weight)
            model.graph.output.append(onnx.helper.make_tensor_value_info("zoo.weight", onnx.TensorProto.FLOAT, [64, 64]))
            onnx.save(model, target, save_as_external_data=True, location=f"{target.name}.bin", size_threshold=1024)
        else:
            onnx.save(model, target)
    (folder / "part0" / "broken.onnx").write_bytes(b"not a model")
    return folder


def names_of(models: pathlib.Path) -> list[str]:
    names = sorted(path.relative_to(models).as_posix() for path in models.rglob("*.onnx"))
    assert len(names) == N_MODELS
    return names


@pytest.fixture(scope="session")
def expected(models: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The files of a run that nothing disturbs."""
    out = tmp_path_factory.mktemp("expected") / "out"
    table = zoo.optimize(f"{models}/**/*.onnx", out)
    assert [row.model for row in table] == names_of(models)
    assert [row.model for row in table.failed] == ["part0/broken.onnx"], str(zoo.Table(table.failed))
    assert sum(len(row.files) == 2 for row in table) == 20
    return contents(out)


def contents(out: pathlib.Path) -> dict[str, bytes]:
    files = (path for path in out.rglob("*") if path.is_file() and not path.name.startswith("relais-"))
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in files}


def journal(path: pathlib.Path) -> list[str]:
    return [json.loads(line)["model"] for line in path.read_text().splitlines()]


def test_one_machine_killed_and_resumed(models, expected, tmp_path):
    out, log = tmp_path / "out", tmp_path / "out" / "relais-journal.jsonl"
    command = [sys.executable, "-m", "relais_onnx.zoo", f"{models}/**/*.onnx", "--out-dir", str(out)]
    kills = 0
    for _ in range(4):
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = log.read_text().count("\n") if log.exists() else 0
        # Anywhere within a model, not between two.
        while run.poll() is None and not (log.exists() and log.read_text().count("\n") > before + 20):
            time.sleep(0.003)
        if run.poll() is None:
            run.send_signal(signal.SIGKILL)
            kills += 1
        assert run.wait() in (-signal.SIGKILL, 1)
        for name, data in contents(out).items():
            assert name.startswith(".relais-work/") or data == expected[name], f"{name} is whole"
    assert kills == 4
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "199 of 200 models" in done.stdout, done.stderr
    assert sorted(journal(log)) == names_of(models), "each model once"
    assert contents(out) == expected


def test_shards(models, expected, tmp_path):
    out = tmp_path / "out"
    commands = [[sys.executable, "-m", "relais_onnx.zoo", f"{models}/**/*.onnx", "--out-dir", str(out), "--shard", f"{n}/3"] for n in (1, 2, 3)]
    runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands]
    assert sorted(run.wait() for run in runs) == [0, 0, 1]
    done = [name for n in (1, 2, 3) for name in journal(out / f"relais-journal-{n}-of-3.jsonl")]
    assert sorted(done) == names_of(models)
    assert contents(out) == expected


def test_a_second_run_is_all_hits(models, expected, tmp_path):
    cache = tmp_path / "cache"
    zoo.optimize(f"{models}/**/*.onnx", tmp_path / "a", cache=cache)
    second = zoo.optimize(f"{models}/**/*.onnx", tmp_path / "b", cache=cache)
    assert all(row.cached for row in second if row.status == "ok") and len(second) == N_MODELS
    assert contents(tmp_path / "a") == contents(tmp_path / "b") == expected


@pytest.fixture
def cluster():
    """A cluster whose head has no work, with two workers."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    workers = [cluster.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False)
    cluster.wait_for_nodes()
    yield cluster, workers
    ray.shutdown()
    cluster.shutdown()


def test_two_workers_one_of_which_is_killed(models, expected, tmp_path, cluster):
    nodes, workers = cluster
    rows = []

    def progress(row: zoo.Row) -> None:
        rows.append(row)
        if len(rows) == 60:
            # With its processes, while models are given to them.
            nodes.remove_node(workers[0], allow_graceful=False)

    out, cache = tmp_path / "out", tmp_path / "cache"
    table = zoo.optimize(f"{models}/**/*.onnx", out, on="ray", cache=cache, progress=progress)
    # The cluster may notice later than the work ends.
    patience = time.monotonic() + 60
    while sum(node["Alive"] and node["Resources"].get("CPU", 0) > 0 for node in ray.nodes()) != 1:
        assert time.monotonic() < patience
        time.sleep(0.1)
    assert [row.model for row in table] == names_of(models)
    assert sorted(row.model for row in rows) == names_of(models), "each model once"
    assert [row.model for row in table.failed] == ["part0/broken.onnx"], str(zoo.Table(table.failed))
    assert sorted(journal(out / "relais-journal.jsonl")) == names_of(models)
    assert contents(out) == expected
    again = zoo.optimize(f"{models}/**/*.onnx", tmp_path / "again", on="ray", cache=cache)
    assert all(row.cached for row in again if row.status == "ok")
    assert contents(tmp_path / "again") == expected


def test_a_model_that_kills_its_workers_is_a_row(tmp_path, cluster, monkeypatch):
    path = tmp_path / "models" / "m.onnx"
    path.parent.mkdir()
    path.write_bytes(pathlib.Path(cases()[0]).read_bytes())
    monkeypatch.setattr(zoo, "_elsewhere", lambda job: os.kill(os.getpid(), signal.SIGKILL))
    (row,) = zoo.optimize([path], tmp_path / "out", on="ray")
    assert row.status == "failed" and row.error.startswith("WorkerCrashedError")
    monkeypatch.undo()
    (row,) = zoo.optimize([path], tmp_path / "out", on="ray", retry=True)
    assert row.status == "ok" and (tmp_path / "out" / "m.onnx").read_bytes() == relais.optimize(path.read_bytes())


def test_a_worker_with_other_plugins_is_told(tmp_path, cluster, monkeypatch):
    path = tmp_path / "models" / "m.onnx"
    path.parent.mkdir()
    path.write_bytes(pathlib.Path(cases()[0]).read_bytes())
    lock = zoo._native.lock
    # Tasks are made where this is set, and run where it is not.
    monkeypatch.setattr(zoo._native, "lock", lambda *given: lock(*given) + "# another plugin\n")
    (row,) = zoo.optimize([path], tmp_path / "out", on="ray")
    assert row.status == "failed" and "the worker has other plugins" in row.error
