"""`edgebench.published`: what others published, with its sources, as frames; none of it was measured here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from edgebench.analysis.frames import verdict_frame
from edgebench.errors import UsageError
from edgebench.judge.judged import Judged
from edgebench.judge.metrics import METRICS
from edgebench.judge.profile import Profile, load_profiles, shipped_profiles
from edgebench.judge.published import SCENE_PATCHES, judge_published, load_references, reference_folder
from edgebench.judge.trial_summary import Published
from edgebench.judge.verdict import judge_all
from edgebench.results.load import frame_of
from edgebench.run.boards import Board, known_boards

# Names as a user of Python gives them: one, or several.


def several(names: str | Iterable[str]) -> tuple[str, ...]:
    """One name, or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


Profiles = str | Path | Profile | Iterable[str | Path | Profile]
"""A shipped profile's name, the path of a profile's file, a Profile, or several of these."""


def named_profiles(profiles: Profiles) -> tuple[Profile, ...]:
    """Those profiles; UsageError for one that cannot be read."""
    return load_profiles([profiles] if isinstance(profiles, str | Path | Profile) else list(profiles))


def chosen_profiles(
    profiles: Profiles | None, of_run: Sequence[Profile], purpose: str
) -> tuple[Profile, ...]:
    """Those that are named, else those of the run; UsageError where there is none, or it cannot be read."""
    chosen = tuple(of_run) if profiles is None else named_profiles(profiles)
    if not chosen:
        raise UsageError(
            f"there is no profile to {purpose}",
            why="the result was run without a profile and none is named",
            fix='name one, such as "disco-realtime"; `edgebench profiles list` names them',
        )
    return chosen


_KINDS = {
    **dict.fromkeys(("target", "device", "variant"), "str"),
    **{"depth_multiplier": "float64", "precision": "str", "batch": "int64", "concurrency": "int64"},
    **{"quantity": "str", "form": "str", "value": "float64", "low": "float64", "high": "float64"},
    **{"unit": "str", "bound": "str", "k": "float64", "n": "float64", "patches": "int64"},
    **dict.fromkeys(("words", "covers", "source", "address"), "str"),
}
_FIGURE = ("quantity", "value", "low", "high", "bound", "k", "n", "words", "covers", "source")


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
            {name: getattr(summary, name, None) for name in _KINDS}
            | {name: getattr(figure, name) for name in _FIGURE}
            | {
                "device": devices[summary.target],
                "address": addresses.get(figure.source, ""),
                "unit": METRICS[figure.quantity].unit,
                "form": _form(figure),
                "patches": round(SCENE_PATCHES / figure.scaled),
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


# `edgebench.boards`: what makers declare of boards, with the source of each figure, as a frame.


def boards() -> pd.DataFrame:
    """One row a board that `board=` and `--board` take, by its name: the index, which is called `board`.

    title; plugged_in (a stick or card, whose host is a board of its own); mass_g; size_mm (a tuple of three
    sides, None where no source gives it); power_maximum_w and power_typical_w by its maker's word; boot_s;
    the source of each as mass_source and so on; note. Mass and size are without case, cooler and supply.
    What no source gives is NaN.
    """
    by_name = dict(sorted(known_boards().items()))
    frame = frame_of([_board_row(board) for board in by_name.values()], _BOARD_KINDS)
    frame.index = pd.Index(list(by_name), dtype="str", name="board")
    return frame


_BOARD_KINDS = {
    **{"title": "str", "plugged_in": "bool", "mass_g": "float64", "mass_source": "str"},
    **{"size_mm": "object", "size_source": "str"},
    **{"power_maximum_w": "float64", "power_maximum_source": "str"},
    **{"power_typical_w": "float64", "power_typical_source": "str"},
    **{"boot_s": "float64", "boot_source": "str", "note": "str"},
}


def _board_row(board: Board) -> dict[str, Any]:
    row: dict[str, Any] = {column: getattr(board, column, None) for column in _BOARD_KINDS}
    for fact in ("mass_g", "size_mm", "boot_s"):
        if stated := row[fact]:
            row |= {fact: stated.value, f"{fact.partition('_')[0]}_source": stated.source}
    for power in board.power:
        row |= {f"power_{power.kind}_w": power.watts, f"power_{power.kind}_source": power.source}
    return row
