"""A report's figures as files: each as SVG, PNG and PDF."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from edgebench.errors import StoredResultError, UsageError
from edgebench.files import require_folder, require_unstored, require_writable, write_atomically
from edgebench.judge.judged import Judged
from edgebench.report import drawing
from edgebench.report.missions import brief_missions
from edgebench.report.pictures import pictures

FIGURE_FORMS = ("svg", "png", "pdf")

_LONGEST_NAME = 60


def require_figures_folder(folder: Path) -> None:
    """Refuse a folder before anything is drawn that figures could not be written to.

    Raises:
        UsageError: it is a file, or the folder that it is in is not there.
        StoredResultError: it may not be written.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(
            f"--figures {folder} is no folder", fix="name a folder; it is made where it is missing"
        )
    require_folder(folder.absolute().parent, "--figures")
    require_unstored(folder, "--figures")
    try:
        require_writable(folder if folder.exists() else folder.absolute().parent)
    except OSError as error:
        raise _unwritten(folder, error) from error


def figures_of(judged: Judged) -> dict[str, Figure]:
    """Every figure of a report by its file's name without ending, such as `latency`; none that is missing.

    Those of a profile end in its name: `limits-disco-realtime`, `mission-disco-arctic`.
    """
    missions = brief_missions(judged.results, judged.summaries, judged.profiles)
    shown = pictures(judged.results, judged.summaries, judged.verdicts, judged.profiles, missions)
    slugs = profile_slugs([profile for _, profile in shown if profile])
    return {
        f"{name}-{slugs[profile]}" if profile else name: picture.figure
        for (name, profile), picture in shown.items()
        if picture.figure is not None
    }


def write_figures(judged: Judged, folder: Path) -> list[Path]:
    """Write each figure in FIGURE_FORMS to `folder`, which is made, each file in one step; their paths.

    Raises:
        UsageError, StoredResultError: as `require_figures_folder`, or a file cannot be written.
    """
    require_figures_folder(folder)
    written = []
    for name, figure in figures_of(judged).items():
        for form in FIGURE_FORMS:
            path = folder / f"{name}.{form}"
            try:
                write_atomically(path, drawing.as_bytes(figure, form))
            except OSError as error:
                raise _unwritten(path, error) from error
            written.append(path)
    return written


def profile_slugs(names: list[str]) -> Mapping[str, str]:
    """Part of a file's name for each profile: no two are alike, and none holds more than a-z, 0-9 and -."""
    slugs: dict[str, str] = {}
    for name in names:
        if name in slugs:
            continue
        slug = re.sub(r"[^a-z0-9]+", "-", name.lower())[:_LONGEST_NAME].strip("-") or "profile"
        number = 2
        unique = slug
        while unique in slugs.values():
            unique = f"{slug}-{number}"
            number += 1
        slugs[name] = unique
    return slugs


def _unwritten(path: Path, error: OSError) -> StoredResultError:
    return StoredResultError(
        f"{path} cannot be written",
        why=error.strerror or str(error),
        fix="choose another folder with --figures",
    )
