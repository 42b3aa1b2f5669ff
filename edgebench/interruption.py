"""Ctrl-C for threads: it reaches the main thread alone, which passes it on to those that wait for devices."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType, TracebackType


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


# Ctrl-C and its kin: held back while a session is written, and SIGTERM and SIGHUP treated alike.


ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What asks a run to end: the user, a polite kill or a shutdown, and a terminal that goes away."""

HEARD = 2
"""The first lets what is in progress finish, the second gives it up. What is left then is to clean up,
such as to put a power mode back, which a finger that stays on the keys must not stop."""

GO_ON = "everything measured so far is kept; go on with the same command and --resume"
"""What the error of an interrupted run says, once there is a result folder."""

_came: list[int] = []
"""Which have come since the outermost `handling` began; they are the process's, as its handlers are."""

_depth: list[object] = []
"""The blocks of `handling` that are open."""


def interrupted() -> bool:
    """Whether one of them has come."""
    return bool(_came)


def exit_code() -> int:
    """What an interrupted command exits with: 128 and the number of the signal, as shells have it."""
    return 128 + (_came[0] if _came else signal.SIGINT)


@contextmanager
def handling(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Let `handler` take each of `ENDING` in the block, but none that is ignored, as SIGHUP under nohup.

    The main thread alone is interrupted by the system: in another one this does nothing. A terminal that
    goes away may say so twice, of itself and by its shell: that is one wish to end, where a second Ctrl-C
    is a second one. Those after the second one are not handled.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def take(number: int, frame: FrameType | None) -> None:
        again = number in _came and number not in (signal.SIGINT, signal.SIGTERM)
        if not again and len(_came) < HEARD:
            _came.append(number)
            handler(number, frame)

    if not _depth:
        _came.clear()
    _depth.append(handler)
    taken = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, take) for number in taken}
    try:
        yield
    finally:
        _depth.pop()
        for number, was in before.items():
            if signal.getsignal(number) is take:
                signal.signal(number, was)


@contextmanager
def held_interrupt() -> Iterator[None]:
    """Let the block finish before a Ctrl-C, or one of its kin, that comes during it takes effect."""
    came: list[int] = []
    with handling(lambda number, frame: came.append(number)):
        yield
    if came:
        raise KeyboardInterrupt


@contextmanager
def terminate_as_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt in the block, so that a polite kill loses nothing either."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with handling(interrupt):
        yield


@contextmanager
def ends_once() -> Iterator[None]:
    """For a whole program: one that comes where no block inside takes it raises KeyboardInterrupt, once.

    After the block a program that was interrupted is deaf to more of them: it ends already.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        if len(_came) == 1:  # otherwise a block inside has taken one, and the program ends already
            raise KeyboardInterrupt

    with handling(interrupt):
        try:
            yield
        finally:
            for number in ENDING if interrupted() else ():
                signal.signal(number, signal.SIG_IGN)
