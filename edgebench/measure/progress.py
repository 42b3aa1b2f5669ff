"""Progress on stderr: what is running, the last median, the time left."""

from __future__ import annotations

from typing import Protocol

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn


class Observer(Protocol):
    """Told what an experiment does; never from a timed region."""

    def note(self, text: str) -> None:
        """One line about what is being done."""

    def session_starts(self, done: int, total: int, label: str, left_s: float | None) -> None:
        """A session begins; `left_s` is the time that all remaining sessions will take."""

    def session_ended(self, label: str, image_s: float | None, status: str) -> None:
        """A session ended, with the median of its steady passes."""

    def close(self) -> None:
        """Nothing more will come."""


class SilentObserver:
    """For --quiet and for tests."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def session_starts(self, done: int, total: int, label: str, left_s: float | None) -> None:
        """Say nothing."""

    def session_ended(self, label: str, image_s: float | None, status: str) -> None:
        """Say nothing."""

    def close(self) -> None:
        """Say nothing."""


class StderrObserver:
    """A bar with one line on a terminal, plain lines elsewhere; nothing moves while a device measures.

    The bar is drawn only between sessions: a refreshing thread would take time from the measurement.
    """

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self._console = console
        self._verbose = verbose
        self._last = ""
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def note(self, text: str) -> None:
        """One line, above the bar where there is one."""
        self._console.print(escape(text), highlight=False, style="dim")

    def session_starts(self, done: int, total: int, label: str, left_s: float | None) -> None:
        """Draw the bar anew with what runs now."""
        left = f", {clock_text(left_s)} left" if left_s is not None else ""
        text = f"{done + 1}/{total} {label}{self._last}{left}"
        if not self._console.is_terminal:
            self._console.print(escape(text), highlight=False, soft_wrap=True)
            return
        if self._bar is None:
            self._bar = Progress(
                BarColumn(bar_width=12),
                TextColumn("{task.description}"),
                console=self._console,
                auto_refresh=False,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("", total=total)
        assert self._task is not None
        self._bar.update(self._task, completed=done, description=escape(text))
        self._bar.refresh()

    def session_ended(self, label: str, image_s: float | None, status: str) -> None:
        """Remember the median for the next line; say failures, and with --verbose every session."""
        figure = f"{image_s:.3f} s" if image_s is not None else status
        self._last = f", last {figure}"
        if status != "ok" or self._verbose:
            self._console.print(escape(f"  {label}: {figure}"), highlight=False, soft_wrap=True)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def clock_text(seconds: float) -> str:
    """Seconds as 0:42, 12:05 or 1:02:03."""
    whole = max(0, round(seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
