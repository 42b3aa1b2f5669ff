"""What `edgebench doctor` finds: one line with its fix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Finding:
    """One line of `edgebench doctor`."""

    level: Literal["ok", "warning", "error"]
    subject: str
    message: str
    fix: str = ""
