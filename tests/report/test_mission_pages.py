from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from edgebench.judge.judged import Judged
from edgebench.judge.requirements.profile import Profile
from edgebench.judge.requirements.schedule import Schedule
from edgebench.report.missions import MOST_MISSIONS, BriefMissions, brief_missions, mission_table
from edgebench.report.plots.sessions import mission_picture
from edgebench.report.sections import sections


def played(whole: Judged, profiles: Sequence[Profile]) -> list[BriefMissions]:
    return brief_missions(replace(whole, profiles=tuple(profiles)))


def with_schedule(whole: Judged, cycle_s: float, images: int) -> Profile:
    schedule = Schedule(cycle_s=cycle_s, images=images)
    return whole.profiles[0].model_copy(update={"schedule": schedule})


def test_a_profile_is_played_for_a_few_days_and_always_comes_out_alike(whole: Judged) -> None:
    (brief,) = played(whole, whole.profiles[:1])
    assert (len(brief.missions), brief.reason) == (9, "")
    assert played(whole, whole.profiles[:1]) == [brief]
    table = mission_table(brief, whole.trials)
    assert table is not None
    headings = [column.heading for column in table.columns]
    assert headings[:4] == ["Trial", "Duty cycle, %", "Storage, MB", "Backlog, images"]
    assert not any("idling between" in heading for heading in headings)
    assert f"{brief.days:.3g} days of the schedule" in table.caption and "seed 0" in table.caption
    assert "Energy per cycle and switching off pays from: not known, no meter." in table.caption
    assert mission_picture(brief, whole.trials) is None  # no image ever waits for another
    schedule = Schedule(cycle_s=1000.0, images=20, burst_s=10.0)
    (brief,) = played(whole, [whole.profiles[0].model_copy(update={"schedule": schedule})])
    picture = mission_picture(brief, whole.trials)
    assert picture is not None and picture.figure is not None
    assert "1.0 fp16: at most 16 images wait" in picture.alt
    assert "The first 8 of 9 trials are drawn" in picture.caption


def test_what_is_overloaded_has_its_load_and_no_figure(whole: Judged) -> None:
    (brief,) = played(whole, [with_schedule(whole, 1.0, 1000)])
    table = mission_table(brief, whole.trials)
    assert table is not None and "0.25 int8 is overloaded: " in table.caption
    assert {row[1] for row in table.rows} == {"100"}
    shown = sections(whole, [], [brief])
    [gist] = [section.gist for section in shown if section.anchor == "missions"]
    assert gist == "duty cycle 100 %, 9 of 9 trials overloaded"
    assert mission_picture(brief, whole.trials) is None


@pytest.mark.attack("a schedule of a million million images: no report waits for it, and says so")
def test_what_would_take_long_is_not_played(whole: Judged) -> None:
    (brief,) = played(whole, [with_schedule(whole, 1e12, 10**12)])
    assert brief.missions == () and "1,000,000,000,000 images a cycle are too many" in brief.reason
    many = [whole.profiles[0]] * MOST_MISSIONS
    assert all("too many for a report: `edgebench mission" in brief.reason for brief in played(whole, many))


def test_why_nothing_is_played(whole: Judged, nothing: Judged) -> None:
    (brief,) = brief_missions(replace(nothing, profiles=whole.profiles[:1]))
    assert "no latency of a device to draw from" in brief.reason
    assert mission_table(brief, nothing.trials) is None and mission_picture(brief, []) is None
    without = whole.profiles[0].model_copy(update={"schedule": None, "requirements": ()})
    assert "the profile says no time at which images come" in played(whole, [without])[0].reason
