"""stdout and stderr where what is written is refused: a full disk, a reader or a terminal that has gone.

What goes to stderr are messages: one that cannot be written is left out, and the command goes on, as a
measurement has to when its terminal is closed. What goes to stdout is what the command was asked for: where
it cannot be written, the command has failed, and says so. A reader that has gone, such as `head`, has what
it wanted: what is printed afterwards goes nowhere, and the exit code is the command's own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO, cast

from typer.core import TyperGroup

from edgebench.errors import EXIT_ERROR, EdgeBenchError, InterruptedByUser, UnavailableError
from edgebench.interruption import exit_code, interrupted, terminate_as_interrupt
from edgebench.suggest import printable


class Output:
    """A text stream that remembers why it took no more; in all else the stream that it stands before.

    Attributes:
        lost: the error; None while all was taken. Without a buffer only the write itself tells it.
    """

    def __init__(self, stream: TextIO, *, essential: bool = True) -> None:
        """`essential`: whether a write that is refused is an OSError; otherwise its text is left out."""
        self._stream = stream
        self._essential = essential
        self.lost: OSError | None = None

    def write(self, text: str) -> int:
        """Write the text; returns its length."""
        with self._remembered():
            self._stream.write(text)
        return len(text)

    def write_bytes(self, data: bytes) -> None:
        """Write bytes behind all text before them."""
        with self._remembered():
            self._stream.flush()
            self._stream.buffer.write(data)
            self._stream.buffer.flush()

    def flush(self) -> None:
        """Write what is held back."""
        with self._remembered():
            self._stream.flush()

    @contextlib.contextmanager
    def _remembered(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.lost = error
            if error.errno == errno.EPIPE:
                abandon(self._stream)
            elif self._essential:
                raise

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
        held.enter_context(
            contextlib.redirect_stderr(cast(TextIO, Output(standing_messages, essential=False)))
        )
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


# How a command that failed says so: three lines on stderr, and with --json a document on stdout.


class InterruptibleGroup(TyperGroup):
    """Commands whose Ctrl-C is an error like others, where typer would end without a word.

    SIGTERM and SIGHUP are as a Ctrl-C is: helper processes are ended and scratch folders removed.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command; InterruptedByUser for a Ctrl-C, or its kin, that it does not take itself.

        EdgeBenchError for a broken pipe, which is no reader's of stdout: typer would end without a word.
        """
        try:
            with terminate_as_interrupt():
                return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            error = InterruptedByUser("interrupted", fix="".join(interrupt.args))
            error.exit_code = exit_code()
            raise error from None
        except BrokenPipeError as error:
            raise as_error(error) from error


_OF_POSIX = ("fcntl", "grp", "pwd", "resource", "termios")


def as_error(
    exception: Exception, fix: str = "run it again with --debug and report the traceback"
) -> EdgeBenchError:
    """The exception with its cause and remedy; another is a fault of EdgeBench, with that `fix`."""
    if isinstance(exception, EdgeBenchError):
        return exception
    if isinstance(exception, OSError) and exception is getattr(sys.stdout, "lost", None):
        return unwritten(exception)
    if isinstance(exception, ModuleNotFoundError) and exception.name in _OF_POSIX:
        return UnavailableError(f"this command needs Linux or macOS: here is no module {exception.name}")
    return EdgeBenchError(
        f"{type(exception).__name__}: {exception}",
        why="this is a fault of EdgeBench itself",
        fix=fix,
    )


def unwritten(lost: OSError) -> EdgeBenchError:
    """What the command was to print does not reach stdout; one that was interrupted exits as such."""
    error = EdgeBenchError(
        "the output cannot be written",
        why=lost.strerror or str(lost),
        fix="send it elsewhere, such as to a file on a disk with room",
    )
    if interrupted():
        error.exit_code = exit_code()
    return error


def usage_message(stop: SystemExit) -> str:
    """What typer said of a command line before it ended the process; "" where it ended for another reason."""
    format_message = getattr(stop.__context__, "format_message", None)
    return str(format_message()) if callable(format_message) else ""


def print_lines(error: EdgeBenchError) -> None:
    """What, why and fix on stderr, each on a line where it is known."""
    for lead, text in (("error: ", error.what), ("  why: ", error.why), ("  fix: ", error.fix)):
        if text:
            sys.stderr.write(f"{lead}{printable(text)}\n")


def print_document(error: EdgeBenchError) -> None:
    """The error as a JSON document on stdout (error.schema.json); nothing where its reader has gone."""
    from edgebench.report.words import SCHEMA_VERSION, as_json

    about = {"what": error.what, "why": error.why, "fix": error.fix, "exit_code": error.exit_code}
    try:
        sys.stdout.write(as_json({"schema_version": SCHEMA_VERSION, "error": about}))
        sys.stdout.flush()
    except OSError:
        abandon(sys.stdout)


def finish_output(exit_code: int) -> int:
    """Bring what was printed to stdout; returns the exit code, which tells where that could not be done.

    For a reader that has gone, such as `head`, there is no message.
    """
    refused = lost(sys.stdout)
    if refused is None or refused.errno == errno.EPIPE:
        return exit_code
    abandon(sys.stdout)
    if not exit_code:
        print_lines(unwritten(refused))
    return exit_code or EXIT_ERROR
