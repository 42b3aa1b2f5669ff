"""Results against a baseline: words, tests, what differs, and what cannot be compared."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from edgebench.errors import StoredResultError, UsageError
from edgebench.judge.comparisons.comparison import (
    MetricComparison,
    ResultsComparison,
    Threshold,
    compare_results,
    metrics_of,
    usual_metrics,
)
from edgebench.judge.trial import Estimate
from edgebench.results.load import StoredResults, load
from tests.judge.trials import STEADY
from tests.judge.trials import trial as made_trial
from tests.synthetic_results import QUARTER, made_experiment, write_record

FP32, FP16, INT8 = QUARTER
Made = Callable[..., StoredResults]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """An experiment on disk, made once for the same arguments."""
    known: dict[str, StoredResults] = {}
    folder = tmp_path_factory.mktemp("compared")

    def make(name: str, **options: Any) -> StoredResults:
        if name not in known:
            known[name] = load(made_experiment(folder, name=name, **({"sessions": 5, "images": 0} | options)))
        return known[name]

    return make


@pytest.fixture(scope="module")
def baseline(made: Made) -> StoredResults:
    return made("baseline")


@pytest.fixture(scope="module")
def changed(made: Made) -> StoredResults:
    return made("changed", seed=8, image_s={FP32: 0.15, FP16: 0.34})


def words(comparison: ResultsComparison, metric: str = "image_s") -> dict[str, str]:
    """By variant the word of a metric."""
    return {
        pair.a.variant: item.word
        for pair in comparison.results[0].pairs
        for item in pair.comparisons
        if item.metric == metric
    }


def only(comparison: ResultsComparison, variant: str = FP32) -> MetricComparison:
    [pair] = [pair for pair in comparison.results[0].pairs if pair.a.variant == variant]
    [item] = pair.comparisons
    return item


def test_quicker_is_better_slower_is_worse_and_alike_is_the_same(
    baseline: StoredResults, changed: StoredResults
) -> None:
    comparison = compare_results([baseline, changed])
    assert words(comparison) == {FP32: "better", FP16: "worse", INT8: "same"}
    assert comparison.regressed and not comparison.undecided and comparison.tests == 3
    [fp32, *_] = comparison.results[0].pairs
    [item] = fp32.comparisons
    assert (item.a_n, item.b_n, item.counted, item.test, item.unit) == (5, 5, "sessions", "Welch", "s")
    assert item.low and item.high and item.difference and item.a and item.b
    assert item.low < item.difference < item.high < 0.55 and item.b / item.a == pytest.approx(item.difference)
    assert item.p is not None and item.adjusted_p == pytest.approx(3 * item.p)


def test_a_result_against_itself_is_the_same_with_however_few_sessions(made: Made) -> None:
    few = made("few", sessions=2, images=20)
    for metrics in ([], ["image_s", "accuracy", "memory_bytes", "load_s"]):
        comparison = compare_results([few, load(few.path)], metrics=metrics)
        assert {item.word for item in comparison.comparisons} == {"same"}
        assert all(item.identical for item in comparison.comparisons) and comparison.tests == 0
        assert not comparison.results[0].differences and not comparison.undecided


def test_a_copy_in_another_folder_is_the_same_result(baseline: StoredResults, tmp_path: Path) -> None:
    copy = shutil.copytree(baseline.path, tmp_path / "copy")
    comparison = compare_results([baseline, load(copy)])
    assert {item.word for item in comparison.comparisons} == {"same"}
    assert comparison.results[0].name == "copy"


def test_sessions_that_are_in_both_are_said(baseline: StoredResults, tmp_path: Path) -> None:
    copy = shutil.copytree(baseline.path, tmp_path / "went-on")
    for trial in (copy / "trials").iterdir():
        shutil.rmtree(trial / "sessions" / "004")
    item = only(compare_results([baseline, load(copy)]))
    assert (item.a_n, item.b_n, item.identical) == (5, 4, False)
    assert item.note == "4 of the sessions are in both results"


def test_below_three_sessions_nothing_is_decided_and_it_is_said_how_many_lack(
    baseline: StoredResults, made: Made
) -> None:
    item = only(compare_results([baseline, made("few", sessions=2, images=20)], metrics=["image_s"]))
    assert item.word == "undecided" and item.low is None and item.test == "" and item.sessions_needed == 3
    assert item.reason == "a comparison takes 3 sessions a side and there are 2"


def test_what_chance_may_have_done_among_many_is_undecided(made: Made) -> None:
    """A difference that is significant alone and not among three."""
    a = made("spread-a", session_spread=0.03, seed=25)
    b = made("spread-b", session_spread=0.03, seed=125, image_s={FP32: 0.29 * 1.07})
    [alone, among] = [
        only(compare_results([a, b], metrics=["image_s"], threshold=Threshold(alpha=alpha)))
        for alpha in (0.2, 0.05)
    ]
    assert among.p is not None and among.adjusted_p is not None
    assert among.p < 0.05 <= among.adjusted_p and among.word == "undecided"
    assert among.reason == (
        "by itself it would be worse, among 3 comparisons it may be chance: "
        "take more sessions, or compare fewer metrics"
    )
    assert alone.word == "worse"


def test_the_smallest_difference_that_counts_can_be_changed(
    baseline: StoredResults, changed: StoredResults
) -> None:
    comparison = compare_results([baseline, changed], threshold=Threshold(minimum_effect=0.6))
    assert words(comparison)[FP32] == words(comparison)[FP16] == "same"


def test_several_results_are_held_against_the_first(
    baseline: StoredResults, changed: StoredResults, made: Made
) -> None:
    comparison = compare_results([baseline, changed, made("third", seed=9, variants=(INT8, FP32))])
    assert [left.name for left in comparison.results] == ["changed", "third"]
    assert [pair.a.variant for pair in comparison.results[1].pairs] == [FP32, INT8]
    assert [left.variant for left in comparison.results[1].only_baseline] == [FP16]
    assert comparison.undecided and comparison.tests == 5


def test_results_without_a_trial_in_common_say_what_each_has(baseline: StoredResults, made: Made) -> None:
    other = made("other", variants=("mobilenet_v1-1.0-int8",))
    with pytest.raises(UsageError, match="no trial in common") as error:
        compare_results([baseline, other])
    assert "mobilenet_v1-0.25-fp16" in error.value.why and "mobilenet_v1-1.0-int8 on cpu" in error.value.why
    assert "--pair" in error.value.fix


def test_a_result_without_sessions_is_refused(baseline: StoredResults, made: Made) -> None:
    for empty in (made("unrun", not_run=QUARTER), made("crashed", failed=QUARTER)):
        with pytest.raises(StoredResultError, match=f"{empty.path.name} has no finished session"):
            compare_results([baseline, empty])


def test_a_trial_that_failed_since_is_not_compared_and_says_why(baseline: StoredResults, made: Made) -> None:
    comparison = compare_results([baseline, made("half", failed=(INT8,), seed=11)])
    item = only(comparison, INT8)
    assert item.word == "not compared" and item.a is not None and item.b is None
    assert (item.a_n, item.b_n, item.counted) == (None, None, "")
    assert item.reason.startswith("B has none: ") and comparison.undecided and not comparison.regressed


@pytest.mark.parametrize("metric", ["image_s", "energy_j", "images_per_s", "together_energy_j"])
def test_passes_over_other_scenes_are_not_compared(baseline: StoredResults, made: Made, metric: str) -> None:
    wider = made("wider", columns=6)
    item = only(compare_results([baseline, wider], metrics=[metric]))
    assert item.word == "not compared"
    assert item.reason == (
        "a pass of A is greenland, 1120 x 896 pixels, 20 patches of 224 x 224, of B greenland, 1344 x 896 "
        "pixels, 24 patches of 224 x 224"
    )
    assert only(compare_results([baseline, wider], metrics=["load_s"])).word == "same"


@pytest.mark.parametrize(
    "metric",
    ["infer_s", "memory_bytes", "load_s", "start_s", "import_s", "first_inference_s", "first_pass_s"],
)
def test_whatever_has_a_value_a_session_is_compared_by_them(
    baseline: StoredResults, changed: StoredResults, metric: str
) -> None:
    item = only(compare_results([baseline, changed], metrics=[metric]))
    assert (item.metric, item.test, item.a_n) == (metric, "Welch", 5) and item.word != "worse"


def test_exact_numbers_are_not_tested(baseline: StoredResults, made: Made) -> None:
    item = only(compare_results([baseline, made("changed")], metrics=["artifact_bytes"]))
    assert (item.word, item.difference, item.test, item.p) == ("same", 1.0, "", None)
    lighter = made("lighter", mass_g=40.0)
    heavier = made("heavier", mass_g=60.0)
    item = only(compare_results([lighter, heavier], metrics=["mass_g"]))
    assert (item.word, item.difference, item.note) == ("worse", 1.5, "exact, nothing to test")


def test_energy_is_compared_by_meters_of_one_scope(made: Made) -> None:
    a, b = (made(f"metered-{seed}", power=True, rate_hz=2000.0, seed=seed) for seed in (1, 2))
    comparison = compare_results([a, b])
    assert comparison.metrics == ("image_s", "energy_j")
    item = next(item for item in comparison.comparisons if item.metric == "energy_j")
    assert item.test == "Welch" and item.note == "by meters of the chip"
    other = _with_scope(b, "board")
    item = only(compare_results([a, other], metrics=["power_mean_w"]))
    assert item.word == "not compared"
    assert item.reason == "no meters of one scope: A was measured at the chip, B at the board"
    item = only(compare_results([a, _with_scope(b, "")], metrics=["energy_j"]))
    assert item.word == "not compared"


def _with_scope(results: StoredResults, scope: str) -> StoredResults:
    copy = results.path.with_name(f"{results.path.name}-of-{scope}")
    shutil.copytree(results.path, copy, dirs_exist_ok=True)
    for path in copy.glob("trials/*/sessions/*/session.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        for probe in record["probes"]:
            probe["scope"] = scope
        write_record(path, record)
    return load(copy)


def test_without_a_meter_there_is_no_energy_and_a_reason(
    baseline: StoredResults, changed: StoredResults
) -> None:
    item = only(compare_results([baseline, changed], metrics=["energy_j"]))
    assert item.word == "not compared" and item.reason.startswith("neither has it: ")


def test_metrics_are_names_of_the_catalogue() -> None:
    assert metrics_of(["image_s,energy_j", "image_s"]) == ("image_s", "energy_j")
    with pytest.raises(UsageError, match="unknown metric 'imags_s'") as error:
        metrics_of(["imags_s"])
    assert "did you mean 'image_s'" in error.value.fix
    with pytest.raises(UsageError, match="not compared by size_mm"):
        metrics_of(["size_mm"])


def test_what_differs_is_named_with_what_each_says(baseline: StoredResults, made: Made) -> None:
    other = made("elsewhere", seed=12, columns=6, batch=1)
    path = other.path / "experiment.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["edgebench_version"] = "0.2.0"
    record["trials"][0]["artifact_sha256"] = "cd" * 32
    record["host"]["load_average"] = [1, 2, 3]
    write_record(path, record)
    for session in other.path.glob("trials/*/sessions/*/session.json"):
        told = json.loads(session.read_text(encoding="utf-8"))
        told["device"] |= {"governor": "powersave", "load_average": [0.5, 0.1, 0.1]}
        write_record(session, told)
    [compared] = compare_results([baseline, load(other.path)], metrics=["load_s"]).results
    differences = {(each.subject, each.fact): (each.a, each.b) for each in compared.differences}
    assert differences == {
        ("cpu", f"file of {FP32}"): ("abababababab", "cdcdcdcdcdcd"),
        ("scene", "pixels"): ("1120 x 896", "1344 x 896"),
        ("scene", "patches"): ("20 of 224 x 224", "24 of 224 x 224"),
        ("cpu", "governor"): ("", "powersave"),
        ("experiment", "EdgeBench"): ("0.1.0", "0.2.0"),
    }


@pytest.fixture(scope="module")
def pictured(made: Made) -> StoredResults:
    return made("pictured", images=400, sessions=3, variants=(FP32,))


def accuracy(a: StoredResults, b: StoredResults, **options: Any) -> MetricComparison:
    return only(compare_results([a, b], metrics=["accuracy"], **options))


def test_accuracy_is_compared_image_by_image(pictured: StoredResults, made: Made) -> None:
    item = accuracy(pictured, made("repictured", images=400, sessions=3, variants=(FP32,), seed=8))
    assert (item.test, item.scale, item.counted, item.a_n, item.b_n) == (
        "McNemar",
        "points",
        "images",
        400,
        400,
    )
    assert item.a and item.b and item.low and item.high and item.difference is not None
    assert item.difference == pytest.approx(100 * (item.b - item.a))
    assert item.low < item.difference < item.high and item.note.startswith("right on ")


def test_classifiers_have_no_area_under_a_curve_to_compare(pictured: StoredResults, made: Made) -> None:
    other = made("rescored", images=400, sessions=3, variants=(FP32,), seed=9)
    item = only(compare_results([pictured, other], metrics=["auc"]))
    assert item.word == "not compared" and item.reason.startswith("neither has it")
    assert item.a is item.b is item.p is item.difference is None


def test_one_file_that_predicts_the_same_is_as_accurate_however_few_the_images(made: Made) -> None:
    a, b = (
        made(f"spread-{spread}", images=12, sessions=3, variants=(FP32,), session_spread=spread)
        for spread in (0.01, 0.02)
    )
    item = accuracy(a, b)
    assert (item.word, item.difference, item.test, item.identical) == ("same", 0.0, "", False)
    assert item.note == "the same file predicts the same of each image"
    path = b.path / "experiment.json"
    write_record(path, json.loads(path.read_text(encoding="utf-8").replace("ab" * 32, "cd" * 32)))
    other = accuracy(a, load(b.path))
    assert (other.word, other.test, other.p) == ("undecided", "McNemar", 1.0)
    assert other.reason == "12 images are too few to tell"


def test_one_file_with_other_labels_is_not_as_accurate_because_it_predicts_the_same(made: Made) -> None:
    a, b = (
        made(f"labels-{spread}", images=60, sessions=3, variants=(FP32,), session_spread=spread)
        for spread in (0.01, 0.02)
    )
    document = json.loads((b.path / "experiment.json").read_text(encoding="utf-8"))
    for trial in document["trials"]:
        first, second, *rest = trial["class_names"]
        trial["class_names"] = [second, first, *rest]
    write_record(b.path / "experiment.json", document)
    item = accuracy(a, load(b.path))
    assert item.a and item.b is not None and item.b < item.a
    assert (item.word, item.test) == ("worse", "McNemar")
    assert item.note.endswith("; the labels of the images differ")


def test_other_images_are_two_shares_and_other_classes_are_none(pictured: StoredResults, made: Made) -> None:
    other = made("other-images", images=300, sessions=3, variants=(FP32,), seed=8)
    path = other.path / "experiment.json"
    write_record(path, json.loads(path.read_text(encoding="utf-8").replace("ef" * 32, "fe" * 32)))
    item = accuracy(pictured, load(other.path))
    assert (item.test, item.a_n, item.b_n) == ("Fisher", 400, 300) and item.note.startswith("not of the same")
    none = accuracy(pictured, made("unpictured", sessions=3, variants=(FP32,), seed=9))
    assert none.word == "not compared" and none.reason == "B has none: no images were given"


def test_a_clear_loss_of_accuracy_is_worse_and_points_that_do_not_count_are_not(
    pictured: StoredResults, made: Made
) -> None:
    """Every tenth image is predicted wrongly."""
    other = made("mislabelled", images=400, sessions=3, variants=(FP32,), session_spread=0.02)
    for path in other.path.glob("trials/*/sessions/000/predictions.parquet"):
        stored = pq.read_table(path)
        rows = stored.to_pandas()
        wrong = (rows["set"] == "images") & (rows["index"] % 10 == 0)
        rows.loc[wrong, "predicted"] = (rows.loc[wrong, "label"] + 1) % 5
        pq.write_table(pa.Table.from_pandas(rows, stored.schema, preserve_index=False), path)
    for path in other.path.glob("trials/*/sessions/000/session.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        write_record(path, record | {"tables": {}})
    item = accuracy(pictured, load(other.path))
    assert item.word == "worse" and item.difference is not None and -11 < item.difference < -8
    loose = accuracy(pictured, load(other.path), threshold=Threshold(minimum_points=20))
    assert loose.word == "same"


def test_without_a_metric_the_speed_of_both_and_what_a_side_has_are_compared() -> None:
    counted = made_trial((), estimates={"instructions": Estimate.exact(1e6)}, marks=("emulated",))
    infer_alone = made_trial((), values={"infer_s": STEADY})
    assert usual_metrics(made_trial(), made_trial()) == ["image_s"]
    assert usual_metrics(made_trial(), infer_alone) == ["infer_s"]
    assert usual_metrics(counted, counted) == ["instructions"]
    assert usual_metrics(made_trial(), counted) == ["image_s"]
    labelled = made_trial(accuracy=(9, 10))
    for a, b in ((labelled, made_trial()), (made_trial(), labelled), (labelled, labelled)):
        assert usual_metrics(a, b) == ["image_s", "accuracy"]


def test_the_default_says_which_side_lacks_accuracy(pictured: StoredResults, made: Made) -> None:
    bare = made("bare", sessions=3, variants=(FP32,), seed=9)
    for results, side in (([pictured, bare], "B"), ([bare, pictured], "A")):
        comparison = compare_results(results)
        item = next(item for item in comparison.comparisons if item.metric == "accuracy")
        assert (item.word, item.reason) == ("not compared", f"{side} has none: no images were given")
