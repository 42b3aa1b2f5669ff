"""Ctrl-C for threads: it reaches the main thread alone, which passes it on to those that wait for devices."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType


class Interrupts:
    """The interrupts of one thread: each that is passed on raises KeyboardInterrupt there, once.

    A pipe, so that a thread which blocks in the kernel for its device is woken by it.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)

    def pass_on(self) -> None:
        """Interrupt the thread; safe in a signal handler."""
        os.write(self._write, b"!")

    def fileno(self) -> int:
        """Readable while an interrupt waits to be taken."""
        return self._read

    def check(self) -> None:
        """KeyboardInterrupt if one waits."""
        try:
            os.read(self._read, 1)
        except BlockingIOError:
            return
        raise KeyboardInterrupt

    def close(self) -> None:
        """Give the pipe back, when the thread has ended."""
        os.close(self._read)
        os.close(self._write)

    def __enter__(self) -> Interrupts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Local(threading.local):
    interrupts: Interrupts | None = None


_LOCAL = _Local()


def of_this_thread() -> Interrupts | None:
    """What interrupts this thread; None in the main thread, which the system itself interrupts."""
    return _LOCAL.interrupts


def check() -> None:
    """KeyboardInterrupt if one waits for this thread."""
    if _LOCAL.interrupts is not None:
        _LOCAL.interrupts.check()


def pause(seconds: float) -> None:
    """Sleep that long; KeyboardInterrupt as soon as one comes for this thread."""
    interrupts = _LOCAL.interrupts
    if interrupts is None:
        time.sleep(seconds)
        return
    select.select([interrupts], [], [], seconds)
    interrupts.check()


@contextmanager
def heard_here(interrupts: Interrupts) -> Iterator[None]:
    """Let this thread be interrupted by `interrupts` in the block."""
    before, _LOCAL.interrupts = _LOCAL.interrupts, interrupts
    try:
        yield
    finally:
        _LOCAL.interrupts = before


def pass_on_to_all(threads: Sequence[Interrupts]) -> None:
    """Interrupt every one of these threads."""
    for interrupts in threads:
        interrupts.pass_on()
