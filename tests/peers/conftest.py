"""The suite opens no connection: its data are made here, or come with scikit-learn."""

import socket

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    def refuse(*_):
        raise AssertionError("tests/peers opens no connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Let other libraries use one thread: for few rows, waiting for a second one takes longer."""
    with threadpool_limits(1):
        yield
