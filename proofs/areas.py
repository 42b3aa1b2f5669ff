"""Coverage of the stated 95 % interval of an area under the ROC curve."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from edgebench.stats.auc import area_of
from proofs.coverage import LEAST
from proofs.topic import Row, Size, Topic, percent, slack

SAMPLES = ((10, 10), (50, 10), (30, 30), (200, 50))
SHIFTS = (0.0, 1.0, 2.0)
STEP = 0.5

CLAIM = (
    "The 95 % interval of an area under the ROC curve covers in at least 93 % of experiments. `n + m` are "
    "normal and anomalous samples; their scores are normally distributed, those of anomalous ones `shift` "
    "standard deviations higher. In steps: rounded to half a standard deviation, which makes many ties."
)


def proof(size: Size) -> Topic:
    """A row a shift, a column a number of samples."""
    rows = []
    for shift in SHIFTS:
        for step in (0.0, STEP):
            shares = [covered(shift, step, *samples, size.single) for samples in SAMPLES]
            met = all(share >= LEAST - slack(LEAST, size.single) for share in shares)
            name = f"shift {shift:g}{', in steps' if step else ''}"
            rows.append(Row((name, *(percent(share) for share in shares)), met))
    columns = ("case", *(f"{normal} + {anomalous}" for normal, anomalous in SAMPLES))
    return Topic("areas", "Coverage of the 95 % interval of an area, %", CLAIM, columns, tuple(rows))


def covered(shift: float, step: float, normal: int, anomalous: int, experiments: int) -> float:
    """The share of experiments whose interval holds the truth."""
    generator = np.random.default_rng((7, round(shift), normal, anomalous))

    def scores(mean: float, count: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        drawn = generator.normal(mean, size=count)
        return np.round(drawn / step) * step if step else drawn

    truth = ndtr(shift / np.sqrt(2))
    if step:  # by the steps' probabilities
        edges = (np.arange(-20, 21) - 0.5) * step
        below, above = (np.diff(ndtr(edges - mean)) for mean in (0.0, shift))
        truth = float(above @ (np.cumsum(below) - below / 2))
    areas = [area_of(scores(0.0, normal), scores(shift, anomalous)) for _ in range(experiments)]
    return float(np.mean([area.low <= truth <= area.high for area in areas]))
