"""Rows in batches, from arrays or streams, and wrappers that shuffle, scale and read ahead."""

from bochner.data.batch import Batch, Rows
from bochner.data.files.file_source import FileSource
from bochner.data.files.open_source import open_source
from bochner.data.files.schema.first_pass import ReadingProgress
from bochner.data.files.schema.schema import Schema
from bochner.data.files.schema.summary import SkippedRows
from bochner.data.files.split import Split
from bochner.data.held_out import HeldOut, hold_out
from bochner.data.memory_sources import ArraySource, IteratorSource, as_source
from bochner.data.prefetch import Prefetched, prefetched
from bochner.data.shuffle import Shuffled, shuffled
from bochner.data.source import DataSource, RandomAccess, Stream, even_cut
from bochner.data.synthetic import RadialWave
from bochner.data.transforms.missing import Filling
from bochner.data.transforms.principal_components import PrincipalComponents, principal_components
from bochner.data.transforms.row_normalization import RowNormalization, row_normalized
from bochner.data.transforms.scaling import Scaling, scaled
from bochner.data.transforms.transform import Mapped, Transform, mapped
from bochner.data.transforms.warping import Logarithm, Ranks, Warping

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
