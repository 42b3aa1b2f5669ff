"""A folder of results in which others have been: folders that may not be read, and dates of a wrong clock."""

import json
import os
from pathlib import Path

import pytest

from edgebench.results.listing import begun_at, find_unfinished, resolve_results
from tests.synthetic_results import QUARTER, key_of, made_experiment, write_record

KEYS = [key_of(variant) for variant in QUARTER]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    made_experiment(tmp_path, name="sound", sessions=1)
    return tmp_path


@pytest.mark.attack("results are on a disk with a lost+found that may not be read: it is passed over")
def test_a_folder_that_may_not_be_read(results, monkeypatch):
    (results / "lost+found").mkdir()
    stat = os.stat

    def refusing(path, *args, **more):
        # Root, as which tests may run, may read everything.
        if "lost+found/" in os.fspath(path):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return stat(path, *args, **more)

    monkeypatch.setattr(os, "stat", refusing)
    assert resolve_results("latest", results) == results / "sound"
    assert find_unfinished(results, None, KEYS) == results / "sound"


def dated(path: Path, created_utc: str, written_s: float) -> None:
    file = path / "experiment.json"
    write_record(file, json.loads(file.read_text()) | {"created_utc": created_utc})
    os.utime(file, (written_s, written_s))


@pytest.mark.attack(
    "a result was dated in the future by a wrong clock: what is measured after it is the latest result"
)
@pytest.mark.parametrize("written_s", [1e9, 4e9])
def test_a_result_that_is_dated_in_the_future(results, written_s):
    ahead = made_experiment(results, name="ahead", sessions=1)
    dated(ahead, "2099-01-01T00:00:00Z", written_s)
    assert resolve_results("latest", results) == results / "sound"
    assert find_unfinished(results, None, KEYS) == results / "sound"
    # Where there is no other, it is the latest all the same.
    made_experiment(results / "alone", name="ahead", sessions=1)
    dated(results / "alone" / "ahead", "2099-01-01T00:00:00Z", written_s)
    assert resolve_results("latest", results / "alone") == results / "alone" / "ahead"


def test_a_date_in_the_future_is_that_of_the_file():
    assert begun_at(5.0, 7.0, 10.0) == 5.0
    assert begun_at(50.0, 7.0, 10.0) == 7.0
    assert begun_at(50.0, 70.0, 10.0) == 0.0
