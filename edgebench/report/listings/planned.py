"""What a dry run prints: the trials, how long they will take, and what their sessions will resolve."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from rich.console import Console

from edgebench.records.values import Scene
from edgebench.report.blocks import Column, Notes, Table
from edgebench.report.terminal import print_blocks
from edgebench.report.words import SCHEMA_VERSION, counted, grouped
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
from edgebench.stats.intervals import EARLY_MARGIN, SHAPE_SESSIONS


def print_planned(console: Console, plan: Plan, costs: Sequence[TrialCost]) -> None:
    """The trials as a table, the whole below it; nothing is wider than the console."""
    columns: dict[str, Callable[[TrialCost], str]] = {
        "target": lambda cost: cost.trial.target.name,
        "variant": lambda cost: cost.trial.variant.name,
        "batch": lambda cost: str(cost.trial.batch),
        "in flight": lambda cost: str(cost.trial.concurrency),
        "sessions": lambda cost: _sessions(plan, cost),
        "time": _time,
        "key": lambda cost: cost.trial.key,
    }
    if all(cost.trial.concurrency == 1 for cost in costs):
        del columns["in flight"]
    if not plan.adaptive:
        del columns["sessions"]
    headings = tuple(Column(heading, figures=heading not in ("target", "variant")) for heading in columns)
    rows = tuple(tuple(text_of(cost) for text_of in columns.values()) for cost in costs)
    print_blocks(console, [Table("trials", headings, rows), Notes.of(_notes(plan, costs))])


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
    """The estimate, None if unknown, and the least that it takes."""
    return {"estimated_s": _finite(span.most_s), "estimated_least_s": span.least_s}


def _finite(seconds: float) -> float | None:
    return seconds if math.isfinite(seconds) else None


def _time(cost: TrialCost) -> str:
    span = cost.span(cost.expected)
    text = span_text(span.least_s, span.most_s)
    return f"~{text}" if cost.basis == "scaled" else text


def _sessions(plan: Plan, cost: TrialCost) -> str:
    """How many are expected; `~` where the spread is assumed, and with --decide alone a range."""
    if plan.target_ci is None:
        return f"{plan.min_sessions} to {cost.most}" if cost.most > plan.min_sessions else str(cost.most)
    return str(cost.expected) if cost.spread.measured else f"~{cost.expected}"


def _notes(plan: Plan, costs: Sequence[TrialCost]) -> list[str]:
    trials, sessions = counted(len(costs), "trial"), counted(plan.sessions, "session")
    most = "at most " if plan.adaptive else ""
    return [
        f"{trials}, {most}{sessions} of {_steady(plan)} each, {_covered_patches(plan)}: "
        f"{_whole(plan, costs)}",
        ""
        if plan.max_time_s is None
        else f"no session starts after {duration_text(plan.max_time_s)} of measuring",
        ""
        if plan.target_ci is None
        else f"a trial ends at a half-width of {share_text(plan.target_ci)} of {latency_name(plan)}, "
        f"from {SHAPE_SESSIONS} sessions on",
        "a trial ends when every verdict that can be settled is settled, "
        f"from {plan.min_sessions} sessions on; before {SHAPE_SESSIONS} only with margins above "
        f"{share_text(EARLY_MARGIN)} of the limits"
        if plan.decide
        else "",
        *forecast_notes(plan, costs, always=True),
        *stage_notes(costs),
        *_build_notes(costs),
        *_basis_notes(costs),
    ]


def _whole(plan: Plan, costs: Sequence[TrialCost]) -> str:
    """How long all of it takes, in words."""
    expected, most = whole_span(plan, costs), whole_span(plan, costs, most=True)
    text = span_text(expected.least_s, expected.most_s)
    if not expected.known:
        return "time unknown" if text == "unknown" else text
    about = f"about {text}"
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
    by_target = grouped(
        (cost.trial.target.name, cost)
        for cost in costs
        if "images" in cost.shape.device_stages(None if cost.cost is None else cost.cost.patch_s)
    )
    notes = []
    for target, trial_costs in by_target.items():
        shapes = [replace(cost.shape, images=0, builds=False) for cost in trial_costs]
        session = longest(
            [session_s(cost.cost, shape) for cost, shape in zip(trial_costs, shapes, strict=True)]
        )
        images = longest([stages_s(cost.cost, cost.shape)["images"] for cost in trial_costs])
        most_images = max(cost.shape.images for cost in trial_costs)
        accuracy = (
            f", and {span_text(images.least_s, images.most_s)} once a trial for accuracy on {most_images} "
            "images (--accuracy-images)"
        )
        session_text = span_text(session.least_s, session.most_s)
        notes.append(f"{target}: {session_text} a session{accuracy if most_images else ''}")
    return notes


def _build_notes(costs: Sequence[TrialCost]) -> list[str]:
    """Which targets build on the board before a trial's first session, and how long that took before."""
    took_s: dict[str, float] = {}
    for cost in costs:
        if cost.shape.builds:
            build_s = cost.cost.build_s if cost.cost else None
            name = cost.trial.target.name
            took_s[name] = took_s.get(name, 0.0) + (math.nan if build_s is None else build_s)
    known = {target: seconds for target, seconds in took_s.items() if math.isfinite(seconds)}
    unknown = [target for target in took_s if target not in known]
    groups = {f"at most {clock_text(sum(known.values()))} in all": list(known), "time unknown": unknown}
    return [
        f"{', '.join(targets)} {'builds what it loads' if len(targets) == 1 else 'build what they load'} "
        f"before a trial's first session, unless the board has it: {took}"
        for took, targets in groups.items()
        if targets
    ]


def _basis_notes(costs: Sequence[TrialCost]) -> list[str]:
    """Where the times are from."""
    bases = ("measured", "scaled", "backend", "unknown")
    targets = {
        basis: ", ".join(dict.fromkeys(cost.trial.target.name for cost in costs if cost.basis == basis))
        for basis in bases
    }
    notes = {
        "measured": "times are what sessions took when they were last measured from here",
        "scaled": "~ scaled by multiply-accumulates from what other trials of the target took",
        "backend": f"times of {targets['backend']} are the least and the most: "
        "no such trial was measured there yet",
        "unknown": f"unknown: no such trial was measured on {targets['unknown']} yet; "
        "a run says the time left after its first pass",
    }
    return [note for basis, note in notes.items() if targets[basis]]


def forecast_notes(plan: Plan, costs: Sequence[TrialCost], *, always: bool = False) -> list[str]:
    """What the planned sessions cannot resolve; with `always` also what they will resolve.

    A line where a period is too short, those on what meters add, one or two on what they resolve.
    """
    return [*deadline_notes(plan, costs), *meter_notes(costs), *_resolved(plan, costs, always=always)]


def _resolved(plan: Plan, costs: Sequence[TrialCost], *, always: bool) -> list[str]:
    if not costs or (plan.decide and plan.target_ci is None):
        return []
    resolution = resolution_notes(plan, costs)
    if always and not resolution and plan.target_ci is None:
        share = share_text(target_of(plan))
        resolution = [
            f"{plan.sessions} sessions will narrow the interval of {latency_name(plan)} to ±{share}"
        ]
    return [*resolution, spread_note(costs)] if resolution or always else []


def _steady(plan: Plan) -> str:
    """What a session's steady part is, in words."""
    often = "" if plan.period_s is None else f", one every {plan.period_s:g} s,"
    if plan.sustained_s is None:
        return f"{steady_words(plan)}{often}"
    in_windows = plan.trials and all(gives_windows(trial.target) for trial in plan.trials)
    return f"{plan.sustained_s / 60:g} minutes of {'windows' if in_windows else 'passes'}{often}"


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
