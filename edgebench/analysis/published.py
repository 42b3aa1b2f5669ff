"""`edgebench.published`: what others published, with its sources, as frames; none of it was measured here."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import pandas as pd

from edgebench.analysis.profile_choice import Profiles, named_profiles
from edgebench.analysis.verdict_frame import verdict_frame
from edgebench.fit.judged_experiment import Judged
from edgebench.fit.metrics import METRICS
from edgebench.fit.profile import shipped_profiles
from edgebench.fit.published import Published
from edgebench.fit.published_experiment import judge_published
from edgebench.fit.reference import SCENE_PATCHES, load_references, reference_folder
from edgebench.fit.trial_summary import TrialSummary
from edgebench.fit.verdict import judge_all

_TEXTS = (
    "target", "device", "variant", "precision", "quantity", "unit", "form", "bound", "words", "covers",
    "source", "address",
)  # fmt: skip
_COUNTS = ("batch", "concurrency", "patches")


class PublishedFigures:
    """The published figures that come with EdgeBench, and what profiles make of them.

    Frames of their own, so that no table mixes them with measured ones unseen: whoever puts both side by
    side says in a column which is which.
    """

    @cached_property
    def _judged(self) -> Judged:
        return judge_published([])

    @cached_property
    def figures(self) -> pd.DataFrame:
        """One row a published figure, by target, in the base unit of its quantity.

        target, device (what it is), variant, depth_multiplier, precision, batch, concurrency, quantity, unit;
        form (`number`, `share`, `bound`, or `picture`: of which no number is read), value, low, high (the one
        end of a bound that is known, the Wilson interval of a share; NaN where nothing is), bound (`above`,
        `at least`, `below`, `at most`), k and n of a share, patches (of how many the published time was: a
        time is scaled up to the scene's 400), words (quoted), covers, source, address.
        """
        devices = {target.name: target.body or "" for target in self._judged.results.experiment.targets}
        addresses = {
            source.title: source.address
            for reference in load_references(reference_folder())
            for source in reference.sources.values()
        }
        rows = [
            {
                **_row(summary, figure),
                "device": devices[summary.target],
                "address": addresses.get(figure.source, ""),
            }
            for summary in self._judged.summaries
            for figure in summary.published
        ]
        return pd.DataFrame({name: _column(name, [row[name] for row in rows]) for name in COLUMNS})

    def verdicts(self, profiles: Profiles | None = None) -> pd.DataFrame:
        """Each published trial against each requirement; the columns are those of `Results.verdicts`.

        A bound passes or fails where all of it meets or misses the limit, a number without an interval is
        inconclusive, a picture and what was not published are unknown.

        Args:
            profiles: as for `Results.verdicts`; all that are shipped without it.

        Raises:
            UsageError: a profile cannot be read.
        """
        chosen = shipped_profiles() if profiles is None else named_profiles(profiles)
        return verdict_frame(self._judged.summaries, judge_all(self._judged.summaries, chosen))

    def __repr__(self) -> str:
        return f"PublishedFigures({len(self.figures)} figures of {self.figures['target'].nunique()} targets)"

    def _repr_html_(self) -> str:
        """The figures as a table, for notebooks."""
        return self.figures.to_html(index=False, na_rep="")


COLUMNS = (
    "target", "device", "variant", "depth_multiplier", "precision", "batch", "concurrency", "quantity",
    "form", "value", "low", "high", "unit", "bound", "k", "n", "patches", "words", "covers", "source",
    "address",
)  # fmt: skip


def published() -> PublishedFigures:
    """The published figures that come with EdgeBench: `.figures`, and `.verdicts(profiles)`.

    Raises UsageError where this installation has none.
    """
    return PublishedFigures()


def _row(summary: TrialSummary, figure: Published) -> dict[str, Any]:
    return {
        **{name: getattr(summary, name) for name in ("target", "variant", "depth_multiplier", "precision")},
        **{name: getattr(summary, name) for name in ("batch", "concurrency")},
        **{name: getattr(figure, name) for name in ("quantity", "value", "low", "high", "bound", "k", "n")},
        **{name: getattr(figure, name) for name in ("words", "covers", "source")},
        "unit": METRICS[figure.quantity].unit,
        "form": _form(figure),
        "patches": round(SCENE_PATCHES / figure.scaled),
    }


def _form(figure: Published) -> str:
    if figure.k is not None:
        return "share"
    return "bound" if figure.bound else "picture" if figure.value is None else "number"


def _column(name: str, values: list[Any]) -> pd.Series:
    if name in _TEXTS:
        return pd.Series(values, dtype="str")
    return pd.Series(values, dtype="int64" if name in _COUNTS else "float64")
