"""What every basis promises, for every feature map in the registry."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

from bochner.compute.pool import threads
from bochner.data import ArraySource
from bochner.features import DenseBasis, FeatureMap, RandomBasis
from bochner.features.basis import extend_and_encode
from bochner.features.dense_basis import cuts
from bochner.kernels import (
    ArcCosine,
    ChiSquared,
    Exponential,
    Exponentiated,
    Gaussian,
    Histogram,
    Laplacian,
    Polynomial,
    RandomProcess,
    ReciprocalSemigroup,
    Zonal,
)

N_ROWS, WIDTH = 301, 700


def waves(omega, X):
    return np.sqrt(2) * np.cos(X @ omega[:-1] + 2 * np.pi * omega[-1])


def phases(n_columns, size, rng):
    return np.concatenate([rng.normal((n_columns, size)) / 2, rng.uniform((1, size))])


process = RandomProcess(waves, phases)
KERNELS = {  # others take a Gaussian kernel
    "additive_homogeneous": ChiSquared(),
    "binning": Laplacian(2.0),
    "exponential_fourier": Exponential(3.0),
    "harmonics": Zonal(),
    "histogram_fourier": Exponentiated(bandwidth=1.0),
    "maclaurin": Exponential(3.0),
    "random_laplace": ReciprocalSemigroup(1.0),
    "rectified": ArcCosine(),
    "tensor_sketch": Polynomial(2, 1.0, 0.1),
    "random": Gaussian(3.0) * process + (0.5 * process).stretched(np.full(5, 2.0)),
}
TOLERANCE = {np.float32: 1e-4, np.float64: 1e-11}
every_map = pytest.mark.parametrize("name", sorted(FeatureMap.registry))
both_dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def kernel_of(name):
    return KERNELS.get(name, Gaussian(2.0))


def rows(name):
    X = np.random.default_rng(0).normal(size=(N_ROWS, 5))
    if not isinstance(kernel_of(name), Histogram):
        return X
    return np.abs(X) / np.abs(X).sum(axis=1, keepdims=True)


def built(name, dtype=np.float64):
    sample = ArraySource(rows(name)).sample(N_ROWS)
    kernel = kernel_of(name)
    basis = FeatureMap.resolve(name).build(kernel, sample, 0, dtype)
    return extend_and_encode(basis, rows(name))[0]


def width(basis):
    return WIDTH if basis.size is None else basis.size


def parts(name, basis, outputs=3):
    """Return code, weights and gradients of matching shapes."""
    rng = np.random.default_rng(1)
    code = basis.encode(rows(name))
    return code, rng.normal(size=(width(basis), outputs)), rng.normal(size=(N_ROWS, outputs))


@every_map
@both_dtypes
@pytest.mark.parametrize("outputs", [1, 3])
def test_evaluate_and_project_are_adjoint(name, dtype, outputs):
    basis = built(name, dtype)
    code, weights, G = parts(name, basis, outputs)
    f, w = basis.evaluate(code, weights), basis.project(code, G, 0, width(basis))
    assert {f.dtype, w.dtype} <= {np.dtype(dtype), np.dtype(np.float64)}
    assert f.shape == (N_ROWS, outputs)
    assert w.shape == weights.shape
    norm = np.linalg.norm(f) * np.linalg.norm(G)
    assert abs(np.vdot(f, G) - np.vdot(weights, w)) < TOLERANCE[dtype] * norm


@every_map
def test_values_at_a_row_do_not_depend_on_the_other_rows(name):
    basis = built(name, np.float32)
    code, weights, _ = parts(name, basis)
    whole = basis.evaluate(code, weights)
    allowed = 1e-7 + effect_of_rounding(name, basis, whole, weights)
    for place in (slice(0, 1), slice(3, 130), slice(128, 301), slice(7, 290, 5)):
        part = basis.evaluate(basis.encode(rows(name)[place]), weights)
        np.testing.assert_allclose(part, whole[place], rtol=1e-7, atol=allowed)


def effect_of_rounding(name, basis, values, weights):
    """Return by how much values change if each row moves by a few units in the last place.

    BLAS may add in another order where there are other rows. Bins are integers: nothing changes.
    """
    if not isinstance(basis, DenseBasis):
        return 0.0
    moved = rows(name) * (1 + 4 * np.finfo(np.float32).eps)
    return np.abs(basis.evaluate(basis.encode(moved), weights) - values).max()


@every_map
def test_no_result_depends_on_the_number_of_threads(name):
    basis = built(name, np.float32)
    code, weights, G = parts(name, basis)
    results = []
    for n_jobs in (1, 2, 4):
        with threads(n_jobs):
            results.append(
                np.concatenate(
                    [
                        basis.evaluate(code, weights),
                        basis.project(code, G, 0, min(500, width(basis))),
                    ]
                )
            )
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


@every_map
def test_blocks_of_functions_add_up(name):
    basis = built(name)
    code, weights, G = parts(name, basis)
    stop = width(basis)
    marks = [0, 1, 37, stop // 2, stop]
    pieces = list(pairwise(marks))
    values = sum(basis.evaluate(code, weights[a:b], a) for a, b in pieces)
    np.testing.assert_allclose(values, basis.evaluate(code, weights), atol=1e-11)
    projections = np.concatenate([basis.project(code, G, a, b) for a, b in pieces])
    np.testing.assert_allclose(projections, basis.project(code, G, 0, stop), atol=1e-11)


@every_map
def test_columns_are_what_evaluate_and_project_multiply(name):
    basis = built(name)
    if not isinstance(basis, DenseBasis):
        pytest.skip("this basis has no dense columns")
    code, weights, G = parts(name, basis)
    Phi = basis.columns(code, 0, len(weights))
    np.testing.assert_allclose(basis.evaluate(code, weights), Phi @ weights, atol=1e-11)
    stop = min(600, width(basis))
    np.testing.assert_allclose(basis.project(code, G, 3, stop), Phi[:, 3:stop].T @ G, atol=1e-11)
    out = np.empty((N_ROWS, 102))
    assert basis.columns(code, 1, 103, out) is out
    np.testing.assert_allclose(out, Phi[:, 1:103], atol=1e-13)
    with pytest.raises(ValueError, match="C-contiguous"):
        basis.columns(code, 1, 103, np.empty((N_ROWS, 103)))


@every_map
def test_no_rows_and_no_functions_are_fine(name):
    basis = built(name)
    code = basis.encode(rows(name))
    assert basis.evaluate(code[:0], np.ones((4, 2))).shape == (0, 2)
    np.testing.assert_array_equal(basis.evaluate(code, np.ones((0, 2))), np.zeros((N_ROWS, 2)))
    np.testing.assert_array_equal(basis.project(code[:0], np.ones((0, 2)), 0, 4), np.zeros((4, 2)))


@every_map
def test_bases_survive_pickling(name):
    basis = built(name)
    code, weights, _ = parts(name, basis)
    copy = pickle.loads(pickle.dumps(basis))
    np.testing.assert_array_equal(copy.evaluate(code, weights), basis.evaluate(code, weights))


@every_map
def test_blocks_of_a_random_basis_approximate_the_kernel_by_their_gain(name):
    basis = built(name)
    if not isinstance(basis, RandomBasis):
        pytest.skip("this basis is not drawn at random")
    X = rows(name)[:20]
    block = basis.gain(600) * basis.columns(basis.encode(X), 200, 800)
    K = kernel_of(name)(X)
    error = (block @ block.T - K) / np.sqrt(np.outer(np.diag(K), np.diag(K)))
    assert np.abs(error).max() < 6 / np.sqrt(300)


def test_cuts_lie_at_the_multiples_of_the_width():
    assert list(cuts(3, 11, 4)) == [(3, 4), (4, 8), (8, 11)]
    assert list(cuts(4, 4, 4)) == []
