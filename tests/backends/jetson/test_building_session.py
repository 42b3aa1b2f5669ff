"""Builds of engines on a board, by the agent and its workers, that end otherwise than with an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from edgebench.errors import SessionError
from edgebench.link.agent_device import AgentDevice
from edgebench.link.local import LocalLink, agent_file
from edgebench.link.session_loop import Timeouts
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact
from edgebench.records.session import SessionSettings
from edgebench.records.target import Launch
from edgebench.session_stages import BUILD
from tests.backends.jetson.standin import StandIn
from tests.fakes import agent_backend

jetson = agent_backend("jetson")


class BuildingBoard:
    """A board of its own with TensorRT 10, which builds an artifact at fp16."""

    def __init__(self, folder: Path, cache: Cache, here: StandIn, artifact: Artifact) -> None:
        agent, _ = agent_file(cache)
        self.folder, self._here, self._artifact = folder, here, artifact
        self.reports: list[str] = []
        files = jetson.runner_files()
        timeouts = Timeouts(build=30.0)
        self.device = AgentDevice(
            LocalLink(agent, None, folder), files, timeouts, builds=jetson.builds, explain=jetson.explain
        )

    def session(self, **environment: str):
        """A session whose worker finds these variables set."""
        launch = Launch(env={**self._here.environment, **environment})
        options = jetson.options_model().model_dump()
        settings = SessionSettings(
            self._artifact.batch, options, launch, report=lambda text, *_: self.reports.append(text)
        )
        return self.device.session(self._artifact, settings)

    def require_nothing_left(self) -> None:
        """No engine and no scratch folder lie on the board."""
        assert [path for path in self.folder.iterdir() if path.suffix == ".built" or path.is_dir()] == []


@pytest.fixture
def board(
    tmp_path: Path, session_cache: Cache, stand_in: Callable[[str], StandIn], artifacts: dict[str, Artifact]
) -> Iterator[BuildingBoard]:
    opened = BuildingBoard(tmp_path / "board", session_cache, stand_in("10"), artifacts["fp16"])
    yield opened
    opened.device.close()


@pytest.mark.attack(
    "the worker is killed while TensorRT builds: nothing of it stays, the next session builds"
)
def test_killed_build(board: BuildingBoard, tmp_path: Path) -> None:
    once = {"STANDIN_BUILD": "kill", "STANDIN_ONCE": str(tmp_path / "once")}
    with pytest.raises(SessionError) as failure, board.session(**once):
        pass
    assert (failure.value.status, failure.value.stage) == ("crash", BUILD)
    assert "SIGKILL" in failure.value.why
    board.require_nothing_left()
    board.reports.clear()
    with board.session(STANDIN_BUILD="slow:1") as session:
        built = session.facts().built
        assert built is not None and not built.cached
    # How far a slow build is, for whoever waits for it, and each step has its time anew.
    assert sum(text.startswith(f"{BUILD}: Building Engine") for text in board.reports) > 1


@pytest.mark.parametrize(
    ("environment", "status", "word"),
    [
        ({"STANDIN_UNHONOURED": "all"}, "error", "fp32"),
        ({"STANDIN_BUILD": "oom"}, "out_of_memory", "OutOfMemory"),
        ({"STANDIN_NO_DEVICE": "1"}, "error", "no CUDA-capable device"),
    ],
)
def test_build_without_an_engine(
    board: BuildingBoard, environment: dict[str, str], status: str, word: str
) -> None:
    with pytest.raises(SessionError) as failure, board.session(**environment):
        pass
    assert (failure.value.status, failure.value.stage) == (status, BUILD)
    assert word in failure.value.why
    assert failure.value.fix
    board.require_nothing_left()
