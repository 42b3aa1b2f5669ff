"""Trials and verdicts made by hand, so that reports are tested without measuring anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from rich.console import Console

from edgebench.judge.answers import answers
from edgebench.judge.judged import Judged
from edgebench.judge.trial_summary import Accuracy, Agreement, PowerFigure, TrialSummary, Verdict
from edgebench.records.stored import ExperimentRecord, SceneRecord
from edgebench.report.page import front
from edgebench.report.sections import details as of_terminal
from edgebench.report.terminal import print_front, print_sections
from edgebench.results.load import StoredResults
from edgebench.stats.interval import Interval
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


def interval(median: float, spread: float = 0.01, sessions: int = 3) -> Interval:
    few = sessions < 3
    return Interval(
        median=median,
        low=None if few else median * (1 - spread),
        high=None if few else median * (1 + spread),
        sessions=sessions,
        n=3 * sessions,
    )


def accuracy(k: int, n: int = 1000) -> Accuracy:
    wrong = n - k
    confusion = [[0] * 5 for _ in range(5)]
    for label in range(5):
        confusion[label][label] = k // 5 + (1 if label < k % 5 else 0)
    confusion[4][1] += wrong
    return Accuracy(
        k, n, k / n - 0.013, k / n + 0.011, tuple(map(tuple, confusion)), CLASSES, overlapping=True
    )


def summary(depth: float = 0.25, precision: str = "int8", **changes: Any) -> TrialSummary:
    infer_s = 0.4 * MS_A_PATCH.get((depth, precision), 1.0)
    image_s = infer_s + 0.09
    trial_summary = TrialSummary(
        key=f"{abs(hash_of(depth, precision)):016x}"[:16],
        target="cpu",
        variant=f"mobilenet_v1-{depth}-{precision}",
        depth_multiplier=depth,
        precision=precision,
        batch=1,
        status="done",
        reason="",
        image_s=interval(image_s, 0.017),
        infer_s=interval(infer_s, 0.012),
        stages_ms={"patchify": 0.05, "preprocess": 0.12, "infer": infer_s / 0.4},
        cold={"import_s": 0.2, "load_s": 0.012, "first_inference_s": 0.004, "first_pass_s": image_s * 1.1},
        accuracy=accuracy(954 if precision == "int8" else 952),
        accuracy_reason="",
        scene_accuracy=accuracy(373, 400),
        agreement=None if precision == "fp32" else Agreement(996, 1000, 3, 1, 0.625),
        power=None,
        power_reason="no meter",
        memory_bytes=61_234_567,
        artifact_bytes=int(250_000 * depth * 4),
        mass_g=None,
        size_mm=None,
        image_s_values=tuple((image_s, image_s * 1.001, image_s * 0.999) for _ in range(3)),
        infer_s_values=tuple((infer_s, infer_s * 1.001, infer_s * 0.999) for _ in range(3)),
        workers=({"worker": 0},),
        timed="greenland, 4480 x 4480 pixels, 400 patches of 224 x 224",
        scene_covered=1.0,
    )
    return replace(trial_summary, **changes)


def hash_of(depth: float, precision: str) -> int:
    return int.from_bytes(f"{depth}{precision}".encode().ljust(8, b".")[:8], "big")


def nine(**changes: Any) -> list[TrialSummary]:
    return [summary(depth, precision, **changes) for depth, precision in MS_A_PATCH]


def without_figures(
    depth: float,
    precision: str,
    status: Literal["failed", "unsupported", "not_run"],
    reason: str,
    **changes: Any,
) -> TrialSummary:
    return summary(
        depth, precision, status=status, reason=reason, image_s=None, infer_s=None, stages_ms={}, cold={},
        accuracy=None, accuracy_reason=reason, scene_accuracy=None, agreement=None, power=None,
        power_reason=reason, memory_bytes=None, image_s_values=(), infer_s_values=(), **changes,
    )  # fmt: skip


def said(text: str, count: int = 3, of: int = 3) -> Caution:
    """What a device says of its own figures."""
    return Caution(Flag.SAID, count, of, what=text)


def power() -> PowerFigure:
    return PowerFigure("rapl:", "package-0", "chip", True, 50.0, 420, 12.4, 14.1, 3.2, 4.3, 3.1)


def verdicts(summaries: list[TrialSummary], profiles: tuple[str, ...] = tuple(LIMITS)) -> list[Verdict]:
    return [
        verdict
        for trial_summary in summaries
        for profile in profiles
        for verdict in (latency(trial_summary, profile), *without_value(trial_summary, profile))
    ]


def latency(trial_summary: TrialSummary, profile: str) -> Verdict:
    limit = LIMITS.get(profile, 4.42)
    figure = trial_summary.image_s
    word: Literal["pass", "fail", "inconclusive", "unknown"]
    if figure is None:
        word, reason = "unknown", f"there is no image_s: {trial_summary.reason}"
    elif figure.low is None or figure.high is None:
        word, reason = "inconclusive", "2 sessions are too few for an interval"
    elif figure.high <= limit:
        word, reason = "pass", "the whole interval lies below the limit"
    else:
        word, reason = "fail", "the whole interval lies above the limit"
    return Verdict(
        trial=trial_summary.key,
        profile=profile,
        requirement="latency",
        quantity="image_s",
        statistic="median",
        limit=limit,
        unit="s",
        value=figure.median if figure else None,
        low=figure.low if figure else None,
        high=figure.high if figure else None,
        verdict=word,
        margin=limit - figure.median if figure else None,
        reason=reason,
    )


def without_value(trial_summary: TrialSummary, profile: str) -> list[Verdict]:
    return [
        Verdict(
            trial_summary.key,
            profile,
            name,
            name,
            statistic,
            limit,
            unit,
            None,
            None,
            None,
            "unknown",
            None,
            reason,
        )
        for name, statistic, limit, unit, reason in (
            ("power_peak_w", "max", 5.0, "W", "no meter"),
            ("mass_g", "declared", 150.0, "g", "nobody gave the target's mass"),
            ("size_mm", "declared", (10.0, 70.0, 80.0), "mm", "nobody gave the target's size"),
        )
    ]


def judged(
    summaries: list[TrialSummary], verdicts: list[Verdict], results: StoredResults | None = None
) -> Judged:
    """A judged result of these trials."""
    return Judged(results or StoredResults(Path("results/made"), RECORD), (), summaries, verdicts)


def print_result(
    console: Console,
    summaries: list[TrialSummary],
    verdicts: list[Verdict],
    *,
    details: bool = False,
) -> None:
    """Print what a run ends with; with `details` what --details adds."""
    shown, beyond = judged(summaries, verdicts), answers(summaries, (), verdicts)
    first = front(shown, beyond.decisions)
    print_front(console, first, details=details)
    if details:
        print_sections(console, of_terminal(shown, beyond, [], first.matrix))
