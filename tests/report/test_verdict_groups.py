from __future__ import annotations

from dataclasses import replace

from edgebench.judge.trial_summary import Verdict
from edgebench.report import notes as verdict_groups
from edgebench.report import words
from tests.report import samples


def power(trial: str, margin: float, reason: str) -> Verdict:
    return Verdict(
        trial,
        "p",
        "power",
        "power_peak_w",
        "max",
        5.0,
        "W",
        5 - margin,
        None,
        None,
        "inconclusive",
        margin,
        reason,
    )


def test_what_all_trials_share_is_said_once() -> None:
    summaries = samples.nine()
    groups = verdict_groups.shared_verdicts(samples.verdicts(summaries, ("disco-realtime",)))
    sentences = [group.sentence() for group in groups]
    assert "power_peak_w max ≤ 5 W: unknown for all 9 trials: no meter was asked for" in sentences
    assert len(groups) == 4


def test_the_verdicts_of_one_requirement_are_counted_apart() -> None:
    summaries = samples.nine()
    summaries[7] = replace(summaries[7], image_s=samples.interval(5.1))
    groups = verdict_groups.shared_verdicts(
        [samples.latency(summary, "disco-realtime") for summary in summaries]
    )
    assert [(group.word, len(group.trials), group.of) for group in groups] == [("fail", 1, 9), ("pass", 8, 9)]
    assert (
        groups[0].sentence().startswith("image_s median ≤ 4.42 s: fail for 1 of 9 trials, margin -0.680 s: ")
    )


def test_reasons_that_differ_are_cut_to_what_they_share() -> None:
    several = [
        power("a", 1.5, "the meter covers the chip; 90 samples are too few"),
        power("b", 1.7, "the meter covers the chip; 130 samples are too few"),
    ]
    [group] = verdict_groups.shared_verdicts(several)
    assert group.sentence() == (
        "power_peak_w max ≤ 5 W: inconclusive for both trials, margin +1.50 W to +1.70 W: "
        "the meter covers the chip"
    )
    [group] = verdict_groups.shared_verdicts([power("a", 1.5, "one"), power("b", 1.5, "another")])
    assert group.reason == "one (and 1 other reason)"


def test_margins_of_power_that_meters_of_different_scopes_saw_are_in_no_common_range() -> None:
    board, other = (replace(power(trial, 1.5, "it meets it"), scope="board") for trial in "ab")
    chip = replace(power("c", 4.2, "it meets it"), scope="chip")
    sentences = [group.sentence() for group in verdict_groups.shared_verdicts([board, chip, other])]
    assert sentences == [
        "power_peak_w max ≤ 5 W: inconclusive for 2 of 3 trials, margin +1.50 W (board): it meets it",
        "power_peak_w max ≤ 5 W: inconclusive for 1 of 3 trials, margin +4.20 W (chip): it meets it",
    ]


def test_trials_without_a_session_are_left_to_their_own_reason() -> None:
    summaries = samples.nine()
    summaries[0] = samples.without_figures(0.25, "fp32", "failed", "it crashed", key=summaries[0].key)
    kept = verdict_groups.of_measured(samples.verdicts(summaries), summaries)
    assert {verdict.trial for verdict in kept} == {summary.key for summary in summaries[1:]}


def test_a_pass_is_not_cut_to_its_caveat() -> None:
    def accuracy(trial: str, k: int) -> Verdict:
        reason = f"the whole Wilson interval of {k} of 200 meets the limit; crops overlap"
        return replace(power(trial, 0.01 * k, reason), quantity="accuracy", verdict="pass", unit="1")

    [group] = verdict_groups.shared_verdicts([accuracy("a", 190), accuracy("b", 186)])
    assert group.reason == "the whole Wilson interval of … of 200 meets the limit; crops overlap"


def test_the_margin_of_a_percentage_is_in_points() -> None:
    accuracy = replace(power("a", -3.2, ""), quantity="accuracy", value=86.8, limit=90.0, unit="%")
    assert words.margin(accuracy) == "-3.20 points"
    assert [group.margin for group in verdict_groups.shared_verdicts([accuracy])] == ["margin -3.20 points"]
