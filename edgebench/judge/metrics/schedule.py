"""Numbers that a profile's schedule makes of latency and power, and its uplink of the artifact."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from edgebench.judge.metric import BYTE_UNITS, ENERGY_UNITS, SHARE_UNITS, TIME_UNITS, Metric, Option, Reading
from edgebench.judge.trial import Conditions, Estimate, Trial

if TYPE_CHECKING:
    from edgebench.judge.recorded import Recorded

BITS = 8
NO_UPLINK = "the profile states no uplink: add uplink_bps, such as '9.6 kbit/s'"


def _nothing(recorded: Recorded, worker: int | None) -> Iterable[Reading]:
    """No reading: a trial has it under a profile alone."""
    return ()


def _update(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
    """Bytes of the artifact over the uplink, without what a protocol adds.

    A bound from below where files travel with it whose sizes are not recorded.
    """
    size, uplink_bps = trial.scene.update_bytes, conditions.uplink_bps
    if uplink_bps is None:
        return (Estimate(reason=NO_UPLINK),)
    if size is None:
        return (Estimate(reason="the artifact's size was not recorded"),)
    seconds, sent = BITS * size / uplink_bps, f"the artifact's {size} bytes over {uplink_bps:g} bit/s"
    if trial.scene.companions:
        others = ", ".join(trial.scene.companions)
        reason = f"with it travel files whose sizes were not recorded: {others}"
        return (Estimate(seconds, seconds, reason=reason, final=True).with_notes(sent),)
    return (Estimate.exact(seconds).with_notes(sent),)


def _simulated(
    name: str, sentence: str, units: Mapping[str, float], number: str, label: str = "", **fields: Any
) -> Metric:
    """Metric that is a number of a mission (`edgebench.judge.mission.Mission`)."""

    def estimates(trial: Trial, metric: Metric, conditions: Conditions) -> tuple[Estimate, ...]:
        from edgebench.judge.mission import simulated_estimate

        return (simulated_estimate(trial, number, conditions),)

    common: dict[str, Any] = {
        "source": "passes.parquet",
        "statistics": ("simulated",),
        "options": (Option(reason="a [schedule] in the profile"),),
        "option_of": "profile",
        "compared": "",
        "conditions": ("schedule",),
    }
    return Metric(name, sentence, units, read=_nothing, estimates=estimates, label=label, **common | fields)


METRICS = (
    _simulated(
        "storage_bytes",
        "Pictures that are not done at once, the most of a cycle of the profile's schedule: their pixels. "
        "A limit is on the 99th percentile over cycles.",
        BYTE_UNITS,
        "storage_bytes_p99",
        "Storage for the backlog",
    ),
    _simulated(
        "load",
        "Work that comes in a cycle of the profile's schedule, as a share of the cycle: above 1 the device "
        "is overloaded. A profile with a schedule requires at most 1, whether or not it says so.",
        SHARE_UNITS,
        "load",
        statistics=("mean",),
        most=1.0,
    ),
    _simulated(
        "backlog",
        "Images that are not done at once, the most of a cycle of the profile's schedule. A limit is on the "
        "99th percentile over cycles.",
        {"images": 1.0},
        "backlog_p99",
    ),
    _simulated(
        "age_s",
        "Age of a result under the profile's schedule, from an image's arrival on: the mean.",
        TIME_UNITS,
        "age_s",
        "Age of a result",
    ),
    _simulated(
        "missed_deadlines",
        "Share of the images without a result at the deadline of the profile's schedule.",
        SHARE_UNITS,
        "missed",
        "Results after the deadline",
        share_of="image",
    ),
    _simulated(
        "energy_cycle_j",
        "Energy of a cycle of the profile's schedule, of a device that stays on between its images.",
        ENERGY_UNITS,
        "energy_j.idle",
        "Energy per cycle",
        source="probes.parquet",
        options=(Option(("--meter", "KIND")),),
        option_of="run",
    ),
    Metric(
        "update_s",
        "Time in which the artifact reaches the device at the profile's uplink_bps. Where the device builds "
        "what it loads, the artifact is what it builds from.",
        TIME_UNITS,
        source="experiment.json",
        statistics=("recorded",),
        read=_nothing,
        estimates=_update,
        label="Update time",
        options=(Option(reason="uplink_bps in the profile"),),
        option_of="profile",
        compared="",
        conditions=("uplink_bps",),
        belongs_to="board",
    ),
)
