"""What declared power says of a limit on peak or mean power, where no meter decides it.

| declared | against the limit | verdict | because |
| --- | --- | --- | --- |
| maximum | at most the limit | pass, of peak and mean | the target never draws more, for however short |
| maximum | above it | inconclusive | it may never be drawn |
| typical | above it | fail, of peak and mean | by its maker's word it draws more than that in ordinary use |
| typical | at most the limit | inconclusive | it says nothing of the peak, nor of the mean under this load |

A measured figure that decides goes before it. One that a meter contradicts decides nothing: a maximum that
some meter saw exceeded, and a typical power that a meter of the whole board never saw, since then this load
is not its maker's. Energy is not computed from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from edgebench.fit.figure import Figure
from edgebench.fit.power_rails import WIDE_SCOPES
from edgebench.fit.trial_summary import UNKNOWN_SCOPE, PowerFigure, TrialSummary
from edgebench.stats.warnings import Caution, Flag
from edgebench.vocabulary.declared_power import DeclaredPower


def with_declared_power(measured: Figure, summary: TrialSummary, limit_w: float) -> Figure:
    """The figure that a limit on power is judged by: the measured one, or the declared where that decides.

    Where neither decides it is the measured one, or the declared where nothing was measured, with the reasons
    of both.
    """
    if not summary.declared_power or _decides(measured, limit_w):
        return measured
    doubts = summary.power_doubts
    holding = [power for power in summary.declared_power if power.kind not in doubts]
    figures = [_figure(power) for power in holding]
    why_open = [_open_reason(power) for power in holding] + list(doubts.values())
    note = "; ".join(
        text for text in (_unmetered(measured), summary.board_doubts.get("declared_power")) if text
    )
    for figure in figures:
        if _decides(figure, limit_w):
            return replace(figure, note=note, lasting=_stays_open(measured, limit_w))
    reason = "; ".join(text for text in (measured.reason, *why_open) if text)
    if measured.value is not None or not figures:
        return replace(measured, reason=reason)
    return replace(figures[0], reason=reason, lasting=True)


def with_power_doubts(summaries: Sequence[TrialSummary]) -> list[TrialSummary]:
    """The trials, each with which meter contradicts what was declared of its target.

    A maximum is contradicted by any trial of the target, which is a warning; a typical power by the trial's
    own meters, which is none, since a load may draw less than its maker's.
    """
    rails: dict[str, list[PowerFigure]] = {}
    for summary in summaries:
        rails.setdefault(summary.target, []).extend(summary.power or ())
    return [_with_power_doubts(summary, rails[summary.target]) for summary in summaries]


def _with_power_doubts(summary: TrialSummary, of_target: Sequence[PowerFigure]) -> TrialSummary:
    doubts = {
        power.kind: doubt
        for power in summary.declared_power
        if (doubt := _contradiction(power, of_target if power.kind == "maximum" else summary.power or ()))
    }
    warnings = [
        Caution(Flag.POWER_CONTRADICTED, what=doubt) for kind, doubt in doubts.items() if kind == "maximum"
    ]
    return replace(summary, power_doubts=doubts, cautions=(*summary.cautions, *warnings))


def _contradiction(power: DeclaredPower, rails: Sequence[PowerFigure]) -> str:
    """Which of these rails shows that the figure does not hold, in a sentence; "" where none does."""
    seen = [(rail, rail.peak_w) for rail in rails if rail.peak_w is not None]
    if power.kind == "maximum":
        saw = "saw"
        against = [(rail, peak_w) for rail, peak_w in seen if peak_w > power.watts]
    else:
        saw = "saw no more than"
        against = [
            (rail, peak_w)
            for rail, peak_w in seen
            if peak_w < power.watts and rail.scope in WIDE_SCOPES and not rail.uncovered
        ]
    for rail, peak_w in against:
        meter = f"{rail.meter.removesuffix(':')} ({rail.channel}, {rail.scope or UNKNOWN_SCOPE})"
        return f"the {power} decides nothing: {meter} {saw} {peak_w:.3g} W"
    return ""


def _figure(power: DeclaredPower) -> Figure:
    return Figure(
        power.watts,
        low=power.watts if power.kind == "typical" else None,
        high=power.watts if power.kind == "maximum" else None,
        what=f"the {power}",
        declared=power.kind,
    )


def _open_reason(power: DeclaredPower) -> str:
    if power.kind == "maximum":
        return f"the {power} may never be drawn: it can pass this limit, never fail it"
    return f"the {power} says nothing of this load's peak and mean: it can fail this limit, never pass it"


def _unmetered(measured: Figure) -> str:
    return f"no meter decides it: {measured.reason}" if measured.value is not None else measured.reason


def _stays_open(measured: Figure, limit_w: float) -> bool:
    """Whether no further session lets a meter decide."""
    bounded = measured.ceiling is not None and measured.ceiling <= limit_w
    return measured.value is None or measured.lasting or bounded


def _decides(figure: Figure, limit_w: float) -> bool:
    misses = figure.low is not None and figure.low > limit_w
    return misses or (figure.high is not None and figure.high <= limit_w)
