"""Devices whose stamps, durations and clocks cannot be: a session of theirs has no figures."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from edgebench.agent.frames import Frame
from edgebench.errors import SessionError
from edgebench.link import clockmatch
from edgebench.link.agent_session import AgentSession
from edgebench.link.timeouts import Timeouts
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.session_facts import WarmUp
from edgebench.vocabulary.target import Launch
from tests.fakes import made_artifact, made_scene

S = 1_000_000_000
OFFSET_NS = 5_000 * S
WARM_UP = 20


class Time:
    """The host's, which goes on at every look and whenever the device works."""

    def __init__(self):
        self.now_ns = 1_000 * S

    def monotonic_ns(self):
        self.now_ns += 1_000
        return self.now_ns


class Device:
    """An agent and its worker in this process, as a connection and as a placer: honest but for its lies.

    Args:
        time: the host's.
        rate: of its clock against the host's.
        tick_ns: the steps in which its clock moves.
        lies: by operation, what to do with the reply and its stamps (int64 [batches, 3, 2]).
        before: by operation, what befalls device or link when it is asked for.
    """

    def __init__(self, time, rate=1.0, lies=None, before=None, tick_ns=1):
        self.time, self.rate, self.tick_ns = time, rate, tick_ns
        self.lies, self.before = lies or {}, before or {}
        self.ahead_ns = OFFSET_NS
        self.asked = []

    def clock(self):
        self.time.now_ns += 1_000
        now_ns = self.ahead_ns + int(self.time.now_ns * self.rate)
        return now_ns - now_ns % self.tick_ns

    def run(self, batches):
        """Start, end and stamps of so many batches; 1 ms each stage."""
        start = self.clock()
        stamps = np.zeros((batches, 3, 2), np.int64)
        for batch, stage in itertools.product(range(batches), range(3)):
            stamps[batch, stage, 0] = self.clock()
            self.time.now_ns += 1_000_000
            stamps[batch, stage, 1] = self.clock()
        return start, self.clock(), stamps

    def answer(self, operation):
        scored = {"shape": [2, 2]}
        if operation == "load":
            self.time.now_ns += S
            took = {"import_s": 0.1 * self.rate or None, "load_s": 0.2 * self.rate or None}
            took |= {"own_time": False, "after_load_bytes": 10}
            return {**took, "runtime": {}, "numpy": "1", "stages": ["patchify", "preprocess", "infer"]}, b""
        if operation == "golden":
            _, _, stamps = self.run(2)
            first_ns, batch_ns = (
                int(end - start) for start, end in (stamps[0, 2], stamps[1, [0, 2], [0, 1]])
            )
            return {**scored, "first_inference_ns": first_ns or None, "batch_ns": batch_ns}, bytes(16)
        if operation in ("pass", "warmup"):
            start, end, stamps = self.run(6 if operation == "pass" else WARM_UP - 6)
            reply = {"start_ns": start, "end_ns": end}
            if operation == "warmup":
                reply |= {"batches": WARM_UP, "steady": False}
            else:
                reply |= {**scored, "shape": [6, 2], "peak_bytes": 20}
            reply["stamps"] = stamps
            return reply, bytes(4 * 6 * 2) if operation == "pass" else b""
        return {}, b""

    # --- as a connection ---

    longest_stall_s = 0.0

    def forget_stalls(self):
        """There was none."""

    def listen(self, listener):
        """Nothing comes unasked."""

    def listen_until(self, settled, timeout_s):
        return settled()

    def poll(self):
        """Nothing comes unasked."""

    def close(self):
        """There is no process."""

    def send(self, message, payload=b"", stall_s=math.inf):
        self.asked.append(message["op"])
        return len(self.asked)

    def wait(self, request, timeout_s, progressed=None):
        operation = self.asked[request - 1]
        self.before.get(operation, lambda device: None)(self)
        reply, payload = self.answer(operation)
        self.lies.get(operation, lambda reply: None)(reply)
        if "stamps" in reply:
            stamps = reply.pop("stamps").astype("<i8").tobytes()
            reply["stamps_bytes"], payload = len(stamps), stamps + payload
        return Frame({"now_ns": self.clock(), **reply, "re": request}, payload)

    def follow(self, requests, timeout_s):
        return self.wait(min(requests), timeout_s)

    def leave(self):
        """No request is followed any longer."""

    def request(self, message, timeout_s, payload=b""):
        return self.wait(self.send(message), timeout_s)

    # --- as a placer ---

    def place(self, path, digest=None, progress=None):
        return str(path)

    def place_code(self, path):
        return {"path": str(path)}

    def unverified(self, sha256):
        return None

    def note_verified(self, sha256):
        """It was."""

    def require_room(self, files):
        """There is room."""


@pytest.fixture
def time(monkeypatch):
    made = Time()
    monkeypatch.setattr(clockmatch, "time", made)
    return made


def measured(device, own_clock=False):
    """The passes and the facts of a whole session."""
    session = AgentSession(
        device,
        device,
        made_artifact(),
        SessionSettings(1, {}, Launch()),
        (Path("runner.py"),),
        Timeouts(),
        own_clock=own_clock,
    )
    with session:
        session.golden()
        passes = list(session.measure(MeasurePlan(made_scene(), 3, warmup_cap=WARM_UP)))
        return passes, session.facts()


def failure(device, fix="", **how):
    with pytest.raises(SessionError) as caught:
        measured(device, **how)
    assert caught.value.status == "protocol_error"
    assert fix in caught.value.fix
    return f"{caught.value.stage}: {caught.value.why}"


@pytest.mark.parametrize("rate", [1.0, 1 + 5e-4, 1 - 1e-3])
def test_a_device_whose_clock_is_slewed_is_believed(time, rate):
    passes, facts = measured(Device(time, rate))
    assert [one.phase for one in passes] == ["first", "warmup", "steady", "steady", "steady"]
    assert (facts.warmup, facts.warnings) == (WarmUp(WARM_UP, steady=False), ())


def test_a_link_that_stands_still_is_no_lie(time):
    def cut(device):
        device.time.now_ns += 40 * S

    passes, facts = measured(Device(time, before={"pass": cut, "clock": cut}))
    assert len(passes) == 5
    [warning] = facts.warnings
    assert "stood still for 40 s" in warning


def at(batch, stage, edge, by_ns):
    """A lie about one stamp."""

    def change(reply):
        reply["stamps"][batch, stage, edge] += by_ns

    return change


def moved(by_ns):
    """A lie about all stamps of a run."""

    def change(reply):
        reply["stamps"] += by_ns
        reply["start_ns"] += by_ns
        reply["end_ns"] += by_ns

    return change


def said(**fields):
    return lambda reply: reply.update(fields)


def instant(reply):
    reply["end_ns"] = reply["start_ns"]
    reply["stamps"][:] = reply["start_ns"]


def no_inference(reply):
    reply["stamps"][:, 2] = reply["stamps"][:, 1, 1:]


def short_of_batches(reply):
    reply["stamps"] = reply["stamps"][:-1]


def filled_at_once(reply):
    reply["stamps"][1] = reply["stamps"][0]


def lie(operation, change, words, what):
    return pytest.param(operation, change, words, marks=pytest.mark.attack(f"{what}: the session fails"))


@pytest.mark.parametrize(
    ("operation", "change", "words"),
    [
        lie("pass", instant, "measure: a pass that took no time", "a pass that takes no time"),
        lie("pass", said(end_ns=1), "measure: a pass that began", "a pass that ends before it begins"),
        lie("pass", moved(-60 * S), "it was asked for after", "a pass from before it was asked for"),
        lie("pass", moved(60 * S), "was over before", "a pass that ends after its own reply"),
        lie(
            "pass",
            at(3, 2, 1, 2_300_000_000 * S),
            "batch 3 lies outside of it",
            "an inference of 73 years in a pass of 0.09 s",
        ),
        lie(
            "pass",
            at(2, 2, 1, -10 * S),
            "batch 2 has a stage that ends before",
            "a stage that ends before it begins",
        ),
        lie(
            "pass",
            at(2, 2, 0, -900_000),
            "batch 2 has a stage that begins within",
            "stages of a batch that overlap",
        ),
        lie("pass", at(0, 0, 0, -S), "batch 0 lies outside", "a batch that begins before its pass"),
        lie(
            "pass", filled_at_once, "batch 1 was filled while", "two batches that are filled at the same time"
        ),
        lie("pass", no_inference, "without any time of inference", "a pass without any time of inference"),
        lie(
            "pass",
            short_of_batches,
            "stamps of 5 batches, 6 were due",
            "a pass that lacks the stamps of a batch",
        ),
        lie("pass", said(peak_bytes=0), "peak_bytes", "a worker that reports 0 bytes of memory"),
        lie("pass", said(peak_bytes=-4096), "peak_bytes", "a worker that reports negative memory"),
        lie(
            "warmup",
            said(batches=7),
            "of 7 batches, not steady, where",
            "a warm-up whose number of batches is not that of its stamps",
        ),
        lie("warmup", said(steady=True), "20 batches, steady, where", "a warm-up that calls itself steady"),
        lie(
            "warmup",
            short_of_batches,
            "its stamps are of 19 batches",
            "a warm-up that lacks the stamps of a batch",
        ),
        lie("warmup", at(4, 2, 1, 9 * S), "batch 4 lies outside of it", "a batch that outlasts its warm-up"),
        lie(
            "golden",
            said(first_inference_ns=9 * S),
            "a first inference of 9 s",
            "a first inference of 9 s in 6 ms",
        ),
        lie(
            "golden", said(first_inference_ns=0), "first_inference_ns", "a first inference that takes no time"
        ),
        lie("golden", said(batch_ns=9 * S), "a golden batch of 9 s", "a golden batch that outlasts its run"),
        lie("load", said(load_s=90.0), "an import and a load of 90.1 s", "a load of 90 s that took 1 s"),
        lie("load", said(load_s=0.0), "load_s", "a load that takes no time"),
        lie("load", said(import_s=-1.0), "import_s", "an import that takes negative time"),
        lie("load", said(import_s=math.nan), "import_s", "an import whose seconds are not a number"),
        lie(
            "load",
            said(own_time=True),
            "time of its own",
            "stamps said to be of a clock that nobody can check",
        ),
    ],
)
def test_what_cannot_be_ends_the_session(time, operation, change, words):
    assert words in failure(Device(time, lies={operation: change}))


def slept(device):
    """The host's clock stood still while the device's went on."""
    if device.asked.count("pass") == 3:
        device.ahead_ns += 600 * S


def suspended(device):
    if device.asked.count("pass") == 3:
        device.ahead_ns -= 600 * S
        device.time.now_ns += 600 * S


def fell(device):
    device.ahead_ns -= 2 * S


def clock(how, words, what):
    return pytest.param(how, words, marks=pytest.mark.attack(f"{what}: the session fails"))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        clock({"rate": 0.1}, "while this machine's went", "a device's clock that runs ten times slow"),
        clock({"rate": 10.0}, "while this machine's went", "a device's clock that runs ten times fast"),
        clock({"rate": 0.0}, "while this machine's went", "a device's clock that stands still"),
        clock({"before": {"pass": fell}}, "its clock fell", "a device's clock that runs back"),
        clock({"before": {"pass": slept}}, "measure: its clock went 600", "a laptop that sleeps amid a pass"),
        clock({"before": {"pass": suspended}}, "was suspended", "a device that is suspended amid a pass"),
    ],
)
def test_clocks_that_cannot_both_be_right_end_the_session(time, how, words):
    assert words in failure(Device(time, **how), fix="no clock being set")


@pytest.mark.attack("a device's clock that strays after the last pass: the session fails")
def test_the_last_round_trips_are_judged_too(time):
    def strays(device):
        if device.asked.count("pass") == 4 and device.asked[-1] == "clock":
            device.ahead_ns += 600 * S

    device = Device(time, before={"clock": strays})
    assert "while this machine's went" in failure(device)
    assert device.asked.count("pass") == 4


@pytest.mark.attack(
    "a device's clock moves with its kernel's ticks, every few ms: its passes count, with a warning"
)
@pytest.mark.parametrize("tick_ms", [4, 5])
def test_a_clock_of_ticks_is_good_for_passes_and_no_single_batch(time, tick_ms):
    passes, facts = measured(Device(time, tick_ns=tick_ms * 1_000_000))
    assert len(passes) == 5 and all(one.end_ns > one.start_ns for one in passes)
    [warning] = facts.warnings
    assert f"of {tick_ms} ms or more" in warning


@pytest.mark.attack("a clock of ticks and a pass shorter than one: the session fails and says so")
def test_a_pass_shorter_than_a_tick_has_no_figure(time):
    assert "no time" in failure(Device(time, tick_ns=S), fix="more patches")


@pytest.mark.attack("a clock that was moved for a test: every figure is marked")
def test_a_clock_that_was_moved_for_a_test_is_recorded_and_said(time):
    injected = {"offset_ns": 3 * S, "drift_ppm": 40.0}
    _, facts = measured(Device(time, lies={"load": said(test_clock=injected)}))
    assert facts.clock["test_clock"] == injected
    [warning] = facts.warnings
    assert "EDGEBENCH_TEST_CLOCK" in warning and "no figure was measured here" in warning


def test_a_clock_that_is_slewed_by_more_than_ntp_does_comes_with_a_warning(time):
    def minutes(device):
        device.time.now_ns += 60 * S

    _, facts = measured(Device(time, 1.004, before={"idle": minutes, "scene": minutes}))
    assert any("differ by 0.4" in warning and "being set" in warning for warning in facts.warnings)


def test_of_a_clock_of_the_runners_own_only_the_inside_is_judged(time):
    lies = {"load": said(own_time=True, load_s=90.0), "golden": said(first_inference_ns=9 * S)}
    passes, facts = measured(Device(time, lies=lies | {"pass": moved(S), "warmup": moved(S)}), own_clock=True)
    assert len(passes) == 5 and facts.clock == {}
    assert facts.cold.first_inference_s == 9.0
    assert "a pass that took no time" in failure(Device(time, lies=lies | {"pass": instant}), own_clock=True)
    backwards = failure(Device(time, lies=lies | {"warmup": moved(-S)}), own_clock=True)
    assert "a warm-up from" in backwards
