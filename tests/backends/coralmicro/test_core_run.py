"""The firmware's real core under the whole host: a trained model, runs with their reports, a restart."""

import json

import numpy as np
import pytest

import edgebench
from edgebench.judge.trials import trials_of
from tests.backends.coral import edgetpu_compiler
from tests.backends.coralmicro import sums
from tests.backends.coralmicro.conftest import client_of
from tests.backends.coralmicro.core_board import CoreBoard, CoreFirmware
from tests.backends.coralmicro.played_engines import LiteRtEngine
from tests.backends.coralmicro.test_litert_engine import TABLE
from tests.backends.coralmicro.test_run import PATCH_BYTES, call

__all__ = ["call"]  # a fixture

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("is_compiled", [False, True])
def test_scores_of_a_trained_model(library, prepared_quarter, is_compiled):
    content = prepared_quarter["int8"].path.read_bytes()
    model = edgetpu_compiler.compiled(content)[0] if is_compiled else content
    patches = np.random.default_rng(3).integers(0, 256, (3, 224, 224, 3), np.uint8)
    with CoreBoard(CoreFirmware(library, LiteRtEngine)) as board:
        micro = client_of(board)
        micro.load("model", model, TABLE, lambda there, size: None)
        micro.load("scene", patches.tobytes(), None, lambda there, size: None)
        run = micro.run(3, 10.0)
        described = micro.describe().answer.model
        assert described.edgetpu == is_compiled
    engine = LiteRtEngine(content)
    due = np.array([engine.infer((patch.astype(np.int16) - 128).astype(np.int8)) for patch in patches])
    scores = (due.astype(float) - described.output_zero_point) * described.output_scale
    assert np.allclose(run.scores, scores)


def test_a_run_of_several_sessions(library, call, tmp_path):
    room = {"scene": 5 * PATCH_BYTES}
    with CoreBoard(CoreFirmware(library, sums.engine_of, room=room)) as board:
        base = ("run", "--device", "sums", "--set", f"address={board.address}", "--name", "one", "--quiet")
        call(*base, "--depth", "0.25", "--sessions", "2", "--passes", "3")
        call("report", "one", "-o", "one.json")
        begun = [call for call in board.firmware.calls if call[:3] == ("load", "model", "begin")]
        sent = [call for call in board.firmware.calls if call[:3] == ("load", "model", 0)]
    assert len(begun) >= 2 and len(sent) == 1
    text = (tmp_path / "one.json").read_text()
    [trial] = json.loads(text)["trials"]
    assert (trial["status"], trial["scene"]["measured_patches"]) == ("done", 5)
    assert "extrapolated" in trial["marks"]
    assert board.address not in text


def test_a_restart_amid_a_run(library, call, tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEBENCH_RECONNECT_S", "0.01")
    with CoreBoard(CoreFirmware(library, sums.engine_of)) as board:
        board.before("run", board.firmware.restart, skip=6)
        base = ("run", "--device", "sums", "--set", f"address={board.address}", "--name", "one", "--quiet")
        call(*base, "--depth", "0.25", "--sessions", "3", "--passes", "3")
    [trial] = trials_of(edgebench.load(tmp_path / "results" / "one"))
    assert len(trial.estimate("image_s").sessions) == 3
    assert "restarted" in " ".join(trial.failures)
