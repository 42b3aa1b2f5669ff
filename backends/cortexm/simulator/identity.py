"""What a simulated firmware says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from .upload import PAYLOAD_BYTES, VERSION, WINDOW

_BINARY_HELP = (
    "db bin N             expect N bytes of input, as frames: "
    f"version={VERSION} payload={PAYLOAD_BYTES} window={WINDOW}"
)
_HELP = (
    "name                 which device this is",
    "timestamp            a stamp in microseconds, modulo 2^32",
    "profile              firmware, model, engine",
    "db load N            expect N bytes of input, as digits",
    "db HH..              hex digits, two a byte",
    _BINARY_HELP,
    "db print             the input",
    "infer N W            N inferences (1) after W warm-ups (10)",
    "results              scores of the last inference",
)


@dataclass(frozen=True)
class Identity:
    """Names, and which parts of the protocol it has.

    Attributes:
        model_id: the variant and its artifact's SHA-256, or one of the benchmark's own ids.
        board: as `m-info-[board=...]` says it.
        timer: what counts its time.
        has_infos: whether `profile` has `m-info-` lines.
        has_binary_load: whether `help` offers `db bin`.
        is_energy_build: stamps are pulses of a pin and no lines.
    """

    model_id: str
    name: str = "edgebench"
    profile: str = "edgebench-cortexm 1"
    board: str = "simulator"
    timer: str = "the host's monotonic clock"
    has_infos: bool = True
    has_binary_load: bool = True
    is_energy_build: bool = False

    @property
    def help(self) -> tuple[str, ...]:
        """The lines of `help`."""
        return tuple(line for line in _HELP if self.has_binary_load or line != _BINARY_HELP)
