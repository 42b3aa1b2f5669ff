"""Calls of JSON-RPC 2.0 to a board: ids counted up, and every answer held against its call."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from edgebench.printable import printable

from .answers import Answer
from .board_address import BoardAddress
from .faults import BadAnswer, HalfAnswer, MicroFault, NotJsonRpc, WrongId, refusal
from .http_call import HttpBoard
from .json_answer import BrokenJson, parsed

_ROOM_BYTES = 8192
"""Of an answer beside its data in base64: describe's takes 1,200."""
_QUOTED_CHARACTERS = 200
_CODES = range(-(1 << 31), 1 << 31)
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
        self._http = HttpBoard(address, limits.connect_s)
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
        answer, sent_ns, received_ns = self._http.post(method, body, limit_s, most_bytes)
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
    code = error.get("code") if isinstance(error, dict) else None
    message = error.get("message") if isinstance(error, dict) else None
    if (
        not isinstance(error, dict)
        or type(code) is not int
        or code not in _CODES
        or not isinstance(message, str)
    ):
        return NotJsonRpc(method, f"its error is {printable(json.dumps(error), _QUOTED_CHARACTERS)}")
    data = printable(json.dumps(error["data"]), _QUOTED_CHARACTERS) if "data" in error else ""
    return refusal(method, code, printable(message, _QUOTED_CHARACTERS), data)


def _quoted(body: bytes) -> str:
    return f"`{printable(body[:80].decode('utf-8', 'replace'), 80)}`" if body else "empty"
