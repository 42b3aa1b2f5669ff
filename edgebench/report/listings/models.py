"""Models by variant and family, and the files of the cache that they are prepared in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edgebench.prepare.cache import KINDS as CACHE_KINDS
from edgebench.prepare.cache import KindTotal
from edgebench.report import words
from edgebench.report.listings import CommandOutput
from edgebench.report.renderers.blocks import (
    Block,
    Column,
    Command,
    Heading,
    Notes,
    Table,
    Text,
    facts,
    of_figures,
)


def variants_listing(
    rows: Sequence[Mapping[str, Any]], *, families: Sequence[Mapping[str, Any]] = ()
) -> CommandOutput:
    """Variants with their size and accuracy; paths stand on lines of their own, whole.

    Args:
        rows: one a variant: `variant`, `parameters`, `artifact` {path, size_bytes, ...}, None where it
            is not prepared, `evaluation` {k, n, low, high, agree_k, agree_n, ...}, and perhaps `reason`.
        families: what else is there by name (`prepare.description.list_families`), shown below.
    """
    columns = of_figures("variant", "parameters", "file", "right of n", "same as fp32")
    blocks: list[Block] = [Table("variants", columns, tuple(map(_variant_cells, rows)))]
    overlapping = any((row.get("evaluation") or {}).get("overlapping") for row in rows)
    by_reason = words.grouped(
        (row["accuracy_reason"], str(row.get("variant", "")).rpartition("-")[0])
        for row in rows
        if row.get("accuracy_reason")
    )
    texts = [f"{', '.join(dict.fromkeys(models))}: {reason}" for reason, models in by_reason.items()]
    blocks.append(Notes.of([words.OVERLAP_NOTE if overlapping else "", *texts]))
    for row in rows:
        if artifact := row.get("artifact"):
            blocks.append(Command(f"{row.get('variant')}: {artifact.get('path')}"))
        elif row.get("reason"):
            blocks.append(Text(f"{row.get('variant')}: {row['reason']}"))
    if rows and not any(row.get("artifact") or row.get("reason") for row in rows):
        blocks.append(Text("None is prepared yet: `edgebench run` does it, or `edgebench models prepare`."))
    known = {"families": [dict(family) for family in families]} if families else {}
    return CommandOutput({"variants": [dict(row) for row in rows], **known}, [*blocks, *_families(families)])


def _variant_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    artifact, tested = row.get("artifact") or {}, row.get("evaluation") or {}
    agree_k, agree_n = tested.get("agree_k"), tested.get("agree_n")
    return (
        str(row.get("variant", "")),
        _count(row, "parameters"),
        words.size(artifact.get("size_bytes")),
        f"{tested['k']}/{tested['n']}" if tested else words.MISSING,
        words.percent(agree_k / agree_n) if agree_n and agree_k is not None else words.MISSING,
    )


_PRECISIONS = {
    "fp16": "fp16 (float16 weights)",
    "mixed": "mixed (not one of fp32, fp16, int8 throughout)",
    "16x8": "mixed (16x8: int16 activations, int8 weights; the device cpu takes it)",
}


def model_listing(model: Mapping[str, Any]) -> CommandOutput:
    """A model's description (`prepare.description.show`); its hash and path whole, on lines of their own."""
    blocks = _family(model) if model.get("format") == "family" else _file(model)
    return CommandOutput({"model": dict(model)}, [Heading(str(model.get("name", ""))), *blocks])


def _families(families: Sequence[Mapping[str, Any]]) -> list[Block]:
    """The families, a row a width."""
    if not families:
        return []
    columns = (*of_figures("family", "width", "parameters", "MACs"), Column("weights", long=True))
    note = (
        "Families with random weights serve latency: accuracy is not meaningful. "
        "Parameters and MACs are of 224 x 224 and five classes."
    )
    rows = tuple(row for family in families for row in _widths(family))
    return [Heading("families"), Table("families", columns, rows), Text(note)]


def _file(model: Mapping[str, Any]) -> list[Block]:
    """Facts from a model's file."""
    family, width = model.get("family"), model.get("width")
    precision = "16x8" if model.get("is_16x8") else model.get("precision")
    of_width = "" if width is None else f", width {width}"
    entries = {
        "format": f"{model.get('format', '')}, {words.size(model.get('size_bytes'))}",
        "weights in": ", ".join(model.get("external_files") or ()),
        "family": f"{family}{of_width}" if family else "",
        "input": _rule(model["input"]) if isinstance(model.get("input"), Mapping) else "",
        "classes": _classes(model),
        "precision": _PRECISIONS.get(precision, str(precision)) if precision else "",
        "parameters": _count(model, "parameters"),
        "MACs": _count(model, "macs"),
        "state": _state(model),
    }
    blocks: list[Block] = [facts("model", [(label, text) for label, text in entries.items() if text])]
    blocks.append(Notes.of(list(model.get("notes") or ())))
    blocks += [Command(f"{name} {model[name]}") for name in filter(model.get, ("sha256", "path"))]
    for name in filter(model.get, ("inputs", "outputs")):
        columns = tuple(Column(heading, long=True) for heading in (name, "type", "shape", "quantisation"))
        blocks.append(Table(name, columns, tuple(map(_tensor, model[name]))))
    if operations := model.get("operations"):
        counted = model.get("macs_counted", {})
        rows = [(str(name), str(n), "yes" if name in counted else "") for name, n in operations.items()]
        columns = (*of_figures("operation", "n"), Column("counted in MACs", long=True))
        blocks.append(Table("operations", columns, tuple(rows)))
    return blocks


def _state(model: Mapping[str, Any]) -> str:
    """The treatment of a file's state; empty for a model without one."""
    names = ", ".join(map(str, model.get("states") or ()))
    if model.get("format") == "onnx" and names:
        return f"inputs {names}: zeros where --inputs does not give them"
    return words.STATES[model.get("state", "none")] + (f" ({names})" if names else "")


def _count(model: Mapping[str, Any], name: str) -> str:
    """A count, or that it is missing, with the reason that is known."""
    text = words.MISSING if model.get(name) is None else f"{model[name]:,}"
    return f"{text} ({model[f'{name}_reason']})" if model.get(f"{name}_reason") else text


def _tensor(tensor: Mapping[str, Any]) -> tuple[str, ...]:
    scale, zero_point = tensor.get("scale"), tensor.get("zero_point")
    quantised = "" if scale is None else f"{scale:.6g} x (q - {zero_point})"
    shape = " x ".join("?" if length is None else str(length) for length in tensor.get("shape", ()))
    return str(tensor.get("name", "")), str(tensor.get("dtype", "")), shape, quantised


def _family(family: Mapping[str, Any]) -> list[Block]:
    taken = family["input"]
    entries = [
        ("source", str(family["source"])),
        ("input", f"{taken['height']} x {taken['width']} RGB, {_rule(taken)}"),
        ("classes", f"{family['classes']}, or as many as it is trained for"),
    ]
    columns = (*of_figures("width", "parameters", "MACs"), Column("weights", long=True))
    rows = tuple(row[1:] for row in _widths(family))
    return [facts("family", entries), Table("widths", columns, rows)]


def _rule(taken: Mapping[str, Any]) -> str:
    """Rule from pixels to numbers: one term for all channels or one per channel, and the source."""
    divisors, offsets = (taken.get(f"{name}s", [taken.get(name)]) for name in ("divisor", "offset"))
    pairs = list(zip(divisors, offsets, strict=True))
    terms = [f"p / {divisor:.6g} {'-' if offset < 0 else '+'} {abs(offset):.6g}" for divisor, offset in pairs]
    rule = f"pixel p as {', '.join(terms)}" if set(pairs) != {(1, 0)} else "pixels as they are (0 to 255)"
    return f"{rule}; source: {taken['told_by']}" if "told_by" in taken else rule


_MOST_SHOWN = 10


def _classes(model: Mapping[str, Any]) -> str:
    """The first class names, how many there are, and their source."""
    names = list(map(str, model.get("class_names") or ()))
    if not names:
        return ""
    more = f", ... ({len(names):,} in all)" if len(names) > _MOST_SHOWN else ""
    return f"{', '.join(names[:_MOST_SHOWN])}{more}; source: {model['class_names_told_by']}"


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


# What `edgebench cache` prints: the kinds of files in the cache, and what was removed.


def cache_listing(root: Path, kinds: Sequence[KindTotal], others: Sequence[str]) -> CommandOutput:
    """Kinds of files with their number, size and last use; `others` are names of foreign files."""
    record = _record(kinds)
    advice = "remove it with `edgebench cache clean` (--older-than 30d, --dry-run)" if kinds else ""
    notes = Notes.of([_others(others), advice])
    document = {"folder": str(root), **record, "not_of_the_cache": list(others)}
    return CommandOutput(document, [Text(f"{root}: {_counted(record)}"), *_kinds(record), notes])


def cleaned_listing(
    root: Path,
    removed: Sequence[KindTotal],
    left: Sequence[KindTotal],
    others: Sequence[str],
    *,
    dry_run: bool,
) -> CommandOutput:
    """Removed files, or with `dry_run` those that would be, and the rest of the cache."""
    gone, rest = _record(removed), _record(left)
    document = {
        "folder": str(root),
        "dry_run": dry_run,
        "removed": gone,
        "left": rest,
        "not_of_the_cache": list(others),
    }
    done, remains = ("would remove", "would be left") if dry_run else ("removed", "left")
    notes = Notes.of([f"{remains}: {_counted(rest)}", _others(others)])
    return CommandOutput(document, [Text(f"{root}: {done} {_counted(gone)}"), *_kinds(gone), notes])


def _record(kinds: Sequence[KindTotal]) -> dict[str, Any]:
    """Files of the cache as plain data: their number and size, in all and by kind."""
    rows = [
        {
            "kind": total.kind,
            "what": CACHE_KINDS.get(total.kind, ""),
            "files": total.files,
            "size_bytes": total.size_bytes,
            "last_used_utc": datetime.fromtimestamp(total.last_used_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        for total in kinds
    ]
    sums = {name: sum(getattr(total, name) for total in kinds) for name in ("files", "size_bytes")}
    return {**sums, "kinds": rows}


def _kinds(record: Mapping[str, Any]) -> list[Block]:
    columns = (Column("kind"), Column("what", long=True), *of_figures("files", "size", "last used (UTC)"))
    rows = []
    for row in record["kinds"]:
        size, used = words.size(row["size_bytes"]), row["last_used_utc"][:10]
        rows.append((row["kind"], row["what"], str(row["files"]), size, used))
    return [Table("kinds", columns, tuple(rows))] if rows else []


def _others(names: Sequence[str]) -> str:
    shown = ", ".join(name if name.isprintable() else ascii(name) for name in names)
    return shown and f"not of the cache, and never touched: {shown}"


def _counted(record: Mapping[str, Any]) -> str:
    counted = f"{words.counted(record['files'], 'file')}, {words.size(record['size_bytes'])}"
    return counted if record["kinds"] else "nothing"
