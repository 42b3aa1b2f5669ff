"""What the probes sample beside one session: on disk as it comes, and one table at the session's end."""

from __future__ import annotations

import math
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from edgebench.link.sample_spool import SampleSpool
from edgebench.store.file_writing import as_stored_result_error
from edgebench.store.measurement_checks import require_valid_chunk
from edgebench.store.probe_table import ProbeTableWriter
from edgebench.store.records import TableFile
from edgebench.vocabulary.probe import ProbeChunk, ProbeInfo

MEMORY_CHANNEL = "memory_available"


class SessionSamples:
    """The samples of one session, in a folder that is the session's until the store has taken the table.

    Args:
        folder: on the disk of the results; where it is None a temporary one, which lasts as long as this.

    Attributes:
        folder: of its files.
        of_host: takes what the probes on this machine sample, on its clock.
        lowest_memory_bytes: the least memory that was available at any sample; known with the table.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="edgebench-"))
        if folder is None:
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        self._of_device = SampleSpool(self.folder / "device")
        self.of_host = SampleSpool(self.folder / "host")
        self._host_chunks: Mapping[str, Iterable[ProbeChunk]] = {}
        self.lowest_memory_bytes = math.inf

    def take(self, chunk: ProbeChunk) -> None:
        """Keep what a probe of the device's sampled; `require_written` says where that failed."""
        self._of_device.add(chunk)

    def take_all(self, chunks: Iterable[ProbeChunk]) -> None:
        """Keep chunks that a session gave when it was asked.

        SessionError for one that cannot be, StoredResultError where any so far could not be written.
        """
        for chunk in chunks:
            require_valid_chunk(chunk)
            self.take(chunk)
        self.require_written()

    def require_written(self) -> None:
        """StoredResultError where a sample could not be written."""
        with as_stored_result_error(self.folder):
            self._of_device.require_written()
            self.of_host.require_written()

    def add_host_samples(self, chunks: Mapping[str, Iterable[ProbeChunk]]) -> None:
        """Have the table hold what this machine's probes sampled, by probe and on the device's clock."""
        self._host_chunks = chunks

    def table(self, infos: Sequence[ProbeInfo]) -> TableFile | None:
        """All of them as one Parquet file; None where there is none.

        Probe by probe: in which order two processes were heard says nothing. SessionError where a probe of
        the `infos` has not announced a channel; StoredResultError where the disk refuses.
        """
        try:
            self.require_written()
            if not self._of_device.probes and not self._host_chunks:
                return None
            path = self.folder / "probes.parquet"
            with as_stored_result_error(self.folder), ProbeTableWriter(path) as table:
                for chunk in self._chunks():
                    table.write(chunk, infos)
                    self._note_memory(chunk)
                return table.close() if table.rows else None
        finally:
            self._of_device.close()
            self.of_host.close()

    def _chunks(self) -> Iterator[ProbeChunk]:
        for probe in sorted({*self._of_device.probes, *self._host_chunks}):
            yield from self._of_device.chunks(probe)
            yield from self._host_chunks.get(probe, ())

    def _note_memory(self, chunk: ProbeChunk) -> None:
        samples = chunk.values.get(MEMORY_CHANNEL)
        if samples is not None and not np.isnan(samples).all():
            self.lowest_memory_bytes = min(self.lowest_memory_bytes, float(np.nanmin(samples)))
