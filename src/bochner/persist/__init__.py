"""Model files, checkpoints and export to ONNX; no pickle.

A file may come from anyone. `load` runs no code of it, and checks it in this order; whatever fails
raises a `ModelFileError`.

1. `container.py`: the length of the header, the number of its parts, and the dtypes, shapes and
   byte ranges of the arrays, against the size of the file. Then the arrays are read and their
   digest is compared.
2. `header.py`: the version of the format and the parts of the header.
3. `decoding.py`: every value, by its kind. A record must be of a class in `registry.py`.
4. `checks.py`: the names and types of the fields of each record. Its constructor is not called.
5. `Validated.validate` of the record: that its fields are consistent, above all the shapes of
   arrays, which compiled loops trust.

The parameters of estimators and components are checked when a fit uses them.
"""

from bochner.persist.checkpoint import Checkpoint
from bochner.persist.container import ModelFileError
from bochner.persist.files import load, read_header, save
from bochner.persist.header import Header
from bochner.persist.onnx import to_onnx

__all__ = ["Checkpoint", "Header", "ModelFileError", "load", "read_header", "save", "to_onnx"]
