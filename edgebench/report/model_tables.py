"""What `edgebench models` prints of model files and families; as text for 80 columns or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from edgebench.report import words
from edgebench.report.console import cell, line, new_table
from edgebench.report.json_values import SCHEMA_VERSION, as_json, clean

_LABEL = 12  # the width of what stands before a fact
_PRECISIONS = {"fp16": "fp16 (float16 weights)", "mixed": "mixed (not one of fp32, fp16, int8 throughout)"}


def print_model(console: Console, model: Mapping[str, Any], *, as_json: bool = False) -> None:
    """Print what `inspect.description.show` tells; the hash and the path whole, on lines of their own."""
    if as_json:
        write_json(console, {"model": dict(model)})
        return
    line(console, str(model.get("name", "")), "bold")
    if model.get("format") == "family":
        _family(console, model)
        return
    _entries(console, _facts(model))
    for name in ("sha256", "path"):
        if model.get(name):
            # What is wrapped cannot be copied.
            console.print(cell(console, f"  {name:<{_LABEL}}{model[name]}"), soft_wrap=True)
    for name in ("inputs", "outputs"):
        if model.get(name):
            console.print()
            _tensors(console, name, model[name])
    if model.get("operations"):
        console.print()
        table = new_table(console, [("operation", False), ("n", True), ("counted in MACs", False)])
        for operation, n in model["operations"].items():
            counted = "yes" if operation in model.get("macs_counted", {}) else ""
            table.add_row(*(cell(console, text) for text in (str(operation), str(n), counted)))
        console.print(table)


def print_families(console: Console, families: Sequence[Mapping[str, Any]]) -> None:
    """Print the families, a line a width."""
    headings = ("family", "width", "parameters", "MACs", "weights")
    table = new_table(console, [(heading, 0 < place < 4) for place, heading in enumerate(headings)])
    for family in families:
        for row in _widths(family):
            table.add_row(*(cell(console, text) for text in row))
    console.print(table)
    line(
        console,
        "Families with random weights serve latency: accuracy is not meaningful until they are trained "
        "(`edgebench models train --family NAME`). Parameters and MACs are of 224 x 224 and five classes.",
    )


def write_json(console: Console, value: Mapping[str, Any]) -> None:
    """Write a document of this schema; not through the console, which would wrap long strings."""
    document: dict[str, Any] = clean({"schema_version": SCHEMA_VERSION, **value})
    console.file.write(as_json(document))


def _facts(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    format_ = str(model.get("format", ""))
    facts = [("format", f"{format_}, {words.size(model.get('size_bytes'))}")]
    if model.get("family"):
        width = model.get("width")
        facts.append(("family", str(model["family"]) + ("" if width is None else f", width {width}")))
    if isinstance(model.get("input"), Mapping):
        facts.append(("input", _rule(model["input"])))
    if model.get("class_names"):
        facts.append(("classes", ", ".join(map(str, model["class_names"]))))
    if model.get("precision"):
        facts.append(("precision", _PRECISIONS.get(model["precision"], str(model["precision"]))))
    for name, label in (("parameters", "parameters"), ("macs", "MACs")):
        figure, reason = model.get(name), model.get(f"{name}_reason")
        text = words.MISSING if figure is None else f"{figure:,}"
        facts.append((label, f"{text} ({reason})" if reason else text))
    return facts


def _entries(console: Console, entries: Sequence[tuple[str, str]]) -> None:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(min_width=_LABEL - 2)
    table.add_column(overflow="fold")
    for label, text in entries:
        table.add_row(cell(console, label), cell(console, text))
    console.print(Padding(table, (0, 0, 0, 2)))


def _tensors(console: Console, heading: str, tensors: Sequence[Mapping[str, Any]]) -> None:
    columns = [(heading, False), ("type", False), ("shape", False), ("quantisation", False)]
    table = new_table(console, columns)
    for tensor in tensors:
        scale, zero_point = tensor.get("scale"), tensor.get("zero_point")
        quantised = "" if scale is None else f"{scale:.6g} x (q - {zero_point})"
        shape = " x ".join("?" if length is None else str(length) for length in tensor.get("shape", ()))
        row = (str(tensor.get("name", "")), str(tensor.get("dtype", "")), shape, quantised)
        table.add_row(*(cell(console, text) for text in row))
    console.print(table)


def _family(console: Console, family: Mapping[str, Any]) -> None:
    taken = family["input"]
    entries = [
        ("source", str(family["source"])),
        ("input", f"{taken['height']} x {taken['width']} RGB, {_rule(taken)}"),
        ("classes", f"{family['classes']}, or as many as it is trained for"),
    ]
    _entries(console, entries)
    console.print()
    table = new_table(console, [("width", True), ("parameters", True), ("MACs", True), ("weights", False)])
    for row in _widths(family):
        table.add_row(*(cell(console, text) for text in row[1:]))
    console.print(table)


def _rule(taken: Mapping[str, Any]) -> str:
    if (taken["divisor"], taken["offset"]) == (1, 0):
        return "pixels as they are (0 to 255)"
    return (
        f"pixel p as p / {taken['divisor']:g} {'-' if taken['offset'] < 0 else '+'} {abs(taken['offset']):g}"
    )


def _widths(family: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (
            str(family["name"]),
            words.MISSING if width["width"] is None else str(width["width"]),
            f"{width['parameters']:,}",
            f"{width['macs'] / 1e6:,.0f} M",
            str(width["weights"]),
        )
        for width in family["widths"]
    ]
