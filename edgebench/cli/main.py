"""The `edgebench` command: its commands, and how errors become messages and exit codes."""

from __future__ import annotations

import sys

try:
    import os
    import traceback
    from typing import Annotated

    import typer

    from edgebench.cli import streams
    from edgebench.cli.installed_commands import PluggedGroup
    from edgebench.cli.panels import CommandGroup
    from edgebench.errors import EXIT_ERROR, EXIT_OK, UsageError
    from edgebench.interruption import ends_once, exit_code, interrupted
    from edgebench.run.settings import unknown_variables
    from edgebench.suggest import printable
except KeyboardInterrupt:
    # A Ctrl-C while the program is still loaded: nothing has begun that could be told or kept.
    sys.stderr.write("error: interrupted\n")
    sys.exit(130)

app = CommandGroup(
    name="edgebench",
    cls=PluggedGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="The same models on the same images on every edge device, judged against your requirements.",
    epilog="Begin with: edgebench run --device cpu --profile disco-realtime --quick",
)


def _version(wanted: bool) -> None:
    if wanted:
        from edgebench.cli.doctor import version_lines

        typer.echo("\n".join(version_lines()))
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the versions that a bug report needs.",
        ),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """The same models on the same images on every edge device, judged against your requirements."""


def main() -> None:
    """Run the command line; every error becomes at most three lines on stderr and an exit code.

    With --json it is a document on stdout as well.
    """
    # typer colours its help under GITHUB_ACTIONS wherever it goes: a pipe and a file get none unless forced.
    if not (sys.stdout and sys.stdout.isatty()) and not os.environ.get("FORCE_COLOR"):
        os.environ.setdefault("_TYPER_FORCE_DISABLE_TERMINAL", "1")
    # pydantic would read the entry points of all packages for plug-ins, and one broken file would end it.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    with ends_once():
        with streams.watched():
            code = streams.finish_output(_carry_out())
        sys.exit(code)


def _carry_out() -> int:
    """The exit code of the command that was typed."""
    debug = "--debug" in sys.argv or bool(os.environ.get("EDGEBENCH_DEBUG"))
    # Accepted anywhere on the line, as people type it at the end of the command that failed.
    arguments = [word for word in sys.argv[1:] if word != "--debug"]
    as_json = "--json" in arguments
    if "_EDGEBENCH_COMPLETE" not in os.environ:  # no words on the line that a shell completes
        for name, question in unknown_variables(os.environ).items():
            fix = question or "docs/settings.md names them"
            sys.stderr.write(f"warning: EdgeBench has no variable {printable(name)}: {fix}\n")
    try:
        app(args=arguments, prog_name="edgebench")
    except SystemExit as stop:
        if as_json and (message := streams.usage_message(stop)):
            streams.print_document(UsageError(message, fix="see --help of the command"))
        code = stop.code if isinstance(stop.code, int) else EXIT_OK
        return exit_code() if interrupted() and code == EXIT_ERROR else code  # typer ends with 1 for Ctrl-C
    except Exception as exception:
        if debug:
            traceback.print_exc()
        error = streams.as_error(exception)
        streams.print_lines(error)
        if as_json:
            streams.print_document(error)
        return error.exit_code
    return EXIT_OK
