"""What a replay has for its probes: `replay` the meter, `replay:telemetry` the monitor, both on its clock.

The worker of the session writes its samples into a temporary file, whose name has their agent's token and the
worker's process: no other user can foretell it. The probe opens it when it starts and gives everything in it
when it is stopped: nothing is sampled, and no time of this machine is in it.
"""

import json
import os
import stat
import tempfile
from typing import IO, Any, Dict, Iterator

from .basics import Chunk, ProbeMissing

PLACE = "board"
RATE_HZ = None  # the source's
WORKER_PID = "EDGEBENCH_WORKER_PID"
RUN_TOKEN = "EDGEBENCH_RUN_TOKEN"
MAX_BYTES = 64 << 20
CHUNK = 4096


class ReplayProbe:
    """Gives the samples of one address; `file` is open and may have lost its name by the end."""

    def __init__(self, address: str, info: Dict[str, Any], file: IO[bytes]) -> None:
        self._file = file
        self.info: Dict[str, Any] = dict(info, kind="replay", address=address)
        # A stop may come before anybody waits for it.
        self._wake, self._waker = os.pipe()

    def start(self) -> None:
        """Nothing to do: what there is to say is known at the end."""

    def stop(self) -> None:
        """Have everything given."""
        os.write(self._waker, b"x")

    def __iter__(self) -> Iterator[Chunk]:
        os.read(self._wake, 1)
        with self._file as file:
            left = MAX_BYTES
            for line in file:
                left -= len(line)
                if left < 0:
                    raise ValueError("the samples of this session take more than {} bytes".format(MAX_BYTES))
                samples = json.loads(line.decode())
                if samples.get("to") != self.info["address"]:
                    continue
                stamps, values = samples["t"], samples["values"]
                for first in range(0, len(stamps), CHUNK):
                    end = first + CHUNK
                    yield stamps[first:end], {name: values[name][first:end] for name in values}


def open_probe(address: str) -> ReplayProbe:
    """The probe of `replay` (the meter) or `replay:telemetry`."""
    token, pid = os.environ.get(RUN_TOKEN, ""), os.environ.get(WORKER_PID, "")
    path = os.path.join(tempfile.gettempdir(), "edgebench-replay-{}-{}.samples".format(token, pid))
    fix = "use it with --device replay, and a source that has such samples"
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        raise ProbeMissing("the session's worker replays no samples", fix) from None
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid():
        os.close(file)
        raise ProbeMissing("{} is not a file of this user".format(path), "remove it")
    opened = os.fdopen(file, "rb")
    infos: Dict[str, Any] = json.loads(opened.readline(1 << 20).decode())["probes"]
    if address not in infos:
        opened.close()
        names = ", ".join("replay:{}".format(known) if known else "replay" for known in sorted(infos))
        raise ProbeMissing("the source has no samples of that probe", "it has {}".format(names or "none"))
    return ReplayProbe(address, infos[address], opened)
