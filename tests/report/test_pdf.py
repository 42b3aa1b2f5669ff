"""The report as PDF: how a browser is called, and what is shown where it prints nothing."""

from __future__ import annotations

import os
import time
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psutil
import pytest

from edgebench.errors import UnavailableError
from edgebench.judge.judged import Judged
from edgebench.report.renderers import pdf
from edgebench.report.renderers.forms import FORMS, export
from tests.report.pdf_browser import installed


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder with browsers; it is not there yet."""
    monkeypatch.setattr(pdf, "BROWSERS", ("google-chrome", "chromium"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return tmp_path / "bin"


def refused(page: bytes = b"<p>", limit_s: float = 60.0) -> UnavailableError:
    with pytest.raises(UnavailableError) as caught:
        pdf.render(page, limit_s)
    assert ".html" in caught.value.fix and "print function of any browser" in caught.value.fix
    return caught.value


def test_a_browser_prints_the_page_that_html_has(bare: Judged, tmp_path: Path, programs: Path) -> None:
    installed(programs)
    written = export(bare, tmp_path / "report.pdf").read_bytes()
    assert written == b"%PDF-1.4\n" + FORMS["html"].write(bare) + b"\n%%EOF\n"


@pytest.mark.parametrize("user", [0, 1000])
def test_the_browser_has_no_network_and_a_profile_that_is_deleted(
    programs: Path, monkeypatch: pytest.MonkeyPatch, user: int
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    calls = installed(programs)
    pdf.render(b"<p>")
    *flags, address = calls.read_text().splitlines()
    assert "--headless" in flags and "--host-resolver-rules=MAP * ~NOTFOUND" in flags
    assert any("sandbox" in flag for flag in flags) == (user == 0)  # root has none
    profile = next(flag.partition("=")[2] for flag in flags if flag.startswith("--user-data-dir="))
    page = Path(unquote(urlsplit(address).path))
    assert address.startswith("file:///") and page.parent == Path(profile).parent
    assert not page.parent.exists()


@pytest.mark.usefixtures("programs")
def test_without_a_browser_it_says_which_would_do() -> None:
    assert "Chromium, Chrome or Edge" in refused().why


@pytest.mark.attack("a browser that prints half a PDF, or nothing: no report is written")
@pytest.mark.parametrize(
    "body",
    [
        'Path(named["--print-to-pdf"]).write_bytes(b"%PDF-1.4 half")',
        'Path(named["--print-to-pdf"]).write_bytes(b"<html>%%EOF")',
        "",
    ],
)
def test_what_is_no_pdf_is_not_written(bare: Judged, tmp_path: Path, programs: Path, body: str) -> None:
    installed(programs, body)
    (tmp_path / "report.pdf").write_bytes(b"the old one")
    with pytest.raises(UnavailableError, match="printed no PDF"):
        export(bare, tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes() == b"the old one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "report.pdf"]


def test_a_browser_that_fails_is_quoted(programs: Path) -> None:
    installed(programs, 'print("first"); sys.exit("no usable sandbox")')
    assert refused().why == "exit code 1: no usable sandbox"


def test_a_program_that_cannot_run_is_named(programs: Path) -> None:
    installed(programs)
    (programs / "chromium").write_bytes(b"\x7fELF")
    error = refused()
    assert str(programs / "chromium") in error.what and error.why


@pytest.mark.attack("a browser that never ends: ended at the time limit, with the processes that it started")
def test_a_browser_that_hangs_is_ended_with_its_children(tmp_path: Path, programs: Path) -> None:
    started = tmp_path / "started"
    installed(
        programs,
        'child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])\n'
        f"Path({str(started)!r}).write_text(str(child.pid))\n"
        "time.sleep(600)",
    )
    assert "did not finish" in refused(limit_s=3.0).why
    child = int(started.read_text())
    for _ in range(100):  # until it is reaped by whoever has it now
        if not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE:
            return
        time.sleep(0.05)
    pytest.fail("the browser's child outlived it")


def test_an_installed_browser_prints_also_for_root(bare: Judged, tmp_path: Path) -> None:
    try:
        written = export(bare, tmp_path / "report.pdf").read_bytes()
    except UnavailableError as error:
        if "is installed" in error.what:
            pytest.skip(error.why)
        raise
    assert written.startswith(b"%PDF-")
