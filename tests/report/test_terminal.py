from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

from edgebench.judge.decision import decisions
from edgebench.judge.judged import Judged
from edgebench.judge.trial_summary import Ended, TrialSummary, Verdict
from edgebench.report import tables
from edgebench.report.console import make_console
from edgebench.report.forms import export_csv
from tests.fit.summaries import summary
from tests.report import samples
from tests.report.samples import print_result


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "TTY_COMPATIBLE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "80")


def printed(summaries: list[TrialSummary], verdicts: list[Verdict], *, figures: bool = True) -> str:
    file = io.StringIO()
    decided = decisions(summaries, verdicts, [])
    print_result(make_console(file), summaries, verdicts, decided, figures=figures)
    return file.getvalue()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_nothing_is_wider_than_the_console(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    summaries = samples.nine()
    summaries[7] = replace(
        summaries[7], image_s=samples.interval(12345.678, sessions=2), cautions=(samples.said("x" * 300),)
    )
    summaries[8] = samples.without_figures(1.0, "int8", "failed", "the worker was killed " * 9)
    summaries += [samples.summary(target="a board with a very long name " * 3, key="e" * 16)]
    text = printed(summaries, samples.verdicts(summaries))
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.parametrize("width", [50, 80, 100])
def test_a_wide_interval_is_whole_and_so_is_the_name_of_its_variant(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    wide = replace(samples.interval(0.247), low=0.1461, high=0.4187)
    text = printed([replace(summary, image_s=wide, infer_s=wide) for summary in samples.nine()], [])
    assert text.count("(0.146 to 0.419)") == 18
    for name in ("0.25 fp32", "0.25 fp16", "1.0 int8"):
        assert text.count(name) == 1
    assert "61.2 MB" in text
    assert ("trial " in text) == (width >= 80)


def test_a_failed_latency_has_a_negative_margin() -> None:
    summaries = [samples.summary(1.0, "fp16", image_s=samples.interval(5.1))]
    text = printed(summaries, samples.verdicts(summaries, ("disco-realtime",)))
    assert re.search(r"✕ -0\.680", text)
    assert "The one trial misses image_s median ≤ 4.42 s by 0.680 s (15.4 % of it)." in " ".join(text.split())


def test_power_is_that_of_the_primary_rail_with_what_it_covers() -> None:
    rail = replace(samples.power(), mean_w=4.25, energy_j=None, reason="the window is too short")
    other = replace(rail, primary=False, channel="dram", mean_w=7.75)
    text = printed([samples.summary(power=(other, rail))], [])
    assert "4.25" in text and "rapl package-0, chip" in text
    assert "7.75" not in text
    assert "power by rapl package-0: the window is too short" in text
    assert "rapl" not in printed([samples.summary()], [])


def test_two_meters_of_a_trial_stand_below_each_other_and_are_not_compared() -> None:
    chip = replace(samples.power(), primary=False, mean_w=12.25)
    board = replace(chip, meter="um25c:/dev/ttyACM0", channel="usb", scope="usb", primary=True, mean_w=21.5)
    text = printed([samples.summary(power=(chip, board))], [])
    assert text.index("21.5") < text.index("12.2")
    assert "um25c:/dev/ttyACM0 usb, usb" in text and "rapl package-0, chip" in text
    note = "meters that cover different things (usb, chip)"
    assert note in " ".join(text.split())
    # Trials of two targets as well: their tables stand below each other.
    two = [samples.summary(power=(replace(chip, primary=True),)), samples.summary(0.5, power=(board,))]
    assert note in " ".join(printed([replace(two[0], target="other"), two[1]], []).split())
    assert "different things" not in printed([replace(two[0], target="other"), two[0]], [])


def test_a_session_that_failed_and_was_repeated_is_told() -> None:
    failed = "session 001: crash in measure: the worker ended (SIGSEGV)"
    text = " ".join(printed([samples.summary(failures=(failed,))], []).split())
    assert f"a failed session was repeated: {failed}" in text


def test_what_was_assumed_of_the_input_stands_at_the_accuracy() -> None:
    summaries = [
        samples.summary(accuracy=samples.accuracy(24, 120), assumed=("pixels as -1..1 (--input-scale)",)),
        samples.summary(0.5),
    ]
    text = printed(summaries, [])
    assert "24/120 *" in text and "954/1000 *" not in text
    assert "0.25 int8: * assumed of its input: pixels as -1..1 (--input-scale)" in text
    first, second = tables.accuracy(summaries).rows
    assert first[-1] == "assumed of its input: pixels as -1..1 (--input-scale)"
    assert second[-1] == ""
    assert "pixels as -1..1 (--input-scale)" in export_csv(summaries, [])


def test_verdicts_alone_still_say_what_was_not_measured() -> None:
    summaries = [samples.without_figures(0.25, "fp16", "failed", "killed by SIGSEGV"), samples.summary()]
    text = printed(summaries, samples.verdicts(summaries), figures=False)
    assert "infer_s" not in text
    assert "0.25 fp16: failed: killed by SIGSEGV" in text


def test_nothing_at_all() -> None:
    assert printed([], []).strip() == "There are no trials in this result."


def test_what_a_pass_leaves_out_stands_beside_the_figures() -> None:
    cut = {"timed": "greenland, 64 patches of 512 x 512, 82.4 % of the scene", "scene_covered": 0.824}
    assert " ".join(printed(samples.nine(**cut), []).split()).count(f"timed with {cut['timed']}") == 1
    assert "timed with" not in printed(samples.nine(), [])


@pytest.mark.parametrize("width", [40, 80])
def test_columns_without_room_stand_in_blocks_with_the_trials_beside_them(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = printed(samples.nine(), samples.verdicts(samples.nine(), ("disco-realtime",)), figures=False)
    blocks = 1 if width == 80 else 3
    assert len(re.findall(r"^1\.0 int8  ", text, re.MULTILINE)) == blocks
    assert text.count("✓ +") == 9


def test_outside_text_is_shown_as_it_is_and_moves_no_cursor(hostile: Judged) -> None:
    text = printed(hostile.summaries, hostile.verdicts)
    assert "[red]x[/red]" in text
    assert "\u202e" not in text
    escapes = [samples.summary(target="a\x1b[2Jb\x07", cautions=(samples.said("[bold]w\x9b31m"),))]
    text = printed(escapes, samples.verdicts(escapes))
    assert "\x1b" not in text and "\x07" not in text and "\x9b" not in text
    assert "[bold]w" in text


def test_colour_only_where_it_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    summaries = [samples.summary(image_s=samples.interval(5.1))]
    verdicts = samples.verdicts(summaries)
    without = printed(summaries, verdicts)
    assert "\x1b" not in without
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = printed(summaries, verdicts)
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == without
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", printed(summaries, verdicts))
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in printed(summaries, verdicts)


def test_a_terminal_that_takes_ascii_alone() -> None:
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    summaries = [samples.summary(target="Grönland")]
    print_result(make_console(file), summaries, samples.verdicts(summaries))
    file.flush()
    text = file.buffer.getvalue().decode("ascii")
    assert "0.230 +-0.004" in text
    assert "image_s" in text and "<= 5 W" in text
    assert "P +4.19" in text and "P pass, F fail, ~ inconclusive, ? unknown" in text


def test_why_no_more_was_measured_is_told_where_it_is_not_the_plain_number() -> None:
    text = "half-width 0.8 % of 1 % asked, after 7 sessions"
    trial = summary()
    ended = replace(trial, ended=Ended("rule", 7, 0.008, (), text))
    assert f"ended: {text}" in " ".join(printed([ended], []).split())
    planned = replace(trial, ended=Ended("sessions", 3, 0.02, (), "3 sessions, as planned"))
    assert "as planned" not in printed([planned], [])


def test_what_few_sessions_cannot_show_is_said_once() -> None:
    trial = summary()
    both = printed([trial, replace(trial, key="f" * 16, target="other")], [])
    assert " ".join(both.split()).count("What 3 sessions cannot show") == 1
