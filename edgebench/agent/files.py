"""Files that travel to the device: named by their hash, verified, and renamed into place when whole."""

import hashlib
import os
import re
from typing import Optional

_NAME = re.compile(r"[0-9a-f]{64}(\.[a-z0-9]{1,12})?\Z")
_READ_BYTES = 1 << 20


class FileStore:
    """A folder of files named `<sha256><suffix>`.

    Args:
        folder: made when the first file comes.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def path(self, name: str) -> str:
        """Where a file of that name lies or would lie; ValueError for anything that is no hash."""
        if not isinstance(name, str) or not _NAME.match(name):
            raise ValueError("not a file name: {!r}".format(name))
        return os.path.join(self._folder, name)

    def have(self, name: str) -> Optional[str]:
        """The path of a file that is here, whole and unchanged, or None."""
        path = self.path(name)
        try:
            return path if _sha256(path) == name[:64] else None
        except OSError:
            return None

    def put(self, name: str, offset: int, data: bytes, last: bool) -> str:
        """Add a piece at its offset; the last piece verifies the whole and puts it in place.

        ValueError when the pieces do not follow on one another or the hash is another one.
        """
        path = self.path(name)
        part = path + ".part"
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        with open(part, "wb" if offset == 0 else "ab") as file:
            if file.tell() != offset:
                raise ValueError("a piece of {} is missing before byte {}".format(name, offset))
            file.write(data)
        if last:
            if _sha256(part) != name[:64]:
                os.unlink(part)
                raise ValueError("{} arrived damaged".format(name))
            os.replace(part, path)
        return path


def _sha256(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for piece in iter(lambda: file.read(_READ_BYTES), b""):
            digest.update(piece)
    return digest.hexdigest()
