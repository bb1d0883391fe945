"""Compiled loops: a damaged cache or a full disk, `warmup`, and what is logged."""

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


NOWHERE = """
from numba.core import caching

caching.CacheImpl._locator_classes = []
"""


def test_without_a_writable_place_compilation_in_each_process_is_said(tmp_path):
    found = run(tmp_path, NOWHERE + LOOP)
    assert found.startswith("1")
    assert "each process compiles them anew" in found
    assert "Set NUMBA_CACHE_DIR" in found


WARM = """
import numpy as np, pandas as pd, warnings
import bochner
from bochner.compute.compiled import Compiled

seconds = bochner.warmup()
assert seconds > 0
read = []
machine_code = Compiled._machine_code

def noted(loop):
    read.append(f"{loop.function.__module__}.{loop.__name__}")
    return machine_code(loop)

Compiled._machine_code = noted
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
for rows in (200, 3_100):
    X = pd.DataFrame(rng.normal(size=(rows, 3)).astype(np.float32), columns=list("abc"))
    y = np.asarray(X["a"] + rng.normal(size=rows))
    text = X.assign(d=rng.choice(["ash", "elm", "oak"], rows), a=X["a"].where(X["b"] < 2))
    for table in (X, text, X.to_numpy(float)):
        bochner.KernelRegressor(random_state=0).fit(table, y).predict(table)
        for labels in (y > 0, np.digitize(y, [-1, 0, 1])):
            bochner.KernelClassifier(random_state=0).fit(table, labels).predict_proba(table)
    bochner.KernelQuantileRegressor(random_state=0).fit(X, y).predict(X)
bochner.KernelGaussianProcess(random_state=0).fit(X[:200], y[:200]).predict(X, return_std=True)
bochner.KernelNoveltyDetector(random_state=0).fit(X).predict(X)
print(read)
"""


def test_after_warmup_default_fits_compile_nothing_and_read_nothing_from_the_cache(tmp_path):
    assert run(tmp_path, WARM) == "[]\n"


LOGGED = """
import logging
logging.basicConfig(level=logging.INFO, format="%(message)s")
logging.getLogger("numba").setLevel(logging.WARNING)
from bochner.compute.compiled import compiled

@compiled("int64(int64)")
def double(x):
    return 2 * x

@compiled("int64(int64)")
def triple(x):
    return 3 * x

double(3), triple(3)
"""


def said_by(folder, text):
    script = folder / "loop.py"
    if not script.exists():  # a loop of a newer file is compiled anew
        script.write_text(text)
    return subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, timeout=120
    ).stderr


def test_the_first_compilation_is_logged_and_a_read_from_the_cache_is_not(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert said_by(tmp_path, LOGGED).count("Compiling loops for this computer") == 1
    assert said_by(tmp_path, LOGGED) == ""


def test_without_logging_python_is_quiet(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    assert said_by(tmp_path, LOGGED[LOGGED.index("from bochner") :]) == ""
