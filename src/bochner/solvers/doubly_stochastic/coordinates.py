"""Coordinates: policies that choose the columns of a doubly stochastic step, new or old."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from bochner.component import Component
from bochner.compute.random.counter_based import Random
from bochner.solvers.doubly_stochastic.block_view import BlockView


@dataclass(frozen=True)
class BlockChoice:
    """The block to move, and a factor on the length of its step."""

    view: BlockView
    factor: float = 1.0


@dataclass(frozen=True)
class StepContext:
    """The inputs of a policy: the number of the step and of old blocks, and views of blocks.

    `refused` is True if the last new block got no weights; `length` is the step length of a new
    block. `view` returns an old block by its number, `new_block` the next new one, or None if there
    is no room for it.
    """

    step: int
    blocks: int
    refused: bool
    length: float
    rng: Random
    view: Callable[[int], BlockView]
    new_block: Callable[[], BlockView | None]

    def old_blocks(self, most: int) -> NDArray[np.int64]:
        """Return the numbers of at most `most` different old blocks, drawn uniformly."""
        return self.rng.permutation(self.blocks)[:most]

    def sample_old_block(self) -> BlockView:
        """Return an old block, drawn uniformly."""
        return self.view(int(self.old_blocks(1)[0]))


class Coordinates(Component, ABC, family="coordinates"):
    """A policy that chooses the block of columns of each step."""

    def check(self) -> None:
        """Raise ValueError for values out of range."""

    @abstractmethod
    def choose(self, context: StepContext) -> BlockChoice:
        """Return the block to move."""


@dataclass
class New(Coordinates, name="new"):
    """Always a new block (Dai et al. 2014, Algorithm 1), as long as there is room.

    Where `max_features` is reached, or the last new block got no weights, it takes an old one at
    random.
    """

    def choose(self, context: StepContext) -> BlockChoice:
        """Return the new block, or an old one if there is no room."""
        old = context.refused and context.blocks > 0
        return BlockChoice((None if old else context.new_block()) or context.sample_old_block())


@dataclass
class Uniform(Coordinates, name="uniform"):
    """G steps on new blocks, then U steps on old ones drawn uniformly, and so on.

    Li and Poczos 2016, Algorithm 3 (UDSG), with steps counted from 0: the paper's mod(i, G + U)
    has to be mod(i - 1, G + U), as in its proof, or the first step of G = U = 1 draws from
    nothing.

    Parameters
    ----------
    grow, reuse : int
        The paper's G and U.
    """

    grow: int = 1
    reuse: int = 1

    def choose(self, context: StepContext) -> BlockChoice:
        """Return a new or an old block, in turn."""
        if context.step % (self.grow + self.reuse) < self.grow or context.blocks == 0:
            return New().choose(context)
        return BlockChoice(context.sample_old_block())

    def check(self) -> None:
        """Raise ValueError for periods out of range."""
        if self.grow < 1 or self.reuse < 0:
            raise ValueError(
                f"Uniform needs grow >= 1 and reuse >= 0; got {self.grow} and {self.reuse}."
            )


@dataclass
class Checked(Coordinates, name="checked"):
    r"""An old block if that adds no more noise than a new one, with the longest step that does so.

    Li and Poczos 2016, Algorithm 4 (CDSG), derived here for batches of any size, blocks of any
    width and several outputs.

    *What is bounded.* f_t is a sum over blocks, phi_b(.)'a_b with weights a_b of shape (F,
    outputs). Given the batches, blocks drawn independently contribute independent deviations
    V_b from their expectation over the frequencies, so E|f_t - h_t|^2 <= C sum_b |a_b|^2 with a
    C of the kernel alone (Lemma 5 and Eq. 5 of the paper). A step of length gamma on a new block
    has the gradient G = Phi_new'g / n and adds C gamma^2 |G|^2.

    *An old block* b has the weights a_b, and a_b - eta G_b after a step eta. Both belong to the
    same frequencies, so they add as vectors: the bound becomes |a_b - eta G_b|^2. The paper
    describes a coordinate by one scalar beta, a sum of derivatives at different rows; comparing
    these costs a factor 2 and the variance M^2 sigma^2 / B of a feature between rows (Eqs. 7 to 9).
    Here the block's own gradient is known, so nothing is compared across rows. (The mean derivative
    over a batch, which beta would need, tends to 0 as the fit becomes unbiased.)

    *The check.* The old block may replace a new one if the bound is not worse:

        |a_b - eta G_b|^2 + eta^2 s^2 <= |a_b|^2 + gamma^2 |G_b|^2,    eta > gamma,

    where s^2 = caution * E|g|^2 k(0) / n bounds the variance of G_b over batches: with caution = 1
    the bound holds for the batch's gradient and its noise, with caution = 0 (better in experiments)
    only for the weights after the step. The largest eta is the root

        eta = (p + sqrt(p^2 + (|G_b|^2 + s^2) gamma^2 |G_b|^2)) / (|G_b|^2 + s^2),  p = <a_b, G_b>.

    With caution 0 it exceeds gamma exactly if p > 0: where the descent would make the block's
    weights smaller. Of some old blocks drawn uniformly the one with the largest eta is moved, by
    at most `longest` times gamma (the authors cap theta' too); if none passes, a new one.

    *Where it changes nothing.* The policy is asked at every step, but on few rows, which are one
    batch, its answers often have no effect, and the function is that of `New`: steps on
    new blocks lead on in one direction, so that no old block has p > 0; or the first block explains
    all that the batch can tell from noise, so that no block, old or new, is moved again.

    Parameters
    ----------
    candidates : int
        Old blocks that a step compares; each costs as much as a new one.
    longest : float
        The cap on eta / gamma.
    caution : float
        The factor on the variance of a batch's gradient.
    """

    candidates: int = 4
    longest: float = 4.0
    caution: float = 0.0

    def choose(self, context: StepContext) -> BlockChoice:
        """Return the old block with the longest admissible step, else a new one."""
        views = [context.view(int(b)) for b in context.old_blocks(self.candidates)]
        steps = [self.longest_step(view, context) for view in views]
        best = int(np.argmax(steps)) if steps else -1
        if best >= 0 and steps[best] > context.length:
            return BlockChoice(views[best], min(steps[best] / context.length, self.longest))
        return New().choose(context)

    def longest_step(self, view: BlockView, context: StepContext) -> float:
        """Return the root of the check: the largest eta for which the bound holds."""
        gradient, residuals = view.block_gradient, view.residuals
        squared, inner = float(np.sum(gradient**2)), float(np.sum(view.weights * gradient))
        length_of_phi = view.gain**2 * float(np.sum(np.square(view.columns[0], dtype=np.float64)))
        variance = residuals.mean(residuals.slopes**2) * length_of_phi / residuals.effective_rows
        curvature = squared + self.caution * variance
        if curvature == 0.0:
            return 0.0
        root = sqrt(inner**2 + curvature * context.length**2 * squared)
        return (inner + root) / curvature

    def check(self) -> None:
        """Raise ValueError for values out of range."""
        if self.candidates < 1 or self.longest < 1 or self.caution < 0:
            raise ValueError(
                "Checked needs candidates >= 1, longest >= 1 and caution >= 0; got "
                f"{self.candidates}, {self.longest} and {self.caution}."
            )
