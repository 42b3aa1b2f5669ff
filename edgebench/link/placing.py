"""Files on their way to the device: under their own path where it is shared, by hash where it is not."""

from __future__ import annotations

from pathlib import Path

from edgebench.errors import UnavailableError
from edgebench.link.connection import Connection
from edgebench.models.cache import sha256_file

PIECE_BYTES = 1 << 22


class Placer:
    """Places each file once a connection.

    Args:
        connection: the agent that receives.
        shares_files: whether the device sees the host's files under the same paths.
        timeout_s: for one piece of a file.
    """

    def __init__(self, connection: Connection, shares_files: bool, timeout_s: float) -> None:
        self._connection = connection
        self._shares_files = shares_files
        self._timeout_s = timeout_s
        self._placed: dict[tuple[Path, str | None], str] = {}

    def place(self, path: Path, sha256: str | None = None) -> str:
        """Where the device finds the file; `sha256` spares reading it again where it is known."""
        known = self._placed.get((path, sha256))
        if known is None:
            known = str(path.resolve()) if self._shares_files else self._send(path, sha256)
            self._placed[path, sha256] = known
        return known

    def _send(self, path: Path, sha256: str | None) -> str:
        suffix = path.suffix.lower()
        name = (sha256 or sha256_file(path)) + (suffix if suffix[1:].isalnum() and len(suffix) <= 12 else "")
        there = self._connection.request({"op": "have", "name": name}, self._timeout_s).message.get("path")
        if there:
            return str(there)
        size = path.stat().st_size
        reply: dict[str, object] = {}
        with path.open("rb") as file:
            offset = 0
            while True:
                piece = file.read(PIECE_BYTES)
                last = offset + len(piece) >= size or not piece
                message = {"op": "put", "name": name, "offset": offset, "last": last}
                reply = self._connection.request(message, self._timeout_s, piece).message
                offset += len(piece)
                if last or "error" in reply:
                    break
        if "error" in reply:
            error = reply["error"]
            why = str(error.get("what", "")) if isinstance(error, dict) else str(error)
            raise UnavailableError(
                f"{path.name} cannot be placed on the device",
                why=why,
                fix="free space on the device, or try again",
            )
        return str(reply["path"])
