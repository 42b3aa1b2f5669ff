"""A request's own latency under concurrency, from batches to figures and verdicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

import edgebench
from edgebench.errors import StoredResultError
from edgebench.judge.judged import Judged, judge_folder
from edgebench.judge.latency import steady_requests
from edgebench.judge.metrics import METRICS
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.trial import Conditions, Estimate, Trial
from edgebench.judge.trials import trials_of
from edgebench.judge.verdicts.verdict import Verdict
from edgebench.results.layout import session_folder
from edgebench.results.load import StoredResults
from edgebench.results.rows import Rows
from tests.judge.trials import judge
from tests.sample_tables import rows_of_frame
from tests.store.command_texts import seal
from tests.synthetic_results import QUARTER, key_of, made_experiment

FP32, _, INT8 = QUARTER
MS = 1_000_000


def rows(*requests: tuple[int, str, int, int]) -> Rows:
    columns = ["session", "phase", "infer_start_ns", "infer_end_ns"]
    return rows_of_frame(pd.DataFrame(requests, columns=columns).astype(dict.fromkeys(columns[2:], "int64")))


def passes(*infer_ns: tuple[int, str, int]) -> Rows:
    return rows_of_frame(pd.DataFrame(infer_ns, columns=["session", "phase", "infer_ns"]))


def test_each_request_counts_from_its_submission_to_its_own_completion() -> None:
    requests = steady_requests(
        rows(
            (0, "first", 0, 99 * MS),
            (0, "steady", 100 * MS, 108 * MS),  # the second is done first
            (0, "steady", 101 * MS, 103 * MS),
            (0, "steady", 103 * MS, 109 * MS),
            (1, "steady", 0, 50 * MS),  # a session that failed
            (2, "steady", 0, 4 * MS),
        ),
        passes((0, "first", 99 * MS), (0, "steady", 9 * MS), (1, "steady", 50 * MS), (2, "steady", 4 * MS)),
        [0, 2],
        key_of(FP32),
        2,
    )
    assert [list(session) for session in requests.latency_ms] == [[8.0, 2.0, 6.0], [4.0]]
    assert requests.in_flight == pytest.approx((16 / 9, 1.0))
    assert requests.mean_in_flight == pytest.approx((16 / 9 + 1) / 2)


def test_without_an_infer_stage_there_are_no_requests() -> None:
    whole = rows((0, "steady", 0, MS))
    batches = Rows({name: whole[name] for name in ("session", "phase")})
    requests = steady_requests(batches, passes((0, "steady", 0)), [0], key_of(FP32), 2)
    assert (requests.latency_ms, requests.mean_in_flight) == ((), None)


@pytest.fixture(scope="module")
def queued(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Three sessions of five passes of 25 requests, of which four are in flight."""
    folder = tmp_path_factory.mktemp("queued")
    return judge_folder(
        made_experiment(folder, variants=[FP32, INT8], concurrency=4, passes=5, rows=5, columns=5)
    )


def percentile(trial: Trial) -> Estimate:
    metric = METRICS["request_ms"]
    [estimate] = metric.estimates(trial, metric, Conditions("p99"))
    return estimate


def test_median_and_p99_are_those_of_the_steady_requests(queued: Judged) -> None:
    [trial, _] = queued.trials
    batches = queued.results.batches
    steady = batches[(batches["trial"] == trial.key) & (batches["phase"] == "steady")]
    took_ms = (steady["infer_end_ns"] - steady["infer_start_ns"]) / 1e6
    median, p99 = trial.estimate("request_ms"), percentile(trial)
    assert median.value == pytest.approx(took_ms.groupby(steady["session"]).median().mean())
    assert p99.value == pytest.approx(np.quantile(took_ms, 0.99))
    assert (median.n, p99.n) == (375, 375)
    in_flight = trial.estimate("in_flight").value
    assert in_flight is not None and 3 < in_flight < 4
    # A throughput is not a latency.
    stages = {key.stage: estimate.value for key, estimate in trial.estimates_of("stages_ms")}
    assert median.value > 3 * stages["infer"]  # type: ignore[operator]


def test_too_few_requests_have_no_p99_and_say_so(tmp_path: Path) -> None:
    [trial] = trials_of(edgebench.load(made_experiment(tmp_path, variants=[INT8], concurrency=2)))
    p99 = percentile(trial)
    assert p99.value is None
    assert p99.reason == "n too small: p99 takes 299 values at 95 % confidence and there are 180"


@pytest.mark.attack("a session has other stages than its trial's others: it has no requests, and they do")
def test_a_session_without_the_stage_has_no_requests(tmp_path: Path) -> None:
    path = made_experiment(tmp_path, variants=[FP32], concurrency=2)
    file = session_folder(path, key_of(FP32), 1) / "batches.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["infer_start_ns", "infer_end_ns"]), file)
    seal(file)
    [trial] = trials_of(edgebench.load(path))
    assert [len(requests) for requests in trial.values_of("request_ms")] == [60, 60]


@pytest.mark.parametrize(
    "requests",
    [
        pytest.param([(0, 4), (3, 2**62)], id="one never ends"),
        pytest.param([(-(2**61), 4), (3, 9)], id="one started long ago"),
        pytest.param([(0, 0), (9, 9)], id="they take no time"),
        pytest.param([(0, 4)], id="one is missing"),
        pytest.param([(0, 9), (0, 9), (0, 9)], id="more than were in flight"),
    ],
)
@pytest.mark.attack(
    "the stored times of requests are edited, hash and all: refused, as their passes say something else"
)
def test_requests_that_are_not_those_of_their_passes_are_refused(requests: list[tuple[int, int]]) -> None:
    edited = rows(*((3, "steady", start, end) for start, end in requests))
    with pytest.raises(StoredResultError) as caught:
        steady_requests(edited, passes((3, "steady", 9)), [3], key_of(FP32), 2)
    folder = f"trials/{key_of(FP32)}/sessions/003"
    assert folder in caught.value.what and folder in caught.value.fix


def test_one_at_a_time_it_is_null_and_no_batches_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = edgebench.load(made_experiment(tmp_path, variants=[INT8]))
    names = []
    read = StoredResults.rows

    def rows(self: StoredResults, name: str, *arguments: object) -> Rows:
        names.append(name)
        return read(self, name, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(StoredResults, "rows", rows)
    [trial] = trials_of(results)
    assert set(names) == {"passes", "windows", "probes", "predictions"}
    single = Estimate(reason="one request at a time: its latency is the stage infer")
    assert trial.estimate("request_ms") == trial.estimate("in_flight") == single


def verdict(trial: Trial, **requirement: object) -> Verdict:
    record = {"name": "mine", "requirements": [{"name": "it", "quantity": "request_ms", **requirement}]}
    [judged] = judge(trial, Profile.from_record(record))
    return judged


def test_a_requirement_may_limit_it(queued: Judged) -> None:
    [trial, _] = queued.trials
    # Three sessions may miss a stall of some sessions, which moves the median of none.
    for statistic, value, word in (
        ("median", trial.estimate("request_ms").value, "pass"),
        ("p99", percentile(trial).value, "inconclusive"),
    ):
        assert value is not None
        met = verdict(trial, statistic=statistic, limit=2 * value)
        assert met.word == word and met.estimate.value == pytest.approx(value)
        missed = verdict(trial, statistic=statistic, limit=value / 2e3, unit="s")
        assert missed.word == "fail" and missed.limit == pytest.approx(value / 2)
    highest = verdict(trial, statistic="max", limit=1e-6)
    assert highest.word == "fail" and "the highest of 375 requests" in highest.reason
    assert "a tail takes 9" in verdict(trial, statistic="max", limit=1e6).reason
    budgeted = verdict(trial, budget={"cycle_s": 10.0, "images": 5})
    assert budgeted.limit == 2000.0
