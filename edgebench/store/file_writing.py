"""Files that are whole or not there: written, flushed to the disk, then renamed; errors in words."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from edgebench.errors import StoredResultError
from edgebench.store.columns import Columns
from edgebench.store.layout import WRITING_PREFIX
from edgebench.store.parquet import DICTIONARY_COLUMNS, TABLE_COLUMNS, to_arrow
from edgebench.store.records import TableFile
from edgebench.store.table_checks import first_fault

_FULL = {errno.ENOSPC, errno.EDQUOT}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}


@contextmanager
def as_stored_result_error(path: Path) -> Iterator[None]:
    """Turn the system's refusal to write below `path` into a StoredResultError with its fix."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            fix = "make room, then go on with --resume; or choose another disk with --output-dir"
        elif error.errno in _FORBIDDEN:
            fix = "choose a folder that you may write with --output-dir, or change its permissions"
        else:
            fix = "choose another folder with --output-dir"
        raise StoredResultError(
            f"the result cannot be written to {path}", why=error.strerror or str(error), fix=fix
        ) from error


def write_file(path: Path, data: bytes) -> None:
    """Write a new file and flush it to the disk; FileExistsError when there is one."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_table(path: Path, rows: pd.DataFrame | TableFile, name: str) -> str:
    """Write a new Parquet file and flush it to the disk; returns the hex SHA-256 of its bytes.

    Rows that are a file already are moved there. ValueError for rows that nobody could read again.
    """
    if isinstance(rows, TableFile):
        rows.path.rename(path)
        return rows.sha256
    table = to_arrow(rows, name)
    if name in TABLE_COLUMNS:
        columns = Columns(TABLE_COLUMNS[name])
        columns.take([table])
        if (fault := first_fault(name, columns.done())) is not None:
            raise ValueError(f"the table {name}: {fault[1]}")
    sink = pa.BufferOutputStream()
    dictionaries = [column for column in table.column_names if column in DICTIONARY_COLUMNS]
    pq.write_table(table, sink, compression="zstd", use_dictionary=dictionaries)
    data = sink.getvalue().to_pybytes()
    write_file(path, data)
    return hashlib.sha256(data).hexdigest()


def replace_file(path: Path, data: bytes, *, private: bool = False) -> None:
    """Put `data` at `path` in one step, whether or not something lies there.

    A `private` file is its owner's alone to read, whatever the umask allows.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=WRITING_PREFIX)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o600 if private else 0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    flush_folder(path.parent)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder to fill, which becomes `path` in one step when the block ends well.

    FileExistsError when there is a `path`; the caller's lock keeps others from making it meanwhile.
    """
    if path.exists() or path.is_symlink():
        raise FileExistsError(errno.EEXIST, "the folder exists already", str(path))
    temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=WRITING_PREFIX))
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        flush_folder(temporary)
        temporary.rename(path)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    flush_folder(path.parent)


def flush_folder(path: Path) -> None:
    """Flush a folder's entries to the disk, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        # Some network file systems refuse it; the rename itself stays atomic there.
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove what a killed writer left directly in `folder`; only under the experiment's lock."""
    if not folder.is_dir() or folder.is_symlink():
        return
    with os.scandir(folder) as entries:
        leftovers = [entry for entry in entries if entry.name.startswith(WRITING_PREFIX)]
    for entry in leftovers:
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry)
        else:
            os.unlink(entry)  # noqa: PTH108


def _umask() -> int:
    # mkstemp and mkdtemp make things for their owner only; results are for whoever the umask allows.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
