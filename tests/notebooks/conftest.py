"""Results that the notebooks look at: replayed through the real agent, worker and store."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgebench.prepare.cache import Cache
from tests.backends import replaying

DISCO = ["disco-realtime", "disco-arctic", "disco-greenland"]


@pytest.fixture(scope="session")
def small_demo(session_cache: Cache, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two variants of the demo, with its meter, by one profile."""
    return replaying.run(
        session_cache, tmp_path_factory.mktemp("small"), "demo", name="demo", depth=[0.25],
        precision=["fp32", "int8"], meter=["replay"], profile=["disco-realtime"],
    )[0]  # fmt: skip


@pytest.fixture(scope="session")
def whole_demo(session_cache: Cache, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six variants of the demo, with its meter, by the profiles of the study."""
    return replaying.run(
        session_cache, tmp_path_factory.mktemp("whole"), "demo", name="demo", depth=[0.25, 0.5, 1.0],
        precision=["fp32", "int8"], meter=["replay"], profile=DISCO,
    )[0]  # fmt: skip
