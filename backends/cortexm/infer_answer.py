"""The answer to `infer N W%`: its counts, its two laps and its scores (pure)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgebench.vocabulary.values import Scores

from .faults import BadAnswer, EnergyBuild
from .messages import LAP_MODULUS, InferDone, InferStart, Lap, Message, Results, Text, WarmUpStart


@dataclass(frozen=True)
class InferCommand:
    """What was asked for.

    Attributes:
        inferences: at least 1.
        warm_ups: before them, not timed.
        classes: how many scores the artifact has; None: any number.
    """

    inferences: int
    warm_ups: int
    classes: int | None = None

    @property
    def text(self) -> str:
        """As it is sent; always with its warm-ups, because firmware takes 10 where none are named."""
        return f"infer {self.inferences} {self.warm_ups}"

    @property
    def awaited(self) -> str:
        """What has to come, for a fault's words."""
        return f"`m-infer-start-{self.inferences}`, two laps and `m-results-[...]`"


@dataclass(frozen=True)
class Inferences:
    """Timed inferences on the resident input.

    Attributes:
        sent_ns, received_ns: host clock, around the whole command with its warm-ups.
        start_us: board clock modulo 2^32.
        end_us: the same, made larger by 2^32 where the clock wrapped in between, so that it is no less.
        scores: of the last inference, finite, float32 [n], in thousandths.
    """

    sent_ns: int
    received_ns: int
    start_us: int
    end_us: int
    scores: Scores


def is_over(answer: Sequence[Message]) -> bool:
    """Whether the board is done with it; its scores may have been lost, and are not waited for then."""
    return any(isinstance(message, InferDone | Results) for message in _timed(answer))


def inferences_of(
    command: InferCommand, answer: Sequence[Message], came: Sequence[str], sent_ns: int, received_ns: int
) -> Inferences:
    """The laps and scores of a whole answer.

    Args:
        command: what it answers.
        answer: its messages.
        came: its last lines, for a fault's words.
        sent_ns: host clock, before the command.
        received_ns: host clock, after the answer.

    Raises:
        BadAnswer: it contradicts its command or itself.
        EnergyBuild: the firmware sends no laps.
    """
    timed = _timed(answer)
    _require_counts(command, answer, came)
    laps = [message.lap_us for message in timed if isinstance(message, Lap)]
    if not laps and not any(isinstance(message, Text) for message in timed):
        raise EnergyBuild("two laps", came)
    if len(laps) != 2:
        raise BadAnswer(f"{len(laps)} laps in the answer to `{command.text}%`", awaited="two laps", came=came)
    start_us, end_us = laps
    elapsed_us = (end_us - start_us) % LAP_MODULUS
    scores = _scores(command, timed, came)
    return Inferences(sent_ns, received_ns, start_us, start_us + elapsed_us, scores)


def _timed(answer: Sequence[Message]) -> Sequence[Message]:
    """What came behind the last m-infer-start: a lap before it is an earlier answer's."""
    for index in range(len(answer) - 1, -1, -1):
        if isinstance(answer[index], InferStart):
            return answer[index + 1 :]
    return ()


def _require_counts(command: InferCommand, answer: Sequence[Message], came: Sequence[str]) -> None:
    inferences = [message.inferences for message in answer if isinstance(message, InferStart)]
    if inferences != [command.inferences]:
        raise BadAnswer(
            f"the board counts {_in_words(inferences)} inferences of {command.inferences}",
            awaited=f"`m-infer-start-{command.inferences}`",
            came=came,
        )
    warm_ups = [message.warm_ups for message in answer if isinstance(message, WarmUpStart)]
    if warm_ups not in ([], [command.warm_ups]):
        raise BadAnswer(
            f"the board counts {_in_words(warm_ups)} warm-ups of {command.warm_ups}",
            awaited=f"`m-warmup-start-{command.warm_ups}`",
            came=came,
        )


def _scores(command: InferCommand, timed: Sequence[Message], came: Sequence[str]) -> Scores:
    results = [message for message in timed if isinstance(message, Results)]
    if not results:
        raise BadAnswer("scores that are missing or no numbers", awaited="`m-results-[...]`", came=came)
    with np.errstate(over="ignore"):  # of a number that float32 does not hold, which is not finite then
        scores = np.array(results[-1].scores, np.float32)
    if command.classes is not None and len(scores) != command.classes:
        raise BadAnswer(
            f"{len(scores)} scores from a model of {command.classes}",
            awaited=f"{command.classes} scores",
            came=came,
        )
    if not np.isfinite(scores).all():
        raise BadAnswer("scores that are not finite", awaited="finite scores", came=came)
    return scores


def _in_words(counts: Sequence[int]) -> str:
    return " and ".join(map(str, counts)) or "no"
