"""Disks of a few pages, in a mount namespace of this process's own: really full, and really read-only.

`unshare -rm python -m tests.survival.mounts FOLDER` prints what happened as one JSON document.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from edgebench.errors import StoredResultError
from edgebench.judge.judged import judge_folder
from edgebench.report.renderers.forms import export
from edgebench.results.record_reading import read_experiment, read_sessions
from edgebench.results.writing import ExperimentStore, require_writable
from tests.survival.quick import Quick
from tests.survival.small import environment

PAGE = 4096
PAGES = 200
FREE = (1, 6, 11, 16, *range(18, 42, 2))
"""Pages left on the disk: from too few for a plan to enough for some sessions."""


def full_disk(quick: Quick) -> list[dict[str, Any]]:
    """An experiment for each number of free pages: refused, looked at, given room, brought to its end."""
    mount("tmpfs", quick.results, f"size={PAGE * PAGES}")
    found = []
    for free in FREE:
        name = f"free{free}"
        filler = quick.results / "filler"
        with filler.open("wb") as file:
            _fill(file.fileno(), free)
        error = attempt(quick, name)
        kept = contents(quick.results / name)
        sessions = sessions_of(quick.results / name)
        filler.unlink()
        again = attempt(quick, name)
        after = contents(quick.results / name)
        found.append(
            {
                "free": free,
                "error": error,
                "again": again,
                "before": len(sessions),
                "sessions": sessions_of(quick.results / name),
                "changed": [path for path, data in kept.items() if after.get(path) != data],
                "left": [str(path) for path in quick.results.rglob(".writing-*")],
            }
        )
        subprocess.run(["rm", "-r", str(quick.results / name)], check=True)
    subprocess.run(["umount", str(quick.results)], check=True)
    return found


def read_only(quick: Quick) -> dict[str, Any]:
    """A result on a disk that is read-only: nothing new can be begun or gone on with, and it can be read."""
    mount("tmpfs", quick.results, "size=4m")
    quick.run("kept", resume=False)
    before = contents(quick.results / "kept")
    subprocess.run(["mount", "-o", "remount,ro", str(quick.results)], check=True)
    folder = quick.results / "kept"
    judged = judge_folder(folder)
    return {
        "sessions": len(judged.results.sessions),
        "passes": len(judged.results.passes),
        "new": attempt(quick, "new"),
        "resume": attempt(quick, "kept"),
        "open": told(lambda: ExperimentStore.open(folder)),
        "writable": told(lambda: require_writable(quick.results)),
        "report": told(lambda: export(judged, folder / "report.html")),
        "elsewhere": export(judged, quick.folder / "report.html").exists(),
        "changed": contents(folder) != before,
    }


def mount(kind: str, folder: Path, options: str) -> None:
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", kind, "-o", options, "none", str(folder)], check=True)


def _fill(handle: int, free: int) -> None:
    """Write until that many pages are free."""
    while os.fstatvfs(handle).f_bavail > free:
        os.write(handle, bytes(PAGE))


def attempt(quick: Quick, name: str) -> list[str]:
    return told(lambda: quick.go_on(name))


def told(work: Any) -> list[str]:
    """What, why and fix of the error that a user would see; nothing when there was none."""
    try:
        work()
    except StoredResultError as error:
        return [error.what, error.why, error.fix]
    return []


def contents(folder: Path) -> dict[str, str]:
    """What lies in finished sessions, by path."""
    files = folder.glob("trials/*/sessions/[0-9]*/*")
    return {str(path.relative_to(folder)): path.read_bytes().hex() for path in sorted(files)}


def sessions_of(folder: Path) -> list[int]:
    """The sessions that can be read; AssertionError for one that cannot."""
    if not (folder / "experiment.json").exists():
        return []
    found: list[int] = []
    for trial in read_experiment(folder).trials:
        records, warnings = read_sessions(folder, trial.key)
        assert not warnings, warnings
        found += [record.n for record in records]
    return found


def main(arguments: list[str]) -> int:
    """Both kinds of disk."""
    folder = Path(arguments[0])
    os.environ.update(environment(folder))
    quick = Quick(folder, sessions=3, precisions=("int8",))
    print(json.dumps({"full": full_disk(quick), "read_only": read_only(quick)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
