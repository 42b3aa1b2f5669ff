"""Several targets in one run: hosts side by side, the targets of one host one after the other."""

import os
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from edgebench import interruption, registry
from edgebench.cache.objects import Cache
from edgebench.errors import StoredResultError, UnavailableError
from edgebench.link.host_probes import HostProbes, HostSamples
from edgebench.measure.lane_group import Experiment
from edgebench.measure.progress import SilentObserver
from edgebench.plan.targets import make_targets
from edgebench.plan.trials import Plan, choose_variants, make_trials
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.target import Launch
from tests.fakes import FakeBackend, FakeDevice, FakeSession, made_images, made_pass, made_scene
from tests.measure.test_lane_group import MemoryStore, statuses


def experiment(
    store, open_device, hosts, *, sessions=2, depths=(0.25,), observer=None, retries=1, settings=()
):
    """One target a name in `hosts` (name -> host), each a device of its own; those of a sweep share it."""
    backend = FakeBackend(precisions=("int8",))
    backends = {"fake": backend}
    targets = [
        replace(
            target,
            name=target.name.replace(target.declared_name, name),
            host=host,
            launch=Launch(env={"BOARD": name}),
        )
        for name, host in hosts.items()
        for target in make_targets(backends, settings, [])
    ]
    trials = make_trials(
        targets,
        backends,
        {"fake": choose_variants(backend, depths, ())},
        batches=(1,),
        scene=made_scene(),
        images=made_images(),
    )
    plan = Plan(trials, made_scene(), made_images(), sessions=sessions, passes=2, seed=1, retries=retries)
    artifacts = backend.prepare([trial.request for trial in trials], Cache(Path("unused")), print)
    return Experiment(
        plan=plan,
        artifacts={
            trial.key: artifact
            for trial, artifact in zip(trials, artifacts, strict=True)
            if isinstance(artifact, Artifact)
        },
        open_device=open_device,
        store=store,
        observer=observer or SilentObserver(),
        costs={},
    )


DRIVES = "this machine is measured while it drives other boards: for its best figures measure it alone"


class StrictStore(MemoryStore):
    """Complains where two threads are in it at once."""

    def __init__(self):
        super().__init__()
        self._inside = threading.Lock()

    def write_session(self, record, tables):
        assert self._inside.acquire(blocking=False), "two threads write at once"
        try:
            time.sleep(0.002)
            super().write_session(record, tables)
        finally:
            self._inside.release()


def by_target(run, store):
    names = {trial.key: trial.target.name for trial in run.plan.trials}
    statuses_of: dict[str, list[str]] = {}
    for record in store.records:
        statuses_of.setdefault(names[record.trial], []).append(record.status)
    return statuses_of


def test_hosts_are_measured_side_by_side():
    together = threading.Barrier(3)

    class Meeting(FakeDevice):
        @contextmanager
        def session(self, artifact, settings):
            together.wait(20)  # every session of one host waits for one of each other host
            with super().session(artifact, settings) as session:
                yield session

    store = StrictStore()
    run = experiment(store, lambda trial: Meeting(), {"a": None, "b": "pi", "c": "nano"})
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

    def open_device(trial):
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

    def begin_session(self, names):
        events.append(names)
        return True

    monkeypatch.setattr(HostProbes, "begin_session", begin_session)
    monkeypatch.setattr(HostProbes, "end_session", lambda self, fit: HostSamples((), {"benchtop": "died"}))
    monkeypatch.setattr(HostProbes, "close", lambda self: events.append("probes closed"))

    class Noting(FakeDevice):
        def session(self, artifact, settings):
            on_device.append((settings.meters, settings.host_metering, settings.idle_s > 0))
            return super().session(artifact, settings)

        def close(self):
            events.append("device closed")
            super().close()

    store = MemoryStore()
    run = experiment(store, lambda trial: Noting(), {"a": None}, sessions=2)
    targets = [replace(trial.target, meters=("benchtop", "rapl:")) for trial in run.plan.trials]
    trials = [replace(trial, target=target) for trial, target in zip(run.plan.trials, targets, strict=True)]
    run.plan = replace(run.plan, trials=tuple(trials))
    run.run()
    assert events == [("benchtop",), ("benchtop",), "device closed", "probes closed"]
    assert on_device == [(("rapl:",), True, True)] * 2
    assert [record.probe_reasons["benchtop"] for record in store.records] == ["died"] * 2


def test_the_preferred_meters_of_a_target_reach_its_sessions_and_have_an_idle_window():
    asked = []

    class Noting(FakeDevice):
        def session(self, artifact, settings):
            asked.append((settings.meters, settings.preferred_meters, settings.idle_s > 0))
            return super().session(artifact, settings)

    run = experiment(MemoryStore(), lambda trial: Noting(), {"a": None}, sessions=1)
    [trial] = run.plan.trials
    target = replace(trial.target, preferred_meters=("ina3221", "tegrastats"))
    run.plan = replace(run.plan, trials=(replace(trial, target=target),))
    run.run()
    assert asked == [((), ("ina3221", "tegrastats"), True)]


def test_targets_that_differ_in_options_alone_share_one_open_device():
    opened = []

    def open_device(trial):
        opened.append(trial.target.name)
        return FakeDevice()

    store = MemoryStore()
    run = experiment(store, open_device, {"a": None}, settings=["threads=1", "threads=2"])
    run.run()
    assert len(opened) == 1
    assert by_target(run, store) == {"a[threads=1]": ["ok"] * 2, "a[threads=2]": ["ok"] * 2}


def test_a_shared_device_that_is_lost_fails_all_that_share_it():
    opened = []

    def open_device(trial):
        opened.append(trial.target.name)
        if trial.target.name.startswith("b"):
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
    def open_device(trial):
        raise UnavailableError("the agent does not answer", why="no route", fix="switch it on")

    run = experiment(MemoryStore(), open_device, {"a": None}, settings=["threads=1", "threads=2"])
    with pytest.raises(UnavailableError, match="does not answer"):
        run.run()


def test_a_host_that_cannot_be_opened_fails_its_own_trials():
    def open_device(trial):
        if trial.target.name == "b":
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
    def open_device(trial):
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

    def open_device(trial):
        if trial.target.name == "a":
            return FakeDevice()
        if "b" in devices:
            raise UnavailableError("the agent on pi does not answer")
        return devices.setdefault("b", Leaving())

    store = MemoryStore()
    run = experiment(store, open_device, {"a": None, "b": "pi"}, sessions=4)
    run.run()
    assert by_target(run, store) == {"a": ["ok"] * 4, "b": ["ok", "lost_connection", "lost_connection"]}


def test_a_store_that_refuses_ends_the_whole_run():
    class Full(MemoryStore):
        def write_session(self, record, tables):
            raise StoredResultError("the disk is full")

    with pytest.raises(StoredResultError):
        experiment(Full(), lambda trial: FakeDevice(), {"a": None, "b": "pi"}).run()


def test_an_error_of_another_kind_ends_one_host_alone():
    store = StrictStore()
    observer = Watching()
    run = experiment(store, lambda trial: FakeDevice(), {"a": None, "b": "pi"}, observer=observer)

    def note_cost(trial, cost):
        if trial.target.name == "b":
            raise TypeError("no such cost")

    run.note_cost = note_cost
    outcome = run.run()
    assert by_target(run, store) == {"a": ["ok"] * 2, "b": ["ok"]}
    assert [str(fault) for fault in outcome.faults] == ["no such cost"]
    assert not outcome.interrupted
    assert observer.notes == [DRIVES, "b: nothing more is measured: TypeError: no such cost"]


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
        store, lambda trial: Evil() if trial.target.name == "b" else FakeDevice(), {"a": None, "b": None}
    )
    assert run.run().faults == ()
    assert by_target(run, store) == {"a": ["ok"] * 2, "b": ["error"] * 2}
    failed = next(record for record in store.records if record.status == "error")
    assert failed.duration_s > 0
    failure = failed.failure
    assert failure is not None and failure.why == "ValueError: not UTF-8"
    assert "Traceback" in failure.stderr_tail and "write_session" in failure.stderr_tail


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
    run = experiment(store, lambda trial: Device(), {"a": None, "b": "pi", "c": "nano"})

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
        experiment(store, lambda trial: device, {"a": None}, sessions=sessions, retries=retries).run()
        return statuses(store)

    assert run(["crash"], 0) == ["crash", "ok", "ok"]
    assert run(["crash"], 1) == ["crash", "ok", "ok", "ok"]
    assert run(["load"] * 99, 0, sessions=1) == ["load_failed"]
    assert run(["load"] * 99, 3, sessions=1) == ["load_failed"] * 4
    assert run(["load"] * 99, 1) == ["load_failed"] * 2
    # Failures with good sessions between them are not held against the trial.
    assert run(["crash", "ok", "crash", "ok"], 1).count("ok") == 3


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
    run = experiment(store, lambda trial: devices[trial.target.name[:1]], hosts, retries=0)
    replace(run, revise=revise).run()
    failed = [record for record in store.records if record.status == "crash"]
    [key] = [trial.key for trial in run.plan.trials if trial.target.name == "b"]
    assert [record.trial for record in failed] == [key]
    # The one that failed is not owed again, because the other target is.
    assert len(store.finished(key)) == 2
    assert sum(record.trial.endswith("(2") for record in store.records) == 2


class Watching(SilentObserver):
    def __init__(self):
        self.lines = []
        self.notes = []

    def note(self, text):
        self.notes.append(text)

    def session_starts(self, run, session):
        self.lines.append((session.host, run.session, run.sessions))


def watched(hosts, open_device=lambda trial: FakeDevice(), **more):
    observer = Watching()
    experiment(StrictStore(), open_device, hosts, observer=observer, **more).run()
    return observer.lines


@pytest.mark.parametrize("hosts", [{"a": "pi", "b": "pi"}, {"a": None, "b": "pi"}])
def test_progress_counts_the_sessions_of_all_targets_and_hosts(hosts):
    lines = watched(hosts, sessions=3)
    assert [(number, total) for _, number, total in lines] == [(number, 6) for number in range(1, 7)]
    assert {host for host, *_ in lines} == {host or "" for host in hosts.values()}


def test_a_session_that_is_repeated_is_one_more():
    device = FakeDevice(script=["crash"])
    assert [line[1:] for line in watched({"a": None}, lambda trial: device)] == [(1, 2), (2, 3), (3, 3)]


def test_trials_that_are_given_up_have_no_sessions_to_come():
    device = FakeDevice(script=["load"] * 99)
    lines = watched({"a": None}, lambda trial: device, sessions=5, depths=(0.25, 0.5))
    # Both trials are tried once, and once more after all other sessions, which are given up with them.
    assert [line[1:] for line in lines] == [(1, 10), (2, 11), (3, 12), (4, 8)]


def test_a_host_that_is_not_there_has_no_sessions_to_come():
    def open_device(trial):
        if trial.target.name == "b":
            raise UnavailableError("the agent on pi does not answer")
        return FakeDevice()

    lines = watched({"a": None, "b": "pi"}, open_device, sessions=3)
    assert lines[-1][1:] == (3, 3)
