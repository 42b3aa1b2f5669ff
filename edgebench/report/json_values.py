"""Values as JSON can carry them, and the text that is printed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

SCHEMA_VERSION = 1


def as_json(document: Mapping[str, Any]) -> str:
    """The document as text, ending with a newline; characters outside ASCII are escaped."""
    return json.dumps(document, indent=2, allow_nan=False) + "\n"


def clean(value: Any) -> Any:
    """A value as JSON can carry it: numbers that are not finite become null, numpy's become Python's."""
    if isinstance(value, Mapping):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [clean(item) for item in value]
    if hasattr(value, "tolist"):  # a numpy scalar or array, without importing numpy for it
        return clean(value.tolist())
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)
