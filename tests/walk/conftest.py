"""The command line in processes of its own, on a small scene and the toy device."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from PIL import Image

COMMAND = [sys.executable, "-c", "from edgebench.cli.main import main; main()"]
CLASSES = ("water", "ice", "vegetation", "bare", "cloud")


@dataclass
class Place:
    """A working folder with a scene, labelled images and a cache of its own."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("EDGEBENCH_")}
        return kept | {
            "EDGEBENCH_CACHE_DIR": str(self.folder / "cache"),
            "EDGEBENCH_BOARD_DIR": str(self.folder / "this-board"),
            "EDGEBENCH_BOARD_LOCK": str(self.folder),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
            "COLUMNS": "80",
        }

    def run(self, *words: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*COMMAND, *words],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    def start(
        self, *words: str, stderr: int | IO[bytes] = subprocess.PIPE, **environment: str
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*COMMAND, *words],
            cwd=self.folder,
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )

    def toy(self, *words: str) -> list[str]:
        """A run that takes about a second a session, or as long as `--sustained` says."""
        passes = [] if "--sustained" in words else ["--passes", "2"]
        return [
            "run", "--device", "toy", "--scene", "scene.png", "--images", "images",
            "--sessions", "3", *passes, *words,
        ]  # fmt: skip


def make_place(folder: Path) -> Place:
    rng = np.random.default_rng(5)
    scene = rng.integers(0, 256, (2 * 224 + 10, 3 * 224 + 10, 3), np.uint8)
    Image.fromarray(scene).save(folder / "scene.png")
    for name in CLASSES:
        (folder / "images" / name).mkdir(parents=True)
        for number in range(2):
            pixels = rng.integers(0, 256, (224, 224, 3), np.uint8)
            Image.fromarray(pixels).save(folder / "images" / name / f"{number}.png")
    return Place(folder)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Place, subprocess.CompletedProcess[str]]:
    """One finished run of two trials, shared by tests that only read it."""
    place = make_place(tmp_path_factory.mktemp("walk"))
    words = place.toy("--depth", "0.25", "--precision", "fp32", "--precision", "int8", "--name", "first")
    return place, place.run(*words, "--profile", "disco-realtime")


Waiter = Callable[[], bool]
