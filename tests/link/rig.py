"""What the tests of sessions stand on: toy artifacts, a small scene, and devices that are closed again."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgebench import registry
from edgebench.link.agent_device import AgentDevice
from edgebench.link.local import LocalLink, agent_file
from edgebench.link.session_loop import Timeouts
from edgebench.link.ssh import Link, SshLink
from edgebench.prepare.cache import Cache, sha256_file
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch
from edgebench.records.values import ImageSet, Scene, Variant
from tests.fakes import agent_backend
from tests.link.sshd import Board

ROWS, COLUMNS = 3, 4


def silent(text):
    """A progress that nobody watches."""


@dataclass
class Rig:
    cache: Cache
    scene: Scene
    images: ImageSet

    def options(self, **chosen):
        return registry.backend("toy").options_model(**chosen).model_dump()

    def artifact(self, precision="fp32", batch=1, depth=1.0, **chosen) -> Artifact:
        request = PrepareRequest(Variant(depth, precision), batch, self.options(**chosen))
        [artifact] = registry.backend("toy").prepare([request], self.cache, silent)
        assert isinstance(artifact, Artifact)
        return artifact

    def device(self, runner: Path | None = None, python=None, folder=None, **timeouts) -> AgentDevice:
        files = (runner,) if runner else agent_backend("toy").runner_files()
        agent, _ = agent_file(self.cache)
        builds = agent_backend("toy").builds
        return AgentDevice(LocalLink(agent, python, folder), files, Timeouts(**timeouts), builds=builds)

    def link(self, board: Board | None, python=None) -> Link:
        """To a board by SSH, or to this machine."""
        agent, digest = agent_file(self.cache)
        if board is None:
            return LocalLink(agent, python)
        python = python or sys.executable  # a shell's own python3 may be a slow shim
        return SshLink(board.address, agent, digest, python, board.config, timeout_s=60.0)

    def far(self, board: Board | None, python=None, locks=True, **timeouts) -> AgentDevice:
        """The toy on such a board."""
        files = agent_backend("toy").runner_files()
        builds = agent_backend("toy").builds
        link = self.link(board, python)
        return AgentDevice(link, files, Timeouts(**timeouts), locks=locks, builds=builds)

    def settings(self, batch=1, meters=(), idle_s=0.0, launch=None, **chosen) -> SessionSettings:
        return SessionSettings(batch, self.options(**chosen), launch or Launch(), meters, idle_s)

    def plan(self, passes=2, **more) -> MeasurePlan:
        return MeasurePlan(self.scene, passes, **more)


def stored(cache: Cache, array: np.ndarray) -> tuple[Path, str]:
    held = io.BytesIO()
    np.save(held, array)
    return cache.add_bytes(held.getvalue(), ".npy")


def make_rig(folder: Path) -> Rig:
    cache = Cache(folder)
    source = np.random.default_rng(11)
    # Cells of one colour each, so that patches differ; a border that no patch covers.
    cells = source.integers(0, 256, (ROWS, COLUMNS, 3), np.uint8)
    pixels = np.zeros((ROWS * 224 + 10, COLUMNS * 224 + 3, 3), np.uint8)
    pixels[: ROWS * 224, : COLUMNS * 224] = cells.repeat(224, 0).repeat(224, 1)
    path, digest = stored(cache, pixels)
    scene = Scene(path, digest, pixels.shape[0], pixels.shape[1])
    patches = np.stack(
        [pixels[r * 224 :][:224, c * 224 :][:, :224] for r in range(ROWS) for c in range(COLUMNS)]
    )
    images_path, images_digest = stored(cache, patches)
    assert sha256_file(images_path) == images_digest
    return Rig(cache, scene, ImageSet("patches", images_path, images_digest, len(patches), None, ()))
