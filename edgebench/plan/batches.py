"""The batches that a run measures on a device: those that were asked for, else the device's own."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.contract import Backend
from edgebench.errors import UsageError


def batches_of(backend: Backend, asked: Sequence[int]) -> tuple[int, ...]:
    """The batches, each once, in patches; the device's default where none was asked for.

    UsageError for one that the device does not take.
    """
    for batch in asked:
        if not 1 <= batch <= backend.most_batch:
            most = backend.most_batch
            takes = "one patch at a time" if most == 1 else f"1 to {most} patches in one inference"
            raise UsageError(
                f"{backend.name} does not take a batch of {batch}",
                why=f"it takes {takes}",
                fix="leave --batch out" if most == 1 else f"write --batch N with N from 1 to {most}",
            )
    return tuple(dict.fromkeys(asked)) or (backend.default_batch,)
