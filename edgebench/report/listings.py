"""What the listing commands print: devices, findings, profiles, variants; as a table or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from edgebench.judge.metrics.accuracy import SAME_AS_FP32
from edgebench.report import words
from edgebench.report.console import cell, line, lines, print_table
from edgebench.report.words import SCHEMA_VERSION, as_json, clean

if TYPE_CHECKING:
    from edgebench.contract import Backend

_LEVELS = {"ok": "green", "warning": "yellow", "error": "bold red"}


@dataclass(frozen=True)
class DeviceRow:
    """One backend as `edgebench devices` shows it; `options` is its JSON schema's properties.

    Of its own `meters` a run that names none takes the first that can be read.
    """

    name: str
    description: str
    precisions: tuple[str, ...]
    options: Mapping[str, Mapping[str, Any]]
    default_batch: int = 1
    most_batch: int = 1024
    takes_host: bool = False
    takes_port: bool = False
    meters: tuple[str, ...] = ()

    @classmethod
    def of(cls, backend: Backend) -> DeviceRow:
        """The row of a backend."""
        options = backend.options_model.model_json_schema().get("properties", {})
        names = [field.name for field in fields(cls) if field.name != "options"]
        return cls(options=options, **{name: getattr(backend, name) for name in names})


def print_devices(
    console: Console, rows: Sequence[DeviceRow], meters: Mapping[str, str], *, as_json: bool = False
) -> None:
    """Print what can be measured here, with the options that `--set` takes, and the meters, a line each."""
    if as_json:
        return write_json(console, {"devices": [asdict(row) for row in rows], "meters": dict(meters)})
    for row in rows:
        most = f"1 to {row.most_batch}" if row.most_batch > 1 else "1"
        batch = most if row.default_batch == 1 else f"{most} (default {row.default_batch})"
        flags = [flag for flag, taken in (("--host", row.takes_host), ("--port", row.takes_port)) if taken]
        line(console, row.name, "bold")
        lines(
            console,
            [
                row.description,
                f"precisions: {', '.join(row.precisions)}; batch: {batch}",
                f"takes {' and '.join(flags)}" if flags else "",
                f"meters: {', else '.join(row.meters)}, unless --meter names another" if row.meters else "",
                *(f"--set {name}=...: {_option(about)}" for name, about in row.options.items()),
            ],
            indent=4,
        )
    lines(console, [] if rows else ["No device is installed."])
    console.print()
    line(console, "meters", "bold")
    described = [f"{name}: {description}" for name, description in meters.items()]
    lines(console, described or ["none"], indent=4)


def _option(about: Mapping[str, Any]) -> str:
    """What an option takes, out of its JSON schema."""
    kinds = [about, *about.get("anyOf", ())]
    values = next((kind["enum"] for kind in kinds if "enum" in kind), None)
    types = [str(kind["type"]) for kind in kinds if "type" in kind and kind["type"] != "null"]
    choices = ", ".join(map(str, values)) if values else " or ".join(types) or "a value"
    default = about.get("default")
    described = f"; {about['description']}" if about.get("description") else ""
    return f"{choices}{described}" + ("" if default in (None, "") else f" (default {default})")


def print_findings(console: Console, findings: Sequence[Mapping[str, Any]], *, as_json: bool = False) -> None:
    """Print what doctor found: level, subject, message, and the fix below it; of each `meter` together."""
    if as_json:
        return write_json(console, {"findings": [dict(finding) for finding in findings]})
    plain = [finding for finding in findings if "meter" not in finding]
    _print_lines(console, words.subjects(plain), plain)
    of_meters = [finding for finding in findings if "meter" in finding]
    for (meter, target), group in groupby(of_meters, lambda row: (row["meter"], row["target"])):
        line(console, f"{meter}{f', of {target}' if target else ''}", "bold")
        steps = list(group)
        _print_lines(console, [str(step["subject"]) for step in steps], steps)
    lines(console, [] if findings else ["No findings."])


def _print_lines(console: Console, subjects: Sequence[str], findings: Sequence[Mapping[str, Any]]) -> None:
    for subject, finding in zip(subjects, findings, strict=True):
        level = str(finding.get("level", ""))
        line(console, f"{level:<8} {subject}: {finding.get('message', '')}", _LEVELS.get(level, ""), indent=2)
        lines(console, [f"fix: {finding['fix']}" if finding.get("fix") else ""], indent=11)


def print_profiles(console: Console, profiles: Sequence[Mapping[str, Any]], *, as_json: bool = False) -> None:
    """Print the profiles (as `Profile.as_record` gives them), each with its title and requirements."""
    if as_json:
        return write_json(console, {"profiles": [dict(profile) for profile in profiles]})
    for profile in profiles:
        line(console, str(profile.get("name", "")), "bold")
        requirements = map(requirement, profile.get("requirements", ()))
        lines(console, [str(profile.get("title") or ""), *requirements], indent=4)
    lines(console, [] if profiles else ["There are none."])


def print_profile(console: Console, profile: Mapping[str, Any], *, as_json: bool = False) -> None:
    """Print one profile: what it is, where it comes from, each requirement with how its limit came about."""
    if as_json:
        return write_json(console, {"profile": dict(profile)})
    line(console, str(profile.get("name", "")), "bold")
    plan, uplink_bps = profile.get("schedule"), profile.get("uplink_bps")
    about = [
        *(str(profile.get(name) or "") for name in ("title", "description")),
        f"source: {profile['source']}" if profile.get("source") else "",
        f"schedule: {schedule(plan)}" if isinstance(plan, Mapping) else "",
        "" if uplink_bps is None else f"uplink: {uplink_bps:g} bit/s",
    ]
    lines(console, about, indent=2)
    console.print()
    print_table(
        console,
        [("requirement", False), ("limit", False), ("from", False)],
        [
            (str(record.get("name", "")), requirement(record), _origin(record))
            for record in profile.get("requirements", ())
        ],
    )


def _origin(record: Mapping[str, Any]) -> str:
    """What a requirement's limit follows from; empty where the profile states it."""
    if isinstance(budget := record.get("budget"), Mapping):
        return f"{budget.get('cycle_s')} s a cycle / {words.counted(int(budget.get('images', 0)), 'image')}"
    uplink_bps = record.get("uplink_bps")
    return "" if uplink_bps is None else f"an uplink of {uplink_bps:g} bit/s"


def print_problems(
    console: Console, profile: str, problems: Sequence[Mapping[str, Any]], *, as_json: bool = False
) -> None:
    """Print all that is wrong with a profile: file and line, what, and the fix below it."""
    if as_json:
        return write_json(console, {"profile": profile, "problems": [dict(problem) for problem in problems]})
    for problem in problems:
        number = "" if problem.get("line") is None else f":{problem['line']}"
        line(console, f"{problem.get('file', '')}{number}: {problem.get('what', '')}")
        lines(console, [f"fix: {problem['fix']}" if problem.get("fix") else ""], indent=4)
    lines(console, [] if problems else [f"{profile}: nothing is wrong with it."])


def schedule(record: Mapping[str, Any]) -> str:
    """A schedule's record in words: `80 images in a cycle of 5739 s, within its first 353.6 s`."""
    text = f"{words.counted(int(record['images']), 'image')} in a cycle of {record['cycle_s']:g} s"
    if record.get("times_s") is not None:
        text += ", at stated times"
    elif record.get("burst_s") is not None:
        text += f", within its first {record['burst_s']:g} s"
    deadline_s = record.get("deadline_s")
    return text if deadline_s is None else f"{text}; each is due {deadline_s:g} s after it came"


def requirement(record: Mapping[str, Any]) -> str:
    """A requirement's record as a formula: `image_s median ≤ 4.42 s, wanted`."""
    limit = record.get("limit")
    bound = (
        words.quantity(limit)
        if isinstance(limit, list | tuple)
        else f"{limit:g}"
        if limit is not None
        else "?"
    )
    quantity = words.judged_quantity(
        str(record.get("quantity", "image_s")), str(record.get("statistic", "")), record.get("averaging_s")
    )
    sign = "≥" if record.get("comparison") == "at least" else "≤"
    unit = str(record.get("unit", ""))
    formula = f"{quantity} {sign} {bound}{'' if unit in ('', '1') else f' {unit}'}"
    return f"{formula}, wanted" if record.get("wanted") else formula


def print_variants(
    console: Console,
    rows: Sequence[Mapping[str, Any]],
    *,
    families: Sequence[Mapping[str, Any]] = (),
    as_json: bool = False,
) -> None:
    """Print variants with their size and accuracy; paths stand on lines of their own, whole.

    Args:
        console: where to print.
        rows: one a variant: `variant`, `parameters`, `artifact` {path, size_bytes, ...} or None where it is
            not prepared, `evaluation` {k, n, low, high, agree_k, agree_n, ...} or None, and perhaps `reason`.
        families: what else is there by name (`models.inspect.description.list_families`), printed below.
        as_json: print the rows as they are instead.
    """
    if as_json:
        known = {"families": [dict(family) for family in families]} if families else {}
        return write_json(console, {"variants": [dict(row) for row in rows], **known})
    headings = ("variant", "parameters", "file", "right of n", SAME_AS_FP32)
    columns = [(heading, place > 0) for place, heading in enumerate(headings)]
    print_table(console, columns, map(_variant_cells, rows))
    overlapping = any((row.get("evaluation") or {}).get("overlapping") for row in rows)
    lines(console, [words.OVERLAP_NOTE if overlapping else ""])
    reasons = dict.fromkeys(row["accuracy_reason"] for row in rows if row.get("accuracy_reason"))
    lines(console, [f"{', '.join(_models(rows, reason))}: {reason}" for reason in reasons], indent=2)
    for row in rows:
        if artifact := row.get("artifact"):
            _print_whole(console, f"{row.get('variant')}: {artifact.get('path')}")
        elif row.get("reason"):
            line(console, f"{row.get('variant')}: {row['reason']}", indent=2)
    if rows and not any(row.get("artifact") or row.get("reason") for row in rows):
        line(console, "None is prepared yet: `edgebench run` does it, or `edgebench models prepare`.")
    if families:
        console.print()
        print_families(console, families)


def _print_whole(console: Console, text: str) -> None:
    """A text on one line: a path that is wrapped cannot be copied."""
    console.print(cell(console, text), soft_wrap=True)


def _models(rows: Sequence[Mapping[str, Any]], reason: str) -> list[str]:
    """The models, without precision, that have no accuracy for one reason."""
    variants = [str(row.get("variant", "")) for row in rows if row.get("accuracy_reason") == reason]
    return list(dict.fromkeys(name.rpartition("-")[0] for name in variants))


def _variant_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    artifact, tested = row.get("artifact") or {}, row.get("evaluation") or {}
    parameters = row.get("parameters")
    agree_k, agree_n = tested.get("agree_k"), tested.get("agree_n")
    return (
        str(row.get("variant", "")),
        words.MISSING if parameters is None else f"{parameters:,}",
        words.size(artifact.get("size_bytes")),
        f"{tested['k']}/{tested['n']}" if tested else words.MISSING,
        words.percent(agree_k / agree_n) if agree_n and agree_k is not None else words.MISSING,
    )


_LABEL = 12  # the width of what stands before a fact


_PRECISIONS = {"fp16": "fp16 (float16 weights)", "mixed": "mixed (not one of fp32, fp16, int8 throughout)"}


def print_model(console: Console, model: Mapping[str, Any], *, as_json: bool = False) -> None:
    """Print what `inspect.description.show` tells; the hash and the path whole, on lines of their own."""
    if as_json:
        return write_json(console, {"model": dict(model)})
    line(console, str(model.get("name", "")), "bold")
    if model.get("format") == "family":
        return _family(console, model)
    _entries(console, _facts(model))
    for name in filter(model.get, ("sha256", "path")):
        _print_whole(console, f"  {name:<{_LABEL}}{model[name]}")
    for name in filter(model.get, ("inputs", "outputs")):
        console.print()
        columns = [(name, False), ("type", False), ("shape", False), ("quantisation", False)]
        print_table(console, columns, map(_tensor, model[name]))
    if operations := model.get("operations"):
        counted = model.get("macs_counted", {})
        rows = [(str(name), str(n), "yes" if name in counted else "") for name, n in operations.items()]
        console.print()
        print_table(console, [("operation", False), ("n", True), ("counted in MACs", False)], rows)


def print_families(console: Console, families: Sequence[Mapping[str, Any]]) -> None:
    """Print the families, a line a width."""
    headings = ("family", "width", "parameters", "MACs", "weights")
    columns = [(heading, 0 < place < 4) for place, heading in enumerate(headings)]
    print_table(console, columns, [row for family in families for row in _widths(family)])
    line(
        console,
        "Families with random weights serve latency: accuracy is not meaningful. "
        "Parameters and MACs are of 224 x 224 and five classes.",
    )


def write_json(console: Console, value: Mapping[str, Any]) -> None:
    """Write a document of this schema; not through the console, which would wrap long strings."""
    document: dict[str, Any] = clean({"schema_version": SCHEMA_VERSION, **value})
    console.file.write(as_json(document))


def _facts(model: Mapping[str, Any]) -> list[tuple[str, str]]:
    family, width, precision = model.get("family"), model.get("width"), model.get("precision")
    of_width = "" if width is None else f", width {width}"
    facts = {
        "format": f"{model.get('format', '')}, {words.size(model.get('size_bytes'))}",
        "family": f"{family}{of_width}" if family else "",
        "input": _rule(model["input"]) if isinstance(model.get("input"), Mapping) else "",
        "classes": ", ".join(map(str, model.get("class_names") or ())),
        "precision": _PRECISIONS.get(precision, str(precision)) if precision else "",
        "parameters": _count(model, "parameters"),
        "MACs": _count(model, "macs"),
    }
    return [(label, text) for label, text in facts.items() if text]


def _count(model: Mapping[str, Any], name: str) -> str:
    """A count, or that it is missing, with the reason that is known."""
    text = words.MISSING if model.get(name) is None else f"{model[name]:,}"
    return f"{text} ({model[f'{name}_reason']})" if model.get(f"{name}_reason") else text


def _entries(console: Console, entries: Sequence[tuple[str, str]]) -> None:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(min_width=_LABEL - 2)
    table.add_column(overflow="fold")
    for label, text in entries:
        table.add_row(cell(console, label), cell(console, text))
    console.print(Padding(table, (0, 0, 0, 2)))


def _tensor(tensor: Mapping[str, Any]) -> tuple[str, ...]:
    scale, zero_point = tensor.get("scale"), tensor.get("zero_point")
    quantised = "" if scale is None else f"{scale:.6g} x (q - {zero_point})"
    shape = " x ".join("?" if length is None else str(length) for length in tensor.get("shape", ()))
    return str(tensor.get("name", "")), str(tensor.get("dtype", "")), shape, quantised


def _family(console: Console, family: Mapping[str, Any]) -> None:
    taken = family["input"]
    _entries(
        console,
        [
            ("source", str(family["source"])),
            ("input", f"{taken['height']} x {taken['width']} RGB, {_rule(taken)}"),
            ("classes", f"{family['classes']}, or as many as it is trained for"),
        ],
    )
    console.print()
    columns = [("width", True), ("parameters", True), ("MACs", True), ("weights", False)]
    print_table(console, columns, [row[1:] for row in _widths(family)])


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
