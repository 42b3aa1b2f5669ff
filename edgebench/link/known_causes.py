"""Failures whose cause a backend knows by their words, and what it says of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from edgebench.errors import SessionError


class Explained(NamedTuple):
    """What went wrong, why, and what to do."""

    what: str
    why: str
    fix: str


Cause = tuple[str | re.Pattern[str], Callable[[re.Match[str], str], Explained]]
"""What a failure says, and what makes an explanation of it for a device of `edgebench devices`."""


def explain_by_causes(
    error: SessionError, causes: Iterable[Cause], texts: Sequence[str], device: str
) -> SessionError | None:
    """The failure in the words of the first cause that fits; None where none does.

    Args:
        error: of a session, or of a build.
        causes: the likeliest or the most telling first.
        texts: of the failure; each is searched for a cause before the next cause is tried.
        device: a name of `edgebench devices`.
    """
    for pattern, explanation_of in causes:
        for text in texts:
            if match := re.search(pattern, text):
                explained = explanation_of(match, device)
                return SessionError(
                    explained.what,
                    status=error.status,
                    stage=error.stage,
                    signal=error.signal,
                    stderr_tail=error.stderr_tail,
                    why=explained.why,
                    fix=explained.fix,
                )
    return None
