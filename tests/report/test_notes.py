"""What many trials share is one line, with the trials counted and named as far as they fit."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

from edgebench.judge.judged import Judged
from edgebench.judge.trial import Trial
from edgebench.report import notes
from edgebench.report.notes import Trials
from edgebench.report.page import first_screen
from edgebench.report.renderers.blocks import Note
from edgebench.report.renderers.html import render
from edgebench.report.renderers.markdown import export_markdown
from edgebench.report.renderers.terminal import make_console
from edgebench.stats.warnings import Caution, Flag
from tests.judge.trials import trial
from tests.report import samples
from tests.report.samples import print_result


def on_two_targets() -> list[Trial]:
    nine = samples.nine()
    return [*nine, *(replace(summary, target="nano", key=f"n{summary.key[1:]}") for summary in nine)]


def test_trials_are_counted_and_named_as_far_as_they_fit() -> None:
    summaries = on_two_targets()
    trials, keys = Trials.of(summaries), [summary.key for summary in summaries]
    assert trials.several(keys[:1]) == "cpu: 0.25 fp32"
    assert trials.several(keys[:2]) == "cpu: 0.25 fp32 and cpu: 0.25 fp16"
    assert trials.several(keys) == "all 18 trials"
    assert trials.several(keys[9:]) == "all 9 trials of nano"
    assert trials.several(keys[1:]) == "17 of 18 trials (all but cpu: 0.25 fp32)"
    some = trials.several(keys[:12])
    assert some == "12 of 18 trials (cpu: 0.25 fp32, cpu: 0.25 fp16, cpu: 0.25 int8 and 9 more)"
    assert [trials.named(keys[:count])[1] for count in (1, 9, 12, 17, 18)] == [
        False,
        False,
        True,
        False,
        False,
    ]
    alone = Trials.of(summaries[:2])
    assert alone.several(keys[:2]) == "both trials"


def test_a_fact_of_the_trials_of_one_target_names_them() -> None:
    two = [replace(summary, target="allwinner", key=f"a{summary.key[1:]}") for summary in samples.nine()[:2]]
    odd = [replace(summary, cautions=(samples.said("the clock is odd"),)) for summary in two]
    result = samples.judged([*samples.nine(), *odd], [])
    (fact,) = [fact for fact in first_screen(result).facts if fact.label == "Note"]
    assert fact.text.startswith("both trials of allwinner: ")


def test_a_caution_of_many_trials_is_one_note_whatever_their_numbers() -> None:
    summaries = [
        replace(summary, cautions=(Caution(Flag.NOT_STEADY, count, 5),))
        for count, summary in enumerate(samples.nine()[:5], 1)
    ]
    [note] = notes.cautions(summaries, Trials.of(samples.nine()))
    assert note.line == (
        "5 of 9 trials (0.25 fp32, 0.25 fp16, 0.25 int8 and 2 more): "
        "warm-up ended at its cap before the latency was steady in 1 to 5 of 5 sessions"
    )
    assert note.each[4] == (
        "0.5 fp16",
        "warm-up ended at its cap before the latency was steady in 5 of 5 sessions",
    )
    assert len(note.each) == 5


def test_sessions_that_failed_of_one_cause_are_one_note() -> None:
    trials = Trials.of(samples.nine())
    keys = list(trials.names)
    failures = notes.failures(
        [(keys[0], "session 001: crash: SIGSEGV"), (keys[1], "session 002: crash: SIGSEGV")], trials
    )
    assert [note.line for note in failures] == ["0.25 fp32 and 0.25 fp16: crash: SIGSEGV"]
    assert failures[0].each[1] == ("0.25 fp16", "session 002: crash: SIGSEGV")
    assert notes.failures([(keys[0], "session 001: crash: SIGSEGV")], trials) == [
        Note("session 001: crash: SIGSEGV", "0.25 fp32")
    ]


@pytest.fixture(scope="module")
def warned(whole: Judged) -> Judged:
    """Eight of nine trials with the same warning, whose numbers differ."""
    first, *others = whole.trials
    others = [
        replace(summary, cautions=(Caution(Flag.OUTLIERS, count, 30),))
        for count, summary in enumerate(others, 1)
    ]
    return Judged(whole.results, whole.profiles, [first, *others], whole.verdicts)


def test_the_same_warning_is_one_line_in_every_rendering(
    warned: Judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = "8 of 9 trials (all but 0.25 fp32): {}1 to 8 of 30 steady passes are outliers"
    monkeypatch.setenv("COLUMNS", "80")
    file = io.StringIO()
    print_result(make_console(file), warned.trials, [], details=True)
    printed = " ".join(file.getvalue().split())
    assert printed.count("steady passes are outliers") == 1
    assert line.format("") in printed
    markdown = export_markdown(warned).replace("\\", "")
    assert line.format("") in markdown
    page = render(warned)
    assert f"<summary>{line.format('')}" in page
    for count, name in ((1, "0.25 fp16"), (8, "1.0 int8")):  # every trial's own words are reachable
        assert re.search(rf"<li>{re.escape(name)}: {count} of 30 steady passes are outliers", page)


@pytest.mark.parametrize(
    ("spreads", "sentence"),
    [
        ((0.02,), "Latency per image is uncertain by up to 5.1 %. About 18 sessions would reach 1 %."),
        ((0.02, 0.05), "Latency per image is uncertain by up to 13.2 %. About 100 sessions would reach 1 %."),
        (
            (0.02, 0.001),
            "Latency per image of 1 of 2 trials is uncertain by up to 5.1 %. "
            "About 18 sessions would reach 1 %.",
        ),
        (
            (0.5,),
            "Latency per image is uncertain by up to 246.3 %. More than 1,000 sessions would reach 1 %.",
        ),
        ((0.001,), ""),
    ],
)
def test_a_run_says_how_many_sessions_would_narrow_its_intervals(spreads, sentence) -> None:
    sessions = [tuple((1.0 + step * spread,) for step in (-1, 0, 1)) for spread in spreads]
    assert notes.sessions_sentence([trial(values) for values in sessions]) == sentence


def test_too_few_sessions_say_nothing_of_more_of_them() -> None:
    assert notes.sessions_sentence([trial(((1.0,), (1.1,))), trial(())]) == ""
