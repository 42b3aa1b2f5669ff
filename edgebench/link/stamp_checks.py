"""What a device says of its times, held against itself and against when it was asked and had answered.

All of it holds by construction for a worker that stamps with its monotonic clock, so that no healthy session
fails here; a device that breaks it has stamped something else, and none of its figures can be believed. The
agent reads the same clock as its worker, before a request and as it passes the reply on: the work lies
between. How those readings fit the host's clock is `edgebench.stats.clock_rate`'s to say.

Raises ImpossibleTimes, here everywhere, with what was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.frames import ProtocolError
from edgebench.agent.steady import steady_after
from edgebench.stats.clock import MAX_DRIFT
from edgebench.vocabulary.load_bursts import BurstTimes, LoadBursts

ROUNDING_NS = 1_000
"""A Python 3.6 has its clock as a float, off by less after years; agent and worker may be of two Pythons."""

LAST_NS = 1 << 62

TIMED = 3
"""Stages that the worker stamps one after the other: patchify, preprocess, infer."""


class ImpossibleTimes(ProtocolError):
    """What cannot have been measured: no figure of the session is one."""

    fix = (
        "repeat it with both machines awake and no clock being set (timedatectl, chronyc tracking); a device "
        "that goes on saying so is not to be believed"
    )


class TooShortForTheClock(ImpossibleTimes):
    """What took no time by a clock that moves in steps: it has no figure either."""

    fix = (
        "a device whose clock moves with its kernel's ticks cannot time it: measure a scene of more patches "
        "(--scene), or give it a kernel with high-resolution timers (CONFIG_HIGH_RES_TIMERS)"
    )


class Span(NamedTuple):
    """From when to when a request can have been worked on, on the clock of its stamps."""

    from_ns: int
    to_ns: int = LAST_NS


def require_within(what: str, start_ns: int, end_ns: int, span: Span) -> None:
    """It ends when it begins or later, and lies where it was asked for."""
    if end_ns < start_ns:
        raise ImpossibleTimes(f"{what} that began at {start_ns} ns and ended at {end_ns} ns of its clock")
    if start_ns < span.from_ns - ROUNDING_NS or end_ns > span.to_ns + ROUNDING_NS:
        raise ImpossibleTimes(
            f"{what} from {start_ns} to {end_ns} ns of its clock, where it was asked for after "
            f"{span.from_ns} and was over before {span.to_ns}"
        )


def require_fits(what: str, taken_ns: float, span: Span) -> None:
    """What has no stamps of its own took no longer than the request that it was part of."""
    whole_ns = span.to_ns - span.from_ns
    if taken_ns > whole_ns + ROUNDING_NS:
        raise ImpossibleTimes(f"{what} of {taken_ns / 1e9:.6g} s in a request of {whole_ns / 1e9:.6g} s")


def require_idle(start_ns: int, end_ns: int, idle_s: float, span: Span) -> None:
    """An idle window as long as it was asked for."""
    require_within("an idle window", start_ns, end_ns, span)
    if end_ns - start_ns < idle_s * 1e9 * (1 - MAX_DRIFT):
        raise ImpossibleTimes(f"an idle window of {(end_ns - start_ns) / 1e9:.6g} s, {idle_s:g} s were due")


def require_bursts(times: BurstTimes, plan: LoadBursts, span: Span) -> None:
    """As many bursts as were asked for, each as long, behind a pause as long as was asked for."""
    require_within("load bursts", times.from_ns, times.bursts_ns[-1][1], span)
    if len(times.bursts_ns) != len(plan.pauses_s):
        raise ImpossibleTimes(f"{len(times.bursts_ns)} load bursts, {len(plan.pauses_s)} were due")
    idle_from_ns = times.from_ns
    for (start_ns, end_ns), pause_s in zip(times.bursts_ns, plan.pauses_s, strict=True):
        for what, taken_ns, due_s in (
            ("a pause", start_ns - idle_from_ns, pause_s),
            ("a load burst", end_ns - start_ns, plan.burst_s),
        ):
            if taken_ns < due_s * 1e9 * (1 - MAX_DRIFT):
                raise ImpossibleTimes(f"{what} of {taken_ns / 1e9:.6g} s, {due_s:g} s were due")
        idle_from_ns = end_ns


def require_batches(what: str, start_ns: int, end_ns: int, stamps: NDArray[np.int64], span: Span) -> None:
    """Stamps int64 [n, stages, 2] of n batches, at least one, within their run, and the run within its span.

    A runner with a queue has several batches in hand, so that they overlap; the worker fills one after the
    other all the same. Where the clock is coarse a stage, a batch and a short run may take no time.
    """
    require_within(what, start_ns, end_ns, span)
    if not len(stamps):
        raise ImpossibleTimes(f"{what} without a batch")
    starts, ends = stamps[:, :, 0], stamps[:, :, 1]
    began, filled, done = starts[:, 0], starts[:, TIMED - 1], ends[:, TIMED - 1]
    for wrong, words in (
        ((ends < starts).any(axis=1), "has a stage that ends before it begins"),
        ((starts[:, 1:TIMED] < ends[:, : TIMED - 1]).any(axis=1), "has a stage that begins within another"),
        ((starts.min(axis=1) < began) | (ends.max(axis=1) > done), "has a stage outside itself"),
        ((began < start_ns) | (done > end_ns), "lies outside of it"),
        (np.append(False, began[1:] < filled[:-1]), "was filled while the one before it was"),
    ):
        if wrong.any():
            raise ImpossibleTimes(f"{what} of which batch {int(wrong.argmax())} {words}")


def require_timed(what: str, start_ns: int, end_ns: int, stamps: NDArray[np.int64]) -> None:
    """It took time, and so did its inference: what figures are made of is none with 0."""
    if end_ns == start_ns:
        raise TooShortForTheClock(f"{what} that took no time by its clock")
    if not (stamps[:, TIMED - 1, 1] > stamps[:, TIMED - 1, 0]).any():
        raise TooShortForTheClock(f"{what} without any time of inference by its clock")


def batch_ns(stamps: NDArray[np.int64]) -> list[int]:
    """What each batch took, from patchify to the end of infer."""
    return [int(taken) for taken in stamps[:, TIMED - 1, 1] - stamps[:, 0, 0]]


class ClockSteps:
    """In what steps the clock of a session's stamps moves, as far as its batches show it."""

    def __init__(self) -> None:
        self._coarse = False
        self._least_ns = 0

    def take_in(self, stamps: NDArray[np.int64]) -> None:
        """Stamps int64 [n, stages, 2] of n batches."""
        self._coarse = self._coarse or 0 in batch_ns(stamps)
        steps = np.diff(np.unique(stamps))
        if len(steps):
            self._least_ns = min(self._least_ns or int(steps.min()), int(steps.min()))

    @property
    def coarse_ns(self) -> int:
        """The smallest step, where any batch took no time; else 0."""
        return self._least_ns if self._coarse else 0

    def warnings(self) -> list[str]:
        """That a single batch cannot be timed by it, where any took no time."""
        if not self._coarse:
            return []
        return [
            f"the clock of the times moves in coarse steps, of {self._least_ns / 1e6:.3g} ms or more: a pass "
            "is known to a step, a single batch or stage lasts whole steps or 0, and a stage's sum over a "
            "pass is right on average only (CONFIG_HIGH_RES_TIMERS in its kernel makes them finer)"
        ]


def require_warm_up(batches: int, steady: bool, taken_ns: Sequence[int], floor: int, cap: int) -> None:
    """The warm-up is what its stamps, and those of the first pass, come to by the rule that ends it.

    Args:
        batches: after how many batches it was over, as the device says.
        steady: whether the session was steady then.
        taken_ns: what each batch took, from the session's first on.
        floor: the least that the rule asks for.
        cap: the most.
    """
    least = steady_after(taken_ns, floor, cap)
    counted = min(len(taken_ns), cap) if least is None else least
    if (batches, steady) != (counted, least is not None):
        raise ImpossibleTimes(
            f"a warm-up of {batches} batches, {'steady' if steady else 'not steady'}, where its stamps are "
            f"of {len(taken_ns)} batches, {'not steady' if least is None else f'steady after {least}'}"
        )
    if least is None and len(taken_ns) < cap:
        raise ImpossibleTimes(f"a warm-up that ended after {len(taken_ns)} batches, {cap} were due")
