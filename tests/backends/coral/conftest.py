from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact
from edgebench.records.session import MeasurePlan
from edgebench.records.values import Scene
from tests.backends.coral import delegates, edgetpu_compiler
from tests.link import sshd


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> delegates.Built:
    """Stand-ins for libedgetpu, compiled as they are asked for."""
    if why := delegates.why_none():
        pytest.skip(why)
    return delegates.Built(tmp_path_factory.mktemp("libedgetpu"))


@pytest.fixture(scope="session")
def int8(prepared_quarter: dict[str, Artifact]) -> Artifact:
    """MobileNet 0.25 as the compiler would be given it."""
    return prepared_quarter["int8"]


@pytest.fixture(scope="session")
def compiled(int8: Artifact, tmp_path_factory: pytest.TempPathFactory) -> Artifact:
    """The same, as the stand-in for the compiler leaves it."""
    content, _ = edgetpu_compiler.compiled(int8.path.read_bytes())
    path, digest = Cache(tmp_path_factory.mktemp("compiled")).add_bytes(content, ".tflite")
    return Artifact.model_validate({**int8.model_dump(), "path": path, "sha256": digest})


@pytest.fixture(scope="session")
def plan(tmp_path_factory: pytest.TempPathFactory) -> MeasurePlan:
    """One steady pass over two patches, so that a runtime without fast kernels is soon done."""
    pixels = np.random.default_rng(7).integers(0, 256, (224, 448, 3), np.uint8)
    held = io.BytesIO()
    np.save(held, pixels)
    path, digest = Cache(tmp_path_factory.mktemp("scene")).add_bytes(held.getvalue(), ".npy")
    return MeasurePlan(Scene(path, digest, 224, 448), passes=1, warmup_floor=2, warmup_cap=4)


@pytest.fixture(scope="session")
def agents_cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """Where the agent's own file is kept."""
    return Cache(tmp_path_factory.mktemp("agents"))


@pytest.fixture(scope="session")
def ssh_board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sshd.Board]:
    """This machine behind an sshd."""
    if why := sshd.missing():
        pytest.skip(why)
    board = sshd.make_board(tmp_path_factory.mktemp("sshd"))
    board.start()
    yield board
    board.power_off()


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A PATH without edgetpu_compiler, whatever this machine has."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
