"""A trained model on a played board: what its client reads is what LiteRT's reference kernels compute."""

import numpy as np
import pytest

from edgebench.prepare.workers.litert import REFERENCE, open_interpreter
from tests.backends.coral import edgetpu_compiler
from tests.backends.coralmicro.conftest import client_of
from tests.backends.coralmicro.played_board import PlayedBoard
from tests.backends.coralmicro.played_engines import LiteRtEngine
from tests.backends.coralmicro.played_firmware import PlayedFirmware

TABLE = bytes((value - 128) % 256 for value in range(256))


@pytest.mark.slow
@pytest.mark.parametrize("is_compiled", [False, True])
def test_scores_of_a_trained_model(prepared_quarter, is_compiled):
    path = prepared_quarter["int8"].path
    content = path.read_bytes()
    if is_compiled:
        content, _ = edgetpu_compiler.compiled(content)
    patches = np.random.default_rng(3).integers(0, 256, (2, 224, 224, 3), np.uint8)
    with PlayedBoard(PlayedFirmware(LiteRtEngine, piece_bytes=32_768)) as board:
        micro = client_of(board)
        micro.load("model", content, TABLE, lambda there, size: None)
        micro.load("scene", patches.tobytes(), None, lambda there, size: None)
        run = micro.run(2, 10.0)
        model = micro.describe().answer.model
    assert model.edgetpu == is_compiled
    interpreter = open_interpreter(path, kernels=REFERENCE)
    interpreter.allocate_tensors()
    (source,), (target,) = interpreter.get_input_details(), interpreter.get_output_details()
    for patch, scores in zip(patches, run.scores, strict=True):
        interpreter.set_tensor(source["index"], (patch.astype(np.int16) - 128).astype(np.int8)[None])
        interpreter.invoke()
        due = interpreter.get_tensor(target["index"])[0].astype(float)
        assert np.allclose((due - model.output_zero_point) * model.output_scale, scores)
