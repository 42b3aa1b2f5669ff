"""What a list says of each result, from its records alone: no table is read and nothing is judged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from edgebench.errors import StoredResultError
from edgebench.store.completion import is_done
from edgebench.store.record_reading import read_run, read_sessions
from edgebench.store.records import ExperimentRecord, RunRecord
from edgebench.store.result_listing import StoredResult
from edgebench.store.revisions import swept_name


@dataclass(frozen=True)
class ResultOverview:
    """One line of the list.

    Attributes:
        path: the folder.
        begun_utc: ISO 8601; empty where it is not known.
        latest: whether it is what `latest` stands for.
        targets: their names without the settings of a sweep, each once.
        variants: how many variants there are.
        trials: those that the targets take.
        measured: how many of these have all the sessions that they were to have.
        ended: how the last run ended: complete, time, interrupted, error; empty while it goes on, where it
            was killed, and where it is not recorded.
        profiles: names of the profiles of its run.
        verdicts: profile -> verdict -> trials, as the run ended with; None where it is not recorded.
    """

    path: Path
    begun_utc: str
    latest: bool
    targets: tuple[str, ...]
    variants: int
    trials: int
    measured: int
    ended: str
    profiles: tuple[str, ...]
    verdicts: Mapping[str, Mapping[str, int]] | None


def overview(result: StoredResult, *, latest: bool) -> ResultOverview:
    """The line of one result; a run.json that is damaged is as none."""
    experiment = result.experiment
    try:
        run = read_run(result.path)
    except StoredResultError:
        run = None
    taken = [trial for trial in experiment.trials if trial.status != "unsupported"]
    measured = sum(
        trial.status == "planned"
        and is_done(
            trial.key,
            [session.status for session in read_sessions(result.path, trial.key)[0]],
            run,
            least=experiment.least_sessions,
            most=experiment.sessions,
        )
        for trial in taken
    )
    return ResultOverview(
        path=result.path,
        begun_utc=result.begun_utc,
        latest=latest,
        targets=tuple(dict.fromkeys(map(swept_name, experiment.targets))),
        variants=len({trial.variant for trial in experiment.trials}),
        trials=len(taken),
        measured=measured,
        ended=_ended(run),
        profiles=tuple(str(profile.get("name", "")) for profile in experiment.profiles),
        verdicts=None if run is None else _recorded_verdicts(run, experiment),
    )


def _recorded_verdicts(
    run: RunRecord, experiment: ExperimentRecord
) -> Mapping[str, Mapping[str, int]] | None:
    """Those of the run's profiles; None where these trials cannot have come to them."""
    recorded = run.verdicts or {}
    verdicts = {
        name: recorded[name]
        for profile in experiment.profiles
        if (name := str(profile.get("name", ""))) in recorded
    }
    most = len(experiment.trials)
    for counts in verdicts.values():
        if any(count < 0 for count in counts.values()) or sum(counts.values()) > most:
            return None
    return None if run.verdicts is None else verdicts


def _ended(run: RunRecord | None) -> str:
    if run is None:
        return ""
    return run.ended or ("error" if run.faults else "")
