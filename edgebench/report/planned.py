"""What a dry run prints: the trials, how long they will take, and what their sessions will resolve."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from edgebench.plan.amounts import clock_text, duration_text, share_text, span_text
from edgebench.plan.cost import TrialCost, resolution_notes, spread_note, target_of, whole_span
from edgebench.plan.estimate import Span
from edgebench.plan.short_periods import deadline_notes, pass_s
from edgebench.plan.trials import Plan
from edgebench.report.console import cell, line, new_table
from edgebench.report.json_values import SCHEMA_VERSION


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
            "estimated_pass_s": pass_s(cost),
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
        f"{count}, {most}{sessions} of {_steady(plan)} each, "
        f"{_pass_patches(plan)} a pass: {_whole(plan, costs)}"
    ]
    if plan.max_time_s is not None:
        notes.append(f"no session starts after {duration_text(plan.max_time_s)} of measuring")
    if plan.target_ci is not None:
        notes.append(f"a trial ends at a half-width of {share_text(plan.target_ci)} of image_s")
    if plan.decide:
        notes.append(
            "a trial ends when every verdict that can be settled is settled, "
            f"from {plan.min_sessions} sessions on"
        )
    notes += forecast_notes(plan, costs, always=True)
    return notes + _build_notes(costs) + _basis_notes(costs)


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
        basis: [cost for cost in costs if cost.basis == basis] for basis in ("measured", "scaled", "unknown")
    }
    if of["measured"]:
        notes.append("times are what sessions took when they were last measured from here")
    if of["scaled"]:
        notes.append("~ scaled by multiply-accumulates from what other trials of the target took")
    if of["unknown"]:
        targets = ", ".join(dict.fromkeys(cost.trial.target.name for cost in of["unknown"]))
        notes.append(
            f"unknown: no such trial was measured on {targets} yet; "
            "a run says the time left after its first pass"
        )
    return notes


def forecast_notes(plan: Plan, costs: Sequence[TrialCost], *, always: bool = False) -> list[str]:
    """What the planned sessions will not come to; with `always` also what they will resolve.

    A line where a period is too short, one or two on what they resolve.
    """
    return [*deadline_notes(plan, costs), *_resolved(plan, costs, always=always)]


def _resolved(plan: Plan, costs: Sequence[TrialCost], *, always: bool) -> list[str]:
    if not costs or (plan.decide and plan.target_ci is None):
        return []
    resolution = resolution_notes(plan, costs)
    if not resolution:
        if not always:
            return []
        if plan.target_ci is None:
            resolution = [f"{plan.sessions} sessions will resolve {share_text(target_of(plan))} of image_s"]
    return [*resolution, spread_note(costs)]


def _steady(plan: Plan) -> str:
    """What a session's steady part is, in words."""
    often = "" if plan.period_s is None else f", one every {plan.period_s:g} s,"
    if plan.sustained_s is None:
        return f"{plan.passes} passes{often}"
    return f"{plan.sustained_s / 60:g} minutes of passes{often}"


def _pass_patches(plan: Plan) -> str:
    """How many patches, or samples, a pass is; several numbers where models differ."""
    scenes = [plan.scene_of(trial) for trial in plan.trials] or [plan.scene]
    counts = " or ".join(str(count) for count in dict.fromkeys(scene.patches for scene in scenes))
    noun = "sample" if all(scene.kind == "samples" for scene in scenes) else "patch"
    many = "samples" if noun == "sample" else "patches"
    return f"{counts} {noun if counts == '1' else many}"
