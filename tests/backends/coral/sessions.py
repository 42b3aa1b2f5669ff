"""A whole session on the Coral's runner, through agent and worker, on this machine or over SSH."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgebench import registry
from edgebench.link.agent_backend import AgentBackend
from edgebench.link.agent_device import AgentDevice
from edgebench.link.local import LocalLink, agent_file
from edgebench.link.ssh import SshLink
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact
from edgebench.records.session import MeasurePlan, Pass, SessionFacts, SessionSettings
from edgebench.records.target import Launch
from edgebench.records.values import Scores
from edgebench.run.measuring import session as golden
from tests.link.sshd import Board


@dataclass(frozen=True)
class Taken:
    """What a session gave."""

    golden: Scores
    passes: list[Pass]
    facts: SessionFacts

    @property
    def runtime(self) -> dict[str, Any]:
        return dict(self.facts.runtime)

    @property
    def stderr(self) -> str:
        return self.facts.stderr_tail


def options(**chosen: Any) -> dict[str, Any]:
    """Of the Coral, as `--set` takes them; on one thread."""
    return registry.backend("coral").options_model.model_validate({"threads": 1, **chosen}).model_dump()


@contextmanager
def coral(cache: Cache, board: Board | None = None, python: str | None = None) -> Iterator[AgentDevice]:
    """A device with the Coral's runner, here or on a board."""
    agent, digest = agent_file(cache)
    python = python or sys.executable
    link = (
        LocalLink(agent, python)
        if board is None
        else SshLink(board.address, agent, digest, python, board.config, timeout_s=60.0)
    )
    backend = registry.backend("coral")
    assert isinstance(backend, AgentBackend)
    device = AgentDevice(link, backend.runner_files(), explain=backend.explain)
    try:
        yield device
    finally:
        device.close()


def take(
    device: AgentDevice,
    artifact: Artifact,
    plan: MeasurePlan,
    env: Mapping[str, str] | None = None,
    **chosen: Any,
) -> Taken:
    """Golden scores, which have to be right, and the passes of a plan."""
    settings = SessionSettings(1, options(**chosen), Launch(env=dict(env or {})))
    with device.session(artifact, settings) as session:
        scores = session.golden()
        golden.require(golden.compare(scores, artifact.golden, settings.options))
        passes = list(session.measure(plan))
        facts = session.facts()
    assert [scene_pass.phase for scene_pass in passes] == ["first", "warmup", *["steady"] * plan.passes]
    assert passes[0].scores is not None and passes[-1].scores is not None
    np.testing.assert_array_equal(passes[0].scores, passes[-1].scores)
    return Taken(scores, passes, facts)


def loader(library: Path) -> dict[str, str]:
    """An environment in which the dynamic loader finds this library by its name alone."""
    before = os.environ.get("LD_LIBRARY_PATH", "")
    return {"LD_LIBRARY_PATH": f"{library.parent}:{before}" if before else str(library.parent)}
