"""Workers that share a device: what they cost each other and come to together, from made records."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import edgebench
from edgebench.judge.columns import missing_reasons
from edgebench.judge.comparison import compare_results, session_values
from edgebench.judge.judged import judge_folder
from edgebench.judge.metrics import METRICS
from edgebench.judge.metrics.sharing import slowest_worker, with_slowdowns
from edgebench.judge.requirement import Requirement
from edgebench.judge.summarise import summarise, summarise_one, trial_json
from edgebench.judge.trial_summary import ALONE
from edgebench.judge.verdict import figure_of
from edgebench.report.documents import document, export_csv
from edgebench.report.plots.pictures import figures_of
from edgebench.report.sharing import slowdown_matrices
from edgebench.report.words import counted, sort_value
from edgebench.results.load import StoredResults, load
from edgebench.stats.compare import compare
from tests.synthetic_results import QUARTER, made_experiment

FIRST, SECOND = QUARTER[:2]


def made(folder, **fields):
    together = [[FIRST, FIRST], [FIRST, SECOND]]
    return made_experiment(
        folder, variants=[FIRST, SECOND], together=together, **{"sessions": 5, "passes": 8, **fields}
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return made(tmp_path_factory.mktemp("results"), power=True)


@pytest.fixture(scope="module")
def summaries(path):
    return summarise(load(path))


def summed(path):
    return summarise(load(path))


def asked(summary, name, unit, limit=1.0):
    requirement = {"name": name, "quantity": name, "unit": unit, "limit": limit}
    return figure_of(summary, Requirement.model_validate(requirement))


def test_a_worker_is_compared_with_its_variant_alone(summaries):
    fp32, fp16, _, mixed = summaries
    for worker, lone in zip(mixed.workers, (fp32, fp16), strict=True):
        together = worker["medians_s"]
        alone = [float(np.median(session)) for session in lone.image_s_values]
        stated = compare(alone, together, lower_is_better=True)
        slowdown = worker["slowdown"]
        assert (slowdown["median"], slowdown["low"], slowdown["high"]) == pytest.approx(
            (stated.ratio, stated.low, stated.high)
        )
        assert worker["variant"] == lone.variant and worker["alone"] == lone.key


def test_a_trials_slowdown_is_its_slowest_workers_with_a_wider_interval(summaries):
    mixed = summaries[3]
    slowest = max((worker["slowdown"] for worker in mixed.workers), key=lambda each: each["median"])
    shown = mixed.sharing.slowdown
    assert (shown.worker, shown.variant, shown.median) == (1, SECOND, slowest["median"])
    assert shown.low < slowest["low"] and shown.high > slowest["high"]
    figure = asked(mixed, "slowdown", "1")
    assert (figure.value, figure.low, figure.high) == (shown.median, shown.low, shown.high)
    assert f"the slowest of 2 workers is worker 1, {SECOND}" in figure.note
    surer = slowest_worker(mixed.workers, 0.99)
    assert surer and surer.high and surer.high > shown.high


def test_images_memory_and_energy_are_those_of_all_workers(path, summaries):
    copies = summaries[2]
    per_s = sum(1 / worker["image_s"]["median"] for worker in copies.workers)
    # Between passes of the made workers is 1 ms.
    assert copies.sharing.images_per_s.median == pytest.approx(per_s, rel=0.01)
    assert copies.sharing.together_bytes == sum(worker["memory_bytes"] for worker in copies.workers)
    rail = copies.primary_rail
    assert rail.energy_j is None and asked(copies, "energy_j", "J").reason == copies.unpooled
    energy = asked(copies, "together_energy_j", "J")
    assert energy.value == pytest.approx(rail.mean_w / copies.sharing.images_per_s.median, rel=0.01)
    assert energy.scope == "chip"
    assert asked(copies, "together_bytes", "MB").value == pytest.approx(copies.sharing.together_bytes)
    assert asked(copies, "images_per_s", "images/s").value == copies.sharing.images_per_s.median


def test_one_worker_has_none_of_it_and_one_reason_for_all(summaries):
    lone = summaries[0]
    for name, unit in (("images_per_s", "images/s"), ("together_energy_j", "J")):
        assert asked(lone, name, unit).reason == ALONE
    assert lone.sharing is None
    assert [name for name, reason in missing_reasons(lone).items() if reason == ALONE] == ["sharing"]


def test_a_slowdown_that_is_not_known_says_why(tmp_path):
    failing = summarise(load(made(tmp_path, failed=[SECOND], sessions=2)))[3]
    first, second = failing.workers
    assert first["slowdown"]["low"] is None and "2 sessions" in first["slowdown_reason"]
    assert second["slowdown"] is None and f"{SECOND} alone: " in second["slowdown_reason"]
    assert failing.sharing and failing.sharing.slowdown is None
    reason = failing.sharing.slowdown_reason
    assert reason.startswith("worker 1: ") and missing_reasons(failing)["sharing.slowdown"] == reason
    assert asked(failing, "slowdown", "1").reason == reason


def test_one_trial_read_by_itself_and_one_read_back_say_the_same(path, summaries):
    assert summarise_one(load(path), summaries[3].key).sharing == summaries[3].sharing
    document = json.loads(json.dumps(trial_json(summaries[3]), allow_nan=False))
    assert document["sharing"]["slowdown"]["worker"] == 1


def test_every_worker_has_a_row_and_every_trial_one(path, summaries):
    results = edgebench.load(path)
    rows = results.workers()
    assert list(zip(rows["trial"], rows["worker"], strict=True)) == [
        (summary.key, worker) for summary in summaries[2:] for worker in (0, 1)
    ]
    assert rows["slowdown"].notna().all() and (rows["share"] == "naive").all()
    assert len(results.summaries()) == len(summaries) == len(export_csv(summaries, []).splitlines()) - 1
    assert results.summaries()["slowdown_worker"].tolist()[2:] == [1.0, 1.0]
    whole = document(load(path), summaries, [])
    assert [row["trial"] for row in whole["workers"]] == rows["trial"].tolist()
    assert len(whole["trials"]) == len(summaries)


def test_the_matrix_says_who_is_slowed_down_by_whom(summaries):
    [matrix] = slowdown_matrices(summaries)
    assert [column.heading for column in matrix.columns[1:]] == ["0.25 fp32", "0.25 fp16"]
    assert [row[0] for row in matrix.rows] == ["0.25 fp32", "0.25 fp16"]
    assert sort_value(matrix.rows[0][2]) == repr(summaries[3].workers[0]["slowdown"]["median"])
    assert matrix.rows[1][2] == "-"  # two fp16 were not measured together


def test_only_shared_devices_have_a_timeline(path, tmp_path):
    assert "timeline" in figures_of(judge_folder(path))
    assert "timeline" not in figures_of(judge_folder(made_experiment(tmp_path)))


def test_a_shared_trial_is_another_than_a_lone_one_of_its_variant(path, tmp_path):
    slower = made(tmp_path, slower=2.4, seed=8)
    compared = compare_results([load(path), load(slower)], metrics=["slowdown"])
    pairs = {(pair.a.target, pair.b.target) for pair in compared.results[0].pairs}
    assert {a for a, _ in pairs} == {"cpu", "cpu[workers=2,share=naive]", "cpu[with=0.25-fp16,share=naive]"}
    assert all(a == b for a, b in pairs)
    [lone, _, *shared] = [pair.comparisons[0] for pair in compared.results[0].pairs]
    assert lone.word == "not compared" and ALONE in lone.reason
    for item in shared:
        assert (item.word, item.a_n) == ("worse", 5)
        assert item.difference == pytest.approx(2.4 / 1.8, rel=0.03)
    usual = compare_results([load(path), load(slower)]).results[0].pairs[2].comparisons
    assert {"images_per_s", "slowdown"} <= {item.metric for item in usual}


def test_values_a_session_scatter_as_the_ratio_does(summaries):
    values = np.array(session_values(METRICS["slowdown"], summaries[3]))
    assert values.mean() == pytest.approx(summaries[3].sharing.slowdown.median)
    assert not session_values(METRICS["slowdown"], summaries[0])


def test_paced_workers_have_whole_cycles_together(tmp_path):
    copies = summed(made(tmp_path, period_s=1.0, power=True, passes=4, sessions=3))[2]
    assert copies.sharing and copies.sharing.images_per_s.median == pytest.approx(2.0)
    # Its meter ends before the last pause: energy is that of the cycles before.
    rail = copies.primary_rail
    assert rail and rail.together_energy_j == pytest.approx(rail.mean_w / 2, rel=1e-6)


def test_values_of_unequal_counts_have_the_slowdown_as_their_mean(tmp_path):
    mixed = summed(made(tmp_path, crashed_once=[SECOND], session_spread=0.05))[3]
    values = np.array(session_values(METRICS["slowdown"], mixed))
    assert (mixed.sharing.slowdown.worker, len(mixed.workers[1]["medians_s"]), len(values)) == (1, 5, 4)
    assert values.mean() == pytest.approx(mixed.sharing.slowdown.median)


def test_no_value_is_below_0_where_one_session_alone_is_far_off(summaries):
    def with_outlier(lone):
        *others, last = lone.image_s_values
        return replace(lone, image_s_values=(*others, tuple(10 * each for each in last)))

    mixed: Any = with_slowdowns([*map(with_outlier, summaries[:2]), summaries[3]])[2]
    values = np.array(session_values(METRICS["slowdown"], mixed))
    assert values.min() > 0 and values.mean() == pytest.approx(mixed.sharing.slowdown.median)


def test_a_revision_whose_variants_alone_nothing_measures_says_that_the_device_changed(path):
    experiment = load(path).experiment
    *planned, mixed = experiment.trials
    workers = tuple(each.model_copy(update={"alone": "f" * 16}) for each in mixed.workers)
    target = replace(
        experiment.targets[-1], revision_of=experiment.targets[-2].name, differences=("kernel was A, is B",)
    )
    update = {
        "targets": (*experiment.targets[:-1], target),
        "trials": (*planned, mixed.model_copy(update={"workers": workers})),
    }
    revised = summarise(StoredResults(path, experiment.model_copy(update=update)))[3]
    why = f"the device changed (kernel was A, is B), and {FIRST} alone was not measured since"
    assert revised.sharing and revised.sharing.slowdown_reason.startswith(f"worker 0: {why}; worker 1: ")


def test_passes_are_counted_in_their_plural():
    assert [counted(n, "pass", "passes") for n in (1, 2)] == ["1 pass", "2 passes"]


def test_the_latency_of_workers_is_judged_by_the_slowest_of_them(summaries):
    lone, _, _, mixed = summaries
    figure = asked(mixed, "image_s", "s")
    slowest = max((worker["image_s"] for worker in mixed.workers), key=lambda each: each["median"])
    assert figure.value == pytest.approx(slowest["median"])
    assert figure.low is not None and figure.high is not None
    # Both bounds are of every worker at once.
    assert figure.high > max(worker["image_s"]["high"] for worker in mixed.workers)
    assert slowest["low"] > figure.low >= max(worker["image_s"]["low"] for worker in mixed.workers) * 0.9
    assert f"the slowest of 2 workers is worker 1, {SECOND}" in figure.note
    assert "worker" in asked(mixed, "infer_s", "s").reason and asked(lone, "image_s", "s").value


def test_what_runs_alone_has_a_slowdown_of_1(summaries):
    lone = summaries[0]
    figure = asked(lone, "slowdown", "1")
    assert (figure.low, figure.value, figure.high) == (1.0, 1.0, 1.0) and "alone" in figure.what
    assert lone.sharing is None
