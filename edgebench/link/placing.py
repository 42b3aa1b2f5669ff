"""Files on their way to the device: under their own path where it is shared, by hash where it is not."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgebench.agent.frames import Frame
from edgebench.link.connection import Connection
from edgebench.link.local import disk_full, raise_refusal
from edgebench.link.replies import Room, checked
from edgebench.prepare.cache import sha256_file
from edgebench.records.model import Artifact
from edgebench.records.values import Json

PIECE_BYTES = 1 << 20
AHEAD = 4
"""Pieces on their way that are not confirmed yet: enough that no link waits for an answer between two."""

HASHED_BYTES_PER_S = 5_000_000
"""What the slowest board reads and hashes of a file that it has already, from a worn card."""

SPARE_BYTES = 1 << 20
"""What has to stay free besides the files: notes about them, probes, and what else runs there."""


Sending = Callable[[int, int], None]


def unheard(sent: int, size: int) -> None:
    """The progress of files is not shown."""


@dataclass(frozen=True)
class PlacedFile:
    """A file on the device."""

    path: str
    sha256: str


@dataclass(frozen=True)
class Loadable:
    """What a runner loads, on the device: a file, and its companions by name."""

    file: PlacedFile
    companions: dict[str, PlacedFile]


class Placer:
    """Places each file once a connection.

    Args:
        connection: the agent that receives.
        shares_files: whether the device sees the host's files under the same paths.
        timeout_s: for one piece of a file; a file that is there has the time to be hashed besides.
        name: of the device, for messages.
    """

    def __init__(
        self, connection: Connection, shares_files: bool, timeout_s: float, name: str = "the device"
    ) -> None:
        self._connection = connection
        self._shares_files = shares_files
        self._timeout_s = timeout_s
        self._name = name
        self._placed: dict[tuple[Path, str | None], str] = {}
        self._verified: set[str] = set()

    def place(self, path: Path, sha256: str | None = None, sending: Sending = unheard) -> str:
        """Where the device finds the file; `sha256` spares reading it again where it is known.

        `sending` is called with the bytes that were sent and those of the file, where it has to be sent.
        """
        known = self._placed.get((path, sha256))
        if known is None:
            known = str(path.resolve()) if self._shares_files else self._send(path, sha256, sending)
            self._placed[path, sha256] = known
        return known

    def place_code(self, files: Sequence[Path]) -> dict[str, Json]:
        """What the device imports Python files by; the first is the entry, the others are its companions."""
        return code_at(files, self.place)

    def unverified(self, sha256: str) -> str | None:
        """The hash that a worker has to find in a file of data: once a connection, where files are sent."""
        return None if self._shares_files or sha256 in self._verified else sha256

    def note_verified(self, sha256: str) -> None:
        """A worker has found that content in the file on the device."""
        self._verified.add(sha256)

    def require_room(self, files: Sequence[tuple[Path, str | None]]) -> None:
        """DiskFullError where the device's disk cannot hold those of the files that it has not yet.

        Args:
            files: each with its SHA-256 where that is known.
        """
        if self._shares_files:
            return
        missing = [path for path, sha256 in files if not self._device_path(path, _name(path, sha256))]
        needed_bytes = sum(path.stat().st_size for path in missing)
        if not needed_bytes:
            return
        free_bytes = checked(
            Room, self._connection.request({"op": "room"}, self._timeout_s).message
        ).free_bytes
        if free_bytes < needed_bytes + SPARE_BYTES:
            needed, free = (f"{size / (1 << 20):.1f} MiB" for size in (needed_bytes, free_bytes))
            raise disk_full(self._name, f"{needed} have to be placed there, {free} are free")

    def _device_path(self, path: Path, name: str) -> str:
        """Where the device has the file already; nothing where it has not.

        It answers when it has hashed the whole file.
        """
        timeout_s = self._timeout_s + path.stat().st_size / HASHED_BYTES_PER_S
        return self._path(self._connection.request({"op": "have", "name": name}, timeout_s), path)

    def _send(self, path: Path, sha256: str | None, sending: Sending) -> str:
        name = _name(path, sha256)
        if path_there := self._device_path(path, name):
            return path_there
        size = path.stat().st_size
        waiting: deque[int] = deque()
        with path.open("rb") as file:
            offset = 0
            while True:
                piece = file.read(PIECE_BYTES)
                last = offset + len(piece) >= size or not piece
                sending(offset, size)
                message = {"op": "put", "name": name, "offset": offset, "last": last}
                waiting.append(self._connection.send(message, piece))
                offset += len(piece)
                while len(waiting) > (0 if last else AHEAD):
                    frame = self._connection.wait(waiting.popleft(), self._timeout_s)
                    placed = self._path(frame, path)
                if last:
                    return placed

    def _path(self, frame: Frame, path: Path) -> str:
        """Where the device keeps the file: a name to say back to it, and no path on this machine."""
        error = frame.message.get("error")
        if error is not None:
            raise_refusal(error, self._name, subject=path.name)
        return str(frame.message.get("path") or "")


def place_artifact(placer: Placer, artifact: Artifact) -> Loadable:
    """An artifact and its companions on the device."""
    return Loadable(
        PlacedFile(placer.place(artifact.path, artifact.sha256), artifact.sha256),
        {
            name: PlacedFile(placer.place(companion.path, companion.sha256), companion.sha256)
            for name, companion in artifact.companions.items()
        },
    )


def code_at(files: Sequence[Path], place: Callable[[Path, str], str]) -> dict[str, Json]:
    """Python files as `edgebench.agent.building` imports them.

    Args:
        files: the entry, then its companions.
        place: gives the path by which the device finds a file, from its path here and its SHA-256.

    Returns:
        `entry`, the module of the first file, and `files`: by module, the device's `path` and the `sha256`
        without which it is not run.
    """
    modules = module_names(files)
    hashes = [sha256_file(file) for file in files]
    placed = [
        {"path": place(file, sha256), "sha256": sha256} for file, sha256 in zip(files, hashes, strict=True)
    ]
    return {"entry": modules[0], "files": dict(zip(modules, placed, strict=True))}


def module_names(files: Sequence[Path]) -> list[str]:
    """Dotted names by which relative imports between the files work as they do here.

    They are paths below the innermost folder that holds all of them: `device.runner`, `device.tensors`.
    """
    folder = Path(os.path.commonpath([file.parent for file in files]))
    return [".".join(file.relative_to(folder).with_suffix("").parts) for file in files]


def _name(path: Path, sha256: str | None) -> str:
    """What the file is called on the device."""
    suffix = path.suffix.lower()
    return (sha256 or sha256_file(path)) + (suffix if suffix[1:].isalnum() and len(suffix) <= 12 else "")
