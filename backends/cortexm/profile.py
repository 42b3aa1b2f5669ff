"""What a board says of itself over its line, and whether that is what an artifact needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from edgebench.errors import SessionError
from edgebench.link.window_session import size_bytes
from edgebench.records.model import Artifact
from edgebench.records.values import Json

from .boards import EMULATED
from .engines import model_id

OWN_FIRMWARE = "edgebench-cortexm"
SIMULATOR = "simulator"
NOT_REPORTED = "not reported"


@dataclass(frozen=True)
class Profile:
    """Answers to `name%` and `profile%`, printable and bounded.

    Attributes:
        name: what the vendor calls the device.
        firmware: its name; free text of other vendors.
        model_id: EdgeBench's firmware: VARIANT:SHA256 of the artifact; the benchmark's: such as vww01.
        infos: by name, of EdgeBench's firmware; else empty.
    """

    name: str
    firmware: str
    model_id: str
    infos: Mapping[str, str]

    @property
    def is_own(self) -> bool:
        """Whether the firmware is EdgeBench's: its model id has the artifact's hash."""
        return self.firmware.split(" ")[0] == OWN_FIRMWARE

    @property
    def board(self) -> str:
        """The board's name, as `mps2-an500`; of other firmware what its vendor calls the device."""
        return self.infos.get("board", self.name).partition(",")[0].strip()

    @property
    def is_in_qemu(self) -> bool:
        """Whether QEMU emulates it, whose clock can go by instructions."""
        return self.board in EMULATED

    @property
    def is_emulated(self) -> bool:
        """Whether no board of silicon answers."""
        return self.board == SIMULATOR or self.is_in_qemu

    def description(self) -> dict[str, Json]:
        """The board's facts; the processor with its clock, because another clock is another device."""
        processor = self.infos.get("board", "").partition(",")[2].strip()
        return {"board": self.board, **({"cpu": processor} if processor else {})}

    def runtime(self) -> dict[str, Json]:
        """The engine that the firmware reports; of other firmware, which reports none, the firmware."""
        engine, _, version = self.infos.get("engine", "").partition(" ")
        runtime: dict[str, Json] = {
            "name": engine or self.firmware,
            "version": version or NOT_REPORTED,
            "firmware": self.firmware,
            "model": self.model_id,
            "own_firmware": self.is_own,
        }
        for name in ("copy-us", "engine-bytes", "input-bytes"):
            if self.infos.get(name, "").isdecimal():
                runtime[name.replace("-", "_")] = int(self.infos[name])
        for name in ("timer", "input-type", "reset"):
            if name in self.infos:
                runtime[name.replace("-", "_")] = self.infos[name]
        return runtime

    def carries(self, artifact: Artifact) -> bool:
        """Whether EdgeBench's firmware carries the artifact's file, whatever the file was called.

        Firmware of a model with a state resets it. Other firmware is known by its outputs alone.
        """
        is_its_file = self.model_id.rpartition(":")[2] == artifact.sha256
        return not self.is_own or (is_its_file and self.infos.get("state", "none") == artifact.state)

    def require_fits(self, artifact: Artifact) -> None:
        """SessionError where the firmware carries another model, or contradicts the artifact."""
        if not self.carries(artifact):
            raise load_failed(
                "the board carries another model after it was flashed",
                f"it has {self.model_id}, and {model_id(artifact)} was flashed",
                "see that the port is that of the board whose ST-LINK is used (--set stlink=SERIAL)",
            )
        due = {
            "input-type": artifact.input_type,
            "input-bytes": str(size_bytes(artifact)),
            "scores": str(artifact.scores),
        }
        wrong = [
            f"its {name} is {self.infos[name]}, the artifact's {value}"
            for name, value in due.items()
            if self.infos.get(name, value) != value
        ]
        if artifact.state != "none" and not self.is_own:
            wrong.append("its state is not known to be reset before each inference")
        if artifact.batch != 1:
            wrong.append(f"it infers one patch at a time, and the artifact {artifact.batch}")
        if wrong:
            fix = "flash firmware that was built of this artifact"
            raise load_failed("the board's model is not the artifact", "; ".join(wrong), fix)

    def warnings(self) -> list[str]:
        """What a reader should know of the firmware."""
        if self.is_own:
            return []
        return [
            f"the firmware is not EdgeBench's ({self.firmware}, model {self.model_id}): that it carries this "
            "model is known by its outputs alone, and its engine by its name"
        ]


def load_failed(what: str, why: str, fix: str) -> SessionError:
    """The session of an artifact that the board does not carry."""
    return SessionError(what, status="load_failed", stage="load", why=why, fix=fix)
