"""Classical models, trained here on the data that scikit-learn ships, as skl2onnx writes them, and real models as
onnxruntime quantises them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from judge import graphs, values
from judge.cases import MODEL
from judge.report import Report, table

SEED = 20_260
N_ROWS = 64
"""Of the data, as the input of each case."""
OPSETS = {"": 21, "ai.onnx.ml": 3}


@dataclass(frozen=True)
class Classical:
    """A model, before it is trained, and the function of `sklearn.datasets` that loads its data."""

    name: str
    data: str
    make: Callable[[], Any]


def boosting() -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(n_estimators=40, max_depth=3, random_state=SEED)


def forest() -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=30, max_depth=6, random_state=SEED))


def components() -> Any:
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures

    return make_pipeline(
        MinMaxScaler(), PCA(n_components=8), PolynomialFeatures(degree=2), LogisticRegression(max_iter=500)
    )


def perceptron() -> Any:
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), MLPClassifier((32, 16), max_iter=300, random_state=SEED))


def vectors() -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer
    from sklearn.svm import SVC

    return make_pipeline(Normalizer(), SVC(gamma=2.0))


def neighbours() -> Any:
    from sklearn.neighbors import KNeighborsRegressor

    return KNeighborsRegressor(n_neighbors=5)


def clusters() -> Any:
    from sklearn.cluster import KMeans

    return KMeans(n_clusters=10, n_init=1, random_state=SEED)


CLASSICAL = (
    Classical("cancer_components", "load_breast_cancer", components),
    Classical("diabetes_boosting", "load_diabetes", boosting),
    Classical("diabetes_neighbours", "load_diabetes", neighbours),
    Classical("digits_clusters", "load_digits", clusters),
    Classical("digits_vectors", "load_digits", vectors),
    Classical("wine_forest", "load_wine", forest),
    Classical("wine_perceptron", "load_wine", perceptron),
)

STATIC = ("layout_cdla", "orientation", "ppocr_v5_recognition", "wake_embedding")
"""The real models that are quantised with calibrated scales: weights and activations, as pairs of nodes."""
DYNAMIC = ("magika", "wake_hey_mycroft", "wake_hey_mycroft_v4")
"""Those whose products and recurrent nets are quantised as they run."""


def command(out: Path) -> int:
    """Writes the cases; those that are quantised are made of the ones that `real` wrote into the same folder."""
    report = Report()
    rows = []
    logging.disable(logging.WARNING)
    makers: list[tuple[str, Callable[[Path], str]]] = [
        *((each.name, lambda folder, each=each: train(each, folder)) for each in CLASSICAL),
        *((f"{name}_static", lambda folder, name=name: quantise(out, name, folder, True)) for name in STATIC),
        *((f"{name}_dynamic", lambda folder, name=name: quantise(out, name, folder, False)) for name in DYNAMIC),
    ]
    for name, make in makers:
        folder = out / "trained" / name
        folder.mkdir(parents=True, exist_ok=True)
        how = make(folder)
        reached, why = graphs.validity(folder / MODEL)
        report.judged(name, [] if reached >= graphs.Validity.PLAIN else [why])
        model = graphs.load(folder / MODEL)
        rows.append([name, how, str(graphs.n_operators(model)), str(graphs.size_on_disk(folder / MODEL))])
    print(table(["model", "made by", "operators", "bytes"], rows))
    return report.finish()


def train(classical: Classical, folder: Path) -> str:
    import skl2onnx
    from sklearn import datasets

    x, y = getattr(datasets, classical.data)(return_X_y=True)
    x = x.astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = classical.make().fit(x, y)
        options = {"zipmap": False} if hasattr(model, "predict_proba") else None
        converted = skl2onnx.to_onnx(model, x[:1], target_opset=OPSETS, options=options)
    (folder / MODEL).write_bytes(converted.SerializeToString(deterministic=True))
    values.write(folder, "input", [x[:N_ROWS]], [value.type for value in graphs.inputs(converted)])
    return "skl2onnx"


def quantise(out: Path, name: str, folder: Path, static: bool) -> str:
    from onnxruntime import quantization

    source = out / "real" / name
    model = graphs.load(source / MODEL)
    declared = graphs.inputs(model)
    paths = [source / "test_data_set_0" / f"input_{index}.pb" for index in range(len(declared))]
    given = [values.read(path, value.type) for path, value in zip(paths, declared, strict=True)]

    class Given(quantization.CalibrationDataReader):  # type: ignore[misc]
        """The inputs of the case, once."""

        def __init__(self) -> None:
            self.rest = iter([dict(zip((value.name for value in declared), given, strict=True))])

        def get_next(self) -> dict[str, np.ndarray] | None:
            return next(self.rest, None)

    if static:
        quantization.quantize_static(source / MODEL, folder / MODEL, Given(), per_channel=True)
    else:
        quantization.quantize_dynamic(source / MODEL, folder / MODEL)
    values.write(folder, "input", given, [value.type for value in declared])
    return "onnxruntime, static" if static else "onnxruntime, dynamic"
