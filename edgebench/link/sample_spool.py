"""Samples on disk while they are taken: chunk behind chunk, a file a probe, read back in their order.

A file is a sequence of frames (see agent.frames), one a chunk: stamps int64 [n] and a float64 [n] for each of
its channels, little-endian. Memory holds no more of it than one chunk.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from edgebench.agent.frames import Decoder, encode
from edgebench.vocabulary.probe import ProbeChunk

READ_BYTES = 1 << 20


class SampleSpool:
    """The chunks of some probes.

    Args:
        folder: of the files; made with the first chunk.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, BinaryIO] = {}
        self._fault: OSError | None = None
        self._closed = False
        self._lock = threading.Lock()  # a thread may still add what comes while the session ends

    @property
    def probes(self) -> list[str]:
        """The probes that have given a chunk."""
        return list(self._files)

    def add(self, chunk: ProbeChunk) -> None:
        """Put a chunk behind those of its probe.

        Where the disk refuses, this one and all that follow are lost: `require_written` says so. What a probe
        sends is heard where nothing may fail.
        """
        if not len(chunk.stamps_ns):
            return
        columns = [np.asarray(chunk.stamps_ns, "<i8")]
        columns += [np.asarray(values, "<f8") for values in chunk.values.values()]
        message = {"n": len(columns[0]), "channels": list(chunk.values)}
        with self._lock:
            if self._fault is not None or self._closed:
                return
            try:
                file = self._files.get(chunk.probe) or self._new_file(chunk.probe)
                for piece in encode(message, b"".join(column.tobytes() for column in columns)):
                    file.write(piece)
            except OSError as error:
                self._fault = error

    def require_written(self) -> None:
        """OSError where a chunk could not be written."""
        if self._fault is not None:
            raise self._fault

    def chunks(self, probe: str) -> Iterator[ProbeChunk]:
        """Those of one probe that were added so far, in their order; OSError where they cannot be read."""
        self.require_written()
        if probe not in self._files:
            return
        with self._lock:
            self._files[probe].flush()
        decoder = Decoder()
        with Path(self._files[probe].name).open("rb") as file:
            while data := file.read(READ_BYTES):
                for frame in decoder.feed(data):
                    yield _chunk(probe, frame.message["n"], frame.message["channels"], frame.payload)

    def close(self) -> None:
        """Remove the files, and take in nothing more; safe to call twice."""
        with self._lock:
            self._closed = True
            for file in self._files.values():
                with contextlib.suppress(OSError):  # what a full disk did not take is not wanted any more
                    file.close()
                Path(file.name).unlink(missing_ok=True)
            self._files.clear()

    def _new_file(self, probe: str) -> BinaryIO:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = (self.folder / f"{len(self._files)}.samples").open("xb")
        self._files[probe] = file
        return file


def _chunk(probe: str, n: int, channels: list[str], payload: bytes) -> ProbeChunk:
    columns = [payload[start : start + 8 * n] for start in range(0, 8 * n * (1 + len(channels)), 8 * n)]
    values = [np.frombuffer(column, "<f8") for column in columns[1:]]
    stamps_ns = np.frombuffer(columns[0], "<i8").astype(np.int64, copy=False)
    return ProbeChunk(probe, stamps_ns, dict(zip(channels, values, strict=True)))
