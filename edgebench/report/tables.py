"""The report's tables as plain text cells, made once and shown as HTML or Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.fit.verdict import Overall
from edgebench.report import verdict_groups, words
from edgebench.report.document import reasons
from edgebench.report.notes import Trials
from edgebench.stats.interval import Interval


@dataclass(frozen=True)
class Column:
    """A heading, and what its cells hold: figures, one of the verdict words, or sentences."""

    heading: str
    figures: bool = False
    verdict: bool = False
    long: bool = False


@dataclass(frozen=True)
class Table:
    """Rows of text under columns; the first cell of a row names it.

    `trials` has, for each row, the names of all its trials where the first cell counts them; else nothing.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    trials: tuple[str, ...] = ()


def trial_names(summaries: Sequence[TrialSummary]) -> dict[str, str]:
    """Short names by key, with the target in front where there is more than one."""
    names = words.labels(summaries)
    if len({summary.target for summary in summaries}) < 2:
        return names
    return {one.key: f"{words.plain(one.target, 60)}: {names[one.key]}" for one in summaries}


def verdict_tables(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> list[Table]:
    """One table a profile; trials that share a verdict, its figures and its reason share a row."""
    names = trial_names(summaries)
    tables = []
    measured = {verdict.trial for verdict in verdict_groups.of_measured(verdicts, summaries)}
    for profile in verdict_groups.profiles(verdicts):
        groups: dict[tuple[str, ...], list[str]] = {}
        order: dict[str, int] = {}
        for verdict in verdicts:
            if verdict.profile != profile:
                continue
            requirement, bound = words.required(verdict)
            order.setdefault(requirement, len(order))
            cells: tuple[str, ...] = (
                requirement,
                bound,
                words.value(verdict),
                words.span(verdict),
                words.margin(verdict),
                verdict.verdict,
                words.plain(verdict.reason),
            )
            if verdict.trial not in measured:
                cells = ("every one", *[words.MISSING] * 4, verdict.verdict, words.plain(verdict.reason))
            who = groups.setdefault(cells, [])
            if verdict.trial not in who:
                who.append(verdict.trial)
        trials = Trials(
            {one.trial: names.get(one.trial, words.plain(one.trial, 16)) for one in verdicts},
            {one.key: words.plain(one.target, 60) for one in summaries},
        ).only({verdict.trial for verdict in verdicts if verdict.profile == profile})
        grouped = sorted(groups.items(), key=lambda item: order.get(item[0][0], len(order)))
        rows = [(trials.several(who), *cells) for cells, who in grouped]
        tables.append(
            Table(
                words.plain(profile),
                (
                    Column("trial"),
                    Column("requirement"),
                    Column("limit", figures=True),
                    Column("value", figures=True),
                    Column("interval", figures=True),
                    Column("margin", figures=True),
                    Column("verdict", verdict=True),
                    Column("reason", long=True),
                ),
                tuple(rows),
                trials=tuple(
                    ", ".join(trials.names[key] for key in who) if trials.unnamed(who) else ""
                    for _, who in grouped
                ),
            )
        )
    return tables


def glance(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]) -> Table:
    """Trial by profile: the verdict on all of a profile's requirements together."""
    names = trial_names(summaries)
    profiles = verdict_groups.profiles(verdicts)
    found = verdict_groups.wholes(verdicts)
    return Table(
        "all requirements together",
        (Column("trial"), *(Column(words.plain(profile, 80), verdict=True) for profile in profiles)),
        tuple(
            (
                names[one.key],
                *(
                    _as_a_whole(found[one.key, profile]) if (one.key, profile) in found else words.MISSING
                    for profile in profiles
                ),
            )
            for one in summaries
        ),
        caption="each profile as a whole, where a requirement without a figure leaves it unknown; "
        "below it the latency alone, with its margin",
    )


def _as_a_whole(whole: Overall) -> str:
    """The verdict on all requirements, then a line for each that is about latency."""
    latencies = [one for one in whole.verdicts if one.quantity in verdict_groups.LATENCY]
    lines = [
        f"{words.plain(one.quantity, 40)} {one.verdict}"
        + (f" {words.margin(one)}" if one.margin is not None else "")
        for one in latencies
    ]
    return "\n".join([whole.verdict, *lines])


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
    """Median, interval and what it rests on, of `image_s` or `infer_s`; never both in one table."""
    names = trial_names(summaries)
    rows = []
    for summary in summaries:
        figure = summary.image_s if quantity == "image_s" else summary.infer_s
        why = reasons(summary)
        note = why.get(quantity) or why.get(f"{quantity}.interval", "")
        rows.append((names[summary.key], *_interval_cells(figure), words.plain(note)))
    return without_empty(
        Table(
            quantity,
            (
                Column("trial"),
                Column("median [s]", figures=True),
                Column("95 % interval [s]", figures=True),
                Column("half-width", figures=True),
                Column("sessions", figures=True),
                Column(_counted_in(summaries, quantity), figures=True),
                Column("", long=True),
            ),
            tuple(rows),
            caption=words.MEDIAN,
        )
    )


def _counted_in(summaries: Sequence[TrialSummary], quantity: str) -> str:
    """What a trial's values are counted in: windows, where all of these have no other."""
    shown = [one for one in summaries if getattr(one, quantity) is not None]
    windows = [one.latency_quantity == "infer_s" for one in shown]
    if not any(windows):
        return "passes"
    return "windows" if all(windows) else "passes or windows"


def _interval_cells(figure: Interval | None) -> tuple[str, ...]:
    if figure is None:
        return (words.MISSING,) * 5
    counts = (str(figure.sessions), str(figure.n))
    median = words.interval(figure).split(" ")[0]
    if figure.low is None or figure.high is None:
        return (median, words.MISSING, words.MISSING, *counts)
    places = len(median.partition(".")[2])
    half = figure.half_width
    relative = words.MISSING if half is None or words.is_wide(figure) else f"±{words.percent(half)}"
    return (median, f"{figure.low:.{places}f} to {figure.high:.{places}f}", relative, *counts)


def stages(summaries: Sequence[TrialSummary]) -> Table:
    """Milliseconds a patch by stage."""
    shown = [summary for summary in summaries if summary.stages_ms]
    names = trial_names(summaries)
    found = list(dict.fromkeys(stage for summary in shown for stage in summary.stages_ms))
    return Table(
        "stages",
        (Column("trial"), *(Column(f"{words.plain(name, 40)} [ms]", figures=True) for name in found)),
        tuple(
            (
                names[one.key],
                *(words.number(one.stages_ms[n]) if n in one.stages_ms else words.MISSING for n in found),
            )
            for one in shown
        ),
        caption=f"a patch; {words.MEDIAN}",
    )


def cold(summaries: Sequence[TrialSummary]) -> Table:
    """What happens once a session, in milliseconds; means over the sessions."""
    names = trial_names(summaries)
    shown = (
        ("import_s", "import"),
        ("load_s", "load"),
        ("first_inference_s", "first inference"),
        ("first_pass_s", "first pass"),
    )
    return Table(
        "cold figures",
        (Column("trial"), *(Column(f"{heading} [ms]", figures=True) for _, heading in shown)),
        tuple(
            (names[one.key], *(_milliseconds(one.cold.get(name)) for name, _ in shown)) for one in summaries
        ),
        caption="once a session, apart from the steady figures; mean over the sessions",
    )


def _milliseconds(seconds: float | None) -> str:
    return words.MISSING if seconds is None else words.number(seconds * 1e3)


def accuracy(summaries: Sequence[TrialSummary]) -> Table:
    """Right of n with the Wilson interval, the scene's own, and the agreement with fp32."""
    names = trial_names(summaries)
    rows = []
    for one in summaries:
        figure, scene, same = one.accuracy, one.scene_accuracy, one.agreement
        p = same.mcnemar_p if same else None
        reason = one.accuracy_reason if figure is None else ""
        rows.append(
            (
                names[one.key],
                words.right_of(figure),
                words.percent(figure.k / figure.n) if figure and figure.n else words.MISSING,
                f"{100 * figure.low:.1f} to {100 * figure.high:.1f} %" if figure else words.MISSING,
                words.right_of(scene),
                f"{same.k}/{same.n}" if same else words.MISSING,
                words.number(p, 2) if p is not None else words.MISSING,
                words.plain("; ".join(filter(None, (reason, words.assumed(one))))),
            )
        )
    return without_empty(
        Table(
            "accuracy",
            (
                Column("trial"),
                Column("right of n", figures=True),
                Column("top-1", figures=True),
                Column("95 % interval (Wilson)", figures=True),
                Column("scene's patches", figures=True),
                Column(words.SAME_AS_FP32, figures=True),
                Column("McNemar p", figures=True),
                Column("", long=True),
            ),
            tuple(rows),
            caption="the images, then the patches of the timed scene; p is McNemar's exact test against fp32",
        )
    )


def power(summaries: Sequence[TrialSummary]) -> Table:
    """One row a trial, meter and rail."""
    names = trial_names(summaries)
    rows = []
    for one in summaries:
        for figure in one.power or ():
            watts = (figure.mean_w, figure.peak_w, figure.idle_w)
            joules = (figure.energy_j, figure.net_energy_j)
            rows.append(
                (
                    names[one.key],
                    words.plain(f"{figure.meter} {figure.channel}", 60)
                    + (" (primary)" if figure.primary else ""),
                    words.plain(figure.scope, 20),
                    *(words.MISSING if item is None else words.number(item) for item in (*watts, *joules)),
                    words.plain(figure.reason),
                )
            )
    headings = ("mean [W]", "peak [W]", "idle [W]", "energy [J]", "net of idle [J]")
    return without_empty(
        Table(
            "power",
            (
                Column("trial"),
                Column("meter and rail"),
                Column("scope"),
                *(Column(heading, figures=True) for heading in headings),
                Column("", long=True),
            ),
            tuple(rows),
            caption="over the steady passes; energy is that of one scene",
        )
    )


def memory(summaries: Sequence[TrialSummary]) -> Table:
    """Peak resident memory of the worker, and the artifact's size."""
    names = trial_names(summaries)
    return Table(
        "memory",
        (
            Column("trial"),
            Column("peak memory of the worker", figures=True),
            Column("artifact", figures=True),
            Column("batch", figures=True),
        ),
        tuple(
            (names[one.key], words.size(one.memory_bytes), words.size(one.artifact_bytes), str(one.batch))
            for one in summaries
        ),
        caption="the peak of each session, mean over the sessions",
    )
