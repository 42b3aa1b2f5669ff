"""How a command that failed says so: three lines on stderr, and with --json a document on stdout."""

from __future__ import annotations

import errno
import sys
from typing import Any

from typer.core import TyperGroup

from edgebench.cli import streams
from edgebench.errors import EXIT_ERROR, EdgeBenchError, InterruptedByUser
from edgebench.measure.signals import exit_code, interrupted, terminate_as_interrupt
from edgebench.printable import printable


class InterruptibleGroup(TyperGroup):
    """Commands whose Ctrl-C is an error like others, where typer would end without a word.

    SIGTERM and SIGHUP are as a Ctrl-C is: helper processes are ended and scratch folders removed.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command; InterruptedByUser for a Ctrl-C, or its kin, that it does not take itself.

        EdgeBenchError for a broken pipe that is not stdout's: typer takes each for a reader that has gone.
        """
        try:
            with terminate_as_interrupt():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            error = InterruptedByUser("interrupted")
            error.exit_code = exit_code()
            raise error from None
        except BrokenPipeError as error:
            if _is_of_stdout(error):
                raise
            raise as_error(error) from error


def as_error(
    exception: Exception, fix: str = "run it again with --debug and report the traceback"
) -> EdgeBenchError:
    """The exception with its cause and remedy; another is a fault of EdgeBench, with that `fix`."""
    if isinstance(exception, EdgeBenchError):
        return exception
    if isinstance(exception, OSError) and _is_of_stdout(exception):
        return unwritten(exception)
    return EdgeBenchError(
        f"{type(exception).__name__}: {exception}",
        why="this is a fault of EdgeBench itself",
        fix=fix,
    )


def _is_of_stdout(error: OSError) -> bool:
    return error is getattr(sys.stdout, "lost", None)


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
    """The error as a JSON document on stdout (error.schema.json); nothing where nobody reads it."""
    from edgebench.report.json_values import SCHEMA_VERSION, as_json

    about = {"what": error.what, "why": error.why, "fix": error.fix, "exit_code": error.exit_code}
    try:
        sys.stdout.write(as_json({"schema_version": SCHEMA_VERSION, "error": about}))
        sys.stdout.flush()
    except OSError:
        streams.abandon(sys.stdout)


def finish_output(exit_code: int) -> int:
    """Bring what was printed to stdout; returns the exit code, which tells where that could not be done.

    A reader that has gone, such as `head`, is told nothing.
    """
    lost = streams.lost(sys.stdout)
    if lost is None:
        return exit_code
    streams.abandon(sys.stdout)
    if lost.errno != errno.EPIPE and not exit_code:
        print_lines(unwritten(lost))
    return exit_code or EXIT_ERROR
