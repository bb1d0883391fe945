"""Rows in batches, from arrays or streams, and wrappers that shuffle, scale and read ahead."""

from bochner.data.array_source import ArraySource
from bochner.data.batch import Batch, Rows
from bochner.data.conversion import as_source
from bochner.data.cut import even_cut
from bochner.data.files.file_source import FileSource
from bochner.data.files.open_source import open_source
from bochner.data.files.reading_progress import ReadingProgress
from bochner.data.files.schema import Schema
from bochner.data.files.split import Split
from bochner.data.files.tally import SkippedRows
from bochner.data.filling import Filling
from bochner.data.held_out import HeldOut, hold_out
from bochner.data.iterator_source import IteratorSource
from bochner.data.mapping import Mapped, mapped
from bochner.data.prefetch import Prefetched, prefetched
from bochner.data.principal_component_analysis import PrincipalComponents, principal_components
from bochner.data.row_normalization import RowNormalization, row_normalized
from bochner.data.scaling import Scaling, scaled
from bochner.data.shuffle import Shuffled, shuffled
from bochner.data.source import DataSource, RandomAccess, Stream
from bochner.data.synthetic import RadialWave
from bochner.data.transform import Transform
from bochner.data.warping import Logarithm, Ranks, Warping

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
