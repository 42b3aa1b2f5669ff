"""The steps of the self-test: look, prepare, load, compare, time. Each tells how it went, and why not."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from edgebench import __version__
from edgebench.cache.objects import Cache
from edgebench.data.shipped import shipped_scene
from edgebench.errors import EdgeBenchError
from edgebench.link.agent_backend import AgentBackend
from edgebench.link.agent_device import AgentDevice
from edgebench.link.inspection import check_target
from edgebench.measure import golden
from edgebench.store.redaction import PrivateNames
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.preparation import PrepareRequest
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json
from edgebench.vocabulary.variant import Variant

VARIANT = Variant(0.25, "int8")
PASSES = 3
Say = Callable[[str], None]


@dataclass(frozen=True)
class Step:
    """One step: `detail` says what was seen, or why it failed and what to do."""

    name: str
    outcome: Literal["ok", "warning", "failed", "left out"]
    detail: str


@dataclass
class Result:
    """What came of it; `missing` is empty where nothing failed."""

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


def carry_out(backend: AgentBackend, target: Target, cache: Cache, say: Say) -> Result:
    """All steps in order; one that fails leaves out those that need it, and nothing is raised."""
    result = Result(target)

    def note(name: str, outcome: Literal["ok", "warning", "failed", "left out"], detail: str) -> None:
        result.steps.append(Step(name, outcome, detail))
        say(f"{outcome:<8} {name}: {detail}")

    for finding in check_target(target, backend):
        outcome: Literal["ok", "warning", "failed"] = "failed" if finding.level == "error" else finding.level
        fix = f"; {finding.fix}" if finding.fix else ""
        note(f"check {finding.subject}", outcome, f"{finding.message}{fix}")
    artifact = _prepared(backend, target, cache, note, say)
    _described(backend, target, artifact, cache, result, note)
    return result


Note = Callable[[str, Literal["ok", "warning", "failed", "left out"], str], None]


def _prepared(backend: AgentBackend, target: Target, cache: Cache, note: Note, say: Say) -> Artifact | None:
    request = PrepareRequest(VARIANT, 1, target.options)
    try:
        [artifact] = backend.prepare([request], cache, lambda line: say(f"         {line}"))
    except EdgeBenchError as error:
        note("prepare", "failed", _in_words(error))
        return None
    if not isinstance(artifact, Artifact):
        note("prepare", "failed", _in_words(artifact))
        return None
    operations = artifact.provenance.get("operations", {})
    on_cpu = sum(dict(operations.get("cpu", {})).values())
    parts = operations.get("edgetpu", 0)
    placement = (
        f"{parts} part{'' if parts == 1 else 's'} on the Edge TPU, "
        f"{on_cpu} operation{'' if on_cpu == 1 else 's'} on the processor"
    )
    note("prepare", "ok" if operations.get("edgetpu") else "warning", f"{artifact.variant}: {placement}")
    return artifact


def _described(
    backend: AgentBackend, target: Target, artifact: Artifact | None, cache: Cache, result: Result, note: Note
) -> None:
    try:
        device = backend.open(target)
    except EdgeBenchError as error:
        note("open", "failed", _in_words(error))
        return
    try:
        result.facts = device.describe()
        note("open", "ok", str(result.facts.get("board") or result.facts.get("cpu") or "board not named"))
        if artifact is None:
            note("measure", "left out", "there is no compiled model")
            return
        result.artifact = {"variant": artifact.variant, "provenance": artifact.provenance}
        _measured(device, artifact, target, cache, result, note)
    except EdgeBenchError as error:
        note("measure", "failed", _in_words(error))
    finally:
        device.close()


def _measured(
    device: AgentDevice, artifact: Artifact, target: Target, cache: Cache, result: Result, note: Note
) -> None:
    settings = SessionSettings(1, target.options, target.launch)
    with device.session(artifact, settings) as session:
        result.runtime = session.facts().runtime
        runs_on = result.runtime.get("runs_on")
        runtime = f"{result.runtime.get('name')} {result.runtime.get('version')}, on the {runs_on}"
        note("load", "ok" if runs_on == "edgetpu" else "warning", runtime)
        check = golden.compare(session.golden(), artifact.golden, target.options)
        golden.require(check)
        note("scores", "ok", f"largest difference {check.max_abs_diff:.4g} (allowed {check.tolerance:.4g})")
        scene = shipped_scene(cache)
        passes = list(session.measure(MeasurePlan(scene, PASSES)))
        result.figures.update(asdict(session.facts().cold))
        steady_s = [scene_pass.image_ns / 1e9 for scene_pass in passes if scene_pass.phase == "steady"]
        result.figures["image_s"] = statistics.median(steady_s)
        result.figures["patch_ms"] = 1e3 * statistics.median(steady_s) / scene.patches
        for warning in session.facts().warnings:
            note("session", "warning", warning)
        note("measure", "ok", f"{result.figures['patch_ms']:.3f} ms a patch, one session of {PASSES} passes")


def _in_words(error: EdgeBenchError) -> str:
    return "; ".join(part for part in (error.what, error.why, error.fix) if part)
