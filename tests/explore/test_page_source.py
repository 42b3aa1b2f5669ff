"""The page's own JavaScript: its types hold and it is small; what is vendored is what its authors publish."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.explore.made_sites import PAGE

OWN = ("figures.js", "charts.js", "trial.js", "explore.js")
TSC = shutil.which("tsc")


@pytest.mark.slow
@pytest.mark.skipif(
    TSC is None, reason="the compiler of TypeScript is not installed (Debian: node-typescript)"
)
def test_its_types_hold(tmp_path: Path) -> None:
    library = tmp_path / "d3.d.ts"
    library.write_text("declare const d3: any;\n")
    options = "--noEmit --allowJs --checkJs --strict --noImplicitAny false --target es2022"
    libraries = ("--lib", "es2022,dom,dom.iterable", str(library))
    call = [str(TSC), *options.split(), *libraries, *(str(PAGE / name) for name in OWN)]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


def test_its_own_javascript_stays_small() -> None:
    assert sum(len(code_lines((PAGE / name).read_text())) for name in OWN) < 1_020


def code_lines(text: str) -> list[str]:
    """Lines that are neither empty nor comments."""
    bare = re.sub(r"^\s*/\*.*?\*/\s*$", "", text, flags=re.MULTILINE | re.DOTALL)
    return [line for line in bare.splitlines() if line.strip() and not line.strip().startswith("//")]


def test_the_library_is_the_published_one() -> None:
    digest = hashlib.sha256((PAGE / "d3.min.js").read_bytes()).hexdigest()
    assert digest in (PAGE / "LICENSES.txt").read_text()


def test_the_page_allows_no_other_host_and_no_inline_code() -> None:
    page = (PAGE / "index.html").read_text()
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in page and "unsafe" not in page
    assert re.findall(r"https?://|\son\w+=|\sstyle=|<style", page) == []
    markup = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.html\("
    )
    assert [name for name in OWN if markup.search((PAGE / name).read_text())] == []
