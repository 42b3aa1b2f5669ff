"""The probes of a session's record by name, and why they gave nothing, or nothing more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgebench.store.records import SessionRecord
from edgebench.vocabulary.probe import probe_name


def recorded_name(info: Mapping[str, Any]) -> str:
    """`kind:address` of one of a record's `probes`, whatever stands there."""
    return f"{info.get('kind')}:{info.get('address')}"


def reasons_by_probe(record: SessionRecord) -> dict[str, str]:
    """By `kind:address`, what a record has by the words that each meter and monitor was asked for with."""
    reasons = record.probe_reasons | record.monitor_reasons
    return {probe_name(asked): reason for asked, reason in reasons.items()}
