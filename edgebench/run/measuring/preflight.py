"""Findings of doctor and `targets check` about targets, each state of a machine once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from edgebench import registry
from edgebench.contract import Backend
from edgebench.errors import EdgeBenchError
from edgebench.judge.power.limits import least_averaging_s, rate_objection, scope_objection
from edgebench.judge.power.rails import scope_of
from edgebench.judge.requirements.profile import shipped_profiles
from edgebench.judge.trial import Rail
from edgebench.link.board_findings import OF_THE_MACHINE
from edgebench.link.inspection import check_target, inspect_target
from edgebench.probes.basics import ADDRESS, ANSWER, DEVICE, IN_USE, PACKAGE, PERMISSION
from edgebench.records.target import Target
from edgebench.records.values import Finding
from edgebench.results.redaction import PrivateNames, written
from edgebench.run.measuring.meter_recording import MeterBench, Recording
from edgebench.stats.power import MIN_PERIODS, NEARLY

# What doctor says of one meter, step by step: from its address to the limits that it can decide.


STEPS = (ADDRESS, PACKAGE, DEVICE, PERMISSION, IN_USE, ANSWER)
"""As far as a meter can come before it is open."""

WIDER = "a meter at the board's supply can pass it too: um25c, fnb58, joulescope, ppk2, shelly"


def meter_findings(recording: Recording, machine: str) -> list[Finding]:
    """The steps that a meter passed, the one that it did not, or how it sampled over a few seconds.

    Args:
        recording: what it said over these.
        machine: the one that it is read on, in words.
    """
    if recording.info is None:
        return [
            *_passed(recording, machine, until=recording.step),
            Finding("error", _subject(recording.step), recording.reason, recording.fix),
        ]
    return [*_passed(recording, machine), *_sampling(recording)]


def _subject(step: str) -> str:
    return step if step in STEPS else DEVICE


def _passed(recording: Recording, machine: str, until: str = "") -> Iterator[Finding]:
    """The steps before that one; all of them without one."""
    access = recording.access
    passed = STEPS[: STEPS.index(_subject(until))] if until or recording.info is None else STEPS
    if ADDRESS in passed:
        kind, _, address = recording.meter.partition(":")
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
    if ANSWER in passed and recording.info is not None:
        yield Finding("ok", ANSWER, recording.info.resolution)


def _sampling(recording: Recording) -> Iterator[Finding]:
    info = recording.info
    assert info is not None
    samples = recording.figures.headline(info)
    if samples is None:
        yield Finding("error", ANSWER, "it has no channel of power or energy", "use another meter")
        return
    if recording.ended or not samples["samples"]:
        why = recording.ended or "no reading of it was power"
        yield Finding(
            "error",
            "rate",
            f"no sample can be relied on: {why}",
            "see what it says by `edgebench meters check`",
        )
    rail = _rail(recording, samples)
    if rail.samples > 1:
        yield _rate(rail)
    if recording.outage:
        yield Finding("warning", "outage", recording.outage, "see the meter's connection")
    if info.rejected:
        first = f", the first was {info.rejected_first[0]!r}" if info.rejected_first else ""
        yield Finding("warning", "readings", f"{info.rejected} rejected{first}", "see the meter's connection")
    for name, reason in info.absent.items():
        yield Finding("warning", "absent", f"{name}: {reason}")
    if rail.samples > 1 and not info.is_played:
        yield from _limits(rail)


def _rail(recording: Recording, samples: Mapping[str, Any]) -> Rail:
    """Rail with the sampling quality of a recording, in the form by which a trial is judged."""
    info = recording.info
    assert info is not None
    return Rail(
        f"{recording.meter.removesuffix(':')} {samples['channel']}",
        recording.meter,
        samples["channel"],
        scope_of(info.scope),
        rate_hz=info.rate_hz,
        effective_hz=samples["effective_hz"],
        longest_gap_s=samples["longest_gap_s"],
        averaging_ms=info.averaging_ms,
        samples=samples["samples"],
        rejected=info.rejected,
    )


def _rate(rail: Rail) -> Finding:
    came_hz = rail.effective_hz or 0.0
    text = (
        f"{came_hz:.4g} Hz came and {rail.rate_hz:g} Hz are stated; {rail.samples} samples, "
        f"{rail.longest_gap_s or 0.0:.3g} s at most between two; "
    )
    averaging = rail.averaging_ms
    text += (
        "over what a reading averages is not known"
        if averaging is None
        else f"a reading is the mean of {averaging:g} ms"
    )
    if came_hz < NEARLY * rail.rate_hz:
        return Finding(
            "warning", "rate", text, "figures are judged by what comes; see the meter's connection"
        )
    return Finding("ok", "rate", text)


def _limits(rail: Rail) -> Iterator[Finding]:
    """Limits that it can decide, by the rules of a trial's verdicts."""
    if scope := scope_objection(rail):
        yield Finding("warning", "scope", scope, WIDER)
    else:
        yield Finding("ok", "scope", f"{rail.scope}: all that the board draws")
    came_hz = rail.effective_hz or 0.0
    least_s = least_averaging_s(rail)
    times_s = {
        requirement.averaging_s for profile in shipped_profiles() for requirement in profile.requirements
    }
    for averaging_s in (None, *sorted(time_s for time_s in times_s if time_s)):
        subject = "peak" if averaging_s is None else f"peak over {averaging_s:g} s"
        objection = rate_objection(rail, averaging_s)
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


THIS_MACHINE = "this machine"

METER_LISTEN_S = 4.0
"""For how long doctor listens to a meter: eight samples of the slowest one come in it."""


def preflight(targets: Sequence[Target], backends: Mapping[str, Backend]) -> list[dict[str, Any]]:
    """Doctor's findings for every target, as plain data with the targets' names: `targets`, and in words
    `target`.

    What several targets share, because they are on one machine, is reported once: under their names, or that
    of this machine.
    """
    return once_a_machine(
        (target, finding) for target in targets for finding in check_target(target, backends[target.device])
    )


def meter_preflight(targets: Sequence[Target], meters: Sequence[str]) -> list[dict[str, Any]]:
    """Doctor's findings of meters, step by step, as `preflight` gives them, with the `meter` of each.

    One that samples on this machine is looked at once, any other on each target's machine.
    """
    rows: list[dict[str, Any]] = []
    for sharing in _by_machine(targets):
        bench = MeterBench(sharing[0])
        try:
            for meter in meters:
                is_here = registry.samples_on_host(meter)
                if not is_here or sharing[0] is targets[0]:
                    rows += _steps_of(bench, meter, targets if is_here else sharing)
        finally:
            bench.close()
    return rows


def _steps_of(bench: MeterBench, meter: str, targets: Sequence[Target]) -> list[dict[str, Any]]:
    """The findings of one meter as plain data, with the targets whose power it would measure."""
    is_here = registry.samples_on_host(meter) or targets[0].host is None
    private = PrivateNames.of_targets(targets, places=False)
    names = [target.name for target in targets]
    try:
        recording = bench.record(meter, METER_LISTEN_S)
        findings = meter_findings(recording, THIS_MACHINE if is_here else "the board")
    except EdgeBenchError as error:
        message = error.what + (f" ({error.why})" if error.why else "")
        findings = [Finding("error", "connection", message, error.fix)]
    return [
        {"target": ", ".join(names), "targets": names, "meter": meter, **asdict(written(finding, private))}
        for finding in findings
    ]


def _by_machine(targets: Sequence[Target]) -> list[list[Target]]:
    machines: dict[tuple[str | None, str | None], list[Target]] = {}
    for target in targets:
        machines.setdefault((target.host, target.launch.python), []).append(target)
    return list(machines.values())


def checked(targets: Sequence[Target], backends: Mapping[str, Backend]) -> list[dict[str, Any]]:
    """Reports of each target's board and of what is missing there, as plain data.

    Returns:
        for each target its name (`target`), `device`, the board's `facts` (None: not reached, or nothing to
        ask), and the `findings`.
    """
    checks: list[dict[str, Any]] = []
    for target in targets:
        inspection = inspect_target(target, backends[target.device])
        facts, findings = inspection.facts, once_a_machine((target, each) for each in inspection.findings)
        checks.append(
            {
                "target": target.name,
                "device": target.device,
                "facts": None if facts is None else {k: v for k, v in facts.items() if k != "private"},
                "findings": [{**finding, "target": ""} for finding in findings],
            }
        )
    return checks


def once_a_machine(findings: Iterable[tuple[Target, Finding]]) -> list[dict[str, Any]]:
    """The findings as plain data, those that targets on one machine have in common together.

    The machine's own state (load, free memory) moves between two looks: the first one stands.
    """
    merged: dict[tuple[str | None, object], tuple[Finding, list[Target]]] = {}
    for target, finding in findings:
        subject = finding.subject if finding.subject in OF_THE_MACHINE else finding
        _, sharing = merged.setdefault((target.host, subject), (finding, []))
        if target not in sharing:
            sharing.append(target)
    return [
        {
            "target": THIS_MACHINE
            if len(sharing) > 1 and finding.subject in OF_THE_MACHINE and sharing[0].host is None
            else ", ".join(target.name for target in sharing),
            "targets": [target.name for target in sharing],
            **asdict(written(finding, PrivateNames.of_targets(sharing, places=False))),
        }
        for finding, sharing in merged.values()
    ]
