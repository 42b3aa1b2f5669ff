"""Google's Coral Dev Board Micro: firmware with TFLM and an Edge TPU, over the network of its USB cable."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import ClassVar

from edgebench.cache.objects import Cache
from edgebench.contract import Backend
from edgebench.errors import UnavailableError, UnsupportedError, UsageError
from edgebench.models.prepare.chain import Chain
from edgebench.models.prepare.edgetpu import PRECISION_REASONS, EdgeTpuChain
from edgebench.session_stages import SessionStage
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.pictures import ImageSet
from edgebench.vocabulary.preparation import Prepared, PrepareRequest
from edgebench.vocabulary.session import MeasurePlan
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json, Progress

from .answers import BoardDescription
from .checks import BRIEF, findings
from .device import CoralMicroDevice
from .faults import MicroFault
from .options import CoralMicroOptions
from .room import lack_of_room, why_not_taken
from .scene_passes import MOST_PATCHES
from .times import stage_seconds


class CoralMicroBackend(Backend):
    """Takes int8, one patch at a time; its passes are of as many patches as the board holds.

    Attributes:
        chain: by which its artifacts are prepared.
    """

    name = "coral-micro"
    description = "Google's Coral Dev Board Micro, by TFLM with the Edge TPU and JSON-RPC over USB"
    precisions = ("int8",)
    precision_reasons = PRECISION_REASONS
    most_batch = 1
    options_model = CoralMicroOptions
    default_patches = MOST_PATCHES
    # Of 150 kB each, as base64 through a microcontroller's HTTP: a minute or so, and all of them several.
    default_accuracy_images = 300
    monitors = ()
    chain: ClassVar[Chain] = EdgeTpuChain("coral-micro", takes_uncompiled=True)

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Json]:
        """What decides the compiled .tflite: the same as for other Edge TPUs."""
        return self.chain.prepare_inputs(request)

    def missing(self, request: PrepareRequest) -> UnavailableError | None:
        """What its .tflite takes."""
        return self.chain.missing(request)

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """As for other Edge TPUs; UnsupportedError for what the board that answers has no room for.

        Where none answers, its first session says what does not fit.
        """
        outcomes = self.chain.prepare(requests, cache, progress)
        boards: dict[str, BoardDescription | None] = {}
        fitting: list[Prepared] = []
        for request, outcome in zip(requests, outcomes, strict=True):
            if isinstance(outcome, Artifact):
                address = str(request.options.get("address", ""))
                if address not in boards:
                    boards[address] = _board_that_answers(request.options)
                outcome = _unless_too_large(outcome, boards[address])
            fitting.append(outcome)
        return fitting

    def open(self, target: Target) -> CoralMicroDevice:
        """The board at the target's address; UnavailableError where nobody answers, or it is in use."""
        device = CoralMicroDevice(target)
        # What answers otherwise than a board should is the first session's to tell.
        with contextlib.suppress(MicroFault):
            device.connect()
        device.hold()
        return device

    def check(self, target: Target) -> list[Finding]:
        """The board, its firmware, its Edge TPU and its memory, and the compiler here."""
        return findings(target)

    def stage_seconds(
        self, target: Target, plan: MeasurePlan, patch_s: float | None
    ) -> Mapping[SessionStage, tuple[float, float]]:
        """By the patches of its passes, and what goes over USB."""
        return stage_seconds(plan, patch_s, compiled=not target.options.get("allow_cpu"))

    def check_plan(self, target: Target, plan: MeasurePlan, images: ImageSet | None, sessions: int) -> None:
        """UsageError for a period: a pass is of fewer patches than an image has."""
        if plan.period_s is not None:
            raise UsageError(
                f"{target.name} cannot be paced",
                why="a pass is of as many patches as the board holds, and an image has more: none of them is "
                "what comes with a camera's period",
                fix="leave --period out; --sustained says for how long passes go on",
            )


def _board_that_answers(options: Mapping[str, Json]) -> BoardDescription | None:
    try:
        return CoralMicroDevice(Target("", CoralMicroBackend.name, options), BRIEF).connect()
    except (UnavailableError, MicroFault):
        return None


def _unless_too_large(artifact: Artifact, board: BoardDescription | None) -> Prepared:
    why = why_not_taken(artifact) or (lack_of_room(artifact, board) if board else "")
    if not why:
        return artifact
    return UnsupportedError(
        f"{artifact.variant} does not fit the Coral Dev Board Micro",
        why=why,
        fix="take a smaller model, or build firmware with other sizes (backends/coral/micro/README.md)",
    )
