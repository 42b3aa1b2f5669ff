"""Texts that tests compare with golden files; `RENEW=1 pytest FILE` writes those of a test anew."""

from __future__ import annotations

import os
from pathlib import Path


def assert_golden(path: Path, text: str) -> None:
    """That a text is its golden file's, but for spaces at the ends of lines."""
    text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    if os.environ.get("RENEW"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), f"RENEW=1 pytest FILE renews {path.name}"
