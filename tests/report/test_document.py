from __future__ import annotations

import json
import math
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

from edgebench.judge.answers import answers
from edgebench.judge.columns import missing_reasons
from edgebench.judge.judged import Judged
from edgebench.report.forms import document
from edgebench.report.schemas import schema
from edgebench.report.words import as_json, clean
from tests.report import samples

TRIAL_FIELDS = {
    "key", "target", "variant", "depth_multiplier", "precision", "status", "image_s", "infer_s", "stages_ms",
    "cold", "accuracy", "power", "power_reason", "memory_bytes", "artifact_bytes", "workers", "warnings",
}  # fmt: skip
VERDICT_FIELDS = {
    "trial", "profile", "requirement", "statistic", "limit", "unit", "value", "low", "high",
    "verdict", "margin",
    "reason",
}  # fmt: skip


def made(judged: Judged) -> dict[str, object]:
    beyond = answers(judged.summaries, judged.profiles, judged.verdicts)
    return document(judged.results, judged.summaries, judged.verdicts, beyond)


@pytest.mark.parametrize("name", ["whole", "hostile", "bare", "nothing"])
def test_it_has_the_documented_fields_and_survives_json(name: str, request: pytest.FixtureRequest) -> None:
    judged: Judged = request.getfixturevalue(name)
    read = json.loads(as_json(made(judged)), parse_constant=pytest.fail)
    assert read["schema_version"] == 1
    assert read["experiment"]["name"] == "made"
    assert len(read["trials"]) == len(judged.results.experiment.trials)
    for trial in read["trials"]:
        assert set(trial) >= TRIAL_FIELDS
        for figure in ("image_s", "infer_s", "accuracy"):
            assert trial[figure] is not None or trial["reasons"][figure]
        assert trial["power"] is not None or trial["power_reason"]
    for verdict in read["verdicts"]:
        assert set(verdict) >= VERDICT_FIELDS


@pytest.mark.parametrize("name", ["whole", "hostile", "bare", "nothing"])
def test_it_is_what_its_schema_says(name: str, request: pytest.FixtureRequest) -> None:
    described = schema("result")
    validator = jsonschema.Draft202012Validator(described)
    read = json.loads(as_json(made(request.getfixturevalue(name))))
    validator.validate(read)
    for value, properties in (
        (read, described["properties"]),
        (read["experiment"], described["properties"]["experiment"]["properties"]),
        *((record, described["properties"]["trials"]["items"]["properties"]) for record in read["trials"]),
        *(
            (record, described["properties"]["verdicts"]["items"]["properties"])
            for record in read["verdicts"]
        ),
    ):
        assert set(value) <= set(properties), "a field that the schema does not describe"


def test_figures_are_those_of_the_summaries(whole: Judged) -> None:
    read = made(whole)
    for trial, summary in zip(read["trials"], whole.summaries, strict=True):  # type: ignore[call-overload]
        assert summary.image_s is not None
        assert summary.accuracy is not None
        assert trial["image_s"]["median"] == summary.image_s.median
        assert trial["image_s"]["sessions"] == 3
        assert trial["accuracy"]["k"] == summary.accuracy.k
        assert trial["reasons"].get("image_s") is None


def test_numbers_that_json_lacks_become_null_and_numpys_become_pythons() -> None:
    value = clean(
        {"a": math.nan, "b": np.float32(0.5), "c": np.int64(3), "d": np.array([1.0, np.inf]), 5: {1, 2}}
    )
    assert value == {"a": None, "b": 0.5, "c": 3, "d": [1.0, None], "5": [1, 2]}
    json.dumps(value, allow_nan=False)


def test_one_session_says_why_it_has_no_interval(bare: Judged) -> None:
    trial = made(bare)["trials"][0]  # type: ignore[index]
    assert trial["image_s"]["low"] is None
    assert "too few sessions" in trial["reasons"]["image_s.interval"]


def test_every_missing_figure_has_a_reason() -> None:
    failed = samples.without_figures(0.25, "int8", "failed", "it crashed")
    missing = missing_reasons(replace(failed, artifact_bytes=None))
    assert {name for name, reason in missing.items() if reason} == {
        "image_s", "infer_s", "request_ms", "in_flight", "accuracy", "scene_accuracy", "agreement", "power",
        "memory_bytes", "artifact_bytes", "mass_g", "size_mm", "paced", "instructions", "start_s",
        "accuracy_drop", "failed_sessions", "boot_s", "update_bytes", "auc", "sharing",
            "image_bytes",
    }  # fmt: skip
