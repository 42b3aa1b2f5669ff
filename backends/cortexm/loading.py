"""Sending a model's input to a board: as hex digits, as any firmware of the benchmark takes it, or as
frames.

What the line allows for digits: the protocol is half duplex, so that of each command's 31 bytes the way out
and the `m-ready` back follow one another. 66 characters (`db `, 62 digits, `%`) and 9 (`m-ready`, CR, LF)
of 10 bits each make 75 x 10 / baud seconds for 31 bytes: 6.51 ms at 115200 baud, 0.81 ms at 921600. Two
commands are never under way: other firmware drops what comes while it answers. A frame takes 522 characters
for 512 bytes, and its acknowledgement comes while the next ones are on their way: 2.37 times as fast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .exchange import Exchange
from .faults import AnswerTimeout, BadAnswer, ErrorAnswer, LineFault, LoadFailed, RefusedLoad
from .messages import Acknowledged, Banner, BoardError, Expecting, LoadDone, Message, Missing, Ready
from .upload_frames import SEQUENCE_MODULUS, BinaryOffer, frames_of

COMMAND_BYTES = 31
"""Of input in one `db` command, as the benchmark's runner sends them."""
MOST_ATTEMPTS = 3
STALL_S = 3.0
"""Without a new frame that is taken for that long, beside the time of two windows, a binary load is broken:
a board that lacks one asks for it each 0.2 s."""
SETTLE_S = 0.005
"""How long a second attempt by digits waits behind each m-ready for one that is doubled."""
MOST_DOUBLED = 8
"""Of one m-ready; a board that sends more never stops."""
REPORT_COMMANDS = 64
COMMAND_S = 0.1
"""What a board may take for a `db` command on average, beside thrice the line's own time: a slow adapter
holds each answer back for 16 ms."""
LEAST_LIMIT_S = 60.0
_READY_CHARACTERS = 9
_BITS_A_BYTE = 10

LoadProgress = Callable[[int, int], None]
"""Called with the bytes that were sent and the bytes in all."""


class Loaded(NamedTuple):
    """A load that was taken whole.

    Attributes:
        seconds: of the attempt that succeeded.
        bytes: of the input.
        binary: whether it went as frames.
        attempts: 1 where none was broken.
    """

    seconds: float
    bytes: int
    binary: bool
    attempts: int


def hex_line_s(size_bytes: int, baud: int) -> float:
    """The seconds that the line itself takes for a load by digits, without its first command."""
    commands, rest = divmod(size_bytes, COMMAND_BYTES)
    around = len("db %") + _READY_CHARACTERS
    characters = commands * (2 * COMMAND_BYTES + around) + (2 * rest + around if rest else 0)
    return (characters + len("m-load-done\r\n")) * 10 / baud


def limit_s(size_bytes: int, byte_s: float) -> float:
    """How long an attempt may take, though each of its answers comes in time."""
    commands = -(-size_bytes // COMMAND_BYTES)
    return 3 * hex_line_s(size_bytes, round(_BITS_A_BYTE / byte_s)) + COMMAND_S * commands + LEAST_LIMIT_S


def load(
    exchange: Exchange,
    tensor: bytes,
    offer: BinaryOffer | None,
    resynchronise: Callable[[], None],
    report: LoadProgress,
) -> Loaded:
    """Send an input, again where it was broken.

    Raises:
        LoadFailed: the last of MOST_ATTEMPTS was broken, too.
        RefusedLoad: the board does not take an input of this size.
        BoardReset, LineLost: these are not tried again.
    """
    for attempt in range(1, MOST_ATTEMPTS + 1):
        if attempt > 1:
            resynchronise()
        try:
            _announce(exchange, tensor, offer)
            start_ns = exchange.clock_ns()
            if offer is None:
                _send_digits(exchange, tensor, report, SETTLE_S if attempt > 1 else None)
            else:
                _send_frames(exchange, tensor, offer, report)
        except (AnswerTimeout, BadAnswer, ErrorAnswer) as fault:
            if isinstance(fault, RefusedLoad):
                raise
            broken: LineFault = fault
            continue
        report(len(tensor), len(tensor))
        return Loaded((exchange.clock_ns() - start_ns) / 1e9, len(tensor), offer is not None, attempt)
    raise LoadFailed(
        f"the input could not be sent in {MOST_ATTEMPTS} attempts; the last: {broken.what}",
        why=broken.why,
        fix="try a lower baud rate or a shorter cable",
    ) from broken


def _announce(exchange: Exchange, tensor: bytes, offer: BinaryOffer | None) -> None:
    """The command that begins a load. Frames follow without an `m-ready`."""
    size = len(tensor)
    command, awaited = f"db {'load' if offer is None else 'bin'} {size}", f"`m-[Expecting {size} bytes]`"
    try:
        if offer is None:
            exchange.ask(command, awaited, lambda answer: Expecting(size) in answer)
            return
        exchange.send(command)
        for message in exchange.messages(exchange.answer_s()):
            # A board that asks for the first frame has begun; its line that says so was lost.
            if message in (Expecting(size), Missing(0)):
                return
            _raise_for(exchange, message, command, awaited)
    except ErrorAnswer as error:
        raise RefusedLoad(command, error.text, awaited=awaited, came=error.came) from error
    raise AnswerTimeout("the board begins no binary load", awaited=awaited, came=exchange.came())


def _send_digits(exchange: Exchange, tensor: bytes, report: LoadProgress, settle_s: float | None) -> None:
    """One `db` command after another, each behind the `m-ready` of the one before.

    With `settle_s` it listens for so long after each for a doubled one.
    """
    size = len(tensor)
    require_time = _deadline(exchange, size)
    for number, start in enumerate(range(0, size, COMMAND_BYTES)):
        require_time(start)
        end = start + COMMAND_BYTES
        exchange.send(f"db {tensor[start:end].hex()}")
        is_last = end >= size
        _await_ready(exchange, is_last)
        if settle_s is not None and not is_last:
            for _ in range(MOST_DOUBLED):
                if exchange.next_message(settle_s + 2 * _READY_CHARACTERS * exchange.byte_s) != Ready():
                    break
        if number % REPORT_COMMANDS == 0:
            report(min(end, size), size)


def _await_ready(exchange: Exchange, is_last: bool) -> None:
    """The end of a `db` command: the last one says that all bytes are there, no other may."""
    awaited = "`m-load-done`, `m-ready`" if is_last else "`m-ready`"
    is_done = False
    for message in exchange.messages(exchange.answer_s()):
        if isinstance(message, Ready):
            if is_done == is_last:
                return
        elif isinstance(message, LoadDone):
            is_done = True
            if not is_last:
                raise BadAnswer("the load is done too early", awaited=awaited, came=exchange.came())
        else:
            _raise_for(exchange, message, "db ...", awaited)
    raise AnswerTimeout("a load by digits is broken", awaited=awaited, came=exchange.came())


def _send_frames(exchange: Exchange, tensor: bytes, offer: BinaryOffer, report: LoadProgress) -> None:
    """Go-back-N: up to a window of frames without acknowledgement, again from where the board lacks one.

    A gap halves the window, and each frame that is taken widens it by one: on a bad line few frames are
    sent in vain.
    """
    frames = frames_of(tensor, offer.payload_bytes)
    data_frames = len(frames) - 1
    awaited = "`m-ack-...`, at the end `m-load-done`"
    sent = furthest = taken = 0
    window = offer.window
    is_done = False
    last_ns = exchange.clock_ns()
    require_time = _deadline(exchange, len(tensor))
    stall_s = STALL_S + 2 * offer.window * len(frames[0]) * exchange.byte_s
    while (stalled_s := (exchange.clock_ns() - last_ns) / 1e9) < stall_s:
        require_time(taken * offer.payload_bytes)
        # The frame that ends the load goes alone: behind it no frame may be on its way.
        most = min(taken + window, data_frames) if taken < data_frames else len(frames)
        while sent < most:
            exchange.line.write(frames[sent])
            sent += 1
        furthest = max(furthest, sent)
        message = exchange.next_message(stall_s - stalled_s)
        if isinstance(message, Acknowledged | Missing):
            # Modulo 65536, and never behind what was taken nor ahead of what was sent.
            next_frame = taken + (message.next_frame - taken) % SEQUENCE_MODULUS
            if next_frame > furthest:
                continue
            if next_frame > taken:
                taken = next_frame
                sent = max(sent, taken)
                window = min(window + 1, offer.window)
                last_ns = exchange.clock_ns()
                report(min(taken * offer.payload_bytes, len(tensor)), len(tensor))
            if isinstance(message, Missing):
                sent = taken
                window = max(window // 2, 1)
        elif isinstance(message, LoadDone) and taken == data_frames:
            is_done = True
        elif isinstance(message, Ready) and is_done:
            return
        elif message is not None:
            _raise_for(exchange, message, "db bin", awaited)
    if is_done:  # its `m-ready` was lost; the next answer is known by its content
        return
    raise AnswerTimeout("a binary load does not go on", awaited=awaited, came=exchange.came())


def _deadline(exchange: Exchange, size_bytes: int) -> Callable[[int], None]:
    """Called with the bytes that were sent; LoadFailed once the load takes too long."""
    longest_s = limit_s(size_bytes, exchange.byte_s)
    end_ns = exchange.clock_ns() + round(longest_s * 1e9)

    def require_time(sent_bytes: int) -> None:
        if exchange.clock_ns() >= end_ns:
            raise LoadFailed(
                f"the input is not sent within {longest_s:.0f} s",
                why=f"{sent_bytes:,} of {size_bytes:,} bytes were taken: the board answers each command late",
                fix="see that nothing else keeps the board busy; try a higher baud rate",
            )

    return require_time


def _raise_for(exchange: Exchange, message: Message, command: str, awaited: str) -> None:
    """A fault for what ends a load; other lines are passed over."""
    if isinstance(message, Banner):
        raise exchange.reset(command, awaited)
    if isinstance(message, BoardError):
        raise ErrorAnswer(command, message.text, awaited=awaited, came=exchange.came())
