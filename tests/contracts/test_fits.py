"""Laws of fits that every solver and every estimator with a fit of rows keeps."""

import inspect
import multiprocessing
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

import bochner
from bochner import KernelClassifier, KernelGaussianProcess, KernelNoveltyDetector, KernelRegressor
from bochner.features import Fourier
from bochner.solvers import Solver
from contracts.bad_inputs import estimators
from contracts.solver_cases import kept, table

LOSSES = {"smo": "absolute"}  # others take the squared loss
X = np.random.default_rng(0).uniform(-1, 1, size=(120, 3))
Y = (np.sin(3 * X[:, 0]) + X[:, 1] > 0).astype(float)
NEW = np.random.default_rng(1).uniform(-1, 1, size=(40, 3))


def cases():
    """Return a small machine for each solver, and all machines with default arguments."""
    solvers = {
        name: KernelRegressor(loss=LOSSES.get(name, "squared"), solver=name, max_passes=3)
        for name in sorted(Solver.registry)
        if type(Solver.resolve(name)).__module__.startswith("bochner.")
    }
    machines = {
        name: found()
        for name, found in ((name, getattr(bochner, name)) for name in bochner.__all__)
        if inspect.isclass(found)
        and issubclass(found, BaseEstimator)
        and "callbacks" in inspect.signature(found.__init__).parameters
    }
    machines["KernelNoveltyDetector"] = KernelNoveltyDetector(features=Fourier(64), max_passes=2)
    machines["KernelGaussianProcess"] = KernelGaussianProcess(noise=0.1, scales=None)
    return {name: one.set_params(random_state=0) for name, one in (solvers | machines).items()}


CASES = cases()
every_machine = pytest.mark.parametrize("name", CASES)
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def fit(name, X=X, Y=Y, **settings):
    return clone(CASES[name]).set_params(**settings).fit(X, Y)


def values(model, rows=NEW):
    return (model.decision_function if hasattr(model, "decision_function") else model.predict)(rows)


@cache
def model_of(name):
    model = fit(name)
    return model, values(model)


ESTIMATORS = estimators()
WIDE = np.random.default_rng(2).uniform(0.1, 1, size=(520, 3))  # more rows than a tile


def fitted(name, **settings):
    """Fit any public estimator to more rows than a tile; return what it makes of some."""
    model = clone(ESTIMATORS[name]).set_params(**settings)
    two = "Y" in inspect.signature(model.fit).parameters
    model.fit(WIDE, WIDE + 0.3 if two else WIDE[:, 0] + WIDE[:, 1] > 1)
    answers = ("decision_function", "predict", "ratio", "transform")
    answer = next(getattr(model, name) for name in answers if hasattr(model, name))
    found = answer(WIDE[:50])
    return found.toarray() if sp.issparse(found) else found


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_number_of_threads_changes_no_bit_of_any_estimator(name):
    expected = fitted(name, n_jobs=1)
    for n_jobs in (2, 3, 4):
        np.testing.assert_array_equal(fitted(name, n_jobs=n_jobs), expected)


# What these do with little memory is another method: "auto" chooses by the memory, too.
CHOOSE_BY_MEMORY = {"KernelClassifier": {"solver": "cg"}, "KernelRegressor": {"solver": "cg"}}
WITH_BUDGET = [name for name, one in ESTIMATORS.items() if "memory_budget" in one.get_params()]


@pytest.mark.parametrize("name", WITH_BUDGET)
def test_the_memory_budget_changes_no_bit_of_any_estimator(name):
    settings = CHOOSE_BY_MEMORY.get(name, {})
    expected = fitted(name, **settings)
    for budget in (0, "1MB"):
        found = fitted(name, memory_budget=budget, **settings)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("name", sorted(CASES.keys() - Solver.registry.keys()))
def test_every_machine_learns_the_same_from_arrays_and_files(name, tmp_path):
    rows, target = table()
    target = (target > 0).astype(float)
    expected = values(fit(name, rows, target), rows)
    for form, given in kept(rows, target, tmp_path).items():
        found = values(clone(CASES[name]).fit(*given()), rows)
        np.testing.assert_array_equal(found, expected, form)


@every_machine
def test_rows_in_any_order_of_memory_and_read_only_give_the_same_bits(name):
    rows, targets = np.asfortranarray(X), Y.copy()
    rows.flags.writeable = targets.flags.writeable = False
    np.testing.assert_array_equal(values(fit(name, rows, targets)), model_of(name)[1])
    np.testing.assert_array_equal(rows, X)


@every_machine
def test_eight_threads_predict_what_one_does_and_a_pickle_too(name):
    model, expected = model_of(name)
    copy = pickle.loads(pickle.dumps(model))
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(values, [model, copy] * 8):
            np.testing.assert_array_equal(found, expected)


@every_machine
def test_two_fits_at_once_give_the_bits_of_each_alone(name):
    with ThreadPoolExecutor(2) as pool:
        for found in pool.map(lambda _: values(fit(name)), range(2)):
            np.testing.assert_array_equal(found, model_of(name)[1])


@every_machine
def test_an_exception_in_a_callback_leaves_the_estimator_as_it_was(name):
    def fails(progress):
        raise LookupError("from the callback")

    model = fit(name)
    before, parameters = vars(model).copy(), model.get_params()
    model.set_params(callbacks=[fails])
    with pytest.raises(LookupError, match="from the callback"):
        model.fit(X + 1, Y)
    after = vars(model) | {"callbacks": before["callbacks"]}
    assert after.keys() == before.keys()
    assert all(after[key] is before[key] for key in before)
    model.set_params(**parameters)
    np.testing.assert_array_equal(values(model), model_of(name)[1])


def predictions_in_child(name, connection):
    connection.send((values(model_of(name)[0]), values(fit(name))))
    connection.close()


@every_machine
@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is for POSIX systems")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # from Python 3.12 on
def test_a_forked_process_predicts_and_fits_the_same_bits(name):
    expected = model_of(name)[1]
    receiving, sending = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=predictions_in_child, args=(name, sending))
    child.start()
    assert receiving.poll(120)
    for found in receiving.recv():
        np.testing.assert_array_equal(found, expected)
    child.join()
    assert child.exitcode == 0


def test_labels_and_weights_may_be_read_only():
    labels, weight = Y.astype(int), np.linspace(0.5, 2.0, len(Y))
    expected = KernelClassifier(random_state=0).fit(X, labels, weight).decision_function(NEW)
    labels.flags.writeable = weight.flags.writeable = False
    found = KernelClassifier(random_state=0).fit(X, labels, weight).decision_function(NEW)
    np.testing.assert_array_equal(found, expected)
