"""kill -9 of the harness at a hundred random moments: nothing that was finished is lost or measured twice."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

KILLS = 50
DEVICES = {"replay": 5, "toy": 6}  # and the seed of each; side by side, in processes of their own

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="adopting orphans takes Linux"),
]


def start(how: str, folder: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.survival.torture", how, str(folder), *words],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def report_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    return {**json.loads(out), "stderr": error}


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> list[dict[str, Any]]:
    """Of two random series and of every step: side by side, because they wait more than they work."""
    folder = tmp_path_factory.mktemp
    started = [
        start("random", folder(device), device, str(seed), str(KILLS)) for device, seed in DEVICES.items()
    ]
    started.append(start("steps", folder("steps")))
    return [report_of(process) for process in started]


@pytest.mark.attack("a run is killed a hundred times: nothing finished is lost, nothing is measured twice")
def test_a_hundred_kills_lose_nothing_and_measure_nothing_twice(reports):
    assert sum(report["kills"] for report in reports[:-1]) == KILLS * len(DEVICES)
    for report in reports[:-1]:
        assert report["problems"] == [], report["stderr"]
        assert report["sessions"] == 6 * report["experiments"]


def test_the_kills_met_sessions_in_hand_and_agents_at_work(reports):
    """Else the moments were such that nothing could have gone wrong."""
    assert sum(report["left_behind"] for report in reports[:-1]) >= 5
    assert sum(report["experiments"] for report in reports[:-1]) >= 4


@pytest.mark.attack("a run is killed before every change to the disk: --resume goes on from there")
def test_killed_before_every_change_to_the_disk(reports):
    """The same without luck, on a device that answers at once: every window is hit, and hit once."""
    report = reports[-1]
    assert report["problems"] == [], report["stderr"]
    assert report["kills"] >= 40
    assert report["experiments"] == report["kills"] + 1
    # Some kills met a session that was measured and not yet on disk, some a half-written file.
    assert report["in_hand"] >= 5
    assert report["leftovers"] >= 10
