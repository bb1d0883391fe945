"""A model file that was ever written loads, predicts as it did, and goes on.

The files in `models/` stand for the versions that wrote them; `record.py` adds those of new classes
and changes none.
"""

import pytest

import bochner
from golden.comparison import FOLDER, difference, read, this_platform
from golden.stored_models import (
    MODELS,
    TRAIN,
    gone_on,
    loaded_outcome,
    names_in,
    path_of,
    registered,
    stored,
    targets,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RECORDED = read(FOLDER / "models.json")
HERE = this_platform()
IN_NO_FILE = {  # no estimator keeps one, though files may name them
    "data.PrincipalComponents",
    "data.RowNormalization",
    "progress.Progress",
    "training.Progress",
    "progress.Reason",
    "training.Reason",
}
every_file = pytest.mark.parametrize("name", RECORDED)
every_model = pytest.mark.parametrize("name", [n for n, one in RECORDED.items() if "loaded" in one])
every_unfinished = pytest.mark.parametrize(
    "name", [n for n, one in RECORDED.items() if "gone on" in one]
)


def assert_as_recorded(name, when, model):
    known = RECORDED[name]
    found = loaded_outcome(model, known["data"])
    told = difference(known[when], found, known["platform"] == HERE)
    assert not told, f"{path_of(name).name}, {when}: {told}"


@every_file
def test_a_stored_file_loads(name):
    header = bochner.read_header(path_of(name))
    assert header.model == type(bochner.load(path_of(name))).__name__
    assert header.unfinished == (RECORDED[name]["on"] == "fit")


@every_model
def test_a_stored_model_predicts_as_it_did(name):
    assert_as_recorded(name, "loaded", bochner.load(path_of(name)))


@every_model
def test_a_stored_model_that_is_saved_again_predicts_as_it_did(name, tmp_path):
    bochner.save(bochner.load(path_of(name)), tmp_path / "again")
    assert_as_recorded(name, "loaded", bochner.load(tmp_path / "again"))


@every_unfinished
def test_a_stored_fit_goes_on_to_the_same_end(name):
    assert_as_recorded(name, "gone on", gone_on(bochner.load(path_of(name)), RECORDED[name]))


@every_unfinished
def test_a_stored_fit_that_is_saved_again_goes_on_to_the_same_end(name, tmp_path):
    bochner.save(bochner.load(path_of(name)), tmp_path / "again")
    model = gone_on(bochner.load(tmp_path / "again"), RECORDED[name])
    assert_as_recorded(name, "gone on", model)


@pytest.mark.parametrize(
    "name", [n for n, one in RECORDED.items() if one["on"] == "fit" and one["data"] == "rows"]
)
def test_a_stored_fit_is_not_continued_on_other_rows(name):
    known = RECORDED[name]
    X, y = TRAIN["rows"].copy(), targets("rows", known["target"])
    X[-1, 0] += 1.0
    with pytest.raises(ValueError, match="checkpoint of a fit to other rows"):
        bochner.load(path_of(name)).fit(X, y)


def test_every_registered_class_is_in_a_stored_file():
    known = registered()
    names = set().union(*(names_in(path_of(name)) for name in RECORDED))
    found = {known[name] for name in names}  # by its old name a class is found as well
    missing = sorted(name for name in known.keys() - IN_NO_FILE if known[name] not in found)
    assert not missing, (
        f"No stored file holds {', '.join(missing)}. Give stored_models.py a model of it and run "
        "record.py, which adds the file."
    )


def test_every_model_has_its_file():
    missing = sorted(stored().keys() - RECORDED.keys())
    assert not missing, f"Run record.py, which adds the files of {', '.join(missing)}."
    assert {path_of(name) for name in RECORDED} == set(MODELS.iterdir())
