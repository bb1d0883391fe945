"""Files that are no model files, or no good ones, give an error and nothing else."""

import errno
import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from random import Random

import numpy as np
import pytest

import bochner
from bochner import KernelClassifier, KernelRegressor, ModelFileError
from bochner.features import Binning, Fourier
from bochner.kernels import FunctionKernel

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
X = np.random.default_rng(0).normal(size=(60, 3))


@pytest.fixture
def fuzz(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return import_module("model_mutations")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "model"
    bochner.save(KernelRegressor(random_state=0).fit(X, X[:, 0]), path)
    return path.read_bytes()


def refused(contents, path, match):
    path.write_bytes(contents)
    with pytest.raises(ModelFileError, match=match):
        bochner.load(path)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.9999])
def test_a_truncated_file_is_refused(good, share, tmp_path):
    refused(good[: int(share * len(good))], tmp_path / "model", "short|truncated|header")


def test_every_altered_byte_is_found(good, tmp_path):
    for place in np.random.default_rng(0).integers(len(good), size=200):
        changed = bytearray(good)
        changed[place] ^= 1
        refused(bytes(changed), tmp_path / "model", ".")


@pytest.mark.parametrize("contents", [b"", b"x", b"PK\x03\x04" + b"0" * 100, b"\x80\x04." * 9])
def test_a_foreign_file_is_refused(contents, tmp_path):
    refused(contents, tmp_path / "model", "short|truncated|not a model file")


def test_another_safetensors_file_is_refused(tmp_path):
    from safetensors.numpy import save_file

    save_file({"weights": X}, tmp_path / "model")
    with pytest.raises(ModelFileError, match="not a model file of this library"):
        bochner.load(tmp_path / "model")


def changed(fuzz, good, change):
    header, text, data = fuzz.unpacked(good)
    change(header, text)
    return fuzz.packed(header, text, data)


def record(text, name):
    return next(one["fields"] for one in text["records"] if one["class"].endswith(name))


LIES = {
    "newer": (lambda header, text: text.update(version=2), "Update bochner"),
    "class": (
        lambda header, text: text["records"][0].update({"class": "os.system"}),
        "unknown class",
    ),
    "part": (
        lambda header, text: record(text, "Setup").update(predict=1),
        "has no field 'predict'",
    ),
    "missing": (lambda header, text: record(text, "Setup").pop("seed"), "lacks the field"),
    "type": (lambda header, text: record(text, "Setup").update(seed="1"), "cannot be of type str"),
    "reference": (
        lambda header, text: record(text, "Setup").update(kernel={"record": 999}),
        "reference to a record",
    ),
    "size": (lambda header, text: record(text, "CenterBasis").update(size=10**6), "centres"),
    "array": (
        lambda header, text: record(text, "Expansion").update(weights={"array": "../../x"}),
        "lacks the array",
    ),
    "deep": (
        lambda header, text: text.update(model=json.loads("[" * 90 + "]" * 90)),
        "nested too deeply",
    ),
    "empty texts": (
        lambda header, text: record(text, "KernelRegressor").update(
            alpha={"texts": {"dtype": "<U1", "shape": [2**63, 0], "values": []}}
        ),
        "'texts' in the file is invalid",
    ),
    "one list twice": (
        lambda header, text: record(text, "KernelRegressor").update(
            alpha=[{"floats": "_filling.values"}, {"floats": "_filling.values"}]
        ),
        "lacks the array",
    ),
    "no model": (lambda header, text: text.update(model={"record": 0}), "holds no model"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_with_the_right_digest_is_refused(fuzz, good, lie, tmp_path):
    change, match = LIES[lie]
    refused(changed(fuzz, good, change), tmp_path / "model", match)


@pytest.mark.parametrize(
    "lie",
    [
        {"shape": [2**40, 2**20]},
        {"data_offsets": [0, 2**60]},
        {"dtype": "C128"},
        {"shape": [-1]},
        {"shape": [[1]]},
        {"shape": [2**62, 0], "data_offsets": [0, 0]},
        {"shape": [2**61, 0], "data_offsets": [0, 0]},
        {"shape": [2**40, 2**40, 0], "data_offsets": [0, 0]},
    ],
    ids=str,
)
def test_arrays_that_lie_are_refused_before_any_is_made(fuzz, good, lie, tmp_path):
    header, text, data = fuzz.unpacked(good)
    name = next(name for name in header if name != "__metadata__")
    header[name].update(lie)
    refused(fuzz.packed(header, text, data), tmp_path / "model", "array")


def test_bins_that_would_make_a_table_slow_are_refused(tmp_path):
    model = KernelRegressor(features=Binning(2), random_state=0).fit(X, X[:, 0])
    basis = model.expansion_.basis
    state = basis.__getstate__()
    step = np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64))  # undoes the mixing of the table
    crowded = np.arange(20_000, dtype=np.uint64) * step
    crowded ^= crowded >> np.uint64(32)
    with pytest.raises(ValueError, match="not those of any rows"):
        basis.__setstate__(state | {"known": [crowded, crowded]})


def test_a_long_header_is_not_read(tmp_path):
    with open(tmp_path / "model", "wb") as file:
        file.write((1 << 40).to_bytes(8, "little"))
        file.truncate(1 << 41)  # it takes no room on the disk
    with pytest.raises(ModelFileError, match="not a model file"):
        bochner.load(tmp_path / "model")


def test_random_changes_lead_to_refusals_or_to_models_that_predict(fuzz, good, tmp_path):
    path, chance, files = tmp_path / "model", Random(0), [good]
    for features in (Binning(4), Fourier(16)):
        bochner.save(KernelRegressor("laplacian", features=features).fit(X, X[:, 0]), path)
        files.append(path.read_bytes())
    found = Counter()
    for _ in range(300):
        path.write_bytes(fuzz.mutated(chance.choice(files), chance))
        try:
            model = bochner.load(path)
            found["loaded"] += 1
        except ModelFileError:
            found["refused"] += 1
            continue
        with suppress(Exception), warnings.catch_warnings(action="ignore"):
            model.predict(X)  # odd parameters are for it to refuse
    assert found["refused"] > found["loaded"] > 0


def test_python_code_is_not_saved(tmp_path):
    kernel = FunctionKernel(lambda A, B: A @ B.T)
    with pytest.raises(ValueError, match="model files hold no code"):
        bochner.save(KernelRegressor(kernel), tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_callbacks_are_left_out(tmp_path):
    bochner.save(KernelRegressor(callbacks=[print]), tmp_path / "model")
    assert bochner.load(tmp_path / "model").callbacks is None


def test_the_header_tells_of_the_model(classes, tmp_path):
    X, y = classes
    model = KernelClassifier(features=Binning(8), scale="range", random_state=0).fit(X, y)
    bochner.save(model, tmp_path / "model", summary={"data": "trees.csv"})
    header = bochner.read_header(tmp_path / "model")
    assert (header.version, header.model, header.columns) == (1, "KernelClassifier", 2)
    assert header.labels == ["ash", "beech", "oak"]
    assert header.parameters["features"]["grids"] == 8
    assert header.scaling["location"] == model.scaling_.location.tolist()
    assert header.summary["data"] == "trees.csv"
    assert header.summary["passes"] == model.n_iter_
    assert header.libraries["bochner"] == bochner.__version__
    assert json.loads(json.dumps(header.as_dict()))["digest"] == header.digest


def test_a_file_that_cannot_be_written_leaves_the_old_one(good, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(good)
    for number, match in ((errno.ENOSPC, "disk is full"), (errno.EDQUOT, "Make room")):

        def fail(handle, number=number):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match=match):
            bochner.save(KernelRegressor(), path)
        assert path.read_bytes() == good
        assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_not_there_or_no_folder_is_told(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        bochner.save(KernelRegressor(), tmp_path / "absent" / "model")
    with pytest.raises(NotADirectoryError, match="not a folder"):
        bochner.save(KernelRegressor(), tmp_path / "file" / "model")
    with pytest.raises(IsADirectoryError, match="folder of this name"):
        bochner.save(KernelRegressor(), tmp_path)


def test_importing_the_library_does_not_import_what_files_need():
    code = "import sys, bochner; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
