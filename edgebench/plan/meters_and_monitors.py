"""What is sampled beside a session: meters, which decide a trial's key, and monitors, which only watch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgebench import registry
from edgebench.contract import Backend
from edgebench.errors import UsageError
from edgebench.plan.estimate import StageSeconds, by_its_patches
from edgebench.vocabulary.probe import probe_name
from edgebench.vocabulary.session import MeasurePlan
from edgebench.vocabulary.target import Target

TELEMETRY = "telemetry:1"
"""Beside every session unless it is turned off: its process takes less than 0.5 % of a core."""


def meters_of(target: Target) -> tuple[str, ...]:
    """The probes of a target that can say something about power."""
    return tuple(name for name in target.meters if not registry.is_monitor(name))


def has_meter(target: Target) -> bool:
    """Whether a session of it may have a meter."""
    return bool(meters_of(target) or target.preferred_meters)


def with_meters(target: Target, backend: Backend, *, no_meter: bool) -> Target:
    """The target, with its backend's meters where it has none of its own; with `no_meter` without any."""
    if no_meter:
        return replace(target, meters=tuple(name for name in target.meters if registry.is_monitor(name)))
    return target if meters_of(target) else replace(target, preferred_meters=backend.meters)


def monitors_of(target: Target, *, telemetry: bool) -> tuple[str, ...]:
    """The other probes of a target; with `telemetry`, its backend's own where it names none of their kind."""
    asked = tuple(name for name in target.meters if registry.is_monitor(name))
    if not telemetry:
        return asked
    kinds = {name.partition(":")[0] for name in asked}
    return (*asked, *(name for name in _own(target.device) if name.partition(":")[0] not in kinds))


def on_board(names: Sequence[str]) -> tuple[str, ...]:
    """Those probes that a session runs on its device."""
    return tuple(name for name in names if not registry.samples_on_host(name))


def on_host(names: Sequence[str]) -> tuple[str, ...]:
    """Those probes that sample on this machine, beside all sessions of a lane."""
    return tuple(name for name in names if registry.samples_on_host(name))


def require_meters_of_their_own(targets: Sequence[Target]) -> None:
    """UsageError where targets that are measured side by side name one meter on this machine.

    It is at one of them, and would be taken for what the other draws.
    """
    first: dict[str, Target] = {}
    for target in targets:
        for name in map(probe_name, on_host(meters_of(target))):
            other = first.setdefault(name, target)
            if other.host != target.host:
                raise UsageError(
                    f"the meter {name} is named for {other.declared_name} and for {target.declared_name}",
                    why="boards of different hosts are measured at the same time, and it is at one of them",
                    fix="name one of these boards a run, or give each the address of its own meter",
                )


def has_own_clock(target: Target) -> bool:
    """Whether a target's time is not real time, as a replay's."""
    known = target.device in registry.names("edgebench.backends")
    return known and registry.backend(target.device).own_clock


def gives_windows(target: Target) -> bool:
    """Whether a target's sessions give windows of a patch each, and no passes over a scene."""
    known = target.device in registry.names("edgebench.backends")
    return known and registry.backend(target.device).gives_windows


def device_stages(target: Target, plan: MeasurePlan) -> StageSeconds:
    """How long the stages of a target's session take where its backend knows that."""
    if target.device not in registry.names("edgebench.backends"):
        return by_its_patches
    backend = registry.backend(target.device)
    return lambda patch_s: backend.stage_seconds(target, plan, patch_s)


def builds_on_board(target: Target) -> bool:
    """Whether a target's device makes, before a trial's first session, what it loads."""
    known = target.device in registry.names("edgebench.backends")
    return known and registry.backend(target.device).builds(target.options)


def _own(device: str) -> tuple[str, ...]:
    known = device in registry.names("edgebench.backends")
    return registry.backend(device).monitors if known else Backend.monitors
