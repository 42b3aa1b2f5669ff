"""Firmware that is cross-compiled and booted on an emulated Cortex-M7: first light, and the trained model."""

import importlib

import pytest

from edgebench.installed import version_of
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.values import Variant
from tests.backends.cortexm.emulated import BOARD, EmulatedBoard, require_emulator
from tests.backends.cortexm.uploading import upload

building = importlib.import_module("edgebench.backends.cortexm.building")
engines = importlib.import_module("edgebench.backends.cortexm.engines")
artifacts = importlib.import_module("edgebench.backends.cortexm.artifacts")

BANNER = ["m-timestamp-mode-performance", "m-init-done", "m-ready"]
NS_AN_INSTRUCTION = 32  # -icount shift=5


def quiet(_):
    pass


def test_first_light(session_cache):
    require_emulator()
    firmware = building.build(BOARD, engines.brightness(100, 4), session_cache, quiet)
    with EmulatedBoard(firmware.elf) as board:
        assert board.answer() == BANNER
        profile = board.command("profile")
        assert profile[1] == f"m-model-[{engines.brightness(100, 4).model_id}]"
        assert "m-info-[timer=SysTick]" in profile  # the emulated DWT stands still
        assert "m-info-[board=mps2-an500, Cortex-M7, 25 MHz]" in profile
        assert upload(board, bytes(range(100))) == ["m-load-done"]
        assert board.command("infer 2 1")[-1] == "m-results-[0.047,0.145,0.243,0.341]"


@pytest.fixture(scope="module")
def quarter(session_cache):
    """The int8 artifact that firmware is generated from."""
    require_emulator()
    if version_of("tensorflow") is None or version_of("emx-onnx-cgen") is None:
        pytest.skip("C is generated with tensorflow and emx-onnx-cgen")
    request = PrepareRequest(Variant(0.25, "int8"), 1, {})
    [artifact] = artifacts.CHAIN.prepare([request], session_cache, quiet)
    assert isinstance(artifact, Artifact), artifact
    return artifact


def scores_of(lines):
    assert lines[-1].startswith("m-results-["), lines
    return [float(score) for score in lines[-1].removeprefix("m-results-[")[:-1].split(",")]


def instructions_of(lines):
    start_us, end_us = (int(line.removeprefix("m-lap-us-")) for line in lines if line.startswith("m-lap-us-"))
    return (end_us - start_us) * 1000 / NS_AN_INSTRUCTION


@pytest.mark.slow
def test_the_trained_model_counts_the_same_whenever_it_is_booted(quarter, session_cache):
    engine = engines.generated(quarter, session_cache, quiet)
    firmware = building.build(BOARD, engine, session_cache, quiet)
    with EmulatedBoard(firmware.elf) as board:
        assert board.answer() == BANNER
        profile = board.command("profile")
        assert profile[1] == f"m-model-[mobilenet_v1-0.25-int8:{quarter.sha256}]"
        assert f"m-info-[engine-bytes={firmware.engine_bytes}]" in profile
        once = board.command("infer 1 0")
        assert sum(scores_of(once)) == pytest.approx(1, abs=0.005)
        # The input stays through an inference: two more of it end in the same scores, in twice the time.
        twice = board.command("infer 2 0")
        assert scores_of(twice) == scores_of(once)
        assert instructions_of(twice) == pytest.approx(2 * instructions_of(once), rel=1e-5)
    with EmulatedBoard(firmware.elf) as board:
        board.answer()
        assert instructions_of(board.command("infer 1 0")) == pytest.approx(instructions_of(once), rel=1e-6)
