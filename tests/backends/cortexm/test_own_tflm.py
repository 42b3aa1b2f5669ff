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


def scores_here(path, patch):
    """By tflite-micro's reference kernels, of a patch uint8 [height, width, 3]."""
    runtime = importlib.import_module("tflite_micro.python.tflite_micro.runtime")
    interpreter = runtime.Interpreter.from_file(str(path), arena_size=1 << 24)
    interpreter.set_input((patch.astype(np.int16) - 128).astype(np.int8)[None], 0)
    interpreter.invoke()
    quantisation = interpreter.get_output_details(0)["quantization_parameters"]
    steps = interpreter.get_output(0)[0].astype(np.float32) - np.float32(quantisation["zero_points"][0])
    return steps * quantisation["scales"][0]


@pytest.mark.skipif(version_of("tflite-micro") is None, reason="scores are compared with tflite-micro's")
def test_tflm_s_scores_are_those_of_litert_s_reference_kernels(prepared_quarter):
    artifact = prepared_quarter["int8"]
    assert artifact.golden.reference == "LiteRT reference kernels"
    scores = [scores_here(artifact.path, patch) for patch in np.load(artifact.golden.patches)]
    np.testing.assert_array_equal(scores, np.array(artifact.golden.scores, np.float32))


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
    patch = np.load(artifact.golden.patches)[3]
    tensor = (patch.astype(np.int16) - 128).astype(np.int8)
    with EmulatedBoard(firmware.elf) as board:
        assert board.answer()[-1] == "m-ready"
        assert f"m-info-[engine={engine.title}]" in board.command("profile")
        assert upload(board, tensor.tobytes()) == ["m-load-done"]
        printed = ",".join(f"{score:.3f}" for score in scores_here(artifact.path, patch))
        expected = f"m-results-[{printed}]"
        assert board.command("infer 1 0")[-1] == expected
        # Its input is copied anew before each: TFLM overwrites it.
        assert board.command("infer 2 0")[-1] == expected
