"""All results of a folder, in order of time, and what else in it cannot be read.

What a list says of each result is kept in an index in the cache: a result is opened again once one of its
records has another size, time or place on the disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from edgebench.errors import StoredResultError
from edgebench.files import expand_home
from edgebench.prepare.cache import Cache
from edgebench.records.stored import (
    ExperimentRecord,
    RunRecord,
    SessionRecord,
    SessionStatus,
    TrialRecord,
    TrialStatus,
)
from edgebench.results.layout import (
    EXPERIMENT_FILE,
    INDEX,
    TRIAL_FILE,
    WRITING_PREFIX,
    check_name,
    index_key,
    records_state,
    trial_folder,
)
from edgebench.results.record_reading import read_experiment, read_run, read_sessions
from edgebench.results.revisions import planned_keys, planned_name, swept_name
from edgebench.suggest import choose


@dataclass(frozen=True)
class ResultOverview:
    """One result in the list."""

    result: str
    """The folder's name, which commands take for RESULTS. Source: results."""
    path: str
    """The folder. Source: results."""
    begun_utc: str | None
    """When it began, ISO 8601; null where that is not known. Source: experiment.json."""
    latest: bool
    """Whether `latest` means it. Source: results."""
    targets: tuple[str, ...]
    """Names of its targets. Source: experiment.json."""
    variants: int
    """How many variants it has. Source: experiment.json."""
    trials: int
    """How many trials were planned. Source: experiment.json."""
    measured: int
    """How many of them have a finished session. Source: session.json."""
    ended: str | None
    """How its last run ended; null where nothing says so. Source: run.json."""
    profiles: tuple[str, ...]
    """Those that it was run with. Source: experiment.json."""
    verdicts: dict[str, dict[str, int]] | None
    """By profile, how many trials came to which verdict; null where the run did not record them. Source:
    run.json."""


@dataclass(frozen=True)
class Indexed:
    """What the index holds of a result whose experiment.json can be read.

    Attributes:
        id: of the experiment; copies share it.
        created_s: when it began as its record says, seconds since 1970.
        overview: its line of the list, without path, date and whether it is the latest.
        sessions: by the trial's key, the numbers of its sound sessions.
    """

    id: str
    created_s: float
    overview: ResultOverview
    sessions: dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class StoredResult:
    """One result folder.

    Attributes:
        path: the folder.
        begun_s: when it began, seconds since 1970; 0 where that is not known.
    """

    path: Path
    begun_s: float

    @cached_property
    def experiment(self) -> ExperimentRecord:
        """What its experiment.json says, read when it is first asked for; errors of `read_experiment`."""
        return read_experiment(self.path)

    @property
    def begun_utc(self) -> str:
        """ISO 8601, whole seconds, Z; empty where it is not known."""
        if not self.begun_s:
            return ""
        return datetime.fromtimestamp(self.begun_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True)
class ListedResult(StoredResult):
    """One of a folder, with what the index holds of it, and its records' state: another once one changes."""

    indexed: Indexed
    state: str

    def overview(self, *, latest: bool) -> ResultOverview:
        """Its line of the list."""
        begun_utc, path = self.begun_utc or None, str(self.path)
        return replace(self.indexed.overview, path=path, begun_utc=begun_utc, latest=latest)


@dataclass(frozen=True)
class UnreadableResult:
    """A result that is left out: its experiment.json cannot be read, or another result is the same."""

    result: str
    """The folder's name. Source: results."""
    reason: str
    """Why it is left out, in one line. Source: results."""

    @classmethod
    def of(cls, folder: Path, error: StoredResultError) -> UnreadableResult:
        """A folder with a file that cannot be read, as the error says."""
        sentence = "; ".join(part for part in (error.what, error.why) if part)
        return cls(folder.name, sentence.replace(f"{folder}{os.sep}", ""))


def unreadable_reason(unreadable: Sequence[UnreadableResult]) -> str:
    """How many results cannot be read, and why the first cannot; empty without any."""
    if not unreadable:
        return ""
    return f"{len(unreadable)} cannot be read: {unreadable[0].result}: {unreadable[0].reason}"


def list_results(output_dir: Path) -> tuple[list[ListedResult], list[UnreadableResult]]:
    """The results directly under a folder, newest first, and those that cannot be read, by name.

    A folder without an experiment.json is neither. No folder has no results; StoredResultError for one that
    may not be read. What did not change since the last listing is taken from the index in the cache.
    """
    dated: list[tuple[float, int, str, ListedResult]] = []
    unreadable: list[UnreadableResult] = []
    now_s, index = time.time(), _Index(output_dir)
    for folder in _folders(output_dir):
        if not os.path.isfile(folder / EXPERIMENT_FILE):  # noqa: PTH113  # what may not be looked into is none
            continue
        try:
            written_ns, state = records_state(folder)
            known = index.entry(folder, state)
        except OSError as error:
            unreadable.append(UnreadableResult(folder.name, error.strerror or str(error)))
            continue
        if isinstance(known, UnreadableResult):
            unreadable.append(known)
            continue
        begun_s = begun_at(known.created_s, written_ns / 1e9, now_s)
        dated.append((begun_s, written_ns, folder.name, ListedResult(folder, begun_s, known, state)))
    index.keep()
    dated.sort(key=lambda entry: entry[:3], reverse=True)
    return [result for *_, result in dated], sorted(unreadable, key=lambda entry: entry.result)


def distinct(
    results: Iterable[ListedResult], preferred: str | None = None
) -> tuple[list[ListedResult], list[UnreadableResult]]:
    """Results of different experiments in their order, and their copies: linked, copied or imported.

    Of the copies of one experiment the result named `preferred` is kept, else the one with most sessions,
    else one that is no link, else the last one.
    """

    def rank(result: ListedResult) -> tuple[bool, int, bool]:
        sessions = sum(map(len, result.indexed.sessions.values()))
        return result.path.name == preferred, sessions, not result.path.is_symlink()

    results = list(results)
    kept = {result.indexed.id: result for result in sorted(results, key=rank)}
    copies = [
        UnreadableResult(result.path.name, f"the same experiment as {kept[result.indexed.id].path.name}")
        for result in results
        if kept[result.indexed.id] is not result
    ]
    return [result for result in results if kept[result.indexed.id] is result], copies


class _Index:
    """What the last listing found in a folder: by the name of a result, its records' state and what they say.

    An index that is missing, damaged or of another version of EdgeBench is as an empty one.
    """

    def __init__(self, output_dir: Path) -> None:
        self._cache = Cache()
        self._key = index_key(output_dir)
        try:
            stored = self._cache.recipe(INDEX, self._key) or {}
            self._before = _entries().validate_python(stored.get("results", {}))
        except ValidationError:
            self._before = {}
        self._now: dict[str, tuple[str, Indexed]] = {}

    def entry(self, folder: Path, state: str) -> Indexed | UnreadableResult:
        """What is known of a result in this state of its records."""
        before = self._before.get(folder.name)
        if before is not None and before[0] == state:
            self._now[folder.name] = before
            return before[1]
        found, is_whole = _indexed(folder)
        # What could not be read may be readable next time, with the same size and time. A name that is not
        # UTF-8 is no text that an index can hold.
        if is_whole and isinstance(found, Indexed) and folder.name.isprintable():
            self._now[folder.name] = state, found
        return found

    def keep(self) -> None:
        """Write what was found, where it differs from what was there; a cache that is full forgets it."""
        if self._now != self._before:
            results = {name: (state, asdict(found)) for name, (state, found) in self._now.items()}
            self._cache.remember(INDEX, self._key, {"results": results})


@cache
def _entries() -> TypeAdapter[dict[str, tuple[str, Indexed]]]:
    return TypeAdapter(dict[str, tuple[str, Indexed]])


def _indexed(folder: Path) -> tuple[Indexed | UnreadableResult, bool]:
    """A result, from its records alone: no table is read. And whether all of them could be read."""
    try:
        experiment = read_experiment(folder)
    except StoredResultError as error:
        return UnreadableResult.of(folder, error), False
    try:
        run = read_run(folder)
    except StoredResultError:  # a run.json that is damaged is as none
        run = None
    read = {trial.key: read_sessions(folder, trial.key) for trial in experiment.trials}
    records = {key: sessions for key, (sessions, _) in read.items()}
    taken = [trial for trial in experiment.trials if trial.status != "unsupported"]
    overview = ResultOverview(
        result=folder.name,
        path="",
        begun_utc=None,
        latest=False,
        targets=tuple(dict.fromkeys(map(swept_name, experiment.targets))),
        variants=len({trial.variant for trial in experiment.trials}),
        trials=len(taken),
        measured=sum(
            trial.status == "planned" and _is_measured(records[trial.key], experiment, trial.key, run)
            for trial in taken
        ),
        ended=None if run is None else run.ended or ("error" if run.faults else None),
        profiles=tuple(str(profile.get("name", "")) for profile in experiment.profiles),
        verdicts=None if run is None else _recorded_verdicts(run, experiment),
    )
    sessions = {key: tuple(record.n for record in found) for key, found in records.items()}
    return Indexed(experiment.id, created_s(experiment), overview, sessions), not any(
        warned for _, warned in read.values()
    )


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


def begun_at(created_s: float, written_s: float, now_s: float) -> float:
    """When an experiment began, for the order of results; seconds since 1970.

    A date in the future is that of a clock that was wrong: the file's counts then, and where that is in
    the future too, nothing is known, and every other result is newer.
    """
    return next((moment_s for moment_s in (created_s, written_s) if 0 <= moment_s <= now_s), 0.0)


def created_s(record: ExperimentRecord) -> float:
    """When an experiment began as its record says, seconds since 1970 (UTC); 0 for what is no later date."""
    try:
        created = datetime.fromisoformat(record.created_utc)
    except ValueError:
        return 0.0
    return max(0.0, (created if created.tzinfo else created.replace(tzinfo=UTC)).timestamp())


# Whether a trial has been measured enough, from its sessions and from how the last run ended.


def is_done(
    key: str, statuses: Sequence[SessionStatus], run: RunRecord | None, *, least: int | None, most: int
) -> bool:
    """Whether the trial has all its sessions, or was ended by a rule, or by the time with an interval there.

    Args:
        key: of the trial.
        statuses: of all its sessions, by number.
        run: how the last run of its experiment ended, where that is known.
        least: sessions before which no rule ends a trial; None where no rule was asked for.
        most: sessions at which every trial ends.
    """
    ok = statuses.count("ok")
    if ok >= most:
        return True
    if least is None or run is None:
        return False
    in_time = run.ended == "time" and ok >= least and not is_given_up(statuses)
    return in_time or ended_by_rule(key, run)


def status_of(trial: TrialRecord, records: Sequence[SessionRecord], planned: int) -> tuple[TrialStatus, str]:
    """How far a trial came, and in words what is missing."""
    ok = sum(record.status == "ok" for record in records)
    failed = [record for record in records if record.status not in ("ok", "interrupted")]
    also = f", {len(failed)} failed" if failed else ""
    last = failure_text(failed[-1]) if failed else ""
    ways: tuple[tuple[object, TrialStatus, str], ...] = (
        (
            trial.status == "unsupported",
            "unsupported",
            trial.reason or "the target does not take this variant",
        ),
        (
            trial.status == "failed",
            "failed",
            f"it could not be prepared: {trial.reason or 'no reason was kept'}",
        ),
        (ok >= planned, "done", ""),
        (ok, "partial", f"{ok} of {planned} planned sessions are there{also}"),
        (failed, "failed", f"no session ended well{also}; the last: {last}"),
        (records, "not_run", "it was interrupted in its first session, which is kept and gives no figure"),
    )
    return next(((status, what) for holds, status, what in ways if holds), ("not_run", "no session has run"))


def failure_text(record: SessionRecord) -> str:
    """What ended a session, with the signal, the reason and the remedy where they are known."""
    failure = record.failure
    if failure is None:
        return record.status
    sentence = f"{failure.what}: {failure.why}" if failure.why else failure.what
    if failure.signal and failure.signal not in sentence:
        sentence = f"{sentence} ({failure.signal})"
    return f"{sentence}; {failure.fix}" if failure.fix else sentence


def _is_measured(
    sessions: Sequence[SessionRecord], record: ExperimentRecord, key: str, run: RunRecord | None
) -> bool:
    """The same of a trial's sessions as they are on disk."""
    statuses = [session.status for session in sessions]
    return is_done(key, statuses, run, least=record.least_sessions, most=record.sessions)


def ended_by_rule(key: str, run: RunRecord | None) -> bool:
    """Whether a rule that was asked for ended the trial, as the last run recorded it."""
    return run is not None and key in (run.settled or ())


def is_given_up(statuses: Sequence[SessionStatus]) -> bool:
    """Whether the last sessions failed again and again, or gave other outputs."""
    last = [status for status in statuses if status != "interrupted"][-2:]
    return last[-1:] == ["golden_mismatch"] or (len(last) == 2 and "ok" not in last)


def _recorded_verdicts(run: RunRecord, experiment: ExperimentRecord) -> dict[str, dict[str, int]] | None:
    """Those of the run's profiles; None where these trials cannot have come to them."""
    recorded = run.verdicts or {}
    verdicts = {
        name: {word: recorded[name].get(word, 0) for word in ("pass", "fail", "inconclusive", "unknown")}
        for profile in experiment.profiles
        if (name := str(profile.get("name", ""))) in recorded
    }
    most = len(experiment.trials)
    for counts in verdicts.values():
        if any(count < 0 for count in counts.values()) or sum(counts.values()) > most:
            return None
    return None if run.verdicts is None else verdicts


# Which folder a user means: `latest`, a folder, or the experiment that `--resume` goes on with.


LATEST = "latest"


def default_output_dir() -> Path:
    """Where results are unless somebody says otherwise: EDGEBENCH_OUTPUT_DIR, else ./results."""
    return Path(expand_home(os.environ.get("EDGEBENCH_OUTPUT_DIR") or "results"))


def resolve_results(text: str, output_dir: Path) -> Path:
    """The result folder that `text` names: `latest`, a folder, or the name of one under `output_dir`.

    `results/latest` is the newest one in that folder, whatever `output_dir` is.

    StoredResultError, with its fix, when there is none, when it is not an EdgeBench result, when nothing
    was measured yet, or when its experiment.json is truncated or of another version.
    """
    path = Path(text)
    if text == LATEST:
        return _newest(output_dir)
    if path.name == LATEST and not path.exists():
        return _newest(path.parent)
    if not path.exists() and len(path.parts) == 1 and (output_dir / path / EXPERIMENT_FILE).exists():
        path = output_dir / path
    if not path.exists() and (
        known := [LATEST, *(result.path.name for result in list_results(output_dir)[0])]
    ):
        raise StoredResultError(f"there is no result folder {path}", fix=choose(text, known))
    read_experiment(path)
    return path


def _newest(folder: Path) -> Path:
    """The newest experiment in a folder; StoredResultError without one."""
    results, unreadable = list_results(folder)
    if not results:
        raise StoredResultError(
            f"no result in {folder} can be read" if unreadable else f"nothing was measured yet in {folder}",
            why=unreadable_reason(unreadable),
            fix="measure first: edgebench run --device NAME; or say where with --output-dir",
        )
    return results[0].path


def find_unfinished(output_dir: Path, name: str | None, keys: Collection[str]) -> Path:
    """The newest unfinished experiment under `output_dir` whose trials have these keys, or that of the name.

    Where all of them are finished it is the newest of those. StoredResultError, saying what differs, when
    there is none.
    """
    run_keys, left_out = set(keys), ""
    fix = "run without --resume to start a new one"
    if name is not None:
        path = output_dir / check_name(name)
        experiments = [(path, read_experiment(path))] if path.exists() else []
    else:
        results, unreadable = list_results(output_dir)
        experiments = [(result.path, result.experiment) for result in results]
        left_out = unreadable_reason(unreadable)
    same = [(path, record) for path, record in experiments if planned_keys(record) == run_keys]
    if same:
        return next((path for path, record in same if not is_finished(path, record)), same[0][0])
    if not experiments:
        place = output_dir if name is None else output_dir / name
        raise StoredResultError(f"there is no experiment in {place} to go on with", why=left_out, fix=fix)
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


def newest_unfinished(output_dir: Path, name: str | None) -> ExperimentRecord:
    """The newest unfinished experiment in `output_dir`, or the one of that name, finished or not.

    Raises StoredResultError if it does not exist.
    """
    if name is not None:
        return read_experiment(output_dir / check_name(name))
    results, unreadable = list_results(output_dir)
    for result in results:
        if not is_finished(result.path, result.experiment):
            return result.experiment
    raise StoredResultError(
        f"there is no unfinished run in {output_dir}",
        why=unreadable_reason(unreadable),
        fix="run without --resume to start a new one, or name another folder of results with -o",
    )


def is_finished(path: Path, record: ExperimentRecord) -> bool:
    """Whether the experiment was measured to its end: no trial of it has a session left to measure.

    For a target with revisions, the trials of one of them are enough.
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
    if run is None or run.ended != "complete":
        return False
    unfinished = {
        trial.target
        for trial in record.trials
        if trial.status == "planned"
        and not _is_measured(read_sessions(path, trial.key)[0], record, trial.key, run)
    }
    # A target whose device became another one is measured to its end as one of its revisions.
    finished = {planned_name(target) for target in record.targets if target.name not in unfinished}
    return unfinished.issubset(target.name for target in record.targets if planned_name(target) in finished)
