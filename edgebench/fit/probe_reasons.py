"""Why a session's probes gave nothing, or nothing more, by the names that they announced themselves with."""

from __future__ import annotations

from edgebench.store.records import SessionRecord
from edgebench.vocabulary.probe import probe_name


def reasons_by_probe(record: SessionRecord) -> dict[str, str]:
    """By `kind:address`, what a record has by the words that each meter and monitor was asked for with."""
    reasons = record.probe_reasons | record.monitor_reasons
    return {probe_name(asked): reason for asked, reason in reasons.items()}
