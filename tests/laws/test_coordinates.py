"""Which blocks doubly stochastic steps move."""

import numpy as np
import pytest

from bochner import KernelClassifier, KernelRegressor
from bochner.solvers import DoublyStochastic
from bochner.solvers.doubly_stochastic import doubly_stochastic
from bochner.solvers.doubly_stochastic.coordinates import Checked


@pytest.fixture
def steps(monkeypatch):
    """The steps of all fits: whether the policy was asked, the block's number, the largest move."""
    found, asked = [], []
    choose, apply = Checked.choose, doubly_stochastic.apply_move

    def asking(policy, context):
        asked.append(context.step)
        return choose(policy, context)

    def moving(state, view, code, known, move):
        found.append((bool(asked), view.number, np.abs(move.change[: view.width]).max()))
        asked.clear()
        return apply(state, view, code, known, move)

    monkeypatch.setattr(Checked, "choose", asking)
    monkeypatch.setattr(doubly_stochastic, "apply_move", moving)
    return found


def fitted(solver, noise, Machine=KernelRegressor):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=300)
    y = (y > 0).astype(int) if Machine is KernelClassifier else y
    return X, Machine(solver=solver, random_state=0).fit(X, y)


@pytest.mark.parametrize("Machine", [KernelRegressor, KernelClassifier])
def test_the_policy_is_asked_at_every_step_and_takes_old_blocks(steps, Machine):
    _, model = fitted("cdsg", 0.0, Machine)
    assert all(asked for asked, _, _ in steps)
    assert any(number is not None for _, number, _ in steps)
    _, other = fitted("dsg", 0.0, Machine)
    assert model.n_features_used_ < other.n_features_used_


@pytest.mark.parametrize("Machine", [KernelRegressor, KernelClassifier])
def test_plain_steps_of_small_batches_move_old_blocks(steps, Machine):
    plain = {"step": "plain", "batch_size": 50, "feature_block": 12}
    X, model = fitted(DoublyStochastic(coordinates="checked", **plain), 0.1, Machine)
    assert any(number is not None and size > 0 for _, number, size in steps)
    _, other = fitted(DoublyStochastic(coordinates="new", **plain), 0.1, Machine)
    assert model.n_features_used_ < other.n_features_used_
    assert not np.array_equal(model.expansion_(X), other.expansion_(X))


def test_where_the_first_block_explains_all_but_noise_every_policy_gives_its_function(steps):
    X, model = fitted("cdsg", 1.0)
    assert [number for _, number, size in steps if size > 0] == [None]
    assert any(number is not None for _, number, _ in steps)
    for solver in ("dsg", "udsg"):
        found = fitted(solver, 1.0)[1].predict(X)
        np.testing.assert_allclose(found, model.predict(X), atol=1e-5)
