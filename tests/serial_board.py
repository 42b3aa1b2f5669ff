"""A board without an agent: one patch at a time, windows or passes.

It implements Backend, Device and Session as a real one does, without a line; a clock that only its inferences
move makes every figure the same on every run.
"""

from __future__ import annotations

import io
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from edgebench.contract import Backend, BackendOptions
from edgebench.errors import SessionError, UnavailableError, UnsupportedError
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, Golden, InputSpec, PrepareRequest
from edgebench.records.session import (
    ColdFigures,
    MeasurePlan,
    MemoryFigures,
    Pass,
    Phase,
    ProbeChunk,
    SessionFacts,
    SessionSettings,
    SessionWindows,
    WarmUp,
    Window,
)
from edgebench.records.target import Target
from edgebench.records.values import Finding, ImageSet, Pictures, Progress, Scene, Scores, Variant
from edgebench.session_stages import SessionStage

SIDE = 16
CLASSES = ("dark", "bright")
PATCH_NS = 20_000_000
"""How long the board infers a patch."""
_BEGINNINGS_NS = itertools.count(5_000_000_000, 1_000_000_000)
"""Clocks of sessions as they begin: no two sessions of a device have the same stamps."""

WINDOW_INFERENCES = 50
PATCH_INSTRUCTIONS = 341_066_722
UNCOUNTED = "nobody told the board how long an instruction takes"
FLASH_S, SEND_S = 12.0, 0.5
"""How long it takes to flash the board, and to send it a patch: what estimates are told."""
VARIANT = Variant(0.25, "fp32")


class SerialOptions(BackendOptions):
    """`gives` is how it is timed, `patches` over how many of the scene a pass goes; 0 for all.

    `counts` is whether its emulator counts instructions; `untimed` has the stages that the host
    does before a pass, by commas.
    """

    places: ClassVar[frozenset[str]] = frozenset({"address"})
    gives: Literal["windows", "passes"] = "windows"
    patches: int = 0
    emulated: bool = False
    counts: bool = False
    untimed: str = ""
    address: str = ""
    dies: bool = False


class SerialBackend(Backend):
    name = "serial"
    description = "a board at a serial line, for tests"
    precisions: ClassVar[tuple[str, ...]] = ("fp32",)
    options_model = SerialOptions
    for_tests = True
    takes_port = True
    monitors = ()

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Any]:
        if request.variant.precision not in self.precisions or request.batch != 1:
            raise UnsupportedError("it takes one patch at a time at fp32")
        return {"recipe": "serial-1", "variant": request.variant.name}

    def prepare(
        self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress
    ) -> list[Artifact | UnsupportedError]:
        return [self._artifact(request, cache) for request in requests]

    def _artifact(self, request: PrepareRequest, cache: Cache) -> Artifact | UnsupportedError:
        try:
            self.prepare_inputs(request)
        except UnsupportedError as error:
            return error
        spec = InputSpec(dtype="float32", height=SIDE, width=SIDE)
        model = json.dumps({"input": spec.model_dump(), "classes": len(CLASSES), "batch": 1}).encode()
        path, sha256 = cache.add_bytes(model, ".json")
        levels = np.array([10, 100, 180, 250], np.uint8)
        patches = np.broadcast_to(levels[:, None, None, None], (4, SIDE, SIDE, 3))
        golden, golden_sha256 = _stored(patches, cache)
        return Artifact(
            variant=request.variant.name,
            batch=request.batch,
            format="serial",
            path=path,
            sha256=sha256,
            size_bytes=len(model),
            input=spec,
            class_names=CLASSES,
            golden=Golden(
                patches=golden,
                patches_sha256=golden_sha256,
                scores=tuple(tuple(float(score) for score in scores_of(patch)) for patch in patches),
                reference="brightness",
                tolerance=1e-4,
            ),
            provenance={},
        )

    def offers(self, options: Mapping[str, Any]) -> tuple[Variant, ...]:
        return (VARIANT,)

    def pictures(self, options: Mapping[str, Any], cache: Cache) -> Pictures:
        """A scene of 2 x 3 patches and four images."""
        pixels = np.zeros((2 * SIDE, 3 * SIDE, 3), np.uint8)
        pixels[:SIDE] = 250
        path, sha256 = _stored(pixels, cache)
        scene = Scene(
            path, sha256, *pixels.shape[:2], SIDE, labels=(1, 1, 1, 0, 0, 0), class_names=CLASSES, name="half"
        )
        patches = np.stack([np.full((SIDE, SIDE, 3), level, np.uint8) for level in (5, 60, 200, 250)])
        path, sha256 = _stored(patches, cache)
        return Pictures(scene, ImageSet("levels", path, sha256, 4, (0, 0, 1, 1), CLASSES))

    def open(self, target: Target) -> SerialDevice:
        if target.port == "/dev/none":
            raise UnavailableError(f"there is no port {target.port}", fix="plug the board in")
        return SerialDevice()

    def check(self, target: Target) -> list[Finding]:
        return [Finding("ok", "port", f"the board is at {target.port or 'its usual port'}", "")]

    def explain(self, error: SessionError) -> SessionError | None:
        if error.status != "timeout":
            return None
        return SessionError(
            "the board stopped answering amid a window",
            status=error.status,
            stage=error.stage,
            why="its watchdog resets it after 10 s",
            fix="flash it with the watchdog off",
        )

    def stage_seconds(self, target: Target, plan: MeasurePlan) -> Mapping[SessionStage, tuple[float, float]]:
        images = 0 if plan.images is None else plan.images.n
        return {"load": (FLASH_S, 2 * FLASH_S), "images": (images * SEND_S, images * SEND_S)}


def scores_of(patch: NDArray[np.uint8]) -> Scores:
    """Scores float32 [2] by how bright a patch is."""
    bright = float(patch.mean()) / 255
    return np.array([1 - bright, bright], np.float32)


class SerialDevice:
    placement_cost: Literal["cheap", "slow", "manual"] = "slow"

    def describe(self) -> dict[str, Any]:
        return {"board": "Made Up M7", "soc": "made up", "cpu": "Cortex-M7"}

    def session(self, artifact: Artifact, settings: SessionSettings) -> SerialSession:
        return SerialSession(artifact, settings)

    def close(self) -> None:
        """There is nothing to end."""


class SerialSession:
    def __init__(self, artifact: Artifact, settings: SessionSettings) -> None:
        self._artifact = artifact
        self._options = settings.options
        self._clock_ns = next(_BEGINNINGS_NS)
        self._steady_ns: list[int] = []
        self._warmup: WarmUp | None = None

    def __enter__(self) -> SerialSession:
        model = json.loads(self._artifact.path.read_text())
        asked = {
            "input": self._artifact.input.model_dump(),
            "classes": self._artifact.scores,
            "batch": self._artifact.batch,
        }
        if model != asked:
            raise SessionError(
                "the artifact is not what was flashed",
                status="load_failed",
                stage="load",
                why=f"the board has {model}, and {asked} was asked for",
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """A reset would come here."""

    def golden(self) -> Scores:
        return self._predicted(np.load(self._artifact.golden.patches))

    def measure(self, plan: MeasurePlan) -> Iterator[Pass | Window]:
        patches = _patches_of(plan.scene)
        steady: list[Phase] = ["steady"] * plan.passes
        phases: list[Phase] = ["first", *steady]
        self._warmup = WarmUp(0, steady=True)
        for index, phase in enumerate(phases):
            if self._options["dies"] and index == 1:
                raise SessionError("no answer within 10 s", status="timeout", stage="measure")
            start_ns = self._clock_ns
            if self._options["gives"] == "windows":
                number = index % (plan.patches or len(patches))
                yield self._window(index, phase, number, patches[number])
            else:
                yield self._pass(index, phase, patches[: self._options["patches"] or len(patches)])
            if phase == "steady":
                self._steady_ns += [start_ns, self._clock_ns]

    def _window(self, index: int, phase: Phase, number: int, patch: NDArray[np.uint8]) -> Window:
        start_ns, end_ns, scores = self._infer(patch, WINDOW_INFERENCES)
        # One more in a window of each session: as an emulator's interrupts may fall.
        counted = WINDOW_INFERENCES * PATCH_INSTRUCTIONS + index if self._options["counts"] else None
        return Window(index, phase, number, WINDOW_INFERENCES, start_ns, end_ns, scores, counted)

    def _pass(self, index: int, phase: Phase, patches: NDArray[np.uint8]) -> Pass:
        inferred = [self._infer(patch, 1) for patch in patches]
        stamps = np.array([[[start_ns, end_ns]] for start_ns, end_ns, _ in inferred], np.int64)
        return Pass(
            index=index,
            phase=phase,
            start_ns=inferred[0][0],
            end_ns=inferred[-1][1],
            stages=("infer",),
            stamps_ns=stamps,
            scores=np.stack([scores for _, _, scores in inferred]),
            batch=1,
        )

    def _infer(self, patch: NDArray[np.uint8], count: int) -> tuple[int, int, Scores]:
        start_ns = self._clock_ns
        self._clock_ns += count * PATCH_NS
        return start_ns, self._clock_ns, scores_of(patch)

    def predict(self, images: ImageSet) -> Scores:
        return self._predicted(np.load(images.path))

    def _predicted(self, patches: NDArray[np.uint8]) -> Scores:
        return np.stack([self._infer(patch, 1)[2] for patch in patches])

    def probe_chunks(self) -> Iterator[ProbeChunk]:
        return iter(())

    def facts(self) -> SessionFacts:
        steady = self._steady_ns
        return SessionFacts(
            cold=ColdFigures(load_s=0.1),
            warmup=self._warmup,
            memory=MemoryFigures(peak_bytes=300_000),
            runtime={"name": "serial", "version": "1"},
            windows_ns=SessionWindows(steady=(steady[0], steady[-1]) if steady else None),
            probe_reasons={"": "the line has no meter"},
            measured_patches=self._options["patches"] or None,
            untimed_stages=tuple(filter(None, self._options["untimed"].split(","))),
            emulated=self._options["emulated"],
            instructions_reason=UNCOUNTED if self._options["emulated"] else "",
        )


def _patches_of(scene: Scene) -> NDArray[np.uint8]:
    pixels: NDArray[np.uint8] = np.load(scene.path)
    side = scene.patch
    kept = pixels[: scene.rows * side, : scene.columns * side]
    grid = kept.reshape(scene.rows, side, scene.columns, side, 3).transpose(0, 2, 1, 3, 4)
    return np.ascontiguousarray(grid.reshape(-1, side, side, 3))


def _stored(pixels: NDArray[np.uint8], cache: Cache) -> tuple[Path, str]:
    held = io.BytesIO()
    np.save(held, pixels)
    return cache.add_bytes(held.getvalue(), ".npy")
