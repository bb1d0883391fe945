"""Model files, checkpoints and export to ONNX; no pickle."""

from bochner.persist.checkpoint import Checkpoint
from bochner.persist.container import ModelFileError
from bochner.persist.files import load, read_header, save
from bochner.persist.header import Header
from bochner.persist.onnx import to_onnx

__all__ = ["Checkpoint", "Header", "ModelFileError", "load", "read_header", "save", "to_onnx"]
