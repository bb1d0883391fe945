"""Laws of kernels and features of histograms."""

import pickle

import numpy as np
import pytest
import scipy
import scipy.sparse as sp
from scipy.optimize import nnls

from bochner import AdditiveHomogeneous, HistogramFourier, KernelClassifier, RandomLaplace, features
from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.estimators.automatic.plan import Costs, PlanInputs, make_plan
from bochner.features import map_name
from bochner.features.random.additive import AdditiveBasis, RandomAdditiveBasis, quadrature
from bochner.kernels import (
    ChiSquared,
    ExponentialSemigroup,
    Exponentiated,
    FunctionKernel,
    Gaussian,
    Hellinger,
    Intersection,
    JensenShannon,
    ReciprocalSemigroup,
    SkewedChiSquared,
)
from bochner.losses import Squared

SCIPY = tuple(map(int, scipy.__version__.split(".")[:2]))
ADDITIVE = [ChiSquared(), Hellinger(), Intersection(), JensenShannon()]
OTHERS = [
    Exponentiated(bandwidth=1.0),
    ExponentialSemigroup(2.0),
    ReciprocalSemigroup(1.0),
    SkewedChiSquared(0.1),
]
every_additive = pytest.mark.parametrize("kernel", ADDITIVE, ids=lambda k: type(k).__name__)
every_kernel = pytest.mark.parametrize("kernel", ADDITIVE + OTHERS, ids=lambda k: type(k).__name__)
TRANSFORMERS = [AdditiveHomogeneous(size=50), HistogramFourier(size=50), RandomLaplace(size=50)]
every_transformer = pytest.mark.parametrize(
    "transformer", TRANSFORMERS, ids=lambda t: type(t).__name__
)


def rows(n_rows=60, n_columns=8, seed=0):
    X = np.random.default_rng(seed).dirichlet(np.ones(n_columns), size=n_rows)
    X[X < 0.02] = 0
    return X


def built(map_, kernel, X=None, seed=0, dtype=np.float64):
    X = rows() if X is None else X
    return map_.build(kernel, ArraySource(X).sample(len(X)), seed, dtype)


def error(basis, kernel, X, stop=None):
    Phi = basis.columns(basis.encode(X), 0, stop)
    Phi = Phi if basis.size is not None else basis.gain(stop) * Phi
    return np.abs(Phi @ Phi.T - kernel(X)).max()


@every_kernel
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_negative_entries_are_refused_with_their_row(kernel, kind):
    X = rows()
    X[17, 3] = -0.25
    with pytest.raises(ValueError, match=r"Column 3: -0.25 in row 17"):
        kernel(kind(X))
    with pytest.raises(ValueError, match="row 17"):
        kernel(rows(), kind(X))


@every_transformer
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_transformers_refuse_negative_entries_with_their_row(transformer, kind):
    X = rows(6000)
    X[5017, 3] = -0.25
    with pytest.raises(ValueError, match="row 5017"):
        transformer.fit(kind(X))
    with pytest.raises(ValueError, match="row 5017"):
        transformer.fit(rows()).transform(kind(X))


def test_machines_refuse_negative_entries_with_their_row():
    X, y = rows(200), np.arange(200) % 2
    model = KernelClassifier(kernel="chi_squared", random_state=0)
    wrong = X.copy()
    wrong[117, 3] = -1
    with pytest.raises(ValueError, match="row 117"):
        model.fit(wrong, y)
    model.fit(X, y)
    with pytest.raises(ValueError, match="row 117"):
        model.predict(wrong)


@every_kernel
def test_matrices_are_symmetric_in_all_bits(kernel):
    K = kernel(rows(40, 30).astype(np.float32))
    np.testing.assert_array_equal(K, K.T)


@every_additive
def test_more_frequencies_are_a_better_quadrature(kernel):
    z = np.linspace(-6, 6, 101)
    errors = []
    for pairs in (1, 3, 8):
        found = quadrature(kernel, rows(), pairs)
        assert (found.weights >= 0).all()
        waves = np.cos(np.outer(z, found.frequencies)) @ found.weights
        errors.append(np.abs(waves - kernel.signature(z))[np.abs(z) < 3].max())
    assert errors[2] <= errors[1] + 1e-6 <= errors[0] + 2e-6
    assert errors[2] < 0.1


@every_additive
def test_sampled_features_converge_to_the_kernel(kernel):
    X = rows()
    errors = [error(built(features.AdditiveHomogeneous(8 * n), kernel), kernel, X) for n in (3, 17)]
    assert errors[1] <= errors[0] + 1e-6
    assert errors[1] < 0.05


@every_additive
def test_drawn_features_converge_to_the_kernel(kernel):
    basis = built(features.AdditiveHomogeneous(), kernel)
    assert isinstance(basis, RandomAdditiveBasis)
    assert error(basis, kernel, rows(), 16_384) < 6 / np.sqrt(8192)


def test_drawn_features_are_unbiased_also_in_parts_of_a_unit():
    X, kernel = rows(10), ChiSquared()
    means = np.zeros((10, 10))
    for seed in range(400):
        basis = built(features.AdditiveHomogeneous(), kernel, seed=seed)
        block = basis.gain(40) * basis.columns(basis.encode(X), 100, 140)
        means += block @ block.T / 400
    np.testing.assert_allclose(means, kernel(X), atol=5 / np.sqrt(400 * 20))


def test_drawn_features_keep_no_half_pair():
    X = np.full((1, 8), 0.125)  # of even columns, so that each pair alone gives k(x, x)
    basis = built(features.AdditiveHomogeneous(3), ChiSquared(), X)
    assert basis.size == 2
    np.testing.assert_allclose(np.sum(basis.columns(basis.encode(X)) ** 2), 1)
    with pytest.raises(ValueError, match=r"at least two functions .*; got size=1"):
        built(features.AdditiveHomogeneous(1), ChiSquared(), X)


def test_with_fewer_functions_than_columns_columns_are_drawn():
    X = rows(40, 300)
    assert isinstance(built(features.AdditiveHomogeneous(300), ChiSquared(), X), AdditiveBasis)
    basis = built(features.AdditiveHomogeneous(200), ChiSquared(), X)
    assert isinstance(basis, RandomAdditiveBasis)
    assert basis.columns(basis.encode(X)).shape == (40, 200)


@pytest.mark.parametrize("size", [8, 9, 24, 25, 31, 200])
def test_any_size_of_sampled_features_is_kept_but_for_a_half_pair(size):
    basis = built(features.AdditiveHomogeneous(size), ChiSquared())
    assert basis.size == size - (size - 8) % 2
    Phi = basis.columns(basis.encode(rows()))
    for part in ((0, 5), (3, basis.size)):
        np.testing.assert_allclose(basis.columns(basis.encode(rows()), *part), Phi[:, slice(*part)])


@pytest.mark.parametrize("n_columns", [1, 2, 5])
def test_few_columns_take_no_more_functions_than_are_of_use(n_columns):
    X, kernel = np.random.default_rng(0).gamma(1.0, size=(300, n_columns)), ChiSquared()
    basis = built(features.AdditiveHomogeneous(1024), kernel, X)
    assert basis.size == min(1024 - (1024 - n_columns) % 2, 129 * n_columns)
    # SciPy before 1.15 finds the non-negative weights less exactly, or not at all.
    limit = 1e-9 if SCIPY >= (1, 15) else 1e-5
    assert error(basis, kernel, X) < limit * kernel(X).max()


def test_weights_that_do_not_converge_leave_the_high_frequencies_out(monkeypatch):
    def few(R, target, maxiter):
        if R.shape[1] > 8:
            raise RuntimeError("Maximum number of iterations reached.")
        return nnls(R, target)

    monkeypatch.setattr("bochner.features.random.additive.nnls", few)
    basis = built(features.AdditiveHomogeneous(8 * 31), ChiSquared())
    assert error(basis, ChiSquared(), rows()) < 1e-3


@pytest.mark.parametrize("kernel", OTHERS, ids=lambda k: type(k).__name__)
def test_random_features_of_the_others_converge_to_the_kernel(kernel):
    laplace = isinstance(kernel, ExponentialSemigroup | ReciprocalSemigroup)
    map_ = features.RandomLaplace(16_384) if laplace else features.HistogramFourier(16_384)
    assert error(built(map_, kernel), kernel, rows()) < 6 / np.sqrt(8192)


@pytest.mark.parametrize("bandwidth", [0.3, 1.0])
@every_additive
def test_exponentiated_features_have_the_kernel_as_their_limit(kernel, bandwidth):
    X, kernel = rows(), Exponentiated(kernel, bandwidth)
    basis = built(features.HistogramFourier(2), kernel)
    exact = isinstance(kernel.kernel, Hellinger | Intersection)
    limit = basis.kernel(basis.encode(X))  # of infinitely many waves
    np.testing.assert_allclose(limit, kernel(X), atol=1e-10 if exact else 0.02)


@every_transformer
def test_sparse_rows_have_the_same_features_and_float32_is_kept(transformer):
    X = rows().astype(np.float32)
    Phi = transformer.set_params(random_state=0).fit_transform(X)
    assert Phi.dtype == np.float32
    sparse = transformer.fit(sp.csr_array(X)).transform(sp.csr_array(X))
    np.testing.assert_allclose(sparse @ sparse.T, Phi @ Phi.T, atol=1e-5)
    double = transformer.fit(X.astype(np.float64)).transform(X.astype(np.float64))
    np.testing.assert_allclose(Phi, double, atol=1e-5)


@every_transformer
def test_features_do_not_depend_on_the_threads_and_survive_pickling(transformer):
    X = rows(2000)
    fitted = transformer.set_params(random_state=0).fit(X)
    with threads(1):
        alone = fitted.transform(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(X), alone)


@pytest.mark.parametrize("name", ["additive_homogeneous", "random_laplace", "histogram_fourier"])
def test_other_kernels_are_refused_with_what_there_is(name):
    with pytest.raises(ValueError, match=r"exist for .* got Gaussian"):
        built(features.FeatureMap.resolve(name), Gaussian(1.0))


@pytest.mark.parametrize("size", [0, -3, 2.5, True, "many"])
def test_sizes_that_are_none_are_refused(size):
    for map_, kernel in (
        (features.AdditiveHomogeneous, ChiSquared()),
        (features.RandomLaplace, ReciprocalSemigroup(1.0)),
    ):
        with pytest.raises(ValueError, match="whole number"):
            built(map_(size), kernel)


@pytest.mark.parametrize(
    ("kernel", "map_"),
    [
        ("chi_squared", "additive_homogeneous"),
        ("reciprocal_semigroup", "random_laplace"),
        ("exponentiated_chi_squared", "histogram_fourier"),
    ],
)
def test_streams_learn_from_endless_features(kernel, map_):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=3000)
    X = np.where(y[:, None] == 1, rng.dirichlet([4, 1, 1, 1], 3000), rng.dirichlet([1] * 4, 3000))
    model = KernelClassifier(kernel=kernel, solver="dsg", random_state=0)
    assert model.fit(X, y).score(X, y) > 0.8
    assert model.plan_.features == map_


def test_exact_machines_take_histograms():
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=600)
    X = np.where(y[:, None] == 1, rng.dirichlet([8, 1, 1, 1], 600), rng.dirichlet([1] * 4, 600))
    for kernel in ("chi_squared", "exponentiated_chi_squared", "jensen_shannon"):
        for solver in ("direct", "nystroem", "eigenpro"):
            model = KernelClassifier(kernel=kernel, solver=solver, loss="squared", random_state=0)
            assert model.fit(X[:400], y[:400]).score(X[400:], y[400:]) > 0.75


@every_kernel
def test_read_only_rows_are_fine(kernel):
    X = rows(30, 1)
    expected = kernel(X)
    X.flags.writeable = False
    np.testing.assert_allclose(kernel(X, X.copy()), expected, rtol=1e-12)


@pytest.mark.parametrize(("rows", "chosen"), [(20_000, "centers"), (50_000_000, "own")])
def test_kernels_with_features_of_their_own_take_them_where_rows_are_many(rows, chosen):
    for kernel in (ChiSquared(), ReciprocalSemigroup(1.0), Exponentiated(bandwidth=1.0)):
        costs = Costs(rows, 54, 4, 8 << 30)
        situation = PlanInputs(costs, False, False, kernel, Squared, lambda: 0.0)
        expected = map_name(kernel) if chosen == "own" else chosen
        assert make_plan("auto", "auto", situation).features == expected
    plain = PlanInputs(costs, False, False, FunctionKernel(np.dot), Squared, lambda: 0.0)
    exact = "eigenpro" if chosen == "centers" else "nystroem"
    assert make_plan("auto", "auto", plain).solver == exact
