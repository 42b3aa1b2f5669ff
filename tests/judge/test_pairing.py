"""Pairs of the trials of two results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgebench.errors import UsageError
from edgebench.judge.comparisons.pairing import (
    ComparedTrial,
    Pairing,
    paired,
    require_targets,
    targets_against,
)
from edgebench.judge.trial import Trial
from edgebench.records.stored import ExperimentRecord, SceneRecord
from edgebench.records.target import Target
from edgebench.results.load import StoredResults
from tests.judge import trials

SCENE = SceneRecord(name="s", sha256="0", height=1, width=1, patch=1, rows=1, columns=1)


def trial(target: str = "cpu", variant: str = "m-int8", **changes: Any) -> Trial:
    fields = {"key": f"{target}{variant}", "target": target, "variant": variant} | changes
    made: Trial = trials.trial(**fields)
    return made


def swept(target: str, **settings: Any) -> Trial:
    text = ",".join(f"{name}={value}" for name, value in settings.items())
    return trial(f"{target}[{text}]", settings=settings)


def of_result(measured: list[Trial], revisions: dict[str, str | None] | None = None) -> list[ComparedTrial]:
    targets = tuple(
        Target(name=name, device="cpu", revision_of=planned) for name, planned in (revisions or {}).items()
    )
    record = ExperimentRecord(
        id="0" * 32, name="e", created_utc="", edgebench_version="",
        command=(), seed=0, sessions=1, passes=1, scene=SCENE,
        targets=targets, trials=(),
    )  # fmt: skip
    return [ComparedTrial.of(trial, StoredResults(Path("e"), record)) for trial in measured]


def pair(
    a: list[Trial],
    b: list[Trial],
    *against: str,
    revisions: dict[str, str | None] | None = None,
) -> Pairing:
    return paired(of_result(a, revisions), of_result(b, revisions), targets_against(against))


def names(pairing: Pairing) -> list[tuple[str, str]]:
    return [(a.target, b.target) for a, b in pairing.pairs]


def test_trials_pair_by_what_they_are_and_not_by_key() -> None:
    a = [trial(), trial(variant="m-fp32"), trial(batch=4), trial(concurrency=2), trial("nano")]
    b = [trial(key="other"), trial("nano", key="x"), trial(batch=8), trial("coral")]
    pairing = pair(a, b)
    assert [(a.key, b.key) for a, b in pairing.pairs] == [
        ("cpum-int8", "other"),
        ("nanom-int8", "x"),
    ]
    assert [left.batch for left in pairing.only_baseline] == [1, 4, 1]
    assert {left.reason for left in pairing.only_baseline} == {
        "the other result has no trial of this variant, batch and settings"
    }
    assert [left.reason for left in pairing.only_this][1:] == ["the other result has no such target"]


def test_settings_of_a_sweep_have_to_be_the_same() -> None:
    a = [swept("nano", power_mode="10W"), swept("nano", power_mode="5W")]
    b = [swept("nano", power_mode="5W"), trial("nano")]
    pairing = pair(a, b)
    assert names(pairing) == [("nano[power_mode=5W]", "nano[power_mode=5W]")]
    assert [left.target for left in pairing.only_baseline] == ["nano[power_mode=10W]"]


def test_the_one_target_of_each_result_is_compared_whatever_its_name() -> None:
    pairing = pair([trial("nano"), trial("nano", "m-fp32")], [trial("coral")])
    assert names(pairing) == [("nano", "coral")] and pairing.across == {"nano": "coral"}
    assert not pair([trial("nano"), trial("cpu")], [trial("coral")]).pairs


def test_targets_can_be_said_to_belong_together() -> None:
    a = [trial("nano"), trial("cpu"), swept("stick", threads=1), swept("stick", threads=4)]
    b = [trial("coral"), trial("laptop"), swept("ncs", threads=4)]
    pairing = pair(a, b, "nano=coral", "cpu=laptop", "stick=ncs")
    assert names(pairing) == [
        ("nano", "coral"), ("cpu", "laptop"), ("stick[threads=4]", "ncs[threads=4]")
    ]  # fmt: skip
    assert [left.target for left in pairing.only_baseline] == ["stick[threads=1]"]


def test_a_swept_target_that_is_named_whole_needs_no_partner_with_its_settings() -> None:
    a = [swept("nano", power_mode="10W"), swept("nano", power_mode="5W")]
    pairing = pair(a, [trial("coral")], "nano[power_mode=5W]=coral")
    assert names(pairing) == [("nano[power_mode=5W]", "coral")]
    other = pair([trial("coral")], a, "coral=nano[power_mode=10W]")
    assert names(other) == [("coral", "nano[power_mode=10W]")]


def test_a_pair_that_is_of_another_result_plays_no_part() -> None:
    assert names(pair([trial("nano")], [trial("nano"), trial("cpu")], "nano=coral")) == [("nano", "nano")]


def test_two_targets_of_one_result_can_be_compared() -> None:
    both = [trial("nano"), trial("coral")]
    pairing = pair(both, both, "nano=coral")
    assert ("nano", "coral") in names(pairing)


def test_a_revision_is_its_target_where_that_is_clear() -> None:
    revisions = {"nano": None, "nano (2)": "nano"}
    assert names(pair([trial("nano")], [trial("nano (2)")], revisions=revisions)) == [("nano", "nano (2)")]
    both = [trial("nano"), trial("nano (2)")]
    assert names(pair(both, both, revisions=revisions)) == [("nano", "nano"), ("nano (2)", "nano (2)")]


def test_of_trials_that_are_alike_those_of_one_key_pair() -> None:
    a, b = [trial(key="1"), trial(key="2")], [trial(key="2"), trial(key="3")]
    pairing = pair(a, b)
    assert [(a.key, b.key) for a, b in pairing.pairs] == [("2", "2")]
    # What is left on each side is alone now, and yet nobody knows that it belongs together.
    assert [left.reason for left in (*pairing.only_baseline, *pairing.only_this)] == [
        "several trials are of this target, variant, batch and settings"
    ] * 2


@pytest.mark.parametrize("text", ["nano", "=coral", "nano=", "nano[power_mode=5W]", ""])
def test_a_pair_that_names_no_two_targets_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="names no two targets"):
        targets_against([text])


def test_a_target_is_named_once_and_has_to_be_there() -> None:
    with pytest.raises(UsageError, match="there twice"):
        targets_against(["nano=coral", "cpu=coral"])
    with pytest.raises(UsageError, match="the baseline has no target 'nanno'") as error:
        require_targets({"nanno": "coral"}, of_result([trial("nano")]), of_result([trial("coral")]))
    assert "did you mean 'nano'" in error.value.fix
    with pytest.raises(UsageError, match="compared with it has no target 'corall'"):
        require_targets(
            {"nano": "corall"}, of_result([trial("nano")]), of_result([trial("coral"), trial("cpu")])
        )
