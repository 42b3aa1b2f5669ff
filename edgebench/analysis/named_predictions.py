"""Predictions with the path of each image and the names of the classes beside their numbers (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from edgebench.store.records import ExperimentRecord


def named_predictions(
    rows: pd.DataFrame, record: ExperimentRecord, image_paths: Mapping[str, Sequence[str]]
) -> pd.DataFrame:
    """`rows` (`StoredResults.predictions`) with the columns image, label_name and predicted_name.

    They are categories, missing where nobody knows the name: of patches of the scene, which are no files; of
    labels and predictions that are none (-1) or lie outside the classes.

    Args:
        rows: by trial; the frame itself is left as it is.
        record: the experiment, which has the classes of each trial.
        image_paths: by the SHA-256 of a set, the path of each image by its index.
    """
    images, labels, predicted = (_Names(len(rows)) for _ in range(3))
    places: Mapping[Any, Any] = rows.groupby(["trial", "set"], observed=True).indices
    trials = {trial.key: trial for trial in record.trials}
    index, label, predicted_class = (rows[name].to_numpy() for name in ("index", "label", "predicted"))
    for (key, set_name), at in places.items():
        trial = trials[key]
        image_set = record.images_of(trial)
        predicted.fill(at, predicted_class[at], trial.class_names)
        if set_name == "scene":
            labels.fill(at, label[at], record.scene_of(trial).class_names)
        elif image_set is not None:
            labels.fill(at, label[at], image_set.class_names)
            images.fill(at, index[at], image_paths.get(image_set.sha256, ()))
    named = rows.copy(deep=False)
    for name, names in (("image", images), ("label_name", labels), ("predicted_name", predicted)):
        beside = {"image": "index"}.get(name, name.removesuffix("_name"))
        named.insert(list(named.columns).index(beside) + 1, name, names.column())
    return named


class _Names:
    """A column of names, filled from numbers into lists of names."""

    def __init__(self, rows: int) -> None:
        self._codes: NDArray[np.int32] = np.full(rows, -1, dtype=np.int32)
        self._code_by_name: dict[str, int] = {}

    def fill(self, at: NDArray[np.int64], numbers: NDArray[np.int64], names: Sequence[str]) -> None:
        """Name the rows `at` by their numbers; those without a name stay missing."""
        codes = np.array([*self._codes_of(names), -1], dtype=np.int32)
        known = (numbers >= 0) & (numbers < len(names))
        self._codes[at] = codes[np.where(known, numbers, len(names))]

    def _codes_of(self, names: Iterable[str]) -> list[int]:
        return [self._code_by_name.setdefault(name, len(self._code_by_name)) for name in names]

    def column(self) -> pd.Series:
        """The names as categories."""
        categories = pd.Index(list(self._code_by_name), dtype="str")
        return pd.Series(pd.Categorical.from_codes(self._codes.tolist(), categories=categories))
