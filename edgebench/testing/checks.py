"""The driver of the conformance kit: a check returns rows, and fails with those that are text."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import pytest

from edgebench.errors import SessionError, UsageError
from edgebench.prepare.cache import Cache
from edgebench.testing.plugin import NOTE

FIX = "; fix: "
Rows = Iterable[object]
"""What a check returns: text is a problem and how the author of the plug-in repairs it, with FIX in between.
Anything else is a kept promise, so that a row reads `condition or "what is wrong; fix: what to do"`."""

_FIXES = {
    "error": "correct in the runner what the worker complains about",
    "golden_mismatch": "compute the artifact's scores of its golden patches: look at the input's layout, "
    "scale and zero point, and at the order of rows and classes",
}
"""By a session's status: the fix for the author of a backend, which is not that for its user."""


def check(*needs: str) -> Callable[[Callable[[Any, Any], Rows]], Callable[..., None]]:
    """Make a test out of a method that takes the kit and returns rows.

    The test fails with all problems. It skips where the class or the command line leaves it out.

    Args:
        needs: what the kit has to have, by `Kit.obstacle`: an agent, golden scores. The test skips without.
    """

    def test_of(rows: Callable[[Any, Any], Rows]) -> Callable[..., None]:
        def test(self: Any, edgebench_kit: Any, record_property: Callable[[str, object], None]) -> None:
            edgebench_kit.note = functools.partial(record_property, NOTE)
            edgebench_kit.skip_unless_tried(rows.__name__, needs)
            if problems := [row for row in rows(self, edgebench_kit) if isinstance(row, str)]:
                fail(*problems)

        functools.update_wrapper(test, rows)
        # pytest would look for the fixtures of what is wrapped.
        del test.__wrapped__  # type: ignore[attr-defined]
        test.needs = needs  # type: ignore[attr-defined]
        return test

    return test_of


def fail(*problems: str) -> NoReturn:
    """Fail the test with the problems; no traceback, because they are not in the test."""
    pytest.fail("\n".join(problem.replace(FIX, "\n  fix: ") for problem in problems), pytrace=False)


def ended(subject: str, error: SessionError) -> str:
    """The problem of a session that ended early, with the end of its stderr."""
    words = "; ".join(part for part in (error.what, error.why) if part)
    tail = "".join(f"\n    {line}" for line in error.stderr_tail.strip().splitlines()[-6:])
    fix = _FIXES.get(error.status) or error.fix or "see the reason"
    return f"{subject}: {error.status} at {error.stage}: {words}{tail}{FIX}{fix}"


def is_stated(text: object) -> bool:
    """Return True if it is text that is not blank."""
    return isinstance(text, str) and bool(text.strip())


def is_json(value: object, subject: str) -> object:
    """Check that JSON carries the value and gives the same back."""
    try:
        back = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError) as error:
        return f"{subject} is not JSON: {error}; fix: use str, int, float, bool, None, list and dict alone"
    words = f"{subject}: JSON turns its keys into text"
    return back == _with_lists(value) or f"{words}; fix: use text as keys"


def _with_lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_lists(item) for key, item in value.items()}
    return [_with_lists(item) for item in value] if isinstance(value, list | tuple) else value


class Kit:
    """Parts that the tests of one contract share.

    Args:
        contract: the test class, whose attributes say what is tried and how.
        cache: where artifacts are prepared and the agent is kept.
        option: an option of pytest's command line by its name.

    Attributes:
        note: adds a line to pytest's summary.
    """

    def __init__(self, contract: Any, cache: Cache, option: Callable[[str], Any] = lambda name: None) -> None:
        self.contract = contract
        self.cache = cache
        self.note: Callable[[str], object] = lambda text: None
        self._option = option

    def close(self) -> None:
        """Close what is open."""

    def asked(self, name: str) -> Any:
        """The class's attribute (the result where it is a function); else the option of the command line."""
        value = getattr(self.contract, name)
        value = value() if callable(value) else value
        return self._option(f"edgebench_{name}") if value is None else value

    def pairs(self, name: str) -> dict[str, str]:
        """The values of a repeatable option `--edgebench-NAME KEY=VALUE`; UsageError for one without `=`."""
        pairs = {}
        for text in self._option(f"edgebench_{name}") or ():
            key, equals, value = text.partition("=")
            if not equals or not key.strip():
                flag = f"--edgebench-{name}"
                raise UsageError(f"{flag} {text!r} has no '='", fix=f"write it like {flag} name=value")
            pairs[key.strip()] = value.strip()
        return pairs

    @property
    def skips(self) -> dict[str, str]:
        """The tests that the class or the command line leaves out, with the reasons."""
        # The command line speaks of whatever runs; a class of its own tests alone.
        if unknown := [name for name in self.contract.skips if not hasattr(self.contract, name)]:
            known = ", ".join(sorted(name for name in dir(self.contract) if name.startswith("test_")))
            fail(f"skips: there is no test {unknown[0]!r}; fix: choose among {known}")
        return {**self.pairs("skip"), **self.contract.skips}

    def skip_unless_tried(self, test: str, needs: Iterable[str] = ()) -> None:
        """Skip a test that is left out or that lacks what it needs; fail for a name that is no test."""
        reason = self.skips.get(test)
        if reason is not None:
            pytest.skip(f"left out: {reason or 'no reason was given'}")
        for need in needs:
            if obstacle := self.obstacle(need):
                pytest.skip(obstacle)

    def obstacle(self, need: str) -> str:
        """Reason that the kit lacks what a test needs; empty where it has it."""
        return ""

    def missing(self, why: str) -> NoReturn:
        """Skip with the reason; fail where the device or the hardware has to be there."""
        if self._option("edgebench_require_device"):
            pytest.fail(f"missing, and --edgebench-require-device requires it: {why}", pytrace=False)
        pytest.skip(why)
