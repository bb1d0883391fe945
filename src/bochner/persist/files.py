"""Save and load a model, read the header of its file, and save checkpoints of a fit."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from bochner.callbacks import CheckpointCallback, Progress
from bochner.estimators import TwoSampleTest
from bochner.persist import container
from bochner.persist.container import ModelFileError
from bochner.persist.decoding import Decoder
from bochner.persist.encoding import Encoder
from bochner.persist.header import VERSION, Header, describe, header_of, parse_text
from bochner.persist.pipelines import is_model, is_part
from bochner.replacing import replacing
from bochner.training.loop import INTERRUPTED

Path = str | os.PathLike[str]


def save(model: Any, path: Path, *, summary: dict[str, Any] | None = None) -> None:
    """Save a model in one file, which any safetensors reader can open.

    The file is written under a temporary name, read back with all checks of `load`, and then
    renamed: if anything fails, an earlier file of this name is unchanged. Callbacks are left out.
    Models with kernels made of Python functions are refused, since a file holds no code.

    Parameters
    ----------
    model : estimator
        Any estimator of this library, fitted or not, or a fitted scikit-learn pipeline that ends
        with one; its other steps are transformers of known classes.
    path : str or path
        The file to write; an existing file is replaced.
    summary : dict or None
        Plain values to add to the summary of the fit in the header.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import bochner
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> model = bochner.KernelRegressor(random_state=0).fit(X, X.sum(axis=1))
    >>> path = os.path.join(tempfile.mkdtemp(), "model.bochner")
    >>> bochner.save(model, path)
    >>> bool((bochner.load(path).predict(X) == model.predict(X)).all())
    True
    """
    if not is_model(model):
        raise ValueError(
            f"Model files hold estimators of this library, and pipelines that end with one; got a "
            f"{type(model).__name__}."
        )
    encoder = Encoder()
    about, coded = describe(model, summary), _encoded(encoder, model)
    head = {"version": VERSION, "about": about, "model": coded}
    text = json.dumps(head | {"records": encoder.records}, allow_nan=False, separators=(",", ":"))
    with replacing(path) as file:
        container.write(file, text, encoder.arrays)
        _require_readable(file)


def load(path: Path) -> Any:
    """Return the model in a file.

    No code in the file is run. The sizes, the digest, the names and types of all parts, and that
    the parts agree are checked before anything is computed with them.

    Raises
    ------
    ModelFileError
        If the file is truncated, altered, of another kind, or of a newer version.
    """
    with _named(path), open(path, "rb") as file:
        contents = container.read_contents(file)
        text = parse_text(contents)
        return _model(text, container.read_arrays(file, contents))


def read_header(path: Path) -> Header:
    """Return the description of the model in a file, without reading its arrays.

    The digest is not checked, since that needs all bytes of the file; `load` checks it.
    """
    with _named(path), open(path, "rb") as file:
        return header_of(container.read_contents(file), os.fstat(file.fileno()).st_size)


def _encoded(encoder: Encoder, model: Any) -> Any:
    return encoder.pipeline_part(model, "pipeline") if is_part(model) else encoder(model)


def _model(text: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Any:
    decoder = Decoder(arrays)
    for record in text["records"]:
        decoder.add(record)
    model = decoder(text["model"])
    if not (isinstance(model, BaseEstimator | TwoSampleTest) and is_model(model)):
        raise ModelFileError("The file holds no model.")
    return model


def _require_readable(file: BinaryIO) -> None:
    """Check a file that has just been written as `load` would, while the model is in memory."""
    file.flush()
    file.seek(0)
    try:
        contents = container.read_contents(file)
        header_of(contents, os.fstat(file.fileno()).st_size)
        _model(parse_text(contents), container.map_arrays(file, contents))
    except ModelFileError as error:
        raise ModelFileError(
            f"Nothing was written, since the file could not be loaded again: {error} The model in "
            "memory is unchanged. If you have set its attributes by hand, fit it again; otherwise "
            "please report this, and keep the model with pickle or joblib meanwhile."
        ) from error


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Put the name of the file at the beginning of an error."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from error


@dataclass
class Checkpoint(CheckpointCallback):
    """A callback that saves the model at regular intervals, and when the fit is interrupted.

    The file is a model file. `load` returns a model that predicts with what it has learned so far.
    Its next `fit` to the same rows resumes the training, and the result is the same in every bit as
    that of a fit without interruption. Files hold no callbacks: set new ones before you resume. The
    result of a search for scales is in the file; a fit that is killed during the search starts
    again.

    Parameters
    ----------
    path : str or path
        The file to write; each checkpoint replaces the one before.
    seconds : float
        The time between checkpoints; 0 saves after every batch.
    summary : dict or None
        Plain values to add to the header, as in `save`.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> import bochner
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> path = os.path.join(tempfile.mkdtemp(), "fit.checkpoint")
    >>> model = bochner.KernelRegressor(random_state=0, callbacks=[bochner.Checkpoint(path, 0)])
    >>> model = model.fit(X, X.sum(axis=1))
    >>> bochner.read_header(path).unfinished
    True
    >>> resumed = bochner.load(path).fit(X, X.sum(axis=1))
    >>> bool((resumed.predict(X) == model.predict(X)).all())
    True
    """

    path: Path
    seconds: float = 60.0
    summary: dict[str, Any] | None = None
    _last: float = field(default_factory=time.monotonic, init=False, repr=False, compare=False)

    def keep(self, progress: Progress, unfinished: Callable[[], Any]) -> None:
        """Save the model once `seconds` have passed, or if the fit is interrupted."""
        ended = progress.reason is not None and progress.reason is not INTERRUPTED
        is_time = time.monotonic() - self._last >= self.seconds
        if ended or not (is_time or progress.reason is INTERRUPTED):
            return
        save(unfinished(), self.path, summary=self.summary)
        self._last = time.monotonic()
