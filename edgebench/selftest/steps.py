"""The steps of the self-test: look, prepare, load, compare, time. Each tells how it went, and why not."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field

from edgebench.cache.objects import Cache
from edgebench.data.shipped import shipped_scene
from edgebench.errors import EdgeBenchError
from edgebench.link.agent_backend import AgentBackend
from edgebench.link.agent_device import AgentDevice
from edgebench.link.inspection import check_target
from edgebench.measure import golden
from edgebench.store.redaction import PrivateNames
from edgebench.version import __version__
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.preparation import PrepareRequest
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json

from .kind import Kind, Outcome

PASSES = 3


@dataclass(frozen=True)
class Step:
    """One step: `detail` says what was seen, or why it failed and what to do."""

    name: str
    outcome: Outcome
    detail: str


@dataclass
class Result:
    """What came of it; `missing` is empty where nothing failed."""

    title: str
    target: Target
    version: str = __version__
    steps: list[Step] = field(default_factory=list)
    facts: Mapping[str, Json] = field(default_factory=dict)
    runtime: Mapping[str, Json] = field(default_factory=dict)
    artifact: Mapping[str, Json] = field(default_factory=dict)
    figures: dict[str, float | None] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        """What stands in the way, one line each."""
        return [f"{step.name}: {step.detail}" for step in self.steps if step.outcome == "failed"]

    @property
    def private_names(self) -> PrivateNames:
        """What takes the names of people and machines out of a text."""
        return PrivateNames.of([self.target.host], private=self.facts.get("private"))


def carry_out(
    kind: Kind, backend: AgentBackend, target: Target, cache: Cache, say: Callable[[str], None]
) -> Result:
    """All steps in order; one that fails leaves out those that need it, and nothing is raised."""
    steps = _Steps(kind, backend, target, cache, say)
    steps.look()
    steps.measure(steps.prepare())
    return steps.result


class _Steps:
    """One go through the steps; each notes its outcome in `result`."""

    def __init__(
        self, kind: Kind, backend: AgentBackend, target: Target, cache: Cache, say: Callable[[str], None]
    ) -> None:
        self._kind = kind
        self._backend = backend
        self._target = target
        self._cache = cache
        self._say = say
        self.result = Result(kind.title, target)

    def look(self) -> None:
        """What doctor says."""
        for finding in check_target(self._target, self._backend):
            outcome: Outcome = "failed" if finding.level == "error" else finding.level
            fix = f"; {finding.fix}" if finding.fix else ""
            self._note(f"check {finding.subject}", outcome, f"{finding.message}{fix}")

    def prepare(self) -> Artifact | None:
        """What the device loads; None where it cannot be made."""
        request = PrepareRequest(self._kind.variant, self._backend.default_batch, self._target.options)
        try:
            [artifact] = self._backend.prepare([request], self._cache, self._say_inset)
        except EdgeBenchError as error:
            self._note("prepare", "failed", _in_words(error))
            return None
        if not isinstance(artifact, Artifact):
            self._note("prepare", "failed", _in_words(artifact))
            return None
        outcome, detail = self._kind.prepared(artifact)
        self._note("prepare", outcome, f"{artifact.variant}: {detail}")
        return artifact

    def measure(self, artifact: Artifact | None) -> None:
        """What the board says of itself; of an artifact golden scores, and a short session."""
        try:
            device = self._backend.open(self._target)
        except EdgeBenchError as error:
            self._note("open", "failed", _in_words(error))
            return
        try:
            facts = self.result.facts = device.describe()
            self._note("open", "ok", str(facts.get("board") or facts.get("cpu") or "board not named"))
            if artifact is None:
                self._note("measure", "left out", "there is no artifact")
                return
            self.result.artifact = {"variant": artifact.variant, "provenance": artifact.provenance}
            self._session(device, artifact)
        except EdgeBenchError as error:
            self._note("measure", "failed", _in_words(error))
        finally:
            device.close()

    def _session(self, device: AgentDevice, artifact: Artifact) -> None:
        result, options = self.result, self._target.options
        settings = SessionSettings(self._backend.default_batch, options, self._target.launch)
        with device.session(artifact, settings) as session:
            result.runtime = session.facts().runtime
            outcome, place = self._kind.loaded(result.runtime)
            self._note(
                "load", outcome, f"{result.runtime.get('name')} {result.runtime.get('version')}, {place}"
            )
            check = golden.compare(session.golden(), artifact.golden, options)
            golden.require(check)
            difference = f"largest difference {check.max_abs_diff:.4g} (allowed {check.tolerance:.4g})"
            self._note("scores", "ok", difference)
            scene = shipped_scene(self._cache)
            passes = list(session.measure(MeasurePlan(scene, PASSES)))
            result.figures.update(asdict(session.facts().cold))
            steady_s = [scene_pass.image_ns / 1e9 for scene_pass in passes if scene_pass.phase == "steady"]
            result.figures["image_s"] = statistics.median(steady_s)
            result.figures["patch_ms"] = patch_ms = 1e3 * statistics.median(steady_s) / scene.patches
            for warning in session.facts().warnings:
                self._note("session", "warning", warning)
            self._note("measure", "ok", f"{patch_ms:.3f} ms a patch, one session of {PASSES} passes")

    def _say_inset(self, line: str) -> None:
        self._say(f"         {line}")

    def _note(self, name: str, outcome: Outcome, detail: str) -> None:
        self.result.steps.append(Step(name, outcome, detail))
        self._say(f"{outcome:<8} {name}: {detail}")


def _in_words(error: EdgeBenchError) -> str:
    return "; ".join(part for part in (error.what, error.why, error.fix) if part)
