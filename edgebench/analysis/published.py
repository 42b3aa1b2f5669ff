"""`edgebench.published`: what others published, with its sources, as frames; none of it was measured here."""

from __future__ import annotations

from functools import cached_property

import pandas as pd

from edgebench.analysis.frames import Profiles, named_profiles, verdict_frame
from edgebench.judge.judged import Judged
from edgebench.judge.metrics import METRICS
from edgebench.judge.profile import shipped_profiles
from edgebench.judge.published import SCENE, judge_published, load_references, reference_folder
from edgebench.judge.trial_summary import Published
from edgebench.judge.verdict import judge_all
from edgebench.results.frames import frame_of

_KINDS = {
    **dict.fromkeys(("target", "device", "variant"), "str"),
    **{"depth_multiplier": "float64", "precision": "str", "batch": "int64", "concurrency": "int64"},
    **{"quantity": "str", "form": "str", "value": "float64", "low": "float64", "high": "float64"},
    **{"unit": "str", "bound": "str", "k": "float64", "n": "float64", "patches": "int64"},
    **dict.fromkeys(("words", "covers", "source", "address"), "str"),
}


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
        form (`number`, `share`, `bound`, or `picture`, which has no number), value, low, high (the one
        end of a bound that is known, the Wilson interval of a share; NaN where nothing is), bound (`above`,
        `at least`, `below`, `at most`), k and n of a share, patches (of how many the published time was: a
        time is scaled up to the scene's 400), words (quoted), covers, source, address.
        """
        targets = {target.name: target.body or "" for target in self._judged.results.experiment.targets}
        references = load_references(reference_folder())
        addresses = {each.title: each.address for file in references for each in file.sources.values()}
        rows = [
            {
                **vars(summary),
                **vars(figure),
                "device": targets[summary.target],
                "address": addresses[figure.source],
                "unit": METRICS[figure.quantity].unit,
                "form": _form(figure),
                "patches": round(SCENE.patches / figure.scaled),
            }
            for summary in self._judged.summaries
            for figure in summary.published
        ]
        return frame_of(rows, _KINDS)

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


def published() -> PublishedFigures:
    """The published figures that come with EdgeBench: `.figures`, and `.verdicts(profiles)`.

    Raises UsageError where this installation has none.
    """
    return PublishedFigures()


def _form(figure: Published) -> str:
    if figure.k is not None:
        return "share"
    return "bound" if figure.bound else "picture" if figure.value is None else "number"
