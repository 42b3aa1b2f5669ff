"""A Coral Dev Board Micro as its host asks it: what it is, blocks in, timed passes and scores out."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.link.clock_match import MOST_DRIFT, TURN_US, WrappingClock
from edgebench.records.session import Pass
from edgebench.records.values import Scores
from edgebench.stats.clock import RoundTrip

from .faults import (
    BAD_PARAMS,
    NO_SUCH_METHOD,
    BadAnswer,
    BoardRestarted,
    HashDiffers,
    LostAnswer,
    NothingLoaded,
    OtherFirmware,
    Refused,
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
STAGES = {"pass": ("preprocess", "infer"), "inference": ("infer",)}
"""Of a patch, by what the firmware times; a stamp stands before each and behind the last."""


def base64_length(size_bytes: int) -> int:
    """Characters of so many bytes."""
    return -(-size_bytes // 3) * 4


def _bytes_of(method: str, name: str, text: str, due_bytes: int) -> bytes:
    due_length = base64_length(due_bytes)
    if len(text) != due_length:
        raise BadAnswer(method, f"{name}: {len(text):,} characters of base64, {due_length:,} were due")
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise BadAnswer(method, f"{name}: no base64") from None
    if len(data) != due_bytes:
        raise BadAnswer(method, f"{name}: {len(data):,} bytes, {due_bytes:,} were due")
    return data


def scores_of(method: str, answer: ScoresAnswer, n: int, model: ModelAnswer) -> Scores:
    """Scores float32 [n, classes], by the output's scale and zero point; BadAnswer for anything else."""
    if answer.n != n:
        raise BadAnswer(method, f"n: {answer.n} patches, {n} were asked for")
    dtype = model.output_dtype
    data = _bytes_of(method, "scores", answer.scores, n * model.classes * dtype.itemsize)
    scores: NDArray[Any] = np.frombuffer(data, dtype).reshape(n, model.classes)
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores).all(axis=1)))
        raise BadAnswer(method, f"scores: those of patch {row} are not finite numbers")
    if model.output_type != "float32":
        scores = (scores.astype(np.float64) - model.output_zero_point) * model.output_scale
    return scores.astype(np.float32)


def stamps_in_order(answer: RunAnswer, n: int, a_patch: int) -> list[int]:
    """All stamps of a run from its start to its end, modulo 2^32 us; BadAnswer where one is before another.

    A run is shorter than a turn of the clock, so that each stamp lies within the turn behind its start.
    """
    data = _bytes_of("run", "stamps", answer.stamps, n * a_patch * STAMP_BYTES)
    taken = np.array([answer.start_us, *np.frombuffer(data, "<u4"), answer.end_us], np.int64)
    steps = np.diff((taken - answer.start_us) % TURN_US)
    if (steps < 0).any():
        patch = min(int((steps < 0).argmax()) // a_patch, n - 1)
        fix = "see that the firmware's clock counts microseconds, and that nothing sets it"
        raise BadAnswer("run", f"stamps: those of patch {patch} run backwards", fix)
    return [int(stamp_us) for stamp_us in taken]


# Bringing a block of bytes onto a board: by its hash, in pieces, and only what is not there.


MOST_ASKS = 3
"""Of one call whose answer was lost; each of them can be asked again without harm."""
LoadProgress = Callable[[int, int], None]
"""Called with the bytes that are there and the bytes in all."""


_RESTART_US = 2_000_000
"""By how much more a clock has to be off to count as one that began anew: a boot takes longer."""

_VARYING = frozenset({"us", "temperature_c", "model", "scene", "images"})
"""Of a description: what is read or held, and not what the board is."""


class MicroBoard:
    """One board. Every method raises a BoardFault, by its kind, where the board does something else.

    Args:
        client: of the board.
    """

    def __init__(self, client: RpcClient) -> None:
        self._client = client
        self._clock = WrappingClock()
        self._loaded: dict[Block, str] = {}
        self._last: TimedAnswer[BoardDescription] | None = None

    @property
    def description(self) -> BoardDescription:
        """The last description, or the first."""
        return (self._last or self.describe()).answer

    @property
    def stages(self) -> tuple[str, ...]:
        """Of a patch, in order."""
        return STAGES[self.description.times]

    def describe(self) -> TimedAnswer[BoardDescription]:
        """What the board is and holds.

        Raises:
            OtherFirmware: not EdgeBench's, or of another protocol.
            BoardRestarted: it lacks what was loaded here, its clock began again, or it is another board.
        """
        try:
            call = self._client.call("describe", {}, _AnyFirmware)
        except Refused as fault:
            if fault.code != NO_SUCH_METHOD:
                raise
            raise OtherFirmware(
                f"it speaks JSON-RPC and does not know `describe`: {fault.message}"
            ) from fault
        now = TimedAnswer(_ours(call.answer), call.sent_ns, call.received_ns)
        last, self._last = self._last, now
        if why := self._why_restarted(last, now):
            raise self._restarted(why)
        return now

    def round_trip(self) -> RoundTrip:
        """The host's clock around a description, whose clock is unwrapped."""
        now = self.describe()
        return self._clock.round_trip(now.sent_ns, now.answer.us, now.received_ns)

    def load(self, block: Block, data: bytes, table: bytes | None, progress: LoadProgress) -> int:
        """Bring a block onto the board; the bytes of it that were sent, because they were not there.

        Args:
            block: which.
            data: a compiled .tflite; or pixels uint8, RGB, row by row, patch after patch.
            table: of a model: uint8 or int8 [256], or [768] for R, G and B: what each pixel's value becomes.
            progress: of (bytes that are there, bytes in all).

        Raises:
            HashDiffers: twice.
            ModelRefused, TooLarge: the board does not take it.
            BoardRestarted: the board lost what it had acknowledged.
            MicroFault: a call's, after MOST_ASKS where its answer was lost.
        """
        self._loaded.pop(block, None)
        begin = {"block": block, "sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
        if table is not None:
            begin["table"] = base64.b64encode(table).decode()
        try:
            sent_bytes = self._send(begin, data, progress)
        except HashDiffers:
            sent_bytes = self._send(begin, data, progress)
        sha256 = str(begin["sha256"])
        if block == "model":
            held = self.describe().answer.held()[block]
            if held != sha256:
                raise BadAnswer("describe", f"model: {held or 'none'}, where {sha256} was loaded whole")
        self._loaded[block] = sha256
        return sent_bytes

    def run(self, n: int, expected_s: float) -> Pass:
        """A first pass over the first `n` patches of the scene that is on the board.

        Args:
            n: at least 1.
            expected_s: how long it should take; thrice that, and some seconds, is waited.
        """
        stages = self.stages
        call, model = self._infer("run", n, expected_s, RunAnswer, n * (len(stages) + 1) * STAMP_BYTES)
        stamps_us = stamps_in_order(call.answer, n, len(stages) + 1)
        start_us, *inner_us, end_us = self._clock.stamps_us(call.sent_ns, stamps_us, call.received_ns)
        edges_ns = np.array(inner_us, np.int64).reshape(n, -1) * 1000
        return Pass(
            0,
            "first",
            start_us * 1000,
            end_us * 1000,
            stages,
            np.stack([edges_ns[:, :-1], edges_ns[:, 1:]], axis=2),
            scores_of("run", call.answer, n, model),
            batch=1,
            waited_ns=call.received_ns - call.sent_ns,
        )

    def predict(self, n: int, expected_s: float) -> Scores:
        """Scores float32 [n, classes] of the first `n` images, in the time that `run` would be given."""
        call, model = self._infer("predict", n, expected_s, ScoresAnswer, 0)
        return scores_of("predict", call.answer, n, model)

    def _infer(
        self, method: str, n: int, expected_s: float, kind: type[AnyAnswer], stamp_bytes: int
    ) -> tuple[TimedAnswer[AnyAnswer], ModelAnswer]:
        model = self.description.model
        if model is None:
            raise NothingLoaded(method, -32001, "no model is loaded", fix="load a model first")
        data_bytes = base64_length(stamp_bytes) + base64_length(
            n * model.classes * model.output_dtype.itemsize
        )
        more_s = 3 * expected_s + self._client.limits.run_s
        try:
            call = self._client.call(method, {"n": n}, kind, data_bytes=data_bytes, more_s=more_s)
        except NothingLoaded as fault:
            if not self._loaded:
                raise
            raise self._restarted(f"it lacks what was loaded: {fault.message}") from fault
        return call, model

    # --- loading ---

    def _send(self, begin: dict[str, Any], data: bytes, progress: LoadProgress) -> int:
        """Send what is not there of a block, once; HashDiffers where the whole has another hash."""
        size, block = len(data), begin["block"]
        piece_bytes = min(self.description.piece_bytes, MOST_PIECE_BYTES)
        first = held = self._ask_load(begin)
        if held > size:
            raise BadAnswer("load", f"held: {held:,} bytes of a {block} of {size:,}")
        progress(held, size)
        while held < size:
            offset, held = held, min(held + piece_bytes, size)
            piece = {
                "block": block,
                "sha256": begin["sha256"],
                "offset": offset,
                "data": base64.b64encode(data[offset:held]).decode(),
            }
            is_last = held == size
            try:
                got = self._ask_load(
                    piece, self._client.limits.build_s if is_last and block == "model" else 0.0
                )
            except Refused as fault:
                if not isinstance(fault, NothingLoaded) and fault.code != BAD_PARAMS:
                    raise
                # What it means that a piece is refused which follows on what was acknowledged.
                there = self._ask_load(begin)
                if there >= offset:
                    raise
                # The lost answer to the last piece can have been that the hash differs.
                if is_last and fault.is_repeat:
                    raise HashDiffers("load", fault.code, fault.message, fault.data, fault.fix) from fault
                raise self._restarted(
                    f"it has {there:,} bytes of the {block}, and had acknowledged {offset:,}: "
                    "or another program loads it, too"
                ) from fault
            if got != held:
                raise BadAnswer("load", f"held: {got:,} bytes behind a piece that ends at {held:,}")
            progress(held, size)
        return size - first

    def _ask_load(self, params: dict[str, Any], more_s: float = 0.0) -> int:
        """How much of the block is there after a call of `load`, sent again where its answer was lost."""
        for asks in range(1, MOST_ASKS + 1):
            try:
                return self._client.call("load", params, HeldAnswer, more_s=more_s).answer.held
            except LostAnswer as lost:
                fault = lost
            except Refused as refused:
                refused.is_repeat = asks > 1
                raise
        raise fault

    # --- restarts ---

    def _restarted(self, why: str) -> BoardRestarted:
        """The fault of a board that is not as it was; what was known of it is forgotten."""
        self._loaded.clear()
        self._last = None
        return BoardRestarted(why)

    def _why_restarted(
        self, last: TimedAnswer[BoardDescription] | None, now: TimedAnswer[BoardDescription]
    ) -> str:
        held = now.answer.held()
        missing = [block for block, sha256 in self._loaded.items() if held[block] != sha256]
        if missing:
            return (
                f"the {' and the '.join(missing)} that was loaded is not there any more: or another program "
                "loads it, too"
            )
        if last is None:
            return ""
        if off_us := _clock_jump_us(last, now):
            return (
                f"its clock is {abs(off_us) / 1e6:,.1f} s {'ahead of' if off_us > 0 else 'behind'} where it "
                "should be: it began anew, or does not count microseconds"
            )
        change = _change(last.answer, now.answer)
        return f"{change}: it was flashed anew, or another board took its address" if change else ""


class _AnyFirmware(Answer, extra="allow"):
    """Whatever object `describe` brings: other firmware may know the method, too."""


def _ours(answer: _AnyFirmware) -> BoardDescription:
    """The description of EdgeBench's firmware; OtherFirmware where it is none."""
    result = answer.model_dump()
    try:
        found = checked("describe", result, FirmwareAnswer)
    except BadAnswer as fault:
        raise OtherFirmware(f"it knows `describe` and does not say what it is: {fault.why}") from None
    if (found.firmware, found.protocol) != (FIRMWARE, PROTOCOL):
        raise OtherFirmware(
            f"it is `{found.firmware}` {found.version} with protocol {found.protocol}; this EdgeBench needs "
            f"`{FIRMWARE}` with protocol {PROTOCOL}"
        )
    return checked("describe", result, BoardDescription)


def _change(last: BoardDescription, now: BoardDescription) -> str:
    """What a board says of itself, or of the same model, otherwise than before; "" where it says the same."""
    is_same_model = last.model and now.model and last.model.sha256 == now.model.sha256
    pairs = [("its", dict(last), dict(now)), ("its model's", dict(last.model or ()), dict(now.model or ()))]
    changes = [
        f"{whose} {name} is {after[name]} now, and was {value}"
        for whose, before, after in pairs[: 1 + bool(is_same_model)]
        for name, value in before.items()
        if name not in _VARYING and value != after[name]
    ]
    return changes[0] if changes else ""


def _clock_jump_us(last: TimedAnswer[BoardDescription], now: TimedAnswer[BoardDescription]) -> int:
    """By how much the board's clock is off from where the host's says that it should be; 0 for a little.

    A clock of 32 bits cannot tell more than half a turn: after a day it is not judged.
    """
    least_us, most_us = (now.sent_ns - last.received_ns) // 1000, (now.received_ns - last.sent_ns) // 1000
    allowed_us = round(MOST_DRIFT * most_us) + (most_us - least_us) + _RESTART_US
    if allowed_us >= TURN_US // 2:
        return 0
    off_us = (now.answer.us - last.answer.us - most_us + TURN_US // 2) % TURN_US - TURN_US // 2
    return off_us if abs(off_us) > allowed_us else 0
