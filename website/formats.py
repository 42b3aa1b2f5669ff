"""The page of file formats: every field of every document, from the schemas that are shipped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgebench.report.schemas import NAMES, schema

_ORDER = {
    "experiment": "experiment.json: the plan, the command, the host",
    "run": "run.json: how the last run ended",
    "session": "session.json: one session",
    "tables": "The Parquet tables of a session",
    "images": "images.json: which file each image was",
    "trial": "trial.json: what a trial comes to",
    "result": "The result document (`--json`, `report -o FILE.json`)",
    "comparison": "The document of `edgebench compare`",
    "history": "The document of `edgebench history`",
    "results": "The document of `edgebench results`",
    "meters": "The document of `edgebench meters`",
    "recording": "A recording of a meter",
    "error": "The document of an error",
}

_HEAD = """# File formats

A result is a folder. Everything in it can be read without EdgeBench: JSON with a schema version, and Parquet.

    results/20261121-120000-cpu/
      experiment.json          the plan, the command, the host
      run.json                 how the last run of it ended
      images.json              which file each image was
      scene.jpg                the scene, small
      trials/KEY/
        trial.json             derived from the sessions, can be made again
        sessions/000/          001, ...; renamed into place at the session's end
          session.json
          passes.parquet       and batches, windows, probes, predictions

Later only revisions are added to `experiment.json`. A table that a session does not give is not there, and
nor is `images.json` where the images of accuracy were no files; `report.html` lies beside them.

`edgebench schema NAME` prints the JSON Schema of a document. Records on disk have version 2, and no other
version is read: `edgebench results` lists a result of an earlier one; measure again, or read it with the
EdgeBench that wrote it. What commands print with `--json` has version 1.
"""


def page() -> str:
    """The whole page."""
    if set(NAMES) != set(_ORDER):
        raise ValueError(f"schemas without a place on the page, or the reverse: {set(NAMES) ^ set(_ORDER)}")
    return "\n".join([_HEAD, *(_document(name, title) for name, title in _ORDER.items())])


def _document(name: str, title: str) -> str:
    whole = schema(name)
    rows = [f"| `{path}` | {kind} | {text} |" for path, kind, text in _rows(whole)]
    about = _line(str(whole.get("description", "")))
    return (
        f"## {title}\n\n{about}\n\n| field | type | what it holds |\n| --- | --- | --- |\n"
        + "\n".join(rows)
        + "\n"
    )


def _rows(schema: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str, str]]:
    for form in (schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        for name, field in form.get("properties", {}).items():
            place = f"{path}.{name}" if path else name
            yield place, _kind(field), _text(field)
            yield from _rows(field, place)
        items = form.get("items")
        if isinstance(items, Mapping):
            yield from _rows(items, f"{path}[]")
        further = form.get("additionalProperties")
        if isinstance(further, Mapping):
            yield from _rows(further, f"{path}.*")


def _kind(field: Mapping[str, Any]) -> str:
    kinds = [field["type"]] if isinstance(field.get("type"), str) else list(field.get("type", ()))
    for form in (*field.get("anyOf", ()), *field.get("oneOf", ())):
        kinds += [kind for kind in _kind(form).split(" or ") if kind]
    if "enum" in field:
        kinds = ["`" + "`, `".join(str(value) for value in field["enum"] if value is not None) + "`"]
    if "const" in field:
        kinds = [f"`{field['const']}`"]
    return " or ".join(dict.fromkeys(kinds)) or "any"


def _text(field: Mapping[str, Any]) -> str:
    unit = f" In {field['x-unit']}." if field.get("x-unit") else ""
    source = f" *From: {field['x-source']}.*" if field.get("x-source") else ""
    return _line(f"{field.get('description', '')}{unit}{source}")


def _line(text: str) -> str:
    """Text in a cell: on one line, with nothing that ends the cell or is taken for markup."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
