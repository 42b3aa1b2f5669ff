"""The figure of a profile's requirements with its caption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.report import drawing, tables, verdict_groups, words
from edgebench.report.picture import Picture, embedded_picture
from edgebench.report.plots.limits import is_known, limits, multiple_of

MOST_ROWS = 120
"""That one figure draws, over all requirements."""


def limits_picture(
    summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict], profile: str
) -> Picture | None:
    """The figure of one profile, by a panel a requirement; None where none of its figures is known."""
    names = tables.trial_names(summaries)
    ours = [verdict for verdict in verdicts if verdict.profile == profile and verdict.trial in names]
    asked = verdict_groups.requirements(ours)
    panels = {name: [each for each in ours if each.requirement == name and is_known(each)] for name in asked}
    drawn = {name: of_panel for name, of_panel in panels.items() if of_panel}
    if not drawn:
        return None
    most = max(1, MOST_ROWS // len(drawn))
    hidden = max(max(0, len(of_panel) - most) for of_panel in drawn.values())
    drawn = {name: of_panel[:most] for name, of_panel in drawn.items()}
    caption = (
        "Each figure that was judged, with its interval, as a multiple of its limit, which is the line at 1; "
        "the tinted side meets it. An arrow: nothing bounds the figure on that side."
    )
    if absent := [words.limit(asked[name]) for name in asked if name not in drawn]:
        caption += f" Not known of any trial: {'; '.join(absent)}."
    if any(summary.published for summary in summaries):
        caption += " The figures were published; none was measured here."
    if hidden:
        caption += f" The first {most} trials of a requirement are drawn; the tables hold all."
    figure = drawing.blank()
    limits(drawn, names, ax=figure)
    return embedded_picture(figure, _alternative(drawn, names), caption, 1)


def _alternative(panels: Mapping[str, Sequence[Verdict]], names: Mapping[str, str]) -> str:
    parts = []
    for of_panel in panels.values():
        ends = [(end, verdict) for verdict in of_panel for end in multiple_of(verdict).ends]
        least, most = min(ends, key=lambda end: end[0]), max(ends, key=lambda end: end[0])
        parts.append(
            f"{words.limit(of_panel[0])}, {words.counted(len(of_panel), 'trial')}: from "
            f"{words.number(least[0])} ({names[least[1].trial]}) to {words.number(most[0])} times the limit "
            f"({names[most[1].trial]})"
        )
    return "Figures over their limits: " + "; ".join(parts)
