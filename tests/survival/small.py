"""A small experiment through the real agent, on a device whose worker notes down what it has finished."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from edgebench.agent.bootstrap import ENVIRONMENT as BOARD_DIR
from edgebench.agent.lock import ENVIRONMENT as BOARD_LOCK
from edgebench.contract import Backend
from edgebench.errors import StoredResultError
from edgebench.prepare.cache import Cache
from edgebench.records.model import PrepareRequest
from edgebench.records.values import Progress, Variant
from edgebench.run.config import resolve
from edgebench.run.measuring.execution import Campaign, LocalMachines
from edgebench.run.measuring.host_queue import Outcome
from edgebench.run.measuring.progress import Observer
from edgebench.run.planner import Built, build
from tests.fakes import agent_backend

CLASSES = ("water", "ice")
SCENARIO = """
schema_version = 1
name = "small"
scene = { rows = 1, columns = 2 }
images = { n = 4 }

[default]
image_s = 0.2
sessions = { sd_percent = 2 }
passes = { sd_percent = 1, correlation = 0.3 }
memory = { after_load_bytes = 1000000, peak_bytes = 2000000 }

[variants."mobilenet_v1-0.25-fp32"]

[variants."mobilenet_v1-0.25-int8"]
image_s = 0.1
"""
NOTES = """

_load = load


def load(path, options):
    model = _load(path, options)
    closed = getattr(model, "close", None)

    def close():
        if closed:
            closed()
        # In one write, before the harness hears of the end: what the device has finished.
        line = "{} {}\\n".format(os.path.basename(path)[:64], os.environ["EDGEBENCH_SESSION_NUMBER"])
        notes = os.open(NOTES_PATH, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(notes, line.encode())
        os.close(notes)

    model.close = close
    return model
"""


@dataclass
class Small:
    """Campaigns of a few trials and sessions in one folder.

    Args:
        folder: for results, the pictures and the notes; `environment` sets a cache and a board there.
        device: `toy`, or `replay`, whose sessions are the same on every run.
        extra: Python that is put behind the runner's own.
    """

    folder: Path
    device: str = "toy"
    sessions: int = 3
    precisions: Sequence[str] = ("fp32", "int8")
    extra: str = ""
    observer: Observer = field(default_factory=Observer)
    cache: Cache = field(init=False)
    backend: Backend = field(init=False)
    _built: Built | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.cache = Cache()
        if not (self.folder / "scene.png").exists():
            _pictures(self.folder)
        (self.folder / "scenario.toml").write_text(SCENARIO)
        self.backend = _noting(self)

    def prepare(self) -> None:
        """Make the plan and the artifacts here, before anything is forked."""
        _, built = self.built(None)
        requests = [trial.request for trial in built.plan.trials]
        self.backend.prepare(requests, self.cache, lambda text: None)

    @property
    def results(self) -> Path:
        return self.folder / "results"

    def built(self, name: str | None) -> tuple[Any, Built]:
        flags: dict[str, Any] = {
            "device": [self.device],
            "depth": [0.25],
            "precision": list(self.precisions),
            "sessions": self.sessions,
            "passes": 2,
            "telemetry": False,
            "output_dir": self.results,
            "name": name,
        }
        if self.device == "replay":
            flags["set"] = [f"source={self.folder / 'scenario.toml'}"]
        else:
            flags |= {"scene": self.folder / "scene.png", "images": self.folder / "images"}
        resolved = resolve(flags)
        if self._built is None:  # the same for every name
            made = build(resolved.config, self.cache, lambda text: None)
            self._built = Built(made.plan, made.targets, {**made.backends, self.device: self.backend})
        return resolved, self._built

    def run(self, name: str | None, *, resume: bool) -> Outcome:
        """What `edgebench run --name NAME [--resume]` does, without the printing."""
        resolved, built = self.built(name)
        campaign = Campaign(
            built=built,
            resolved=resolved,
            profiles=(),
            command=("edgebench", "run"),
            resume=resume,
            cache=self.cache,
            observer=self.observer,
            machines=LocalMachines(built.backends),
        )
        return campaign.carry_out()[1]

    def go_on(self, name: str) -> Outcome:
        """As whoever was killed does: --resume, and without it where nothing had begun."""
        try:
            return self.run(name, resume=True)
        except StoredResultError as error:
            if "to go on with" not in error.what and "nothing was measured yet" not in error.what:
                raise
        return self.run(name, resume=False)

    def noted(self) -> Counter[tuple[str, int]]:
        """How often the device has finished each session, by the artifact's hash and the session's number."""
        path = self.folder / "notes"
        lines = path.read_text().splitlines() if path.exists() else []
        return Counter((line.split()[0], int(line.split()[1])) for line in lines)


def environment(folder: Path) -> dict[str, str]:
    """The variables that keep the harness and its agents to a folder."""
    return {
        BOARD_DIR: str(folder / "board"),
        BOARD_LOCK: str(folder),
        "EDGEBENCH_CACHE_DIR": str(folder / "cache"),
    }


def _noting(small: Small) -> Backend:
    """The device with a runner that writes a line to `folder/notes` as each session of its ends.

    Its artifacts are made once for all the processes that are forked from this one.
    """
    plain, folder = agent_backend(small.device), small.folder
    own, *companions = plain.runner_files()
    source = own.read_text() + NOTES + small.extra
    runner = folder / "runner.py"
    files = (runner, *(Path(shutil.copy(companion, folder)) for companion in companions))
    runner.write_text(source.replace("NOTES_PATH", json.dumps(str(folder / "notes"))))
    made: dict[Variant, Any] = {}

    class Noting(type(plain)):  # type: ignore[misc]  # the class that its entry point gives
        def runner_files(self) -> tuple[Path, ...]:
            return files

        def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Any]:
            missing = [request for request in requests if request.variant not in made]
            outcomes = super().prepare(missing, cache, progress)
            made.update(zip((request.variant for request in missing), outcomes, strict=True))
            return [made[request.variant] for request in requests]

    noting = Noting()
    assert isinstance(noting, Backend)
    return noting


def _pictures(folder: Path) -> None:
    rng = np.random.default_rng(5)
    Image.fromarray(rng.integers(0, 256, (224, 448, 3), np.uint8)).save(folder / "scene.png")
    for name in CLASSES:
        (folder / "images" / name).mkdir(parents=True)
        Image.fromarray(rng.integers(0, 256, (224, 224, 3), np.uint8)).save(
            folder / "images" / name / "0.png"
        )
