"""A simulated board at its port, until it is unplugged or told to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .board import Board
from .faults import Unplugged
from .ports import Port

_WAIT_S = 0.05  # a binary load asks after 200 ms of silence


def serve(port: Port, board: Board, is_over: Callable[[], bool]) -> None:
    """Serve one host after the other; the caller closes the port."""
    try:
        while not is_over():
            data = port.read(_WAIT_S)
            if port.has_been_opened():
                _send(port, board.opened())
            _send(port, board.receive(data) if data else board.wait())
    except Unplugged:
        return


def _send(port: Port, pieces: Iterable[bytes]) -> None:
    for piece in pieces:
        port.write(piece)
