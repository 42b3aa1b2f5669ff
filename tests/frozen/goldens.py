"""Golden files: what is left out of them, how they are written, and what differs from them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "golden"

VOLATILE = frozenset(
    {"begun_utc", "command", "created_utc", "edgebench_version", "elapsed_s", "experiment", "facts", "path"}
    | {"started_utc", "differences"}
)
"""Keys of documents that name the day, the version, the machine or a folder."""

NAMES = frozenset({"name", "profile", "requirement", "variant"})
"""Keys whose texts are a user's words, and no wording of EdgeBench's."""

EMPTY: tuple[Any, ...] = (None, "", [], {})
"""Values that a document may as well leave out; that it has their keys is frozen elsewhere."""

PROSE = "..."
RELATIVE, ABSOLUTE = 1e-7, 1e-9


def normalised(value: Any, key: str = "") -> Any:
    """A document without VOLATILE keys, what is empty, and wordings: whether there is a text counts."""
    if isinstance(value, Mapping):
        entries = {name: normalised(value[name], name) for name in sorted(value) if name not in VOLATILE}
        return {name: entry for name, entry in entries.items() if entry not in EMPTY}
    if isinstance(value, list | tuple):
        return [normalised(entry, key) for entry in value]
    if isinstance(value, str) and " " in value and key not in NAMES:
        return PROSE
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else str(value)
    return value


def lines_of(value: Any, key: str, depth: int) -> Iterator[tuple[str, Any]]:
    """The entries of a document by their path, down to a depth: each becomes a line of the golden file."""
    entries = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    )
    if depth and entries:
        for name, entry in entries:
            yield from lines_of(entry, f"{key}.{name}" if key else str(name), depth - 1)
    else:
        yield key, value


def write(name: str, value: Mapping[str, Any], depth: int = 3) -> None:
    """Renew one golden file: an entry a line, so that a difference of two versions can be read."""
    path = FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{json.dumps(key)}: {json.dumps(entry, sort_keys=True, separators=(',', ':'), ensure_ascii=False)}"
        for key, entry in lines_of(normalised(value), "", depth)
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def differences(name: str, value: Mapping[str, Any], depth: int = 3) -> list[str]:
    """Where a value differs from its golden file, the first thirty places."""
    golden = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    found = dict(lines_of(normalised(value), "", depth))
    return list(_differences(golden, json.loads(json.dumps(found)), name))[:30]


def _differences(golden: Any, found: Any, path: str) -> Iterator[str]:
    if isinstance(golden, dict) and isinstance(found, dict):
        for key in sorted(golden.keys() | found.keys()):
            if key not in found:
                yield f"{path}/{key}: is missing"
            elif key not in golden:
                yield f"{path}/{key}: is new: {found[key]!r:.200}"
            else:
                yield from _differences(golden[key], found[key], f"{path}/{key}")
    elif isinstance(golden, list) and isinstance(found, list) and len(golden) == len(found):
        for index, (one, other) in enumerate(zip(golden, found, strict=True)):
            yield from _differences(one, other, f"{path}/{index}")
    elif not _equal(golden, found):
        yield f"{path}: {golden!r:.200} is now {found!r:.200}"


def _equal(golden: Any, found: Any) -> bool:
    if type(golden) in (int, float) and type(found) in (int, float):
        return math.isclose(golden, found, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
    return bool(golden == found)
