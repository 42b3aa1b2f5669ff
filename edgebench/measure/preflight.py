"""What doctor finds of the targets of a run, each state of a machine once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from edgebench.contract import Backend
from edgebench.link.board_findings import OF_THE_MACHINE
from edgebench.link.inspection import check_target
from edgebench.store.redaction import PrivateNames, written
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.target import Target

THIS_MACHINE = "this machine"


def preflight(targets: Sequence[Target], backends: Mapping[str, Backend]) -> list[dict[str, Any]]:
    """Doctor's findings for every target, as plain data with the targets' names: `targets`, and in words
    `target`.

    What several targets share, because they are on one machine, is said once: under their names, or that
    of this machine.
    """
    return once_a_machine(
        (target, finding) for target in targets for finding in check_target(target, backends[target.device])
    )


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
            **asdict(written(finding, PrivateNames.of_targets(sharing, hosts=False))),
        }
        for finding, sharing in merged.values()
    ]


def _who(finding: Finding, sharing: Sequence[Target]) -> str:
    if len(sharing) > 1 and finding.subject in OF_THE_MACHINE and sharing[0].host is None:
        return THIS_MACHINE
    return ", ".join(target.name for target in sharing)
