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


def fail(fault: str, mend: str) -> NoReturn:
    """Fail the test with what is wrong and how to mend it; no traceback, the fault is not in the test."""
    pytest.fail(_fault_text(fault, mend), pytrace=False)


def ended(subject: str, error: SessionError) -> tuple[str, str]:
    """A session that ended early: what is wrong, with the end of its stderr, and how to mend it."""
    words = "; ".join(part for part in (error.what, error.why) if part)
    tail = "".join(f"\n    {line}" for line in error.stderr_tail.strip().splitlines()[-6:])
    mend = _MENDS.get(error.status) or error.fix or "see what it says there"
    return f"{subject}: {error.status} at {error.stage}: {words}{tail}", mend


class Problems:
    """What a test has found so far."""

    def __init__(self) -> None:
        self._faults: list[str] = []

    def add(self, fault: str, mend: str) -> None:
        """Remember one problem and go on."""
        self._faults.append(_fault_text(fault, mend))

    def unless(self, fine: bool, fault: str, mend: str) -> bool:
        """Remember the problem unless all is fine; returns whether it is."""
        if not fine:
            self.add(fault, mend)
        return fine

    def unless_json(self, value: object, subject: str) -> bool:
        """Remember a problem unless JSON carries the value and gives the same back."""
        try:
            back = json.loads(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError) as error:
            self.add(
                f"{subject} is not JSON: {error}", "give str, int, float, bool, None, list and dict alone"
            )
            return False
        changed = "JSON turns its keys or tuples into something else"
        return self.unless(back == _plain(value), f"{subject}: {changed}", "use text as keys, and no sets")

    def report(self) -> None:
        """Fail the test if anything was found."""
        if self._faults:
            pytest.fail("\n".join(self._faults), pytrace=False)


@contextmanager
def problems() -> Iterator[Problems]:
    """Collect what is wrong, and fail with all of it at the end."""
    collected = Problems()
    yield collected
    collected.report()


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    return value


def _fault_text(fault: str, mend: str) -> str:
    return f"{fault}\n  mend: {mend}"
