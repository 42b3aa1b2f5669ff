"""What a notebook shows of a result: one row a trial, with its headline figures and verdicts (pure)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from edgebench.analysis.html_tables import table_html
from edgebench.fit.metric import Metric, Shown
from edgebench.fit.metrics import METRICS, shown_in
from edgebench.fit.power_metrics import rail_value
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.report import verdict_groups, words
from edgebench.report.metric_text import metric_text
from edgebench.report.power_scopes import rail_text
from edgebench.store.records import ExperimentRecord

_POWER = ("power_mean_w", "energy_j")
_REASONS = 3  # of trials that were not measured, below the table


def headline(record: ExperimentRecord) -> str:
    """`made: 12 trials of 2 targets, begun 2025-03-01T12:00:00Z`, without control characters."""
    trials = words.counted(len(record.trials), "trial")
    targets = words.counted(len(record.targets), "target")
    return words.plain(f"{record.name}: {trials} of {targets}, begun {record.created_utc}")


def trial_table(caption: str, summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> str:
    """HTML, all text in it escaped. Columns that no trial has a figure for are left out."""
    names = words.labels(summaries)
    columns: dict[str, Callable[[TrialSummary], str]] = {
        "target": lambda trial: trial.target,
        "variant": lambda trial: names[trial.key],
        "status": lambda trial: trial.status.replace("_", " "),
        **_figures(summaries),
        **_verdicts(verdicts),
    }
    reasons = sorted({summary.reason for summary in summaries if summary.reason})
    rows = [[text_of(summary) for text_of in columns.values()] for summary in summaries]
    return table_html(caption, list(columns), rows, reasons[:_REASONS])


def _figures(summaries: Sequence[TrialSummary]) -> Mapping[str, Callable[[TrialSummary], str]]:
    """Those of the table that a run ends with; of power what the primary rail of each trial's meter says."""
    columns = {
        shown.heading: _text_of(metric, shown)
        for metric, shown in shown_in("terminal", summaries)
        if any(metric.value(summary) is not None for summary in summaries)
    }
    if any(summary.primary_rail is not None for summary in summaries):
        columns |= {METRICS[name].shown[0].heading: _power_of(METRICS[name]) for name in _POWER}
        columns["power by"] = lambda trial: rail_text(rail) if (rail := trial.primary_rail) else words.MISSING
    return columns


def _text_of(metric: Metric, shown: Shown) -> Callable[[TrialSummary], str]:
    return lambda trial: metric_text(metric.value(trial), shown.form)


def _power_of(metric: Metric) -> Callable[[TrialSummary], str]:
    form = metric.shown[0].form

    def text(trial: TrialSummary) -> str:
        rail = trial.primary_rail
        return words.MISSING if rail is None else metric_text(rail_value(rail, metric), form)

    return text


def _verdicts(verdicts: Sequence[Verdict]) -> Mapping[str, Callable[[TrialSummary], str]]:
    wholes = verdict_groups.wholes(verdicts)

    def of_profile(profile: str) -> Callable[[TrialSummary], str]:
        def text(trial: TrialSummary) -> str:
            word = wholes[trial.key, profile].verdict
            return f"{words.SYMBOLS[word]} {word}"

        return text

    return {profile: of_profile(profile) for profile in verdict_groups.profiles(verdicts)}
