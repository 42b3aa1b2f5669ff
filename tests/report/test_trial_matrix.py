"""Trials against requirements: on the page, in Markdown and on the terminal."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

from edgebench.judge.answers import answers
from edgebench.judge.judged import Judged
from edgebench.judge.profile import Profile
from edgebench.judge.published import judge_published
from edgebench.judge.trial_summary import TrialSummary
from edgebench.judge.verdict import judge_all
from edgebench.report.blocks import Matrix
from edgebench.report.console import make_console
from edgebench.report.html import render
from edgebench.report.markdown import escape, export_markdown
from edgebench.report.verdict_matrix import MOST_ROWS, matrices
from tests.fit.summaries import meter
from tests.fit.test_nearest import of, trial
from tests.report import samples


def matrix_of(trials: list[TrialSummary], profile: Profile) -> Matrix:
    verdicts = judge_all(trials, [profile])
    decided = answers(trials, [profile], verdicts).decisions
    (matrix,) = matrices(trials, verdicts, decided).values()
    return matrix


def many(targets: int, of_each: int) -> list[TrialSummary]:
    return [
        replace(
            trial("a", 1.0 + target + at / 10), key=f"{target:08x}{at:08x}", target=f"t{target}", batch=at + 1
        )
        for target in range(targets)
        for at in range(of_each)
    ]


def test_a_cell_has_symbol_margin_and_the_figure_with_its_interval() -> None:
    matrix = matrix_of([trial("a", 1.0, accuracy=(95, 100))], of({"limit": 2.0}, ACCURACY))
    latency, accuracy = matrix.rows[0].cells
    assert latency and re.fullmatch(r"✓ \+1\.00 s; 1\.00 ±0\.03 s", latency.text)
    assert accuracy and accuracy.text == "✓ +0.150; 0.950 ±0.062"
    assert latency.reason == "the whole 95 % interval meets the limit"


ACCURACY = {"quantity": "accuracy", "limit": 0.8}


def test_an_open_cell_says_what_would_settle_it() -> None:
    matrix = matrix_of(
        [trial("a"), trial("b", 1.1)], of({"limit": 1.005}, {"quantity": "mass_g", "limit": 9})
    )
    (first, second), (_, mass) = (row.cells for row in matrix.rows)
    assert first and first.word == "inconclusive" and "--sessions" in first.by
    assert second and second.text == "? unknown" and second.by == "--board NAME"
    assert mass and mass.hint == "the target's description gives no mass; to settle: --board NAME"
    assert [column.by for column in matrix.columns] == ["", "--board NAME"]  # open of all by the same


def test_the_best_come_first_and_what_was_not_measured_last() -> None:
    trials = [
        trial("a", status="not_run", reason=""),
        trial("b", 9.0),
        trial("c", 2.1),
        trial("d", 1.0),
        trial("e", 1.2, mass_g=5.0),
    ]
    names = {each.key: each.key[0] for each in trials}
    profile = of({"limit": 2.0}, {"quantity": "mass_g", "limit": 9})
    judged = judge_all(trials, [profile])
    (matrix,) = matrices(trials, judged, answers(trials, [profile], judged).decisions).values()
    order = [row.name.split()[-1][0] for row in matrix.rows]
    assert set(order) == set(names.values()) and order == ["e", "d", "c", "b", "a"]
    last = matrix.rows[-1].whole
    assert (last.word, last.by) == ("unknown", "--resume")
    assert not any(cell.by for cell in matrix.rows[-1].cells if cell)


def test_the_trial_of_the_answer_is_the_first_row() -> None:
    """By its value `a` misses by less, and by its interval's end, which a pass needs, `b`."""
    a = replace(trial("a"), image_s_values=((2.0,), (2.5,), (3.0,)))
    b = replace(trial("b"), image_s_values=((2.59,), (2.6,), (2.61,)))
    matrix = matrix_of([a, b], of({"limit": 1.0}))
    assert matrix.rows[0].name.endswith("bbbbbb")


def test_of_many_trials_the_others_are_folded_away() -> None:
    matrix = matrix_of(many(5, 8), of({"limit": 2.0}))
    assert (len(matrix.rows), len(matrix.folded)) == (MOST_ROWS, 40 - MOST_ROWS)
    assert matrix.rest == "The other 16 trials: 3 pass, 13 fail"
    assert {row.name.split(":")[0] for row in matrix.rows} == {f"t{target}" for target in range(5)}


def test_a_bound_stands_where_no_number_is_known() -> None:
    judged = judge_published()
    found = matrices(judged.summaries, judged.verdicts)["disco-realtime"]
    (nano,) = [row for row in found.rows + found.folded if row.name.startswith("jetson-nano")]
    assert "✕ above 5.00 W" in [cell.text for cell in nano.cells if cell]


def test_html_and_markdown_show_the_same_cells(whole: Judged) -> None:
    page = render(whole.results, whole.summaries, whole.verdicts, whole.profiles)
    markdown = export_markdown(whole.results, whole.summaries, whole.verdicts, whole.profiles)
    for matrix in matrices(whole.summaries, whole.verdicts).values():
        for row in matrix.rows:
            (line,) = {
                line
                for line in markdown.splitlines()
                if line.startswith(f"| {row.name} |") and escape(row.cells[0].text) in line  # type: ignore[union-attr]
            }
            for cell in row.cells:
                assert cell and escape(cell.text) in line
                assert f'title="{cell.hint}"'.replace("'", "&#39;") in page
                assert cell.margin in page and cell.behind in page
    assert '<span class="v pass"><span class="spoken">pass </span>+' in page
    assert "to settle: --board NAME" in " ".join(markdown.split())


def terminal(trials: list[TrialSummary], profile: Profile) -> list[str]:
    verdicts = judge_all(trials, [profile])
    file = io.StringIO()
    decided = answers(trials, [profile], verdicts).decisions
    samples.print_result(make_console(file), trials, verdicts, decided, figures=False)
    return file.getvalue().splitlines()


def test_the_terminal_shows_the_best_of_each_target_and_counts_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = terminal(many(12, 9), of({"limit": 1.65}))
    rows = [line for line in lines if re.match(r"t\d+: 0\.25 int8 b1 ", line)]
    assert len(rows) == 12 and rows[0].startswith("t0: ")
    assert "✓ +" in rows[0] and "✕ -" in rows[-1]
    assert re.search(r"The other 84 trials: \d pass, \d\d fail\.", "\n".join(lines))
    assert max(map(len, lines)) <= 80


def test_a_meter_of_a_part_stands_beside_its_margin() -> None:
    chip = trial("a", power=(meter(scope="chip"),))
    matrix = matrix_of([chip], of({"quantity": "power_mean_w", "limit": 5.0}))
    (cell,) = matrix.rows[0].cells
    assert cell and (cell.behind.endswith(" (chip)"), cell.by) == (
        True,
        "--meter KIND that sees all of the board",
    )
