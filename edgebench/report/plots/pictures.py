"""The plots of a report by name, each with its caption, and its figures as files: SVG, PNG and PDF."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from edgebench.errors import UsageError
from edgebench.files import require_folder, require_unstored, require_writable, unwritten, write_output
from edgebench.judge.judged import Judged
from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import words
from edgebench.report.missions import BriefMissions, brief_missions
from edgebench.report.plots import drawing
from edgebench.report.plots.accuracy import accuracy_picture, energy_picture
from edgebench.report.plots.latency import depth_picture, limits_of, stages_picture, targets_picture
from edgebench.report.plots.mission import mission_picture
from edgebench.report.plots.panels import Picture
from edgebench.report.plots.power import power_over_time_picture
from edgebench.report.plots.scene import scene_picture
from edgebench.report.plots.sessions import minutes_picture, sessions_picture
from edgebench.report.plots.sharing import timeline_picture
from edgebench.results.load import StoredResults

FIGURE_FORMS = ("svg", "png", "pdf")

_LONGEST_NAME = 60


def pictures(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    profiles: Sequence[Profile],
    missions: Sequence[BriefMissions],
) -> dict[tuple[str, str], Picture]:
    """Every plot by name and profile, which is empty for a plot of no profile.

    `profiles` are those of the verdicts, `missions` those that were played.
    """
    titles = {profile.name: profile.title or profile.name for profile in profiles}
    latencies, accuracies = (
        {titles.get(name, name): limit for name, limit in limits.items()}
        for limits in (
            limits_of(verdicts, words.latency_names(words.alike_timed(summaries))),
            limits_of(verdicts, "accuracy", "share"),
        )
    )
    shown: dict[tuple[str, str], Picture | None] = {
        ("latency", ""): depth_picture(summaries, latencies),
        ("targets", ""): targets_picture(summaries, latencies),
        ("sessions", ""): sessions_picture(summaries),
        ("accuracy", ""): accuracy_picture(summaries, latencies, accuracies),
        ("stages", ""): stages_picture(summaries),
        ("scene", ""): scene_picture(results, summaries),
        ("sustained", ""): minutes_picture(summaries),
        ("timeline", ""): timeline_picture(results, summaries),
        ("energy", ""): energy_picture(summaries),
        ("power-over-time", ""): power_over_time_picture(results, summaries, profiles),
    }
    for brief in missions:
        shown["mission", brief.profile] = mission_picture(brief, summaries)
    return {place: picture for place, picture in shown.items() if picture is not None}


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
        raise unwritten(folder, error, "--figures") from error


def figures_of(judged: Judged) -> dict[str, Figure]:
    """Every figure of a report by its file's name without ending, such as `latency`; none that is missing.

    Those of a profile end in its name: `mission-disco-arctic`.
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
            write_output(path, drawing.as_bytes(figure, form), "--figures")
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
