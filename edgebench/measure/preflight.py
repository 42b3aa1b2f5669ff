"""What doctor and `targets check` find of targets, each state of a machine once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from edgebench import registry
from edgebench.contract import Backend
from edgebench.errors import EdgeBenchError
from edgebench.link.board_findings import OF_THE_MACHINE
from edgebench.link.inspection import check_target, inspect_swept
from edgebench.measure.meter_findings import meter_findings
from edgebench.measure.meter_recording import MeterBench
from edgebench.plan.sweeps import Connection
from edgebench.store.redaction import PrivateNames, written
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.target import Target

THIS_MACHINE = "this machine"

METER_LISTEN_S = 4.0
"""For how long doctor listens to a meter: eight samples of the slowest one come in it."""


def preflight(targets: Sequence[Target], backends: Mapping[str, Backend]) -> list[dict[str, Any]]:
    """Doctor's findings for every target, as plain data with the targets' names: `targets`, and in words
    `target`.

    What several targets share, because they are on one machine, is said once: under their names, or that
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
    return [
        {"target": ", ".join(names), "targets": names, "meter": meter, **asdict(written(finding, private))}
        for finding in _findings_of(bench, meter, THIS_MACHINE if is_here else "the board")
    ]


def _by_machine(targets: Sequence[Target]) -> list[list[Target]]:
    machines: dict[tuple[str | None, str | None], list[Target]] = {}
    for target in targets:
        machines.setdefault((target.host, target.launch.python), []).append(target)
    return list(machines.values())


def _findings_of(bench: MeterBench, meter: str, machine: str) -> list[Finding]:
    try:
        return meter_findings(bench.check(meter, METER_LISTEN_S), machine)
    except EdgeBenchError as error:
        message = error.what + (f" ({error.why})" if error.why else "")
        return [Finding("error", "connection", message, error.fix)]


def checked(connections: Sequence[Connection], backends: Mapping[str, Backend]) -> list[dict[str, Any]]:
    """What each declared target's board says of itself, and what is missing there, as plain data.

    Returns:
        of each its name (`target`), `device`, the board's `facts` (None: not reached, or nothing to ask), and
        the `findings`: `targets` names the combinations of options that one is of, and `target` too where it
        is not of all of them.
    """
    checks: list[dict[str, Any]] = []
    for target, swept in connections:
        inspections = inspect_swept(swept, backends[target.device])
        facts = inspections[0].facts
        findings = once_a_machine(
            (combination, finding)
            for combination, inspection in zip(swept, inspections, strict=True)
            for finding in inspection.findings
        )
        for finding in findings:
            if len(finding["targets"]) == len(swept):
                finding["target"] = ""
        checks.append(
            {
                "target": target.name,
                "device": target.device,
                "facts": None if facts is None else {k: v for k, v in facts.items() if k != "private"},
                "findings": findings,
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
            "target": _who(finding, sharing),
            "targets": [target.name for target in sharing],
            **asdict(written(finding, PrivateNames.of_targets(sharing, places=False))),
        }
        for finding, sharing in merged.values()
    ]


def _who(finding: Finding, sharing: Sequence[Target]) -> str:
    if len(sharing) > 1 and finding.subject in OF_THE_MACHINE and sharing[0].host is None:
        return THIS_MACHINE
    return ", ".join(target.name for target in sharing)
