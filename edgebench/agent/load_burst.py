"""A burst of load: inferences back to back for a while, by the timed loop that measures."""

from typing import TYPE_CHECKING, Any, List, Tuple

if TYPE_CHECKING:
    from .timed import TimedLoop

MOST_BATCHES = 1000
"""In one run of the loop, which keeps the stamps of all its batches."""


def in_turn(windows: List[Any], first: int, count: int) -> List[Any]:
    """So many windows from one on, again and again."""
    return [windows[(first + n) % len(windows)] for n in range(count)]


def load_burst(loop: "TimedLoop", patches: List[Any], burst_ns: int) -> Tuple[int, int]:
    """Infer patches in turn for so long, for a batch at least; when it began and ended.

    Few batches at first: how many there is time for is known by those that have been.
    """
    timed = loop.run(in_turn(patches, 0, loop.batch))
    began, batches = timed.start_ns, 1
    while timed.end_ns - began < burst_ns:
        gone = max(1, timed.end_ns - began)
        more = max(1, min(batches, batches * (burst_ns - gone) // gone, MOST_BATCHES))
        timed = loop.run(in_turn(patches, batches * loop.batch, more * loop.batch))
        batches += more
    return began, timed.end_ns
