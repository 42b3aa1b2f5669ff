"""A stored result as it may leave the house: no host, no user, no address of a port, in records and tables.

`edgebench.store.redaction` treats what reports show of a record. Here the whole record is passed on, with the
samples, in which each reading names its meter by `kind:address`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from edgebench.store.records import ExperimentRecord, ImagePathsRecord, RunRecord, SessionRecord
from edgebench.store.redaction import PORT, PrivateNames, exported, written

_DEVICE_FILE = re.compile(r"/dev/[^\s?#]+")
"""In a meter's address: below /dev/serial/by-id a name has the device's serial number."""


def names_of(record: ExperimentRecord, sessions: Iterable[SessionRecord]) -> PrivateNames:
    """What has to be taken out of an experiment's records, the ports of its meters included.

    Of several ports each gets a number of its own, so that meters of a kind stay apart.
    """
    names = PrivateNames.of_targets(record.targets)
    texts = [meter for target in record.targets for meter in (*target.meters, *target.preferred_meters)]
    for session in sessions:
        texts += [str(info.get("address") or "") for info in session.probes]
        texts += [*session.probe_reasons, *session.monitor_reasons]
    ports = dict.fromkeys(port for text in texts for port in _DEVICE_FILE.findall(text))
    numbered = tuple(
        (port, PORT if number == 1 else f"{PORT[:-1]} {number})")
        for number, port in enumerate(ports, start=1)
    )
    longest_first = sorted(dict(numbered + names.values).items(), key=lambda item: (-len(item[0]), item))
    return replace(names, values=tuple(longest_first))


def copy_of_experiment(record: ExperimentRecord, names: PrivateNames) -> ExperimentRecord:
    """The experiment's record without the names."""
    shown = written(exported(record), names)
    targets = tuple(
        target.model_copy(
            update={
                "meters": tuple(map(names.path, target.meters)),
                "preferred_meters": tuple(map(names.path, target.preferred_meters)),
            }
        )
        for target in shown.targets
    )
    return shown.model_copy(update={"targets": targets})


def copy_of_run(record: RunRecord, names: PrivateNames) -> RunRecord:
    """How the last run ended, without the names."""
    return written(record, names)


def copy_of_image_paths(record: ImagePathsRecord, names: PrivateNames) -> ImagePathsRecord:
    """Which file each image was, without the names."""
    sets = {sha256: tuple(map(names.path, paths)) for sha256, paths in record.sets.items()}
    return record.model_copy(update={"sets": sets})


def copy_of_session(record: SessionRecord, names: PrivateNames) -> SessionRecord:
    """A session's record without the names; its checksums of tables are those of the tables as they were."""
    shown = written(record, names)
    return shown.model_copy(
        update={
            "probes": tuple(
                {**info, "address": names.path(str(info["address"]))} if info.get("address") else info
                for info in shown.probes
            ),
            "probe_reasons": _renamed(shown.probe_reasons, names),
            "monitor_reasons": _renamed(shown.monitor_reasons, names),
        }
    )


def _renamed(reasons: Mapping[str, Any], names: PrivateNames) -> dict[str, Any]:
    return {names.path(meter): reason for meter, reason in reasons.items()}


def renames_probes(record: SessionRecord, names: PrivateNames) -> bool:
    """Whether the samples of a session name a meter by what must not leave the house."""
    return any(names.path(address) != address for address in _addresses(record))


def _addresses(record: SessionRecord) -> Iterator[str]:
    return (str(info.get("address") or "") for info in record.probes)


def copy_probe_table(source: BinaryIO, target: Path, names: PrivateNames) -> None:
    """Write a session's samples anew with the meters' addresses changed, a part at a time.

    Raises OSError, and pyarrow.ArrowException for a file that is damaged.
    """
    with pq.ParquetFile(source) as file:
        at = file.schema_arrow.get_field_index("probe")
        with pq.ParquetWriter(
            target, file.schema_arrow, compression="zstd", use_dictionary=["probe"]
        ) as writer:
            for batch in file.iter_batches():
                column = batch.column(at).dictionary_encode() if at >= 0 else None
                if column is None:
                    writer.write_batch(batch)
                    continue
                renamed = [
                    None if name is None else names.path(name) for name in column.dictionary.to_pylist()
                ]
                values = pa.array(renamed, pa.string()).take(column.indices)
                writer.write_batch(
                    batch.set_column(
                        at, file.schema_arrow.field(at), values.cast(file.schema_arrow.field(at).type)
                    )
                )
