"""What doctor says of a meter, by how far it came and by what it sampled."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from edgebench.judge.power.limits import least_averaging_s, rate_objection
from edgebench.link.replies import ProbeAccess
from edgebench.records.session import Channel, ProbeChunk, ProbeInfo
from edgebench.run.measuring.meter_recording import RecordedFigures, Recording
from edgebench.run.measuring.preflight import meter_findings
from tests.judge.trials import meter
from tests.sample_tables import figures_of

NAME = "um25c:/dev/rfcomm0"
NODE = ProbeAccess(port="/dev/rfcomm0", permission="crw-rw---- root:dialout")


def sampled(
    rate_hz: float, seconds: float = 4.0, *, stated_hz: float = 0.0, watts: float = 5.0, **fields: Any
) -> Recording:
    """What a meter said whose samples come that often."""
    about: dict[str, Any] = {"scope": "usb", "averaging_ms": None} | fields
    access = about.pop("access", NODE)
    channel = Channel("usb", "power", "W", total=True)
    info = ProbeInfo("um25c", "/dev/rfcomm0", stated_hz or rate_hz, "UM25C", channels=(channel,), **about)
    t_ns = (np.arange(0.0, seconds, 1 / rate_hz) * 1e9).astype(np.int64)
    chunk = ProbeChunk(NAME, t_ns, {"usb": np.full(len(t_ns), watts)})
    return Recording(NAME, info, figures_of([chunk], info), access=access)


def levels(recording: Recording) -> dict[str, str]:
    return {finding.subject: finding.level for finding in meter_findings(recording, "this machine")}


@pytest.mark.parametrize(
    ("step", "subjects"),
    [
        ("address", ["address"]),
        ("package", ["address", "package"]),
        ("permission", ["address", "device", "permission"]),
        ("in use", ["address", "device", "permission", "in use"]),
        ("answer", ["address", "device", "permission", "answer"]),
        ("a step of its own", ["address", "device"]),
    ],
)
def test_the_steps_before_the_one_that_failed_are_passed(step, subjects):
    mute = Recording(NAME, None, RecordedFigures(), "why", "what helps", step, NODE)
    findings = meter_findings(mute, "this machine")
    assert [finding.subject for finding in findings] == subjects
    assert [finding.level for finding in findings[:-1]] == ["ok"] * (len(findings) - 1)
    assert (findings[-1].level, findings[-1].message, findings[-1].fix) == ("error", "why", "what helps")


def test_a_slow_meter_decides_means_and_no_peaks():
    found = {finding.subject: finding for finding in meter_findings(sampled(2.0, 10.0), "this machine")}
    assert {subject: finding.level for subject, finding in found.items()} == {
        "address": "ok", "device": "ok", "permission": "ok", "answer": "ok", "rate": "ok", "scope": "ok",
        "peak": "warning", "peak over 1 s": "warning", "mean": "ok",
    }  # fmt: skip
    assert "averaging_s = 45" in found["peak over 1 s"].fix
    assert "50 s or more" in found["mean"].message


def test_one_whose_readings_are_means_over_their_periods_decides_a_peak_over_a_second():
    of_moments, of_means = levels(sampled(20.0)), levels(sampled(20.0, averaging_ms=50.0))
    assert (of_moments["peak over 1 s"], of_means["peak over 1 s"]) == ("warning", "ok")
    assert of_means["peak"] == "warning"


def test_a_fast_one_decides_every_peak_and_a_narrow_one_is_told_so():
    fast = levels(sampled(1000.0, scope="chip"))
    assert (fast["peak"], fast["peak over 1 s"], fast["scope"]) == ("ok", "ok", "warning")


@pytest.mark.parametrize(
    ("recording", "subject"),
    [
        (sampled(2.0, stated_hz=10.0), "rate"),
        (sampled(2.0, rejected=3, rejected_first=("?",)), "readings"),
        (sampled(2.0, access=ProbeAccess(port="/dev/rfcomm0", held_by=("screen (pid 7)",))), "in use"),
        (sampled(2.0, absent={"scope": "nobody states it"}), "absent"),
    ],
)
def test_what_a_user_should_know_is_a_warning(recording, subject):
    assert levels(recording)[subject] == "warning"


def test_what_is_played_decides_nothing_and_one_without_a_reading_is_an_error():
    played = levels(sampled(1000.0, absent={"live samples": "they are played"}))
    assert played["absent"] == "warning" and not {"peak", "scope", "mean"} & set(played)
    mute = sampled(2.0, watts=np.nan)
    assert levels(mute)["rate"] == "error"
    assert levels(replace(mute, ended="it is gone"))["rate"] == "error"


@pytest.mark.parametrize("averaging_ms", [None, 50.0])
@pytest.mark.parametrize("gap_s", [0.05, 0.3])
def test_the_shortest_averaging_time_is_that_of_the_rule(averaging_ms, gap_s):
    rail, _ = meter(effective_hz=20.0, longest_gap_s=gap_s, averaging_ms=averaging_ms)
    least_s = least_averaging_s(rail)
    assert rate_objection(rail, least_s * 1.001) == ""
    assert rate_objection(rail, least_s * 0.98) != ""
