"""Export of models with a dense map to ONNX."""

from bochner.persist.onnx.export import to_onnx

__all__ = ["to_onnx"]
