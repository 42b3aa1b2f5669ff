"""What `edgebench doctor --try` does: try one device step by step, and write a report to send.

The steps: check, prepare, open, load, compare scores, time three passes. Each says how it went, or why it
failed.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, TypeVar

from edgebench.errors import EdgeBenchError
from edgebench.link.agent_backend import AgentBackend
from edgebench.link.agent_device import AgentDevice
from edgebench.link.inspection import check_target
from edgebench.prepare.cache import Cache
from edgebench.prepare.image_sets import shipped_scene
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Target
from edgebench.records.values import Json, Progress, Variant
from edgebench.report.environment import flat
from edgebench.report.words import counted
from edgebench.results.redaction import PrivateNames
from edgebench.run.measuring import session as golden
from edgebench.run.trials import default_precisions
from edgebench.version import __version__

T = TypeVar("T")
Outcome = Literal["ok", "warning", "failed", "left out"]

PASSES = 3
DEPTH = 0.25
BOARD = ("board", "soc", "cpu", "cores", "memory_bytes", "os", "kernel", "machine", "python", "packages")
SEEN = (
    *("usb_accelerators", "pcie_accelerators", "libraries", "openvino"),
    *("l4t", "gpu", "nvidia_libraries", "power_mode", "temperatures_c", "governor"),
)
FIGURES = {
    "import_s": "importing the runtime, s",
    "load_s": "loading the model, s",
    "first_inference_s": "the first inference, s",
    "first_pass_s": "the first pass, s",
    "start_s": "from the process's start to the first result, s",
    "image_s": "a steady pass of 400 patches, s",
    "patch_ms": "a patch in a steady pass, ms",
}


@dataclass(frozen=True)
class Step:
    """One step: `detail` says what was seen, or why it failed and what to do."""

    name: str
    outcome: Outcome
    detail: str


@dataclass
class Tryout:
    """The steps of one device and what they found; `progress` gets a line for each step."""

    target: Target
    progress: Progress
    steps: list[Step] = field(default_factory=list)
    facts: Mapping[str, Json] = field(default_factory=dict)
    runtime: Mapping[str, Json] = field(default_factory=dict)
    artifact: Mapping[str, Json] = field(default_factory=dict)
    figures: dict[str, float | None] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        """The failed steps, one line each."""
        return [f"{step.name}: {step.detail}" for step in self.steps if step.outcome == "failed"]

    def note(self, name: str, outcome: Outcome, detail: str) -> None:
        """Add a step, and show it."""
        self.steps.append(Step(name, outcome, detail))
        self.progress(f"{outcome:<8} {name}: {detail}")

    def markdown(self) -> str:
        """The report, without the names of people and machines."""
        lines = [f"# {self.target.device} tried out", "", f"EdgeBench {__version__}"]
        rows = [(step.name, step.outcome, step.detail) for step in self.steps]
        lines += _section("Steps", ("step", "outcome", "what was seen"), rows)
        if self.figures:
            values = {meaning: self.figures.get(name) for name, meaning in FIGURES.items()}
            figures = [(what, "not reached" if s is None else f"{s:.4g}") for what, s in values.items()]
            lines += _section("One short session", ("what", "figure"), figures)
            lines += ["", "This is a trial, not a measurement: `edgebench run` measures."]
        tables: dict[str, Mapping[str, Json]] = {
            "Board": {name: self.facts.get(name) for name in BOARD} if self.facts else {},
            "What the board sees": {name: self.facts.get(name) for name in SEEN} if self.facts else {},
            "Runtime": self.runtime,
            "Model": self.artifact,
            "Options": self.target.options,
        }
        for title, facts in tables.items():
            if facts:
                lines += _section(title, ("what", "value"), list(flat(facts)))
        if self.missing:
            lines += ["", "## What is missing", "", *(f"- {_cell(line)}" for line in self.missing)]
        private_names = PrivateNames.of([self.target.host], private=self.facts.get("private"))
        return private_names.text("\n".join(lines)) + "\n"


def try_out(target: Target, backend: AgentBackend, cache: Cache, progress: Progress) -> Tryout:
    """Carry out all steps in order; a failed one leaves out those that need it, and nothing is raised."""
    result = Tryout(target, progress)
    for finding in check_target(target, backend):
        outcome: Outcome = "failed" if finding.level == "error" else finding.level
        fix = f"; {finding.fix}" if finding.fix else ""
        result.note(f"check {finding.subject}", outcome, f"{finding.message}{fix}")
    artifact = _attempt(result, "prepare", lambda: _prepared(result, backend, cache))
    device = _attempt(result, "open", lambda: backend.open(target, needs_runtime=False))
    if device is not None:
        try:
            _attempt(result, "measure", lambda: _measure(result, backend, device, artifact, cache))
        finally:
            device.close()
    return result


def _attempt(result: Tryout, name: str, step: Callable[[], T]) -> T | None:
    try:
        return step()
    except EdgeBenchError as error:
        result.note(name, "failed", error.one_line)
        return None


def _prepared(result: Tryout, backend: AgentBackend, cache: Cache) -> Artifact:
    variant = Variant(DEPTH, default_precisions(backend)[0])
    request = PrepareRequest(variant, backend.default_batch, result.target.options)
    [artifact] = backend.prepare([request], cache, lambda line: result.progress(f"         {line}"))
    if not isinstance(artifact, Artifact):
        raise artifact
    files = [artifact.path, *(companion.path for companion in artifact.companions.values())]
    size_mb = sum(file.stat().st_size for file in files) / 1e6
    result.artifact = {"variant": artifact.variant, "provenance": artifact.provenance}
    result.note("prepare", "ok", f"{artifact.variant}: {counted(len(files), 'file')} of {size_mb:.1f} MB")
    return artifact


def _measure(
    result: Tryout, backend: AgentBackend, device: AgentDevice, artifact: Artifact | None, cache: Cache
) -> None:
    facts = result.facts = device.describe()
    result.note("open", "ok", str(facts.get("board") or facts.get("cpu") or "board not named"))
    if artifact is None:
        result.note("measure", "left out", "there is no artifact")
        return
    options = result.target.options
    settings = SessionSettings(backend.default_batch, options, result.target.launch)
    with device.session(artifact, settings) as session:
        runtime = result.runtime = session.facts().runtime
        place = runtime.get("runs_on") or runtime.get("gpu") or runtime.get("device")
        on_place = f" on {place}" if place else ""
        result.note("load", "ok", f"{runtime.get('name')} {runtime.get('version')}{on_place}")
        check = golden.compare(session.golden(), artifact.golden, options)
        golden.require(check)
        difference = f"largest difference {check.max_abs_diff:.4g} (allowed {check.tolerance:.4g})"
        result.note("scores", "ok", difference)
        scene = shipped_scene(cache)
        passes = list(session.measure(MeasurePlan(scene, PASSES)))
        image_s = statistics.median(one.image_ns / 1e9 for one in passes if one.phase == "steady")
        patch_ms = 1e3 * image_s / scene.patches
        result.figures.update(asdict(session.facts().cold), image_s=image_s, patch_ms=patch_ms)
        for warning in session.facts().warnings:
            result.note("session", "warning", warning)
        result.note("measure", "ok", f"{patch_ms:.3f} ms a patch, one session of {PASSES} passes")


def _section(title: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    table = [heads, ("---",) * len(heads), *rows]
    return ["", f"## {title}", "", *(f"| {' | '.join(map(_cell, row))} |" for row in table)]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
