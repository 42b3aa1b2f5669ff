"""A text file that another program writes: its header, its last lines, and those that are added."""

import os
from typing import List

from ..basics import ANSWER, ProbeDenied, ProbeMissing

READ_BYTES = 1 << 20
MOST_LINE_BYTES = 1 << 16


class GrowingFile:
    """Complete lines as they come; empty lines and comments are passed over.

    Args:
        path: of the file.

    Raises:
        ProbeMissing: it cannot be read; ProbeDenied where this user may not.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor = _opened(path)
        self._at = 0  # up to where it was read
        self._unfinished = b""

    def lines(self) -> List[str]:
        """The lines that were completed since the last time, from at most READ_BYTES.

        Raises:
            ProbeMissing: it was cut short or replaced, or is no text.
        """
        status = os.fstat(self._descriptor)
        self._require_same(status)
        try:
            data = os.pread(self._descriptor, READ_BYTES, self._at)
        except OSError as error:
            raise _unreadable(self._path, error) from None
        self._at += len(data)
        pieces = (self._unfinished + data).split(b"\n")
        if max(map(len, pieces)) > MOST_LINE_BYTES or b"\0" in data:
            raise ProbeMissing(
                "{} is no text in lines".format(self._path), "name a CSV file", ANSWER, self._path
            )
        self._unfinished = pieces.pop()
        texts = [piece.decode("utf-8", "replace").rstrip("\r") for piece in pieces]
        return [text for text in texts if text.strip() and not text.startswith("#")]

    def is_at_end(self) -> bool:
        """Whether all that there is was read."""
        return self._at >= os.fstat(self._descriptor).st_size

    def skip_to_last(self, last_bytes: int) -> None:
        """Pass over all but the last bytes and the line that they begin in."""
        beyond = os.fstat(self._descriptor).st_size - last_bytes
        if beyond > self._at:
            self._at, self._unfinished = beyond, b""
            data = os.pread(self._descriptor, MOST_LINE_BYTES, self._at)
            self._at += data.find(b"\n") + 1

    def close(self) -> None:
        """Let it go; safe to call twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _require_same(self, status: os.stat_result) -> None:
        try:
            named = os.stat(self._path)
        except OSError:
            named = None
        if named is None or (named.st_dev, named.st_ino) != (status.st_dev, status.st_ino):
            what = "was removed or replaced"
        elif status.st_size < self._at:
            what = "was cut short"
        else:
            return
        raise ProbeMissing(
            "{} {} while it was read".format(self._path, what), "have its program add to one file"
        )


def _opened(path: str) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        os.pread(descriptor, 0, 0)
    except PermissionError:
        raise ProbeDenied(
            "this user may not read {}".format(path), "sudo chmod a+r {}".format(path), port=path
        ) from None
    except FileNotFoundError:
        raise ProbeMissing(
            "there is no file {}".format(path), "start the recording first", port=path
        ) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    return descriptor


def _unreadable(path: str, error: OSError) -> ProbeMissing:
    return ProbeMissing(
        "{} cannot be read: {}".format(path, error.strerror), "name a file of samples", port=path
    )
