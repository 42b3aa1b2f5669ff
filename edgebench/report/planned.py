"""What a dry run prints: the trials, how long they will take, and what their sessions will resolve."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from edgebench.records.values import Scene
from edgebench.report.console import cell, line, new_table
from edgebench.report.words import SCHEMA_VERSION
from edgebench.run.cost import (
    TrialCost,
    deadline_notes,
    latency_name,
    meter_notes,
    pass_s,
    resolution_notes,
    spread_note,
    steady_words,
    target_of,
    whole_span,
)
from edgebench.run.estimate import Span, longest, session_s, stages_s
from edgebench.run.meters import gives_windows, idle_window_s
from edgebench.run.setting import clock_text, duration_text, share_text, span_text
from edgebench.run.trials import Plan


def print_planned(console: Console, plan: Plan, costs: Sequence[TrialCost]) -> None:
    """The trials as a table, the whole below it; nothing is wider than the console."""
    headings = [("target", False), ("variant", False), ("batch", True)]
    queued = any(cost.trial.concurrency != 1 for cost in costs)
    if queued:
        headings.append(("in flight", True))
    if plan.adaptive:
        headings.append(("sessions", True))
    table = new_table(console, [*headings, ("time", True), ("key", True)])
    for cost in costs:
        cells = [cost.trial.target.name, cost.trial.variant.name, str(cost.trial.batch)]
        if queued:
            cells.append(str(cost.trial.concurrency))
        if plan.adaptive:
            cells.append(_sessions(plan, cost))
        cells += [_time(cost), cost.trial.key]
        table.add_row(*(cell(console, text) for text in cells))
    console.print(table)
    for note in _notes(plan, costs):
        line(console, note)


def planned_json(plan: Plan, costs: Sequence[TrialCost]) -> str:
    """The same as one JSON document, version 1."""
    trials = [
        {
            "key": cost.trial.key,
            "target": cost.trial.target.name,
            "variant": cost.trial.variant.name,
            "batch": cost.trial.batch,
            "concurrency": cost.trial.concurrency,
            "settings": dict(cost.trial.target.settings),
            **_seconds(cost.span(cost.expected)),
            "estimate_measured": cost.basis == "measured",
            "estimate_basis": cost.basis,
            "estimated_pass_s": None if cost.shape.windows else pass_s(cost),
            "passes": plan.passes_of(cost.trial),
            "patches": cost.trial.patches,
            "images": cost.shape.images,
            "idle_window_s": idle_window_s(cost.trial.target),
            "least_steady_s": cost.shape.least_s,
            "builds_on_board": cost.shape.builds,
            "estimated_build_s": cost.cost.build_s if cost.cost and cost.shape.builds else None,
            "expected_sessions": cost.expected,
            "sessions_needed": cost.needed,
            "resolves": cost.resolves,
            "spread": cost.spread.share,
            "spread_measured": cost.spread.measured,
        }
        for cost in costs
    ]
    summary: dict[str, Any] = {
        "sessions": plan.sessions,
        "passes": plan.passes,
        "period_s": plan.period_s,
        "sustained_s": plan.sustained_s,
        "target_ci": plan.target_ci,
        "decide": plan.decide,
        "max_time_s": plan.max_time_s,
        "forecast_for": target_of(plan),
        **_seconds(whole_span(plan, costs)),
        "at_most_s": _finite(whole_span(plan, costs, most=True).most_s),
    }
    return json.dumps({"schema_version": SCHEMA_VERSION, "plan": summary, "trials": trials}, indent=2)


def _seconds(span: Span) -> dict[str, float | None]:
    """The estimate, None where nobody knows it, and what it takes in any case."""
    return {"estimated_s": _finite(span.most_s), "estimated_least_s": span.least_s}


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def _time(cost: TrialCost) -> str:
    span = cost.span(cost.expected)
    text = span_text(span.least_s, span.most_s)
    return f"~{text}" if cost.basis == "scaled" else text


def _sessions(plan: Plan, cost: TrialCost) -> str:
    """How many are expected; `~` where the spread is assumed, and what verdicts take nobody knows."""
    if plan.target_ci is None:
        return f"{plan.min_sessions} to {cost.most}" if cost.most > plan.min_sessions else str(cost.most)
    return str(cost.expected) if cost.spread.measured else f"~{cost.expected}"


def _notes(plan: Plan, costs: Sequence[TrialCost]) -> list[str]:
    count = "1 trial" if len(costs) == 1 else f"{len(costs)} trials"
    most = "at most " if plan.adaptive else ""
    sessions = "1 session" if plan.sessions == 1 else f"{plan.sessions} sessions"
    notes = [
        f"{count}, {most}{sessions} of {_steady(plan)} each, {_covered_patches(plan)}: {_whole(plan, costs)}"
    ]
    if plan.max_time_s is not None:
        notes.append(f"no session starts after {duration_text(plan.max_time_s)} of measuring")
    if plan.target_ci is not None:
        notes.append(f"a trial ends at a half-width of {share_text(plan.target_ci)} of {latency_name(plan)}")
    if plan.decide:
        notes.append(
            "a trial ends when every verdict that can be settled is settled, "
            f"from {plan.min_sessions} sessions on"
        )
    notes += forecast_notes(plan, costs, always=True)
    return notes + stage_notes(costs) + _build_notes(costs) + _basis_notes(costs)


def _whole(plan: Plan, costs: Sequence[TrialCost]) -> str:
    """How long all of it takes, in words."""
    expected, most = whole_span(plan, costs), whole_span(plan, costs, most=True)
    if not expected.known:
        text = span_text(expected.least_s, expected.most_s)
        return "time unknown" if text == "unknown" else text
    about = f"about {span_text(expected.least_s, expected.most_s)}"
    if plan.adaptive:
        at_most = f"at most {clock_text(most.most_s)}"
        if plan.target_ci is None:
            about = at_most
        elif at_most.rpartition(" ")[2] != about.rpartition(" ")[2]:
            about += f", {at_most}"
    return f"{about}, preparation not included"


def time_notes(plan: Plan, costs: Sequence[TrialCost]) -> list[str]:
    """How long a run takes, said before it begins where devices are known to take long for a stage."""
    slow = stage_notes(costs)
    return [f"all of it takes {_whole(plan, costs)}", *slow] if slow else []


def stage_notes(costs: Sequence[TrialCost]) -> list[str]:
    """What sessions and images take on targets whose backend knows that, the longest of their trials."""
    by_target: dict[str, list[TrialCost]] = {}
    for cost in costs:
        if "images" in cost.shape.device_stages(None if cost.cost is None else cost.cost.patch_s):
            by_target.setdefault(cost.trial.target.name, []).append(cost)
    notes = []
    for target, trial_costs in by_target.items():
        shapes = [replace(cost.shape, images=0, builds=False) for cost in trial_costs]
        session = longest(
            [session_s(cost.cost, shape) for cost, shape in zip(trial_costs, shapes, strict=True)]
        )
        note = f"{target}: {span_text(session.least_s, session.most_s)} a session"
        most_images = max(cost.shape.images for cost in trial_costs)
        if most_images:
            images = longest([stages_s(cost.cost, cost.shape)["images"] for cost in trial_costs])
            took = span_text(images.least_s, images.most_s)
            note += f", and {took} once a trial for accuracy on {most_images} images (--accuracy-images)"
        notes.append(note)
    return notes


def _build_notes(costs: Sequence[TrialCost]) -> list[str]:
    """Which targets build on the board before a trial's first session, and how long that took before."""
    building: dict[str, list[float | None]] = {}
    for cost in costs:
        if cost.shape.builds:
            build_s = cost.cost.build_s if cost.cost else None
            building.setdefault(cost.trial.target.name, []).append(build_s)
    known = {
        target: sum(filter(None, builds_s)) for target, builds_s in building.items() if None not in builds_s
    }
    unknown = [target for target in building if target not in known]
    notes = []
    if known:
        notes.append(_build_note(list(known), f"at most {clock_text(sum(known.values()))} in all"))
    if unknown:
        notes.append(_build_note(unknown, "time unknown"))
    return notes


def _build_note(targets: Sequence[str], took: str) -> str:
    build = "builds what it loads" if len(targets) == 1 else "build what they load"
    return f"{', '.join(targets)} {build} before a trial's first session, unless it lies there: {took}"


def _basis_notes(costs: Sequence[TrialCost]) -> list[str]:
    """Where the times are from."""
    notes = []
    of = {
        basis: [cost for cost in costs if cost.basis == basis]
        for basis in ("measured", "scaled", "backend", "unknown")
    }
    if of["measured"]:
        notes.append("times are what sessions took when they were last measured from here")
    if of["scaled"]:
        notes.append("~ scaled by multiply-accumulates from what other trials of the target took")
    if of["backend"]:
        targets = ", ".join(dict.fromkeys(cost.trial.target.name for cost in of["backend"]))
        notes.append(f"times of {targets} are the least and the most: no such trial was measured there yet")
    if of["unknown"]:
        targets = ", ".join(dict.fromkeys(cost.trial.target.name for cost in of["unknown"]))
        notes.append(
            f"unknown: no such trial was measured on {targets} yet; "
            "a run says the time left after its first pass"
        )
    return notes


def forecast_notes(plan: Plan, costs: Sequence[TrialCost], *, always: bool = False) -> list[str]:
    """What the planned sessions will not come to; with `always` also what they will resolve.

    A line where a period is too short, those on what meters add, one or two on what they resolve.
    """
    return [*deadline_notes(plan, costs), *meter_notes(costs), *_resolved(plan, costs, always=always)]


def _resolved(plan: Plan, costs: Sequence[TrialCost], *, always: bool) -> list[str]:
    if not costs or (plan.decide and plan.target_ci is None):
        return []
    resolution = resolution_notes(plan, costs)
    if not resolution:
        if not always:
            return []
        if plan.target_ci is None:
            resolution = [
                f"{plan.sessions} sessions will resolve {share_text(target_of(plan))} of {latency_name(plan)}"
            ]
    return [*resolution, spread_note(costs)]


def _steady(plan: Plan) -> str:
    """What a session's steady part is, in words."""
    often = "" if plan.period_s is None else f", one every {plan.period_s:g} s,"
    if plan.sustained_s is None:
        return f"{steady_words(plan)}{often}"
    unit = (
        "windows" if plan.trials and all(gives_windows(trial.target) for trial in plan.trials) else "passes"
    )
    return f"{plan.sustained_s / 60:g} minutes of {unit}{often}"


def _covered_patches(plan: Plan) -> str:
    """What a pass goes through, such as `400 patches a pass`, or what is measured: `1 of 400 patches`."""
    whole = [plan.scene_of(trial) for trial in plan.trials if trial.patches is None]
    texts = [f"{_patches(whole or [plan.scene])} a pass"] if whole or not plan.trials else []
    for trial in plan.trials:
        if trial.patches is not None:
            each = "" if gives_windows(trial.target) else " a pass"
            texts.append(f"{trial.patches} of {_patches([plan.scene_of(trial)])}{each}")
    return " or ".join(dict.fromkeys(texts))


def _patches(scenes: Sequence[Scene]) -> str:
    """How many patches, or samples, scenes have; several numbers where they differ."""
    counts = " or ".join(str(count) for count in dict.fromkeys(scene.patches for scene in scenes))
    noun = "sample" if all(scene.kind == "samples" for scene in scenes) else "patch"
    many = "samples" if noun == "sample" else "patches"
    return f"{counts} {noun if counts == '1' else many}"
