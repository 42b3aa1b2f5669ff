"""What `edgebench doctor` looks at."""

from __future__ import annotations

from typer.testing import CliRunner

from edgebench.cli.main import app


def test_doctor_looks_at_the_device_that_the_options_name(monkeypatch):
    checked: list[str] = []

    def preflight(targets, backends):
        checked.extend(str(target.options["device"]) for target in targets)
        return []

    monkeypatch.setattr("edgebench.measure.preflight.preflight", preflight)
    words = ("doctor", "--device", "openvino", "--set", "device=GPU", "--set", "device=NPU")
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert checked == ["GPU", "NPU"]
