"""Trials against the requirements of a profile: a row a trial, the best first, for every form of a report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from edgebench.judge.decision import Decision, settled_by
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.judge.verdict import Overall
from edgebench.report import notes as verdict_groups
from edgebench.report import tables, words
from edgebench.report.blocks import Asked, Cell, Matrix, Row

MOST_ROWS = 24
"""That are seen at once, some of every target; the others are folded away behind them."""


def matrices(
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    decisions: Sequence[Decision] = (),
    names: Mapping[str, str] | None = None,
) -> dict[str, Matrix]:
    """By profile, as many as the verdicts are of; the trial that a decision names stands first.

    `names` are what the trials are called, by key. Default: `tables.trial_names`.
    """
    chosen = {decision.profile: decision.trial for decision in decisions}
    names = names or tables.trial_names(summaries)
    trials = {summary.key: summary for summary in summaries}
    by_profile: dict[str, list[Overall]] = {}
    for (trial, profile), whole in verdict_groups.wholes(verdicts).items():
        of_profile = by_profile.setdefault(profile, [])
        if trial in trials:
            of_profile.append(whole)
    return {
        profile: _matrix(profile, best_first(wholes, trials, chosen.get(profile)), trials, names)
        for profile, wholes in by_profile.items()
    }


def _matrix(
    profile: str, wholes: Sequence[Overall], trials: Mapping[str, TrialSummary], names: Mapping[str, str]
) -> Matrix:
    asked = verdict_groups.requirements([verdict for whole in wholes for verdict in whole.verdicts])
    rows = []
    rank: Counter[str] = Counter()
    places = []
    for place, whole in enumerate(wholes):
        trial = trials[whole.trial]
        cells = {verdict.requirement: cell_of(trial, verdict) for verdict in whole.verdicts}
        rows.append(Row(names[whole.trial], _whole_cell(trial, whole), tuple(map(cells.get, asked))))
        rank[trial.target] += 1
        places.append((rank[trial.target], place))
    seen = {place for _, place in sorted(places)[:MOST_ROWS]}
    return Matrix(
        f"{words.plain(profile, 80)}: trials and requirements",
        tuple(_column(verdict, [row.cells[at] for row in rows]) for at, verdict in enumerate(asked.values())),
        tuple(row for place, row in enumerate(rows) if place in seen),
        tuple(row for place, row in enumerate(rows) if place not in seen),
    )


def _column(verdict: Verdict, cells: Sequence[Cell | None]) -> Asked:
    ways = [cell.by for cell in cells if cell and cell.by]
    shared = ways[0] if len(ways) > 1 and len(set(ways)) == 1 else ""
    return Asked(*words.required(verdict), shared, words.limit(verdict))


def best_first(
    wholes: Sequence[Overall], trials: Mapping[str, TrialSummary], first: str | None = None
) -> list[Overall]:
    """Those that pass, then what is open, then what fails: by how many requirements, by how much, how quick.

    The trial of the key `first` goes before all, and what was not measured comes last.
    """

    def standing(whole: Overall) -> tuple[float, ...]:
        trial = trials[whole.trial]
        required = [verdict for verdict in whole.verdicts if not verdict.wanted]
        failed = [verdict for verdict in required if verdict.verdict == "fail"]
        is_open = sum(verdict.verdict in ("unknown", "inconclusive") for verdict in required)
        missed_by = max((_missed_by(verdict) for verdict in failed), default=0.0)
        return (
            whole.trial != first,
            trial.status not in ("done", "partial"),
            len(failed),
            missed_by,
            is_open,
            math.inf if trial.latency is None else trial.latency.median,
        )

    return sorted(wholes, key=standing)


def _missed_by(verdict: Verdict) -> float:
    """A miss as a multiple of the limit; of a bound, whose figure nobody knows, the most."""
    if verdict.margin is None or isinstance(verdict.limit, Sequence):
        return math.inf if verdict.margin is None else -verdict.margin
    return -verdict.margin / (abs(verdict.limit) or 1.0)


def _whole_cell(trial: TrialSummary, whole: Overall) -> Cell:
    """All requirements; of a trial without a session why it has none, which holds for each of them."""
    first = whole.verdicts[0]
    if trial.status in ("done", "partial"):
        return Cell(whole.verdict, "all together")
    by, reason = settled_by(trial, first), words.plain(first.reason)
    return Cell(whole.verdict, "all together", by=by, reason=reason)


def cell_of(trial: TrialSummary, verdict: Verdict) -> Cell:
    """One verdict."""
    figure = words.basis(verdict) if verdict.value is None else words.value(verdict)
    margin = words.judged(verdict) if verdict.bound else ""
    if verdict.margin is not None:
        margin = words.margin(verdict)
    return Cell(
        verdict.verdict,
        words.limit(verdict),
        margin,
        figure if margin else "",
        settled_by(trial, verdict) if trial.status in ("done", "partial") else "",
        words.plain(verdict.reason),
        words.margin_unit(verdict),
    )
