"""Two workers on one device, from the agent to the store and to figures: theirs are never pooled."""

import statistics
from dataclasses import replace

import pandas as pd
import pytest

from edgebench.judge.requirements.requirement import Requirement
from edgebench.judge.trials import trials_of
from edgebench.judge.verdicts.verdict import estimates_for
from edgebench.results.load import StoredResults, load
from edgebench.results.writing import ExperimentStore
from edgebench.run.measuring.session import LocalDevice, SessionWatch
from edgebench.run.measuring.session_record import Job
from edgebench.stats.warnings import Flag
from tests.link.rig import COLUMNS, ROWS, make_rig
from tests.sample_tables import rows_of_frame
from tests.synthetic_results import key_of, made_experiment

VARIANT = "mobilenet_v1-0.25-fp32"
PASSES = 3


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Three sessions of two toy workers, measured by the agent and stored."""
    folder = tmp_path_factory.mktemp("results")
    path = made_experiment(
        folder, variants=[VARIANT], not_run=[VARIANT], rows=ROWS, columns=COLUMNS, images=ROWS * COLUMNS
    )
    rig = make_rig(tmp_path_factory.mktemp("rig"))
    images = replace(rig.images, labels=tuple(n % 5 for n in range(rig.images.n)))
    settings = replace(rig.settings(delay_us=500), others=(rig.artifact(),))
    device = rig.device()
    try:
        with ExperimentStore.open(path) as store:
            for n in range(3):
                plan = rig.plan(passes=PASSES, images=images if n == 0 else None)
                watch = SessionWatch(plan)
                job = Job(key_of(VARIANT), n, n, rig.artifact(), settings, plan)
                measured = LocalDevice(device).measure(job, watch)
                assert measured.record.status == "ok", measured.record.failure
                assert str(watch.latency).startswith("slowest of 2 workers")
                store.write_session(measured.record, measured.tables)
    finally:
        device.close()
    return load(path)


def test_each_worker_is_stored_under_its_number(results):
    passes, batches, predictions = results.passes, results.batches, results.predictions
    steady = passes[passes["phase"] == "steady"]
    # One that has its passes goes on until the other one has.
    assert (steady.groupby(["session", "worker"], observed=True).size() >= PASSES).all()
    for record in results.session_records(key_of(VARIANT)):
        mine = passes[passes["session"] == record.n]
        started = mine[mine["phase"].isin(["steady", "outside"])].groupby("worker")
        begin_ns, end_ns = started["start_ns"].min().max(), started["end_ns"].max().min()
        assert record.windows_ns["steady"] == (begin_ns, end_ns)
        within = (mine["start_ns"] >= begin_ns) & (mine["end_ns"] <= end_ns)
        assert (within == (mine["phase"] == "steady")).all() and (mine["phase"] == "outside").any()
    for table in (passes, batches, predictions):
        assert sorted(table["worker"].unique()) == [0, 1]
    of_images = predictions[predictions["set"] == "images"]
    assert set(of_images.groupby("worker").size()) == {ROWS * COLUMNS}
    for record in results.session_records(key_of(VARIANT)):
        assert [worker["worker"] for worker in record.workers] == [0, 1]
        for worker in record.workers:
            assert worker["variant"] and worker["artifact_sha256"] and worker["cores"] == []
            assert worker["golden"]["n"] == 10 and worker["cold"]["load_s"] and worker["memory"]["peak_bytes"]
        assert record.golden and record.harness_s is None and not record.cold["load_s"]


def test_figures_are_each_workers_own(results):
    [trial] = trials_of(results)
    assert trial.status == "done"
    for name in ("image_s", "infer_s", "accuracy", "memory_bytes", "load_s", "stages_ms"):
        assert trial.estimate(name).value is None and not trial.values_of(name)
    passes = results.passes[results.passes["phase"] == "steady"]
    for worker in trial.workers:
        mine = passes[passes["worker"] == worker.number]
        medians = [statistics.median(rows["image_ns"]) / 1e9 for _, rows in mine.groupby("session")]
        image_s = trial.estimate("image_s", worker.number)
        assert image_s.value == pytest.approx(statistics.fmean(medians))
        assert len(image_s.sessions) == 3
        assert trial.estimate("load_s", worker.number).value
        assert trial.estimate("memory_bytes", worker.number).value
        assert trial.estimate("accuracy", worker.number).n == ROWS * COLUMNS


def test_the_trial_says_why_it_has_no_figure(results):
    [trial] = trials_of(results)
    reason = "2 workers shared the device, and their figures are not pooled"
    assert [caution.count for caution in trial.cautions if caution.flag is Flag.SEVERAL_WORKERS] == [2]
    for quantity, unit in (("accuracy", "1"), ("memory_bytes", "MB"), ("energy_j", "J")):
        requirement = Requirement.model_validate(
            {"name": quantity, "quantity": quantity, "unit": unit, "limit": 1.0}
        )
        [estimate, *_] = estimates_for(trial, requirement)
        cause = "no meter" if quantity == "energy_j" else "2 workers"
        assert estimate.value is None and cause in estimate.reason
    requirement = Requirement.model_validate(
        {"name": "p90", "quantity": "image_s", "unit": "s", "limit": 1.0, "statistic": "p90"}
    )
    assert estimates_for(trial, requirement)[0].reason == reason


def test_requests_are_each_workers_own_too(results):
    experiment = results.experiment
    [trial] = experiment.trials
    queued = trial.model_copy(update={"inputs": {"settings": {"concurrency": 2}}})
    [summed] = trials_of(StoredResults(results.path, experiment.model_copy(update={"trials": (queued,)})))
    assert summed.estimate("request_ms").value is summed.estimate("in_flight").value is None
    batches = results.batches[results.batches["phase"] == "steady"]
    for worker in summed.workers:
        mine = batches[batches["worker"] == worker.number]
        took_ms = (mine["infer_end_ns"] - mine["infer_start_ns"]) / 1e6
        request_ms = summed.estimate("request_ms", worker.number)
        assert request_ms.value == pytest.approx(took_ms.groupby(mine["session"]).median().mean())
        assert request_ms.n == len(mine)
        assert summed.estimate("in_flight", worker.number).value == pytest.approx(1.0)


def test_windows_are_each_workers_own_too(results):
    steady = results.passes[results.passes["phase"] == "steady"]
    as_windows = steady.assign(
        patch=0,
        inferences=1,
        window=steady["pass"],
        end_ns=steady["start_ns"] + 2_000_000,
        instructions=pd.array([None] * len(steady), "Int64"),
    )
    in_windows = StoredResults(results.path, results.experiment)
    tables = {"passes": results.passes.iloc[:0], "windows": as_windows}
    in_windows._tables = {name: rows_of_frame(frame) for name, frame in tables.items()}
    [trial] = trials_of(in_windows)
    assert (trial.estimate("infer_s").value, trial.scene.measured_patches) == (None, 1)
    assert "extrapolated" in trial.marks
    for worker in trial.workers:
        assert trial.estimate("image_s", worker.number).value is None
        infer_s = trial.estimate("infer_s", worker.number).value
        assert infer_s == pytest.approx(0.002 * ROWS * COLUMNS)
