"""Scales of columns: what a user may give, and those that are learned with kernel and ridge."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.blas import single_blas
from bochner.data import Batch, DataSource, Scaling, Warping
from bochner.estimators.automatic.defaults import bins, is_auto
from bochner.estimators.automatic.plan import FEW_ROWS
from bochner.estimators.fitting.setup import in_single_precision
from bochner.estimators.inputs.targets import Labels
from bochner.estimators.parameters.ranges import seed_of
from bochner.features import Centers, FeatureMap
from bochner.features.feature_map import categories_of
from bochner.kernels import Kernel, Laplacian, Stretched
from bochner.kernels.radial import Radial
from bochner.losses import Loss, RoundedAbsolute, Smooth, Squared, deviations
from bochner.losses.rounded_absolute import quantile_of
from bochner.solvers import Solver
from bochner.tuning import Sample, Tuned, Tuning
from bochner.tuning.exact import Judged, require_shift_invariant, searched
from bochner.tuning.gradients import chosen, fitting
from bochner.tuning.tuning import deadline

if TYPE_CHECKING:
    from bochner.estimators.fitting.preparation import Preparation

MANY_COLUMNS = 256  # for which a search takes long
MOST_COLUMNS = 5_000
BANDWIDTH_ROWS = 20_000
FURTHEST = 1.0  # deviation: targets beyond have no more say in a search
MOST_NUMBERS = 50_000_000  # of a sample: whatever the memory budget, since scales depend on it


def require_scales(scales: Any) -> None:
    """Refuse any text but "auto" and "learn"."""
    if isinstance(scales, str) and scales not in ("auto", "learn"):
        raise ValueError(
            f"scales must be 'auto', 'learn', None or a number for each column; got {scales!r}."
        )


def scaled_kernel(kernel: Any, scales: Any) -> Kernel:
    """Return the kernel on columns that are divided by given scales."""
    resolved: Kernel = Kernel.resolve(kernel)
    given = scales is not None and not isinstance(scales, str)
    return resolved.stretched(scales) if given else resolved


def given_scales(estimator: Any, columns: int) -> NDArray[np.float64]:
    """Return the scales that a user gave, one for each column, or refuse them."""
    scales = np.asarray(estimator.scales, np.float64)
    if scales.shape != (columns,):
        raise ValueError(
            f"scales must have a number for each of the {columns} columns; got the shape "
            f"{scales.shape}."
        )
    return scales


def learns(estimator: Any, rows: int | None, columns: int, once: bool) -> bool:
    """Whether scales are to be learned: "auto" means so where nothing speaks against it.

    That is where kernel, features and solver are open as well, the loss is smooth, rows are many,
    columns are not, and all can be read again.
    """
    if not is_auto(estimator.scales):
        return isinstance(estimator.scales, str)
    return columns <= MANY_COLUMNS and _is_open(estimator, rows, once)


def finds_bandwidth(estimator: Any, rows: int | None, columns: int, once: bool) -> bool:
    """Whether a bandwidth is to be found: it is open, or columns are too many for scales."""
    if has_open_bandwidth(estimator.kernel):
        return True
    many = MANY_COLUMNS < columns <= MOST_COLUMNS and estimator._table is None
    return many and is_auto(estimator.scales) and _is_open(estimator, rows, once)


def has_open_bandwidth(kernel: Any) -> bool:
    """Whether the kernel is one whose bandwidth is left to held-out rows."""
    return isinstance(kernel, Radial) and is_auto(kernel.bandwidth)


def _is_open(estimator: Any, rows: int | None, once: bool) -> bool:
    is_open = all(map(is_auto, (estimator.kernel, estimator.features, estimator.solver)))
    loss = estimator._loss()
    if not is_auto(loss) and not isinstance(Loss.resolve(loss), Smooth):
        return False
    return is_open and rows is not None and rows > FEW_ROWS and not once


def told(scales: Any) -> str:
    """Return scales in words that differ for others."""
    given = scales is not None and not isinstance(scales, str)
    return str(np.asarray(scales).tolist()) if given else repr(scales)


@dataclass(frozen=True, eq=False)
class Learned:
    """What a search found, if there was one, the kernel, and alpha times the number of rows."""

    tuned: Tuned | None
    kernel: Kernel
    ridge: float
    seconds: float = 0.0

    @property
    def warping(self) -> Warping | None:
        """The maps through which columns are seen."""
        return None if self.tuned is None else self.tuned.warping


def learned(estimator: Preparation, source: DataSource, classes: Any) -> Learned:
    """Search for scales on a sample of the rows; find kernel and ridge that go with them."""
    began = time.perf_counter()
    tuning: Tuning = Tuning.resolve(estimator.tuning)
    if not is_auto(estimator.kernel):
        require_shift_invariant(_given(estimator))
    seed = seed_of(estimator.random_state)
    with single_blas():
        sample = _sample(estimator, source, classes, tuning, seed)
        tuned = tuning.search(sample, seed, estimator.max_seconds)
        late = time.perf_counter() > deadline(began, estimator.max_seconds)
        found = _with_kernel(estimator, sample.through(tuned.warping), tuned, seed, late)
    return replace(found, seconds=time.perf_counter() - began)


def with_bandwidth(estimator: Preparation, source: DataSource, classes: Any) -> Learned:
    """Find a kernel with its bandwidth and a ridge; scales only as far as gradients tell them.

    A kernel that was given keeps its scales. A bandwidth for bins is found on bins, of many rows;
    others by exact machines on few.
    """
    began, seed = time.perf_counter(), seed_of(estimator.random_state)
    tuning: Tuning = replace(Tuning.resolve(estimator.tuning), warp=False)
    given, laplacian = estimator.kernel, isinstance(estimator.kernel, Laplacian)
    if not laplacian:
        tuning = replace(tuning, rows=min(tuning.rows, BANDWIDTH_ROWS))
    told = estimator.scales is None or isinstance(estimator.scales, str)
    with single_blas():
        sample = _sample(estimator, source, classes, tuning, seed)
        scales = np.ones(sample.n_columns) if told else given_scales(estimator, sample.n_columns)
        if is_auto(given):
            best = chosen(sample, scales, seed, tuning.linear_map)
            return Learned(None, best.kernel, best.ridge, time.perf_counter() - began)
        end = deadline(began, estimator.max_seconds)
        if laplacian:
            bandwidth, ridge = tuning.bandwidth(sample, scales, seed, end)
        else:
            _refuse_categories(given, sample)
            best = searched(given, sample, scales, seed, end)
            bandwidth, ridge = best.inner.bandwidth, best.ridge  # type: ignore[attr-defined]
    kernel = scaled_kernel(replace(given, bandwidth=bandwidth), estimator.scales)
    return Learned(None, kernel, ridge, time.perf_counter() - began)


def _with_kernel(
    estimator: Preparation, sample: Sample, tuned: Tuned, seed: int, late: bool
) -> Learned:
    """Return the kernel that goes with the scales; if it is late, "auto" asks for no other."""
    given, scales = estimator.kernel, tuned.scales
    given = given if is_auto(given) or isinstance(given, str) else _given(estimator)
    tuning: Tuning = Tuning.resolve(estimator.tuning)
    laplacian = Learned(tuned, Stretched(Laplacian(1.0), scales), tuned.ridge)
    if _is_open_laplacian(given) or (is_auto(given) and (late or _only_bins(estimator))):
        return laplacian
    if is_auto(given):
        # Scales that did not help one kernel are not to come back with another.
        best = chosen(sample, scales, seed, tuning.linear_map, follow=tuned.helped)
        return laplacian if isinstance(best.inner, Laplacian) else _of(tuned, best)
    if sample.categorical:  # exact machines would take categories for numbers
        if has_open_bandwidth(given):
            _refuse_categories(given, sample)
        return Learned(tuned, scaled_kernel(given, scales), tuned.ridge)
    return _of(tuned, fitting(Kernel.resolve(given), sample, scales, seed, tuning.linear_map))


def _refuse_categories(kernel: Any, sample: Sample) -> None:
    if sample.categorical:
        raise ValueError(
            'bandwidth="auto" beside categories is for Laplacian kernels, which bins are made '
            f'for; got {kernel!r}. Give Laplacian("auto"), a number, or "median".'
        )


def _of(tuned: Tuned, best: Judged) -> Learned:
    return Learned(tuned, best.kernel, best.ridge)


def _given(estimator: Preparation) -> Kernel:
    """Return the kernel that was given, with the columns that it sees by their places."""
    return Kernel.resolve(estimator.kernel).placed(estimator._names)


def _is_open_laplacian(kernel: Any) -> bool:
    if isinstance(kernel, str):
        return kernel == "laplacian"
    return isinstance(kernel, Laplacian) and isinstance(kernel.bandwidth, str)


def _only_bins(estimator: Preparation) -> bool:
    """Whether features or solver, or columns of text, leave nothing but bins."""
    if not is_auto(estimator.features):
        return bins(estimator.features)
    if estimator._table is not None:
        return True
    solver = estimator.solver
    return not is_auto(solver) and bins(Solver.resolve(solver).home(None))


def _sample(
    estimator: Preparation, source: DataSource, classes: Any, tuning: Tuning, seed: int
) -> Sample:
    if source.n_columns > MOST_COLUMNS:
        raise ValueError(
            f"Scales and bandwidths are learned for at most {MOST_COLUMNS:,} columns; got "
            f"{source.n_columns:,}. Leave scales=None, give a bandwidth, or take fewer columns."
        )
    targets = estimator._targets(source, Squared(), classes)
    most_rows = max(2, MOST_NUMBERS // (source.n_columns + targets.outputs))
    batch = source.sample(min(tuning.rows, most_rows), seed)
    categorical = _categorical(estimator, source.n_columns)
    coded = targets(batch)
    assert coded.y is not None  # targets refuse a batch without
    X = in_single_precision(_dense(_scaled(estimator, source, batch, categorical)))
    held_out = tuning.groups(batch.index, source.n_rows)
    return Sample.of(
        X,
        _without_outliers(coded.y, coded.weight) if _is_robust(estimator) else coded.y,
        coded.weight,
        categorical=categorical,
        held_out=held_out,
        seed=seed,
        warp=tuning.warp and not sp.issparse(batch.X) and not _has_centers(estimator),
        classes=isinstance(targets, Labels),
    )


def _is_robust(estimator: Preparation) -> bool:
    """Whether the loss is one that outliers do not move."""
    loss = estimator._loss()
    return not is_auto(loss) and isinstance(Loss.resolve(loss), RoundedAbsolute)


def _without_outliers(y: NDArray[np.float64], weight: Any) -> NDArray[np.float64]:
    """Return targets no further from their median than a few deviations.

    A search judges by squared errors, which a few wild targets would decide.
    """
    away = FURTHEST * deviations(y, weight)
    middle = np.array([quantile_of(column, 0.5, weight) for column in y.T])
    return np.clip(y, middle - away, middle + away)


def _has_centers(estimator: Preparation) -> bool:
    """Whether the user gave centres: those are columns as they are."""
    given = estimator.features
    return isinstance(given, Centers) and given.given is not None


def _categorical(estimator: Preparation, n_columns: int) -> tuple[int, ...]:
    given = estimator.features
    columns = () if is_auto(given) else categories_of(FeatureMap.resolve(given), n_columns)
    table = () if estimator._table is None else estimator._table.categorical
    return tuple(sorted({*columns, *table}))


def _scaled(
    estimator: Preparation, source: DataSource, batch: Batch, categorical: tuple[int, ...]
) -> Any:
    if estimator.scale is None:
        return batch.X
    return Scaling.learn(source, estimator.scale).without(categorical).rows(batch.X)  # type: ignore[arg-type]


def _dense(X: Any) -> NDArray[Any]:
    return np.asarray(X.toarray() if sp.issparse(X) else X)
