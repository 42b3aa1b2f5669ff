"""What a session has given is held against what was planned before it counts."""

from dataclasses import replace

import pytest

from edgebench.errors import SessionError
from edgebench.records.session import MeasurePlan
from edgebench.run.measuring.session_record import Gathered, require_as_planned
from tests.fakes import made_pass, made_scene

S = 1_000_000_000


def gathered(*seconds: float, due: bool = True) -> Gathered:
    """Steady passes of a tenth of a second that start at these seconds."""
    steady = []
    for index, start_s in enumerate(seconds):
        start_ns = round(start_s * S)
        timed = replace(
            made_pass(index + 1, 6, "steady", S // 10), start_ns=start_ns, end_ns=start_ns + S // 10
        )
        steady.append(replace(timed, due_ns=start_ns if due else None))
    return Gathered(timed=steady)


def test_what_was_paced_and_lasted_as_planned_is_taken():
    plan = MeasurePlan(made_scene(), passes=2)
    require_as_planned(gathered(0.0, 0.1, due=False), plan)
    require_as_planned(gathered(0.0, 4.42), replace(plan, period_s=4.42))
    require_as_planned(gathered(0.0, 59.9, due=False), replace(plan, sustained_s=60.0))
    # A single pass is all that is due within a minute.
    require_as_planned(gathered(0.0), replace(plan, period_s=100.0, sustained_s=60.0))


def test_what_was_not_is_refused_with_what_to_leave_out():
    plan = MeasurePlan(made_scene(), passes=2)
    with pytest.raises(SessionError) as refused:
        require_as_planned(gathered(0.0, 4.42, due=False), replace(plan, period_s=4.42))
    assert "leave --period out" in refused.value.fix
    with pytest.raises(SessionError) as refused:
        require_as_planned(gathered(0.0, 1.0, due=False), replace(plan, sustained_s=60.0))
    assert "leave --sustained out" in refused.value.fix
    with pytest.raises(SessionError, match="no steady pass"):
        require_as_planned(gathered(), plan)
