"""What the ratio of two densities promises of rows that come in blocks."""

import pickle
import signal

import numpy as np
import pytest
import scipy.sparse as sp

from bochner import DensityRatio
from bochner.data import ArraySource, IteratorSource
from bochner.estimators.two_samples.samples import PairStream
from bochner.kernels import Gaussian

LOSSES = pytest.mark.parametrize("loss", ["logistic", "exponential"])
ROWS = 20_000


def drawn(seed, rows=ROWS):
    """Rows of N(0, I) and of N((1, 0), I): log p/q = 1/2 - x_1, divergence 1/2."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, 2)), rng.normal(size=(rows, 2)) + np.array([1.0, 0.0])


@pytest.fixture(scope="module")
def samples():
    return drawn(0)


@pytest.fixture(scope="module")
def others():
    return drawn(1, 100_000)


def quick(**parameters):
    given = {"kernel": Gaussian(4.0), "alpha": 1e-5, "size": 64, "random_state": 0}
    return DensityRatio(**given | parameters)


def streams(samples, blocks=(7, 5)):
    return [
        iter(np.array_split(rows, number)) for rows, number in zip(samples, blocks, strict=True)
    ]


def chunks(samples, number):
    return zip(*(np.array_split(rows, number) for rows in samples), strict=True)


@LOSSES
def test_streams_come_near_the_true_divergence(samples, others, loss):
    model = quick(loss=loss).fit(*streams(samples))
    assert model.kl_divergence(*others) == pytest.approx(0.5, rel=0.05)
    assert model.kl_divergence_ == pytest.approx(0.5, rel=0.1)
    assert model.ratio(others[1]).mean() == pytest.approx(1.0, rel=0.05)


def test_the_first_rows_choose_bandwidth_and_alpha(samples, others):
    model = DensityRatio(size=128, random_state=0).fit(*streams(samples))
    assert model.kl_divergence(*others) == pytest.approx(0.5, rel=0.05)
    points = others[0][:500] * 0.7 + [0.5, 0.0]
    assert np.abs(model.log_ratio(points) - (0.5 - points[:, 0])).mean() < 0.1


@LOSSES
def test_chunks_come_near_the_true_divergence(samples, others, loss):
    model = quick(loss=loss)
    for X, Y in chunks(samples, 5):
        model.partial_fit(X, Y)
    assert model.kl_divergence(*others) == pytest.approx(0.5, rel=0.05)
    assert model.ratio(others[1]).mean() == pytest.approx(1.0, rel=0.05)


def test_chunks_after_a_fit_to_streams_go_on_from_it(samples, others):
    model = quick().fit(*streams([rows[:1_000] for rows in samples]))
    before = model.kl_divergence(*others)
    for X, Y in chunks([rows[1_000:] for rows in samples], 4):
        model.partial_fit(X, Y)
    assert abs(model.kl_divergence(*others) - 0.5) < abs(before - 0.5)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_a_fit_does_not_depend_on_how_streams_are_blocked(samples, form):
    def fitted(*sizes):
        def blocks(rows, size):
            return (form(rows[i : min(i + size, 3_000)]) for i in range(0, 3_000, size))

        return quick(kernel="auto", size=32).fit(*map(blocks, samples, sizes))

    one, other = fitted(3_000, 3_000), fitted(70, 1_111)
    assert one.kl_divergence_ == other.kl_divergence_
    np.testing.assert_array_equal(one.log_ratio(samples[0]), other.log_ratio(samples[0]))


def test_sparse_streams_are_learned_like_dense_ones(samples):
    dense = [np.maximum(rows[:5_000], 0.0) for rows in samples]
    sparse = [sp.csr_matrix(rows) for rows in dense]
    model = quick(size=256).fit(*(iter([rows]) for rows in sparse))
    expected = quick(size=256).fit(*(iter([rows]) for rows in dense))
    np.testing.assert_allclose(model.log_ratio(sparse[0]), expected.log_ratio(dense[0]), atol=0.15)


def test_a_source_that_can_be_read_again_is(samples, others):
    few = [rows[:2_000] for rows in samples]
    once = quick().fit(*streams(few))
    again = quick().fit(*(ArraySource(rows) for rows in few))
    assert again._course.training.step >= 16 > once._course.training.step
    assert again.kl_divergence(*others) > once.kl_divergence(*others)


def test_what_is_kept_does_not_grow_with_the_streams(samples):
    def blocks(rows, times):
        return (block for _ in range(times) for block in np.array_split(rows, 20))

    few, many = (quick().fit(*(blocks(rows, times) for rows in samples)) for times in (6, 12))
    assert few.kl_divergence_ == pytest.approx(0.5, rel=0.1)
    assert len(pickle.dumps(many)) < 1.01 * len(pickle.dumps(few))


def test_no_stream_is_read_ahead_of_the_other(samples):
    read = [0, 0]

    def counted(side):
        for block in np.array_split(samples[side], 200):
            read[side] += len(block)
            apart.append(abs(read[0] - read[1]))
            yield block

    apart = []
    quick().fit(counted(0), counted(1))
    assert read == [ROWS, ROWS]
    assert max(apart) <= 12_700  # the first rows of X are looked at before those of Y


def test_rows_of_both_samples_have_equal_weight_in_every_batch(samples):
    X, Y = samples
    weight = np.linspace(0.0, 1.0, 1_000)
    x, y = ArraySource(X[:300], None, np.ones(300)), ArraySource(Y[:1_000], None, weight)
    batches = list(PairStream(x, y).batches(100))
    assert sum((batch.y < 0).sum() for batch in batches) == 1_000
    for batch in batches:
        above = batch.y[:, 0] > 0
        assert above.sum() == len(batch) / 2  # X begins anew
        assert batch.weight[above].sum() == pytest.approx(batch.weight[~above].sum())


def test_a_sample_that_can_be_read_once_ends_the_walk(samples):
    X, Y = samples
    x, y = (
        ArraySource(X[:300], None, np.ones(300)),
        IteratorSource(iter([(Y[:90], None, np.ones(90))])),
    )
    batches = list(PairStream(x, y).batches(40))
    assert [len(batch) for batch in batches] == [40, 40, 40, 40, 30]
    assert list(PairStream(x, y).batches(40)) == []


def test_weights_of_blocks_can_stand_for_another_law(samples):
    X, Y = samples
    # Rows of p weighted by q/p are rows of q: nothing is left to tell.
    weighted = ((rows, None, np.exp(rows[:, 0] - 0.5)) for rows in np.array_split(X, 9))
    model = quick().fit(weighted, iter([Y]))
    assert np.abs(model.log_ratio(X[:1_000])).mean() < 0.25
    chunk = quick().partial_fit(X, Y, sample_weight_X=np.exp(X[:, 0] - 0.5))
    assert np.abs(chunk.log_ratio(X[:1_000])).mean() < 0.25


def test_the_number_of_threads_changes_nothing(samples):
    one, two = (quick(n_jobs=n).fit(*streams(samples)).log_ratio(samples[0]) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


def broken(rows, error):
    yield from np.array_split(rows, 3)
    error()
    yield rows


def fail():
    raise OSError("the line is dead")


@pytest.mark.parametrize(
    ("happens", "error"),
    [(fail, OSError), (lambda: signal.raise_signal(signal.SIGINT), KeyboardInterrupt)],
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_call_that_does_not_end_leaves_no_trace(samples, happens, error, method):
    model = quick()
    with pytest.raises(error):
        getattr(model, method)(broken(samples[0], happens), iter([samples[1]]))
    assert not [name for name in vars(model) if name.endswith("_")]
    model.partial_fit(*(rows[:2_000] for rows in samples))
    before = pickle.dumps(vars(model))
    with pytest.raises(error):
        getattr(model, method)(broken(samples[0], happens), iter([samples[1]]))
    assert pickle.dumps(vars(model)) == before


def test_a_pickle_goes_on_like_the_model(samples):
    (first, second) = chunks([rows[:4_000] for rows in samples], 2)
    model = quick().partial_fit(*first)
    copy = pickle.loads(pickle.dumps(model)).partial_fit(*second)
    np.testing.assert_array_equal(
        model.partial_fit(*second).log_ratio(samples[0]), copy.log_ratio(samples[0])
    )


def test_streams_that_cannot_be_used_are_refused(samples):
    X, Y = (rows[:500] for rows in samples)
    with pytest.raises(ValueError, match=r"no targets. Give blocks of rows, or \(rows, None, w"):
        quick().fit(iter([(X, np.ones(500))]), Y)
    with pytest.raises(ValueError, match=r"Where Y is a source .* weights are part of it"):
        quick().fit(X, iter([Y]), sample_weight_Y=np.ones(500))
    with pytest.raises(ValueError, match="the same columns; got 2 of X and 1 of Y"):
        quick().fit(iter([X]), Y[:, :1])
    with pytest.raises(ValueError, match="One sample is sparse"):
        quick().fit(iter([X]), iter([sp.csr_matrix(Y)]))
    with pytest.raises(ValueError, match="NaN"):
        quick().fit(iter([X]), iter([np.full_like(Y, np.nan)]))
    with pytest.raises(ValueError, match="zero for every row"):
        quick().fit(iter([(X, None, np.zeros(500))]), iter([Y]))
    with pytest.raises(ValueError, match="The sample X needs at least 4 rows"):
        quick().fit(iter([X[:2]]), iter([Y]))


def test_chunks_that_cannot_be_gone_on_with_are_refused(samples):
    X, Y = (rows[:500] for rows in samples)
    with pytest.raises(ValueError, match="fitted to arrays by another solver"):
        quick().fit(X, Y).partial_fit(X, Y)
    model = quick().partial_fit(X, Y)
    with pytest.raises(ValueError, match="1 columns, but DensityRatio was fitted with 2"):
        model.partial_fit(X[:, :1], Y[:, :1])
    with pytest.raises(ValueError, match="parameters of the first call"):
        model.set_params(loss="exponential").partial_fit(X, Y)


def test_chunks_of_a_row_are_learned_or_held_out(samples):
    model = quick().partial_fit(*(rows[:2_000] for rows in samples))
    for X, Y in chunks([rows[2_000:2_030] for rows in samples], 30):
        model.partial_fit(X, Y)
    assert np.isfinite(model.kl_divergence_)


def test_rows_in_another_form_than_the_first_are_refused(samples):
    X, Y = (rows[:500] for rows in samples)
    model = quick().partial_fit(X, Y)
    for given in ((sp.csr_array(X), Y), (sp.csr_array(X), sp.csr_array(Y))):
        with pytest.raises(ValueError, match="One sample is sparse and the other is not"):
            model.partial_fit(*given)
