"""Renews the golden files: `python -m tests.frozen`, a few minutes on two cores."""

from __future__ import annotations

import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.frozen import goldens
from tests.frozen.corpus import outcomes
from tests.frozen.interface import interface
from tests.frozen.keys import keys
from tests.frozen.replays import QUICK, SLOW, comparisons, references, replays


def _replays(folder: Path, names: tuple[str, ...]) -> None:
    for name, value in replays(folder, names).items():
        goldens.write(f"replay/{name}", value)


def _quick(folder: Path) -> None:
    _replays(folder, QUICK)
    goldens.write("comparisons", comparisons(folder))
    goldens.write("interface", interface(folder), 2)


def _others(folder: Path) -> None:
    goldens.write("keys", keys(folder), 1)
    goldens.write("inputs", outcomes(folder), 1)
    goldens.write("reference", references(folder))
    _replays(folder, SLOW)


def main() -> None:
    """Write every golden file anew."""
    shutil.rmtree(goldens.FOLDER, ignore_errors=True)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor() as pool:
        folders = [Path(scratch) / "quick", Path(scratch) / "others"]
        for folder in folders:
            folder.mkdir()
        for done in [pool.submit(_quick, folders[0]), pool.submit(_others, folders[1])]:
            done.result()


if __name__ == "__main__":
    main()
