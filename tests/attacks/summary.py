"""One line at the end of a test run in which attacks ran; on xdist's controller, too."""

from __future__ import annotations

import pytest

MARK = "attack"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How many attacks ran, and how many of them were survived."""
    reports = [
        report
        for outcome in ("passed", "failed", "error")
        for report in terminalreporter.stats.get(outcome, [])
        if MARK in getattr(report, "keywords", ())
    ]
    lost = {report.nodeid for report in reports if report.outcome != "passed"}
    attacks = {report.nodeid for report in reports}
    if attacks:
        terminalreporter.write_line(f"{len(attacks)} attacks, {len(attacks - lost)} survived")
