"""What a profile's schedule makes of the latencies, and its uplink of the artifact."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from edgebench.judge.figure import Certainty, Figure
from edgebench.judge.metric import (
    BYTE_UNITS,
    IMAGE_UNITS,
    SHARE_UNITS,
    TIME_UNITS,
    Asked,
    Metric,
    where_measured,
)

if TYPE_CHECKING:
    from edgebench.judge.trial_summary import TrialSummary

BITS = 8


@dataclass(frozen=True)
class Simulated:
    """Judges by what the schedule of a requirement's profile makes of a trial (`edgebench.judge.mission`).

    Attributes:
        figure: the name of a mission's figure; `load` for the load.
        what: it is, in words.
    """

    figure: str
    what: str

    def __call__(self, trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
        """The figure, simulated once for all limits."""
        from edgebench.judge.mission import simulated_figure

        return simulated_figure(trial, asked, certainty, self.figure, self.what)


def _update(trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    """The artifact's bytes over the profile's uplink, without whatever a protocol adds; a bound from below
    where files travel with it whose sizes are not recorded.
    """
    if asked.uplink_bps is None:
        return Figure(reason="the profile states no uplink: add uplink_bps, such as '9.6 kbit/s'")
    if trial.update_bytes is None:
        return Figure(reason="the artifact's size was not recorded")
    seconds = BITS * trial.update_bytes / asked.uplink_bps
    what = f"the artifact's {trial.update_bytes} bytes over {asked.uplink_bps:g} bit/s"
    if trial.update_companions:
        others = ", ".join(trial.update_companions)
        reason = f"with it travel files whose sizes were not recorded: {others}"
        return Figure(seconds, low=seconds, reason=reason, what=what, lasting=True)
    return Figure(seconds, exact=True, what=what)


def _of_schedule(
    name: str, sentence: str, units: Mapping[str, float], judged: Simulated, **fields: Any
) -> Metric:
    """What a schedule makes of a value, by default the latency: a trial has it under a profile alone."""
    common: dict[str, Any] = {
        "source": "passes.parquet",
        "read": attrgetter("image_s"),
        "statistics": ("simulated",),
        "json_field": "image_s",
        "csv": {},
        "brought_by": "a [schedule] in the profile",
    }
    return Metric(name, sentence, units, judged=judged, conditions=("schedule",), **common | fields)


METRICS = (
    _of_schedule(
        "storage_bytes",
        "Pictures that are not done at once, the most of a cycle of the profile's schedule: their pixels. "
        "A limit is on the 99th percentile over cycles.",
        BYTE_UNITS,
        Simulated("storage_bytes_p99", "the 99th percentile over cycles of the most images at once"),
        read=attrgetter("image_bytes"),
        source="experiment.json",
        label="Storage for the backlog",
        missing=lambda trial: "its samples have no pixels",
        json_field="image_bytes",
        csv={"image_bytes": ""},
    ),
    _of_schedule(
        "load",
        "Work that comes in a cycle of the profile's schedule, as a share of the cycle: above 1 the device "
        "is overloaded. A profile with a schedule requires at most 1, whether or not it says so.",
        SHARE_UNITS,
        Simulated("load", "the load"),
        label="Load",
        statistics=("mean",),
        most=1.0,
    ),
    _of_schedule(
        "backlog",
        "Images that are not done at once, the most of a cycle of the profile's schedule. A limit is on the "
        "99th percentile over cycles.",
        IMAGE_UNITS,
        Simulated("backlog_p99", "the 99th percentile over cycles of the most images at once"),
        label="Backlog",
    ),
    _of_schedule(
        "age_s",
        "Age of a result under the profile's schedule, from an image's arrival on: the mean.",
        TIME_UNITS,
        Simulated("age_s", "the age of a result"),
        label="Age of a result",
    ),
    _of_schedule(
        "missed_deadlines",
        "Share of the images without a result at the deadline of the profile's schedule.",
        SHARE_UNITS,
        Simulated("missed", "the missed deadlines"),
        label="Results after the deadline",
        share_of="image",
    ),
    Metric(
        "update_s",
        "Time in which the artifact reaches the device at the profile's uplink_bps. Where the device builds "
        "what it loads, the artifact is what it builds from.",
        TIME_UNITS,
        read=attrgetter("update_bytes"),
        source="experiment.json",
        label="Update time",
        statistics=("recorded",),
        judged=_update,
        conditions=("uplink_bps",),
        of_board=True,
        brought_by="uplink_bps in the profile",
        missing=where_measured("the session did not say"),
        json_field="update_bytes",
        csv={"update_bytes": ""},
    ),
)
