"""What `edgebench doctor` looks at."""

from __future__ import annotations

import json
import os

import pytest
from typer.testing import CliRunner

from edgebench.cli.main import app
from edgebench.errors import UsageError
from edgebench.run.measuring import preflight
from tests.cli.conftest import make_field
from tests.probes import jetson_board
from tests.probes.um25c_meter import StandIn


def test_doctor_looks_at_the_device_that_the_options_name_at_its_first_values(monkeypatch):
    checked: list[tuple[str, str]] = []

    def check(targets, backends):
        checked.extend((target.name, str(target.options["device"])) for target in targets)
        return []

    monkeypatch.setattr("edgebench.run.measuring.preflight.preflight", check)
    words = ("doctor", "--device", "openvino", "--set", "device=GPU", "--set", "device=NPU")
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert checked == [("openvino", "GPU")]


@pytest.fixture(scope="module")
def field(tmp_path_factory):
    return make_field(tmp_path_factory.mktemp("field"))


@pytest.fixture(autouse=True)
def _briefly(monkeypatch):
    monkeypatch.setattr(preflight, "METER_LISTEN_S", 0.7)


def by_subject(findings, meter):
    return {finding["subject"]: finding for finding in findings if finding.get("meter") == meter}


def test_a_meter_on_this_machine_is_checked_step_by_step(field, tmp_path):
    pytest.importorskip("serial", reason="pyserial is not installed: pip install 'edgebench[meters]'")
    meter = StandIn(tmp_path / "port")
    name = f"um25c:{meter.path}"
    try:
        done = field.call("doctor", "--meter", name, "--json")
    finally:
        meter.unplug()
    assert done.exit_code == 0, done.output
    steps = by_subject(json.loads(done.stdout)["findings"], name)
    expected = ("address", "device", "permission", "in use", "answer", "rate", "scope", "peak", "mean")
    assert set(steps) >= set(expected)
    assert f"(pid {os.getpid()})" in steps["in use"]["message"]  # the stand-in's
    assert "UM25C" in steps["answer"]["message"]


def test_meters_that_are_not_here_say_what_is_missing(field):
    names = ("csv:none.csv?time=t_s&power=p_w", "ppk2")
    done = field.call("doctor", *[word for name in names for word in ("--meter", name)], "--json")
    assert done.exit_code == 1
    findings = json.loads(done.stdout)["findings"]
    for name, step in zip(names, ("device", "address"), strict=True):
        [error] = [row for row in by_subject(findings, name).values() if row["level"] == "error"]
        assert (error["subject"], error["targets"]) == (step, [""])
        assert error["message"] and error["fix"]


def test_a_meter_on_a_board_is_checked_beside_its_target(field, tmp_path):
    files = jetson_board.write(tmp_path / "sys", jetson_board.orin_nano())
    done = field.call("doctor", "--target", "far", "--meter", f"ina3221:{files}", "--json")
    assert done.exit_code == 0, done.output
    findings = json.loads(done.stdout)["findings"]
    steps = by_subject(findings, f"ina3221:{files}")
    assert "read on the board" in steps["address"]["message"]
    assert (steps["rate"]["targets"], steps["scope"]["level"]) == (["far"], "warning")
    assert {"python", "disk"} <= {row["subject"] for row in findings if "meter" not in row}


@pytest.mark.attack("a board that cannot be reached is asked for its meter: an error with its fix")
def test_a_meter_on_a_board_that_is_gone(field):
    done = field.call("doctor", "--target", "gone", "--meter", "rapl", "--json")
    assert done.exit_code == 1
    [finding] = by_subject(json.loads(done.stdout)["findings"], "rapl").values()
    assert (finding["subject"], finding["level"]) == ("connection", "error")
    assert finding["fix"]


@pytest.mark.parametrize("meter", ["telemetry", "wattmeter"])
def test_what_is_no_meter_is_a_usage_error(field, meter):
    assert isinstance(field.call("doctor", "--meter", meter).exception, UsageError)
