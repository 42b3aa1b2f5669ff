"""The replay runner: canned passes, on a clock that only they move (device side, Python 3.6).

An artifact is a zip with `script.json` and, of a recorded result, arrays of stamps, scores and samples. The
session that is played is the one that EDGEBENCH_SESSION_NUMBER names.
"""

import heapq
import json
import os
import signal
import sys
import time
import zipfile
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Tuple

import numpy as np

from .play_base import Canned, Tape
from .play_drawn import Drawn
from .play_recorded import Recorded
from .play_samples import Samples

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Model:
    """A loaded script, with as many input slots as its batches overlapped."""

    def __init__(self, script: Dict[str, Any], session: Any) -> None:
        self._script = script
        self._session = session
        self.input_shape = tuple(int(side) for side in script["input_shape"])
        self.input_dtype = "uint8"
        self._buffers = [np.zeros(self.input_shape, np.uint8) for _ in range(session.slots)]
        if script.get("extra_stage"):
            self.extra_stage = str(script["extra_stage"])

    def describe(self) -> Dict[str, Any]:
        """What is played, and that it is no measurement."""
        words = "replayed from {}: no figure was measured here".format(self._script["source"])
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
        self._end_where_due()

    def scene(self, patches: int) -> None:
        """The scene is there."""
        self._session.scene(patches)
        self._end_where_due()

    def infer(self, slot: Any) -> "NDArray[Any]":
        """The scores of a batch on its own."""
        session = self._session
        scores: "NDArray[Any]" = session.scores(session.predicted, self._buffers[slot.number])
        session.predicted += len(scores)
        return scores

    def infer_many(self, slots: "Iterator[Tuple[int, Any]]", done: "Callable[..., None]") -> None:
        """Every batch at the moments that the script has for it, overlapping where they overlapped."""
        session, ahead = self._session, TAPE.ahead
        base = session.predicted
        waiting: List[Tuple[int, int, int, Any]] = []
        count = 0

        def finish() -> None:
            end, index, extra, slot = heapq.heappop(waiting)
            ahead.append(end)
            seen = self._buffers[slot.number]
            done(index, session.scores(base + index * len(seen), seen), extra)

        while True:
            stamps = session.stamps(count)
            while waiting and (stamps is None or waiting[0][0] <= stamps[0]):
                finish()
            if stamps is not None:
                ahead.extend(stamps[:4])
            taken = next(slots, None)
            if taken is None:
                break
            if stamps is None:
                raise Canned("the source has no more than {} batches here".format(count))
            heapq.heappush(waiting, (stamps[4], count, stamps[5], taken[1]))
            count += 1
        ahead.clear()
        while waiting:
            finish()
        session.predicted = base + count * self.input_shape[0]
        TAPE.now = session.over(count)

    def close(self) -> None:
        """Remove what lies beside the session."""
        self._session.stage = "stop"
        self._end_where_due()
        self._session.samples.close()

    def _end_where_due(self) -> None:
        if self._session.due():
            end_as(self._session.fault, self._session.samples)


def end_as(fault: Dict[str, Any], samples: Optional[Samples]) -> None:
    """End the session as the script says; a process that dies leaves no file behind."""
    kind = fault["kind"]
    if samples is not None and kind not in ("golden_mismatch", "hang"):
        samples.close()
    sys.stderr.write("replay: {} was to come here\n".format(fault.get("words") or kind))
    sys.stderr.flush()
    if kind == "abort":
        os.abort()
    elif kind == "exit":
        os._exit(7)
    elif kind == "hang":
        while True:
            time.sleep(3600)
    elif kind == "signal" or kind == "segfault":
        os.kill(os.getpid(), signal.Signals[fault.get("signal") or "SIGSEGV"])
    elif kind == "out_of_memory":
        raise MemoryError("the script was to run out of memory")
    elif kind == "raise":
        words = "replayed: {}".format(fault.get("words") or "the script was to fail")
        status = "load_failed" if fault["stage"] == "load" else "error"
        raise Canned(words, str(fault.get("status") or status))


TAPE = Tape()
MEMORY: Dict[str, Optional[int]] = {}


def clock() -> int:
    """The time of the replay in ns."""
    return TAPE.clock()


def sleep(seconds: float) -> None:
    """Let the time of the replay go on; nobody waits."""
    TAPE.slept(seconds)


def current_bytes() -> Optional[int]:
    """The resident memory that the script tells of, after loading."""
    return MEMORY.get("after_load_bytes")


def peak_bytes() -> Optional[int]:
    """The most of it."""
    return MEMORY.get("peak_bytes")


def load(path: str, options: Dict[str, Any]) -> Model:
    """Read the script and turn to this process's session."""
    number = int(os.environ.get("EDGEBENCH_SESSION_NUMBER") or 0)
    arrays: Dict[str, Any] = {}
    with zipfile.ZipFile(path) as archive:
        script = json.loads(archive.read("script.json").decode())
        own = "{}.".format(number)
        for name in archive.namelist():
            if name.startswith(own) or name == "images.npy":
                with archive.open(name) as file:
                    arrays[name[: -len(".npy")]] = np.lib.format.read_array(file, allow_pickle=False)
    session: Any
    if script["kind"] == "results":
        session = Recorded(TAPE, script, number, arrays)
    else:
        session = Drawn(TAPE, script, number)
    TAPE.slept = session.slept
    TAPE.now += session.load_ns
    MEMORY.update(session.memory)
    if session.due():
        end_as(session.fault, session.samples)
    return Model(script, session)
