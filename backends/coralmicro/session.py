"""A session on a Coral Dev Board Micro: the model by its hash, golden patches, passes, images."""

from __future__ import annotations

import math
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.pixels import table_for
from edgebench.agent.pixels import windows as cut_patches
from edgebench.agent.timed import steady_after
from edgebench.agent.worker import WARMUP_STEP
from edgebench.errors import SessionError
from edgebench.link.clock_match import BETWEEN_TRIPS, as_session_error
from edgebench.link.replies import Span, require_within
from edgebench.link.session_loop import Timeouts
from edgebench.link.window_session import BoardSession, fitted, size_bytes
from edgebench.records.model import Artifact, InputSpec
from edgebench.records.session import (
    ColdFigures,
    MeasurePlan,
    Pass,
    Phase,
    SessionFacts,
    SessionSettings,
    WarmUp,
)
from edgebench.records.values import ImageSet, Json, Scores
from edgebench.session_stages import SENDING, SessionStage

from .micro_board import Block, BoardDescription, MicroBoard, ModelAnswer

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
        "it takes grey pictures, and the firmware RGB": spec.channels != 3,
        f"its input is {spec.layout}, and the firmware's NHWC": spec.layout != "NHWC",
        "it carries a state, which the firmware does not reset": artifact.state != "none",
        "its input has no scale and zero point": spec.scale is None or spec.zero_point is None,
    }
    return "; ".join(words for words, is_so in faults.items() if is_so)


def lack_of_room(artifact: Artifact, board: BoardDescription) -> str:
    """What does not fit onto a board, with both figures; "" where all of it does."""
    patch_bytes = size_bytes(artifact)
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
        ("the size of its input", model.input_bytes, size_bytes(artifact)),
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

MOST_PATCHES = 100
"""Patches of a pass: with 64 MB next to a model, an arena and images, firmware has room for about as many."""

FIRST_PATCH_S = 20.0
"""What the first patch is expected to take at most: the Cortex-M7 alone, by kernels that are not fast."""

_MOST_OVERRUN = 5
"""Times as long as it is asked for, work may go on by this machine's clock: calls take their time, too."""
_MEGA = 1_000_000


class CoralMicroSession(BoardSession[Pass]):
    """Implements `Session`; started, the board has the model.

    A pass is of as many patches of the scene as the board holds: they are sent once, and timed there again
    and again. The firmware runs on from one session to the next, and what is loaded stays: a session that
    finds its model there loads nothing.

    Args:
        board: that has just answered.
        artifact, settings: what is measured, and how.
        timeouts: by which waiting is bounded.
    """

    def __init__(
        self, board: MicroBoard, artifact: Artifact, settings: SessionSettings, timeouts: Timeouts
    ) -> None:
        super().__init__(board.round_trip, settings)
        self._board = board
        self._artifact = artifact
        self._timeouts = timeouts
        self._patch_bytes = size_bytes(artifact)
        self._host_patch_s: float | None = None  # what a patch took lately, with all that a call costs
        self._load_s: float | None = None
        self._plan: MeasurePlan | None = None
        self._patches = 0  # of a pass
        self._patch_ns: list[int] = []  # of the first pass and the warm-up, in order
        self._first_inference_s: float | None = None
        self._warmup: WarmUp | None = None
        self._warnings: tuple[str, ...] = ()

    # --- the contract ---

    def start(self) -> None:
        """The clock's first edge, then the model; SessionError for what the board has no room for."""
        super().start()
        if why := lack_of_room(self._artifact, self._board.description):
            raise misfit(why, "take a smaller model, or firmware with more room")
        with as_session_error("load"):
            self._load_model()

    def golden(self) -> Scores:
        """Scores float32 [golden, classes]; the first patch tells how long one takes."""
        patches = list(np.load(self._artifact.golden.patches))
        with as_session_error("golden"):
            self._send("images", patches[: self._images_at_once])
            self._predict(1, self._timeouts.golden)
            return self._scores_of(patches, "load", self._timeouts.golden)

    def measure(self, plan: MeasurePlan) -> Generator[Pass, None, None]:
        """The first pass, the warm-up's patches as one, then the steady passes."""
        scene = plan.scene
        held = self._board.description.scene_bytes // self._patch_bytes
        self._plan = plan
        self._patches = min(plan.patches or MOST_PATCHES, held, scene.patches)
        if plan.patches is not None and self._patches < plan.patches:
            self._warnings = (
                f"its passes are of {self._patches} patches: the board's memory holds no more of the "
                f"{plan.patches} that were asked for",
            )
        with as_session_error("scene"):
            pixels = np.load(scene.path, mmap_mode="r")
            patches = cut_patches(pixels, scene.patch, scene.patch_width, scene.stride)
            self._send("scene", patches[: self._patches])
        yield from super().measure(plan)

    def predict(self, images: ImageSet) -> Scores:
        """Scores float32 [n, classes] of the images, as many at a time as the board holds."""
        with as_session_error("predict"):
            pixels = np.load(images.path, mmap_mode="r")
            return self._scores_of(pixels, "images", self._timeouts.predict)

    def facts(self) -> SessionFacts:
        """What is known by now."""
        facts = super().facts()
        return replace(
            facts,
            # A pass over a part of the scene is no first pass over it.
            cold=ColdFigures(load_s=self._load_s, first_inference_s=self._first_inference_s),
            warmup=self._warmup,
            runtime=runtime_of(self._board.description),
            untimed_stages=UNTIMED[self._board.description.times],
            warnings=(*facts.warnings, *self._warnings),
        )

    # --- passes ---

    def _take(self, index: int, phase: Phase) -> Pass:
        """One pass over all resident patches."""
        run = self._bracketed_run(self._patches)
        if phase == "first":
            self._patch_ns = _patch_ns(run)
            self._first_inference_s = int(run.stamps_ns[0, -1, 1] - run.stamps_ns[0, -1, 0]) / 1e9
        return replace(run, index=index, phase=phase)

    def _warm_up(self) -> Iterator[Pass]:
        """Patches beyond the first pass until they have become steady, as one pass; none where they had."""
        assert self._plan is not None
        floor, cap = self._plan.warmup_floor, self._plan.warmup_cap
        runs: list[Pass] = []
        steady = steady_after(self._patch_ns, floor, cap)
        while steady is None and len(self._patch_ns) < cap:
            wanted = min(WARMUP_STEP, cap - len(self._patch_ns), self._patches)
            runs.append(self._bracketed_run(wanted))
            self._patch_ns += _patch_ns(runs[-1])
            steady = steady_after(self._patch_ns, floor, cap)
        batches = min(len(self._patch_ns), cap) if steady is None else steady
        self._warmup = WarmUp(batches, steady is not None)
        if runs:
            yield replace(
                runs[0],
                index=1,
                phase="warmup",
                end_ns=runs[-1].end_ns,
                stamps_ns=np.concatenate([run.stamps_ns for run in runs]),
                scores=None,
                waited_ns=sum(run.waited_ns or 0 for run in runs),
            )

    def _work(self, busy_s: float) -> tuple[int, int]:
        """Keep the board busy for about so long, pass after pass; start and end on its clock, ns."""
        patch_s = max(1e-6, float(np.mean(self._patch_ns)) / 1e9)
        left = max(1, round(busy_s / patch_s))
        runs: list[Pass] = []
        # Patches may take far longer than their stamps say.
        over_s = time.monotonic() + _MOST_OVERRUN * busy_s
        while left > 0 and (not runs or time.monotonic() < over_s):
            runs.append(self._run(min(left, self._patches)))
            left -= self._patches
        return runs[0].start_ns, runs[-1].end_ns

    def _bracketed_run(self, patches: int) -> Pass:
        """A run between readings of the board's clock, which it cannot have run outside of."""
        before_ns = self.trips(BETWEEN_TRIPS)
        run = self._run(patches)
        require_within("a pass", run.start_ns, run.end_ns, Span(before_ns, self.trips(1)))
        return run

    def _run(self, patches: int) -> Pass:
        """Over the first patches of the resident scene, at least 1."""
        expected_s = self._expected_s(patches, self._timeouts.measure)
        run = self.ask(lambda: self._board.run(patches, expected_s))
        self._host_patch_s = (run.waited_ns or 0) / 1e9 / patches
        return run

    def _predict(self, images: int, limit_s: float) -> Scores:
        """Scores float32 [images, classes] of the first images."""
        expected_s = self._expected_s(images, limit_s)
        began_s = time.monotonic()
        scores = self.ask(lambda: self._board.predict(images, expected_s))
        self._host_patch_s = (time.monotonic() - began_s) / images
        return scores

    def _expected_s(self, patches: int, limit_s: float) -> float:
        """On this machine's clock; a call is given three times as long."""
        patch_s = FIRST_PATCH_S if self._host_patch_s is None else self._host_patch_s
        return min(patches * patch_s, limit_s / 3)

    # --- what lies on the board ---

    def _load_model(self) -> None:
        """Send what is not there of the model.

        `load_s` is what the call of its last piece takes, in which the board builds its interpreter: what
        came before it is the link's. It is absent of a model that was there.
        """
        times_s = [time.monotonic()] * 2

        def progress(held_bytes: int, of_bytes: int) -> None:
            times_s.append(time.monotonic())
            self._settings.report(f"{SENDING} the model", held_bytes // _MEGA, of_bytes // _MEGA)

        data, table = self._artifact.path.read_bytes(), pixel_table(self._artifact.input)
        if self.ask(lambda: self._board.load("model", data, table, progress)):
            self._load_s = times_s[-1] - times_s[-2]
        self._settings.report("load", 0, 0)
        self.trips(1)
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

        self.ask(lambda: self._board.load(block, data, None, progress))

    @property
    def _images_at_once(self) -> int:
        """At least 1: `lack_of_room` has looked."""
        return self._board.description.images_bytes // self._patch_bytes

    def _scores_of(self, patches: Sequence[NDArray[np.uint8]], stage: SessionStage, limit_s: float) -> Scores:
        """Scores float32 [n, classes] of patches, block by block; none is timed."""
        scores = []
        for first in range(0, len(patches), self._images_at_once):
            self._settings.report(stage, first, len(patches))
            block = patches[first : first + self._images_at_once]
            self._send("images", block)
            scores.append(self._predict(len(block), limit_s))
            # Fails where another program has put another model or other images there meanwhile.
            self.ask(self._board.describe)
        self._settings.report(stage, len(patches), len(patches))
        return np.concatenate(scores)


def _patch_ns(run: Pass) -> list[int]:
    """What each patch took, from its first stage to its scores."""
    return [int(taken_ns) for taken_ns in run.stamps_ns[:, -1, 1] - run.stamps_ns[:, 0, 0]]


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
