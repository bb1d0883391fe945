"""Records that validate themselves, for readers that do not trust where a record comes from."""

from __future__ import annotations


class Validated:
    """A record that can be stored, and whose fields must agree with each other.

    A model file is data from outside: after the fields of a record are read and their types are
    checked, `validate` is called before anything computes with them. Compiled loops trust the
    shapes that they are given, so every array that reaches one has to be checked here.
    """

    def validate(self) -> None:
        """Raise ValueError if the fields contradict each other."""


def require_sound(sound: bool, what: str) -> None:
    """Raise ValueError if a record is not sound; `what` says what is wrong with it.

    >>> require_sound(len([1, 2]) == 3, "it needs 3 numbers")
    Traceback (most recent call last):
    ValueError: it needs 3 numbers
    """
    if not sound:
        raise ValueError(what)
