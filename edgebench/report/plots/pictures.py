"""Plots of a report by name with their captions, and as files: SVG, PNG and PDF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from edgebench.errors import UsageError
from edgebench.files import require_folder, require_unstored, require_writable, unwritten, write_output
from edgebench.judge.judged import Judged
from edgebench.report import words
from edgebench.report.missions import BriefMissions, brief_missions
from edgebench.report.plots import drawing
from edgebench.report.plots.accuracy import accuracy_picture, energy_picture
from edgebench.report.plots.latency import depth_picture, limits_of, stages_picture, targets_picture
from edgebench.report.plots.panels import Picture
from edgebench.report.plots.power import power_over_time_picture
from edgebench.report.plots.scene import scene_picture
from edgebench.report.plots.sessions import minutes_picture, mission_picture, sessions_picture
from edgebench.report.plots.sharing import timeline_picture

FIGURE_FORMS = ("svg", "png", "pdf")


def pictures(judged: Judged, missions: Sequence[BriefMissions]) -> dict[tuple[str, str], Picture]:
    """Plots by name and profile, which is empty for a plot of no profile; `missions` are those played."""
    results, trials = judged.results, judged.trials
    titles = {profile.name: profile.title or profile.name for profile in judged.profiles}
    latency = words.latency_names(words.alike_timed(trials))
    latencies, accuracies = (
        {titles.get(name, name): limit for name, limit in limits_of(judged.verdicts, *metric).items()}
        for metric in ((latency,), ("accuracy", "share"))
    )
    by_name = {
        "latency": depth_picture(trials, latencies),
        "targets": targets_picture(trials, latencies),
        "sessions": sessions_picture(trials),
        "accuracy": accuracy_picture(trials, latencies, accuracies),
        "stages": stages_picture(trials),
        "scene": scene_picture(results, trials),
        "sustained": minutes_picture(trials),
        "timeline": timeline_picture(results, trials),
        "energy": energy_picture(trials),
        "power-over-time": power_over_time_picture(results, trials, judged.profiles),
    }
    shown = {(name, ""): picture for name, picture in by_name.items()}
    for brief in missions:
        shown["mission", brief.profile] = mission_picture(brief, trials)
    return {place: picture for place, picture in shown.items() if picture is not None}


def require_figures_folder(folder: Path) -> None:
    """Refuse a folder that figures could not be written to, before anything is drawn.

    Raises:
        UsageError: it is a file, or its parent folder does not exist.
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
        raise unwritten(folder, error, "--figures") from error


def figures_of(judged: Judged) -> dict[str, Figure]:
    """Figures of a report by the names of their files without ending, such as `latency`.

    The names of a profile's figures end in its name: `mission-disco-arctic`.
    """
    missions = brief_missions(judged)
    shown = pictures(judged, missions)
    return {
        f"{name}-{profile}" if profile else name: picture.figure
        for (name, profile), picture in shown.items()
        if picture.figure is not None
    }


def write_figures(judged: Judged, folder: Path) -> list[Path]:
    """Write each figure in FIGURE_FORMS to `folder`, which is made, each file in one step.

    Returns:
        the paths of the files.

    Raises:
        UsageError, StoredResultError: as `require_figures_folder`, or a file cannot be written.
    """
    require_figures_folder(folder)
    written = []
    for name, fig in figures_of(judged).items():
        for form in FIGURE_FORMS:
            path = folder / f"{name}.{form}"
            write_output(path, drawing.as_bytes(fig, form), "--figures")
            written.append(path)
    return written
