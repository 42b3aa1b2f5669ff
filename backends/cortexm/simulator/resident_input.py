"""The resident input, which `db` fills and every inference reads: firmware/core/tensor.c in Python."""

from __future__ import annotations


class ResidentInput:
    """Zeros until it is filled.

    Attributes:
        changes: counts up whenever the input may have changed.
    """

    def __init__(self, size_bytes: int) -> None:
        self._bytes = bytearray(size_bytes)
        self.expected_bytes = 0
        self.filled_bytes = 0
        self.changes = 0

    def expect(self, size_bytes: int) -> bool:
        """Expect as many from the start; False, and expect none, where they do not fit."""
        fits = size_bytes <= len(self._bytes)
        self.expected_bytes = size_bytes if fits else 0
        self.filled_bytes = 0
        self.changes += 1
        return fits

    def append(self, data: bytes) -> bool:
        """Take what was expected and drop the rest; True when these bytes made it full."""
        data = data[: self.expected_bytes - self.filled_bytes]
        self._bytes[self.filled_bytes : self.filled_bytes + len(data)] = data
        self.filled_bytes += len(data)
        self.changes += 1
        return bool(data) and self.filled_bytes == self.expected_bytes

    def expected_part(self) -> bytes:
        """The bytes that the last load is about."""
        return bytes(self._bytes[: self.expected_bytes])

    def whole(self) -> bytes:
        """All bytes, as the engine reads them."""
        return bytes(self._bytes)
