"""DensityRatio: how much more often rows occur in one law than in another."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from bochner.compute.memory import memory_budget
from bochner.compute.pool import threads
from bochner.compute.random import Random
from bochner.data import ArraySource
from bochner.estimators.choices import is_auto
from bochner.estimators.ranges import (
    require_count,
    require_jobs,
    require_memory,
    require_number,
    require_one_of,
)
from bochner.estimators.sample_pair import SamplePair
from bochner.estimators.seeds import seed_of
from bochner.estimators.sources import is_stream
from bochner.features import Centers, prepare
from bochner.kernels import Gaussian, Kernel
from bochner.loop import run
from bochner.losses import DensityDual, Logistic, Loss
from bochner.losses.ranges import require_share
from bochner.problem import Expansion, Problem
from bochner.solvers import Nystroem
from bochner.stopping import Passes, Solved

LOSSES: dict[str, type[Loss]] = {"exponential": DensityDual, "logistic": Logistic}
MULTIPLIERS = (0.5, 1.0, 2.0, 4.0)
RIDGES = (30.0, 3.0, 0.3, 0.03, 0.003)  # alpha times the number of rows
TRIED_ROWS = 2_500  # of either sample, by which these are chosen
TRIED_CENTERS = 256
MOST_PASSES = 200
SPLIT = 0x5917  # keeps this draw apart from others of the same seed


@dataclass(frozen=True)
class Choice:
    """A kernel and a ridge on the sum over the rows."""

    kernel: Kernel
    ridge: float


class DensityRatio(BaseEstimator):  # type: ignore[misc]
    r"""The ratio p/q of the densities of two samples, and the divergence KL(p, q).

    Maximises E_p f - E_q exp(f) - alpha |f|^2 over functions f of the kernel, of which the maximum
    for alpha = 0 is KL(p, q) - 1 at f = log(p/q) (Nguyen, Wainwright and Jordan 2010, Estimating
    divergence functionals and the likelihood ratio by convex risk minimization, section III);
    "logistic" tells rows of p from rows of q by logistic regression instead, with half of the
    weight on either, and has the same f at its minimum (Sugiyama, Suzuki and Kanamori 2012, Density
    ratio estimation in machine learning, section 4.2). A constant is added so that the mean of
    exp(f) over the rows of q is 1. Held-out rows choose the bandwidth and alpha, and estimate the
    divergence.

    Parameters
    ----------
    kernel : str or Kernel
        "auto": Gaussian, its bandwidth one of 1/2, 1, 2 and 4 median distances.
    loss : "logistic" or "exponential"
        Logistic is the steadier one where the ratio is large.
    size : int
        The number of centres.
    alpha : float or "auto"
        The regularisation, of a mean over the rows; "auto" chooses it.
    held_out : float
        The share of either sample that is held out, between 0 and 1.
    random_state, n_jobs, memory_budget
        As for the other estimators.

    Attributes
    ----------
    kl_divergence_ : float
        The estimate on the held-out rows. Where these chose bandwidth and alpha as well it is
        a little high; `kl_divergence` takes other rows.
    kernel_, alpha_, expansion_
        The kernel with its bandwidth, the regularisation, and the function f.

    Examples
    --------
    >>> import numpy as np
    >>> from bochner import DensityRatio
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(2_000, 1)), rng.normal(size=(2_000, 1)) + 1
    >>> model = DensityRatio(random_state=0).fit(X, Y)
    >>> bool(np.abs(model.log_ratio([[0.0], [1.0]]) - [0.5, -0.5]).max() < 0.2)  # 1/2 - x
    True
    """

    kernel_: Kernel
    expansion_: Expansion

    def __init__(
        self,
        kernel: Any = "auto",
        loss: str = "logistic",
        size: int = 512,
        alpha: float | str = "auto",
        *,
        held_out: float = 0.2,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_budget: int | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.size = size
        self.alpha = alpha
        self.held_out = held_out
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_budget = memory_budget

    def fit(self, X: Any, Y: Any, sample_weight_X: Any = None, sample_weight_Y: Any = None) -> Self:
        """Fit to a sample X of p and a sample Y of q, arrays with the same columns."""
        self._check_parameters()
        for sample in (X, Y):
            if is_stream(sample):
                raise ValueError(
                    "DensityRatio needs both samples at once; got a stream. Give arrays."
                )
        pair = SamplePair.checked(X, Y, sample_weight_X, sample_weight_Y)
        seed = seed_of(self.random_state)
        learned, judged = pair.split(self.held_out, Random(seed, SPLIT))
        with threads(self.n_jobs):
            choice = self._chosen(learned.part(TRIED_ROWS), judged, seed)
            expansion = self._function(learned, choice, self.size, seed)
        validate_data(self, X, skip_check_array=True)
        self.kernel_, self.alpha_ = choice.kernel, self._alpha(choice, learned)
        self.expansion_ = expansion
        self.kl_divergence_ = _divergence(expansion, judged)
        return self

    def log_ratio(self, X: Any) -> NDArray[np.float64]:
        """Return f = log(p/q) at rows."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        with threads(self.n_jobs):
            return _values(self.expansion_, X)

    def ratio(self, X: Any) -> NDArray[np.float64]:
        """Return p/q at rows."""
        return np.exp(self.log_ratio(X))  # type: ignore[no-any-return]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return p/q at rows."""
        return self.ratio(X)

    def sample_weights(self, X: Any) -> NDArray[np.float64]:
        """Return weights of mean 1 that make rows of q stand for p."""
        ratio = self.ratio(X)
        return ratio / ratio.mean()  # type: ignore[no-any-return]

    def novelty(self, X: Any, rho: float = 0.0) -> NDArray[np.float64]:
        """Return max(0, rho - log(p/q)): how novel rows of q are beside what is known of p.

        Smola, Song and Teo 2009, Relative novelty detection.
        """
        return np.maximum(0.0, rho - self.log_ratio(X))

    def kl_divergence(
        self, X: Any, Y: Any, sample_weight_X: Any = None, sample_weight_Y: Any = None
    ) -> float:
        """Return E_p f - log E_q exp(f) on samples X of p and Y of q that were not fitted to.

        For any f this is at most KL(p, q), and what the dual gives for f with the best constant
        added (Donsker and Varadhan 1975).
        """
        check_is_fitted(self)
        pair = SamplePair.checked(X, Y, sample_weight_X, sample_weight_Y)
        if pair.x.shape[1] != self.n_features_in_:
            raise ValueError(
                f"The samples have {pair.x.shape[1]} columns, but DensityRatio was fitted with "
                f"{self.n_features_in_}. Give the same columns."
            )
        with threads(self.n_jobs):
            return _divergence(self.expansion_, pair)

    def _check_parameters(self) -> None:
        require_one_of("loss", self.loss, tuple(LOSSES))
        require_count("size", self.size)
        require_jobs(self.n_jobs)
        if not is_auto(self.alpha):
            require_number("alpha", self.alpha, positive=True)
        require_share("held_out", self.held_out)
        require_memory(self.memory_budget)

    def _chosen(self, tried: SamplePair, judged: SamplePair, seed: int) -> Choice:
        """Return the kernel and the ridge with the largest divergence on held-out rows."""
        given = not is_auto(self.kernel)
        open_ones = [Gaussian(multiplier=multiplier) for multiplier in MULTIPLIERS]
        sample = tried.stacked(Random(seed)).sample(2 * TRIED_ROWS).X
        kernels = [
            kernel.resolved(sample, Random(seed))
            for kernel in ([Kernel.resolve(self.kernel)] if given else open_ones)
        ]
        ridges = RIDGES if is_auto(self.alpha) else RIDGES[:1]  # a given alpha needs none
        choices = [Choice(*both) for both in product(kernels, ridges)]
        if len(choices) == 1:
            return choices[0]
        size = min(self.size, TRIED_CENTERS)
        judged = judged.part(2 * TRIED_ROWS)
        return max(
            choices,
            key=lambda choice: _divergence(self._function(tried, choice, size, seed), judged),
        )

    def _alpha(self, choice: Choice, pair: SamplePair) -> float:
        return choice.ridge / len(pair) if is_auto(self.alpha) else float(self.alpha)

    def _function(self, pair: SamplePair, choice: Choice, size: int, seed: int) -> Expansion:
        """Return f, with the constant that makes the mean ratio over q equal to 1."""
        alpha = self._alpha(choice, pair)
        source: ArraySource = pair.stacked(Random(seed, SPLIT))
        memory = memory_budget(self.memory_budget)
        centers = Centers(min(size, len(pair)))
        rows = source.sample(centers.sample_rows(len(pair)), seed)
        _, basis = prepare(choice.kernel, centers, rows, seed, np.float32, memory)
        problem = Problem(basis, LOSSES[self.loss](), alpha, 1, False, len(pair), seed)
        found = run(Nystroem(), problem, source, stop=Solved() | Passes(MOST_PASSES)).expansion
        found = found.simplified()
        constant = logsumexp(_values(found, pair.y), b=pair.v / pair.v.sum())
        return Expansion(found.basis, found.weights, found.intercept - constant)


def _values(f: Expansion, X: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(f(X)[:, 0], np.float64)


def _divergence(f: Expansion, pair: SamplePair) -> float:
    """Return E_p f - log E_q exp(f)."""
    of_q = logsumexp(_values(f, pair.y), b=pair.v / pair.v.sum())
    return float(np.average(_values(f, pair.x), weights=pair.w) - of_q)
