"""Every allocation above a megabyte of small fits fails in turn.

A library of a few lines stands before those of the system (LD_PRELOAD), which needs a C compiler.
After each failure the estimator has the fit that it had before.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

LIMIT = 1 << 20
ROWS = 1_500
PATIENCE = 7200  # seconds for the fits of a solver
LIBRARY = """
#include <errno.h>
#include <stddef.h>
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
long fault_at = 0, fault_seen = 0;
static int fails(size_t size) {
    if (!fault_at || size <= LIMIT) return 0;
    if (__atomic_add_fetch(&fault_seen, 1, __ATOMIC_SEQ_CST) != fault_at) return 0;
    errno = ENOMEM;
    return 1;
}
void *malloc(size_t n) { return fails(n) ? NULL : __libc_malloc(n); }
void *calloc(size_t a, size_t b) { return fails(a * b) ? NULL : __libc_calloc(a, b); }
void *realloc(void *p, size_t n) { return fails(n) ? NULL : __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { return fails(n) ? NULL : __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { return fails(n) ? NULL : __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) {
    *p = fails(n) ? NULL : __libc_memalign(a, n);
    return *p ? 0 : ENOMEM;
}
"""
SOLVERS: dict[str, dict[str, Any]] = {
    "direct": {"solver": "direct"},
    "eigenpro": {"solver": "eigenpro", "max_passes": 1},
    "nystroem": {"solver": "nystroem", "max_passes": 2},
    "dsg": {"solver": "dsg", "max_passes": 1},
    "cg": {"solver": "cg", "max_passes": 2},
    "backfitting": {"kernel": "laplacian", "solver": "backfitting", "max_passes": 2},
    "smo": {"solver": "smo", "loss": "absolute", "max_passes": 1},
}


def allocations() -> int:
    """Let each fail; return how often something was lost."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        print("\nallocations: left out, there is no C compiler, or this is not Linux")
        return 0
    print(f"\n{'each allocation > 1 MB fails':<28} {'failed':>7} {'went on':>8} {'lost':>5}")
    lost = 0
    with tempfile.TemporaryDirectory() as name:
        source, library = Path(name) / "fault.c", Path(name) / "fault.so"
        source.write_text(f"#define LIMIT {LIMIT}L\n{LIBRARY}")
        built = [
            compiler,
            "-shared",
            "-fPIC",
            "-O1",
            "-fno-builtin",
            str(source),
            "-o",
            str(library),
        ]
        subprocess.run(built, check=True)
        for solver in SOLVERS:
            lost += _in_children(solver, library)
    return lost


def _in_children(solver: str, library: Path) -> int:
    """Run the fits; a child that dies has lost, and another goes on after it."""
    at, failed, went_on, lost = 1, 0, 0, []
    while at:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", __file__, solver, str(at)],
            env=os.environ | {"LD_PRELOAD": str(library)},
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        ends = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
        failed += sum(end[1] == "MemoryError" for end in ends)
        went_on += sum(end[1] == "went on" for end in ends)
        lost += [end for end in ends if end[1] not in ("MemoryError", "went on", "end")]
        if done.returncode == 0:
            break
        at = ends[-1][0] + 1 if ends else at + 1
        lost.append([at, f"exit code {done.returncode}: {done.stderr[-300:]}"])
        at += 1
    print(f"{solver:<28} {failed:>7} {went_on:>8} {len(lost):>5}", flush=True)
    print(*lost[:5], sep="\n", end="\n" if lost else "")
    return len(lost)


def _serve(solver: str, at: int) -> None:
    import bochner

    warnings.simplefilter("ignore")
    counter = ctypes.CDLL(None)
    turn = ctypes.c_long.in_dll(counter, "fault_at")
    seen = ctypes.c_long.in_dll(counter, "fault_seen")
    X = np.random.default_rng(0).normal(size=(ROWS, 4))
    y = np.sin(2 * X[:, 0]) + X[:, 1]

    def machine() -> Any:
        settings = {"kernel": "gaussian"} | SOLVERS[solver]
        return bochner.KernelRegressor(random_state=0, early_stopping=False, **settings)

    new = machine().fit(X, y).predict(X)
    old = machine().fit(X, -y).predict(X)
    model = machine().fit(X, -y)
    while True:
        turn.value, seen.value, end = at, 0, "went on"
        try:
            model.fit(X, y)
        except MemoryError:
            end = "MemoryError"
        except BaseException as error:
            end = f"{type(error).__name__}: {str(error)[:200]}"
        turn.value = 0
        if seen.value < at:
            break
        expected = new if end == "went on" else old
        if not np.array_equal(model.predict(X), expected):
            end = f"the estimator is another ({end})"
        print(json.dumps([at, end]), flush=True)
        if end == "went on":
            model = machine().fit(X, -y)
        at += 1
    if not np.array_equal(model.predict(X), new):
        print(json.dumps([at, "the last fit gave other bits"]), flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))
