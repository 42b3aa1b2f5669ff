"""A stand-in for the browser that prints a report: what it was called with, and a PDF that holds the page."""

from __future__ import annotations

import sys
from pathlib import Path

PRINT = """
Path(named["--print-to-pdf"]).write_bytes(b"%PDF-1.4\\n" + Path(page).read_bytes() + b"\\n%%EOF\\n")
"""

_SCRIPT = """#!{python}
import os, subprocess, sys, time
from pathlib import Path
from urllib.parse import unquote, urlsplit
Path({calls!r}).write_text("\\n".join(sys.argv[1:]))
named = dict(word.partition("=")[::2] for word in sys.argv[1:-1])
page = unquote(urlsplit(sys.argv[-1]).path)
{body}
"""


def installed(folder: Path, body: str = PRINT) -> Path:
    """Make the folder with a program `chromium` that runs this code; the file that gets its arguments."""
    folder.mkdir()
    calls = folder / "calls.txt"
    program = folder / "chromium"
    program.write_text(_SCRIPT.format(python=sys.executable, calls=str(calls), body=body))
    program.chmod(0o755)
    return calls
