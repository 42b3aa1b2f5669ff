"""What goes wrong on a serial line, each kind by its name: what was awaited, and what came."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.link.board_fault import BoardFault


class LineFault(BoardFault):
    """An answer that did not come as it should."""


class LineLost(LineFault):
    """The line itself is gone: the board was unplugged, or what is at the other end has ended."""

    status = "lost_connection"


class LineFaultInAnswer(LineFault):
    """A fault amid an answer.

    Args:
        what: one sentence.
        awaited: what should have come.
        came: the last lines that came.

    Attributes:
        awaited, came: the same.
    """

    def __init__(self, what: str, *, awaited: str, came: Sequence[str], fix: str = "") -> None:
        lines = ", ".join(f"`{line}`" for line in came) or "nothing"
        super().__init__(what, why=f"awaited {awaited}; came: {lines}", fix=fix)
        self.awaited = awaited
        self.came = tuple(came)


class AnswerTimeout(LineFaultInAnswer):
    """The answer did not come, or not whole, in time."""

    status = "timeout"


class BoardReset(LineFaultInAnswer):
    """The board's boot banner came amid an answer."""

    status = "crash"


class BadAnswer(LineFaultInAnswer):
    """An answer that contradicts its command or itself."""


class ErrorAnswer(LineFaultInAnswer):
    """The board answered with an error.

    Attributes:
        text: the board's own words.
    """

    status = "error"

    def __init__(self, command: str, text: str, *, awaited: str, came: Sequence[str]) -> None:
        super().__init__(f"the board answers `{command}%` with an error: {text}", awaited=awaited, came=came)
        self.text = text


class RefusedLoad(ErrorAnswer):
    """An error instead of a load's beginning: the board does not take an input of this size."""


class EnergyBuild(LineFaultInAnswer):
    """Firmware that stamps by pulses of a pin and sends no laps, so that nothing can be timed over the
    line.
    """

    def __init__(self, awaited: str, came: Sequence[str]) -> None:
        super().__init__(
            "the firmware is an energy build: its stamps are pulses of a pin, not laps",
            awaited=awaited,
            came=came,
            fix="flash a performance build",
        )


class LoadFailed(LineFault):
    """An input that could not be sent, however often it was tried."""
