"""The replay runner: canned passes, on a clock that only they move (device side, Python 3.6).

An artifact is a zip with `script.json`. The session that is played is the one that EDGEBENCH_SESSION_NUMBER
names.
"""

import json
import os
import signal
import sys
import time
import zipfile
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple

import numpy as np

from .play_drawn import Drawn, Tape
from .play_samples import Canned

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Model:
    """A loaded script."""

    def __init__(self, script: Dict[str, Any], session: Drawn) -> None:
        self._script = script
        self._session = session
        self.input_shape = tuple(int(side) for side in script["input_shape"])
        self.input_dtype = "uint8"
        self._buffers = [np.zeros(self.input_shape, np.uint8)]

    def describe(self) -> Dict[str, Any]:
        """Source of what is played, with the warning that it is no measurement."""
        words = "replay: no figure was measured ({} was played)".format(self._script["source"])
        return {
            "name": "replay",
            "version": "1",
            "source": self._script["source"],
            "source_sha256": self._script["source_sha256"],
            "warnings": [words],
        }

    def buffers(self) -> "List[NDArray[Any]]":
        """One input a slot, uint8, pixels as they are."""
        return self._buffers

    def begin(self, stage: str) -> None:
        """A stage begins, or ends the session where the script says so."""
        self._session.begin(stage)
        end_where_due(self._session)

    def scene(self, patches: int) -> None:
        """The scene is there."""
        self._session.scene(patches)
        end_where_due(self._session)

    def infer(self, slot: Any) -> "NDArray[Any]":
        """The scores of a batch on its own."""
        session = self._session
        scores: "NDArray[Any]" = session.scores(session.predicted, self._buffers[slot.number])
        session.predicted += len(scores)
        return scores

    def infer_many(self, slots: "Iterator[Tuple[int, Any]]", done: "Callable[..., None]") -> None:
        """Every batch at the moments that the script has for it."""
        session, ahead = self._session, TAPE.ahead
        base = session.predicted
        count = 0
        while True:
            start, cut, ready, end = session.stamps(count)
            ahead.extend([start, cut, ready, ready])  # which are read where a batch is taken
            taken = next(slots, None)
            if taken is None:
                break
            ahead.append(end)
            seen = self._buffers[taken[1].number]
            done(count, session.scores(base + count * len(seen), seen))
            count += 1
        ahead.clear()
        session.predicted = base + count * self.input_shape[0]
        TAPE.now = session.over(count)

    def close(self) -> None:
        """Remove the session's files."""
        self._session.stage = "stop"
        end_where_due(self._session)
        self._session.samples.close()


def end_where_due(session: Drawn) -> None:
    """End the session where the script says so; a process that dies leaves no file behind."""
    if session.fault is None or not session.due():
        return
    kind = session.fault["kind"]
    if kind not in ("golden_mismatch", "hang"):
        session.samples.close()
    sys.stderr.write("replay: {} was to come here\n".format(kind))
    sys.stderr.flush()
    if kind in _FAULTS:
        _FAULTS[kind]()
    if kind == "raise":
        raise Canned(
            "replayed: the script was to fail", "load_failed" if session.fault["stage"] == "load" else "error"
        )


def _hang() -> None:
    while True:
        time.sleep(3600)


def _out_of_memory() -> None:
    raise MemoryError("the script was to run out of memory")


_FAULTS: Dict[str, Callable[[], None]] = {
    "abort": os.abort,
    "exit": lambda: os._exit(7),
    "hang": _hang,
    "segfault": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "out_of_memory": _out_of_memory,
}


TAPE = Tape()
MEMORY: Dict[str, Optional[int]] = {}


def clock() -> int:
    """The time of the replay in ns."""
    return TAPE.clock()


def sleep(seconds: float) -> None:
    """Let the time of the replay go on, without waiting."""
    TAPE.slept(seconds)


def current_bytes() -> Optional[int]:
    """The resident memory after loading, as the script has it."""
    return MEMORY.get("after_load_bytes")


def peak_bytes() -> Optional[int]:
    """The most of it."""
    return MEMORY.get("peak_bytes")


def load(path: str, options: Dict[str, Any]) -> Model:
    """Read the script and turn to this process's session."""
    with zipfile.ZipFile(path) as archive:
        script = json.loads(archive.read("script.json").decode())
    session = Drawn(TAPE, script, int(os.environ.get("EDGEBENCH_SESSION_NUMBER") or 0))
    TAPE.slept = session.slept
    TAPE.now += session.load_ns
    MEMORY.update(session.memory)
    end_where_due(session)
    return Model(script, session)
