"""A device that answers at once with given figures, for tests of what stands around a device."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from edgebench import registry
from edgebench.contract import Backend, BackendOptions
from edgebench.errors import SessionError, UnsupportedError
from edgebench.link.agent_backend import AgentBackend
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, Golden, InputSpec, PrepareRequest
from edgebench.records.session import (
    ColdFigures,
    MeasurePlan,
    MemoryFigures,
    Pass,
    ProbeChunk,
    SessionFacts,
    SessionSettings,
    WarmUp,
)
from edgebench.records.target import Target
from edgebench.records.values import Finding, ImageSet, Progress, Scene, Scores
from edgebench.run import targets
from edgebench.run.measuring.execution import LocalMachines
from edgebench.run.settings import RunConfig

CLASSES = ("water", "ice")
GOLDEN = ((0.9, 0.1), (0.2, 0.8))


def make_targets(
    backends, settings=(), meters=(), *, devices=None, declared=(), power_modes=(), boards=(), **flags
):
    """The targets of a run with these flags. Default: one per backend."""
    conditions = tuple(flags.pop("declared_conditions", ()))
    names = tuple(backends if devices is None else devices)
    config = RunConfig(
        device=names,
        set=tuple(settings),
        meter=tuple(meters),
        power_mode=tuple(power_modes),
        board=tuple(boards),
        declared=conditions,
        **flags,
    )
    return targets.make_targets(backends, config, declared)


class FakeOptions(BackendOptions):
    threads: int = 1


class FakeBackend(Backend):
    name = "fake"
    description = "answers at once"
    precisions: ClassVar[tuple[str, ...]] = ("fp32", "int8")
    options_model = FakeOptions
    for_tests = True

    def __init__(self, name: str = "fake", precisions: tuple[str, ...] = ("fp32", "int8")) -> None:
        self.name = name  # type: ignore[misc]
        self.precisions = precisions  # type: ignore[misc]

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Any]:
        return {"recipe": 1, "variant": request.variant.name, "batch": request.batch}

    def prepare(
        self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress
    ) -> list[Artifact | UnsupportedError]:
        return [made_artifact(request.variant.name, request.batch) for request in requests]

    def open(self, target: Target) -> Any:
        return FakeDevice()

    def check(self, target: Target) -> list[Finding]:
        return []


class OpeningBackend(FakeBackend):
    """Its devices are what a function of the target gives."""

    def __init__(self, open_device: Callable[[Target], Any]) -> None:
        super().__init__()
        self._open_device = open_device

    def open(self, target: Target) -> Any:
        return self._open_device(target)


def machines_of(open_device: Callable[[Target], Any], device: str = "fake") -> LocalMachines:
    return LocalMachines({device: OpeningBackend(open_device)})


def agent_backend(name: str) -> AgentBackend:
    """The backend of that name, whose device runs Python."""
    backend = registry.backend(name)
    assert isinstance(backend, AgentBackend)
    return backend


def made_artifact(variant: str = "mobilenet_v1-0.25-int8", batch: int = 1) -> Artifact:
    return Artifact(
        variant=variant,
        batch=batch,
        format="fake",
        path=Path("fake"),
        sha256="0" * 64,
        size_bytes=1000,
        input=InputSpec(dtype="int8", scale=1 / 127.5, zero_point=-1),
        class_names=CLASSES,
        golden=Golden(
            patches=Path("golden"),
            patches_sha256="0" * 64,
            scores=GOLDEN,
            reference="made up",
            tolerance=0.01,
            exact_with=("kernels=reference",),
        ),
        provenance={},
    )


def made_scene(rows: int = 2, columns: int = 3) -> Scene:
    return Scene(
        path=Path("scene"),
        sha256="1" * 64,
        height=rows * 224,
        width=columns * 224,
        labels=(0,) * (rows * columns),
        class_names=CLASSES,
    )


def made_images(n: int = 4) -> ImageSet:
    return ImageSet("images", Path("images"), "2" * 64, n, tuple(i % 2 for i in range(n)), CLASSES)


@dataclass
class FakeDevice:
    """Gives passes of 1 s; `script` names what each session in turn does instead of succeeding."""

    script: list[str] = field(default_factory=list)
    golden_scores: Scores = field(default_factory=lambda: np.array(GOLDEN, np.float32))
    placement_cost: Any = "cheap"
    closed: int = 0
    opened: list[str] = field(default_factory=list)
    predicted: int = 0

    def describe(self) -> dict[str, Any]:
        return {"model": "fake"}

    @contextmanager
    def session(self, artifact: Artifact, settings: SessionSettings) -> Iterator[FakeSession]:
        self.opened.append(artifact.variant)
        fate = self.script.pop(0) if self.script else "ok"
        if fate == "load":
            raise SessionError("cannot load", status="load_failed", stage="load")
        if fate == "lost":
            raise SessionError("it is gone", status="lost_connection", stage="measure")
        yield FakeSession(self, fate)

    def close(self) -> None:
        self.closed += 1


@dataclass
class FakeSession:
    device: FakeDevice
    fate: str
    begin_ns: int = field(init=False, default_factory=itertools.count(1).__next__)  # no two are equal

    def golden(self) -> Scores:
        return self.device.golden_scores

    def measure(self, plan: MeasurePlan) -> Generator[Pass, None, None]:
        for index in range(plan.passes + 1):
            if index == 2 and self.fate == "crash":
                raise SessionError("died", status="crash", stage="measure", signal="SIGABRT", stderr_tail="x")
            if index == 2 and self.fate == "interrupt":
                raise KeyboardInterrupt
            phase = "steady" if index else "first"
            yield made_pass(index, plan.scene.patches, phase, begin_ns=self.begin_ns)

    def predict(self, images: ImageSet) -> Scores:
        self.device.predicted += 1
        return np.tile(np.array(GOLDEN, np.float32), (images.n // 2, 1))

    def probe_chunks(self) -> Iterator[ProbeChunk]:
        return iter(())

    def facts(self) -> SessionFacts:
        match = {"offset_ns": 0, "bound_ns": 1}
        return SessionFacts(
            cold=ColdFigures(import_s=0.1, load_s=0.2, first_inference_s=0.3, first_pass_s=1.0),
            warmup=WarmUp(batches=0, steady=True),
            memory=MemoryFigures(after_load_bytes=10, peak_bytes=20),
            runtime={"name": "fake"},
            clock={"start": match, "end": match},
            probe_reasons={"": "no meter"},
        )


def made_pass(
    index: int, patches: int, phase: Any, second_ns: int = 1_000_000_000, begin_ns: int = 0
) -> Pass:
    """A pass of one second, one patch a batch, with three stages of equal length."""
    edges = np.linspace(0, second_ns, 3 * patches + 1).astype(np.int64) + index * 2 * second_ns + begin_ns
    stamps = np.stack([edges[:-1], edges[1:]], axis=1).reshape(patches, 3, 2)
    return Pass(
        index=index,
        phase=phase,
        start_ns=int(edges[0]),
        end_ns=int(edges[-1]),
        stages=("patchify", "preprocess", "infer"),
        stamps_ns=stamps,
        scores=np.tile(np.array([[0.9, 0.1]], np.float32), (patches, 1)),
        batch=1,
    )
