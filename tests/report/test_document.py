"""The document of --json: its fields, its schema, and its numbers."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from edgebench.judge.judged import Judged
from edgebench.judge.trial import EstimateKey
from edgebench.report.documents import document
from edgebench.report.schemas import schema
from edgebench.report.words import as_json

TRIAL_FIELDS = {
    "key", "target", "variant", "depth_multiplier", "precision", "status", "estimates", "rails", "workers",
    "warnings", "device_warnings", "failures", "scene", "marks", "confusions",
}  # fmt: skip
VERDICT_FIELDS = {
    "trial", "profile", "requirement", "metric", "statistic", "averaging_s", "wanted", "limit", "unit",
    "value", "low", "high", "bound", "basis", "verdict", "margin", "reason", "next_steps",
}  # fmt: skip


def read(judged: Judged) -> Any:
    return json.loads(as_json(document(judged)), parse_constant=pytest.fail)


@pytest.mark.parametrize("name", ["whole", "hostile", "bare", "nothing"])
def test_it_has_the_documented_fields(name: str, request: pytest.FixtureRequest) -> None:
    judged: Judged = request.getfixturevalue(name)
    found = read(judged)
    assert (found["schema_version"], found["experiment"]["name"]) == (1, "made")
    assert len(found["trials"]) == len(judged.results.experiment.trials)
    for trial in found["trials"]:
        assert set(trial) >= TRIAL_FIELDS
        for estimate in trial["estimates"].values():
            is_known = any(estimate[end] is not None for end in ("value", "low", "high"))
            assert is_known or estimate["reason"]
    for verdict in found["verdicts"]:
        assert set(verdict) == VERDICT_FIELDS
        assert bool(verdict["next_steps"]) <= (verdict["verdict"] != "pass")


@pytest.mark.parametrize("name", ["whole", "hostile", "bare", "nothing"])
def test_it_is_what_its_schema_says(name: str, request: pytest.FixtureRequest) -> None:
    described = schema("result")
    found = read(request.getfixturevalue(name))
    jsonschema.Draft202012Validator(described).validate(found)
    parts = described["properties"]
    for value, properties in (
        (found, parts),
        (found["experiment"], parts["experiment"]["properties"]),
        *((entry, parts["trials"]["items"]["properties"]) for entry in found["trials"]),
        *((entry, parts["verdicts"]["items"]["properties"]) for entry in found["verdicts"]),
    ):
        assert set(value) <= set(properties), "a field that the schema does not describe"


def test_numbers_are_those_of_the_trials(whole: Judged) -> None:
    for entry, trial in zip(read(whole)["trials"], whole.trials, strict=True):
        image_s, estimate = entry["estimates"]["image_s"], trial.estimate("image_s")
        assert (image_s["value"], image_s["low"], image_s["high"]) == (
            estimate.value, estimate.low, estimate.high,
        )  # fmt: skip
        assert tuple(image_s["session_values"]) == estimate.sessions and image_s["n"] == estimate.n
        share = trial.estimates[EstimateKey("accuracy", "share")]
        assert entry["estimates"]["accuracy"]["notes"] == list(share.notes)
        assert entry["confusions"][0]["n"] == list(trial.confusions[0].n)


def test_verdicts_are_in_the_unit_of_their_requirement(whole: Judged) -> None:
    entries = read(whole)["verdicts"]
    for entry, verdict in zip(entries, whole.verdicts, strict=True):
        assert (entry["verdict"], entry["unit"]) == (verdict.word, verdict.requirement.unit)
        if not isinstance(verdict.requirement.limit, tuple):
            assert entry["limit"] == verdict.requirement.limit
    mass = [entry for entry in entries if entry["metric"] == "mass_g"]
    assert {step["kind"] for entry in mass for step in entry["next_steps"]} == {"declare"}
    assert ["--board", "NAME"] in [step["arguments"] for step in mass[0]["next_steps"]]


def test_one_session_says_why_it_has_no_interval(bare: Judged) -> None:
    estimate = read(bare)["trials"][0]["estimates"]["image_s"]
    assert estimate["value"] and estimate["low"] is None and "1 session" in estimate["reason"]
