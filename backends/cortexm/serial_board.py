"""A board at its line as a session of windows asks it: patches in, timed inferences and stamps out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from edgebench.link.input_tensor import input_bytes
from edgebench.link.window_board import TimedInferences
from edgebench.link.wrapping_clock import WrappingClock
from edgebench.stats.clock import RoundTrip
from edgebench.vocabulary.artifact import Artifact

from .conversation import Conversation

NS_A_CYCLE_OF_ICOUNT = 1000
"""Times us, and over 2^shift: QEMU with `-icount shift=N` lets 2^N ns go by with each instruction."""


class SerialBoard:
    """Implements `WindowBoard`.

    Args:
        conversation: with the board.
        artifact: that it carries.
        is_emulated: whether its clock is no time.
        icount_shift: of QEMU, where its clock counts instructions.
    """

    def __init__(
        self,
        conversation: Conversation,
        artifact: Artifact,
        *,
        is_emulated: bool = False,
        icount_shift: int | None = None,
    ) -> None:
        self._conversation = conversation
        self._artifact = artifact
        self._clock = WrappingClock(follows_host=not is_emulated)
        self._icount_shift = icount_shift

    def resynchronise(self) -> None:
        """Flush the line, and see that the board answers."""
        self._conversation.resynchronise()

    def load(self, patch: NDArray[np.uint8]) -> None:
        """Send the patch as the artifact's input."""
        self._conversation.load(input_bytes(self._artifact.input, patch), _ignore)

    def infer(self, inferences: int, warm_ups: int, expected_s: float) -> TimedInferences:
        """`infer N W`, on the unwrapped clock."""
        answer = self._conversation.infer(inferences, warm_ups, expected_s, self._artifact.scores)
        start_us, end_us = self._clock.stamps_us(
            answer.sent_ns, (answer.start_us, answer.end_us), answer.received_ns
        )
        instructions = None
        if self._icount_shift is not None:
            instructions = round((end_us - start_us) * NS_A_CYCLE_OF_ICOUNT / 2**self._icount_shift)
        return TimedInferences(start_us * 1000, end_us * 1000, answer.scores, instructions)

    def round_trip(self) -> RoundTrip:
        """`timestamp%`, on the unwrapped clock."""
        return self._clock.round_trip(*self._conversation.timestamp())


def _ignore(sent_bytes: int, size_bytes: int) -> None:
    """A patch takes less than a minute: the session reports patch by patch."""
