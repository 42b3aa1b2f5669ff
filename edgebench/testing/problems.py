"""How a test of the contract fails: everything that is wrong at once, each with how to mend it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest

from edgebench.errors import SessionError

_MENDS = {
    "error": "mend in the runner what the worker complains of",
    "golden_mismatch": "compute the artifact's scores of its golden patches: look at the input's layout, "
    "scale and zero point, and at the order of rows and classes",
}
"""By a session's status: how the author of a backend mends it, which is not how its user does."""


def fail(what: str, mend: str) -> NoReturn:
    """Fail the test with what is wrong and how to mend it; no traceback, the fault is not in the test."""
    pytest.fail(_said(what, mend), pytrace=False)


def ended(what: str, error: SessionError) -> tuple[str, str]:
    """A session that ended early: what is wrong, with the end of its stderr, and how to mend it."""
    words = "; ".join(part for part in (error.what, error.why) if part)
    tail = "".join(f"\n    {line}" for line in error.stderr_tail.strip().splitlines()[-6:])
    mend = _MENDS.get(error.status) or error.fix or "see what it says there"
    return f"{what}: {error.status} at {error.stage}: {words}{tail}", mend


class Problems:
    """What a test has found so far."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, what: str, mend: str) -> None:
        """Remember one problem and go on."""
        self._found.append(_said(what, mend))

    def unless(self, fine: bool, what: str, mend: str) -> bool:
        """Remember the problem unless all is fine; returns whether it is."""
        if not fine:
            self.add(what, mend)
        return fine

    def unless_json(self, value: object, what: str) -> bool:
        """Remember a problem unless JSON carries the value and gives the same back."""
        try:
            back = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError) as error:
            self.add(f"{what} is not JSON: {error}", "give str, int, float, bool, None, list and dict alone")
            return False
        changed = "JSON turns its keys or tuples into something else"
        return self.unless(back == _plain(value), f"{what}: {changed}", "use text as keys, and no sets")

    def report(self) -> None:
        """Fail the test if anything was found."""
        if self._found:
            pytest.fail("\n".join(self._found), pytrace=False)


@contextmanager
def problems() -> Iterator[Problems]:
    """Collect what is wrong, and fail with all of it at the end."""
    found = Problems()
    yield found
    found.report()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    return value


def _said(what: str, mend: str) -> str:
    return f"{what}\n  mend: {mend}"
