"""A profile as it is written, in a file or shipped, with what it takes from the one that it extends.

The nearer file wins: a requirement takes the whole place of the inherited one on the same quantity and
statistic, a wish that of a wish; any other is added, `without` drops inherited ones by name. What is said of
a profile (its name, title and description) is never inherited, because it would say it of another.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from edgebench.errors import UsageError
from edgebench.fit.metrics import required_metrics
from edgebench.fit.times_file import read_times
from edgebench.suggest import choose, short
from edgebench.toml_files import parse_toml, read_toml

MAX_CHAIN = 16
"""Profiles that extend one another in a row."""

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

    Raises UsageError for one that does not exist, is not TOML, extends itself over however many others,
    extends one that does not exist, or drops a requirement that it did not inherit.
    """
    return _resolved(name_or_file, None, ())


def document_in(data: bytes, where: str, folder: Path = Path()) -> Document:
    """The document in these bytes; the files that it names are sought in `folder`."""
    file = parse_toml(data, f"profile {where}")
    own = replace(_own(_with_times(file.tables, folder, where), where), text=file.text)
    return _extended(own, folder, (where,))


@cache
def _shipped_files() -> Mapping[str, bytes]:
    folder = resources.files("edgebench.fit") / "profiles"
    files = sorted(folder.iterdir(), key=lambda file: file.name)
    return {
        file.name.removesuffix(".toml"): file.read_bytes() for file in files if file.name.endswith(".toml")
    }


def _resolved(reference: str, extending: Path | None, chain: tuple[str, ...]) -> Document:
    """A profile by name or file; `extending` is the folder of the one that extends it, `chain` names all."""
    if data := _shipped_files().get(reference):
        _refuse_circle(reference, chain)
        own = _own(parse_toml(data, f"profile {reference}").tables, reference)
        return _extended(own, Path(), (*chain, reference))
    path = Path(reference) if extending is None else extending / reference
    if not (path.suffix == ".toml" or len(Path(reference).parts) > 1 or _is_file(path)):
        by = f"profile {chain[-1]} extends {short(reference)}" if chain else ""
        missing = f"there is no profile {short(reference)}"
        raise UsageError(
            by or missing,
            why=missing if by else "",
            fix=f"{choose(reference, shipped_names())}, or a TOML file of your own",
        )
    fix = f"mend `extends` in {chain[-1]}" if chain else "name a profile, or another TOML file"
    file = read_toml(path, "profile", fix=fix)
    where = os.path.normpath(path) if chain else str(path)
    _refuse_circle(where, chain)
    if chain:
        _refuse_foreign(file.tables, where)
    own = replace(_own(_with_times(file.tables, path.parent, where), where), text=file.text)
    return _extended(own, path.parent, (*chain, where))


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


def _refuse_circle(where: str, chain: Sequence[str]) -> None:
    same = [at for at, other in enumerate(chain) if other == where or _is_same_file(other, where)]
    if same:
        circle = " -> ".join([*chain[same[0] :], where])
        raise UsageError(
            f"profile {chain[0]} extends itself", why=circle, fix="take `extends` out of one of these files"
        )
    if len(chain) >= MAX_CHAIN:
        raise UsageError(
            f"profile {chain[0]} extends more than {MAX_CHAIN - 1} others in a row",
            fix="take some of them together",
        )


def _is_same_file(one: str, other: str) -> bool:
    """Whether two names lead to one file, by a link too; a shipped profile is no file."""
    names = shipped_names()
    try:
        return one not in names and other not in names and os.path.samefile(one, other)  # noqa: PTH121
    except OSError:
        return False


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


def _extended(own: Document, folder: Path, chain: tuple[str, ...]) -> Document:
    """The document with what it inherits."""
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
    base = _resolved(extends, folder, chain)
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
