"""The report as PDF: an installed Chromium, Chrome or Edge prints the HTML report."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from pathlib import Path

from edgebench.errors import UnavailableError

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "microsoft-edge",
    "microsoft-edge-stable",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
)
"""Names on PATH, then where macOS keeps them; the first that is installed prints."""

TIME_LIMIT_S = 120.0

_BY_HAND = "write the report as .html and use the print function of any browser"
_FLAGS = (
    "--headless",
    "--no-pdf-header-footer",
    "--generate-pdf-document-outline",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-extensions",
    "--disable-sync",
    "--disable-component-update",
    "--disable-background-networking",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
"""One page without dialogs and without network."""

NO_SANDBOX = "--no-sandbox"
"""Flag that Chromium needs when root runs it; its page is the report, which loads nothing."""


def runs_as_root() -> bool:
    """Check whether this process is root, for whom browsers have no sandbox."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def render(page: bytes, limit_s: float = TIME_LIMIT_S) -> bytes:
    """An HTML report as the bytes of a PDF, printed with a browser profile that is deleted afterwards.

    Raises:
        UnavailableError: no browser is installed, or it printed no PDF within `limit_s`.
    """
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise UnavailableError(
            "no browser is installed that prints a PDF",
            why="a PDF report requires Chromium, Chrome or Edge",
            fix=f"install one of them, or {_BY_HAND}",
        )
    # The browser may still write to its profile while the folder is being deleted.
    with tempfile.TemporaryDirectory(prefix="edgebench-pdf-", ignore_cleanup_errors=True) as name:
        scratch = Path(name)
        source, printed = scratch / "report.html", scratch / "report.pdf"
        source.write_bytes(page)
        own = [f"--user-data-dir={scratch / 'profile'}", f"--print-to-pdf={printed}"]
        if runs_as_root():
            own.append(NO_SANDBOX)
        failure = _failure([browser, *_FLAGS, *own, source.as_uri()], scratch, limit_s)
        data = printed.read_bytes() if printed.is_file() else b""
    if failure or not (data.startswith(b"%PDF-") and data.rstrip().endswith(b"%%EOF")):
        raise UnavailableError(
            f"{browser} printed no PDF",
            why=failure or "what it wrote is no complete PDF",
            fix=_BY_HAND,
        )
    return data


def _failure(command: list[str], scratch: Path, limit_s: float) -> str:
    """Run the browser; why it failed, empty where it did not. All of its processes are ended."""
    folders = {"XDG_CONFIG_HOME": str(scratch), "XDG_CACHE_HOME": str(scratch)}
    with (scratch / "messages").open("w+b") as messages:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=messages,
                stderr=messages,
                env=os.environ | folders,
                start_new_session=True,
            )
        except OSError as error:
            return error.strerror or str(error)
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return f"it did not finish within {limit_s:g} s"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        messages.seek(0)
        lines = messages.read().decode(errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "it printed nothing")
    return f"exit code {code}: {last[:400]}" if code else ""
