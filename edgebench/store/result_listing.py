"""All results of a folder, in order of time, and what lies beside them that cannot be read."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from edgebench.errors import StoredResultError
from edgebench.store.layout import EXPERIMENT_FILE
from edgebench.store.record_reading import read_experiment
from edgebench.store.records import ExperimentRecord


@dataclass(frozen=True)
class StoredResult:
    """One result folder.

    Attributes:
        path: the folder.
        experiment: what its experiment.json says.
        begun_s: when it began, seconds since 1970; 0 where that is not known.
    """

    path: Path
    experiment: ExperimentRecord
    begun_s: float

    @property
    def begun_utc(self) -> str:
        """ISO 8601, whole seconds, Z; empty where it is not known."""
        if not self.begun_s:
            return ""
        return datetime.fromtimestamp(self.begun_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class UnreadableResult:
    """A folder with an experiment.json that is damaged, newer or may not be read; `reason` is one line."""

    path: Path
    reason: str


def list_results(output_dir: Path) -> tuple[list[StoredResult], list[UnreadableResult]]:
    """The results directly under a folder, newest first, and those that cannot be read, by name.

    A folder without an experiment.json is neither. No folder has no results; StoredResultError for one that
    may not be read.
    """
    dated: list[tuple[float, int, str, StoredResult]] = []
    unreadable: list[UnreadableResult] = []
    now_s = time.time()
    for folder in _folders(output_dir):
        if not _holds_experiment(folder):
            continue
        try:
            record = read_experiment(folder)
            written_ns = (folder / EXPERIMENT_FILE).stat().st_mtime_ns
        except StoredResultError as error:
            sentence = "; ".join(part for part in (error.what, error.why) if part)
            reason = sentence.replace(str(folder / EXPERIMENT_FILE), EXPERIMENT_FILE)
            unreadable.append(UnreadableResult(folder, reason))
            continue
        except OSError as error:
            unreadable.append(UnreadableResult(folder, error.strerror or str(error)))
            continue
        begun_s = begun_at(created_s(record), written_ns / 1e9, now_s)
        dated.append((begun_s, written_ns, folder.name, StoredResult(folder, record, begun_s)))
    dated.sort(key=lambda entry: entry[:3], reverse=True)
    return [result for *_, result in dated], sorted(unreadable, key=lambda entry: entry.path.name)


def _folders(output_dir: Path) -> Iterator[Path]:
    try:
        yield from list(output_dir.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoredResultError(
            f"{output_dir} cannot be read",
            why=error.strerror or str(error),
            fix="choose another folder with --output-dir",
        ) from error


def _holds_experiment(folder: Path) -> bool:
    """Whether it is one by its look; what may not be looked into, such as a disk's lost+found, is none."""
    try:
        return (folder / EXPERIMENT_FILE).is_file()
    except OSError:
        return False


def begun_at(created_s: float, written_s: float, now_s: float) -> float:
    """When an experiment began, for the order of results; seconds since 1970.

    A date in the future is that of a clock that was wrong: the file's counts then, and where that lies in
    the future too, nothing is known, and every other result is newer.
    """
    return next((moment_s for moment_s in (created_s, written_s) if moment_s <= now_s), 0.0)


def created_s(record: ExperimentRecord) -> float:
    """When an experiment began as its record says, seconds since 1970 (UTC); 0 where that is no date."""
    try:
        created = datetime.fromisoformat(record.created_utc)
    except ValueError:
        return 0.0
    return (created if created.tzinfo else created.replace(tzinfo=UTC)).timestamp()
