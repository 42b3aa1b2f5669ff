"""Where the probes of a replay find their samples (device side, Python 3.6)."""

import contextlib
import glob
import json
import os
import tempfile
from typing import Any, Dict, List

RUN_TOKEN = "EDGEBENCH_RUN_TOKEN"
MAX_SAMPLE_BYTES = 64 << 20


class Canned(Exception):
    """The end of a session as the script has it, or that the script has nothing more."""

    def __init__(self, words: str, session_status: str = "error") -> None:
        super(Canned, self).__init__(words)
        self.session_status = session_status


class Samples:
    """What the probes of this worker's session say, in a file named by their agent's token and its process.

    No other user can foretell that name among the temporary files. The file goes with the session;
    `edgebench.probes.replay` reads it.
    """

    def __init__(self, infos: Dict[str, Any]) -> None:
        self._path = ""
        self._left = MAX_SAMPLE_BYTES
        if not infos:
            return
        _remove_left()
        name = "edgebench-replay-{}-{}.samples".format(os.environ.get(RUN_TOKEN, ""), os.getpid())
        path = os.path.join(tempfile.gettempdir(), name)
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
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path)
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


def _remove_left() -> None:
    """Remove what this user's sessions left that were killed; of another user nothing can be removed."""
    for path in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), "edgebench-replay-*-*.samples")):
        pid = path.rpartition("-")[2].partition(".")[0]
        with contextlib.suppress(OSError):  # another session may remove it at the same time
            if os.lstat(path).st_uid == os.getuid() and not os.path.exists("/proc/" + pid):
                os.unlink(path)
