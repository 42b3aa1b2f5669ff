"""What doctor says of one meter, step by step: from its address to the limits that it can decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from edgebench.fit.power_limits import least_averaging_s, rate_objection, scope_objection
from edgebench.fit.profile import shipped_profiles
from edgebench.fit.trial_summary import PowerFigure
from edgebench.measure.meter_recording import Recording
from edgebench.probes.basics import ADDRESS, ANSWER, DEVICE, IN_USE, PACKAGE, PERMISSION
from edgebench.stats.power import MIN_PERIODS, NEARLY
from edgebench.vocabulary.finding import Finding

STEPS = (ADDRESS, PACKAGE, DEVICE, PERMISSION, IN_USE, ANSWER)
"""As far as a meter can come before it is open."""

WIDER = "a meter at the board's supply can pass it too: um25c, fnb58, joulescope, ppk2"


def meter_findings(recording: Recording, machine: str) -> list[Finding]:
    """The steps that a meter passed, the one that it did not, or how it sampled over a few seconds.

    Args:
        recording: what it said over these.
        machine: the one that it is read on, in words.
    """
    state = recording.state
    if state.info is None:
        return [
            *_passed(recording, machine, until=state.step),
            Finding("error", _subject(state.step), state.reason, state.fix),
        ]
    return [*_passed(recording, machine), *_sampling(recording)]


def _subject(step: str) -> str:
    return step if step in STEPS else DEVICE


def _passed(recording: Recording, machine: str, until: str = "") -> Iterator[Finding]:
    """The steps before that one; all of them where there is none."""
    state = recording.state
    access = state.access
    passed = STEPS[: STEPS.index(_subject(until))] if until or state.info is None else STEPS
    if ADDRESS in passed:
        kind, _, address = state.meter.partition(":")
        yield Finding("ok", ADDRESS, f"{kind} at {address or 'its own place'}, read on {machine}")
    if DEVICE in passed and access.port:
        yield Finding("ok", DEVICE, f"{access.port} is there")
    if PERMISSION in passed and access.permission:
        yield Finding("ok", PERMISSION, f"this user may open it ({access.permission})")
    if IN_USE in passed and access.held_by:
        holders = ", ".join(access.held_by)
        yield Finding(
            "warning", IN_USE, f"it is open in {holders} as well: answers may go astray", "end that program"
        )
    if ANSWER in passed and state.info is not None:
        yield Finding("ok", ANSWER, state.info.resolution)


def _sampling(recording: Recording) -> Iterator[Finding]:
    info = recording.state.info
    assert info is not None
    rail = recording.figures.headline(info)
    if rail is None:
        yield Finding("error", ANSWER, "it has no channel of power or energy", "use another meter")
        return
    if recording.ended or not rail["samples"]:
        why = recording.ended or "no reading of it was power"
        yield Finding(
            "error",
            "rate",
            f"no sample can be relied on: {why}",
            "see what it says by `edgebench meters check`",
        )
    figure = _figure(recording, rail)
    if figure.samples > 1:
        yield _rate(figure)
    if recording.outage:
        yield Finding("warning", "outage", recording.outage, "see the meter's connection")
    if info.rejected:
        first = f", the first was {info.rejected_first[0]!r}" if info.rejected_first else ""
        yield Finding("warning", "readings", f"{info.rejected} rejected{first}", "see the meter's connection")
    for name, reason in info.absent.items():
        yield Finding("warning", "absent", f"{name}: {reason}")
    if figure.samples > 1 and not info.is_played:
        yield from _limits(figure)


def _figure(recording: Recording, rail: Mapping[str, Any]) -> PowerFigure:
    """What was sampled, as a trial's figures are judged by."""
    info = recording.state.info
    assert info is not None
    return PowerFigure(
        meter=recording.state.meter,
        channel=rail["channel"],
        scope=info.scope,
        primary=True,
        rate_hz=info.rate_hz,
        samples=rail["samples"],
        mean_w=rail["mean_w"],
        peak_w=rail["peak_w"],
        idle_w=None,
        energy_j=None,
        net_energy_j=None,
        effective_hz=rail["effective_hz"],
        longest_gap_s=rail["longest_gap_s"],
        averaging_ms=info.averaging_ms,
        rejected=info.rejected,
    )


def _rate(figure: PowerFigure) -> Finding:
    came_hz = figure.effective_hz or 0.0
    text = (
        f"{came_hz:.4g} Hz came and {figure.rate_hz:g} Hz are stated; {figure.samples} samples, "
        f"{figure.longest_gap_s or 0.0:.3g} s at most between two; "
    )
    averaging = figure.averaging_ms
    text += (
        "over what a reading averages is not known"
        if averaging is None
        else f"a reading is the mean of {averaging:g} ms"
    )
    if came_hz < NEARLY * figure.rate_hz:
        return Finding(
            "warning", "rate", text, "figures are judged by what comes; see the meter's connection"
        )
    return Finding("ok", "rate", text)


def _limits(figure: PowerFigure) -> Iterator[Finding]:
    """What it can decide, by the rules of a trial's verdicts."""
    if scope := scope_objection(figure):
        yield Finding("warning", "scope", scope, WIDER)
    else:
        yield Finding("ok", "scope", f"{figure.scope}: all that the board draws")
    came_hz = figure.effective_hz or 0.0
    least_s = least_averaging_s(figure)
    for averaging_s in (None, *_averaging_times_s()):
        subject = "peak" if averaging_s is None else f"peak over {averaging_s:g} s"
        objection = rate_objection(figure, averaging_s)
        if objection:
            fix = f"take a faster meter, or a limit with averaging_s = {least_s:.3g} or more"
            yield Finding("warning", subject, f"passes no limit: {objection}", fix)
        else:
            yield Finding("ok", subject, "decides a limit on it")
    if came_hz:
        yield Finding(
            "ok",
            "mean",
            f"decides mean power and energy over steady parts of {MIN_PERIODS / came_hz:.3g} s or more",
        )


def _averaging_times_s() -> list[float]:
    """Those of the shipped profiles' limits on power."""
    times = {
        requirement.averaging_s for profile in shipped_profiles() for requirement in profile.requirements
    }
    return sorted(time_s for time_s in times if time_s)
