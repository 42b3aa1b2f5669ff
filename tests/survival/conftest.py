"""A folder that keeps the harness, its cache and its agents to itself."""

from pathlib import Path

import pytest

from tests.survival.small import environment


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in environment(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path
