"""One session as it is recorded: whatever ends it, what was measured is kept."""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from edgebench.errors import DiskFullError, UnavailableError
from edgebench.records.model import TensorInput
from edgebench.records.session import Channel, MeasurePlan, ProbeChunk, ProbeInfo, SessionSettings, Window
from edgebench.records.target import Launch
from edgebench.records.values import Report
from edgebench.run.measuring.session import LocalDevice, SessionWatch
from edgebench.run.measuring.session_record import Job, unmeasured_session
from tests.fakes import FakeDevice, FakeSession, made_artifact, made_images, made_pass, made_scene
from tests.sample_tables import samples_of

SECOND = 1_000_000_000
POWER = Channel("power", "power", "W")
METER = ProbeInfo("m", "", 1.0, "", "board", (POWER,))


def made_job(passes=5, images=None):
    plan = MeasurePlan(made_scene(), passes, images=images)
    return Job("k" * 16, 0, 0, made_artifact(), SessionSettings(1, {}, Launch()), plan)


@dataclass
class Metered(FakeSession):
    """Takes the clock's last edge and its last samples where its measuring ends, as the agent's does."""

    ended: bool = False
    asked: int = 0

    def measure(self, plan):
        try:
            yield from super().measure(plan)
        finally:
            self.ended = True

    def probe_chunks(self):
        self.asked += 1
        if self.asked == 2:
            raise KeyboardInterrupt
        stamps = np.array([self.asked], np.int64)
        if self.asked == 1 or self.ended:
            yield ProbeChunk("m", stamps, {"power": np.array([2.5])})

    def facts(self):
        clock = {"start": {"n": 1}, "end": {"n": 1}} if self.ended else {"start": {"n": 1}}
        return replace(super().facts(), clock=clock, probes=(METER,))


@dataclass
class Endless(FakeSession):
    """Gives passes for ever, whatever it is asked for."""

    def measure(self, plan):
        for index in count():
            yield made_pass(index, 6, "steady" if index else "first", SECOND)


@pytest.mark.parametrize(("least_s", "taken"), [(None, 500), (60.0, 601)])
def test_passes_beyond_those_that_were_asked_for_are_taken_until_they_have_lasted(least_s, taken):
    job = made_job()
    job = replace(job, plan=replace(job.plan, warmup_cap=395, least_s=least_s))
    measured = LocalDevice(Device(kind=Endless)).measure(job)
    assert measured.record.failure and "without end" in measured.record.failure.what
    assert measured.tables.passes is not None and len(measured.tables.passes) == taken


@dataclass
class Stopped(FakeSession):
    """Interrupted by the user in one of its stages."""

    def _at(self, stage):
        if self.fate == stage:
            raise KeyboardInterrupt

    def golden(self):
        self._at("golden")
        return super().golden()

    def measure(self, plan):
        self._at("measure")
        yield from super().measure(plan)

    def predict(self, images):
        self._at("predict")
        return super().predict(images)


@dataclass
class Device(FakeDevice):
    """Its sessions are of one kind, with one fate."""

    kind: type[FakeSession] = FakeSession
    fate: str = "ok"

    @contextmanager
    def session(self, artifact, settings):
        if self.fate == "start":
            raise KeyboardInterrupt
        yield self.kind(self, self.fate)


@dataclass
class Two(FakeSession):
    """Two workers, each with the same passes and the same outputs."""

    def golden(self):
        return np.tile(super().golden(), (2, 1))

    def measure(self, plan):
        for each in super().measure(plan):
            yield each
            yield replace(each, worker=1)

    def predict(self, images):
        return np.zeros((2 * images.n, 2), np.float32)


def test_each_workers_reconstruction_is_judged_by_its_own_quantisation(tmp_path):
    arrays: Any = {"0": np.full((4, 1, 2), 3, np.int8)}
    np.savez(tmp_path / "given.npz", **arrays)
    images = replace(made_images(), path=tmp_path / "given.npz", kind="samples", task="reconstruction")
    job = made_job(images=images)
    taken = TensorInput(name="x", dtype="int8", shape=(1, 2), zero_point=1)
    artifacts = [
        job.artifact.model_copy(update={"tensors": (taken.model_copy(update={"scale": scale}),)})
        for scale in (1.0, 2.0)
    ]
    job = replace(job, artifact=artifacts[0], settings=replace(job.settings, others=(artifacts[1],)))
    measured = LocalDevice(Device(kind=Two)).measure(job)
    assert measured.record.status == "ok", measured.record.failure
    rows = measured.tables.predictions
    assert rows is not None
    of_images = rows[rows["set"] == "images"]
    assert [row[0] for row in of_images["scores"]] == [4.0] * 4 + [16.0] * 4


def test_ctrl_c_between_two_passes_keeps_the_clocks_last_edge_and_the_last_samples():
    measured = LocalDevice(Device(kind=Metered)).measure(made_job())
    assert measured.interrupted
    assert list(measured.record.clock) == ["start", "end"]
    assert measured.tables.passes is not None
    assert len(measured.tables.passes) == 2
    assert list(samples_of(measured)["t_ns"]) == [1, 3]


def test_what_the_device_reports_is_told_once_and_only_goes_forward():
    class Reporting(FakeDevice):
        @contextmanager
        def session(self, artifact, settings):
            yield Telling(self, "ok", settings.report)

    @dataclass
    class Telling(FakeSession):
        report: Report

        def measure(self, plan):
            self.report("idle window", 0, 0)
            self.report("first pass", 0, 0)
            for scene_pass in super().measure(plan):
                yield scene_pass
                if scene_pass.phase == "first":
                    self.report("passes", 0, plan.passes)

        def predict(self, images):
            self.report("images", 0, images.n)
            return super().predict(images)

    seen = []
    job = made_job(images=made_images())
    watch = SessionWatch(job.plan, 18.0, lambda *, begins: seen.append((watch.text, begins, watch.share)))
    measured = LocalDevice(Reporting()).measure(job, watch)
    assert measured.record.status == "ok"
    assert [text for text, begins, _ in seen if begins] == [
        "load",
        "idle window",
        "first pass",
        "pass 1 of 5",
        "images 0 of 4",
        "stopping",
    ]
    shares = [share for *_, share in seen]
    assert shares == sorted(shares) and shares[0] < shares[-1]


@pytest.mark.attack(
    "a process that a session started cannot be ended with it: the session's warnings name it, failed or not"
)
@pytest.mark.parametrize(("fate", "status"), [("ok", "ok"), ("crash", "crash")])
def test_what_a_session_leaves_running_is_in_its_record(monkeypatch, fate, status):
    ended = []

    class Leaving(FakeDevice):
        @contextmanager
        def session(self, artifact, settings):
            with super().session(artifact, settings) as session:
                try:
                    yield session
                finally:
                    ended.append(True)

    facts = FakeSession.facts
    warning = "process 4711 goes on"
    monkeypatch.setattr(
        FakeSession, "facts", lambda self: replace(facts(self), warnings=(warning,) * len(ended))
    )
    record = LocalDevice(Leaving([fate])).measure(made_job()).record
    assert (record.status, record.warnings) == (status, (warning,))


def test_passes_that_nothing_can_close_are_measured_like_any():
    class Listed(FakeSession):
        def measure(self, plan):
            return iter(list(super().measure(plan)))

    measured = LocalDevice(Device(kind=Listed)).measure(made_job())
    assert measured.record.status == "ok"
    assert measured.tables.passes is not None and len(measured.tables.passes) == 6


@pytest.mark.parametrize("stage", ["start", "golden", "measure", "predict"])
def test_an_interrupted_session_says_in_which_stage(stage):
    measured = LocalDevice(Device(kind=Stopped, fate=stage)).measure(made_job(images=made_images()))
    assert measured.record.status == "interrupted"
    assert measured.record.failure is not None
    assert measured.record.failure.stage == stage


@pytest.mark.parametrize(
    ("error", "status"), [(DiskFullError("full"), "disk_full"), (UnavailableError("gone"), "lost_connection")]
)
def test_a_board_that_cannot_be_opened_is_a_failed_session(error, status):
    record = unmeasured_session(made_job(), error).record
    assert record.failure is not None
    assert (record.status, record.failure.stage) == (status, "start")


@pytest.mark.parametrize(
    ("before", "samples", "warned"),
    [
        (13_000_000, [], True),
        (1 << 30, [2e8, 13e6, 2e8], True),
        (1 << 30, [2e8, np.nan], False),
        (None, [np.nan], False),
        (64 << 20, [], False),
    ],
)
def test_little_memory_is_a_warning_with_its_threshold(before, samples, warned):
    @dataclass
    class Sampled(FakeSession):
        def probe_chunks(self):
            if samples:
                stamps = np.arange(len(samples), dtype=np.int64)
                yield ProbeChunk("m", stamps, {"memory_available": np.array(samples)})

        def facts(self):
            channel = Channel("memory_available", "memory", "B")
            return replace(super().facts(), probes=(replace(METER, channels=(channel,)),))

    class Small(Device):
        def describe(self):
            return {"memory_available_bytes": before}

    measured = LocalDevice(Small(kind=Sampled)).measure(made_job())
    assert any("less than 64 MiB" in text for text in measured.record.warnings) == warned


class Mixed(FakeSession):
    def measure(self, plan):
        yield made_pass(0, plan.scene.patches, "first")
        yield Window(1, "steady", 0, 5, 10, 20)


@pytest.mark.attack("a device gives passes and windows in one session: the session fails with its reason")
def test_passes_and_windows_do_not_mix():
    measured = LocalDevice(Device(kind=Mixed)).measure(made_job())
    assert measured.record.status == "protocol_error"
    assert measured.record.failure is not None
    assert "both passes and windows" in measured.record.failure.what
    assert measured.tables.passes is not None and measured.tables.windows is None


def test_a_backend_that_cannot_explain_a_failure_hides_none():
    def explain(error):
        raise ValueError("no words")

    record = LocalDevice(FakeDevice(["crash"]), explain=explain).measure(made_job()).record
    assert record.failure is not None and record.failure.what == "died"
    assert "could not explain it" in record.failure.stderr_tail
