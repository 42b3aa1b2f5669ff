"""The sections below the first screen of a report, as plain text: each a gist, tables, plots and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgebench.judge.answers import Answers
from edgebench.judge.judged import Judged
from edgebench.judge.trial_summary import Accuracy, TrialSummary
from edgebench.report import notes, tables, words
from edgebench.report.answer import paragraphs
from edgebench.report.blocks import (
    Block,
    Column,
    Command,
    Fold,
    Heading,
    Matrix,
    Note,
    Notes,
    Plot,
    Table,
    Text,
    of_figures,
)
from edgebench.report.environment import command_line, environment, golden, telemetry
from edgebench.report.missions import FIGURES, BriefMissions, mission_table
from edgebench.report.notes import Trials
from edgebench.report.page import NOTED, Section, doubts, incomplete_text, is_published, result_argument
from edgebench.report.sharing import sharing_section
from edgebench.report.tables import meter_text, rail_text, scopes_note
from edgebench.results.redaction import exported
from edgebench.stats.intervals import MIN_SESSIONS
from edgebench.stats.shape import unseen_mode_share

_GIST = ("duty_cycle", "backlog")  # of a mission
_MATRIX = 40  # classes of a confusion matrix at most; of more the worst ones and the commonest confusions


def sections(judged: Judged, answers: Answers, missions: Sequence[BriefMissions]) -> list[Section]:
    """Sections that are not empty, in order."""
    summaries = judged.summaries
    trials = Trials.of(summaries, tables.trial_names(summaries))
    made = [
        _changes(judged, answers, trials),
        _missions(missions, summaries),
        _latency(summaries, trials),
        sharing_section(summaries, trials),
        _power(summaries, trials),
        _accuracy(judged, trials),
        _warnings(judged, trials),
        _environment(judged, trials),
    ]
    return [section for section in made if section.blocks]


def details(
    judged: Judged, answers: Answers, missions: Sequence[BriefMissions], matrix: Matrix
) -> list[Section]:
    """Sections for the terminal: what would pass, margins, one row per trial, power, missions, warnings."""
    summaries = judged.summaries
    trials = Trials.of(summaries, tables.trial_names(summaries))
    changes = _changes(judged, answers, trials)
    mission, power = _missions(missions, summaries), _power(summaries, trials, brief=True)
    made = [
        replace(changes, title=changes.title if is_published(summaries) else "", gist=""),
        margins(matrix, brief=True),
        _trials(judged, trials),
        sharing_section(summaries, trials),
        *([power] if any(isinstance(block, Table) for block in power.blocks) else []),
        replace(mission, blocks=[Text(block.text) for block in mission.blocks if isinstance(block, Text)]),
        _warnings(judged, trials),
    ]
    command = command_line(["edgebench", "report", result_argument(judged), "-o", "report.html"])
    rest = "stages, missions, confusion matrices, telemetry, environment"
    made += [] if is_published(summaries) else [Section("rest", "In the report", rest, [Command(command)])]
    return [section for section in made if section.blocks or section.gist]


def _trials(judged: Judged, trials: Trials) -> Section:
    """One row per trial with what the matrix above it lacks."""
    summaries = judged.summaries
    commonest = [_commonest(summary.accuracy) for summary in summaries]
    table = tables.metric_table("trials", summaries, "", ("Commonest confusion", commonest))
    blocks: list[Block] = [table] if len(table.columns) > 1 else []
    of_pages = [*_latency(summaries, trials).blocks, *_accuracy(judged, trials).blocks]
    noted = [note for block in of_pages if isinstance(block, Notes) for note in block.notes if note.who]
    return Section("trials", "Trials", "", [*blocks, Notes(noted)] if blocks or noted else [])


def margins(matrix: Matrix, *, brief: bool = False) -> Section:
    """Margin of each trial by each requirement, and why a verdict is no pass.

    `brief` leaves out what is unknown for all trials, which the sentences above it say.
    """
    rows = (*matrix.rows, *matrix.folded)
    names = {row.name: row.name for row in rows}
    cells: dict[tuple[str, str, int], dict[str, str]] = {}
    reasons: dict[tuple[str, str, str], dict[str, None]] = {}
    for row in rows:
        for at, standing in enumerate(row.standings):
            for each in standing.judgements if standing else ():
                if each in matrix.unknown[at]:
                    continue
                cells.setdefault((each.name, each.limit, at), {})[row.name] = each.short
                if each.word != "pass" and each.reason:
                    reasons.setdefault((row.name, each.word, each.reason), {})[each.name] = None
    requirements = list(dict.fromkeys(name for name, _, _ in cells))
    columns = words.grouped(
        ((limit, tuple(cells[name, limit, at].items())), matrix.profiles[at].heading)
        for name, limit, at in sorted(cells, key=lambda column: requirements.index(column[0]))
    )
    headings = [
        limit if len(of) == len(matrix.profiles) else f"{words.together(of)}: {limit}"
        for (limit, _), of in columns.items()
    ]
    table = Table(
        "margins",
        (Column("Trial"), *(Column(heading, verdict=True) for heading in headings)),
        tuple((name, *(dict(column).get(name, "") for _, column in columns)) for name in names),
    )
    about = notes.shared(
        [
            (name, f"{words.listed(list(of))} {word}: {reason}")
            for (name, word, reason), of in reasons.items()
        ],
        Trials(names, dict.fromkeys(names, "")),
        ranges=True,
    )
    unknown = Notes.of([] if brief else [f"all trials: {text}" for text in matrix.unknown_texts])
    blocks: list[Block] = [*([table] if columns else []), unknown, Notes(about)]
    return Section("margins", "Margins and reasons", "", blocks if matrix.profiles else [])


def _commonest(accuracy: Accuracy | None) -> str:
    """Commonest confusion of a trial as `sea as ice (3)`."""
    if accuracy is None or not accuracy.confusions:
        return words.MISSING
    *pair, n = accuracy.confusions[0]
    label, predicted = (words.plain(accuracy.class_names[number], 40) for number in pair)
    return f"{label} as {predicted} ({n})"


def _under(heading: str, *blocks: Block) -> list[Block]:
    """Blocks below their heading; nothing where the last of them, a table or notes, holds nothing."""
    match blocks[-1]:
        case Table(rows=()) | Table(columns=(_,)) | Notes(notes=[]):
            return []
    return [Heading(heading), *blocks]


def _changes(judged: Judged, answers: Answers, trials: Trials) -> Section:
    """Sentences on what changes a verdict; for published figures the source of each verdict."""
    blocks: list[Block] = []
    if is_published(judged.summaries):
        published = {(each.key, figure.quantity) for each in judged.summaries for figure in each.published}
        reasons = dict.fromkeys(
            (verdict.trial, f"{words.judged_quantity(verdict.quantity)} {verdict.verdict}: {verdict.reason}")
            for verdict in judged.verdicts
            if verdict.verdict != "unknown" or (verdict.trial, verdict.quantity) in published
        )
        blocks = [Notes(notes.shared(reasons, trials))] if reasons else []
        return Section("changes", "Sources of the verdicts", "what was published, and where", blocks)
    every = paragraphs(answers, judged.summaries)
    for heading, sentences in every:
        blocks += [Heading(heading), Notes.of(sentences)]
    gist = ", ".join(heading.replace("What ", "what ") for heading, _ in every)
    return Section("changes", "What would change the verdicts", gist, blocks)


def _missions(missions: Sequence[BriefMissions], summaries: Sequence[TrialSummary]) -> Section:
    blocks: list[Block] = []
    for brief in missions:
        table = mission_table(brief, summaries)
        shown: list[Block] = [Plot("mission", brief.profile), table] if table else []
        blocks += [Heading(brief.title), *shown] if table or brief.reason else []
        blocks += [Text(f"Not simulated: {brief.reason}.")] if brief.reason else []
    played = [mission for brief in missions for mission in brief.missions]
    ranges = []
    for figure in FIGURES:
        if figure.name in _GIST:
            values = [mission.figures[figure.name].in_unit(figure.scale).value for mission in played]
            known = [(value, words.number(value)) for value in values if isinstance(value, float | int)]
            ranges += [f"{figure.heading} {_span(known)} {figure.unit}"] if known else []
    if growing := {mission.trial for mission in played if mission.grows}:
        trials = len({mission.trial for mission in played})
        ranges.append(f"{len(growing)} of {words.counted(trials, 'trial')} overloaded")
    return Section("missions", "Mission", ", ".join(ranges) or "not simulated", blocks)


def _span(values: Sequence[tuple[float, str]]) -> str:
    """`0.883 to 17.8` of (value, text) pairs."""
    (_, low), (_, high) = min(values), max(values)
    return low if low == high else f"{low} to {high}"


def _latency(summaries: Sequence[TrialSummary], trials: Trials) -> Section:
    statements = [
        (summary.key, text)
        for summary in summaries
        for text in (
            f"timed with {summary.timed}" if summary in words.timed(summaries) else "",
            f"up to {summary.concurrency} requests overlap" if summary.concurrency > 1 else "",
        )
    ]
    blocks: list[Block] = [
        Notes(notes.shared(statements, trials)),
        tables.latency(summaries),
        *(Plot("targets"), Plot("latency"), Plot("sessions"), Plot("stages"), Plot("sustained")),
        *_under("Start and memory", tables.start(summaries)),
    ]
    measured = [summary.latency for summary in summaries if summary.latency]
    if not measured:
        return Section("latency", "Latency", "not measured", blocks)
    seconds = _span([(each.median, words.number(each.median)) for each in measured])
    return Section("latency", "Latency", f"{seconds} s; sessions, stages, start and memory", blocks)


def _power(summaries: Sequence[TrialSummary], trials: Trials, *, brief: bool = False) -> Section:
    mixed = scopes_note(rail for summary in summaries for rail in summary.power or ())
    statements = [
        (summary.key, text)
        for summary in summaries
        for text in (
            f"no power: {summary.power_reason}" if summary.power is None else "",
            *(f"{meter_text(rail)}: {rail.reason}" for rail in summary.power or () if rail.reason),
        )
    ]
    rails = tables.power_tables(summaries, brief=brief)
    headed: list[Block] = [block for table in rails for block in (Heading(table.title), table)]
    about = [*([Note(mixed)] if mixed else []), *notes.shared(statements, trials, ranges=brief)]
    plots = [Plot("power-over-time"), Plot("energy")] if rails else []
    reading = [] if brief else reading_notes(summaries)
    blocks = [*map(Text, reading), *headed, Notes(about), *plots]
    means = [
        rail.mean_w for summary in summaries if (rail := summary.primary_rail) and rail.mean_w is not None
    ]
    gist = f"mean {_span([(value, words.number(value)) for value in means])} W, " if means else ""
    meters = dict.fromkeys(rail_text(rail) for summary in summaries for rail in summary.power or ())
    return Section("power", "Power", gist + (words.listed(list(meters)) or "not measured"), blocks)


def _accuracy(judged: Judged, trials: Trials) -> Section:
    summaries, record = judged.summaries, judged.results.experiment
    own = [
        (trial.key, text)
        for trial in record.trials
        if trial.images is not None and trial.key in trials.names
        for text in (
            f"taken on {trial.images.name} ({trial.images.n} images) at the model's own size",
            words.reading(trial.images),
        )
    ]
    statements = [
        (summary.key, text)
        for summary in summaries
        for text in (
            "" if summary.accuracy or not summary.latency else f"no accuracy: {summary.accuracy_reason}",
        )
    ]
    has_overlap = any(summary.accuracy is not None and summary.accuracy.overlapping for summary in summaries)
    images = record.images and f"{words.plain(record.images.name, 80)} ({record.images.n} images)"
    general = (
        f"Measured on {images}, with the artifact and the runtime that were timed."
        if record.images is not None
        else "",
        words.reading(record.images) if record.images is not None else "",
        words.OVERLAP_NOTE if has_overlap else "",
    )
    about = [*map(Note, filter(None, general)), *notes.shared([*own, *statements], trials)]
    matrices = _confusion(summaries, trials.names)
    blocks: list[Block] = [
        Notes(about),
        *([table] if len((table := tables.metric_table("accuracy", summaries)).columns) > 1 else []),
        *([Fold("Confusion matrices: label against prediction", matrices)] if matrices else []),
        Plot("scene"),
        *_under("Outputs compared with golden patches", golden(judged.results, trials.names)),
    ]
    right = [(each.accuracy.k, str(each.accuracy.k)) for each in summaries if each.accuracy]
    n = max((each.accuracy.n for each in summaries if each.accuracy), default=0)
    gist = f"{_span(right)} of {n} images right" if right else "not measured"
    return Section("accuracy", "Accuracy", gist, blocks)


def _confusion(summaries: Sequence[TrialSummary], names: Mapping[str, str]) -> list[Table]:
    matrices = []
    for summary in summaries:
        accuracy = summary.accuracy
        if accuracy is not None and len(accuracy.class_names) > _MATRIX:
            matrices += _worst(names[summary.key], accuracy)
        elif accuracy is not None and accuracy.confusion:
            classes = [words.plain(name, 40) for name in accuracy.class_names]
            counts = zip(classes, accuracy.confusion, strict=False)
            rows = tuple((name, *map(str, of_class)) for name, of_class in counts)
            columns = of_figures("label \\ predicted", *classes)
            matrices.append(Table(names[summary.key], columns, rows, look="matrix"))
    return matrices


def _worst(trial: str, accuracy: Accuracy) -> list[Table]:
    """Tables of the classes with the lowest recall and of the commonest confusions of many classes."""
    classes = [words.plain(name, 40) for name in accuracy.class_names]
    matrix = ", accuracy.confusion of trial.json" if accuracy.confusion else ""
    return [
        Table(
            f"{trial}: the {len(accuracy.worst_classes)} worst classes (all: predictions.parquet{matrix})",
            of_figures("class", "right", "images"),
            tuple((classes[label], str(right), str(n)) for label, right, n in accuracy.worst_classes),
        ),
        Table(
            f"{trial}: the commonest confusions",
            of_figures("label", "predicted", "images"),
            tuple((classes[label], classes[other], str(n)) for label, other, n in accuracy.confusions),
        ),
    ]


def _warnings(judged: Judged, trials: Trials) -> Section:
    record, summaries = exported(judged.results.experiment), judged.summaries
    general = [words.plain(warning) for warning in (*record.warnings, *judged.results.warnings)]
    general += [
        words.plain(f"{subject}: {words.advice(finding)}")
        for subject, finding in zip(words.subjects(record.preflight), record.preflight, strict=True)
        if finding.get("level") not in ("ok", None)
    ]
    failures = [(summary.key, failure) for summary in summaries for failure in summary.failures]
    noted = doubts(summaries, trials)
    found = dict.fromkeys([*noted[NOTED:], *notes.cautions(summaries, trials)])
    warnings = [
        *notes.shared([(summary.key, incomplete_text(summary)) for summary in summaries], trials),
        *notes.failures(failures, trials),
        *map(Note, dict.fromkeys(general)),
        *(note for note in found if note not in noted[:NOTED] or note.each),
        *map(Note, filter(None, [unseen_modes(summaries)])),
    ]
    return Section("warnings", "Warnings", f"{len(warnings)}", [Notes(warnings)] if warnings else [])


def _environment(judged: Judged, trials: Trials) -> Section:
    record = judged.results.experiment
    command = command_line(exported(record).command)
    blocks: list[Block] = [
        *([Command(command)] if command else []),
        *_under("Telemetry", telemetry(judged.results, trials.names)),
        *(Fold(table.title, [table]) for table in environment(judged.results)),
    ]
    gist = (
        f"EdgeBench {words.plain(record.edgebench_version, 40)}, seed {record.seed}; board, runtime, command"
    )
    return Section("environment", "Environment, and how to repeat this", gist, blocks)


# How power and energy are read, for a report with a meter.


_METERS = 4  # whose averaging times are named


def reading_notes(summaries: Sequence[TrialSummary]) -> list[str]:
    """Definitions of mean, peak and net energy; nothing without a meter."""
    rails = [rail for summary in summaries for rail in summary.power or ()]
    if not rails:
        return []
    within = "within the steady passes, without the time between them"
    if any(summary.paced for summary in summaries):
        within = "over whole periods, with the pauses of --period"
    averaged = dict.fromkeys(
        f"{words.number(rail.averaging_ms)} ms for {meter_text(rail)}"
        for rail in rails
        if rail.averaging_ms is not None
    )
    reading = f" A reading is the mean over {', '.join(list(averaged)[:_METERS])}." if averaged else ""
    return [
        f"Mean power and energy are {within}. Peak and p99 are over all readings from the first pass to the "
        "last; a peak between two readings is not seen. Net of idle: energy per image less that of the idle "
        f"device in the same time. Only figures of one scope compare.{reading}"
    ]


# What few sessions cannot show, whatever their figures look like.


SELDOM = 0.05
"""Least share of runs that miss slow starts for which the note is written."""


def unseen_modes(summaries: Sequence[TrialSummary]) -> str:
    """One sentence on the fewest sessions of a result; empty where many were measured, or no interval is."""
    counts = [summary.latency.sessions for summary in summaries if summary.latency is not None]
    fewest = min((count for count in counts if count >= MIN_SESSIONS), default=0)
    if not fewest or unseen_mode_share(fewest) < SELDOM:
        return ""
    return (
        f"{fewest} sessions can miss slow starts: if 30 % of starts are slow, "
        f"{words.percent(unseen_mode_share(fewest), 0)} of runs do not show it"
    )
