"""The table `probes` as a Parquet file that grows row group by row group: memory holds no more than one."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from edgebench.store.measurement_checks import misfit, require_valid_chunk
from edgebench.store.parquet import COLUMN_TYPES, DICTIONARY_COLUMNS
from edgebench.store.records import PROBE_COLUMNS, TableFile
from edgebench.vocabulary.probe import Channel, ProbeChunk, ProbeInfo, probe_name

ROW_GROUP_ROWS = 1 << 20
"""Rows of a row group: 32 MiB in memory. Each of them costs the footer about a kilobyte."""

_WORDS = ("probe", "channel", "quantity", "unit")
_SCHEMA = pa.schema([(name, COLUMN_TYPES[name]) for name in PROBE_COLUMNS])


class ProbeTableWriter:
    """Writes one row a sample and channel, in the order of the chunks; within a chunk channel by channel.

    Used as a context: what it has not closed by its end is removed.

    Args:
        path: of the file, which is new; OSError where it cannot be written, here and in all that follows.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = _HashingFile(path)
        self._channels = _ChannelWords()
        self._columns: list[tuple[int, NDArray[np.int64], NDArray[np.float64]]] = []
        self._waiting_rows = 0
        self._rows = 0
        self._open = True
        self._parquet = pq.ParquetWriter(
            pa.PythonFile(self._file, mode="w"),
            _SCHEMA,
            compression="zstd",
            use_dictionary=[name for name in PROBE_COLUMNS if name in DICTIONARY_COLUMNS],
            # Stamps at an even distance take next to nothing so.
            column_encoding={"t_ns": "DELTA_BINARY_PACKED"},
        )

    @property
    def rows(self) -> int:
        """How many rows there are so far."""
        return self._rows + self._waiting_rows

    def write(self, chunk: ProbeChunk, infos: Sequence[ProbeInfo]) -> None:
        """Append the samples of a chunk.

        SessionError (`protocol_error`) for one of a probe or channel that is none of the `infos`, or whose
        values are not as many as its stamps.
        """
        require_valid_chunk(chunk)
        codes = [self._channels.code(chunk, name, infos) for name in chunk.values]
        t_ns = np.asarray(chunk.stamps_ns, dtype=np.int64)
        for code, values in zip(codes, chunk.values.values(), strict=True):
            self._columns.append((code, t_ns, np.asarray(values, dtype=np.float64)))
            self._waiting_rows += len(t_ns)
            if self._waiting_rows >= ROW_GROUP_ROWS:
                self._flush()

    def close(self, metadata: Mapping[str, str] | None = None) -> TableFile:
        """End the file and flush it to the disk.

        Args:
            metadata: what stands in its footer beside the schema.
        """
        self._flush()
        if metadata:
            self._parquet.add_key_value_metadata(dict(metadata))
        self._parquet.close()
        self._open = False
        return TableFile(self._path, self._rows, self._file.finished())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self._open = False
            self._file.abandon()
            with contextlib.suppress(OSError, pa.ArrowException):  # after an error it may not be whole
                self._parquet.close()  # which it else does when it is collected
            self._path.unlink(missing_ok=True)

    def _flush(self) -> None:
        if not self._waiting_rows:
            return
        rows, columns = self._waiting_rows, self._columns
        self._waiting_rows, self._columns = 0, []
        codes = np.repeat(
            np.array([code for code, _, _ in columns], np.int32), [len(t_ns) for _, t_ns, _ in columns]
        )
        table = pa.table(
            {
                **self._channels.dictionaries(codes),
                "t_ns": np.concatenate([t_ns for _, t_ns, _ in columns]),
                "value": np.concatenate([values for _, _, values in columns]),
            },
            schema=_SCHEMA,
        )
        self._parquet.write_table(table, row_group_size=ROW_GROUP_ROWS)
        self._rows += rows


class _ChannelWords:
    """The words of each channel that has come: a code stands for the four of them."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], int] = {}
        self._words: list[tuple[str, str, str, str]] = []  # by code

    def code(self, chunk: ProbeChunk, channel: str, infos: Sequence[ProbeInfo]) -> int:
        """That of a chunk's channel; SessionError where none of the `infos` has it."""
        key = chunk.probe, channel
        if key not in self._codes:
            announced = _announced(chunk, channel, infos)
            words = (probe_name(chunk.probe), channel, announced.quantity, announced.unit)
            self._codes[key] = len(self._words)
            self._words.append(words)
        return self._codes[key]

    def dictionaries(self, codes: NDArray[np.int32]) -> dict[str, pa.DictionaryArray]:
        """The columns of the words of rows with these codes."""
        columns = {}
        for name, words in zip(_WORDS, zip(*self._words, strict=True), strict=True):
            distinct = list(dict.fromkeys(words))
            indices = np.array([distinct.index(word) for word in words], np.int32)
            columns[name] = pa.DictionaryArray.from_arrays(indices[codes], pa.array(distinct, pa.string()))
        return columns


def _announced(chunk: ProbeChunk, channel: str, infos: Sequence[ProbeInfo]) -> Channel:
    probe = probe_name(chunk.probe)
    for info in infos:
        if info.name == probe:
            for announced in info.channels:
                if announced.name == channel:
                    return announced
    raise misfit(chunk, f"it has announced no channel {channel!r}")


class _HashingFile(io.RawIOBase):
    """A new file, and the SHA-256 of what has been written to it.

    Args:
        path: FileExistsError when there is one.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb")
        self._sha256 = hashlib.sha256()
        self._abandoned = False

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Append bytes."""
        if self._abandoned:
            return len(data)
        self._sha256.update(data)
        return self._file.write(data)

    def tell(self) -> int:
        """How many bytes there are."""
        return 0 if self._abandoned else self._file.tell()

    def finished(self) -> str:
        """Flush it to the disk; the hex SHA-256 of its bytes."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return self._sha256.hexdigest()

    def abandon(self) -> None:
        """Close it, whatever state it is in, and take in what is still written without keeping it."""
        self._abandoned = True
        with contextlib.suppress(OSError):  # a full disk did not take the rest
            self._file.close()
