"""How many values each column of a Parquet file has, out of its footer.

pyarrow would end the process for a footer that was made to do harm, where it is asked for a single column.

The footer is a struct of Thrift's compact protocol; fields by number as in parquet-format's parquet.thrift.
"""

from __future__ import annotations

from typing import Any

_MAGIC = b"PAR1"
_MAX_DEPTH = 16
_ROW_GROUPS, _COLUMNS, _COLUMN, _PATH, _VALUES = 4, 1, 3, 3, 5


def values_of(data: bytes) -> dict[str, int]:
    """Values by column, over all row groups; those of a list by the column that the list is.

    ValueError where the bytes are no Parquet file, or its footer is damaged.
    """
    if len(data) < 12 or data[-4:] != _MAGIC:
        raise ValueError("it does not end like a Parquet file")
    length = int.from_bytes(data[-8:-4], "little")
    if length > len(data) - 12:
        raise ValueError("its footer is longer than the file")
    counts: dict[str, int] = {}
    try:
        for group in _Compact(data[-8 - length : -8]).struct().get(_ROW_GROUPS, ()):
            for chunk in group[_COLUMNS]:
                column = chunk[_COLUMN]
                name = column[_PATH][0].decode()
                counts[name] = counts.get(name, 0) + int(column[_VALUES])
    except (IndexError, KeyError, TypeError, AttributeError) as error:
        raise ValueError("its footer is damaged") from error
    return counts


class _Compact:
    """Values of Thrift's compact protocol in bytes, one after the other; a struct's are by field number."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _MAX_DEPTH:
            raise ValueError("its footer is nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._zigzag()
            # A field that is true or false has its value in its type.
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2, 3):
            return self._byte()
        if kind in (4, 5, 6):
            return self._zigzag()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._varint())
        if kind in (9, 10):
            head = self._byte()
            size = head >> 4 if head >> 4 < 15 else self._varint()
            return [self._value(head & 15, depth + 1) for _ in range(self._within(size))]
        if kind == 12:
            return self.struct(depth + 1)
        raise ValueError(f"its footer has a value of the unknown kind {kind}")

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _bytes(self, size: int) -> bytes:
        self._at += self._within(size)
        return self._data[self._at - size : self._at]

    def _within(self, size: int) -> int:
        """The size, which takes at least as many bytes; IndexError where there are fewer."""
        if size > len(self._data) - self._at:
            raise IndexError
        return size

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError("its footer has a number of more than 64 bits")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
