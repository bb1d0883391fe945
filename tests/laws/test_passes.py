"""How often a fit reads the rows, and what it learns from each pass."""

import numpy as np
import pytest

from bochner import KernelClassifier, KernelRegressor
from bochner.data import ArraySource, RandomAccess, Stream
from bochner.data.statistics import RowDigest

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class CountedStream(Stream):
    """Rows as a parser yields them; counts how often they are read from the beginning."""

    def __init__(self, X, y):
        self.rows, self.starts = ArraySource(X, y), 0
        self.n_columns, self.n_rows = X.shape[1], len(X)

    n_columns = n_rows = None  # set for each source

    def pieces(self, size, seed, pass_):
        self.starts += 1
        return self.rows.batches(500)

    def sample(self, size, seed=0):
        return self.rows.sample(size, seed)


class CountedRows(RandomAccess):
    """Rows that are kept; counts the passes that begin at the first row."""

    def __init__(self, X, y):
        self.rows, self.starts = ArraySource(X, y), 0
        self.n_columns, self.n_rows = X.shape[1], len(X)

    n_columns = n_rows = None  # set for each source

    def take(self, places):
        self.starts += isinstance(places, slice) and places.start == 0
        return self.rows.take(places)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 4))
    return X, np.sign(np.sin(3 * X[:, 0])) + np.abs(X[:, 1]) - 0.5 + 0.1 * rng.normal(size=len(X))


@pytest.mark.parametrize("kind", [CountedStream, CountedRows])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_a_default_classifier_reads_the_rows_once_to_learn_and_once_to_encode(rows, kind, scale):
    source = kind(rows[0], rows[1] > 0)
    model = KernelClassifier(scale=scale, random_state=0).fit(source)
    assert model.plan_.solver == "backfitting"
    assert source.starts == 2 + len(model._training.smaller_losses)


@pytest.mark.parametrize("kind", [CountedStream, CountedRows])
@pytest.mark.parametrize("scale", [None, "standard"])
def test_a_default_regressor_reads_a_stream_to_learn_only_for_a_scaling(rows, kind, scale):
    source = kind(*rows)
    model = KernelRegressor(scale=scale, random_state=0).fit(source)
    assert model.plan_.solver == "backfitting"
    # A growth of the basis encodes the rows for the new functions. Of rows with random access all
    # are digested, of a stream a sample.
    learns = scale is not None or kind is CountedRows
    assert source.starts == 1 + learns + len(model._training.smaller_losses)


def test_a_continued_fit_reads_the_rows_once_more_than_it_trains(rows):
    source = CountedRows(rows[0], rows[1] > 0)
    given = {"solver": "cg", "features": "binning", "scale": "range", "random_state": 0}
    model = KernelClassifier(**given, warm_start=True, max_passes=2).fit(source)
    assert source.starts == 2
    model.set_params(max_passes=4).fit(source)
    assert source.starts == 4


def test_other_rows_than_those_that_are_centres_are_read_once_to_learn(rows):
    X, y = rows[0][:300], rows[1][:300] > 0
    model = KernelClassifier(scale="standard", warm_start=True, random_state=0).fit(X, y)
    assert model.plan_.solver == "direct"
    source = CountedRows(X + 1.0, y)
    model.fit(source)
    assert source.starts == 2
    fresh = KernelClassifier(scale="standard", random_state=0).fit(X + 1.0, y)
    np.testing.assert_array_equal(model.predict(X), fresh.predict(X))


def test_rows_are_not_digested_where_no_fit_can_continue(rows, monkeypatch):
    def fail(self, batch):
        raise AssertionError("a digest that nobody needs")

    monkeypatch.setattr(RowDigest, "add", fail)
    X, y = rows
    KernelRegressor("gaussian", random_state=0).plan(np.repeat(X, 4, axis=0), np.repeat(y, 4))
    KernelRegressor("gaussian", random_state=0)._new_fit(ArraySource(X, y), None).gain_of_centers()
    KernelRegressor(solver="dsg", random_state=0).partial_fit(X, y)
    KernelRegressor(solver="dsg", random_state=0).fit(iter([(X, y)]))
    with pytest.raises(AssertionError):
        KernelRegressor(solver="dsg", random_state=0).fit(X, y)
