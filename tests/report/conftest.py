from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot

from edgebench.judge.judged import Judged, judge_folder
from edgebench.judge.requirements.profile import shipped_profiles
from tests import synthetic_results


@pytest.fixture(autouse=True)
def _no_figure_stays_open() -> Iterator[None]:
    """Plots without `ax` are pyplot's: none opens a window, and none outlives its test."""
    matplotlib.use("agg")
    yield
    pyplot.close("all")


def _judged(folder: Path, **options: object) -> Judged:
    profiles = [profile.as_record() for profile in shipped_profiles()]
    return judge_folder(synthetic_results.made_experiment(folder, profiles=profiles, **options))  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Nine variants, all measured, no meter."""
    return _judged(tmp_path_factory.mktemp("whole"), variants=synthetic_results.NINE)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Markup in every text that comes from outside, and one trial of every kind."""
    return _judged(
        tmp_path_factory.mktemp("hostile"),
        variants=synthetic_results.NINE[:6],
        targets=("cpu", "coral on the Pi"),
        hostile=True,
        power=True,
        failed=[synthetic_results.NINE[0]],
        crashed_once=[synthetic_results.NINE[1]],
        not_run=[synthetic_results.NINE[2]],
        unsupported=[synthetic_results.NINE[3]],
    )


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """One session, no images, one trial that never ran."""
    return _judged(
        tmp_path_factory.mktemp("bare"), sessions=1, images=0, not_run=[synthetic_results.QUARTER[2]]
    )


@pytest.fixture(scope="session")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """A plan of which nothing was measured."""
    return _judged(tmp_path_factory.mktemp("nothing"), not_run=synthetic_results.QUARTER)
