"""What encoded rows and their groups promise, whatever keeps the codes."""

import shutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from bochner.data import ArraySource, Batch, IteratorSource
from bochner.features import Binning, Centers, EncodedRows, Fourier
from bochner.kernels import Gaussian, Laplacian

N_ROWS, SIZE, GRIDS = 103, 20, 10
KEEPS = ["memory", "file", "nothing"]

# ---- All that depends on names and constructors ----


def encode(
    source: Any,
    basis: Any,
    size: int = SIZE,
    keep: str = "memory",
    left_out: Any = None,
    smaller: Any = None,
):
    """Rows in batches of a size, with codes kept in memory, in a file or not at all."""
    memory = 2**30 if keep == "memory" else 0
    return EncodedRows(source, basis, size, memory, left_out, smaller=smaller)


def batches(encoded: Any, **arguments: int) -> Iterator[Batch]:
    """A pass through encoded rows; arguments are seed, pass_ and start."""
    return encoded.batches(**arguments)


def basis_of(encoded: Any) -> Any:
    """The basis with all functions that the rows call for."""
    return encoded.basis


def grouped(encoded: Any) -> Any:
    """The same rows by groups, of which `group_batches` takes some as a batch."""
    return encoded


def group_batches(groups: Any, size: int, **arguments: int) -> Iterator[Batch]:
    """A pass through groups, so many as a batch."""
    return groups.groups(size).batches(**arguments)


def columns(batch: Batch) -> list[tuple[int, np.ndarray]]:
    """The groups of a batch: their numbers, and the code of all rows in each."""
    groups = batch.X.groups if hasattr(batch.X, "groups") else (batch.X,)
    return [(group.number, group.code) for group in groups]


# ---- The contract ----


@pytest.fixture(params=KEEPS)
def keep(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the codes are kept; nowhere if the disk is full."""
    if request.param == "nothing":
        fill_the_disk(monkeypatch)
    return str(request.param)


@pytest.fixture(params=["memory", "file"])
def kept(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def fill_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    full = shutil.disk_usage("/")._replace(free=0)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: full)


def rows(kind: str) -> Any:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4)) * (rng.random((N_ROWS, 4)) < 0.6)
    return sp.csr_array(X) if kind.startswith("sparse") else X


Y = np.column_stack([np.arange(N_ROWS) / 3.0, np.arange(N_ROWS) % 2])
WEIGHT = 1.0 + np.arange(N_ROWS) % 5
LEFT_OUT = np.array([0, 3, 50, N_ROWS - 1])
MAPS = {
    "bins": (Binning(GRIDS), Laplacian(2.0)),
    "sparse bins": (Binning(GRIDS), Laplacian(2.0)),
    "waves": (Fourier(16), Gaussian(1.0)),
    "sparse waves": (Fourier(16), Gaussian(1.0)),
    "centres": (Centers(12), Gaussian(1.0)),
}
every_map = pytest.mark.parametrize("kind", MAPS)


def source_of(kind: str, block: int | None = None, weight: Any = WEIGHT) -> Any:
    """The rows at once, or in blocks whose number is not known before."""
    X = rows(kind)
    if block is None:
        return ArraySource(X, Y, weight)
    cuts = [slice(a, a + block) for a in range(0, N_ROWS, block)]
    return IteratorSource([(X[cut], Y[cut], weight[cut]) for cut in cuts])


def built(kind: str) -> Any:
    map_, kernel = MAPS[kind]
    return map_.build(kernel, ArraySource(rows(kind), Y).sample(N_ROWS), 0)


def made(kind: str, keep: str = "memory", **changes: Any) -> Any:
    arguments = {"source": source_of(kind), "basis": built(kind), "keep": keep} | changes
    return encode(**arguments)


def dense(code: Any) -> np.ndarray:
    return code.toarray() if sp.issparse(code) else np.asarray(code)


def weight_of(batch: Batch) -> np.ndarray:
    return np.ones(len(batch)) if batch.weight is None else batch.weight


def assert_equal(ones: Any, others: Any) -> None:
    for one, other in zip(list(ones), list(others), strict=True):
        np.testing.assert_array_equal(one.index, other.index)
        np.testing.assert_array_equal(dense(one.X), dense(other.X))
        np.testing.assert_array_equal(one.y, other.y)
        np.testing.assert_array_equal(weight_of(one), weight_of(other))


@every_map
def test_codes_are_those_of_the_basis(kind, keep):
    encoded, X = made(kind, keep), rows(kind)
    for batch in batches(encoded):
        expected = basis_of(encoded).encode(X[batch.index])
        np.testing.assert_array_equal(dense(batch.X), dense(expected))
        assert batch.X.dtype == expected.dtype


@every_map
def test_every_row_comes_once_a_pass_in_the_order_of_the_source(kind, keep):
    encoded = made(kind, keep)
    for pass_ in (0, 1):
        walk = list(batches(encoded, pass_=pass_))
        index = np.concatenate([batch.index for batch in walk])
        np.testing.assert_array_equal(index, np.arange(N_ROWS))
        assert max(map(len, walk)) <= SIZE
        assert all(len(batch) == batch.X.shape[0] for batch in walk)


@every_map
def test_targets_and_weights_belong_to_their_rows(kind, keep):
    for batch in batches(made(kind, keep)):
        np.testing.assert_array_equal(batch.y, Y[batch.index])
        np.testing.assert_array_equal(batch.weight, WEIGHT[batch.index])


@every_map
def test_batches_are_a_pure_function_and_alike_in_every_pass(kind, keep):
    encoded = made(kind, keep)
    first = list(batches(encoded, seed=3, pass_=2))
    next(batches(encoded, seed=4))  # a pass that is not gone through
    assert_equal(first, batches(encoded, seed=3, pass_=2))
    assert_equal(first, batches(encoded, seed=5, pass_=7))
    assert_equal(first, batches(made(kind, keep), seed=3, pass_=2))


@every_map
def test_a_pass_can_be_begun_in_the_middle(kind, keep):
    encoded = made(kind, keep)
    whole = list(batches(encoded))
    for start in (1, 3, len(whole) - 1, len(whole), len(whole) + 2):
        assert_equal(whole[start:], batches(encoded, start=start))
    walk = batches(encoded)
    seen = [next(walk), next(walk)]
    walk.close()
    assert_equal(whole, [*seen, *batches(encoded, start=2)])


@every_map
def test_bits_do_not_depend_on_what_keeps_the_codes(kind, monkeypatch):
    expected = list(batches(made(kind, "memory")))
    assert_equal(expected, batches(made(kind, "file")))
    fill_the_disk(monkeypatch)
    assert_equal(expected, batches(made(kind, "nothing")))


@every_map
@pytest.mark.parametrize("block", [7, SIZE, 64])
def test_bits_do_not_depend_on_the_blocks_of_a_stream(kind, keep, block):
    streams = (made(kind, keep, source=source_of(kind, size)) for size in (N_ROWS, block))
    one, other = (list(batches(encoded)) for encoded in streams)
    assert_equal(one, other)
    assert sum(map(len, one)) == N_ROWS


@every_map
@pytest.mark.parametrize("block", [None, 7])
def test_the_number_of_rows_is_that_of_the_source(kind, keep, block):
    encoded = made(kind, keep, source=source_of(kind, block), left_out=LEFT_OUT)
    assert encoded.n_rows == N_ROWS


@every_map
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["no weights", "weights"])
def test_held_out_rows_have_weight_0_and_the_others_theirs(kind, keep, weight):
    source = source_of(kind, weight=weight)
    encoded = made(kind, keep, source=source, left_out=LEFT_OUT)
    expected = np.ones(N_ROWS) if weight is None else weight.copy()
    expected[LEFT_OUT] = 0.0
    walk = list(batches(encoded))
    np.testing.assert_array_equal(np.concatenate([b.weight for b in walk]), expected)
    plain = list(batches(made(kind, keep, source=source)))
    for one, other in zip(walk, plain, strict=True):
        np.testing.assert_array_equal(dense(one.X), dense(other.X))
        np.testing.assert_array_equal(one.y, other.y)


@pytest.mark.parametrize("block", [None, 7])
def test_the_basis_has_the_functions_of_all_rows_held_out_or_not(keep, block):
    source = source_of("bins", block)
    encoded = made("bins", keep, source=source, left_out=LEFT_OUT)
    assert basis_of(encoded).size == built("bins").extended(rows("bins"))[0].size
    assert (basis_of(encoded).encode(rows("bins")) >= 0).all()


@pytest.mark.parametrize("start", [0, 1])
def test_a_batch_of_many_rows_has_the_codes_of_all(keep, start):
    many, size = 40_000, 32_768
    X = np.random.default_rng(0).normal(size=(many, 1))
    source = ArraySource(X, X)
    basis = Binning(2).build(Laplacian(1.0), source.sample(100), 0)
    encoded = encode(source, basis, size, keep)
    walk = list(batches(encoded, start=start))
    index = np.concatenate([batch.index for batch in walk])
    code = np.concatenate([batch.X for batch in walk])
    np.testing.assert_array_equal(np.sort(index), np.arange(many)[-len(index) :])
    np.testing.assert_array_equal(code, basis_of(encoded).encode(X[index]))


@pytest.mark.parametrize("kind", ["bins", "sparse bins"])
@pytest.mark.parametrize("block", [None, 7])
@pytest.mark.parametrize("before", KEEPS)
def test_codes_of_a_smaller_basis_become_part_of_the_larger_ones(
    kind, block, before, keep, monkeypatch
):
    source = source_of(kind, block)
    with monkeypatch.context() as patch:
        if before == "nothing":
            fill_the_disk(patch)
        smaller = made(kind, before, source=source)
        codes = [dense(batch.X).copy() for batch in batches(smaller)]
    map_, kernel = Binning("auto"), MAPS[kind][1]
    basis = map_.larger_basis(basis_of(smaller), kernel, seed=0)
    fresh = encode(source, basis, keep=keep, left_out=LEFT_OUT)
    larger = encode(source, basis, keep=keep, left_out=LEFT_OUT, smaller=smaller)
    assert_equal(batches(fresh), batches(larger))
    np.testing.assert_array_equal(basis_of(fresh).starts, basis_of(larger).starts)
    for code, batch in zip(codes, batches(smaller), strict=True):  # still usable
        np.testing.assert_array_equal(dense(batch.X), code)
        assert batch.X.T.flags.c_contiguous  # compiled loops read them by grids


def test_codes_of_a_smaller_basis_in_batches_of_many_rows(keep):
    many, size = 40_000, 32_768
    X = np.random.default_rng(0).normal(size=(many, 1))
    source, kernel = ArraySource(X, X), Laplacian(1.0)
    smaller = encode(source, Binning(2).build(kernel, source.sample(100), 0), size, keep)
    basis = Binning("auto").larger_basis(basis_of(smaller), kernel, seed=0)
    larger = encode(source, basis, size, keep, smaller=smaller)
    assert_equal(batches(encode(source, basis, size, keep)), batches(larger))


def once(kind: str) -> Any:
    return IteratorSource(iter([(rows(kind), Y, WEIGHT)]))


def test_rows_that_are_read_once_are_kept_for_every_pass(kept):
    encoded = made("bins", kept, source=once("bins"))
    again = made("bins", kept, source=source_of("bins", SIZE))
    assert_equal(batches(again), batches(encoded))
    assert_equal(batches(again, start=2), batches(encoded, pass_=1, start=2))


def test_rows_that_are_read_once_and_cannot_be_kept_are_refused(monkeypatch):
    fill_the_disk(monkeypatch)
    with pytest.raises(ValueError, match=r"read only once.*memory_budget"):
        made("bins", "nothing", source=once("bins"))


# ---- Groups ----

SIZES = [1, 3, GRIDS, 4 * GRIDS]
every_size = pytest.mark.parametrize("size", SIZES)


def numbers(groups: Any, size: int, **arguments: int) -> list[int]:
    return [n for batch in group_batches(groups, size, **arguments) for n, _ in columns(batch)]


def assert_same_groups(ones: Any, others: Any) -> None:
    for one, other in zip(list(ones), list(others), strict=True):
        for (n, code), (m, expected) in zip(columns(one), columns(other), strict=True):
            assert n == m
            np.testing.assert_array_equal(code, expected)
        np.testing.assert_array_equal(one.y, other.y)
        np.testing.assert_array_equal(one.weight, other.weight)


@every_size
def test_every_group_comes_exactly_once_a_pass(kept, size):
    groups = grouped(made("bins", kept))
    for pass_ in range(3):
        assert sorted(numbers(groups, size, seed=1, pass_=pass_)) == list(range(GRIDS))
        lengths = [len(columns(batch)) for batch in group_batches(groups, size, pass_=pass_)]
        assert max(lengths) <= size
        assert set(lengths[:-1]) <= {size}


@every_size
@pytest.mark.parametrize("kind", ["bins", "sparse bins"])
@pytest.mark.parametrize("block", [None, 7])
def test_a_group_is_a_column_of_the_codes_of_all_rows(kept, size, kind, block):
    encoded = made(kind, kept, source=source_of(kind, block))
    expected = basis_of(encoded).encode(rows(kind))
    for batch in group_batches(grouped(encoded), size):
        for number, code in columns(batch):
            np.testing.assert_array_equal(code, expected[:, number])
        assert batch.X.shape == (N_ROWS, len(columns(batch)))


@every_size
def test_groups_are_a_pure_function_of_seed_and_pass(kept, size):
    groups = grouped(made("bins", kept))
    first = list(group_batches(groups, size, seed=3, pass_=2))
    next(group_batches(groups, size, seed=4))  # a pass that is not gone through
    assert_same_groups(first, group_batches(groups, size, seed=3, pass_=2))
    assert_same_groups(first, group_batches(grouped(made("bins")), size, seed=3, pass_=2))


@every_size
def test_every_seed_and_every_pass_has_an_order_of_its_own_whatever_the_size(kept, size):
    groups = grouped(made("bins", kept))
    orders = [numbers(groups, size, seed=s, pass_=p) for s, p in ((0, 0), (0, 1), (1, 0), (1, 1))]
    assert len({tuple(order) for order in orders}) == 4
    assert orders[0] == numbers(groups, 1, seed=0, pass_=0)


@every_size
def test_a_pass_through_groups_can_be_begun_in_the_middle(kept, size):
    groups = grouped(made("bins", kept))
    whole = list(group_batches(groups, size, seed=1, pass_=1))
    for start in (1, 2, len(whole), len(whole) + 2):
        tail = group_batches(groups, size, seed=1, pass_=1, start=start)
        assert_same_groups(whole[start:], tail)


@every_size
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["no weights", "weights"])
def test_groups_have_targets_and_weights_of_all_rows_and_0_for_held_out_ones(kept, size, weight):
    expected = np.ones(N_ROWS) if weight is None else weight.copy()
    expected[LEFT_OUT] = 0.0
    source = source_of("bins", weight=weight)
    for batch in group_batches(grouped(made("bins", kept, source=source, left_out=LEFT_OUT)), size):
        assert len(batch) == N_ROWS
        np.testing.assert_array_equal(batch.y, Y)
        np.testing.assert_array_equal(batch.weight, expected)


def test_rows_are_the_same_after_they_have_been_grouped(kept):
    encoded = made("bins", kept, left_out=LEFT_OUT)
    before = list(batches(encoded))
    encoded.groups()
    assert_equal(before, batches(encoded))
    assert encoded.n_rows == N_ROWS


def test_groups_of_codes_that_are_not_kept_are_refused(monkeypatch):
    fill_the_disk(monkeypatch)
    with pytest.raises(ValueError, match=r"neither the memory budget nor the disk.*memory_budget"):
        made("bins", "nothing").groups()


def test_the_number_of_rows_of_groups_is_that_of_the_rows(kept):
    assert made("bins", kept).groups().n_rows == N_ROWS


@every_size
def test_the_batches_of_a_pass_count_every_row_once(kept, size):
    encoded = made("bins", kept)
    for data in (encoded, encoded.groups(size)):
        pass_ = list(data.batches())
        counts = [data.rows_in(batch, number) for number, batch in enumerate(pass_)]
        assert sum(counts) == N_ROWS
        assert min(counts) > 0
        assert len(pass_) == data.n_batches
