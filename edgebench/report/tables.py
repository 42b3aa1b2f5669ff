"""The report's tables as plain text cells, made once and shown in every form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgebench.judge.columns import missing_reasons
from edgebench.judge.metrics import METRICS, shown_in
from edgebench.judge.metrics.power import rail_value
from edgebench.judge.power import headline_rails
from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import words
from edgebench.report.blocks import Column, Table, of_figures
from edgebench.report.metric_text import metric_text, rail_text
from edgebench.stats.interval import Interval


def trial_names(summaries: Sequence[TrialSummary]) -> dict[str, str]:
    """Short names by key, with the target in front where there is more than one."""
    names = words.labels(summaries)
    if len({summary.target for summary in summaries}) < 2:
        return names
    return {summary.key: f"{words.plain(summary.target, 60)}: {names[summary.key]}" for summary in summaries}


def names_by_trial(summaries: Sequence[TrialSummary]) -> dict[str, tuple[str, ...]]:
    """By key what each trial is called, with its target in front and without."""
    with_target, alone = trial_names(summaries), words.labels(summaries)
    return {key: tuple(dict.fromkeys((name, alone[key]))) for key, name in with_target.items()}


def without_empty(table: Table) -> Table:
    """The table without the columns of notes in which no row says anything."""
    kept = [
        place
        for place, column in enumerate(table.columns)
        if column.heading or any(row[place] for row in table.rows)
    ]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
    )


def latency(summaries: Sequence[TrialSummary], quantity: str) -> Table:
    """Median with its interval, and what it rests on, of one metric of latency; never of two in one table."""
    names = trial_names(summaries)
    figures: list[Interval | float | None] = [METRICS[quantity].value(summary) for summary in summaries]
    why, notes = _reasons(summaries, quantity, f"{quantity}.interval")
    has_windows = {summary.has_windows for summary, figure in zip(summaries, figures, strict=True) if figure}
    counted_in = " or ".join(
        noun for noun, is_it in (("passes", False), ("windows", True)) if is_it in has_windows
    )
    rows = [
        (
            names[summary.key],
            metric_text(figure, "number"),
            *(
                (str(figure.sessions), str(figure.n))
                if isinstance(figure, Interval)
                else (words.MISSING, words.MISSING)
            ),
            note,
        )
        for summary, figure, note in zip(summaries, figures, notes, strict=True)
    ]
    columns = (*of_figures("trial", f"{quantity} [s]", "sessions", counted_in or "passes"), why)
    return without_empty(
        Table(quantity, columns, tuple(rows), caption=f"{words.MEDIAN}, with its 95 % interval")
    )


def latency_tables(summaries: Sequence[TrialSummary]) -> list[tuple[str, str, Table]]:
    """Each metric of latency: its name, what it is the time of, and its table.

    Then that of requests, and the instructions of what was emulated, where there are such trials.
    """
    tables = [
        (metric.name, shown.heading or words.passes(summaries), latency(summaries, metric.name))
        for metric, shown in shown_in("latency")
    ]
    for name, what, table in (
        ("request_ms", "one request, from submission to completion", requests(summaries)),
        ("instructions", "what an emulator executes, no device's time", instructions(summaries)),
    ):
        if table.rows:
            tables.append((name, what, table))
    return tables


def requests(summaries: Sequence[TrialSummary]) -> Table:
    """How long a request takes by itself, and how many are in flight, of the trials that have several."""
    queued = [summary for summary in summaries if summary.concurrency > 1]
    caption = f"a request is a batch; infer_s counts the time of overlapping requests once; {words.MEDIAN}"
    at_most = (Column("at most", figures=True), [str(summary.concurrency) for summary in queued])
    why = _reasons(queued, "request_ms", "request_ms.p99")
    return without_empty(
        metric_table("requests", queued, caption, at_most, why, names=trial_names(summaries))
    )


def instructions(summaries: Sequence[TrialSummary]) -> Table:
    """What an inference executes on the trials that were emulated, or why that is not known."""
    emulated = [summary for summary in summaries if summary.emulated]
    why, names = _reasons(emulated, "instructions"), trial_names(summaries)
    return without_empty(metric_table("instructions", emulated, words.MEDIAN, why, names=names))


def _reasons(summaries: Sequence[TrialSummary], *figures: str) -> tuple[Column, list[str]]:
    """A column of why the first of these figures is missing that is."""
    missing = [missing_reasons(summary) for summary in summaries]
    texts = [next((why[figure] for figure in figures if why.get(figure)), "") for why in missing]
    return Column("", long=True), [words.plain(text) for text in texts]


def metric_columns(table: str, summaries: Sequence[TrialSummary]) -> list[tuple[Column, list[str]]]:
    """The columns of the metrics in a table, each with a cell a trial; one a key of what is keyed.

    On the terminal `24/120 *` says that a note below tells what was assumed of the input.
    """
    columns = []
    stars = [" *" if table == "terminal" and summary.assumed else "" for summary in summaries]
    for metric, shown in shown_in(table, summaries):
        values = [metric.value(summary) for summary in summaries]
        if not metric.keyed:
            columns.append((shown.heading, shown.form, values, metric.sentence))
            continue
        for key in dict.fromkeys(key for value in values for key in value or {}):
            heading = shown.heading.format(key=words.plain(key, 40))
            columns.append(
                (heading, shown.form, [(value or {}).get(key) for value in values], metric.sentence)
            )
    return [
        (
            Column(heading, figures=True, about=about),
            [
                metric_text(value, form) + (star if form == "right of n" and value is not None else "")
                for value, star in zip(values, stars, strict=True)
            ],
        )
        for heading, form, values, about in columns
    ]


def metric_table(
    title: str,
    summaries: Sequence[TrialSummary],
    caption: str = "",
    *more: tuple[Column, Sequence[str]],
    names: Mapping[str, str] | None = None,
) -> Table:
    """One row a trial, a column for everything that is shown in the table of that title, then `more`.

    `names` are the trials' by key, where others of the report are left out.
    """
    names = trial_names(summaries) if names is None else names
    columns = [*metric_columns(title, summaries), *more]
    cells = [texts for _, texts in columns]
    rows = [(names[summary.key], *row) for summary, *row in zip(summaries, *cells, strict=True)]
    return Table(title, (Column("trial"), *(column for column, _ in columns)), tuple(rows), caption=caption)


def stages(summaries: Sequence[TrialSummary]) -> Table:
    """Milliseconds a patch by stage."""
    staged = [summary for summary in summaries if summary.stages_ms]
    return metric_table("stages", staged, f"a patch; {words.MEDIAN}", names=trial_names(summaries))


def cold(summaries: Sequence[TrialSummary]) -> Table:
    """What happens once a session, in milliseconds, means over the sessions; and building, once a board."""
    caption = (
        "once a session, apart from the steady figures; mean over the sessions; failed sessions of all that "
        "nobody interrupted"
    )
    seconds = [summary.built.seconds if summary.built else None for summary in summaries]
    built = []
    if any(summary.built for summary in summaries):
        built = [(Column("build [s]", figures=True), [metric_text(value, "number") for value in seconds])]
        caption += "; a build is made once on a board"
    return replace(metric_table("cold", summaries, caption, *built), title="cold figures")


def accuracy(summaries: Sequence[TrialSummary]) -> Table:
    """Right of n with the Wilson interval, the scene's own, and the agreement with fp32."""
    notes = [
        words.plain(
            "; ".join(filter(None, ["" if each.accuracy else each.accuracy_reason, words.assumed(each)]))
        )
        for each in summaries
    ]
    caption = "the images, then the patches of the timed scene; p is McNemar's exact test against fp32"
    return without_empty(metric_table("accuracy", summaries, caption, (Column("", long=True), notes)))


def power_tables(
    summaries: Sequence[TrialSummary], names: Mapping[str, str] | None = None, *, headline: bool = False
) -> list[Table]:
    """A table a meter, rail and scope, with a row a trial; the primary ones first.

    `headline` leaves the one rail that stands for each meter, without what the meter delivered.
    """
    names = names or trial_names(summaries)
    rows_by_rail: dict[tuple[bool, str], list[tuple[str, ...]]] = {}
    for summary in summaries:
        for rail in headline_rails(summary.power or ()) if headline else summary.power or ():
            delivered = () if headline else (rail.p99_w, rail.effective_hz, rail.longest_gap_s)
            cells = (metric_text(value, "number") for value in delivered)
            figures = (
                metric_text(rail_value(rail, metric) if metric.rail else metric.value(summary), shown.form)
                for metric, shown in shown_in("power")
            )
            row = (names[summary.key], *figures, *cells)
            is_other = not headline and not rail.primary
            rows_by_rail.setdefault((is_other, rail_text(rail)), []).append(row)
    delivered_headings = () if headline else ("p99 [W]", "rate [Hz]", "gap [s]")
    headings = (*(shown.heading for _, shown in shown_in("power")), *delivered_headings)
    columns = of_figures("trial", *headings)
    has_others = any(is_other for is_other, _ in rows_by_rail)
    return [
        Table(f"{name} (primary)" if has_others and not is_other else name, columns, tuple(rows))
        for (is_other, name), rows in sorted(rows_by_rail.items(), key=lambda item: item[0][0])
    ]


def memory(summaries: Sequence[TrialSummary]) -> Table:
    """Peak resident memory of the worker, and the artifact's size."""
    batches = [str(summary.batch) for summary in summaries]
    caption = "the peak of each session, mean over the sessions"
    return metric_table("memory", summaries, caption, (Column("batch", figures=True), batches))
