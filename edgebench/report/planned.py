"""What a dry run prints: the trials, how long they will take, and what their sessions will resolve."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from edgebench.measure.progress import clock_text
from edgebench.plan.amounts import duration_text, share_text
from edgebench.plan.cost import TrialCost, resolution_notes, spread_note, target_of, whole_s
from edgebench.plan.trials import Plan
from edgebench.report.console import cell, line, new_table
from edgebench.report.plain import SCHEMA_VERSION


def print_planned(console: Console, plan: Plan, costs: Sequence[TrialCost]) -> None:
    """The trials as a table, the whole below it; nothing is wider than the console."""
    headings = [("target", False), ("variant", False), ("batch", True)]
    if plan.adaptive:
        headings.append(("sessions", True))
    table = new_table(console, [*headings, ("time", True), ("key", False)])
    for one in costs:
        text = clock_text(one.seconds(one.expected))
        cells = [one.trial.target.name, one.trial.variant.name, str(one.trial.batch)]
        if plan.adaptive:
            cells.append(_sessions(plan, one))
        cells += [text if one.estimate.measured else f"~{text}", one.trial.key]
        table.add_row(*(cell(console, text) for text in cells))
    console.print(table)
    for note in _notes(plan, costs):
        line(console, note)


def planned_json(plan: Plan, costs: Sequence[TrialCost]) -> str:
    """The same as one JSON document, version 1."""
    trials = [
        {
            "key": one.trial.key,
            "target": one.trial.target.name,
            "variant": one.trial.variant.name,
            "batch": one.trial.batch,
            "estimated_s": one.seconds(one.expected),
            "estimate_measured": one.estimate.measured,
            "expected_sessions": one.expected,
            "sessions_needed": one.needed,
            "resolves": one.resolves,
            "spread": one.spread.share,
            "spread_measured": one.spread.measured,
        }
        for one in costs
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
        "estimated_s": whole_s(plan, costs),
        "at_most_s": whole_s(plan, costs, most=True),
    }
    return json.dumps({"schema_version": SCHEMA_VERSION, "plan": summary, "trials": trials}, indent=2)


def _sessions(plan: Plan, one: TrialCost) -> str:
    """How many are expected; `~` where the spread is assumed, and what verdicts take nobody knows."""
    if plan.target_ci is None:
        return f"{plan.min_sessions} to {one.most}" if one.most > plan.min_sessions else str(one.most)
    return str(one.expected) if one.spread.measured else f"~{one.expected}"


def _notes(plan: Plan, costs: Sequence[TrialCost]) -> list[str]:
    count = "1 trial" if len(costs) == 1 else f"{len(costs)} trials"
    most = "at most " if plan.adaptive else ""
    sessions = "1 session" if plan.sessions == 1 else f"{plan.sessions} sessions"
    took_s, most_s = whole_s(plan, costs), whole_s(plan, costs, most=True)
    about = f"about {clock_text(took_s)}"
    if plan.adaptive:
        about = f"at most {clock_text(most_s)}" if plan.target_ci is None else about
        if plan.target_ci is not None and clock_text(most_s) != clock_text(took_s):
            about += f", at most {clock_text(most_s)}"
    notes = [
        f"{count}, {most}{sessions} of {_steady(plan)} each, "
        f"{_pass_patches(plan)} a pass: {about}, preparation not included"
    ]
    if plan.max_time_s is not None:
        notes.append(f"no session starts after {duration_text(plan.max_time_s)} of measuring")
    if plan.target_ci is not None:
        notes.append(f"a trial ends at a half-width of {share_text(plan.target_ci)} of image_s")
    if plan.decide:
        notes.append(f"a trial ends when every verdict is settled, from {plan.min_sessions} sessions on")
    notes += forecast_notes(plan, costs, always=True)
    if not all(one.estimate.measured for one in costs):
        notes.append("~ guessed from the number of operations: this machine has not measured it yet")
    return notes


def forecast_notes(plan: Plan, costs: Sequence[TrialCost], *, always: bool = False) -> list[str]:
    """What the planned sessions will not resolve, in one or two lines; with `always` also that they will."""
    if not costs or (plan.decide and plan.target_ci is None):
        return []
    found = resolution_notes(plan, costs)
    if not found:
        if not always:
            return []
        if plan.target_ci is None:
            found = [f"{plan.sessions} sessions will resolve {share_text(target_of(plan))} of image_s"]
    return [*found, spread_note(costs)]


def _steady(plan: Plan) -> str:
    """What a session's steady part is, in words."""
    often = "" if plan.period_s is None else f", one every {plan.period_s:g} s,"
    if plan.sustained_s is None:
        return f"{plan.passes} passes{often}"
    return f"{plan.sustained_s / 60:g} minutes of passes{often}"


def _pass_patches(plan: Plan) -> str:
    """How many patches, or samples, a pass is; several numbers where models differ."""
    scenes = [plan.scene_of(trial) for trial in plan.trials] or [plan.scene]
    counts = ", ".join(str(count) for count in dict.fromkeys(one.patches for one in scenes))
    return f"{counts} {'samples' if all(one.kind == 'samples' for one in scenes) else 'patches'}"
