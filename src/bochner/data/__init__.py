"""Sources of rows in batches, and wrappers that transform, shuffle, hold out and read ahead."""

from bochner.data.batch import Batch, Rows
from bochner.data.files.file_source import FileSource
from bochner.data.files.open_source import open_source
from bochner.data.files.parsing import SkippedRows
from bochner.data.files.schema.first_pass import ReadingProgress
from bochner.data.files.schema.schema import Schema
from bochner.data.files.split import Split
from bochner.data.held_out import HeldOut, hold_out
from bochner.data.memory_sources import ArraySource, IteratorSource, as_source
from bochner.data.prefetch import Prefetched, prefetched
from bochner.data.shuffle import Shuffled, shuffled
from bochner.data.source import DataSource, RandomAccess, Stream, even_cut
from bochner.data.synthetic import RadialWave
from bochner.data.transforms.missing import Filling
from bochner.data.transforms.principal_components import PrincipalComponents, principal_components
from bochner.data.transforms.scaling import RowNormalization, Scaling, row_normalized, scaled
from bochner.data.transforms.transform import Transform, TransformedSource, mapped
from bochner.data.transforms.warping import Logarithm, Ranks, Warping

Mapped = TransformedSource  # its earlier name, still exported

__all__ = [
    "ArraySource",
    "Batch",
    "DataSource",
    "FileSource",
    "Filling",
    "HeldOut",
    "IteratorSource",
    "Logarithm",
    "Mapped",
    "Prefetched",
    "PrincipalComponents",
    "RadialWave",
    "RandomAccess",
    "Ranks",
    "ReadingProgress",
    "RowNormalization",
    "Rows",
    "Scaling",
    "Schema",
    "Shuffled",
    "SkippedRows",
    "Split",
    "Stream",
    "Transform",
    "TransformedSource",
    "Warping",
    "as_source",
    "even_cut",
    "hold_out",
    "mapped",
    "open_source",
    "prefetched",
    "principal_components",
    "row_normalized",
    "scaled",
    "shuffled",
]
