"""Vector mathematics, random numbers, threads and memory do what they promise."""

import contextlib
import gc
import os
import pickle
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from scipy import stats
from threadpoolctl import ThreadpoolController

from bochner.compute import memory
from bochner.compute.blas import single_blas
from bochner.compute.compiled import compiled
from bochner.compute.elementwise.exponential import exponential
from bochner.compute.elementwise.waves import cosine, cosine_sine
from bochner.compute.linear_algebra.products import (
    add_row_products,
    gram,
    product,
    transposed_product,
)
from bochner.compute.memory import free_memory, memory_budget
from bochner.compute.pool import available_cores, each_tile, sum_tiles, threads
from bochner.compute.random.counter_based import Random, row_hash

PI = np.longdouble("3.14159265358979323846264338327950288")
ERROR = {np.float32: 3e-7, np.float64: 1e-15}
FIRST_INTEGERS = [8658993280511845255, 17662224154668679518]
PATH_INTEGERS = [17626778973194980390, 5113281503914152638]
HASHES = [15559990572502793946, 15040763173281104258]
GAMMAS = [0.3, 0.5, 2, 2.5, 40]
both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


CONTROLLER = ThreadpoolController().select(user_api="blas")


def blas_threads():
    return [library["num_threads"] for library in CONTROLLER.info()]


BLAS_THREADS = blas_threads()


@compiled("float64(float64)", cache=False)
def twice(x):
    return x + x


@both_dtypes
def test_the_cosine_alone_is_that_of_the_pair(dtype):
    turns = np.random.default_rng(0).normal(scale=3, size=(7, 1001)).astype(dtype)
    pairs = cosine_sine(turns, np.empty((7, 2002), dtype), 2.0)
    alone = cosine(turns, np.zeros((8, 1010), dtype), 2.0, 5)
    np.testing.assert_allclose(alone[:7, 5:1006], pairs[:, ::2], rtol=0, atol=ERROR[dtype])
    assert not alone[7].any()
    assert not alone[:, :5].any()
    with pytest.raises(ValueError, match="cosine needs 7 rows and 1002 columns"):
        cosine(turns, np.empty((7, 1001), dtype), 2.0, 1)


@both_dtypes
def test_cosine_and_sine_of_turns_are_exact_to_rounding(dtype):
    turns = np.random.default_rng(0).normal(scale=3, size=(7, 1001)).astype(dtype)
    turns[0, :9] = [0, 0.25, 0.5, 0.75, 1, -0.25, -0.5, -0.75, -1e-9]
    out = cosine_sine(turns, np.empty((7, 2002), dtype), 2.0)
    angle = 2 * PI * turns.astype(np.longdouble)
    np.testing.assert_allclose(out[:, ::2], 2 * np.cos(angle), rtol=0, atol=2 * ERROR[dtype])
    np.testing.assert_allclose(out[:, 1::2], 2 * np.sin(angle), rtol=0, atol=2 * ERROR[dtype])


@both_dtypes
def test_waves_are_written_from_the_first_column_on_and_nowhere_else(dtype):
    turns = np.full((3, 2), 0.5, dtype)
    out = cosine_sine(turns, np.full((3, 8), 7, dtype), first=2)
    np.testing.assert_allclose(out, np.tile([7, 7, -1, 0, -1, 0, 7, 7], (3, 1)), atol=1e-7)
    with pytest.raises(ValueError, match="6 columns"):
        cosine_sine(turns, np.empty((3, 5), dtype), first=2)


@both_dtypes
def test_exponential_is_exact_to_rounding(dtype):
    lowest, highest = (-87, 88.7) if dtype == np.float32 else (-708, 709.7)
    x = np.linspace(lowest, highest, 100_003).astype(dtype)
    expected = np.exp(x.astype(np.longdouble))
    np.testing.assert_allclose(exponential(x.copy()) / expected, 1, rtol=0, atol=ERROR[dtype])


@both_dtypes
def test_exponential_of_special_values(dtype):
    x = np.array([np.nan, -np.inf, np.inf, 0, -1e30, 1e30, -800, 800] * 5, dtype)
    expected = np.array([np.nan, 0, np.inf, 1, 0, np.inf, 0, np.inf] * 5, dtype)
    np.testing.assert_array_equal(exponential(x), expected)


def test_a_nan_passes_through_the_waves():
    out = cosine_sine(np.full((1, 40), np.nan), np.zeros((1, 80)))
    assert np.isnan(out).all()


def test_exponential_refuses_what_it_cannot_do_in_place():
    with pytest.raises(ValueError, match="C-contiguous float32 or float64"):
        exponential(np.zeros((4, 4))[:, ::2])
    with pytest.raises(ValueError, match="int64"):
        exponential(np.zeros(4, np.int64))


def test_two_threads_may_make_the_first_call_at_once():
    results = []
    callers = [threading.Thread(target=lambda: results.append(twice(2.0))) for _ in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert results == [4.0] * 4
    assert pickle.loads(pickle.dumps(cosine_sine)) is cosine_sine


def test_integers_are_the_same_for_ever():
    assert Random(0).integers(2).tolist() == FIRST_INTEGERS
    assert Random(12345, 6, 7).integers(2).tolist() == PATH_INTEGERS
    assert row_hash(3, [0, 1]).tolist() == HASHES


def test_streams_of_different_paths_differ_and_equal_ones_agree():
    paths = [(0,), (1,), (0, 0), (0, 1), (1, 0), (0, 0, 0), (-1,)]
    first = {Random(*path).integers(1)[0] for path in paths}
    assert len(first) == len(paths)
    np.testing.assert_array_equal(Random(5).child(1, 2).normal(9), Random(5, 1, 2).normal(9))


def test_successive_draws_continue_the_stream():
    whole, rng = Random(1).integers(10), Random(1)
    np.testing.assert_array_equal(whole, np.concatenate([rng.integers(4), rng.integers(6)]))


@pytest.mark.parametrize(
    ("draw", "law"),
    [
        (lambda rng, n: rng.uniform(n), stats.uniform),
        (lambda rng, n: rng.exponential(n), stats.expon),
        (lambda rng, n: rng.normal(n), stats.norm),
        (lambda rng, n: rng.cauchy(n), stats.cauchy),
        *((lambda rng, n, a=a: rng.gamma(a, n), stats.gamma(a)) for a in GAMMAS),
    ],
    ids=["uniform", "exponential", "normal", "cauchy", *(f"gamma {a}" for a in GAMMAS)],
)
def test_draws_follow_their_law(draw, law):
    numbers = draw(Random(11), 20_001)
    assert numbers.shape == (20_001,)
    assert stats.kstest(numbers, law.cdf).pvalue > 1e-3


def test_normal_pairs_are_uncorrelated():
    x = Random(2).normal((10_000, 2))
    assert abs(np.corrcoef(x.T)[0, 1]) < 0.04
    assert abs(np.corrcoef((x**2).T)[0, 1]) < 0.04


def test_permutation_holds_every_number_once():
    order = Random(4).permutation(1000)
    np.testing.assert_array_equal(np.sort(order), np.arange(1000))
    assert (order != np.arange(1000)).any()


@pytest.mark.parametrize("shape", [0, -0.5, np.inf, np.nan])
def test_gamma_refuses_shapes_that_are_not_positive(shape):
    with pytest.raises(ValueError, match="above 0"):
        Random(0).gamma(shape, 5)


def test_the_hash_of_a_row_does_not_depend_on_the_others():
    index = np.arange(1000)
    whole = row_hash(9, index)
    np.testing.assert_array_equal(whole[17:19], row_hash(9, index[17:19]))
    assert len(np.unique(whole)) == 1000
    assert abs((whole / 2.0**64).mean() - 0.5) < 0.05


@pytest.mark.parametrize("n_jobs", [1, 2, 5, None, -1])
@pytest.mark.parametrize("rows", [0, 1, 10, 11])
def test_every_tile_is_worked_on_once(n_jobs, rows):
    visits = np.zeros(rows, int)

    def work(start, stop):
        assert 0 < stop - start <= 5
        visits[start:stop] += 1

    with threads(n_jobs):
        each_tile(work, rows, 5)
    assert (visits == 1).all()


def test_several_threads_take_part():
    meeting = threading.Barrier(3, timeout=10)
    with threads(3):
        each_tile(lambda *_: meeting.wait(), 3, 1)


def test_nested_calls_stay_in_the_calling_thread():
    def outer(*_):
        here = threading.get_ident()
        each_tile(lambda *_: inner.append(threading.get_ident() == here), 4, 1)

    inner = []
    with threads(2):
        each_tile(outer, 4, 1)
    assert inner == [True] * 16


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
@pytest.mark.parametrize("where", [0, 7])
def test_an_exception_in_a_tile_stops_the_walk_and_reaches_the_caller(error, where):
    done = []

    def work(start, _):
        done.append(start)
        if start == where:
            raise error

    with threads(2), pytest.raises(error):
        each_tile(work, 100_000, 1)
    assert len(done) < 100_000
    assert blas_threads() == BLAS_THREADS


def test_the_error_state_of_the_caller_holds_in_the_helpers():
    meeting = threading.Barrier(2, timeout=10)

    def work(*_):
        meeting.wait()
        assert np.geterr()["divide"] == "ignore"

    with threads(2), np.errstate(divide="ignore"):
        each_tile(work, 2, 1)


@pytest.mark.parametrize("n_jobs", [0, -2])
def test_thread_counts_without_meaning_are_refused(n_jobs):
    with pytest.raises(ValueError, match="n_jobs"), threads(n_jobs):
        pass


def test_helpers_that_come_too_late_are_used_again():
    def helpers():
        return sum(thread.name == "bochner" for thread in threading.enumerate())

    before = helpers()
    with threads(3):
        for _ in range(3_000):
            each_tile(lambda a, b: None, 4, 1)
    assert helpers() <= before + 10


@pytest.mark.parametrize("fails", [False, True])
def test_a_helper_keeps_nothing_of_the_last_walk(fails):
    array = np.ones(1000)
    alive, main = weakref.ref(array), threading.get_ident()

    def work(start, stop, x=array):
        time.sleep(0.002)
        if fails and threading.get_ident() != main:
            raise RuntimeError

    gc.disable()  # nothing but references may be needed to let go
    try:
        with threads(2), contextlib.suppress(RuntimeError):
            each_tile(work, 8, 1)
        del array, work
        assert eventually(lambda: alive() is None)
    finally:
        gc.enable()


@pytest.mark.parametrize("outputs", [1, 2, 5])
@pytest.mark.parametrize("rows", [1, 4, 7])
def test_products_with_weights_in_double_precision_are_exact_for_any_number_of_rows(rows, outputs):
    rng = np.random.default_rng(0)
    A, W = rng.normal(size=(9, 40)).astype(np.float32), rng.normal(size=(outputs, 30))
    chosen, out = rng.permutation(9)[:rows], np.ones((rows, outputs))
    add_row_products(A, chosen, 5, W, out)
    np.testing.assert_allclose(out, 1 + A[chosen, 5:35].astype(float) @ W.T, rtol=1e-12)


def eventually(holds):
    """Whether something becomes true within some seconds."""
    end = time.perf_counter() + 10
    while not holds() and time.perf_counter() < end:
        time.sleep(0.01)
    return holds()


def test_sums_over_tiles_do_not_depend_on_the_number_of_threads():
    x = np.random.default_rng(0).normal(size=(5000, 3)).astype(np.float32)
    sums = []
    for n_jobs in (1, 2, 4):
        with threads(n_jobs):
            sums.append(sum_tiles(lambda a, b: x[a:b].sum(axis=0), 5000, 7, (3,)))
    np.testing.assert_array_equal(sums[0], sums[1])
    np.testing.assert_array_equal(sums[0], sums[2])
    np.testing.assert_allclose(sums[0], x.sum(axis=0, dtype=float), atol=1e-4)


def test_blas_is_held_until_the_last_thread_lets_go():
    entered, leave = threading.Event(), threading.Event()

    def other():
        with single_blas():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=other)
    with single_blas():
        thread.start()
        assert entered.wait(10)
    assert set(blas_threads()) == {1}
    leave.set()
    thread.join()
    assert blas_threads() == BLAS_THREADS


@both_dtypes
def test_products_are_right_and_do_not_depend_on_the_number_of_threads(dtype):
    A = np.random.default_rng(0).normal(size=(4500, 300)).astype(dtype)
    B = np.random.default_rng(1).normal(size=(4500, 3)).astype(dtype)
    exact = A.astype(np.longdouble)
    results = []
    for n_jobs in (1, 2, 3):
        with threads(n_jobs):
            results.append((gram(A), transposed_product(A, B), product(A, B[:300])))
    for result in results[1:]:
        for one, other in zip(results[0], result, strict=True):
            np.testing.assert_array_equal(one, other)
    tolerance = 1e-3 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(results[0][0], A.astype(float).T @ A, rtol=0, atol=tolerance)
    np.testing.assert_allclose(results[0][1], exact.T @ B, rtol=0, atol=tolerance)
    np.testing.assert_allclose(results[0][2], exact @ B[:300], rtol=0, atol=tolerance)
    np.testing.assert_array_equal(results[0][0], results[0][0].T)


def test_products_of_different_heights_are_refused():
    with pytest.raises(ValueError, match="as many rows"):
        transposed_product(np.ones((3, 2)), np.ones((4, 2)))


@pytest.mark.parametrize(
    ("given", "bytes_"),
    [("2GB", 2e9), ("512MiB", 2**29), ("1.5 kB", 1500), ("7", 7), ("3g", 3e9), (10, 10), (0, 0)],
)
def test_memory_budgets_are_read(given, bytes_):
    assert memory_budget(given) == bytes_


@pytest.mark.parametrize("given", ["much", "2XB", "iB", "-1GB", -1, True, 0.5])
def test_memory_budgets_without_meaning_are_refused(given):
    with pytest.raises(ValueError, match="such as '2GB'"):
        memory_budget(given)


def test_the_default_budget_is_half_of_what_is_free():
    assert 0 < memory_budget(None) < free_memory()


def test_the_limit_of_a_container_is_respected(tmp_path, monkeypatch):
    group = tmp_path / "job"
    group.mkdir()
    (group / "memory.max").write_text("5000\n")
    (group / "memory.current").write_text("3000\n")
    (group / "memory.stat").write_text("anon 2000\ninactive_file 400\n")
    (tmp_path / "memory.max").write_text("max\n")
    monkeypatch.setattr(memory, "_groups", lambda: iter([group, tmp_path]))
    assert free_memory() == 2400


def run(script):
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=60)


def test_importing_the_package_does_not_import_numba():
    run("import bochner, bochner.features, sys; assert 'numba' not in sys.modules")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork is for POSIX systems")
def test_the_pool_works_in_a_forked_process():
    run(
        "import os, threading\n"
        "from bochner.compute.pool import each_tile, threads\n"
        "def go():\n"
        "    meeting = threading.Barrier(2, timeout=10)\n"
        "    with threads(2): each_tile(lambda *_: meeting.wait(), 2, 1)\n"
        "go()\n"
        "child = os.fork()\n"
        "go()\n"
        "if child == 0: os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )


def test_there_is_at_least_one_core():
    assert available_cores() >= 1
