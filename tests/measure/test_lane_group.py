"""Rounds of sessions on a device that answers at once."""

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact
from edgebench.records.stored import RunRecord, SessionRecord, SessionTables
from edgebench.results.redaction import PrivateNames
from edgebench.run.measuring.execution import _run_record
from edgebench.run.measuring.host_queue import Experiment, Outcome
from edgebench.run.measuring.progress import Observer
from edgebench.run.trials import Plan, choose_variants, make_trials
from tests.fakes import FakeBackend, FakeDevice, machines_of, made_images, made_scene, make_targets


@dataclass
class MemoryStore:
    """Keeps records in a list."""

    records: list[SessionRecord] = field(default_factory=list)
    tables: list[SessionTables] = field(default_factory=list)

    def passes(self, number):
        passes = self.tables[number].passes
        assert passes is not None
        return passes

    def finished(self, key):
        return [record for record in self.records if record.trial == key]

    def next_n(self, key):
        return len(self.finished(key))

    @contextmanager
    def scratch(self):
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)

    def write_session(self, record, tables):
        self.records.append(record)
        self.tables.append(tables)


def experiment(store, device, *, sessions=3, depths=(0.25, 0.5)):
    backend = FakeBackend(precisions=("int8",))
    backends = {"fake": backend}
    images = made_images()
    trials = make_trials(
        make_targets(backends, [], []),
        backends,
        {"fake": choose_variants(backend, depths, ())},
        batches=(1,),
        scene=made_scene(),
        images=images,
    )
    plan = Plan(trials, made_scene(), images, sessions=sessions, passes=2, seed=1)
    artifacts = {
        trial.key: artifact
        for trial, artifact in zip(
            trials,
            backend.prepare([trial.request for trial in trials], Cache(Path("unused")), print),
            strict=True,
        )
        if isinstance(artifact, Artifact)
    }
    return Experiment(
        plan=plan,
        artifacts=artifacts,
        machines=machines_of(lambda target: device),
        store=store,
        observer=Observer(),
        times={},
    )


def statuses(store):
    return [record.status for record in store.records]


def test_every_trial_gets_its_sessions_interleaved_and_accuracy_once():
    store, device = MemoryStore(), FakeDevice()
    outcome = experiment(store, device).run()
    assert not outcome.interrupted
    assert outcome.sessions == 6
    assert statuses(store) == ["ok"] * 6
    assert [record.round for record in store.records] == [0, 0, 1, 1, 2, 2]
    assert device.predicted == 2  # once a trial
    assert device.closed == 1
    assert [record.predicted.get("images") for record in store.records].count(4) == 2
    passes = store.passes(0)
    assert list(passes["phase"]) == ["first", "steady", "steady"]
    assert passes["image_ns"].tolist() == [1_000_000_000] * 3


def test_a_failed_session_is_kept_and_measured_again_at_the_end():
    store = MemoryStore()
    experiment(store, FakeDevice(script=["ok", "crash"])).run()
    assert statuses(store).count("ok") == 6
    failed = [record for record in store.records if record.status == "crash"]
    assert len(failed) == 1
    assert failed[0].failure is not None
    assert (failed[0].failure.signal, failed[0].failure.stage) == ("SIGABRT", "measure")
    assert failed[0].harness_s is None
    # What it had measured before it died is kept.
    assert len(store.passes(1)) == 2
    assert store.records[-1].trial == failed[0].trial


def test_a_trial_that_keeps_failing_is_given_up_and_the_others_go_on():
    store = MemoryStore()
    device = FakeDevice(script=["load"] * 99)
    experiment(store, device, depths=(0.25,)).run()
    assert statuses(store) == ["load_failed", "load_failed"]


def test_wrong_outputs_end_a_trial_at_once():
    store = MemoryStore()
    device = FakeDevice(golden_scores=np.array([[0.1, 0.9], [0.8, 0.2]], np.float32))
    experiment(store, device, depths=(0.25,)).run()
    assert statuses(store) == ["golden_mismatch"]
    assert store.records[0].golden is not None
    assert store.records[0].golden.top1_equal == 0
    assert store.tables[0].passes is None


def test_interruption_keeps_what_was_measured_and_resume_does_the_rest():
    store = MemoryStore()
    outcome = experiment(store, FakeDevice(script=["ok", "ok", "interrupt"])).run()
    assert outcome.interrupted
    assert statuses(store) == ["ok", "ok", "interrupted"]
    assert len(store.passes(2)) == 2
    again = experiment(store, device := FakeDevice()).run()
    assert not again.interrupted
    assert statuses(store).count("ok") == 6
    assert device.predicted == 0  # the finished sessions hold the predictions already
    numbers = [(record.trial, record.n) for record in store.records]
    assert len(set(numbers)) == len(numbers)


def test_a_finished_experiment_opens_no_device():
    store = MemoryStore()
    experiment(store, FakeDevice()).run()

    done = experiment(store, FakeDevice())
    done.machines = machines_of(lambda target: pytest.fail("a device was opened"))
    assert done.run().sessions == 0


def test_harness_time_leaves_out_what_the_device_did():
    store = MemoryStore()
    experiment(store, FakeDevice(), depths=(0.25,)).run()
    # The fake claims 3 s of passes and 0.3 s of load in no time at all.
    assert all(record.harness_s == pytest.approx(record.duration_s - 3.3, abs=1) for record in store.records)


def test_an_error_that_ended_a_host_is_kept_without_names_and_the_run_counts_as_unfinished():
    begun = RunRecord(started_utc="2026-11-21T12:00:00Z")
    try:
        raise TypeError("alice@pi.example said nothing")
    except TypeError as error:
        outcome = Outcome(interrupted=False, sessions=3, faults=(error,))
    record = _run_record(begun, outcome, PrivateNames.of(["alice@pi.example"]))
    assert (record.ended, record.sessions) == (None, 3)
    [text] = record.faults
    assert text.startswith("Traceback") and text.endswith("TypeError: (host) said nothing\n")
    assert _run_record(begun, Outcome(interrupted=False, sessions=3), PrivateNames()).ended == "complete"
