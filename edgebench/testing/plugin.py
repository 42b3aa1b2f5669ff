"""Pytest plug-in: the kit's options, fixtures and lines in the summary. Imports pytest alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from edgebench.prepare.cache import Cache

NOTE = "edgebench"
"""The name of a test's user property that becomes a line of the summary."""


_REPEATABLE: dict[str, Any] = {"action": "append", "default": []}
_OPTIONS: dict[str, dict[str, Any]] = {
    "backend": {"metavar": "NAME", "help": "the backend that is held to the contract"},
    "set": {"metavar": "KEY=VALUE", "help": "an option of that backend. Repeatable", **_REPEATABLE},
    "probe": {"metavar": "KIND[:ADDRESS]", "help": "the probe that is held to the contract"},
    "host": {
        "metavar": "USER@BOARD",
        "help": "where the backend's device is. Default: this machine",
    },
    "port": {
        "metavar": "PATH",
        "help": "the port that the backend's device is at, such as /dev/ttyACM0",
    },
    "python": {"metavar": "PATH", "help": "the Python that the agent and worker run on"},
    "skip": {
        "metavar": "TEST=REASON",
        "help": "a test of the contract to leave out, with the reason that is shown. Repeatable",
        **_REPEATABLE,
    },
    "require-device": {
        "action": "store_true",
        "help": "fail, rather than skip, where the device or the probe's hardware is not there",
    },
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of `pytest --pyargs edgebench.testing`."""
    group = parser.getgroup("edgebench", "EdgeBench's conformance kit (pytest --pyargs edgebench.testing)")
    for name, settings in _OPTIONS.items():
        group.addoption(f"--edgebench-{name}", **settings)


@pytest.fixture(scope="session")
def edgebench_cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """Cache of prepared artifacts: a new folder; a conftest.py may give another one."""
    from edgebench.prepare.cache import Cache

    return Cache(tmp_path_factory.mktemp("edgebench-cache"))


@pytest.fixture(scope="class")
def edgebench_kit(request: pytest.FixtureRequest, edgebench_cache: Cache) -> Iterator[Any]:
    """Kit that the tests of one contract share: a backend with its artifacts and open device, or a probe."""
    kit = request.cls.kit_type(request.cls, edgebench_cache, request.config.getoption)
    yield kit
    kit.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The figures that tests of the contract took, which no test judges."""
    lines = [
        str(value)
        for report in terminalreporter.stats.get("passed", [])
        for name, value in getattr(report, "user_properties", ())
        if name == NOTE
    ]
    if lines:
        terminalreporter.section("edgebench")
        for line in dict.fromkeys(lines):
            terminalreporter.write_line(line)
