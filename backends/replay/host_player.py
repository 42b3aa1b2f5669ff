"""A scenario's windows, drawn on the host: the same draws as a worker's passes.

An agent's worker goes through the whole scene on a device; windows, which no worker gives, are played here,
through the same Session that a device without an agent implements. Meters and monitors are not played.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from types import TracebackType
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from edgebench.agent.pixels import windows as cut_patches
from edgebench.errors import SessionError
from edgebench.link.agent_device import AgentDevice
from edgebench.records.model import Artifact
from edgebench.records.session import (
    ColdFigures,
    MeasurePlan,
    MemoryFigures,
    Phase,
    ProbeChunk,
    SessionFacts,
    SessionSettings,
    WarmUp,
    Window,
)
from edgebench.records.values import ImageSet, Scores

from .device.play_drawn import Drawn, Tape
from .device.play_samples import Canned

HOST_FORMAT = "replay-host"
"""The format of an artifact that is played here."""

NOT_PLAYED = "a replay of windows, or of a device without an agent, plays no probes"

STATUSES = {"hang": "timeout", "out_of_memory": "out_of_memory", "raise": "error"}
"""Status of a session by the kind of its crash; any other kind is a crash."""


class ReplayDevice(AgentDevice):
    """The agent for what a worker can play; the host for windows."""

    def session(self, artifact: Artifact, settings: SessionSettings) -> Any:
        """A session of whichever plays the artifact."""
        if artifact.format == HOST_FORMAT:
            return HostSession(artifact, settings)
        return super().session(artifact, settings)


class HostSession:
    """Implements `Session`: draws the windows of its script."""

    def __init__(self, artifact: Artifact, settings: SessionSettings) -> None:
        self._artifact = artifact
        self._settings = settings

    def __enter__(self) -> HostSession:
        with zipfile.ZipFile(self._artifact.path) as archive:
            self._script: dict[str, Any] = json.loads(archive.read("script.json"))
        try:
            # A worker's probes read its samples from a file, which is not here.
            self._drawn = Drawn(Tape(), {**self._script, "infos": {}}, self._settings.number)
        except Canned as error:
            self._end("load", "load_failed", str(error))
        self._end_where_due("load")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was started."""

    def golden(self) -> Scores:
        """The artifact's golden scores, unless the scenario has a mismatch here."""
        if (self._drawn.fault or {}).get("kind") != "golden_mismatch":
            self._end_where_due("golden")
        return self._scores("golden", np.load(self._artifact.golden.patches))

    def measure(self, plan: MeasurePlan) -> Iterator[Window]:
        """The first window, then the steady ones until the scenario ends the session."""
        self._end_where_due("scene")
        drawn, scene = self._drawn, plan.scene
        pixels = np.load(scene.path, mmap_mode="r")
        patches = np.stack(cut_patches(pixels, scene.patch, scene.patch_width, scene.stride))
        inferences: int = self._script["play"]["windows"]["inferences"]
        infer_share = 1.0 - self._script["edges"][1]
        drawn.scene(len(patches))
        phases: list[Phase] = ["first", *(["steady"] * plan.passes)]  # type: ignore[list-item]
        for index, phase in enumerate(phases):
            drawn.begin("measure")
            if index == 1:
                drawn.begin("measure")  # the warm-up, which windows do without
            if drawn.due():
                break
            patch = index % len(patches)
            start_ns, end_ns = drawn.window(inferences, infer_share)
            scores = drawn.scores(patch, patches[patch : patch + 1])[0]
            yield Window(index, phase, patch, inferences, start_ns, end_ns, scores)
        self._end_where_due("measure")

    def predict(self, images: ImageSet) -> Scores:
        """Scores; the scenario's share of them is right."""
        self._end_where_due("predict")
        return self._scores("predict", np.load(images.path))

    def _scores(self, stage: str, patches: NDArray[np.uint8]) -> Scores:
        self._drawn.begin(stage)
        return self._drawn.scores(0, patches)

    def probe_chunks(self) -> Iterator[ProbeChunk]:
        """None are played."""
        return iter(())

    def facts(self) -> SessionFacts:
        """The scenario's, and that nothing was measured."""
        words = f"replay: no figure was measured ({self._script['source']} was played)"
        meters = self._settings.meters or ("",)
        return SessionFacts(
            cold=ColdFigures(load_s=self._drawn.load_ns / 1e9 or None),
            warmup=WarmUp(0, steady=True),
            memory=MemoryFigures(**self._drawn.memory),
            runtime={
                "name": "replay",
                "version": "1",
                "source": self._script["source"],
                "source_sha256": self._script["source_sha256"],
            },
            own_time=True,
            probe_reasons=dict.fromkeys(meters, NOT_PLAYED),
            monitor_reasons=dict.fromkeys(self._settings.monitors, NOT_PLAYED),
            warnings=(words,),
        )

    def _end_where_due(self, stage: str) -> None:
        fault = self._drawn.fault
        if fault is not None and fault["stage"] == stage:
            kind = fault["kind"]
            self._end(stage, STATUSES.get(kind, "crash"), f"{kind} was to come here")

    def _end(self, stage: str, status: str, why: str) -> NoReturn:
        raise SessionError("the replayed session ended here", status=status, stage=stage, why=why)
