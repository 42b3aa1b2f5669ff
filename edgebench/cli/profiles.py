"""`edgebench profiles`: the requirement profiles."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from edgebench.cli.common import JsonOption, complete_profile, echo_path, exit_where, read_profiles, stdout
from edgebench.cli.panels import CommandGroup
from edgebench.errors import EXIT_USAGE, InterruptedByUser, UsageError
from edgebench.judge.metrics import required_metrics
from edgebench.judge.profile_file import ASKED, Draft, Limit, profile_text

app = CommandGroup(no_args_is_help=True, help="List, show, check and write requirement profiles.")

ProfileArgument = Annotated[
    str, typer.Argument(metavar="P", autocompletion=complete_profile, help="A profile's name or TOML file.")
]


@app.command("list")
def list_(json_: JsonOption = False) -> None:
    """List the shipped profiles."""
    from edgebench.judge.profile import shipped_profiles
    from edgebench.report.listings import print_profiles

    print_profiles(stdout(), [listed.as_record() for listed in shipped_profiles()], as_json=json_)


@app.command()
def show(profile: ProfileArgument, json_: JsonOption = False) -> None:
    """Show a profile's requirements, with the limits that they come to."""
    from edgebench.judge.profile import load_profile
    from edgebench.report.listings import print_profile

    print_profile(stdout(), load_profile(profile).as_record(), as_json=json_)


@app.command()
def check(profile: ProfileArgument, json_: JsonOption = False) -> None:
    """Say all that is wrong with a profile at once, with the lines.

    Exit codes: 0 nothing is, 2 something is.
    """
    from edgebench.judge.profile import problems_of
    from edgebench.report.listings import print_problems

    problems = problems_of(profile)
    print_problems(stdout(), profile, [asdict(problem) for problem in problems], as_json=json_)
    exit_where(bool(problems), EXIT_USAGE)
    read_profiles([profile])  # which warns of what is ignored


@app.command()
def schema() -> None:
    """Print the JSON Schema of a profile's file, for an editor's completion.

    Editors that know TOML (taplo, Even Better TOML) take it from a file's first
    line: #:schema ./profile.schema.json

    Example: edgebench profiles schema > profile.schema.json
    """
    import json

    from edgebench.judge.profile_file import profile_schema

    typer.echo(json.dumps(profile_schema(), indent=2, ensure_ascii=False))


@app.command()
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What verdicts will call it.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Where it is written. Default: NAME.toml"),
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="One line for the heads of reports.")] = "",
    extends: Annotated[
        str,
        typer.Option(
            metavar="P",
            autocompletion=complete_profile,
            help="A profile whose schedule and requirements it takes.",
        ),
    ] = "",
    cycle: Annotated[str, typer.Option(metavar="TIME", help="When images come again: '95.65 min'.")] = "",
    images: Annotated[int | None, typer.Option(metavar="N", help="Images in a cycle.")] = None,
    burst: Annotated[str, typer.Option(metavar="TIME", help="They come within so long from its start.")] = "",
    deadline: Annotated[str, typer.Option(metavar="TIME", help="How long an image may wait: '1 h'.")] = "",
    limit: Annotated[
        list[str] | None,
        typer.Option(metavar="QUANTITY[:STATISTIC]=LIMIT", help="Such as power_peak_w='5 W'. Repeatable."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a profile with comments, from flags, or from what it asks on a terminal.

    Example: edgebench profiles new sky --cycle '1 d' --images 320 --limit mass_g='150 g'
    """
    from edgebench.errors import UsageError
    from edgebench.files import require_file_name
    from edgebench.judge.profile_file import Draft, limit_of, profile_text

    path = output or Path(f"{name}.toml")
    require_file_name(path, "-o")
    if path.exists() and not force:
        raise UsageError(f"{path} is there already", fix="name another by -o, or add --force to replace it")
    draft = Draft(name, title, extends, cycle, images, burst, deadline, tuple(map(limit_of, limit or ())))
    if draft == Draft(name, title):
        draft = _asked(draft, path.parent)
    _write(path, profile_text(draft, path.parent), force=force)
    echo_path(path)


def _asked(draft: Draft, folder: Path) -> Draft:
    """What a user answers on the terminal; UsageError where there is none."""
    from edgebench.errors import UsageError

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            "nothing is said of the profile, and there is no terminal to ask on",
            fix="add --limit QUANTITY=LIMIT, --cycle and --images, or --extends P",
        )
    return ask(draft, folder)


def _write(path: Path, text: str, *, force: bool) -> None:
    from edgebench.errors import EdgeBenchError
    from edgebench.files import write_atomically

    try:
        if force:
            write_atomically(path, text.encode())
        else:
            _write_new(path, text.encode())
    except OSError as error:
        raise EdgeBenchError(
            f"{path} cannot be written", why=error.strerror or str(error), fix="name another file by -o"
        ) from error


def _write_new(path: Path, data: bytes) -> None:
    """A file that replaces nothing that came meanwhile; half a one does not stay."""
    file = path.open("xb", buffering=0)
    try:
        with file:
            left = memoryview(data)
            while left:
                left = left[file.write(left) :]
    except BaseException:
        path.unlink(missing_ok=True)
        raise


# What `edgebench profiles new` asks on a terminal; an answer that is refused is asked for again.


def ask(draft: Draft, folder: Path) -> Draft:
    """The draft, whose file is to lie in a folder, with what a user answers.

    Raises InterruptedByUser where they end it.

    An answer is tried with what was said before, so that what is refused is the answer alone.
    """
    typer.echo("Nothing (Enter) leaves a question out.", err=True)
    try:
        draft = draft if draft.title else replace(draft, title=_answer("title, one line"))
        draft = _until_taken(
            draft,
            folder,
            "extends another profile (a name or FILE)",
            lambda draft, answer: replace(draft, extends=answer),
        )
        draft = _until_taken(
            draft, folder, "images come again after a cycle of, such as 95.65 min", _with_cycle
        )
        for quantity, example in ASKED.items():
            if quantity == "image_s" and draft.cycle:
                continue  # the schedule's
            metric = required_metrics()[quantity]
            bound = "at least" if metric.at_least else "at most"
            question = f"{quantity} {bound}, such as {example}"
            draft = _until_taken(draft, folder, question, _with_limit(quantity))
    except typer.Abort:
        raise InterruptedByUser("interrupted: nothing was written") from None
    return draft


def _until_taken(draft: Draft, folder: Path, question: str, put_in: Callable[[Draft, str], Draft]) -> Draft:
    while answer := _answer(question):
        try:
            answered = put_in(draft, answer)
            profile_text(answered, folder)
        except UsageError as error:
            typer.echo(f"  {error.what}: {error.fix}" if error.fix else f"  {error.what}", err=True)
        else:
            return answered
    return draft


def _answer(question: str) -> str:
    return str(typer.prompt(question, default="", show_default=False, err=True)).strip()


def _with_cycle(draft: Draft, answer: str) -> Draft:
    images = _answer("images in a cycle")
    if not images.isdecimal():
        raise UsageError(f"{images!r} is not a number of images", fix="write one such as 80")
    return replace(draft, cycle=answer, images=int(images))


def _with_limit(quantity: str) -> Callable[[Draft, str], Draft]:
    statistic = required_metrics()[quantity].statistics[0]
    return lambda draft, answer: replace(draft, limits=(*draft.limits, Limit(quantity, statistic, answer)))
