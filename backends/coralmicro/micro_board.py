"""A Coral Dev Board Micro as its host asks it: what it is, blocks in, timed passes and scores out."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from edgebench.link.clock_match import MOST_DRIFT, TURN_US, WrappingClock
from edgebench.records.values import Scores

from .faults import (
    BAD_PARAMS,
    NO_SUCH_METHOD,
    BadAnswer,
    BoardRestarted,
    HalfAnswer,
    HashDiffers,
    MicroFault,
    NothingLoaded,
    OtherFirmware,
    Refused,
    ResetAmidCall,
    Stalled,
)
from .rpc_call import (
    FIRMWARE,
    MOST_PIECE_BYTES,
    PROTOCOL,
    Answer,
    AnyAnswer,
    Block,
    BoardDescription,
    FirmwareAnswer,
    HeldAnswer,
    ModelAnswer,
    RpcClient,
    RunAnswer,
    ScoresAnswer,
    TimedAnswer,
    checked,
)

# What a board's passes brought, from base64 to arrays: stamps in order, scores finite (pure).


STAMP_BYTES = 4
STAMPS_A_PATCH = {"pass": 3, "inference": 2}
"""Before preprocessing, before and after Invoke; or around Invoke alone."""

RawScores = NDArray[np.int8] | NDArray[np.uint8] | NDArray[np.float32]


def base64_length(size_bytes: int) -> int:
    """Characters of so many bytes."""
    return -(-size_bytes // 3) * 4


def _bytes_of(method: str, name: str, text: str, due_bytes: int) -> bytes:
    if len(text) != base64_length(due_bytes):
        raise BadAnswer(
            method, f"{name}: {len(text):,} characters of base64, {base64_length(due_bytes):,} were due"
        )
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise BadAnswer(method, f"{name}: no base64") from None
    if len(data) != due_bytes:
        raise BadAnswer(method, f"{name}: {len(data):,} bytes, {due_bytes:,} were due")
    return data


def raw_scores(method: str, answer: ScoresAnswer, n: int, model: ModelAnswer) -> RawScores:
    """Scores [n, classes] as the model's output has them; BadAnswer where they are not that."""
    if answer.n != n:
        raise BadAnswer(method, f"n: {answer.n} patches, {n} were asked for")
    dtype = model.output_dtype
    data = _bytes_of(method, "scores", answer.scores, n * model.classes * dtype.itemsize)
    scores: NDArray[Any] = np.frombuffer(data, dtype).reshape(n, model.classes)
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores).all(axis=1)))
        raise BadAnswer(method, f"scores: those of patch {row} are not finite numbers")
    return scores


def dequantised(scores: RawScores, model: ModelAnswer) -> Scores:
    """Scores float32 [n, classes] by the output's scale and zero point."""
    if model.output_type == "float32":
        return scores.astype(np.float32)
    return ((scores.astype(np.float64) - model.output_zero_point) * model.output_scale).astype(np.float32)


def stamps_in_order(answer: RunAnswer, n: int, a_patch: int) -> NDArray[np.uint32]:
    """Stamps uint32 [n, a_patch] of a run, modulo 2^32 us; BadAnswer where one is before its predecessor.

    A run is shorter than a turn of the clock, so that each stamp lies within the turn behind its start.
    """
    data = _bytes_of("run", "stamps", answer.stamps, n * a_patch * STAMP_BYTES)
    stamps = np.frombuffer(data, "<u4").reshape(n, a_patch)
    taken = np.array([answer.start_us, *stamps.ravel(), answer.end_us], np.int64)
    steps = np.diff((taken - answer.start_us) % TURN_US)
    if (steps < 0).any():
        patch = min(int((steps < 0).argmax()) // a_patch, n - 1)
        raise BadAnswer("run", f"stamps: those of patch {patch} run backwards", _CLOCK_FIX)
    return stamps


_CLOCK_FIX = "see that the firmware's clock counts microseconds, and that nothing sets it"


# Bringing a block of bytes onto a board: by its hash, in pieces, and only what is not there.


MOST_ASKS = 3
"""Of one call whose answer was lost; each of them can be asked again without harm."""
MOST_ROUNDS = 2
"""Of a block: one whose hash differs is sent again once."""

LoadProgress = Callable[[int, int], None]
"""Called with the bytes that are there and the bytes in all."""


class Loaded(NamedTuple):
    """A block that is on the board.

    Attributes:
        sha256: of it.
        sent_bytes: by the round that succeeded; 0 where all of it was there.
        rounds: 1 unless its hash differed at first.
    """

    sha256: str
    sent_bytes: int
    rounds: int


class _SentInVain(Exception):
    """All of a block came, and what is there has another hash: the fault to end with."""

    def __init__(self, fault: MicroFault) -> None:
        super().__init__(fault.what)
        self.fault = fault


class BlockLoading:
    """One block on its way to a board.

    Args:
        client: of the board.
        piece_bytes: most of one piece, as the board says.
        block: which.
        data: at least one byte.
        table: of a model, what each pixel's value becomes in its input: 256 bytes, or 768 for R, G and B.
    """

    def __init__(
        self, client: RpcClient, piece_bytes: int, block: Block, data: bytes, table: bytes | None
    ) -> None:
        if not data:
            raise ValueError(f"the block {block} is empty")
        if (block == "model") != (table is not None) or len(table or bytes(256)) not in (256, 768):
            raise ValueError("a model, and nothing else, comes with a table of 256 or 768 bytes")
        self._client = client
        self._piece_bytes = min(piece_bytes, MOST_PIECE_BYTES)
        self._block = block
        self._data = data
        self._table = table
        self._sha256 = hashlib.sha256(data).hexdigest()

    def load(self, progress: LoadProgress) -> Loaded:
        """Send what is not there.

        Raises:
            HashDiffers: twice.
            ModelRefused, TooLarge: the board does not take it.
            BoardRestarted: the board lost what it had acknowledged.
            MicroFault: a call's, after MOST_ASKS where its answer was lost.
        """
        for round_number in range(1, MOST_ROUNDS + 1):
            try:
                sent_bytes = self._send(progress)
            except _SentInVain as vain:
                fault = vain.fault
                continue
            return Loaded(self._sha256, sent_bytes, round_number)
        raise fault

    def _send(self, progress: LoadProgress) -> int:
        size = len(self._data)
        first = held = self._begin()
        progress(held, size)
        while held < size:
            held = self._send_piece(held)
            progress(held, size)
        return size - first

    def _begin(self) -> int:
        """How much is there."""
        params: dict[str, Any] = {"block": self._block, "sha256": self._sha256, "size": len(self._data)}
        if self._table is not None:
            params["table"] = base64.b64encode(self._table).decode()
        held = self._ask(params, 0.0)
        if held > len(self._data):
            raise BadAnswer("load", f"held: {held:,} bytes of a {self._block} of {len(self._data):,}")
        return held

    def _send_piece(self, offset: int) -> int:
        """How much is there with the piece from `offset` on."""
        piece = self._data[offset : offset + self._piece_bytes]
        end = offset + len(piece)
        is_last = end == len(self._data)
        params = {
            "block": self._block,
            "sha256": self._sha256,
            "offset": offset,
            "data": base64.b64encode(piece).decode(),
        }
        more_s = self._client.limits.build_s if is_last and self._block == "model" else 0.0
        self._asks = 0
        try:
            held = self._ask(params, more_s)
        except HashDiffers as fault:
            raise _SentInVain(fault) from None
        except Refused as fault:
            if not isinstance(fault, NothingLoaded) and fault.code != BAD_PARAMS:
                raise
            # The lost answer to the last piece can have been that the hash differs.
            is_repeat_of_last = is_last and self._asks > 1
            raise self._why_refused(fault, offset, is_repeat_of_last) from fault
        if held != end:
            raise BadAnswer("load", f"held: {held:,} bytes behind a piece that ends at {end:,}")
        return held

    def _why_refused(self, fault: Refused, offset: int, is_repeat_of_last: bool) -> Exception:
        """What the refusal of a piece means that follows on what was acknowledged."""
        held = self._begin()
        if held >= offset:
            return fault
        if is_repeat_of_last:
            return _SentInVain(fault)
        return BoardRestarted(
            f"it has {held:,} bytes of the {self._block}, and had acknowledged {offset:,}: "
            "or another program loads it, too"
        )

    def _ask(self, params: dict[str, Any], more_s: float) -> int:
        """A call of `load`, again where its answer was lost."""
        for self._asks in range(1, MOST_ASKS + 1):
            try:
                return self._client.call("load", params, HeldAnswer, more_s=more_s).answer.held
            except (Stalled, ResetAmidCall, HalfAnswer) as lost:
                fault = lost
        raise fault


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
