"""What `doctor` says of a microcontroller: its port, whether it answers, and what it carries."""

from __future__ import annotations

from edgebench.errors import NoPermissionError, UnavailableError, UsageError
from edgebench.probes.host.serial_port import ports_in_words
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.target import Target

from .board_profile import NOT_REPORTED, BoardProfile
from .choices import BAUD, ENERGY_BAUD, FAST_BAUD
from .device import CortexMDevice
from .faults import AnswerTimeout, LineFault
from .firmware_supply import FirmwareSupply, missing_program, required_board
from .options import CortexMOptions

_OF_THE_PROTOCOL = ("m-", "e-[")


def findings(target: Target) -> list[Finding]:
    """Of the board at the target's port, or of an emulated one; without either, which ports there are."""
    device = CortexMDevice(target)
    try:
        if target.port is None:
            return [_without_port(CortexMOptions.model_validate(dict(target.options)))]
        return _of_profile(device.identify())
    except (UnavailableError, NoPermissionError, UsageError) as refusal:
        return [Finding("error", "port", _sentence(refusal.what, refusal.why), refusal.fix)]
    except LineFault as fault:
        return [_of_fault(fault, int(target.options.get("baud", BAUD)))]
    finally:
        device.close()


def _without_port(options: CortexMOptions) -> Finding:
    if not FirmwareSupply(options).emulates:
        fix = "name the board's by --port, such as /dev/ttyACM0"
        return Finding("error", "port", f"no port was named: {ports_in_words()}", fix)
    if (error := missing_program(options)) is not None:
        return Finding("error", "board", _sentence(error.what, error.why), error.fix)
    return Finding("ok", "board", f"{required_board(options).title}: the run starts it")


def _of_profile(board: BoardProfile) -> list[Finding]:
    runtime = board.runtime()
    facts = board.profile.infos.get("board", board.board)
    first = Finding("ok", "board", f"{facts}: {board.profile.firmware} answers")
    version = "" if runtime["version"] == NOT_REPORTED else f" {runtime['version']}"
    model = f"{board.profile.model_id}, by {runtime['name']}{version}"
    if not board.is_own:
        return [
            first,
            Finding(
                "warning",
                "firmware",
                f"{model}: it is not EdgeBench's, and its model is known by its outputs alone",
                "flash EdgeBench's (edgebench cortexm build), or go on: its figures are marked",
            ),
        ]
    return [first, Finding("ok", "firmware", model)]


def _of_fault(fault: LineFault, baud: int) -> Finding:
    if not isinstance(fault, AnswerTimeout):
        message = _sentence(fault.what, fault.why)
        return Finding("error", "board", message, fault.fix or "plug the board in anew")
    if any(line.startswith(_OF_THE_PROTOCOL) for line in fault.came):
        message = _sentence(fault.what, fault.why)
        return Finding(
            "error", "board", message, "press the board's reset button, or flash its firmware anew"
        )
    reason = (
        f"what comes at {baud} baud cannot be read: the board's rate is another one"
        if fault.came
        else "nothing comes"
    )
    others = ", ".join(f"--set baud={other}" for other in (BAUD, FAST_BAUD, ENERGY_BAUD) if other != baud)
    return Finding(
        "error",
        "board",
        _sentence(fault.what, reason),
        f"try {others}; press the board's reset button; see that its firmware speaks MLPerf Tiny's protocol",
    )


def _sentence(what: str, why: str) -> str:
    return f"{what}: {why}" if why else what
