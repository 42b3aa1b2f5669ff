"""A result folder as pandas frames, each read when it is first asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import pandas as pd

from edgebench.errors import StoredResultError
from edgebench.store import layout
from edgebench.store.frames import Source, read_frame
from edgebench.store.record_reading import (
    read_bounded,
    read_experiment,
    read_image_paths,
    read_run,
    read_sessions,
)
from edgebench.store.records import ExperimentRecord, RunRecord, SessionRecord
from edgebench.store.redaction import exported_sessions
from edgebench.store.result_folder import LATEST, default_output_dir, resolve_results
from edgebench.store.rows import session_frame, trial_frame


class StoredResults:
    """One experiment, read from disk; nothing in it is ever written.

    What was on disk when `.sessions` was first needed is what all frames show, though a run goes on.

    Attributes:
        path: the result folder.
        experiment: what experiment.json says.
    """

    def __init__(self, path: Path, experiment: ExperimentRecord) -> None:
        self.path = path
        self.experiment = experiment
        self._warnings: list[str] = []

    @cached_property
    def _records(self) -> dict[str, list[SessionRecord]]:
        records_by_key: dict[str, list[SessionRecord]] = {}
        for trial in self.experiment.trials:
            records, warnings = read_sessions(self.path, trial.key)
            targets = (target for target in self.experiment.targets if target.name == trial.target)
            records_by_key[trial.key] = exported_sessions(records, targets)
            self._warnings += warnings
        self._warnings += self._unplanned_entries()
        return records_by_key

    @property
    def warnings(self) -> list[str]:
        """One line for each thing in the folder that is damaged or foreign, and is left out."""
        _ = self._records, self.run, self.image_paths
        return list(self._warnings)

    def session_records(self, key: str) -> list[SessionRecord]:
        """The sessions of a trial in order, failed ones too; ValueError for no trial of this experiment."""
        if key not in self._records:
            raise ValueError(f"not a trial of this experiment: {key[:100]!r}")
        return list(self._records[key])

    @cached_property
    def run(self) -> RunRecord | None:
        """How the last run ended; None where run.json is missing or damaged."""
        try:
            return read_run(self.path)
        except StoredResultError as error:
            self._warnings.append("; ".join(part for part in (error.what, error.why, error.fix) if part))
            return None

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row a planned trial.

        key, target, device, variant, depth_multiplier, precision, batch, concurrency, settings (a dict: those
        in which its target differs from the others of its sweep), status (done, partial, failed,
        unsupported, not_run), reason (why it could not be measured), artifact_bytes, artifact_sha256,
        sessions_ok, sessions_failed, sessions_interrupted.
        """
        return trial_frame(self.experiment, self._records, self.run)

    @cached_property
    def sessions(self) -> pd.DataFrame:
        """One row a session, failed ones too; reads no Parquet file.

        trial (category), session, round, status, started_utc (datetime), duration_s, harness_s, cold_*_s,
        warmup_batches, warmup_steady, memory_*_bytes, golden_*, failure_*. Missing figures are missing.
        """
        return session_frame([trial.key for trial in self.experiment.trials], self._records)

    @cached_property
    def passes(self) -> pd.DataFrame:
        """One row a pass: trial, session, the columns of `records.PASS_COLUMNS`, and a sum a stage in ns."""
        return self.table("passes")

    @cached_property
    def batches(self) -> pd.DataFrame:
        """One row a batch: trial, session, `records.BATCH_COLUMNS`, start and end of each stage in ns."""
        return self.table("batches")

    @cached_property
    def windows(self) -> pd.DataFrame:
        """One row a window: trial, session, `records.WINDOW_COLUMNS`; empty where devices gave passes."""
        return self.table("windows")

    @cached_property
    def probes(self) -> pd.DataFrame:
        """One row a sample and channel: trial, session, `records.PROBE_COLUMNS`."""
        return self.table("probes")

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """One row a patch and set: trial, session, `records.PREDICTION_COLUMNS`; scores are arrays."""
        return self.table("predictions")

    def table(
        self, name: str, columns: Sequence[str] | None = None, trials: Sequence[str] | None = None
    ) -> pd.DataFrame:
        """A table of all sessions, read anew, perhaps only some of its columns.

        Args:
            name: passes, batches, windows, probes, predictions, or that of a further table.
            columns: those that are wanted; None for all.
            trials: the keys of the trials whose sessions are read; None for all.

        Raises:
            StoredResultError: a file is truncated, damaged or has other columns.
            ValueError: no table can have that name, or a key is no trial's of this experiment.
        """
        keys = [trial.key for trial in self.experiment.trials] if trials is None else list(trials)
        return self._read(name, {key: self.session_records(key) for key in keys}, columns)

    def session_table(self, name: str, session: SessionRecord) -> pd.DataFrame:
        """A table of one session, read anew: with all its columns, and otherwise as `table`."""
        return self._read(name, {session.trial: [session]})

    def _read(
        self,
        name: str,
        records_by_key: Mapping[str, Sequence[SessionRecord]],
        columns: Sequence[str] | None = None,
    ) -> pd.DataFrame:
        if not layout.is_table_name(name):
            raise ValueError(f"not the name of a table: {name[:100]!r}")
        sources = [
            Source(
                at,
                record.n,
                layout.session_folder(self.path, key, record.n) / f"{name}.parquet",
                record.tables.get(name),
            )
            for at, (key, records) in enumerate(records_by_key.items())
            for record in records
        ]
        return read_frame(name, sources, list(records_by_key), self.path, columns)

    @cached_property
    def image_paths(self) -> dict[str, tuple[str, ...]]:
        """The path of each image by its index, by the SHA-256 of the set's pixels.

        Empty in results of earlier versions, where the images were no files, and where images.json is
        damaged, which `warnings` says then.
        """
        try:
            record = read_image_paths(self.path)
        except StoredResultError as error:
            self._warnings.append("; ".join(part for part in (error.what, error.why, error.fix) if part))
            return {}
        return {} if record is None else record.sets

    @cached_property
    def scene_jpeg(self) -> bytes | None:
        """The scene's picture, small, as JPEG bytes; None when none was kept."""
        return read_bounded(self.path / layout.SCENE_FILE, self.path)

    def __repr__(self) -> str:
        return f"StoredResults({str(self.path)!r})"

    def _unplanned_entries(self) -> list[str]:
        """One line for each entry of the trials' folder that is not in the plan."""
        planned: set[str] = {trial.key for trial in self.experiment.trials}
        folder = self.path / layout.TRIALS_FOLDER
        try:
            folder_names = sorted(os.listdir(folder))  # noqa: PTH208  # a thousand names, no objects
        except OSError:
            return []
        unplanned = set(folder_names) - planned
        return [
            f"{name[:60]!r} among the trials is not in the plan, and is left out"
            for name in folder_names
            if name in unplanned and not name.startswith(layout.WRITING_PREFIX)
        ]


def load(path: str | Path) -> StoredResults:
    """The experiment in a result folder; reads experiment.json only.

    As for the commands, `latest` is the newest result, `DIR/latest` the newest in a folder, and a bare name
    is looked for among the results: in the folder that EDGEBENCH_OUTPUT_DIR names, else ./results. Unlike the
    commands it reads no configuration file: where one sets output_dir, `latest` is another folder's.

    StoredResultError, with its fix, when there is no such folder, when it is not an EdgeBench result, or
    when experiment.json is truncated, damaged or of a newer version.
    """
    folder = found_folder(path)
    return StoredResults(folder, read_experiment(folder))


def found_folder(path: str | Path) -> Path:
    """The folder that `load` means; StoredResultError where there is none of a bare name, and no latest."""
    folder = Path(path)
    is_name = len(folder.parts) == 1 or folder.name == LATEST
    return resolve_results(str(path), default_output_dir()) if is_name else folder
