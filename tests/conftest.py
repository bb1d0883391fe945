"""Small data that many tests share."""

import inspect
import signal
from functools import partialmethod

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner


@pytest.fixture
def regression():
    """Rows and noisy values of a smooth function, (400, 3) and (400,)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=400)


@pytest.fixture
def classes():
    """Rows of three classes with string labels, (450, 2) and (450,)."""
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    places = rng.integers(3, size=450)
    return centres[places] + rng.normal(size=(450, 2)), np.array(["ash", "beech", "oak"])[places]


@pytest.fixture
def two_classes(classes):
    """Rows of two classes."""
    X, y = classes
    return X[y != "oak"], y[y != "oak"]


@pytest.fixture(autouse=True, scope="session")
def separate_errors():
    """Let commands keep their errors apart and their output whole, as Click does from 8.2 on."""
    if "mix_stderr" in inspect.signature(CliRunner).parameters:
        CliRunner.__init__ = partialmethod(CliRunner.__init__, mix_stderr=False)
        Result.output = property(lambda result: result.stdout + result.stderr)


@pytest.fixture(autouse=True, scope="session")
def interrupts():
    """Let Ctrl-C be heard: a process that was started in the background ignores it."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
