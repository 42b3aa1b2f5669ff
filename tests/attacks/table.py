"""The page that counts the marked tests by class of trust and by subject."""

from __future__ import annotations

import contextlib
import io
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "attacks.md"
RENEW = "python -m tests.attacks"

HEAD = """# Faulty and untrusted input

EdgeBench distinguishes [three classes of trust](../SECURITY.md). The tests of `make test-all` try {count}
cases of the last two. Nothing is tried against what is trusted.

The page is generated from the marks on the tests: `{renew}` renews it.

Not tried: steps of a machine's real clock (tests shift and drift the agents' clocks instead), processors
that are taken offline during a measurement, and results or caches on NFS.
"""


class Subject(NamedTuple):
    """One row of the page: the tests below some paths."""

    name: str
    tried: str
    paths: tuple[str, ...]  # from the folder of the tests; the longest one that fits a test has it


CLASSES: dict[str, tuple[Subject, ...]] = {
    "Faulty, not hostile": (
        Subject(
            "Boards with an agent",
            "answers, stamps, durations and clocks that cannot be; runners that hang, crash, flood or leave "
            "processes; silence; another board at the same address",
            (
                "agent", "link", "measure", "testing", "attacks/test_evil", "attacks/test_hostile_agent",
                "attacks/test_clocks", "attacks/test_load_bursts", "attacks/test_short_stamps",
                "attacks/test_stalls", "attacks/test_escaping", "attacks/test_resume", "survival/test_clocks",
                "survival/test_dying", "cli/test_doctor", "judge/test_request_latency",
            ),
        ),
        Subject(
            "Boards over SSH",
            "no login, no Python, noise before the first words, a link that is cut or stands still",
            ("link/test_ssh", "link/test_opening", "link/test_far"),
        ),
        Subject(
            "Builds and files on a board",
            "failed, hung and damaged builds; files that change or get lost on the way; other users of "
            "the board",
            (
                "agent/test_building", "agent/test_files", "agent/test_lock", "attacks/test_builds",
                "attacks/test_board", "link/test_placing", "attacks/test_temporary",
            ),
        ),
        Subject(
            "Power modes",
            "programs that fail, hang, ask or change nothing; a run that is killed in another mode",
            ("agent/test_power_modes", "attacks/test_power_modes", "walk/test_power_modes"),
        ),
        Subject(
            "Runtimes",
            "libraries that are missing, old or fail in their own words; devices that are absent or busy",
            ("backends", "attacks/test_openvino"),
        ),
        Subject(
            "Microcontrollers",
            "lines that lose, double and invent bytes; wrong, late and missing answers; resets; "
            "random commands into the firmware under sanitizers",
            ("backends/cortexm", "backends/coralmicro", "attacks/test_serial_line", "link/test_window"),
        ),
        Subject(
            "Meters and monitors",
            "readings that are garbled, out of range or missing; meters that are unplugged, die, stall or "
            "flood; log files of other programs",
            (
                "probes", "agent/test_sampler", "agent/test_port_access", "attacks/test_dying_meter",
                "attacks/test_unplugged", "attacks/test_tegrastats", "cli/test_meters", "judge/test_power",
                "link/test_host_probes", "link/test_session_probes", "link/test_sample_spool",
                "link/test_load_bursts", "measure/test_meter", "plan/test_meters", "report/plots/test_power",
                "stats/test_meter", "store/test_probe_table", "report/test_telemetry",
            ),
        ),
        Subject(
            "Fleets",
            "machines that are killed or cut off, damaged answers, schedulers that restart or are not "
            "protected",
            ("fleet",),
        ),
        Subject(
            "Kills at random moments",
            "SIGKILL of the harness, its workers and two harnesses at once: nothing finished is lost or "
            "repeated",
            ("store/test_killed", "survival/test_killed", "survival/test_two_harnesses"),
        ),
        Subject(
            "Disks",
            "full, read-only and failing disks; folders that vanish; outputs that cannot be written",
            ("survival", "attacks/test_full_disk", "attacks/test_report_output"),
        ),
        Subject(
            "Stored files",
            "any changed byte; missing, foreign and truncated files; other versions; links, pipes and loops",
            (
                "store", "analysis", "attacks/test_parquet", "attacks/test_results_folder", "report",
                "cli/test_history",
            ),
        ),
        Subject(
            "The cache",
            "damaged files under their names; makers that are killed or hang",
            ("cache", "attacks/test_cache", "models/workers"),
        ),
        Subject(
            "Plug-ins",
            "packages that cannot be imported, or take a name of EdgeBench",
            ("cli/test_broken_plug_ins", "cli/test_installed_commands"),
        ),
        Subject(
            "Settings and profiles",
            "TOML and values that cannot be: one message with its place and fix",
            ("plan", "fit", "judge", "walk", "cli"),
        ),
    ),
    "Not trusted": (
        Subject(
            "Models",
            "pickles, SavedModel operations and archives that would run code, leave the folder or unpack to "
            "gigabytes; damaged files of every format",
            ("models", "attacks/test_archives"),
        ),
        Subject(
            "Pictures, labels and tables",
            "files without an end, pipes, bombs, damaged and foreign formats",
            ("data", "attacks/test_files", "walk/test_labelled_inputs"),
        ),
        Subject(
            "Archives of results",
            "absolute paths, links, duplicates, bombs, checksums that differ",
            ("store/test_archive", "cli/test_outputs_in_results"),
        ),
        Subject(
            "Texts that are shown",
            "markup, formulas, terminal escapes and paths in every name and message; secrets in launches",
            (
                "explore", "attacks/test_terminal", "attacks/test_secrets", "store/test_markup",
                "store/test_redaction", "store/test_launch_secrets", "report/test_pdf",
            ),
        ),
    ),
}  # fmt: skip


class _Collector:
    def __init__(self) -> None:
        self.paths: Counter[str] = Counter()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.paths = attacks_of(session.items)


def attacks_of(items: Iterable[pytest.Item]) -> Counter[str]:
    """The number of marked tests of each module, by its path below the folder of the tests."""
    marked = (item for item in items if item.get_closest_marker("attack") is not None)
    return Counter(item.path.relative_to(ROOT / "tests").as_posix() for item in marked)


def collected() -> Counter[str]:
    """The marked tests of all modules; imports those that may have some, and runs nothing."""
    # The mark itself may stand in a helper that a module of attacks imports.
    modules = [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if "attack" in path.read_text()]
    collector = _Collector()
    with contextlib.redirect_stdout(io.StringIO()) as output:
        code = pytest.main(
            [f"--rootdir={ROOT}", "--collect-only", "-q", *map(str, modules)], plugins=[collector]
        )
    if code != pytest.ExitCode.OK:
        raise SystemExit(f"the tests cannot be collected: {output.getvalue()[-4000:]}")
    return collector.paths


def subject_of(path: str) -> Subject:
    """The subject of a module of tests; ValueError where no subject has its folder."""
    fitting = [
        (len(start), subject)
        for subjects in CLASSES.values()
        for subject in subjects
        for start in subject.paths
        if path.startswith(start)
    ]
    if not fitting:
        raise ValueError(f"tests/{path} has attacks and no subject in tests/attacks/table.py")
    return max(fitting, key=lambda found: found[0])[1]


def page(attacks: Counter[str]) -> str:
    """docs/attacks.md: a table for each class, a row for each subject."""
    cases: Counter[Subject] = Counter()
    for path, count in attacks.items():
        cases[subject_of(path)] += count
    parts = [HEAD.format(count=f"{attacks.total():,}", renew=RENEW)]
    for title, subjects in CLASSES.items():
        lines = ["| from | what is tried | cases |", "| --- | --- | --- |"]
        lines += [f"| {subject.name} | {subject.tried} | {cases[subject]} |" for subject in subjects]
        parts.append(f"## {title}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)
