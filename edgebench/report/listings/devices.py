"""Installed devices, shipped profiles, and findings of `doctor`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.console import Console

from edgebench.report import words
from edgebench.report.listings import CommandOutput, write_json
from edgebench.report.renderers.blocks import Block, Column, Heading, Notes, Table, Text
from edgebench.report.renderers.terminal import line, lines

if TYPE_CHECKING:
    from edgebench.contract import Backend
    from edgebench.judge.requirements.profile import Problem, Profile
    from edgebench.judge.requirements.requirement import Requirement
    from edgebench.judge.requirements.schedule import Schedule

_LEVELS = {"ok": "green", "warning": "yellow", "error": "bold red"}


def device_record(backend: Backend) -> dict[str, Any]:
    """A backend as plain data; `options` are its JSON schema's properties.

    Of its own `meters` a run that names none takes the first that can be read.
    """
    names = ("default_batch", "most_batch", "takes_host", "takes_port", "meters")
    return {
        **{name: getattr(backend, name) for name in ("name", "description", "precisions")},
        "options": backend.options_model.model_json_schema().get("properties", {}),
        **{name: getattr(backend, name) for name in names},
    }


def devices_listing(devices: Sequence[Mapping[str, Any]], meters: Mapping[str, str]) -> CommandOutput:
    """Devices, each of `device_record`, with the options that `--set` takes, and the meters."""
    blocks: list[Block] = [] if devices else [Text("No device is installed.")]
    for device in devices:
        largest, default = device["most_batch"], device["default_batch"]
        batch = (f"1 to {largest}" if largest > 1 else "1") + (f" (default {default})" if default > 1 else "")
        flags = [f"--{name}" for name in ("host", "port") if device[f"takes_{name}"]]
        own = ", else ".join(device["meters"])
        lines = [
            device["description"],
            f"precisions: {', '.join(device['precisions'])}; batch: {batch}",
            f"takes {' and '.join(flags)}" if flags else "",
            f"meters: {own}, unless --meter names another" if own else "",
            *(f"--set {name}=...: {_option(option)}" for name, option in device["options"].items()),
        ]
        blocks += [Heading(device["name"]), Notes.of(lines)]
    described = [f"{name}: {description}" for name, description in meters.items()]
    blocks += [Heading("meters"), Notes.of(described or ["none"])]
    return CommandOutput({"devices": list(devices), "meters": dict(meters)}, blocks)


def _option(option: Mapping[str, Any]) -> str:
    """Values that an option takes, from its JSON schema."""
    kinds = [option, *option.get("anyOf", ())]
    values = next((kind["enum"] for kind in kinds if "enum" in kind), None)
    types = [str(kind["type"]) for kind in kinds if "type" in kind and kind["type"] != "null"]
    choices = ", ".join(map(str, values)) if values else " or ".join(types) or "a value"
    default = option.get("default")
    described = f"; {option['description']}" if option.get("description") else ""
    return f"{choices}{described}" + ("" if default in (None, "") else f" (default {default})")


def print_findings(console: Console, findings: Sequence[Mapping[str, Any]], *, as_json: bool = False) -> None:
    """Print what doctor found: level, subject, message, and the fix below it; of each `meter` together."""
    if as_json:
        return write_json(console, {"findings": [dict(finding) for finding in findings]})
    plain = [finding for finding in findings if "meter" not in finding]
    for subject, finding in zip(words.subjects(plain), plain, strict=True):
        _print_finding(console, subject, finding)
    of_meters = [finding for finding in findings if "meter" in finding]
    for (meter, target), steps in groupby(of_meters, lambda row: (row["meter"], row["target"])):
        line(console, f"{meter}{f', of {target}' if target else ''}", "bold")
        for step in steps:
            _print_finding(console, step["subject"], step)
    lines(console, [] if findings else ["No findings."])


def _print_finding(console: Console, subject: str, finding: Mapping[str, Any]) -> None:
    severity = str(finding.get("level", ""))
    text = f"{severity:<8} {subject}: {finding.get('message', '')}"
    line(console, text, _LEVELS.get(severity, ""), indent=2)
    lines(console, [f"fix: {finding['fix']}" if finding.get("fix") else ""], indent=11)


def profiles_listing(profiles: Sequence[Profile]) -> CommandOutput:
    """Profiles, each with its title and requirements."""
    blocks: list[Block] = [] if profiles else [Text("There are none.")]
    for profile in profiles:
        blocks += [
            Heading(profile.name),
            Notes.of([profile.title, *map(words.limit, profile.requirements)]),
        ]
    return CommandOutput({"profiles": [profile.as_record() for profile in profiles]}, blocks)


def profile_listing(profile: Profile) -> CommandOutput:
    """One profile: what it is, where it comes from, each requirement with how its limit came about."""
    lines = [
        *(profile.title, profile.description),
        f"source: {profile.source}" if profile.source else "",
        f"schedule: {schedule_text(profile.schedule)}" if profile.schedule else "",
        f"uplink: {profile.uplink_bps:g} bit/s" if profile.uplink_bps else "",
    ]
    columns = tuple(Column(heading, long=True) for heading in ("requirement", "limit", "from"))
    rows = tuple((limit.name, words.limit(limit), _origin(limit)) for limit in profile.requirements)
    table = Table("requirements", columns, rows)
    return CommandOutput({"profile": profile.as_record()}, [Heading(profile.name), Notes.of(lines), table])


def _origin(requirement: Requirement) -> str:
    """Origin of a requirement's limit; empty where the profile states it."""
    if budget := requirement.budget:
        return f"{budget.cycle_s} s a cycle / {words.counted(budget.images, 'image')}"
    return f"an uplink of {requirement.uplink_bps:g} bit/s" if requirement.uplink_bps else ""


def problems_listing(profile: str, problems: Sequence[Problem]) -> CommandOutput:
    """All that is wrong with a profile: file and line, what, and the fix below it."""
    texts = []
    for problem in problems:
        number = "" if problem.line is None else f":{problem.line}"
        texts.append(f"{problem.file}{number}: {problem.what}")
        texts.append(f"fix: {problem.fix}" if problem.fix else "")
    document = {"profile": profile, "problems": list(map(asdict, problems))}
    notes = Notes.of(texts or [f"{profile}: nothing is wrong with it."])
    return CommandOutput(document, [notes])


def schedule_text(schedule: Schedule) -> str:
    """A schedule in words: `80 images in a cycle of 5739 s, within its first 353.6 s`."""
    text = f"{words.counted(schedule.images, 'image')} in a cycle of {schedule.cycle_s:g} s"
    if schedule.times_s is not None:
        text += ", at stated times"
    elif schedule.burst_s is not None:
        text += f", within its first {schedule.burst_s:g} s"
    if schedule.deadline_s is not None:
        text += f"; each is due {schedule.deadline_s:g} s after it came"
    return text
