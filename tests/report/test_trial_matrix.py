"""Trials with their figures and their standing against profiles: in every form."""

from __future__ import annotations

import re
from dataclasses import replace

import markupsafe
from edgebench.judge.judged import Judged
from edgebench.judge.published import judge_published
from edgebench.judge.trial_summary import TrialSummary
from edgebench.judge.verdict import judge_all

from edgebench.judge.profile import Profile
from edgebench.report.blocks import Matrix, Standing
from edgebench.report.html import render
from edgebench.report.markdown import escape, export_markdown
from edgebench.report.page import MOST_ROWS, matrix_of, standings_of
from tests.fit.summaries import meter
from tests.fit.test_nearest import of, trial

ACCURACY = {"quantity": "accuracy", "limit": 0.8}
MASS = {"quantity": "mass_g", "limit": 9}


def made(trials: list[TrialSummary], profile: Profile) -> Matrix:
    verdicts = judge_all(trials, [profile])
    return matrix_of(trials, verdicts, {profile.name: "Mine"}, standings_of(trials, verdicts))


def standing(measured: TrialSummary, *requirements: dict[str, object]) -> Standing:
    (row,) = made([measured], of(*requirements)).rows
    assert row.standings[0]
    return row.standings[0]


def many(targets: int, of_each: int) -> list[TrialSummary]:
    return [
        replace(
            trial("a", 1.0 + target + at / 10), key=f"{target:08x}{at:08x}", target=f"t{target}", batch=at + 1
        )
        for target in range(targets)
        for at in range(of_each)
    ]


def test_a_row_has_values_with_intervals_and_a_standing_with_its_margins() -> None:
    matrix = made([trial("a", 1.0, accuracy=(95, 100))], of({"limit": 2.0}, ACCURACY))
    assert [column.heading for column in matrix.columns] == ["Latency per image, s", "Accuracy, %"]
    (row,) = matrix.rows
    assert row.figures == ("1.00 ±0.03", "95.0 (88.8 to 97.9)")
    assert row.standings[0] and row.standings[0].short == "✓ pass"
    assert [each.text for each in row.standings[0].judgements] == [
        "latency per image ≤ 2 s: 1.00 ±0.03 s, 1.00 s to spare",
        "accuracy ≥ 0.8: 0.950 (0.888 to 0.979), 0.150 to spare",
    ]
    assert row.standings[0].judgements[0].reason == "the whole 95 % interval meets the limit"
    assert matrix.profiles[0].about == "latency per image ≤ 2 s, accuracy ≥ 0.8"


def test_pass_is_said_only_where_everything_required_was_measured() -> None:
    assert standing(trial("a"), {"limit": 2.0}, MASS).short == "○ so far"
    assert standing(trial("a", mass_g=5.0), {"limit": 2.0}, MASS).short == "✓ pass"
    assert standing(trial("a"), {"limit": 2.0}, {**MASS, "wanted": True}).short == "✓ pass"
    assert standing(trial("a"), MASS).short == "? unknown"
    assert standing(trial("a", mass_g=50.0), {"limit": 2.0}, {**MASS, "wanted": True}).short == "✓ pass"


def test_the_requirement_that_decides_is_named_with_what_it_misses() -> None:
    failed = standing(trial("a", 3.0, mass_g=10.0), {"limit": 2.0}, MASS)
    assert failed.short == "✕ r0" and failed.decided_by and failed.decided_by.excess == "1.00 s over"
    undecided = standing(trial("a"), {"limit": 1.005}, MASS)
    assert undecided.short == "≈ r0" and undecided.decided_by
    assert re.fullmatch(r"0\.9\d+ to 1\.0\d+ s", undecided.decided_by.excess)
    assert "; to settle: some " in undecided.decided_by.reason
    assert undecided.judgements[1].reason.endswith("to settle: --board NAME")


def test_the_best_come_first_and_what_was_not_measured_last() -> None:
    trials = [
        trial("a", status="not_run", reason="no session has run"),
        trial("b", 9.0),
        trial("c", 1.5),
        replace(trial("e"), image_s=None, infer_s=None),
        trial("d", 1.0),
    ]
    matrix = made(trials, of({"limit": 2.0}))
    assert [row.name.split()[-1][0] for row in matrix.rows] == ["d", "c", "b", "a", "e"]
    last = matrix.rows[-2].standings[0]
    assert last and last.word == "unknown" and last.judgements[0].value == ""


def test_of_many_trials_the_others_are_folded_away() -> None:
    matrix = made(many(5, 8), of({"limit": 2.0}))
    assert (len(matrix.rows), len(matrix.folded)) == (MOST_ROWS, 40 - MOST_ROWS)
    assert matrix.rest == "16 more trials"
    assert {row.name.split(":")[0] for row in matrix.rows} == {f"t{target}" for target in range(5)}


def test_a_bound_stands_where_no_number_is_known() -> None:
    judged = judge_published()
    found = standings_of(judged.summaries, judged.verdicts)
    (nano,) = [each.key for each in judged.summaries if each.target == "jetson-nano"]
    standing = found[nano, "disco-realtime"]
    assert standing.decided_by and standing.decided_by.excess == "above 5.00 W"


def test_what_a_meter_covers_stands_with_its_figures() -> None:
    chip, board = trial("a", power=(meter(scope="chip"),)), trial("b", power=(meter(scope="board"),))
    profile = of({"quantity": "power_mean_w", "limit": 5.0})
    alone = made([chip], profile)
    assert "Peak power, W (chip)" in [column.heading for column in alone.columns]
    (undecided,) = [each for each in alone.rows[0].standings if each]
    assert undecided.decided_by and "--meter KIND that sees all of the board" in undecided.decided_by.reason
    over_1_s = of({"quantity": "power_peak_w", "limit": 5.0, "averaging_s": 1.0})
    assert "Peak sample, W (chip)" in [column.heading for column in made([chip], over_1_s).columns]
    mixed = made([chip, board], profile)
    at = [column.heading for column in mixed.columns].index("Peak power, W")
    assert {row.figures[at].split(" ", 1)[1] for row in mixed.rows} == {"(chip)", "(board)"}


def test_a_limited_metric_has_a_column_where_the_trials_differ_in_it() -> None:
    profile = of({"limit": 2.0}, MASS)
    alike = [trial("a", mass_g=5.0), trial("b", mass_g=5.0)]
    assert "Mass, g" not in [column.heading for column in made(alike, profile).columns]
    alike[0] = replace(alike[0], mass_g=6.0)
    assert "Mass, g" in [column.heading for column in made(alike, profile).columns]


def test_html_and_markdown_show_the_same_figures(whole: Judged) -> None:
    page = render(whole)
    markdown = export_markdown(whole)
    standings = standings_of(whole.summaries, whole.verdicts)
    titles = {profile.name: profile.title for profile in whole.profiles}
    matrix = matrix_of(whole.summaries, whole.verdicts, titles, standings)
    assert [len(of_profile) for of_profile in matrix.unknown] == [3, 3, 3]
    for text in matrix.unknown_texts:
        assert page.count(str(markupsafe.escape(text))) == 1
        assert escape(text) in markdown
    for row in matrix.rows:
        cells = [row.name, *row.figures, *(each.short for each in row.standings if each)]
        assert "| " + " | ".join(map(escape, cells)) + " |" in markdown
        for standing, unknown in zip(row.standings, matrix.unknown, strict=True):
            for judgement in standing.judgements if standing else ():
                if judgement not in unknown:
                    assert judgement.text in page and escape(judgement.short) in markdown
    assert "? unknown" not in markdown and "so far" in page
