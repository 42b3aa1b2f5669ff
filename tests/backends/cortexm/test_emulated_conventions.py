"""Firmware of others in QEMU, which takes int8 or pixels: golden patches decide, and accuracy is right."""

import importlib
import io
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from edgebench.installed import version_of
from edgebench.prepare.workers import onnx_running as running
from edgebench.records.model import Artifact, Golden, InputSpec
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.run.measuring.session import compare, require
from edgebench.testing.backend_kit import images_of, scene_of
from tests.backends.cortexm.emulated import BOARD, require_emulator

backend = importlib.import_module("edgebench.backends.cortexm.backend")
boards = importlib.import_module("edgebench.backends.cortexm.boards")
building = importlib.import_module("edgebench.backends.cortexm.building")
emulator = importlib.import_module("edgebench.backends.cortexm.emulator")
engines = importlib.import_module("edgebench.backends.cortexm.engines")

SIDE, CLASSES, IMAGES = 16, ("first", "second", "third"), 20
SPEC = InputSpec(dtype="int8", height=SIDE, width=SIDE, scale=1 / 127.5, zero_point=-1)

# As MLPerf Tiny's firmware for vww and ic: what comes is unsigned, and 128 is subtracted before an inference.
PIXELS = """
#define model_invoke invoke_int8
#include "GENERATED"
#undef model_invoke
bool model_invoke(void)
{
    for (unsigned index = 0; index < MODEL_INPUT_BYTES; ++index) {
        input.bytes[index] ^= 0x80;
    }
    return invoke_int8();
}
"""


def quiet(_):
    pass


@pytest.fixture(scope="module")
def artifact(session_cache):
    """A dense layer with weights that are drawn, and softmax, on an int8 picture."""
    onnx = pytest.importorskip("onnx")
    if version_of("emx-onnx-cgen") is None or version_of("onnxruntime") is None:
        pytest.skip("C is generated with emx-onnx-cgen, and compared with onnxruntime")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    rng = np.random.default_rng(11)
    constants = {
        "scale": np.array(SPEC.scale, np.float32),
        "zero": np.array(SPEC.zero_point, np.int8),
        "shape": np.array([1, -1], np.int64),
        "weights": rng.normal(0, 0.1, (SIDE * SIDE * 3, len(CLASSES))).astype(np.float32),
    }
    nodes = [
        helper.make_node("DequantizeLinear", ["picture", "scale", "zero"], ["real"]),
        helper.make_node("Reshape", ["real", "shape"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["sums"]),
        helper.make_node("Softmax", ["sums"], ["scores"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("picture", onnx.TensorProto.INT8, [1, SIDE, SIDE, 3])],
        [helper.make_tensor_value_info("scores", onnx.TensorProto.FLOAT, [1, len(CLASSES)])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    path, sha256 = session_cache.add_bytes(model.SerializeToString(), ".onnx")
    held = io.BytesIO()
    np.save(held, pictures()[:3])
    golden, golden_sha256 = session_cache.add_bytes(held.getvalue(), ".npy")
    scores = running.score(path, pictures()[:3], SPEC.model_dump(mode="json"))
    return Artifact(
        variant="small-int8",
        batch=1,
        format="onnx",
        path=path,
        sha256=sha256,
        size_bytes=path.stat().st_size,
        input=SPEC,
        class_names=CLASSES,
        golden=Golden(
            patches=golden,
            patches_sha256=golden_sha256,
            scores=scores.tolist(),
            reference="ONNX Runtime",
            tolerance=0.002,
        ),
        provenance={},
    )


def pictures():
    return np.random.default_rng(12).integers(0, 256, (IMAGES, SIDE, SIDE, 3), np.uint8)


@pytest.mark.slow
@pytest.mark.parametrize("convention", ["as the model takes it", "pixels 0 to 255"])
def test_the_accuracy_of_20_pictures_is_the_references(artifact, session_cache, tmp_path, convention):
    require_emulator()
    engine = engines.generated(artifact, session_cache, quiet)
    if convention == "pixels 0 to 255":
        source = tmp_path / "model_pixels.c"
        source.write_text(PIXELS.replace("GENERATED", str(engine.sources[0])))
        engine = replace(engine, sources=(source,))
    firmware = building.build(BOARD, engine, session_cache, quiet)
    # Another vendor's: its name is all that tells.
    content = firmware.elf.read_bytes()
    assert content.count(b"edgebench-cortexm 1") == 1
    elf = tmp_path / "vendor.elf"
    elf.write_bytes(content.replace(b"edgebench-cortexm 1", b"vendor-firmware 1.0"))
    board = emulator.Emulator(BOARD, elf)
    options = {"icount_shift": emulator.ICOUNT_SHIFT}
    plan = MeasurePlan(scene_of(artifact, session_cache), 1, warmup_floor=0, images=None, patches=1)
    try:
        with (
            closing(
                backend.CortexMDevice(Target("m7", "cortex-m", port=board.port, options=options))
            ) as device,
            device.session(artifact, SessionSettings(1, options, Launch())) as session,
        ):
            require(compare(session.golden(), artifact.golden, {}))
            first, steady = session.measure(plan)
            scores = session.predict(images_of(pictures(), session_cache))
            facts = session.facts()
    finally:
        board.close()
    expected = running.score(artifact.path, pictures(), artifact.input.model_dump(mode="json"))
    labels = expected.argmax(1)
    labels[::4] = (labels[::4] + 1) % len(CLASSES)
    assert (scores.argmax(1) == labels).sum() == (expected.argmax(1) == labels).sum() == 15
    assert np.abs(scores - expected).max() <= 0.00051  # printed with three decimals
    assert facts.runtime["input_convention"] == convention and not facts.runtime["own_firmware"]
    assert first.instructions == pytest.approx(steady.instructions, rel=1e-2)
