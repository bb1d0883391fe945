"""Bochner: kernel machines on data of any size, with the interface of scikit-learn."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bochner import (
        callbacks,
        data,
        exceptions,
        features,
        kernels,
        losses,
        persist,
        report,
        solvers,
        spectra,
        stopping,
    )
    from bochner.estimators import (
        AdditiveHomogeneous,
        ArcCosine,
        DensityRatio,
        Fastfood,
        HistogramFourier,
        KernelClassifier,
        KernelGaussianProcess,
        KernelNoveltyDetector,
        KernelQuantileRegressor,
        KernelRegressor,
        KernelWitness,
        NystroemMap,
        OrthogonalFourier,
        PartialWhitening,
        QuasiMonteCarloFourier,
        RandomBinning,
        RandomFourier,
        RandomLaplace,
        RandomMaclaurin,
        TensorSketch,
        TwoSampleTest,
        two_sample_test,
        warmup,
    )
    from bochner.persist import Checkpoint, Header, ModelFileError, load, read_header, save, to_onnx

__version__ = "0.1.0.dev0"

__all__ = [
    "AdditiveHomogeneous",
    "ArcCosine",
    "Checkpoint",
    "DensityRatio",
    "Fastfood",
    "Header",
    "HistogramFourier",
    "KernelClassifier",
    "KernelGaussianProcess",
    "KernelNoveltyDetector",
    "KernelQuantileRegressor",
    "KernelRegressor",
    "KernelWitness",
    "ModelFileError",
    "NystroemMap",
    "OrthogonalFourier",
    "PartialWhitening",
    "QuasiMonteCarloFourier",
    "RandomBinning",
    "RandomFourier",
    "RandomLaplace",
    "RandomMaclaurin",
    "TensorSketch",
    "TwoSampleTest",
    "callbacks",
    "data",
    "exceptions",
    "features",
    "kernels",
    "load",
    "losses",
    "persist",
    "read_header",
    "report",
    "save",
    "solvers",
    "spectra",
    "stopping",
    "to_onnx",
    "two_sample_test",
    "warmup",
]


PACKAGES = {
    "callbacks",
    "data",
    "exceptions",
    "features",
    "kernels",
    "losses",
    "persist",
    "report",
    "solvers",
    "spectra",
    "stopping",
}
PERSISTENT = {
    "Checkpoint",
    "Header",
    "ModelFileError",
    "load",
    "read_header",
    "save",
    "to_onnx",
}


# Names are imported at first use (PEP 562), so that `bochner --help` does not import scikit-learn.
def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in PACKAGES:
        return import_module(f"{__name__}.{name}")
    package = "persist" if name in PERSISTENT else "estimators"
    value = globals()[name] = getattr(import_module(f"{__name__}.{package}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
