"""The stand-in for TensorRT refuses what TensorRT refuses: files, engines of others, misuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import numpy_helper

from tests.backends.jetson import building_models, standin
from tests.backends.jetson.conftest import Boards

SHAPES = list(standin.RELEASES)


class Engines:
    """The builder of a board, as a caller of TensorRT has it."""

    def __init__(self, trt: Any) -> None:
        self.trt, self.messages = trt, []  # type: ignore[var-annotated]

        class Messages(trt.ILogger):  # type: ignore[misc]
            def __init__(own) -> None:
                trt.ILogger.__init__(own)

            def log(own, severity: Any, msg: str) -> None:
                self.messages.append((severity.name, msg))

        self.logger = Messages()

    def parsed(self, path: Path) -> tuple[Any, Any, str]:
        """A builder, a network, and the parser's first error."""
        builder = self.trt.Builder(self.logger)
        explicit = getattr(self.trt.NetworkDefinitionCreationFlag, "EXPLICIT_BATCH", None)
        network = builder.create_network(0 if explicit is None else 1 << int(explicit))
        parser = self.trt.OnnxParser(network, self.logger)
        return builder, network, "" if parser.parse(path.read_bytes()) else parser.get_error(0).desc()

    def built(self, path: Path) -> Any:
        builder, network, _ = self.parsed(path)
        return builder.build_serialized_network(network, builder.create_builder_config())

    def loaded(self, engine: Any) -> Any:
        return self.trt.Runtime(self.logger).deserialize_cuda_engine(engine)


def with_zero_point(path: Path, zero: int) -> Path:
    """The network with pairs around a zero point."""
    model = onnx.load(building_models.qdq_model(path))
    [tensor] = [tensor for tensor in model.graph.initializer if tensor.name == "zero"]
    changed = numpy_helper.to_array(tensor).copy()
    changed[...] = zero
    tensor.CopyFrom(numpy_helper.from_array(changed, "zero"))
    onnx.save(model, path)
    return path


@pytest.mark.parametrize("shape", SHAPES)
def test_files_that_tensorrt_refuses(board_of: Boards, tmp_path: Path, shape: str) -> None:
    engines = Engines(board_of(shape).trt)
    assert "symmetric" in engines.parsed(with_zero_point(tmp_path / "zero.onnx", 3))[2]
    for make in (
        building_models.half_model,
        building_models.qdq_model,
    ):  # the flag of their precision is missing
        engine = engines.built(make(tmp_path / "model.onnx"))
        assert (engine is None) == (shape != "11")
    if shape != "11":
        assert all("not configured in the builder" in text for _, text in engines.messages[-1:])


def test_engines_of_another_release_or_gpu_and_broken_ones(
    board_of: Boards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engines = Engines(board_of("8.0").trt)
    engine = bytes(engines.built(building_models.float_model(tmp_path / "model.onnx")))
    assert engines.loaded(engine) is not None and engines.loaded(engine[:-1]) is None
    monkeypatch.setenv("STANDIN_CAPABILITY", "5.3")
    assert engines.loaded(engine) is None
    monkeypatch.undo()
    assert Engines(board_of("8.2").trt).loaded(engine) is None


@pytest.mark.parametrize("shape", SHAPES)
def test_what_a_caller_may_get_wrong(board_of: Boards, tmp_path: Path, shape: str) -> None:
    engines = Engines(board_of(shape).trt)
    trt: Any = engines.trt
    engine = engines.built(building_models.float_model(tmp_path / "model.onnx"))
    config = trt.Builder(engines.logger).create_builder_config()

    class Uninitialised(trt.ILogger):  # type: ignore[misc]
        def __init__(self) -> None:
            pass

    assert memoryview(engine).nbytes == engine.nbytes
    for wrong in (
        Uninitialised,
        lambda: config.set_flag(0),
        lambda: 1 << trt.BuilderFlag.TF32,
        lambda: trt.Builder(print),
        lambda: len(engine),
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(AttributeError):
        config.workspace = 1
    assert hasattr(trt.ICudaEngine, "num_bindings") != hasattr(trt, "IProgressMonitor")
