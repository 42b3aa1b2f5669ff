"""The Earth, loaded once."""

import pytest

from edgebench.prepare.landcover import ASSETS, Earth
from tests.data.sketch import SketchedEarth


@pytest.fixture(scope="session")
def earth() -> Earth:
    return Earth.load(ASSETS)


@pytest.fixture(scope="session")
def sketched_earth() -> SketchedEarth:
    return SketchedEarth(ASSETS)
