"""A runner that says nonsense of itself, through a real worker and agent: its session fails alone."""

from dataclasses import replace

import pytest

from edgebench.results.parquet import to_arrow
from edgebench.run.measuring.session import LocalDevice
from edgebench.run.measuring.session_record import Job
from tests.fakes import agent_backend
from tests.link.rig import make_rig

RUNNER = """

_load = load


def nested(depth):
    return [nested(depth - 1)] if depth else 0


def send(text):
    # A frame of its own making, behind the back of the worker.
    import gc, struct
    [stream] = [held for held in gc.get_objects() if type(held).__name__ == "FrameStream"]
    os.write(stream._write_to, struct.pack(">4sHHIQ", b"EdBn", 1, 0, len(text), 0) + text)


def load(path, options):
    model = _load(path, options)
    {change}
    return model
"""


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    return make_rig(tmp_path_factory.mktemp("rig"))


@pytest.fixture(scope="module")
def device(rig):
    opened = rig.device()
    yield opened
    opened.close()


def session_of(rig, device, folder, change):
    """One session of the toy with that line in its runner; then the plain toy computes on the same device."""
    [plain] = agent_backend("toy").runner_files()
    runner = folder / "runner.py"
    runner.write_text(plain.read_text() + RUNNER.format(change=change))
    job = Job("k" * 16, 0, 0, rig.artifact(), rig.settings(), rig.plan(passes=1))
    device._board = replace(device._board, runner_files=(runner,))
    evil = LocalDevice(device).measure(job)
    device._board = replace(device._board, runner_files=(plain,))
    with device.session(rig.artifact(), rig.settings()) as session:
        assert len(session.golden())
    return evil


def says(value: str) -> str:
    return f"model.describe = lambda: {value}"


def attack(what, change, status, why):
    text = f"a runner {what}: its session fails alone, with the reason"
    return pytest.param(change, status, why, id=what, marks=pytest.mark.attack(text))


PROTOCOL, CRASH = "protocol_error", "crash"
ATTACKS = [
    attack("describes itself 250 levels deep", says("{'x': nested(250)}"), PROTOCOL, "more than 32 deep"),
    attack(
        "has a name of two million characters", says("{'name': 'x' * (2 << 20)}"), CRASH, "1048576 allowed"
    ),
    attack("reports NaN as a number", says("{'speed': float('nan')}"), CRASH, "not JSON compliant"),
    attack(
        "reports a number of numpy's own type",
        says("{'speed': np.float32(1)}"),
        CRASH,
        "not JSON serializable",
    ),
    attack("sends NaN", "send(b'{\"x\": NaN}')", PROTOCOL, "no frame that can be passed on"),
    attack(
        "sends text that escapes make too long",
        "send(('{\"x\": \"' + chr(233) * 300_000 + '\"}').encode())",
        PROTOCOL,
        "no frame that can be passed on",
    ),
    attack("describes itself by a list", says("['toy']"), PROTOCOL, "runtime"),
    attack("raises when asked to describe itself", says("1 / 0"), "load_failed", "ZeroDivisionError"),
    attack("has a stage called image", "model.extra_stage = 'image'", PROTOCOL, "is called 'image'"),
    attack("has a second stage called infer", "model.extra_stage = 'infer'", PROTOCOL, "are called 'infer'"),
    attack("has a stage that no column can be called", "model.extra_stage = 'a b'", PROTOCOL, "'a b'"),
    attack("has a stage called by a number", "model.extra_stage = 5", PROTOCOL, "stages"),
]


@pytest.mark.parametrize(("change", "status", "why"), ATTACKS)
def test_an_evil_runner_costs_its_own_session(rig, device, tmp_path, change, status, why):
    evil = session_of(rig, device, tmp_path, change)
    assert evil.record.status == status
    assert evil.record.failure is not None
    assert why in evil.record.failure.why


@pytest.mark.attack(
    "a runner has a lone surrogate in its name, as one read from a file: it is kept as its escape"
)
def test_a_lone_surrogate_is_kept_as_its_escape(rig, device, tmp_path):
    evil = session_of(rig, device, tmp_path, says("{'name': 'toy\\udce9'}"))
    assert evil.record.status == "ok"
    assert evil.record.runtime["name"] == r"toy\udce9"


@pytest.mark.attack("a runner scores NaN once its golden patches are right: its session fails, with the pass")
def test_nan_in_a_timed_pass_is_a_failed_session(rig, device, tmp_path):
    change = "infer = model.infer; late = {'measure': np.nan}; "
    change += "model.infer = lambda slot: infer(slot) * late.get(model._stage, 1)"
    evil = session_of(rig, device, tmp_path, change)
    assert (evil.record.status, evil.record.failure.stage) == ("protocol_error", "measure")
    assert "not finite" in evil.record.failure.what


@pytest.mark.attack("a runner has a stage called NMS: it is measured under that name")
def test_a_stage_in_capitals_is_a_column(rig, device, tmp_path):
    evil = session_of(rig, device, tmp_path, "model.extra_stage = 'NMS'")
    assert evil.record.status == "ok"
    assert evil.tables.passes is not None
    assert list(to_arrow(evil.tables.passes, "passes").column_names)[-1] == "NMS_ns"


@pytest.mark.attack(
    "a runner writes 64 KiB to stderr without a space and dies: they are kept, without a long search"
)
def test_a_word_of_64_kib_is_searched_for_names_once(rig, device, tmp_path):
    change = "sys.stderr.write('a@' * 40000); raise SystemExit(3)"
    evil = session_of(rig, device, tmp_path, change)
    assert evil.record.status == "crash"
    assert evil.record.failure is not None
    assert evil.record.failure.stderr_tail.count("a@") > 30_000
