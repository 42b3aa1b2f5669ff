"""Shared fixtures: results of one board, night by night."""

import pytest

from tests.judge.histories import put_series, template

STEP = [1.0, 1.004, 0.997, 1.002, 0.999, 1.083, 1.08, 1.078, 1.081, 1.079]


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A folder with the template's own result, which the others are made of."""
    folder = tmp_path_factory.mktemp("history")
    return folder, template(folder / "made")


@pytest.fixture(scope="session")
def nightly(made):
    """Ten results, the last five 8 % slower; read, never changed."""
    folder, parts = made
    put_series(folder / "nightly", parts, STEP)
    return folder / "nightly"
