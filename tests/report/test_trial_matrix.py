"""Trials with their figures and their standing against profiles: in every form."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import markupsafe

from edgebench.judge.judged import Judged
from edgebench.judge.published import judge_published
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.trial import Trial
from edgebench.judge.verdicts.verdict import judge_all
from edgebench.report.matrix import MOST_ROWS, Matrix, ProfileCell, cells_of, matrix_of
from edgebench.report.page import first_screen
from edgebench.report.renderers.html import render
from edgebench.report.renderers.markdown import escape, export_markdown
from tests.judge.trials import exact, keyed, meter, profile_of
from tests.report import samples

ACCURACY = {"quantity": "accuracy", "limit": 0.8}
MASS = {"quantity": "mass_g", "limit": 9}


def trial(letter: str, seconds: float = 1.0, mass_g: float = 0.0, **changes: Any) -> Trial:
    estimates = {"mass_g": exact(mass_g)} if mass_g else {}
    made: Trial = keyed(letter, seconds, **{"estimates": estimates, **changes})
    return made


def made(trials: list[Trial], profile: Profile) -> Matrix:
    judged = samples.judged(trials, judge_all(trials, [profile]))
    return matrix_of(judged, {profile.name: "Mine"}, cells_of(judged))


def cell(measured: Trial, *requirements: dict[str, object]) -> ProfileCell:
    (row,) = made([measured], profile_of(*requirements)).rows
    assert row.profiles[0]
    return row.profiles[0]


def many(targets: int, batches: int) -> list[Trial]:
    return [
        trial("a", 1.0 + target + at / 10, key=f"{target:08x}{at:08x}", target=f"t{target}", batch=at + 1)
        for target in range(targets)
        for at in range(batches)
    ]


def test_a_row_has_values_with_intervals_and_verdicts_with_their_margins() -> None:
    matrix = made([trial("a", 1.0, accuracy=(95, 100))], profile_of({"limit": 2.0}, ACCURACY))
    assert [column.heading for column in matrix.columns] == ["Latency per image, s", "Accuracy, %"]
    (row,) = matrix.rows
    assert [estimate.text for estimate in row.estimates] == ["1.00 ±0.03", "95.0 (88.8 to 97.9)"]
    assert row.profiles[0] and row.profiles[0].short == "✓ pass"
    assert [verdict.text for verdict in row.profiles[0].verdicts] == [
        "latency per image ≤ 2 s: 1.00 ±0.03 s, 1.00 s to spare",
        "accuracy ≥ 0.8: 0.950 (0.888 to 0.979), 0.150 to spare",
    ]
    assert row.profiles[0].verdicts[0].reason == "the whole interval meets the limit"
    assert matrix.profiles[0].about == "latency per image ≤ 2 s, accuracy ≥ 0.8"


def test_pass_is_said_only_where_everything_required_was_measured() -> None:
    assert cell(trial("a"), {"limit": 2.0}, MASS).short == "○ so far"
    assert cell(trial("a", mass_g=5.0), {"limit": 2.0}, MASS).short == "✓ pass"
    assert cell(trial("a"), {"limit": 2.0}, {**MASS, "wanted": True}).short == "✓ pass"
    assert cell(trial("a"), MASS).short == "? unknown"
    assert cell(trial("a", mass_g=50.0), {"limit": 2.0}, {**MASS, "wanted": True}).short == "✓ pass"


def test_the_requirement_that_decides_is_named_with_what_it_misses() -> None:
    failed = cell(trial("a", 3.0, mass_g=10.0), {"limit": 2.0}, MASS)
    assert failed.short == "✕ r0" and failed.decided_by and failed.decided_by.excess == "1.00 s over"
    undecided = cell(trial("a"), {"limit": 1.005}, MASS)
    assert undecided.short == "≈ r0" and undecided.decided_by
    assert re.fullmatch(r"0\.9\d+ to 1\.0\d+ s", undecided.decided_by.excess)
    assert "; to settle: some " in undecided.decided_by.reason
    assert undecided.verdicts[1].reason.endswith("to settle: --board NAME")


def test_the_best_come_first_and_what_was_not_measured_last() -> None:
    trials = [
        trial("a", status="not_run", reason="no session has run"),
        trial("b", 9.0),
        trial("c", 1.5),
        replace(trial("e"), estimates={}, values={}),
        trial("d", 1.0),
    ]
    matrix = made(trials, profile_of({"limit": 2.0}))
    assert [row.name.split()[-1][0] for row in matrix.rows] == ["d", "c", "b", "a", "e"]
    last = matrix.rows[-2].profiles[0]
    assert last and last.word == "unknown" and "not measured" in last.verdicts[0].text


def test_of_many_trials_the_others_are_folded_away() -> None:
    matrix = made(many(5, 8), profile_of({"limit": 2.0}))
    assert (len(matrix.rows), len(matrix.folded)) == (MOST_ROWS, 40 - MOST_ROWS)
    assert matrix.rest == "16 more trials"
    assert {row.name.split(":")[0] for row in matrix.rows} == {f"t{target}" for target in range(5)}


def test_a_bound_stands_where_no_number_is_known() -> None:
    judged = judge_published()
    (nano,) = [trial.key for trial in judged.trials if trial.target == "jetson-nano"]
    decided_by = cells_of(judged)[nano, "disco-realtime"].decided_by
    assert decided_by and decided_by.excess == "above 5.00 W"


def test_what_a_meter_covers_stands_with_its_figures() -> None:
    chip, board = trial("a", power=(meter(scope="chip"),)), trial("b", power=(meter(scope="board"),))
    profile = profile_of({"quantity": "power_mean_w", "limit": 5.0})
    alone = made([chip], profile)
    assert "Peak power, W (chip)" in [column.heading for column in alone.columns]
    (undecided,) = [profile for profile in alone.rows[0].profiles if profile]
    assert undecided.decided_by and "--meter KIND that sees all of the board" in undecided.decided_by.reason
    over_1_s = profile_of({"quantity": "power_peak_w", "limit": 5.0, "averaging_s": 1.0})
    assert "Peak sample, W (chip)" in [column.heading for column in made([chip], over_1_s).columns]
    mixed = made([chip, board], profile)
    at = [column.heading for column in mixed.columns].index("Peak power, W")
    assert {row.estimates[at].text.split(" ", 1)[1] for row in mixed.rows} == {"(chip)", "(board)"}


def test_a_limited_metric_has_a_column_where_the_trials_differ_in_it() -> None:
    profile = profile_of({"limit": 2.0}, MASS)
    alike = [trial("a", mass_g=5.0), trial("b", mass_g=5.0)]
    assert "Mass, g" not in [column.heading for column in made(alike, profile).columns]
    alike[0] = trial("a", mass_g=6.0)
    assert "Mass, g" in [column.heading for column in made(alike, profile).columns]


def test_html_and_markdown_show_the_same_figures(whole: Judged) -> None:
    page = render(whole)
    markdown = export_markdown(whole)
    matrix = first_screen(whole).matrix
    assert [len(shared) for shared in matrix.unknown] == [3, 3, 3]
    for text in matrix.unknown_texts:
        assert page.count(str(markupsafe.escape(text))) == 1
        assert escape(text) in markdown
    for row in matrix.rows:
        texts = [row.name, *(estimate.text for estimate in row.estimates)]
        texts += [profile.short for profile in row.profiles if profile]
        assert "| " + " | ".join(map(escape, texts)) + " |" in markdown
        for place, profile in enumerate(row.profiles):
            for verdict in profile.verdicts if profile else ():
                if not matrix.is_shared(place, verdict):
                    assert verdict.text in page and escape(verdict.short) in markdown
    assert "? unknown" not in markdown and "so far" in page
