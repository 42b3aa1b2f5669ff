"""Forecast of a run: its sessions, their time by earlier ones, warnings about its period and meters."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from edgebench.prepare.cache import Cache, canonical_hash
from edgebench.run.meters import (
    LEAST_IDLE_S,
    SlowestMeter,
    builds_on_board,
    bursts_s,
    gives_windows,
    has_own_clock,
    idle_window_s,
    settle_s,
    slowest_meter,
    stage_seconds,
)
from edgebench.run.setting import rough_text, span_text
from edgebench.run.trials import Plan, PlannedTrial

# Two numbers for each trial: the time of a session with accuracy, and of one without.


@dataclass(frozen=True)
class SessionTimes:
    """Real time of one session of a trial, in seconds, without sending files and building.

    Attributes:
        plain_s: a session without accuracy.
        accuracy_s: a session with accuracy; None if none was measured.
    """

    plain_s: float
    accuracy_s: float | None = None

    def total_s(self, sessions: int, *, accuracy: bool) -> float:
        """Seconds of several sessions, one of them with accuracy if `accuracy` is set.

        Infinite if no session with accuracy was measured.
        """
        if not accuracy or not sessions:
            return sessions * self.plain_s
        first_s = math.inf if self.accuracy_s is None else self.accuracy_s
        return first_s + (sessions - 1) * self.plain_s


@dataclass
class KnownTimes:
    """Session times of a run's trials.

    Args:
        before: by trial key, the times of earlier runs.
    """

    before: Mapping[str, SessionTimes]
    _measured: dict[str, list[SessionTimes]] = field(default_factory=dict, init=False)

    def learn(self, key: str, times: SessionTimes) -> None:
        """Add a session of this run."""
        self._measured.setdefault(key, []).append(times)

    def get(self, key: str) -> SessionTimes | None:
        """Mean over this run's sessions of a trial; else its times in an earlier run; None without either."""
        before, measured = self.before.get(key), self._measured.get(key)
        if not measured:
            return before
        with_accuracy = [times.accuracy_s for times in measured if times.accuracy_s is not None]
        earlier_s = None if before is None else before.accuracy_s
        plain_s = fmean(times.plain_s for times in measured)
        return SessionTimes(plain_s, fmean(with_accuracy) if with_accuracy else earlier_s)

    def total_s(self, key: str, sessions: int, *, accuracy: bool) -> float:
        """Seconds of several sessions of a trial, as `SessionTimes.total_s`; infinite if not known."""
        if not sessions:
            return 0.0
        times = self.get(key)
        return math.inf if times is None else times.total_s(sessions, accuracy=accuracy)


_TIMES, _PASS = "session-times", "pass-time"


def note_times(
    cache: Cache, plan: Plan, trial: PlannedTrial, times: SessionTimes, scene_s: float | None
) -> None:
    """Remember the times of a trial's sessions, and of its passes, for the forecasts of later runs.

    Args:
        cache: of this machine.
        plan: that the sessions belong to.
        trial: that was measured.
        times: of its sessions.
        scene_s: its median latency per scene, in seconds; None without one.
    """
    value = {"plain_s": times.plain_s, "accuracy_s": times.accuracy_s}
    cache.remember(_TIMES, _times_key(plan, trial), value)
    if scene_s is not None and not (has_own_clock(trial.target) or gives_windows(trial.target)):
        patches = plan.scene_of(trial).patches
        pass_s = scene_s * (trial.patches or patches) / patches
        cache.remember(_PASS, _pass_key(trial), {"pass_s": pass_s})


def noted_times(cache: Cache, plan: Plan, trials: Iterable[PlannedTrial]) -> dict[str, SessionTimes]:
    """Session times of earlier runs by trial key; without the trials that were never measured so."""
    noted = {}
    for trial in trials:
        value = cache.recipe(_TIMES, _times_key(plan, trial)) or {}
        if (plain_s := _seconds(value.get("plain_s"))) is not None:
            noted[trial.key] = SessionTimes(plain_s, _seconds(value.get("accuracy_s")))
    return noted


def _times_key(plan: Plan, trial: PlannedTrial) -> str:
    """Hash of all that decides a trial's result, and of the number of passes."""
    return canonical_hash({**trial.inputs, "passes": plan.passes_of(trial)})


def _pass_key(trial: PlannedTrial) -> str:
    """Hash of all that decides a trial's result, without its pace and its images."""
    settings = {
        name: value
        for name, value in trial.inputs["settings"].items()
        if name not in ("period_s", "sustained_s")
    }
    inputs = {name: value for name, value in trial.inputs.items() if name not in ("images", "labels")}
    return canonical_hash({**inputs, "settings": settings})


def _seconds(value: Any) -> float | None:
    """Duration from a note; None if the value cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e7:
        return None
    return float(value)


# Known of each trial before a run, and of the whole run.


@dataclass(frozen=True)
class StatedTimes:
    """Durations that a target's backend states before anything is measured, each from least to most, in s.

    Attributes:
        session_s: a session without accuracy; None if the backend does not state its passes.
        images_s: accuracy on the images; None without images.
    """

    session_s: tuple[float, float] | None
    images_s: tuple[float, float] | None


@dataclass(frozen=True)
class TrialForecast:
    """Known time of a planned trial.

    Attributes:
        trial: that is planned.
        images: number of images that accuracy is taken on; 0 without accuracy.
        seconds: of all its sessions, by those of earlier runs; infinite if it was never measured so.
        pass_s: seconds of one pass in an earlier run; None if unknown.
        stated: durations that its backend states; None if it states none, or the time is known.
    """

    trial: PlannedTrial
    images: int
    seconds: float
    pass_s: float | None
    stated: StatedTimes | None


def forecasts_of(plan: Plan, cache: Cache) -> list[TrialForecast]:
    """Forecasts of the plan's trials, in its order."""
    times = KnownTimes(noted_times(cache, plan, plan.trials))
    forecasts = []
    for trial in plan.trials:
        images = plan.images_of(trial)
        seconds = times.total_s(trial.key, plan.sessions, accuracy=images is not None)
        pass_s = _seconds((cache.recipe(_PASS, _pass_key(trial)) or {}).get("pass_s"))
        stated = None if math.isfinite(seconds) else _stated(plan, trial)
        forecasts.append(TrialForecast(trial, images.n if images else 0, seconds, pass_s, stated))
    return forecasts


def _stated(plan: Plan, trial: PlannedTrial) -> StatedTimes | None:
    target = trial.target
    stages = dict(stage_seconds(target, plan.session_plan(trial, plan.images_of(trial))))
    if not stages:
        return None
    images_s = stages.pop("images", None)
    if "passes" not in stages:
        return StatedTimes(None, images_s)
    meters_s = 2 * (idle_window_s(target) + settle_s(target)) + bursts_s(target)
    least_s, most_s = (meters_s + sum(ends) for ends in zip(*stages.values(), strict=True))
    return StatedTimes((least_s, most_s), images_s)


def run_seconds(plan: Plan, forecasts: Sequence[TrialForecast]) -> float:
    """Seconds of the whole run; infinite if not known. Hosts are measured side by side."""
    by_host: dict[str | None, float] = {}
    for forecast in forecasts:
        host = forecast.trial.target.host
        by_host[host] = by_host.get(host, 0.0) + forecast.seconds
    return max(by_host.values(), default=0.0)


def run_text(sessions: int, seconds: float, plan: Plan) -> str:
    """Line on a run: `27 sessions, about 2 minutes`.

    Args:
        sessions: to be measured, at most if a rule may end trials earlier.
        seconds: that they take; infinite if not known.
        plan: with the rules that end the run earlier.
    """
    most = "at most " if plan.adaptive else ""
    text = f"{most}{sessions} {'session' if sessions == 1 else 'sessions'}"
    if not math.isfinite(seconds):
        after = "it has ended" if sessions == 1 else "the first of each variant"
        return f"{text}; the time is known after {after}"
    if plan.max_time_s is not None:
        seconds = min(seconds, plan.max_time_s)
    return f"{text}, {most or 'about '}{rough_text(seconds)}"


# Warnings before a run: the period, the meters, slow lines, builds on boards.


def warnings_of(plan: Plan, forecasts: Sequence[TrialForecast]) -> list[str]:
    """Lines on all that takes long, or cannot be met, as far as it is known before a run."""
    return [
        *_period_warnings(plan, forecasts),
        *_meter_lines(plan, forecasts),
        *_stated_lines(forecasts),
        *_build_lines(forecasts),
    ]


def _period_warnings(plan: Plan, forecasts: Sequence[TrialForecast]) -> list[str]:
    """Warn if passes take longer than the plan's period and will miss their deadlines."""
    period_s = plan.period_s
    if period_s is None:
        return []
    known_s = [forecast.pass_s for forecast in forecasts if forecast.pass_s is not None]
    slow_s = [pass_s for pass_s in known_s if pass_s > period_s]
    if not slow_s:
        return []
    low, high = f"{min(slow_s):.3g}", f"{max(slow_s):.3g}"
    which = "" if len(slow_s) == len(forecasts) else f" for {len(slow_s)} of {len(forecasts)} trials"
    return [
        f"a period of {period_s:g} s is too short{which}: a pass takes "
        f"{low if low == high else f'{low} to {high}'} s, so that it misses its deadline"
    ]


def _meter_lines(plan: Plan, forecasts: Sequence[TrialForecast]) -> list[str]:
    """Name each meter for which sessions idle for long, or their steady parts are lengthened."""
    by_meter: dict[SlowestMeter, list[TrialForecast]] = {}
    for forecast in forecasts:
        target = forecast.trial.target
        if (meter := slowest_meter(target)) is not None and not has_own_clock(target):
            by_meter.setdefault(meter, []).append(forecast)
    lines = []
    for meter, metered in by_meter.items():
        parts = []
        if meter.idle_s > LEAST_IDLE_S:
            parts.append(
                f"each session idles for {meter.idle_s:.3g} s before its passes and again after them"
            )
        longer = [forecast for forecast in metered if _steady_s(plan, forecast) < meter.least_s]
        if longer:
            which = "" if len(longer) == len(forecasts) else f" of {len(longer)} of {len(forecasts)} trials"
            parts.append(f"the steady part of each session{which} is lengthened to {meter.least_s:.3g} s")
        if parts:
            lines.append(f"{_meter_text(meter, metered)}: {'; '.join(parts)}")
    return lines


def _steady_s(plan: Plan, forecast: TrialForecast) -> float:
    """Seconds of the steady part without a meter; 0 if passes were never timed and have no period."""
    if plan.sustained_s is not None:
        return plan.sustained_s
    without_meter = replace(plan.session_plan(forecast.trial, None), least_s=None)
    if passes_s := stage_seconds(forecast.trial.target, without_meter).get("passes"):
        return passes_s[0]
    return plan.passes_of(forecast.trial) * max(forecast.pass_s or 0.0, plan.period_s or 0.0)


def _meter_text(meter: SlowestMeter, forecasts: Sequence[TrialForecast]) -> str:
    """Name and rate of a meter; a meter that is only preferred may be absent."""
    is_named = any(
        name.partition(":")[0] == meter.kind
        for forecast in forecasts
        for name in forecast.trial.target.meters
    )
    text = f"{meter.kind} at {meter.rate_hz:g} Hz"
    return text if is_named else f"{text}, where it can be read"


def _stated_lines(forecasts: Sequence[TrialForecast]) -> list[str]:
    """State how long a session and accuracy take, for each target whose backend knows; its longest trial."""
    by_target: dict[str, list[TrialForecast]] = {}
    for forecast in forecasts:
        if forecast.stated is not None:
            by_target.setdefault(forecast.trial.target.name, []).append(forecast)
    lines = []
    for target, of_target in by_target.items():
        stated = [forecast.stated for forecast in of_target if forecast.stated is not None]
        parts = []
        if sessions_s := [times.session_s for times in stated if times.session_s is not None]:
            parts.append(f"{span_text(*_longest(sessions_s))} a session")
        if images_s := [times.images_s for times in stated if times.images_s is not None]:
            images = max(forecast.images for forecast in of_target)
            parts.append(
                f"{span_text(*_longest(images_s))} once a trial for accuracy on {images} images "
                "(--accuracy-images)"
            )
        if parts:
            lines.append(f"{target}: {', and '.join(parts)}")
    return lines


def _longest(spans: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return max(least_s for least_s, _ in spans), max(most_s for _, most_s in spans)


def _build_lines(forecasts: Sequence[TrialForecast]) -> list[str]:
    """Name the targets that build on the board before a trial's first session."""
    targets = [forecast.trial.target for forecast in forecasts]
    names = dict.fromkeys(target.name for target in targets if builds_on_board(target))
    if not names:
        return []
    verb = "builds what it loads" if len(names) == 1 else "build what they load"
    return [f"{', '.join(names)} {verb} before a trial's first session, unless the board has it"]
