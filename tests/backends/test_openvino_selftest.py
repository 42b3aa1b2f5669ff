"""The stick's self-test on a machine without one: what is missing, and what is said of the runtime."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from edgebench import registry
from edgebench.errors import UnavailableError
from edgebench.selftest import program, report, steps
from edgebench.vocabulary.target import Target

KIND: Any = importlib.import_module("edgebench.backends.openvino.selftest.__main__").KIND
backend: Any = registry.backend("ncs2")


@pytest.fixture(autouse=True)
def no_conversion(monkeypatch):
    """Preparing is the shared steps' to try; here it takes too long."""
    monkeypatch.setattr(
        type(backend), "prepare", lambda *arguments: [UnavailableError("not made", fix="make it")]
    )


def test_it_tries_what_the_stick_takes():
    assert KIND.variant.precision in backend.precisions


def test_without_a_stick_it_says_what_is_missing(session_cache):
    options = backend.options_model().model_dump()
    result = steps.carry_out(KIND, backend, Target("ncs2", "ncs2", options), session_cache, lambda line: None)
    outcomes = {step.name: step.outcome for step in result.steps}
    assert outcomes["check stick"] == "failed"
    assert (outcomes["prepare"], outcomes["open"], outcomes["measure"]) == ("failed", "ok", "left out")
    assert report.markdown(result).startswith("# Neural Compute Stick 2 self-test")


@pytest.mark.parametrize(
    ("device", "outcome"), [("MYRIAD", "ok"), ("MYRIAD.1.2-ma2480", "ok"), ("CPU", "warning")]
)
def test_another_device_than_the_stick_is_a_warning(device, outcome):
    assert KIND.loaded({"device": device}) == (outcome, f"on {device}")


def test_it_takes_no_compiled_model(capsys):
    with pytest.raises(SystemExit) as caught:
        program.main(KIND, "selftest", ["--artifact", "x.onnx"])
    assert caught.value.code == 2
    assert "--artifact" in capsys.readouterr().err
