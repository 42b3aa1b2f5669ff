"""A session's clock and monitors on disk: as the schema says."""

from dataclasses import asdict

import jsonschema
import pytest

from edgebench.records.stored import SessionRecord
from edgebench.report.schemas import schema
from edgebench.stats.clock import RoundTrip, fit_clocks

PLAIN = {
    "schema_version": 3,
    "trial": "0" * 16,
    "n": 0,
    "round": 0,
    "status": "ok",
    "started_utc": "2025-03-01T12:00:00Z",
    "duration_s": 1.0,
    "clock": {"start": {"offset_ns": 5, "bound_ns": 2}, "end": {"offset_ns": 6, "bound_ns": 2}},
}


@pytest.mark.parametrize("trips", [1, 2, 20])
def test_a_fit_survives_the_disk_and_fits_its_schema(trips):
    round_trips = [RoundTrip(n * 10**9, n * 10**9 + 70_000, n * 10**9 + 100_000) for n in range(trips)]
    fit = fit_clocks(round_trips)
    assert fit is not None
    clock = {**PLAIN["clock"], "fit": asdict(fit)}  # type: ignore[dict-item]
    record = SessionRecord.model_validate({**PLAIN, "clock": clock, "monitor_reasons": {"telemetry:1": "no"}})
    again = SessionRecord.model_validate_json(record.model_dump_json())
    assert again == record
    assert again.clock["fit"] == asdict(fit)
    assert (again.clock["fit"]["drift_ppm"] is None) == (trips == 1)
    jsonschema.validate(record.model_dump(mode="json"), schema("session"))
