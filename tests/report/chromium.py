"""Chromium for tests of what is seen: the system's own, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

EXECUTABLE = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
)  # fmt: skip


@contextmanager
def browser() -> Iterator[Any]:
    """Playwright's Browser; the test is skipped where there is no Chromium."""
    if EXECUTABLE is None:
        pytest.skip("Chromium is not installed")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=EXECUTABLE, args=list(FLAGS))
        try:
            yield chromium
        finally:
            chromium.close()


@contextmanager
def opened(chromium: Any, path: Path, width: int = 1280, **context: Any) -> Iterator[Any]:
    """A page of the browser that shows a file; `context` is Playwright's, such as `color_scheme`."""
    with chromium.new_context(viewport={"width": width, "height": 900}, **context) as own:
        page = own.new_page()
        page.goto(path.as_uri())
        yield page
