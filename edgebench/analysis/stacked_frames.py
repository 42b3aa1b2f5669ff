"""Frames of several results under one another, with a column that says of which result a row is (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pandas as pd


def stacked(frames: Mapping[str, pd.DataFrame], *, keep_index: bool = False) -> pd.DataFrame:
    """The rows of all frames, `result` in front; types stay as they are, also where a frame lacks a column.

    Categories are those of all frames; whole numbers that a frame lacks become Int64 and truth values
    boolean, so that neither turns into floats.

    Args:
        frames: by the name of their result.
        keep_index: whether the rows keep their index, as summaries do, or are numbered anew.
    """
    columns = list(dict.fromkeys(column for frame in frames.values() for column in frame.columns))
    fitted = {name: frame.copy(deep=False) for name, frame in frames.items()}
    for column in columns:
        _fit_types(column, list(fitted.values()))
    for name, frame in fitted.items():
        names = pd.Categorical([name] * len(frame), categories=list(frames))
        frame.insert(0, "result", pd.Series(names, index=frame.index))
    whole = pd.concat(list(fitted.values()), ignore_index=not keep_index)
    return whole[["result", *columns]]


def _fit_types(column: str, frames: Sequence[pd.DataFrame]) -> None:
    holders = [frame for frame in frames if column in frame.columns]
    kinds = [frame[column].dtype for frame in holders]
    if all(isinstance(kind, pd.CategoricalDtype) for kind in kinds):
        categories = [name for frame in holders for name in frame[column].cat.categories]
        for frame in holders:
            frame[column] = frame[column].cat.set_categories(pd.Index(dict.fromkeys(categories), dtype="str"))
    elif len(holders) < len(frames):
        for frame, kind in zip(holders, kinds, strict=True):
            if kind.kind in "ib":
                frame[column] = frame[column].astype("Int64" if kind.kind == "i" else "boolean")
