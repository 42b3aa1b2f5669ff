"""All faults by name, and how `--fault` is read."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.errors import UsageError
from edgebench.suggest import choose

from .board_faults import BOARD_FAULTS
from .faults import Fault
from .line_faults import LINE_FAULTS

FAULTS = {fault.name: fault for fault in (*LINE_FAULTS, *BOARD_FAULTS)}
_MOST = 1_000_000_000


def faults_of(texts: Sequence[str]) -> list[Fault]:
    """One fault a `NAME[:N]`; UsageError for what is none."""
    return [_fault(text) for text in texts]


def descriptions() -> list[str]:
    """A line each, as `--help` lists them."""
    return [
        f"{fault.name}{'' if fault.default is None else '[:N]'}: {fault.description}"
        + ("" if fault.default is None else f" ({fault.default:,})")
        for fault in FAULTS.values()
    ]


def _fault(text: str) -> Fault:
    name, colon, number = text.partition(":")
    kind = FAULTS.get(name)
    if kind is None:
        raise UsageError(f"there is no fault {name!r}", fix=choose(name, FAULTS))
    if not colon:
        return kind(1 if kind.default is None else kind.default)
    if kind.default is None:
        raise UsageError(f"{name} takes no number", fix=f"write --fault {name}")
    if not (number.isascii() and number.isdecimal() and 1 <= int(number[:12]) <= _MOST):
        raise UsageError(
            f"{text!r} is no fault",
            why=f"{number!r} is no number from 1 to {_MOST:,}",
            fix=f"--fault {name}:3",
        )
    return kind(int(number))
