"""What machines on bins promise, from rows to predictions."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from bochner import KernelClassifier, KernelRegressor, RandomBinning
from bochner.compute.bins.fingerprints import fingerprints
from bochner.data import ArraySource, IteratorSource
from bochner.features import Binning, Fourier
from bochner.features.binning import binning, binning_basis
from bochner.kernels import Gaussian, Laplacian
from bochner.solvers import CoordinateDescent

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SOLVERS = {
    "backfitting": KernelRegressor(features=Binning(16), random_state=0),
    "backfitting of labels": KernelClassifier(features=Binning(16), random_state=0),
    "cg": KernelRegressor(features=Binning(16), solver="cg", random_state=0),
    "newton": KernelClassifier(features=Binning(16), loss="logistic", random_state=0),
    "coordinate": KernelClassifier(
        features=Binning(16),
        loss="logistic",
        solver="coordinate",
        alpha=1e-3,
        random_state=0,
    ),
    "averaged": KernelClassifier(features=Binning(16), loss="hinge", max_passes=5, random_state=0),
}


@pytest.fixture(params=SOLVERS)
def model(request):
    return clone(SOLVERS[request.param])


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 3))
    return X, (X[:, 0] * X[:, 1] + 0.1 * rng.normal(size=1500) > 0).astype(int)


def values(model, X):
    return model.predict(X) if isinstance(model, KernelRegressor) else model.decision_function(X)


def test_bins_learn_what_the_kernel_can(model, table):
    X, y = table
    assert model.fit(X, y).score(X, y) > 0.7
    assert isinstance(model.kernel_, Laplacian)
    assert model.binning_.bins == model.weights_.shape[1]


def test_the_transformer_has_the_columns_of_weights_(table):
    X, y = table
    machine = KernelRegressor(features=Binning(8), random_state=3).fit(X, y)
    columns = RandomBinning(grids=8, random_state=3).fit(X).transform(X)
    assert columns.shape[1] == machine.weights_.shape[1]
    predicted = columns @ machine.weights_[0].astype(np.float64) + machine.intercept_
    np.testing.assert_allclose(predicted, machine.predict(X), atol=1e-6)


def test_the_transformer_keeps_the_dtype_and_gives_sparse_rows(table):
    X = table[0].astype(np.float32)
    columns = RandomBinning(grids=4, random_state=0).fit_transform(X)
    assert columns.dtype == np.float32
    assert sp.issparse(columns)
    np.testing.assert_array_equal(np.count_nonzero(columns.toarray(), axis=1), 4)


def test_a_ctrl_c_loses_nothing(table):
    X, y = table

    def press(progress):
        if progress.step == 5:
            raise_signal()

    def raise_signal():
        import signal

        signal.raise_signal(signal.SIGINT)

    whole = KernelRegressor(features=Binning(8), random_state=0, warm_start=True).fit(X, y)
    model = KernelRegressor(features=Binning(8), random_state=0, warm_start=True, callbacks=[press])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    model.set_params(callbacks=None).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), whole.predict(X))


def test_a_source_and_sparse_rows_give_what_arrays_give(table):
    X, y = table
    X = np.round(X) * (X > 0)
    expected = KernelRegressor(features=Binning(8), random_state=0).fit(X, y).predict(X)
    for other in (ArraySource(X, y), ArraySource(sp.csr_array(X), y)):
        model = KernelRegressor(features=Binning(8), random_state=0).fit(other)
        np.testing.assert_array_equal(model.predict(X), expected)


def test_a_source_that_can_only_be_read_in_order_is_learned_by_passes(table):
    X, y = table

    blocks = [(X[i : i + 100], y[i : i + 100]) for i in range(0, len(X), 100)]
    model = KernelRegressor(features=Binning(8), random_state=0, early_stopping=False)
    expected = clone(model).fit(X, y).score(X, y)
    assert model.fit(IteratorSource(blocks)).score(X, y) == pytest.approx(expected, abs=0.02)


def test_streams_are_learned_as_they_come(table):
    X, y = table
    model = KernelClassifier(features=Binning(16), loss="logistic", random_state=0)
    for i in range(0, len(X), 300):
        model.partial_fit(X[i : i + 300], y[i : i + 300], classes=[0, 1])
    assert model.score(X, y) > 0.7
    assert model.weights_.shape[1] == model.expansion_.basis.size


def test_partial_fit_goes_on_from_what_passes_have_found(table):
    X, y = table
    model = KernelRegressor(features=Binning(16), random_state=0).fit(X[:1000], y[:1000])
    before = model.score(X, y)
    model.partial_fit(X[1000:], y[1000:])
    assert model.score(X, y) > before
    assert model.binning_.grids == 16
    model.partial_fit(X[:100], y[:100])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_solvers_of_passes_have_no_partial_fit(table):
    model = KernelRegressor(features=Binning(8), solver="cg")
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="partial_fit"):
        model.partial_fit(*table)


def test_open_numbers_of_grids_grow_while_held_out_rows_gain(table):
    X, y = table
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(6000, 4))
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2]
    fixed = KernelRegressor(features=Binning(64), random_state=0).fit(X, y)
    open_ = KernelRegressor(features="binning", random_state=0).fit(X, y)
    assert open_.binning_.grids > 64
    assert open_.score(X, y) > fixed.score(X, y)


@pytest.mark.parametrize("memory", ["1 GB", 1], ids=["memory", "file"])
@pytest.mark.parametrize(
    ("solver", "loss"), [("backfitting", "squared"), ("cg", "squared"), ("coordinate", "logistic")]
)
def test_each_row_is_encoded_once_in_each_grid_while_grids_grow(monkeypatch, solver, loss, memory):
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(1200, 4))
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2] > 0.2
    monkeypatch.setattr(binning, "FEW_ENTRIES", 0)  # start with 64 grids
    calls = []  # the number of rows of each, in one grid

    def counted(columns, *grid):
        calls.append(columns.n_rows)
        return fingerprints(columns, *grid)

    monkeypatch.setattr(binning_basis, "fingerprints", counted)
    model = KernelClassifier(
        "laplacian", features="binning", solver=solver, loss=loss, early_stopping=True,
        memory_budget=memory, tol=1e-3, random_state=0,
    ).fit(X, y)  # fmt: skip
    grids = model.binning_.grids
    assert grids > 64
    # Twice as many grids may have been tried without success.
    assert calls.count(len(X)) == min(2 * grids, binning.MANY_GRIDS)
    assert all(rows < len(X) / 5 for rows in calls if rows != len(X))  # held-out rows


def test_held_out_rows_have_no_say(table):
    X, y = table
    model = KernelRegressor(features=Binning(8), early_stopping=True, random_state=0)
    a = model.fit(X, y)
    held_out = ArraySource(X, y)  # the rows of the split are found by their hash
    from bochner.estimators.fitting.setup import split

    index = split(held_out, True, seed=a._setup.seed).held_out().index
    other = y.astype(float)
    other[index] += 100.0
    weights = clone(model).set_params(max_passes=3).fit(X, other).weights_
    np.testing.assert_array_equal(weights, clone(model).set_params(max_passes=3).fit(X, y).weights_)


def test_a_pickled_l1_model_is_small_and_predicts_the_same(table):
    X, y = table
    model = KernelClassifier(
        features=Binning(32),
        loss="logistic",
        solver=CoordinateDescent("l1"),
        alpha=5e-3,
        random_state=0,
    ).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    used = int(np.count_nonzero(model.weights_))
    assert again.weights_.shape[1] == used < 0.2 * model.weights_.shape[1]
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert len(pickle.dumps(again)) < 20 * used + 30_000
    assert again.set_params(warm_start=True).fit(X, y).score(X, y) > 0.7


def test_a_fit_that_has_not_ended_is_pickled_whole(table):
    X, y = table
    solver = CoordinateDescent("l1", tol=1e-9)
    model = KernelClassifier(
        features=Binning(32), loss="logistic", solver=solver, alpha=5e-3, max_passes=4,
        warm_start=True, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert np.count_nonzero(model.weights_) < 0.2 * model.weights_.size
    again = pickle.loads(pickle.dumps(model)).set_params(max_passes=12).fit(X, y)
    model.set_params(max_passes=12).fit(X, y)
    np.testing.assert_array_equal(again.weights_, model.weights_)


@pytest.mark.parametrize("other", ["newton", "cg", "averaged"])
def test_another_solver_cannot_go_on(table, other):
    X, y = table
    loss = "squared" if other == "cg" else "logistic"
    model = KernelClassifier(
        features=Binning(8), loss=loss, solver="coordinate", warm_start=True, random_state=0
    ).fit(X, y)
    model.set_params(solver=other)
    if other == "averaged":  # which can: it takes the function over
        assert model.fit(X, y).score(X, y) > 0.7
    else:
        with pytest.raises(ValueError, match="another solver"):
            model.fit(X, y)


def test_going_on_with_other_held_out_rows_begins_from_the_weights(table):
    X, y = table
    model = KernelRegressor(
        features=Binning(16), warm_start=True, max_passes=3, random_state=0
    ).fit(X, y)
    model.set_params(max_passes=None).fit(X, y)
    fresh = KernelRegressor(features=Binning(16), random_state=0).fit(X, y)
    assert model.score(X, y) == pytest.approx(fresh.score(X, y), abs=0.05)


def test_read_only_weights_are_fine(model, table):
    X, y = table
    weight = np.ones((len(X), 2))[:, 0]
    weight.flags.writeable = False
    assert clone(model).fit(X, y, sample_weight=weight).score(X, y) > 0.6


def test_a_failed_fit_leaves_no_bins_behind(table):
    X, y = table

    def fail(progress):
        raise RuntimeError("no")

    model = KernelRegressor(features=Binning(8), warm_start=True, random_state=0).fit(X, y)
    before = model.predict(X + 5)
    with pytest.raises(RuntimeError):
        model.set_params(callbacks=[fail]).fit(X + 5, y)
    np.testing.assert_array_equal(model.predict(X + 5), before)
    model.set_params(callbacks=None).fit(X - 5, y)
    fresh = KernelRegressor(features=Binning(8), warm_start=True, random_state=0).fit(X, y)
    assert fresh.fit(X - 5, y).weights_.shape == model.weights_.shape


def test_a_path_ends_at_the_alpha_that_was_asked_for(table):
    X, y = table
    solver = CoordinateDescent("l1", path=12)
    model = KernelClassifier(
        features=Binning(8), loss="logistic", solver=solver, alpha=1e-4, warm_start=True,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model._training.state.stage == model._training.state.stages == 12


def test_an_l1_fit_goes_on_from_its_intercept():
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = KernelRegressor(
        features=Binning(4), solver="coordinate", alpha=1e3, warm_start=True, random_state=0
    )
    for y in (X[:, 0], X[:, 0] + 10, X[::-1, 0] + 10):
        model.fit(X, y)
        assert model.intercept_[0] == pytest.approx(y.mean(), abs=1e-4)


def test_a_frame_with_text_just_works():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], 2000),
            "size": rng.normal(size=2000),
            "shape": pd.Categorical(rng.choice(["round", "square"], 2000)),
        }
    )
    y = (frame["colour"] == "red") * 1.0 + (frame["shape"] == "round") * (frame["size"] > 0)
    model = KernelRegressor(features=Binning(64), scale="standard", random_state=0).fit(frame, y)
    assert model.score(frame, y) > 0.95
    assert list(model.feature_names_in_) == ["colour", "size", "shape"]
    unseen = frame.assign(colour="violet")
    assert np.isfinite(model.predict(unseen)).all()
    with pytest.raises(ValueError, match="colour"):
        model.predict(frame[["size", "shape", "colour"]])
    with pytest.raises(ValueError, match="binning"):
        KernelRegressor(features="fourier").fit(frame, y)
    assert KernelRegressor("laplacian").plan(frame, y).features == "binning"
    columns = RandomBinning(grids=8, random_state=0).fit(frame).transform(frame)
    assert columns.shape[0] == 2000


def test_other_kernels_are_refused_by_a_sentence(table):
    with pytest.raises(ValueError, match="distribution of pitches"):
        KernelRegressor(kernel=Gaussian(1.0), features="binning").fit(*table)


def test_an_endless_basis_is_refused_by_solvers_of_passes(table):
    with pytest.raises(ValueError, match="Fourier\\(4096\\)"):
        KernelRegressor(features="fourier", solver="cg").fit(*table)


def test_conjugate_gradients_also_solve_fourier_features(table):
    X, y = table
    model = KernelRegressor(features=Fourier(256), solver="cg", alpha=1e-4, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.6


def test_the_default_kernel_can_be_searched():
    model = KernelRegressor(features="binning").set_params(kernel__bandwidth=3.0)
    assert model.kernel == Laplacian(3.0)
    assert "kernel__bandwidth" in KernelRegressor(features="binning").get_params()


def test_far_values_are_refused_at_predict(table):
    X, y = table
    model = KernelRegressor(features=Binning(4), random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="too narrow to be distinguished"):
        model.predict(X * 1e20)
