"""How much memory a Parquet table takes, from its footer: a file of megabytes may unfold to all there is.

Runs of equal values and dictionaries take next to nothing on disk, so neither the size of a file nor the size
that its pages have unpacked bounds what is read; the rows times what the types of their columns take do.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.parquet as pq

from edgebench.store.parquet_footer import values_of
from edgebench.this_machine import available_bytes

MAX_BYTES = 16 * 2**30
"""Of one session's table: more than 400 million rows of samples take, an hour of 100 kHz."""

_CODE_BYTES = 4  # of a dictionary's index, and of a list's or a text's offset


def unfolded_bytes(
    data: bytes, metadata: pq.FileMetaData, schema: pa.Schema, columns: Sequence[str] | None
) -> int:
    """What the columns of a file take in memory, in bytes, as its footer has it.

    Args:
        data: the file's bytes.
        metadata: of the same, as pyarrow reads it.
        schema: the columns' types in memory.
        columns: those that are wanted; None for all.

    Raises:
        ValueError: the footer is damaged.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    rows = int(max(metadata.num_rows, sum(group.num_rows for group in groups)))
    row_bytes, lists = _widths(schema, tuple(schema.names if columns is None else columns))
    # A list's values are a column of their own, with more of them than there are rows.
    values = values_of(data) if lists else {}
    unfolded = rows * row_bytes + sum(values.get(name, 0) * width for name, width in lists.items())
    return max(unfolded, sum(int(group.total_byte_size) for group in groups))


@lru_cache(maxsize=64)  # thousands of files have the same few schemas
def _widths(schema: pa.Schema, columns: tuple[str, ...]) -> tuple[int, dict[str, int]]:
    """Bytes of a row without its lists, and of a value of each list by column."""
    row_bytes, lists = 0, {}
    for field in schema:
        if field.name not in columns:
            continue
        if pa.types.is_nested(field.type):
            row_bytes += _CODE_BYTES
            value = field.type.value_type if pa.types.is_list(field.type) else pa.float64()
            lists[field.name] = _width(value)
        else:
            row_bytes += _width(field.type)
    return row_bytes, lists


def _width(kind: pa.DataType) -> int:
    if pa.types.is_dictionary(kind):
        kind = kind.index_type
    try:
        return max(1, int(kind.bit_width) // 8)
    except ValueError:  # text and the like: its content is in the size of the pages
        return _CODE_BYTES


class MemoryBudget:
    """The memory that the tables of one frame may take together; may be asked from several threads."""

    def __init__(self) -> None:
        self._free = available_bytes()
        self._taken = 0
        self._lock = threading.Lock()

    def take(self, size_bytes: int) -> str:
        """Why a table of that size does not fit with those before it; "" where it fits, and is counted.

        It counts twice: while the tables are joined, its rows are held both as read and as joined.
        """
        with self._lock:
            lack = self._lack(2 * size_bytes)
            if not lack:
                self._taken += size_bytes
            return lack

    def lack(self, size_bytes: int) -> str:
        """Why so many bytes more do not fit for a moment; "" where they do. They are not counted."""
        with self._lock:
            return self._lack(size_bytes)

    def _lack(self, size_bytes: int) -> str:
        needed = self._taken + size_bytes
        if self._free is None or needed <= self._free:
            return ""
        return f"reading takes {needed / 1e9:.1f} GB of memory, and {self._free / 1e9:.1f} GB are free"
