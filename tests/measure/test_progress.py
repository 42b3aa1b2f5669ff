"""What is said on stderr while an experiment runs."""

import io
import logging
import math
import re

import pytest
from rich.console import Console

from edgebench.run.measuring.progress import (
    Observer,
    RunState,
    SessionLatency,
    SessionState,
    StderrObserver,
    warnings_noted,
)

UNKNOWN = math.inf


def states(number, left_s=UNKNOWN, **session):
    return RunState(number, 45, left_s), SessionState(**{"host": "", "label": f"cpu {number}", **session})


class Watched(StderrObserver):
    """On a console of 80 columns, with a clock that goes on by hand."""

    def __init__(self, terminal=True, **more):
        self.file = io.StringIO()
        self.now_s = 100.0
        console = Console(file=self.file, width=80, force_terminal=terminal, no_color=True)
        super().__init__(console, clock=lambda: self.now_s, **more)

    @property
    def text(self):
        return self.file.getvalue()

    def last_drawn(self):
        """The lines of the last drawing, without what moves and colours them."""
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.text)
        lines = [line.rstrip() for line in text.replace("\r", "\n").splitlines() if line.strip()]
        at = max(at for at, line in enumerate(lines) if "session " in line)
        return lines[at:]


def observe(**options):
    observer = Watched(**options)
    observer.note("making [red] artifacts")
    observer.session_starts(*states(1))
    observer.session_ended(states(1)[1], SessionLatency("image_s", 0.4321), "ok", 12.0)
    observer.session_starts(*states(2, 75.0))
    observer.sessions_move(states(2)[0], [states(2, stage="pass 2 of 3")[1]])
    observer.session_ended(states(2)[1], None, "crash", 3.0)
    return observer


def test_off_a_terminal_there_is_a_plain_line_a_session():
    observer = observe(terminal=False)
    assert "\x1b" not in observer.text and "\r" not in observer.text
    assert observer.text.splitlines() == [
        "making [red] artifacts",
        "session 1 of 45: cpu 1, time left unknown yet",
        "session 2 of 45: cpu 2; last: cpu 1, 0.432 s, 1:15 left",
        "  cpu 2: crash",
    ]
    assert not observer.moves(begins=True)


def test_a_plain_line_leaves_the_last_median_out_where_both_are_wider_than_80_columns():
    observer = Watched(terminal=False)
    trials = [SessionState("", f"replay mobilenet_v1-0.25-{precision}") for precision in ("fp32", "int8")]
    observer.session_ended(trials[0], SessionLatency("image_s", 0.4321), "ok", 12.0)
    observer.session_starts(RunState(2, 27, 75.0, at_most=True), trials[1])
    line = "session 2 of at most 27: replay mobilenet_v1-0.25-int8, at most 1:15 left"
    assert observer.text.splitlines() == [line]


def test_reading_pictures_is_told_every_ten_seconds_off_a_terminal():
    observer = Watched(terminal=False)
    for done in range(101):
        observer.reads("my [set]", done, 100)
        observer.now_s += 0.25
    assert observer.text.splitlines() == [
        "reading my [set]: 40 of 100 pictures, 0:15 left",
        "reading my [set]: 80 of 100 pictures, 0:05 left",
    ]
    observer.reads("other", 1000, 5000)  # of a reading that goes on where it was interrupted
    observer.now_s += 20
    observer.reads("other", 2000, 5000)
    assert observer.text.splitlines()[-1] == "reading other: 2000 of 5000 pictures, 1:00 left"


def test_reading_pictures_is_a_bar_on_a_terminal_and_ends_with_it():
    observer = Watched()
    observer.reads("set", 0, 100)
    observer.now_s += 5
    observer.reads("set", 25, 100)
    assert "reading set: 25 of 100 pictures, 0:15 left" in observer.text
    drawn = len(observer.text)
    observer.now_s += 0.1
    observer.reads("set", 26, 100)
    assert len(observer.text) == drawn
    observer.reads("set", 100, 100)
    observer.session_starts(*states(1))
    assert observer.last_drawn()[0].endswith("session 1 of 45, time left unknown yet")


def test_verbose_says_every_session_and_how_long_it_took():
    text = observe(terminal=False, verbose=True).text
    assert "  cpu 1: 0.432 s, in a session of 0:12" in text
    assert "  cpu 2: crash, in a session of 0:03" in text


@pytest.mark.parametrize(
    ("left_s", "at_most", "text"),
    [
        (130.0, False, "2:10 left"),
        (130.0, True, "at most 2:10 left"),
        (UNKNOWN, True, "time left unknown yet"),
    ],
)
def test_what_is_left_is_said_as_far_as_it_is_known(left_s, at_most, text):
    observer = Watched(terminal=False)
    observer.session_starts(RunState(7, 45, left_s, at_most=at_most), SessionState("", "cpu a"))
    most = "at most " if at_most else ""
    assert observer.text == f"session 7 of {most}45: cpu a, {text}\n"


def test_the_bars_of_a_terminal_say_what_goes_on_the_last_median_and_failures():
    observer = observe()
    observer.sessions_move(states(3, 75.0)[0], [states(3, stage="pass 2 of 3")[1]])
    run, session = observer.last_drawn()
    assert run.endswith("session 3 of 45, 1:15 left")
    assert session.endswith("cpu 3: pass 2 of 3; last: cpu 2, crash")
    assert "  cpu 2: crash" in observer.text


def test_the_bar_moves_within_a_session():
    observer = Watched()
    observer.session_starts(*states(1))
    began = observer.last_drawn()[1]
    observer.sessions_move(states(1)[0], [SessionState("", "cpu 1", share=0.5)])
    assert observer.last_drawn()[1] != began


def test_a_stage_that_begins_is_drawn_at_once_and_one_that_goes_on_now_and_then():
    observer = Watched()
    observer.session_starts(*states(1))
    assert (observer.moves(begins=True), observer.moves(begins=False)) == (True, False)
    observer.now_s += 1.0
    assert observer.moves(begins=False)


def test_two_hosts_have_a_line_each_and_one_count():
    observer = Watched()
    pi, nano = SessionState("pi", "pi a", "pass 1 of 3"), SessionState("nano", "nano a", "load")
    observer.session_starts(RunState(6, 45, UNKNOWN), pi)
    observer.session_starts(RunState(7, 45, UNKNOWN), nano)
    run, first, second = observer.last_drawn()
    assert run.endswith("session 7 of 45, time left unknown yet")
    assert first.endswith("pi a: pass 1 of 3") and second.endswith("nano a: load")
    observer.session_ended(pi, SessionLatency("image_s", 0.5), "ok", 9.0)
    observer.host_ended("pi")
    observer.sessions_move(RunState(8, 45, UNKNOWN), [nano])
    assert [line for line in observer.last_drawn() if "pi" in line] == []


def test_long_names_leave_the_last_median_out_and_no_line_is_wider_than_the_terminal():
    observer = Watched()
    label = "raspberry-pi mobilenet_v1-0.25-int8 batch 32"
    observer.session_ended(SessionState("", label), SessionLatency("image_s", 0.5), "ok", 9.0)
    observer.session_starts(RunState(7, 45, UNKNOWN), SessionState("", label, "pass 10 of 10"))
    assert observer.last_drawn()[1].endswith("batch 32: pass 10 of 10")
    observer.sessions_move(RunState(7, 45, UNKNOWN), [SessionState("", 3 * label, "load")])
    assert all(len(line) <= 80 for line in observer.last_drawn())


def test_the_bars_are_gone_in_the_end():
    observer = observe()
    observer.close()
    assert observer.text.endswith("\x1b[2K")  # the last thing that is done to a line is to clear it


def test_waits_are_noted_above_the_bars_and_not_at_all_with_quiet(capsys):
    observer = Watched(terminal=False)
    log = logging.getLogger("edgebench.link.anywhere")
    with warnings_noted(observer):
        log.warning("waiting for %s, %.0f s at most", "[pi]", 60.0)
        log.info("nothing that a user waits for")
    with warnings_noted(Observer()):
        log.warning("waiting again")
    assert observer.text == "waiting for [pi], 60 s at most\n"
    assert capsys.readouterr().err == ""
