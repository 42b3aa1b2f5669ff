"""What is said on stderr while an experiment runs."""

import io
import logging

import pytest
from rich.console import Console

from edgebench.measure.progress import SilentObserver, StderrObserver, clock_text, warnings_noted


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (42.4, "0:42"), (725, "12:05"), (3723, "1:02:03"), (-1, "0:00")]
)
def test_clock_text(seconds, text):
    assert clock_text(seconds) == text


def observe(**options):
    file = io.StringIO()
    observer = StderrObserver(Console(file=file, width=80, **options))
    observer.note("making [red] artifacts")
    observer.session_starts(0, 2, "cpu a", 75.0)
    observer.session_ended("cpu a", 0.4321, "ok")
    observer.session_starts(1, 2, "cpu b", None)
    observer.session_ended("cpu b", None, "crash")
    observer.close()
    return file.getvalue()


def test_off_a_terminal_there_are_plain_lines_only():
    text = observe(force_terminal=False)
    assert "\x1b" not in text and "\r" not in text
    assert "making [red] artifacts" in text
    assert text.splitlines()[1:] == ["1/2 cpu a, 1:15 left", "2/2 cpu b, last 0.432 s", "  cpu b: crash"]


def test_on_a_terminal_the_line_says_what_runs_the_last_median_and_failures():
    text = observe(force_terminal=True)
    assert "2/2 cpu b, last 0.432 s" in text
    assert "cpu b: crash" in text


def several(**options):
    file = io.StringIO()
    observer = StderrObserver(Console(file=file, width=80, **options))
    observer.session_starts(0, 2, "pi a", None, target="pi")
    observer.session_starts(0, 3, "nano a", None, target="nano")
    observer.session_ended("pi a", 0.5, "ok", target="pi")
    observer.session_starts(1, 2, "pi b", None, target="pi")
    observer.close()
    return file.getvalue()


def test_each_target_has_its_own_line_and_its_own_last_median():
    plain = several(force_terminal=False)
    assert plain.splitlines() == ["1/2 pi a", "1/3 nano a", "2/2 pi b, last 0.500 s"]
    drawn = several(force_terminal=True)
    last = drawn[drawn.rindex("2/2 pi b") :]
    assert "1/3 nano a" in last and "last" not in last.partition("1/3 nano a")[2]


def test_waits_are_noted_above_the_bars_and_not_at_all_with_quiet(capsys):
    file = io.StringIO()
    log = logging.getLogger("edgebench.link.anywhere")
    with warnings_noted(StderrObserver(Console(file=file, width=80))):
        log.warning("waiting for %s, %.0f s at most", "[pi]", 60.0)
        log.info("nothing that a user waits for")
    with warnings_noted(SilentObserver()):
        log.warning("waiting again")
    assert file.getvalue() == "waiting for [pi], 60 s at most\n"
    assert capsys.readouterr().err == ""
