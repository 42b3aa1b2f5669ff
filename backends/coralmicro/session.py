"""A session on a Coral Dev Board Micro: the model by its hash, golden patches, passes, images."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.pixels import table_for
from edgebench.agent.pixels import windows as cut_patches
from edgebench.agent.timed import steady_after
from edgebench.agent.worker import WARMUP_STEP
from edgebench.errors import SessionError
from edgebench.link.board_session import BoardCalls, BoardSession, fitted, size_bytes
from edgebench.link.clock_match import BETWEEN_TRIPS, WrappingClock, as_session_error
from edgebench.link.replies import Span, TooShortForTheClock, require_within
from edgebench.link.schedule import Timeouts
from edgebench.records.model import Artifact, InputSpec
from edgebench.records.session import (
    ColdFigures,
    MeasurePlan,
    Pass,
    Phase,
    ProbeChunk,
    SessionFacts,
    SessionSettings,
    WarmUp,
)
from edgebench.records.values import ImageSet, Json, Scene, Scores
from edgebench.session_stages import SENDING, SessionStage
from edgebench.stats.clock import RoundTrip

from .micro_board import MicroBoard
from .rpc_call import Block, BoardDescription, ModelAnswer

# A board as its session asks it: answers in ns of the board's own clock, waits as long as a patch takes.


FIRST_PATCH_S = 20.0
"""What the first patch is expected to take at most: the Cortex-M7 alone, by kernels that are not fast."""

STAGES = {"pass": ("preprocess", "infer"), "inference": ("infer",)}
"""Of a patch, by what the firmware times."""


@dataclass(frozen=True)
class StampedRun:
    """A pass over resident patches.

    Attributes:
        start_ns, end_ns: before the first patch and after the last score, on the board's clock.
        stamps_ns: int64 [n, stages, 2].
        scores: float32 [n, classes].
        waited_ns: for all of it, on the host's clock.
    """

    start_ns: int
    end_ns: int
    stamps_ns: NDArray[np.int64]
    scores: Scores
    waited_ns: int = 0

    @property
    def patch_ns(self) -> list[int]:
        """What each patch took, from its first stage to its scores."""
        return [int(taken_ns) for taken_ns in self.stamps_ns[:, -1, 1] - self.stamps_ns[:, 0, 0]]


class StampedBoard:
    """MicroFault, from each of its methods, as the board has it; ImpossibleTimes where its clock is none.

    Args:
        board: that is asked.
        timeouts: by which waiting is bounded.

    Attributes:
        calls: to it, with the round trips so far.
        description: what it said of itself last.
        host_patch_s: what a patch took lately with all that a call costs; None before the first.
    """

    def __init__(self, board: MicroBoard, timeouts: Timeouts) -> None:
        self._board = board
        self._timeouts = timeouts
        self._clock = WrappingClock()
        self.calls = BoardCalls(self._round_trip)
        self.description: BoardDescription = board.describe().board
        self.host_patch_s: float | None = None

    def _round_trip(self) -> RoundTrip:
        described = self._board.describe()
        self.description = described.board
        return self._clock.round_trip(*described.stamp)

    @property
    def stages(self) -> tuple[str, ...]:
        """Of a patch, in order."""
        return STAGES[self.description.times]

    def run(self, patches: int) -> StampedRun:
        """A pass over the first patches of the resident scene, at least 1."""
        expected_s = self._expected_s(patches, self._timeouts.measure)
        run = self.calls.ask(lambda: self._board.run(patches, expected_s))
        flat_us = [run.start_us, *run.stamps.ravel().tolist(), run.end_us]
        start_us, *stamps_us, end_us = self._clock.stamps_us(run.sent_ns, flat_us, run.received_ns)
        edges_ns = np.array(stamps_us, np.int64).reshape(patches, -1) * 1000
        stamps_ns = np.stack([edges_ns[:, :-1], edges_ns[:, 1:]], axis=2)
        if not (stamps_ns[:, -1, 1] > stamps_ns[:, -1, 0]).any():
            raise TooShortForTheClock("a pass without any time of inference by its clock")
        self._note(patches, (run.received_ns - run.sent_ns) / 1e9)
        return StampedRun(
            start_us * 1000, end_us * 1000, stamps_ns, run.scores, run.received_ns - run.sent_ns
        )

    def bracketed_run(self, patches: int) -> StampedRun:
        """The same between readings of the board's clock, which it cannot have run outside of."""
        before_ns = self.calls.trips(BETWEEN_TRIPS)
        run = self.run(patches)
        require_within("a pass", run.start_ns, run.end_ns, Span(before_ns, self.calls.trips(1)))
        return run

    def predict(self, images: int, limit_s: float) -> Scores:
        """Scores float32 [images, classes] of the first images beside the scene."""
        expected_s = self._expected_s(images, limit_s)
        began_s = time.monotonic()
        predicted = self.calls.ask(lambda: self._board.predict(images, expected_s))
        self._note(images, time.monotonic() - began_s)
        return predicted.scores

    def _expected_s(self, patches: int, limit_s: float) -> float:
        """On this machine's clock; a call is given three times as long."""
        patch_s = FIRST_PATCH_S if self.host_patch_s is None else self.host_patch_s
        return min(patches * patch_s, limit_s / 3)

    def _note(self, patches: int, taken_s: float) -> None:
        self.host_patch_s = taken_s / patches


# Passes over as many patches of the scene as a board holds: sent once, timed there again and again.


MOST_PATCHES = 100
"""Of a pass: with 64 MB beside a model, an arena and images, firmware has room for about as many."""

_MOST_OVERRUN = 5
"""Times as long as it is asked for, work may go on by this machine's clock: calls take their time, too."""


def patches_held(plan: MeasurePlan, scene_bytes: int, patch_bytes: int) -> int:
    """How many patches of the scene a pass has on a board with such room; 0 where it has none for one."""
    return min(plan.patches or MOST_PATCHES, scene_bytes // patch_bytes, plan.scene.patches)


def first_patches(scene: Scene, count: int) -> list[NDArray[np.uint8]]:
    """Patches uint8 [height, width, 3] of the scene, row by row from its first."""
    pixels = np.load(scene.path, mmap_mode="r")
    return cut_patches(pixels, scene.patch, scene.patch_width, scene.stride)[:count]


class ScenePasses:
    """What is timed on one board in one session.

    Args:
        board: on which the patches lie.
        patches: in a pass.
        plan: of the session.

    Attributes:
        first_inference_s: of the first pass's first patch; None before it.
        warmup: None before it was over.
    """

    def __init__(self, board: StampedBoard, patches: int, plan: MeasurePlan) -> None:
        self.first_inference_s: float | None = None
        self.warmup: WarmUp | None = None
        self._board = board
        self._patches = patches
        self._plan = plan
        self._patch_ns: list[int] = []  # of the first pass and the warm-up, in order

    def take(self, index: int, phase: Phase) -> Pass:
        """One pass over all resident patches."""
        run = self._board.bracketed_run(self._patches)
        if phase == "first":
            self._patch_ns = run.patch_ns
            self.first_inference_s = int(run.stamps_ns[0, -1, 1] - run.stamps_ns[0, -1, 0]) / 1e9
        return self._pass(index, phase, [run])

    def warm_up(self) -> Iterator[Pass]:
        """Patches beyond the first pass until they have become steady, as one pass; none where they had."""
        floor, cap = self._plan.warmup_floor, self._plan.warmup_cap
        runs: list[StampedRun] = []
        steady = steady_after(self._patch_ns, floor, cap)
        while steady is None and len(self._patch_ns) < cap:
            wanted = min(WARMUP_STEP, cap - len(self._patch_ns), self._patches)
            runs.append(self._board.bracketed_run(wanted))
            self._patch_ns += runs[-1].patch_ns
            steady = steady_after(self._patch_ns, floor, cap)
        batches = min(len(self._patch_ns), cap) if steady is None else steady
        self.warmup = WarmUp(batches, steady is not None)
        if runs:
            yield self._pass(1, "warmup", runs)

    def work(self, busy_s: float) -> tuple[int, int]:
        """Keep the board busy for about so long, pass after pass; start and end on its clock, ns."""
        patch_s = max(1e-6, float(np.mean(self._patch_ns)) / 1e9)
        left = max(1, round(busy_s / patch_s))
        runs: list[StampedRun] = []
        # Patches may take far longer than their stamps say.
        over_s = time.monotonic() + _MOST_OVERRUN * busy_s
        while left > 0 and (not runs or time.monotonic() < over_s):
            runs.append(self._board.run(min(left, self._patches)))
            left -= self._patches
        return runs[0].start_ns, runs[-1].end_ns

    def _pass(self, index: int, phase: Phase, runs: list[StampedRun]) -> Pass:
        stamps_ns = np.concatenate([run.stamps_ns for run in runs])
        scores = None if phase == "warmup" else runs[0].scores
        edges_ns = runs[0].start_ns, runs[-1].end_ns
        waited_ns = sum(run.waited_ns for run in runs)
        return Pass(
            index, phase, *edges_ns, self._board.stages, stamps_ns, scores, batch=1, waited_ns=waited_ns
        )


# What each pixel value becomes in a model's input, as the board's preprocessing looks it up (pure).


def pixel_table(spec: InputSpec) -> bytes:
    """256 bytes, or 768 where the channels differ: R, G, then B.

    Args:
        spec: of an input of int8 or uint8, with scale and zero point.
    """
    divisors = spec.divisors or (spec.divisor,)
    offsets = spec.offsets or (spec.offset,)
    return b"".join(
        table_for(spec.dtype, divisor, offset, spec.scale, spec.zero_point).tobytes()
        for divisor, offset in zip(divisors, offsets, strict=True)
    )


# Whether an artifact is one that the board's firmware takes, and has room for (pure).


SCALES_ALIKE = 1e-5
"""As a share: a flatbuffer has its scales as float32."""


def why_not_taken(artifact: Artifact) -> str:
    """What of an artifact no firmware of the board takes, whatever its room; "" where it may run."""
    spec = artifact.input
    faults = {
        "it takes samples, and the firmware pictures": bool(artifact.tensors),
        f"it infers {artifact.batch} patches at a time, and the firmware one": artifact.batch != 1,
        f"its input is {spec.dtype}, and the firmware's int8 or uint8": spec.dtype not in ("int8", "uint8"),
        f"its input is {spec.layout}, and the firmware's NHWC": spec.layout != "NHWC",
        "its input has no scale and zero point": spec.scale is None or spec.zero_point is None,
    }
    return "; ".join(words for words, is_so in faults.items() if is_so)


def lack_of_room(artifact: Artifact, board: BoardDescription) -> str:
    """What does not fit onto a board, with both figures; "" where all of it does."""
    patch_bytes = size_bytes(artifact.input)
    rooms = (
        ("the model has", artifact.size_bytes, "a model", board.model_bytes),
        ("one patch has", patch_bytes, "patches of the scene", board.scene_bytes),
        ("one patch has", patch_bytes, "images", board.images_bytes),
    )
    for what, due_bytes, whose, room_bytes in rooms:
        if due_bytes > room_bytes:
            return (
                f"{what} {due_bytes:,} bytes, and its firmware has room for {room_bytes:,} bytes of {whose}"
            )
    return ""


def require_same(artifact: Artifact, model: ModelAnswer) -> None:
    """SessionError where what the board says of the model that it has built contradicts the artifact."""
    spec, operations = artifact.input, artifact.provenance.get("operations")
    edgetpu = operations.get("edgetpu") if isinstance(operations, dict) else None
    due = (
        ("its hash", model.sha256, artifact.sha256),
        ("the size of its input", model.input_bytes, size_bytes(spec)),
        ("the type of its input", model.input_type, spec.dtype),
        ("the zero point of its input", model.input_zero_point, spec.zero_point),
        ("its number of scores", model.classes, artifact.scores),
        ("its operations on the Edge TPU", model.edgetpu, model.edgetpu if edgetpu is None else edgetpu),
    )
    wrong = [f"{name} is {there} there and {here} here" for name, there, here in due if there != here]
    if spec.scale is not None and not math.isclose(model.input_scale, spec.scale, rel_tol=SCALES_ALIKE):
        wrong.append(f"the scale of its input is {model.input_scale:g} there and {spec.scale:g} here")
    if wrong:
        raise misfit("; ".join(wrong), "make the artifact again with `edgebench models prepare`")


def misfit(why: str, fix: str) -> SessionError:
    """The artifact cannot be measured on this board; nothing was timed."""
    return SessionError(
        "the board cannot run the artifact", status="load_failed", stage="load", why=why, fix=fix
    )


NOT_REPORTED = "not reported"
UNTIMED = {"pass": ("patchify",), "inference": ("patchify", "preprocess")}
"""What no pass holds, by what the firmware times: patches are cut here, and sent once."""

_MEGA = 1_000_000


class CoralMicroSession:
    """Implements `Session`; entered, the board answers and has the model.

    The firmware runs on from one session to the next, and what is loaded stays: a session that finds its
    model there loads nothing.

    Args:
        answering: gives a board that has just answered; MicroFault where none does.
        artifact, settings: what is measured, and how.
        timeouts: by which waiting is bounded.
    """

    def __init__(
        self,
        answering: Callable[[], MicroBoard],
        artifact: Artifact,
        settings: SessionSettings,
        timeouts: Timeouts,
    ) -> None:
        self._answering = answering
        self._artifact = artifact
        self._settings = settings
        self._timeouts = timeouts
        self._load_s: float | None = None
        self._passes: ScenePasses | None = None
        self._warnings: tuple[str, ...] = ()

    # --- the contract ---

    def __enter__(self) -> CoralMicroSession:
        if why := why_not_taken(self._artifact):
            raise misfit(why, "take an int8 model of pictures, at a batch of 1")
        with as_session_error("start"):
            self._micro = self._answering()
            self._board = StampedBoard(self._micro, self._timeouts)
        self._session = BoardSession[Pass](self._board.calls, self._settings)
        self._session.start()
        if why := lack_of_room(self._artifact, self._board.description):
            raise misfit(why, "take a smaller model, or firmware with more room")
        with as_session_error("load"):
            self._load_model()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is held: a call is a connection of its own."""

    def golden(self) -> Scores:
        """Scores float32 [golden, classes]; the first patch tells how long one takes."""
        patches = list(np.load(self._artifact.golden.patches))
        with as_session_error("golden"):
            self._send("images", patches[: self._images_at_once])
            self._board.predict(1, self._timeouts.golden)
            scores = self._scores_of(patches, "load", self._timeouts.golden)
        if self._board.host_patch_s is not None:
            self._settings.patch_took(self._board.host_patch_s)
        return scores

    def measure(self, plan: MeasurePlan) -> Generator[Pass, None, None]:
        """The first pass, the warm-up's patches as one, then the steady passes."""
        description = self._board.description
        patches = patches_held(plan, description.scene_bytes, size_bytes(self._artifact.input))
        if plan.patches is not None and patches < plan.patches:
            self._warnings = (
                f"its passes are of {patches} patches: the board's memory holds no more of the "
                f"{plan.patches} that were asked for",
            )
        with as_session_error("scene"):
            self._send("scene", first_patches(plan.scene, patches))
        self._passes = ScenePasses(self._board, patches, plan)
        yield from self._session.measure(plan, self._passes.take, self._passes.work, self._passes.warm_up)

    def predict(self, images: ImageSet) -> Scores:
        """Scores float32 [n, classes] of the images, as many at a time as the board holds."""
        with as_session_error("predict"):
            pixels = np.load(images.path, mmap_mode="r")
            return self._scores_of(pixels, "images", self._timeouts.predict)

    def probe_chunks(self) -> Iterator[ProbeChunk]:
        """Nothing samples on the board."""
        return iter(())

    def facts(self) -> SessionFacts:
        """What is known by now."""
        facts = self._session.facts()
        return replace(
            facts,
            # A pass over a part of the scene is no first pass over it.
            cold=ColdFigures(
                load_s=self._load_s,
                first_inference_s=self._passes.first_inference_s if self._passes else None,
            ),
            warmup=self._passes.warmup if self._passes else None,
            runtime=runtime_of(self._board.description),
            untimed_stages=UNTIMED[self._board.description.times],
            warnings=(*facts.warnings, *self._warnings),
        )

    # --- what lies on the board ---

    def _load_model(self) -> None:
        """Send what is not there of the model.

        `load_s` is what the call of its last piece takes, in which the board builds its interpreter: what
        came before it is the link's. It is absent of a model that was there.
        """
        last_s = began_s = time.monotonic()

        def progress(held_bytes: int, of_bytes: int) -> None:
            nonlocal last_s, began_s
            began_s, last_s = last_s, time.monotonic()
            self._settings.report(f"{SENDING} the model", held_bytes // _MEGA, of_bytes // _MEGA)

        data, table = self._artifact.path.read_bytes(), pixel_table(self._artifact.input)
        loaded = self._board.calls.ask(lambda: self._micro.load("model", data, table, progress))
        if loaded.sent_bytes:
            self._load_s = last_s - began_s
        self._settings.report("load", 0, 0)
        self._board.calls.trips(1)
        model = self._board.description.model
        if model is None:
            raise misfit("it says that it has no model, once it was loaded", "reset the board, and try again")
        require_same(self._artifact, model)

    def _send(self, block: Block, patches: Sequence[NDArray[np.uint8]]) -> None:
        """Bring patches onto the board, as their pixels, unless they are there."""
        data = b"".join(fitted(self._artifact.input, patch).tobytes() for patch in patches)

        def progress(held_bytes: int, of_bytes: int) -> None:
            if block == "scene":
                self._settings.report(f"{SENDING} the scene", held_bytes // _MEGA, of_bytes // _MEGA)

        self._board.calls.ask(lambda: self._micro.load(block, data, None, progress))

    @property
    def _images_at_once(self) -> int:
        """At least 1: `lack_of_room` has looked."""
        return self._board.description.images_bytes // size_bytes(self._artifact.input)

    def _scores_of(self, patches: Sequence[NDArray[np.uint8]], stage: SessionStage, limit_s: float) -> Scores:
        """Scores float32 [n, classes] of patches, block by block; none is timed."""
        scores = []
        for first in range(0, len(patches), self._images_at_once):
            self._settings.report(stage, first, len(patches))
            block = patches[first : first + self._images_at_once]
            self._send("images", block)
            scores.append(self._board.predict(len(block), limit_s))
            # Fails where another program has put another model or other images there meanwhile.
            self._board.calls.ask(self._micro.describe)
        self._settings.report(stage, len(patches), len(patches))
        return np.concatenate(scores)


def runtime_of(board: BoardDescription) -> dict[str, Json]:
    """What the firmware runs the model by."""
    model = board.model
    facts: dict[str, Json] = {
        "name": board.runtime or NOT_REPORTED,
        # Another firmware carries out what is timed otherwise, with the same kernels too.
        "version": f"{board.runtime_version or NOT_REPORTED}, in {board.firmware} {board.version}",
        "edge_tpu": board.tpu,
        "times": board.times,
        "arena_bytes": board.arena_bytes,
        "temperature_c": board.temperature_c,
    }
    if model is None:
        return facts
    return {**facts, "arena_used_bytes": model.arena_used, "edge_tpu_operations": model.edgetpu}
