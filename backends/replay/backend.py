"""The replay device: a scenario, played through the real agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from edgebench.contract import BackendOptions
from edgebench.errors import EdgeBenchError, UnsupportedError
from edgebench.link.agent_backend import AgentBackend
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, PrepareRequest
from edgebench.records.session import MeasurePlan
from edgebench.records.target import Target
from edgebench.records.values import Finding, ImageSet, Json, Pictures, Progress, Variant

from .host_player import ReplayDevice
from .scenario_source import DEFAULT, RECIPE, ScenarioSource


class ReplayOptions(BackendOptions):
    """`--set` of the replay."""

    source: str = Field(
        default=DEFAULT,
        min_length=1,
        max_length=4096,
        description="a scenario's .toml file, or the name of a shipped scenario",
    )
    seed: int | None = Field(
        default=None, ge=0, lt=1 << 63, description="seed of the scenario's draws, in place of its own"
    )


class ReplayBackend(AgentBackend):
    """Measures nothing: same source, same figures, bit for bit."""

    name = "replay"
    description = "plays a scenario; measures nothing"
    precisions = ("fp32", "fp16", "int8")
    options_model = ReplayOptions
    takes_host = False
    monitors = ("replay:telemetry",)
    own_clock = True
    device_type = ReplayDevice

    def __init__(self) -> None:
        self._sources: dict[tuple[Json, Json], ScenarioSource] = {}

    def _source(self, options: Mapping[str, Json]) -> ScenarioSource:
        chosen = (options.get("source"), options.get("seed"))
        if chosen not in self._sources:
            self._sources[chosen] = ScenarioSource.of(options)
        return self._sources[chosen]

    def offers(self, options: Mapping[str, Json]) -> tuple[Variant, ...]:
        """Variants of the scenario."""
        return self._source(options).variants()

    def pictures(self, options: Mapping[str, Json], cache: Cache) -> Pictures:
        """Stand-ins with the scenario's number of patches and its labels."""
        return self._source(options).pictures(cache)

    def check_plan(self, target: Target, plan: MeasurePlan, images: ImageSet | None, sessions: int) -> None:
        """UsageError where the scenario lists fewer sessions or passes than the plan asks for."""
        self._source(target.options).check_plan(plan, sessions)

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Json]:
        """The scenario's content, the variant and the batch."""
        return {
            "recipe": RECIPE,
            "source_sha256": self._source(request.options).sha256,
            "seed": request.options.get("seed"),
            "variant": request.variant.name,
            "batch": request.batch,
        }

    def prepare(
        self, requests: Sequence[PrepareRequest], cache: Cache, progress: Progress
    ) -> list[Artifact | UnsupportedError]:
        """A script a request."""
        outcomes: list[Artifact | UnsupportedError] = []
        for request in requests:
            source = self._source(request.options)
            if request.variant not in source.variants():
                outcomes.append(UnsupportedError(f"{source.name} has no {request.variant.name}"))
                continue
            progress(f"preparing {request.variant.name} from {source.name}")
            outcomes.append(source.artifact(request.variant, request.batch, cache))
        return outcomes

    def check(self, target: Target) -> list[Finding]:
        """Find the scenario that is played."""
        try:
            name = self._source(target.options).name
        except EdgeBenchError as error:
            return [Finding("error", "replay", str(error).splitlines()[0], error.fix)]
        return [
            Finding(
                "ok",
                "replay",
                f"plays {name}",
                "to measure, name another --device",
            )
        ]
