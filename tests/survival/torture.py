"""Kill the harness at random moments of small experiments, or at every step, and resume it again and again.

`python -m tests.survival.torture HOW FOLDER ...` prints what happened as one JSON document; whatever was
lost, doubled or left unreadable is a line of its `problems`. HOW is one of

    random FOLDER DEVICE SEED KILLS      kill -9 at random moments, with the real agent
    steps FOLDER                         kill -9 before each change to the disk; the device answers at once
    refused FOLDER WHERE ERRNO EVERY     each change under FOLDER/WHERE in turn fails, and what comes after it
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from PIL import Image

from edgebench.errors import EdgeBenchError
from edgebench.files import write_output
from edgebench.judge.judged import judge_folder
from edgebench.report.renderers.forms import FORMS
from edgebench.results.layout import WRITING_PREFIX
from edgebench.results.record_reading import read_experiment, read_sessions
from tests.survival.forking import Ended, adopt_orphans, run_and_kill
from tests.survival.quick import Quick
from tests.survival.small import Small, environment
from tests.survival.steps import Refusals, die_at, refused_from

REFUSED, TOLERATED = 10, 11
SHARE = 0.25
"""Of a whole run's time: the latest moment of a kill, so that an experiment takes several."""


@dataclass
class Report:
    """What happened, for the test to judge."""

    whole_s: float = 0.0
    kills: int = 0
    refusals: int = 0  # runs in which the disk refused something: an error with its fix, or
    tolerated: int = 0  # nothing worse than that
    runs: int = 0
    experiments: int = 0
    sessions: int = 0
    in_hand: int = 0  # finished on the device, and lost with the harness before they were on disk
    left_behind: int = 0  # processes that outlived the harness, and ended by themselves
    leftovers: int = 0  # temporary files that a kill left, until the next run
    problems: list[str] = field(default_factory=list)


class Torture:
    """A series of kills of the same experiment under ever new names.

    Args:
        small: the experiments.
        reports: whether a run also writes report.html.
    """

    def __init__(self, small: Small, *, reports: bool) -> None:
        self._small = small
        self._reports = reports
        self.report = Report()
        self._kept: dict[str, str] = {}
        self._noted: Counter[tuple[str, int]] = Counter()
        self._played: dict[str, list[tuple[str, str, bytes]]] = {}

    def at_random(self, seed: int, kills: int) -> Report:
        """So many kills; a first run is not killed and says how long a whole one takes."""
        report, rng = self.report, random.Random(seed)
        report.whole_s = self._attempt("whole").seconds
        self._finished("whole")
        while report.kills < kills:
            name = f"e{report.experiments}"
            while report.kills < kills:
                if self._attempt(name, after_s=rng.random() * SHARE * report.whole_s).status == 0:
                    break
            else:
                self._attempt(name)
            self._finished(name)
        return report

    def at_every_step(self) -> Report:
        """One kill before each change to the disk: the first of a first experiment, and so on."""
        for step in range(1000):
            name = f"s{step}"
            if self._attempt(name, before=partial(die_at, self._small.folder, step)).status == 0:
                self._finished(name)
                return self.report
            self._attempt(name)
            self._finished(name)
        raise AssertionError("a small experiment of a thousand steps")

    def refused_at_every_step(self, folder: Path, code: int, *, every: int) -> Report:
        """Each change under `folder` in turn is refused with an errno, and all after it.

        With `every` above 1 it is each so many, and that one alone: a disk that fails and recovers.
        """
        for step in range(0, 1000, every):
            name = f"r{step}"
            refuse = partial(refused_from, folder, step, code, once=every > 1)
            ended = self._attempt(name, before=refuse)
            self._finished(name)
            if ended.status == 0:
                return self.report
        raise AssertionError("a small experiment of a thousand steps")

    def _attempt(
        self, name: str, *, after_s: float | None = None, before: Callable[[], Refusals] | None = None
    ) -> Ended:
        """One run, killed, refused or neither, and what is on disk after it."""
        report = self.report

        def work() -> int:
            refusals = before() if before else Refusals()
            folder = self._small.results / name
            code = 0
            try:
                self._work(name)
            except EdgeBenchError as error:
                if not refusals.count or not error.fix:
                    raise
                code = REFUSED
            refusals.over = True
            _readable(folder)
            if code == REFUSED:
                # Room was made, or whatever it was: the run is begun again, and comes to its end.
                self._work(name)
                _readable(folder)
            return code or (TOLERATED if refusals.count else 0)

        ended = run_and_kill(work, after_s)
        report.runs += 1
        report.left_behind += ended.left_behind
        if ended.status == -9:
            report.kills += 1
        elif ended.status in (REFUSED, TOLERATED):
            report.refusals += 1
            report.tolerated += ended.status == TOLERATED
        elif ended.status:
            self._problem(name, f"a run ended by {ended.status}")
        self._after(name, ended)
        return ended

    def _work(self, name: str) -> None:
        self._small.go_on(name)
        if self._reports:
            folder = self._small.results / name
            judged = judge_folder(folder)
            write_output(folder / "report.html", FORMS["html"].write(judged), "-o")

    def _after(self, name: str, ended: Ended) -> None:
        """What was on disk is as it was; what is new was measured once, and all of it can be read."""
        folder = self._small.results / name
        files = {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.glob("trials/*/sessions/[0-9]*/*"))
        }
        for path, digest in self._kept.items():
            if files.get(path) != digest:
                self._problem(name, f"{path} was {'changed' if path in files else 'lost'}")
        self.report.leftovers += sum(1 for _ in folder.rglob(f"{WRITING_PREFIX}*"))
        new = {Path(path).parent for path in files} - {Path(path).parent for path in self._kept}
        changed, self._kept = files != self._kept, files
        noted = self._small.noted()
        fresh = noted - self._noted
        self._noted = noted
        if (folder / "experiment.json").exists():
            self._measured_once(name, folder, new, fresh, 2 if ended.status == REFUSED else 1)
        elif fresh:
            self._problem(name, "sessions without an experiment")
        # A run that came to its end has read it all; where nothing has changed it would be as it was.
        if changed and ended.status and run_and_kill(lambda: _readable(folder)).status:
            self._problem(name, "it cannot be read, or not all of it")

    def _measured_once(
        self, name: str, folder: Path, new: set[Path], fresh: Counter[tuple[str, int]], most: int
    ) -> None:
        """Each new session was finished once on the device, and at most one more was: the one in hand.

        A run that was refused and begun again in the same process (`most` 2) has finished that one twice.
        """
        artifacts = {trial.key: f"{trial.artifact_sha256}" for trial in read_experiment(folder).trials}
        for path in sorted(new):
            key, n = path.parts[1], int(path.name)
            [record] = [record for record in read_sessions(folder, key)[0] if record.n == n]
            done = artifacts[key], n
            if record.status != "ok":
                self._problem(name, f"{path} ended as {record.status}")
            elif not 1 <= fresh[done] <= most:
                self._problem(name, f"{path} was finished {fresh[done]} times on the device")
            fresh.subtract([done])
        extra = sum(fresh.values())
        self.report.in_hand += extra
        if extra > 1:
            self._problem(name, f"{extra} sessions were measured and are not on disk")

    def _finished(self, name: str) -> None:
        """The experiment is whole: so many sessions a trial as were planned, numbered on, images once."""
        folder = self._small.results / name
        record = read_experiment(folder)
        for trial in record.trials:
            records, warnings = read_sessions(folder, trial.key)
            if warnings or [one.n for one in records] != list(range(self._small.sessions)):
                self._problem(name, f"{trial.key} has {[one.n for one in records]} {warnings}")
            if self._small.device == "replay":
                self._same(name, trial.key)
            if sum("images" in one.predicted for one in records) != 1:
                self._problem(name, f"{trial.key} has not predicted the images once")
            if not (folder / "trials" / trial.key / "trial.json").exists():
                self._problem(name, f"{trial.key} has no trial.json")
            self.report.sessions += len(records)
        left = [str(path) for path in folder.rglob(f"{WRITING_PREFIX}*")]
        if left:
            self._problem(name, f"left over: {left}")
        if self._reports and not (folder / "report.html").read_text().rstrip().endswith("</html>"):
            self._problem(name, "half a report")
        self.report.experiments += 1
        (self._small.folder / "notes").unlink(missing_ok=True)
        self._kept, self._noted = {}, Counter()

    def _same(self, name: str, key: str) -> None:
        """What is played again is the same, bit for bit, however often the harness was killed."""
        figures = [
            (path.parent.name, path.name, path.read_bytes())
            for path in sorted((self._small.results / name).glob(f"trials/{key}/sessions/*/*.parquet"))
        ]
        if self._played.setdefault(key, figures) != figures:
            self._problem(name, f"{key} has other figures than the run that was not killed")

    def _problem(self, name: str, text: str) -> None:
        self.report.problems.append(f"{name}, after {self.report.kills} kills: {text}")


def _readable(folder: Path) -> None:
    """AssertionError unless every session that is there is read, with all its tables, and summed up."""
    if not (folder / "experiment.json").exists():
        return
    judged = judge_folder(folder)
    results = judged.results
    there = len(list(folder.glob("trials/*/sessions/[0-9]*")))
    seen = [results.sessions, results.passes, results.batches, results.predictions]
    counts = [frame.groupby(["trial", "session"], observed=True).ngroups for frame in seen]
    assert results.warnings == [], results.warnings
    assert counts == [there] * 4, (counts, there)
    assert len(judged.trials) == len(results.experiment.trials)


def _quick(folder: Path) -> Quick:
    quick = Quick(folder, sessions=1, precisions=("int8",))
    quick.prepare()
    return quick


def main(arguments: list[str]) -> int:
    """Torture, and print the report."""
    adopt_orphans()
    Image.init()  # what a child imports, every child imports again
    how, folder, words = arguments[0], Path(arguments[1]), arguments[2:]
    os.environ.update(environment(folder))
    if how == "random":
        device, *numbers = words
        small = Small(folder, device=device)
        small.prepare()
        report = Torture(small, reports=True).at_random(*map(int, numbers))
    elif how == "steps":
        report = Torture(_quick(folder), reports=False).at_every_step()
    else:
        where, code, every = words
        torture = Torture(_quick(folder), reports=False)
        report = torture.refused_at_every_step(folder / where, getattr(errno, code), every=int(every))
    print(json.dumps(asdict(report)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
