"""SCENARIO.toml: what a replay plays, in words of the field, each bounded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from edgebench.errors import UsageError
from edgebench.files import read_toml
from edgebench.records.values import Variant
from edgebench.refusals import problem, refusal

MAX_VARIANTS = 64

Share = Annotated[float, Field(ge=0, le=1)]
Percent = Annotated[float, Field(ge=0, le=1000)]
Signed = Annotated[float, Field(ge=-100, le=1000)]
Seconds = Annotated[float, Field(gt=0, le=86_400)]
Bytes = Annotated[int, Field(gt=0, lt=1 << 50)]
Text = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]+$")]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=True)


class Sessions(_Table):
    """How sessions differ: by `sd_percent`; with two modes a share of them is slower by a gap."""

    distribution: Literal["normal", "t3", "exponential", "two-modes"] = "normal"
    sd_percent: Percent = 0.0
    share: Share = 0.3
    gap_percent: Percent = 5.0


class Passes(_Table):
    """How the steady passes of a session differ; `correlation` is that of neighbours (AR(1))."""

    distribution: Literal["normal", "t3", "exponential"] = "normal"
    sd_percent: Percent = 0.0
    correlation: Annotated[float, Field(ge=0, lt=1)] = 0.0
    drift_percent_per_pass: Signed = 0.0


class Warmup(_Table):
    """`batches` until steady, the first slower by the excess; or never steady."""

    batches: Annotated[int, Field(ge=0, le=1000)] = 0
    excess_percent: Percent = 50.0
    never_steady: bool = False


class Outliers(_Table):
    """Every n-th steady pass takes `factor` times as long; 0 for none."""

    every: Annotated[int, Field(ge=0, le=100_000)] = 0
    factor: Annotated[float, Field(gt=0, le=1000)] = 3.0


class ScenarioHeat(_Table):
    """From `from_s` of steady passes on: slower by the second, a lower clock, firmware's bits."""

    from_s: Annotated[float, Field(ge=0, le=86_400)] = 0.0
    percent_per_s: Percent = 0.0
    most_percent: Percent = 100.0
    clock_drop_percent: Annotated[float, Field(ge=0, le=100)] = 0.0
    throttle_flags: Annotated[int, Field(ge=0, lt=1 << 32)] = 0


class ScenarioInterference(_Table):
    """How often the worker is put off its cores, the share of its time that it waits for one, and for whom.

    `others_cores` is how many cores' worth of other work goes on; `steal_percent` the share of its cores'
    time that a hypervisor gives to others.
    """

    involuntary_per_s: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    waiting_percent: Annotated[float, Field(ge=0, le=100)] = 0.0
    others_cores: Annotated[float, Field(ge=0, le=1024)] = 0.0
    steal_percent: Annotated[float, Field(ge=0, le=99)] = 0.0


class Cold(_Table):
    """What happens once a session; absent where it is not said."""

    load_s: Seconds | None = None
    first_inference_s: Seconds | None = None


class ScenarioMemory(_Table):
    """Resident memory of the worker; absent where it is not said."""

    after_load_bytes: Bytes | None = None
    peak_bytes: Bytes | None = None


class Power(_Table):
    """What the meter `replay` sees: one rail, at rest and at work."""

    idle_w: Annotated[float, Field(ge=0, le=10_000)]
    active_w: Annotated[float, Field(ge=0, le=10_000)]
    noise_w: Annotated[float, Field(ge=0, le=1000)] = 0.0
    rate_hz: Annotated[float, Field(gt=0, le=1000)] = 50.0
    scope: Literal["chip", "module", "board", "usb", "wall"] = "board"
    rail: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,40}$")] = "board"


class Telemetry(_Table):
    """What the monitor sees during every session."""

    rate_hz: Annotated[float, Field(gt=0, le=100)] = 1.0
    cpu_clock_mhz: Annotated[float, Field(gt=0, le=100_000)] | None = None
    temperature_c: Annotated[float, Field(ge=-100, le=1000)] | None = None


class Windows(_Table):
    """Given instead of passes, as a microcontroller does: `inferences` of one patch each."""

    inferences: Annotated[int, Field(ge=1, le=1_000_000)] = 100


class Crash(_Table):
    """How a session ends: in a stage, and while measuring in pass 0 (the first), 1 (the warm-up) or later."""

    session: Annotated[int, Field(ge=0, le=999_999)] | Literal["every"]
    stage: Literal["load", "golden", "scene", "measure", "predict"] = "measure"
    kind: Literal["abort", "segfault", "exit", "hang", "raise", "out_of_memory", "golden_mismatch"] = "abort"
    in_pass: Annotated[int, Field(ge=0, le=1_000_000)] = Field(default=2, alias="pass")

    @model_validator(mode="after")
    def _golden_mismatch_in_golden(self) -> Crash:
        if self.kind == "golden_mismatch" and self.stage != "golden":
            raise ValueError('the kind golden_mismatch belongs to the stage "golden"')
        return self


class PatchMs(_Table):
    """Milliseconds a patch of each stage."""

    patchify: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    preprocess: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    infer: Annotated[float, Field(gt=0, le=1e6)]


class Play(_Table):
    """One variant: its time, as `image_s` (of the whole scene) or `patch_ms`, and whatever befalls it.

    `image_s` may be a list of sessions, each a list of its steady passes: then nothing of them is drawn.
    """

    image_s: (
        Seconds | Annotated[list[Annotated[list[Seconds], Field(min_length=1)]], Field(min_length=1)] | None
    ) = None
    patch_ms: PatchMs | None = None
    sessions: Sessions = Sessions()
    passes: Passes = Passes()
    warmup: Warmup = Warmup()
    windows: Windows | None = None
    outliers: Outliers = Outliers()
    heat: ScenarioHeat = ScenarioHeat()
    interference: ScenarioInterference = ScenarioInterference()
    cold: Cold = Cold()
    memory: ScenarioMemory = ScenarioMemory()
    artifact_bytes: Bytes = 1_000_000
    accuracy: Share = 1.0
    power: Power | None = None
    telemetry: Telemetry = Telemetry()
    crashes: Annotated[tuple[Crash, ...], Field(max_length=1000)] = ()
    unsupported: Text | None = None

    @model_validator(mode="after")
    def _one_time(self) -> Play:
        if (self.image_s is None) == (self.patch_ms is None):
            raise ValueError("give image_s or patch_ms, one of the two")
        if self.heat.clock_drop_percent and self.telemetry.cpu_clock_mhz is None:
            raise ValueError("heat.clock_drop_percent takes a telemetry.cpu_clock_mhz that can drop")
        return self

    def edges(self) -> tuple[float, float]:
        """Where patchify and preprocess end within a batch, as shares of it."""
        if self.patch_ms is None:
            return 0.04, 0.12
        stages_ms = self.patch_ms
        whole = stages_ms.patchify + stages_ms.preprocess + stages_ms.infer
        return stages_ms.patchify / whole, (stages_ms.patchify + stages_ms.preprocess) / whole

    def infos(self) -> dict[str, dict[str, Any]]:
        """The probes that this variant plays, by address: "" the meter, "telemetry" the monitor."""
        probes: dict[str, dict[str, Any]] = {}
        if self.power is not None:
            rail = {"name": self.power.rail, "quantity": "power", "unit": "W"}
            probes[""] = _info(self.power.rate_hz, self.power.scope, [rail])
        played = {
            "clock": self.telemetry.cpu_clock_mhz is not None,
            "temperature": self.telemetry.temperature_c is not None,
            "throttle": "heat" in self.model_fields_set,
            "interference": "interference" in self.model_fields_set,
        }
        channels = [
            {"name": name, "quantity": quantity, "unit": unit}
            for part, name, quantity, unit in _CHANNELS
            if played[part]
        ]
        if channels:
            probes["telemetry"] = _info(self.telemetry.rate_hz, "", channels)
        return probes


# Of the monitor: the part of a scenario that it is for, its name, quantity and unit.
_CHANNELS = (
    ("clock", "cpu_clock_max", "clock", "MHz"),
    ("clock", "cpu_clock_min", "clock", "MHz"),
    ("temperature", "temperature.0-cpu", "temperature", "C"),
    ("throttle", "throttle_flags", "throttle", "bits"),
    ("interference", "voluntary_switches", "context_switches", "switches"),
    ("interference", "involuntary_switches", "context_switches", "switches"),
    ("interference", "worker_running", "time", "ns"),
    ("interference", "worker_waiting", "time", "ns"),
    ("interference", "cores_busy", "time", "ns"),
    ("interference", "cores_stolen", "time", "ns"),
)


def _info(rate_hz: float, scope: str, channels: list[dict[str, str]]) -> dict[str, Any]:
    words = "as the scenario has it"
    return {"rate_hz": rate_hz, "resolution": words, "scope": scope, "channels": channels, "absent": {}}


class SceneTable(_Table):
    """The stand-in scene, in patches; another picture is given with --scene."""

    rows: Annotated[int, Field(ge=1, le=40)] = 2
    columns: Annotated[int, Field(ge=1, le=40)] = 3


class ImagesTable(_Table):
    """The stand-in images that accuracy is taken on; 0 for none."""

    n: Annotated[int, Field(ge=0, le=5000)] = 0


def _variant_name(name: str) -> str:
    try:
        Variant.parse(name)
    except UsageError as error:
        raise problem(error.what, error.fix) from error
    return name


class Scenario(_Table):
    """A whole scenario; `default` is what every variant has unless it says otherwise itself."""

    default: dict[str, Any] = {}
    schema_version: Literal[1]
    name: Text
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 7
    classes: Annotated[tuple[Text, ...], Field(min_length=2, max_length=100)] = (
        "water",
        "ice",
        "vegetation",
        "bare",
        "cloud",
    )
    scene: SceneTable = SceneTable()
    images: ImagesTable = ImagesTable()
    variants: Annotated[
        dict[Annotated[str, AfterValidator(_variant_name)], Play],
        Field(min_length=1, max_length=MAX_VARIANTS),
    ]

    @model_validator(mode="after")
    def _names(self) -> Scenario:
        if len(set(self.classes)) != len(self.classes):
            raise ValueError("two classes have the same name")
        return self


# SCENARIO.toml read: bounded, the default under each variant, errors with the key and what would do.


def read_scenario(path: Path) -> tuple[Scenario, str]:
    """A scenario and the SHA-256 of its file; UsageError, with the key that is wrong."""
    read = read_toml(path, "the scenario", fix="name another .toml file")
    return parse(read.tables, str(path)), hashlib.sha256(read.data).hexdigest()


def parse(tables: dict[str, Any], where: str) -> Scenario:
    """The scenario in these tables."""
    common, variants = tables.get("default", {}), tables.get("variants", {})
    merged = variants
    if isinstance(common, dict) and isinstance(variants, dict):
        merged = {
            name: _merged(common, own) if isinstance(own, dict) else own for name, own in variants.items()
        }
    document = {**tables, "variants": merged}
    try:
        return Scenario.model_validate(document)
    except ValidationError as error:
        refused = refusal(error, document, Scenario)
        place = refused.place
        if len(place) > 2 and place[2] in common and not _holds(variants, place[1:]):
            refused = replace(refused, place=("default", *place[2:]))
        fix = refused.fix or "see backends/replay/README.md for every key"
        raise UsageError(f"{where}: {refused.sentence()[:500]}", fix=fix) from error


def _merged(common: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """The variant's own over the default, table by table."""
    # One way to say how long it takes replaces the other.
    times = {"image_s", "patch_ms"}
    kept = {key: value for key, value in common.items() if not (key in times and times & own.keys())}
    both = {
        key: _merged(kept[key], value)
        if isinstance(value, dict) and isinstance(kept.get(key), dict)
        else value
        for key, value in own.items()
    }
    return {**kept, **both}


def _holds(tables: Any, place: Sequence[int | str]) -> bool:
    for part in place:
        if isinstance(tables, list):
            tables = dict(enumerate(tables))
        if not isinstance(tables, Mapping) or part not in tables:
            return False
        tables = tables[part]
    return True
