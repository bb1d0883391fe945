"""What the mathematics and the memory of the data layer promise."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler, normalize

from bochner.data import (
    ArraySource,
    Batch,
    IteratorSource,
    PrincipalComponents,
    RandomAccess,
    RowNormalization,
    Scaling,
    as_source,
    even_cut,
    hold_out,
    mapped,
    prefetched,
    principal_components,
    scaled,
    shuffled,
)
from bochner.data.statistics import RowDigest, RowStatistics
from bochner.data.transforms import transform as transform_module
from bochner.data.transforms.scaling import Moments
from bochner.data.transforms.transform import checked_source


@pytest.fixture
def X() -> np.ndarray:
    """Columns of very different places and widths, one of them constant."""
    rng = np.random.default_rng(1)
    width, place = [1.0, 1e-3, 1e4, 1.0, 1.0, 0.0], [0.0, 0.05, -1e5, 30.0, 0.1, 0.1]
    X = rng.normal(size=(500, 6)) * width + place
    X[:, 4] *= rng.random(500) < 0.3
    return X


def sparse(X: np.ndarray) -> sp.csr_matrix:
    rng = np.random.default_rng(2)
    return sp.csr_matrix(X * (rng.random(X.shape) < 0.4))


@pytest.fixture(params=[1, 7, 100, 10_000])
def chunk_rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(transform_module, "CHUNK_ROWS", (request.param, request.param))
    return int(request.param)


# Cutting


def test_an_even_cut_covers_all_rows_in_order_with_sizes_that_differ_by_at_most_one():
    for n_rows in range(40):
        for size in range(1, 45):
            slices = list(even_cut(n_rows, size))
            lengths = {s.stop - s.start for s in slices}
            assert [i for s in slices for i in range(s.start, s.stop)] == list(range(n_rows))
            assert len(slices) == -(-n_rows // size)
            assert not lengths or max(lengths) <= min(size, min(lengths) + 1)


# Arrays


def test_batches_of_a_dense_array_are_views_of_it(X):
    batch = next(ArraySource(X, X[:, 0]).batches(10))
    assert np.shares_memory(batch.X, X)
    assert np.shares_memory(batch.y, X)


def test_a_memory_map_is_read_batch_by_batch(X, tmp_path):
    np.save(tmp_path / "rows.npy", X.astype(np.float32))
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    source = ArraySource(rows)
    assert np.shares_memory(source.rows.X, rows)
    batch = next(shuffled(source).batches(50))
    assert batch.X.dtype == np.float32
    np.testing.assert_array_equal(batch.X, rows[batch.index])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64, bool])
def test_arrays_keep_their_dtype(X, dtype):
    assert next(ArraySource(X > 0).batches(3)).X.dtype == bool
    assert next(ArraySource(np.zeros((4, 2), dtype)).batches(3)).X.dtype == dtype


@pytest.mark.parametrize("form", [sp.csc_matrix, sp.coo_matrix, sp.csr_array, sp.coo_array])
def test_any_sparse_format_gives_csr_rows(X, form):
    batch = next(ArraySource(form(sparse(X))).batches(500))
    assert batch.X.format == "csr"
    np.testing.assert_array_equal(batch.X.toarray(), sparse(X).toarray())


def test_entries_stored_twice_are_summed_without_touching_what_was_given():
    X = sp.csr_matrix(([1.0, 2.0, 4.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    source = ArraySource(X)
    assert X.nnz == 3
    assert Scaling.learn(source, "range").factor.tolist() == [1 / 3, 1 / 4]


def test_a_sample_of_an_array_covers_it_evenly_and_depends_on_the_seed():
    source = ArraySource(np.zeros((10_000, 1)))
    one, other = source.sample(100, seed=0).index, source.sample(100, seed=1).index
    assert (one // 100 == np.arange(100)).all()
    assert (one != other).any()


def test_permutations_are_uniform():
    source = shuffled(ArraySource(np.zeros((4, 1))))
    orders = [tuple(next(source.batches(4, pass_=p)).index) for p in range(2_400)]
    counts = np.unique(np.array(orders) @ [1, 10, 100, 1000], return_counts=True)[1]
    assert len(counts) == 24
    assert ((counts - 100) ** 2 / 100).sum() < 50  # chi square of 23 degrees: 1 in 1,000


@pytest.mark.parametrize(
    ("X", "y", "weight", "message"),
    [
        (np.zeros(3), None, None, "must be 2-d"),
        (np.array([["a"]]), None, None, "must hold real numbers"),
        (np.zeros((3, 1), complex), None, None, "must hold real numbers"),
        (np.zeros((3, 1)), np.zeros(2), None, "y must have one entry for each row of X, 3"),
        (np.zeros((3, 1)), None, np.zeros(2), "weight must have one entry for each row of X, 3"),
        (np.zeros((3, 1)), None, np.zeros((3, 2)), "weight must be 1-d"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(X, y, weight, message):
    with pytest.raises(ValueError, match=message):
        ArraySource(X, y, weight)


# Iterators


class Spy:
    """Counts the blocks that were asked for."""

    def __init__(self, n_blocks: int = 1_000, rows: int = 10) -> None:
        self.read, self.n_blocks, self.rows = 0, n_blocks, rows

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for number in range(self.n_blocks):
            self.read += 1
            yield np.full((self.rows, 2), float(number)), np.full(self.rows, number)


@pytest.mark.parametrize("size", [1, 10, 25])
@pytest.mark.parametrize(
    ("wrap", "ahead"),
    [
        (lambda source: source, 0),
        (lambda source: hold_out(source, 0.2, 100, 0), 3),
        (lambda source: mapped(source, RowNormalization()), 0),
        (lambda source: prefetched(source, depth=2), 2),
        (lambda source: shuffled(source, buffer_rows=40), None),
    ],
)
def test_a_generator_is_not_read_further_than_needed(wrap, ahead, size):
    spy = Spy()
    walk = wrap(IteratorSource(spy.blocks())).batches(size)
    for number in range(1, 6):
        next(walk)
        rows = number * size + (60 if ahead is None else ahead * size)
        assert spy.read <= -(-rows // spy.rows) + 1
    walk.close()


def test_nothing_is_read_before_it_is_asked_for():
    spy = Spy()
    source = prefetched(shuffled(hold_out(as_source(spy.blocks()), 0.1, 10, 0)))
    source.batches(10)
    assert spy.read == 0


def test_the_sample_of_a_generator_comes_again_in_the_first_pass():
    source = IteratorSource(Spy(n_blocks=5).blocks())
    np.testing.assert_array_equal(source.sample(23).index, np.arange(23))
    np.testing.assert_array_equal(source.sample(7).index, np.arange(7))
    assert source.n_columns == 2
    index = np.concatenate([batch.index for batch in source.batches(8)])
    np.testing.assert_array_equal(index, np.arange(50))


def test_an_empty_iterator_has_no_sample_and_no_batches():
    assert list(IteratorSource(iter([])).batches(3)) == []
    with pytest.raises(ValueError, match="needs at least one row"):
        IteratorSource([]).sample(3)


def test_empty_blocks_and_bare_rows_are_taken():
    source = as_source([np.ones((0, 2)), np.ones((3, 2)), np.ones((0, 2)), np.ones((2, 2))])
    (batch,) = source.batches(10)
    assert len(batch) == 5
    assert batch.y is None


def test_rows_get_the_dtype_of_the_first_block_and_integers_become_floats():
    single, double, integer = np.ones((2, 1), np.float32), np.ones((2, 1)), np.ones((2, 1), int)
    for blocks, dtype in (([single, double], np.float32), ([integer, single], np.float64)):
        assert {b.X.dtype for b in IteratorSource(blocks).batches(1)} == {np.dtype(dtype)}


GOOD = (np.ones((2, 3)), np.ones(2))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ((np.ones((2, 4)), np.ones(2)), "block 1 has columns: 4, .* columns: 3"),
        ((np.ones((2, 3)), np.ones(5)), "each row of block 1, 2; got shape"),
        ((sp.csr_matrix(np.ones((2, 3))), np.ones(2)), "block 1 has rows: sparse"),
        (np.ones((2, 3)), "block 1 has y: none"),
        ((np.ones((2, 3)), np.ones((2, 2))), r"block 1 has y: targets of shape \(2,\)"),
        ((np.ones((2, 3)), np.ones(2), np.ones(2)), "block 1 has weight: given"),
        ((np.ones((2, 3)), np.ones(2), np.ones(2), 0), "Block 1 must be X"),
        (np.ones(3), "block 1 must be 2-d"),
    ],
)
def test_blocks_that_do_not_fit_are_refused_by_their_number(bad, message):
    with pytest.raises(ValueError, match=message):
        list(IteratorSource(iter([GOOD, bad])).batches(10))


def test_sources_come_from_arrays_sparse_rows_blocks_frames_and_sources(X):
    pandas = pytest.importorskip("pandas")
    source = ArraySource(X)
    assert as_source(source) is source
    assert isinstance(as_source(X, X[:, 0]), ArraySource)
    assert isinstance(as_source(sparse(X)), ArraySource)
    assert isinstance(as_source(pandas.DataFrame(X)), ArraySource)
    assert isinstance(as_source([X, X]), IteratorSource)
    with pytest.raises(ValueError, match="has its own targets"):
        as_source(source, X[:, 0])
    with pytest.raises(ValueError, match="got int"):
        as_source(3)


# Reading ahead


def threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("bochner-prefetch")]


def test_the_thread_that_reads_ahead_ends_with_the_walk():
    source = prefetched(ArraySource(np.ones((100, 1))))
    list(source.batches(10))
    assert threads() == []


@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: mapped(s, RowNormalization()), shuffled])
def test_the_thread_that_reads_ahead_ends_when_the_walk_is_given_up(wrap):
    walk = wrap(prefetched(IteratorSource(Spy().blocks()))).batches(10)
    if wrap is not shuffled:
        next(walk)
        assert len(threads()) == 1
    walk.close()
    del walk
    assert threads() == []


def test_errors_of_the_reading_thread_arrive_in_their_place():
    def blocks():
        yield np.ones((10, 1))
        raise OSError("the disk is gone")

    walk = prefetched(IteratorSource(blocks())).batches(10)
    assert len(next(walk)) == 10
    with pytest.raises(OSError, match="the disk is gone"):
        next(walk)
    assert threads() == []


# Scaling


def assert_close(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_standard_scaling_is_that_of_scikit_learn(X, chunk_rows):
    scaling = Scaling.learn(ArraySource(X), "standard")
    reference = StandardScaler().fit(X)
    assert_close(scaling.location, reference.mean_)
    assert_close(scaling.factor, 1 / reference.scale_)
    assert_close(scaling.rows(X), reference.transform(X))


def test_range_scaling_is_that_of_scikit_learn(X, chunk_rows):
    rows = Scaling.learn(ArraySource(X), "range").rows(X)
    assert_close(rows, MinMaxScaler().fit_transform(X))
    assert rows.min() == 0.0
    assert rows.max() <= 1.0


def test_sparse_scaling_is_that_of_scikit_learn_and_stays_sparse(X, chunk_rows):
    S = sparse(X)
    for mode, reference in (
        ("standard", StandardScaler(with_mean=False)),
        ("range", MaxAbsScaler()),
    ):
        rows = Scaling.learn(ArraySource(S), mode).rows(S)
        assert rows.nnz == S.nnz
        assert_close(rows.toarray(), reference.fit_transform(S).toarray())


def test_scaling_is_not_harmed_by_a_large_offset():
    X = 1e9 + np.array([[0.0], [1.0], [2.0], [3.0]])
    assert_close(Scaling.learn(ArraySource(X), "standard").factor, [1 / np.sqrt(1.25)])


@pytest.mark.parametrize("mode", ["standard", "range"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_nothing_becomes_infinite_by_scaling(mode, dtype, form):
    columns = [np.zeros(5), np.full(5, 0.1), np.full(5, 1e30), 1e-42 * np.arange(5), np.arange(5)]
    X = form(np.column_stack(columns).astype(dtype))
    rows = Scaling.learn(ArraySource(X), mode).rows(X)
    assert rows.dtype == dtype
    assert np.isfinite(rows.data if sp.issparse(rows) else rows).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e200])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_scaling_and_components_name_the_column_that_is_not_finite(X, bad, form):
    X[7, 3] = bad
    source = ArraySource(form(X))
    with pytest.raises(ValueError, match=r"column\(s\) 3 "):
        Scaling.learn(source, "standard")
    with pytest.raises(ValueError, match=r"column\(s\) 3 "):
        PrincipalComponents.learn(source, 2)
    if not np.isfinite(bad):
        with pytest.raises(ValueError, match=r"column\(s\) 3 "):
            Scaling.learn(source, "range")


def test_an_infinite_constant_column_is_refused_too():
    for mode in ("standard", "range"):
        with pytest.raises(ValueError, match=r"column\(s\) 0 "):
            Scaling.learn(ArraySource(np.full((3, 1), np.inf)), mode)


def test_scaling_of_a_generator_is_learned_from_its_sample_and_loses_no_row(X):
    source = scaled(IteratorSource(iter(np.array_split(X, 9))), "range")
    rows = np.concatenate([batch.X for batch in source.batches(40)])
    assert_close(rows, MinMaxScaler().fit_transform(X))


def test_scaling_refuses_what_it_cannot_do(X):
    with pytest.raises(ValueError, match="mode must be one of 'standard', 'range'; got 'robust'"):
        Scaling.learn(ArraySource(X), "robust")
    with pytest.raises(ValueError, match="learned from dense rows"):
        Scaling.learn(ArraySource(X)).rows(sparse(X))
    with pytest.raises(ValueError, match="at least one row; it has none"):
        Scaling.learn(ArraySource(X[:0]))


# Other transforms


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_row_normalization_is_that_of_scikit_learn(X, norm):
    X[3] = 0.0
    for rows in (X, sparse(X)):
        found = RowNormalization(norm).rows(rows)
        expected = normalize(rows, norm)
        assert sp.issparse(found) == sp.issparse(rows)
        assert_close(found.toarray() if sp.issparse(found) else found, _array(expected))


def _array(X):
    return X.toarray() if sp.issparse(X) else X


def test_row_normalization_refuses_an_unknown_norm():
    with pytest.raises(ValueError, match="norm must be one of 'l2', 'l1', 'max'; got 'l3'"):
        RowNormalization("l3").rows(np.ones((1, 1)))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_principal_components_are_the_eigenvectors_of_the_second_moments(form, chunk_rows):
    A = np.random.default_rng(3).normal(size=(200, 5)) * [1, 2, 3, 4, 5] + 1.0
    V = PrincipalComponents.learn(ArraySource(form(A)), 3).components
    values = np.linalg.eigvalsh(A.T @ A)[::-1][:3]
    np.testing.assert_allclose(A.T @ A @ V, V * values, atol=1e-9)
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
    assert (V[np.abs(V).argmax(axis=0), np.arange(3)] > 0).all()


def test_principal_components_are_dense_and_keep_float32(X):
    for rows in (X.astype(np.float32), sparse(X).astype(np.float32)):
        source = principal_components(ArraySource(rows), 2)
        batch = next(source.batches(10))
        assert isinstance(batch.X, np.ndarray)
        assert batch.X.dtype == np.float32
        assert source.n_columns == 2


def test_more_components_than_columns_are_refused(X):
    with pytest.raises(ValueError, match="between 1 and the number of columns, 6; got 7"):
        principal_components(ArraySource(X), 7)


TRANSFORMS = [
    Scaling(np.zeros(6), np.full(6, 2.0)),
    RowNormalization(),
    PrincipalComponents(np.eye(6)[:, :2]),
]


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda t: type(t).__name__)
def test_transforms_treat_bare_rows_as_they_treat_batches(X, transform):
    for rows in (X, X.astype(np.float32), sparse(X), (X * 10).astype(np.int64), X[:0]):
        found = transform.rows(rows)
        batch = transform(Batch(rows, None, np.arange(len(X))))
        assert found.dtype == (np.float32 if rows.dtype == np.float32 else np.float64)
        np.testing.assert_array_equal(_array(found), _array(batch.X))


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda t: type(t).__name__)
def test_transforms_leave_the_rows_given_to_them_as_they_are(X, transform):
    for rows in (X, sparse(X)):
        before = rows.copy()
        transform.rows(rows)
        np.testing.assert_array_equal(_array(rows), _array(before))


@pytest.mark.parametrize("transform", TRANSFORMS, ids=lambda t: type(t).__name__)
def test_transforms_can_be_cloned(X, transform):
    np.testing.assert_array_equal(clone(transform).rows(X), transform.rows(X))


# What one pass learns


def labelled(X, sparse_rows=False):
    y = np.where(X[:, 0] > 0, "oak", "ash")
    return ArraySource(sparse(X) if sparse_rows else X, y, np.abs(X[:, 1]))


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_labels_moments_and_digest_are_learned_in_one_pass(X, sparse_rows):
    inner, starts = labelled(X, sparse_rows), []

    class Counted(RandomAccess):
        n_columns, n_rows = inner.n_columns, inner.n_rows

        def take(self, places):
            starts.append(places.start == 0)
            return inner.take(places)

    rows = RowStatistics(Counted(), True, True, True)
    assert sum(starts) == 0
    assert rows.digest == RowStatistics(inner, wants_digest=True).digest
    labels, counts = rows.labels
    assert labels.tolist() == ["ash", "oak"]
    weight = np.abs(X[:, 1])
    expected = [weight[X[:, 0] <= 0].sum(), weight[X[:, 0] > 0].sum()]
    np.testing.assert_allclose(counts, expected, rtol=1e-12)
    np.testing.assert_array_equal(rows.moments.mean, Moments.learn(inner).mean)
    assert sum(starts) == 1


@pytest.mark.parametrize("sparse_rows", [False, True])
def test_a_digest_is_of_the_rows_not_of_their_batches(X, sparse_rows):
    def digest(source, size):
        found = RowDigest()
        for batch in source.batches(size):
            found.add(batch)
        return found.digest()

    source = labelled(X, sparse_rows)
    known = digest(source, 500)
    assert digest(source, 7) == known
    changed = np.array(X)
    changed[490:, 1] += 1.0
    assert digest(labelled(changed, sparse_rows), 500) != known
    assert digest(ArraySource(source.rows.X, source.rows.y), 500) != known
    assert digest(ArraySource(source.rows.X, None, source.rows.weight), 500) != known


def test_a_digest_does_not_depend_on_the_dtype_of_labels(X):
    def digest(y):
        return RowStatistics(ArraySource(X, y), wants_digest=True).digest

    y = X[:, 0] > 0
    assert digest(y) == digest(y.astype(int)) == digest(y.astype(float)[:, None])
    text = np.where(y, "oak", "ash")
    assert digest(text) == digest(text.astype("U9")) == digest(text.astype(object))
    assert len({digest(y), digest(text), digest(~y)}) == 3


def test_rows_with_random_access_are_checked_once_and_streams_in_every_pass(X):
    def seen(source, passes=3):
        rows = []

        def check(batch):
            rows.extend(batch.index.tolist())
            return batch

        source = checked_source(source, check)
        for pass_ in range(passes):
            list((shuffled(source) if pass_ else source).batches(60, seed=1, pass_=pass_))
        return np.bincount(rows)

    assert (seen(ArraySource(X)) == 1).all()
    assert (seen(IteratorSource([X[:200], X[200:]])) == 3).all()


def test_a_row_that_was_refused_is_refused_again(X):
    def check(batch):
        if 3 in batch.index:
            raise ValueError("row 3")
        return batch

    source = checked_source(ArraySource(X), check)
    list(source.batches(500, start=1))
    for _ in range(2):
        with pytest.raises(ValueError, match="row 3"):
            list(source.batches(100))


# Held-out rows


def walked(source) -> list[int]:
    return sorted(int(i) for batch in source.batches(30, seed=4, pass_=1) for i in batch.index)


STREAMS = {
    "array": ArraySource,
    "list": lambda X: IteratorSource(np.array_split(X, 7)),
    "once": lambda X: IteratorSource(iter(np.array_split(X, 7))),
    "shuffled": lambda X: shuffled(ArraySource(X)),
}


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS.keys())
@pytest.mark.parametrize("most", [0, 1, 40, 10_000])
def test_held_out_and_remaining_rows_partition_the_data(X, stream, most):
    source = hold_out(stream(X), share=0.2, most=most, seed=9)
    remaining = walked(source)
    held = source.held_out()
    numbers = [] if held is None else held.index.tolist()
    assert sorted(remaining + numbers) == list(range(500))
    assert numbers == sorted(numbers)
    assert len(numbers) == most if most <= 40 else 70 < len(numbers) < 130
    if held is not None:
        np.testing.assert_array_equal(held.X, X[held.index])


@pytest.mark.parametrize("make", [STREAMS["array"], STREAMS["list"], STREAMS["shuffled"]])
def test_the_same_rows_are_held_out_in_every_pass_and_by_every_source(X, make):
    reference = hold_out(ArraySource(X), 0.2, 40, 9).held_out().index
    source = hold_out(make(X), 0.2, 40, 9)
    for pass_ in range(3):
        list(source.batches(17, pass_=pass_))
        np.testing.assert_array_equal(source.held_out().index, reference)


def test_fewer_rows_at_most_are_the_first_of_more_rows(X):
    few, many = (hold_out(ArraySource(X), 0.2, most, 9).held_out().index for most in (10, 40))
    np.testing.assert_array_equal(few, many[:10])


def test_a_stream_gives_the_held_out_rows_met_so_far(X):
    source = hold_out(IteratorSource(np.array_split(X, 50)), 0.2, 1_000, 9)
    assert source.held_out() is None
    walk = source.batches(100)
    next(walk)
    first = source.held_out()
    list(walk)
    assert 0 < len(first) < len(source.held_out())
    np.testing.assert_array_equal(first.index, source.held_out().index[: len(first)])


@pytest.mark.parametrize("name", ["array", "list", "once"])
def test_a_pass_over_all_rows_collects_the_held_out_ones(X, name):
    source = hold_out(STREAMS[name](X), 0.2, 40, 9)
    numbers, everything = source.numbers, source.all_rows()
    assert sorted(everything.sample(50).index.tolist()) != []
    assert walked(everything) == list(range(500))
    np.testing.assert_array_equal(source.held_out().index, numbers)
    np.testing.assert_array_equal(source.held_out().X, X[numbers])


def test_held_out_rows_are_never_sampled(X):
    for make in STREAMS.values():
        source = hold_out(make(X), 0.2, 1_000, 9)
        sample = set(source.sample(400).index.tolist())
        walked(source)
        assert sample
        assert not sample & set(source.held_out().index.tolist())


def test_held_out_rows_do_not_hinder_a_global_shuffle(X):
    source = shuffled(hold_out(ArraySource(X), 0.2, 40, 9))
    first = next(source.batches(100, seed=1)).index
    assert first.min() < 50
    assert first.max() > 450


@pytest.mark.parametrize(
    ("share", "most", "name"), [(1.0, 5, "share"), (-0.1, 5, "share"), (0.1, -1, "most")]
)
def test_impossible_shares_are_refused(X, share, most, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        hold_out(ArraySource(X), share, most, 0)
