"""The records of a fit: its setup, rows in the solver's form, and what it leaves behind."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bochner.callbacks import History
from bochner.data import (
    Batch,
    DataSource,
    HeldOut,
    RandomAccess,
    Scaling,
    Warping,
    hold_out,
    mapped,
    shuffled,
)
from bochner.data.transforms.transform import checked_source
from bochner.estimators.automatic.plan import Plan
from bochner.estimators.automatic.scales import TunedKernel
from bochner.estimators.automatic.settings import is_auto, is_binning
from bochner.estimators.fitting.calibration import UNCALIBRATED, Calibration, is_likelihood
from bochner.estimators.inputs.ranges import in_single_precision
from bochner.estimators.inputs.targets import Labels, Targets
from bochner.features import (
    Basis,
    BinningBasis,
    BinningDiagnostics,
    EncodedData,
    EncodedRows,
    FeatureMap,
)
from bochner.features.feature_map import GrowingFeatureMap
from bochner.kernels import Kernel
from bochner.losses import Loss, Quadratic, Regression
from bochner.problem import Expansion, Problem
from bochner.records import Validated, require_sound
from bochner.solvers import Backfitting, Solver
from bochner.solvers.binning.averaged_gradient import AveragedGradientState
from bochner.solvers.passes.direct import DirectState, left_out
from bochner.training.loop import Solution, Training
from bochner.training.progress import Progress, Reason

DIGEST_VERSION = b"rows and settings, version 2:"  # the first version had no such beginning
HELD_OUT_SHARE = 0.1
MOST_HELD_OUT = 2_500
FEWEST_ROWS_TO_HOLD_OUT = 1_000
READ_ROWS = 16_384  # at a time
FEWEST_TO_CALIBRATE = 20
# On bins quantiles in the tails depend on few rows; short steps that end early need no more.
LEAST_RIDGE = 0.5


def require_columns(basis: Basis, scaling: Scaling | None) -> None:
    """Check that a stored scaling is of the columns of the basis."""
    fits = scaling is None or basis.input_columns in (None, len(scaling.location))
    require_sound(fits, "its scaling is of other columns")


class RowCoding:
    """The base of records that scale rows and code targets by these fields."""

    scaling: Scaling | None
    targets: Targets
    warping: Warping | None = None

    def rows(self, X: Any) -> Any:
        """Return rows scaled and warped; sparse rows become dense if zeros change."""
        shifts = self.scaling is not None and self.scaling.location.any()
        if sp.issparse(X) and (shifts or self.warping is not None):
            X = X.toarray()
        X = X if self.scaling is None else self.scaling.rows(X)
        return X if self.warping is None else self.warping.rows(X)

    def __call__(self, batch: Batch) -> Batch:
        """Scale the rows and code the targets of a batch."""
        return self.targets(replace(batch, X=self.rows(batch.X)))


@dataclass(frozen=True)
class Setup(RowCoding, Validated):
    """Seed, loss, kernel, basis, transforms of the rows and coding of the targets of a fit.

    `parameters` is the text of those that must stay the same in a continued fit. `binning` and
    `rows_in_bins` describe the bins, if there are any; `calibration` makes probabilities of the
    values of a loss without likelihood.
    """

    seed: int
    loss: Loss
    kernel: Kernel
    features: FeatureMap
    basis: Basis
    scaling: Scaling | None
    targets: Targets
    parameters: str
    binning: BinningDiagnostics | None = None
    rows_in_bins: NDArray[np.int32] | None = None
    calibration: Calibration = UNCALIBRATED
    warping: Warping | None = None

    def validate(self) -> None:
        """Check that the transforms of the rows are of the columns of the basis."""
        require_columns(self.basis, self.scaling)
        columns, maps = self.basis.input_columns, self.warping.maps if self.warping else {}
        inside = columns is None or all(0 <= place < columns for place in maps)
        require_sound(inside, "it maps a column that does not exist")

    def coded(self, source: DataSource) -> DataSource:
        """Return the rows as the basis takes them, in single precision, and coded targets."""
        return checked_source(mapped(source, self), _in_single_precision)

    def problem(self, alpha: float, intercept: bool, rows: int | None) -> Problem:
        """Return what is minimised over so many rows (None: unknown)."""
        outputs = self.targets.outputs
        return Problem(self.basis, self.loss, alpha, outputs, intercept, rows, self.seed)

    def attributes(self, expansion: Expansion) -> dict[str, Any]:
        """Return the attributes of an estimator that predicts by this function."""
        expansion = expansion.simplified()
        fitted: dict[str, Any] = {
            "_setup": self,
            "kernel_": self.kernel,
            "loss_": self.loss,
            "scaling_": self.scaling,
            "warping_": self.warping,
            "expansion_": expansion,
            "intercept_": expansion.intercept,
            "n_features_used_": expansion.size,
        }
        if self.binning is not None:
            fitted["binning_"] = self.binning
        if self._needs_calibration:
            fitted["calibration_"] = self.calibration
        if isinstance(self.targets, Labels):
            fitted["classes_"] = self.targets.classes
        return fitted

    def calibrated(self, data: TrainingData, solution: Solution) -> Setup:
        """Return the setup with probabilities of a function, learned from rows it was not fit to.

        These are the held-out rows or, for the exact machine, all rows, each left out in turn.
        """
        held_out, state = data.held_out, solution.training.state
        if not self._needs_calibration:
            return replace(self, calibration=UNCALIBRATED)
        if held_out is not None:
            f = solution.expansion(held_out.X)
        elif isinstance(state, DirectState) and state.weighted_rows >= FEWEST_TO_CALIBRATE:
            f = left_out(data.problem, state)
            held_out = Batch(f, state.targets, np.arange(len(f)), state.row_weights)
        else:
            return replace(self, calibration=UNCALIBRATED)
        return replace(self, calibration=Calibration.learn(self.loss, held_out, f))

    @property
    def _needs_calibration(self) -> bool:
        return isinstance(self.targets, Labels) and not is_likelihood(self.loss)

    def with_initial_size(self, rows: int, seconds: float | None) -> Setup:
        """Return the setup with the basis that a fit to so many rows starts with."""
        if not isinstance(self.features, GrowingFeatureMap):
            return self
        work = rows * self.targets.outputs
        basis = self.features.initial_basis(self.basis, self.kernel, self.seed, work, seconds)
        return replace(self, basis=basis)

    def with_larger_basis(self, rows: int | None) -> Setup | None:
        """Return the setup with a larger basis for so many rows, None if there is none."""
        if not isinstance(self.features, GrowingFeatureMap):
            return None
        basis = self.features.larger_basis(self.basis, self.kernel, self.seed, rows)
        return None if basis is None else replace(self, basis=basis)


@dataclass(frozen=True)
class TrainingData:
    """The rows in the form that a solver reads, the problem on them, and the held-out rows.

    `setup.basis` has all functions that the rows call for; `problem.basis` spans the same in the
    form that the solver works with.
    """

    setup: Setup
    problem: Problem
    source: DataSource | EncodedData
    held_out: Batch | None

    @classmethod
    def for_solver(
        cls,
        coded: DataSource,
        setup: Setup,
        solver: Solver[Any],
        *,
        alpha: Any,
        intercept: bool,
        early_stopping: bool | str,
        memory: int,
        total_weight: float | None = None,
        smaller: TrainingData | None = None,
        until: float = inf,
    ) -> TrainingData:
        """Hold rows out if `early_stopping` says so; shuffle the others, or encode them all.

        `coded` are the rows and targets by `Setup.coded`. Their `total_weight`, None if they have
        no weights, decides alpha="auto". `smaller` are the data of the same rows
        and solver on the basis that `setup` enlarges: only the new part of the codes is computed.
        No codes are made after the time `until`.
        """
        rest = split(coded, early_stopping, setup.seed)

        def problem(rows: int | None) -> Problem:
            weight = rows if total_weight is None else total_weight
            return setup.problem(alpha_for(alpha, solver, setup.loss, weight), intercept, rows)

        posed = problem(coded.n_rows)
        solver.check(posed)
        basis = solver.prepare_basis(posed, memory)
        if solver.tags.access == "shuffled":
            held_out = held_out_rows(rest)
            rest = shuffled(rest) if isinstance(rest, RandomAccess) else rest
            return cls(setup, replace(posed, basis=basis), rest, held_out)
        rows, left_out = rest, None
        if isinstance(rest, HeldOut):
            rows, left_out = rest.all_rows(), rest.numbers
        size = solver.rows_per_batch(posed)
        before = None if smaller is None else smaller.source
        known = before if isinstance(before, EncodedRows) else None
        encoded = EncodedRows(rows, basis, size, memory, left_out, smaller=known, until=until)
        held_out = held_out_rows(rest)  # of a stream, the pass that encoded it has collected them
        setup = replace(setup, basis=encoded.basis.for_prediction)
        return cls(setup, replace(problem(encoded.n_rows), basis=encoded.basis), encoded, held_out)

    def setup_with_counts(self) -> Setup:
        """Return the setup with the number of rows in each bin, if there are bins."""
        encoded, basis = self.source, self.setup.basis
        if not isinstance(encoded, EncodedRows) or not isinstance(basis, BinningBasis):
            return self.setup
        rows = np.zeros(basis.size, np.int32)
        for batch in encoded.batches():
            basis.count(batch.X, rows)
        return replace(self.setup, binning=BinningDiagnostics.of(basis, rows), rows_in_bins=rows)


@dataclass(frozen=True)
class Preparation:
    """All that is known before the first batch; `digest` identifies the rows and the settings."""

    tuned: TunedKernel | None
    plan: Plan
    solver: Solver[Any]
    setup: Setup
    digest: bytes | None

    def alpha(self, given: Any, rows: int | None) -> Any:
        """Return alpha as it was given, or the learned ridge for kernel ridge regression."""
        loss, solver = self.setup.loss, self.solver
        numbers = isinstance(loss, Quadratic | Regression)
        ridge = solver.tags.takes_ridge and numbers and is_auto(given)
        if self.tuned is None or rows is None or not ridge:
            return given
        swept = isinstance(loss, Quadratic) or isinstance(solver, Backfitting)
        open_tails = is_binning(self.plan.features) and not swept
        least = LEAST_RIDGE if open_tails else 0.0
        return max(self.tuned.ridge, least) * loss.typical_curvature / rows


@dataclass(frozen=True)
class FitRecord:
    """What a fit leaves behind: the function, why it ended, and all that a later fit resumes from.

    `seconds` is the time that an unfinished fit has taken.
    """

    setup: Setup
    expansion: Expansion
    training: Training | None
    history: dict[str, list[Any]]
    digest: bytes | None
    plan: Plan
    tuned: TunedKernel | None
    reason: Reason | None = None
    progress: Progress | None = None
    unfinished: bool = False
    seconds: float = 0.0

    @classmethod
    def of(
        cls, prepared: Preparation, setup: Setup, solution: Solution, history: History
    ) -> FitRecord:
        """Return what an estimator keeps of a solution."""
        state = solution.training.state
        if isinstance(state, AveragedGradientState):
            setup = replace(setup, binning=state.diagnostics(), rows_in_bins=None)
        return cls(
            setup,
            solution.expansion,
            solution.training,
            history.columns,
            prepared.digest,
            prepared.plan,
            prepared.tuned,
            solution.reason,
            solution.progress,
        )

    @property
    def n_iter(self) -> int:
        """The number of passes, the last one perhaps not finished."""
        assert self.training is not None  # a fit has just made it
        return self.training.pass_ + (self.training.position > 0)


def fit_digest(rows: bytes | None, settings: str) -> bytes | None:
    """Return a digest of rows and settings by the digest of the rows, None if there is none."""
    if rows is None:
        return None
    return DIGEST_VERSION + hashlib.blake2b(rows + settings.encode()).digest()


def alpha_for(alpha: Any, solver: Solver[Any], loss: Loss, weight: float | None) -> float:
    """Return the given regularisation, or for "auto" the solver's own.

    `weight` is the total weight of the rows or their number, None if it is unknown.
    """
    if not isinstance(alpha, str):
        return float(alpha)
    return solver.tags.default_alpha(weight) * loss.typical_curvature


def holds_out(source: DataSource, early_stopping: bool | str) -> bool:
    """Whether rows are held out; "auto": if there are enough that can be read more than once."""
    enough = source.n_rows is None or source.n_rows >= FEWEST_ROWS_TO_HOLD_OUT
    return enough and not source.once if early_stopping == "auto" else bool(early_stopping)


def split(source: DataSource, early_stopping: bool | str, seed: int) -> DataSource:
    """Return the source, or for early stopping the source without its held-out rows."""
    if early_stopping is True and source.once:
        raise ValueError(
            "early_stopping=True needs rows that can be read more than once; got an iterator. "
            "Give early_stopping='auto' or False, or a source that can be read again."
        )
    if not holds_out(source, early_stopping):
        return source
    # Of many rows a smaller share: the first rows alone might not stand for all.
    share = min(HELD_OUT_SHARE, MOST_HELD_OUT / source.n_rows) if source.n_rows else HELD_OUT_SHARE
    return hold_out(source, share, MOST_HELD_OUT, seed)


def held_out_rows(source: DataSource) -> Batch | None:
    """Return the held-out rows, None if none are to be; a stream is read if none is collected."""
    if not isinstance(source, HeldOut):
        return None
    if not isinstance(source, RandomAccess) and source.held_out() is None:
        for _ in source.batches(READ_ROWS):
            met = source.held_out()
            if met is not None and len(met) >= MOST_HELD_OUT:
                break
    rows = source.held_out()
    if rows is None or len(rows) == 0 or source.n_rows == 0:
        raise ValueError(
            "There are too few rows to hold a tenth of them out. Give early_stopping=False."
        )
    if rows.weight is not None and not rows.weight.any():
        raise ValueError(
            "All held-out rows have weight 0, so they have no mean loss. Give "
            "early_stopping=False, or leave such rows out."
        )
    return rows


def _in_single_precision(batch: Batch) -> Batch:
    in_single_precision(batch.X)
    return batch


def padded(weights: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the weights of all functions: those that have not been used are 0."""
    missing = size - weights.shape[1]
    return np.pad(weights, ((0, 0), (0, missing))) if missing > 0 else weights


def require_same_parameters(first: str, given: str, of: str, restart: str) -> None:
    """Refuse to continue a fit with other parameters than those of the first rows, fit or call.

    `first` and `given` are the parameters as text, `of` says where the first ones come from, and
    `restart` how to begin a new fit.
    """
    if given != first:
        raise ValueError(
            f"Continuing needs the parameters of the first {of}, {first}; got {given}. Set them "
            f"back, or start again{restart}."
        )
