"""A profile: a named set of requirements, from the shipped ones or a TOML file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from edgebench.errors import StoredResultError, UsageError
from edgebench.files import parse_toml, read_toml
from edgebench.judge.metric import OF_MISSIONS
from edgebench.judge.metrics import METRICS, required_metrics
from edgebench.judge.requirement import Requirement, Uplink
from edgebench.judge.schedule import Budget, Schedule, Strict, read_times
from edgebench.judge.units import bits_a_second
from edgebench.refusals import Place, Refusal, form, problem, refusal
from edgebench.suggest import choose, short

# A profile as it is written, in a file or shipped, with what it takes from the one that it extends.
#
# The nearer file wins: a requirement takes the whole place of the inherited one on the same quantity and
# statistic, a wish that of a wish; any other is added, `without` drops inherited ones by name. What is said
# of
# a profile (its name, title and description) is never inherited, because it would say it of another.


KEYS = (
    "schema_version", "name", "title", "description", "source", "extends", "without", "schedule",
    "uplink_bps", "requirements",
)  # fmt: skip
"""What a document may say."""

INHERITED = ("source", "schedule", "uplink_bps")
"""What a profile has of the one that it extends, unless it says so itself; requirements are merged."""


Origin = tuple[str, int]
"""A file, and which one of its requirements."""


@dataclass(frozen=True)
class Document:
    """The tables of a profile, complete.

    Attributes:
        tables: as they are written, without `extends`, `without` and files of times; what stands in them is
            not yet checked.
        where: the file, or the name of a shipped one.
        origins: by requirement, the file in which it stands, and as which one of that file.
        text: of the file alone, for the lines of what is wrong with it.
    """

    tables: dict[str, Any]
    where: str
    origins: tuple[Origin, ...] = ()
    text: str = ""

    def origin(self, index: int) -> Origin:
        """Where a requirement stands."""
        return self.origins[index] if index < len(self.origins) else (self.where, index)


def shipped_names() -> list[str]:
    """Of the profiles that come with EdgeBench, sorted."""
    return list(_shipped_files())


def document_of(name_or_file: str) -> Document:
    """The document of that shipped profile, or of that TOML file.

    Raises UsageError for one that does not exist, is not TOML, extends one that does not exist or itself
    extends another, or drops a requirement that it did not inherit.
    """
    return _extended(*_written(name_or_file, None, Path()))


def document_in(data: bytes, where: str, folder: Path = Path()) -> Document:
    """The document in these bytes; the files that it names are sought in `folder`."""
    file = parse_toml(data, f"profile {where}")
    own = replace(_own(_with_times(file.tables, folder, where), where), text=file.text)
    return _extended(own, folder)


@cache
def _shipped_files() -> Mapping[str, bytes]:
    folder = resources.files("edgebench.judge") / "profiles"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".toml"): file.read_bytes() for file in files if file.name.endswith(".toml")
    }


def _written(reference: str, extending: Document | None, folder: Path) -> tuple[Document, Path]:
    """A profile by name or file as it is written, and the folder in which what it names is sought.

    A file is sought in `folder`; `extending` is the profile that extends it.
    """
    if data := _shipped_files().get(reference):
        return _own(parse_toml(data, f"profile {reference}").tables, reference), Path()
    path = folder / reference
    if not (path.suffix == ".toml" or len(Path(reference).parts) > 1 or _is_file(path)):
        by = f"profile {extending.where} extends {short(reference)}" if extending else ""
        missing = f"there is no profile {short(reference)}"
        raise UsageError(
            by or missing,
            why=missing if by else "",
            fix=f"{choose(reference, shipped_names())}, or a TOML file of your own",
        )
    fix = f"correct `extends` in {extending.where}" if extending else "name a profile, or another TOML file"
    file = read_toml(path, "profile", fix=fix)
    where = os.path.normpath(path) if extending else str(path)
    if extending:
        _refuse_foreign(file.tables, where)
    return replace(_own(_with_times(file.tables, path.parent, where), where), text=file.text), path.parent


def _refuse_foreign(tables: Mapping[str, Any], where: str) -> None:
    """UsageError for a key that nobody would read: of one that is extended only a part is taken."""
    for key in tables:
        if key not in KEYS:
            raise UsageError(f"profile {where}: unknown key {short(key)}", fix=choose(key, KEYS))
    version = tables.get("schema_version", 1)
    if version != 1 or isinstance(version, bool):
        raise UsageError(
            f"profile {where}: schema_version: {short(version)} is not known",
            fix="write schema_version = 1, or leave it out",
        )


def _with_times(tables: dict[str, Any], folder: Path, where: str) -> dict[str, Any]:
    """The tables with the times that the schedule's file lists."""
    schedule = tables.get("schedule")
    if not isinstance(schedule, Mapping) or "times" not in schedule:
        return tables
    named = schedule["times"]
    if not isinstance(named, str) or not named or "times_s" in schedule:
        raise UsageError(
            f"profile {where}: schedule: times is not one file",
            fix='write times = "FILE.csv", or times_s = [0.0, 4.42], in s',
        )
    others = {key: value for key, value in schedule.items() if key != "times"}
    return tables | {"schedule": others | {"times_s": read_times(folder / named)}}


def _own(tables: Mapping[str, Any], where: str) -> Document:
    listed = tables.get("requirements")
    count = len(listed) if isinstance(listed, list) else 0
    return Document(dict(tables), where, tuple((where, at) for at in range(count)))


def _extended(own: Document, folder: Path) -> Document:
    """The document with what it inherits from a profile in `folder`, or a shipped one."""
    tables = dict(own.tables)
    if "extends" not in tables:
        if "without" in tables:
            raise UsageError(
                f"profile {own.where}: without drops inherited requirements, and nothing is inherited",
                fix='add extends = "a profile", or take `without` out',
            )
        return own
    extends = tables.pop("extends")
    if not isinstance(extends, str) or not extends:
        raise UsageError(
            f"profile {own.where}: extends: {short(extends)} is not the name of a profile, nor a file",
            fix='write extends = "disco-realtime", or "base.toml" beside this file',
        )
    base, _ = _written(extends, own, folder)
    if "extends" in base.tables:
        raise UsageError(
            f"profile {own.where} extends {base.where}, which extends another profile",
            why="a profile inherits from one profile, and that from none",
            fix=f"take `extends` out of {base.where}, and write what it inherits into it",
        )
    inherited = {key: base.tables[key] for key in INHERITED if key in base.tables}
    kept = _without(base, tables.pop("without", []), own.where)
    mine = tables.get("requirements", [])
    if not isinstance(mine, list):  # which the profile's model refuses
        return Document(inherited | tables, own.where, own.origins, own.text)
    merged = _merged(kept, list(zip(mine, own.origins, strict=True)))
    requirements, origins = [pair[0] for pair in merged], tuple(pair[1] for pair in merged)
    return Document(inherited | tables | {"requirements": requirements}, own.where, origins, own.text)


_Placed = tuple[Any, Origin]
"""A requirement as it is written, and where it stands."""


def _without(base: Document, names: Any, where: str) -> list[_Placed]:
    """The requirements of a profile but for those of these names."""
    listed = base.tables.get("requirements", [])
    placed = [(entry, base.origin(at)) for at, entry in enumerate(listed)] if isinstance(listed, list) else []
    known = [str(entry.get("name")) for entry, _ in placed if isinstance(entry, Mapping)]
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
    return [pair for pair in placed if not (isinstance(pair[0], Mapping) and pair[0].get("name") in names)]


def _merged(inherited: Sequence[_Placed], own: Sequence[_Placed]) -> list[_Placed]:
    """What is inherited in its order, each replaced by the own one on the same, then what is new."""
    merged = list(inherited)
    places: dict[tuple[str, str, bool], int] = {}
    for at, (entry, _) in enumerate(inherited):
        if (about := _about(entry)) is not None:
            places[about] = at
    for entry, where in own:
        about = _about(entry)
        # Once alone: a second one of the same file is a duplicate, which the profile's model refuses.
        place = None if about is None else places.pop(about, None)
        if place is None:
            merged.append((entry, where))
        else:
            merged[place] = (entry, where)
    return merged


def _about(entry: Any) -> tuple[str, str, bool] | None:
    """Quantity and statistic of a requirement as it is written, and whether it is a wish.

    None where they are no known ones.
    """
    if not isinstance(entry, Mapping):
        return None
    quantity = entry.get("quantity", "image_s")
    metric = required_metrics().get(quantity) if isinstance(quantity, str) else None
    if metric is None:
        return None
    statistic = entry.get("statistic", metric.statistics[0])
    return (quantity, statistic, entry.get("wanted") is True) if isinstance(statistic, str) else None


def _is_file(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


EXAMPLE = "see `edgebench profiles show disco-realtime`"
MAX_REQUIREMENTS = 100
_KEPT = Requirement.model_validate({"name": "schedule", "quantity": "load", "limit": 1.0})
ALL_WANTED = "all requirements are wanted, and none is required"


class Profile(Strict):
    """A named set of requirements, with where they come from, and when images come."""

    schema_version: Literal[1] = Field(
        default=1, json_schema_extra=form("write schema_version = 1, or leave it out")
    )
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
        if self.schedule is None or any(map(self._keeps_schedule, self.requirements)):
            return None
        taken = {requirement.name for requirement in self.requirements}
        names = ("schedule", *(f"schedule {number}" for number in range(2, MAX_REQUIREMENTS + 2)))
        name = next(name for name in names if name not in taken)
        return _KEPT.model_copy(update={"name": name, "schedule": self.schedule})

    def _keeps_schedule(self, requirement: Requirement) -> bool:
        limit = requirement.limit
        return (
            requirement.quantity == "load"
            and not requirement.wanted
            and requirement.schedule == self.schedule
            and isinstance(limit, float)
            and limit * requirement.scale <= 1
        )

    @property
    def judged(self) -> tuple[Requirement, ...]:
        """Its requirements, and that its schedule is kept."""
        return self.requirements if self.implied is None else (*self.requirements, self.implied)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and (unknown := [key for key in data if key not in KEYS]):
            raise problem(f"unknown key {short(unknown[0])}", choose(unknown[0], KEYS))
        return data

    @model_validator(mode="before")
    @classmethod
    def _scheduled(cls, data: Any) -> Any:
        """Latency limits without a number get what the schedule allows an image; missions get it whole."""
        listed = data.get("requirements") if isinstance(data, Mapping) else None
        if not isinstance(listed, list | tuple):
            return data
        try:
            if data.get("schedule") is None:
                schedule = _of_lone_budget(listed)
                return {**data, "requirements": [_with_schedule(entry, schedule) for entry in listed]}
            schedule = Schedule.model_validate(data["schedule"])
        except ValidationError:  # which the field's own validation says
            return data
        listed = [_with_schedule(entry, schedule) for entry in listed]
        return {**data, "requirements": [with_allowed_time(entry, schedule) for entry in listed]}

    @model_validator(mode="before")
    @classmethod
    def _linked(cls, data: Any) -> Any:
        """The uplink as a number, which update times without one of their own take."""
        if not isinstance(data, Mapping):
            return data
        if isinstance(data.get("uplink_bps"), str):
            data = {**data, "uplink_bps": bits_a_second(data["uplink_bps"])}
        uplink, listed = data.get("uplink_bps"), data.get("requirements")
        if not isinstance(uplink, int | float) or not isinstance(listed, list | tuple):
            return data
        return {**data, "requirements": [_with_uplink(entry, uplink) for entry in listed]}

    @field_validator("requirements", mode="before")
    @classmethod
    def _as_tuple(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("title", "description", "source")
    @classmethod
    def _printable(cls, value: str) -> str:
        if not all(char.isprintable() or char == "\n" for char in value):
            raise problem("a text holds control characters", "write plain text")
        return value.strip()

    @model_validator(mode="after")
    def _no_duplicates(self) -> Self:
        names: set[str] = set()
        limited: dict[tuple[str, str, bool], Requirement] = {}
        for requirement in self.requirements:
            name, quantity, statistic = requirement.name, requirement.quantity, requirement.statistic
            if name in names:
                raise problem(f"two requirements are called {name!r}", "give each a name of its own")
            first = limited.setdefault((quantity, statistic, requirement.wanted), requirement)
            if first is not requirement:
                raise problem(
                    f"{first.name!r} and {name!r} both limit the {statistic} of {quantity}",
                    "take one of the two out, or make it a wish: wanted = true",
                )
            names.add(name)
        for (quantity, statistic, wanted), wish in limited.items():
            need = limited.get((quantity, statistic, False))
            if wanted and need is not None and not wish.asks_more_than(need):
                raise problem(
                    f"{wish.name!r} is wanted, and {need.name!r} requires as much or more of the {statistic} "
                    f"of {quantity}",
                    "take the wish out, or ask for more by it",
                )
        return self

    @model_validator(mode="after")
    def _something_required(self) -> Self:
        if all(requirement.wanted for requirement in self.requirements):
            raise problem(ALL_WANTED, "take wanted out of one of them")
        return self

    @model_validator(mode="after")
    def _one_schedule(self) -> Self:
        for requirement in self.requirements:
            budget, schedule = requirement.budget, self.schedule
            if budget and schedule and (budget.cycle_s, budget.images) != (schedule.cycle_s, schedule.images):
                raise problem(
                    f"{requirement.name!r} has a budget of {budget.images} in {budget.cycle_s:g} s, and the "
                    f"schedule has {schedule.images} in {schedule.cycle_s:g} s",
                    "take the budget out, or write a [schedule] of its own",
                )
        return self

    def as_record(self) -> dict[str, Any]:
        """Plain data with every limit computed, as experiment.json keeps it."""
        return self.model_dump(mode="json", exclude_none=True)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """The profile that `as_record` wrote; StoredResultError when it is not one."""
        try:
            return cls.model_validate(record)
        except ValidationError as error:
            what, fix = _explain(error, record)
            name = record.get("name") if isinstance(record, Mapping) else None
            raise StoredResultError(
                f"the result's profile {short(name)}: {what}",
                why=fix,
                fix="judge it by a profile of your own: --profile FILE",
            ) from error


def with_allowed_time(entry: Any, schedule: Schedule) -> Any:
    """A latency's requirement with the limit of the schedule, unless it has one; any other as it is."""
    if not isinstance(entry, Mapping) or entry.get("limit") is not None or entry.get("budget") is not None:
        return entry
    quantity = entry.get("quantity", "image_s")
    metric = METRICS.get(quantity) if isinstance(quantity, str) else None
    if metric is None or not any(shown.table == "latency" for shown in metric.shown):
        return entry
    if schedule.allowed_s == schedule.limit_s:
        return {**entry, "budget": {"cycle_s": schedule.cycle_s, "images": schedule.images}}
    scale = metric.units.get(str(entry.get("unit", metric.unit)))
    # An unknown unit is refused by the requirement itself.
    return entry if scale is None else {**entry, "limit": schedule.allowed_s * metric.units["s"] / scale}


def _of_lone_budget(listed: Sequence[Any]) -> Schedule | None:
    """That of the budget that its requirements share; None without one, or where they differ.

    ValidationError for a budget that is none.
    """
    stated = [entry.get("budget") for entry in listed if isinstance(entry, Mapping)]
    return _shared({Budget.model_validate(budget) for budget in stated if budget is not None})


def _shared(budgets: Set[Budget]) -> Schedule | None:
    """The images of a lone budget, evenly over its cycle; None without one, or of several."""
    if len(budgets) != 1:
        return None
    [budget] = budgets
    return Schedule(cycle_s=budget.cycle_s, images=budget.images)


def _with_schedule(entry: Any, schedule: Schedule | None) -> Any:
    """A requirement on what a mission comes to with the profile's schedule; any other as it is."""
    if schedule is None:
        return entry
    quantity = entry.get("quantity") if isinstance(entry, Mapping) else None
    metric = METRICS.get(quantity) if isinstance(quantity, str) else None
    if metric is None or metric.judged not in OF_MISSIONS:
        return entry
    return {"schedule": schedule.model_dump(exclude_none=True), **entry}


def _with_uplink(entry: Any, uplink_bps: float) -> Any:
    """An update's requirement with the profile's uplink, unless it has one of its own; any other as it is."""
    is_update = isinstance(entry, Mapping) and entry.get("quantity") == "update_s"
    return {"uplink_bps": uplink_bps, **entry} if is_update else entry


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
    return checked(document_in(data, where, folder))


def checked(document: Document) -> Profile:
    """The profile in a document; UsageError, naming the file at fault, where it is none."""
    try:
        profile = Profile.model_validate(document.tables)
    except ValidationError as error:
        what, fix = _explain(error, document.tables)
        place = refusal(error, document.tables, Profile).place
        raise UsageError(f"profile {_blamed(document, place)}: {what}", fix=fix) from error
    for at, requirement in enumerate(profile.requirements):
        refuse_slip(requirement, _blamed(document, ("requirements", at)))
    return profile


def _blamed(document: Document, place: Place) -> str:
    """The file, and the one that it extends where a requirement of that is at fault."""
    if len(place) > 1 and place[0] == "requirements" and isinstance(place[1], int):
        origin, _ = document.origin(place[1])
        if origin != document.where:
            return f"{document.where} (extends {origin})"
    return document.where


def refuse_slip(requirement: Requirement, where: str) -> None:
    """UsageError for a share that was written as a percentage; a stored profile is judged as it was."""
    limit = requirement.limit
    if (
        requirement.quantity == "accuracy"
        and requirement.unit == "%"
        and isinstance(limit, float)
        and limit <= 1
    ):
        raise UsageError(
            f"profile {where}: requirement {short(requirement.name)}: an accuracy of at least {limit:g} %",
            why="at most one image in a hundred would have to be right",
            fix=f'write limit = {100 * limit:g} with unit = "%", or limit = {limit:g} without a unit',
        )


def _explain(error: ValidationError, table: Mapping[str, Any]) -> tuple[str, str]:
    """What is wrong first, with the requirement it is wrong in, and the fix."""
    refused = refusal(error, table, Profile)
    place = refused.place
    fix = fix_of(refused, table)
    if len(place) > 1 and place[0] == "requirements" and isinstance(place[1], int):
        return f"requirement {requirement_name(table, place[1])}: {refused.sentence(skip=2)}", fix
    return refused.sentence(), fix


def fix_of(refused: Refusal, table: Any) -> str:
    """What mends a refused profile, schedule or requirement."""
    if refused.place != ("requirements",):
        return refused.fix or EXAMPLE
    listed = table.get("requirements")
    too_many = isinstance(listed, list) and len(listed) > MAX_REQUIREMENTS
    return "take some of them out" if too_many else "add [[requirements]]"


def requirement_name(table: Mapping[str, Any], index: int) -> str:
    """How messages call a requirement: by its name in quotes, else by its number."""
    listed = table.get("requirements")
    requirement = listed[index] if isinstance(listed, list | tuple) and index < len(listed) else None
    name = requirement.get("name") if isinstance(requirement, Mapping) else None
    return short(name) if isinstance(name, str) else f"number {index + 1}"
