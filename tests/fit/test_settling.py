"""What would settle a verdict, and that every option it names is one."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from typer.main import get_command

from edgebench.cli.main import app
from edgebench.fit.metrics import required_metrics
from edgebench.fit.published_experiment import judge_published
from edgebench.fit.settling import settled_by
from edgebench.fit.trial_summary import TrialSummary
from edgebench.fit.verdict import judge
from edgebench.vocabulary.declared_conditions import DeclaredBoot
from edgebench.vocabulary.declared_power import DeclaredPower
from tests.fit.summaries import STEADY, meter, summary
from tests.fit.test_nearest import of


def by(trial: TrialSummary, **requirement: Any) -> tuple[str, str]:
    (verdict,) = judge(trial, of(requirement))
    return verdict.verdict, settled_by(trial, verdict)


def options(command: str) -> set[str]:
    found = get_command(app).commands[command]  # type: ignore[attr-defined]
    return {option for parameter in found.params for option in parameter.opts}


@pytest.mark.parametrize("metric", required_metrics().values(), ids=lambda metric: metric.name)
def test_every_metric_that_may_be_unknown_says_what_brings_it(metric: Any) -> None:
    assert metric.brought_by
    assert set(re.findall(r"--[a-z-]+", metric.brought_by)) <= options("run")


def test_what_is_declared_can_be_declared_when_it_is_judged() -> None:
    for name in ("mass_g", "size_mm", "boot_s", "temperature_c"):
        assert set(re.findall(r"--[a-z-]+", required_metrics()[name].brought_by)) <= options("fit")


def test_what_is_settled_or_carried_out_by_no_device_takes_nothing() -> None:
    assert by(summary(), limit=9.0) == ("pass", "")
    assert by(summary(), limit=0.1) == ("fail", "")
    assert by(replace(summary(), emulated=True), limit=9.0) == ("unknown", "")
    assert by(replace(summary(), status="not_run"), limit=9.0) == ("unknown", "--resume")


def test_so_many_sessions_as_their_spread_foretells() -> None:
    word, way = by(summary(), limit=1.005)
    assert word == "inconclusive"
    needed = int(re.fullmatch(r"some (\d+) sessions \(--sessions \1\)", way)[1])  # type: ignore[index]
    assert 4 <= needed <= 60
    assert by(summary(STEADY[:2]), limit=2.0)[1] == "some 3 sessions (--sessions 3)"
    assert by(summary(STEADY[:1]), limit=2.0)[1] == "more sessions (--sessions 3 or more)"


def test_a_percentile_takes_so_many_passes() -> None:
    assert by(summary(), limit=2.0, statistic="p99") == (
        "inconclusive",
        "100 passes a session (--passes 100)",
    )


def test_a_share_takes_so_many_images() -> None:
    word, way = by(summary(accuracy=(95, 100)), quantity="accuracy", limit=0.93)
    images = int(re.fullmatch(r"some (\d+) images \(--images DIR\|CSV\)", way)[1])  # type: ignore[index]
    enough = summary(accuracy=(round(0.95 * images), images))
    assert (word, by(enough, quantity="accuracy", limit=0.93)[0]) == ("inconclusive", "pass")
    assert 500 <= images <= 1500


def test_a_meter_that_decides() -> None:
    peak = {"quantity": "power_peak_w", "limit": 9.0}
    assert by(summary(), **peak)[1] == "--meter KIND, or --declared-power POWER"
    chip = summary(power=(meter(scope="chip"),))
    assert by(chip, **peak) == ("inconclusive", "--meter KIND that sees all of the board")
    slow = summary(power=(meter(effective_hz=10.0),))
    assert by(slow, **peak) == ("inconclusive", "--meter KIND that is faster and leaves no gap")
    typical = replace(summary(), declared_power=(DeclaredPower(3.0, "typical", "label"),))
    assert by(typical, **peak) == ("inconclusive", "--meter KIND")
    spread = summary(power=(meter(energy_j_sessions=(5.0, 6.0, 7.0)),))
    word, way = by(spread, quantity="energy_j", limit=6.2)
    assert word == "inconclusive" and way.startswith("some ") and "--sessions" in way


def test_a_typical_boot_time_takes_a_maximum() -> None:
    typical = replace(summary(), boot_s=DeclaredBoot(10.0, "typical", "sheet"))
    assert by(typical, quantity="boot_s", limit=20.0)[1] == "--declared boot_s:SECONDS:maximum:SOURCE"


def test_what_others_published_is_settled_by_measuring() -> None:
    judged = judge_published()
    trials = {trial.key: trial for trial in judged.summaries}
    ways = {settled_by(trials[verdict.trial], verdict) for verdict in judged.verdicts}
    assert ways == {"", "a run of one's own (`edgebench run`)"}
