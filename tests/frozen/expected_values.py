"""Expected values: figures, verdicts, nearest passing limits and settled verdicts, in full digits.

The rows are plain data: keys and numbers, in base units. Files hold them and `differences` compares them;
nothing here knows a type of EdgeBench's. `tests.frozen.core_rows` computes them.
`python -m tests.frozen.expected_values` renews the files.
"""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "expected"

Document = dict[str, list[list[Any]]]
"""Rows by the name of their list."""

KEYS: Mapping[str, tuple[str, ...]] = {
    "estimates": ("trial", "metric", "statistic", "worker", "rail", "stage", "profile"),
    "verdicts": ("trial", "profile", "requirement"),
    "limits": ("trial", "profile", "requirement"),
    "stopping": ("trial", "profile", "requirement"),
}
"""Columns by which a row is found. A `worker` is null for the trial itself; other parts that do not apply are
empty."""

VALUES: Mapping[str, tuple[str, ...]] = {
    "estimates": ("value", "low", "high", "n"),
    "verdicts": ("metric", "statistic", "averaging_s", "word", "value", "low", "high", "bound", "margin"),
    "limits": ("limit",),
    "stopping": ("0.95", "0.99", "0.999", "0.95 early", "0.99 early", "0.999 early"),
}
"""Columns that are compared, behind those of the key."""


def write(name: str, document: Document) -> None:
    """Renew one file: a row a line, sorted, so that a difference of two versions can be read."""
    parts = []
    for part in KEYS:
        lines = [json.dumps([*KEYS[part], *VALUES[part]])]
        lines += [json.dumps(row, separators=(",", ":")) for row in _sorted(document[part])]
        parts.append(f"{json.dumps(part)}: [\n" + ",\n".join(lines) + "\n]")
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def expected(name: str) -> Document:
    """The rows of a file, without the names of their columns."""
    parts = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return {part: rows for part, (_, *rows) in parts.items()}


def differences(expected: Document, found: Document, rel: float = 1e-12) -> list[str]:
    """Rows that are missing, additional or different, the first twenty in words, and how many more there are.

    Numbers differ by more than `rel` of the larger one, or of the row's value, since a margin and an end
    near 0 have the rounding of the value; passing limits by more than four times as much, since they are
    rounded to the side that passes. Where the expected n is 0, it is not known and not compared.
    """
    lines = [line for part in KEYS for line in _differences(part, expected[part], found[part], rel)]
    more = [f"and {len(lines) - 20} more"] if len(lines) > 20 else []
    return lines[:20] + more


def _differences(
    part: str, expected: Iterable[Sequence[Any]], found: Iterable[Sequence[Any]], rel: float
) -> Iterator[str]:
    width = len(KEYS[part])
    keyed: list[dict[tuple[Any, ...], Sequence[Any]]] = []
    for rows in (expected, found):
        by_key: dict[tuple[Any, ...], Sequence[Any]] = {}
        for row in rows:
            if (key := tuple(row[:width])) in by_key:
                yield f"{_named(part, key)}: two rows"
            by_key[key] = row[width:]
        keyed.append(by_key)
    before, after = keyed
    for key in _sorted(before.keys() | after.keys()):
        if key not in after:
            yield f"{_named(part, key)}: is missing, was {_numbers(part, before[key])}"
        elif key not in before:
            yield f"{_named(part, key)}: is new, {_numbers(part, after[key])}"
        else:
            yield from _changes(part, key, before[key], after[key], rel)


def _changes(
    part: str, key: Sequence[Any], before: Sequence[Any], after: Sequence[Any], rel: float
) -> Iterator[str]:
    values = dict(zip(VALUES[part], before, strict=True)).get("value")
    scale = max((abs(number) for number in _flat(values) if number is not None), default=0.0)
    scale = scale if math.isfinite(scale) else 0.0
    for column, one, other in zip(VALUES[part], before, after, strict=True):
        if column == "n":
            same = one in (0, other)
        else:
            tolerance = 4 * rel if part == "limits" else rel
            same = _equal(one, other, tolerance, scale)
        if not same:
            yield f"{_named(part, key)}: {column} {one!r} is now {other!r}"


def _equal(one: Any, other: Any, rel: float, scale: float) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_equal(*pair, rel, scale) for pair in pairs)
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=rel, abs_tol=rel * scale)
    return bool(one == other)


def _flat(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else (value,)


def _named(part: str, key: Sequence[Any]) -> str:
    columns = zip(KEYS[part], key, strict=True)
    named = [(name, column) for name, column in columns if column not in (None, "")]
    texts = (f"worker {column}" if name == "worker" else str(column) for name, column in named)
    return f"{part}: {' / '.join(texts)}"


def _numbers(part: str, values: Sequence[Any]) -> str:
    return ", ".join(f"{name} {value!r}" for name, value in zip(VALUES[part], values, strict=True))


def _sorted(rows: Iterable[Any]) -> list[Any]:
    return sorted(rows, key=lambda row: [(at is not None, str(at)) for at in row])


def main() -> None:
    """Write every file of rows anew: all scenarios are played for it."""
    from tests.frozen.core_rows import rows_of_folder, rows_of_published
    from tests.frozen.made_results import DECLARED, MADE, make
    from tests.frozen.replays import QUICK, SLOW, play

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        play(folder, [*QUICK, *SLOW])
        for name in (*QUICK, *SLOW):
            write(name, rows_of_folder(folder / "results" / name))
        for name, (scenario, declared) in DECLARED.items():
            write(name, rows_of_folder(folder / "results" / scenario, **declared))
        for name in MADE:
            write(name, rows_of_folder(make(folder / "made", name)))
    write("published", rows_of_published())


if __name__ == "__main__":
    main()
