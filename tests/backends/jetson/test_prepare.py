"""Which files travel to a board that builds its engine: of both ways that TensorRT has had."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx

from edgebench.agent.pixels import table_for
from edgebench.errors import UnsupportedError
from edgebench.prepare.cache import Cache, sha256_file
from edgebench.records.model import SHIPPED, Artifact, ModelSource, PrepareRequest
from edgebench.records.values import Variant
from tests.backends.jetson.models import colours, request_for, source_of
from tests.fakes import agent_backend
from tests.user_models import SIDE

jetson = agent_backend("jetson")


def kinds(path: Path) -> set[str]:
    return {node.op_type for node in onnx.load(path).graph.node}


def test_the_board_gets_the_files_of_both_ways(artifacts: dict[str, Artifact]):
    fp32, fp16, int8 = (artifacts[precision] for precision in ("fp32", "fp16", "int8"))
    assert fp32.companions == {}
    assert (fp16.sha256, fp16.size_bytes) == (fp32.sha256, fp32.path.stat().st_size)
    assert set(fp16.companions) == {"half.onnx"}
    weights = onnx.load(fp16.companions["half.onnx"].path).graph.initializer
    assert {tensor.data_type for tensor in weights} == {onnx.TensorProto.FLOAT16}
    assert set(int8.companions) == {"float.onnx", "calibration.npy"}
    assert int8.companions["float.onnx"].sha256 == fp32.sha256
    assert {"QuantizeLinear", "DequantizeLinear"} <= kinds(int8.path)
    for artifact in artifacts.values():
        assert (artifact.input.dtype, artifact.input.layout, artifact.batch) == ("float32", "NCHW", 16)
        for companion in artifact.companions.values():
            assert companion.sha256 == sha256_file(companion.path)
    # Scores are those of the precision that was asked for, whichever file the board takes.
    assert {step["step"] for step in fp16.provenance["checks"]} >= {"fp16"}


def test_a_calibrator_gets_what_the_model_takes(artifacts: dict[str, Artifact], source: ModelSource):
    assert source.calibration is not None
    pictures = np.load(source.calibration.path)
    calibration = artifacts["int8"].companions["calibration.npy"]
    held = np.load(calibration.path)
    assert (held.dtype, held.shape) == (np.float32, (33, 3, SIDE, SIDE))
    table = table_for("float32", 255.0, 0.0, None, None)
    np.testing.assert_allclose(held, table[pictures].transpose(0, 3, 1, 2), atol=1e-6)


def test_all_is_kept(artifacts: dict[str, Artifact], source: ModelSource, session_cache: Cache):
    def never(_: str) -> None:
        raise AssertionError("nothing was to be made")

    requests = [request_for(source, precision) for precision in artifacts]
    assert jetson.prepare(requests, session_cache, never) == list(artifacts.values())


def test_pairs_alone_travel_where_no_calibrator_is_wanted(source: ModelSource, session_cache: Cache):
    request = request_for(source, "int8", options={"int8": "qdq"})
    assert jetson.prepare_inputs(request) != jetson.prepare_inputs(replace(request, options={}))
    [outcome] = jetson.prepare([request], session_cache, lambda _: None)
    assert isinstance(outcome, Artifact) and outcome.companions == {}


def test_a_file_that_is_quantised_already_is_taken_as_it_is(
    tmp_path: Path, artifacts: dict[str, Artifact], session_cache: Cache
):
    own = tmp_path / "own.onnx"
    own.write_bytes(artifacts["int8"].path.read_bytes())
    quantised = source_of(own, session_cache)
    requests = [
        request_for(quantised, "int8"),
        request_for(quantised, "int8", options={"int8": "calibrator"}),
        request_for(quantised, "fp16"),
    ]
    taken, uncalibrated, other = jetson.prepare(requests, session_cache, lambda _: None)
    assert isinstance(taken, Artifact), taken
    assert taken.companions == {} and taken.sha256 == sha256_file(own)
    assert isinstance(uncalibrated, UnsupportedError) and "quantised already" in uncalibrated.why
    assert isinstance(other, UnsupportedError) and "int8" in other.why


def test_a_model_without_calibration_images_is_refused_with_what_is_missing(
    tmp_path: Path, session_cache: Cache
):
    source = colours(tmp_path, session_cache, calibrated=False)
    [outcome] = jetson.prepare([request_for(source, "int8")], session_cache, lambda _: None)
    assert isinstance(outcome, UnsupportedError) and "--calibration" in outcome.fix
    assert jetson.missing(request_for(source, "int8")) is None


def test_a_batch_is_static_and_at_most_64():
    assert (jetson.default_batch, jetson.most_batch, jetson.default_precisions) == (16, 64, ("fp16",))
    by_batch = [
        jetson.prepare_inputs(PrepareRequest(Variant(0.25, "fp16"), batch, {}, SHIPPED)) for batch in (1, 64)
    ]
    assert by_batch[0] != by_batch[1]
    assert jetson.builds({})


def test_a_graphics_card_has_no_sensors_of_a_jetson():
    tensorrt = agent_backend("tensorrt")
    assert (jetson.meters, tensorrt.meters) == (("ina3221", "tegrastats"), ())
    assert tensorrt.prepare_inputs(PrepareRequest(Variant(0.25, "int8"), 16, {})) == jetson.prepare_inputs(
        PrepareRequest(Variant(0.25, "int8"), 16, {})
    )


def test_what_is_missing_is_asked_before_a_file_is_read(source: ModelSource) -> None:
    unread = replace(source, golden=None)
    assert agent_backend("jetson").missing(request_for(unread, "fp16")) is None
