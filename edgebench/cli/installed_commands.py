"""The commands of `edgebench`, its own and those of installed packages: imported when they are called.

Listing a command reads its source and does not run it: of an own command the first line of its function's
docstring, or the help of its group. A package names one in the entry-point group `edgebench.commands`:
`name = "package.module:app"`, where app is a typer.Typer. Its line in the help is the first line of that
module's docstring. The packages' files are read here, because the import of importlib.metadata alone takes
longer than all of it.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer.main
from typer.core import TyperGroup

from edgebench.cli.panels import CommandGroup, PanelledCommand, PlainCommand, PlainSwitches
from edgebench.cli.streams import InterruptibleGroup
from edgebench.errors import EdgeBenchError, UnavailableError
from edgebench.files import read_regular
from edgebench.suggest import printable

GROUP = "edgebench.commands"

OWN = {
    "run": "run:run",
    "show": "outcome:show",
    "fit": "fit:fit",
    "mission": "fit:mission",
    "compare": "compare:compare",
    "report": "report:report",
    "explore": "exchange:explore",
    "export": "exchange:export",
    "import": "exchange:import_",
    "results": "listings:results",
    "history": "compare:history",
    "devices": "listings:devices",
    "schema": "outcome:schema",
    "doctor": "doctor:doctor",
    "targets": "targets:app",
    "fleet": "targets:fleet",
    "meters": "meters:app",
    "models": "models:app",
    "profiles": "profiles:app",
    "boards": "listings:app",
    "cache": "models:cache",
    "new": "new:app",
}
"""EdgeBench's own commands in the order of the help: `module:function` or `module:group` of edgebench.cli."""

_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
_WIDTH = re.compile(r"0*[1-9][0-9]{0,3}", re.ASCII)
_LEAST_WIDTH = 20
_VALUE = re.compile(r"([\w.]+)\s*:\s*(\w+)\s*")
_FOLDERS = (".dist-info", ".egg-info")
_MOST_BYTES = 1 << 20
_LONGEST_LINE = 200


@dataclass(frozen=True)
class EntryPoint:
    """A line of an installed package.

    Attributes:
        package: that has the line.
        name: of the command.
        value: `module:attribute`.
    """

    package: str
    name: str
    value: str


class PluggedGroup(PlainSwitches, InterruptibleGroup):
    """A group with commands of its own and those of installed packages, which never replace its own."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for name, place in OWN.items():
            self.commands[name] = OwnCommand(name, place)

    def main(self, *args: Any, **extra: Any) -> Any:
        """As click's; a COLUMNS below 20 counts as 20, one that is no width of a terminal as unset."""
        width = os.environ.get("COLUMNS", "80")
        if not _WIDTH.fullmatch(width):
            del os.environ["COLUMNS"]  # rich prints nothing at 0, and fails where it cannot read or hold it
        elif int(width) < _LEAST_WIDTH:
            os.environ["COLUMNS"] = str(_LEAST_WIDTH)
        return super().main(*args, **extra)

    def list_commands(self, ctx: Any) -> list[str]:
        """Its own, then the installed ones by name."""
        self._take_installed()
        return super().list_commands(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is typed; for its own ones the installed packages are not read."""
        if args and args[0] not in self.commands:
            self._take_installed()
        return super().resolve_command(ctx, args)

    def _take_installed(self) -> None:
        for name, points in sorted(_by_name(entry_points()).items()):
            self.commands.setdefault(name, InstalledCommand(name, points))


class OwnCommand(TyperGroup):
    """The place of one of EdgeBench's own commands, which is imported when it is called or completed."""

    def __init__(self, name: str, place: str) -> None:
        self._module, _, self._attribute = place.partition(":")
        super().__init__(name=name, short_help=self._summary())

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the command itself."""
        return self.load().make_context(info_name, args, parent, **extra)

    def load(self) -> Any:
        """The command itself, a click.Command."""
        found = getattr(importlib.import_module(f"edgebench.cli.{self._module}"), self._attribute)
        if isinstance(found, typer.Typer):
            command: Any = typer.main.get_group(found)
        else:
            app = CommandGroup(add_completion=False)
            app.command(self.name, cls=PanelledCommand if self.name == "run" else PlainCommand)(found)
            command = typer.main.get_command(app)
        command.name = self.name
        return command

    def _summary(self) -> str:
        """The first line of the function's docstring, or the group's help, from the source."""
        source = Path(__file__).with_name(f"{self._module}.py").read_text(encoding="utf-8")
        begins, pattern = f"\ndef {self._attribute}(", r'\n    """([^"\n]+)'
        if begins not in source:
            begins, pattern = f"\n{self._attribute} = ", r'\bhelp="([^"\n]+)"'
        text = re.compile(pattern).search(source, source.index(begins))
        assert text is not None, self.name
        return text[1].replace("[", r"\[")


class InstalledCommand(TyperGroup):
    """The place of an installed command group, which is imported when it is called or completed."""

    def __init__(self, name: str, points: tuple[EntryPoint, ...]) -> None:
        super().__init__(name=printable(name), short_help=_summary(points).replace("[", r"\["))
        self._points = points

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the group itself.

        Raises:
            UnavailableError: it cannot be imported, or is no group of commands; not while a shell completes.
        """
        try:
            group = self._load()
        except EdgeBenchError:
            if not extra.get("resilient_parsing"):
                raise
            return super().make_context(info_name, args, parent, **extra)
        return group.make_context(info_name, args, parent, **extra)

    def _load(self) -> TyperGroup:
        what = f"the command {self.name!r} cannot be loaded"
        packages = ", ".join(dict.fromkeys(printable(point.package) for point in self._points))
        if reason := _refusal(self._points):
            raise UnavailableError(what, why=reason, fix=f"remove one of: {packages}")
        module, attribute = map(str.strip, self._points[0].value.split(":"))
        try:
            app = getattr(importlib.import_module(module), attribute)
            if not isinstance(app, typer.Typer):
                raise TypeError(f"{module}:{attribute} is no typer.Typer")
            group = typer.main.get_group(app)
        except (Exception, SystemExit) as error:
            raise UnavailableError(
                what,
                why=f"{type(error).__name__}: {error}",
                fix=f"reinstall or remove the package that brings it: {packages}",
            ) from error
        group.name = self.name
        return group


def entry_points() -> Iterator[EntryPoint]:
    """The lines of all installed packages; of one that is there twice, of the first on Python's path."""
    packages: set[str] = set()
    for folder in dict.fromkeys(sys.path):
        try:
            names = sorted(entry.name for entry in os.scandir(folder or "."))
        except OSError:  # not a folder, or one that may not be read
            continue
        for name, suffix in (
            (name, suffix) for name in names for suffix in _FOLDERS if name.endswith(suffix)
        ):
            package = name.removesuffix(suffix).partition("-")[0].lower()
            if package not in packages:
                packages.add(package)
                yield from _lines_of(package, Path(folder, name, "entry_points.txt"))


def _lines_of(package: str, file: Path) -> Iterator[EntryPoint]:
    try:
        text = read_regular(file, _MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return
    section = ""
    for line in map(str.strip, text.split("\n") if GROUP in text else ()):
        if line.startswith("["):
            section = line.strip("[]")
        elif section == GROUP and line[:1] not in ("", "#", ";"):
            name, _, value = line.partition("=")
            yield EntryPoint(package, name.strip(), value.strip())


def _by_name(points: Iterator[EntryPoint]) -> Mapping[str, tuple[EntryPoint, ...]]:
    by_name: dict[str, tuple[EntryPoint, ...]] = {}
    for point in points:
        by_name[point.name] = (*by_name.get(point.name, ()), point)
    return by_name


def _refusal(points: tuple[EntryPoint, ...]) -> str:
    """Why a command cannot be, whatever its module is; "" where it can."""
    name, values = points[0].name, {point.value for point in points}
    if not _NAME.fullmatch(name):
        return "a command's name has lower-case letters, digits and hyphens, at most 40"
    if len(values) > 1:
        return "several packages bring one of that name"
    if not _VALUE.fullmatch(points[0].value):
        return f"its entry point is not module:app: {points[0].value!r}"
    return ""


def _summary(points: tuple[EntryPoint, ...]) -> str:
    """The line of the help."""
    if reason := _refusal(points):
        return f"cannot be used: {reason}"
    import ast  # takes long, and own commands need none

    try:
        source = _source(points[0].value.partition(":")[0].strip())
        docstring = ast.get_docstring(ast.parse(source)) if source else None
    except (OSError, SyntaxError, ValueError, ImportError, RecursionError):
        docstring = None  # whoever calls it is told what is wrong
    first = (docstring or "").partition("\n")[0].strip()
    return printable(first or f"of the package {points[0].package}", _LONGEST_LINE)


def _source(module: str) -> bytes | None:
    """A module's source without importing it or its packages; None where it is no file."""
    places = spec = None
    parts = module.split(".")
    for count in range(1, len(parts) + 1):
        spec = _spec(".".join(parts[:count]), places)
        if spec is None:
            return None
        places = spec.submodule_search_locations
    assert spec is not None  # a name has a part
    return read_regular(spec.origin, _MOST_BYTES) if spec.has_location and spec.origin else None


def _spec(name: str, places: Any) -> importlib.machinery.ModuleSpec | None:
    """What Python's finders know of a module in folders of its package."""
    finders = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
    return next((spec for find in finders if find and (spec := find(name, places))), None)
