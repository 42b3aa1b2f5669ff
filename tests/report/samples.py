"""Trials and verdicts made by hand, so that reports are tested without measuring anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from edgebench.judge.judged import Judged
from edgebench.judge.metrics import METRICS
from edgebench.judge.requirements.requirement import Requirement
from edgebench.judge.trial import Confusion, Estimate, EstimateKey, Rail, SceneOfTrial, Trial
from edgebench.judge.verdicts.verdict import Verdict, verdict_of
from edgebench.records.stored import ExperimentRecord, SceneRecord
from edgebench.report import sections
from edgebench.report.page import first_screen
from edgebench.report.renderers.terminal import print_first_screen, print_sections
from edgebench.results.load import StoredResults
from edgebench.stats.warnings import Caution, Flag

CLASSES = ("water", "ice", "vegetation", "bare", "cloud")
MS_A_PATCH = {
    (0.25, "fp32"): 0.58, (0.25, "fp16"): 0.68, (0.25, "int8"): 0.35,
    (0.5, "fp32"): 1.48, (0.5, "fp16"): 1.49, (0.5, "int8"): 0.91,
    (1.0, "fp32"): 5.8, (1.0, "fp16"): 5.6, (1.0, "int8"): 2.0,
}  # fmt: skip
RECORD = ExperimentRecord(
    id="0" * 32,
    name="made",
    created_utc="2025-03-01T12:00:00Z",
    edgebench_version="0.1.0",
    command=("edgebench", "run", "--device", "cpu"),
    config={},
    seed=1,
    sessions=3,
    passes=3,
    scene=SceneRecord(
        name="greenland",
        sha256="cd" * 32,
        height=896,
        width=1120,
        patch=224,
        rows=4,
        columns=5,
        labels=(),
        class_names=(),
    ),
    images=None,
    images_reason="",
    targets=(),
    trials=(),
    profiles=(),
    host={},
)
LIMITS = {"disco-realtime": 4.42, "disco-arctic": 71.7375, "disco-greenland": 270.0}

FIELDS = {field.name for field in fields(Trial)}
Meter = tuple[Rail, Mapping[str, Estimate]]


def interval(median: float, spread: float = 0.01, sessions: int = 3) -> Estimate:
    few = sessions < 3
    return Estimate(
        value=median,
        low=None if few else median * (1 - spread),
        high=None if few else median * (1 + spread),
        sessions=(median,) * sessions,
        n=3 * sessions,
    )


def accuracy(k: int, n: int = 1000) -> Estimate:
    return Estimate(k / n, k / n - 0.013, k / n + 0.011, n=n, final=True, notes=(f"{k} of {n}",))


def confusion(k: int, n: int = 1000, images: Literal["images", "scene"] = "images") -> Confusion:
    """Counts of five classes; wrong ones are clouds that were taken for ice."""
    counts = [[0] * 5 for _ in range(5)]
    for label in range(5):
        counts[label][label] = k // 5 + (1 if label < k % 5 else 0)
    right = tuple(counts[label][label] for label in range(5))
    counts[4][1] += n - k
    totals = tuple(map(sum, counts))
    return Confusion(images, CLASSES, totals, right, tuple(map(tuple, counts)), ((4, 1, n - k),))


def summary(depth: float = 0.25, precision: str = "int8", **changes: Any) -> Trial:
    """A done trial. `changes` are as those of `changed`."""
    infer_s = 0.4 * MS_A_PATCH.get((depth, precision), 1.0)
    image_s = infer_s + 0.09
    is_fp32 = precision == "fp32"
    right = 954 if precision == "int8" else 952
    trial = Trial(
        key=f"{abs(hash_of(depth, precision)):016x}"[:16],
        target="cpu",
        variant=f"mobilenet_v1-{depth}-{precision}",
        depth_multiplier=depth,
        precision=precision,
        batch=1,
        confusions=(confusion(right), confusion(373, 400, "scene")),
        scene=SceneOfTrial(
            "greenland, 4480 x 4480 pixels, 400 patches of 224 x 224", patches=400, covered=1.0
        ),
    )
    estimates = {
        "image_s": interval(image_s, 0.017),
        "infer_s": interval(infer_s, 0.012),
        "stages_ms": {"patchify": 0.05, "preprocess": 0.12, "infer": infer_s / 0.4},
        "import_s": 0.2,
        "load_s": 0.012,
        "first_inference_s": 0.004,
        "first_pass_s": image_s * 1.1,
        "accuracy": accuracy(right),
        "scene_accuracy": accuracy(373, 400),
        "agreement": None if is_fp32 else Estimate.exact(0.996, n=1000, notes=("996 of 1000",)),
        "memory_bytes": 61_234_567.0,
        "artifact_bytes": Estimate.exact(250_000 * depth * 4),
        "mass_g": Estimate(reason="nobody gave the target's mass"),
        "size_mm": Estimate(reason="nobody gave the target's size"),
    }
    values = {
        f"{name}_values": tuple((time_s, time_s * 1.001, time_s * 0.999) for _ in range(3))
        for name, time_s in (("image_s", image_s), ("infer_s", infer_s))
    }
    return changed(trial, **{**estimates, **values, "power": (), **changes})


def changed(trial: Trial, **changes: Any) -> Trial:
    """The trial with other fields, estimates, values (`image_s_values`) or meters (`power`).

    An estimate may be a number; None removes it with its values. `stages_ms` are numbers by stage.
    """
    estimates, values, rails = dict(trial.estimates), dict(trial.values), trial.rails
    for name, change in changes.items():
        if name == "power":
            rails = tuple(rail for rail, _ in change)
            metered = {metric for _, by_metric in change for metric in by_metric} or {
                key.metric for key in estimates if key.rail
            }
            estimates = {key: estimate for key, estimate in estimates.items() if key.metric not in metered}
            for rail, by_metric in change:
                for metric, estimate in by_metric.items():
                    estimates[METRICS[metric].key(rail=rail.name)] = replace(estimate, basis=rail.scope)
            if not change:
                estimates[METRICS["power_peak_w"].key()] = Estimate(reason="no meter")
        elif name.endswith("_values"):
            key = METRICS[name.removesuffix("_values")].key()
            values = {other: kept for other, kept in values.items() if other != key}
            if change:
                values[key] = change
        elif name in METRICS:
            estimates = {key: estimate for key, estimate in estimates.items() if key.metric != name}
            values = {key: kept for key, kept in values.items() if key.metric != name or change is not None}
            estimates |= _estimates(name, change)
    other = {name: change for name, change in changes.items() if name in FIELDS}
    return replace(trial, **{"estimates": estimates, "values": values, "rails": rails, **other})


def _estimates(metric: str, change: Any) -> dict[EstimateKey, Estimate]:
    if isinstance(change, Mapping):
        return {METRICS[metric].key(stage=stage): Estimate(number) for stage, number in change.items()}
    if change is None:
        return {}
    estimate = change if isinstance(change, Estimate) else Estimate(float(change), n=3)
    return {METRICS[metric].key(): estimate}


def hash_of(depth: float, precision: str) -> int:
    return int.from_bytes(f"{depth}{precision}".encode().ljust(8, b".")[:8], "big")


def nine(**changes: Any) -> list[Trial]:
    return [summary(depth, precision, **changes) for depth, precision in MS_A_PATCH]


def without_figures(
    depth: float,
    precision: str,
    status: Literal["failed", "unsupported", "not_run"],
    reason: str,
    **changes: Any,
) -> Trial:
    trial = summary(depth, precision, status=status, reason=reason, **changes)
    return replace(trial, estimates={}, values={}, confusions=())


def said(text: str, count: int = 3, of: int = 3) -> Caution:
    """A warning that a device gives itself."""
    return Caution(Flag.SAID, count, of, what=text)


def power(*, meter: str = "rapl:", channel: str = "package-0", scope: Any = "chip", **changes: Any) -> Meter:
    """A meter's rail with its estimates by metric; `changes` are fields of Rail or estimates."""
    rail = Rail(
        f"{meter.removesuffix(':')} {channel}",
        meter,
        channel,
        scope,
        rate_hz=50.0,
        samples=420,
        effective_hz=50.0,
        window_s=9.0,
    )
    numbers: dict[str, Any] = {
        "power_mean_w": 12.4, "power_peak_w": 14.1, "power_idle_w": 3.2, "energy_j": 4.3, "net_energy_j": 3.1
    }  # fmt: skip
    own = {name: change for name, change in changes.items() if name not in METRICS}
    numbers |= {name: change for name, change in changes.items() if name in METRICS}
    estimates = {
        name: number if isinstance(number, Estimate) else Estimate(number) for name, number in numbers.items()
    }
    return replace(rail, **own), estimates


REQUIREMENTS = tuple(
    Requirement.model_validate(table)
    for table in (
        {"name": "latency", "quantity": "image_s", "limit": 4.42},
        {"name": "power_peak_w", "quantity": "power_peak_w", "limit": 5.0},
        {"name": "mass_g", "quantity": "mass_g", "limit": 150.0},
        {"name": "size_mm", "quantity": "size_mm", "limit": (10.0, 70.0, 80.0)},
    )
)


def verdicts(trials: list[Trial], profiles: tuple[str, ...] = tuple(LIMITS)) -> list[Verdict]:
    """Latency, power, mass and size of each trial by each profile."""
    return [
        verdict
        for trial in trials
        for profile in profiles
        for verdict in (latency(trial, profile), *without_value(trial, profile))
    ]


def latency(trial: Trial, profile: str) -> Verdict:
    requirement = REQUIREMENTS[0].model_copy(update={"limit": LIMITS.get(profile, 4.42)})
    # Without values the interval is the one that was made.
    return replace(verdict_of(replace(trial, values={}), requirement), profile=profile)


def without_value(trial: Trial, profile: str) -> list[Verdict]:
    return [replace(verdict_of(trial, requirement), profile=profile) for requirement in REQUIREMENTS[1:]]


def judged(trials: list[Trial], verdicts: list[Verdict], results: StoredResults | None = None) -> Judged:
    """A judged result of these trials."""
    return Judged(results or StoredResults(Path("results/made"), RECORD), (), trials, verdicts)


def print_result(
    console: Console,
    trials: list[Trial],
    verdicts: list[Verdict],
    *,
    details: bool = False,
) -> None:
    """Print the end of a run; with `details` what --details adds."""
    shown = judged(trials, verdicts)
    screen = first_screen(shown)
    print_first_screen(console, screen, details=details)
    if details:
        print_sections(console, sections.details(shown, [], [], screen.matrix))
