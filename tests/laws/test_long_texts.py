"""Long lists of texts in model files: names of columns, categories and labels."""

import numpy as np
import pytest

import bochner
from bochner.data import Schema
from bochner.data.files.schema.schema import NumberedNames
from bochner.persist.decoding import Decoder
from bochner.persist.encoding import Encoder

TEXTS = ["", "oak", "Ölbaum", "\ud800", "a\nb\x00"] * 300


def test_long_lists_of_texts_come_back_and_take_no_part_of_the_header_each():
    encoder = Encoder()
    told = encoder({"list": TEXTS, "array": np.array(TEXTS, object), "none": (None,) * 500})
    assert len(str(told)) < 500
    found = Decoder(encoder.arrays)(told)
    assert found["list"] == TEXTS
    assert found["array"].tolist() == TEXTS
    assert found["none"] == (None,) * 500


@pytest.mark.parametrize("named", [True, False])
def test_a_model_of_very_many_columns_can_be_saved(tmp_path, named):
    columns = 300_000
    names = tuple(map(str, range(columns))) if named else NumberedNames(columns)
    model = bochner.KernelRegressor()
    model.schema_ = Schema(names, (None,) * columns, filling=(0.0,) * columns, sparse=True)
    bochner.save(model, tmp_path / "wide.bochner")
    assert bochner.load(tmp_path / "wide.bochner").schema_ == model.schema_


def test_numbered_names_are_the_texts_of_numbers():
    names = NumberedNames(3)
    assert names == ("0", "1", "2") == tuple(names)
    assert hash(names) == hash(tuple(names))
    assert names[1:] == ("1", "2")
    assert names == NumberedNames(3) != NumberedNames(4)
    assert names not in (("0", "1"), ("0", "1", "x"), ["0", "1", "2"])
    with pytest.raises(ValueError, match="number of columns"):
        NumberedNames(1 << 40).validate()


@pytest.mark.parametrize(
    ("signs", "ends"),
    [
        (b"oak", [-1, 3]),
        (b"oak", [2, 1, 3]),
        (b"oak", [2, 4]),
        (b"oak", [2]),
        (b"oak", []),
        (b"\xff\xfe", [2]),
    ],
)
def test_texts_that_are_not_where_they_should_be_are_refused(signs, ends):
    arrays = {"signs": np.frombuffer(signs, np.uint8), "ends": np.array(ends, np.int64)}
    with pytest.raises(bochner.ModelFileError):
        Decoder(arrays)({"words": ["signs", "ends"]})


@pytest.mark.parametrize(
    "told",
    [
        {"texts": {"dtype": "<U60000", "shape": [9001], "values": ["x" * 60000] + [""] * 9000}},
        {"range": [0, 10**12, 1]},
    ],
)
def test_few_signs_that_ask_for_much_memory_are_refused(told):
    with pytest.raises(bochner.ModelFileError):
        Decoder({})(told)
