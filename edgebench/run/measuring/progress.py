"""Progress on stderr: which session runs, how far it is, the last median, the time left."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import InitVar, dataclass, field
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from edgebench.run.setting import clock_text
from edgebench.suggest import printable

# What one session took for the scene, for progress lines and estimates.


@dataclass(frozen=True)
class SessionLatency:
    """The median over a session's steady passes, or windows, in seconds a scene.

    `quantity` is `image_s`, or `infer_s` of windows, which show the runtime alone. Of several workers it is
    that of the slowest, as long as a round of passes takes.
    """

    quantity: Literal["image_s", "infer_s"]
    median_s: float
    workers: int = 1

    def __str__(self) -> str:
        """For a progress line: `0.432 s`; of windows `infer_s 0.432 s`."""
        slowest = f"slowest of {self.workers} workers " if self.workers > 1 else ""
        return f"{slowest}{'' if self.quantity == 'image_s' else 'infer_s '}{self.median_s:.3f} s"


BAR_WIDTH = 12
REDRAW_S = 0.2
"""How long a bar stands still at least within one stage of a session."""

LINE_S = 10.0
"""Seconds from one line to the next of a long reading, where there is no terminal."""


@dataclass(frozen=True)
class RunState:
    """Progress of a run, over all of its targets and hosts.

    Attributes:
        session: the number of the session that began last, from 1.
        sessions: how many there will be; with `at_most` there may turn out to be fewer.
        left_s: seconds; infinite if not known.
        share: of the sessions, how much is done.
    """

    session: int
    sessions: int
    left_s: float
    share: float = 0.0
    at_most: bool = False


@dataclass(frozen=True)
class SessionState:
    """Progress of one host's session.

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


class Observer:
    """Told what an experiment does; never from a timed region. This one says nothing, as for --quiet."""

    def note(self, text: str) -> None:
        """One line about what is being done."""

    def reads(self, name: str, done: int, total: int) -> None:
        """So many pictures of a set are read, the last time with all of them."""

    def session_starts(self, run: RunState, session: SessionState) -> None:
        """A session begins on a host."""

    def moves(self, *, begins: bool) -> bool:
        """Return True if `sessions_move` is wanted now, where a stage begins or where one goes on."""
        return False

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


class StderrObserver(Observer):
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
        self._reading: tuple[int, float] | None = None

    def note(self, text: str) -> None:
        """One line, above the bars where there are any."""
        with self._lock:
            self._console.print(_shown(text), highlight=False, style="dim")

    def reads(self, name: str, done: int, total: int) -> None:
        """A bar, or a plain line from time to time, with the time left at the rate so far."""
        with self._lock:
            now_s = self._clock()
            if self._reading is None:
                self._reading, self._drawn_s = (done, now_s), now_s
            if done == total:
                self._reading = None
                self._stop_bars()
                return
            first, start_s = self._reading
            if done == first or now_s - self._drawn_s < (REDRAW_S if self._console.is_terminal else LINE_S):
                return
            left_s = (now_s - start_s) * (total - done) / (done - first)
            text = f"reading {name}: {done} of {total} pictures, {clock_text(left_s)} left"
            self._drawn_s = now_s
            if not self._console.is_terminal:
                self._console.print(_shown(text), highlight=False, soft_wrap=True)
                return
            bars, bar = self._started_bars()
            bars.update(bar, completed=done / total, description=_shown(text))
            bars.refresh()

    def session_starts(self, run: RunState, session: SessionState) -> None:
        """A plain line, or the bars with what runs now."""
        with self._lock:
            if self._console.is_terminal:
                self._draw(run, [session])
                return
            text = f"{_count(run)}: {session.label}"
            left = f", {_left(run)}"
            text = self._with_last(session.host, text, self._console.width - len(left)) + left
            self._console.print(_shown(text), highlight=False, soft_wrap=True)

    def moves(self, *, begins: bool) -> bool:
        """Only on a terminal, and within a stage only a few times a second."""
        return self._console.is_terminal and (begins or self._clock() - self._drawn_s >= REDRAW_S)

    def sessions_move(self, run: RunState, sessions: Sequence[SessionState]) -> None:
        """Redraw the bars; nothing off a terminal."""
        with self._lock:
            if self._console.is_terminal:
                self._draw(run, sessions)

    def session_ended(
        self, session: SessionState, latency: SessionLatency | None, status: str, took_s: float
    ) -> None:
        """Remember the median for the next line; say failures, and with --verbose every session."""
        figure = str(latency) if latency is not None else status
        with self._lock:
            self._last[session.host] = f"; last: {session.label}, {figure}"
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
            self._stop_bars()

    def _stop_bars(self) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = self._run = None
            self._hosts.clear()

    def _started_bars(self) -> tuple[Progress, TaskID]:
        """The bars, and the uppermost of them."""
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
        return self._bars, self._run

    def _draw(self, run: RunState, sessions: Sequence[SessionState]) -> None:
        bars, bar = self._started_bars()
        text = f"{_count(run)}, {_left(run)}"
        bars.update(bar, completed=run.share, description=_shown(text))
        for session in sessions:
            if session.host not in self._hosts:
                self._hosts[session.host] = bars.add_task("", total=1.0)
            text = _shown(self._line(session))
            bars.update(self._hosts[session.host], completed=session.share, description=text)
        bars.refresh()
        self._drawn_s = self._clock()

    def _line(self, session: SessionState) -> str:
        text = f"{session.label}: {session.stage}" if session.stage else session.label
        return self._with_last(session.host, text, self._console.width - BAR_WIDTH - 1)

    def _with_last(self, host: str, text: str, width: int) -> str:
        """Text with the host's last median, or without it where both are wider than `width` columns."""
        last = self._last.get(host, "")
        return text + last if len(text) + len(last) <= width else text


@contextmanager
def warnings_noted(observer: Observer) -> Iterator[None]:
    """Turn warnings of EdgeBench's own loggers in the block into notes, such as a board waited for."""
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: observer.note(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("edgebench")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _shown(text: str) -> str:
    """Text for the console: names in it come from outside, and neither steer the terminal nor are markup."""
    return escape(printable(text))


def _count(run: RunState) -> str:
    return f"session {run.session} of {'at most ' if run.at_most else ''}{run.sessions}"


def _left(run: RunState) -> str:
    if not math.isfinite(run.left_s):
        return "time left unknown yet"
    return f"{'at most ' if run.at_most else ''}{clock_text(run.left_s)} left"


# How far a run is: sessions counted over all targets and hosts, and told to whoever watches.


@dataclass
class RunProgress:
    """Progress of all lanes of a run.

    Args:
        observer: who watches.
        hosts: on which anything is measured.
        sessions: still to be measured.
        at_most: whether a rule may end trials before they have all of them.
        lock: held wherever lanes meet.
        beside_others: whether this machine is measured while it drives other boards: what these do within
            their sessions is then drawn when this machine is between two passes itself.
    """

    observer: Observer
    hosts: InitVar[Iterable[str]]
    sessions: int
    at_most: bool
    lock: AbstractContextManager[object]
    beside_others: bool = False
    _ended: int = field(default=0, init=False)
    _left_s: dict[str, float] = field(default_factory=dict, init=False)
    _in_hand: dict[str, SessionState] = field(default_factory=dict, init=False)

    def __post_init__(self, hosts: Iterable[str]) -> None:
        # A host that has not begun yet may take however long.
        self._left_s = dict.fromkeys(hosts, math.inf)

    def begins(self, host: str, label: str, left_s: float) -> None:
        """A session begins on a host, which needs `left_s` seconds for it and all that follow."""
        with self.lock:
            session = self._take(SessionState(host, label), left_s)
            self.observer.session_starts(self._run(), session)

    def moves(self, session: SessionState, left_s: Callable[[], float], *, begins: bool) -> None:
        """A session is further; `left_s` is only called if an observer draws it."""
        if not self.observer.moves(begins=begins):
            return
        with self.lock:
            self._take(session, left_s())
            if self.beside_others and session.host:
                return
            self.observer.sessions_move(self._run(), list(self._in_hand.values()))

    def ended(
        self, host: str, label: str, latency: SessionLatency | None, status: str, took_s: float
    ) -> None:
        """A session ended; one that never began, because its device was not reached, is reported alike.

        One that lost its device is not counted: where it is measured again, that has its number.
        """
        with self.lock:
            if self._in_hand.pop(host, None) is not None:
                counts = status != "lost_connection"
                self._ended += counts
                self.sessions -= not counts
            self.observer.session_ended(SessionState(host, label), latency, status, took_s)

    def host_ended(self, host: str) -> None:
        """A host has nothing more to do."""
        with self.lock:
            self._left_s.pop(host, None)
            self._in_hand.pop(host, None)
            self.observer.host_ended(host)

    def add(self, sessions: int) -> None:
        """Add sessions: one that failed is measured again; fewer where it is negative."""
        with self.lock:
            self.sessions += sessions

    def _take(self, session: SessionState, left_s: float) -> SessionState:
        self._in_hand[session.host] = session
        self._left_s[session.host] = left_s
        return session

    def _run(self) -> RunState:
        done = self._ended + sum(session.share for session in self._in_hand.values())
        begun = self._ended + len(self._in_hand)  # a session that is repeated stays in hand
        total = max(self.sessions, begun, 1)
        left_s = max(self._left_s.values(), default=0.0)
        return RunState(begun, total, left_s, min(done / total, 1.0), self.at_most)
