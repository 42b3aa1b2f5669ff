"""The replay runner: canned passes, on a clock that only they move (device side, Python 3.6).

An artifact is a zip with `script.json` and, of a recorded result, arrays of stamps, scores and samples. The
session that is played is the one that EDGEBENCH_SESSION names.
"""

import heapq
import json
import math
import os
import random
import signal
import stat
import sys
import tempfile
import time
import zipfile
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

START_NS = 10**12  # of a drawn session: a device that has been up for a while
MARK = (0xED, 0xB0)  # red and green of a stand-in's first pixel; blue is its class
MAX_SAMPLE_BYTES = 64 << 20

Stamps = Tuple[int, int, int, int, int, int]
"""Patchify begins and ends, preprocess ends, infer begins and ends, all in ns; time on the device itself."""


class Canned(Exception):
    """What the script says of the end of a session, or that it has nothing more to say."""

    def __init__(self, words: str, session_status: str = "error") -> None:
        super(Canned, self).__init__(words)
        self.session_status = session_status


class _Tape:
    """The time of a replay: each reading gives the next stamp that was laid out, or stands still."""

    def __init__(self) -> None:
        self.now = START_NS
        self.ahead: Deque[int] = deque()
        self.slept: Callable[[float], None] = self.advance

    def clock(self) -> int:
        if self.ahead:
            self.now = self.ahead.popleft()
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += math.ceil(seconds * 1e9)


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


class _Session:
    """What recorded and drawn sessions share: the stage, the count of passes, and how it ends."""

    def __init__(self, fault: Optional[Dict[str, Any]]) -> None:
        self.fault = fault
        self.memory: Dict[str, Optional[int]] = {}
        self.load_ns = 0
        self.first_inference_ns = 0
        self.slots = 1
        self.stage = "load"
        self.passes = -1  # 0 for the first pass, 1 for the warm-up, then the steady ones
        self.inferred = False
        self.reached = 0  # by the batches outside the passes
        self.patches = 0
        self.predicted = 0  # patches of the stage in hand that have scores

    def due(self) -> bool:
        """Whether this is where the script ends the session."""
        fault = self.fault
        if fault is None or fault["stage"] != self.stage:
            return False
        return self.stage != "measure" or self.passes == fault["pass"]

    def begin(self, stage: str) -> None:
        """As the worker says it."""
        self.stage, self.predicted = stage, 0
        if stage == "measure":
            self.passes += 1

    def scene(self, patches: int) -> None:
        """The scene is there."""
        self.stage, self.patches = "scene", patches

    def stamps(self, index: int) -> Optional[Stamps]:
        """Of a batch of the run in hand; None where the script has no more."""
        raise NotImplementedError

    def over(self, batches: int) -> int:
        """The run in hand had so many batches: when it ended."""
        raise NotImplementedError

    def scores(self, first: int, seen: "NDArray[np.uint8]") -> "NDArray[np.float32]":
        """Of a batch whose first patch has this number within the stage."""
        raise NotImplementedError

    def instant(self, index: int, now: int) -> Stamps:
        """A batch outside the passes takes no time, but for the session's first inference."""
        first = self.first_inference_ns if index == 0 and not self.inferred else 0
        self.inferred = True
        start = max(now, self.reached)
        self.reached = start + first
        return start, start, start, start, self.reached, 0


class _Recorded(_Session):
    """A session of a stored result."""

    def __init__(self, tape: _Tape, script: Dict[str, Any], number: int, arrays: Dict[str, Any]) -> None:
        sessions = script["sessions"]
        if number >= len(sessions):
            raise Canned("the source has {} sessions of this trial".format(len(sessions)), "load_failed")
        told = sessions[number]
        super(_Recorded, self).__init__(told["fault"])
        self._tape = tape
        self._told = told
        self._all = arrays["{}.stamps".format(number)]
        self._scene = arrays.get("{}.scene".format(number))
        self._images = arrays.get("images")
        self._golden = np.array(told["golden"], np.float32)
        self._at = 0  # batches of the pass in hand that earlier runs have taken
        steady = [one for one in told["passes"][1:] if one["phase"] == "steady"]
        self._by_number: Dict[int, Dict[str, Any]] = dict(enumerate(steady, 2))
        warm = [one for one in told["passes"][1:] if one["phase"] == "warmup"]
        for place, found in enumerate((told["passes"][:1], warm)):
            if found:
                self._by_number[place] = found[0]
        self.memory, self.slots = told["memory"], told["slots"]
        self.load_ns, self.first_inference_ns = told["load_ns"], told["first_inference_ns"]
        self.samples = Samples(told["infos"])
        for at, (address, channel) in enumerate(told["samples"]):
            column = arrays["{}.samples{}".format(number, at)]
            stamps = arrays["{}.stamps{}".format(number, at)].tolist()
            self.samples.add(address, stamps, {channel: column.tolist()})

    def scene(self, patches: int) -> None:
        super(_Recorded, self).scene(patches)
        first = self._told["passes"][:1]
        idle = self._told["idle_ns"]
        self._tape.now = idle[0] if idle else first[0]["start_ns"] if first else self._tape.now

    def slept(self, seconds: float) -> None:
        """The idle window was as long as it was; the pause before a paced pass is in its stamps."""
        idle = self._told["idle_ns"]
        if idle and self.passes < 0:
            self._tape.now = idle[1]

    def begin(self, stage: str) -> None:
        super(_Recorded, self).begin(stage)
        if stage == "measure":
            self._at = 0
            told = self._pass()
            if told is not None:
                if self.passes == 2 and told["due_ns"] is not None:
                    # The first of a schedule: its due time is read first, then whether it is late.
                    self._tape.ahead.extend([told["due_ns"], told["start_ns"]])
                self._tape.now = told["start_ns"]

    def _pass(self) -> Optional[Dict[str, Any]]:
        return self._by_number.get(self.passes)

    def stamps(self, index: int) -> Optional[Stamps]:
        if self.stage != "measure":
            return self.instant(index, self._tape.now)
        told = self._pass()
        if told is None or self._at + index >= told["batches"]:
            return None
        row = self._all[told["first"] + self._at + index].tolist()
        extra = row[3][1] - row[3][0] if len(row) > 3 else 0
        return row[0][0], row[0][1], row[1][1], row[2][0], row[2][1], extra

    def over(self, batches: int) -> int:
        if self.stage != "measure":
            return self._tape.now
        told = self._pass()
        assert told is not None
        self._at += batches
        done = self._at >= told["batches"]
        return int(told["end_ns"]) if done else self._tape.now

    def scores(self, first: int, seen: "NDArray[np.uint8]") -> "NDArray[np.float32]":
        known = {"golden": self._golden, "measure": self._scene, "predict": self._images}[self.stage]
        if known is None or (first >= len(known) and self.passes != 1):
            raise Canned("the source has no scores of so many patches ({})".format(self.stage))
        rows = np.minimum(np.arange(first, first + len(seen)), len(known) - 1)
        found: "NDArray[np.float32]" = known[rows]
        return found


class _Drawn(_Session):
    """A session of a scenario: every figure is a function of seed, variant, session and pass."""

    def __init__(self, tape: _Tape, script: Dict[str, Any], number: int) -> None:
        play = script["play"]
        chosen = [one for one in play["crashes"] if one["session"] in (number, "every")]
        super(_Drawn, self).__init__(chosen[0] if chosen else None)
        self._tape = tape
        self._play = play
        self._script = script
        self._name = "{}/{}/{}".format(script["seed"], script["variant"], number)
        self._classes = int(script["classes"])
        self._batch = int(script["input_shape"][0])
        self.memory = play["memory"]
        self.load_ns = _ns(play["cold"]["load_s"])
        self.first_inference_ns = _ns(play["cold"]["first_inference_s"])
        self._levels = play["image_s"]  # a number of seconds, or the passes of this session
        if isinstance(self._levels, list):
            if number >= len(self._levels):
                words = "the scenario lists {} sessions of this variant".format(len(self._levels))
                raise Canned(words, "load_failed")
            self._levels = self._levels[number]
        self._factor = self._session_factor()
        self._noise = 0.0
        self._warm = 0  # batches since the session began
        self._length = 0  # of the pass in hand, ns
        self._ends: List[int] = []  # of its batches
        self._batches = 1
        self._steady_ns: Optional[int] = None
        self._phase = random.Random(self._name.rpartition("/")[0]).random()
        self.samples = Samples(script["infos"])
        self._sampled = {"": 0, "telemetry": 0}
        self._watts = self._draws("power")
        self._origin = tape.now

    def _draws(self, what: str) -> random.Random:
        return random.Random("{}/{}".format(self._name, what))

    def _session_factor(self) -> float:
        told = self._play["sessions"]
        draws = self._draws("session")
        share: float = told["sd_percent"] / 100
        moved: float = share * _draw(draws, told["distribution"])
        if told["distribution"] == "two-modes" and draws.random() < told["share"]:
            moved += told["gap_percent"] / 100
        return max(1e-3, 1 + moved)

    def _pass_ns(self) -> int:
        """The steady pass in hand."""
        play, number = self._play, self.passes - 2
        told = play["passes"]
        if isinstance(self._levels, list):
            if number >= len(self._levels):
                raise Canned("the scenario lists {} passes of this session".format(len(self._levels)))
            return max(1, _ns(self._levels[number]))
        fresh = _draw(self._draws(str(number)), told["distribution"])
        rho = told["correlation"] if number else 0.0
        self._noise = rho * self._noise + math.sqrt(1 - rho * rho) * fresh
        factor = max(1e-3, 1 + told["sd_percent"] / 100 * self._noise)
        factor *= max(1e-3, 1 + told["drift_percent_per_pass"] / 100 * number)
        every = play["outliers"]["every"]
        if every and number % every == every - 1:
            factor *= play["outliers"]["factor"]
        elapsed_s = (self._tape.now - (self._steady_ns or self._tape.now)) / 1e9
        factor *= 1 + self._heat(elapsed_s) / 100
        return max(1, _ns(self._base_s() * self._factor * factor))

    def _heat(self, elapsed_s: float) -> float:
        told = self._play["heat"]
        risen: float = told["percent_per_s"] * max(0.0, elapsed_s - told["from_s"])
        return min(risen, float(told["most_percent"]))

    def _base_s(self) -> float:
        if isinstance(self._levels, list):
            return float(self._levels[0])
        if self._levels is None:
            return float(sum(self._play["patch_ms"].values())) * self.patches / 1e3
        return float(self._levels)

    def scene(self, patches: int) -> None:
        super(_Drawn, self).scene(patches)
        self._batches = -(-patches // self._batch)
        self._origin = self._tape.now
        self._sample(self._tape.now)

    def slept(self, seconds: float) -> None:
        """An idle device draws idle power."""
        self._tape.advance(seconds)
        self._sample(self._tape.now, active=False)

    def begin(self, stage: str) -> None:
        super(_Drawn, self).begin(stage)
        if self.passes == 2 and self._steady_ns is None:
            self._steady_ns = self._tape.now

    def stamps(self, index: int) -> Optional[Stamps]:
        if self.stage != "measure":
            return self.instant(index, self._tape.now)
        if index == 0:
            # Not when the pass was announced: a paced one begins when it is due.
            self._ends = []
            steady = self.passes >= 2
            self._length = self._pass_ns() if steady else _ns(self._base_s() * self._factor)
        start = self._ends[index - 1] if index else self._tape.now
        length = max(1, self._length // self._batches)
        if self.passes < 2:
            # Whole and equal: the test of the warm-up would see a last nanosecond more or less.
            length = int(length * self._warm_factor(self._warm + index))
        elif index == self._batches - 1:
            length = max(1, self._length - index * length)
        self._ends[index:] = [start + length]
        cut, ready = (start + int(length * share) for share in self._script["edges"])
        return start, cut, ready, ready, start + length, 0

    def _warm_factor(self, batch: int) -> float:
        told = self._play["warmup"]
        excess = told["excess_percent"] / 100
        if told["never_steady"]:
            # A saw-tooth whose period is no multiple of the test's halves: they never look alike.
            return float(1 + excess * (batch % 30) / 30.0)
        return float(1 + excess * max(0.0, 1 - batch / float(told["batches"]))) if told["batches"] else 1.0

    def over(self, batches: int) -> int:
        if self.stage != "measure":
            return self._tape.now
        if self.passes < 2:
            self._warm += batches
        end = self._ends[batches - 1]
        self._sample(end, active=True)
        return end

    def scores(self, first: int, seen: "NDArray[np.uint8]") -> "NDArray[np.float32]":
        return np.array([self._row(first + at, one) for at, one in enumerate(seen)], np.float32)

    def _row(self, index: int, patch: "NDArray[np.uint8]") -> List[float]:
        classes = self._classes
        red, green, blue = (int(value) for value in patch[0, 0])
        label = blue % classes if (red, green) == MARK else index % classes
        share = self._play["accuracy"]
        if self.stage == "golden":
            wrong = self.due() and (self.fault or {})["kind"] == "golden_mismatch"
        else:
            # As many are right as the share says, spread over the whole set; which ones differ by variant.
            before, after = (math.floor(n * share + self._phase) for n in (index, index + 1))
            wrong = before == after
        if wrong and classes > 1:
            label = (label + 1 + index % (classes - 1)) % classes
        rest = 0.2 / (classes - 1) if classes > 1 else 0.0
        return [1.0 - 0.2 * (classes > 1) if at == label else rest for at in range(classes)]

    # --- what probes see ---

    def _sample(self, until_ns: int, active: bool = False) -> None:
        """Samples at their rates, from the last one on up to a moment."""
        for address, info in self._script["infos"].items():
            period_ns = 1e9 / info["rate_hz"]
            stamps: List[int] = []
            values: Dict[str, List[float]] = {one["name"]: [] for one in info["channels"]}
            while True:
                stamp = self._origin + int(self._sampled[address] * period_ns)
                if stamp > until_ns:
                    break
                told = self._power(active) if address == "" else self._telemetry(stamp)
                for name in values:
                    values[name].append(told[name])
                stamps.append(stamp)
                self._sampled[address] += 1
            self.samples.add(address, stamps, values)

    def _power(self, active: bool) -> Dict[str, float]:
        told = self._play["power"]
        noise = told["noise_w"] * _normal(self._watts)
        return {told["rail"]: max(0.0, told["active_w" if active else "idle_w"] + noise)}

    def _telemetry(self, stamp: int) -> Dict[str, float]:
        play = self._play
        heat, others = play["heat"], play["interference"]
        steady_s = (stamp - self._steady_ns) / 1e9 if self._steady_ns is not None else -1.0
        hot = steady_s >= heat["from_s"]
        up_s = (stamp - self._origin) / 1e9
        waiting, stolen = others["waiting_percent"] / 100, others["steal_percent"] / 100
        busy = 1 - waiting + others["others_cores"]
        mhz = play["telemetry"]["cpu_clock_mhz"] or 0.0
        clock = mhz * (1 - heat["clock_drop_percent"] / 100) if hot else mhz
        return {
            "cpu_clock_max": clock,
            "cpu_clock_min": clock,
            "throttle_flags": float(heat["throttle_flags"] if hot else 0),
            "temperature.0-cpu": play["telemetry"]["temperature_c"] or 0.0,
            "involuntary_switches": float(int(others["involuntary_per_s"] * up_s)),
            "voluntary_switches": float(int(up_s)),
            "worker_running": float(int(up_s * 1e9 * (1 - waiting))),
            "worker_waiting": float(int(up_s * 1e9 * waiting)),
            "cores_busy": float(int(up_s * 1e9 * busy)),
            "cores_stolen": float(int(up_s * 1e9 * busy * stolen / (1 - stolen))),
        }


def _ns(seconds: Optional[float]) -> int:
    return round((seconds or 0.0) * 1e9)


def _draw(draws: random.Random, distribution: str) -> float:
    """A number of mean 0 and deviation 1, from nothing but `random()`: the same on every Python."""
    if distribution == "exponential":
        return -math.log(1 - draws.random()) - 1
    normal = _normal(draws)
    if distribution != "t3":
        return normal
    chi = sum(_normal(draws) ** 2 for _ in range(3))
    return normal / math.sqrt(chi / 3) / math.sqrt(3)  # Student's t at 3 degrees of freedom has variance 3


def _normal(draws: random.Random) -> float:
    return math.sqrt(-2 * math.log(1 - draws.random())) * math.cos(2 * math.pi * draws.random())


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


TAPE = _Tape()
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
    number = int(os.environ.get("EDGEBENCH_SESSION") or 0)
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
        session = _Recorded(TAPE, script, number, arrays)
    else:
        session = _Drawn(TAPE, script, number)
    TAPE.slept = session.slept
    TAPE.now += session.load_ns
    MEMORY.update(session.memory)
    if session.due():
        end_as(session.fault, session.samples)
    return Model(script, session)
