"""A disk that refuses, full or failing, at any step: what was finished stays, and the fix is given."""

import sys
from typing import Any

import pytest

from tests.survival.test_killed_harness import report_of, start

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="adopting orphans takes Linux"),
]

CASES = {
    "full": ("results", "ENOSPC", "1"),
    "failing": ("results", "EIO", "3"),
    "full cache": ("cache", "ENOSPC", "1"),
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> dict[str, dict[str, Any]]:
    """Every case side by side."""
    started = {
        case: start("refused", tmp_path_factory.mktemp("refused"), *words) for case, words in CASES.items()
    }
    return {case: report_of(process) for case, process in started.items()}


@pytest.mark.attack("a disk refuses at every step in turn: nothing finished is lost")
@pytest.mark.parametrize("case", CASES)
def test_a_disk_that_refuses_at_any_step_loses_nothing(reports, case):
    report = reports[case]
    assert report["problems"] == [], report["stderr"]
    assert report["refusals"] >= 3


@pytest.mark.attack("the cache's disk is full: the run goes on without it")
def test_a_full_cache_ends_no_run(reports):
    """What it keeps there makes the next run's estimates, and the next run can do without."""
    report = reports["full cache"]
    assert report["tolerated"] >= report["refusals"] - 1


@pytest.mark.attack("the results' disk is full: the run ends and says so")
def test_a_full_disk_ends_the_run(reports):
    report = reports["full"]
    assert report["tolerated"] <= 1
