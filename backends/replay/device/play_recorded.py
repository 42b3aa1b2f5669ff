"""A session of a stored result, played again (device side, Python 3.6)."""

from typing import TYPE_CHECKING, Any, Dict, Optional

import numpy as np

from .play_base import Canned, Played, Stamps, Tape
from .play_samples import Samples

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Recorded(Played):
    """A session of a stored result."""

    def __init__(self, tape: Tape, script: Dict[str, Any], number: int, arrays: Dict[str, Any]) -> None:
        sessions = script["sessions"]
        if number >= len(sessions):
            raise Canned("the source has {} sessions of this trial".format(len(sessions)), "load_failed")
        recorded = sessions[number]
        super(Recorded, self).__init__(recorded["fault"])
        self._tape = tape
        self._recorded = recorded
        self._all = arrays["{}.stamps".format(number)]
        self._scene = arrays.get("{}.scene".format(number))
        self._images = arrays.get("images")
        self._golden = np.array(recorded["golden"], np.float32)
        self._at = 0  # batches of the pass in hand that earlier runs have taken
        steady = [
            recorded_pass for recorded_pass in recorded["passes"][1:] if recorded_pass["phase"] == "steady"
        ]
        self._by_number: Dict[int, Dict[str, Any]] = dict(enumerate(steady, 2))
        self._last = steady[-1] if steady else None
        self._over = False  # whether the last pass has been played
        warm = [
            recorded_pass for recorded_pass in recorded["passes"][1:] if recorded_pass["phase"] == "warmup"
        ]
        for place, passes in enumerate((recorded["passes"][:1], warm)):
            if passes:
                self._by_number[place] = passes[0]
        self.memory, self.slots = recorded["memory"], recorded["slots"]
        self.load_ns, self.first_inference_ns = recorded["load_ns"], recorded["first_inference_ns"]
        self.samples = Samples(recorded["infos"])
        for at, (address, channel) in enumerate(recorded["samples"]):
            column = arrays["{}.samples{}".format(number, at)]
            stamps = arrays["{}.stamps{}".format(number, at)].tolist()
            self.samples.add(address, stamps, {channel: column.tolist()})

    def scene(self, patches: int) -> None:
        """The scene is there, and with it the length of a pass."""
        super(Recorded, self).scene(patches)
        first = self._recorded["passes"][:1]
        idle = self._recorded["idle_ns"]
        self._tape.now = idle[0] if idle else first[0]["start_ns"] if first else self._tape.now

    def slept(self, seconds: float) -> None:
        """The idle windows were as long as they were; the pause before a paced pass is in its stamps."""
        idle, idle_after = self._recorded["idle_ns"], self._recorded.get("idle_after_ns")
        if idle and self.passes < 0:
            self._tape.now = idle[1]
        # Until somebody has read when the window began, it is the pause before it that goes by.
        elif idle_after and self._over and not self._tape.ahead:
            self._tape.now = idle_after[1]

    def begin(self, stage: str) -> None:
        """A stage begins, as the worker says it."""
        super(Recorded, self).begin(stage)
        if stage == "measure":
            self._at = 0
            recorded_pass = self._pass()
            if recorded_pass is not None:
                if self.passes == 2 and recorded_pass["due_ns"] is not None:
                    # The first of a schedule: its due time is read first, then whether it is late.
                    self._tape.ahead.extend([recorded_pass["due_ns"], recorded_pass["start_ns"]])
                self._tape.now = recorded_pass["start_ns"]

    def _pass(self) -> Optional[Dict[str, Any]]:
        return self._by_number.get(self.passes)

    def stamps(self, index: int) -> Optional[Stamps]:
        """Of a batch of the run in hand; None where there are no more."""
        if self.stage != "measure":
            return self.instant(index, self._tape.now)
        recorded_pass = self._pass()
        if recorded_pass is None or self._at + index >= recorded_pass["batches"]:
            return None
        row = self._all[recorded_pass["first"] + self._at + index].tolist()
        extra = row[3][1] - row[3][0] if len(row) > 3 else 0
        return row[0][0], row[0][1], row[1][1], row[2][0], row[2][1], extra

    def over(self, batches: int) -> int:
        """When the run in hand ended."""
        if self.stage != "measure":
            return self._tape.now
        recorded_pass = self._pass()
        assert recorded_pass is not None
        self._at += batches
        if self._at < recorded_pass["batches"]:
            return self._tape.now
        end_ns = int(recorded_pass["end_ns"])
        idle_after = self._recorded.get("idle_after_ns")
        self._over = recorded_pass is self._last
        if self._over and idle_after:
            self._tape.ahead.extend([end_ns, idle_after[0]])
        return end_ns

    def scores(self, first: int, seen: "NDArray[np.uint8]") -> "NDArray[np.float32]":
        """Of a batch whose first patch has this number within the stage."""
        known = {"golden": self._golden, "measure": self._scene, "predict": self._images}[self.stage]
        if known is None or (first >= len(known) and self.passes != 1):
            raise Canned("the source has no scores of so many patches ({})".format(self.stage))
        rows = np.minimum(np.arange(first, first + len(seen)), len(known) - 1)
        known_rows: "NDArray[np.float32]" = known[rows]
        return known_rows
