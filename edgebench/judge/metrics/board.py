"""What sessions take and lose besides time: failures, memory, deadlines; and what is declared of a board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from edgebench.judge.figure import Certainty, Figure
from edgebench.judge.metric import (
    BYTE_UNITS,
    DECLARED,
    LENGTH_UNITS,
    MASS_UNITS,
    SHARE_UNITS,
    TIME_UNITS,
    Asked,
    ByCount,
    Exactly,
    Metric,
    Sampled,
    Shown,
    Stated,
    by_session,
    impossible_reason,
    where_measured,
)

if TYPE_CHECKING:
    from edgebench.judge.trial_summary import TrialSummary

NOT_ENDED = "no session has ended by itself"
NOT_PACED = "the passes were not paced (--period)"
NO_MEMORY = "no finished session says how much memory it took"
NO_MASS = "the target's description gives no mass"
NO_SIZE = "the target's description gives no size"
NO_BOOT = "the target's description gives no boot time"


def _failures(trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    from edgebench.judge.estimates import STATED
    from edgebench.stats.compare import wilson

    failed = trial.failed_sessions
    if failed is None:
        return Figure(reason=NOT_ENDED)
    low, high = wilson(failed.k, failed.n, max(certainty.interval, STATED.interval))
    what = f"the whole Wilson interval of {failed.k} failed of {failed.n} sessions"
    return Figure(failed.k / failed.n, low, high, what=what)


def _missed_share(trial: TrialSummary) -> float | None:
    return trial.paced.misses / trial.paced.passes if trial.paced and trial.paced.passes else None


def _deadline_misses(trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    from edgebench.stats.compare import share_over_sessions
    from edgebench.stats.intervals import interval_reason

    paced, share = trial.paced, _missed_share(trial)
    if paced is None or share is None:
        why = NOT_PACED if trial.image_s_values else "no finished session holds a paced pass"
        return Figure(reason=trial.untimed_reason or why)
    if impossible := impossible_reason(trial.image_s_values, "image_s"):
        return Figure(reason=impossible)  # the passes that were late or in time
    sure = certainty.at_least(trial.interval_confidence)
    low, high = share_over_sessions(paced.by_session, sure.interval) or (None, None)
    return Figure(
        share,
        low,
        high,
        reason=interval_reason(len(paced.by_session)),
        what=f"the whole 95 % interval of {paced.misses} misses in {paced.passes} passes",
        note=f"a scene every {paced.period_s:g} s",
    )


def _boot(trial: TrialSummary, asked: Asked, certainty: Certainty) -> Figure:
    """A maximum passes a limit that it does not exceed and fails none, since it may never be reached; a
    typical time above the limit fails it, and passes none.
    """
    boot = trial.boot_s
    if boot is None:
        return Figure(reason=NO_BOOT)
    is_maximum = boot.kind == "maximum"
    return Figure(
        boot.seconds,
        low=None if is_maximum else boot.seconds,
        high=boot.seconds if is_maximum else None,
        reason=f"the {boot} may never be reached: it can pass this limit, never fail it"
        if is_maximum
        else f"the {boot} bounds no single boot: it can fail this limit, never pass it",
        what=f"the {boot}",
        note=trial.board_doubts.get("boot_s", ""),
        declared=boot.kind,
        lasting=True,
    )


METRICS = (
    Metric(
        "failed_sessions",
        "Share of the sessions that failed: that crashed, hung, computed something else or lost their "
        "connection. Interrupted ones are not counted, neither as failed nor as sound.",
        SHARE_UNITS,
        label="Failed sessions",
        source="sessions",
        statistics=("share",),
        judged=_failures,
        of_board=True,
        compared=ByCount(),
        brought_by="--sessions N",
        missing=lambda trial: NOT_ENDED,
        share_of="session",
        shown=(Shown("start", form="k of n"),),
    ),
    Metric(
        "memory_bytes",
        "Peak resident memory of the worker, mean over sessions.",
        BYTE_UNITS,
        label="Peak memory",
        source="session.json",
        statistics=("median", "max"),
        judged=Sampled(by_session("memory_bytes_values"), "sessions", NO_MEMORY),
        brought_by="--sessions N on a device that tells its memory",
        missing=where_measured(NO_MEMORY),
        shown=(Shown("trials", form="bytes"), Shown("start", form="bytes")),
    ),
    Metric(
        "artifact_bytes",
        "Size of the file that the runtime loads: of what was built on the board, where it builds.",
        BYTE_UNITS,
        label="Model size",
        source="experiment.json",
        statistics=("recorded",),
        judged=Stated("the artifact's size", "the artifact's size was not recorded"),
        of_board=True,
        compared=Exactly(),
        brought_by="--sessions N: the first session of a run records it",
        missing=where_measured("the session did not say"),
        shown=(Shown("start", form="bytes"),),
    ),
    Metric(
        "deadline_misses",
        "Share of the paced passes that were not done at the due time of the next.",
        SHARE_UNITS,
        read=_missed_share,
        label="Missed deadlines",
        source="passes.parquet",
        statistics=("share",),
        judged=_deadline_misses,
        brought_by="--period S",
        missing=lambda trial: trial.untimed_reason or ("" if trial.image_s is None else NOT_PACED),
        json_field="paced",
        share_of="paced pass",
        of_a_pass=True,
        shown=(Shown("latency", "{label}, %", "percent", where_present=True),),
    ),
    Metric(
        "mass_g",
        "Declared mass.",
        MASS_UNITS,
        label="Mass",
        source=DECLARED,
        statistics=("declared",),
        judged=Stated("the declared mass", NO_MASS),
        of_board=True,
        compared=Exactly(),
        brought_by="--board NAME",
        missing=lambda trial: NO_MASS,
    ),
    Metric(
        "size_mm",
        "Declared outer dimensions.",
        LENGTH_UNITS,
        label="Size",
        source=DECLARED,
        statistics=("declared",),
        judged=Stated("the declared size, turned to fit,", NO_SIZE),
        of_board=True,
        brought_by="--board NAME",
        missing=lambda trial: NO_SIZE,
        csv={"size_1_mm": "0", "size_2_mm": "1", "size_3_mm": "2"},
        is_size=True,
    ),
    Metric(
        "boot_s",
        "Declared time from power on until a program can be started: a maximum, which it never exceeds, or "
        "what is typical.",
        TIME_UNITS,
        label="Boot time",
        source=DECLARED,
        statistics=("declared",),
        judged=_boot,
        of_board=True,
        brought_by="--declared boot_s:SECONDS:maximum:SOURCE",
        missing=lambda trial: NO_BOOT,
        csv={"boot_s": "seconds", "boot_kind": "kind", "boot_source": "source"},
    ),
)
