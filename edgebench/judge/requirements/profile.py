"""A profile: a named set of requirements, from the shipped ones or a TOML file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, JsonValue, ValidationError, ValidationInfo, WithJsonSchema, field_validator

from edgebench.errors import StoredResultError, UsageError
from edgebench.files import TomlFile, expand_home, parse_toml, read_toml
from edgebench.judge.metrics import required_metrics
from edgebench.judge.requirements.requirement import RATE, WRITTEN, Requirement, Uplink, default_name
from edgebench.judge.requirements.schedule import MAX_TIME_S, Budget, Schedule, Strict, read_times
from edgebench.judge.units import one_measured
from edgebench.refusals import attempt, form, problem, refusals, refuse, require_value
from edgebench.suggest import choose, short

# A profile as it is written, in a file or shipped, with what it takes from the one that it extends.
#
# The nearer file wins: a requirement takes the whole place of the inherited one on the same quantity and
# statistic, a wish that of a wish; any other is added, `without` drops inherited ones by name.

OWN = ("name", "title", "description")
"""What is about a profile itself, and never inherited."""

MAX_REQUIREMENTS = 100
COUNT: dict[str, JsonValue] = {"minItems": 1, "maxItems": MAX_REQUIREMENTS}
VERSION_FORM = "write schema_version = 1, or leave it out"


Origin = tuple["Document", int]
"""A document, and which one of its requirements."""


@dataclass(frozen=True)
class Document:
    """The tables of a profile, complete.

    Attributes:
        tables: as they are written, without `extends`, `without` and files of times; not yet checked.
        where: the file, or the name of a shipped one.
        text: of the file, for the lines of what is wrong with it.
        folder: in which the files that it names are sought.
        origins: where the inherited tables, by their keys, and all requirements, by their numbers, stand;
            empty where it inherits nothing.
    """

    tables: dict[str, Any]
    where: str
    text: str = ""
    folder: Path = Path()
    origins: Mapping[str | int, Origin] = field(default_factory=dict)

    def origin(self, part: str | int) -> Origin:
        """Place of a table or requirement."""
        return self.origins.get(part, (self, part if isinstance(part, int) else 0))


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


def _may_be_profile(file: Path) -> bool:
    """True if a TOML file has a key of profiles."""
    return (
        file.is_file() and re.search(rb"^(\[\[requirements|extends\b)", file.read_bytes(), re.M) is not None
    )


def _written(reference: str, extended_by: Document | None) -> Document:
    """A profile by name or file as it is written; `extended_by` is the profile that extends it."""
    if data := _shipped_files().get(reference):
        return _with_times(parse_toml(data, f"profile {reference}"), reference, Path())
    path = (extended_by.folder if extended_by else Path()) / expand_home(reference)
    is_name = path.suffix != ".toml" and len(Path(reference).parts) < 2
    # os.path takes a name that is too long for the file system.
    fault, fix = f"there is no profile {short(reference)}", "name a profile, or another TOML file"
    if extended_by:
        fault = f"profile {extended_by.where} extends {short(reference)}, which is none"
        fix = f"correct `extends` in {extended_by.where}"
    if is_name and not os.path.exists(path) and os.path.isfile(f"{path}.toml"):  # noqa: PTH110, PTH113
        path = path.with_name(f"{path.name}.toml")
    elif is_name and not os.path.exists(path):  # noqa: PTH110
        own = [file.stem for file in sorted(path.parent.glob("*.toml")) if _may_be_profile(file)]
        choices = f"{choose(reference, [*_shipped_files(), *own])}, or a TOML file of your own"
        raise UsageError(fault, fix=choices)
    return _with_times(read_toml(path, "profile", fix=fix), os.path.normpath(path), path.parent)


def _with_times(file: TomlFile, where: str, folder: Path) -> Document:
    """A document as it is written, with the times that the schedule's file lists."""
    tables = dict(file.tables)
    match tables.get("schedule"):
        case {"times": str(name), **others} if name and "times_s" not in others:
            tables["schedule"] = others | {"times_s": read_times(folder / expand_home(name))}
    return Document(tables, where, file.text, folder)


def _extended(own: Document) -> Document:
    """The document with what it inherits; the fields refuse an `extends` or `without` of another type."""
    extends = own.tables.get("extends")
    if not isinstance(extends, str) or not extends:
        return own
    base = _written(extends, own)
    if "extends" in base.tables:
        raise UsageError(
            f"profile {own.where} extends {base.where}, which extends another profile",
            why="a profile inherits from one profile, and that from none",
            fix=f"take `extends` out of {base.where}, and write what it inherits into it",
        )
    if (version := base.tables.get("schema_version", 1)) != 1:
        what = f"profile {base.where}: schema_version: {short(version)} is not known"
        raise UsageError(what, fix=VERSION_FORM)
    inherited = {key: value for key, value in base.tables.items() if key not in (*OWN, *own.tables)}
    tables = inherited | {key: value for key, value in own.tables.items() if key != "extends"}
    placed, without = _placed(base), []
    if isinstance(tables.get("without", []), list):
        without = tables.pop("without", [])
        names = [str(_name(entry)) for entry, _ in placed.values()]
        for name in without:
            if name not in names:
                what = f"without: {short(name)} is not a requirement of {base.where}"
                tables["without"] = problem(what, choose(name, names))
    origins: dict[str | int, Origin] = dict.fromkeys(inherited, (base, 0))
    if isinstance(tables.get("requirements", []), list):
        remaining = {subject: entry for subject, entry in placed.items() if _name(entry[0]) not in without}
        merged = (remaining | _placed(own)).values()
        tables["requirements"] = [entry for entry, _ in merged]
        origins |= {index: origin for index, (_, origin) in enumerate(merged)}
    return replace(own, tables=tables, origins=origins)


def _placed(document: Document) -> dict[Any, tuple[Any, Origin]]:
    """The requirements with their origins, by quantity, statistic and whether they are wishes."""
    placed: dict[Any, tuple[Any, Origin]] = {}
    listed = document.tables.get("requirements")
    for index, entry in enumerate(listed if isinstance(listed, list) else ()):
        table = entry if isinstance(entry, Mapping) else {}
        metric, is_wish = required_metrics().get(str(table.get("quantity", "image_s"))), table.get("wanted")
        statistic = metric and str(table.get("statistic", metric.statistics[0]))
        subject = metric and (metric.name, statistic, is_wish is True)
        # The model refuses a second one of a file: it replaces none.
        place = (document.where, index) if subject in (None, *placed) else subject
        placed[place] = (entry, (document, index))
    return placed


EXAMPLE = "see `edgebench profiles show disco-realtime`"
_KEPT = Requirement.model_validate({"name": "schedule", "quantity": "load", "limit": 1.0})


class Profile(Strict):
    """A named set of requirements, as `edgebench run --profile FILE` takes it (TOML)."""

    schema_version: Literal[1] = Field(default=1, json_schema_extra=form(VERSION_FORM))
    """Version of this layout. Default: 1."""

    name: str = Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$",
        json_schema_extra=form("up to 80 letters, digits, '.', '_' and '-', a letter or digit first"),
    )
    """What verdicts call it."""

    title: str = Field(default="", max_length=200)
    """One line for the heads of reports."""

    description: str = Field(default="", max_length=4000)
    """What it is for; several lines are fine."""

    source: str = Field(default="", max_length=1000)
    """Where its limits come from, such as a paper."""

    extends: None = Field(
        default=None,
        exclude=True,
        json_schema_extra=form('write extends = "disco-realtime", or "base.toml" in the folder of this file')
        | {"type": "string", "minLength": 1},
    )
    """Another profile, whose source, schedule, uplink and requirements it takes: a shipped one by name, or
    a TOML file, sought in the folder of this one. That one extends no other."""

    without: None = Field(
        default=None,
        exclude=True,
        json_schema_extra=form('write without = ["mass"], next to `extends`: it drops what is inherited')
        | {"type": "array", "items": {"type": "string"}},
    )
    """Names of inherited requirements that it does not have."""

    schedule: Schedule | None = None
    """When images come."""

    uplink_bps: Annotated[Uplink | None, WithJsonSchema(RATE)] = None
    """What reaches the device from outside, in bits a second, or as text such as "9.6 kbit/s"; update_s
    follows from it."""

    requirements: tuple[Requirement, ...] = Field(json_schema_extra=COUNT)
    """Its limits. One on the same quantity and statistic takes the whole place of an inherited one, a wish
    that of a wish; any other is added."""

    @property
    def stated_schedule(self) -> Schedule | None:
        """Schedule of its images, else one from the budget that its requirements share.

        None where they have none, or different ones.
        """
        return _stated(self.schedule, self.requirements)

    @property
    def implied(self) -> Requirement | None:
        """Requirement that its schedule is kept; None without a schedule, or where it states one."""
        required = (limit for limit in self.requirements if limit.quantity == "load" and not limit.wanted)
        keeps = any(load.schedule == self.schedule and load.base_limit <= 1 for load in required)
        if self.schedule is None or keeps:
            return None
        taken = {requirement.name for requirement in self.requirements}
        names = ("schedule", *(f"schedule {number}" for number in range(2, MAX_REQUIREMENTS + 2)))
        name = next(name for name in names if name not in taken)
        return _KEPT.model_copy(update={"name": name, "schedule": self.schedule})

    @property
    def judged(self) -> tuple[Requirement, ...]:
        """Requirements of the profile, and the implied one that its schedule is kept."""
        return self.requirements if self.implied is None else (*self.requirements, self.implied)

    @classmethod
    def complete(cls, table: dict[str, Any], context: Any) -> dict[str, Any]:
        """The uplink as a number, and requirements that are there."""
        if isinstance(uplink := table.get("uplink_bps"), str):
            table["uplink_bps"] = attempt(one_measured, uplink, "bit/s", "uplink_bps", "9.6 kbit/s")
        listed = table.get("requirements")
        if not isinstance(listed, list | tuple) or not 0 < len(listed) <= MAX_REQUIREMENTS:
            wrong = "is missing" if listed is None else f"= {short(listed)} is no list of tables"
            fix = f"write 1 to {MAX_REQUIREMENTS} tables [[requirements]]"
            table["requirements"] = problem(f"requirements {wrong}", fix)
        return table

    @field_validator("requirements", mode="before")
    @classmethod
    def _together(cls, listed: Any, info: ValidationInfo) -> Any:
        """Latencies with what the schedule allows; a problem in place of what contradicts another."""
        require_value(listed)
        schedule = info.data.get("schedule", _ANY)
        entries = [_limited(entry, schedule) for entry in listed]
        for index, entry in enumerate(entries):
            try:
                requirement = Requirement.model_validate(entry, context=info.context)
            except ValidationError:  # which the field says, with its place
                continue
            entries[index] = attempt(_beside, requirement, entries[:index], schedule)
        return tuple(entries)

    @field_validator("requirements")
    @classmethod
    def _completed_by_the_profile(cls, requirements: tuple[Requirement, ...], info: ValidationInfo) -> Any:
        if all(requirement.wanted for requirement in requirements):
            what = "all requirements are wanted, and none is required"
            raise problem(what, "take wanted out of one of them", named=True)
        schedule = _stated(info.data.get("schedule"), requirements)
        # Missions and updates take from the profile what a requirement has not of its own.
        defaults = {"schedule": schedule, "uplink_bps": info.data.get("uplink_bps")}
        completed = []
        for requirement in requirements:
            names = defaults.keys() & set(requirement.metric.conditions)
            missing = {name: defaults[name] for name in names if getattr(requirement, name) is None}
            completed.append(requirement.model_copy(update=missing))
        return tuple(completed)

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


_ANY = Schedule(cycle_s=MAX_TIME_S, images=1)
"""In the place of a schedule that is refused: latencies miss no limit then."""


def _limited(entry: Any, schedule: Schedule | None) -> Any:
    """A requirement's table, of a latency without a limit with what the schedule allows."""
    if schedule is None or not isinstance(entry, Mapping):
        return entry
    table, metric = dict(entry), required_metrics().get(str(entry.get("quantity", "image_s")))
    has_limit = (table.get("limit"), table.get("budget")) != (None, None)
    if metric is None or not metric.is_latency or has_limit:
        return entry
    if schedule.allowed_s == schedule.limit_s:
        return table | {"budget": Budget(cycle_s=schedule.cycle_s, images=schedule.images)}
    scale = metric.units.get(str(table.get("unit", metric.unit)), 1.0)
    return table | {"limit": schedule.allowed_s * metric.units["s"] / scale}


def _beside(requirement: Requirement, others: Sequence[Any], schedule: Schedule | None) -> Requirement:
    """The requirement; raises what contradicts those before it, or the schedule."""
    name, budget = requirement.name, requirement.budget
    limited = f"the {requirement.statistic} of {requirement.quantity}"
    for other in others:
        if not isinstance(other, Requirement):  # a wrong one
            continue
        is_same = (requirement.quantity, requirement.statistic) == (other.quantity, other.statistic)
        wish, need = (requirement, other) if requirement.wanted else (other, requirement)
        refuse(
            (name == other.name, f"two requirements are called {name!r}", "give each a name of its own"),
            (
                is_same and requirement.wanted == other.wanted,
                f"{other.name!r} and {name!r} both limit {limited}",
                "take one of the two out, or make it a wish: wanted = true",
            ),
            (
                is_same and not wish.asks_more_than(need),
                f"{wish.name!r} is wanted, and {need.name!r} requires as much or more of {limited}",
                "take the wish out, or ask for more by it",
            ),
        )
    if budget and schedule and schedule is not _ANY:
        differs = (budget.cycle_s, budget.images) != (schedule.cycle_s, schedule.images)
        of_budget, of_schedule = (f"{each.images} in {each.cycle_s:g} s" for each in (budget, schedule))
        fault = f"{name!r} has a budget of {of_budget}, and the schedule has {of_schedule}"
        refuse((differs, fault, "take the budget out, or write a [schedule] of its own"))
    return requirement


def _stated(schedule: Schedule | None, requirements: Sequence[Requirement]) -> Schedule | None:
    """The schedule, else the images of the budget that the requirements share, evenly over its cycle."""
    budgets = {requirement.budget for requirement in requirements if requirement.budget}
    if schedule is not None or len(budgets) != 1:
        return schedule
    [budget] = budgets
    return Schedule(cycle_s=budget.cycle_s, images=budget.images)


@cache
def shipped_profiles() -> tuple[Profile, ...]:
    """The profiles that come with EdgeBench, by name."""
    return tuple(map(load_profile, _shipped_files()))


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
        line: of the file, from 1; None where it is not known.
        what: is wrong, one sentence.
        fix: what would do.
    """

    file: str
    line: int | None
    what: str
    fix: str


def checked(document: Document) -> Profile:
    """The profile in a document; UsageError, naming the file at fault, where it is not valid."""
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
        fault = f"{error.what}: {error.why}" if error.why else error.what
        return [Problem(name_or_file, int(line[1]) if line else None, fault, error.fix)]
    except ValidationError as error:
        faults = faults_of(document, error)
        return sorted(faults, key=lambda fault: (fault.file != document.where, fault.line or 0))
    return []


def faults_of(document: Document, error: ValidationError) -> list[Problem]:
    """Problems that a validation of a profile found, with requirement, file and line."""
    faults = []
    for refused in refusals(error, document.tables, Profile):
        fault, fix = refused.sentence(), refused.fix or EXAMPLE
        match refused.place:
            case ("requirements", int(at), *inner):
                (source, number), table, key = document.origin(at), "requirements", str((*inner, "")[0])
                name = _name(document.tables["requirements"][at])
                called = short(name) if isinstance(name, str) else f"number {at + 1}"
                fault = f"requirement {called}: {refused.sentence(skip=2)}"
            case (str(top), *inner):
                source, number = document.origin(top)
                table, key = (top, str(inner[0])) if inner else ("", top)
            case _:
                source, number, table, key = document, 0, "", ""
        faults.append(Problem(source.where, line_of(source.text, table, number, key), fault, fix))
    return faults


def line_of(text: str, table: str, number: int, key: str) -> int | None:
    """The line of a key, from 1, else of the head of its table; None where that is not known.

    Args:
        text: of the file; empty for none.
        table: its table's name; "" for the top.
        number: which of the tables of that name, from 0.
        key: in it, with or without its unit; "" for the table as a whole.
    """
    # Texts of several lines are emptied, in which anything may stand.
    several = r'"{3}.*?"{3}|\'{3}.*?\'{3}'
    lines = re.sub(several, lambda match: "\n" * match[0].count("\n"), text, flags=re.DOTALL).splitlines()
    heads = [index for index, line in enumerate(lines) if re.match(r"\s*\[", line)]
    own = [index for index in heads if re.match(rf"\s*\[+\s*{table}\s*\]", lines[index])] if table else [-1]
    if not text or number >= len(own):
        return None
    begin = own[number]
    end = next((index for index in heads if index > begin), len(lines))
    written = rf"""\s*["']?{re.escape(key.removesuffix("_s"))}(_s)?["']?\s*="""
    matches = (index + 1 for index in range(begin + 1, end) if key and re.match(written, lines[index]))
    return next(matches, begin + 1 or None)


def _name(requirement: Any) -> Any:
    """Name of a requirement's table, stated or by default. None if there is neither."""
    if not isinstance(requirement, Mapping):
        return None
    return requirement.get("name", default_name(requirement)) or None
