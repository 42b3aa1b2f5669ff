"""Made experiments that several tests of the store read; none of them writes into these."""

from pathlib import Path

import pytest

from tests.synthetic_results import QUARTER, made_experiment


@pytest.fixture(scope="session")
def experiment_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four trials: two measured with power, one of which crashed once, one that failed, one unsupported."""
    return made_experiment(
        tmp_path_factory.mktemp("made"),
        variants=(*QUARTER, "mobilenet_v1-1.0-fp32"),
        power=True,
        crashed_once=[QUARTER[1]],
        failed=[QUARTER[2]],
        unsupported=["mobilenet_v1-1.0-fp32"],
        hostile=True,
    )
