"""What a page shows of a profile's mission: a table of all its figures, and backlog and energy drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgebench.fit.figure import Figure
from edgebench.fit.mission import Mission, cycle_of
from edgebench.fit.trial_summary import TrialSummary
from edgebench.report import drawing, tables, words
from edgebench.report.brief_missions import SEED, BriefMissions
from edgebench.report.mission_table import figure_of, lines_for
from edgebench.report.mission_units import SCALES, energy_unit
from edgebench.report.picture import Picture, embedded_picture
from edgebench.report.plots.mission import MOST_LINES
from edgebench.report.plots.mission import mission as draw_mission


def mission_table(brief: BriefMissions, summaries: Sequence[TrialSummary]) -> tables.Table | None:
    """A row a trial with every figure that any of them has; None where none was played."""
    if not brief.missions:
        return None
    names = tables.trial_names(summaries)
    lines = [
        entry
        for entry in lines_for(brief.missions)
        if any(figure_of(each, entry[0]).value is not None for each in brief.missions)
    ]
    headings = [f"{heading} [{unit}]" if unit else heading for _, heading, _, unit in lines]
    rows = [
        (
            names[mission.trial],
            *(_text(figure_of(mission, name).in_unit(SCALES.get(unit, 1.0))) for name, _, _, unit in lines),
        )
        for mission in brief.missions
    ]
    columns = (tables.Column("trial"), *(tables.Column(heading, figures=True) for heading in headings))
    caption = f"{played_words(brief)}; in brackets the 95 % intervals over sessions{_absent(brief, names)}"
    return tables.Table(f"{words.plain(brief.profile, 80)}: mission", columns, tuple(rows), caption)


def played_words(brief: BriefMissions) -> str:
    """How long the mission was: `10 days of the schedule (80 images in 5739 s), seed 0`."""
    assert brief.schedule is not None
    images = words.counted(brief.schedule.images, "image")
    days = f"{brief.days:.3g} {'day' if brief.days == 1 else 'days'}"
    return f"{days} of the schedule ({images} in {brief.schedule.cycle_s:g} s), seed {SEED}"


def _absent(brief: BriefMissions, names: Mapping[str, str]) -> str:
    """What is missing and why; of what is overloaded by how much."""
    reasons: dict[str, dict[str, None]] = {}
    text = ""
    for mission in brief.missions:
        if mission.overloaded:
            text += f"; {names[mission.trial]} is overloaded: {mission.load:.3g} cycles of work come in each"
            continue
        for name, heading, _, _ in lines_for(brief.missions):
            figure = figure_of(mission, name)
            if figure.value is None:
                reasons.setdefault(figure.reason, {})[heading] = None
    return text + "".join(
        f"; {', '.join(what)} not known: {words.plain(reason)}" for reason, what in reasons.items()
    )


def _text(figure: Figure) -> str:
    if not isinstance(figure.value, int | float):
        return words.MISSING
    value = words.number(figure.value)
    if figure.low is None or figure.high is None or figure.low == figure.high:
        return value
    return f"{value} ({words.number(figure.low)} to {words.number(figure.high)})"


def mission_picture(brief: BriefMissions, summaries: Sequence[TrialSummary]) -> Picture | None:
    """Backlog over a cycle, and the energy of one where it is known; None where every trial is overloaded."""
    kept_up = [mission for mission in brief.missions if mission.overloaded is False]
    if brief.schedule is None or not kept_up:
        return None
    trials = {summary.key: summary for summary in summaries}
    names = tables.trial_names(summaries)
    caption = (
        f"{words.plain(brief.profile, 80)}: images that wait or are in work over one cycle, at each trial's "
        "median latency"
    )
    if any(mission.energy_j.idle.value is not None for mission in kept_up):
        caption += f"; energy a cycle, over {played_words(brief)}"
    if len(kept_up) > MOST_LINES:
        caption += f". The first {MOST_LINES} of {len(kept_up)} trials are drawn"
    drawn = kept_up[:MOST_LINES]
    alt = "Backlog and energy a cycle: " + "; ".join(
        _words(mission, names, energy_unit(brief.missions)) for mission in drawn
    )
    figure = drawing.blank()
    draw_mission(brief.missions, trials, cycle_of(brief.schedule), ax=figure)
    return embedded_picture(figure, alt, f"{caption}.", 1)


def _words(mission: Mission, names: Mapping[str, str], unit: str) -> str:
    backlog = mission.backlog.value
    text = f"{names[mission.trial]} at most {words.number(backlog) if isinstance(backlog, float) else '-'}"
    energy = mission.energy_j.idle.value
    scale = SCALES.get(unit, 1.0)
    return f"{text}, {words.number(energy / scale)} {unit}" if isinstance(energy, float) else text
