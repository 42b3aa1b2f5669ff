from __future__ import annotations

from dataclasses import replace

from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import notes, tables, words
from edgebench.report.notes import Trials
from tests.report import samples


def lines(summaries: list[TrialSummary], verdicts: list[Verdict]) -> list[str]:
    trials = Trials.of(summaries, tables.trial_names(summaries))
    return [note.line for note in notes.of_verdicts(verdicts, summaries, trials)]


def power(summary: TrialSummary, **changes: object) -> Verdict:
    _, power, *_ = samples.verdicts([summary], ("disco-realtime",))
    return replace(power, verdict="fail", value=6.0, margin=-1.0, reason="it is above", **changes)  # type: ignore[arg-type]


def test_what_all_trials_share_is_said_once() -> None:
    summaries = samples.nine()
    said = lines(summaries, samples.verdicts(summaries, ("disco-realtime",)))
    assert any(
        line.startswith("all 9 trials: power_peak_w max ≤ 5 W: unknown: no meter was asked for")
        for line in said
    )
    assert len(said) == 4


def test_the_verdicts_of_one_requirement_are_counted_apart() -> None:
    summaries = samples.nine()
    summaries[7] = replace(summaries[7], image_s=samples.interval(5.1))
    said = lines(summaries, [samples.latency(summary, "disco-realtime") for summary in summaries])
    assert len(said) == 2 and said[0].startswith(
        "8 of 9 trials (all but 1.0 fp16): image_s median ≤ 4.42 s: pass"
    )
    assert said[1] == (
        "1.0 fp16: image_s median ≤ 4.42 s: fail, 5.10 ±0.06 s, margin -0.680 s: "
        "the whole interval lies above the limit"
    )


def test_reasons_that_differ_are_counted_behind_the_commonest() -> None:
    two = [samples.summary(), samples.summary(0.5)]
    verdicts = [power(two[0]), replace(power(two[1]), margin=-1.5, reason="another")]
    assert lines(two, verdicts) == [
        "both trials: power_peak_w max ≤ 5 W: fail, margin -1.50 to -1.00 W: it is above (and 1 other reason)"
    ]


def test_margins_of_power_that_meters_of_different_scopes_saw_are_in_no_common_range() -> None:
    two = [samples.summary(), samples.summary(0.5)]
    assert len(lines(two, [power(two[0], scope="board"), power(two[1], scope="chip")])) == 2


def test_trials_without_a_session_are_left_to_their_own_reason() -> None:
    summaries = samples.nine()
    summaries[0] = samples.without_figures(0.25, "fp32", "failed", "it crashed", key=summaries[0].key)
    kept = notes.of_measured(samples.verdicts(summaries), summaries)
    assert {verdict.trial for verdict in kept} == {summary.key for summary in summaries[1:]}


def test_the_margin_of_a_percentage_is_in_points() -> None:
    accuracy = power(samples.summary(), unit="%")
    assert words.margin(accuracy) == "-1.00 points"
