"""Progress on stderr: what is running, the last median, the time left."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn


class Observer(Protocol):
    """Told what an experiment does; never from a timed region."""

    def note(self, text: str) -> None:
        """One line about what is being done."""

    def session_starts(
        self,
        done: int,
        total: int,
        label: str,
        left_s: float | None,
        *,
        target: str = "",
        at_most: bool = False,
    ) -> None:
        """A session begins, the `done + 1`th of its target; `left_s` is what its host still has to do.

        With `at_most` there may turn out to be less of both.
        """

    def session_ended(self, label: str, image_s: float | None, status: str, *, target: str = "") -> None:
        """A session ended, with the median of its steady passes."""

    def close(self) -> None:
        """Nothing more will come."""


class SilentObserver:
    """For --quiet and for tests."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def session_starts(
        self,
        done: int,
        total: int,
        label: str,
        left_s: float | None,
        *,
        target: str = "",
        at_most: bool = False,
    ) -> None:
        """Say nothing."""

    def session_ended(self, label: str, image_s: float | None, status: str, *, target: str = "") -> None:
        """Say nothing."""

    def close(self) -> None:
        """Say nothing."""


class StderrObserver:
    """One line a target with a bar on a terminal, plain lines elsewhere; nothing moves of its own.

    The bars are drawn only between sessions: a refreshing thread would take time from the measurement.
    Lanes of several hosts may call it, from threads of their own.
    """

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._lock = threading.RLock()
        self._last: dict[str, str] = {}
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}

    def note(self, text: str) -> None:
        """One line, above the bars where there are any."""
        with self._lock:
            self._console.print(escape(text), highlight=False, style="dim")

    def session_starts(
        self,
        done: int,
        total: int,
        label: str,
        left_s: float | None,
        *,
        target: str = "",
        at_most: bool = False,
    ) -> None:
        """Draw the target's bar anew with what runs now."""
        most = "at most " if at_most else ""
        left = f", {most}{clock_text(left_s)} left" if left_s is not None else ""
        count = f"{done + 1} of at most {total}" if at_most else f"{done + 1}/{total}"
        text = f"{count} {label}{self._last.get(target, '')}{left}"
        with self._lock:
            if self._console.is_terminal:
                self._draw(target, done, total, text)
            else:
                self._console.print(escape(text), highlight=False, soft_wrap=True)

    def session_ended(self, label: str, image_s: float | None, status: str, *, target: str = "") -> None:
        """Remember the median for the next line; say failures, and with --verbose every session."""
        figure = f"{image_s:.3f} s" if image_s is not None else status
        with self._lock:
            self._last[target] = f", last {figure}"
            if status != "ok" or self._verbose:
                self._console.print(escape(f"  {label}: {figure}"), highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Take the bars away."""
        with self._lock:
            if self._bars is not None:
                self._bars.stop()
                self._bars = None
                self._tasks.clear()

    def _draw(self, target: str, done: int, total: int, text: str) -> None:
        if self._bars is None:
            self._bars = Progress(
                BarColumn(bar_width=12),
                TextColumn("{task.description}"),
                console=self._console,
                auto_refresh=False,
                transient=True,
            )
            self._bars.start()
        if target not in self._tasks:
            self._tasks[target] = self._bars.add_task("", total=total)
        self._bars.update(self._tasks[target], completed=done, total=total, description=escape(text))
        self._bars.refresh()


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


def clock_text(seconds: float) -> str:
    """Seconds as 0:42, 12:05 or 1:02:03."""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
