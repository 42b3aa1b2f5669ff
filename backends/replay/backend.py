"""The replay device: what was measured elsewhere, or written down, through the real agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from edgebench.cache.objects import Cache
from edgebench.contract import BackendOptions
from edgebench.errors import EdgeBenchError, UnsupportedError
from edgebench.link.agent_backend import AgentBackend
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.pictures import ImageSet, Pictures
from edgebench.vocabulary.preparation import PrepareRequest
from edgebench.vocabulary.session import MeasurePlan
from edgebench.vocabulary.target import Target
from edgebench.vocabulary.values import Json, Progress
from edgebench.vocabulary.variant import Variant

from .host_player import ReplayDevice
from .script import RECIPE
from .source import Source, SourceOptions, open_source


class ReplayOptions(BackendOptions):
    """`--set` of the replay."""

    source: str = Field(
        default="demo",
        min_length=1,
        max_length=4096,
        description="a result folder, a scenario's .toml file, or the name of a shipped scenario",
    )
    target: str | None = Field(
        default=None, max_length=200, description="which target of a result that has several"
    )
    seed: int | None = Field(
        default=None, ge=0, lt=1 << 63, description="of a scenario's draws, in place of its own"
    )


class ReplayBackend(AgentBackend):
    """Measures nothing: same source, same figures, bit for bit."""

    name = "replay"
    description = "plays a stored result or a scenario; measures nothing"
    precisions = ("fp32", "fp16", "int8")
    options_model = ReplayOptions
    takes_host = False
    monitors = ("replay:telemetry",)
    own_clock = True
    device_type = ReplayDevice

    def __init__(self) -> None:
        self._sources: dict[SourceOptions, Source] = {}

    def _source(self, options: Mapping[str, Json]) -> Source:
        source_options = SourceOptions.of(options)
        if source_options not in self._sources:
            self._sources[source_options] = open_source(source_options)
        return self._sources[source_options]

    def offers(self, options: Mapping[str, Json]) -> tuple[Variant, ...]:
        """Those of the source."""
        return self._source(options).variants()

    def concurrency(self, options: Mapping[str, Json]) -> int:
        """The source's, whose stamps overlap as they did."""
        return self._source(options).concurrency()

    def pictures(self, options: Mapping[str, Json], cache: Cache) -> Pictures:
        """Stand-ins with the source's number of patches and its labels."""
        return self._source(options).pictures(cache)

    def check_plan(self, target: Target, plan: MeasurePlan, images: ImageSet | None, sessions: int) -> None:
        """Nothing is played that the source does not have."""
        self._source(target.options).check_plan(plan, images, sessions)

    def prepare_inputs(self, request: PrepareRequest) -> dict[str, Json]:
        """The source's content, the variant and the batch; UsageError for a batch that it does not have."""
        source = self._source(request.options)
        source.check_batch(request.variant, request.batch)
        return {
            "recipe": RECIPE,
            "source_sha256": source.sha256,
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
        """Whether there is something to play, and a word that it is no measurement."""
        try:
            name = self._source(target.options).name
        except EdgeBenchError as error:
            return [Finding("error", "replay", str(error).splitlines()[0], error.fix)]
        return [
            Finding(
                "ok",
                "replay",
                f"replayed from {name}: no figure is measured here",
                "measure with another --device",
            )
        ]
