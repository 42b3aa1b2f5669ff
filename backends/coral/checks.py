"""What `doctor` says of the Edge TPU on this machine."""

from __future__ import annotations

from edgebench.agent.facts import board_facts
from edgebench.contract import Finding, Target
from edgebench.link.board_findings import board_findings


def findings(target: Target) -> list[Finding]:
    """The state of the machine."""
    return board_findings(board_facts())
