"""What machines with a kernel function at each row promise, by whatever solver."""

import pickle
import signal

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.utils import get_tags

from bochner import KernelClassifier, KernelRegressor
from bochner.features import Centers
from bochner.kernels import Gaussian, Precomputed
from bochner.solvers import EigenPro, Nystroem

KERNEL = Gaussian(1.5)
SOLVERS = ["direct", "eigenpro", "nystroem", "pegasos"]
# With all rows as centres Nystroem takes the rounding of single precision for features of its own.
ROUNDING = dict.fromkeys(SOLVERS, 1e-3) | {"nystroem": 5e-3}
every_solver = pytest.mark.parametrize("solver", SOLVERS)
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
pytestmark = quiet


def regressor(solver, **changes):
    usual = {"features": "centers", "alpha": 1e-2, "max_passes": 6, "random_state": 0}
    return KernelRegressor(**{"kernel": KERNEL, "solver": solver} | usual | changes)


def classifier(solver, **changes):
    usual = {"features": "centers", "alpha": 1e-3, "max_passes": 10, "random_state": 0}
    return KernelClassifier(**{"kernel": KERNEL, "solver": solver} | usual | changes)


def converged(solver, **changes):
    """Return a machine that comes close to the minimum."""
    component = {"eigenpro": EigenPro(30, batch_size=20), "nystroem": Nystroem(1e-7)}
    return regressor(component.get(solver, solver), **{"max_passes": 150, "tol": 0.0} | changes)


def distance(one, two):
    return float(np.sqrt(np.mean(np.square(one - two))))


@every_solver
def test_single_precision_gives_what_double_gives(regression, solver):
    X, y = regression
    double = regressor(solver).fit(X, y).predict(X)
    single = regressor(solver).fit(X.astype(np.float32), y).predict(X.astype(np.float32))
    assert distance(single, double) < ROUNDING[solver]


@pytest.mark.parametrize("precomputed", [False, True])
@every_solver
def test_dual_coefficients_are_those_of_the_rows_in_their_order(regression, solver, precomputed):
    X, y = regression[0][:200], regression[1][:200]
    K, kernel = KERNEL(X, X), Precomputed() if precomputed else KERNEL
    rows = K if precomputed else X
    model = regressor(solver, kernel=kernel, scale=None).fit(rows, np.stack([y, -y], axis=1))
    assert model.dual_coef_.shape == (2, 200)
    found = K @ model.dual_coef_.T + model.intercept_
    assert distance(found, model.predict(rows)) < ROUNDING[solver]


def test_dual_coefficients_need_all_rows_as_centres(regression):
    for features in (Centers(30), "fourier"):
        model = KernelRegressor(features=features, random_state=0).fit(*regression)
        with pytest.raises(AttributeError, match="weights_ has the weights of other features"):
            _ = model.dual_coef_
        assert not hasattr(model, "dual_coef_")


@pytest.mark.parametrize("solver", ["eigenpro", "nystroem"])
def test_all_solvers_end_at_the_direct_solution(regression, solver):
    X, y = regression
    exact = converged("direct").fit(X, y).predict(X)
    assert distance(converged(solver).fit(X, y).predict(X), exact) < ROUNDING[solver]


@pytest.mark.parametrize(("solver", "error"), [("direct", 1e-5), ("eigenpro", 0.02)])
def test_weights_are_repetitions(regression, solver, error):
    X, y = (part[:150] for part in regression)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    weighted = converged(solver).fit(X, y, weight).predict(X)
    repeated = converged(solver).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    np.testing.assert_allclose(weighted, repeated.predict(X), atol=error)
    plain = converged(solver).fit(X, y).predict(X)
    assert np.abs(weighted - plain).max() > 2 * error


@every_solver
def test_rows_of_weight_zero_are_not_learned_from(regression, solver):
    X, y = regression
    weight = (np.arange(len(y)) % 4 > 0).astype(float)
    spoiled = np.where(weight == 0, 1000.0, y)
    one = regressor(solver, fit_intercept=False).fit(X, y, weight)
    two = regressor(solver, fit_intercept=False).fit(X, spoiled, weight)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@every_solver
def test_labels_are_words_and_come_back_as_words(classes, solver):
    X, y = classes
    model = classifier(solver).fit(X, y)
    assert model.score(X, y) > 0.85
    assert set(model.predict(X)) == set(model.classes_) == set(y)


@every_solver
def test_balanced_classes_have_the_weights_of_their_dict(two_classes, solver):
    X, y = two_classes
    keep = (y == "ash") | (np.arange(len(y)) % 5 == 0)
    X, y = X[keep], y[keep]
    share = {label: len(y) / (2 * (y == label).sum()) for label in np.unique(y)}
    balanced = classifier(solver, class_weight="balanced").fit(X, y)
    by_dict = classifier(solver, class_weight=share).fit(X, y)
    np.testing.assert_array_equal(balanced.decision_function(X), by_dict.decision_function(X))
    plain = classifier(solver).fit(X, y)
    assert (balanced.predict(X) == "beech").sum() > (plain.predict(X) == "beech").sum()


def stopped(model, X, y):
    """Press Ctrl-C in the middle of the second pass."""

    def press(progress):
        if progress.pass_ == 1 and progress.position > 0 and progress.reason is None:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        model.set_params(callbacks=[press]).fit(X, y)
    assert model.stopped_because_ == "it was interrupted"
    assert np.isfinite(model.predict(X)).all()
    return model.set_params(callbacks=None)


RESUMED = {
    "eigenpro": EigenPro(batch_size=64),
    "eigenpro with momentum": EigenPro(batch_size=64, momentum=True),
    "pegasos": EigenPro(0, batch_size=64),
    "nystroem": Nystroem(1e-9),
}
BASES = {"all": Centers(), "some": Centers(80)}


@pytest.mark.parametrize("name", RESUMED)
@pytest.mark.parametrize("centers", BASES)
def test_an_interrupted_fit_goes_on_bit_for_bit(regression, name, centers, monkeypatch):
    if name == "eigenpro with momentum" and centers == "some":
        pytest.skip("momentum is for all rows as centres")
    monkeypatch.setattr("bochner.solvers.passes.linear_system.BATCH_ROWS", 128)
    X, y = regression
    settings = {"features": BASES[centers], "tol": 0.0}
    whole = regressor(RESUMED[name], **settings).fit(X, y)
    part = stopped(regressor(RESUMED[name], warm_start=True, **settings), X, y)
    part = pickle.loads(pickle.dumps(part)).fit(X, y)
    np.testing.assert_array_equal(part.predict(X), whole.predict(X))
    assert part.n_iter_ == whole.n_iter_


def test_a_last_pass_that_was_interrupted_is_gone_on_with(regression):
    X, y = regression
    settings = {"early_stopping": True, "max_passes": None, "warm_start": True}
    calls = []
    whole = regressor(RESUMED["eigenpro"], callbacks=[calls.append], **settings).fit(X, y)
    passes = calls[-1].pass_
    assert any(call.pass_ == passes - 1 and call.position == 2 for call in calls)

    def press(progress):
        known = len(progress.evaluations) == len(calls[-1].evaluations)
        there = progress.pass_ == passes - 1 and progress.position == 2
        if known and there and progress.reason is None:
            signal.raise_signal(signal.SIGINT)

    part = regressor(RESUMED["eigenpro"], callbacks=[press], **settings)
    with pytest.raises(KeyboardInterrupt):
        part.fit(X, y)
    assert np.any(part.predict(X) != whole.predict(X))
    part = pickle.loads(pickle.dumps(part.set_params(callbacks=None))).fit(X, y)
    np.testing.assert_array_equal(part.predict(X), whole.predict(X))
    assert part.n_iter_ == whole.n_iter_


def test_nystroem_ends_when_held_out_rows_have_not_gained_for_its_patience(regression):
    X, y = regression
    some = {"features": Centers(80), "early_stopping": True, "max_passes": None, "alpha": 0.0}
    model = regressor(Nystroem(1e-12), **some).fit(X, y)
    assert "held-out" in model.stopped_because_
    losses = [loss for loss in model.history_["held_out_loss"] if loss is not None]

    def gains(last):
        """Whether one of the last looks was better than all before."""
        return min(losses[last:]) < (1 - model.tol) * min(losses[:last])

    assert not gains(-Nystroem.tags.patience)
    assert gains(-Nystroem.tags.patience - 1)


@every_solver
def test_a_clone_fits_to_the_same_and_a_pickle_predicts_it(classes, solver):
    X, y = classes
    model = classifier(solver).fit(X, y)
    copy = clone(model)
    assert not hasattr(copy, "plan_")
    np.testing.assert_array_equal(copy.fit(X, y).predict_proba(X), model.predict_proba(X))
    saved = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(saved.predict_proba(X), model.predict_proba(X))
    assert saved.plan_ == model.plan_


@pytest.mark.parametrize("solver", ["eigenpro", "nystroem", "pegasos"])
def test_a_limit_of_time_ends_the_fit_with_a_warning(regression, solver):
    X, y = regression
    model = regressor(solver, max_passes=None, max_seconds=1e-9, early_stopping=False)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model.fit(X, y)
    assert "max_seconds" in model.stopped_because_
    assert np.isfinite(model.predict(X)).all()


def test_what_is_solved_in_the_last_pass_of_all_has_converged(regression):
    model = KernelRegressor(solver="direct", max_passes=1).fit(*regression)
    assert "the minimum was reached" in model.stopped_because_


def test_parts_of_kernel_and_solver_can_be_searched(regression):
    X = regression[0][:, :1]
    y = np.sin(6 * X[:, 0])
    model = regressor("eigenpro", kernel="gaussian", alpha=0, max_passes=3)
    grid = {"solver__eigenvectors": [0, 40], "kernel__bandwidth": [1e-4, 0.5]}
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_params_ == {"solver__eigenvectors": 40, "kernel__bandwidth": 0.5}
    assert search.estimator.solver == "eigenpro"
    assert search.best_estimator_.score(X, y) > 0.8


EXACT = {
    "direct": ("direct", "centers"),
    "eigenpro": ("eigenpro", "centers"),
    "nystroem": (Nystroem(1e-6), Centers(50)),
    "auto": ("auto", "auto"),
}
each_way = pytest.mark.parametrize("way", EXACT)


@each_way
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_precomputed_values_are_as_good_as_the_kernel(regression, way, form):
    (solver, features), (X, y) = EXACT[way], regression
    new = X[::3] + 0.1
    settings = {"features": features, "max_passes": 60}
    named = regressor(solver, **settings).fit(X, y)
    model = regressor(solver, kernel="precomputed", **settings).fit(form(KERNEL(X)), y)
    for A in (X, new):
        values = model.predict(form(KERNEL(A, X)))
        np.testing.assert_allclose(values, named.predict(A), atol=2e-3)
    saved = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(saved.predict(KERNEL(new, X)), model.predict(KERNEL(new, X)))
    assert len(pickle.dumps(model)) < 4 * len(X) ** 2 / 5


def test_precomputed_labels_have_probabilities(classes):
    X, y = classes
    K = KERNEL(X)
    for loss in ("squared", "softmax"):
        model = classifier("auto", kernel="precomputed", features="auto", loss=loss).fit(K, y)
        assert model.score(K, y) > 0.85
        np.testing.assert_allclose(model.predict_proba(K).sum(axis=1), 1.0, atol=1e-6)


@each_way
def test_rows_and_columns_of_precomputed_values_are_left_out_together(regression, way):
    (solver, features), (X, y) = EXACT[way], regression
    settings = {"features": features, "max_passes": 60}
    named = regressor(solver, **settings)
    model = regressor(solver, kernel="precomputed", **settings)
    expected = cross_val_predict(named, X, y, cv=3)
    np.testing.assert_allclose(cross_val_predict(model, KERNEL(X), y, cv=3), expected, atol=5e-3)
    search = GridSearchCV(model, {"alpha": [1e-2, 1e3]}, cv=3).fit(KERNEL(X), y)
    assert search.best_params_ == {"alpha": 1e-2}


def test_only_precomputed_values_are_pairwise():
    for kernel, pairwise in (
        ("precomputed", True),
        (Precomputed(), True),
        ("gaussian", False),
        ("auto", False),
        (Gaussian(1.0), False),
        (lambda A, B: A @ B.T, False),
    ):
        for machine in (KernelRegressor(kernel), KernelClassifier(kernel)):
            assert get_tags(machine).input_tags.pairwise is pairwise


K, Y = KERNEL(np.random.default_rng(0).normal(size=(60, 2))), np.arange(60.0)
BAD = [
    ({}, K[:, :40], "square matrix.*got 60 rows and 40 columns"),
    ({"features": Centers(10), "solver": "nystroem"}, K[:, :40], "square matrix"),
    ({"scale": "standard"}, K, "cannot be scaled; got scale='standard'"),
    ({"features": "fourier"}, K, "shift-invariant.*got Precomputed"),
    ({"features": "binning"}, K, "Random binning needs a kernel.*got Precomputed"),
    ({"features": Centers(10, "pivoted")}, K, "centres are training rows"),
    ({"features": Centers(given=K[:3])}, K, "centres are training rows"),
    ({"features": Centers(10), "solver": "eigenpro"}, K, "kernel that can be evaluated"),
]


@pytest.mark.parametrize(("changes", "rows", "message"), BAD, ids=lambda v: str(v)[:40])
def test_what_precomputed_values_cannot_do_is_refused(changes, rows, message):
    model = KernelRegressor("precomputed", **changes)
    with pytest.raises(ValueError, match=message):
        model.fit(rows, Y)
    assert not hasattr(model, "plan_")


def test_precomputed_values_do_not_come_in_parts():
    for learn in (KernelRegressor("precomputed").partial_fit, KernelRegressor("precomputed").fit):
        with pytest.raises(ValueError, match="all training rows at once"):
            learn(iter([(K, Y)]))
    with pytest.raises(ValueError, match="all training rows at once"):
        KernelRegressor("precomputed").partial_fit(K, Y)
    fitted = KernelRegressor("precomputed").fit(K, Y)
    with pytest.raises(ValueError, match="60 features"):
        fitted.predict(K[:, :40])


@pytest.mark.parametrize("way", ["direct", "eigenpro", "nystroem"])
def test_a_saved_model_of_precomputed_values_goes_on(regression, way):
    (solver, features), (X, y) = EXACT[way], regression
    settings = {"kernel": "precomputed", "features": features, "warm_start": True}
    whole = regressor(solver, **settings).fit(KERNEL(X), y)
    part = regressor(solver, **settings).set_params(max_passes=2).fit(KERNEL(X), y)
    for copy in (part, pickle.loads(pickle.dumps(part))):
        copy.set_params(max_passes=6).fit(KERNEL(X), y)
        np.testing.assert_array_equal(copy.predict(KERNEL(X)), whole.predict(KERNEL(X)))


def test_values_of_other_rows_begin_anew(regression):
    X, y = regression
    settings = {"kernel": "precomputed", "features": Centers(50)}
    model = regressor("nystroem", warm_start=True, **settings).fit(KERNEL(X[:200]), y[:200])
    other = KERNEL(X[200:])
    fresh = regressor("nystroem", **settings).fit(other, y[200:])
    np.testing.assert_array_equal(model.fit(other, y[200:]).predict(other), fresh.predict(other))


def own(A, B):
    """Return the Gaussian kernel, as a user might."""
    A, B = (part.toarray() if sp.issparse(part) else part for part in (A, B))
    squares = np.square(A).sum(axis=1)[:, None] - 2 * A @ B.T + np.square(B).sum(axis=1)
    return np.exp(-squares / (2 * 1.5**2))


def broader(A, B):
    return own(A / 100, B / 100)


@each_way
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_a_function_is_as_good_as_the_kernel(regression, way, form):
    (solver, features), (X, y) = EXACT[way], regression
    settings = {"features": features, "max_passes": 60}
    expected = regressor(solver, **settings).fit(X, y).predict(X)
    model = regressor(solver, kernel=own, **settings).fit(form(X), y)
    np.testing.assert_allclose(model.predict(form(X)), expected, atol=5e-3)
    saved = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(saved.predict(X), model.predict(X))


def test_functions_can_be_cloned_and_searched(regression):
    X, y = regression
    model = regressor("direct", kernel=own)
    assert clone(model).kernel is own
    search = GridSearchCV(model, {"kernel": [broader, own], "alpha": [1e-2]}, cv=3).fit(X, y)
    assert search.best_params_["kernel"] is own
    assert cross_val_score(clone(model), X, y, cv=3).mean() > 0.8


@pytest.mark.parametrize(
    ("features", "message"), [("fourier", "shift-inv"), ("binning", "product")]
)
def test_a_function_has_no_random_features(regression, features, message):
    with pytest.raises(ValueError, match=message):
        KernelRegressor(own, features=features).fit(*regression)
