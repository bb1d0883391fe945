"""What every source and every wrapper promises, in a table of sources crossed with laws."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

from bochner.data import (
    ArraySource,
    Batch,
    DataSource,
    IteratorSource,
    RadialWave,
    RandomAccess,
    RowNormalization,
    Shuffled,
    hold_out,
    mapped,
    open_source,
    prefetched,
    principal_components,
    row_normalized,
    scaled,
    shuffled,
)
from bochner.data.transforms.transform import checked_source

N_ROWS, N_COLUMNS, SIZE = 103, 5, 20


def table(kind: str) -> tuple[np.ndarray | sp.csr_matrix, np.ndarray, np.ndarray]:
    """Rows whose y is 10 times and whose weight is 100 times the row number."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_COLUMNS)) * (rng.random((N_ROWS, N_COLUMNS)) < 0.6)
    X[:, 0] = np.arange(N_ROWS) + 1.0
    rows = X if kind == "dense" else sp.csr_matrix(X)
    return rows, 10.0 * np.arange(N_ROWS), 100.0 * np.arange(N_ROWS)


def array(kind: str) -> ArraySource:
    return ArraySource(*table(kind))


def blocks(kind: str, block: int = 7) -> list[tuple]:
    X, y, weight = table(kind)
    cuts = [slice(a, a + block) for a in range(0, N_ROWS, block)]
    return [(X[cut], y[cut], weight[cut]) for cut in cuts]


def iterator(kind: str, block: int = 7) -> IteratorSource:
    return IteratorSource(blocks(kind, block))


def same(batch: Batch) -> Batch:
    return batch


SOURCES: dict[str, Callable[[str], DataSource]] = {
    "array": array,
    "iterator": iterator,
    "shuffled array": lambda kind: shuffled(array(kind)),
    "shuffled iterator": lambda kind: shuffled(iterator(kind), buffer_rows=30),
    "shuffled known stream": lambda kind: shuffled(prefetched(array(kind)), buffer_rows=30),
    "prefetched array": lambda kind: prefetched(array(kind)),
    "prefetched iterator": lambda kind: prefetched(iterator(kind), depth=3),
    "prefetched shuffled array": lambda kind: prefetched(shuffled(array(kind))),
    "mapped array": lambda kind: mapped(array(kind), same),
    "mapped iterator": lambda kind: mapped(iterator(kind), same),
    "shuffled mapped array": lambda kind: shuffled(mapped(array(kind), same)),
    "checked array": lambda kind: checked_source(array(kind), same),
    "checked iterator": lambda kind: checked_source(iterator(kind), same),
    "all rows of held-out array": lambda kind: hold_out(array(kind), 0.3, 20, 0).all_rows(),
    "all rows of held-out iterator": lambda kind: hold_out(iterator(kind), 0.3, 20, 0).all_rows(),
    "held-out none of array": lambda kind: hold_out(array(kind), 0.0, 10, 0),
    "held-out none of iterator": lambda kind: hold_out(iterator(kind), 0.5, 0, 0),
}
PARTIAL: dict[str, Callable[[str], DataSource]] = {
    "held-out array": lambda kind: hold_out(array(kind), 0.3, 20, 0),
    "held-out iterator": lambda kind: hold_out(iterator(kind), 0.3, 20, 0),
    "held-out known stream": lambda kind: hold_out(prefetched(array(kind)), 0.3, 20, 0),
    "held-out shuffled stream": lambda kind: hold_out(shuffled(array(kind)), 0.3, 20, 0),
    "shuffled held-out array": lambda kind: shuffled(hold_out(array(kind), 0.3, 20, 0)),
    "shuffled held-out iterator": lambda kind: shuffled(hold_out(iterator(kind), 0.3, 20, 0), 30),
    "mapped held-out array": lambda kind: mapped(hold_out(array(kind), 0.3, 20, 0), same),
}
TRANSFORMED: dict[str, Callable[[str], DataSource]] = {
    "scaled array": lambda kind: scaled(array(kind), "standard"),
    "scaled iterator": lambda kind: scaled(iterator(kind), "range"),
    "normalized array": lambda kind: row_normalized(array(kind)),
    "normalized iterator": lambda kind: row_normalized(iterator(kind), "l1"),
    "components of array": lambda kind: principal_components(array(kind), 3),
    "components of iterator": lambda kind: principal_components(iterator(kind), 3),
}

GENERATED: dict[str, Callable[[str], DataSource]] = {
    "radial wave": lambda kind: RadialWave(N_ROWS),
    "shuffled radial wave": lambda kind: shuffled(RadialWave(N_ROWS, seed=1), buffer_rows=30),
}


@cache
def written(kind: str) -> TemporaryDirectory[str]:
    """The table in files: dense ones with names and weights, sparse ones with labels alone."""
    folder = TemporaryDirectory()
    X, y, weight = table(kind)
    if kind == "dense":
        names = [*"abcde", "y", "weight"]
        rows = pd.DataFrame(np.column_stack([X, y, weight]), columns=names)
        rows.to_csv(f"{folder.name}/rows.csv", index=False)
        rows.to_parquet(f"{folder.name}/rows.parquet", row_group_size=30)
    else:
        dump_svmlight_file(X, y, f"{folder.name}/rows.svm", zero_based=False)
    return folder


def file(kind: str, name: str, keep: str) -> DataSource:
    folder = written(kind).name
    if kind == "csr":
        return open_source(f"{folder}/rows.svm", keep=keep)
    return open_source(f"{folder}/{name}", "y", "weight", keep=keep)


FILES: dict[str, Callable[[str], DataSource]] = {
    f"{name} kept {keep}": partial(file, name=name, keep=keep)
    for name in ("rows.csv", "rows.parquet")
    for keep in ("memory", "disk", "no")
}
FILES |= {
    "shuffled file": lambda kind: shuffled(file(kind, "rows.csv", "disk")),
    "shuffled stream of a file": lambda kind: shuffled(file(kind, "rows.csv", "no"), 30),
}


def every(*tables: dict[str, Callable[[str], DataSource]]) -> pytest.MarkDecorator:
    cases = {name: make for group in tables for name, make in group.items()}
    return pytest.mark.parametrize("make", cases.values(), ids=cases.keys())


@pytest.fixture(params=["dense", "csr"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def dense(X: np.ndarray | sp.csr_matrix) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else X


def assert_equal(ones: list[Batch] | Iterator[Batch], others: list[Batch] | Iterator[Batch]):
    for one, other in zip(list(ones), list(others), strict=True):
        np.testing.assert_array_equal(one.index, other.index)
        np.testing.assert_array_equal(dense(one.X), dense(other.X))
        np.testing.assert_array_equal(one.y, other.y)
        np.testing.assert_array_equal(one.weight, other.weight)


def order(source: DataSource, **arguments: int) -> list[int]:
    return [int(i) for batch in source.batches(SIZE, **arguments) for i in batch.index]


@every(SOURCES, PARTIAL, TRANSFORMED, GENERATED, FILES)
def test_batches_are_a_pure_function_of_their_arguments(make, kind):
    source = make(kind)
    arguments = {"size": SIZE, "seed": 3, "pass_": 2}
    first = list(source.batches(**arguments))
    list(source.batches(SIZE + 1, seed=4))
    assert_equal(first, source.batches(**arguments))
    assert_equal(first, make(kind).batches(**arguments))


@every(SOURCES, PARTIAL, TRANSFORMED, GENERATED, FILES)
def test_start_gives_the_tail_of_the_pass(make, kind):
    source = make(kind)
    whole = list(source.batches(SIZE, seed=1, pass_=1))
    for start in (1, 3, len(whole), len(whole) + 2):
        assert_equal(whole[start:], source.batches(SIZE, seed=1, pass_=1, start=start))


@every(SOURCES, TRANSFORMED, GENERATED, FILES)
def test_every_row_comes_exactly_once_a_pass(make, kind):
    source = make(kind)
    for size in (1, SIZE, N_ROWS, 10 * N_ROWS):
        index = np.concatenate([batch.index for batch in source.batches(size, seed=5)])
        np.testing.assert_array_equal(np.sort(index), np.arange(N_ROWS))


@every(SOURCES, PARTIAL)
def test_rows_targets_numbers_and_weights_stay_aligned(make, kind):
    source, X = make(kind), dense(table(kind)[0])
    for batch in [*source.batches(SIZE, seed=2), source.sample(11, seed=2)]:
        assert sp.issparse(batch.X) == (kind == "csr")
        np.testing.assert_array_equal(dense(batch.X), X[batch.index])
        np.testing.assert_array_equal(batch.y, 10.0 * batch.index)
        np.testing.assert_array_equal(batch.weight, 100.0 * batch.index)


@every(TRANSFORMED)
def test_transforms_leave_targets_numbers_and_weights_alone(make, kind):
    for batch in make(kind).batches(SIZE):
        np.testing.assert_array_equal(batch.y, 10.0 * batch.index)
        np.testing.assert_array_equal(batch.weight, 100.0 * batch.index)


@every(SOURCES, PARTIAL, TRANSFORMED, GENERATED, FILES)
def test_batch_sizes_differ_by_at_most_one_where_the_number_of_rows_is_known(make, kind):
    source = make(kind)
    sizes = [len(batch) for batch in source.batches(SIZE)]
    assert max(sizes) <= SIZE
    if source.n_rows is None:
        assert set(sizes[:-1]) == {SIZE}
    else:
        assert max(sizes) - min(sizes) <= 1
        assert len(sizes) == -(-source.n_rows // SIZE)
        assert sum(sizes) == source.n_rows


@every(SOURCES, PARTIAL, TRANSFORMED, GENERATED, FILES)
def test_batches_and_samples_have_the_columns_announced(make, kind):
    source = make(kind)
    assert next(source.batches(SIZE)).X.shape[1] == source.n_columns
    assert source.sample(4).X.shape[1] == source.n_columns


@every(SOURCES, PARTIAL, TRANSFORMED, GENERATED, FILES)
def test_a_sample_has_distinct_rows_of_the_source_and_no_more_than_asked(make, kind):
    source = make(kind)
    rows = set(order(source))
    for size in (1, 10, 10 * N_ROWS):
        index = source.sample(size, seed=1).index
        assert len(index) == len(set(index.tolist())) <= size
        assert set(index.tolist()) <= rows


@every(SOURCES, PARTIAL, TRANSFORMED, GENERATED, FILES)
def test_a_batch_has_at_least_one_row(make, kind):
    with pytest.raises(ValueError, match="at least one row; got 0"):
        next(make(kind).batches(0))


SHUFFLED = {
    name: make
    for name, make in (SOURCES | PARTIAL | FILES).items()
    if name.startswith(("shuffled", "prefetched shuffled"))
}


@every(SHUFFLED)
def test_two_seeds_and_two_passes_shuffle_differently(make, kind):
    source = make(kind)
    orders = [order(source, seed=s, pass_=p) for s, p in ((0, 0), (0, 1), (1, 0), (1, 1))]
    assert len({tuple(o) for o in orders}) == 4
    assert all(sorted(o) == sorted(orders[0]) for o in orders)


def test_generated_rows_depend_on_their_number_and_the_seed_alone():
    whole = Batch.join(list(RadialWave(20_000, seed=3).batches(20_000)))
    for rows, size in ((20_000, 999), (20_000, 8_192), (9_000, 4_000)):
        shorter = Batch.join(list(RadialWave(rows, seed=3).batches(size)))
        assert_equal([whole[:rows]], [shorter])
    other = Batch.join(list(RadialWave(20_000, seed=4).batches(20_000)))
    assert not np.isin(whole.y, other.y).any()


def test_generated_targets_scatter_around_the_truth_by_the_noise_asked_for():
    batch = RadialWave(8_192, noise=0.5).sample(8_192)
    error = batch.y - RadialWave.truth(batch.X)
    assert abs(error.mean()) < 4 * 0.5 / np.sqrt(8_192)
    assert abs(error.std() - 0.5) < 4 * 0.5 / np.sqrt(2 * 8_192)
    assert np.abs(batch.X).max() <= 10
    assert batch.X.dtype == np.float32
    assert batch.y.dtype == np.float64


@pytest.mark.parametrize("given", [{"rows": 0}, {"noise": -1.0}, {"noise": float("nan")}])
def test_generated_rows_need_a_number_of_rows_and_a_noise(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        RadialWave(**given)


OF_ITERATORS = {
    "plain": same,
    "shuffled": lambda source: shuffled(source, buffer_rows=30),
    "held-out": lambda source: hold_out(source, 0.3, 20, 0),
    "shuffled held-out": lambda source: shuffled(hold_out(source, 0.3, 20, 0), 30),
    "prefetched": prefetched,
    "scaled": scaled,
}


@pytest.mark.parametrize("wrap", OF_ITERATORS.values(), ids=OF_ITERATORS.keys())
@pytest.mark.parametrize("reading", [list, iter], ids=["list", "once"])
def test_batches_do_not_depend_on_how_the_iterator_blocks_the_rows(wrap, reading, kind):
    def batches(block: int) -> list[Batch]:
        source = wrap(IteratorSource(reading(blocks(kind, block))))
        return list(source.batches(SIZE, seed=1, pass_=1))

    for block in (1, 20, 33, 2 * N_ROWS):
        assert_equal(batches(7), batches(block))


@pytest.mark.parametrize("wrap", OF_ITERATORS.values(), ids=OF_ITERATORS.keys())
def test_what_is_read_once_says_so_and_gives_nothing_in_a_second_pass(wrap, kind):
    source = wrap(IteratorSource(iter(blocks(kind))))
    assert source.once
    assert len(list(source.batches(SIZE))) > 0
    assert list(source.batches(SIZE, pass_=1)) == []


@pytest.mark.parametrize("name", ["plain", "shuffled", "held-out", "shuffled held-out"])
def test_what_is_read_once_goes_on_where_it_stopped(name, kind):
    wrap = OF_ITERATORS[name]
    whole = order(wrap(IteratorSource(iter(blocks(kind)))))
    source = wrap(IteratorSource(iter(blocks(kind))))
    walk = source.batches(SIZE)
    seen = [*next(walk).index, *next(walk).index]
    walk.close()
    assert [int(i) for i in seen] + order(source, start=2) == whole


def test_random_access_is_kept_by_transforms_and_held_out_rows_and_by_nothing_else(kind):
    for inner in (array, iterator):
        accessible = inner is array
        for wrapped in (
            scaled(inner(kind)),
            hold_out(inner(kind), 0.3, 20, 0),
            mapped(hold_out(inner(kind), 0.3, 20, 0), RowNormalization()),
        ):
            assert isinstance(wrapped, RandomAccess) == accessible
        assert not isinstance(prefetched(inner(kind)), RandomAccess)
        assert not isinstance(Shuffled(inner(kind)), RandomAccess)


ACCESSIBLE = {
    name: make
    for name, make in (SOURCES | PARTIAL | FILES).items()
    if isinstance(make("dense"), RandomAccess)
}


@every(ACCESSIBLE)
def test_taken_rows_are_those_of_a_walk(make, kind):
    source = make(kind)
    walk = Batch.join(list(source.batches(SIZE)))
    places = np.array([3, 0, len(walk) - 1, 3])
    assert_equal([walk[places]], [source.take(places)])
    assert_equal([walk[5:9]], [source.take(slice(5, 9))])
