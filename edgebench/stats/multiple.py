"""Many comparisons at once: Holm's adjusted p, so that they are wrong together no more often than one is.

Twenty comparisons of like with like at 5 % each find a difference in 64 % of cases. Holm's step-down (S.
Holm, Scandinavian Journal of Statistics 6, 1979, pages 65 to 70) keeps that at 5 % whatever the comparisons
have in common, such as the machine that all of them ran on, and finds more than dividing alpha by their
number would.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Adjusted p over the last axis, float64 [..., M]: at most alpha where Holm's test at alpha rejects.

    Args:
        p: of each comparison, [..., M], in 0 to 1.

    Raises ValueError for what is no probability.
    """
    values = np.asarray(p, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise ValueError("a p lies between 0 and 1")
    order = np.argsort(values, axis=-1, kind="stable")
    remaining = values.shape[-1] - np.arange(values.shape[-1])
    stepped = np.maximum.accumulate(np.take_along_axis(values, order, axis=-1) * remaining, axis=-1)
    adjusted = np.empty_like(values)
    np.put_along_axis(adjusted, order, np.minimum(stepped, 1.0), axis=-1)
    return adjusted
