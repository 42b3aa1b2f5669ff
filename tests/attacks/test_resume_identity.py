"""Another device than the one that was measured, at the same address: nothing of the two is pooled."""

import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

import edgebench
from edgebench.judge.trials import trials_of
from edgebench.records.session import SessionFacts
from edgebench.records.stored import ExperimentRecord, RunRecord, SceneRecord, TrialRecord
from edgebench.results.listing import find_unfinished, is_finished
from edgebench.results.record_reading import read_experiment
from edgebench.results.writing import ExperimentStore
from edgebench.run.measuring.host_trials import MOST_CHANGES, TargetRevisions
from tests.fakes import FakeDevice, FakeSession
from tests.measure.test_lane_group import experiment
from tests.survival.small import Small, environment
from tests.synthetic_results import write_record

FACTS: dict[str, Any] = {
    "board": "Raspberry Pi 4 Model B",
    "cpu": "Cortex-A72",
    "machine": "aarch64",
    "kernel": "Linux 6.1",
    "usable_cores": [0, 1, 2, 3],
    "power_mode": None,
    "python": "3.11.2",
}
RUNTIME = {"name": "litert", "version": "2.3.0", "numpy": "2.4.6"}
INTERRUPTED = ["ok", "interrupt"]


@dataclass
class Board(FakeDevice):
    """A device that says of itself what it is told to; `boards` are what it becomes, session by session."""

    said: dict[str, Any] = field(default_factory=dict)
    runtime: dict[str, Any] = field(default_factory=dict)
    boards: list[str] = field(default_factory=list)

    def describe(self) -> dict[str, Any]:
        return FACTS | self.said | ({"board": self.boards[0]} if self.boards else {})

    @contextmanager
    def session(self, artifact, settings):
        with super().session(artifact, settings) as session:
            yield Session(self, session.fate)
        self.boards = self.boards[1:]


class Session(FakeSession):
    def facts(self) -> SessionFacts:
        assert isinstance(self.device, Board)
        return replace(super().facts(), runtime=RUNTIME | self.device.runtime)


class Runs:
    """An experiment of two trials with two sessions each, run again and again on what answers."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "one"
        self.notes: list[str] = []
        plan = experiment(None, FakeDevice(), sessions=2).plan
        record = ExperimentRecord(
            id="0" * 32,
            name="one",
            created_utc="2025-03-01T12:00:00Z",
            edgebench_version="1",
            command=("edgebench", "run"),
            seed=1,
            sessions=2,
            passes=2,
            scene=SceneRecord(name="s", sha256="1" * 64, height=448, width=672, patch=224, rows=2, columns=3),
            targets=(plan.trials[0].target,),
            trials=tuple(
                TrialRecord(
                    key=trial.key,
                    target="fake",
                    variant=trial.variant.name,
                    depth_multiplier=trial.variant.depth_multiplier,
                    precision=trial.variant.precision,
                    batch=1,
                    inputs=dict(trial.inputs),
                )
                for trial in plan.trials
            ),
        )
        self.keys = [trial.key for trial in plan.trials]
        ExperimentStore.create(folder, "one", record).close()

    def go_on(self, device: FakeDevice) -> int:
        """One run of what is due; the sessions that it measured."""
        with ExperimentStore.open(self.path) as store:
            revise = TargetRevisions(store, self.notes.append)
            outcome = replace(experiment(store, device, sessions=2), revise=revise).run()
            for trial in store.record.trials:
                store.write_trial(trial.key, {})
            store.write_run(RunRecord(started_utc="2025-03-01T12:00:00Z", ended="complete"))
        return int(outcome.sessions)

    def counts(self) -> dict[str, Counter[str]]:
        """By target, how many of its sessions ended how."""
        results = edgebench.load(self.path)
        found: dict[str, Counter[str]] = {}
        for trial in results.experiment.trials:
            statuses = [record.status for record in results.session_records(trial.key)]
            found[trial.target] = found.get(trial.target, Counter()) + Counter(statuses)
        return found


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def differing(said, runtime, why, what):
    return pytest.param(said, runtime, why, marks=pytest.mark.attack(what))


@pytest.mark.parametrize(
    ("said", "runtime", "why"),
    [
        differing(
            {"board": "Raspberry Pi 5"},
            {},
            "board was Raspberry Pi 4 Model B and is now Raspberry Pi 5",
            "another board answers at the address on --resume: its sessions are a new trial, which says why",
        ),
        differing(
            {"kernel": "Linux 6.6"},
            {},
            "kernel was Linux 6.1 and is now Linux 6.6",
            "a board has another kernel on --resume: its sessions are a new trial, which says why",
        ),
        differing(
            {"usable_cores": [0, 1]},
            {},
            "usable cores was 0-3 and is now 0-1",
            "a board has fewer usable cores on --resume: its sessions are a new trial, which says why",
        ),
        differing(
            {},
            {"version": "2.4.0"},
            "runtime was litert 2.3.0 and is now litert 2.4.0",
            "a board has another runtime on --resume, which only a session shows: that session and those "
            "that follow are a new trial, which says why",
        ),
    ],
)
def test_what_differs_is_measured_anew_as_a_new_trial(runs, said, runtime, why):
    runs.go_on(Board(script=list(INTERRUPTED)))
    before = {path: path.read_bytes() for path in runs.path.rglob("session.json")}
    device = Board(said=said, runtime=runtime)
    assert runs.go_on(device) == 4
    assert runs.counts() == {"fake": Counter(ok=1, interrupted=1), "fake (2)": Counter(ok=4)}
    assert all(path.read_bytes() == data for path, data in before.items())
    note = f"fake: measured again as target fake (2), because {why}"
    assert runs.notes == [note]
    record = read_experiment(runs.path)
    assert record.warnings == (note,)
    assert [target.revision_of for target in record.targets] == [None, "fake"]
    assert len({trial.key for trial in record.trials}) == 4
    # Every trial has its sessions of one device alone, from number 0, and its accuracy.
    results = edgebench.load(runs.path)
    for trial in record.trials[2:]:
        sessions = results.session_records(trial.key)
        assert [session.n for session in sessions] == [0, 1]
        assert any("images" in session.predicted for session in sessions)
    assert results.warnings == []
    trials = trials_of(results)
    assert [trial.status for trial in trials][2:] == ["done", "done"]
    # Whatever shows a trial's reason, the terminal's table above all, says what differs.
    ends = f"the device changed ({why}): it is measured as fake (2)"
    assert all(trial.reason.endswith(f"; {ends}") for trial in trials[:2])
    # What was measured to its end as a revision is finished, and is what --resume looks for.
    assert find_unfinished(runs.path.parent, "one", runs.keys) == runs.path
    assert is_finished(runs.path, record)


@pytest.mark.parametrize(
    "said",
    [
        {"memory_available_bytes": 1, "temperatures_c": {"0-cpu": 90.0}, "clock_now_mhz": 600.0},
        {"python": "3.11.9", "os": "Debian 13", "packages": {"tensorflow": "2.0"}, "power_mode": None},
    ],
)
def test_what_changes_from_hour_to_hour_goes_on_with_the_same_trial(runs, said):
    runs.go_on(Board(script=list(INTERRUPTED)))
    assert runs.go_on(Board(said=said)) == 3
    assert runs.counts() == {"fake": Counter(ok=4, interrupted=1)}
    assert runs.notes == []


def test_a_device_that_is_what_it_was_before_goes_on_with_its_own_trial(runs):
    runs.go_on(Board(script=list(INTERRUPTED)))
    runs.go_on(Board(said={"kernel": "Linux 6.6"}, script=list(INTERRUPTED)))
    assert runs.go_on(Board()) == 3
    assert runs.counts() == {"fake": Counter(ok=4, interrupted=1), "fake (2)": Counter(ok=1, interrupted=1)}
    record = read_experiment(runs.path)
    assert is_finished(runs.path, record)
    assert len(record.targets) == 2


@pytest.mark.attack(
    "a board comes back from a reboot as another one during a run: what follows is a new trial"
)
def test_a_board_that_becomes_another_one_amid_a_run(runs):
    runs.go_on(Board(boards=["A", "A", *["B"] * 10]))
    assert runs.counts() == {"fake": Counter(ok=2), "fake (2)": Counter(ok=4)}
    assert runs.notes == ["fake: measured again as target fake (2), because board was A and is now B"]


@pytest.mark.attack(
    "a board is another one at every session: nothing is pooled, its target is given up with the reason"
)
def test_a_board_that_is_another_one_at_every_session(runs):
    runs.go_on(Board(boards=[f"board {number}" for number in range(100)]))
    counts = runs.counts()
    assert len(counts) == 1 + MOST_CHANGES
    assert sum(count["ok"] for count in counts.values()) == 1 + MOST_CHANGES
    assert sum(count["error"] for count in counts.values()) == 1
    results = edgebench.load(runs.path)
    for trial in results.experiment.trials:
        boards = {one.device["board"] for one in results.session_records(trial.key) if one.status == "ok"}
        assert len(boards) <= 1
    [failure] = [
        one.failure.what
        for trial in results.experiment.trials
        for one in results.session_records(trial.key)
        if one.failure
    ]
    assert failure == "fake became another device more than 3 times"


@pytest.mark.attack(
    "the laptop that drives a board gets another kernel: --resume goes on with the same experiment and trial"
)
def test_the_harnesss_own_machine_does_not_matter(tmp_path, monkeypatch, session_cache):
    environs = environment(tmp_path) | {"EDGEBENCH_CACHE_DIR": str(session_cache.root)}
    for name, value in environs.items():
        monkeypatch.setenv(name, value)
    small = Small(tmp_path, sessions=1)
    small.run("one", resume=False)
    path = small.results / "one"
    record = json.loads((path / "experiment.json").read_text())
    record["host"] |= {
        "kernel": "0.0",
        "cpu_model": "a laptop's",
        "python": "3.0",
        "packages": {"scipy": "0"},
    }
    write_record((path / "experiment.json"), record)
    gone, kept = (path / "trials" / trial["key"] / "sessions" / "000" for trial in record["trials"])
    for file in gone.iterdir():
        file.unlink()
    gone.rmdir()
    assert small.run("one", resume=True).sessions == 1
    assert len(read_experiment(path).targets) == 1
    # The same with a session that recorded another kernel of the device itself.
    session = json.loads((kept / "session.json").read_text())
    session["device"]["kernel"] = "Linux 0.0"
    write_record((kept / "session.json"), session)
    for file in gone.iterdir():
        file.unlink()
    gone.rmdir()
    assert small.run("one", resume=True).sessions == 2
    assert [target.name for target in read_experiment(path).targets] == ["toy", "toy (2)"]


@pytest.mark.attack(
    "a device goes to and fro between two identities: its target is given up, nothing is measured for ever"
)
@pytest.mark.parametrize("fate", ["ok", "load"])
def test_a_device_that_goes_to_and_fro_is_given_up(runs, fate):
    device = Board(boards=["A", "B"] * 20, script=[fate] * 40)
    assert runs.go_on(device) <= 4 + MOST_CHANGES + 1  # those of two trials, and one for each change
    if fate == "ok":
        assert sum(count["error"] for count in runs.counts().values()) == 1
