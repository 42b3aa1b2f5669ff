"""Where probes beside a replay find their samples (device side, Python 3.6)."""

import json
import os
import stat
import tempfile
from typing import TYPE_CHECKING, Any, Dict, List

from .play_base import Canned

if TYPE_CHECKING:
    pass

MAX_SAMPLE_BYTES = 64 << 20


class Samples:
    """What probes beside this worker will say, in a file that they find by this process's number.

    It lies in a folder of this user alone and goes with the session; `edgebench.probes.replay` reads it.
    """

    def __init__(self, infos: Dict[str, Any]) -> None:
        self._path = ""
        self._left = MAX_SAMPLE_BYTES
        if not infos:
            return
        folder = _samples_folder()
        for name in os.listdir(folder):
            if not _alive(name.partition(".")[0]):
                _remove(os.path.join(folder, name))
        path = os.path.join(folder, "{}.samples".format(os.getpid()))
        _remove(path)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        self._path = path
        self._write({"probes": infos})

    def add(self, address: str, stamps: List[int], values: Dict[str, List[float]]) -> None:
        """Samples of the probe of that address, one list a channel."""
        if stamps:
            self._write({"to": address, "t": stamps, "values": values})

    def close(self) -> None:
        """Remove the file; a probe that has it open can still read it."""
        if self._path:
            _remove(self._path)
            self._path = ""

    def _write(self, line: Dict[str, Any]) -> None:
        data = (json.dumps(line) + "\n").encode()
        self._left -= len(data)
        if not self._path:
            return
        if self._left < 0:
            raise Canned("the samples of this session take more than {} bytes".format(MAX_SAMPLE_BYTES))
        with open(self._path, "ab") as file:
            file.write(data)


def _samples_folder() -> str:
    folder = os.path.join(tempfile.gettempdir(), "edgebench-replay-{}".format(os.getuid()))
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise Canned("{} is not a private folder of this user: remove it".format(folder))
    return folder


def _alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except (ValueError, ProcessLookupError):
        return False
    except OSError:
        pass
    return True


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass
