"""The small model at every precision, made once, and the stand-ins for TensorRT that build its engines."""

from __future__ import annotations

import functools
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, ModelSource
from tests.backends.jetson import building_models, standin
from tests.backends.jetson.models import colours, request_for
from tests.backends.jetson.standin import StandIn
from tests.fakes import agent_backend

PRECISIONS = ("fp32", "fp16", "int8")
PICTURES = 5  # of calibration; a batch has two
building: Any = importlib.import_module("edgebench.backends.jetson.device.building")
cuda_library: Any = importlib.import_module("edgebench.backends.jetson.device.cuda_library")
engine_file: Any = importlib.import_module("edgebench.backends.jetson.device.engine_file")


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory, session_cache: Cache) -> ModelSource:
    """A classifier by mean colour, with pictures to calibrate on."""
    return colours(tmp_path_factory.mktemp("own"), session_cache)


@pytest.fixture(scope="session")
def artifacts(source: ModelSource, session_cache: Cache) -> dict[str, Artifact]:
    """It by precision, at a batch of 16."""
    requests = [request_for(source, precision) for precision in PRECISIONS]
    outcomes = agent_backend("jetson").prepare(requests, session_cache, lambda _: None)
    prepared = [outcome for outcome in outcomes if isinstance(outcome, Artifact)]
    assert len(prepared) == len(PRECISIONS), outcomes
    return dict(zip(PRECISIONS, prepared, strict=True))


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], StandIn]:
    """A stand-in by its shape, written once."""
    if why := standin.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("stand-ins")
    return functools.cache(lambda shape: standin.write(folder / shape, shape))


Boards = Callable[..., "Board"]


class Board:
    """A stand-in that is imported, and the files of a model.

    Attributes:
        trt: the package `tensorrt`.
        steps: what `progress` was called with.
    """

    def __init__(self, folder: Path, here: standin.StandIn, trt: Any) -> None:
        self.folder, self.here, self.trt = folder, here, trt
        self.cuda = cuda_library.find(str(here.cudart))
        self.log = folder / "log"
        self.steps: list[tuple[int, int, str]] = []
        self.companions = building_models.companions(folder, PICTURES)

    def build(
        self, precision: str, artifact: Path | None = None, progress: Any = None, **options: Any
    ) -> Any:
        """The header of an engine that is built."""
        make = building_models.qdq_model if precision == "int8" else building_models.float_model
        artifact = artifact or make(self.folder / "artifact.onnx")
        settings = {"int8": "auto", "workspace_mb": 0, **options, "precision": precision}
        settings.setdefault("companions", self.companions)
        builder = building.Builder(self.trt, self.cuda, settings, progress or self._progress)
        calibration = settings["companions"].get("calibration.npy")
        path = builder.build(str(artifact), calibration, str(self.folder))
        header, engine = engine_file.read(path)
        runtime = self.trt.Runtime(self.trt.Logger())
        assert runtime.deserialize_cuda_engine(engine) is not None
        return header

    def events(self, name: str) -> list[Any]:
        """What the stand-in has noted of this name."""
        lines = map(json.loads, self.log.read_text().splitlines())
        return [line for line in lines if line["event"] == name]

    def _progress(self, done: int, total: int = 0, text: str = "") -> None:
        self.steps.append((done, total, text))


@pytest.fixture
def board_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Boards]:
    """A board with a release of TensorRT, imported into this process until the test ends."""
    boards: list[Board] = []

    def forget() -> None:
        for name in [name for name in sys.modules if name.partition(".")[0] == "tensorrt"]:
            del sys.modules[name]

    def board(shape: str, version: str | None = None) -> Board:
        here = standin.write(tmp_path / (version or shape), shape, version)
        for name, value in here.environment.items():
            if name.startswith("STANDIN_"):
                monkeypatch.setenv(name, value)
        monkeypatch.setenv("STANDIN_LOG", str(tmp_path / "log"))
        monkeypatch.syspath_prepend(here.folder)
        forget()
        boards.append(Board(tmp_path, here, importlib.import_module("tensorrt")))
        return boards[-1]

    yield board
    for opened in boards:
        opened.cuda.close()
    forget()
