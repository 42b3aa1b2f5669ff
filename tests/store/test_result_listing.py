"""The results of a folder in order of time, and those that cannot be read with the reason."""

import json
import os

import pytest

from edgebench.errors import StoredResultError
from edgebench.results.listing import list_results
from tests.synthetic_results import made_experiment, write_record


@pytest.fixture
def results(tmp_path):
    made_experiment(tmp_path, name="a", variants=("mobilenet_v1-0.25-int8",), sessions=1, passes=1, images=0)
    for name, created in (("b", "2025-04-01T00:00:00Z"), ("c", "2025-02-01T00:00:00+02:00")):
        document = json.loads((tmp_path / "a" / "experiment.json").read_text())
        (tmp_path / name).mkdir()
        write_record((tmp_path / name / "experiment.json"), document | {"created_utc": created})
    return tmp_path


def test_newest_first_with_when_they_were_begun(results):
    stored, unreadable = list_results(results)
    assert [(each.path.name, each.begun_utc) for each in stored] == [
        ("b", "2025-04-01T00:00:00Z"),
        ("a", "2025-03-01T12:00:00Z"),
        ("c", "2025-01-31T22:00:00Z"),
    ]
    assert unreadable == []


def test_damaged_and_newer_ones_are_listed_with_the_reason(results):
    (results / "a" / "experiment.json").write_text('{"schema_version": 4}')
    (results / "b" / "experiment.json").write_text('{"schema_version": 2, "na')
    (results / "c" / "experiment.json").write_text('{"schema_version": 1, "name": "c"}')
    (results / "notes").mkdir()
    (results / "file").write_text("")
    stored, unreadable = list_results(results)
    assert stored == []
    reasons = {each.result: each.reason for each in unreadable}
    assert list(reasons) == ["a", "b", "c"]
    assert reasons["a"].startswith("experiment.json holds records of version 4")
    assert reasons["b"].startswith("experiment.json is damaged; it is not JSON, or ends too early")
    assert reasons["c"].startswith("experiment.json holds records of version 1")


def test_no_folder_has_no_results_and_a_file_is_an_error(tmp_path):
    assert list_results(tmp_path / "none") == ([], [])
    (tmp_path / "file").write_text("")
    with pytest.raises(StoredResultError, match="cannot be read") as error:
        list_results(tmp_path / "file")
    assert "--output-dir" in error.value.fix


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_looked_into_is_no_result(results):
    (results / "lost+found").mkdir(mode=0o000)
    assert [each.path.name for each in list_results(results)[0]] == ["b", "a", "c"]
