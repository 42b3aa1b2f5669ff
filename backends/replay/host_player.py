"""What a device without an agent gave, played again on the host: windows, some patches, emulators.

An agent's worker goes through the whole scene on a device; what no worker can give is played here, through
the same Session that such a device implements. Its meters and monitors are not played.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from edgebench.errors import SessionError
from edgebench.link.agent_device import AgentDevice
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.passes import Pass, Window
from edgebench.vocabulary.pictures import ImageSet
from edgebench.vocabulary.probe import ProbeChunk
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.session_facts import (
    ColdFigures,
    MemoryFigures,
    SessionFacts,
    SessionWindows,
    WarmUp,
)
from edgebench.vocabulary.values import Scores

from .device.play_base import Canned
from .host_drawn import DrawnWindows

HOST_FORMAT = "replay-host"
"""The format of an artifact that is played here."""

NOT_PLAYED = "a replay of windows, or of a device without an agent, plays no probes"


class ReplayDevice(AgentDevice):
    """The agent for what a worker can play; the host for the rest."""

    def session(self, artifact: Artifact, settings: SessionSettings) -> Any:
        """A session of whichever plays the artifact."""
        if artifact.format == HOST_FORMAT:
            return HostSession(artifact, settings)
        return super().session(artifact, settings)


class HostSession:
    """Implements `Session`: gives what its script has, as it is."""

    def __init__(self, artifact: Artifact, settings: SessionSettings) -> None:
        self._artifact = artifact
        self._settings = settings
        self._arrays: dict[str, Any] = {}
        self._script: dict[str, Any] = {}
        self._session: dict[str, Any] = {}
        self._drawn: DrawnWindows | None = None  # of a scenario; else what is played was recorded

    def __enter__(self) -> HostSession:
        number = self._settings.number
        with zipfile.ZipFile(self._artifact.path) as archive:
            self._script = json.loads(archive.read("script.json"))
            for name in archive.namelist():
                if name.startswith(f"{number}.") or name == "images.npy":
                    with archive.open(name) as file:
                        array = np.lib.format.read_array(file, allow_pickle=False)
                        self._arrays[name.removesuffix(".npy")] = array
        if self._script["kind"] == "scenario":
            try:
                self._drawn = DrawnWindows(self._script, number)
            except Canned as error:
                self._end("load", "load_failed", str(error))
            self._session = self._drawn.recorded()
        elif number >= len(self._script["sessions"]):
            self._end("load", "load_failed", f"the source has {len(self._script['sessions'])} sessions of it")
        else:
            self._session = self._script["sessions"][number]
        if self._artifact.scores != self._script["classes"]:
            self._end("load", "load_failed", f"the source's scores are of {self._script['classes']} classes")
        if [self._artifact.batch, self._artifact.input.dtype] != [self._script["input_shape"][0], "uint8"]:
            self._end("load", "load_failed", f"its input is uint8 {self._script['input_shape']}")
        self._end_where_due("load")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing was started."""

    def golden(self) -> Scores:
        """As far from the artifact's golden scores as the source's were."""
        if (self._session["fault"] or {}).get("kind") != "golden_mismatch":
            self._end_where_due("golden")
        if self._drawn is not None:
            return self._drawn.scores("golden", np.load(self._artifact.golden.patches))
        return np.array(self._session["golden"], np.float32)

    def measure(self, plan: MeasurePlan) -> Iterator[Pass | Window]:
        """The source's passes or windows, with as many steady ones as are asked for."""
        self._end_where_due("scene")
        if self._drawn is not None:
            yield from self._drawn.windows(plan)
            self._end_where_due("measure")
            return
        number = self._settings.number
        scene = self._arrays.get(f"{number}.scene")
        by_patch: dict[int, Scores] = {}
        if scene is not None:
            by_patch = dict(zip(self._arrays[f"{number}.patches"].tolist(), scene, strict=True))
        steady = 0
        for recorded in self._session["windows"] or self._session["passes"]:
            steady += recorded["phase"] == "steady"
            if steady > plan.passes and plan.sustained_s is None:
                break
            if self._session["windows"]:
                yield Window(**recorded, scores=by_patch.get(recorded["patch"]))
            else:
                yield self._pass(recorded, scene, number)
        self._end_where_due("measure")

    def _pass(self, recorded: dict[str, Any], scene: Any, number: int) -> Pass:
        warm = recorded["phase"] == "warmup" or scene is None
        return Pass(
            index=recorded["index"],
            phase=recorded["phase"],
            start_ns=recorded["start_ns"],
            end_ns=recorded["end_ns"],
            stages=tuple(self._session["stages"]),
            stamps_ns=self._arrays[f"{number}.stamps{recorded['index']}"],
            scores=None if warm else scene[: recorded["patches"]],
            batch=recorded["batch"],
        )

    def predict(self, images: ImageSet) -> Scores:
        """The source's scores of its images."""
        self._end_where_due("predict")
        if self._drawn is not None:
            return self._drawn.scores("predict", np.load(images.path))
        scores: Scores | None = self._arrays.get("images")
        if scores is None or len(scores) != images.n:
            self._end("predict", "error", f"the source has no scores of {images.n} images")
        return scores

    def probe_chunks(self) -> Iterator[ProbeChunk]:
        """None are played."""
        return iter(())

    def facts(self) -> SessionFacts:
        """The source's, and that nothing was measured."""
        words = f"replayed from {self._script['source']}: no figure was measured here"
        recorded = self._session
        windows = {name: tuple(window) if window else None for name, window in recorded["windows_ns"].items()}
        meters = self._settings.meters or ("",)
        return SessionFacts(
            cold=ColdFigures(**recorded["cold"]),
            warmup=WarmUp(**recorded["warmup"]) if recorded["warmup"] else None,
            memory=MemoryFigures(**recorded["memory"]),
            runtime={
                "name": "replay",
                "version": "1",
                "source": self._script["source"],
                "source_sha256": self._script["source_sha256"],
            },
            own_time=True,
            windows_ns=SessionWindows(**windows),
            probe_reasons=dict.fromkeys(meters, NOT_PLAYED),
            monitor_reasons=dict.fromkeys(self._settings.monitors, NOT_PLAYED),
            measured_patches=recorded["measured_patches"],
            emulated=recorded["emulated"],
            # What the cache has of earlier versions is without these.
            untimed_stages=tuple(recorded.get("untimed_stages", ())),
            instructions_reason=recorded.get("instructions_reason", ""),
            warnings=(words,),
        )

    def _end_where_due(self, stage: str) -> None:
        fault = self._session["fault"]
        if fault is not None and fault["stage"] == stage:
            self._end(stage, fault.get("status") or "error", fault.get("words") or "", fault.get("signal"))

    def _end(self, stage: str, status: str, why: str, signal: str | None = None) -> NoReturn:
        raise SessionError(
            "the replayed session ended here", status=status, stage=stage, why=why, signal=signal
        )
