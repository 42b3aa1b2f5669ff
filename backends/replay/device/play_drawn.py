"""A session of a scenario, drawn from its seed (device side, Python 3.6)."""

import math
import random
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Deque, Dict, List, Optional, Tuple

import numpy as np

from .play_samples import Canned, Samples

if TYPE_CHECKING:
    from numpy.typing import NDArray

MARK = (0xED, 0xB0)  # red and green of a stand-in's first pixel; blue is its class
START_NS = 10**12  # a device that has been up for a while

Stamps = Tuple[int, int, int, int]
"""Patchify begins and ends, preprocess ends and infer begins, infer ends, all in ns."""


class Tape:
    """The time of a replay: each reading gives the next stamp that was laid out, or stands still."""

    def __init__(self) -> None:
        self.now = START_NS
        self.ahead: Deque[int] = deque()
        self.slept: Callable[[float], None] = self.advance

    def clock(self) -> int:
        """The next stamp that was laid out, else the time at which it stands."""
        if self.ahead:
            self.now = self.ahead.popleft()
        return self.now

    def advance(self, seconds: float) -> None:
        """Let so much time go by."""
        self.now += math.ceil(seconds * 1e9)


class Drawn:
    """A session of a scenario: every figure is a function of seed, variant, session and pass."""

    def __init__(self, tape: Tape, script: Dict[str, Any], number: int) -> None:
        play = script["play"]
        chosen = [crash for crash in play["crashes"] if crash["session"] in (number, "every")]
        self.fault: Optional[Dict[str, Any]] = chosen[0] if chosen else None
        self.stage = "load"
        self.passes = -1  # 0 for the first pass, 1 for the warm-up, then the steady ones
        self.patches = 0
        self.predicted = 0  # patches of the stage in hand that have scores
        self._inferred = False
        self._reached = 0  # by the batches outside the passes
        self._tape = tape
        self._play = play
        self._script = script
        self._name = "{}/{}/{}".format(script["seed"], script["variant"], number)
        self._classes = int(script["classes"])
        self._batch = int(script["input_shape"][0])
        self.memory: Dict[str, Optional[int]] = play["memory"]
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

    def _draws(self, purpose: str) -> random.Random:
        return random.Random("{}/{}".format(self._name, purpose))

    def _session_factor(self) -> float:
        spread = self._play["sessions"]
        draws = self._draws("session")
        share: float = spread["sd_percent"] / 100
        moved: float = share * _draw(draws, spread["distribution"])
        if spread["distribution"] == "two-modes" and draws.random() < spread["share"]:
            moved += spread["gap_percent"] / 100
        return max(1e-3, 1 + moved)

    def _pass_ns(self) -> int:
        """The steady pass in hand."""
        play, number = self._play, self.passes - 2
        spread = play["passes"]
        if isinstance(self._levels, list):
            if number >= len(self._levels):
                raise Canned("the scenario lists {} passes of this session".format(len(self._levels)))
            return max(1, _ns(self._levels[number]))
        fresh = _draw(self._draws(str(number)), spread["distribution"])
        rho = spread["correlation"] if number else 0.0
        self._noise = rho * self._noise + math.sqrt(1 - rho * rho) * fresh
        factor = max(1e-3, 1 + spread["sd_percent"] / 100 * self._noise)
        factor *= max(1e-3, 1 + spread["drift_percent_per_pass"] / 100 * number)
        every = play["outliers"]["every"]
        if every and number % every == every - 1:
            factor *= play["outliers"]["factor"]
        elapsed_s = (self._tape.now - (self._steady_ns or self._tape.now)) / 1e9
        factor *= 1 + self._heat(elapsed_s) / 100
        return max(1, _ns(self._base_s() * self._factor * factor))

    def _heat(self, elapsed_s: float) -> float:
        heat = self._play["heat"]
        risen: float = heat["percent_per_s"] * max(0.0, elapsed_s - heat["from_s"])
        return min(risen, float(heat["most_percent"]))

    def _base_s(self) -> float:
        if isinstance(self._levels, list):
            return float(self._levels[0])
        if self._levels is None:
            return float(sum(self._play["patch_ms"].values())) * self.patches / 1e3
        return float(self._levels)

    def scene(self, patches: int) -> None:
        """The scene is there, and with it the length of a pass."""
        self.stage, self.patches = "scene", patches
        self._batches = -(-patches // self._batch)
        self._origin = self._tape.now
        self._sample(self._tape.now)

    def slept(self, seconds: float) -> None:
        """An idle device draws idle power."""
        self._tape.advance(seconds)
        self._sample(self._tape.now, active=False)

    def due(self) -> bool:
        """Whether this is where the script ends the session."""
        fault = self.fault
        if fault is None or fault["stage"] != self.stage:
            return False
        return self.stage != "measure" or self.passes == fault["pass"]

    def begin(self, stage: str) -> None:
        """A stage begins, as the worker says it."""
        self.stage, self.predicted = stage, 0
        if stage == "measure":
            self.passes += 1
        if self.passes == 2 and self._steady_ns is None:
            self._steady_ns = self._tape.now

    def stamps(self, index: int) -> Stamps:
        """The time of a batch of the current run."""
        if self.stage != "measure":
            return self._instant(index)
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
        return start, cut, ready, start + length

    def _instant(self, index: int) -> Stamps:
        """A batch outside the passes takes no time, but for the session's first inference."""
        first = self.first_inference_ns if index == 0 and not self._inferred else 0
        self._inferred = True
        start = max(self._tape.now, self._reached)
        self._reached = start + first
        return start, start, start, self._reached

    def window(self, inferences: int, infer_share: float) -> "Tuple[int, int]":
        """Start and end of this many inferences of one patch, at the pace of the pass in hand."""
        start = self._tape.now
        scene_ns = self._pass_ns() if self.passes >= 2 else _ns(self._base_s() * self._factor)
        self._tape.now += max(1, round(scene_ns * infer_share * inferences / self.patches))
        return start, self._tape.now

    def _warm_factor(self, batch: int) -> float:
        warmup = self._play["warmup"]
        excess = warmup["excess_percent"] / 100
        if warmup["never_steady"]:
            # A saw-tooth whose period is no multiple of the test's halves: they never look alike.
            return float(1 + excess * (batch % 30) / 30.0)
        return (
            float(1 + excess * max(0.0, 1 - batch / float(warmup["batches"]))) if warmup["batches"] else 1.0
        )

    def over(self, batches: int) -> int:
        """When the run in hand ended."""
        if self.stage != "measure":
            return self._tape.now
        if self.passes < 2:
            self._warm += batches
        end = self._ends[batches - 1]
        self._sample(end, active=True)
        return end

    def scores(self, first: int, seen: "NDArray[np.uint8]") -> "NDArray[np.float32]":
        """The time of a batch whose first patch has this number within the stage."""
        return np.array([self._row(first + at, patch) for at, patch in enumerate(seen)], np.float32)

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
            values: Dict[str, List[float]] = {channel["name"]: [] for channel in info["channels"]}
            while True:
                stamp = self._origin + int(self._sampled[address] * period_ns)
                if stamp > until_ns:
                    break
                readings = self._power(active) if address == "" else self._telemetry(stamp)
                for name in values:
                    values[name].append(readings[name])
                stamps.append(stamp)
                self._sampled[address] += 1
            self.samples.add(address, stamps, values)

    def _power(self, active: bool) -> Dict[str, float]:
        power = self._play["power"]
        noise = power["noise_w"] * _normal(self._watts)
        return {power["rail"]: max(0.0, power["active_w" if active else "idle_w"] + noise)}

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
