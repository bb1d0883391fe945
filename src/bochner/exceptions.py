"""Warnings of the library."""

from __future__ import annotations

__all__ = ["DataWarning"]


class DataWarning(UserWarning):
    """Data that are probably not what the user means, said before a fit.

    Columns that number the rows, constant columns, a column that gives the target away, nearly as
    many labels as rows, a model that is much larger than its rows.

    Examples
    --------
    >>> import warnings
    >>> from bochner.exceptions import DataWarning
    >>> warnings.simplefilter("ignore", DataWarning)  # if the data are as they should be
    >>> warnings.resetwarnings()
    """
