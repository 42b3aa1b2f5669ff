"""What one session is asked to do, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass

from edgebench.measure.session_samples import SessionSamples
from edgebench.store.records import SessionRecord, SessionTables
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.session import MeasurePlan, SessionSettings


@dataclass(frozen=True)
class Job:
    """What one session is asked to do."""

    key: str
    n: int
    round: int
    artifact: Artifact
    settings: SessionSettings
    plan: MeasurePlan
    host_meters: tuple[str, ...] = ()  # probes that sample on this machine, each `kind:address`
    host_monitors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """A session's record and tables, and whether the user asked to stop."""

    record: SessionRecord
    tables: SessionTables
    interrupted: bool
    samples: SessionSamples | None = None  # whose folder holds the table of the samples
