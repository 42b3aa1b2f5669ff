"""Entries of trials and verdicts in documents, and trials read back from them."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from edgebench.judge.document import (
    bound_of,
    plain,
    trial_document,
    trial_from_document,
    verdict_entry,
)
from edgebench.judge.trial import Confusion, Ended, Estimate, EstimateKey, Trial, Worker
from edgebench.judge.verdicts.verdict import NextStep
from edgebench.stats.warnings import Caution, Flag
from tests.judge.trials import judge, meter, profile, trial

ESTIMATE = {
    "value", "low", "high", "unit", "n", "session_values", "basis", "reason", "objection", "notes",
}  # fmt: skip


def whole() -> Trial:
    """A trial with something in every part."""
    keys = {
        EstimateKey("stages_ms", "median", stage="patchify"): Estimate(0.1),
        EstimateKey("image_s", "median", worker=0): Estimate(2.0, 1.5, 2.5, (2.0, 2.0, 2.0), n=9),
        "mass_g": Estimate(140.0, 140.0, 140.0, basis="declared", notes=("its label",)),
    }
    made: Trial = trial(
        power=(meter(), meter(name="ina:0 cpu", scope="chip")),
        accuracy=(3, 4),
        estimates=keys,
        workers=(Worker(0, "mobilenet_v1-0.25-int8", "", (0, 1)), Worker(1, "other", "abc", ())),
        confusions=(Confusion("images", ("a", "b"), (2, 2), (2, 1), ((2, 0), (1, 1)), ((1, 0, 1),)),),
        ended=Ended("rule", 3, 0.02, ("mine: it",), "a rule was met"),
        cautions=(Caution(Flag.SAID, 1, 3, what="the board is hot"),),
        marks=("on the CPU",),
        doubts={"machine": "another board"},
    )
    return made


def test_an_estimate_has_its_unit_and_the_values_of_its_sessions() -> None:
    entry = trial_document(whole())
    assert set(entry["estimates"]["image_s"]) == ESTIMATE
    assert entry["estimates"]["image_s"]["unit"] == "s"
    assert len(entry["estimates"]["image_s"]["session_values"]) == 3
    assert entry["estimates"]["accuracy"]["value"] == 0.75
    assert entry["estimates"]["stages_ms_patchify"]["value"] == 0.1
    assert entry["estimates"]["power_mean_w"] == entry["rails"][0]["estimates"]["power_mean_w"]
    assert entry["rails"][1]["estimates"]["power_mean_w"]["basis"] == "chip"
    assert entry["workers"][0]["estimates"]["image_s"]["value"] == 2.0
    assert entry["workers"][1]["estimates"] == {}
    assert entry["warnings"] == entry["device_warnings"] == ["the board is hot (in 1 of 3 sessions)"]


def test_a_trial_comes_back_from_its_entry() -> None:
    stored = whole()
    read = trial_from_document(json.loads(json.dumps(trial_document(stored), allow_nan=False)))
    bare = {key: replace(each, final=False) for key, each in stored.estimates.items()}
    rails = tuple(replace(rail, curves=()) for rail in stored.rails)
    assert read == replace(stored, estimates=bare, values={}, cautions=(), rails=rails)
    assert [key.rail for key, _ in read.estimates_of("energy_j")] == ["ina:0 in", "ina:0 cpu"]


def test_the_statistics_of_requirements_are_there_where_verdicts_are() -> None:
    stored = trial([[1.0 + 0.001 * (i % 7) for i in range(200)]] * 12)
    verdicts = judge(stored, profile(quantity="image_s", statistic="p99", limit=2.0))
    entry = trial_document(stored, verdicts)
    assert entry["estimates"]["image_s_p99"]["value"] == verdicts[0].estimate.value
    assert "image_s_p99" not in trial_document(stored)["estimates"]


@pytest.mark.parametrize(
    "change",
    [
        {"estimates": {"image_s": {"value": "fast"}}}, {"estimates": None}, {"rails": [{}]}, {"key": 3},
        {"workers": {"0": 1}}, {"batch": "many"}, {"status": "splendid"},
    ],
)  # fmt: skip
def test_a_damaged_entry_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        trial_from_document(trial_document(whole()) | change)


def test_a_metric_that_is_unknown_is_left_out() -> None:
    entry = trial_document(whole())
    entry["estimates"]["novelty"] = entry["estimates"]["image_s"]
    assert trial_from_document(entry).estimate("image_s") == whole().estimate("image_s")


def test_a_verdict_is_in_the_unit_of_its_requirement() -> None:
    measured = trial(accuracy=(80, 100))
    [verdict] = judge(measured, profile(quantity="accuracy", limit=90.0, unit="%"))
    entry = verdict_entry(verdict, [NextStep("relax", limit=0.7)])
    assert (entry.metric, entry.limit, entry.unit, entry.verdict) == ("accuracy", 90.0, "%", "fail")
    assert [entry.value, entry.margin] == pytest.approx([80.0, -10.0])
    [step] = entry.next_steps
    assert step == NextStep("relax", limit=step.limit) and step.limit == pytest.approx(70.0)
    json.dumps(plain(entry), allow_nan=False)


def test_the_limit_of_a_size_is_that_of_its_tightest_side() -> None:
    sides = zip(("longest", "middle", "shortest"), (100.0, 80.0, 30.0), strict=True)
    declared = trial(
        estimates={
            EstimateKey("size_mm", "declared", stage=name): Estimate.exact(side) for name, side in sides
        }
    )
    [verdict] = judge(declared, profile(quantity="size_mm", limit=[12, 9, 2.9], unit="cm"))
    entry = verdict_entry(verdict, [NextStep("relax", limit=(120.0, 90.0, 30.0))])
    assert [entry.value, entry.limit] == pytest.approx([3.0, 2.9]) and entry.verdict == "fail"
    assert entry.next_steps[0].limit == (12.0, 9.0, 3.0)


@pytest.mark.parametrize(
    ("estimate", "bound"),
    [
        (Estimate(low=5.0, strict=True), "above"), (Estimate(low=5.0), "at least"),
        (Estimate(high=5.0, strict=True), "below"), (Estimate(high=5.0), "at most"),
        (Estimate(5.0, low=5.0), ""), (Estimate(), ""), (Estimate(low=math.inf, strict=True), ""),
    ],
)  # fmt: skip
def test_the_one_known_end_is_named(estimate: Estimate, bound: str) -> None:
    assert bound_of(estimate) == bound


def test_numbers_that_json_lacks_become_null_and_numpys_become_pythons() -> None:
    value = plain(
        {"a": math.nan, "b": np.float32(0.5), "c": np.int64(3), "d": np.array([1.0, np.inf]), 5: {1, 2}}
    )
    assert value == {"a": None, "b": 0.5, "c": 3, "d": [1.0, None], "5": [1, 2]}
