"""Random Maclaurin features have all powers of a kernel, for rows of any length."""

import numpy as np
import pytest

from bochner import RandomMaclaurin
from bochner.data import ArraySource
from bochner.features import Maclaurin
from bochner.kernels import DotProduct, Exponential, Polynomial

SIGNS = np.array([[1.0], [-1.0]])


def built(features, kernel, X=SIGNS):
    return features.build(kernel, ArraySource(X).sample(4), 0, np.float64)


@pytest.mark.parametrize("unit", [1e-4, 1e60])
def test_maclaurin_features_do_not_see_the_unit_of_the_rows(unit):
    X = np.random.default_rng(0).normal(size=(12, 4))
    Z, same = (RandomMaclaurin(size=600, random_state=0).fit_transform(u * X) for u in (unit, 1.0))
    np.testing.assert_allclose(Z, same, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("degrees", ["proportional", "geometric"])
@pytest.mark.parametrize("lowest", [70, 1100])
def test_maclaurin_features_have_every_power_of_a_series(degrees, lowest):
    """Of one column that is 1 or -1 there are only signs, so that k(x, x) is met exactly."""
    kernel = DotProduct([0.0] * lowest + [0.5, 0.0, 0.5])
    basis = built(Maclaurin(512, degrees), kernel)
    Phi = basis.columns(basis.encode(SIGNS))
    np.testing.assert_allclose(np.square(Phi).sum(axis=1), 1, atol=0.01)


def test_maclaurin_features_draw_all_degrees_of_a_long_series():
    kernel = DotProduct(0.99 ** np.arange(1000))
    basis = built(Maclaurin(512), kernel)
    Phi = basis.columns(basis.encode(SIGNS))
    np.testing.assert_allclose(np.square(Phi).sum(axis=1), kernel.diagonal(SIGNS))
    assert max(len(basis.parameters(unit).signs) for unit in range(5)) > 400


@pytest.mark.parametrize("kernel", [Exponential(0.1), Exponential(0.01), Polynomial(500, 1.0, 9.0)])
def test_a_series_that_is_cut_too_early_or_overflows_is_refused(kernel):
    with pytest.raises(ValueError, match=r"median length 1; it is .* of .*larger bandwidth"):
        built(Maclaurin(64), kernel, np.eye(3))
