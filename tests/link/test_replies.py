"""What a device answers is outside data: anything but what was due is a protocol error."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgebench.agent.frames import Frame, ProtocolError
from edgebench.errors import SessionError
from edgebench.link.failures import from_end
from edgebench.link.replies import (
    Ended,
    Passed,
    ProbeReport,
    Scored,
    checked,
    failure_in,
    scores_in,
    stamps_in,
)

PASS = {"start_ns": 1, "end_ns": 2, "stamps_bytes": 48, "shape": [1, 5], "peak_bytes": None}


def test_a_pass_is_read():
    reply = checked(Passed, {**PASS, "re": 4, "something": "new"})
    assert (reply.start_ns, reply.shape) == (1, (1, 5))


@pytest.mark.parametrize(
    "wrong",
    [{"start_ns": -1}, {"start_ns": "now"}, {"shape": [1]}, {"shape": None}, {"end_ns": 1 << 70}],
)
def test_a_field_that_is_wrong_is_named(wrong):
    with pytest.raises(ProtocolError, match=f"no Passed: {next(iter(wrong))}"):
        checked(Passed, {**PASS, **wrong})


def test_stamps_and_scores():
    stamps = np.arange(12, dtype="<i8")
    np.testing.assert_array_equal(stamps_in(stamps.tobytes(), 3), np.arange(12).reshape(2, 3, 2))
    with pytest.raises(ProtocolError):
        stamps_in(stamps.tobytes()[:-8], 3)
    scores = np.arange(10, dtype="<f4")
    reply = checked(Scored, {"shape": [2, 5]})
    np.testing.assert_array_equal(scores_in(scores.tobytes(), reply, 2, 5), np.arange(10).reshape(2, 5))
    for patches, data in ((3, scores.tobytes()), (2, scores.tobytes()[:-4])):
        with pytest.raises(ProtocolError):
            scores_in(data, reply, patches, 5)


def test_a_failure_has_a_known_status():
    assert failure_in(Frame({}, b"")) is None
    assert failure_in(Frame({"error": {"status": "load_failed", "what": "x"}}, b"")) == ("load_failed", "x")
    assert failure_in(Frame({"error": {"status": "<b>", "what": 5}}, b"")) == ("error", "5")
    with pytest.raises(ProtocolError):
        failure_in(Frame({"error": "text"}, b""))


@settings(deadline=None)
@given(st.integers(0, 5), st.lists(st.sampled_from("abc"), unique=True, max_size=3), st.integers(-9, 9))
def test_a_probes_chunk_has_exactly_its_samples(n, channels, extra):
    report = checked(ProbeReport, {"probe": "rapl:", "kind": "chunk", "n": n, "channels": channels})
    size = 8 * n * (1 + len(channels))
    payload = bytes(max(0, size + extra))
    if len(payload) != size:
        with pytest.raises(ProtocolError):
            report.chunk(payload)
        return
    chunk = report.chunk(payload)
    assert len(chunk.stamps_ns) == n
    assert {name: len(values) for name, values in chunk.values.items()} == dict.fromkeys(channels, n)


def test_a_probe_without_a_power_channel_is_no_meter():
    info = {
        "rate_hz": 1.0,
        "resolution": "1",
        "scope": "",
        "channels": [{"name": "t", "quantity": "temperature", "unit": "C"}],
    }
    report = checked(ProbeReport, {"probe": "thermal:zone0", "kind": "info", "info": info})
    assert not report.probe_info().is_meter
    assert report.probe_info().address == "zone0"
    assert report.probe_info().averaging_ms is None
    averaging = checked(ProbeReport, {"probe": "x:", "kind": "info", "info": {**info, "averaging_ms": 20}})
    assert averaging.probe_info().averaging_ms == 20.0
    for broken in (0.0, -1.0, float("nan"), float("inf"), "20 ms"):
        with pytest.raises(ProtocolError):
            checked(ProbeReport, {"probe": "x:", "kind": "info", "info": {**info, "averaging_ms": broken}})
    with pytest.raises(ProtocolError):
        checked(ProbeReport, {"probe": "x:", "kind": "info"}).probe_info()


@pytest.mark.parametrize(
    ("end", "status"),
    [
        (Ended(signal="SIGKILL", out_of_memory=True), "out_of_memory"),
        (Ended(signal="SIGKILL", timed_out=True), "timeout"),
        (Ended(signal="SIGKILL", problem="not a frame: b'x'"), "protocol_error"),
        (Ended(signal="SIGBUS"), "crash"),
        (Ended(code=1, stderr_tail="Traceback\nImportError: numpy\n"), "crash"),
    ],
)
def test_each_end_of_a_worker_has_its_words(end, status):
    error = from_end(end, "load")
    assert isinstance(error, SessionError)
    assert error.status == status
    assert "\n" not in error.what + error.why + error.fix
    assert error.why
    assert error.fix


def test_a_worker_that_dies_of_sigill_while_importing_says_so():
    error = from_end(Ended(signal="SIGILL"), "load")
    assert error.what == "the worker crashed while loading the artifact"
    assert error.why == (
        "SIGILL, a library that was being imported or loaded uses an instruction that this processor lacks"
    )
    assert "OPENBLAS_CORETYPE=ARMV8 in launch.env" in error.fix


def test_a_worker_that_was_too_slow_names_the_limit_that_ended_it():
    error = from_end(Ended(signal="SIGKILL", timed_out=True, limit_s=1800.0), "measure")
    assert "time limit of 1800 s for one request of the stage measure" in error.why
    assert "EDGEBENCH_STAGE_TIMEOUT_S" in error.fix
