"""All results of folders: frames of all, and tables of which only the needed files are opened."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pandas as pd
import pyarrow.dataset as pads
import pytest

import edgebench
from edgebench.analysis.scan import ScannedTable
from edgebench.errors import StoredResultError
from edgebench.results import listing, record_reading
from edgebench.results.listing import list_results
from tests import synthetic_results
from tests.synthetic_results import write_record

RESULT, TRIAL, SESSION = map(pads.field, ("result", "trial", "session"))
INT8 = synthetic_results.key_of("mobilenet_v1-0.25-int8")


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three results, of which the third has a meter; an index of its own."""
    monkeypatch.setenv("EDGEBENCH_CACHE_DIR", str(tmp_path / "cache"))
    for name, options in (("a", {}), ("b", {"sessions": 2, "seed": 8}), ("c", {"power": True})):
        synthetic_results.made_experiment(tmp_path / "lab", name=name, **options)
    return tmp_path / "lab"


def test_frames_and_tables_are_those_of_load(lab: Path) -> None:
    scanned = edgebench.scan(lab)
    loaded = edgebench.concat({name: lab / name for name in scanned.results})
    pd.testing.assert_frame_equal(scanned.trials, loaded.trials)
    pd.testing.assert_frame_equal(scanned.sessions, loaded.sessions)
    for name in ("passes", "batches", "windows", "probes", "predictions"):
        table: ScannedTable = getattr(scanned, name)
        ours, theirs = table.to_pandas(), getattr(loaded, name).reset_index()
        assert list(ours.columns[:3]) == ["result", "trial", "session"]
        shared = [column for column in ours.columns if column in theirs.columns]
        assert set(table.schema.names) <= {*shared} and len(ours) == len(theirs)
        for column in shared:
            assert list(ours[column].astype(object).map(str)) == list(theirs[column].astype(object).map(str))


def test_conditions_on_labels_open_no_other_file(lab: Path) -> None:
    scanned = edgebench.scan(lab)
    assert len(scanned.passes.files()) == 3 * (3 + 2 + 3)
    wanted = (RESULT == "b") & (TRIAL == INT8) & (SESSION == 1)
    [path] = scanned.passes.files(wanted)
    assert path == lab / "b" / "trials" / INT8 / "sessions" / "001" / "passes.parquet"
    for other in lab.rglob("passes.parquet"):
        if other != path:
            other.write_bytes(b"damaged")
    steady = wanted & (pads.field("phase") == "steady")
    frame = scanned.passes.to_pandas(["session", "image_ns"], filter=steady)
    assert list(frame.columns) == ["session", "image_ns"]
    assert set(frame["session"]) == {1} and len(frame) == 3
    assert scanned.passes.dataset(filter=wanted).count_rows(filter=steady) == 3


@pytest.mark.attack("a table among many results is damaged: the question that needs it fails with its path")
def test_a_file_that_is_opened_passes_the_checks_of_load(lab: Path) -> None:
    path = lab / "a" / "trials" / INT8 / "sessions" / "000" / "passes.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    scanned = edgebench.scan(lab)
    assert len(scanned.passes.to_table(filter=RESULT == "b"))
    with pytest.raises(StoredResultError, match="SHA-256") as error:
        scanned.passes.to_table(filter=RESULT != "b")
    assert str(path) in error.value.what


@pytest.mark.attack("a record among many results is damaged, or the folder has none: named, others are read")
def test_what_cannot_be_read_is_named(lab: Path, tmp_path: Path) -> None:
    (lab / "a" / "experiment.json").write_text('{"schema_version": 3}')
    scanned = edgebench.scan(lab)
    assert [each.result for each in scanned.unreadable] == ["a"] and set(scanned.results) == {"b", "c"}
    with pytest.raises(StoredResultError, match="can be read") as error:
        edgebench.scan(tmp_path / "elsewhere", lab / "b")
    assert str(tmp_path / "elsewhere") in error.value.what and str(lab / "b") in error.value.what


def test_two_folders_may_have_results_of_one_name(lab: Path, tmp_path: Path) -> None:
    shutil.copytree(lab, tmp_path / "other")
    scanned = edgebench.scan(lab, tmp_path / "other")
    assert {"a", "a (2)"} <= set(scanned.results)
    assert set(scanned.passes.to_pandas(filter=RESULT.isin(["a", "a (2)"]))["result"]) == {"a", "a (2)"}
    assert scanned.passes.files(RESULT == "a (2)")[0].is_relative_to(tmp_path / "other")


def test_what_did_not_change_is_not_opened_again(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    read = record_reading.read_experiment

    def counted(folder: Path) -> object:
        opened.append(folder.name)
        return read(folder)

    monkeypatch.setattr(listing, "read_experiment", counted)
    first = list_results(lab)[0]
    assert sorted(opened) == ["a", "b", "c"]
    opened.clear()
    again = list_results(lab)[0]
    assert not opened and [each.overview(latest=False) for each in again] == [
        each.overview(latest=False) for each in first
    ]
    shutil.rmtree(lab / "b" / "trials" / INT8 / "sessions" / "001")
    document = json.loads((lab / "c" / "experiment.json").read_text())
    write_record((lab / "c" / "experiment.json"), document | {"name": "z"})
    changed = {each.path.name: each for each in list_results(lab)[0]}
    assert sorted(opened) == ["b", "c"]
    assert changed["b"].indexed.sessions[INT8] == (0,) and changed["b"].overview(latest=False).measured == 2


@pytest.mark.parametrize("content", [b"", b"[]", b'{"results": {"a": ["x", {"created_s": "no"}]}}'])
def test_a_damaged_index_is_made_again(lab: Path, content: bytes) -> None:
    before = [each.overview(latest=False) for each in list_results(lab)[0]]
    [index] = Path(os.environ["EDGEBENCH_CACHE_DIR"]).glob("recipes/results-index/*.json")
    sound = index.read_bytes()
    index.write_bytes(content)
    assert [each.overview(latest=False) for each in list_results(lab)[0]] == before
    assert index.read_bytes() == sound


@pytest.mark.attack("a result has a name that is not UTF-8: it is listed, and the index keeps the others")
def test_a_name_that_is_not_utf_8(lab: Path) -> None:
    (lab / "a").rename(Path(os.fsdecode(os.fsencode(lab) + b"/a\xff")))
    (lab / "b" / "trials" / os.fsdecode(b"\xff")).mkdir()
    for _ in range(2):
        assert len(list_results(lab)[0]) == 3
    [index] = Path(os.environ["EDGEBENCH_CACHE_DIR"]).glob("recipes/results-index/*.json")
    assert set(json.loads(index.read_text())["results"]) == {"b", "c"}
    scanned = edgebench.scan(lab)
    assert set(scanned.results) == {"b", "c"} and len(scanned.unreadable) == 1
    assert set(scanned.passes.to_pandas(["result"])["result"]) == {"b", "c"}


def test_what_could_not_be_read_is_looked_at_again(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(folder: Path) -> object:
        raise StoredResultError(f"{folder} cannot be read", why="too many open files")

    with monkeypatch.context() as full:
        full.setattr(listing, "read_experiment", refused)
        assert list_results(lab)[0] == []
    path = lab / "c" / "trials" / INT8 / "sessions" / "000" / "session.json"
    sound = path.read_text()
    path.write_text(sound[:100])
    assert {each.path.name: each.indexed.sessions[INT8] for each in list_results(lab)[0]}["c"] == (1, 2)
    path.write_text(sound)
    found = {each.path.name: each.indexed.sessions[INT8] for each in list_results(lab)[0]}
    assert found == {"a": (0, 1, 2), "b": (0, 1), "c": (0, 1, 2)}


def test_labels_alone_have_a_row_each(lab: Path) -> None:
    scanned = edgebench.scan(lab)
    frame = scanned.passes.to_pandas(["trial", "session"], filter=RESULT == "b")
    assert list(frame.columns) == ["trial", "session"]
    assert len(frame) == len(scanned.passes.to_pandas(filter=RESULT == "b"))


def test_a_result_that_is_gone_since_the_scan_is_named(lab: Path) -> None:
    scanned = edgebench.scan(lab)
    shutil.rmtree(lab / "b")
    with pytest.raises(StoredResultError, match="is gone") as error:
        scanned.passes.to_table(filter=RESULT == "b")
    assert str(lab / "b") in error.value.what
    assert len(scanned.passes.to_table(filter=RESULT == "a"))
