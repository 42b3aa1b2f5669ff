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
from pathlib import Path
from typing import Any, TextIO, cast


class Output:
    """A text stream that remembers why it took no more; in all else the stream that it stands before.

    Attributes:
        lost: the error; None while all was taken. Without a buffer only the write itself tells it.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.lost: OSError | None = None

    def write(self, text: str) -> int:
        """Write the text; OSError where it is refused."""
        with self._remembered():
            return self._stream.write(text)

    def write_bytes(self, data: bytes) -> None:
        """Write bytes behind all text before them; OSError where they are refused."""
        with self._remembered():
            self._stream.flush()
            self._stream.buffer.write(data)
            self._stream.buffer.flush()

    def flush(self) -> None:
        """Write what is held back; OSError where it is refused."""
        with self._remembered():
            self._stream.flush()

    @contextlib.contextmanager
    def _remembered(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.lost = error
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


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
def watched() -> Iterator[None]:
    """Let stdout remember what it did not take, and no message on stderr end the block or decide its end.

    What was closed before the program began (`>&-`) is as /dev/null.
    """
    out, messages = sys.stdout, sys.stderr
    with contextlib.ExitStack() as held:
        # Python's name for a stream that was closed is None, and every writer would have to ask for it.
        # To open something in its place also keeps its descriptor from the next file that is opened.
        standing_out = out or held.enter_context(Path(os.devnull).open("w"))
        standing_messages = messages or held.enter_context(Path(os.devnull).open("w"))
        held.enter_context(contextlib.redirect_stdout(cast(TextIO, Output(standing_out))))
        held.enter_context(contextlib.redirect_stderr(cast(TextIO, Messages(standing_messages))))
        yield
    # At its end Python flushes stderr and takes a failure for one of the program.
    if lost(messages) is not None:
        abandon(messages)


def write_bytes(data: bytes) -> None:
    """Write bytes to stdout as they are, whatever the terminal's encoding; OSError where they are refused."""
    stream = sys.stdout if isinstance(sys.stdout, Output) else Output(sys.stdout)
    stream.write_bytes(data)


def lost(stream: TextIO | None) -> OSError | None:
    """Why what was written to a stream did not arrive; None where it did."""
    if stream is None or stream.closed:
        return None
    try:
        stream.flush()
    except OSError as error:
        return error
    remembered: OSError | None = getattr(stream, "lost", None)
    return remembered


def abandon(stream: TextIO) -> None:
    """Let nothing more be written to a stream, not at the end of the process either: it takes nothing."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
