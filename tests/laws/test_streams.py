"""What learning from streams promises: rows in any blocks, in memory that does not grow."""

import numpy as np
import pytest
import scipy.sparse as sp

from bochner import KernelClassifier, KernelRegressor
from bochner.data import ArraySource, IteratorSource
from bochner.solvers import DoublyStochastic

SMALL_STEPS = DoublyStochastic(batch_size=100, feature_block=12)
LABELS = ["ash", "beech", "oak"]
quiet = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def blocks(size, *arrays):
    """Give rows of arrays `size` at a time, as a generator."""
    for start in range(0, arrays[0].shape[0], size):
        yield tuple(array[start : start + size] for array in arrays)


def classifier(**changes):
    return KernelClassifier(**{"random_state": 0, "solver": SMALL_STEPS} | changes)


def regressor(**changes):
    return KernelRegressor(**{"random_state": 0, "solver": SMALL_STEPS} | changes)


@pytest.mark.parametrize("solver", ["dsg", "udsg", "cdsg", SMALL_STEPS], ids=str)
@pytest.mark.parametrize("scale", [None, "standard"])
def test_a_fit_does_not_depend_on_how_a_stream_is_blocked(classes, solver, scale):
    X, y = classes
    values = [
        classifier(solver=solver, scale=scale)
        .fit(blocks(size, X, y), classes=LABELS)
        .decision_function(X)
        for size in (1, 37, 128, 450)
    ]
    for other in values[1:]:
        np.testing.assert_array_equal(values[0], other)


def test_sparse_blocks_do_not_depend_on_their_size_either(classes):
    X, y = sp.csr_array(classes[0]), classes[1]
    one, two = (
        classifier().fit(blocks(size, X, y), classes=LABELS).decision_function(X)
        for size in (50, 450)
    )
    np.testing.assert_array_equal(one, two)


def test_weights_of_blocks_are_those_of_arrays(regression):
    X, y = regression
    weight = np.linspace(0, 1, len(y))
    one, two = (regressor().fit(blocks(size, X, y, weight)) for size in (64, 100))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    unweighted = regressor().fit(blocks(64, X, y))
    assert np.abs(one.predict(X) - unweighted.predict(X)).max() > 1e-3


def test_a_generator_is_gone_through_once(regression):
    model = regressor().fit(blocks(64, *regression))
    assert model.n_iter_ == 1
    assert model.stopped_because_ == "the stream ended"
    assert model.history_["rows"][-1] == len(regression[0])


def test_the_first_rows_are_trained_on_as_well():
    X = np.random.default_rng(0).normal(size=(500, 1))
    seen = []

    def counted():
        for block in blocks(50, X, X[:, 0]):
            seen.append(len(block[0]))
            yield block

    model = regressor().fit(counted())
    assert sum(seen) == model.history_["rows"][-1] == 500


def test_blocks_that_can_be_read_again_are_gone_through_again(classes):
    X, y = classes
    source = IteratorSource(list(blocks(64, X, y)))
    model = classifier(max_passes=3, tol=0.0)
    with pytest.warns(match="3 passes"):
        model.fit(source)
    assert model.n_iter_ == 3
    assert model.classes_.tolist() == LABELS
    assert model.score(X, y) > 0.85


@quiet
def test_early_stopping_works_on_blocks_that_can_be_read_again():
    X = np.random.default_rng(0).normal(size=(1_500, 2))
    source = IteratorSource(list(blocks(400, X, X[:, 0])))
    model = regressor().fit(source)
    assert model.history_["held_out_loss"][-1] is not None
    assert model.score(X, X[:, 0]) > 0.95


@quiet
def test_a_source_is_learned_like_its_arrays(regression):
    X, y = regression
    one = regressor(max_passes=2).fit(X, y).predict(X)
    two = regressor(max_passes=2).fit(ArraySource(X, y)).predict(X)
    np.testing.assert_array_equal(one, two)


def test_a_stream_that_is_stopped_goes_on_with_the_rows_that_are_left(regression):
    X, y = regression
    whole = regressor().fit(IteratorSource(blocks(64, X, y)))
    source = IteratorSource(blocks(64, X, y))
    part = regressor(warm_start=True, max_seconds=1e-9)
    with pytest.warns(match="1e-09 seconds"):
        part.fit(source)
    part.set_params(max_seconds=None).fit(source)
    np.testing.assert_array_equal(part.predict(X), whole.predict(X))
    assert part.history_["loss"] == whole.history_["loss"]


def test_chunks_are_learned_one_after_the_other(classes):
    X, y = classes
    model = classifier()
    for number, (rows, labels) in enumerate(blocks(100, X, y)):
        model.partial_fit(rows, labels, classes=LABELS if number == 0 else None)
        assert model.n_iter_ == number + 1
    assert model.score(X, y) > 0.85
    assert model.history_["rows"][-1] == len(X)
    assert model.stopped_because_ == "all rows were read once"


def test_a_chunk_may_lack_classes_but_not_bring_new_ones(classes):
    X, y = classes
    model = classifier().partial_fit(X[y != "oak"], y[y != "oak"], classes=LABELS)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=r"not among the classes: .*'elm'.*classes="):
        model.partial_fit(X, np.where(y == "oak", "elm", y))
    with pytest.raises(ValueError, match="those of the first call"):
        model.partial_fit(X, y, classes=["ash", "oak"])
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.partial_fit(X, y).score(X, y) > 0.5


def test_each_chunk_is_cut_into_batches_of_its_own(regression):
    X, y = regression
    model = regressor().partial_fit(X[:250], y[:250]).partial_fit(X[250:], y[250:])
    assert np.diff(model.history_["rows"], prepend=0).tolist() == [83, 83, 84, 75, 75]
    assert model.score(X, y) > 0.7


def test_a_chunk_can_be_a_stream_itself(regression):
    X, y = regression
    model = regressor().partial_fit(blocks(50, X[:200], y[:200]))
    model.partial_fit(blocks(50, X[200:], y[200:]))
    assert model.n_iter_ == 2
    assert model.score(X, y) > 0.7


@quiet
def test_chunks_after_a_fit_go_on_from_it(regression):
    X, y = regression
    model = regressor(max_passes=2).fit(X, y)
    before = model.history_["step"][-1]
    model.partial_fit(X, y)
    assert model.history_["step"][-1] > before
    assert model.n_iter_ == 3


def test_what_is_kept_does_not_grow_with_the_stream():
    rng = np.random.default_rng(0)
    solver = DoublyStochastic(batch_size=100, feature_block=12, max_features=48)
    model = regressor(solver=solver)

    def numbers():
        state = model._training.state
        return (
            sum(change.values.size for change in state.row_predictions.changes)
            + state.weights.values.size
        )

    sizes = []
    for _ in range(80):
        X = rng.normal(size=(100, 2))
        sizes.append((model.partial_fit(X, X[:, 0]), numbers())[1])
    assert sizes[-1] == sizes[60]


def test_a_chunk_that_fails_half_way_leaves_no_trace(regression):
    X, y = regression
    spoiled = X.copy()
    spoiled[-1, 0] = np.inf
    one, two = (regressor().partial_fit(X, y) for _ in range(2))
    with pytest.raises(ValueError, match="infinity"):
        one.partial_fit(blocks(100, spoiled, y))
    one.partial_fit(X, y)
    two.partial_fit(X, y)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    assert one.history_["loss"] == two.history_["loss"]
