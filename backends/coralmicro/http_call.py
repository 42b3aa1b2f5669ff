"""One HTTP request of one connection, all of it within one time limit, by urllib.

urllib's own timeout is for each wait on the socket: a server that drips a byte a second would hold it for
ever. The socket here is given what is left of the whole call before each wait.
"""

from __future__ import annotations

import http.client
import json
import math
import socket
import threading
import time
import urllib.request
from typing import Any, NamedTuple
from urllib.error import URLError

from edgebench.suggest import printable

from .board_address import BoardAddress
from .faults import HalfAnswer, HttpStatus, NobodyAnswers, NoHttp, ResetAmidCall, Stalled

PATH = "/jsonrpc"
_OK = 200
_QUOTED_CHARACTERS = 120
_HEADER_BYTES = 1 << 16
_CHUNK_SHARE = 4
"""By how much an answer in small chunks may be longer; http.client reads one of length -1 to its very end."""


class _Deadline:
    """When a call has to be over."""

    def __init__(self, limit_s: float) -> None:
        self._end_s = time.monotonic() + limit_s

    def left_s(self) -> float:
        """Above 0; TimeoutError once nothing is left."""
        left_s = self._end_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the time of the call is over")
        return left_s


class _BoundedSocket(socket.socket):
    """A socket each wait of which ends with its call, and that takes so many bytes and no more."""

    deadline: _Deadline
    left_bytes: int

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        """What http.client reads by; HTTPException for a server that goes on and on."""
        self.settimeout(self.deadline.left_s())
        received = super().recv_into(*args, **kwargs)
        self.left_bytes -= received
        if self.left_bytes < 0:
            raise http.client.HTTPException("it goes on beyond all that an answer takes")
        return received

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        """Its timeout is for all of the bytes."""
        self.settimeout(self.deadline.left_s())
        super().sendall(*args, **kwargs)


class _Connection(http.client.HTTPConnection):
    """To the address that it is given, whatever the request's URL says."""

    def __init__(self, address: BoardAddress, deadline: _Deadline, most_bytes: int, connect_s: float) -> None:
        super().__init__(address.authority)
        self._address = address
        self._deadline = deadline
        self._most_bytes = most_bytes
        self._connect_s = connect_s
        self.connected_ns = 0

    def connect(self) -> None:
        """NobodyAnswers where no connection comes about within `connect_s`."""
        own = _Deadline(min(self._connect_s, self._deadline.left_s()))
        try:
            error: OSError = OSError("its name has no address")
            for family, place in _places(self._address, own):
                stream = _BoundedSocket(family, socket.SOCK_STREAM)
                try:
                    stream.settimeout(own.left_s())
                    stream.connect(place)
                    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                except OSError as failure:
                    stream.close()
                    error = failure
                    continue
                stream.deadline, stream.left_bytes = self._deadline, self._most_bytes
                self.sock = stream
                self.connected_ns = time.monotonic_ns()
                return
            raise error
        except OSError as failure:
            why = (
                f"nothing came back within {self._connect_s:.3g} s"
                if _timed_out(failure)
                else _words(failure)
            )
            is_refused = isinstance(failure, ConnectionRefusedError)
            raise NobodyAnswers(self._address.authority, why, is_refused) from None


def _places(address: BoardAddress, deadline: _Deadline) -> list[tuple[socket.AddressFamily, Any]]:
    """The socket addresses of a host; a resolver that does not answer is left behind in its thread."""
    found: list[tuple[socket.AddressFamily, Any]] = []
    errors: list[OSError] = []

    def resolve(flags: int = 0) -> None:
        try:
            for family, *_, place in socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=flags):
                found.append((family, place))
        except OSError as error:
            errors.append(error)

    resolve(socket.AI_NUMERICHOST)
    if found:
        return found
    errors.clear()

    thread = threading.Thread(target=resolve, daemon=True, name="edgebench-resolve")
    thread.start()
    thread.join(deadline.left_s())
    if thread.is_alive():
        raise TimeoutError("its name was not resolved in time")
    for error in errors:
        raise error
    return found


class _Handler(urllib.request.HTTPHandler):
    """Opens the connection of one call."""

    def __init__(self, connection: http.client.HTTPConnection) -> None:
        super().__init__()
        self._connection = connection

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Called by urllib."""

        def connection(_host: str, /, **_: Any) -> http.client.HTTPConnection:
            return self._connection

        return self.do_open(connection, req)


class HttpAnswer(NamedTuple):
    """A body, and the host's clock around the request: it was sent after `sent_ns`, on an open connection."""

    body: bytes
    sent_ns: int
    received_ns: int


class HttpBoard:
    """POSTs to a board, one connection each.

    No redirect is followed, and no proxy is taken from the environment.

    Args:
        address: of the board.
        connect_s: how long a connection may take to come about.
    """

    def __init__(self, address: BoardAddress, connect_s: float) -> None:
        self._address = address
        self._connect_s = connect_s

    def post(self, method: str, body: bytes, limit_s: float, most_bytes: int) -> HttpAnswer:
        """The answer to a body.

        Args:
            method: of JSON-RPC, for a fault's words.
            body: JSON.
            limit_s: for the whole call, from before the connection to the answer's last byte.
            most_bytes: a longer answer is refused before it is read.

        Raises:
            NobodyAnswers, NoHttp, HttpStatus, Stalled, ResetAmidCall, HalfAnswer: what came instead.
        """
        opener = urllib.request.OpenerDirector()  # a bare one: build_opener adds proxies and redirects
        most_received = _HEADER_BYTES + most_bytes * _CHUNK_SHARE
        connection = _Connection(self._address, _Deadline(limit_s), most_received, self._connect_s)
        opener.add_handler(_Handler(connection))
        request = urllib.request.Request(
            f"http://{self._address.authority}{PATH}", body, {"Content-Type": "application/json"}
        )
        try:
            with opener.open(request) as response:
                answer = _body(method, response, most_bytes)
                return HttpAnswer(answer, connection.connected_ns, time.monotonic_ns())
        except (OSError, http.client.HTTPException) as error:
            cause = error.reason if isinstance(error, URLError) else error
            if _timed_out(cause):
                raise Stalled(method, limit_s) from None
            if isinstance(cause, http.client.RemoteDisconnected):
                raise ResetAmidCall(method, "it was closed without an answer") from None
            if isinstance(cause, http.client.IncompleteRead):
                raise HalfAnswer(method, "a chunk of it is missing") from None
            if isinstance(cause, http.client.HTTPException):
                raise NoHttp(method, f"{type(cause).__name__}: {_words(cause)}") from None
            raise ResetAmidCall(method, _words(cause)) from None
        except ValueError as error:  # of http.client, for a chunk's or a length's number
            raise NoHttp(method, _words(error)) from None


def _body(method: str, response: http.client.HTTPResponse, most_bytes: int) -> bytes:
    if response.status != _OK:
        words = printable(response.reason or "", _QUOTED_CHARACTERS)
        if place := response.headers.get("Location"):
            words = f"it points to {printable(place, _QUOTED_CHARACTERS)}; redirects are not followed"
        raise HttpStatus(method, response.status, words)
    if response.length is not None and response.length > most_bytes:
        raise NoHttp(method, f"it announces {response.length:,} bytes, {most_bytes:,} are the most")
    body = response.read(most_bytes + 1)
    if len(body) > most_bytes:
        raise NoHttp(method, f"it has more than {most_bytes:,} bytes, the most that an answer takes")
    if response.length:
        raise HalfAnswer(method, f"{response.length:,} bytes are missing behind the first {len(body):,}")
    return body


def _timed_out(error: object) -> bool:
    return isinstance(error, TimeoutError)


def _words(error: object) -> str:
    return printable(getattr(error, "strerror", None) or error, _QUOTED_CHARACTERS)


# JSON from a board as plain data: no doubled names, finite numbers, bounded depth (pure).


MOST_DEPTH = 8
"""Lists and objects within each other; an answer of EdgeBench's firmware has 3."""
_MOST_DIGITS = 20


class BrokenJson(ValueError):
    """Text that is not JSON, or none that is taken from a board.

    Attributes:
        is_cut: whether it may be JSON that lacks its end.
    """

    def __init__(self, why: str, is_cut: bool = False) -> None:
        super().__init__(why)
        self.is_cut = is_cut


def parsed(body: bytes) -> Any:
    """A body's value; BrokenJson."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BrokenJson("it is not UTF-8") from None
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole_number,
        )
    except json.JSONDecodeError as error:
        is_cut = bool(text.strip()) and (
            error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        )
        raise BrokenJson(f"{error.msg} at character {error.pos} of {len(text)}", is_cut) from None
    except RecursionError:
        raise BrokenJson(_TOO_DEEP) from None
    _require_shallow(value, MOST_DEPTH)
    return value


_TOO_DEEP = f"it is nested more than {MOST_DEPTH} deep"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise BrokenJson("an object has the same name twice")
    return value


def _no_constant(name: str) -> Any:
    raise BrokenJson(f"it has the number {name}, which JSON does not have")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise BrokenJson("it has a number that is too large")
    return value


def _whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise BrokenJson("it has a whole number of more than 64 bits")
    return int(digits)


def _require_shallow(value: Any, depth: int) -> None:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        if not depth:
            raise BrokenJson(_TOO_DEEP)
        for item in value:
            _require_shallow(item, depth - 1)
