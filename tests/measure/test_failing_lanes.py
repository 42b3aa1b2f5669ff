"""Hosts and devices that fail while others are measured."""

from contextlib import contextmanager
from dataclasses import replace

import pytest

from edgebench.errors import SessionError, StoredResultError, UnavailableError
from tests.fakes import FakeDevice, FakeSession, machines_of
from tests.measure.lanes import DRIVES, StrictStore, Watching, by_target, experiment
from tests.measure.test_lane_group import MemoryStore


def test_a_shared_device_that_is_lost_fails_all_that_share_it():
    opened = []

    def open_device(target):
        opened.append(target.name)
        if target.name.startswith("b"):
            raise UnavailableError("the agent on pi does not answer", why="no route", fix="switch it on")
        return FakeDevice()

    store = MemoryStore()
    settings = ["threads=1", "threads=2"]
    run = experiment(store, open_device, {"a": None, "b": "pi"}, settings=settings, sessions=1)
    run.run()
    assert sorted(name[0] for name in opened) == ["a", "b"]
    lost = ["lost_connection"]
    assert by_target(run, store) == {
        "a[threads=1]": ["ok"], "a[threads=2]": ["ok"], "b[threads=1]": lost, "b[threads=2]": lost,
    }  # fmt: skip


def test_a_sweep_on_the_only_device_that_is_not_there_is_an_error():
    def open_device(target):
        raise UnavailableError("the agent does not answer", why="no route", fix="switch it on")

    run = experiment(MemoryStore(), open_device, {"a": None}, settings=["threads=1", "threads=2"])
    with pytest.raises(UnavailableError, match="does not answer"):
        run.run()


def test_a_host_that_cannot_be_opened_fails_its_own_trials():
    def open_device(target):
        if target.name == "b":
            raise UnavailableError("the agent on pi does not answer", why="no route", fix="switch it on")
        return FakeDevice()

    store = MemoryStore()
    run = experiment(store, open_device, {"a": None, "b": "pi"}, depths=(0.25, 0.5))
    assert not run.run().interrupted
    assert by_target(run, store) == {"a": ["ok"] * 4, "b": ["lost_connection"] * 2}
    failed = next(record for record in store.records if record.status != "ok")
    assert failed.failure is not None
    assert failed.failure.what == "the agent on (host) does not answer"
    assert failed.failure.why == "no route; switch it on"


def test_the_only_target_that_cannot_be_opened_is_an_error():
    def open_device(target):
        raise UnavailableError("the agent on pi does not answer")

    store = MemoryStore()
    with pytest.raises(UnavailableError, match="pi"):
        experiment(store, open_device, {"a": "pi"}).run()
    assert not store.records


def test_a_host_that_is_lost_on_the_way_fails_sessions_and_the_others_go_on():
    class Leaving(FakeDevice):
        def describe(self):
            if len(self.opened) >= 1:
                raise UnavailableError("the agent on pi does not answer")
            return super().describe()

    devices: dict[str, FakeDevice] = {}

    def open_device(target):
        if target.name == "a":
            return FakeDevice()
        if "b" in devices:
            raise UnavailableError("the agent on pi does not answer")
        return devices.setdefault("b", Leaving())

    store = MemoryStore()
    run = experiment(store, open_device, {"a": None, "b": "pi"}, sessions=4)
    run.run()
    assert by_target(run, store) == {"a": ["ok"] * 4, "b": ["ok", "lost_connection", "lost_connection"]}


class Gone(FakeDevice):
    """Answers for so many sessions, and is asked for in vain from then on."""

    def __init__(self, sessions, asked):
        super().__init__()
        self.sessions, self.asked = sessions, asked

    @contextmanager
    def session(self, artifact, settings):
        if len(self.opened) >= self.sessions:
            self.asked.append(artifact.variant)
            stage = "start" if len(self.asked) > 1 else "measure"
            what, fix = "the device was lost and is not back", "check the device, then --resume"
            raise SessionError(what, status="lost_connection", stage=stage, why="no route to host", fix=fix)
        with super().session(artifact, settings) as session:
            yield session


@pytest.mark.attack("a board is lost and not reached again: what is left of it ends at once, with the reason")
def test_a_board_that_is_lost_for_good_is_not_asked_for_each_trial_that_is_left():
    asked: list[str] = []
    store, gone = MemoryStore(), Gone(2, asked)
    run = experiment(
        store, lambda target: gone if target.name[0] == "b" else FakeDevice(), {"a": None, "b": "pi"},
        depths=(0.25, 0.5, 1.0), settings=["threads=1", "threads=2"], sessions=3,
    )  # fmt: skip
    assert not run.run().interrupted
    assert len(asked) == 2  # as it was lost, and once more as it was not there
    statuses = by_target(run, store)
    assert statuses["a[threads=1]"] == statuses["a[threads=2]"] == ["ok"] * 9
    of_b = {trial.key for trial in run.plan.trials if trial.target.name[0] == "b"}
    lost = [record for record in store.records if record.trial in of_b and record.status != "ok"]
    assert {record.trial for record in lost} == of_b
    assert {record.status for record in lost} == {"lost_connection"}
    assert len(lost) <= len(of_b) + 1
    for record in lost:
        assert record.failure is not None
        assert (record.failure.why, record.failure.fix) == (
            "no route to host",
            "check the device, then --resume",
        )
    again = replace(run, machines=machines_of(lambda target: FakeDevice()))
    again.run()
    assert all(sum(record.status == "ok" for record in store.finished(key)) == 3 for key in of_b)


def test_a_board_that_comes_back_is_measured_on():
    class Dozing(Gone):
        @contextmanager
        def session(self, artifact, settings):
            if len(self.asked) == 1:
                self.sessions = 99
            with super().session(artifact, settings) as session:
                yield session

    store, dozing = MemoryStore(), Dozing(1, [])
    run = experiment(store, lambda target: dozing, {"b": "pi"}, depths=(0.25, 0.5), sessions=2)
    run.run()
    assert by_target(run, store)["b"].count("ok") == 4


def test_a_store_that_refuses_ends_the_whole_run():
    class Full(MemoryStore):
        def write_session(self, record, tables):
            raise StoredResultError("the disk is full")

    with pytest.raises(StoredResultError):
        experiment(Full(), lambda target: FakeDevice(), {"a": None, "b": "pi"}).run()


def test_an_error_of_another_kind_ends_one_host_alone():
    store = StrictStore()
    observer = Watching()
    run = experiment(store, lambda target: FakeDevice(), {"a": None, "b": "pi"}, observer=observer)

    def note_times(trial, times, scene_s):
        if trial.target.name == "b":
            raise TypeError("no such time")

    run.note_times = note_times
    outcome = run.run()
    assert by_target(run, store) == {"a": ["ok"] * 2, "b": ["ok"]}
    assert [str(fault) for fault in outcome.faults] == ["no such time"]
    assert not outcome.interrupted
    time = "4 sessions; the time is known after the first of each variant"
    assert observer.notes == [DRIVES, time, "b: nothing more is measured: TypeError: no such time"]


def test_what_no_store_can_hold_fails_its_session_alone():
    class Choosy(MemoryStore):
        def write_session(self, record, tables):
            if record.runtime.get("name") == "evil":
                raise ValueError("not UTF-8")
            super().write_session(record, tables)

    class Evil(FakeDevice):
        @contextmanager
        def session(self, artifact, settings):
            yield EvilSession(self, "ok")

    class EvilSession(FakeSession):
        def facts(self):
            return replace(super().facts(), runtime={"name": "evil"})

    store = Choosy()
    run = experiment(
        store, lambda target: Evil() if target.name == "b" else FakeDevice(), {"a": None, "b": None}
    )
    assert run.run().faults == ()
    assert by_target(run, store) == {"a": ["ok"] * 2, "b": ["error"] * 2}
    failed = next(record for record in store.records if record.status == "error")
    assert failed.duration_s > 0
    failure = failed.failure
    assert failure is not None and failure.why == "ValueError: not UTF-8"
    assert "Traceback" in failure.stderr_tail and "write_session" in failure.stderr_tail


def test_a_session_that_the_store_finds_damaged_is_failed_and_measured_again():
    class Choosy(MemoryStore):
        def write_session(self, record, tables):
            if record.status == "ok" and not self.records:
                raise SessionError("the session is damaged", status="protocol_error", stage="measure")
            super().write_session(record, tables)

    store = Choosy()
    run = experiment(store, lambda target: FakeDevice(), {"a": None}, sessions=2)
    assert run.run().faults == ()
    assert [record.status for record in store.records] == ["protocol_error", "ok", "ok"]
    failure = store.records[0].failure
    assert failure is not None and (failure.what, failure.stage) == ("the session is damaged", "measure")
