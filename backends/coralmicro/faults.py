"""What goes wrong between this machine and a board, each kind by its name."""

from __future__ import annotations

from edgebench.link.clock_match import BoardFault

FIRMWARE_README = "backends/coral/micro/README.md"
"""Where the building and flashing of EdgeBench's own firmware is described."""
_FLASH_OURS = f"flash EdgeBench's firmware: {FIRMWARE_README} says how"
_SEE_SUPPLY = "see that its USB cable holds and its supply holds under load; firmware that faults resets, too"
PLUG_IN = (
    "plug the board in by USB and wait until it has booted: `ip address` then shows an interface with an "
    "address like 10.10.10.2, which the board gives it; --set address=HOST:PORT names a board elsewhere"
)


class MicroFault(BoardFault):
    """What a Coral Dev Board Micro did instead of answering as it should."""


class NobodyAnswers(MicroFault):
    """No connection: refused, unreachable, or nothing came back in time."""

    status = "lost_connection"

    def __init__(self, address: str, why: str, is_refused: bool = False) -> None:
        # What refuses a connection has a network, and nothing that serves it: other firmware, or none yet.
        refused = f"see that the address is the board's, and wait until it has booted; else {_FLASH_OURS}"
        fix = refused if is_refused else PLUG_IN
        super().__init__(f"no board answers at {address}", why=why, fix=fix)


class LostAnswer(MicroFault):
    """An answer that did not come whole: the call can be sent again where that does no harm."""

    status = "lost_connection"

    def __init__(self, method: str, why: str) -> None:
        super().__init__(f"the answer to `{method}` did not come whole", why=why, fix=_SEE_SUPPLY)


class CallStalled(LostAnswer):
    """A connection on which the answer did not come, or not whole, in time."""

    status = "timeout"

    def __init__(self, method: str, waited_s: float) -> None:
        super().__init__(method, f"the connection is open, and nothing more came within {waited_s:.3g} s")


class OtherFirmware(MicroFault):
    """JSON-RPC by other firmware than EdgeBench's, or by another version of it."""

    def __init__(self, found: str) -> None:
        super().__init__("the board runs other firmware than EdgeBench's", why=found, fix=_FLASH_OURS)


class BadReply(MicroFault):
    """What came is no answer to the call, or contradicts it or itself."""

    def __init__(self, method: str, why: str, fix: str = "") -> None:
        usual = f"see that the address is the board's, and nothing else talks to it; else {_FLASH_OURS}"
        super().__init__(f"the answer to `{method}` cannot be right", why=why, fix=fix or usual)


class BoardRestarted(MicroFault):
    """The board no longer has what it had."""

    status = "crash"

    def __init__(self, why: str) -> None:
        super().__init__("the board was restarted", why=why, fix=_SEE_SUPPLY)


class Refused(MicroFault):
    """The board answered with an error.

    Attributes:
        code: of JSON-RPC, or of EdgeBench's firmware.
        message: the board's own words, printable.
        data: what else it named, printable.
        is_repeat: whether the call was sent again because an answer was lost.
    """

    status = "error"
    is_repeat = False

    def __init__(self, method: str, code: int, message: str, data: str = "", fix: str = "") -> None:
        super().__init__(
            f"the board refuses `{method}` with error {code}: {message}",
            why=f"it names {data}" if data else "",
            fix=fix or f"see that its firmware is this EdgeBench's; {_FLASH_OURS}",
        )
        self.code = code
        self.message = message
        self.data = data


class NothingLoaded(Refused):
    """The model, the scene or the images are not there."""


class HashDiffers(Refused):
    """What came together on the board is not what was sent."""

    status = "load_failed"


class ModelRefused(Refused):
    """The board's interpreter does not take the model; `message` says why."""

    status = "load_failed"


class ModelTooLarge(Refused):
    """What should be loaded does not fit; `data` says what does."""

    status = "out_of_memory"


NO_SUCH_METHOD = -32601
BAD_PARAMS = -32602
_KINDS: dict[int, tuple[type[Refused], str]] = {
    -32001: (NothingLoaded, "see that no other program loads the board; start the session again"),
    -32002: (ModelTooLarge, "take a smaller model, or fewer patches"),
    -32003: (HashDiffers, "try another USB cable or port"),
    -32004: (ModelRefused, "take a model that its firmware has the operators and the arena for"),
    -32005: (Refused, "see that the model was compiled for the Edge TPU, and its supply holds"),
}
_OTHER_CODES = frozenset({-32700, -32600, NO_SUCH_METHOD, BAD_PARAMS, -32603, -32000})


def refusal(method: str, code: int, message: str, data: str) -> MicroFault:
    """The fault of an error code; BadReply for one that neither JSON-RPC nor EdgeBench has."""
    if code in _KINDS:
        kind, fix = _KINDS[code]
        return kind(method, code, message, data, fix)
    if code in _OTHER_CODES:
        return Refused(method, code, message, data)
    return BadReply(method, f"its error code {code} is unknown; its message: {message}")
