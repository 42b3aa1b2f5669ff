"""History of a metric over all results: series, comparisons, changes, and the facts that changed there."""

import json
import shutil
from dataclasses import replace

import pytest

from edgebench.judge.comparisons.history import followed_metrics, history, targets_of
from edgebench.judge.sessions import over_medians
from edgebench.judge.trial import EstimateKey
from edgebench.results import load as frames
from edgebench.results.listing import list_results
from tests.judge.histories import FP32, VARIANT, put_result
from tests.synthetic_results import write_record


def followed(folder, **options):
    return history(list_results(folder)[0], **options)


def test_trials_are_followed_by_what_they_are_and_not_by_key(nightly, made, tmp_path):
    for path in sorted(nightly.iterdir()):
        shutil.copytree(path, tmp_path / "made" / path.name)
    _, (experiment, _) = made
    other_keys = {trial.key: f"{number:016x}" for number, trial in enumerate(experiment.trials)}
    for number, path in enumerate(sorted((tmp_path / "made").iterdir())):
        if number % 2:
            rename_keys(path, other_keys)
    series = followed(tmp_path / "made")
    assert [(each.variant, len(each.results)) for each in series] == [(VARIANT, 10), (FP32, 10)]
    assert len({point.trial for point in series[0].results}) == 2


def rename_keys(path, keys):
    """Write a result as a run of another version of the recipe would: the same trials under other keys."""
    for old, new in keys.items():
        for file in (path / "experiment.json", *(path / "trials" / old).rglob("*.json")):
            write_record(file, json.loads(file.read_text().replace(old, new)))
        (path / "trials" / old).rename(path / "trials" / new)


def test_points_are_oldest_first_with_value_interval_and_sessions(nightly, made):
    _, (_, trials) = made
    points = followed(nightly)[0].results
    assert [point.result for point in points] == [f"r{number:02}" for number in range(10)]
    estimate = trials[0].estimate("image_s")
    first = points[0]
    assert (first.value, first.low, first.high) == pytest.approx(
        (estimate.value, estimate.low, estimate.high)
    )
    assert len(first.session_values) == 3
    assert points[0].begun_utc == "2025-01-01T02:00:00Z"


def test_each_is_compared_with_the_one_before_and_with_the_baseline(nightly):
    points = followed(nightly)[0].results
    assert points[0].to_previous is None
    assert points[0].to_baseline is None
    assert points[5].to_previous.word == "worse"
    assert points[5].to_previous.ratio == pytest.approx(1.083 / 0.999)
    assert points[6].to_previous.word in ("same", "undecided")
    assert [point.to_baseline.word for point in points[6:]] == ["worse"] * 4
    other = followed(nightly, baseline="r07")[0].results
    assert other[7].to_baseline is None
    assert other[0].to_baseline.word == "better"


def test_the_change_is_marked_with_what_else_is_different_there(made, tmp_path):
    folder, parts = made
    (tmp_path / "made").symlink_to(folder / "made")
    for number in range(10):
        later = number >= 6
        runtime = {"name": "litert", "version": "2.3" if later else "2.2"}
        put_result(
            tmp_path / "results", parts, f"r{number}", day=number, factor=0.8 if later else 1.0,
            edgebench_version="0.2.0" if later else "0.1.0", runtime=runtime,
        )  # fmt: skip
    [change] = followed(tmp_path / "results")[0].changes
    assert (change.after_result, change.result, change.word) == ("r5", "r6", "better")
    assert change.ratio == pytest.approx(0.8)
    assert change.differences == (
        "cpu runtime version was 2.2 and is now 2.3",
        "EdgeBench was 0.1.0 and is now 0.2.0",
    )


def test_few_results_have_no_change_and_say_how_many_it_takes(nightly):
    series = followed(nightly, last=7)[0]
    assert series.results[0].result == "r03"
    assert series.changes == ()
    assert series.change_reason == "a change point takes at least 8 results, and there are 7"
    assert followed(nightly)[0].change_reason == ""
    assert [change.result for change in followed(nightly)[0].changes] == ["r05"]
    assert followed(nightly, minimum_effect=0.2)[0].changes == ()


def test_no_table_is_read_where_runs_left_their_trials(nightly, monkeypatch):
    monkeypatch.setattr(frames, "read_rows", None)
    assert len(followed(nightly)) == 2


def test_without_a_trial_json_the_tables_are_read(made, tmp_path):
    folder, _ = made
    shutil.copytree(folder / "made" / "template", tmp_path / "template")
    [value, _] = [each.results[0].value for each in followed(tmp_path)]
    files = sorted((tmp_path / "template").glob("trials/*/trial.json"))
    assert files == []  # it was never summed up: what its tables say was read
    assert value > 0


def with_estimate(document, metric, **changes):
    estimates = document["estimates"]
    return document | {"estimates": estimates | {metric: estimates[metric] | changes}}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda document: document | {"key": "0" * 16},
        lambda document: with_estimate(document, "image_s", value="much"),
        lambda document: document | {"schema_version": 1},
        lambda document: with_estimate(document, "failed_sessions", n=9),
        lambda document: {},
    ],
)
def test_a_trial_json_of_other_sessions_is_ignored(nightly, tmp_path, spoil):
    shutil.copytree(nightly / "r00", tmp_path / "r00")
    for file in (tmp_path / "r00").glob("trials/*/trial.json"):
        write_record(file, spoil(json.loads(file.read_text())))
    # Its tables are gone, so that nothing else can tell.
    assert followed(tmp_path) == []


def test_what_is_followed_is_a_number_above_zero():
    assert {"image_s", "infer_s", "energy_j", "power_mean_w", "memory_bytes", "accuracy"} <= set(
        followed_metrics()
    )
    assert not {"mass_g", "stages_ms", "deadline_misses", "accuracy_drop"} & set(followed_metrics())


def test_another_metric_and_only_the_trials_that_are_wanted(nightly):
    [series] = followed(nightly, metric="accuracy", wanted=lambda trial: trial.variant == FP32)
    assert (series.variant, series.metric, series.is_share) == (FP32, "accuracy", True)
    assert series.results[1].to_previous.word == "same"
    assert series.changes == ()
    assert followed(nightly, metric="energy_j") == []


def test_ticks_of_the_clock_are_no_change(made, tmp_path):
    folder, (experiment, trials) = made
    (tmp_path / "made").symlink_to(folder / "made")
    for number, factor in enumerate((1.0, 1.2)):
        coarse = [
            replace(trial, ticks={"image_s": 0.2 * trial.estimate("image_s").value}) for trial in trials
        ]
        put_result(tmp_path / "coarse", (experiment, coarse), f"r{number}", factor=factor, day=number)
        put_result(tmp_path / "fine", (experiment, trials), f"r{number}", factor=factor, day=number)
    assert followed(tmp_path / "fine")[0].results[1].to_previous.word == "worse"
    assert followed(tmp_path / "coarse")[0].results[1].to_previous.word == "undecided"


def test_power_of_paced_passes_is_another_series(made, tmp_path):
    folder, (experiment, trials) = made
    (tmp_path / "made").symlink_to(folder / "made")
    watts = {EstimateKey("power_mean_w", "median"): over_medians((3.0, 3.1, 2.9))}
    metered = [replace(trial, estimates={**trial.estimates, **watts}) for trial in trials]
    for number, period_s in enumerate((None, 2.0)):
        put_result(tmp_path / "r", (experiment, metered), f"r{number}", day=number, period_s=period_s)
    assert [len(series.results) for series in followed(tmp_path / "r", metric="power_mean_w")] == [1] * 4
    assert [len(series.results) for series in followed(tmp_path / "r")] == [2] * 2


def test_targets_without_settings(made, tmp_path):
    _, (experiment, _) = made
    swept = replace(experiment.targets[0], name="nano[power_mode=10W]", settings={"power_mode": "10W"})
    again = replace(experiment.targets[0], name="nano (2)", revision_of="nano")
    (tmp_path / "made").mkdir()
    record = experiment.model_copy(update={"targets": (swept, again)})
    (tmp_path / "made" / "experiment.json").write_text(record.model_dump_json())

    assert targets_of(list_results(tmp_path)[0]) == ["nano"]


@pytest.mark.parametrize("factor", [1e16, 0.0])
def test_a_value_that_nothing_can_have_is_left_out(made, tmp_path, factor):
    folder, parts = made
    (tmp_path / "made").symlink_to(folder / "made")
    put_result(tmp_path / "results", parts, "r0", factor=factor)
    assert followed(tmp_path / "results") == []
