import pytest

from edgebench.records.stored import SessionRecord
from edgebench.results.meters import lag_note

LATE = {"lag_ms": 412.0, "bound_ms": 8.0, "applied": True, "reason": ""}
SMALL = {"lag_ms": 2.0, "bound_ms": 8.0, "applied": False, "reason": ""}
UNKNOWN = {"lag_ms": None, "bound_ms": None, "applied": False, "reason": "the bursts are not in its readings"}


def sessions(*lags):
    def probes(lag):
        other = {"kind": "um25c", "address": "", "lag": UNKNOWN}
        return ({"kind": "fnb58", "address": "1", "lag": lag}, other)

    return [
        SessionRecord(
            trial="k", n=n, round=n, status="ok", started_utc="2026-01-01T00:00:00Z", duration_s=1.0,
            probes=probes(lag),
        )
        for n, lag in enumerate(lags)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("lags", "note"),
    [
        ((), ""),
        ((None, None), ""),  # of a meter on the board
        ((SMALL, SMALL), ""),
        ((LATE, LATE, SMALL), "a lag of 412 ms is taken off its stamps in 2 of 3 sessions"),
        (
            (LATE, {**LATE, "lag_ms": 398}),
            "a lag of 398 to 412 ms is taken off its stamps in 2 of 2 sessions",
        ),
        (({**LATE, "lag_ms": 1452.1},), "a lag of 1452 ms is taken off its stamps in 1 of 1 sessions"),
        (
            (LATE, UNKNOWN, UNKNOWN),
            "a lag of 412 ms is taken off its stamps in 1 of 3 sessions; "
            "its lag is not known in 2 of 3 sessions: the bursts are not in its readings",
        ),
        ((SMALL, {"lag_ms": "soon"}), "its lag is not known in 1 of 2 sessions: no reason is recorded"),
        (("late", SMALL), ""),
    ],
)
def test_what_is_to_be_known_of_a_lag(lags, note):
    assert lag_note(sessions(*lags), "fnb58:1") == note
