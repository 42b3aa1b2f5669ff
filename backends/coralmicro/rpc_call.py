"""Calls of JSON-RPC 2.0 to a board: ids counted up, and every answer held against its call."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeVar

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    model_validator,
)

from edgebench.suggest import printable

from . import http_call
from .board_address import BoardAddress
from .faults import BadAnswer, HalfAnswer, MicroFault, NotJsonRpc, WrongId, refusal
from .http_call import BrokenJson, parsed

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
"""What is loaded: the model, the resident patches of the scene, or images beside it."""

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
        """As scores lie in the answer's bytes."""
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
"""Of an answer beside its data in base64: describe's takes 1,200."""
_QUOTED_CHARACTERS = 200
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
            more_s: how long it may take beside the limits of any call.

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
    """A result as what it should be; BadAnswer with the first field that is not."""
    try:
        return kind.model_validate(result)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "result"
        raise BadAnswer(method, printable(f"{place}: {first['msg']}", _QUOTED_CHARACTERS)) from None


def _result(method: str, call_id: int, body: bytes) -> object:
    """The `result` of an answer's body; a MicroFault for its `error`, and for all else."""
    try:
        answer = parsed(body)
    except BrokenJson as error:
        if error.is_cut:
            raise HalfAnswer(method, f"its JSON lacks its end: {error}") from None
        raise NotJsonRpc(
            method, f"{printable(error, _QUOTED_CHARACTERS)}; it begins {_quoted(body)}"
        ) from None
    if not isinstance(answer, dict) or answer.get("jsonrpc", "2.0") != "2.0":  # mjson leaves `jsonrpc` out
        raise NotJsonRpc(method, f"it is {_quoted(body)}")
    if ("result" in answer) == ("error" in answer):
        raise NotJsonRpc(method, f"it has not one of `result` and `error`: {_quoted(body)}")
    fault = _error(method, answer["error"]) if "error" in answer else None
    came = answer.get("id")
    is_nobodys = came is None and getattr(fault, "code", None) in _WITHOUT_ID
    if (type(came) is not int or came != call_id) and not is_nobodys:
        raise WrongId(method, call_id, printable(json.dumps(came), 40))
    if fault is not None:
        raise fault
    return answer["result"]


def _error(method: str, error: object) -> MicroFault:
    """The fault that an `error` stands for."""
    try:
        known = _ErrorAnswer.model_validate(error)
    except ValidationError:
        return NotJsonRpc(method, f"its error is {printable(json.dumps(error), _QUOTED_CHARACTERS)}")
    has_data = "data" in known.model_fields_set
    data = printable(json.dumps(known.data), _QUOTED_CHARACTERS) if has_data else ""
    return refusal(method, known.code, printable(known.message, _QUOTED_CHARACTERS), data)


def _quoted(body: bytes) -> str:
    return f"`{printable(body[:80].decode('utf-8', 'replace'), 80)}`" if body else "empty"
