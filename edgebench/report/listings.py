"""What the listing commands print: devices, findings, profiles, variants; as a table or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.console import Console

from edgebench.report import words
from edgebench.report.blocks import Block, Column, Command, Heading, Notes, Table, Text, facts, of_figures
from edgebench.report.console import line, lines
from edgebench.report.terminal import print_blocks
from edgebench.report.words import SCHEMA_VERSION, as_json, clean

if TYPE_CHECKING:
    from edgebench.contract import Backend


def show_listing(
    console: Console, document: Mapping[str, Any], blocks: Sequence[Block], *, as_json: bool
) -> None:
    """Print a listing: its blocks for people, or its document of this schema as JSON."""
    if as_json:
        write_json(console, document)
    else:
        print_blocks(console, blocks)


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
    blocks: list[Block] = []
    for row in rows:
        most = f"1 to {row.most_batch}" if row.most_batch > 1 else "1"
        batch = most if row.default_batch == 1 else f"{most} (default {row.default_batch})"
        flags = [flag for flag, taken in (("--host", row.takes_host), ("--port", row.takes_port)) if taken]
        about = [
            row.description,
            f"precisions: {', '.join(row.precisions)}; batch: {batch}",
            f"takes {' and '.join(flags)}" if flags else "",
            f"meters: {', else '.join(row.meters)}, unless --meter names another" if row.meters else "",
            *(f"--set {name}=...: {_option(about)}" for name, about in row.options.items()),
        ]
        blocks += [Heading(row.name), Notes.of(about)]
    described = [f"{name}: {description}" for name, description in meters.items()]
    blocks += [Text("No device is installed.")] if not rows else []
    blocks += [Heading("meters"), Notes.of(described or ["none"])]
    document = {"devices": [asdict(row) for row in rows], "meters": dict(meters)}
    show_listing(console, document, blocks, as_json=as_json)


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
    blocks: list[Block] = []
    for profile in profiles:
        requirements = map(requirement, profile.get("requirements", ()))
        about = Notes.of([str(profile.get("title") or ""), *requirements])
        blocks += [Heading(str(profile.get("name", ""))), about]
    document = {"profiles": [dict(profile) for profile in profiles]}
    show_listing(console, document, blocks or [Text("There are none.")], as_json=as_json)


def print_profile(console: Console, profile: Mapping[str, Any], *, as_json: bool = False) -> None:
    """Print one profile: what it is, where it comes from, each requirement with how its limit came about."""
    plan, uplink_bps = profile.get("schedule"), profile.get("uplink_bps")
    about = [
        *(str(profile.get(name) or "") for name in ("title", "description")),
        f"source: {profile['source']}" if profile.get("source") else "",
        f"schedule: {schedule(plan)}" if isinstance(plan, Mapping) else "",
        "" if uplink_bps is None else f"uplink: {uplink_bps:g} bit/s",
    ]
    rows = [
        (str(record.get("name", "")), requirement(record), _origin(record))
        for record in profile.get("requirements", ())
    ]
    columns = tuple(Column(heading, long=True) for heading in ("requirement", "limit", "from"))
    blocks: list[Block] = [
        Heading(str(profile.get("name", ""))),
        Notes.of(about),
        Table("requirements", columns, tuple(rows)),
    ]
    show_listing(console, {"profile": dict(profile)}, blocks, as_json=as_json)


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
    texts = []
    for problem in problems:
        number = "" if problem.get("line") is None else f":{problem['line']}"
        texts.append(f"{problem.get('file', '')}{number}: {problem.get('what', '')}")
        texts.append(f"fix: {problem['fix']}" if problem.get("fix") else "")
    document = {"profile": profile, "problems": [dict(problem) for problem in problems]}
    about = Notes.of(texts or [f"{profile}: nothing is wrong with it."])
    show_listing(console, document, [about], as_json=as_json)


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
    quantity = words.judged_quantity(
        str(record.get("quantity", "image_s")), str(record.get("statistic", "")), record.get("averaging_s")
    )
    at_least = record.get("comparison") == "at least"
    formula = f"{quantity} {words.bound(record['limit'], str(record.get('unit', '')), at_least=at_least)}"
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
        rows: one a variant: `variant`, `parameters`, `artifact` {path, size_bytes, ...}, None where it
            is not prepared, `evaluation` {k, n, low, high, agree_k, agree_n, ...}, and perhaps `reason`.
        families: what else is there by name (`models.inspect.description.list_families`), printed below.
        as_json: print the rows as they are instead.
    """
    columns = of_figures("variant", "parameters", "file", "right of n", "same as fp32")
    blocks: list[Block] = [Table("variants", columns, tuple(map(_variant_cells, rows)))]
    overlapping = any((row.get("evaluation") or {}).get("overlapping") for row in rows)
    reasons = dict.fromkeys(row["accuracy_reason"] for row in rows if row.get("accuracy_reason"))
    texts = [f"{', '.join(_models(rows, reason))}: {reason}" for reason in reasons]
    blocks.append(Notes.of([words.OVERLAP_NOTE if overlapping else "", *texts]))
    for row in rows:
        if artifact := row.get("artifact"):
            blocks.append(Command(f"{row.get('variant')}: {artifact.get('path')}"))
        elif row.get("reason"):
            blocks.append(Text(f"{row.get('variant')}: {row['reason']}"))
    if rows and not any(row.get("artifact") or row.get("reason") for row in rows):
        blocks.append(Text("None is prepared yet: `edgebench run` does it, or `edgebench models prepare`."))
    known = {"families": [dict(family) for family in families]} if families else {}
    document = {"variants": [dict(row) for row in rows], **known}
    show_listing(console, document, [*blocks, *_families(families)], as_json=as_json)


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


_PRECISIONS = {"fp16": "fp16 (float16 weights)", "mixed": "mixed (not one of fp32, fp16, int8 throughout)"}


def print_model(console: Console, model: Mapping[str, Any], *, as_json: bool = False) -> None:
    """Print what `inspect.description.show` tells; the hash and the path whole, on lines of their own."""
    is_family = model.get("format") == "family"
    blocks = _family(model) if is_family else _file(model)
    heading = Heading(str(model.get("name", "")))
    show_listing(console, {"model": dict(model)}, [heading, *blocks], as_json=as_json)


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


def write_json(console: Console, value: Mapping[str, Any]) -> None:
    """Write a document of this schema; not through the console, which would wrap long strings."""
    document: dict[str, Any] = clean({"schema_version": SCHEMA_VERSION, **value})
    console.file.write(as_json(document))


def _file(model: Mapping[str, Any]) -> list[Block]:
    """What a model's file says of it."""
    family, width, precision = model.get("family"), model.get("width"), model.get("precision")
    of_width = "" if width is None else f", width {width}"
    entries = {
        "format": f"{model.get('format', '')}, {words.size(model.get('size_bytes'))}",
        "family": f"{family}{of_width}" if family else "",
        "input": _rule(model["input"]) if isinstance(model.get("input"), Mapping) else "",
        "classes": ", ".join(map(str, model.get("class_names") or ())),
        "precision": _PRECISIONS.get(precision, str(precision)) if precision else "",
        "parameters": _count(model, "parameters"),
        "MACs": _count(model, "macs"),
    }
    blocks: list[Block] = [facts("model", [(label, text) for label, text in entries.items() if text])]
    blocks += [Command(f"{name} {model[name]}") for name in filter(model.get, ("sha256", "path"))]
    for name in filter(model.get, ("inputs", "outputs")):
        headings = (name, "type", "shape", "quantisation")
        columns = tuple(Column(heading, long=True) for heading in headings)
        blocks.append(Table(name, columns, tuple(map(_tensor, model[name]))))
    if operations := model.get("operations"):
        counted = model.get("macs_counted", {})
        rows = [(str(name), str(n), "yes" if name in counted else "") for name, n in operations.items()]
        columns = (*of_figures("operation", "n"), Column("counted in MACs", long=True))
        blocks.append(Table("operations", columns, tuple(rows)))
    return blocks


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
