"""Microcontrollers at a serial line: int8 models in firmware, timed by windows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.cache.objects import Cache
from edgebench.contract import Backend
from edgebench.errors import EdgeBenchError, UnavailableError, UnsupportedError, UsageError
from edgebench.link.window_lengths import USUAL, WindowLengths
from edgebench.session_stages import SessionStage
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.pictures import ImageSet
from edgebench.vocabulary.preparation import Prepared, PrepareRequest
from edgebench.vocabulary.session import MeasurePlan
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json, Progress

from .checks import findings
from .device import CortexMDevice, no_port, port_and_emulated_board
from .firmware_supply import FirmwareSupply, firmware_with, missing_program
from .line import require_port_exists
from .options import CortexMOptions
from .preparing import chain_of, with_printed_tolerance
from .times import stage_seconds


class CortexMBackend(Backend):
    """Firmware that speaks MLPerf Tiny's protocol: EdgeBench's own, or another.

    Args:
        lengths: of windows; users have the usual ones.
    """

    name = "cortex-m"
    description = "a microcontroller at a serial line, by firmware with TFLM or generated C"
    precisions = ("int8",)
    most_batch = 1
    options_model = CortexMOptions
    takes_port = True
    gives_windows = True
    default_passes = 5
    default_patches = 1
    default_accuracy_images = 50
    monitors = ()

    def __init__(self, lengths: WindowLengths = USUAL) -> None:
        self._lengths = lengths

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Json]:
        """Those of the engine's chain; UnsupportedError for what is not int8."""
        _require_int8(request)
        return chain_of(request.options).prepare_inputs(request)

    def missing(self, request: PrepareRequest) -> UnavailableError | None:
        """What the engine's chain needs, and what firmware does where it is built or flashed."""
        options = CortexMOptions.model_validate(dict(request.options))
        return chain_of(request.options).missing(request) or missing_program(options)

    def prepare(self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress) -> list[Prepared]:
        """By the chains of the requests' engines, each asked once."""
        outcomes: dict[int, Prepared] = {}
        by_chain: dict[int, list[int]] = {}
        for index, request in enumerate(requests):
            try:
                _require_int8(request)
                by_chain.setdefault(id(chain_of(request.options)), []).append(index)
            except UnsupportedError as error:
                outcomes[index] = error
        for indexes in by_chain.values():
            chain = chain_of(requests[indexes[0]].options)
            prepared = chain.prepare([requests[index] for index in indexes], cache, progress)
            artifacts = map(with_printed_tolerance, prepared)
            outcomes |= {
                index: _with_firmware(artifact, requests[index].options, cache, progress)
                for index, artifact in zip(indexes, artifacts, strict=True)
            }
        return [outcomes[index] for index in range(len(requests))]

    def open(self, target: Target) -> CortexMDevice:
        """The board at the target's port; UnavailableError or NoPermissionError where there is none."""
        device = CortexMDevice(target, self._lengths)
        device.connect()
        return device

    def check(self, target: Target) -> list[Finding]:
        """The port, what answers there, and what it carries."""
        return findings(target)

    def stage_seconds(
        self, target: Target, plan: MeasurePlan, patch_s: float | None
    ) -> Mapping[SessionStage, tuple[float, float]]:
        """By the baud, and by how long windows are."""
        return stage_seconds(target, plan, patch_s, self._lengths)

    def check_plan(self, target: Target, plan: MeasurePlan, images: ImageSet | None, sessions: int) -> None:
        """UsageError for a period: inferences of a window follow one another on the board.

        UnavailableError where no port is named, or there is none of its name: preparing a variant may take
        minutes.
        """
        options = CortexMOptions.model_validate(dict(target.options))
        emulates = FirmwareSupply(options).emulates
        if target.port is None and not emulates:
            raise no_port()
        if target.port is not None and emulates:
            raise port_and_emulated_board(options.board)
        if target.port is not None:
            require_port_exists(target.port)
        if plan.period_s is not None:
            raise UsageError(
                f"{target.name} cannot be paced",
                why="its firmware infers a window's patches back to back, and waits for nothing in between",
                fix="leave --period out; --sustained says for how long windows go on",
            )


def _with_firmware(
    outcome: Prepared, options: Mapping[str, Json], cache: Cache, progress: Progress
) -> Prepared:
    """The artifact, once firmware with it is built where that is asked for; else why it cannot be."""
    known = CortexMOptions.model_validate(dict(options))
    if not isinstance(outcome, Artifact) or not (known.build or known.flash):
        return outcome
    try:
        firmware_with(outcome, known, cache, progress)
    except UsageError:
        raise
    except EdgeBenchError as error:
        return error
    return outcome


def _require_int8(request: PrepareRequest) -> None:
    if request.variant.precision != "int8" or request.batch != 1:
        raise UnsupportedError(
            f"{request.variant.name} at batch {request.batch} is not taken by cortex-m",
            why="its firmware takes int8, one patch at a time",
            fix="ask for --precision int8 and leave --batch out",
        )
