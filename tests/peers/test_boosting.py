"""What scikit-learn's histogram boosting promises of tables, and kernel machines promise, too.

Missing numbers, categories, early stopping, weights and warm starts. A number of passes is here
what a number of trees is there.
"""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from bochner import (
    KernelClassifier,
    KernelGaussianProcess,
    KernelNoveltyDetector,
    KernelQuantileRegressor,
    KernelRegressor,
    RandomBinning,
    RandomFourier,
)
from bochner.features import Binning, Fourier
from bochner.kernels import Delta, Gaussian, Laplacian
from peers.agreement import assert_agree, distance

NUMBERS = make_regression(300, 10, noise=5.0, random_state=0)
LABELS = make_classification(300, random_state=0)
SOLVERS = {
    "dsg": "fourier",
    "udsg": "fourier",
    "cdsg": "fourier",
    "eigenpro": "centers",
    "pegasos": "centers",
    "nystroem": "centers",
    "direct": "centers",
    "cg": Fourier(64),
    "averaged": Binning(16),
    "coordinate": Binning(16),
    "backfitting": Binning(16),
}
every_solver = pytest.mark.parametrize(("solver", "features"), SOLVERS.items(), ids=SOLVERS)
either_task = pytest.mark.parametrize("Machine", [KernelRegressor, KernelClassifier])
unfinished = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def posed(Machine, solver, features, **settings):
    """Return a machine with this solver, and its data."""
    data = NUMBERS if Machine is KernelRegressor else LABELS
    settings = {"random_state": 0, "loss": "squared"} | settings
    return Machine(solver=solver, features=features, **settings), *data


def values(model, X):
    return (model.decision_function if hasattr(model, "classes_") else model.predict)(X)


# ------------------------------------------------------------- missing numbers


@pytest.mark.parametrize("features", ["auto", "binning", "fourier", "centers"])
@either_task
def test_that_a_number_is_missing_can_be_learned(features, Machine):
    rng = np.random.default_rng(0)
    missing = rng.random(100) < 0.5
    X = np.where(missing, np.nan, rng.normal(size=100))[:, None]
    model = Machine(features=features, random_state=0).fit(X, missing.astype(int))
    assert model.score(X, missing) > 0.95


def boosting_score(boosting, X, y, rows):
    """Return the score of boosting on the other rows."""
    return boosting.fit(X[:rows], y[:rows]).score(X[rows:], y[rows:])


@cache
def boosted(Machine, share):
    """Return rows with missing numbers, their targets, and the score of boosting on new ones."""
    rng = np.random.default_rng(0)
    if Machine is KernelRegressor:
        X, y = make_regression(1_000, 2, n_informative=2, random_state=0)
        boosting = HistGradientBoostingRegressor(max_iter=40, random_state=0)
    else:
        X, y = make_classification(1_000, 2, n_informative=2, n_redundant=0, random_state=0)
        boosting = HistGradientBoostingClassifier(max_iter=40, random_state=0)
    X[rng.random(X.shape) < share] = np.nan
    return X, y, boosting_score(boosting, X, y, 600)


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("features", ["auto", "binning"])
@either_task
def test_missing_numbers_cost_no_more_than_in_boosting(share, features, Machine):
    X, y, score = boosted(Machine, share)
    model = Machine(features=features, random_state=0).fit(X[:600], y[:600])
    assert model.score(X[600:], y[600:]) > score - 0.05


@pytest.mark.parametrize("features", ["auto", "binning"])
def test_a_missing_number_is_a_number_far_above_the_others(features):
    """Boosting sends it to either side of a split; here it is max + 2 (max - min) of its column."""
    X, y = make_regression(200, 3, random_state=0)
    holes = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    high, low = np.nanmax(holes, axis=0), np.nanmin(holes, axis=0)
    filled = np.where(np.isnan(holes), high + 2 * (high - low), holes)
    expected = KernelRegressor(features=features, random_state=0).fit(filled, y).predict(filled)
    found = KernelRegressor(features=features, random_state=0).fit(holes, y).predict(holes)
    np.testing.assert_array_equal(found, expected)


MACHINES = {
    "regressor": KernelRegressor(random_state=0),
    "classifier": KernelClassifier(random_state=0),
    "quantiles": KernelQuantileRegressor(random_state=0),
    "process": KernelGaussianProcess(random_state=0),
    "detector": KernelNoveltyDetector(features=Fourier(32), random_state=0),
}


@pytest.mark.parametrize("model", MACHINES.values(), ids=MACHINES)
def test_a_column_without_numbers_is_a_constant_column(model):
    X, _ = make_regression(80, 3, random_state=0)
    y = (X[:, 0] > 0).astype(int)
    empty, zero = (np.column_stack([X, np.full(80, value)]) for value in (np.nan, 0.0))
    expected = clone(model).fit(zero, y).predict(zero)
    np.testing.assert_allclose(clone(model).fit(empty, y).predict(empty), expected, atol=1e-4)


def test_a_number_missing_in_prediction_alone_is_far_from_all_rows():
    """Boosting follows the larger child and keeps the other columns; here f is its constant."""
    X, y = make_regression(200, 3, random_state=0)
    model = KernelRegressor("gaussian", random_state=0).fit(X, y)
    X[:, 1] = np.nan
    np.testing.assert_allclose(model.predict(X), model.intercept_[0], rtol=1e-3)


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@pytest.mark.parametrize("model", MACHINES.values(), ids=MACHINES)
def test_infinities_are_refused(model):
    """Boosting puts them at the ends of a column; a kernel has no value there."""
    X = np.array([[-np.inf], [0.0], [1.0], [np.inf]])
    with pytest.raises(ValueError, match="infinity"):
        clone(model).fit(X, [0, 0, 1, 1])
    fitted = clone(model).fit(np.nan_to_num(X, posinf=2, neginf=-1), [0, 0, 1, 1])
    with pytest.raises(ValueError, match="infinity"):
        fitted.predict(X)


@pytest.mark.parametrize("Map", [RandomFourier, RandomBinning])
def test_transformers_leave_missing_numbers_to_imputers(Map):
    with pytest.raises(ValueError, match="NaN"):
        Map().fit([[1.0], [np.nan]])


# ------------------------------------------------------------- categories


def even_or_odd(rows=600, kinds=6, seed=0):
    """Return a number that says nothing, a category, and whether the category is even."""
    rng = np.random.default_rng(seed)
    number, kind = rng.random(rows), rng.integers(kinds, size=rows)
    return number, kind, (kind % 2 == 0).astype(int)


def frames():
    number, kind, y = even_or_odd()
    texts = [f"kind {k}" for k in kind]
    return {
        "text": pd.DataFrame({"number": number, "kind": texts}),
        "category of text": pd.DataFrame({"number": number, "kind": pd.Categorical(texts)}),
        "category of numbers": pd.DataFrame({"number": number, "kind": pd.Categorical(kind)}),
        "string": pd.DataFrame({"number": number, "kind": pd.Series(texts, dtype="string")}),
    }, y


@pytest.mark.parametrize("name", ["text", "category of text", "category of numbers", "string"])
def test_categories_of_every_dtype_are_learned(name):
    tables, y = frames()
    assert cross_val_score(KernelClassifier(random_state=0), tables[name], y, cv=3).mean() > 0.99
    expected = KernelRegressor(random_state=0).fit(tables["text"], y).predict(tables["text"])
    found = KernelRegressor(random_state=0).fit(tables[name], y).predict(tables[name])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("holes", [False, True])
@either_task
def test_unknown_categories_are_all_the_same(holes, Machine):
    """Boosting treats them as missing; here missing is a category of its own once it was seen."""
    tables, y = frames()
    table = tables["text"].copy()
    if holes:
        table.loc[::50, "kind"] = None
    model = Machine(random_state=0).fit(table, y)
    new = pd.DataFrame({"number": [0.0] * 4, "kind": ["kind 30", "a", "", "kind -2"]})
    assert len(np.unique(values(model, new))) == 1
    missing = values(model, pd.DataFrame({"number": [0.0], "kind": [None]}))[0]
    assert (missing == values(model, new)[0]) != holes


def test_the_names_of_categories_do_not_matter():
    flip = np.random.default_rng(1).random(500) < 0.1
    places = np.random.default_rng(0).integers(2, size=500)
    y = np.where(flip, 1 - places, places)
    found = []
    for names in (["A", "B"], ["B", "A"], ["z", "a very long name"]):
        table = pd.DataFrame({"kind": np.array(names)[places]})
        found.append(KernelClassifier(random_state=0).fit(table, y).predict_proba(table))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])


def test_the_order_of_a_dtype_does_not_matter():
    tables, y = frames()
    table = tables["category of text"]
    expected = KernelRegressor(random_state=0).fit(table, y).predict(table)
    turned = table.assign(
        kind=table["kind"].cat.set_categories(
            ["never seen", *reversed(table["kind"].cat.categories)]
        )
    )
    np.testing.assert_array_equal(
        KernelRegressor(random_state=0).fit(turned, y).predict(turned), expected
    )


def test_many_categories_are_learned_as_boosting_learns_them():
    number, kind, _ = even_or_odd(3_000, 50, seed=1)
    y = ((kind % 3 == 0) & (number > 0.2)).astype(int)
    table = pd.DataFrame({"number": number, "kind": pd.Categorical([f"k{k}" for k in kind])})
    theirs = HistGradientBoostingClassifier(max_iter=40, random_state=0)
    expected = boosting_score(theirs, table, y, 2_000)
    ours = KernelClassifier(random_state=0).fit(table[:2_000], y[:2_000])
    assert ours.score(table[2_000:], y[2_000:]) > expected - 0.01


def test_more_categories_than_boosting_takes_are_taken():
    """Boosting has at most 255 for each column."""
    table = pd.DataFrame({"kind": [f"k{number}" for number in np.arange(600) // 2]})
    y = np.repeat(np.random.default_rng(0).normal(size=300), 2)
    with pytest.raises(ValueError, match="cardinality"):
        HistGradientBoostingRegressor().fit(table.astype("category"), y)
    assert KernelRegressor(alpha=1e-4, random_state=0).fit(table, y).score(table, y) > 0.9


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "Float32", "boolean", "Int8"])
@pytest.mark.parametrize("holes", [False, True])
def test_nullable_dtypes_are_numbers(dtype, holes):
    rng = np.random.default_rng(0)
    whole = rng.integers(2, size=100)
    table = pd.DataFrame({"whole": pd.array(whole, dtype=dtype), "other": rng.random(100)})
    plain = pd.DataFrame({"whole": whole.astype(float), "other": table["other"]})
    if holes:
        table.loc[::9, "whole"] = pd.NA
        plain.loc[::9, "whole"] = np.nan
    y = whole + table["other"].to_numpy()
    expected = KernelRegressor(random_state=0).fit(plain, y).predict(plain)
    found = KernelRegressor(random_state=0).fit(table, y).predict(table)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_columns_must_come_in_the_order_of_the_fit():
    tables, y = frames()
    model = KernelRegressor(random_state=0).fit(tables["text"], y)
    with pytest.raises(ValueError, match="another order"):
        model.predict(tables["text"][["kind", "number"]])
    with pytest.raises(ValueError, match="Missing: 'kind'"):
        model.predict(tables["text"][["number"]])


@pytest.mark.parametrize(
    "model", [MACHINES["process"], MACHINES["detector"]], ids=["process", "detector"]
)
def test_machines_without_bins_say_what_to_do_with_categories(model):
    tables, y = frames()
    with pytest.raises(ValueError, match=r"text or categories.*Delta"):
        clone(model).fit(tables["text"], y)


def test_a_kernel_of_categories_is_one_hot_encoding():
    tables, y = frames()
    kernel = Delta().on("kind") * Gaussian(1.0).on("number")
    table = tables["text"][:150]
    codes = pd.get_dummies(table["kind"]).to_numpy(float)
    K = Gaussian(1.0)(table[["number"]].to_numpy()) * (codes @ codes.T)
    settings = {"alpha": 1e-3, "solver": "direct", "random_state": 0}
    found = KernelRegressor(kernel, **settings).fit(table, y[:150]).predict(table)
    expected = KernelRegressor("precomputed", **settings).fit(K, y[:150]).predict(K)
    assert_agree(found, expected, y)


LABEL_FORMS = {
    "bool list": lambda b: b.tolist(),
    "whole": lambda b: b.astype(np.int8),
    "float": lambda b: b.astype(float),
    "nullable bool": lambda b: pd.Series(b, dtype="boolean"),
    "nullable whole": lambda b: pd.Series(b.astype(int), dtype="Int64"),
    "series of bytes": lambda b: pd.Series(b.astype("uint8")),
    "category of whole": lambda b: pd.Series(b.astype(int), dtype="category"),
    "text": lambda b: np.where(b, "u", "dd"),
}


@pytest.mark.parametrize("form", LABEL_FORMS.values(), ids=LABEL_FORMS)
def test_classes_are_those_of_scikit_learn(form):
    X, y = LABELS[0][:100], form(LABELS[1][:100] == 1)
    theirs, ours = SVC().fit(X, y), KernelClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    assert ours.classes_.dtype == theirs.classes_.dtype
    assert ours.predict(X).dtype == theirs.predict(X).dtype


@pytest.mark.parametrize("dtype", ["category", "string", object])
def test_classes_of_objects_are_those_of_scikit_learn(dtype):
    X, y = LABELS[0][:100], pd.Series(np.where(LABELS[1][:100] == 1, "u", "dd"), dtype=dtype)
    theirs, ours = SVC().fit(X, y), KernelClassifier(random_state=0).fit(X, y)
    assert ours.classes_.dtype == theirs.classes_.dtype


# ------------------------------------------------------------- early stopping


def held_out(model):
    """Whether rows were held out."""
    return any(loss is not None and loss == loss for loss in model.history_["held_out_loss"])


@unfinished
@every_solver
@either_task
def test_held_out_rows_end_a_fit_before_its_last_pass(solver, features, Machine):
    model, X, y = posed(Machine, solver, features, early_stopping=True, max_passes=400)
    model.fit(X, y)
    assert held_out(model)
    assert 0 < model.n_iter_ < 400
    assert type(model.n_iter_) is int


@unfinished
@pytest.mark.parametrize("solver", ["dsg", "udsg", "averaged"])
@either_task
def test_without_early_stopping_all_passes_are_made(solver, Machine):
    model, X, y = posed(
        Machine, solver, SOLVERS[solver], early_stopping=False, max_passes=25, tol=0.0
    )
    assert model.fit(X, y).n_iter_ == 25
    assert not held_out(model)


@pytest.mark.filterwarnings("ignore::bochner.exceptions.DataWarning")
@pytest.mark.parametrize("rows", [999, 1_000])
@pytest.mark.parametrize("solver", ["dsg", "eigenpro", "nystroem", "backfitting"])
def test_rows_are_held_out_by_default_if_there_are_a_thousand(rows, solver):
    """Boosting does so above 10,000."""
    X = np.random.default_rng(0).normal(size=(rows, 3))
    model = KernelRegressor(solver=solver, features=SOLVERS[solver], random_state=0)
    assert held_out(model.fit(X, X[:, 0])) == (rows == 1_000)


@pytest.mark.parametrize("tol", [0.0, 0.02, 0.5])
def test_a_larger_tolerance_ends_a_fit_earlier(tol):
    model, X, y = posed(KernelRegressor, "eigenpro", "centers", early_stopping=True)
    longest = clone(model).set_params(tol=0.0).fit(X, y).n_iter_
    assert clone(model).set_params(tol=tol).fit(X, y).n_iter_ <= longest


@pytest.mark.parametrize("solver", ["dsg", "eigenpro", "nystroem"])
def test_text_labels_are_scored_on_held_out_rows(solver):
    rng = np.random.default_rng(42)
    X, y = rng.normal(size=(100, 10)), np.repeat(["x", "y"], 50)
    model = KernelClassifier(solver=solver, early_stopping=True, random_state=0).fit(X, y)
    assert held_out(model)
    assert set(model.predict(X)) <= {"x", "y"}


@pytest.mark.parametrize("settings", [{}, {"solver": "dsg"}, {"features": "binning"}], ids=str)
def test_a_class_of_one_row_may_be_held_out(settings):
    """Boosting splits by classes and refuses such a class; here a hash of the row decides."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = (X[:, 0] > 0).astype(int)
    for row in (7, 8, 9):
        rare = np.where(np.arange(400) == row, 2, y)
        model = KernelClassifier(early_stopping=True, random_state=0, **settings).fit(X, rare)
        np.testing.assert_array_equal(model.classes_, [0, 1, 2])
        assert model.predict_proba(X).shape == (400, 3)
        assert model.score(X, rare) > 0.95


def test_held_out_rows_make_probabilities_of_margins():
    X, y = LABELS
    model = KernelClassifier(loss="squared_hinge", early_stopping=True, random_state=0).fit(X, y)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), model.predict(X))


# ------------------------------------------------------------- weights


@pytest.mark.parametrize("features", ["auto", "binning", "fourier", "centers"])
def test_rows_of_weight_zero_do_not_decide(features):
    X, y, weight = [[1, 0], [1, 0], [1, 0], [0, 1]], [0, 0, 1, 0], [0, 0, 1, 1]
    regressor = KernelRegressor(features=features, random_state=0).fit(X, y, weight)
    assert regressor.predict([[1, 0]])[0] > 0.5
    classifier = KernelClassifier(features=features, random_state=0)
    assert classifier.fit(X, y, weight).predict([[1, 0]])[0] == 1
    classifier.fit([*X, [1, 1]], [*y, 2], [*weight, 1])
    assert classifier.predict([[1, 0]])[0] == 1


@pytest.mark.parametrize("solver", ["direct", "nystroem", "cg", "coordinate", "backfitting"])
@either_task
def test_a_weight_is_a_repetition(solver, Machine):
    """Solvers of whole passes; the others go by batches of rows, and repeat other features."""
    features = SOLVERS[solver]
    kernel = Laplacian(10.0) if isinstance(features, Binning) else Gaussian(4.0)
    model, X, y = posed(Machine, solver, features, kernel=kernel, alpha=1e-2, early_stopping=False)
    weight = np.random.default_rng(0).integers(1, 3, len(X))
    once = values(clone(model).fit(X, y, weight), X)
    often = values(model.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)), X)
    assert distance(once, often, often) < 0.01


@unfinished
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "cdsg"])
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_only_ratios_of_weights_count(solver, factor):
    """Not for "cdsg", which chooses old features by a check that rounding may turn."""
    model, X, y = posed(
        KernelRegressor, solver, SOLVERS[solver], alpha=1e-3, early_stopping=False, max_passes=20
    )
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    expected = clone(model).fit(X, y, weight).predict(X)
    assert_agree(model.fit(X, y, factor * weight).predict(X), expected, y, 0.01)


@pytest.mark.parametrize("solver", ["cg", "newton"])
@pytest.mark.parametrize("factor", [1e-36, 1e36])
@unfinished
def test_only_ratios_of_tiny_and_huge_weights_count(solver, factor):
    X, y = NUMBERS
    loss = "squared" if solver == "cg" else "absolute"
    model = KernelRegressor(
        Gaussian(4.0), loss, features=Fourier(64), solver=solver, alpha=1e-3, random_state=0
    )
    weight = np.random.default_rng(0).uniform(0.5, 2.0, len(X))
    expected = clone(model).fit(X, y, weight).predict(X)
    assert_agree(model.fit(X, y, factor * weight).predict(X), expected, y, 0.05)


@pytest.mark.parametrize("factor", [1e-46, 1e46])
def test_weights_beyond_single_precision_are_refused(factor):
    X, y = NUMBERS
    with pytest.raises(ValueError, match=r"largest weight must be between 1e-37 and 1e\+37"):
        KernelRegressor(random_state=0).fit(X, y, np.full(len(X), factor))


def marked(names, wrong, reason, **more):
    """Return the names as parameters, the wrong ones as expected failures."""
    mark = pytest.mark.xfail(strict=True, reason=reason, **more)
    return [pytest.param(name, marks=mark if name in wrong else ()) for name in names]


def heavy(row, weight, rows=1_200):
    """Return rows, targets, weights of which one is heavy, and the function behind the targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 3))
    truth = np.sin(X[:, 0]) + X[:, 1]
    weights = np.ones(rows)
    weights[row] = weight
    return X, truth + 0.1 * rng.normal(size=rows), weights, truth


@pytest.mark.parametrize(
    "solver",
    marked(
        ["direct", "nystroem", "backfitting", "averaged", "eigenpro", "dsg"],
        {"dsg"},
        "steps become too short for all other rows, and a fit that explains nothing has converged",
    ),
)
def test_a_row_of_half_the_weight_leaves_the_others_their_function(solver):
    X, y, weight, truth = heavy(5, 1_200.0)
    model, _, _ = posed(KernelRegressor, solver, SOLVERS[solver])
    found = model.fit(X, y, weight).predict(X)
    assert np.mean((found - truth) ** 2) < 0.2 * truth.var()


@pytest.mark.parametrize(
    "solver",
    marked(
        ["direct", "nystroem", "backfitting", "averaged", "eigenpro", "dsg"],
        {"eigenpro"},
        "the last pass, over held-out rows, has a step in proportion to their weight",
    ),
)
def test_a_heavy_row_that_is_held_out_does_not_break_a_fit(solver):
    X, y, weight, truth = heavy(0, 1e5)
    model, _, _ = posed(KernelRegressor, solver, SOLVERS[solver], early_stopping=True)
    found = model.fit(X, y, weight).predict(X)
    assert held_out(model)
    assert np.mean((found - truth) ** 2) < 2 * truth.var()


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
@unfinished
@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "cdsg"])
def test_one_row_of_positive_weight_is_refused(solver):
    X, y, _, _ = heavy(0, 1.0)
    weight = np.where(np.arange(len(X)) == 0, 1.0, 0.0)
    model, _, _ = posed(
        KernelRegressor, solver, SOLVERS[solver], early_stopping=True, max_passes=50
    )
    with pytest.raises(ValueError, match="At least 2 rows of positive weight"):
        model.fit(X, y, weight)


@pytest.mark.parametrize("loss", ["absolute", "quantile", "huber", "epsilon_insensitive"])
def test_robust_losses_take_weights(loss):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(200, 2))
    y = np.where(rng.random(200) < 0.4, 50.0, X[:, 0])
    weight = np.where(y == 50, 0.01, 1.0)
    model = KernelRegressor(loss=loss, alpha=1e-2, random_state=0).fit(X, y, weight)
    plain = KernelRegressor(loss=loss, alpha=1e-2, random_state=0).fit(X, y)
    good = y != 50
    assert mean_pinball_loss(y[good], model.predict(X[good])) < mean_pinball_loss(
        y[good], plain.predict(X[good])
    )


# ------------------------------------------------------------- warm starts


@unfinished
@every_solver
@either_task
def test_three_passes_and_four_are_seven(solver, features, Machine):
    model, X, y = posed(Machine, solver, features, max_passes=3, warm_start=True)
    model.fit(X, y).set_params(max_passes=7).fit(X, y)
    whole, _, _ = posed(Machine, solver, features, max_passes=7)
    whole.fit(X, y)
    assert model.n_iter_ == whole.n_iter_
    np.testing.assert_array_equal(values(model, X), values(whole, X))


@unfinished
@every_solver
def test_no_more_passes_than_were_made_change_nothing(solver, features):
    """Boosting raises an error if there are to be fewer; here those that were made stay."""
    model, X, y = posed(KernelRegressor, solver, features, max_passes=5, warm_start=True)
    expected, passes = model.fit(X, y).predict(X), model.n_iter_
    for most in (5, 2):
        model.set_params(max_passes=most).fit(X, y)
        assert model.n_iter_ == passes
        np.testing.assert_array_equal(model.predict(X), expected)


@unfinished
@every_solver
def test_a_cold_start_forgets(solver, features):
    model, X, y = posed(KernelRegressor, solver, features, max_passes=5, warm_start=True)
    model.fit(X, y).fit(X, y).set_params(warm_start=False).fit(X, y)
    fresh, _, _ = posed(KernelRegressor, solver, features, max_passes=5)
    np.testing.assert_array_equal(model.predict(X), fresh.fit(X, y).predict(X))
    assert {k: v for k, v in model.history_.items() if k != "seconds"} == {
        k: v for k, v in fresh.history_.items() if k != "seconds"
    }


@every_solver
@either_task
def test_a_fit_that_was_stopped_early_stays_stopped(solver, features, Machine):
    model, X, y = posed(Machine, solver, features, early_stopping=True, warm_start=True)
    first = model.fit(X, y).n_iter_
    assert model.fit(X, y).n_iter_ - first <= 1


@unfinished
@every_solver
def test_another_kernel_cannot_continue_a_fit(solver, features):
    """Boosting may grow deeper trees after shallow ones; here the functions must stay."""
    kernel = Laplacian(3.0) if isinstance(features, Binning) else Gaussian(3.0)
    model, X, y = posed(
        KernelRegressor, solver, features, kernel=kernel, max_passes=3, warm_start=True
    )
    expected = model.fit(X, y).predict(X)
    with pytest.raises(ValueError, match="needs the parameters of the first fit"):
        model.set_params(max_passes=6, kernel__bandwidth=9.0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), expected)


@unfinished
@pytest.mark.parametrize("solver", ["eigenpro", "nystroem", "direct", "cg"])
def test_another_penalty_continues_to_the_new_minimum(solver):
    model, X, y = posed(
        KernelRegressor, solver, SOLVERS[solver], alpha=1e-3, warm_start=True, early_stopping=False
    )
    found = model.fit(X, y).set_params(alpha=0.5).fit(X, y).predict(X)
    fresh, _, _ = posed(KernelRegressor, solver, SOLVERS[solver], alpha=0.5, early_stopping=False)
    assert_agree(found, fresh.fit(X, y).predict(X), y, 0.01)


@unfinished
@pytest.mark.parametrize("state", [None, 42, "RandomState", "Generator"])
def test_seeds_stay_in_a_warm_start(state):
    X, y = NUMBERS
    made = {"RandomState": np.random.RandomState(0), "Generator": np.random.default_rng(0)}
    model = KernelRegressor(solver="dsg", random_state=made.get(state, state), max_passes=3)
    first, second = (model.fit(X, y).predict(X) for _ in range(2))
    assert np.array_equal(first, second) == (state == 42)
    model.set_params(warm_start=True)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), second)
    assert model.set_params(max_passes=4).fit(X, y).n_iter_ == 4
