"""What a board says of itself over its line, and whether that is what an artifact needs."""

from __future__ import annotations

from dataclasses import dataclass

from edgebench.errors import SessionError
from edgebench.link.input_tensor import size_bytes
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.values import Json

from .boards import BOARDS
from .conversation import Profile
from .engines import model_id

OWN_FIRMWARE = "edgebench-cortexm"
SIMULATOR = "simulator"
NOT_REPORTED = "not reported"


@dataclass(frozen=True)
class BoardProfile:
    """Answers to `name%` and `profile%`."""

    name: str
    profile: Profile

    @property
    def is_own(self) -> bool:
        """Whether the firmware is EdgeBench's: its model id has the artifact's hash."""
        return self.profile.firmware.split(" ")[0] == OWN_FIRMWARE

    @property
    def board(self) -> str:
        """The board's name, as `mps2-an500`; of other firmware what its vendor calls the device."""
        return self.profile.infos.get("board", self.name).partition(",")[0].strip()

    @property
    def is_emulated(self) -> bool:
        """Whether no board of silicon answers."""
        return self.board == SIMULATOR or self.is_in_qemu

    @property
    def is_in_qemu(self) -> bool:
        """Whether QEMU emulates it, whose clock can go by instructions."""
        return self.board in {board.name for board in BOARDS if board.emulated}

    def description(self) -> dict[str, Json]:
        """The board's facts; the processor with its clock, because another clock is another device."""
        processor = self.profile.infos.get("board", "").partition(",")[2].strip()
        return {"board": self.board, **({"cpu": processor} if processor else {})}

    def runtime(self) -> dict[str, Json]:
        """The engine that the firmware reports; of other firmware, which reports none, the firmware."""
        infos = self.profile.infos
        engine, _, version = infos.get("engine", "").partition(" ")
        engine = engine or self.profile.firmware
        numbers = {
            name.replace("-", "_"): int(infos[name])
            for name in ("copy-us", "engine-bytes", "input-bytes")
            if infos.get(name, "").isdecimal()
        }
        texts = {
            name.replace("-", "_"): infos[name] for name in ("timer", "input-type", "reset") if name in infos
        }
        return {
            "name": engine,
            "version": version or NOT_REPORTED,
            "firmware": self.profile.firmware,
            "model": self.profile.model_id,
            "own_firmware": self.is_own,
            **numbers,
            **texts,
        }

    def carries(self, artifact: Artifact) -> bool:
        """Whether EdgeBench's firmware carries the artifact's file, whatever the file was called.

        Other firmware is known by its outputs alone.
        """
        return not self.is_own or self.profile.model_id.rpartition(":")[2] == artifact.sha256

    def require_carries(self, artifact: Artifact) -> None:
        """SessionError where firmware that was just flashed has another model all the same."""
        if not self.carries(artifact):
            raise SessionError(
                "the board carries another model after it was flashed",
                status="load_failed",
                stage="load",
                why=f"it has {self.profile.model_id}, and {model_id(artifact)} was flashed",
                fix="see that the port is that of the board whose ST-LINK is used (--set stlink=SERIAL)",
            )

    def require_fits(self, artifact: Artifact) -> None:
        """SessionError where what the firmware says of its model contradicts the artifact."""
        infos = self.profile.infos
        due = {
            "input-type": artifact.input.dtype,
            "input-bytes": str(size_bytes(artifact.input)),
            "scores": str(artifact.scores),
        }
        wrong = [
            f"its {name} is {infos[name]}, the artifact's {value}"
            for name, value in due.items()
            if infos.get(name, value) != value
        ]
        if artifact.batch != 1:
            wrong.append(f"it infers one patch at a time, and the artifact {artifact.batch}")
        if wrong:
            raise SessionError(
                "the board's model is not the artifact",
                status="load_failed",
                stage="load",
                why="; ".join(wrong),
                fix="flash firmware that was built of this artifact",
            )

    def warnings(self) -> list[str]:
        """What a reader should know of the firmware."""
        if self.is_own:
            return []
        return [
            f"the firmware is not EdgeBench's ({self.profile.firmware}, model {self.profile.model_id}): that "
            "it carries this model is known by its outputs alone, and its engine by its name"
        ]
