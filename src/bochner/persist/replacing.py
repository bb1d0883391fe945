"""Replacing: a file that is there as a whole, the old one or the new one, whatever happens."""

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
    errno.EDQUOT: "Your share of the disk is full. Make room, or choose another path.",
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
    """Open a file of another name in the same folder, which takes the name at the end.

    It is on the disk before it does. Whatever fails, what was at the path is still there, and
    nothing else is left behind.
    """
    target = Path(path)
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise OSError(errno.EINVAL, f"Nothing was written: {NO_FILE}", str(target))
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:100]}.", dir=target.parent)
    except OSError as error:
        raise _told(error, target) from error
    try:
        with os.fdopen(handle, "wb") as file:
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
            raise _told(error, target) from error
        raise


def _told(error: OSError, target: Path) -> OSError:
    """Return the error with a remedy, of the same type and number."""
    remedy = REMEDIES.get(error.errno or 0, f"{error.strerror}. Choose another path.")
    return OSError(error.errno, f"Nothing was written: {remedy}", str(target))


def _mode(target: Path) -> int:
    """Return the rights of the file that is replaced, or those of a new one."""
    with suppress(OSError):
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync(folder: Path) -> None:
    """Have the new name on the disk as well, where folders can be synchronised."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
