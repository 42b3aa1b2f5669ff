"""How often the period is handed on between the command line and the device, field by field."""

import ast
from pathlib import Path

import edgebench

NAMES = {"period", "period_s", "period_ns"}
PATH = ("cli", "run", "link", "agent", "records/session.py")
MOST = 8


def handovers(source):
    """Fields, parameters, keyword arguments and keys of that name, by line."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield from (word.value.lineno for word in node.keywords if word.arg in NAMES)
        elif isinstance(node, ast.arguments):
            yield from (each.lineno for each in (*node.args, *node.kwonlyargs) if each.arg in NAMES)
        elif isinstance(node, ast.Dict):
            yield from (node.lineno for key in node.keys if getattr(key, "value", None) in NAMES)
        elif isinstance(node, ast.AnnAssign) and getattr(node.target, "id", None) in NAMES:
            yield node.lineno


def test_the_period_is_part_of_what_is_handed_on_and_not_handed_on_by_itself():
    package = Path(edgebench.__file__).parent
    folders = [package / part for part in PATH]
    files = [file for folder in folders for file in (folder, *folder.rglob("*.py")) if file.is_file()]
    places = [
        f"{file.relative_to(package)}:{line}" for file in files for line in handovers(file.read_text("utf-8"))
    ]
    assert "run/settings.py" in {place.partition(":")[0] for place in places}
    assert len(places) <= MOST, places
