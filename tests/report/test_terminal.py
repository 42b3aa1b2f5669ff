from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest

from edgebench.judge.judged import Judged, judge_folder
from edgebench.judge.requirements.profile import shipped_profiles
from edgebench.judge.requirements.requirement import Requirement
from edgebench.judge.trial import Ended, Estimate, SceneOfTrial, Trial
from edgebench.judge.verdicts.front import fronts
from edgebench.judge.verdicts.verdict import Verdict
from edgebench.report.missions import brief_missions
from edgebench.report.page import first_screen
from edgebench.report.renderers.blocks import Column, Table
from edgebench.report.renderers.terminal import make_console, print_first_screen, print_sections, print_table
from edgebench.report.sections import details
from edgebench.stats.warnings import Caution, Flag
from tests import synthetic_results
from tests.judge.trials import trial as steady_trial
from tests.report import samples
from tests.report.samples import print_result


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "TTY_COMPATIBLE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


def printed(trials: list[Trial], verdicts: list[Verdict], *, details: bool = False) -> str:
    file = io.StringIO()
    print_result(make_console(file), trials, verdicts, details=details)
    return file.getvalue()


@pytest.mark.parametrize(("width", "most"), [(80, 30), (100, 28)])
def test_nine_trials_and_three_profiles_fit_on_one_screen(
    whole: Judged, width: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    file = io.StringIO()
    print_first_screen(make_console(file), first_screen(whole))
    lines = file.getvalue().splitlines()
    assert len(whole.trials) == 9 and len(whole.profiles) == 3
    assert 12 < len(lines) <= most
    assert max(map(len, lines)) <= width


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_nothing_is_wider_than_the_console(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    trials = samples.nine()
    slow = samples.interval(12345.678, sessions=2)
    trials[7] = samples.changed(trials[7], image_s=slow, cautions=(samples.said("x" * 300),))
    trials[8] = samples.without_figures(1.0, "int8", "failed", "the worker was killed " * 9)
    trials += [samples.summary(target="a board with a very long name " * 3, key="e" * 16)]
    text = printed(trials, samples.verdicts(trials), details=True)
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [50, 80, 120])
def test_intervals_are_shown_whole_or_not_at_all(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    wide = replace(samples.interval(0.247), low=0.1461, high=0.4187)
    nine = samples.nine(image_s=wide, infer_s=wide)
    text = printed(nine, samples.verdicts(nine))
    assert text.count("(0.146 to 0.419)") == (0 if width == 50 else 9)
    assert text.count("0.247") >= 9
    for name in ("0.25 fp32", "1.0 int8"):
        assert len(re.findall(rf"^{name} ", text, re.MULTILINE)) >= 1


def test_details_have_the_margins() -> None:
    trials = [samples.summary(1.0, "fp16", image_s=samples.interval(5.1))]
    verdicts = samples.verdicts(trials, ("disco-realtime",))
    assert "✕ -0.680 s" not in printed(trials, verdicts)
    assert "✕ -0.680 s" in printed(trials, verdicts, details=True)
    text = " ".join(printed(trials, verdicts).split())
    assert "which misses latency per image ≤ 4.42 s by 0.680 s (15.4 % of it)." in text


def test_power_is_that_of_the_first_rail_with_its_scope() -> None:
    made: dict[str, Any] = {"energy_j": Estimate(), "reason": "the window is too short"}
    rail, other = samples.power(**made), samples.power(channel="dram", power_peak_w=7.75, **made)
    trials = [samples.summary(power=(rail, other))]
    text = printed(trials, [])
    assert "14.1" in text and "(chip)" in text and "7.75" not in text
    details = printed(trials, [], details=True)
    assert "rapl package-0: the window is too short" in details and "7.75" in details
    assert "rapl" not in printed([samples.summary()], [], details=True)


def test_a_session_that_failed_and_was_repeated_is_told() -> None:
    failed = "session 001: crash in measure: the worker ended (SIGSEGV)"
    text = " ".join(printed([samples.summary(failures=(failed,))], [], details=True).split())
    assert f"0.25 int8: {failed}" in text


def test_what_was_assumed_of_the_input_stands_at_the_accuracy() -> None:
    trials = [
        samples.summary(accuracy=samples.accuracy(24, 120), assumed=("pixels as -1..1 (--input-scale)",)),
        samples.summary(0.5),
    ]
    text = printed(trials, [])
    assert "0.25 int8: assumed of its input: pixels as -1..1 (--input-scale)" in text


def test_a_trial_that_failed_is_named_with_its_reason() -> None:
    trials = [samples.without_figures(0.25, "fp16", "failed", "killed by SIGSEGV"), samples.summary()]
    text = printed(trials, samples.verdicts(trials))
    assert "0.25 fp16: failed: killed by SIGSEGV" in text


def test_a_disturbed_measurement_is_said_below_the_decisions() -> None:
    throttled = Caution(Flag.THROTTLED, 1, 3, what="clock capped")
    text = printed([samples.summary(cautions=(throttled,)), samples.summary(0.5)], [])
    assert "Disturbed: 0.25 int8: throttled: clock capped" in " ".join(text.split())


def test_nothing_at_all() -> None:
    assert printed([], []).startswith("made: no trials")


def test_what_a_pass_leaves_out_stands_beside_the_figures() -> None:
    cut = SceneOfTrial("greenland, 64 patches of 512 x 512, 82.4 % of the scene", covered=0.824)
    shown = " ".join(printed(samples.nine(scene=cut), [], details=True).split())
    assert shown.count(f"timed with {cut.text}") == 1
    assert "timed with" not in printed(samples.nine(), [], details=True)


def test_profiles_without_room_come_below_with_the_trials_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    text = printed(samples.nine(), samples.verdicts(samples.nine()))
    assert len(re.findall(r"^1\.0 int8  ", text, re.MULTILINE)) == 2
    assert text.count("○ so far") == 27


def test_outside_text_is_shown_as_it_is_and_moves_no_cursor(hostile: Judged) -> None:
    text = printed(hostile.trials, hostile.verdicts, details=True)
    assert "[red]x[/red]" in text
    assert "\u202e" not in text
    escapes = [samples.summary(target="a\x1b[2Jb\x07", cautions=(samples.said("[bold]w\x9b31m"),))]
    text = printed(escapes, samples.verdicts(escapes), details=True)
    assert "\x1b" not in text and "\x07" not in text and "\x9b" not in text
    assert "[bold]w" in text


def test_colour_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = [samples.summary(image_s=samples.interval(5.1))]
    verdicts = samples.verdicts(trials)
    without = printed(trials, verdicts)
    assert "\x1b" not in without
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = printed(trials, verdicts)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == without
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", printed(trials, verdicts))
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in printed(trials, verdicts)


def test_a_terminal_that_takes_ascii_alone() -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    trials = [samples.summary(target="Grönland")]
    print_result(make_console(file), trials, samples.verdicts(trials))
    file.flush()
    text = file.buffer.getvalue().decode("ascii")
    assert "Gr?nland" in text and "o so far" in text


def test_why_no_more_was_measured_is_told_where_it_is_not_the_plain_number() -> None:
    text = "half-width 0.8 % of 1 % asked, after 7 sessions"
    trial = steady_trial()
    ended = replace(trial, ended=Ended("rule", 7, 0.008, (), text))
    assert text in " ".join(printed([ended], []).split())
    planned = replace(trial, ended=Ended("sessions", 3, 0.02, (), "3 sessions, as planned"))
    assert "as planned" not in printed([planned], [], details=True)


def test_what_few_sessions_cannot_show_is_said_once() -> None:
    trial = steady_trial()
    both = printed([trial, replace(trial, key="f" * 16, target="other")], [], details=True)
    assert " ".join(both.split()).count("3 sessions can miss slow starts") == 1


def test_figures_of_another_machine_are_not_called_unmeasured() -> None:
    machine = "measured on another machine (an x86 PC) than the declared Raspberry Pi 4B"
    trials = samples.nine(doubts={"machine": machine})
    verdicts = samples.verdicts(trials)
    text = " ".join(printed(trials, verdicts).split())
    assert f"Not judged: latency per image and peak power ({machine})." in text
    assert "Not measured: latency" not in text


def test_what_some_trials_leave_undecided_is_not_said_of_all() -> None:
    trials = samples.nine()
    verdicts = samples.verdicts(trials, ("disco-realtime",))
    table = {"name": "memory", "quantity": "memory_bytes", "limit": 1.0, "unit": "bytes"}
    requirement = Requirement.model_validate(table)
    latency = [verdict for verdict in verdicts if verdict.requirement.quantity == "image_s"]
    memory = [replace(verdict, requirement=requirement, word="inconclusive") for verdict in latency]
    assert "Undecided for all" not in printed(trials, [*verdicts, *memory[:2]])
    assert "Undecided for all" in printed(trials, [*verdicts, *memory])


def test_details_say_once_what_is_unknown_for_every_trial(whole: Judged) -> None:
    file = io.StringIO()
    every = details(whole, fronts(whole.trials, whole.profiles), [], first_screen(whole).matrix)
    print_sections(make_console(file), every)
    text = " ".join(file.getvalue().split())
    assert text.count("mass and size: --board NAME (all 9 trials)") == 1 and "? unknown" not in text
    assert text.startswith("What would settle open verdicts")


@pytest.fixture(scope="module")
def metered(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Nine variants with a meter, and one profile after the other that limits its power."""
    profiles = [profile.as_record() for profile in shipped_profiles()]
    folder = tmp_path_factory.mktemp("metered")
    return judge_folder(
        synthetic_results.made_experiment(
            folder, variants=synthetic_results.NINE, profiles=profiles, power=True
        )
    )


def test_details_of_nine_trials_and_three_profiles_are_short(metered: Judged) -> None:
    file = io.StringIO()
    screen = first_screen(metered)
    print_first_screen(make_console(file), screen, details=True)
    missions = brief_missions(metered)
    every = details(metered, fronts(metered.trials, metered.profiles), missions, screen.matrix)
    print_sections(make_console(file), every)
    lines = file.getvalue().splitlines()
    assert len(metered.trials) == 9 and len(metered.profiles) == 3
    assert 60 < len(lines) <= 115
    assert max(map(len, lines)) <= 80
    headings = ("What would settle", "Margins and reasons", "Trials", "Warnings")
    places = [next(at for at, line in enumerate(lines) if line.startswith(each)) for each in headings]
    assert places == sorted(places)
    confusions = [line for line in lines if re.search(r"[a-z]+ as [a-z]+ \(\d+\)", line)]
    assert sorted(line.split("  ")[0] for line in confusions) == sorted(
        f"{depth} {precision}" for depth in ("0.25", "0.5", "1.0") for precision in ("fp32", "fp16", "int8")
    )
    assert lines[-1] == "edgebench report made -o report.html"


def test_columns_without_room_come_in_parts_with_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    headings = [f"quantity {number}" for number in range(12)]
    columns = (Column("trial"), *(Column(heading, figures=True) for heading in headings))
    rows = tuple((name, *("123.4567",) * 12) for name in ("0.25 int8", "1.0 fp32"))
    print_table(make_console(), Table("", columns, rows))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("0.25 int8") for line in lines) == 2
    assert sum(line.count("123.4567") for line in lines) == 24


def test_names_are_never_cut_inside_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    columns = (Column("result", long=True), *(Column(each, figures=True) for each in ("date", "value")))
    print_table(make_console(), Table("", columns, (("20260701-101828-openvino-9", "2" * 31, "3" * 20),)))
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:] if line.strip()]
    assert names == ["20260701-101828-", "openvino-9"]


def test_a_block_of_lines_has_none_for_an_empty_cell(capsys: pytest.CaptureFixture[str]) -> None:
    columns = (Column("trial"), Column("load ≤ 1", figures=True), Column("latency", figures=True))
    print_table(make_console(), Table("", columns, (("0.25 int8", "", "1" * 79),)))
    text = capsys.readouterr().out
    assert "latency:" in text and "load" not in text


def test_a_table_of_sentences_without_rows_is_its_headings() -> None:
    file = io.StringIO()
    print_table(make_console(file), Table("none", (Column("n", figures=True), Column("why", long=True)), ()))
    assert file.getvalue().splitlines()[0].split() == ["n", "why"]
