"""`edgebench.published`: what others published, with its sources, as frames; none of it was measured here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from edgebench.analysis.frames import Profiles, dtypes_of, named_profiles, rows_frame, verdict_frame
from edgebench.judge.document import bound_of
from edgebench.judge.judged import Judged
from edgebench.judge.metrics import METRICS
from edgebench.judge.published import (
    SCENE,
    FigureEntry,
    Reference,
    TrialEntry,
    judge_published,
    load_references,
    reference_folder,
)
from edgebench.judge.requirements.profile import shipped_profiles
from edgebench.judge.table import Row, identity_cells
from edgebench.judge.trial import Trial
from edgebench.judge.verdicts.verdict import judge_all


@dataclass(frozen=True)
class PublishedRow:
    """One published number of a device and model."""

    trial: str
    """Key of the trial. Source: results/reference."""
    target: str
    """Name of the published target. Source: results/reference."""
    device: str
    """Device in words. Source: results/reference."""
    variant: str
    """Model and precision. Source: results/reference."""
    depth_multiplier: float | None
    """Width of the network; null for a model of one width. Source: results/reference."""
    precision: str
    """Precision: fp32, fp16 or int8. Source: results/reference."""
    batch: int
    """Patches in one call of the runtime. Source: results/reference."""
    concurrency: int
    """Inferences in flight. Source: results/reference."""
    metric: str
    """Metric, such as image_s. Source: results/reference."""
    form: str
    """Form: number, share, bound, or picture, which gives no number. Source: results/reference."""
    value: float | None
    """Number in unit; null where none was published. Source: results/reference."""
    low: float | None
    """Lower end of a share's interval, or of a bound; null where nothing bounds it below. Source:
    results/reference."""
    high: float | None
    """Upper end of it; null where nothing bounds it above. Source: results/reference."""
    unit: str
    """Base unit of the metric. Source: results/reference."""
    bound: str
    """Side of the one known end: above or at least low, below or at most high; empty without a bound. Source:
    results/reference."""
    k: int | None
    """Right ones of a share. Source: results/reference."""
    n: int | None
    """All images of a share. Source: results/reference."""
    patches: int
    """Patches of the published time; a time is scaled up to the scene's 400. Source: results/reference."""
    words: str
    """Quote of the source; empty where it says nothing. Source: results/reference."""
    covers: str
    """Scope of the number, in words. Source: results/reference."""
    source: str
    """Title of the source. Source: results/reference."""
    address: str
    """Address of the source. Source: results/reference."""


class PublishedFigures:
    """Published numbers that come with EdgeBench, and their verdicts.

    They have frames of their own, so that no table mixes them with measured ones.
    """

    @cached_property
    def _judged(self) -> Judged:
        return judge_published([])

    @cached_property
    def figures(self) -> pd.DataFrame:
        """Published numbers by target, one row each, in the base unit of their metric.

        `edgebench.columns("published")` describes the columns.
        """
        trials = {trial.key: trial for trial in self._judged.trials}
        rows = [
            _row(reference, entry, published, trials[entry.record.key])
            for reference in load_references(reference_folder())
            for entry in reference.trials
            for published in entry.figures
        ]
        return rows_frame(rows, dtypes_of(PublishedRow))

    def verdicts(self, profiles: Profiles | None = None) -> pd.DataFrame:
        """Verdicts of each published trial on each requirement; the columns are those of `Results.verdicts`.

        A bound passes or fails where all of it meets or misses the limit. A number without an interval is
        inconclusive. A picture and what was not published are unknown.

        Args:
            profiles: as for `Results.verdicts`. Default: all that are shipped.

        Raises:
            UsageError: a profile cannot be read.
        """
        chosen = shipped_profiles() if profiles is None else named_profiles(profiles)
        return verdict_frame(self._judged.trials, judge_all(self._judged.trials, chosen))

    def __repr__(self) -> str:
        return f"PublishedFigures({len(self.figures)} figures of {self.figures['target'].nunique()} targets)"

    def _repr_html_(self) -> str:
        """Table of the numbers, for notebooks."""
        return self.figures.to_html(index=False, na_rep="")


def published() -> PublishedFigures:
    """Published numbers that come with EdgeBench: `.figures`, and `.verdicts(profiles)`.

    Raises:
        UsageError: this installation has none.
    """
    return PublishedFigures()


def _row(reference: Reference, entry: TrialEntry, published: FigureEntry, trial: Trial) -> Row:
    estimate, source = trial.estimate(published.quantity), reference.sources[published.source]
    form = "share" if published.k is not None else "picture" if published.picture else ""
    row = {
        **identity_cells(trial),
        "device": entry.device,
        "metric": published.quantity,
        "form": form or ("number" if published.value is not None else "bound"),
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "unit": METRICS[published.quantity].unit,
        "bound": bound_of(estimate),
        "k": published.k,
        "n": published.n,
        "patches": published.patches or SCENE.patches,
        "words": published.words,
        "covers": published.covers,
        "source": source.title,
        "address": source.address,
    }
    return {name: row[name] for name in dtypes_of(PublishedRow)}
