"""A Coral Dev Board Micro as its host asks it: what it is, blocks in, timed passes and scores out."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    model_validator,
)
from pydantic_core import from_json

from edgebench.link.clock_match import MOST_DRIFT, TURN_US, WrappingClock
from edgebench.records.session import Pass
from edgebench.records.values import Scores
from edgebench.stats.clock import RoundTrip
from edgebench.suggest import printable

from . import http_call
from .board_address import BoardAddress
from .faults import (
    BAD_PARAMS,
    NO_SUCH_METHOD,
    BadReply,
    BoardRestarted,
    HashDiffers,
    LostAnswer,
    MicroFault,
    NothingLoaded,
    OtherFirmware,
    Refused,
    refusal,
)

# Calls of JSON-RPC 2.0 to a board: ids counted up, and every answer held against its call.

# What a board may answer, checked: fields, types and ranges. Fields that are not known are ignored.


FIRMWARE = "edgebench-coral-micro"
PROTOCOL = 1
LEAST_PIECE_BYTES = 1 << 10
MOST_PIECE_BYTES = 1 << 20
MOST_CLASSES = 10_000
_MOST_MEMORY_BYTES = 1 << 30
_MOST_SCALE = 1e30
"""Times 255 it is still a float32."""

Block = Literal["model", "scene", "images"]
"""What is loaded: the model, the resident patches of the scene, or other images."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Microseconds = Annotated[int, Field(ge=0, lt=1 << 32)]
Size = Annotated[int, Field(ge=0, le=_MOST_MEMORY_BYTES)]
_Text = Annotated[str, Field(max_length=200), AfterValidator(printable)]
_ByteType = Literal["int8", "uint8"]


class Answer(BaseModel):
    """The `result` of an answer."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


class FirmwareAnswer(Answer):
    """What any version of EdgeBench's firmware says of itself."""

    firmware: _Text
    protocol: int
    version: _Text = ""


class ModelAnswer(Answer):
    """The model that is loaded.

    Attributes:
        sha256: of its file.
        input_bytes: of one patch, NHWC.
        edgetpu: how many of its operations run on the Edge TPU (`edgetpu-custom-op`).
    """

    sha256: Sha256
    input_bytes: Annotated[int, Field(gt=0, le=_MOST_MEMORY_BYTES)]
    input_type: _ByteType
    input_scale: Annotated[FiniteFloat, Field(gt=0)]
    input_zero_point: int
    output_type: Literal["int8", "uint8", "float32"]
    output_scale: FiniteFloat
    output_zero_point: int
    classes: Annotated[int, Field(gt=0, le=MOST_CLASSES)]
    arena_used: Size
    edgetpu: Annotated[int, Field(ge=0, le=10_000)]

    @property
    def output_dtype(self) -> np.dtype[Any]:
        """The scores' dtype in the answer's bytes."""
        return np.dtype({"int8": "i1", "uint8": "u1", "float32": "<f4"}[self.output_type])

    @model_validator(mode="after")
    def _check_quantisation(self) -> ModelAnswer:
        if self.output_type != "float32" and not 0 < self.output_scale <= _MOST_SCALE:
            raise ValueError(f"output_scale of a quantised output is above 0, and {_MOST_SCALE:g} at most")
        for name, kind, zero_point in (
            ("input", self.input_type, self.input_zero_point),
            ("output", self.output_type, self.output_zero_point),
        ):
            if kind != "float32" and not np.iinfo(kind).min <= zero_point <= np.iinfo(kind).max:
                raise ValueError(f"{name}_zero_point {zero_point} is outside of {kind}")
        return self


class BoardDescription(FirmwareAnswer):
    """The answer to `describe`.

    Attributes:
        tpu: what the Edge TPU was opened with; "" without one.
        times: whether a pass is stamped with its preprocessing, or inference alone.
        us: the board's clock, modulo 2^32.
        piece_bytes: most of one piece of a block.
        model_bytes, arena_bytes, scene_bytes, images_bytes: room for each.
        scene, images: SHA-256 of what is held whole.
    """

    board: _Text
    cpu: _Text
    runtime: _Text
    runtime_version: _Text
    tpu: _Text
    times: Literal["pass", "inference"]
    clock_bits: Literal[32]
    us: Microseconds
    piece_bytes: Annotated[int, Field(ge=LEAST_PIECE_BYTES, le=_MOST_MEMORY_BYTES)]
    model_bytes: Size
    arena_bytes: Size
    scene_bytes: Size
    images_bytes: Size
    model: ModelAnswer | None
    scene: Sha256 | None
    images: Sha256 | None
    temperature_c: Annotated[FiniteFloat, Field(ge=-100, le=300)] | None

    def held(self) -> dict[Block, str | None]:
        """The SHA-256 of each block that is held whole."""
        return {
            "model": None if self.model is None else self.model.sha256,
            "scene": self.scene,
            "images": self.images,
        }


class HeldAnswer(Answer):
    """The answer to `load`: how many bytes of the block are there."""

    held: Size


class ScoresAnswer(Answer):
    """The answer to `predict`; `scores` in base64."""

    n: Annotated[int, Field(ge=0, lt=1 << 31)]
    scores: str


class RunAnswer(ScoresAnswer):
    """The answer to `run`; `stamps` in base64."""

    start_us: Microseconds
    end_us: Microseconds
    stamps: str


class _ErrorAnswer(Answer):
    code: Annotated[int, Field(ge=-(1 << 31), lt=1 << 31)]
    message: str
    data: Any = None


_ROOM_BYTES = 8192
"""Size of an answer without its data in base64: describe's takes 1,200."""
_QUOTED_CHARACTERS = 200
_CUT_JSON = "EOF while parsing"
_WITHOUT_ID = (-32700, -32600)
"""Errors of a request that was not understood, so that its id is not known."""


@dataclass(frozen=True)
class Limits:
    """How long a board may take.

    Attributes:
        connect_s: for a connection.
        answer_s: for a call that needs no inference.
        build_s: more, for the last piece of a model: its interpreter is built then.
        bytes_a_second: that its network carries at worst, both ways.
        run_s: more than thrice what inferences are expected to take.
    """

    connect_s: float = 3.0
    answer_s: float = 5.0
    build_s: float = 60.0
    bytes_a_second: float = 50_000.0
    run_s: float = 10.0


USUAL = Limits()
"""USB at 480 Mbit/s carries some MB a second to an lwIP; a whole order less is allowed."""

AnyAnswer = TypeVar("AnyAnswer", bound=Answer)


@dataclass(frozen=True)
class TimedAnswer(Generic[AnyAnswer]):
    """An answer, and the host's monotonic clock around it: once connected, and when all of it was there."""

    answer: AnyAnswer
    sent_ns: int
    received_ns: int


class RpcClient:
    """Calls one board.

    Args:
        address: of the board.
        limits: on waiting.
    """

    def __init__(self, address: BoardAddress, limits: Limits = USUAL) -> None:
        self.limits = limits
        self._address = address
        self._ids = itertools.count(1)
        host = re.escape(address.host.encode())
        self._own_address = re.compile(rb"(?<![\w.-])" + host + rb"(?![\w-])", re.IGNORECASE)
        # No other word of a board's is like an address with these.
        self._is_distinct = "." in address.host or ":" in address.host

    def call(
        self,
        method: str,
        params: Mapping[str, Any],
        kind: type[AnyAnswer],
        *,
        data_bytes: int = 0,
        more_s: float = 0.0,
    ) -> TimedAnswer[AnyAnswer]:
        """Ask, and check what comes.

        Args:
            method: such as `describe`.
            params: the one object of its list of params.
            kind: what the answer's `result` is.
            data_bytes: in base64, that the answer brings.
            more_s: how long it may take in addition to the limits of any call.

        Raises:
            MicroFault: what came instead, by its kind.
        """
        call_id = next(self._ids)
        body = json.dumps(
            {"jsonrpc": "2.0", "id": call_id, "method": method, "params": [dict(params)]},
            separators=(",", ":"),
            allow_nan=False,
        ).encode()
        most_bytes = data_bytes + _ROOM_BYTES
        limit_s = self.limits.answer_s + more_s + (len(body) + most_bytes) / self.limits.bytes_a_second
        answer, sent_ns, received_ns = http_call.post(
            self._address,
            method,
            body,
            connect_s=self.limits.connect_s,
            limit_s=limit_s,
            most_bytes=most_bytes,
        )
        if self._is_distinct:  # firmware may say where it is: records of it are to lack that
            answer = self._own_address.sub(b"(host)", answer)
        return TimedAnswer(checked(method, _result(method, call_id, answer), kind), sent_ns, received_ns)


def checked(method: str, result: object, kind: type[AnyAnswer]) -> AnyAnswer:
    """A result as what it should be; BadReply with the first field that is not."""
    try:
        return kind.model_validate(result)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "result"
        raise BadReply(method, printable(f"{place}: {first['msg']}", _QUOTED_CHARACTERS)) from None


def _result(method: str, call_id: int, body: bytes) -> object:
    """The `result` of an answer's body; a MicroFault for its `error`, and for all else."""
    try:
        answer = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        if body.strip() and _CUT_JSON in str(error):
            raise LostAnswer(method, f"its JSON lacks its end: {error}") from None
        why = f"it is no JSON: {printable(error, _QUOTED_CHARACTERS)}; it begins {_quoted(body)}"
        raise BadReply(method, why) from None
    if not isinstance(answer, dict) or answer.get("jsonrpc", "2.0") != "2.0":  # mjson leaves `jsonrpc` out
        raise BadReply(method, f"it is no JSON-RPC, but {_quoted(body)}")
    if ("result" in answer) == ("error" in answer):
        raise BadReply(method, f"it has not one of `result` and `error`: {_quoted(body)}")
    fault = _error(method, answer["error"]) if "error" in answer else None
    came = answer.get("id")
    is_nobodys = came is None and getattr(fault, "code", None) in _WITHOUT_ID
    if (type(came) is not int or came != call_id) and not is_nobodys:
        why = f"it is that of another call: its id is {printable(json.dumps(came), 40)}, {call_id} was due"
        raise BadReply(method, why)
    if fault is not None:
        raise fault
    return answer["result"]


def _error(method: str, error: object) -> MicroFault:
    """The fault of an `error`."""
    try:
        known = _ErrorAnswer.model_validate(error)
    except ValidationError:
        return BadReply(method, f"its error is {printable(json.dumps(error), _QUOTED_CHARACTERS)}")
    has_data = "data" in known.model_fields_set
    data = printable(json.dumps(known.data), _QUOTED_CHARACTERS) if has_data else ""
    return refusal(method, known.code, printable(known.message, _QUOTED_CHARACTERS), data)


def _quoted(body: bytes) -> str:
    return f"`{printable(body[:80].decode('utf-8', 'replace'), 80)}`" if body else "empty"


# What a board's passes brought, from base64 to arrays: stamps in order, scores finite (pure).


STAMP_BYTES = 4
STAGES = {"pass": ("preprocess", "infer"), "inference": ("infer",)}
"""Stages of a patch, by what the firmware times; a stamp is before each and after the last."""


def base64_length(size_bytes: int) -> int:
    """Length of the base64 of that many bytes."""
    return -(-size_bytes // 3) * 4


def _bytes_of(method: str, name: str, text: str, due_bytes: int) -> bytes:
    due_length = base64_length(due_bytes)
    if len(text) != due_length:
        raise BadReply(method, f"{name}: {len(text):,} characters of base64, {due_length:,} were due")
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        raise BadReply(method, f"{name}: no base64") from None
    if len(data) != due_bytes:
        raise BadReply(method, f"{name}: {len(data):,} bytes, {due_bytes:,} were due")
    return data


def scores_of(method: str, answer: ScoresAnswer, n: int, model: ModelAnswer) -> Scores:
    """Scores float32 [n, classes], by the output's scale and zero point; BadReply for anything else."""
    if answer.n != n:
        raise BadReply(method, f"n: {answer.n} patches, {n} were asked for")
    dtype = model.output_dtype
    data = _bytes_of(method, "scores", answer.scores, n * model.classes * dtype.itemsize)
    scores: NDArray[Any] = np.frombuffer(data, dtype).reshape(n, model.classes)
    if not np.isfinite(scores).all():
        row = int(np.argmin(np.isfinite(scores).all(axis=1)))
        raise BadReply(method, f"scores: those of patch {row} are not finite numbers")
    if model.output_type != "float32":
        scores = (scores.astype(np.float64) - model.output_zero_point) * model.output_scale
    return scores.astype(np.float32)


def stamps_in_order(answer: RunAnswer, n: int, a_patch: int) -> list[int]:
    """All stamps of a run from its start to its end, modulo 2^32 us; BadReply where one is before another.

    A run is shorter than a turn of the clock, so that each stamp is within the turn after its start.
    """
    data = _bytes_of("run", "stamps", answer.stamps, n * a_patch * STAMP_BYTES)
    taken = np.array([answer.start_us, *np.frombuffer(data, "<u4"), answer.end_us], np.int64)
    steps = np.diff((taken - answer.start_us) % TURN_US)
    if (steps < 0).any():
        patch = min(int((steps < 0).argmax()) // a_patch, n - 1)
        fix = "see that the firmware's clock counts microseconds, and that nothing sets it"
        raise BadReply("run", f"stamps: those of patch {patch} run backwards", fix)
    return [int(stamp_us) for stamp_us in taken]


# Bringing a block of bytes onto a board: by its hash, in pieces, and only what is not there.


MOST_ASKS = 3
"""Attempts of one call whose answer was lost; each can be repeated without harm."""
LoadProgress = Callable[[int, int], None]
"""Called with the bytes that are there and the bytes in all."""


_RESTART_US = 2_000_000
"""By how much more a clock has to be off to count as restarted: a boot takes longer."""

_VARYING = frozenset({"us", "temperature_c", "model", "scene", "images"})
"""Fields of a description that change while the board stays the same."""


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
        """The stages of a patch, in order."""
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
            ModelRefused, ModelTooLarge: the board does not take it.
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
                raise BadReply("describe", f"model: {held or 'none'}, where {sha256} was loaded whole")
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
            raise BadReply("load", f"held: {held:,} bytes of a {block} of {size:,}")
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
                raise BadReply("load", f"held: {got:,} bytes behind a piece that ends at {held:,}")
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
                "should be: it began again, or does not count microseconds"
            )
        change = _change(last.answer, now.answer)
        return f"{change}: it was flashed again, or another board took its address" if change else ""


class _AnyFirmware(Answer, extra="allow"):
    """Whatever object `describe` brings: other firmware may know the method, too."""


def _ours(answer: _AnyFirmware) -> BoardDescription:
    """The description of EdgeBench's firmware; OtherFirmware if it is other firmware's."""
    result = answer.model_dump()
    try:
        found = checked("describe", result, FirmwareAnswer)
    except BadReply as fault:
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
