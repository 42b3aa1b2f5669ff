"""Tables of samples, as sessions write and hold them."""

import pandas as pd
import pyarrow as pa

from edgebench.records.stored import TableFile
from edgebench.results.rows import Rows, rows_of
from edgebench.results.tables import ProbeTableWriter
from edgebench.run.measuring.meter_recording import RecordedFigures


def write_samples(path, chunks, infos) -> TableFile:
    """A file of these chunks."""
    with ProbeTableWriter(path) as table:
        for chunk in chunks:
            table.write(chunk, infos)
        return table.close()


def samples_of(measured) -> pd.DataFrame:
    """The samples of a session that is not stored yet."""
    assert isinstance(measured.tables.probes, TableFile)
    return pd.read_parquet(measured.tables.probes.path)


def rows_of_frame(frame) -> Rows:
    """A frame's rows as judging reads them."""
    return rows_of(pa.Table.from_pandas(frame, preserve_index=False))


def figures_of(chunks, info) -> RecordedFigures:
    """Those of a recording of these chunks."""
    figures = RecordedFigures(info.channels)
    for chunk in chunks:
        figures.add(chunk)
    return figures
