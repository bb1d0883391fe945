"""Powers of five and ten, for decimals that become doubles."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

LEAST_POWER, MOST_POWER = -342, 308  # of ten; digits times what lies beyond are 0 or infinite


@cache
def powers_of_five() -> NDArray[np.uint64]:
    """Return the leading 128 bits of 5^q for each power q, (powers, 2), high word first.

    Lemire (2021), "Number parsing at a gigabyte per second", section 5: those of negative powers
    are rounded up, the others down.
    """
    words = [divmod(_leading_bits(q), 1 << 64) for q in range(LEAST_POWER, MOST_POWER + 1)]
    return np.array(words, np.uint64)


@cache
def powers_of_ten() -> NDArray[np.float64]:
    """Return 10^0 to 10^22, the powers that are doubles."""
    return np.array([float(10**q) for q in range(23)])


def _leading_bits(q: int) -> int:
    power: int = 5 ** abs(q)
    if q >= 0:
        shift = 128 - power.bit_length()
        return power << shift if shift >= 0 else power >> -shift
    bits = (power - 1).bit_length()
    value = (1 << (bits + 127 if q >= -27 else 2 * bits + 128)) // power + 1
    return value >> max(0, value.bit_length() - 128)
