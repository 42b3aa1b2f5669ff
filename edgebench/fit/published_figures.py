"""What published figures can say about a limit.

| published | verdict |
| --- | --- |
| k of n | as of a measured share, by its Wilson interval |
| a bound in words, such as "exceeds 5 W peak" | pass or fail where all of it meets or misses the limit |
| a bound that leaves the limit open | inconclusive |
| a number without an interval | inconclusive: how far it is off was not published |
| a picture, another statistic, nothing | unknown |

A source that speaks of peak power without saying over what it is averaged is judged as it stands, with a
note. Sources are not added up: what was published of infer_s says nothing of image_s.
"""

from __future__ import annotations

from edgebench.fit.figure import Figure
from edgebench.fit.metric import Question
from edgebench.fit.metrics import METRICS
from edgebench.fit.published import Published
from edgebench.fit.trial_summary import TrialSummary


def published_figure(summary: TrialSummary, question: Question) -> Figure:
    """The figure that a requirement asks of a published trial, with its source; in its base unit."""
    figure = next((figure for figure in summary.published if figure.quantity == question.metric), None)
    if figure is None:
        return Figure(reason=summary.unpublished(question.metric))
    if question.statistic != figure.statistic:
        published = f"published is the {figure.statistic} of {figure.quantity}"
        return Figure(reason=f"{published}, and not its {question.statistic}: {figure.quote}")
    if figure.value is None and not figure.bound:
        return Figure(reason=f"published as a picture, of which no number is read: {figure.quote}")
    notes = [f"it covers {figure.covers}"] if figure.covers else []
    if question.averaging_s is not None:
        notes.append("over what time it is averaged was not published")
    if figure.bound:
        return _of_bound(figure, notes)
    if figure.k is not None:
        return _of_share(figure, notes)
    scaled = f" (the published number times {figure.scaled:g})" if figure.scaled > 1 else ""
    no_interval = (
        f"{figure.value:.4g}{_unit(figure)}{scaled} was published without an interval: {figure.quote}"
    )
    return Figure(figure.value, reason="; ".join([no_interval, *notes]))


def _of_bound(figure: Published, notes: list[str]) -> Figure:
    end = figure.high if figure.low is None else figure.low
    return Figure(
        low=figure.low,
        high=figure.high,
        bound=figure.bound,
        reason="; ".join([f"what was published leaves it open: {figure.quote}", *notes]),
        what=f"the published bound, {figure.bound} {end:g}{_unit(figure)},",
        note="; ".join([figure.quote, *notes]),
    )


def _of_share(figure: Published, notes: list[str]) -> Figure:
    return Figure(
        figure.value,
        figure.low,
        figure.high,
        reason="; ".join(
            [f"the limit lies inside the Wilson interval of {figure.k} of {figure.n}", figure.quote, *notes]
        ),
        what=f"the whole Wilson interval of the published {figure.k} of {figure.n}",
        note="; ".join([figure.quote, *notes]),
    )


def _unit(figure: Published) -> str:
    """The unit of its numbers with its space; nothing for a share."""
    unit = METRICS[figure.quantity].unit
    return "" if unit == "1" else f" {unit}"
