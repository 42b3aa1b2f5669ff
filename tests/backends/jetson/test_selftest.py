"""The Jetson's self-test: on a machine without TensorRT, and all of it on a stand-in."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

from edgebench import registry
from edgebench.errors import UnavailableError
from edgebench.selftest import report, steps
from edgebench.vocabulary.target import Launch, Target
from tests.backends.jetson.standin import StandIn

KIND: Any = importlib.import_module("edgebench.backends.jetson.selftest.__main__").KIND
backend: Any = registry.backend("jetson")
OPTIONS = backend.options_model().model_dump()


def outcomes(result):
    return {step.name: step.outcome for step in result.steps}


def test_it_tries_what_a_jetson_is_measured_at():
    assert backend.default_precisions == (KIND.variant.precision,)


def test_without_tensorrt_it_says_what_is_missing(session_cache, monkeypatch):
    monkeypatch.setattr(
        type(backend), "prepare", lambda *arguments: [UnavailableError("not made", fix="make it")]
    )
    target = Target("jetson", "jetson", OPTIONS)
    result = steps.carry_out(KIND, backend, target, session_cache, lambda line: None)
    outcome = outcomes(result)
    assert (outcome["check tensorrt"], outcome["check jetpack"]) == ("failed", "warning")
    assert (outcome["prepare"], outcome["open"], outcome["measure"]) == ("failed", "ok", "left out")
    assert any("--host" in line for line in result.missing)
    assert report.markdown(result).startswith("# Jetson self-test")


@pytest.mark.parametrize(
    ("runtime", "outcome", "says"),
    [
        ({"gpu": "Orin", "weight_layer_precisions": {"fp16": 28}}, "ok", "28 in fp16"),
        ({"gpu": "Orin", "weight_layer_precisions": {"fp16": 27, "fp32": 1}}, "warning", "1 in fp32"),
        ({"gpu": "Orin"}, "warning", "does not say"),
        ({}, "warning", "without a name"),
    ],
)
def test_what_the_layers_compute_in_is_told(runtime, outcome, says):
    assert KIND.loaded(runtime)[0] == outcome
    assert says in KIND.loaded(runtime)[1]


def test_on_a_stand_in_every_step_is_gone_through(
    stand_in: Callable[[str], StandIn], artifacts, session_cache, monkeypatch, tmp_path
):
    """With the small model in place of the shipped one, whose conversion takes too long."""
    monkeypatch.setattr(type(backend), "prepare", lambda *arguments: [artifacts["fp16"]])
    monkeypatch.setattr(steps, "PASSES", 1)
    monkeypatch.setenv("EDGEBENCH_BOARD_DIR", str(tmp_path))
    board = stand_in("8.2")
    target = Target("jetson", "jetson", OPTIONS, Launch(env=board.environment))
    result = steps.carry_out(KIND, backend, target, session_cache, lambda line: None)
    outcome = outcomes(result)
    assert (outcome["prepare"], outcome["load"], outcome["scores"], outcome["measure"]) == ("ok",) * 4
    assert (result.figures["patch_ms"] or 0) > 0
    text = report.markdown(result)
    assert "8.2.1.8" in text and "| gpu | Xavier |" in text
