"""What can befall an answer of a played board: each a `Fault`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.backends.coralmicro.played_board import Exchange, Fault


def body(content: bytes) -> Fault:
    """Another body."""
    return lambda exchange: exchange.send(content)


def edited(**fields: Any) -> Fault:
    """Fields of the result that say something else; a callable is given the right value."""

    def fault(exchange: Exchange) -> None:
        result = exchange.answer["result"]
        for name, value in fields.items():
            result[name] = value(result[name]) if callable(value) else value
        exchange.send()

    return fault


def answered(change: Callable[[dict[str, Any]], Any]) -> Fault:
    """The answer with its id, changed."""

    def fault(exchange: Exchange) -> None:
        change(exchange.answer)
        exchange.send()

    return fault


def status(number: int, location: str = "") -> Fault:
    """Another HTTP status."""
    return lambda exchange: exchange.send(b"<html></html>", status=number, location=location)


def raw(content: bytes) -> Fault:
    """Bytes instead of HTTP."""
    return lambda exchange: exchange.write(content)


def half(exchange: Exchange) -> None:
    """The first half of the answer, its length said, then the end."""
    exchange.send(exchange.body[: len(exchange.body) // 2], length=len(exchange.body))


def half_without_length(exchange: Exchange) -> None:
    """The same, its length unsaid."""
    exchange.send(exchange.body[: len(exchange.body) // 2], length=None)


def stall(exchange: Exchange) -> None:
    """No answer, the connection open."""
    exchange.wait()


def stall_amid(exchange: Exchange) -> None:
    """Half of the answer, then nothing, the connection open."""
    exchange.send(exchange.body[: len(exchange.body) // 2], length=len(exchange.body))
    exchange.wait()


def drip(exchange: Exchange) -> None:
    """A byte now and then, for ever: no wait for the next one is long."""
    exchange.send(b"", length=1 << 12)
    for _ in range(1 << 12):
        exchange.write(b" ")
        if exchange.wait(0.02):
            return


def drip_headers(exchange: Exchange) -> None:
    """The same before the answer begins."""
    exchange.write(b"HTTP/1.0 200 OK\r\nX: ")
    for _ in range(1 << 12):
        exchange.write(b"x")
        if exchange.wait(0.02):
            return


def reset(exchange: Exchange) -> None:
    """The connection is reset before the answer."""
    exchange.reset()


def reset_amid(exchange: Exchange) -> None:
    """The connection is reset amid the answer."""
    exchange.send(exchange.body[:5], length=len(exchange.body))
    exchange.reset()


def hang_up(exchange: Exchange) -> None:
    """The connection is closed without an answer."""
