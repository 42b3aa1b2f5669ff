"""Played scenarios, which several files test: each played once, even where processes share the tests."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.frozen.replays import QUICK, SLOW, replays


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder in which the quick scenarios were played, and what came of each."""
    return _played(tmp_path_factory, "quick", QUICK)


@pytest.fixture(scope="session")
def slow(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The same of the slow scenarios."""
    return _played(tmp_path_factory, "slow", SLOW)


def _played(factory: pytest.TempPathFactory, kind: str, names: Iterable[str]) -> tuple[Path, dict[str, Any]]:
    base = factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, outcomes = base / f"played-{kind}", base / f"played-{kind}.json"
    with (base / f"played-{kind}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not outcomes.exists():
            folder.mkdir(exist_ok=True)
            text = json.dumps(replays(folder, names))
            outcomes.write_text(text, encoding="utf-8")
    return folder, json.loads(outcomes.read_text(encoding="utf-8"))
