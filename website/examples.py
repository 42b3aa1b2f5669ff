"""The page of examples: the folder's README, and below it each file that it names."""

from __future__ import annotations

import re
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"

_LANGUAGES = {".py": "python", ".sh": "bash", ".toml": "toml", ".yml": "yaml"}
_NAMED = re.compile(r"\]\(([^)#]+)\)")


def page() -> str:
    """The whole page."""
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    named = [path for path in dict.fromkeys(_NAMED.findall(text)) if Path(path).suffix in _LANGUAGES]
    return "\n".join([text, *(_file(path) for path in named)])


def _file(path: str) -> str:
    content = (EXAMPLES / path).read_text(encoding="utf-8").rstrip()
    return f"## {path}\n\n```{_LANGUAGES[Path(path).suffix]}\n{content}\n```\n"
