"""Columns of categories as columns of 0 and 1."""

import numpy as np
from sklearn.preprocessing import OneHotEncoder

from bochner.data.transforms.indicators import MOST_INDICATORS, Indicators


def test_indicators_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 4, 50), rng.normal(size=50), rng.integers(0, 3, 50)])
    encoded = OneHotEncoder(sparse_output=False).fit_transform(X[:, [0, 2]])
    found = Indicators.learn(X, [0, 2]).rows(X)
    np.testing.assert_array_equal(found, np.column_stack([X[:, 1], encoded]))


def test_rare_and_unknown_categories_have_no_indicator():
    codes = np.repeat(np.arange(40.0), np.arange(40) + 1)[:, None]
    indicators = Indicators.learn(codes.astype(np.float32), [0])
    assert indicators.rows(codes).shape[1] == MOST_INDICATORS
    assert not indicators.rows(np.array([[0.0], [99.0]])).any()
    assert indicators.rows(np.array([[39.0]], np.float32)).sum() == 1.0
