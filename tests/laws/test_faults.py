"""Each call to the system fails in turn while something is written: the old file or the new one.

`benchmarks/faults.py --sweep` lets each call of a checkpoint fail, and allocations, and kills
processes.
"""

import errno
import re
import sys
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
# The name of a scenario, and at least how many calls it makes.
SWEPT = {
    "save": 12,
    "checkpoint": 60,
    "rows on disk": 20,
    "codes on disk": 15,
    "report": 7,
    "predictions, CSV": 7,
    "predictions, Parquet": 7,
    "predictions, .npy": 7,
    "export to ONNX": 7,
}


@pytest.fixture(scope="module", autouse=True)
def benchmarks():
    sys.path.insert(0, str(BENCHMARKS))
    yield
    sys.path.remove(str(BENCHMARKS))


def test_everything_that_is_written_is_swept():
    scenarios = import_module("fault_sweep").SCENARIOS
    assert {kind.name for kind in scenarios} == SWEPT.keys()


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


def test_a_full_disk_leaves_the_old_file(tmp_path):
    found = import_module("fault_disks").on_full_disk(tmp_path)
    if found is None:
        pytest.skip("a file system of its own needs unshare and mount")
    assert found.keys() == {"save", "checkpoint", "report", "predictions", "rows on disk"}
    for is_lost, told in found.values():
        assert not is_lost
        assert "oom" in told  # what to do: make room, or choose another disk


@pytest.mark.parametrize("kind", ["model", "csv", "svmlight", "npy", "parquet"])
def test_a_file_that_shrinks_while_it_is_read_is_refused(kind, tmp_path):
    """In a process of its own, since a mapped file that shrinks can end it."""
    told = import_module("fault_disks").shrinking_file(kind, tmp_path)
    assert told.returncode == 0, told.stderr
    assert re.search("shorter|has changed|damaged", told.stdout)
