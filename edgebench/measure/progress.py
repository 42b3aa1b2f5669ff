"""Progress on stderr: which session runs, how far it is, the last median, the time left."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from edgebench.measure.session_latency import SessionLatency
from edgebench.plan.amounts import clock_text, span_text
from edgebench.plan.estimate import Span
from edgebench.printable import printable

BAR_WIDTH = 12
REDRAW_S = 0.2
"""How long a bar stands still at least within one stage of a session."""


@dataclass(frozen=True)
class RunState:
    """How far a run is, over all of its targets and hosts.

    Attributes:
        session: the number of the session that began last, from 1.
        sessions: how many there will be; with `at_most` there may turn out to be fewer.
        left: seconds.
        share: of the sessions, how much is done.
    """

    session: int
    sessions: int
    left: Span
    share: float = 0.0
    at_most: bool = False


@dataclass(frozen=True)
class SessionState:
    """How far one host's session is.

    Attributes:
        host: whose line it is; "" for this machine.
        label: the trial.
        stage: what goes on, in words.
        share: of the session, how much is done.
    """

    host: str
    label: str
    stage: str = ""
    share: float = 0.0


class Observer(Protocol):
    """Told what an experiment does; never from a timed region."""

    def note(self, text: str) -> None:
        """One line about what is being done."""

    def session_starts(self, run: RunState, session: SessionState) -> None:
        """A session begins on a host."""

    def moves(self, *, begins: bool) -> bool:
        """Whether `sessions_move` is wanted now, where a stage begins or where one goes on."""

    def sessions_move(self, run: RunState, sessions: Sequence[SessionState]) -> None:
        """The sessions that run now are further than they were."""

    def session_ended(
        self, session: SessionState, latency: SessionLatency | None, status: str, took_s: float
    ) -> None:
        """A session ended, with what it took for the scene; None where it has no such figure."""

    def host_ended(self, host: str) -> None:
        """Nothing more is measured on a host."""

    def close(self) -> None:
        """Nothing more will come."""


class SilentObserver:
    """For --quiet and for tests."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def session_starts(self, run: RunState, session: SessionState) -> None:
        """Say nothing."""

    def moves(self, *, begins: bool) -> bool:
        """It is not wanted."""
        return False

    def sessions_move(self, run: RunState, sessions: Sequence[SessionState]) -> None:
        """Say nothing."""

    def session_ended(
        self, session: SessionState, latency: SessionLatency | None, status: str, took_s: float
    ) -> None:
        """Say nothing."""

    def host_ended(self, host: str) -> None:
        """Say nothing."""

    def close(self) -> None:
        """Say nothing."""


class StderrObserver:
    """A bar for the run and one for each host's session on a terminal, a plain line a session elsewhere.

    Nothing moves of its own: bars are drawn when something arrives from a device, between its passes. A
    refreshing thread would take time from the measurement. Lanes of several hosts may call it, from threads
    of their own.
    """

    def __init__(
        self, console: Console, *, verbose: bool = False, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console
        self._verbose = verbose
        self._clock = clock
        self._lock = threading.RLock()
        self._last: dict[str, str] = {}
        self._bars: Progress | None = None
        self._run: TaskID | None = None
        self._hosts: dict[str, TaskID] = {}
        self._drawn_s = 0.0

    def note(self, text: str) -> None:
        """One line, above the bars where there are any."""
        with self._lock:
            self._console.print(_shown(text), highlight=False, style="dim")

    def session_starts(self, run: RunState, session: SessionState) -> None:
        """A plain line, or the bars drawn anew with what runs now."""
        with self._lock:
            if self._console.is_terminal:
                self._draw(run, [session])
                return
            last = self._last.get(session.host, "")
            text = f"{_count(run)}: {session.label}{last}, {_left(run)}"
            self._console.print(_shown(text), highlight=False, soft_wrap=True)

    def moves(self, *, begins: bool) -> bool:
        """Only on a terminal, and within a stage only a few times a second."""
        return self._console.is_terminal and (begins or self._clock() - self._drawn_s >= REDRAW_S)

    def sessions_move(self, run: RunState, sessions: Sequence[SessionState]) -> None:
        """Draw the bars anew; nothing off a terminal."""
        with self._lock:
            if self._console.is_terminal:
                self._draw(run, sessions)

    def session_ended(
        self, session: SessionState, latency: SessionLatency | None, status: str, took_s: float
    ) -> None:
        """Remember the median for the next line; say failures, and with --verbose every session."""
        figure = str(latency) if latency is not None else status
        with self._lock:
            self._last[session.host] = f", last {figure}"
            if self._verbose:
                figure += f", in a session of {clock_text(took_s)}"
            if status != "ok" or self._verbose:
                self._console.print(_shown(f"  {session.label}: {figure}"), highlight=False, soft_wrap=True)

    def host_ended(self, host: str) -> None:
        """Take its line away."""
        with self._lock:
            if self._bars is not None and host in self._hosts:
                self._bars.remove_task(self._hosts.pop(host))
                self._bars.refresh()

    def close(self) -> None:
        """Take the bars away."""
        with self._lock:
            if self._bars is not None:
                self._bars.stop()
                self._bars = self._run = None
                self._hosts.clear()

    def _draw(self, run: RunState, sessions: Sequence[SessionState]) -> None:
        if self._bars is None:
            self._bars = Progress(
                BarColumn(bar_width=BAR_WIDTH),
                TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
                console=self._console,
                auto_refresh=False,
                transient=True,
            )
            self._run = self._bars.add_task("", total=1.0)
            self._bars.start()
        assert self._run is not None
        text = f"{_count(run)}, {_left(run)}"
        self._bars.update(self._run, completed=run.share, description=_shown(text))
        for session in sessions:
            if session.host not in self._hosts:
                self._hosts[session.host] = self._bars.add_task("", total=1.0)
            text = _shown(self._line(session))
            self._bars.update(self._hosts[session.host], completed=session.share, description=text)
        self._bars.refresh()
        self._drawn_s = self._clock()

    def _line(self, session: SessionState) -> str:
        """What goes on, and the last median where there is room for it."""
        text = f"{session.label}: {session.stage}" if session.stage else session.label
        last = self._last.get(session.host, "")
        fits = len(text) + len(last) <= self._console.width - BAR_WIDTH - 1
        return text + last if fits else text


@contextmanager
def warnings_noted(observer: Observer) -> Iterator[None]:
    """What EdgeBench's own loggers warn of in the block becomes a note, such as a board waited for."""
    handler = _Noting(observer)
    logger = logging.getLogger("edgebench")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Noting(logging.Handler):
    def __init__(self, observer: Observer) -> None:
        super().__init__(logging.WARNING)
        self._observer = observer

    def emit(self, record: logging.LogRecord) -> None:
        self._observer.note(record.getMessage())


def _shown(text: str) -> str:
    """Text for the console: names in it come from outside, and neither steer the terminal nor are markup."""
    return escape(printable(text))


def _count(run: RunState) -> str:
    return f"session {run.session} of {'at most ' if run.at_most else ''}{run.sessions}"


def _left(run: RunState) -> str:
    left = run.left
    if run.at_most and left.known:
        return f"at most {clock_text(left.most_s)} left"
    text = span_text(left.least_s, left.most_s)
    return "time left unknown yet" if text == "unknown" else f"{text} left"
