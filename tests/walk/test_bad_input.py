"""Bad input is refused with a sentence, and the estimator stays as it was."""

import numpy as np
import pytest
import scipy.sparse as sp

from bochner import KernelClassifier, KernelQuantileRegressor, KernelRegressor, RandomFourier
from bochner.features import Fourier
from bochner.kernels import Gaussian
from bochner.losses import EpsilonInsensitive, Huber, Quantile, SquaredEpsilonInsensitive
from bochner.solvers import Checked, DoublyStochastic, Plain, Preconditioned, Uniform

X = np.random.default_rng(0).normal(size=(60, 3))
Y = X[:, 0]
LABELS = np.where(Y > 0, "up", "down")
MACHINES = {
    "regressor": (KernelRegressor(random_state=0, max_passes=8), Y),
    "classifier": (KernelClassifier(random_state=0, max_passes=8), LABELS),
}
both_machines = pytest.mark.parametrize("name", sorted(MACHINES))
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def with_entry(value, array=X):
    changed = array.copy()
    changed.flat[7] = value
    return changed


def refused(model, message, *data, **more):
    """Check that a fit fails with a sentence, and leaves a fresh and a fitted estimator as is."""
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message) as error:
        model.fit(*data, **more)
    assert len(str(error.value)) > 20
    assert vars(model) == before
    return str(error.value)


def fitted(name):
    model, targets = MACHINES[name]
    model = type(model)(**model.get_params(deep=False))
    return model.fit(X, targets), targets


BAD_ROWS = {
    "infinity": (with_entry(np.inf), "infinity"),
    "sparse NaN": (sp.csr_array(with_entry(np.nan)), "NaN"),
    "beyond single precision": (with_entry(1e60), "at most 1e.37.*Column 1: 1e.60"),
    "no rows": (X[:0], "minimum of 2"),
    "one row": (X[:1], "minimum of 2"),
    "no columns": (X[:, :0], "0 feature"),
    "one dimension": (X[:, 0], "2D array"),
    "complex": (X + 1j, "[Cc]omplex"),
    "words": (np.full((60, 3), "a", dtype=object), "could not convert|convert"),
    "objects": (np.full((60, 3), {}, dtype=object), "argument must be|convert|number"),
    "a number": (3, "array"),
}


@both_machines
@pytest.mark.parametrize("case", sorted(BAD_ROWS))
def test_bad_rows_are_refused(name, case):
    rows, message = BAD_ROWS[case]
    model, targets = MACHINES[name]
    count = rows.shape[0] if hasattr(rows, "shape") else len(targets)
    try:
        refused(model, message, rows, targets[:count])
    except TypeError:  # scikit-learn refuses what is no array at all by another type
        assert case in ("objects", "a number")
    model, targets = fitted(name)
    before = model.predict(X)
    with pytest.raises((ValueError, TypeError)):
        model.fit(rows, targets[:count])
    np.testing.assert_array_equal(model.predict(X), before)


BAD_PARAMETERS = [
    ({"alpha": -1.0}, "alpha must be a number from 0 on; got -1.0"),
    ({"alpha": np.nan}, "alpha"),
    ({"alpha": "small"}, "alpha"),
    ({"tol": -1}, "tol"),
    ({"max_passes": 0}, "max_passes must be None or a whole number from 1 on; got 0"),
    ({"max_passes": 1.5}, "max_passes"),
    ({"max_seconds": 0}, "max_seconds"),
    (
        {"kernel": "gauss"},
        "kernel must be one of 'anova', 'arc_cosine', .*bochner.kernels; got 'gauss'",
    ),
    ({"kernel": 3}, "kernel must be one of .* got 3"),
    ({"kernel": Gaussian(-1.0)}, "bandwidth of Gaussian must be .*a finite positive number"),
    ({"kernel": Gaussian(np.nan)}, "bandwidth"),
    ({"kernel": Gaussian("mean")}, "bandwidth"),
    ({"loss": "cubic"}, "loss must be one of .*'squared'.*got 'cubic'"),
    ({"solver": "sgd"}, "solver must be one of .*'cdsg', .*'dsg', .*got 'sgd'"),
    ({"features": "wavelet"}, "features must be one of .*'binning', 'centers'"),
    ({"features": Fourier(31)}, "even number"),
    ({"features": Fourier(0)}, "even number"),
    ({"scale": "minmax"}, "scale must be one of None, 'standard', 'range'; got 'minmax'"),
    ({"early_stopping": "yes"}, "early_stopping must be one of True, False, 'auto'; got 'yes'"),
    ({"early_stopping": 1}, "early_stopping"),
    ({"n_jobs": 0}, "n_jobs"),
    ({"n_jobs": "all"}, "n_jobs"),
    ({"memory_budget": "much"}, "memory_budget must be None .*'2GB'"),
    ({"memory_budget": -1}, "memory_budget"),
    ({"memory_budget": np.nan}, "memory_budget"),
    ({"memory_budget": [1]}, "memory_budget"),
    ({"random_state": "seed"}, "seed"),
    ({"callbacks": print}, "callbacks must be None or a list"),
    ({"callbacks": [3]}, "callbacks"),
    ({"solver": DoublyStochastic(batch_size=0)}, "batch_size"),
    ({"solver": DoublyStochastic(feature_block=3)}, "feature_block must be .*even"),
    ({"solver": DoublyStochastic(max_features=1)}, "max_features"),
    ({"solver": DoublyStochastic(averaging=-1)}, "averaging"),
    ({"solver": DoublyStochastic(step="newton")}, "step must be one of"),
    ({"solver": DoublyStochastic(step=Plain(theta=0))}, "theta"),
    ({"solver": DoublyStochastic(step=Preconditioned(ridge=0))}, "ridge"),
    ({"solver": DoublyStochastic(coordinates="old")}, "coordinates must be one of"),
    ({"solver": DoublyStochastic(coordinates=Uniform(grow=0))}, "grow"),
    ({"solver": DoublyStochastic(coordinates=Checked(longest=0))}, "longest"),
]


@both_machines
@pytest.mark.parametrize(("changes", "message"), BAD_PARAMETERS, ids=lambda v: str(v)[:60])
def test_bad_parameters_are_refused(name, changes, message):
    model, targets = MACHINES[name]
    refused(type(model)(**changes), message, X, targets)
    model, targets = fitted(name)
    before = model.predict(X)
    refused(model.set_params(**changes), message, X, targets)
    model.set_params(n_jobs=None)
    np.testing.assert_array_equal(model.predict(X), before)


def test_unknown_parameters_are_refused():
    with pytest.raises(ValueError, match="no parameter 'width'; it has bandwidth"):
        KernelRegressor().set_params(kernel__width=2.0)
    with pytest.raises(ValueError, match="Invalid parameter 'gamma'"):
        KernelRegressor().set_params(gamma=2.0)


@pytest.mark.parametrize("loss", ["hinge", "softmax", "logistic", "squared_hinge"])
def test_a_regressor_refuses_losses_of_labels(loss):
    refused(KernelRegressor(loss=loss), "loss for numbers.*loss='squared'", X, Y)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"loss": "quantile", "quantile": 1.0}, "quantile must be a number between 0 and 1"),
        ({"loss": "quantile", "quantile": "high"}, "quantile must be a number between 0 and 1"),
        ({"quantile": 0.9}, "quantile=0.9 is for loss='quantile'; got loss='squared'"),
        ({"loss": Quantile(0.2), "quantile": 0.9}, "Leave quantile=None"),
        ({"loss": Quantile(-0.2)}, "quantile must be a number between 0 and 1"),
        ({"loss": Quantile((0.2, 0.8))}, "got 2 for 1 output.*KernelQuantileRegressor"),
        ({"loss": Quantile(0.2, width=0.0)}, "width must be a positive number"),
        ({"loss": Huber(0.0)}, "delta must be a positive number"),
        ({"loss": EpsilonInsensitive(-1.0)}, "epsilon must be a number from 0 on"),
        ({"loss": SquaredEpsilonInsensitive(np.nan)}, "epsilon must be a number from 0 on"),
        ({"loss": "quantile", "solver": "cg"}, "needs a Quadratic; got Quantile. Choose another"),
        ({"loss": "huber", "solver": "direct"}, "needs a Squared; got Huber. Choose another"),
    ],
)
def test_losses_of_numbers_refuse_numbers_out_of_range(given, message):
    refused(KernelRegressor(**given), message, X, Y)


@pytest.mark.parametrize(
    "quantiles", [1.5, True, [], [0.0, 0.5], [0.5, 1.0], [np.nan], ["low"], [[0.5]]]
)
def test_quantiles_outside_of_0_and_1_are_refused(quantiles):
    refused(KernelQuantileRegressor(quantiles), "quantiles must be numbers between 0 and 1", X, Y)


@pytest.mark.parametrize("quantiles", [[0.5, 0.5], [0.9, 0.1]])
def test_quantiles_that_do_not_rise_are_refused(quantiles):
    refused(KernelQuantileRegressor(quantiles), r"increasing order.*sorted\(set", X, Y)


@both_machines
def test_missing_targets_are_refused(name):
    model, _ = MACHINES[name]
    refused(model, "requires y|target y is None", X)
    refused(model, "needs (labels|targets): give y, or blocks|classes=", iter([X]))


@both_machines
def test_targets_of_another_length_are_refused(name):
    model, targets = MACHINES[name]
    refused(model, "inconsistent numbers of samples", X, targets[:-1])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_targets_that_are_not_finite_are_refused(value):
    refused(KernelRegressor(), "NaN|infinity", X, with_entry(value, Y))
    refused(KernelRegressor(), "NaN or infinity", iter([(X, with_entry(value, Y))]))


def test_targets_too_large_for_single_precision_are_refused():
    refused(KernelRegressor(), "at most 1e.37.*got 1e.200", X, with_entry(1e200, Y))


def test_a_list_of_blocks_is_refused_with_advice():
    refused(KernelRegressor(), "IteratorSource", [(X, Y), (X, Y)])


def test_targets_that_are_no_numbers_are_refused_by_a_regressor():
    refused(KernelRegressor(), "could not convert|numbers", X, LABELS)
    refused(KernelRegressor(), "Targets must be numbers", iter([(X, LABELS)]))
    refused(KernelRegressor(), "[Cc]omplex", X, Y + 1j)


def test_one_class_is_refused():
    refused(KernelClassifier(), r"at least two classes; got one class, \['up'\]", X, ["up"] * 60)
    refused(KernelClassifier(), "two classes", iter([(X, LABELS)]), classes=["up"])


def test_numbers_are_refused_as_labels():
    refused(KernelClassifier(), "continuous|[Uu]nknown label type", X, Y)


def test_class_weights_must_belong_to_classes():
    for weight, message in (
        ({"left": 1.0}, "class_weight must be given for classes"),
        ({"up": -1.0}, "finite numbers from 0 on"),
        ("even", "class_weight must be None, 'balanced' or a dict; got 'even'"),
    ):
        refused(KernelClassifier(class_weight=weight), message, X, LABELS)
    balanced = KernelClassifier(class_weight="balanced")
    refused(balanced, "give the weights as a dict", iter([(X, LABELS)]), classes=["down", "up"])


@both_machines
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.zeros(60), "zero"),
        (np.full(60, -1.0), "[Nn]egative"),
        (np.full(60, np.nan), "NaN"),
        (np.ones(59), "sample_weight"),
    ],
    ids=["zero", "negative", "NaN", "short"],
)
def test_bad_weights_are_refused(name, weight, message):
    model, targets = MACHINES[name]
    refused(model, message, X, targets, weight)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "none|no rows|at least one row"),
        ([(X, Y), (X[:, :2], Y)], "blocks must have one format.*columns"),
        ([(X, Y), (with_entry(np.inf), Y)], "Rows .* contain infinity"),
        ([(X, Y), (X, Y[:5])], "y must have one entry for each row of block 1"),
        ([(X, Y, np.ones(60)), (X, Y, -np.ones(60))], "weights that are negative"),
        ([(X, Y), (X.astype(object), Y)], "block 1 must hold real numbers"),
        ([(X, Y, None, None)], "Block 0 must be"),
        ([(X, Y), X], "one format"),
        ([3], "2-d"),
    ],
    ids=["none", "widths", "infinity", "lengths", "weights", "objects", "four", "no y", "number"],
)
def test_bad_blocks_are_refused(blocks, message):
    refused(KernelRegressor(), message, iter(blocks))
    model, _ = fitted("regressor")
    before = model.predict(X)
    refused(model, message, iter(blocks))
    np.testing.assert_array_equal(model.predict(X), before)


def test_a_stream_brings_its_own_targets():
    refused(KernelRegressor(), "part of it: give blocks", iter([(X, Y)]), Y)


def test_the_classes_of_an_iterator_have_to_be_given():
    refused(KernelClassifier(), "only once.*classes=", iter([(X, LABELS)]))


def test_early_stopping_needs_rows_that_can_be_read_again():
    refused(KernelRegressor(early_stopping=True), "more than once", iter([(X, Y)]))
    refused(KernelRegressor(early_stopping=True, random_state=1), "too few rows", X[:2], Y[:2])


@both_machines
def test_other_columns_than_in_the_fit_are_refused(name):
    model, targets = fitted(name)
    before = model.predict(X)
    with pytest.raises(ValueError, match=r"X has 2 features.*expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match=r"X has 2 features.*expecting 3"):
        model.partial_fit(X[:, :2], targets)
    with pytest.raises(ValueError, match=r"X has 2 columns.*fitted with 3"):
        model.partial_fit(iter([(X[:, :2], targets)]))
    for value in (np.inf, 1e60):
        with pytest.raises(ValueError, match=r"infinity|at most"):
            model.predict(with_entry(value))
    np.testing.assert_array_equal(model.predict(X), before)


@both_machines
def test_going_on_with_another_kernel_is_refused(name):
    model, targets = fitted(name)
    before = model.predict(X)
    model.set_params(kernel="laplacian", warm_start=True)
    refused(model, "parameters of the first fit.*auto.*laplacian.*warm_start=False", X, targets)
    with pytest.raises(ValueError, match="parameters of the first fit"):
        model.partial_fit(X, targets)
    np.testing.assert_array_equal(model.predict(X), before)


@both_machines
def test_a_prediction_without_a_fit_is_refused(name):
    model, _ = MACHINES[name]
    with pytest.raises(ValueError, match="not fitted yet"):
        model.predict(X)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": 7}, "even number"),
        ({"size": None}, "size"),
        ({"kernel": "gauss"}, "kernel must be one of"),
        ({"kernel": Gaussian(0)}, "bandwidth"),
        ({"memory_budget": "much"}, "memory_budget"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
    ids=str,
)
def test_a_transformer_refuses_bad_parameters_too(changes, message):
    fresh = RandomFourier(**changes)
    refused(fresh, message, X)
    model = RandomFourier(size=16, random_state=0).fit(X)
    before = model.transform(X)
    refused(model.set_params(**changes), message, X[:, :2])
    np.testing.assert_array_equal(model.set_params(n_jobs=1).transform(X), before)
