"""A Coral Dev Board Micro on loopback: HTTP around played firmware, and what can befall it.

Like coralmicro's own applications it says the id first, and no `jsonrpc`.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import defaultdict
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from tests.backends.coralmicro.played_firmware import PlayedFirmware, Refusal

MOST_STALL_S = 60.0


class Exchange:
    """One call, its answer and the connection that it came by.

    Attributes:
        board: that it came to.
        answer: what the firmware answers.
    """

    def __init__(self, board: PlayedBoard, handler: BaseHTTPRequestHandler, answer: dict[str, Any]) -> None:
        self.board, self._handler, self.answer = board, handler, answer

    @property
    def body(self) -> bytes:
        return json.dumps(self.answer).encode() + b"\n"

    def send(
        self, body: bytes | None = None, *, length: int | None = -1, status: int = 200, location: str = ""
    ) -> None:
        """An answer; `length` -1 is the body's, None says none."""
        body = self.body if body is None else body
        self._handler.send_response(status)
        if location:
            self._handler.send_header("Location", location)
        if length is not None:
            self._handler.send_header("Content-Length", str(len(body) if length == -1 else length))
        self._handler.end_headers()
        self.write(body)

    def write(self, data: bytes) -> None:
        self._handler.wfile.write(data)
        self._handler.wfile.flush()

    def wait(self, seconds: float = MOST_STALL_S) -> bool:
        """Until the board is closed, at most; whether it was."""
        return self.board.ended.wait(seconds)

    def reset(self) -> None:
        """End the connection by a TCP reset."""
        self._handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._handler.connection.close()


Fault = Callable[[Exchange], None]
"""Sends something else than the answer."""


class PlayedBoard:
    """Serves while it is entered.

    Args:
        firmware: what answers.

    Attributes:
        address: HOST:PORT.
        ended: set when it is left.
    """

    def __init__(self, firmware: PlayedFirmware | None = None) -> None:
        self.firmware = firmware or PlayedFirmware()
        self.ended = threading.Event()
        self._faults: dict[str, list[Fault | None]] = defaultdict(list)
        self._before: dict[str, list[Callable[[], None] | None]] = defaultdict(list)
        self._lock = threading.Lock()
        self.server = _Server(("127.0.0.1", 0), _Handler)
        self.server.board = self
        self.address = f"127.0.0.1:{self.server.server_address[1]}"

    def befall(self, method: str, fault: Fault, *, skip: int = 0, times: int = 1) -> None:
        """A fault in the answer to so many calls of a method, behind the first `skip`."""
        self._faults[method] += [None] * skip + [fault] * times

    def before(self, method: str, what: Callable[[], None], *, skip: int = 0) -> None:
        """Something that happens to the board before it answers a call."""
        self._before[method] += [None] * skip + [what]

    def __enter__(self) -> PlayedBoard:
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        """One call, in the order in which they come: a board has one thread for them."""
        with self._lock:
            request = json.loads(body)
            method = request["method"]
            if (what := _next(self._before[method])) is not None:
                what()
            answer: dict[str, Any] = {"id": request["id"]}
            try:
                (params,) = request["params"]
                answer["result"] = self.firmware.call(method, params)
            except Refusal as refusal:
                answer["error"] = {"code": refusal.code, "message": refusal.message}
                if refusal.data is not None:
                    answer["error"]["data"] = refusal.data
            fault = _next(self._faults[method])
        exchange = Exchange(self, handler, answer)
        if fault is None:
            exchange.send()
        else:
            fault(exchange)


def _next(queue: list[Any]) -> Any:
    return queue.pop(0) if queue else None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True
    board: PlayedBoard

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A host that hung up."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 10

    def do_POST(self) -> None:
        if self.path != "/jsonrpc":
            self.send_error(404)
            return
        size = int(self.headers["Content-Length"])
        if size > self.server.board.firmware.piece_bytes * 4 / 3 + 1024:
            self.send_error(400)
            return
        self.server.board.answer(self, self.rfile.read(size))

    def log_message(self, format: str, *args: Any) -> None:
        pass
