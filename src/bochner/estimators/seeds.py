"""Seeds: what scikit-learn calls a random state becomes one integer."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


def seed_of(random_state: Any) -> int:
    """Return an integer itself, one draw of a generator, and fresh entropy for None."""
    if random_state is None or random_state is np.random:
        return secrets.randbits(63)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    check_random_state(random_state)  # refuses what is no seed
    return int(random_state)
