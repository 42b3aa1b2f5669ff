"""Several targets in one run: hosts side by side, the targets of one host one after the other."""

import os
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import pytest

from edgebench import interruption, registry
from edgebench.errors import UsageError
from edgebench.link.host_probes import HostProbes, HostSamples
from edgebench.run.sharing import Sharing
from tests.fakes import FakeDevice, FakeSession, made_pass
from tests.measure.lanes import StrictStore, Watching, by_target, experiment
from tests.measure.test_lane_group import MemoryStore, statuses


def test_hosts_are_measured_side_by_side():
    together = threading.Barrier(3)

    class Meeting(FakeDevice):
        @contextmanager
        def session(self, artifact, settings):
            together.wait(20)  # every session of one host waits for one of each other host
            with super().session(artifact, settings) as session:
                yield session

    store = StrictStore()
    run = experiment(store, lambda target: Meeting(), {"a": None, "b": "pi", "c": "nano"})
    outcome = run.run()
    assert not outcome.interrupted
    assert outcome.sessions == 6
    assert by_target(run, store) == {"a": ["ok"] * 2, "b": ["ok"] * 2, "c": ["ok"] * 2}


def test_targets_of_one_host_take_turns_and_only_one_is_open():
    opened: list[FakeDevice] = []

    class Lone(FakeDevice):
        def close(self):
            super().close()
            if self in opened:
                opened.remove(self)

    def open_device(target):
        device = Lone()
        opened.append(device)
        assert len(opened) == 1
        return device

    store = MemoryStore()
    run = experiment(store, open_device, {"a": "pi", "b": "pi"}, sessions=3)
    run.run()
    assert by_target(run, store) == {"a": ["ok"] * 3, "b": ["ok"] * 3}
    assert [record.round for record in store.records] == [0, 0, 1, 1, 2, 2]
    assert not opened


def test_meters_on_the_host_sample_through_all_sessions_of_a_lane_until_its_last_device_is_closed(
    monkeypatch,
):
    events, on_device = [], []
    monkeypatch.setattr(registry, "samples_on_host", lambda name: name == "benchtop")

    def begin_session(self, names, spool):
        events.append(names)
        return True

    monkeypatch.setattr(HostProbes, "begin_session", begin_session)
    monkeypatch.setattr(
        HostProbes, "end_session", lambda self, *clocks: HostSamples((), {"benchtop": "died"})
    )
    monkeypatch.setattr(HostProbes, "close", lambda self: events.append("probes closed"))

    class Noting(FakeDevice):
        def session(self, artifact, settings):
            on_device.append((settings.meters, settings.host_metering, settings.idle_s > 0))
            return super().session(artifact, settings)

        def close(self):
            events.append("device closed")
            super().close()

    store = MemoryStore()
    observer = Watching()
    run = experiment(store, lambda target: Noting(), {"a": None}, sessions=2, observer=observer)
    targets = [replace(trial.target, meters=("benchtop", "rapl:")) for trial in run.plan.trials]
    trials = [replace(trial, target=target) for trial, target in zip(run.plan.trials, targets, strict=True)]
    run.plan = replace(run.plan, trials=tuple(trials))
    run.run()
    assert events == [("benchtop",), ("benchtop",), "device closed", "probes closed"]
    assert on_device == [(("rapl:",), True, True)] * 2
    assert [record.probe_reasons["benchtop"] for record in store.records] == ["died"] * 2
    notes = observer.notes[1:]  # after how much is measured
    assert notes == ["a, meter benchtop: died; latency is measured all the same"]  # not at each session


def test_the_preferred_meters_of_a_target_reach_its_sessions_and_have_an_idle_window():
    asked = []

    class Noting(FakeDevice):
        def session(self, artifact, settings):
            asked.append((settings.meters, settings.preferred_meters, settings.idle_s))
            return super().session(artifact, settings)

    run = experiment(MemoryStore(), lambda target: Noting(), {"a": None}, sessions=1)
    [trial] = run.plan.trials
    target = replace(trial.target, preferred_meters=("ina3221", "tegrastats"))
    run.plan = replace(run.plan, trials=(replace(trial, target=target),))
    run.run()
    assert asked == [((), ("ina3221", "tegrastats"), 5.0)]  # 100 samples of the slower one


def test_targets_that_differ_in_options_alone_share_one_open_device():
    opened = []

    def open_device(target):
        opened.append(target.name)
        return FakeDevice()

    store = MemoryStore()
    run = experiment(store, open_device, {"a": None}, settings=["threads=1", "threads=2"])
    run.run()
    assert len(opened) == 1
    assert by_target(run, store) == {"a[threads=1]": ["ok"] * 2, "a[threads=2]": ["ok"] * 2}


@dataclass
class Slow(FakeSession):
    """Waits for its device as a connection does: an interrupt wakes it, and the pass in hand ends."""

    started: threading.Event = field(default_factory=threading.Event)

    def measure(self, plan):
        yield made_pass(0, plan.scene.patches, "first")
        for index in range(1, 1000):
            self.started.set()
            interrupted = None
            for _ in range(10):
                try:
                    interruption.check()
                except KeyboardInterrupt as interrupt:
                    interrupted = interrupt
                time.sleep(0.005)
            yield made_pass(index, plan.scene.patches, "steady")
            if interrupted:
                raise interrupted


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_reaches_every_host_and_each_keeps_its_pass(number):
    started = [threading.Event() for _ in range(3)]
    free = list(started)

    class Device(FakeDevice):
        @contextmanager
        def session(self, artifact, settings):
            yield Slow(self, "ok", free.pop())

    store = StrictStore()
    run = experiment(store, lambda target: Device(), {"a": None, "b": "pi", "c": "nano"})

    def press():
        for event in started:
            assert event.wait(20)
        os.kill(os.getpid(), number)

    pressing = threading.Thread(target=press)
    pressing.start()
    before = signal.getsignal(number)
    outcome = run.run()
    pressing.join()
    assert outcome.interrupted
    assert statuses(store) == ["interrupted"] * 3
    for at in range(3):
        assert "steady" in list(store.passes(at)["phase"])
    assert signal.getsignal(number) is before


def test_retries_as_configured():
    def run(script, retries, sessions=3):
        store = MemoryStore()
        device = FakeDevice(script=list(script))
        experiment(store, lambda target: device, {"a": None}, sessions=sessions, retries=retries).run()
        return statuses(store)

    assert run(["crash"], 0) == ["crash", "ok", "ok"]
    assert run(["crash"], 1) == ["crash", "ok", "ok", "ok"]
    assert run(["load"] * 99, 0, sessions=1) == ["load_failed"]
    assert run(["load"] * 99, 3, sessions=1) == ["load_failed"] * 4
    assert run(["load"] * 99, 1) == ["load_failed"] * 2
    # Failures with good sessions between them are not held against the trial.
    assert run(["crash", "ok", "crash", "ok"], 1).count("ok") == 3


def test_workers_without_cores_enough_are_refused_before_the_first_session():
    class Small(FakeDevice):
        def describe(self):
            return {"usable_cores": [0, 1]}

    device, store = Small(), MemoryStore()
    run = experiment(store, lambda target: device, {"a": "board"}, sharings=[Sharing("cores", 3)])
    with pytest.raises(UsageError, match="3 workers and 2 usable cores"):
        run.run()
    assert not store.records and not device.opened


def test_a_device_that_becomes_another_one_gives_other_targets_no_sessions_anew():
    class Changing(FakeDevice):
        def describe(self):
            return {"board": "A" if len(self.opened) < 1 else "B"}

    def revise(trials, identity):
        if trials[0].target.name != "a" or identity.get("board") == "A":
            return trials
        return [
            replace(trial, key=f"{trial.key[:-2]}(2", target=replace(trial.target, name="a (2)"))
            for trial in trials
        ]

    store = MemoryStore()
    devices = {"a": Changing(), "b": FakeDevice(script=["crash"])}
    hosts = {"a": None, "b": None}
    run = experiment(store, lambda target: devices[target.name[:1]], hosts, retries=0)
    replace(run, revise=revise).run()
    failed = [record for record in store.records if record.status == "crash"]
    [key] = [trial.key for trial in run.plan.trials if trial.target.name == "b"]
    assert [record.trial for record in failed] == [key]
    # The one that failed is not owed again, because the other target is.
    assert len(store.finished(key)) == 2
    assert sum(record.trial.endswith("(2") for record in store.records) == 2
