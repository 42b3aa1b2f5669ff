"""The plots of a report by name, each with its caption."""

from __future__ import annotations

from collections.abc import Sequence

from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import notes, words
from edgebench.report.mission_pages import mission_picture
from edgebench.report.missions import BriefMissions
from edgebench.report.plots.accuracy import accuracy_picture, energy_picture
from edgebench.report.plots.latency import depth_picture, latency_limits, stages_picture, targets_picture
from edgebench.report.plots.limits import limits_picture
from edgebench.report.plots.panels import Picture
from edgebench.report.plots.power import idle_picture, power_over_time_picture
from edgebench.report.plots.scene import scene_picture
from edgebench.report.plots.sessions import memory_picture, minutes_picture, sessions_picture
from edgebench.results.load import StoredResults


def pictures(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    profiles: Sequence[Profile],
    missions: Sequence[BriefMissions],
) -> dict[tuple[str, str], Picture]:
    """Every plot by name and profile, which is empty for one that is of none.

    `profiles` are those of the verdicts, `missions` those that were played.
    """
    latencies = latency_limits(verdicts, words.latency_names(words.alike_timed(summaries)))
    shown: dict[tuple[str, str], Picture | None] = {
        ("latency", ""): depth_picture(summaries, verdicts),
        ("targets", ""): targets_picture(summaries, latencies),
        ("sessions", ""): sessions_picture(summaries),
        ("memory", ""): memory_picture(summaries),
        ("accuracy", ""): accuracy_picture(summaries),
        ("stages", ""): stages_picture(summaries),
        ("scene", ""): scene_picture(results, summaries),
        ("sustained", ""): minutes_picture(summaries),
        ("energy", ""): energy_picture(summaries),
        ("idle-power", ""): idle_picture(summaries),
        ("power-over-time", ""): power_over_time_picture(results, summaries, profiles),
    }
    for name in notes.profiles(verdicts):
        shown["limits", name] = limits_picture(summaries, verdicts, name)
    for brief in missions:
        shown["mission", brief.profile] = mission_picture(brief, summaries)
    return {place: picture for place, picture in shown.items() if picture is not None}
