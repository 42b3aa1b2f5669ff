"""A result in an MLflow tracking store: an experiment, a run a result, and below it a run a trial.

MLflow is an extra (`edgebench[mlflow]`) and is imported here alone, without its telemetry and without retries
that go on for minutes. A result is recognised by the checksum of its archive and is put into a store once.
"""

from __future__ import annotations

import logging
import math
import os
import re
import sqlite3
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from edgebench.errors import StoredResultError, UnavailableError, UsageError
from edgebench.judge.table import column_of, wide_rows
from edgebench.judge.trial import Trial
from edgebench.judge.verdicts.verdict import Verdict, overall
from edgebench.report import tables, words

# A result as a tracking store takes it: a run a trial, with parameters, metrics and tags.


PARAMETERS = (
    "trial", "target", "variant", "depth_multiplier", "precision", "batch", "concurrency", "settings",
    "scene",
)  # fmt: skip
"""Columns that say which trial it is; the other numbers are metrics, the other texts tags."""

LONGEST_TEXT = 5000
"""What tracking stores take of a parameter or a tag: MLflow up to 6,000 characters of a parameter."""
_LONGEST_NAME = 200


@dataclass(frozen=True)
class TrackedRun:
    """One trial.

    Attributes:
        name: name of the trial in reports.
        measured: whether the trial has estimates.
        parameters, tags: texts by name, none of them empty.
        metrics: finite numbers by name, one per step, as the wide table has them in base units;
            `*_of_session` has one step per session.
    """

    name: str
    measured: bool
    parameters: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, tuple[float, ...]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)


def tracked_runs(trials: Sequence[Trial], verdicts: Sequence[Verdict]) -> list[TrackedRun]:
    """One run per trial. A missing estimate is no metric."""
    names = tables.trial_names(trials)
    runs = {}
    for trial, row in zip(trials, wide_rows(trials), strict=True):
        run = runs[trial.key] = TrackedRun(words.plain(names[trial.key], 120), trial.has_estimates)
        for column, value in row.items():
            if value is None or value == "":
                continue
            if column in PARAMETERS or column.startswith("setting:"):
                run.parameters[_name(column)] = words.plain(value, LONGEST_TEXT)
            elif isinstance(value, str | bool):
                run.tags[_name(column)] = words.plain(value, LONGEST_TEXT)
            elif math.isfinite(value):
                run.metrics[_name(column)] = (float(value),)
        for key, estimate in trial.estimates.items():
            if key.worker is None and estimate.sessions:
                run.metrics.setdefault(_name(f"{column_of(key)}_of_session"), estimate.sessions)
    for overall_verdict in overall(verdicts):
        tags = runs[overall_verdict.trial].tags
        tags[_name(f"verdict.{overall_verdict.profile}")] = overall_verdict.verdict
        for verdict in overall_verdict.verdicts:
            tags[_name(f"verdict.{overall_verdict.profile}.{verdict.requirement.name}")] = verdict.word
    return list(runs.values())


def _name(text: str) -> str:
    """A name with letters, digits, `_`, `-`, `.`, `/` and spaces alone, as every tracking store takes it."""
    return re.sub(r"[^A-Za-z0-9_\-. /]", "_", text.replace(":", ".")).strip("/. ")[:_LONGEST_NAME] or "_"


CHECKSUM_TAG = "edgebench.result_sha256"
_ENVIRONMENT = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_ALLOW_FILE_STORE": "true",  # a folder was named: that is the wish for one
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "20",
}
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:")


def tracking_uri(store: str) -> str:
    """Address by which MLflow knows a store that a user names: a folder, a database or a server.

    UsageError where a folder or an SQLite database is not there: a mistyped name makes no store.
    """
    is_folder = not _SCHEME.match(store)
    if not (is_folder or store.startswith("sqlite:")):
        return store
    path = Path(store) if is_folder else _database(store)
    if not (path.is_dir() if is_folder else path.is_file()):
        make = "mkdir" if is_folder else "touch"
        raise UsageError(
            f"there is no MLflow store {_shown(store)}", fix=f"an empty one is made by: {make} {path}"
        )
    if is_folder:
        if any(path.iterdir()) and not any(path.glob("*/meta.yaml")):
            raise UsageError(
                f"{store} is no folder of an MLflow store", fix="name a store, or an empty folder"
            )
        return path.resolve().as_uri()
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise _unusable(store, error.strerror or str(error)) from error
    if head not in (b"", b"SQLite format 3\x00"):
        raise _unusable(store, f"{path} is no SQLite database")
    return store


def _database(uri: str) -> Path:
    return Path(uri.removeprefix("sqlite:///").partition("?")[0])


def record_result(
    store: str,
    experiment: str,
    name: str,
    runs: Sequence[TrackedRun],
    tags: dict[str, str],
    files: Sequence[Path],
    checksum: str,
    started_s: float,
) -> str:
    """Put a result into a store; returns the id of its run.

    Args:
        store: as of `tracking_uri`.
        experiment: its name in the store, made where it is missing.
        name: of the result.
        runs: one a trial.
        tags: of the result as a whole.
        files: what is kept with it.
        checksum: of its archive; a result with the same one is in the store already.
        started_s: when it was measured, seconds since 1970.

    Raises:
        UnavailableError: MLflow is not installed.
        UsageError: the store is not there.
        StoredResultError: the store has this result, is of another version, or refuses. What of a result was
            put into it before is marked as failed.
    """
    uri = tracking_uri(store)
    with _quiet_mlflow(store) as client_class:
        client = client_class(tracking_uri=uri)
        existing = client.get_experiment_by_name(experiment)
        # Files lie beside a database, which would choose whoever's working folder.
        place = (_database(uri).resolve().parent / "mlruns").as_uri() if uri.startswith("sqlite:") else None
        experiment_id = existing and existing.experiment_id
        experiment_id = experiment_id or client.create_experiment(experiment, artifact_location=place)
        same_result = f"tags.`{CHECKSUM_TAG}` = '{checksum}' and attributes.status = 'FINISHED'"
        if finished := client.search_runs([experiment_id], same_result):
            raise StoredResultError(
                f"{_shown(store)} has this result already",
                why=f"run {finished[0].info.run_id} of experiment {experiment!r}",
                fix="choose another --experiment, or remove that run",
            )
        began = {"experiment_id": experiment_id, "start_time": int(1000 * started_s)}
        with _open_run(client, run_name=name, tags=tags, **began) as parent_id:
            for run in runs:
                parent = {"mlflow.parentRunId": parent_id}
                status = "FINISHED" if run.measured else "FAILED"
                with _open_run(client, status, run_name=run.name, tags=parent, **began) as run_id:
                    _record_trial(client, run_id, run, began["start_time"])
            for file in files:
                client.log_artifact(parent_id, str(file))
            client.set_tag(parent_id, CHECKSUM_TAG, checksum)
    return parent_id


@contextmanager
def _open_run(client: Any, status: str = "FINISHED", **about: Any) -> Iterator[str]:
    """The id of a new run, which ends with this status, or as failed."""
    run_id = str(client.create_run(**about).info.run_id)
    try:
        yield run_id
    except BaseException:
        client.set_terminated(run_id, status="FAILED")
        raise
    client.set_terminated(run_id, status=status)


def _record_trial(client: Any, run_id: str, run: TrackedRun, began_ms: int) -> None:
    from mlflow.entities import Metric, Param, RunTag

    metrics = [
        Metric(name, value, began_ms, step)
        for name, values in run.metrics.items()
        for step, value in enumerate(values)
    ]
    parameters = [Param(name, text) for name, text in run.parameters.items()]
    tags = [RunTag(name, text) for name, text in run.tags.items()]
    most = max(len(metrics), len(parameters), len(tags))
    for start in range(0, most, 100):  # of a kind a call takes so many
        part = slice(start, start + 100)
        client.log_batch(run_id, metrics[part], parameters[part], tags[part])


@contextmanager
def _quiet_mlflow(store: str) -> Iterator[Any]:
    """MLflow's client class, in an environment that keeps it still; its errors in words."""
    with patch.dict(os.environ, _ENVIRONMENT), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from mlflow.exceptions import MlflowException
            from mlflow.tracking import MlflowClient
        except ImportError as error:
            raise UnavailableError(
                "MLflow is not installed", why=str(error), fix="pip install 'edgebench[mlflow]'"
            ) from error
        for logger in ("mlflow", "alembic"):
            logging.getLogger(logger).setLevel(logging.WARNING)
        try:
            yield MlflowClient
        except MlflowException as error:
            raise _unusable(store, str(error).splitlines()[0]) from error
        except (OSError, sqlite3.Error) as error:
            raise _unusable(store, getattr(error, "strerror", None) or str(error)) from error


def _shown(text: str) -> str:
    """An address without the name and password that it may hold."""
    return re.sub(r"//[^/@\s]+@", "//...@", text)


def _unusable(store: str, why: str) -> StoredResultError:
    store = _shown(store)
    fix = "see that it is a store of MLflow 3, and that it may be written"
    if "schema" in why.lower() or "revision" in why.lower():
        fix = f"bring it up to date (mlflow db upgrade {store}), or install the MLflow that made it"
    elif "HTTPConnection" in why:
        fix = "start the server (mlflow server), or correct the address"
    return StoredResultError(f"the MLflow store {store} cannot be used", why=_shown(why)[:300], fix=fix)
