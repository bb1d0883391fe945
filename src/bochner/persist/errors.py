"""ModelFileError: a file that is no model file, or not a good one."""


class ModelFileError(ValueError):
    """Raised for a file that is truncated, altered, foreign, newer than this library, or hostile.

    >>> issubclass(ModelFileError, ValueError)
    True
    """
