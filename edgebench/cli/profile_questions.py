"""What `edgebench profiles new` asks on a terminal; an answer that is refused is asked for again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import typer

from edgebench.errors import InterruptedByUser, UsageError
from edgebench.fit.metrics import required_metrics
from edgebench.fit.profile_template import ASKED, Draft, Limit, profile_text


def ask(draft: Draft, folder: Path) -> Draft:
    """The draft, whose file is to lie in a folder, with what a user answers.

    Raises InterruptedByUser where they end it.

    An answer is tried with what was said before, so that what is refused is the answer alone.
    """
    typer.echo("Nothing (Enter) leaves a question out.", err=True)
    try:
        draft = draft if draft.title else replace(draft, title=_answer("title, one line"))
        draft = _until_taken(draft, folder, "extends another profile (a name or FILE)", _with_base)
        draft = _until_taken(
            draft, folder, "images come again after a cycle of, such as 95.65 min", _with_cycle
        )
        for quantity, example in ASKED.items():
            if quantity == "image_s" and draft.cycle:
                continue  # the schedule's
            metric = required_metrics()[quantity]
            bound = "at least" if metric.at_least(metric.statistics[0]) else "at most"
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


def _with_base(draft: Draft, answer: str) -> Draft:
    return replace(draft, extends=answer)


def _with_cycle(draft: Draft, answer: str) -> Draft:
    images = _answer("images in a cycle")
    if not images.isdecimal():
        raise UsageError(f"{images!r} is not a number of images", fix="write one such as 80")
    return replace(draft, cycle=answer, images=int(images))


def _with_limit(quantity: str) -> Callable[[Draft, str], Draft]:
    statistic = required_metrics()[quantity].statistics[0]
    return lambda draft, answer: replace(draft, limits=(*draft.limits, Limit(quantity, statistic, answer)))
