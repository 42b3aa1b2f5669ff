"""The plots of a report by their place on the page, each with its caption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.report import words
from edgebench.report.plots.accuracy import accuracy_picture, energy_picture
from edgebench.report.plots.latency import depth_picture, latency_limits, stages_picture, targets_picture
from edgebench.report.plots.panels import Picture
from edgebench.report.plots.power import idle_picture, power_over_time_picture
from edgebench.report.plots.scene import scene_picture
from edgebench.report.plots.sessions import memory_picture, minutes_picture, sessions_picture
from edgebench.results.load import StoredResults


def pictures(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    profiles: Sequence[Profile] = (),
) -> Mapping[str, Picture | None]:
    """Every figure of the report by its place on the page; None for one that has none there.

    `profiles` are those of the verdicts.
    """
    return {
        "depth": depth_picture(summaries, verdicts),
        "targets": targets_picture(
            summaries, latency_limits(verdicts, words.latency_names(words.alike_timed(summaries)))
        ),
        "sessions": sessions_picture(summaries),
        "memory": memory_picture(summaries),
        "accuracy": accuracy_picture(summaries),
        "stages": stages_picture(summaries),
        "scene": scene_picture(results, summaries),
        "minutes": minutes_picture(summaries),
        "energy": energy_picture(summaries),
        "idle": idle_picture(summaries),
        "power_over_time": power_over_time_picture(results, summaries, profiles),
    }
