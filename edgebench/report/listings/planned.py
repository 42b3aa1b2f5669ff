"""Listing of a dry run: the trials, their sessions and the known time."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console

from edgebench.records.values import Scene
from edgebench.report.renderers.blocks import Column, Notes, Table
from edgebench.report.renderers.terminal import print_blocks
from edgebench.report.words import SCHEMA_VERSION, counted
from edgebench.run.forecast import TrialForecast, run_seconds, run_text, warnings_of
from edgebench.run.meters import builds_on_board, gives_windows, idle_window_s, least_steady_s
from edgebench.run.setting import clock_text
from edgebench.run.trials import Plan
from edgebench.stats.intervals import EARLY_MARGIN, SHAPE_SESSIONS
from edgebench.texts import duration_text, share_text


def print_planned(console: Console, plan: Plan, forecasts: Sequence[TrialForecast]) -> None:
    """Print the trials as a table and the whole run below it; nothing is wider than the console."""
    columns: dict[str, Callable[[TrialForecast], str]] = {
        "target": lambda forecast: forecast.trial.target.name,
        "variant": lambda forecast: forecast.trial.variant.name,
        "batch": lambda forecast: str(forecast.trial.batch),
        "in flight": lambda forecast: str(forecast.trial.concurrency),
        "time": _time,
        "key": lambda forecast: forecast.trial.key,
    }
    if all(forecast.trial.concurrency == 1 for forecast in forecasts):
        del columns["in flight"]
    headings = tuple(Column(heading, figures=heading not in ("target", "variant")) for heading in columns)
    rows = tuple(tuple(text_of(forecast) for text_of in columns.values()) for forecast in forecasts)
    print_blocks(console, [Table("trials", headings, rows), Notes.of(_notes(plan, forecasts))])


def planned_json(plan: Plan, forecasts: Sequence[TrialForecast]) -> str:
    """The same as one JSON document, version 1."""
    trials = [
        {
            "key": forecast.trial.key,
            "target": forecast.trial.target.name,
            "variant": forecast.trial.variant.name,
            "batch": forecast.trial.batch,
            "concurrency": forecast.trial.concurrency,
            "settings": dict(forecast.trial.target.settings),
            "sessions": plan.sessions,
            "estimated_s": _finite(forecast.seconds),
            "estimated_pass_s": forecast.pass_s,
            "stated_session_s": forecast.stated and forecast.stated.session_s,
            "stated_images_s": forecast.stated and forecast.stated.images_s,
            "passes": plan.passes_of(forecast.trial),
            "patches": forecast.trial.patches,
            "images": forecast.images,
            "idle_window_s": idle_window_s(forecast.trial.target),
            "least_steady_s": least_steady_s(forecast.trial.target),
            "builds_on_board": builds_on_board(forecast.trial.target),
        }
        for forecast in forecasts
    ]
    names = ("sessions", "passes", "period_s", "sustained_s", "target_ci", "decide", "max_time_s")
    summary: dict[str, Any] = {name: getattr(plan, name) for name in names}
    summary["estimated_s"] = _finite(run_seconds(plan, forecasts))
    return json.dumps({"schema_version": SCHEMA_VERSION, "plan": summary, "trials": trials}, indent=2)


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def _time(forecast: TrialForecast) -> str:
    return clock_text(forecast.seconds) if math.isfinite(forecast.seconds) else "unknown"


def _notes(plan: Plan, forecasts: Sequence[TrialForecast]) -> list[str]:
    trials, sessions = counted(len(forecasts), "trial"), counted(plan.sessions, "session")
    prefix = "at most " if plan.adaptive else ""
    notes = [
        f"{trials}, {prefix}{sessions} of {_steady(plan)} each, {_covered_patches(plan)}",
        run_text(len(forecasts) * plan.sessions, run_seconds(plan, forecasts), plan),
    ]
    if plan.max_time_s is not None:
        notes.append(f"no session starts after {duration_text(plan.max_time_s)} of measuring")
    if plan.target_ci is not None:
        latency = "infer_s" if all(gives_windows(trial.target) for trial in plan.trials) else "image_s"
        width = f"a half-width of {share_text(plan.target_ci)} of {latency}"
        notes.append(f"a trial ends at {width}, from {SHAPE_SESSIONS} sessions on")
    if plan.decide:
        notes.append(
            "a trial ends when every verdict that can be settled is settled, "
            f"from {plan.min_sessions} sessions on; before {SHAPE_SESSIONS} only with margins above "
            f"{share_text(EARLY_MARGIN)} of the limits"
        )
    return [*notes, *warnings_of(plan, forecasts)]


def _steady(plan: Plan) -> str:
    """Steady part of a session in words."""
    often = "" if plan.period_s is None else f", one every {plan.period_s:g} s,"
    if plan.sustained_s is None:
        return f"{plan.steady_text}{often}"
    in_windows = plan.trials and all(gives_windows(trial.target) for trial in plan.trials)
    return f"{plan.sustained_s / 60:g} minutes of {'windows' if in_windows else 'passes'}{often}"


def _covered_patches(plan: Plan) -> str:
    """Patches of a pass, such as `400 patches a pass`, or of a measurement: `1 of 400 patches`."""
    scenes = [plan.scene_of(trial) for trial in plan.trials if trial.patches is None]
    texts = [f"{_patches(scenes or [plan.scene])} a pass"] if scenes or not plan.trials else []
    for trial in plan.trials:
        if trial.patches is not None:
            per_pass = "" if gives_windows(trial.target) else " a pass"
            texts.append(f"{trial.patches} of {_patches([plan.scene_of(trial)])}{per_pass}")
    return " or ".join(dict.fromkeys(texts))


def _patches(scenes: Sequence[Scene]) -> str:
    """Number of patches, or samples, of scenes; several numbers where they differ."""
    counts = " or ".join(str(count) for count in dict.fromkeys(scene.patches for scene in scenes))
    are_samples = all(scene.kind == "samples" for scene in scenes)
    nouns = ("sample", "samples") if are_samples else ("patch", "patches")
    return f"{counts} {nouns[counts != '1']}"
