"""Column scales (ARD): given by the user, or learned together with kernel and ridge."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.compute.blas import single_blas
from bochner.compute.interruption import abandonable, after
from bochner.data import Batch, DataSource, Scaling, Warping
from bochner.data.weights import ChosenRows
from bochner.estimators.automatic.plan import FEW_ROWS, Cost, Costs
from bochner.estimators.automatic.settings import FitSettings, is_auto, is_binning
from bochner.estimators.inputs.ranges import in_single_precision, refuse_vanishing
from bochner.estimators.inputs.tables import Table
from bochner.estimators.inputs.targets import Labels, Targets
from bochner.features import Centers, FeatureMap
from bochner.features.feature_map import categories_of
from bochner.kernels import Kernel, Laplacian
from bochner.kernels.radial import Radial
from bochner.losses import Loss, Quadratic, Smooth, SmoothedAbsolute, Squared, deviations
from bochner.losses.smoothed_absolute import quantile_of
from bochner.solvers import Solver
from bochner.solvers.solver import RIDGE
from bochner.tuning import Sample, Tuned, Tuning
from bochner.tuning.exact import ROWS, require_shift_invariant, search_kernel
from bochner.tuning.few_rows import FEWEST_ROWS as FEWEST_TO_TUNE
from bochner.tuning.few_rows import FewRowsSearch
from bochner.tuning.gradients import choose_kernel, tune_kernel
from bochner.tuning.search import combined, mean_kernel
from bochner.tuning.tuning import deadline
from bochner.validation import seed_of

MANY_COLUMNS = 256  # for which a search takes long
MOST_COLUMNS = 5_000
BANDWIDTH_ROWS = 20_000
# Of a fit's time limit: then kernels are no longer compared by exact fits.
SHARE_OF_KERNELS = 0.5
EXACT_FITS = 30  # in a comparison of kernels, about
FURTHEST = 1.0  # deviation from the median, to which targets are clipped in a search
MOST_NUMBERS = 50_000_000  # of a sample, for any memory budget, since scales depend on it


def are_given(scales: Any) -> bool:
    """Whether scales are numbers of the user, not a word or None."""
    return scales is not None and not isinstance(scales, str)


def require_scales(scales: Any) -> None:
    """Refuse any text but "auto" and "learn"."""
    if isinstance(scales, str) and scales not in ("auto", "learn"):
        raise ValueError(
            f"scales must be 'auto', 'learn', None or a number for each column; got {scales!r}."
        )


def scaled_kernel(kernel: Any, scales: Any) -> Kernel:
    """Return the kernel on columns that are divided by given scales."""
    resolved: Kernel = Kernel.resolve(kernel)
    return resolved.column_scaled(scales) if are_given(scales) else resolved


def given_scales(scales: Any, columns: int) -> NDArray[np.float64]:
    """Return the validated scales of the user, one for each column."""
    found = np.asarray(scales, np.float64)
    if found.shape != (columns,):
        raise ValueError(
            f"scales must have a number for each of the {columns} columns; got the shape "
            f"{found.shape}."
        )
    return found


def describe_scales(scales: Any) -> str:
    """Return scales as text that differs for different scales."""
    return str(np.asarray(scales).tolist()) if are_given(scales) else repr(scales)


def has_auto_bandwidth(kernel: Any) -> bool:
    """Whether the bandwidth of a kernel is chosen on held-out rows."""
    return isinstance(kernel, Radial) and is_auto(kernel.bandwidth)


@dataclass(frozen=True, eq=False)
class TunedKernel:
    """The result of a search: the kernel, and `ridge`, alpha times the number of rows."""

    tuned: Tuned | None
    kernel: Kernel
    ridge: float
    seconds: float = 0.0

    @property
    def warping(self) -> Warping | None:
        """The monotone maps of columns with heavy tails."""
        return None if self.tuned is None else self.tuned.warping


@dataclass(frozen=True)
class KernelTuning:
    """Learns the kernel, column scales and ridge that the user has not given from a sample."""

    settings: FitSettings
    source: DataSource
    table: Table | None
    names: Any
    targets: Callable[[Loss], Targets]
    scaling: Callable[[], Scaling]
    once: bool

    def run(self) -> TunedKernel | None:
        """Return the result of the search, None if nothing is learned."""
        if self.tunes_few_rows:
            return self._tune_few_rows()
        if self.learns_scales:
            return self._tune_scales()
        return self._tune_bandwidth() if self._chooses_bandwidth else None

    def cost(self, costs: Costs | None) -> Cost | None:
        """Return the expected cost of the search, None if there is none or rows are unknown."""
        if costs is not None and self.tunes_few_rows:
            return costs.search_few_rows(self.settings.effort)
        if costs is None or not (self.learns_scales or self._chooses_bandwidth):
            return None
        given, quality = self.settings.kernel, self.settings.effort
        search = costs.search(quality.rounds)
        if _is_laplacian_without_bandwidth(given) or isinstance(given, Laplacian):
            return search
        kernels = costs.comparison(EXACT_FITS, ROWS)
        if not self.learns_scales:
            return kernels
        search = costs.search(quality.rounds * self._searches.count(quality))
        return search + kernels if not is_auto(given) or self._compares_kernels else search

    @property
    def _searches(self) -> Tuning:
        """The search; for a given kernel, or on centres, a single one of one Laplacian kernel."""
        tuning: Tuning = Tuning.resolve(self.settings.tuning)
        rows = self.source.n_rows
        many = is_auto(self.settings.features) and (rows is None or rows > FEW_ROWS)
        on_bins = self._only_bins or (many and is_auto(self.settings.solver))
        if is_auto(self.settings.kernel) and on_bins:
            return tuning
        return replace(tuning, share=1.0, searches=1)

    @property
    def _compares_kernels(self) -> bool:
        """Whether a kernel "auto" may be another than that of the search."""
        return self.settings.effort.compares_kernels and not self._only_bins

    @property
    def tunes_few_rows(self) -> bool:
        """Whether kernel, scales and ridge are chosen by leave-one-out errors of all rows."""
        rows = self.source.n_rows
        few = rows is not None and FEWEST_TO_TUNE <= rows <= FEW_ROWS
        quadratic = is_auto(self.settings.loss) or isinstance(
            Loss.resolve(self.settings.loss), Quadratic
        )
        return few and self._every_auto and quadratic and self.source.n_columns <= MOST_COLUMNS

    @property
    def learns_scales(self) -> bool:
        """Whether scales are learned.

        "auto" learns them if kernel, features and solver are "auto" as well, the loss is smooth,
        rows are many and can be read again, and columns are few.
        """
        scales = self.settings.scales
        if not is_auto(scales):
            return isinstance(scales, str)
        return self.source.n_columns <= MANY_COLUMNS and self._all_auto

    @property
    def _chooses_bandwidth(self) -> bool:
        """Whether a bandwidth is chosen: it is "auto", or columns are too many for scales."""
        if has_auto_bandwidth(self.settings.kernel):
            return True
        many = MANY_COLUMNS < self.source.n_columns <= MOST_COLUMNS and self.table is None
        return many and is_auto(self.settings.scales) and self._all_auto

    @property
    def _all_auto(self) -> bool:
        settings, rows = self.settings, self.source.n_rows
        every = all(map(is_auto, (settings.kernel, settings.features, settings.solver)))
        if not is_auto(settings.loss) and not isinstance(Loss.resolve(settings.loss), Smooth):
            return False
        return every and rows is not None and rows > FEW_ROWS and not self.once

    @property
    def _every_auto(self) -> bool:
        settings = self.settings
        parts = (settings.kernel, settings.features, settings.solver, settings.scales)
        held_out = Tuning.resolve(settings.tuning).held_out
        single = isinstance(held_out, str) and held_out != "blocks"
        return all(map(is_auto, parts)) and single and not self.once

    def _tune_few_rows(self) -> TunedKernel | None:
        """Choose a kernel, a scale for each column and a ridge by leave-one-out errors."""
        began, settings = time.perf_counter(), self.settings
        seed, tuning = seed_of(settings.random_state), Tuning.resolve(settings.tuning)
        with single_blas():
            sample = self._sample(tuning, seed)
            if not sample.groups:
                return None
            ridge = None if is_auto(settings.alpha) else float(settings.alpha) * len(sample)
            end = deadline(began, settings.max_seconds)
            found = FewRowsSearch(
                sample, seed, end, ridge, settings.fit_intercept, quality=settings.effort
            ).run()
        return TunedKernel(found.tuned, found.kernel, found.ridge, time.perf_counter() - began)

    def _tune_scales(self) -> TunedKernel:
        """Search for scales on a sample; choose kernel and ridge for them."""
        began, settings, tuning = time.perf_counter(), self.settings, self._searches
        if not is_auto(settings.kernel):
            require_shift_invariant(self._given_kernel())
        seed = seed_of(settings.random_state)
        with single_blas():
            sample = self._sample(tuning, seed)
            tuned = tuning.search(sample, seed, settings.max_seconds, settings.effort)
            end = deadline(began, settings.max_seconds)
            late = time.perf_counter() > end
            found = self._without_comparison(tuned)
            with abandonable(after(deadline(began, settings.max_seconds, SHARE_OF_KERNELS))):
                found = self._with_kernel(sample.warped(tuned.warping), tuned, seed, late)
            if found.kernel == tuned.kernel and time.perf_counter() <= end:
                results = tuning.search_again(sample, tuned, seed, end, settings.effort)
                kernel = mean_kernel([one.kernel for one in results])
                found = replace(found, tuned=combined(results), kernel=kernel)
        return replace(found, seconds=time.perf_counter() - began)

    def _tune_bandwidth(self) -> TunedKernel | None:
        """Choose a kernel with its bandwidth and a ridge; gradients may scale columns for "auto".

        A given kernel keeps its scales. The bandwidth of a Laplacian is chosen with bins on many
        rows, that of other kernels with exact machines on few rows. Where a time limit ends that,
        the bandwidth is the median distance.
        """
        began, settings = time.perf_counter(), self.settings
        seed = seed_of(settings.random_state)
        tuning: Tuning = replace(Tuning.resolve(settings.tuning), warp=False)
        if not isinstance(settings.kernel, Laplacian):
            tuning = replace(tuning, rows=min(tuning.rows, BANDWIDTH_ROWS))
        with single_blas():
            sample = self._sample(tuning, seed)
            columns = sample.n_columns
            scales = np.ones(columns)
            if are_given(settings.scales):
                scales = given_scales(settings.scales, columns)
            end = deadline(began, settings.max_seconds)
            last = deadline(began, settings.max_seconds, SHARE_OF_KERNELS)
            found = self._median_bandwidth()
            with abandonable(after(last)):
                found = self._kernel_of_best_bandwidth(tuning, sample, scales, seed, end)
        return None if found is None else replace(found, seconds=time.perf_counter() - began)

    def _kernel_of_best_bandwidth(
        self, tuning: Tuning, sample: Sample, scales: NDArray[np.float64], seed: int, end: float
    ) -> TunedKernel:
        given = self.settings.kernel
        if is_auto(given):
            best = choose_kernel(sample, scales, seed, tuning.linear_map)
            return TunedKernel(None, best.kernel, best.ridge)
        if isinstance(given, Laplacian):
            bandwidth, ridge = tuning.bandwidth(sample, scales, seed, end)
        else:
            _refuse_categories(given, sample)
            best = search_kernel(given, sample, scales, seed, end)
            bandwidth, ridge = best.inner.bandwidth, best.ridge  # type: ignore[attr-defined]
        kernel = scaled_kernel(replace(given, bandwidth=bandwidth), self.settings.scales)
        return TunedKernel(None, kernel, ridge)

    def _median_bandwidth(self) -> TunedKernel | None:
        """Return a given kernel with the median distance as its bandwidth."""
        given = self.settings.kernel
        if is_auto(given):
            return None
        kernel = scaled_kernel(replace(given, bandwidth="median"), self.settings.scales)
        return TunedKernel(None, kernel, RIDGE)

    def _without_comparison(self, tuned: Tuned) -> TunedKernel:
        """Return the kernel for the scales where there is no time to compare bandwidths."""
        given = self.settings.kernel
        if is_auto(given) or _is_laplacian_without_bandwidth(given):
            return TunedKernel(tuned, tuned.kernel, tuned.ridge)
        kernel = self._given_kernel()
        if has_auto_bandwidth(kernel):
            kernel = replace(kernel, bandwidth="median")  # type: ignore[type-var]
        return TunedKernel(tuned, scaled_kernel(kernel, tuned.scales), tuned.ridge)

    def _with_kernel(self, sample: Sample, tuned: Tuned, seed: int, late: bool) -> TunedKernel:
        """Return the kernel for the scales; if time is short, "auto" is that of the search."""
        given, scales = self.settings.kernel, tuned.scales
        given = given if isinstance(given, str) else self._given_kernel()
        tuning: Tuning = Tuning.resolve(self.settings.tuning)
        laplacian = TunedKernel(tuned, tuned.kernel, tuned.ridge)
        of_search = is_auto(given) and (late or not self._compares_kernels)
        if of_search or _is_laplacian_without_bandwidth(given):
            return laplacian
        if is_auto(given):
            # Scales that do not help the Laplacian are not refined for another kernel.
            best = choose_kernel(
                sample, scales, seed, tuning.linear_map, refine_scales=tuned.helped
            )
            if isinstance(best.inner, Laplacian):
                return laplacian
            return TunedKernel(tuned, best.kernel, best.ridge)
        if sample.categorical:  # exact machines would treat categories as numbers
            if has_auto_bandwidth(given):
                _refuse_categories(given, sample)
            return TunedKernel(tuned, scaled_kernel(given, scales), tuned.ridge)
        best = tune_kernel(Kernel.resolve(given), sample, scales, seed, tuning.linear_map)
        return TunedKernel(tuned, best.kernel, best.ridge)

    def _given_kernel(self) -> Kernel:
        """Return the given kernel, with indices in place of names of columns."""
        return Kernel.resolve(self.settings.kernel).with_column_indices(self.names)

    @property
    def _only_bins(self) -> bool:
        """Whether features, solver or columns of text allow only bins."""
        features, solver = self.settings.features, self.settings.solver
        if not is_auto(features):
            return is_binning(features)
        if self.table is not None:
            return True
        return not is_auto(solver) and is_binning(Solver.resolve(solver).tags.default_features)

    def _sample(self, tuning: Tuning, seed: int) -> Sample:
        source, settings = self.source, self.settings
        if source.n_columns > MOST_COLUMNS:
            raise ValueError(
                f"Scales and bandwidths are learned for at most {MOST_COLUMNS:,} columns; got "
                f"{source.n_columns:,}. Give scales=None, a bandwidth, or fewer columns."
            )
        targets = self.targets(Squared())
        most_rows = max(2, MOST_NUMBERS // (source.n_columns + targets.outputs))
        batch = source.sample(min(tuning.rows, most_rows), seed)
        categorical = self._categorical()
        coded = targets(batch)
        X = batch.X
        if settings.scale is not None:
            X = self.scaling().without(categorical).rows(X)
        X = in_single_precision(np.asarray(X.toarray() if sp.issparse(X) else X))
        refuse_vanishing(X, "X")
        centers = settings.features
        given_centers = isinstance(centers, Centers) and centers.given is not None
        return Sample.of(
            X,
            _without_outliers(coded) if self._is_robust else coded.targets,
            coded.weight,
            categorical=categorical,
            held_out=self._groups(tuning, batch),
            seed=seed,
            warp=tuning.warp and not sp.issparse(batch.X) and not given_centers,
            classes=isinstance(targets, Labels),
        )

    def _groups(self, tuning: Tuning, batch: Batch) -> Any:
        """Return how rows are held out; groups are given for rows of weight 0, too."""
        source = self.source
        if isinstance(source, ChosenRows):
            return tuning.groups(source.places[batch.index], source.source.n_rows)
        return tuning.groups(batch.index, source.n_rows)

    @property
    def _is_robust(self) -> bool:
        """Whether the loss is robust to outliers."""
        loss = self.settings.loss
        return not is_auto(loss) and isinstance(Loss.resolve(loss), SmoothedAbsolute)

    def _categorical(self) -> tuple[int, ...]:
        given = self.settings.features
        columns: tuple[int, ...] = ()
        if not is_auto(given):
            columns = categories_of(FeatureMap.resolve(given), self.source.n_columns)
        table = () if self.table is None else self.table.categorical
        return tuple(sorted({*columns, *table}))


def _refuse_categories(kernel: Any, sample: Sample) -> None:
    if sample.categorical:
        raise ValueError(
            'bandwidth="auto" with columns of categories needs a Laplacian kernel, for which there '
            f'are bins; got {kernel!r}. Give Laplacian("auto"), a number, or "median".'
        )


def _is_laplacian_without_bandwidth(kernel: Any) -> bool:
    if isinstance(kernel, str):
        return kernel == "laplacian"
    return isinstance(kernel, Laplacian) and isinstance(kernel.bandwidth, str)


def _without_outliers(coded: Batch) -> NDArray[np.float64]:
    """Return targets clipped to a few deviations from their median.

    A search compares squared errors, which a few outliers would dominate.
    """
    y, weight = coded.targets, coded.weight
    away = FURTHEST * deviations(y, weight)
    middle = np.array([quantile_of(column, 0.5, weight) for column in y.T])
    return np.asarray(np.clip(y, middle - away, middle + away))
