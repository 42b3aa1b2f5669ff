"""Workers that share a device: slowdown, and numbers of all of them together, from made records."""

from dataclasses import replace

import numpy as np
import pytest

import edgebench
from edgebench.judge.comparisons.comparison import compare_results
from edgebench.judge.judged import judge_folder
from edgebench.judge.metrics import METRICS
from edgebench.judge.metrics.sharing import ALONE
from edgebench.judge.requirements.requirement import Requirement
from edgebench.judge.trial import Certainty, Conditions
from edgebench.judge.trials import trial_with_key, trials_of
from edgebench.judge.verdicts.verdict import estimates_for
from edgebench.judge.workers import SharedWorker, slowdown_of
from edgebench.report.documents import document
from edgebench.report.plots.pictures import figures_of
from edgebench.report.sharing import slowdown_matrices
from edgebench.report.words import counted
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
def trials(path):
    return trials_of(load(path))


def judged(trial, name, unit, limit=1.0):
    """The estimate that decides a requirement on the metric."""
    requirement = {"name": name, "quantity": name, "unit": unit, "limit": limit}
    return estimates_for(trial, Requirement.model_validate(requirement))[0]


def of_workers(trial, metric):
    return [trial.estimate(metric, worker.number) for worker in trial.workers]


def medians(trial, worker=None):
    return [float(np.median(session)) for session in trial.values_of("image_s", worker)]


def test_a_worker_is_compared_with_its_variant_alone(trials):
    fp32, fp16, _, mixed = trials
    for worker, lone in zip(mixed.workers, (fp32, fp16), strict=True):
        stated = compare(medians(lone), medians(mixed, worker.number), lower_is_better=True)
        slowdown = mixed.estimate("slowdown", worker.number)
        assert (slowdown.value, slowdown.low, slowdown.high) == pytest.approx(
            (stated.ratio, stated.low, stated.high)
        )
        assert (worker.variant, worker.alone) == (lone.variant, lone.key)


def test_a_trials_slowdown_is_its_slowest_workers_with_a_wider_interval(trials):
    mixed = trials[3]
    slowest = max(of_workers(mixed, "slowdown"), key=lambda estimate: estimate.value)
    slowdown = mixed.estimate("slowdown")
    assert slowdown.value == slowest.value
    assert slowdown.low < slowest.low and slowdown.high > slowest.high
    assert slowdown.notes == (f"the slowest of 2 workers is worker 1, {SECOND}",)
    assert judged(mixed, "slowdown", "1") == slowdown
    metric = METRICS["slowdown"]
    [surer] = metric.estimates(mixed, metric, Conditions("median", Certainty.of_look(0.99)))
    assert surer.value == slowdown.value and surer.high > slowdown.high and surer.low < slowdown.low


def test_images_memory_and_energy_are_those_of_all_workers(trials):
    copies = trials[2]
    per_s = sum(1 / estimate.value for estimate in of_workers(copies, "image_s"))
    # Between passes of the made workers is 1 ms.
    images_per_s = copies.estimate("images_per_s")
    assert images_per_s.value == pytest.approx(per_s, rel=0.01)
    bytes_of_workers = [estimate.value for estimate in of_workers(copies, "memory_bytes")]
    assert copies.estimate("together_bytes").value == sum(bytes_of_workers)
    assert "not pooled" in judged(copies, "energy_j", "J").reason
    energy = judged(copies, "together_energy_j", "J")
    mean_w = copies.estimate("power_mean_w").value
    assert energy.value == pytest.approx(mean_w / images_per_s.value, rel=0.01)
    assert (energy.basis, energy.objection != "") == ("chip", True)
    assert judged(copies, "images_per_s", "images/s").value == images_per_s.value


def test_one_worker_has_none_of_it_and_one_reason_for_all(trials):
    lone = trials[0]
    for name in ("images_per_s", "together_bytes", "together_energy_j", "slowdown"):
        assert lone.estimate(name).is_missing and lone.estimate(name).reason == ALONE


def test_one_worker_has_a_slowdown_of_1_where_it_is_judged(trials):
    slowdown = judged(trials[0], "slowdown", "1")
    assert (slowdown.low, slowdown.value, slowdown.high) == (1.0, 1.0, 1.0)
    assert slowdown.notes == ("it runs alone",)


def test_a_slowdown_that_is_not_known_says_why(tmp_path):
    failing = trials_of(load(made(tmp_path, failed=[SECOND], sessions=2)))[3]
    first, second = of_workers(failing, "slowdown")
    assert first.low is None and "2 sessions" in first.reason
    assert second.is_missing and f"{SECOND} alone: no session ended well" in second.reason
    slowdown = judged(failing, "slowdown", "1")
    assert slowdown.is_missing and slowdown.reason == f"worker 1: {second.reason}"


def test_a_trial_read_by_itself_has_the_same_slowdown(path, trials):
    assert trial_with_key(load(path), trials[3].key).estimate("slowdown") == trials[3].estimate("slowdown")


def test_every_worker_has_a_row_and_every_trial_one(path, trials):
    results = edgebench.load(path)
    rows = results.estimates()
    slowdowns = rows[(rows["metric"] == "slowdown") & rows["worker"].notna()]
    assert list(zip(slowdowns["trial"], slowdowns["worker"], strict=True)) == [
        (trial.key, worker) for trial in trials[2:] for worker in (0, 1)
    ]
    assert slowdowns["value"].notna().all()
    assert len(results.summaries()) == len(trials)
    entries = document(judge_folder(path))["trials"]
    assert [len(entry["workers"]) for entry in entries] == [0, 0, 2, 2]


def test_the_matrix_says_who_is_slowed_down_by_whom(trials):
    [matrix] = slowdown_matrices(trials)
    assert [column.heading for column in matrix.columns[1:]] == ["0.25 fp32", "0.25 fp16"]
    assert [row[0] for row in matrix.rows] == ["0.25 fp32", "0.25 fp16"]
    assert matrix.columns[2].sort_value(0, matrix.rows[0][2]) == repr(trials[3].estimate("slowdown", 0).value)
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


def test_paced_workers_have_whole_cycles_together(tmp_path):
    copies = trials_of(load(made(tmp_path, period_s=1.0, power=True, passes=4, sessions=3)))[2]
    assert copies.estimate("images_per_s").value == pytest.approx(2.0)
    # Its meter ends before the last pause: energy is that of the cycles before.
    mean_w, energy_j = (copies.estimate(name).value for name in ("power_mean_w", "together_energy_j"))
    assert mean_w and energy_j == pytest.approx(mean_w / 2, rel=1e-6)


def test_values_by_session_have_the_slowdown_as_their_mean(trials):
    slowdown = trials[3].estimate("slowdown")
    assert np.mean(slowdown.sessions) == pytest.approx(slowdown.value)


def test_values_of_unequal_counts_have_the_slowdown_as_their_mean(tmp_path):
    mixed = trials_of(load(made(tmp_path, crashed_once=[SECOND], session_spread=0.05)))[3]
    slowdown = mixed.estimate("slowdown")
    assert (len(medians(mixed, 1)), len(slowdown.sessions)) == (5, 4)
    assert np.mean(slowdown.sessions) == pytest.approx(slowdown.value)


def test_no_value_is_below_0_where_one_session_alone_is_far_off():
    usual = np.array([1.0, 1.01, 0.99, 1.0, 10.0])
    slowdown = slowdown_of([SharedWorker(0, FIRST, 1.8 * np.ones(4), usual)], 0.95)
    assert slowdown and min(slowdown.sessions) > 0
    assert np.mean(slowdown.sessions) == pytest.approx(slowdown.value)


def test_a_revision_whose_variants_alone_nothing_measures_says_that_the_device_changed(path):
    experiment = load(path).experiment
    *planned, mixed = experiment.trials
    workers = tuple(worker.model_copy(update={"alone": "f" * 16}) for worker in mixed.workers)
    target = replace(
        experiment.targets[-1], revision_of=experiment.targets[-2].name, differences=("kernel was A, is B",)
    )
    update = {
        "targets": (*experiment.targets[:-1], target),
        "trials": (*planned, mixed.model_copy(update={"workers": workers})),
    }
    revised = trials_of(StoredResults(path, experiment.model_copy(update=update)))[3]
    why = f"the device changed (kernel was A, is B), and {FIRST} alone was not measured since"
    assert revised.estimate("slowdown").reason.startswith(f"worker 0: {why}; worker 1: ")


def test_passes_are_counted_in_their_plural():
    assert [counted(n, "pass", "passes") for n in (1, 2)] == ["1 pass", "2 passes"]


def test_the_latency_of_workers_is_judged_by_the_slowest_of_them(trials):
    lone, _, _, mixed = trials
    estimate = judged(mixed, "image_s", "s")
    slowest = max(of_workers(mixed, "image_s"), key=lambda estimate: estimate.value)
    assert estimate.value == pytest.approx(slowest.value)
    # Both ends are of every worker at once.
    assert estimate.high > max(worker.high for worker in of_workers(mixed, "image_s"))
    assert slowest.low > estimate.low >= max(worker.low for worker in of_workers(mixed, "image_s")) * 0.9
    assert estimate.notes == (f"the slowest of 2 workers is worker 1, {SECOND}",)
    assert "worker" in judged(mixed, "infer_s", "s").reason
    assert judged(lone, "image_s", "s").value is not None
