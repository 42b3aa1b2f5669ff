"""A Coral Dev Board Micro as its host asks it: what it is, blocks in, timed passes and scores out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from edgebench.link.wrapping_clock import MOST_DRIFT, TURN_US, WrappingClock
from edgebench.vocabulary.values import Scores

from .answers import (
    FIRMWARE,
    PROTOCOL,
    Answer,
    Block,
    BoardDescription,
    FirmwareAnswer,
    ModelAnswer,
    RunAnswer,
    ScoresAnswer,
)
from .block_loading import BlockLoading, Loaded, LoadProgress
from .faults import (
    NO_SUCH_METHOD,
    BadAnswer,
    BoardRestarted,
    NothingLoaded,
    OtherFirmware,
    Refused,
)
from .rpc_call import AnyAnswer, RpcClient, TimedAnswer, checked
from .run_answer import (
    STAMP_BYTES,
    STAMPS_A_PATCH,
    RawScores,
    base64_length,
    dequantised,
    raw_scores,
    stamps_in_order,
)

_RESTART_US = 2_000_000
"""By how much more a clock has to be off to count as one that began anew: a boot takes longer."""

_VARYING = frozenset({"us", "temperature_c", "model", "scene", "images"})
"""Of a description: what is read or held, and not what the board is."""


class ClockStamp(NamedTuple):
    """The host's monotonic clock around a reading of the board's, which is modulo 2^32 us."""

    sent_ns: int
    device_us: int
    received_ns: int


class Described(NamedTuple):
    """What a board says of itself, and its clock while it did."""

    board: BoardDescription
    stamp: ClockStamp


@dataclass(frozen=True)
class TimedRun:
    """A pass over the first patches of the scene that is on the board.

    Attributes:
        start_us, end_us: the board's clock around it, modulo 2^32.
        stamps: uint32 [n, 3]: before a patch's preprocessing, before Invoke, after Invoke; or [n, 2], around
            Invoke alone. Modulo 2^32 us.
        raw_scores: [n, classes] in the output's type.
        scores: float32 [n, classes], dequantised.
        sent_ns, received_ns: the host's clock around the call.
    """

    start_us: int
    end_us: int
    stamps: NDArray[np.uint32]
    raw_scores: RawScores
    scores: Scores
    sent_ns: int
    received_ns: int


class Predicted(NamedTuple):
    """Scores of images: [n, classes] in the output's type, and float32, dequantised."""

    raw_scores: RawScores
    scores: Scores


class MicroBoard:
    """One board. Every method raises a BoardFault, by its kind, where the board does something else.

    Args:
        client: of the board.
    """

    def __init__(self, client: RpcClient) -> None:
        self._client = client
        self._loaded: dict[Block, str] = {}
        self._last: Described | None = None

    def describe(self) -> Described:
        """What the board is and holds.

        Raises:
            OtherFirmware: not EdgeBench's, or of another protocol.
            BoardRestarted: it lacks what was loaded here, its clock began anew, or it is not what it was.
        """
        try:
            call = self._client.call("describe", {}, _AnyFirmware)
        except Refused as fault:
            if fault.code != NO_SUCH_METHOD:
                raise
            raise OtherFirmware(
                f"it speaks JSON-RPC and does not know `describe`: {fault.message}"
            ) from fault
        board = _ours(call.answer)
        described = Described(board, ClockStamp(call.sent_ns, board.us, call.received_ns))
        last, self._last = self._last, described
        self._require_not_restarted(last, described)
        if last is not None and (change := _change(last.board, board)):
            self._forget()
            raise BoardRestarted(f"{change}: it was flashed anew, or another board took its address")
        return described

    def load(self, block: Block, data: bytes, table: bytes | None, progress: LoadProgress) -> Loaded:
        """Bring a block onto the board, as far as it is not there.

        Args:
            block: which.
            data: a compiled .tflite; or pixels uint8, RGB, row by row, patch after patch.
            table: of a model: uint8 or int8 [256], or [768] for R, G and B: what each pixel's value becomes.
            progress: of (bytes that are there, bytes in all).
        """
        piece_bytes = self._described().board.piece_bytes
        self._loaded.pop(block, None)
        try:
            loaded = BlockLoading(self._client, piece_bytes, block, data, table).load(progress)
        except BoardRestarted:
            self._forget()
            raise
        if block == "model":
            held = self.describe().board.held()[block]
            if held != loaded.sha256:
                raise BadAnswer(
                    "describe", f"model: {held or 'none'}, where {loaded.sha256} was loaded whole"
                )
        self._loaded[block] = loaded.sha256
        return loaded

    def run(self, n: int, expected_s: float) -> TimedRun:
        """A pass over the first `n` resident patches.

        Args:
            n: at least 1.
            expected_s: how long it should take; thrice that, and some seconds, is waited.
        """
        model = self._model("run")
        a_patch = STAMPS_A_PATCH[self._described().board.times]
        data_bytes = base64_length(n * a_patch * STAMP_BYTES)
        call = self._infer("run", n, expected_s, RunAnswer, model, data_bytes)
        answer = call.answer
        raw = raw_scores("run", answer, n, model)
        run = TimedRun(
            start_us=answer.start_us,
            end_us=answer.end_us,
            stamps=stamps_in_order(answer, n, a_patch),
            raw_scores=raw,
            scores=dequantised(raw, model),
            sent_ns=call.sent_ns,
            received_ns=call.received_ns,
        )
        # Refuses a run that is longer than its call.
        WrappingClock().stamps_us(run.sent_ns, (run.start_us, run.end_us), run.received_ns)
        return run

    def predict(self, n: int, expected_s: float) -> Predicted:
        """Scores of the first `n` images, in the time that `run` would be given."""
        model = self._model("predict")
        call = self._infer("predict", n, expected_s, ScoresAnswer, model, 0)
        raw = raw_scores("predict", call.answer, n, model)
        return Predicted(raw, dequantised(raw, model))

    def _infer(
        self,
        method: str,
        n: int,
        expected_s: float,
        kind: type[AnyAnswer],
        model: ModelAnswer,
        data_bytes: int,
    ) -> TimedAnswer[AnyAnswer]:
        data_bytes += base64_length(n * model.classes * model.output_dtype.itemsize)
        more_s = 3 * expected_s + self._client.limits.run_s
        try:
            return self._client.call(method, {"n": n}, kind, data_bytes=data_bytes, more_s=more_s)
        except NothingLoaded as fault:
            if not self._loaded:
                raise
            self._forget()
            raise BoardRestarted(f"it lacks what was loaded: {fault.message}") from fault

    def _model(self, method: str) -> ModelAnswer:
        model = self._described().board.model
        if model is None:
            raise NothingLoaded(method, -32001, "no model is loaded", fix="load a model first")
        return model

    def _described(self) -> Described:
        """The last description, or the first."""
        return self._last or self.describe()

    def _forget(self) -> None:
        self._loaded.clear()
        self._last = None

    def _require_not_restarted(self, last: Described | None, now: Described) -> None:
        held = now.board.held()
        missing = [block for block, sha256 in self._loaded.items() if held[block] != sha256]
        if missing:
            self._forget()
            raise BoardRestarted(
                f"the {' and the '.join(missing)} that was loaded is not there any more: or another program "
                "loads it, too"
            )
        if last is not None and (off_us := _clock_jump_us(last.stamp, now.stamp)):
            self._forget()
            raise BoardRestarted(
                f"its clock is {abs(off_us) / 1e6:,.1f} s {'ahead of' if off_us > 0 else 'behind'} where it "
                "should be: it began anew, or does not count microseconds"
            )


class _AnyFirmware(Answer, extra="allow"):
    """Whatever object `describe` brings: other firmware may know the method, too."""


def _ours(answer: _AnyFirmware) -> BoardDescription:
    """The description of EdgeBench's firmware; OtherFirmware where it is none."""
    result = answer.model_dump()
    try:
        firmware = checked("describe", result, FirmwareAnswer)
    except BadAnswer as fault:
        raise OtherFirmware(f"it knows `describe` and does not say what it is: {fault.why}") from None
    if firmware.firmware != FIRMWARE:
        raise OtherFirmware(f"it is `{firmware.firmware}` {firmware.version}, `{FIRMWARE}` was due")
    if firmware.protocol != PROTOCOL:
        raise OtherFirmware(
            f"its version {firmware.version} speaks protocol {firmware.protocol}, this EdgeBench {PROTOCOL}"
        )
    return checked("describe", result, BoardDescription)


def _change(last: BoardDescription, now: BoardDescription) -> str:
    """What a board says of itself, or of the same model, otherwise than before; "" where it says the same."""
    pairs: list[tuple[str, BaseModel, BaseModel]] = [("its", last, now)]
    if last.model is not None and now.model is not None and last.model.sha256 == now.model.sha256:
        pairs.append(("its model's", last.model, now.model))
    for whose, before, after in pairs:
        for name, value in before:
            if name not in _VARYING and value != getattr(after, name):
                return f"{whose} {name} is {getattr(after, name)} now, and was {value}"
    return ""


def _clock_jump_us(last: ClockStamp, now: ClockStamp) -> int:
    """By how much the board's clock is off from where the host's says that it should be; 0 for a little.

    A clock of 32 bits cannot tell more than half a turn: after a day it is not judged.
    """
    least_us = (now.sent_ns - last.received_ns) // 1000
    most_us = (now.received_ns - last.sent_ns) // 1000
    allowed_us = round(MOST_DRIFT * most_us) + (most_us - least_us) + _RESTART_US
    if allowed_us >= TURN_US // 2:
        return 0
    off_us = (now.device_us - last.device_us - most_us) % TURN_US
    off_us = off_us if off_us < TURN_US // 2 else off_us - TURN_US
    return off_us if abs(off_us) > allowed_us else 0
