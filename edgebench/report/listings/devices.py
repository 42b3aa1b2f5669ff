"""Installed devices, shipped profiles, and findings of `doctor`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.console import Console

from edgebench.report import words
from edgebench.report.blocks import Block, Column, Heading, Notes, Table, Text
from edgebench.report.listings import show_listing, write_json
from edgebench.report.terminal import line, lines

if TYPE_CHECKING:
    from edgebench.contract import Backend

_LEVELS = {"ok": "green", "warning": "yellow", "error": "bold red"}


@dataclass(frozen=True)
class DeviceRow:
    """One backend as `edgebench devices` shows it; `options` is its JSON schema's properties.

    Of its own `meters` a run that names none takes the first that can be read.
    """

    name: str
    description: str
    precisions: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]]
    default_batch: int = 1
    most_batch: int = 1024
    takes_host: bool = False
    takes_port: bool = False
    meters: tuple[str, ...] = ()

    @classmethod
    def of(cls, backend: Backend) -> DeviceRow:
        """The row of a backend."""
        options = backend.options_model.model_json_schema().get("properties", {})
        names = [field.name for field in fields(cls) if field.name != "options"]
        return cls(options=options, **{name: getattr(backend, name) for name in names})


def print_devices(
    console: Console, rows: Sequence[DeviceRow], meters: Mapping[str, str], *, as_json: bool = False
) -> None:
    """Print what can be measured here, with the options that `--set` takes, and the meters, a line each."""
    blocks: list[Block] = []
    for row in rows:
        batches = f"1 to {row.most_batch}" if row.most_batch > 1 else "1"
        batch = batches if row.default_batch == 1 else f"{batches} (default {row.default_batch})"
        flags = [flag for flag, taken in (("--host", row.takes_host), ("--port", row.takes_port)) if taken]
        option = [
            row.description,
            f"precisions: {', '.join(row.precisions)}; batch: {batch}",
            f"takes {' and '.join(flags)}" if flags else "",
            f"meters: {', else '.join(row.meters)}, unless --meter names another" if row.meters else "",
            *(f"--set {name}=...: {_option(option)}" for name, option in row.options.items()),
        ]
        blocks += [Heading(row.name), Notes.of(option)]
    described = [f"{name}: {description}" for name, description in meters.items()]
    blocks += [Text("No device is installed.")] if not rows else []
    blocks += [Heading("meters"), Notes.of(described or ["none"])]
    document = {"devices": [asdict(row) for row in rows], "meters": dict(meters)}
    show_listing(console, document, blocks, as_json=as_json)


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
    _print_lines(console, words.subjects(plain), plain)
    of_meters = [finding for finding in findings if "meter" in finding]
    for (meter, target), group in groupby(of_meters, lambda row: (row["meter"], row["target"])):
        line(console, f"{meter}{f', of {target}' if target else ''}", "bold")
        steps = list(group)
        _print_lines(console, [str(step["subject"]) for step in steps], steps)
    lines(console, [] if findings else ["No findings."])


def _print_lines(console: Console, subjects: Sequence[str], findings: Sequence[Mapping[str, Any]]) -> None:
    for subject, finding in zip(subjects, findings, strict=True):
        severity = str(finding.get("level", ""))
        line(
            console,
            f"{severity:<8} {subject}: {finding.get('message', '')}",
            _LEVELS.get(severity, ""),
            indent=2,
        )
        lines(console, [f"fix: {finding['fix']}" if finding.get("fix") else ""], indent=11)


def print_profiles(console: Console, profiles: Sequence[Mapping[str, Any]], *, as_json: bool = False) -> None:
    """Print the profiles (as `Profile.as_record` gives them), each with its title and requirements."""
    blocks: list[Block] = []
    for profile in profiles:
        requirements = map(requirement, profile.get("requirements", ()))
        notes = Notes.of([str(profile.get("title") or ""), *requirements])
        blocks += [Heading(str(profile.get("name", ""))), notes]
    document = {"profiles": [dict(profile) for profile in profiles]}
    show_listing(console, document, blocks or [Text("There are none.")], as_json=as_json)


def print_profile(console: Console, profile: Mapping[str, Any], *, as_json: bool = False) -> None:
    """Print one profile: what it is, where it comes from, each requirement with how its limit came about."""
    plan, uplink_bps = profile.get("schedule"), profile.get("uplink_bps")
    about = [
        *(str(profile.get(name) or "") for name in ("title", "description")),
        f"source: {profile['source']}" if profile.get("source") else "",
        f"schedule: {schedule(plan)}" if isinstance(plan, Mapping) else "",
        "" if uplink_bps is None else f"uplink: {uplink_bps:g} bit/s",
    ]
    rows = [
        (str(record.get("name", "")), requirement(record), _origin(record))
        for record in profile.get("requirements", ())
    ]
    columns = tuple(Column(heading, long=True) for heading in ("requirement", "limit", "from"))
    blocks: list[Block] = [
        Heading(str(profile.get("name", ""))),
        Notes.of(about),
        Table("requirements", columns, tuple(rows)),
    ]
    show_listing(console, {"profile": dict(profile)}, blocks, as_json=as_json)


def _origin(record: Mapping[str, Any]) -> str:
    """Origin of a requirement's limit; empty where the profile states it."""
    if isinstance(budget := record.get("budget"), Mapping):
        return f"{budget.get('cycle_s')} s a cycle / {words.counted(int(budget.get('images', 0)), 'image')}"
    uplink_bps = record.get("uplink_bps")
    return "" if uplink_bps is None else f"an uplink of {uplink_bps:g} bit/s"


def print_problems(
    console: Console, profile: str, problems: Sequence[Mapping[str, Any]], *, as_json: bool = False
) -> None:
    """Print all that is wrong with a profile: file and line, what, and the fix below it."""
    texts = []
    for problem in problems:
        number = "" if problem.get("line") is None else f":{problem['line']}"
        texts.append(f"{problem.get('file', '')}{number}: {problem.get('what', '')}")
        texts.append(f"fix: {problem['fix']}" if problem.get("fix") else "")
    document = {"profile": profile, "problems": [dict(problem) for problem in problems]}
    notes = Notes.of(texts or [f"{profile}: nothing is wrong with it."])
    show_listing(console, document, [notes], as_json=as_json)


def schedule(record: Mapping[str, Any]) -> str:
    """A schedule's record in words: `80 images in a cycle of 5739 s, within its first 353.6 s`."""
    text = f"{words.counted(int(record['images']), 'image')} in a cycle of {record['cycle_s']:g} s"
    if record.get("times_s") is not None:
        text += ", at stated times"
    elif record.get("burst_s") is not None:
        text += f", within its first {record['burst_s']:g} s"
    deadline_s = record.get("deadline_s")
    return text if deadline_s is None else f"{text}; each is due {deadline_s:g} s after it came"


def requirement(record: Mapping[str, Any]) -> str:
    """A requirement's record as a formula: `image_s median ≤ 4.42 s, wanted`."""
    quantity = words.judged_quantity(
        str(record.get("quantity", "image_s")), str(record.get("statistic", "")), record.get("averaging_s")
    )
    at_least = record.get("comparison") == "at least"
    formula = f"{quantity} {words.bound(record['limit'], str(record.get('unit', '')), at_least=at_least)}"
    return f"{formula}, wanted" if record.get("wanted") else formula
