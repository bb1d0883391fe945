"""Cells of text: decimals to the nearest doubles, missing values, codes of categories."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from bochner.compute.compiled import compiled

DIGITS = 19  # the most that always fit into an unsigned 64-bit number
FAR = 1 << 40  # larger exponents give 0 or infinity, whatever the digits
LEAST_POWER, MOST_POWER = -342, 308  # of ten; beyond, the result is 0 or infinite
WHOLE, HARD, WRONG = 0, -1, 1  # flags of a row: parsed, a cell is not rounded, first wrong cell
BLANK, TAB, PLUS, MINUS, DOT, ZERO, LETTER_E = (ord(sign) for sign in " \t+-.0e")
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)  # the low half of a word, and its bits


class Markers:
    """Cells that mean "missing": `signs` concatenated, the k-th ending at `ends[k]`.

    `first` is True for the bytes that a marker can begin with; entry 256 is for an empty marker.
    """

    def __init__(self, markers: tuple[str, ...]) -> None:
        encoded = [marker.strip(" \t").encode() for marker in markers]
        self.words = frozenset(encoded)
        self.signs = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
        self.ends = np.cumsum([len(word) for word in encoded], dtype=np.int64)
        self.first = np.zeros(257, np.bool_)
        self.first[[word[0] if word else 256 for word in encoded]] = True


def codes(
    text: NDArray[np.uint8], starts: NDArray[np.int32], stops: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the code of each cell text[start:stop], and the first cell of each code."""
    out, firsts = np.empty(len(starts), np.int64), np.empty(len(starts), np.int64)
    table = np.full(1 << (2 * len(starts) + 1).bit_length(), -1, np.int32)
    count = _codes(text, starts, stops, table, out, firsts)
    return out, firsts[:count].copy()


@compiled(
    "int64(uint8[::1], int32[::1], int32[::1], int32[::1], int64[::1], int64[::1])", fastmath=False
)
def _codes(text, starts, stops, table, out, firsts):  # type: ignore[no-untyped-def]
    count, mask = 0, np.uint64(len(table) - 1)
    for k in range(len(starts)):
        start, size = np.int64(starts[k]), np.int64(stops[k]) - starts[k]
        mixed = np.uint64(size)
        for i in range(size):
            mixed = (mixed ^ np.uint64(text[start + i])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        place = mixed & mask
        while True:
            code = np.int64(table[place])
            if code < 0:
                table[place], firsts[count], code = count, k, np.int64(count)
                count += 1
                break
            other = np.int64(starts[firsts[code]])
            same = stops[firsts[code]] - other == size
            i = 0
            while same and i < size:
                same = text[start + i] == text[other + i]
                i += 1
            if same:
                break
            place = (place + np.uint64(1)) & mask
        out[k] = code
    return count


def read_decimals(
    text: NDArray[np.uint8],
    cells: tuple[NDArray[np.int32], NDArray[np.int32]],
    markers: Markers,
    out: NDArray[np.float64],
    flags: NDArray[np.int32],
) -> None:
    """Parse the cells (starts, stops), each (rows, columns or more), into `out` (rows, columns).

    Missing cells become NaN. The flag of row i is WHOLE, HARD if a cell has too many digits to be
    rounded here, or WRONG + j if column j has the first cell that is not a finite number.
    """
    signs = markers.signs, markers.ends, markers.first
    tables = powers_of_five(), powers_of_ten()
    _decimals(text, *cells, *signs, *tables, out, out.view(np.uint64), flags)


@compiled("UniTuple(uint64, 2)(uint64, uint64)")
def _product(a, b):  # type: ignore[no-untyped-def]
    """Return the high and the low word of a * b."""
    a_low, a_high, b_low, b_high = a & LOW, a >> HALF, b & LOW, b >> HALF
    low, cross = a_low * b_low, a_high * b_low
    middle = (low >> HALF) + (cross & LOW) + a_low * b_high
    high = a_high * b_high + (cross >> HALF) + (middle >> HALF)
    return high, (middle << HALF) | (low & LOW)


@compiled("uint64(uint64, int64, uint64[:, ::1])")
def _nearest(digits, q, powers):  # type: ignore[no-untyped-def]
    """Return the bits of the double nearest to digits * 10^q: Lemire's Algorithm 1."""
    one = np.uint64(1)
    if digits == 0 or q < LEAST_POWER:
        return np.uint64(0)
    if q > MOST_POWER:
        return np.uint64(0x7FF) << np.uint64(52)
    zeros = np.int64(0)
    for width in (5, 4, 3, 2, 1, 0):
        step = np.int64(digits >> np.uint64(64 - (1 << width)) == 0) << width
        digits <<= np.uint64(step)
        zeros += step
    high, low = _product(digits, powers[q - LEAST_POWER, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = _product(digits, powers[q - LEAST_POWER, 1])
        low += more
        high += np.uint64(low < more)
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    mantissa = high >> shift
    exponent = ((217706 * q) >> 16) + 63 + np.int64(upper) - zeros + 1023
    if exponent <= 0:
        if exponent <= -63:
            return np.uint64(0)
        mantissa >>= np.uint64(1 - exponent)
        return (mantissa + (mantissa & one)) >> one  # a carry gives the smallest normal double
    half = low <= one and -4 <= q <= 23 and mantissa & np.uint64(3) == one
    if half and mantissa << shift == high:
        mantissa &= ~one  # a tie: round to even
    mantissa = (mantissa + (mantissa & one)) >> one
    bits = mantissa + (np.uint64(exponent - 1) << np.uint64(52))  # the leading bit adds the 1
    infinite = np.uint64(0x7FF) << np.uint64(52)
    return min(bits, infinite)


@compiled("Tuple((int64, uint64, int64, int64, int64))(uint8[::1], int64, int64, uint64, int64)")
def _figures(text, at, stop, digits, kept):  # type: ignore[no-untyped-def]
    """Append digits to the `kept` ones; return also how many were dropped, and their bits or-ed."""
    dropped, seen = np.int64(0), np.int64(0)
    while at < stop:
        digit = np.int64(text[at]) - ZERO
        if digit < 0 or digit > 9:
            break
        if kept < DIGITS:
            digits = digits * np.uint64(10) + np.uint64(digit)
            kept += digits != 0
        else:
            dropped += 1
            seen |= digit
        at += 1
    return at, digits, kept, dropped, seen


@compiled("UniTuple(int64, 2)(uint8[::1], int64, int64)")
def _exponent(text, at, stop):  # type: ignore[no-untyped-def]
    """Return the power after the letter e, and the position after it, -1 if there is none."""
    negative = at < stop and text[at] == MINUS
    if at < stop and (text[at] == MINUS or text[at] == PLUS):
        at += 1
    begin, power = at, np.int64(0)
    while at < stop and ZERO <= text[at] <= ZERO + 9:
        if power < FAR:
            power = power * 10 + np.int64(text[at]) - ZERO
        at += 1
    return -power if negative else power, at if at > begin else -1


@compiled(
    "int64(uint8[::1], int64, int64, uint64[:, ::1], float64[::1], float64[::1], uint64[::1])"
)
def _decimal(text, at, stop, powers, tens, value, bits):  # type: ignore[no-untyped-def]
    """Read [+-]digits[.digits][e[+-]digits] into value[0], of which `bits` is a view."""
    negative = at < stop and text[at] == MINUS
    if at < stop and (text[at] == MINUS or text[at] == PLUS):
        at += 1
    begin = at
    at, digits, kept, power, seen = _figures(text, at, stop, np.uint64(0), 0)
    figures = at - begin
    if at < stop and text[at] == DOT:
        begin = at + 1
        at, digits, kept, dropped, more = _figures(text, begin, stop, digits, kept)
        figures += at - begin
        power -= at - begin - dropped
        seen |= more
    if figures > 0 and at < stop and text[at] | np.uint8(32) == LETTER_E:
        exponent, at = _exponent(text, at + 1, stop)
        power += exponent
    if figures == 0 or at != stop:
        return WRONG
    if digits < np.uint64(1 << 53) and -22 <= power <= 22 and seen == 0:
        # Clinger (1990): both factors are exact, so one rounding is the nearest double.
        number = np.float64(digits)
        value[0] = number * tens[power] if power >= 0 else number / tens[-power]
    else:
        bits[0] = _nearest(digits, power, powers)
        if seen != 0 and bits[0] != _nearest(digits + np.uint64(1), power, powers):
            return HARD
        if not value[0] < np.inf:
            return WRONG
    if negative:
        value[0] = -value[0]
    return WHOLE


@compiled("boolean(uint8[::1], int64, int64, uint8[::1], int64[::1])")
def _is_marker(text, at, stop, signs, ends):  # type: ignore[no-untyped-def]
    begin = 0
    for end in ends:
        if end - begin == stop - at:
            same = True
            for k in range(stop - at):
                same = same and text[at + k] == signs[begin + k]
            if same:
                return True
        begin = end
    return False


@compiled(
    "int64(uint8[::1], int64, int64, uint8[::1], int64[::1], boolean[::1], uint64[:, ::1], "
    "float64[::1], float64[::1], uint64[::1])"
)
def _cell(text, at, stop, signs, ends, first, powers, tens, value, bits):  # type: ignore[no-untyped-def]
    while at < stop and (text[at] == BLANK or text[at] == TAB):
        at += 1
    while at < stop and (text[stop - 1] == BLANK or text[stop - 1] == TAB):
        stop -= 1
    begins = np.int64(text[at]) if at < stop else 256
    if first[begins] and _is_marker(text, at, stop, signs, ends):
        value[0] = np.nan
        return WHOLE
    return _decimal(text, at, stop, powers, tens, value, bits)


@compiled(
    "void(uint8[::1], int32[:, ::1], int32[:, ::1], uint8[::1], int64[::1], boolean[::1], "
    "uint64[:, ::1], float64[::1], float64[:, ::1], uint64[:, ::1], int32[::1])"
)
def _decimals(text, starts, stops, signs, ends, first, powers, tens, out, bits, flags):  # type: ignore[no-untyped-def]
    """Parse plain digits with or without a point here, and other cells by `_cell`.

    Indices are unsigned where speed matters: Numba checks signed ones for negative values. The
    loop over digits is written out twice: as a function it would take 1.7 times as long.
    """
    for i in range(out.shape[0]):
        flags[i] = WHOLE
        for j in range(out.shape[1]):
            start, stop = np.int64(starts[i, j]), np.int64(stops[i, j])
            if start < stop and not first[text[np.uint32(start)]]:
                at = start + (text[np.uint32(start)] == MINUS)
                digits, point = np.uint64(0), at
                while at < stop:
                    digit = np.uint8(text[np.uint32(at)] - np.uint8(ZERO))
                    if digit > 9:
                        break
                    digits = digits * np.uint64(10) + np.uint64(digit)
                    at += 1
                figures, point = at - point, at
                if at < stop and text[np.uint32(at)] == DOT:
                    at += 1
                    point = at
                    while at < stop:
                        digit = np.uint8(text[np.uint32(at)] - np.uint8(ZERO))
                        if digit > 9:
                            break
                        digits = digits * np.uint64(10) + np.uint64(digit)
                        at += 1
                    figures += at - point
                if at == stop and 0 < figures <= DIGITS:
                    if digits < np.uint64(1 << 53):
                        out[i, j] = np.float64(digits) / tens[np.uint32(at - point)]
                    else:
                        bits[i, j] = _nearest(digits, point - at, powers)
                    if text[np.uint32(start)] == MINUS:
                        out[i, j] = -out[i, j]
                    continue
            flag = _cell(
                text, start, stop, signs, ends, first, powers, tens, out[i, j:], bits[i, j:]
            )
            if flag == HARD:
                flags[i] = HARD
            elif flag == WRONG:
                flags[i] = WRONG + j
                break


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
