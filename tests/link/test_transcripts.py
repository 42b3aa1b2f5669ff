"""What a session sends its device, and in which order: transcripts as golden files.

Numbers that time or chance decide are left out; a run of equal lines is one line.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from edgebench.agent import frames
from edgebench.errors import SessionError
from edgebench.link.window_session import WindowSession
from edgebench.records.session import LoadBursts, MeasurePlan, SessionSettings
from edgebench.records.target import Launch
from edgebench.testing.backend_kit import scene_of
from tests.backends.cortexm.first_light import first_light_artifact
from tests.golden_text import assert_golden
from tests.link.test_window_session import Board

GOLDEN = Path(__file__).parent / "golden"
VARYING = {
    "id",
    "re",
    "now_ns",
    "limit_s",
    "options",
    "code",
    "input",
    "env",
    "pause_s",
    "python",
    "start_ns",
}


class Transcript:
    """The lines of one conversation."""

    def __init__(self):
        self.lines = []
        self.replies = True

    def add(self, line):
        self.lines.append(line)

    def sent(self, message, payload):
        self.add(f"> {_words(message)}{' + bytes' if len(payload) else ''}")

    def heard(self, frame):
        if self.replies and "progress" not in frame.message and "event" not in frame.message:
            fields = ", ".join(sorted(set(frame.message) - {"re", "now_ns"}))
            self.add(f"    < {fields}{' + bytes' if frame.payload else ''}")

    def check(self, name):
        lines = [
            line if count == 1 else f"{line}  (several times)"
            for line, count in ((line, len(list(equal))) for line, equal in groupby(self._pairs()))
        ]
        assert_golden(GOLDEN / f"transcript-{name}.txt", "\n".join(lines))

    def _pairs(self):
        """A question and its answer as one line, so that repeated ones can be counted."""
        pairs: list[str] = []
        for line in self.lines:
            if line.startswith("    <") and pairs and "<" not in pairs[-1]:
                pairs[-1] += line
            else:
                pairs.append(line)
        return pairs


def _words(message):
    words = [str(message.get("op"))]
    for name in sorted(set(message) - VARYING - {"op"}):
        value = message[name]
        plain = isinstance(value, int | float | str | bool | type(None)) and "/" not in str(value)
        long = isinstance(value, str) and len(value) > 40
        words.append(f"{name}={value}" if plain and not long else name)
    return " ".join(words)


@pytest.fixture
def transcript(monkeypatch):
    """Of the frames that go over connections to agents."""
    heard = Transcript()
    encode = frames.encode

    def sent(message, payload=b""):
        heard.sent(message, payload)
        return encode(message, payload)

    class Decoder(frames.Decoder):
        def feed(self, data):
            for frame in super().feed(data):
                heard.heard(frame)
                yield frame

    monkeypatch.setattr("edgebench.link.connection.encode", sent)
    monkeypatch.setattr("edgebench.link.connection.Decoder", Decoder)
    return heard


def measure(device, artifact, settings, plan):
    with device.session(artifact, settings) as session:
        session.golden()
        with closing(session.measure(plan)) as passes:
            list(passes)
        if plan.images is not None:
            session.predict(plan.images)


@pytest.mark.parametrize(
    ("how", "fault"),
    [
        *(("abort", stage) for stage in ("load", "golden", "measure", "burst", "predict")),
        ("raise", "measure"),
    ],
)
def test_agent_whose_runner_fails(rig, transcript, how, fault):
    bursts = LoadBursts(0.01, (0.01, 0.01))
    settings = rig.settings(fault=how, fault_stage=fault)
    settings = replace(settings, bursts=bursts, host_metering=True)
    with closing(rig.device()) as device, pytest.raises(SessionError) as caught:
        measure(device, rig.artifact(), settings, rig.plan(images=rig.images))
    transcript.add(f"{caught.value.status} at {caught.value.stage}: {caught.value.what}")
    transcript.check(f"agent-{how}-{fault}")


@pytest.mark.parametrize(
    ("name", "settings", "plan"),
    [
        ("plain", {}, {"images": True}),
        ("metered", {"host_metering": True, "idle_s": 0.05, "settle_s": 0.02}, {"least_s": 0.01}),
        ("paced", {"host_metering": True, "idle_s": 0.05}, {"period_s": 0.04}),
        ("workers", {"others": 1}, {}),
        ("bursts", {"host_metering": True, "bursts": LoadBursts(0.01, (0.01, 0.01))}, {}),
    ],
)
def test_agent(rig, transcript, name, settings, plan):
    if plan.get("images"):
        plan = {**plan, "images": rig.images}
    if "others" in settings:
        settings = {**settings, "others": (rig.artifact(),)}
        transcript.replies = False  # in which order several workers answer is chance
    with closing(rig.device()) as device:
        measure(device, rig.artifact(), replace(rig.settings(), **settings), rig.plan(passes=3, **plan))
    transcript.check(f"agent-{name}")


class NotedBoard(Board):
    """Writes down what it is asked for."""

    def __init__(self, transcript):
        super().__init__(inference_s=0.1)
        self._transcript = transcript

    def resynchronise(self):
        self._transcript.add("resynchronise")

    def load(self, patch):
        self._transcript.add("load")

    def infer(self, inferences, warm_ups, expected_s):
        self._transcript.add(f"infer {inferences} after {warm_ups}")
        return super().infer(inferences, warm_ups, expected_s)

    def round_trip(self):
        self._transcript.add("clock")
        return super().round_trip()


@pytest.mark.parametrize(
    ("name", "settings", "plan"),
    [
        ("plain", {}, {}),
        ("emulated", {"host_metering": True, "idle_s": 1.0}, {"has_real_time": False}),
        ("metered", {"host_metering": True, "idle_s": 1e-9}, {"least_s": 50.0}),
        ("bursts", {"host_metering": True, "bursts": LoadBursts(2.0, (0.1, 0.2))}, {"sustained_s": 30.0}),
    ],
)
def test_board_of_windows(session_cache, monkeypatch, name, settings, plan):
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    artifact = first_light_artifact(session_cache)
    has_real_time = plan.get("has_real_time", True)
    plan = {field: value for field, value in plan.items() if field != "has_real_time"}
    transcript = Transcript()
    told: dict[str, str] = {}
    session = WindowSession(
        NotedBoard(transcript),
        artifact,
        SessionSettings(
            1, {}, Launch(), report=lambda stage, done, steps: _stage(transcript, told, stage), **settings
        ),
        has_real_time=has_real_time,
    )
    session.start()
    session.golden()
    with closing(session.measure(MeasurePlan(scene_of(artifact, session_cache), 2, patches=2, **plan))) as it:
        list(it)
    transcript.check(f"windows-{name}")


def _stage(transcript, told, stage):
    if told.get("stage") != stage:
        told["stage"] = stage
        transcript.add(f"-- {stage}")
