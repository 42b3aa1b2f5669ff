"""Sessions at a serial line: what a healthy board gives, and what ends one."""

import importlib
import time
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from edgebench.errors import SessionError
from edgebench.link.session_loop import Timeouts
from edgebench.link.window_session import USUAL, TimedInferences, WindowSession
from edgebench.prepare.cache import Cache
from edgebench.records.session import LoadBursts, MeasurePlan, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.run.measuring.session import compare, require
from edgebench.stats.clock import RoundTrip
from edgebench.testing.backend_kit import images_of, scene_of
from tests.backends.cortexm import first_light
from tests.backends.cortexm.simulated_board import BrightnessEngine, simulated_board

conversation = importlib.import_module("edgebench.backends.cortexm.conversation")
device = importlib.import_module("edgebench.backends.cortexm.backend")
profiles = importlib.import_module("edgebench.backends.cortexm.profile")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return Cache(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def artifact(cache):
    return first_light.first_light_artifact(cache)


@pytest.fixture
def plan(artifact, cache):
    """Two windows over two of the scene's twelve patches, and two images."""
    images = images_of(first_light.golden_patches()[:2], cache)
    return MeasurePlan(scene_of(artifact, cache), 2, warmup_floor=2, images=images, patches=2)


class Measured:
    """All of a session: what came of it, and what ended it."""

    def __init__(self, artifact, plan, port, settings=None):
        self.windows, self.predicted, self.error = [], None, None
        target = Target("m7", "cortex-m", port=port)
        settings = settings or SessionSettings(1, {}, Launch())
        with closing(device.CortexMDevice(target, first_light.SHORT)) as opened:
            try:
                self.description = opened.describe()
                with opened.session(artifact, settings) as session:
                    try:
                        require(compare(session.golden(), artifact.golden, {}))
                        for window in session.measure(plan):
                            self.windows.append(window)
                        self.predicted = session.predict(plan.images)
                    finally:
                        self.facts = session.facts()
            except SessionError as error:
                self.error = error


def measured(artifact, plan, *faults, settings=None, **board):
    model_id = first_light.engines.model_id(artifact)
    with simulated_board(model_id, *faults, **board) as port:
        return Measured(artifact, plan, port, settings)


def test_windows_cycle_over_patches_on_the_boards_clock(artifact, plan):
    session = measured(artifact, plan)
    assert session.error is None
    assert [window.phase for window in session.windows] == ["first", "steady", "steady"]
    assert [window.patch for window in session.windows] == [0, 0, 6]
    assert all(window.inferences >= 10 for window in session.windows)
    assert np.allclose(
        session.predicted, [first_light.scores_of(p) for p in first_light.golden_patches()[:2]]
    )
    facts = session.facts
    assert session.description == {"board": "made-up", "cpu": "Cortex-M7, 400 MHz"}
    assert (facts.runtime["name"], facts.runtime["version"]) == ("brightness", "1")
    assert facts.measured_patches == 2 and not facts.emulated
    assert facts.cold.load_s is None and facts.cold.first_inference_s > 0
    assert facts.windows_ns.steady == (session.windows[1].start_ns, session.windows[2].end_ns)
    assert {"start", "end", "fit"} == set(facts.clock)
    assert facts.warmup is not None and facts.warmup.batches == 2
    assert facts.load_bursts is None and facts.windows_ns.idle is None


def test_a_file_is_known_by_its_hash_whatever_it_is_called(artifact):
    profile = profiles.Profile("edgebench", "edgebench-cortexm 1", f"tower-int8:{artifact.sha256}", {})
    assert profile.carries(artifact)
    assert not replace(profile, model_id=f"{artifact.variant}:{'0' * 64}").carries(artifact)


def test_the_board_idles_and_runs_bursts_for_a_meter(artifact, plan):
    stages = []
    settings = SessionSettings(
        1,
        {},
        Launch(),
        idle_s=0.05,
        host_metering=True,
        bursts=LoadBursts(0.02, (0.01, 0.03)),
        report=lambda stage, done, steps: stages.append(stage),
    )
    session = measured(artifact, replace(plan, least_s=0.03), settings=settings)
    assert session.error is None
    windows, facts = session.windows, session.facts
    spans = facts.windows_ns
    assert spans.idle[1] - spans.idle[0] >= 50e6 and spans.idle[1] <= windows[0].start_ns
    assert spans.idle_after[0] >= windows[-1].end_ns
    assert len(facts.load_bursts.bursts_ns) == 2
    assert windows[0].end_ns <= facts.load_bursts.from_ns
    assert facts.load_bursts.bursts_ns[-1][1] <= windows[1].start_ns
    assert sum(window.duration_ns for window in windows[1:]) >= 30e6
    order = [
        "load",
        "idle window",
        "first pass",
        "warm-up",
        "load bursts",
        "passes",
        "idle window after",
        "images",
    ]
    assert list(dict.fromkeys(stages)) == order


def test_a_simulators_times_are_no_device_s(artifact, plan):
    session = measured(artifact, plan, board_name="simulator", inference_ms=1600)
    assert session.error is None
    assert session.facts.emulated and session.facts.clock == {}
    assert [window.inferences for window in session.windows] == [1, 1, 1]  # of a second at most


def test_a_clock_that_wraps_amid_the_windows(artifact, plan):
    session = measured(artifact, plan, board_name="simulator", inference_ms=1, clock_us=2**32 - 2000)
    assert session.error is None
    starts = [window.start_ns for window in session.windows]
    assert starts == sorted(starts)
    assert all(window.duration_ns == window.inferences * 10**6 for window in session.windows)


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(
            ("doubled-ready:3",),
            marks=pytest.mark.attack(
                "a board ends answers twice: answers are matched by content, the session is whole"
            ),
        ),
        pytest.param(("stray-ready:2", "garbage-lines:3"), id="stray lines"),
        pytest.param(("no-binary-load",), id="digits alone"),
    ],
)
def test_a_line_with_faults_gives_the_same(artifact, plan, faults):
    session = measured(artifact, plan, *faults)
    assert session.error is None, session.error
    assert len(session.windows) == 3
    assert np.allclose(session.predicted[0], first_light.scores_of(first_light.golden_patches()[0]))


def test_foreign_firmware_is_measured_and_marked(artifact, plan):
    session = measured(artifact, plan, "foreign")
    assert session.error is None, session.error
    runtime = session.facts.runtime
    assert runtime["own_firmware"] is False and runtime["version"] == "not reported"
    assert any("not EdgeBench's" in warning for warning in session.facts.warnings)
    due = first_light.scores_of(np.load(plan.scene.path)[: first_light.SIDE, : first_light.SIDE])
    assert np.allclose(session.windows[0].scores, due)


@pytest.mark.parametrize(("added", "convention"), [(0, "pixels 0 to 255"), (128, "as the model takes it")])
def test_foreign_firmware_takes_pixels_or_what_the_model_takes(
    artifact, plan, monkeypatch, added, convention
):
    """The engine scores unsigned bytes: as they come, or after 128 was added to each."""
    infer = BrightnessEngine.infer
    monkeypatch.setattr(
        BrightnessEngine,
        "infer",
        lambda self, tensor, times: infer(self, bytes((byte + added) % 256 for byte in tensor), times),
    )
    signed = {"dtype": "int8", "divisor": 127.5, "offset": -1.0, "scale": 1 / 127.5, "zero_point": -1}
    of_int8 = artifact.model_copy(update={"input": artifact.input.model_copy(update=signed)})
    session = measured(of_int8, plan, "foreign")
    assert session.error is None, session.error
    assert session.facts.runtime["input_convention"] == convention
    assert np.allclose(session.predicted[0], first_light.scores_of(first_light.golden_patches()[0]))


@pytest.mark.parametrize(
    ("fault", "status", "stage", "windows"),
    [
        pytest.param(
            "unplug:5",
            "lost_connection",
            "measure",
            1,
            marks=pytest.mark.attack(
                "a board is unplugged during a window: the session ends with the windows before it"
            ),
        ),
        pytest.param(
            "reset-in-infer:5",
            "crash",
            "measure",
            1,
            marks=pytest.mark.attack("a board resets during a window: the session ends and names the reset"),
        ),
        ("wrong-count:1", "protocol_error", "golden", 0),
        ("nan-results", "protocol_error", "golden", 0),
        ("other-results:1", "golden_mismatch", "golden", 0),
        ("other-model", "load_failed", "load", 0),
        ("energy", "protocol_error", "start", 0),
    ],
)
def test_what_ends_a_session(artifact, plan, monkeypatch, fault, status, stage, windows):
    monkeypatch.setattr(conversation, "INFER_MARGIN_S", 0.5)
    monkeypatch.setenv("EDGEBENCH_STAGE_TIMEOUT_S", "1")
    session = measured(artifact, plan, fault)
    assert session.error is not None
    assert (session.error.status, session.error.stage) == (status, stage), str(session.error)
    assert session.error.why
    assert len(session.windows) == windows


class ShortLaps:
    """A board whose answers say that an inference takes a nanosecond."""

    def __init__(self):
        self.waits_s = {}

    def resynchronise(self):
        pass

    def load(self, patch):
        pass

    def infer(self, inferences, warm_ups, expected_s):
        self.waits_s[inferences] = expected_s
        time.sleep(0.01)
        now_ns = time.monotonic_ns()
        return TimedInferences(now_ns, now_ns + 1, np.zeros(5, np.float32))

    def round_trip(self):
        return RoundTrip(time.monotonic_ns(), time.monotonic_ns(), time.monotonic_ns())


@pytest.mark.attack(
    "a board's laps are far too short: the window that it is asked for is awaited for minutes"
)
@pytest.mark.parametrize("has_real_time", [True, False])
def test_laps_that_are_too_short(artifact, plan, has_real_time):
    board = ShortLaps()
    session = WindowSession(board, artifact, SessionSettings(1, {}, Launch()), has_real_time=has_real_time)
    session.start()
    next(session.measure(plan))
    assert max(board.waits_s) == USUAL.most_inferences
    assert board.waits_s[USUAL.most_inferences] <= (1.0 if has_real_time else Timeouts().measure / 3)
