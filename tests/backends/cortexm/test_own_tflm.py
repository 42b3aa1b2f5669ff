"""Firmware with the TFLM that the user built, where there is one: its scores are those of TFLM here."""

import importlib
import os

import numpy as np
import pytest

from edgebench.installed import version_of
from edgebench.prepare.tflite import TfliteChain
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.values import Variant
from tests.backends.cortexm.emulated import BOARD, EmulatedBoard, require_emulator
from tests.backends.cortexm.uploading import upload

building = importlib.import_module("edgebench.backends.cortexm.building")
engines = importlib.import_module("edgebench.backends.cortexm.engines")
tflm_library = importlib.import_module("edgebench.backends.cortexm.tflm_library")


def quiet(_):
    pass


def scores_here(path, tensor):
    """As the firmware prints them; reference kernels."""
    runtime = importlib.import_module("tflite_micro.python.tflite_micro.runtime")
    interpreter = runtime.Interpreter.from_file(str(path), arena_size=1 << 24)
    interpreter.set_input(tensor[None], 0)
    interpreter.invoke()
    quantisation = interpreter.get_output_details(0)["quantization_parameters"]
    steps = interpreter.get_output(0)[0].astype(int) - int(quantisation["zero_points"][0])
    return ",".join(f"{step * float(quantisation['scales'][0]):.3f}" for step in steps)


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get(tflm_library.VARIABLE), reason=f"no TFLM of one's own: {tflm_library.VARIABLE}"
)
@pytest.mark.skipif(version_of("tflite-micro") is None, reason="scores are compared with tflite-micro's")
def test_scores_are_those_of_tflm_on_this_machine(session_cache):
    require_emulator()
    [artifact] = TfliteChain().prepare([PrepareRequest(Variant(0.25, "int8"), 1, {})], session_cache, quiet)
    assert isinstance(artifact, Artifact), artifact
    engine = engines.tflm(artifact, tflm_library.tflm_library(BOARD), quiet)
    firmware = building.build(BOARD, engine, session_cache, quiet)
    tensor = (np.load(artifact.golden.patches)[3].astype(np.int16) - 128).astype(np.int8)
    with EmulatedBoard(firmware.elf) as board:
        assert board.answer()[-1] == "m-ready"
        assert f"m-info-[engine={engine.title}]" in board.command("profile")
        assert upload(board, tensor.tobytes()) == ["m-load-done"]
        expected = f"m-results-[{scores_here(artifact.path, tensor)}]"
        assert board.command("infer 1 0")[-1] == expected
        # Its input is copied anew before each: TFLM overwrites it.
        assert board.command("infer 2 0")[-1] == expected
