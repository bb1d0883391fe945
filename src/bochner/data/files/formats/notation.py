"""Numbers in other notations than 1234.5: with a currency, a percent sign, thousands separators."""

from __future__ import annotations

import re
from collections.abc import Sequence

TOLERATED = 0.1  # fraction of the texts of a column that may be no numbers

CURRENCY = r"(?:[$€£¥₹]|USD|EUR|GBP|CHF|JPY)"
SPACE = "[ \t\u00a0\u202f]*+"  # possessive: runs of blanks are not tried in every division
# 1234.5; 1,5 and 1.234,5 and 1,234.5; thousands by blanks, apostrophes and underscores.
POINT = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
COMMAS = r"[0-9][0-9.]*(?:,[0-9]+)+(?:\.[0-9]*)?"
GROUPS = "[0-9]{1,3}(?:[ '’_\u00a0\u202f][0-9]{3})+(?:[.,][0-9]+)?"
DIGITS = f"(?:{GROUPS}|{COMMAS}|{POINT})"
PLAIN = re.compile(rf"{SPACE}[+-]?(?:{POINT})(?:[eE][+-]?[0-9]+)?{SPACE}")
SIGNED = f"[+-]?{SPACE}{CURRENCY}?{SPACE}[+-]?{DIGITS}{SPACE}{CURRENCY}?{SPACE}%?"
OTHER = re.compile(rf"{SPACE}(?:{SIGNED}|\({SIGNED}\)|0[xX][0-9a-fA-F]+){SPACE}")


def is_other_number(text: str) -> bool:
    """Whether a text is a number that is not written like 1234.5.

    >>> [is_other_number(text) for text in ("$1,234", "12 %", "1 234,5", "12.5", "a-12")]
    [True, True, True, False, False]
    """
    return OTHER.fullmatch(text) is not None and PLAIN.fullmatch(text) is None


def other_numbers(texts: Sequence[str]) -> list[str]:
    """Return the numbers in another notation if nearly all texts are numbers, else none.

    Those in the usual notation, such as 900 among 1,234, count as numbers too.

    >>> other_numbers(["900", "1,234"]), other_numbers(["900", "oak"])
    (['1,234'], [])
    """
    others = [text for text in texts if is_other_number(text)]
    if not others:
        return []
    numbers = len(others) + sum(PLAIN.fullmatch(text) is not None for text in texts)
    return others if numbers > (1 - TOLERATED) * len(texts) else []


def notation_message(name: str, other: str, decimal: str = ".", remedy: str = "Rewrite") -> str:
    """Return the message that refuses numbers in another notation as text."""
    return (
        f'column "{name}" seems to hold numbers that are not written like 1234{decimal}5, but '
        f"{other}. {remedy} them, give categorical=[{name!r}] if they are categories or labels, or "
        f"leave them out if they are no target: drop=[{name!r}]."
    )
