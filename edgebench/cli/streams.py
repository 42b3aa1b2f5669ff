"""stdout and stderr where what is written is refused: a full disk, a reader or a terminal that has gone.

What goes to stderr are messages: one that cannot be written is left out, and the command goes on, as a
measurement has to when its terminal is closed. What goes to stdout is what the command was asked for: where
it cannot be written, the command has failed, and says so.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO, cast


class Messages:
    """A text stream that leaves out what cannot be written; in all else the stream that it stands before."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written; the length of the text in any case."""
        with contextlib.suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is held back, where it can be written."""
        with contextlib.suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def messages_left_out() -> Iterator[None]:
    """Let no message on stderr end the block, nor, where it could not be written, change the exit code."""
    stream = sys.stderr
    if stream is None:  # closed before the program began
        yield
        return
    with contextlib.redirect_stderr(cast(TextIO, Messages(stream))):
        yield
    # At its end Python flushes stderr and takes a failure for one of the program.
    if fault(stream) is not None:
        abandon(stream)


def fault(stream: TextIO | None) -> OSError | None:
    """Why what was written to a stream does not arrive; None where it does, or nothing is held back."""
    if stream is None or stream.closed:
        return None
    try:
        stream.flush()
    except OSError as error:
        return error
    return None


def abandon(stream: TextIO) -> None:
    """Let nothing more be written to a stream, not at the end of the process either: it takes nothing."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
