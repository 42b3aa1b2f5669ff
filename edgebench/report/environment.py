"""What was measured on and how, as pairs of a name and a value: host, targets, experiment, checks."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from edgebench.fit.published import PUBLISHED
from edgebench.report import words
from edgebench.report.pacing_tables import most_sessions, steady_part
from edgebench.report.tables import Column, Table
from edgebench.store.load import StoredResults
from edgebench.store.records import ExperimentRecord
from edgebench.store.redaction import exported

_MAX_ROWS = 80
_UNKNOWN = "not known"
_OF_COMPILERS = ("compiler", "operations")


@dataclass(frozen=True)
class Facts:
    """One group of facts."""

    title: str
    rows: tuple[tuple[str, str], ...]


def _gathered(rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The rows, those of which nothing is known as one at the end."""
    rows = list(rows)
    unknown = [name for name, text in rows if text == _UNKNOWN]
    known = [(name, text) for name, text in rows if text != _UNKNOWN]
    return (*known, *([(_UNKNOWN, ", ".join(unknown))] if unknown else []))


def environment(results: StoredResults) -> list[Facts]:
    """The experiment, the host, and each target with its board and runtime as its sessions found them.

    Of published figures the targets alone: nothing was measured.
    """
    record = exported(results.experiment)
    groups = []
    if any(target.device != PUBLISHED for target in record.targets) or not record.targets:
        groups.append(Facts("Experiment", tuple(_experiment(record))))
        groups.append(Facts("Host", _gathered(flat(record.host))))
    for target in record.targets:
        declared = target.model_dump(mode="json", exclude_defaults=True)
        values_by_fact: dict[str, dict[str, Any]] = {"device": {}, "runtime": {}}
        for trial in record.trials:
            if trial.target != target.name:
                continue
            for session in results.session_records(trial.key):
                for part, facts in (("device", session.device), ("runtime", session.runtime)):
                    for name, value in flat(facts):
                        values_by_fact[part].setdefault(name, {})[value] = None
        rows = list(flat(declared, "declared"))
        rows += [
            (f"{part}.{name}", _several(list(values)))
            for part, facts in values_by_fact.items()
            for name, values in facts.items()
        ]
        groups.append(Facts(f"Target {words.plain(target.name, 80)}", _gathered(rows[: 2 * _MAX_ROWS])))
    groups.append(Facts("Compiled models", tuple(_compiled(record))[:_MAX_ROWS]))
    checks = tuple(
        (
            words.plain(f"{finding.get('level', '')}: {subject}", 120),
            words.plain(words.advice(finding)),
        )
        for subject, finding in zip(words.subjects(record.preflight), record.preflight, strict=True)
    )
    if checks:
        groups.append(Facts("Checks before the start", checks))
    return [group for group in groups if group.rows]


def _compiled(record: ExperimentRecord) -> Iterator[tuple[str, str]]:
    """What a device's own compiler said of each model; nothing for models that none was needed for."""
    for trial in record.trials:
        compiler_facts = {name: trial.provenance[name] for name in _OF_COMPILERS if name in trial.provenance}
        yield from flat(compiler_facts, f"{trial.target} {trial.variant}")


def golden(results: StoredResults, names: Mapping[str, str]) -> Table:
    """How far the outputs of each trial were from the golden scores, over all of its sessions."""
    rows = []
    for trial in results.experiment.trials:
        checks = [
            session.golden for session in results.session_records(trial.key) if session.golden is not None
        ]
        if checks:
            rows.append(
                (
                    names.get(trial.key, trial.key),
                    str(len(checks)),
                    f"{max(check.max_abs_diff for check in checks):.3g}",
                    f"{min(check.tolerance for check in checks):.3g}",
                    f"{min(check.top1_equal for check in checks)}/{max(check.n for check in checks)}",
                    words.plain(", ".join(sorted({check.reference for check in checks})), 120),
                )
            )
    return Table(
        "golden patches",
        (
            Column("trial"),
            Column("sessions checked", figures=True),
            Column("largest difference of a score", figures=True),
            Column("accepted", figures=True),
            Column("same class", figures=True),
            Column("compared with", long=True),
        ),
        tuple(rows),
        caption="before anything is timed, patches with known scores go through every session",
    )


def flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested facts as `outer.inner` pairs; bytes in readable units; at most 80 pairs."""
    for count, (name, text) in enumerate(_flat(value, prefix, depth=0)):
        if count == _MAX_ROWS:
            yield "...", "more is in the result's folder"
            return
        yield name, text


def _flat(value: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    for key, item in value.items():
        name = words.plain(f"{prefix}.{key}" if prefix else key, 100)
        if isinstance(item, Mapping) and depth < 5:
            yield from _flat(item, name, depth + 1)
        elif item is None:
            yield name, _UNKNOWN
        elif isinstance(item, bool):
            yield name, "yes" if item else "no"
        elif isinstance(item, int) and str(key).endswith("_bytes"):
            yield name, words.size(item)
        elif isinstance(item, list | tuple):
            between = "; " if any(isinstance(part, Mapping) for part in item) else ", "
            yield name, between.join(_part(part) for part in item[:20]) or "none"
        else:
            yield name, words.plain(item, 300)


def _part(part: object) -> str:
    """One item of a list; one with fields as `name value` pairs."""
    if not isinstance(part, Mapping):
        return words.plain(part, 80)
    return words.plain(", ".join(f"{name} {value}" for name, value in part.items()), 160)


def _several(values: Sequence[str]) -> str:
    """One value, or the few that the sessions differed in, or how many they were."""
    if len(values) <= 3:
        return " / ".join(values)
    return f"{values[0]} / {values[1]} / ... ({len(values)} different values)"


def _experiment(record: ExperimentRecord) -> Iterator[tuple[str, str]]:
    scene = record.scene
    yield "started", words.plain(record.created_utc)
    yield "EdgeBench", words.plain(record.edgebench_version)
    yield (
        "sessions and passes",
        f"{most_sessions(record)} a trial, {steady_part(record)} a session",
    )
    yield "seed", str(record.seed)
    yield (
        "scene",
        words.plain(
            f"{scene.name}, {scene.height} x {scene.width}, {scene.rows} x {scene.columns} patches"
            if scene.kind == "picture"
            else scene.name
        ),
    )
    yield "scene SHA-256", words.plain(scene.sha256)
    if record.images is None:
        yield "images", words.plain(record.images_reason) or "none"
    else:
        images = record.images
        yield (
            "images",
            f"{words.plain(images.name)}, {images.n} {'labelled' if images.labelled else 'unlabelled'}",
        )
        yield "images SHA-256", words.plain(images.sha256)
    settings = list(record.config.items())[:_MAX_ROWS]
    for name, setting in settings:
        if not _absent(setting):
            yield (
                words.plain(name, 80),
                words.plain(f"{_setting(setting['value'])} ({setting.get('origin', 'origin not kept')})"),
            )
    absent = [words.plain(name, 80) for name, setting in settings if _absent(setting)]
    if absent:
        yield "not given", ", ".join(absent)


def _absent(setting: Mapping[str, Any]) -> bool:
    """Whether nobody gave a value, and there is no default."""
    return setting.get("value") is None or setting["value"] == []


def _setting(value: object) -> str:
    """A setting as a person would write it."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def command_line(command: Sequence[str]) -> str:
    """The command as a shell takes it; characters that cannot be shown are written by number."""
    return " ".join(_quoted(part) for part in command)


def _quoted(part: str) -> str:
    if not any(unicodedata.category(char)[0] == "C" for char in part):
        return quote(part)
    escaped = "".join(
        f"\\u{ord(char):04x}"
        if unicodedata.category(char)[0] == "C" and ord(char) < 0x10000
        else f"\\U{ord(char):08x}"
        if unicodedata.category(char)[0] == "C"
        else f"\\{char}"
        if char in "\\'"
        else char
        for char in part
    )
    return f"$'{escaped}'"
