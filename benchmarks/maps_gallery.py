"""Write the gallery of kernels: a picture and a line of code each, and compatibility tables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from inspect import getsource
from pathlib import Path
from typing import Any

import numpy as np

from bochner import kernels
from bochner.compute.random.counter_based import Random
from bochner.data import ArraySource
from bochner.features import FeatureMap, map_of
from bochner.kernels import Kernel
from bochner.solvers import Solver
from common import pyplot

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
sys.path.insert(0, str(ROOT / "tests"))  # has the compatibility tables
from compatibility import MACHINES, features_of, machines_with, solvers_with, tables  # noqa: E402

SIDE = 81  # points of a picture each way
FEATURES = 8_192  # of the random function

# What each line of code is for. The lines are what the pictures are made of.
FAMILIES = {
    "Shift-invariant": {
        "Gaussian(1.0)": "exp(-r²/2); smooth functions",
        "Laplacian(1.0)": "exp(-|a - b|₁), a product over the columns; for tables and binning",
        "EuclideanLaplacian(1.0)": "exp(-r); rough functions, isotropic",
        "Matern(1.0, nu=1.5)": "any half-integer nu, from rough (1/2) to smooth",
        "Cauchy(1.0)": "1 / (1 + r²); heavy tails",
        "RationalQuadratic(1.0, shape=0.5)": "a mixture of Gaussians of many widths",
        "ExponentialPower(1.0, power=1.5)": "exp(-r^p), 0 < p ≤ 2",
        "Spectral(ring)": "the mean of cos(w'(a - b)) for frequencies that you draw",
        "Anova(0.7, share=0.5)": "Π (1 - share + share exp(-|a - b|)); few columns interact",
    },
    "Inner products": {
        "Polynomial(degree=3, constant=1.0, scale=0.3)": "(scale a'b + constant)^degree",
        "Exponential(1.5)": "exp(a'b / bandwidth²): all degrees",
        "DotProduct([0.5, 0.0, 1.0])": "any power series without negative coefficients",
        "ArcCosine(order=1)": "an infinite layer of random neurons; order 0, 1 or 2",
        "Zonal([0.0, 0.2, 0.0, 0.8])": "depends only on the angle: functions on the sphere",
    },
    "Histograms": {
        "Hellinger()": "Σ √(a b)",
        "ChiSquared()": "Σ 2ab / (a + b)",
        "Intersection()": "Σ min(a, b)",
        "JensenShannon()": "the additive kernel of the Jensen-Shannon divergence",
        "Exponentiated(ChiSquared(), bandwidth=0.4)": "the Gaussian of a kernel's distance",
        "SkewedChiSquared(0.05)": "Π 2√((a + c)(b + c)) / (a + b + 2c)",
        "ExponentialSemigroup(1.0)": "depends on a + b: exp(-Σ √(a + b))",
        "ReciprocalSemigroup(1.0)": "depends on a + b: Π 1 / (a + b + 1)",
    },
    "Categories and mixed tables": {
        "Delta(other=0.3)": "one factor for every column in which the categories differ",
        "Overlap()": "the share of columns with equal categories",
        'Delta().on("kind") * Gaussian(0.5).on("height")': "each kernel uses its own columns",
    },
    "Combined kernels": {
        "Gaussian(0.3) + 2 * Polynomial(1, 0.0, 0.3)": "sums and multiples of any kernels",
        "Gaussian(1.0) * ArcCosine(0)": "products of any kernels",
        "Gaussian(1.0).column_scaled([0.5, 2.0])": "a scale for each column, or for each group",
        "RandomProcess(bumps, places)": "the mean of phi(w, a) phi(w, b): any random function",
    },
}


def ring(n_columns, size, rng):
    """Draw frequencies of length 3 in random directions."""
    normal = rng.normal((n_columns, size))
    return 3 * normal / np.linalg.norm(normal, axis=0)


def places(n_columns, size, rng):
    """Draw points uniformly from a square."""
    return 6 * rng.uniform((n_columns, size)) - 3


def bumps(omega, X):
    """Return bumps of height 1 around random places, by the maximum distance."""
    far = np.abs(X[:, :, None] - omega[None]).max(axis=1)
    return np.maximum(1 - far, 0)


def made(code: str) -> Kernel:
    """Return the kernel of a line of code."""
    names = {name: getattr(kernels, name) for name in kernels.__all__}
    own = {"ring": ring, "places": places, "bumps": bumps}
    kernel = eval(code, {"__builtins__": {}}, names | own)  # a line of the table above
    return kernel.with_column_indices(["kind", "height"])


def plane(kernel: Kernel, family: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return points of both axes, and a point to look from."""
    if family == "Histograms":
        return np.linspace(0, 1, SIDE), np.linspace(0, 1, SIDE), np.array([[0.3, 0.7]])
    if "Delta" in repr(kernel) and "Gaussian" in repr(kernel):
        return np.arange(6), np.linspace(-3, 3, SIDE), np.array([[2, 0.5]])
    if family.startswith("Categories"):
        return np.arange(6), np.arange(6), np.array([[2, 3]])
    return np.linspace(-3, 3, SIDE), np.linspace(-3, 3, SIDE), np.array([[1.0, 0.5]])


def drawn(kernel: Kernel, rows: np.ndarray) -> np.ndarray:
    """Return a random function of the Gaussian process of this kernel: features times normals."""
    basis = map_of(kernel).build(kernel, ArraySource(rows).sample(1_000), 0, np.float64)
    columns = basis.gain(FEATURES) * basis.columns(basis.encode(rows), 0, FEATURES)
    return columns @ np.random.default_rng(5).normal(size=FEATURES)


def picture(code: str, family: str, path: Path, plt: Any) -> None:
    """Draw k(x, .) and a random function side by side."""
    kernel = made(code)
    across, up, x = plane(kernel, family)
    rows = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2).astype(np.float64)
    kernel = kernel.resolved(rows, Random(0))
    shape, ends = (len(up), len(across)), (across[0], across[-1], up[0], up[-1])
    figure, axes = plt.subplots(1, 2, figsize=(3.2, 1.6), layout="constrained")
    values = kernel(x, rows).reshape(shape), drawn(kernel, rows).reshape(shape)
    for axis, function, colours in zip(axes, values, ("viridis", "RdBu_r"), strict=True):
        most = np.abs(function).max()
        least = -most if colours == "RdBu_r" else min(0.0, function.min())
        seen = {"vmin": least, "vmax": most, "cmap": colours, "extent": ends, "aspect": "auto"}
        axis.imshow(function, origin="lower", interpolation="nearest", **seen)
        axis.set(xticks=[], yticks=[])
        axis.grid(False)
    axes[0].plot(*x[0], "w+", markersize=6)
    figure.savefig(path, dpi=90)
    plt.close(figure)


def matrix(axis: Any, rows: list[str], columns: list[str], has: Callable[[str], Any]) -> None:
    """Draw which of the columns each row has."""
    marks = [(j, i) for i, row in enumerate(rows) for j, c in enumerate(columns) if c in has(row)]
    axis.scatter(*zip(*marks, strict=True), s=22, color="#0072B2", zorder=3)
    axis.set_xticks(range(len(columns)), columns, rotation=60, ha="left", rotation_mode="anchor")
    axis.set_yticks(range(len(rows)), rows)
    axis.tick_params(length=0, labeltop=True, labelbottom=False, labelsize=8)
    axis.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
    axis.spines[:].set_visible(False)


def compatibility(plt: Any) -> None:
    """Draw the kernels against features, solvers and machines."""
    names = sorted(Kernel.registry)
    known = {name: Kernel.resolve(name).resolved(np.eye(2), Random(0)) for name in names}
    kinds = {
        "features": (sorted(FeatureMap.registry), features_of),
        "solvers": (sorted(Solver.registry), solvers_with),
        "machines": (list(MACHINES), machines_with),
    }
    widths = [len(columns) for columns, _ in kinds.values()]
    figure, axes = plt.subplots(
        1, 3, figsize=(12.5, 7), layout="constrained", width_ratios=widths, sharey=True
    )
    for axis, (title, (columns, has)) in zip(axes, kinds.items(), strict=True):
        matrix(axis, names, columns, lambda name, has=has: has(known[name]))
        axis.set_xlabel(title)
    figure.savefig(DOCS / "gallery" / "compatibility.png", dpi=110)
    plt.close(figure)


def page() -> str:
    """Return the page in Markdown."""
    parts = [HEAD]
    for family, lines in FAMILIES.items():
        parts.append(f"## {family}\n\n| | | |\n| --- | --- | --- |")
        for number, (code, words) in enumerate(lines.items()):
            image = f"![{code}](gallery/{_slug(family)}-{number}.png)".replace('"', "'")
            parts[-1] += f"\n| {image} | `{code}` | {words.replace('|', chr(92) + '|')} |"
    sources = "\n\n\n".join(getsource(function).rstrip() for function in (ring, bumps, places))
    parts.append(f"{FUNCTIONS}\n\n```python\n{sources}\n```")
    return "\n\n".join([*parts, CLOSE, TABLES + tables()])


def _slug(family: str) -> str:
    return family.split()[0].lower()


HEAD = """# Gallery of kernels

Each picture shows a kernel of two columns. The left half is k(x, ·), where the cross marks x. The
right half is a sample of the Gaussian process with this kernel, drawn with the kernel's random
features. The line of code creates the kernel (`from bochner.kernels import ...`); pass it to any
estimator as `kernel`. The script `benchmarks/maps_gallery.py` writes this page."""

FUNCTIONS = """The functions of `Spectral(ring)` and `RandomProcess(bumps, places)`; `rng` is the
random number generator of a block of features:"""

CLOSE = """## Accuracy and speed

The plots show the error of the kernel matrix against the number of features, as a mean over seeds;
dashed lines are scikit-learn's maps. Orthogonal frequencies have a smaller error if there are at
least as many as columns, scrambled Halton points if there are few columns. Kernels of histograms
fit their frequencies to the sample.

![errors of kernel matrices against the number of features](gallery/errors.png)

Doubly stochastic gradients on MNIST: after the same number of steps all ways to draw frequencies
have the same error; products of Hadamard matrices take three fifths of the time.

![test error on MNIST against steps and seconds](gallery/mnist.png)

`benchmarks/maps.py` draws both plots."""

TABLES = """## Compatibility

The tables are derived from the types: each feature map declares the kernels that it accepts and the
basis that it builds, each solver the losses and the bases that it accepts. A test checks all pairs.
"with a size" means that the feature map is endless by default: set its size for these solvers, as
in `Fourier(4096)`. `random` selects the features of a kernel, also of a combined one; `centers` and
`nystroem` accept any kernel, also a function k(A, B).

![kernels against features, solvers and machines](gallery/compatibility.png)

The last table lists the losses that each estimator supports with each solver.

"""


def gallery(_: Any = None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Write the page and its pictures; nothing here is measured."""
    (DOCS / "gallery.md").write_text(page())
    plt = pyplot()
    count = sum(map(len, FAMILIES.values()))
    if plt is not None:
        (DOCS / "gallery").mkdir(exist_ok=True)
        for family, lines in FAMILIES.items():
            for number, code in enumerate(lines):
                picture(code, family, DOCS / "gallery" / f"{_slug(family)}-{number}.png", plt)
        compatibility(plt)
    print(f"  {count} kernels, {len(features_of(made('Gaussian(1.0)')))} features of the Gaussian")
    print("  docs/gallery.md and docs/gallery/")
    return {"kernels": count}, []


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    gallery()
