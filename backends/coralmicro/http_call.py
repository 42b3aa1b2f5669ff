"""One HTTP request of one connection, all of it within one time limit.

http.client's own timeout is for each wait on the socket: a server that drips a byte a second would hold it
for ever. The socket here is given what is left of the whole call before each wait.
"""

from __future__ import annotations

import http.client
import socket
import threading
import time
from typing import Any

from edgebench.suggest import printable

from .board_address import BoardAddress
from .faults import BadReply, CallStalled, LostAnswer, NobodyAnswers

PATH = "/jsonrpc"
_OK = 200
_QUOTED_CHARACTERS = 120
_HEADER_BYTES = 1 << 16
_CHUNK_SHARE = 4
"""By how much an answer in small chunks may be longer; http.client reads one of length -1 to its very end."""


class _BoundedSocket(socket.socket):
    """A socket whose waits end with its call, and that takes a bounded number of bytes.

    Attributes:
        end_s: when the call has to be over, on the monotonic clock.
        left_bytes: that may still come.
    """

    end_s: float
    left_bytes: int

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        """What http.client reads by; HTTPException for a server that goes on and on."""
        self.settimeout(_left_s(self.end_s))
        received = super().recv_into(*args, **kwargs)
        self.left_bytes -= received
        if self.left_bytes < 0:
            raise http.client.HTTPException("it goes on beyond all that an answer takes")
        return received

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        """Its timeout is for all of the bytes."""
        self.settimeout(_left_s(self.end_s))
        super().sendall(*args, **kwargs)


def _left_s(end_s: float) -> float:
    """Above 0; TimeoutError once nothing is left."""
    left_s = end_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError("the time of the call is over")
    return left_s


def _connected(address: BoardAddress, connect_s: float) -> _BoundedSocket:
    """A connection; NobodyAnswers where none comes about in this time."""
    end_s = time.monotonic() + connect_s
    try:
        error: OSError = OSError("its name has no address")
        for family, place in _places(address, end_s):
            stream = _BoundedSocket(family, socket.SOCK_STREAM)
            try:
                stream.settimeout(_left_s(end_s))
                stream.connect(place)
                stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return stream
            except OSError as failure:
                stream.close()
                error = failure
        raise error
    except TimeoutError:
        raise NobodyAnswers(address.authority, f"nothing came back within {connect_s:.3g} s") from None
    except OSError as failure:
        is_refused = isinstance(failure, ConnectionRefusedError)
        raise NobodyAnswers(address.authority, _words(failure), is_refused) from None


def _places(address: BoardAddress, end_s: float) -> list[tuple[socket.AddressFamily, Any]]:
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
    thread.join(_left_s(end_s))
    if thread.is_alive():
        raise TimeoutError("its name was not resolved in time")
    for error in errors:
        raise error
    return found


def post(
    address: BoardAddress, method: str, body: bytes, *, connect_s: float, limit_s: float, most_bytes: int
) -> tuple[bytes, int, int]:
    """The answer's body, over a connection of its own, and the host's clock around it in ns.

    The first reading is taken once the connection is open, the second when all of the answer is there.

    No redirect is followed, and no proxy is taken from the environment.

    Args:
        address: of the board.
        method: of JSON-RPC, for a fault's words.
        body: JSON.
        connect_s: how long the connection may take to come about.
        limit_s: for the whole call, from before the connection to the answer's last byte.
        most_bytes: a longer answer is refused before it is read.

    Raises:
        NobodyAnswers, CallStalled, LostAnswer, BadReply: what came instead.
    """
    end_s = time.monotonic() + limit_s
    with _connected(address, min(connect_s, limit_s)) as stream:
        stream.end_s, stream.left_bytes = end_s, _HEADER_BYTES + most_bytes * _CHUNK_SHARE
        connection = http.client.HTTPConnection(address.authority)
        connection.sock = stream
        sent_ns = time.monotonic_ns()
        try:
            connection.request(
                "POST", PATH, body, {"Content-Type": "application/json", "Connection": "close"}
            )
            with connection.getresponse() as response:
                answer = _body(method, response, most_bytes)
            return answer, sent_ns, time.monotonic_ns()
        except TimeoutError:
            raise CallStalled(method, limit_s) from None
        except http.client.RemoteDisconnected:
            raise LostAnswer(method, "the connection was closed without an answer") from None
        except http.client.IncompleteRead:
            raise LostAnswer(method, "a chunk of it is missing") from None
        except (http.client.HTTPException, ValueError) as error:  # ValueError: a chunk's or a length's number
            raise BadReply(method, f"it is no HTTP: {type(error).__name__}: {_words(error)}") from None
        except OSError as error:
            raise LostAnswer(method, _words(error)) from None


def _body(method: str, response: http.client.HTTPResponse, most_bytes: int) -> bytes:
    if response.status != _OK:
        words = printable(response.reason or "", _QUOTED_CHARACTERS)
        if place := response.headers.get("Location"):
            words = f"it points to {printable(place, _QUOTED_CHARACTERS)}; redirects are not followed"
        raise BadReply(method, f"it has the HTTP status {response.status}: {words}")
    if response.length is not None and response.length > most_bytes:
        raise BadReply(method, f"it announces {response.length:,} bytes, {most_bytes:,} are the most")
    body = response.read(most_bytes + 1)
    if len(body) > most_bytes:
        raise BadReply(method, f"it has more than {most_bytes:,} bytes, the most that an answer takes")
    if response.length:
        raise LostAnswer(method, f"{response.length:,} bytes are missing behind the first {len(body):,}")
    return body


def _words(error: object) -> str:
    return printable(getattr(error, "strerror", None) or error, _QUOTED_CHARACTERS)
