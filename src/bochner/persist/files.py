"""Model files: save, load and look at a model without pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator

from bochner.estimators import TwoSampleTest
from bochner.persist import container
from bochner.persist.container import ModelFileError
from bochner.persist.decoding import Decoder
from bochner.persist.encoding import Encoder
from bochner.persist.header import VERSION, Header, about, header_of, told
from bochner.persist.replacing import replacing

Path = str | os.PathLike[str]


def save(model: Any, path: Path, *, summary: dict[str, Any] | None = None) -> None:
    """Write a model into one file, which any safetensors reader can open.

    The file is written under another name first and then renamed: if anything fails, the file that
    was there before is still there. Callbacks are left out, and kernels that are made of Python
    functions are refused, since a file holds no code.

    Parameters
    ----------
    model : estimator
        Any estimator of this library, fitted or not.
    path : str or path
        Where to; a file that is there is replaced.
    summary : dict or None
        Plain values to be kept in the header beside what is known of the fit.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import bochner
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = bochner.KernelRegressor(random_state=0).fit(X, X[:, 0])
    >>> path = os.path.join(tempfile.mkdtemp(), "model.bochner")
    >>> bochner.save(model, path)
    >>> bool((bochner.load(path).predict(X) == model.predict(X)).all())
    True
    """
    encoder = Encoder()
    known = {"version": VERSION, "about": about(model, summary), "model": encoder(model)}
    text = json.dumps(known | {"records": encoder.records}, allow_nan=False, separators=(",", ":"))
    with replacing(path) as file:
        container.write(file, text, encoder.arrays)


def load(path: Path) -> Any:
    """Return the model in a file.

    Nothing in the file is run, and nothing of it is believed before it has been checked: the sizes,
    the digest, the names and types of all parts, and that they go together.

    Raises
    ------
    ModelFileError
        If the file is truncated, altered, of another kind, or of a newer version.
    """
    with _named(path), open(path, "rb") as file:
        known = container.contents(file)
        text = told(known)
        decoder = Decoder(container.arrays(file, known))
        for record in text["records"]:
            decoder.record(record)
        model = decoder(text["model"])
        if not isinstance(model, BaseEstimator | TwoSampleTest):
            raise ModelFileError("The file holds no model.")
    return model


def read_header(path: Path) -> Header:
    """Return what a model file says of its model, without reading its arrays.

    The digest is not checked, since that takes all bytes of the file: `load` does.
    """
    with _named(path), open(path, "rb") as file:
        return header_of(container.contents(file), os.fstat(file.fileno()).st_size)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Let an error begin with the name of the file that it is about."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error
