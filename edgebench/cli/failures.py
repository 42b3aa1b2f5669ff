"""How a command that failed says so: three lines on stderr, and with --json a document on stdout."""

from __future__ import annotations

import os
import sys
from typing import Any

from typer.core import TyperGroup

from edgebench.errors import EdgeBenchError, InterruptedByUser
from edgebench.measure.interrupt import terminate_as_interrupt


class InterruptibleGroup(TyperGroup):
    """Commands whose Ctrl-C is an error like others, where typer would end without a word.

    SIGTERM and SIGHUP are as a Ctrl-C is: helper processes are ended and scratch folders removed.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command; InterruptedByUser for a Ctrl-C, or its kin, that it does not take itself."""
        try:
            with terminate_as_interrupt():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            raise InterruptedByUser("interrupted") from None


def as_error(exception: Exception) -> EdgeBenchError:
    """The exception with its cause and remedy; one of another type is a fault of EdgeBench."""
    if isinstance(exception, EdgeBenchError):
        return exception
    return EdgeBenchError(
        f"{type(exception).__name__}: {exception}",
        why="this is a fault of EdgeBench itself",
        fix="run it again with --debug and report the traceback",
    )


def usage_message(stop: SystemExit) -> str:
    """What typer said of a command line before it ended the process; "" where it ended for another reason."""
    format_message = getattr(stop.__context__, "format_message", None)
    return str(format_message()) if callable(format_message) else ""


def print_lines(error: EdgeBenchError) -> None:
    """What, why and fix on stderr, each on a line where it is known."""
    for lead, text in (("error: ", error.what), ("  why: ", error.why), ("  fix: ", error.fix)):
        if text:
            sys.stderr.write(f"{lead}{_printable(text)}\n")


def print_document(error: EdgeBenchError) -> None:
    """The error as a JSON document on stdout (error.schema.json); nothing where nobody reads it."""
    from edgebench.report.plain import SCHEMA_VERSION, as_json

    about = {"what": error.what, "why": error.why, "fix": error.fix, "exit_code": error.exit_code}
    try:
        sys.stdout.write(as_json({"schema_version": SCHEMA_VERSION, "error": about}))
        sys.stdout.flush()
    except OSError:
        abandon_output()


def abandon_output() -> None:
    """Let nothing more be written to stdout, not at the end of the process either: it takes nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _printable(text: str) -> str:
    """One line without control characters: names in messages come from outside."""
    return "".join(char if char.isprintable() else " " for char in text)
