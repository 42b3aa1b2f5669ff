"""Which folder a user means: `latest`, a folder, or the experiment that `--resume` goes on with."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from edgebench.errors import StoredResultError
from edgebench.store.completion import is_done
from edgebench.store.layout import EXPERIMENT_FILE, TRIAL_FILE, WRITING_PREFIX, check_name, trial_folder
from edgebench.store.record_reading import read_experiment, read_run, read_sessions
from edgebench.store.records import ExperimentRecord
from edgebench.store.result_listing import list_results
from edgebench.store.revisions import planned_keys, planned_name

LATEST = "latest"


def default_output_dir() -> Path:
    """Where results lie unless somebody says otherwise: EDGEBENCH_OUTPUT_DIR, else ./results."""
    return Path(os.environ.get("EDGEBENCH_OUTPUT_DIR") or "results")


def resolve_results(text: str, output_dir: Path) -> Path:
    """The result folder that `text` names: `latest`, a folder, or the name of one under `output_dir`.

    `results/latest` is the newest one in that folder, whatever `output_dir` is.

    StoredResultError, with its fix, when there is none, when it is not an EdgeBench result, when nothing
    was measured yet, or when its experiment.json is truncated or of a newer version.
    """
    path = Path(text)
    if text == LATEST:
        return _newest(output_dir)
    if path.name == LATEST and not path.exists():
        return _newest(path.parent)
    if not path.exists() and len(path.parts) == 1 and (output_dir / path / EXPERIMENT_FILE).exists():
        path = output_dir / path
    read_experiment(path)
    return path


def _newest(folder: Path) -> Path:
    """The newest experiment in a folder; StoredResultError where there is none."""
    experiments = _experiments(folder)
    if not experiments:
        raise StoredResultError(
            f"nothing was measured yet in {folder}",
            fix="measure first: edgebench run --device NAME; or say where with --output-dir",
        )
    return experiments[0][0]


def find_unfinished(output_dir: Path, name: str | None, keys: Collection[str]) -> Path:
    """The newest unfinished experiment under `output_dir` whose trials have these keys, or that of the name.

    Where all of them are finished it is the newest of those. StoredResultError, saying what differs, when
    there is none.
    """
    run_keys = set(keys)
    fix = "run without --resume to start a new one"
    if name is not None:
        path = output_dir / check_name(name)
        experiments = [(path, read_experiment(path))] if path.exists() else []
    else:
        experiments = _experiments(output_dir)
    same = [(path, record) for path, record in experiments if planned_keys(record) == run_keys]
    if same:
        return next((path for path, record in same if not is_finished(path, record)), same[0][0])
    if not experiments:
        place = output_dir if name is None else output_dir / name
        raise StoredResultError(f"there is no experiment in {place} to go on with", fix=fix)
    path, record = experiments[0]
    stored_keys = planned_keys(record)
    raise StoredResultError(
        "there is no experiment of these trials to go on with",
        why=(
            f"{path.name} has {len(stored_keys)} trials, this run {len(run_keys)}: "
            f"{len(run_keys - stored_keys)} of this run are not in it, "
            f"{len(stored_keys - run_keys)} of it are not in this run"
        ),
        fix=f"{fix}, or repeat the command that it was begun with",
    )


def is_finished(path: Path, record: ExperimentRecord) -> bool:
    """Whether the experiment was measured to its end: no trial of it has a session left to measure.

    Of a target with revisions, the trials of one of them are enough.
    One that could not be prepared is tried again, as one whose sessions failed. A run that was killed
    before its trials were summed up, or while it wrote, has that still to do.
    """
    if any(trial.status == "failed" for trial in record.trials):
        return False
    if not all((trial_folder(path, trial.key) / TRIAL_FILE).is_file() for trial in record.trials):
        return False
    if any(path.rglob(f"{WRITING_PREFIX}*")):
        return False
    try:
        run = read_run(path)
    except StoredResultError:
        return False
    # Results of earlier versions have no run.json.
    if run is not None and run.ended != "complete":
        return False
    unfinished = {
        trial.target
        for trial in record.trials
        if trial.status == "planned"
        and not is_done(
            trial.key,
            [session.status for session in read_sessions(path, trial.key)[0]],
            run,
            least=record.least_sessions,
            most=record.sessions,
        )
    }
    # A target whose device became another one is measured to its end as one of its revisions.
    finished = {planned_name(target) for target in record.targets if target.name not in unfinished}
    return unfinished.issubset(target.name for target in record.targets if planned_name(target) in finished)


def _experiments(output_dir: Path) -> list[tuple[Path, ExperimentRecord]]:
    """The sound experiments directly under a folder, newest first.

    What is none is passed over, and so is what may not be read, such as a disk's lost+found.
    """
    return [(result.path, result.experiment) for result in list_results(output_dir)[0]]
