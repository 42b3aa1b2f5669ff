"""Ctrl-C and its kin: held back while a session is written, and SIGTERM and SIGHUP treated alike."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""What asks a run to end: the user, a polite kill or a shutdown, and a terminal that goes away."""

_came: list[int] = []
"""Which have come since `terminate_as_interrupt` began; they are the process's, as its handlers are."""


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
    is a second one.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def take(number: int, frame: FrameType | None) -> None:
        again = number in _came and number not in (signal.SIGINT, signal.SIGTERM)
        _came.append(number)
        if not again:
            handler(number, frame)

    taken = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, take) for number in taken}
    try:
        yield
    finally:
        for number, was in before.items():
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

    _came.clear()
    with handling(interrupt):
        yield
