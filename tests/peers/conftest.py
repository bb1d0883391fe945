"""The suite opens no connection: its data are made here, or come with scikit-learn."""

import socket

import pytest


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    def refuse(*_):
        raise AssertionError("tests/peers opens no connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
