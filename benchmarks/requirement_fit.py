"""What the verdicts and the simulated mission of summed-up trials take."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.row import Row
from edgebench.judge.mission import mission_of
from edgebench.judge.requirements.profile import shipped_profiles
from edgebench.judge.requirements.schedule import Schedule
from edgebench.judge.trial import Estimate, EstimateKey, Trial
from edgebench.judge.verdicts.verdict import judge_all
from edgebench.prepare.cache import Cache
from tests.judge.trials import meter, trial

TRIALS, PROFILES = 1_000, 10
FIT_BAR_S = 0.7
DAYS, IMAGES, DAY_S = 10_000, 320, 86_400.0
MISSION_BAR_S = 2.0
SESSIONS, PASSES = 5, 50
METER_HZ = 20.0
REPEATS = 3


def rows(cache: Cache, pairs: int) -> list[Row]:
    """Two rows, each the least of a few repeats: what else runs only adds."""
    return [
        _row(f"fit of {TRIALS:,} trials, each with a meter, against {PROFILES} profiles", _fit(), FIT_BAR_S),
        _row(f"{DAYS:,} days of {IMAGES} images simulated", _mission(), MISSION_BAR_S),
    ]


def _row(name: str, work: Callable[[], None], bar_s: float) -> Row:
    figures = []
    for _ in range(REPEATS):
        start_s = time.perf_counter()
        work()
        figures.append(time.perf_counter() - start_s)
    return Row(name, min(figures), "s", bar_s, None, {"repeats_s": figures})


def _fit() -> Callable[[], None]:
    summed_up = [replace(_trial(seed), key=f"{seed:016x}") for seed in range(TRIALS)]
    shipped = shipped_profiles()
    profiles = [
        shipped[index % len(shipped)].model_copy(update={"name": f"p{index}"}) for index in range(PROFILES)
    ]

    def work() -> None:
        # Copies, so that nothing is known of them from the repeat before.
        trials = [replace(trial) for trial in summed_up]
        verdicts = judge_all(trials, profiles)
        assert len(verdicts) == TRIALS * sum(len(profile.requirements) for profile in profiles)

    return work


def _mission() -> Callable[[], None]:
    made = _trial(0)
    made = replace(made, scene=replace(made.scene, image_bytes=1))
    schedule = Schedule(cycle_s=DAY_S, images=IMAGES, deadline_s=10.0)

    def work() -> None:
        outcome = mission_of(made, "greenland", schedule, cycles=DAYS, seed=1)
        assert outcome.cycles == DAYS
        assert outcome.estimates["energy_j.off"].value is not None

    return work


def _trial(seed: int) -> Trial:
    values = np.random.default_rng(seed).normal(4.0, 0.2, (SESSIONS, PASSES)).tolist()
    sessions: Sequence[Sequence[float]] = tuple(tuple(session) for session in values)
    rail = meter(rate_hz=METER_HZ, effective_hz=METER_HZ)  # type: ignore[no-untyped-call]
    sides = zip(("longest", "middle", "shortest"), (60.0, 40.0, 20.0), strict=True)
    size = {
        EstimateKey("size_mm", "declared", stage=stage): Estimate.exact(side, basis="declared")
        for stage, side in sides
    }
    made: Trial = trial(  # type: ignore[no-untyped-call]
        sessions,
        power=(rail,),
        values={"start_s": ((9.0,), (10.0,), (11.0,))},
        estimates={"mass_g": Estimate.exact(100.0, basis="declared"), **size},
    )
    return made
