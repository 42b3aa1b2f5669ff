"""A profile: a named set of requirements, from the shipped ones or a TOML file."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator
from pydantic_core import PydanticCustomError

from edgebench.errors import StoredResultError, UsageError
from edgebench.files import TomlFile, parse_toml, read_toml
from edgebench.judge.metrics import required_metrics
from edgebench.judge.requirement import Defaults, Requirement, Uplink
from edgebench.judge.schedule import MAX_TIME_S, Budget, Faults, Schedule, Strict, read_times
from edgebench.judge.units import one_measured
from edgebench.refusals import form, problem, refusals
from edgebench.suggest import choose, short

# A profile as it is written, in a file or shipped, with what it takes from the one that it extends.
#
# The nearer file wins: a requirement takes the whole place of the inherited one on the same quantity and
# statistic, a wish that of a wish; any other is added, `without` drops inherited ones by name. What is said
# of
# a profile (its name, title and description) is never inherited, because it would say it of another.


VERSION_FORM = "write schema_version = 1, or leave it out"

INHERITED = ("source", "schedule", "uplink_bps")
"""What a profile has of the one that it extends, unless it says so itself; requirements are merged."""


Origin = tuple[str, int]
"""A file, and which one of its requirements."""


@dataclass(frozen=True)
class Document:
    """The tables of a profile, complete.

    Attributes:
        tables: as they are written, without `extends`, `without` and files of times; not yet checked.
        where: the file, or the name of a shipped one.
        origins: by requirement, the file in which it stands, and as which one of that file.
        text: of the file alone, for the lines of what is wrong with it.
        folder: in which the files that it names are sought.
    """

    tables: dict[str, Any]
    where: str
    origins: tuple[Origin, ...] = ()
    text: str = ""
    folder: Path = Path()

    def origin(self, index: int) -> Origin:
        """Where a requirement stands."""
        return self.origins[index] if index < len(self.origins) else (self.where, index)

    @property
    def placed(self) -> list[tuple[Any, Origin]]:
        """The requirements, each with its origin; none where they are no list."""
        listed = self.tables.get("requirements")
        return [
            (entry, self.origin(at)) for at, entry in enumerate(listed if isinstance(listed, list) else ())
        ]


def shipped_names() -> list[str]:
    """Of the profiles that come with EdgeBench, sorted."""
    return list(_shipped_files())


def document_of(name_or_file: str) -> Document:
    """The document of that shipped profile, or of that TOML file.

    Raises UsageError for one that does not exist, is not TOML, extends one that does not exist or itself
    extends another, or drops a requirement that it did not inherit.
    """
    return _extended(_written(name_or_file, None))


@cache
def _shipped_files() -> Mapping[str, bytes]:
    folder = resources.files("edgebench.judge") / "profiles"
    files = {file.name: file for file in folder.iterdir() if file.name.endswith(".toml")}
    return {name.removesuffix(".toml"): files[name].read_bytes() for name in sorted(files)}


def _written(reference: str, extending: Document | None) -> Document:
    """A profile by name or file as it is written; `extending` is the profile that extends it."""
    if data := _shipped_files().get(reference):
        return _with_times(parse_toml(data, f"profile {reference}"), reference, Path())
    path = (extending.folder if extending else Path()) / reference
    if path.suffix != ".toml" and len(Path(reference).parts) < 2 and not _is_file(path):
        by = f"profile {extending.where} extends {short(reference)}" if extending else ""
        missing = f"there is no profile {short(reference)}"
        raise UsageError(
            by or missing,
            why=missing if by else "",
            fix=f"{choose(reference, shipped_names())}, or a TOML file of your own",
        )
    if not extending:
        file = read_toml(path, "profile", fix="name a profile, or another TOML file")
        return _with_times(file, str(path), path.parent)
    document = _with_times(
        read_toml(path, "profile", fix=f"correct `extends` in {extending.where}"),
        os.path.normpath(path),
        path.parent,
    )
    # Only a part of it is taken: nobody else would read its other keys.
    for key in document.tables:
        if key not in KEYS:
            raise UsageError(f"profile {document.where}: unknown key {short(key)}", fix=choose(key, KEYS))
    version = document.tables.get("schema_version", 1)
    if version != 1 or isinstance(version, bool):
        what = f"profile {document.where}: schema_version: {short(version)} is not known"
        raise UsageError(what, fix=VERSION_FORM)
    return document


def _with_times(file: TomlFile, where: str, folder: Path) -> Document:
    """A document as it is written, with the times that the schedule's file lists."""
    tables = dict(file.tables)
    schedule = tables.get("schedule")
    if isinstance(schedule, Mapping) and "times" in schedule:
        others = {key: value for key, value in schedule.items() if key != "times"}
        named = schedule["times"]
        if not isinstance(named, str) or not named or "times_s" in schedule:
            raise UsageError(
                f"profile {where}: schedule: times is not one file",
                fix='write times = "FILE.csv", or times_s = [0.0, 4.42], in s',
            )
        tables["schedule"] = others | {"times_s": read_times(folder / named)}
    listed = tables.get("requirements")
    count = len(listed) if isinstance(listed, list) else 0
    return Document(tables, where, tuple((where, at) for at in range(count)), file.text, folder)


def _extended(own: Document) -> Document:
    """The document with what it inherits."""
    tables = dict(own.tables)
    extends, without = tables.pop("extends", None), tables.pop("without", None)
    if extends is None:
        if without is not None:
            raise UsageError(
                f"profile {own.where}: without drops inherited requirements, and nothing is inherited",
                fix='add extends = "a profile", or take `without` out',
            )
        return own
    if not isinstance(extends, str) or not extends:
        raise UsageError(
            f"profile {own.where}: extends: {short(extends)} is not the name of a profile, nor a file",
            fix='write extends = "disco-realtime", or "base.toml" beside this file',
        )
    base = _written(extends, own)
    if "extends" in base.tables:
        raise UsageError(
            f"profile {own.where} extends {base.where}, which extends another profile",
            why="a profile inherits from one profile, and that from none",
            fix=f"take `extends` out of {base.where}, and write what it inherits into it",
        )
    tables = {key: base.tables[key] for key in INHERITED if key in base.tables} | tables
    kept = _without(base, [] if without is None else without, own.where)
    if not isinstance(tables.get("requirements", []), list):  # which the profile's model refuses
        return replace(own, tables=tables)
    merged: dict[Any, tuple[Any, Origin]] = {}
    for entry, origin in [*kept, *own.placed]:
        about = _about(entry)
        # A second one of the same file is a duplicate, which the profile's model refuses.
        if about is None or (about in merged and merged[about][1][0] == origin[0]):
            about = len(merged)
        merged[about] = (entry, origin)
    tables["requirements"] = [entry for entry, _ in merged.values()]
    return replace(own, tables=tables, origins=tuple(origin for _, origin in merged.values()))


def _without(base: Document, names: Any, where: str) -> list[tuple[Any, Origin]]:
    """The requirements of a profile but for those of these names."""
    named = [
        (entry.get("name") if isinstance(entry, Mapping) else None, entry, at) for entry, at in base.placed
    ]
    known = [str(name) for name, _, _ in named]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(
            f"profile {where}: without: {short(names)} is not a list of names",
            fix=f'write without = ["mass"]; {base.where} has {", ".join(known) or "none"}',
        )
    for name in names:
        if name not in known:
            raise UsageError(
                f"profile {where}: without: {base.where} has no requirement {short(name)}",
                fix=choose(name, known),
            )
    return [(entry, at) for name, entry, at in named if name not in names]


def _about(entry: Any) -> Any:
    """Quantity and statistic of a requirement, and whether it is a wish; None where unknown."""
    quantity = entry.get("quantity", "image_s") if isinstance(entry, Mapping) else None
    metric = required_metrics().get(str(quantity))
    if metric is None:
        return None
    return metric.name, str(entry.get("statistic", metric.statistics[0])), entry.get("wanted") is True


def _is_file(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


EXAMPLE = "see `edgebench profiles show disco-realtime`"
MAX_REQUIREMENTS = 100
_KEPT = Requirement.model_validate({"name": "schedule", "quantity": "load", "limit": 1.0})


class Profile(Strict):
    """A named set of requirements, with where they come from, and when images come."""

    document_keys = ("extends", "without")

    schema_version: Literal[1] = Field(default=1, json_schema_extra=form(VERSION_FORM))
    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$",
        json_schema_extra=form("up to 80 letters, digits, '.', '_' and '-', a letter or digit first"),
    )
    title: str = Field(default="", max_length=200)
    description: str = Field(default="", max_length=4000)
    source: str = Field(default="", max_length=1000)
    schedule: Schedule | None = None
    uplink_bps: Uplink | None = None
    requirements: tuple[Requirement, ...] = Field(min_length=1, max_length=MAX_REQUIREMENTS)

    @property
    def stated_schedule(self) -> Schedule | None:
        """When images come: by its schedule, else by the budget that its requirements have.

        None where they have none, or different ones.
        """
        if self.schedule is not None:
            return self.schedule
        return _shared({requirement.budget for requirement in self.requirements if requirement.budget})

    @property
    def implied(self) -> Requirement | None:
        """That its schedule is kept, whatever else it requires; None without one, or where it says so."""
        keeps = any(
            each.quantity == "load"
            and not each.wanted
            and each.schedule == self.schedule
            and each.base_limit <= 1
            for each in self.requirements
        )
        if self.schedule is None or keeps:
            return None
        taken = {requirement.name for requirement in self.requirements}
        names = ("schedule", *(f"schedule {number}" for number in range(2, MAX_REQUIREMENTS + 2)))
        name = next(name for name in names if name not in taken)
        return _KEPT.model_copy(update={"name": name, "schedule": self.schedule})

    @property
    def judged(self) -> tuple[Requirement, ...]:
        """Its requirements, and that its schedule is kept."""
        return self.requirements if self.implied is None else (*self.requirements, self.implied)

    @classmethod
    def complete(cls, table: dict[str, Any], context: Any) -> Faults:
        """The uplink as a number, and the requirements with what they take from the profile."""
        schedule, listed = table.get("schedule"), table.get("requirements")
        try:
            schedule = None if schedule is None else Schedule.model_validate(schedule)
        except ValidationError as error:
            yield ("schedule",), error
            schedule = Schedule(cycle_s=MAX_TIME_S, images=1)
        table["schedule"] = schedule
        try:
            if isinstance(uplink := table.get("uplink_bps"), str):
                table["uplink_bps"] = one_measured(uplink, "bit/s", "uplink_bps", "9.6 kbit/s")
        except PydanticCustomError as error:
            yield ("uplink_bps",), error
            table["uplink_bps"] = 1.0
        if not isinstance(listed, list | tuple) or not 0 < len(listed) <= MAX_REQUIREMENTS:
            return
        uplink = table.get("uplink_bps")  # of what is none its own field says so
        is_rate = isinstance(uplink, int | float) and uplink is not True and 0 < uplink < math.inf
        defaults = Defaults(
            schedule or _of_lone_budget(listed),
            limits=schedule is not None,
            uplink_bps=uplink if is_rate else None,
            written=context == WRITTEN,
        )
        valid: list[Requirement] = []
        for at, entry in enumerate(listed):
            try:
                requirement = Requirement.model_validate(entry, context=defaults)
                if clash := _clash(requirement, valid, schedule):
                    raise clash
                valid.append(requirement)
            except (ValidationError, PydanticCustomError) as error:
                yield ("requirements", at), error
        table["requirements"] = tuple(valid) or (_KEPT,)
        if len(valid) == len(listed) and all(requirement.wanted for requirement in valid):
            what = "all requirements are wanted, and none is required"
            yield (), problem(what, "take wanted out of one of them")

    @field_validator("title", "description", "source")
    @classmethod
    def _printable(cls, value: str) -> str:
        if not all(char.isprintable() or char == "\n" for char in value):
            raise problem("a text holds control characters", "write plain text")
        return value.strip()

    def as_record(self) -> dict[str, Any]:
        """Plain data with every limit computed, as experiment.json keeps it."""
        return self.model_dump(mode="json", exclude_none=True)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The profile that `as_record` wrote; StoredResultError when it is not one."""
        try:
            return cls.model_validate(record)
        except ValidationError as error:
            name = record.get("name") if isinstance(record, Mapping) else None
            first = faults_of(Document(dict(record), ""), error)[0]
            raise StoredResultError(
                f"the result's profile {short(name)}: {first.what}",
                why=first.fix,
                fix="judge it by a profile of your own: --profile FILE",
            ) from error


KEYS = (*Profile.document_keys, *Profile.model_fields)
"""What a document may say."""

WRITTEN = "written by a user"
"""The context in which a profile is validated whose slips are refused."""


def _clash(
    requirement: Requirement, others: Sequence[Requirement], schedule: Schedule | None
) -> PydanticCustomError | None:
    """What is wrong with a requirement beside those before it, and beside the schedule."""
    name, budget = requirement.name, requirement.budget
    for other in others:
        if name == other.name:
            return problem(f"two requirements are called {name!r}", "give each a name of its own")
        if (requirement.quantity, requirement.statistic) != (other.quantity, other.statistic):
            continue
        what = f"the {requirement.statistic} of {requirement.quantity}"
        if requirement.wanted == other.wanted:
            return problem(
                f"{other.name!r} and {name!r} both limit {what}",
                "take one of the two out, or make it a wish: wanted = true",
            )
        wish, need = (requirement, other) if requirement.wanted else (other, requirement)
        if not wish.asks_more_than(need):
            return problem(
                f"{wish.name!r} is wanted, and {need.name!r} requires as much or more of {what}",
                "take the wish out, or ask for more by it",
            )
    if budget and schedule and (budget.cycle_s, budget.images) != (schedule.cycle_s, schedule.images):
        return problem(
            f"{name!r} has a budget of {budget.images} in {budget.cycle_s:g} s, and the "
            f"schedule has {schedule.images} in {schedule.cycle_s:g} s",
            "take the budget out, or write a [schedule] of its own",
        )
    return None


def _of_lone_budget(listed: Sequence[Any]) -> Schedule | None:
    """That of the budget that its requirements share; None without one, or where they differ."""
    stated = [entry.get("budget") for entry in listed if isinstance(entry, Mapping)]
    try:
        return _shared({Budget.model_validate(budget) for budget in stated if budget is not None})
    except ValidationError:  # which the requirement says
        return None


def _shared(budgets: Set[Budget]) -> Schedule | None:
    """The images of a lone budget, evenly over its cycle; None without one, or of several."""
    if len(budgets) != 1:
        return None
    [budget] = budgets
    return Schedule(cycle_s=budget.cycle_s, images=budget.images)


def shipped_profiles() -> list[Profile]:
    """The profiles that come with EdgeBench, by name."""
    return list(_shipped())


@cache
def _shipped() -> tuple[Profile, ...]:
    return tuple(checked(document_of(name)) for name in shipped_names())


def load_profile(name_or_file: str) -> Profile:
    """The shipped profile of that name, or the one in that TOML file, with what it inherits.

    Raises UsageError, naming the file, the requirement and what to write instead, for one that does not
    exist or is not a profile.
    """
    return checked(document_of(name_or_file))


def load_profiles(names_or_files: Sequence[str | Path | Profile]) -> tuple[Profile, ...]:
    """The profiles of those names or files, or these themselves, each once.

    Raises UsageError as `load_profile` does, and for different profiles of one name: a verdict says by name
    which profile it is about.
    """
    profiles: dict[str, tuple[str, Profile]] = {}
    for entry in names_or_files:
        if isinstance(entry, Profile):
            source, profile = "a Profile", entry
        else:
            source, profile = str(entry), load_profile(str(entry))
        first_source, first = profiles.setdefault(profile.name, (source, profile))
        if first != profile:
            raise UsageError(
                f"two different profiles are called {profile.name!r}",
                why=f"{first_source} and {source}",
                fix='give one of them another name = "..."',
            )
    return tuple(profile for _, profile in profiles.values())


def parse_profile(data: bytes, where: str, folder: Path = Path()) -> Profile:
    """The profile that a TOML document is; UsageError otherwise, with `where` as the file's name.

    The files that it names are sought in `folder`.
    """
    return checked(_extended(_with_times(parse_toml(data, f"profile {where}"), where, folder)))


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


def checked(document: Document) -> Profile:
    """The profile in a document; UsageError, naming the file at fault, where it is none."""
    try:
        return Profile.model_validate(document.tables, context=WRITTEN)
    except ValidationError as error:
        first = faults_of(document, error)[0]
        where = document.where if first.file == document.where else f"{document.where} (extends {first.file})"
        raise UsageError(f"profile {where}: {first.what}", fix=first.fix) from error


def problems_of(name_or_file: str) -> list[Problem]:
    """All that keeps a profile from being read, in the order of the file; none where it can be."""
    try:
        document = document_of(name_or_file)
        Profile.model_validate(document.tables, context=WRITTEN)
    except UsageError as error:
        line = re.search(r"\(at line ([0-9]+)", error.why)
        what = f"{error.what}: {error.why}" if error.why else error.what
        return [Problem(name_or_file, int(line[1]) if line else None, what, error.fix)]
    except ValidationError as error:
        faults = faults_of(document, error)
        return sorted(faults, key=lambda fault: (fault.file != document.where, fault.line or 0))
    return []


def faults_of(document: Document, error: ValidationError) -> list[Problem]:
    """What a validation of a profile found, each with its requirement, file and line."""
    faults = []
    for refused in refusals(error, document.tables, Profile):
        file, what, fix = document.where, refused.sentence(), refused.fix or EXAMPLE
        table, number, key = "", 0, str(refused.place[0]) if refused.place else ""
        match refused.place:
            case ("requirements", int(at), *inner):
                file, number = document.origin(at)
                what = f"requirement {_requirement_name(document.tables, at)}: {refused.sentence(skip=2)}"
                table, key = "requirements", str(inner[0]) if inner else ""
            case ("requirements",):
                fix = f"write 1 to {MAX_REQUIREMENTS} tables [[requirements]]"
            case ("schedule", str(inner_key), *_):
                table, key = "schedule", inner_key
        line = line_of(document.text, table, number, key) if file == document.where else None
        faults.append(Problem(file, line, what, fix))
    return faults


def line_of(text: str, table: str, number: int, key: str) -> int | None:
    """The line of a key, from 1, else of the head of its table; None where that cannot be told.

    Args:
        text: of the file; empty for none.
        table: its table's name; "" for the top.
        number: which of the tables of that name, from 0.
        key: in it, with or without its unit; "" for the table as a whole.
    """
    # Texts of several lines are emptied, in which anything may stand.
    several = r'"{3}.*?"{3}|\'{3}.*?\'{3}'
    lines = re.sub(several, lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL).splitlines()
    heads = [at for at, line in enumerate(lines) if re.match(r"\s*\[", line)]
    own = [at for at in heads if re.match(rf"\s*\[+\s*{table}\s*\]", lines[at])] if table else [-1]
    if not text or number >= len(own):
        return None
    begin = own[number]
    end = next((at for at in heads if at > begin), len(lines))
    written = rf"""\s*["']?{re.escape(key.removesuffix("_s"))}(_s)?["']?\s*="""
    found = (at + 1 for at in range(begin + 1, end) if key and re.match(written, lines[at]))
    return next(found, begin + 1 or None)


def _requirement_name(table: Mapping[str, Any], index: int) -> str:
    """How messages call a requirement: by its name in quotes, else by its number."""
    requirement = table["requirements"][index]
    name = requirement.get("name") if isinstance(requirement, Mapping) else None
    return short(name) if isinstance(name, str) else f"number {index + 1}"
