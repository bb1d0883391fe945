"""Every solver x feature map x loss, found through the registries."""

import bochner
from bochner import kernels
from bochner.features import Binning, Centers, FeatureMap
from bochner.losses import Loss, Margin, Multinomial, Regression
from bochner.solvers import Solver
from golden.comparison import outcome
from golden.made_data import histograms, labels, numbers

KERNELS = {  # others take a Gaussian kernel
    "additive_homogeneous": kernels.ChiSquared(),
    "binning": kernels.Laplacian(2.0),
    "exponential_fourier": kernels.Exponential(3.0),
    "harmonics": kernels.Zonal(),
    "histogram_fourier": kernels.Exponentiated(bandwidth=1.0),
    "maclaurin": kernels.Exponential(3.0),
    "random_laplace": kernels.ReciprocalSemigroup(1.0),
    "rectified": kernels.ArcCosine(),
    "tensor_sketch": kernels.Polynomial(2, 1.0, 0.1),
    "random": kernels.Gaussian(3.0) * kernels.ArcCosine() + kernels.ArcCosine().on([0, 1]),
}
X, UNSEEN = histograms(64), histograms(16, seed=9)
NUMBERS, LABELS = numbers(4 * X), labels(4 * X - 2)
OURS = "bochner."  # tests and pages register components of their own


def pairs():
    """Return the names of all solvers and feature maps of the library, "solver on features"."""
    return [f"{solver} on {features}" for solver in ours(Solver) for features in ours(FeatureMap)]


def ours(family):
    """Return the names of a family's components that are the library's own."""
    known = {name: family.resolve(name) for name in sorted(family.registry)}
    return [name for name, one in known.items() if type(one).__module__.startswith(OURS)]


def outcomes(pair):
    """Return what a pair predicts with each loss that it takes, {"pair, loss": outcome}.

    A ValueError is a refusal.
    """
    found = {}
    for loss in ours(Loss):
        for name, machine, targets in machines(loss):
            try:
                found[f"{pair}, {loss}{name}"] = fitted(machine, pair, loss, targets)
            except ValueError:
                continue
    return found


def machines(loss):
    """Yield the machines of a loss: some losses have two."""
    kind = Loss.resolve(loss)
    if isinstance(kind, Regression):
        yield "", bochner.KernelRegressor, NUMBERS
    if isinstance(kind, Margin | Multinomial):
        yield " of classes", bochner.KernelClassifier, LABELS


def fitted(machine, pair, loss, targets):
    """Return the outcome of two passes."""
    solver, features = pair.split(" on ")
    model = machine(
        KERNELS.get(features, kernels.Gaussian(2.0)),
        loss,
        sized(features, solver),
        solver,
        max_passes=2,
        early_stopping=False,
        random_state=0,
    )
    return outcome(model.fit(X, targets), UNSEEN)


def sized(features, solver):
    """Return small features; exact solvers take all rows as centres and no fewer."""
    found = FeatureMap.resolve(features)
    if isinstance(found, Binning):
        return found.set_params(grids=8)
    if isinstance(found, Centers) and solver in ("direct", "smo"):
        return found
    return found.set_params(size=24) if "size" in found.get_params(deep=False) else found
