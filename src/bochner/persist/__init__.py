"""Model files, checkpoints and export to ONNX; no pickle.

A file may come from anyone. `load` runs no code from it, and checks it in this order; a check that
fails raises a `ModelFileError`.

1. `container.py`: the length of the header and the byte ranges, dtypes and shapes of the arrays,
   against the size of the file. Nothing larger than the file is allocated.
2. `header.py`: the version of the format, and the parts of the header.
3. `container.py`: the digest of the header and of the arrays, which are read now.
4. `decoding.py`: every value, by its kind. A record must be of a class in `registry.py`.
5. `checks.py`: the names and types of the fields of each record. No constructor is called.
   `pipelines.py` does the same for the transformers of scikit-learn that it knows.
6. `Validated.validate` of the record: that its fields agree, above all the shapes of arrays, which
   compiled loops trust.

Parameters of estimators and components are checked when a fit uses them.
"""

from bochner.persist.container import ModelFileError
from bochner.persist.files import Checkpoint, load, read_header, save
from bochner.persist.header import Header
from bochner.persist.onnx import to_onnx

__all__ = ["Checkpoint", "Header", "ModelFileError", "load", "read_header", "save", "to_onnx"]
