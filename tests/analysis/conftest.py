from __future__ import annotations

from pathlib import Path

import pytest

import edgebench
from edgebench.judge.requirements.profile import shipped_profiles
from tests import synthetic_results


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> edgebench.Results:
    """Two targets with three variants each, a meter, the shipped profiles; one of each kind of trial."""
    return edgebench.load(
        synthetic_results.made_experiment(
            tmp_path_factory.mktemp("analysis"),
            targets=("cpu", "coral on the Pi"),
            variants=synthetic_results.NINE[:6],
            power=True,
            image_paths=[f"{index % 5}/{index}.png" for index in range(40)],
            size_mm=(100.0, 80.0, 30.0),
            profiles=[profile.as_record() for profile in shipped_profiles()],
            failed=[synthetic_results.NINE[3]],
            not_run=[synthetic_results.NINE[4]],
            unsupported=[synthetic_results.NINE[5]],
        )
    )


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result with markup in every text that comes from outside."""
    return synthetic_results.made_experiment(
        tmp_path_factory.mktemp("hostile"), hostile=True, power=True, sessions=1
    )


@pytest.fixture(scope="session")
def not_easy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic_results.not_easy(tmp_path_factory.mktemp("not-easy"))
