"""`edgebench doctor --try` of a Jetson, on a stand-in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgebench import registry
from edgebench.cli import tryout
from edgebench.records.target import Launch, Target
from tests.backends.jetson.standin import StandIn

backend: Any = registry.backend("jetson")


def test_on_a_stand_in_every_step_is_gone_through(
    stand_in: Callable[[str], StandIn], artifacts, session_cache, monkeypatch, tmp_path
):
    """With the small model in place of the shipped one, whose conversion takes too long."""
    asked: list[Any] = []

    def prepare(backend, requests, *rest):
        asked.extend(request.variant.name for request in requests)
        return [artifacts["fp16"]]

    monkeypatch.setattr(type(backend), "prepare", prepare)
    monkeypatch.setattr(tryout, "PASSES", 1)
    monkeypatch.setenv("EDGEBENCH_BOARD_DIR", str(tmp_path))
    board = stand_in("8.2")
    target = Target("jetson", "jetson", backend.options_model().model_dump(), Launch(env=board.environment))
    result = tryout.try_out(target, backend, session_cache, lambda line: None)
    outcome = {step.name: step.outcome for step in result.steps}
    assert (outcome["prepare"], outcome["load"], outcome["scores"], outcome["measure"]) == ("ok",) * 4
    assert (result.figures["patch_ms"] or 0) > 0
    assert asked == ["mobilenet_v1-0.25-fp16"]
    text = result.markdown()
    assert "8.2.1.8" in text and "| gpu | Xavier |" in text
