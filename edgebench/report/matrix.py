"""Matrix of a report: one row per trial with its estimates and its verdicts by profile."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, islice, zip_longest
from typing import NamedTuple

from edgebench.judge.judged import Judged
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial import Trial
from edgebench.judge.verdicts.decision import latency_s
from edgebench.judge.verdicts.next_steps import settling_steps
from edgebench.judge.verdicts.verdict import Verdict
from edgebench.report import tables, words
from edgebench.report.renderers.blocks import Column


@dataclass(frozen=True)
class VerdictText:
    """Texts of a verdict, each made when it is read."""

    trial: Trial
    verdict: Verdict

    @property
    def word(self) -> str:
        """Word of the verdict."""
        return self.verdict.word

    @property
    def name(self) -> str:
        """Name of the requirement, as its author wrote it."""
        return words.plain(self.verdict.requirement.name, 40)

    @cached_property
    def limit(self) -> str:
        """Requirement as a formula: `latency per image ≤ 4.42 s`."""
        return words.limit(self.verdict.requirement)

    @property
    def margin(self) -> str:
        """Distance to the limit; empty if unknown."""
        if self.verdict.margin is None:
            return ""
        basis = self.verdict.estimate.basis
        return words.margin(self.verdict) + (f" ({basis})" if basis.startswith("declared ") else "")

    @property
    def excess(self) -> str:
        """Distance by which a limit is missed, or the interval that contains it; else empty."""
        if self.word == "fail":
            return words.distance(self.verdict) or words.judged(self.verdict)
        estimate = self.verdict.estimate
        if self.word != "inconclusive" or estimate.low is None or estimate.high is None:
            return ""
        return words.judged(replace(self.verdict, estimate=replace(estimate, value=None)))

    @cached_property
    def reason(self) -> str:
        """Cause of the word, and the steps that would settle an open verdict."""
        steps = words.listed([*map(words.next_step, settling_steps(self.trial, self.verdict))], "or")
        return "; ".join(filter(None, [words.plain(self.verdict.reason), steps and f"to settle: {steps}"]))

    @property
    def text(self) -> str:
        """`latency per image ≤ 4.42 s: 0.883 ±0.025 s, 3.54 s to spare`; of a miss its distance."""
        margin = self.margin and f", margin {self.margin}"
        if self.word == "fail" and self.margin:
            margin = f", {self.excess}"
        elif self.word == "pass" and self.margin.startswith("+"):
            margin = f", {self.margin[1:]} to spare"
        is_declared = self.verdict.estimate.basis.startswith("declared ")
        value = words.judged(self.verdict) if is_declared else words.value(self.verdict)
        missing = "not measured" if self.word == "unknown" else "no value"
        return f"{self.limit}: {missing if value == words.MISSING else value}{margin}"

    @property
    def short(self) -> str:
        """`✓ +3.54 s`; without a margin the bound, or the word."""
        return f"{words.SYMBOLS[self.word]} {self.margin or self.excess or words.screen_word(self.word)}"


@dataclass(frozen=True)
class ProfileCell:
    """Verdicts of one profile on one trial."""

    verdicts: tuple[VerdictText, ...]

    @cached_property
    def _required(self) -> dict[str, list[VerdictText]]:
        required = [text for text in self.verdicts if not text.verdict.requirement.wanted]
        return words.grouped((text.word, text) for text in required)

    @cached_property
    def word(self) -> str:
        """Key of `words.STANDINGS`; `so far` where everything measured passes and the rest is unknown."""
        for word in ("fail", "inconclusive"):
            if word in self._required:
                return word
        if "unknown" not in self._required:
            return "pass"
        return "so far" if "pass" in self._required else "unknown"

    @cached_property
    def decided_by(self) -> VerdictText | None:
        """Greatest miss, or the first undecided requirement; None for the other words."""
        if self.word == "fail":
            return max(self._required["fail"], key=lambda text: _share_missed(text.verdict))
        return self._required["inconclusive"][0] if self.word == "inconclusive" else None

    @property
    def short(self) -> str:
        """`✕ latency`, `○ so far`: the symbol, and the requirement that decides."""
        text = self.decided_by.name if self.decided_by else words.screen_word(self.word)
        return f"{words.STANDINGS[self.word]} {text}"


def _share_missed(verdict: Verdict) -> tuple[bool, float]:
    """Miss as a multiple of the limit, the most for a bound; the load of a schedule repeats a latency's."""
    is_own = verdict.requirement.quantity != "load"
    margin = -math.inf if verdict.margin is None else verdict.margin
    return is_own, -margin / (abs(verdict.limit) or 1.0)


Cells = Mapping[tuple[str, str], ProfileCell]
"""Cells by key of the trial and name of the profile."""


def cells_of(judged: Judged) -> dict[tuple[str, str], ProfileCell]:
    """Cells of all trials that were judged."""
    trials = {trial.key: trial for trial in judged.trials}
    return {
        (whole.trial, whole.profile): ProfileCell(
            tuple(VerdictText(trials[whole.trial], verdict) for verdict in whole.verdicts)
        )
        for whole in judged.wholes
        if whole.trial in trials
    }


# Rows and columns.


class Cell(NamedTuple):
    """Estimate of a trial as text."""

    text: str
    value: str
    """Text without the interval."""
    number: float | None
    """Value by which the column sorts."""


@dataclass(frozen=True)
class Row:
    """Trial: one cell per column of estimates, and one per profile, None where it was not judged."""

    name: str
    estimates: tuple[Cell, ...]
    profiles: tuple[ProfileCell | None, ...]


@dataclass(frozen=True)
class Matrix:
    """Trials with their estimates and their verdicts by each profile, the best first.

    Attributes:
        columns: columns of estimates.
        profiles: title of each profile, with its requirements as the explanation.
        rows: as many as are seen at once, the best ones of every target.
        folded: the other rows.
    """

    columns: tuple[Column, ...]
    profiles: tuple[Column, ...]
    rows: tuple[Row, ...]
    folded: tuple[Row, ...] = ()

    @property
    def all_rows(self) -> tuple[Row, ...]:
        """Rows and folded rows."""
        return (*self.rows, *self.folded)

    @cached_property
    def unknown(self) -> tuple[frozenset[tuple[str, str]], ...]:
        """Requirements with their reasons, by profile, that are unknown for all of several trials."""
        by_profile = []
        for cells in zip(*(row.profiles for row in self.all_rows), strict=True):
            by_trial = [
                frozenset((text.name, text.reason) for text in cell.verdicts if text.word == "unknown")
                for cell in cells
                if cell
            ]
            by_profile.append(frozenset.intersection(*by_trial) if len(by_trial) > 1 else frozenset())
        return tuple(by_profile)

    def is_shared(self, place: int, text: VerdictText) -> bool:
        """True if a verdict of the profile at this place is unknown for all trials for one reason."""
        return text.word == "unknown" and (text.name, text.reason) in self.unknown[place]

    @property
    def unknown_texts(self) -> list[str]:
        """`peak power ≤ 5 W unknown: no meter`, with the profiles where not all have it."""
        profiles = words.grouped(
            (f"{text.limit} unknown: {text.reason}", profile.heading)
            for row in self.all_rows[:1]
            for place, (profile, cell) in enumerate(zip(self.profiles, row.profiles, strict=True))
            for text in (cell.verdicts if cell else ())
            if self.is_shared(place, text)
        )
        return [
            text if len(names) == len(self.profiles) else f"{words.together(names)}: {text}"
            for text, names in profiles.items()
        ]

    @property
    def rest(self) -> str:
        """`92 more trials`."""
        return f"{words.counted(len(self.folded), 'more trial')}"


MOST_ROWS = 24
"""Rows that are seen at once, some of every target; the others are folded."""


def matrix_of(judged: Judged, titles: Mapping[str, str], cells: Cells) -> Matrix:
    """Matrix of a result: first the trials that fail the fewest profiles, then the quickest.

    Args:
        judged: the result.
        titles: titles of the profiles by name.
        cells: cells as `cells_of` gives them.
    """
    trials = judged.trials
    names = tables.trial_names(trials)
    columns = _columns(trials, judged.verdicts)
    rows = {
        trial.key: Row(
            names[trial.key],
            tuple(column_cells[place] for _, column_cells in columns),
            tuple(cells.get((trial.key, name)) for name in titles),
        )
        for place, trial in enumerate(trials)
    }

    def order(trial: Trial) -> tuple[float, ...]:
        row = rows[trial.key]
        fails = sum(bool(cell and cell.word == "fail") for cell in row.profiles)
        is_empty = all(cell.text == words.MISSING for cell in row.estimates)
        return is_empty, not trial.has_estimates, fails, latency_s(trial)

    keys = [trial.key for trial in sorted(trials, key=order)]
    targets = {trial.key: trial.target for trial in trials}
    by_target = words.grouped((targets[key], key) for key in keys)
    in_turn = filter(None, chain.from_iterable(zip_longest(*by_target.values())))
    seen = set(islice(in_turn, MOST_ROWS))
    limits = words.grouped(
        dict.fromkeys((verdict.profile, words.limit(verdict.requirement)) for verdict in judged.verdicts)
    )
    return Matrix(
        tuple(column for column, _ in columns),
        tuple(
            Column(words.plain(title, 60), about=", ".join(limits.get(name, ())))
            for name, title in titles.items()
        ),
        tuple(rows[key] for key in keys if key in seen),
        tuple(rows[key] for key in keys if key not in seen),
    )


def _columns(trials: Sequence[Trial], verdicts: Sequence[Verdict]) -> list[tuple[Column, list[Cell]]]:
    """Columns of every matrix, then those of limited metrics in which the trials differ."""
    shown = tables.metric_columns("matrix", trials)
    names = {metric.name for metric, *_ in shown}
    for metric in {verdict.requirement.quantity: verdict.requirement.metric for verdict in verdicts}.values():
        if metric.name not in names and not metric.is_scheduled and not metric.is_size:
            limited = tables.metric_column(metric, [trial.estimate(metric.name) for trial in trials])
            shown += [limited] if len(set(limited.texts)) > 1 else []
    # A limit over a longer time judges another number than the highest sample.
    is_averaged = any(verdict.requirement.averaging_s for verdict in verdicts)
    columns = []
    for metric, column, texts in shown:
        if _is_within(metric, trials):
            continue
        values = []
        for estimate in (trial.estimate(metric.name) for trial in trials):
            bare = estimate if estimate.value is None else replace(estimate, low=None, high=None)
            values.append(tables.estimate_text(bare, metric, column.heading))
        if metric.unit in ("W", "J") and metric.belongs_to != "board":
            scopes = [trial.rails[0].scope if trial.rails else "" for trial in trials]
            known = sorted(filter(None, set(scopes)))
            heading = metric.titled.replace("Peak power", "Peak sample") if is_averaged else metric.titled
            column = replace(column, heading=heading)
            if len(known) == 1:
                about = f"{metric.sentence} The meter covers: {known[0]}. Only numbers of one scope compare."
                column = replace(column, heading=f"{heading} ({known[0]})", about=about)
            elif known:
                texts, values = (
                    [
                        f"{text} ({scope})" if scope and text != words.MISSING else text
                        for text, scope in zip(own, scopes, strict=True)
                    ]
                    for own in (texts, values)
                )
        columns.append((column, [Cell(*cell) for cell in zip(texts, values, column.numbers, strict=True)]))
    return columns


def _is_within(metric: Metric, trials: Sequence[Trial]) -> bool:
    """True if each trial with this metric also has a metric that it is a part of."""
    measured = [trial for trial in trials if trial.estimate(metric.name).value is not None]
    totals = [total for total in METRICS.values() if total.part == metric.name]
    return any(all(trial.estimate(total.name).value is not None for trial in measured) for total in totals)
