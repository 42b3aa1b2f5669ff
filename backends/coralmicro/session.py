"""A session on a Coral Dev Board Micro: the model by its hash, golden patches, passes, images."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from edgebench.link.board_fault import as_session_error
from edgebench.link.board_session import BoardSession
from edgebench.link.input_tensor import fitted, size_bytes
from edgebench.link.timeouts import Timeouts
from edgebench.session_stages import SENDING, SessionStage
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.passes import Pass
from edgebench.vocabulary.pictures import ImageSet
from edgebench.vocabulary.probe import ProbeChunk
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.session_facts import ColdFigures, SessionFacts
from edgebench.vocabulary.values import Json, Scores

from .answers import Block, BoardDescription
from .micro_board import MicroBoard
from .pixel_table import pixel_table
from .room import lack_of_room, misfit, require_same, why_not_taken
from .scene_passes import ScenePasses, first_patches, patches_held
from .stamped_board import StampedBoard

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
