"""Plan: the method that "auto" chooses, its cost and the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bochner.data.storage import fits
from bochner.estimators.automatic.settings import is_auto
from bochner.features import (
    Binning,
    Centers,
    DenseBasis,
    FeatureMap,
    Fourier,
    RandomBasis,
    has_map,
    map_name,
)
from bochner.features.binning.binning import most_entries
from bochner.kernels import Kernel, Precomputed, ShiftInvariant, is_random, is_separable
from bochner.losses import Quadratic, Smooth, SmoothedAbsolute
from bochner.solvers import SMO, CoordinateDescent, Direct, EigenPro, Solver
from bochner.tuning.quality import Quality
from bochner.wording import AdvisedError, amount, rough_duration

# Measured on cores with AVX2, to compare methods by orders of magnitude; `max_seconds` limits the
# time.
NANOSECOND = 1e-9
THREADS = 2
MULTIPLY = 0.025  # nanoseconds of a multiplication in a product of matrices, single precision
MULTIPLY_DOUBLE = 0.055
PROFILE = 0.7  # of a kernel value, given the distance
CACHED = 1.0  # of a cached value, with all outputs
GRID_ENTRY = 25.0  # of a row in a grid: bin number and a few products
FEATURE = 1.5  # of a feature and a row in a doubly stochastic step
TRIAL_ENTRY = 20.0  # of a row in a grid: bin number and backfitting
DUAL_PASS = 512.0  # variables that move in a pass of sequential minimal optimisation
DUAL_ROUNDS = 5  # times that each variable is in a working set
TRIALS = 2.0  # of a kernel in an iteration of a search by leave-one-out errors
EIGENPRO_PASSES, NYSTROEM_PASSES, SGD_STEPS = 10, 12, 100
ROUND = 1.5  # rounds of a search with its comparisons, for each of its own

MOST_SECONDS = 120.0  # of an exact machine, if there is an approximate one
FEW_ROWS = 3_000
CENTERS = 5_000
GRIDS = 64
# Of a model file, as measured.
FUNCTION_BYTES, NUMBER_BYTES, WEIGHT_BYTES = 28, 4, 16
ROWS_A_BIN, MOST_BINS = 6, 20_000  # of one grid
ENDLESS = 4_096  # random functions that a fit draws one after the other
SMALL_MODEL = 1_000_000  # bytes, not worth a word
WORTH = 0.2  # of the loss: for a smaller gain some rows are enough as centres
FEW_DISTINCT = 0.1  # of the rows of a sample


@dataclass(frozen=True)
class Cost:
    """Seconds and bytes."""

    seconds: float
    bytes: int

    def __add__(self, other: Cost) -> Cost:
        """Return the cost of both, one after the other."""
        return Cost(self.seconds + other.seconds, max(self.bytes, other.bytes))

    def by(self, threads: int) -> Cost:
        """Return the cost with this number of threads."""
        return Cost(self.seconds * THREADS / threads, self.bytes)


@dataclass(frozen=True)
class Costs:
    """The costs of methods for these numbers of rows, columns and outputs, with two threads.

    The plan compares these, so that it does not depend on the number of threads. Kernel values that
    do not fit into `memory` are computed in each pass.
    """

    rows: int
    columns: int
    outputs: int
    memory: int

    def direct(self) -> Cost:
        """Return the cost of a Cholesky factor of the kernel matrix in double precision."""
        n = self.rows
        matrix = n**2 * (MULTIPLY_DOUBLE * self.columns + 2 * PROFILE)
        return self._cost(matrix + MULTIPLY_DOUBLE * n**3 / 3, 16 * n**2)

    def smo(self) -> Cost:
        """Return the cost of passes that move each variable a few times, in double precision."""
        n = float(self.rows)
        value = MULTIPLY_DOUBLE * self.columns + 2 * PROFILE
        passes = DUAL_ROUNDS * n / DUAL_PASS + DUAL_ROUNDS
        computed = n**2 if 8 * n**2 <= self.memory else min(DUAL_PASS, n) * n * passes
        work = value * computed + self.outputs * passes * min(DUAL_PASS, n) * n * 2 * CACHED
        return self._cost(work, int(min(8 * n**2, self.memory)))

    def eigenpro(self) -> Cost:
        """Return the cost of passes with all rows as centres."""
        pairs = float(self.rows**2)
        if 4 * pairs <= self.memory:
            work = 0.5 * self._value * pairs + EIGENPRO_PASSES * self._cached * pairs
            return self._cost(work, int(4 * pairs))
        return self._cost(EIGENPRO_PASSES * (self._value + self._cached) * pairs, 0)

    def nystroem(self, centers: int) -> Cost:
        """Return the cost of passes with some centres, and of two Cholesky factors."""
        pairs = float(self.rows * centers)
        cached = 4 * pairs + 12 * centers**2 <= self.memory
        passes = 1 if cached else NYSTROEM_PASSES
        work = passes * self._value * pairs + NYSTROEM_PASSES * self._cached * pairs
        work += (MULTIPLY_DOUBLE + 2 * MULTIPLY) * centers**3 / 3
        return self._cost(work, int(4 * pairs * cached) + 12 * centers**2)

    def binning(self, grids: int) -> Cost:
        """Return the cost of bins and of products with them."""
        entries = float(self.rows * grids)
        work = entries * (GRID_ENTRY * self.outputs**0.5 + 0.5 * self.columns)
        return self._cost(work, int(4.5 * entries))

    def search(self, rounds: int) -> Cost:
        """Return the cost of so many rounds of searches: two trials per column."""
        trials = ROUND * rounds * 2 * min(self.columns, 128)
        entries = 16.0 * min(self.rows, 20_000)
        return self._cost(trials * entries * TRIAL_ENTRY, int(40 * entries))

    def comparison(self, cells: int, rows: int) -> Cost:
        """Return the cost of so many exact fits to a sample, of which a third is learned from."""
        n = min(self.rows, rows) / 3
        value = MULTIPLY_DOUBLE * self.columns + 2 * PROFILE
        work = cells * (3 * n**2 * value + MULTIPLY_DOUBLE * n**3 / 3)
        return self._cost(work, int(32 * n**2))

    def search_few_rows(self, quality: Quality) -> Cost:
        """Return the cost of a search by leave-one-out errors: factors and derivatives of each."""
        work, n = 0.0, 1.0
        kernels = 2 if quality.compares_kernels else 1
        for rows, iterations in quality.few_rows + quality.few_rows[:1] * quality.subsets:
            n = float(min(self.rows, rows))
            trial = n**2 * (2 * MULTIPLY_DOUBLE * n + 2 * PROFILE + self.columns)
            work += TRIALS * kernels * iterations * trial
        return self._cost(work, int(64 * n**2))

    def doubly_stochastic(self) -> Cost:
        """Return the cost of a hundred steps, or of two passes if that is more."""
        steps = max(SGD_STEPS, 2 * self.rows // 16_384)
        work = steps * 16_384 * 1024 * (FEATURE + MULTIPLY * (self.columns + 2048))
        return self._cost(work, 16 * self.rows * self.outputs)

    @property
    def _value(self) -> float:
        """Nanoseconds for a kernel value."""
        return MULTIPLY * self.columns + PROFILE

    @property
    def _cached(self) -> float:
        """Nanoseconds for the product of a cached value with the weights of all outputs."""
        return CACHED + MULTIPLY * self.outputs

    def _cost(self, nanoseconds: float, memory: int) -> Cost:
        return Cost(NANOSECOND * nanoseconds / THREADS, memory)


@dataclass(frozen=True)
class PlanInputs:
    """The facts on which the plan depends.

    `costs` is None for streams of unknown length; `once`: rows can be read only once; `categories`:
    the kernel would treat columns of text as numbers; `gain` returns the relative decrease of the
    loss with four times as many centres, on a sample; `seconds`: the time limit of an exact
    machine; `scaled`: column scales are learned; `stops_early`: rows are held out; `given`: the
    user has given the kernel; `text`: the columns of text; `distinct` returns the share of the rows
    of a sample that are left without repetitions.
    """

    costs: Costs | None
    once: bool
    categories: bool
    kernel: Kernel
    loss: type[Any]
    gain: Callable[[], float]
    seconds: float = MOST_SECONDS
    scaled: bool = False
    stops_early: bool = False
    given: bool = False
    text: tuple[int, ...] = ()
    distinct: Callable[[], float] = lambda: 1.0

    @property
    def rows(self) -> int | None:
        """The number of rows, None if unknown."""
        return None if self.costs is None else self.costs.rows

    @property
    def suits_bins(self) -> bool:
        """Whether bins can represent the kernel, or choose another."""
        return not self.given or is_separable(self.kernel)

    def require_bins(self) -> None:
        """Refuse columns of text that the kernel treats as numbers, unless bins can replace it."""
        if self.suits_bins:
            return
        laplacian = "kernel='laplacian', for which bins accept text."
        raise AdvisedError(
            f"This kernel treats columns of text as numbers: {self.kernel!r}. "
            f"{'{columns}: text.' if self.text else ''}".strip(),
            "Restrict it to the other columns, kernel.on([...]), with Delta().on([...]) for those "
            f"of text, or give {laplacian}",
            f"Leave them out by drop={{names}}, or give {laplacian}",
            self.text,
        )


@dataclass(frozen=True)
class Plan:
    """Features, solver and loss, the reason for them, and their expected cost.

    `search` is the part of the cost that is for learning scales, a bandwidth or the kernel, None if
    nothing is learned; `model_bytes` is the expected size of the model, None if the targets are not
    known yet. `str(plan)` describes the plan in a paragraph.
    """

    features: Any
    solver: Any
    why: str
    cost: Cost | None = None
    loss: Any = None
    search: Cost | None = None
    model_bytes: int | None = None

    @property
    def seconds(self) -> float:
        """The expected time, 0 if it is unknown."""
        return 0.0 if self.cost is None else self.cost.seconds

    def __str__(self) -> str:
        text = f"Solver {_named(self.solver)} on features {_named(self.features)}: {self.why}."
        if self.cost is None:
            return text
        search = "" if self.search is None else ", the search included,"
        return (
            f"{text} It is expected to take about {rough_duration(self.cost.seconds)}{search} and "
            f"{amount(max(self.cost.bytes, 1e6))} of memory beside the data{self._model}."
        )

    @property
    def _model(self) -> str:
        small = self.model_bytes is None or self.model_bytes < SMALL_MODEL
        return "" if small else f"; the model takes about {amount(self.model_bytes)}"


def expected_model(features: Any, costs: Costs, outputs: int) -> int:
    """Return the expected number of bytes of a model: its functions with their weights."""
    on: FeatureMap = FeatureMap.resolve(features)
    functions, size = ENDLESS, FUNCTION_BYTES
    if isinstance(on, Binning):
        grids = on.grids if isinstance(on.grids, int) else GRIDS
        functions = round(grids * min(costs.rows / ROWS_A_BIN, MOST_BINS))
    elif isinstance(on, Centers):
        functions = on.count(costs.rows)
        size += NUMBER_BYTES * costs.columns
    elif isinstance(on, Fourier) and on.size is not None:
        functions = on.size
    return functions * (size + WEIGHT_BYTES * outputs)


def make_plan(features: Any, solver: Any, inputs: PlanInputs) -> Plan:
    """Return the plan for features and solver, of which one or both may be "auto"."""
    if not is_auto(solver):
        chosen = _default_features(solver, inputs) if is_auto(features) else features
        return Plan(chosen, solver, "the solver was given", _cost(chosen, solver, inputs.costs))
    if not is_auto(features):
        chosen = _solver_for(FeatureMap.resolve(features), inputs)
        why = "the solver suits the given features"
        return Plan(features, chosen, why, _cost(features, chosen, inputs.costs))
    return _method(inputs)


def _default_features(solver: Any, inputs: PlanInputs) -> Any:
    """Return the default features of a solver; random features are those of the kernel."""
    by: Solver[Any] = Solver.resolve(solver)
    features = by.tags.default_features
    if features == "binning" and not inputs.suits_bins:
        return "nystroem" if issubclass(DenseBasis, by.tags.basis_type) else features
    return map_name(inputs.kernel) if features == "fourier" else features


def _cost(features: Any, solver: Any, costs: Costs | None) -> Cost | None:
    """Return the cost of given features and solver, None if it is unknown."""
    on: FeatureMap = FeatureMap.resolve(features)
    by: Solver[Any] = Solver.resolve(solver)
    if costs is None:
        return None
    if isinstance(on, Binning):
        return costs.binning(on.grids if isinstance(on.grids, int) else GRIDS)
    if isinstance(on, Centers):
        return _cost_on_centers(on, by, costs)
    return costs.doubly_stochastic() if by.tags.default_features == "fourier" else None


def _cost_on_centers(centers: Centers, solver: Solver[Any], costs: Costs) -> Cost:
    if isinstance(solver, Direct):
        return costs.direct()
    if isinstance(solver, SMO):
        return costs.smo()
    if isinstance(solver, EigenPro) and centers.takes_every_row:
        return costs.eigenpro()
    return costs.nystroem(centers.count(costs.rows))


def _solver_for(features: FeatureMap, inputs: PlanInputs) -> Any:
    """Return the solver for the features, one of whole passes if rows can be read again."""
    smooth, quadratic = (issubclass(inputs.loss, kind) for kind in (Smooth, Quadratic))
    if isinstance(features, Binning):
        if inputs.once or not smooth:
            return "averaged"
        absolute = issubclass(inputs.loss, SmoothedAbsolute)
        if (quadratic or absolute) and inputs.stops_early and _bins_fit(inputs.costs):
            return "backfitting"
        if absolute:
            return CoordinateDescent("l2")
        return "cg" if quadratic else "newton"
    if issubclass(features.basis_type, RandomBasis):
        return "dsg"
    if not isinstance(features, Centers) and not inputs.once:
        return "cg" if quadratic else "newton"
    if not isinstance(features, Centers):
        return "eigenpro"
    if features.size is not None or features.given is not None:
        return "eigenpro" if inputs.once else "nystroem"
    if not smooth and not inputs.once:
        return "smo"
    if inputs.once or not _few(inputs):
        return "eigenpro"
    return _exact_solver(inputs.loss)


def _method(inputs: PlanInputs) -> Plan:
    """Return the first method, from the exact to the approximate, that is fast enough."""
    costs, kernel = inputs.costs, inputs.kernel
    if inputs.categories:
        inputs.require_bins()
        return _on_bins(inputs, "some columns hold categories, which bins accept")
    if costs is None or inputs.once:
        return Plan(map_name(kernel), "dsg", "the rows are a stream, which is not stored")
    if not issubclass(inputs.loss, Smooth):
        return _on_nonsmooth_loss(inputs, costs)
    if _few(inputs):
        return _on_few_rows(inputs, costs)
    if is_random(kernel) and has_map(kernel):
        why = "the kernel is defined by random functions"
        return Plan("random", "dsg", why, costs.doubly_stochastic())
    if not isinstance(kernel, ShiftInvariant):
        return _on_values(inputs, costs)
    if inputs.scaled and is_separable(kernel):
        return _on_bins(inputs, "a scale for each column is learned, which bins can use")
    if costs.eigenpro().seconds <= inputs.seconds:
        return _on_centers(inputs, costs)
    many = f"{costs.rows:,} rows are too many for a kernel function at each of them"
    if is_separable(kernel):
        return _on_bins(inputs, f"{many}, and the kernel is a product over the columns")
    if costs.nystroem(CENTERS).seconds <= inputs.seconds:
        return Plan(Centers(CENTERS), "nystroem", many, costs.nystroem(CENTERS))
    return Plan("fourier", "dsg", many, costs.doubly_stochastic())


def _on_nonsmooth_loss(inputs: PlanInputs, costs: Costs) -> Plan:
    """Return the dual of all rows if it is fast enough or nothing else takes the kernel."""
    kernel, exact = inputs.kernel, costs.smo()
    why = "the loss is not differentiable, which the dual problem allows"
    if exact.seconds <= inputs.seconds or not has_map(kernel):
        return Plan("centers", "smo", why, exact)
    why = (
        f"the loss is not differentiable, and {costs.rows:,} rows are too many for the dual problem"
    )
    return Plan(map_name(kernel), "dsg", why, costs.doubly_stochastic())


def _on_values(inputs: PlanInputs, costs: Costs) -> Plan:
    """Return the first that is fast enough: all rows as centres, some, or random features."""
    kernel = inputs.kernel
    many = f"{costs.rows:,} rows are too many for a kernel function at each"
    why = f"{costs.rows:,} rows are not too many for a kernel function at each of them"
    plans = [Plan("centers", "eigenpro", why, costs.eigenpro())]
    if not isinstance(kernel, Precomputed):
        plans.append(Plan(Centers(CENTERS), "nystroem", many, costs.nystroem(CENTERS)))
    if has_map(kernel):
        plans.append(Plan(map_name(kernel), "dsg", many, costs.doubly_stochastic()))
    fast = (plan for plan in plans if plan.seconds <= inputs.seconds)
    return next(fast, min(plans, key=lambda plan: plan.seconds))


def _on_centers(inputs: PlanInputs, costs: Costs) -> Plan:
    """Return all rows as centres, or some if more would improve the loss little."""
    all_rows, some = costs.eigenpro(), costs.nystroem(CENTERS)
    if issubclass(inputs.loss, SmoothedAbsolute):
        exact = costs.smo()
        if exact.seconds <= some.seconds:
            why = "the loss is not differentiable, which the dual problem allows"
            return Plan("centers", "smo", why, exact)
        why = "the loss is smoothed, and whole passes minimise such a loss better than single steps"
        return Plan(Centers(min(CENTERS, costs.rows)), "nystroem", why, some)
    if inputs.distinct() < FEW_DISTINCT:
        # Steps on equal rows with different targets do not converge: the last one decides.
        why = "most rows are equal to others, so few of them are all the functions that there are"
        return Plan(Centers(min(CENTERS, costs.rows)), "nystroem", why, some)
    if all_rows.seconds <= some.seconds:
        why = f"{costs.rows:,} rows are not too many for a kernel function at each of them"
        return Plan("centers", "eigenpro", why, all_rows)
    gain = inputs.gain()
    measured = f"on a sample, four times as many centres lower the loss by {max(gain, 0.0):.0%}"
    if gain > WORTH:
        return Plan("centers", "eigenpro", f"{measured}, so all rows are to be centres", all_rows)
    return Plan(Centers(CENTERS), "nystroem", f"{measured}, so some rows are enough", some)


def _few(inputs: PlanInputs) -> bool:
    """Whether the kernel matrix can be factorised, in time and in memory."""
    costs = inputs.costs
    return costs is not None and costs.rows <= FEW_ROWS and costs.direct().bytes <= costs.memory


def _on_few_rows(inputs: PlanInputs, costs: Costs) -> Plan:
    why = f"{costs.rows:,} rows are few enough for the exact machine"
    solver = _exact_solver(inputs.loss)
    return Plan("centers", solver, why, _cost("centers", solver, costs))


def _exact_solver(loss: type[Any]) -> str:
    """Return the solver for few rows, all of which are centres."""
    if issubclass(loss, Quadratic):
        return "direct"
    return "smo" if issubclass(loss, SmoothedAbsolute) else "nystroem"


def _bins_fit(costs: Costs | None) -> bool:
    """Whether the bins of all rows fit in memory or on disk, with the largest number of grids."""
    return costs is not None and fits(4 * most_entries(costs.rows), costs.memory)


def _on_bins(inputs: PlanInputs, why: str) -> Plan:
    solver = _solver_for(Binning(), inputs)
    costs = inputs.costs
    if costs is None:
        return Plan("binning", solver, why)
    return Plan("binning", solver, why, costs.binning(GRIDS))


def _named(component: Any) -> str:
    return component if isinstance(component, str) else " ".join(repr(component).split())
