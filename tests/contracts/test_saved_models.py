"""What `save` writes, `load` reads: every solver, features, machine and way in which a fit ends."""

import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

import bochner
from bochner import Checkpoint, KernelQuantileRegressor
from bochner.losses import Quantile
from bochner.persist import container
from contracts.solver_cases import CASES, SOLVERS, Case, labels, table

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class InterruptAt:
    """Presses Ctrl-C after a batch."""

    def __init__(self, step: int) -> None:
        self.step = step

    def __call__(self, progress: Any) -> None:
        if progress.step == self.step and progress.reason is None:
            signal.raise_signal(signal.SIGINT)


def converged(model: Any, data: tuple[Any, ...], path: Path) -> Any:
    names = model.get_params()
    if "early_stopping" in names:
        model.set_params(early_stopping=True, tol=0.5, max_passes=None)
    if "solver__tol" in names:
        model.set_params(solver__tol=0.3)
    return model.fit(*data)


def after_passes(model: Any, data: tuple[Any, ...], path: Path) -> Any:
    return model.set_params(max_passes=2).fit(*data)


def after_seconds(model: Any, data: tuple[Any, ...], path: Path) -> Any:
    return model.set_params(max_seconds=1e-9).fit(*data)


def interrupted(model: Any, data: tuple[Any, ...], path: Path) -> Any:
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callbacks=[InterruptAt(1)]).fit(*data)
    return model


def at_a_checkpoint(model: Any, data: tuple[Any, ...], path: Path) -> Any:
    callbacks = [Checkpoint(path, 0), InterruptAt(1)]
    with pytest.raises(KeyboardInterrupt):
        model.set_params(callbacks=callbacks).fit(*data)
    return bochner.load(path)


ENDINGS: dict[str, Callable[[Any, tuple[Any, ...], Path], Any]] = {
    "converged": converged,
    "passes": after_passes,
    "seconds": after_seconds,
    "Ctrl-C": interrupted,
    "checkpoint": at_a_checkpoint,
}
MACHINES = [
    name
    for name in bochner.__all__
    if isinstance(kind := getattr(bochner, name), type)
    and issubclass(kind, BaseEstimator)
    and "warm_start" in kind().get_params()
]
every_ending = pytest.mark.parametrize("ending", ENDINGS)


def assert_read_back(model: Any, X: np.ndarray, folder: Path) -> None:
    """The loaded model predicts the same bits, and writes the same file."""
    first, second = folder / "first", folder / "second"
    bochner.save(model, first)
    loaded = bochner.load(first)
    bochner.save(loaded, second)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert first.read_bytes() == second.read_bytes()


def data_of(kind: Any) -> tuple[Any, ...]:
    """What a machine is fitted on."""
    X, y = table()
    if is_classifier(kind()):
        return X, labels(y)
    return (X, y) if is_regressor(kind()) else (X,)


def machines(case: Case, warm_start: bool) -> Iterator[tuple[Any, np.ndarray, Any]]:
    X, y = table()
    yield case.regressor(warm_start=warm_start), X, y
    yield case.classifier(warm_start=warm_start), X, labels(y)
    if issubclass(Quantile, SOLVERS[case.name].tags.loss_type):
        given = case.regressor(warm_start=warm_start).get_params(deep=False)
        names = clone(KernelQuantileRegressor()).get_params(deep=False).keys() & given.keys()
        yield KernelQuantileRegressor([0.1, 0.9], **{name: given[name] for name in names}), X, y


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("case", CASES, ids=str)
@every_ending
def test_what_save_writes_load_reads(case, ending, tmp_path):
    for warm_start in (False, True):
        for model, X, y in machines(case, warm_start):
            ended = ENDINGS[ending](model, (X, y), tmp_path / "checkpoint")
            assert_read_back(ended, X, tmp_path)


@pytest.mark.parametrize("name", MACHINES)
@every_ending
def test_what_save_writes_of_a_machine_with_its_defaults_load_reads(name, ending, tmp_path):
    kind = getattr(bochner, name)
    data = data_of(kind)
    for warm_start in (False, True):
        model = ENDINGS[ending](kind(random_state=0, warm_start=warm_start), data, tmp_path / "c")
        assert_read_back(model, data[0], tmp_path)


def test_save_reads_its_file_before_it_replaces_another(tmp_path, monkeypatch):
    X, y = table()
    path, model = tmp_path / "model", bochner.KernelRegressor(random_state=0).fit(X, y)
    bochner.save(model, path)
    before = path.read_bytes()
    monkeypatch.setattr(container, "write", partial(_one_bit_off, container.write))
    with pytest.raises(bochner.ModelFileError, match=r"Nothing was written.*digest"):
        bochner.save(model, path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def _one_bit_off(write: Callable[..., None], file: Any, *contents: Any) -> None:
    """Write a file as a faulty disk would."""
    write(file, *contents)
    file.seek(-1, 2)
    last = file.read(1)[0]
    file.seek(-1, 2)
    file.write(bytes([last ^ 1]))
