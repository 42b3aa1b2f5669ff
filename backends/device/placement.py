"""Placement of a model's operations on an accelerator and on the processor (device side, Python 3.6 syntax).

A runner records it as `placement` of its describe(): operations by provider or delegate.
"""

from typing import Dict, List

LEAST_SHARE = 0.5
"""Share of the operations that an accelerator has to take, unless the user allows the processor."""


def processor_warnings(
    placement: Dict[str, int],
    processor: str,
    fix: str,
    allow_cpu: bool = False,
    allow_none: bool = False,
) -> List[str]:
    """Warnings about operations that the processor carries out; empty if there are none.

    Args:
        placement: operations by provider or delegate.
        processor: the name that the processor has in `placement`.
        fix: what the user can do if the accelerator takes too few operations.
        allow_cpu: whether the processor may have more than half of the operations.
        allow_none: whether it may have all of them.

    Raises:
        RuntimeError: the accelerator takes no operation, or fewer than half of them.
    """
    total, left = sum(placement.values()), placement.get(processor, 0)
    if not left:
        return []
    share = "{} of {} operations on the processor".format(left, total)
    if left == total and not allow_none:
        raise RuntimeError("{}: the model was not accelerated at all; {}".format(share, fix))
    if left > LEAST_SHARE * total and not allow_cpu:
        raise RuntimeError(
            "{}, which is more than half; {}, or take it as it is with --set allow-cpu=true".format(
                share, fix
            )
        )
    return [share]
