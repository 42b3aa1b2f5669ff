"""All that is wrong with a profile at once, with lines, for `edgebench profiles check`.

A validation ends at the first thing that is wrong with a table. So what it names is put right here with a
stand-in, and the table is validated again, until nothing is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ValidationError

from edgebench.errors import UsageError
from edgebench.fit.profile import (
    ALL_WANTED,
    MAX_REQUIREMENTS,
    Profile,
    checked,
    fix_of,
    refuse_slip,
    requirement_name,
    with_allowed_time,
)
from edgebench.fit.profile_documents import Document, document_of
from edgebench.fit.requirement import Requirement
from edgebench.fit.schedule import Schedule
from edgebench.refusals import refusal

MOST_ROUNDS = 40
"""Validations of one table; more than it has keys."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a profile.

    Attributes:
        file: in which it stands; a shipped profile's name.
        line: of the file, from 1; None where it cannot be told.
        what: is wrong, one sentence.
        fix: what would do.
    """

    file: str
    line: int | None
    what: str
    fix: str


def problems_of(name_or_file: str) -> list[Problem]:
    """All that keeps a profile from being read, in the order of the file; none where it can be."""
    try:
        document = document_of(name_or_file)
    except UsageError as error:
        line = re.search(r"\(at line ([0-9]+)", error.why)
        what = f"{error.what}: {error.why}" if error.why else error.what
        return [Problem(name_or_file, int(line[1]) if line else None, what, error.fix)]
    problems = [*_of_the_head(document), *_of_requirements(document)]
    if not problems:
        try:
            checked(document)
        except UsageError as error:  # what no part has by itself
            problems = [Problem(document.where, None, error.what, error.fix)]
    return sorted(problems, key=lambda problem: (problem.file != document.where, problem.line or 0))


_SOUND: Mapping[str, Any] = {"name": "stand-in", "limit": 0.5}
"""A requirement that is right, and what each of its keys can be put right with."""

_SOUND_PROFILE: Mapping[str, Any] = {"name": "stand-in", "requirements": [_SOUND]}
_SOUND_SCHEDULE: Mapping[str, Any] = {"cycle_s": 1e12, "images": 1}

_BELONGING = {
    "quantity": ("statistic", "unit", "comparison", "averaging_s", "budget", "limit"),
    "budget": ("limit",),
    "cycle": ("cycle_s",),
    "times_s": ("images",),
}
"""What is put right with a key, because it means something beside it alone."""

_GIVEN_BY = {"cycle_s": "cycle", "limit": "budget"}
"""Keys that need no stand-in beside another that says the same."""


@dataclass(frozen=True)
class _Fault:
    key: str
    what: str
    fix: str


def _of_the_head(document: Document) -> Iterator[Problem]:
    """Of all but the requirements."""
    tables = dict(document.tables)
    schedule = tables.pop("schedule", None)
    listed = tables.get("requirements")
    if isinstance(listed, list) and 0 < len(listed) <= MAX_REQUIREMENTS:
        tables["requirements"] = [_SOUND]
    for fault in _faults(tables, Profile, _SOUND_PROFILE):
        line = line_of(document.text, "", 0, fault.key)
        yield Problem(document.where, line, fault.what, fault.fix)
    if schedule is not None:
        for fault in _faults(schedule, Schedule, _SOUND_SCHEDULE):
            line = line_of(document.text, "schedule", 0, fault.key)
            what = fault.what if fault.what.startswith("the schedule") else f"schedule: {fault.what}"
            yield Problem(document.where, line, what, fault.fix)


def _of_requirements(document: Document) -> Iterator[Problem]:
    """Of each requirement, and of those that are right how they go together."""
    listed = document.tables.get("requirements")
    schedule = _schedule(document.tables.get("schedule"))
    sound: list[Any] = []
    for at, entry in enumerate(listed[:MAX_REQUIREMENTS] if isinstance(listed, list) else []):
        filled = entry if schedule is None else with_allowed_time(entry, schedule)
        faults = list(_faults(filled, Requirement, _SOUND)) or _misfits(filled, sound, schedule)
        if not faults:
            sound.append(filled)
        file, number = document.origin(at)
        text = document.text if file == document.where else ""
        for fault in faults:
            what = f"requirement {requirement_name(document.tables, at)}: {fault.what}"
            yield Problem(file, line_of(text, "requirements", number, fault.key), what, fault.fix)


def _schedule(table: Any) -> Schedule | None:
    """The schedule; one to go on with where it is wrong, which is said elsewhere."""
    if table is None:
        return None
    try:
        return Schedule.model_validate(table)
    except ValidationError:
        return Schedule.model_validate(_SOUND_SCHEDULE)


def _misfits(entry: Any, others: Sequence[Any], schedule: Schedule | None) -> list[_Fault]:
    """What is wrong with a requirement beside those before it; and a share written as a percentage."""
    tables: dict[str, Any] = {"name": "stand-in", "requirements": [*others, entry]}
    if schedule is not None:
        tables["schedule"] = schedule.model_dump(exclude_none=True)
    try:
        profile = Profile.model_validate(tables)
        refuse_slip(profile.requirements[-1], "")
    except ValidationError as error:
        refused = refusal(error, tables, Profile)
        # What comes after may yet be required.
        return [] if refused.what == ALL_WANTED else [_Fault("", refused.sentence(), refused.fix)]
    except UsageError as error:
        return [_Fault("limit", f"{error.what.rpartition(': ')[2]}: {error.why}", error.fix)]
    return []


def _faults(table: Any, model: type[BaseModel], sound: Mapping[str, Any]) -> Iterator[_Fault]:
    """What is wrong with a table, one after the other, each put right before the next is looked for."""
    for _ in range(MOST_ROUNDS):
        fault = _first_fault(table, model)
        if fault is None:
            return
        mended = None if not isinstance(table, Mapping) else _mended(table, model, sound, fault)
        yield fault if mended is None else replace(fault, key=mended[0])
        if mended is None:
            return
        table = mended[1]


def _first_fault(table: Any, model: type[BaseModel]) -> _Fault | None:
    try:
        model.model_validate(table)
    except ValidationError as error:
        refused = refusal(error, table, model)
        return _Fault("", refused.sentence(), fix_of(refused, table))
    return None


def _mended(
    table: Mapping[str, Any], model: type[BaseModel], sound: Mapping[str, Any], fault: _Fault
) -> tuple[str, dict[str, Any]] | None:
    """The key that is at fault, and the table without it; None where no single one is.

    It is the one without which that is no longer said; of several the one with which least goes.
    """
    keys = [*(key for key in table if key not in sound), *sound]
    for key in sorted(keys, key=lambda key: (key not in table, len(_BELONGING.get(key, ())))):
        gone = (key, *_BELONGING.get(key, ()))
        mended = {name: value for name, value in table.items() if name not in gone}
        mended |= {name: sound[name] for name in gone if name in sound and not _is_given(name, mended)}
        if table.get("quantity") == "size_mm" and "quantity" in mended and key == "limit":
            mended["limit"] = [1.0, 1.0, 1.0]
        after = _first_fault(mended, model)
        if after is None or after.what != fault.what:
            return key, mended
    return None


def _is_given(name: str, table: Mapping[str, Any]) -> bool:
    """Whether another key of the table gives it, so that a stand-in would contradict that."""
    return _GIVEN_BY.get(name) in table


def line_of(text: str, table: str, number: int, key: str) -> int | None:
    """The line of a key, from 1, else of the head of its table; None where that cannot be told.

    Args:
        text: of the file; empty for none.
        table: its table's name; "" for the top.
        number: which of the tables of that name, from 0.
        key: in it; "" for the table as a whole.
    """
    lines = _without_texts(text).splitlines()
    heads = [at for at, line in enumerate(lines) if re.match(r"\s*\[", line)]
    own = [at for at in heads if re.match(rf"\s*\[+\s*{table}\s*\]", lines[at])] if table else [-1]
    if not text or number >= len(own):
        return None
    begin = own[number]
    end = next((at for at in heads if at > begin), len(lines))
    for at in range(begin + 1, end):
        if key and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*=""", lines[at]):
            return at + 1
    return begin + 1 if begin >= 0 else None


def _without_texts(text: str) -> str:
    """The text with its texts of several lines emptied, in which anything may stand."""
    return re.sub(
        r'"{3}.*?"{3}|\'{3}.*?\'{3}', lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL
    )
