"""Replace a file atomically: a reader sees the whole old file or the whole new one."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

REMEDIES = {
    errno.ENOSPC: "The disk is full. Make room, or choose a path on another disk.",
    errno.EDQUOT: "Your disk quota is used up. Make room, or choose another path.",
    errno.EFBIG: "Files may not be that large here. Choose a path on another disk.",
    errno.EROFS: "The disk is read-only. Choose a path on another one.",
    errno.EACCES: "You may not write into this folder. Choose another path.",
    errno.EPERM: "You may not write into this folder. Choose another path.",
    errno.ENOENT: "There is no such folder. Make it first, or choose another path.",
    errno.ENOTDIR: "A part of the path is a file, not a folder. Choose another path.",
    errno.EISDIR: "There is a folder of this name. Choose another path.",
}

NO_FILE = "It is a device or a pipe, which a file cannot replace. Choose another path"


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a temporary file in the same folder, and rename it at the end.

    The file is synchronised to the disk before it is renamed. If anything fails, the file at the
    path is unchanged and the temporary file is removed.
    """
    target = Path(path)
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise OSError(errno.EINVAL, f"Nothing was written: {NO_FILE}", str(target))
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    except OSError as error:
        raise _with_remedy(error, target) from error
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, _mode(target))
        os.replace(name, target)
        _sync(target.parent)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(name)
        if isinstance(error, OSError):
            raise _with_remedy(error, target) from error
        raise


def _with_remedy(error: OSError, target: Path) -> OSError:
    """Return an error of the same number whose message says what to do."""
    remedy = REMEDIES.get(error.errno or 0, f"{error.strerror}. Choose another path.")
    return OSError(error.errno, f"Nothing was written: {remedy}", str(target))


def _mode(target: Path) -> int:
    """Return the permissions of the file that is replaced, or those of a new file."""
    with suppress(OSError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync(folder: Path) -> None:
    """Synchronise the new name to the disk, where the system can do this for folders."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
