import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from edgebench.errors import StoredResultError, UsageError
from edgebench.records.stored import RunRecord
from edgebench.results.listing import find_unfinished, is_finished, resolve_results
from edgebench.results.load import load
from edgebench.results.record_reading import read_experiment
from tests.synthetic_results import NINE, QUARTER, key_of, made_experiment, write_record

KEYS = [key_of(variant) for variant in QUARTER]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three experiments: `a` is the newest by its record, `b` and `c` were made in the same second."""
    folder = tmp_path_factory.mktemp("results")
    for name, created, written_s in (
        ("c", "2025-03-01T12:00:00Z", 1_000),
        ("b", "2025-03-01T12:00:00Z", 2_000),
        ("a", "2025-03-02T12:00:00Z", 500),
    ):
        variants = NINE[:2] if name == "a" else QUARTER
        path = made_experiment(folder, name=name, variants=variants, sessions=1)
        change(path, created_utc=created)
        os.utime(path / "experiment.json", (written_s, written_s))
    (folder / "nothing").mkdir()
    (folder / "notes").mkdir()
    (folder / "notes" / "today.txt").write_text("")
    (folder / "broken").mkdir()
    (folder / "broken" / "experiment.json").write_text("{")
    (folder / "file.txt").write_text("")
    return folder


def change(path: Path, **fields) -> None:
    record = json.loads((path / "experiment.json").read_text())
    write_record((path / "experiment.json"), record | fields)


def test_latest_is_the_newest_by_its_record(results):
    assert resolve_results("latest", results) == results / "a"


def test_in_the_same_second_the_file_decides(results, tmp_path):
    shutil.copytree(results, tmp_path / "copy", copy_function=shutil.copy2)
    shutil.rmtree(tmp_path / "copy" / "a")
    assert resolve_results("latest", tmp_path / "copy") == tmp_path / "copy" / "b"


def test_the_latest_of_a_folder_is_the_newest_in_it(results, tmp_path):
    assert resolve_results(str(results / "latest"), tmp_path) == results / "a"
    assert load(results / "latest").path == results / "a"


def test_a_result_may_be_called_latest(results, tmp_path):
    shutil.copytree(results / "b", tmp_path / "latest")
    assert resolve_results(str(tmp_path / "latest"), results) == tmp_path / "latest"


def test_a_folder_is_itself(results, tmp_path):
    assert resolve_results(str(results / "b"), tmp_path) == results / "b"


def test_a_name_is_looked_for_among_the_results(results, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert resolve_results("b", results) == results / "b"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("notes", "not an EdgeBench result"),
        ("nothing", "nothing was measured yet"),
        ("broken", "is damaged"),
        ("file.txt", "not a result folder"),
        ("absent", "there is no result folder"),
        ("", "holds results"),
    ],
)
def test_what_is_no_result_is_said_with_a_fix(results, text, what):
    with pytest.raises(StoredResultError, match=what) as caught:
        resolve_results(str(results / text), results)
    assert caught.value.fix


@pytest.mark.parametrize("folder", ["absent", "empty"])
def test_nothing_was_measured_yet(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    for text, output_dir in (("latest", tmp_path / folder), (str(tmp_path / folder / "latest"), tmp_path)):
        with pytest.raises(StoredResultError, match=f"nothing was measured yet in .*{folder}"):
            resolve_results(text, output_dir)


def test_sessions_without_their_plan_are_not_to_be_removed(tmp_path):
    (tmp_path / ".lock").touch()
    (tmp_path / "trials" / "0123456789abcdef" / "sessions" / "001").mkdir(parents=True)
    with pytest.raises(StoredResultError, match=r"has sessions and no experiment\.json") as caught:
        resolve_results(str(tmp_path), tmp_path)
    assert "backup" in caught.value.fix


def test_a_run_that_died_before_its_plan_has_measured_nothing(tmp_path):
    (tmp_path / ".lock").touch()
    with pytest.raises(StoredResultError):
        resolve_results(str(tmp_path), tmp_path)


def test_a_newer_layout_is_said(results, tmp_path):
    path = made_experiment(tmp_path, sessions=1)
    change(path, schema_version=4)
    with pytest.raises(StoredResultError) as caught:
        resolve_results(str(path), tmp_path)
    assert "holds records of version 4" in caught.value.what
    assert "use the EdgeBench that wrote it" in caught.value.fix


def test_a_folder_of_earlier_results_has_no_latest_and_none_to_go_on_with(tmp_path):
    path = made_experiment(tmp_path, sessions=1)
    change(path, schema_version=1)
    for attempt in (
        lambda: resolve_results("latest", tmp_path),
        lambda: find_unfinished(tmp_path, None, KEYS),
    ):
        with pytest.raises(StoredResultError) as caught:
            attempt()
        assert "holds records of version 1" in caught.value.why
        assert path.name in caught.value.why and caught.value.fix


def test_resume_takes_the_newest_of_the_same_trials(results):
    assert find_unfinished(results, None, KEYS[::-1]) == results / "b"
    assert find_unfinished(results, "c", set(KEYS)) == results / "c"


def test_resume_takes_an_unfinished_one_before_a_newer_that_is_finished(tmp_path):
    for name, created, planned in (("old", "01", 3), ("new", "02", 2), ("newest", "03", 2)):
        path = summed_up(made_experiment(tmp_path, name=name, variants=QUARTER[:1], sessions=2))
        change(path, created_utc=f"2025-03-{created}T12:00:00Z", sessions=planned)
    assert find_unfinished(tmp_path, None, KEYS[:1]) == tmp_path / "old"
    assert find_unfinished(tmp_path, "new", KEYS[:1]) == tmp_path / "new"
    shutil.rmtree(tmp_path / "old")
    assert find_unfinished(tmp_path, None, KEYS[:1]) == tmp_path / "newest"


def test_a_run_that_was_killed_before_it_summed_up_its_trials_is_not_finished(tmp_path):
    path = summed_up(made_experiment(tmp_path, variants=QUARTER[:1], sessions=3))
    assert finished(path)
    (path / "trials" / KEYS[0] / "trial.json").unlink()
    assert not finished(path)


def summed_up(path: Path) -> Path:
    for trial in read_experiment(path).trials:
        file = path / "trials" / trial.key / "trial.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("{}")
    ended = RunRecord(started_utc="2025-03-01T12:00:00Z", ended="complete", settled=())
    (path / "run.json").write_text(ended.model_dump_json())
    return path


def finished(path: Path) -> bool:
    return is_finished(path, read_experiment(path))


def test_finished_is_what_has_its_sessions_and_whose_last_run_ended(tmp_path):
    path = summed_up(made_experiment(tmp_path, variants=QUARTER[:1], sessions=3))
    assert finished(path)
    for run, expected in (("interrupted", False), ("time", False), ("complete", True)):
        begun = {"started_utc": "2025-03-01T12:00:00Z", "ended": run}
        (path / "run.json").write_text(RunRecord.model_validate(begun).model_dump_json())
        assert finished(path) is expected
    change(path, sessions=30, target_ci=0.01)
    assert not finished(path)
    settled = {"started_utc": "2025-03-01T12:00:00Z", "ended": "complete", "settled": KEYS[:1]}
    (path / "run.json").write_text(RunRecord.model_validate(settled).model_dump_json())
    assert finished(path)
    (path / "run.json").write_text("{")
    assert not finished(path)
    (path / "run.json").unlink()
    assert not finished(path)


def test_a_session_that_failed_and_is_owed_still_leaves_something_to_measure(tmp_path):
    path = summed_up(made_experiment(tmp_path, variants=QUARTER[:1], sessions=5, crashed_once=QUARTER[:1]))
    change(path, sessions=6, target_ci=0.01)
    for settled, expected in ((None, False), ((), False), ((KEYS[0],), True)):
        last = RunRecord(started_utc="2025-03-01T12:00:00Z", ended="complete", settled=settled)
        (path / "run.json").write_text(last.model_dump_json())
        assert finished(path) is expected
        assert (load(path).trials["status"][0] == "done") is expected


def test_a_trial_that_failed_or_was_not_run_is_not_finished(tmp_path):
    for name in ("failed", "crashed_once", "not_run"):
        lacking: dict[str, Any] = {name: QUARTER[:1]}
        experiment = made_experiment(tmp_path, name=name, variants=QUARTER[:2], sessions=2, **lacking)
        assert not finished(summed_up(experiment))
    path = made_experiment(
        tmp_path, name="without", variants=QUARTER[:2], sessions=2, unsupported=QUARTER[:1]
    )
    assert finished(summed_up(path))


def test_resume_says_what_differs(results):
    with pytest.raises(StoredResultError) as caught:
        find_unfinished(results, None, [*KEYS, "0" * 16])
    assert "a has 2 trials, this run 4: 2 of this run are not in it, 0 of it" in caught.value.why
    assert "without --resume" in caught.value.fix


def test_resume_by_name_takes_no_other(results):
    with pytest.raises(StoredResultError):
        find_unfinished(results, "a", KEYS)
    with pytest.raises(StoredResultError) as caught:
        find_unfinished(results, "absent", KEYS)
    assert "without --resume" in caught.value.fix
    with pytest.raises(UsageError):
        find_unfinished(results, "../a", KEYS)


def test_resume_of_nothing(tmp_path):
    with pytest.raises(StoredResultError):
        find_unfinished(tmp_path, None, KEYS)
