"""A fit that is killed goes on from its last checkpoint to the same bits."""

import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.base import clone

import bochner
from bochner import (
    Checkpoint,
    KernelClassifier,
    KernelGaussianProcess,
    KernelNoveltyDetector,
    KernelQuantileRegressor,
    KernelRegressor,
)
from bochner.callbacks import CheckpointCallback
from bochner.data import IteratorSource
from bochner.features import Binning, Centers
from bochner.solvers import DoublyStochastic, Refinement

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

MODELS = {
    "dsg": KernelRegressor(solver="dsg", early_stopping=True),
    "refined": KernelRegressor(
        "gaussian", solver=DoublyStochastic(refinement=Refinement()), max_passes=3
    ),
    "eigenpro": KernelRegressor(solver="eigenpro", early_stopping=True),
    "temporary centres": KernelRegressor(solver="eigenpro", features=Centers(40), max_passes=3),
    "nystroem": KernelRegressor(solver="nystroem", features=Centers(40)),
    "cg": KernelRegressor(solver="cg", features=Binning(16), early_stopping=True),
    "newton": KernelClassifier(solver="newton", loss="logistic", features=Binning(16)),
    "coordinate": KernelRegressor(solver="coordinate", features=Binning(16), max_passes=3),
    "averaged": KernelClassifier(solver="averaged", loss="hinge", features=Binning(16)),
    "grids that grow": KernelRegressor("laplacian", features="binning", early_stopping=True),
    "quantiles": KernelQuantileRegressor([0.1, 0.9], features=Binning(16), max_passes=4),
    "learned scales": KernelRegressor(scales="learn"),
    "novelty": KernelNoveltyDetector(max_passes=4),
}
every_model = pytest.mark.parametrize("name", MODELS)


class KeepAt(CheckpointCallback):
    """Saves the model at some calls; counts them all."""

    def __init__(self, path, *calls):
        self.path, self.calls, self.count = path, calls, 0

    def keep(self, progress, unfinished):
        self.count += 1
        if self.count in self.calls and progress.reason is None:
            bochner.save(unfinished(), self.path)


def target(model, y):
    return (y > 0) if isinstance(model, KernelClassifier) else y


def assert_same_fit(one, two, X):
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    assert set(vars(one)) == set(vars(two))
    for name in one.history_.keys() - {"seconds"}:
        assert one.history_[name] == two.history_[name], name
    assert (one.n_iter_, one.stopped_because_) == (two.n_iter_, two.stopped_because_)


@every_model
def test_going_on_from_a_checkpoint_is_the_uninterrupted_fit(regression, name, tmp_path):
    (X, y), model = regression, MODELS[name].set_params(random_state=0)
    y, path = target(model, y), tmp_path / "checkpoint"
    counter = KeepAt(path)
    whole = clone(model).set_params(callbacks=[counter]).fit(X, y)
    for call in {counter.count // 3, counter.count - 2, counter.count - 1}:
        clone(model).set_params(callbacks=[KeepAt(path, call)]).fit(X, y)
        part = bochner.load(path)
        assert np.isfinite(part.predict(X).astype(float)).all()
        assert_same_fit(whole, part.fit(X, y), X)


def test_a_checkpoint_says_that_it_is_one_and_a_finished_model_does_not(regression, tmp_path):
    X, y = regression
    path = tmp_path / "checkpoint"
    model = KernelRegressor(solver="dsg", random_state=0, callbacks=[Checkpoint(path, 0)])
    model.fit(X, y)
    assert bochner.read_header(path).unfinished
    assert bochner.read_header(path).summary["stopped_because"] == "it has not ended"
    bochner.save(bochner.load(path).fit(X, y), path)
    assert not bochner.read_header(path).unfinished


def test_an_interrupt_writes_a_checkpoint(regression, tmp_path):
    X, y = regression

    def interrupt(progress):
        if progress.step == 6 and progress.reason is None:
            signal.raise_signal(signal.SIGINT)

    path, settings = tmp_path / "checkpoint", {"solver": "dsg", "random_state": 0}
    model = KernelRegressor(callbacks=[interrupt, Checkpoint(path, 3600)], **settings)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert_same_fit(KernelRegressor(**settings).fit(X, y), bochner.load(path).fit(X, y), X)


def test_a_checkpoint_is_not_gone_on_with_on_other_rows(regression, tmp_path):
    X, y = regression
    path = tmp_path / "checkpoint"
    KernelRegressor(random_state=0, callbacks=[KeepAt(path, 1)]).fit(X, y)
    for rows, change in ((X + 1, {}), (X, {"alpha": 0.5})):
        with pytest.raises(ValueError, match="checkpoint of a fit to other rows"):
            bochner.load(path).set_params(**change).fit(rows, y)


def test_time_before_the_interruption_counts(regression, tmp_path):
    X, y = regression
    path = tmp_path / "checkpoint"
    KernelRegressor(solver="dsg", random_state=0, callbacks=[KeepAt(path, 2)]).fit(X, y)
    model = bochner.load(path)
    model._used = 1e6
    model.set_params(max_seconds=1e5).fit(X, y)
    assert "seconds were up" in model.stopped_because_


def test_fits_that_cannot_go_on_have_no_checkpoints(regression, tmp_path):
    X, y = regression
    callbacks = [Checkpoint(tmp_path / "checkpoint", 0)]
    blocks = IteratorSource((X[i : i + 100], y[i : i + 100]) for i in range(0, 400, 100))
    with pytest.raises(ValueError, match="read only once"):
        KernelRegressor(callbacks=callbacks).fit(blocks)
    with pytest.raises(ValueError, match="Checkpoint is for fit of"):
        KernelRegressor(callbacks=callbacks).partial_fit(X, y)
    with pytest.raises(ValueError, match="Checkpoint is for fit of"):
        KernelGaussianProcess(variance="operator", callbacks=callbacks).fit(X, y)


CHILD = """
import sys
import numpy as np
import bochner
X = np.random.default_rng(0).normal(size=(600, 3))
model = bochner.KernelRegressor(solver="dsg", random_state=0, max_passes=150, tol=0.0)
model.set_params(callbacks=[bochner.Checkpoint(sys.argv[1], 0)]).fit(X, X[:, 0])
"""


def test_a_killed_process_leaves_a_checkpoint_that_goes_on(tmp_path):
    path, chance = tmp_path / "checkpoint", random.Random(0)
    X = np.random.default_rng(0).normal(size=(600, 3))
    settings = {"solver": "dsg", "random_state": 0, "max_passes": 150, "tol": 0.0}
    whole = KernelRegressor(**settings).fit(X, X[:, 0])
    with subprocess.Popen([sys.executable, "-c", CHILD, path]) as child:
        while not path.exists():
            assert child.poll() is None
            time.sleep(0.01)
        time.sleep(chance.uniform(0.0, 0.1))
        child.kill()
    assert_same_fit(whole, bochner.load(path).fit(X, X[:, 0]), X)
