"""The JSON Schemas of what is written, version 1 (draft 2020-12), as shipped with the package."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

NAMES = (
    "experiment", "run", "images", "session", "trial", "result", "comparison", "history", "results", "error",
    "meters", "recording", "tables",
)  # fmt: skip
"""`tables` describes the Parquet columns; the others are schemas of a JSON document."""


def schema(name: str) -> dict[str, Any]:
    """One of `NAMES` as plain data; ValueError for another name."""
    if name not in NAMES:
        raise ValueError(f"there is no schema {name!r}; there are {', '.join(NAMES)}")
    text = resources.files("edgebench.store").joinpath("schemas", f"{name}.schema.json").read_text("utf-8")
    value: dict[str, Any] = json.loads(text)
    return value
