"""The order of the rooms: imports go down only, and no modules stand in a circle."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {"edgebench": ROOT / "edgebench", "edgebench.backends": ROOT / "backends"}

# From the ground up. Each top-level module and package of edgebench has its place, and a module belongs to
# the room with the longest name that fits it; a `*` makes each folder a room, and `*.commands` what is called
# so in any folder. A room takes in what lies on lower floors, and nothing of its own floor, unless SAME_FLOOR
# has the pair.
FLOORS: tuple[tuple[str, ...], ...] = (
    # What runs on boards: Python 3.6, and nothing of the rest.
    ("agent",),
    ("probes",),
    # Small modules, each with one reason.
    ("errors", "installed", "interruption", "suggest", "texts", "this_machine", "version"),
    ("session_stages",),
    ("refusals",),
    ("files",),
    ("stats",),
    ("records",),
    ("board_catalogue",),
    ("prepare.cache",),
    ("results",),
    ("contract",),
    ("registry",),
    ("prepare",),
    # Judging reads what is on disk: nothing of the link to a device, nor of a run.
    ("link", "judge"),
    ("run",),
    ("backends.device",),
    # Report reads what is on disk, and nothing of what measured it.
    ("backends", "backends.*", "run.measuring", "report"),
    # What a user of Python has: results as frames and figures; then the package's own face, which names it.
    # Fleets measure as `run.measuring` does, on other hosts.
    ("analysis", "fleet"),
    ("",),
    ("testing", "explore"),
    # What a user starts.
    ("cli",),
    # What packages hang into the command line.
    ("backends.*.commands",),
    # `python -m edgebench`.
    ("__main__",),
)
SAME_FLOOR: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class Import:
    """One module that another names, wherever it stands: in a function and under TYPE_CHECKING, too."""

    importer: str
    imported: str
    line: int

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def modules_in(packages: Mapping[str, Path]) -> dict[str, Path]:
    """Files by the name under which they are imported."""
    modules = {}
    for package, folder in packages.items():
        for path in folder.rglob("*.py"):
            names = path.relative_to(folder).with_suffix("").parts
            names = names[:-1] if names[-1] == "__init__" else names
            modules[".".join((package, *names))] = path
    return modules


def imports_in(modules: Mapping[str, Path]) -> list[Import]:
    """All imports among these modules, and of names under edgebench that are none of them."""
    imports = []
    for module, path in modules.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for name in _imported(node, module, path.name == "__init__.py", modules):
                if name.partition(".")[0] == "edgebench":
                    imports.append(Import(module, name, node.lineno))  # type: ignore[attr-defined]
    return imports


def _imported(node: ast.AST, module: str, is_package: bool, modules: Mapping[str, Path]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        base = node.module or ""
        if node.level:
            above = module.split(".")[: None if is_package and node.level == 1 else is_package - node.level]
            base = ".".join([*above, *([node.module] if node.module else [])])
        for alias in node.names:
            whole = f"{base}.{alias.name}"
            yield whole if whole in modules else base


def places() -> dict[str, int]:
    """The floor of each room, by the room's name below edgebench."""
    return {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def room_of(module: str, floors: Mapping[str, int]) -> tuple[str, int]:
    """The room of a module, and its floor; LookupError where it has none."""
    parts = module.split(".")[1:]
    for length in range(len(parts), 0, -1):
        room = ".".join(parts[:length])
        if (in_any_folder := ".".join([*parts[:1], "*", *parts[2:length]])) in floors and length > 2:
            return room, floors[in_any_folder]
        if room in floors:
            # A folder of `backends` is a room of its own; `backends` itself holds what is in no folder.
            inner = ".".join(parts[: length + 1])
            return (inner, floors[room]) if f"{room}.*" in floors else (room, floors[room])
    if not parts and "" in floors:
        return "", floors[""]
    raise LookupError(f"{module} has no place in the order of the rooms: give it one in FLOORS")


def against_the_order(
    imports: list[Import],
    floors: tuple[tuple[str, ...], ...] = FLOORS,
    same_floor: frozenset[tuple[str, str]] = SAME_FLOOR,
) -> list[str]:
    """Imports upwards, and those between two rooms of one floor that `same_floor` does not have."""
    where = places()
    wrong = []
    for item in imports:
        (importer, low), (imported, high) = room_of(item.importer, where), room_of(item.imported, where)
        if importer != imported and (high > low or (high == low and (importer, imported) not in same_floor)):
            wrong.append(str(item))
    return wrong


def circle_in(imports: list[Import]) -> list[str]:
    """Modules that import one another in a circle, the first of them at the end again; empty: none."""
    graph: dict[str, set[str]] = {}
    for item in imports:
        if item.importer != item.imported:
            graph.setdefault(item.importer, set()).add(item.imported)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return imports_in(modules_in(PACKAGES))


def test_each_module_has_its_place_and_each_place_a_module() -> None:
    where = places()
    assert len(where) == sum(len(rooms) for rooms in FLOORS), "a room stands on two floors"
    rooms = {room_of(module, where)[0] for module in modules_in(PACKAGES)}
    assert not {room for room in where if "*" not in room} - rooms, "a place without a module"


def test_imports_go_down_only(imports: list[Import]) -> None:
    assert len(imports) > 1000
    assert not against_the_order(imports)


def test_no_modules_stand_in_a_circle(imports: list[Import]) -> None:
    """Also not through a function's import, or one for the type checker: those would hide the circle."""
    assert not circle_in(imports)


def test_the_records_stand_on_little(imports: list[Import]) -> None:
    where = places()
    taken = {room_of(item.imported, where)[0] for item in imports if ".records." in item.importer}
    assert taken == {"errors", "records", "session_stages", "stats"}


def made_up(folder: Path, **sources: str) -> list[Import]:
    """Imports of a package of such modules; `__` in a name is a dot."""
    for name, source in sources.items():
        path = folder.joinpath("edgebench", *name.split("__")).with_suffix(".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return imports_in(modules_in({"edgebench": folder / "edgebench"}))


@pytest.mark.parametrize(
    ("importer", "source"),
    [
        ("stats__t", "from edgebench.judge.summary import x"),
        ("stats__t", "import edgebench.judge.summary"),
        ("stats__t", "from edgebench.judge import summary"),
        ("stats__t", "from ..judge import summary"),
        ("stats__t", "def f():\n    from edgebench.judge.summary import x"),
        (
            "stats__t",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import edgebench.judge.summary",
        ),
        ("judge__t", "from edgebench.link.session import Link"),  # of one floor
        ("judge__t", "from edgebench.run.trials import Plan"),
        ("backends__mine__backend", "from ..other import backend"),  # one device family of another
        ("backends__mine__backend", "from edgebench.backends.other.backend import x"),
        ("backends__mine__backend", "from .commands import x"),  # a folder's commands are above all
        ("backends__mine__commands", "from ..other.commands import x"),
    ],
)
def test_an_import_upwards_or_across_is_found(tmp_path: Path, importer: str, source: str) -> None:
    others = {"judge__summary": "", "link__session": "", "run__trials": "", "backends__other__backend": ""}
    others |= {"backends__mine__commands": "", "backends__other__commands": ""}
    sources = {**others, importer: source}
    [wrong] = against_the_order(made_up(tmp_path, **sources))
    assert wrong.startswith(f"edgebench.{importer.replace('__', '.')}:")


def test_imports_downwards_and_within_a_room_are_nobodys_business(tmp_path: Path) -> None:
    down = "import os\nfrom edgebench.stats.t import x\nfrom .other import y\nfrom edgebench.errors import z"
    imports = made_up(tmp_path, judge__summary=down, judge__other="", stats__t="", errors="")
    assert len(imports) == 3
    assert not against_the_order(imports) and not circle_in(imports)


def test_a_pair_of_one_floor_may_be_allowed(tmp_path: Path) -> None:
    imports = made_up(tmp_path, judge__t="import edgebench.link.session", link__session="")
    assert not against_the_order(imports, same_floor=frozenset({("judge", "link")}))


def test_a_room_without_a_place_is_refused(tmp_path: Path) -> None:
    imports = made_up(tmp_path, attic__t="import edgebench.errors", errors="")
    with pytest.raises(LookupError, match=r"edgebench\.attic\.t has no place"):
        against_the_order(imports)


@pytest.mark.parametrize("back", ["from edgebench.judge import a", "def f():\n    from .a import x"])
def test_a_circle_within_one_room_is_found(tmp_path: Path, back: str) -> None:
    imports = made_up(tmp_path, judge__a="from .b import x", judge__b="from .c import x", judge__c=back)
    assert not against_the_order(imports)
    assert set(circle_in(imports)) == {f"edgebench.judge.{name}" for name in "abc"}
