"""Each call to the system fails in turn while something is written: the old file or the new one.

`benchmarks/faults.py --sweep` does this for everything that is written, and kills processes.
"""

import errno
import sys
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# The name of a scenario, and at least how many calls it makes. The tests of the others are scripts.
SWEPT = {"save": 12, "checkpoint": 60, "rows on disk": 20, "codes on disk": 15, "report": 7}


@pytest.fixture(scope="module", autouse=True)
def benchmarks():
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
@pytest.mark.parametrize("name", SWEPT)
def test_nothing_is_lost_whichever_call_fails(name, lasting):
    scenarios = import_module("fault_sweep").SCENARIOS
    (kind,) = (kind for kind in scenarios if kind.name == name)
    every = 3 if name == "checkpoint" else 1
    found = import_module("fault_sweep").sweep(kind, lasting=lasting, every=every)
    assert found.failed * every >= SWEPT[name]
    assert {"open", "write"} <= found.made.keys()
    assert found.lost == []


def test_a_fault_that_is_injected_is_found(tmp_path):
    faults = import_module("fault_injection")
    path = tmp_path / "file"
    calls = faults.Calls([tmp_path], at=2)
    with (
        pytest.raises(OSError, match="No space left") as caught,
        faults.failing(calls),
        open(path, "wb", buffering=0) as file,
    ):
        file.write(b"12345678")
    assert caught.value.errno == errno.ENOSPC
    assert path.read_bytes() == b"1234"
    assert calls.made == {"open": 1, "write": 1}
