"""A damaged cache of compiled loops, or a full disk, does not end a fit."""

import subprocess
import sys

import pytest

LOOP = """
import warnings
from bochner.compute.compiled import compiled

@compiled("int64(int64)")
def double(x):
    return 2 * x

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    assert double(3) == 6
print(len(said), *[one.message for one in said])
"""


def run(folder, text=LOOP):
    script = folder / "loop.py"
    script.write_text(text)
    found = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False, timeout=120
    )
    assert found.returncode == 0, found.stderr
    return found.stdout


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_a_damaged_cache_is_replaced(tmp_path, ending, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert run(tmp_path).startswith("0")
    for path in (tmp_path / "cache").rglob(f"*.{ending}"):
        path.write_bytes(b"\x80damaged")
    assert run(tmp_path).startswith("0")
    for path in (tmp_path / "cache").rglob(f"*.{ending}"):
        assert path.read_bytes() != b"\x80damaged"


FULL = """
from numba.core import caching

def save(*given):
    raise OSError(28, "No space left on device")

caching.IndexDataCacheFile.save = save
"""


def test_a_full_disk_is_said_with_a_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    found = run(tmp_path, FULL + LOOP)
    assert found.startswith("1")
    assert "No space left" in found
    assert "Set NUMBA_CACHE_DIR" in found
