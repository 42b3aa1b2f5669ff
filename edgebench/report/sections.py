"""The sections below the first screen of a report, as plain text: each a gist, tables, plots and notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from edgebench.judge.judged import Judged
from edgebench.judge.metrics.accuracy import OVERLAPPING
from edgebench.judge.trial import Confusion, Estimate, Trial
from edgebench.judge.verdicts.front import Front
from edgebench.report import notes, tables, words
from edgebench.report.answer import paragraphs
from edgebench.report.environment import command_line, environment, golden, telemetry
from edgebench.report.matrix import Matrix
from edgebench.report.missions import FIGURES, BriefMissions, mission_table
from edgebench.report.next_steps import report_command
from edgebench.report.notes import Trials
from edgebench.report.page import NOTED, doubts, incomplete_text, is_published
from edgebench.report.renderers.blocks import (
    Block,
    Column,
    Command,
    Fold,
    Heading,
    Note,
    Notes,
    Plot,
    Section,
    Table,
    Text,
    of_figures,
)
from edgebench.report.sharing import sharing_section
from edgebench.report.tables import meter_text, rail_text, scopes_note
from edgebench.results.redaction import exported
from edgebench.stats.intervals import MIN_SESSIONS
from edgebench.stats.shape import unseen_mode_share

_GIST = ("duty_cycle", "backlog")  # of a mission
_MATRIX = 40  # classes of a confusion matrix at most; of more the worst ones and the commonest confusions
_WORST = 10


def sections(judged: Judged, fronts: Sequence[Front], missions: Sequence[BriefMissions]) -> list[Section]:
    """Sections that are not empty, in order."""
    trials = judged.trials
    named = Trials.of(trials)
    every = [
        _changes(judged, fronts, named),
        _missions(missions, trials),
        _latency(trials, named),
        sharing_section(trials, named),
        _power(trials, named),
        _accuracy(judged, named),
        _warnings(judged, named),
        _environment(judged, named),
    ]
    return [section for section in every if section.blocks]


def details(
    judged: Judged, fronts: Sequence[Front], missions: Sequence[BriefMissions], matrix: Matrix
) -> list[Section]:
    """Sections for the terminal: what would pass, margins, one row per trial, power, missions, warnings."""
    trials = judged.trials
    named = Trials.of(trials)
    changes = _changes(judged, fronts, named)
    mission, power = _missions(missions, trials), _power(trials, named, brief=True)
    every = [
        replace(changes, title=changes.title if is_published(trials) else "", gist=""),
        margins(matrix, brief=True),
        _trials(judged, named),
        sharing_section(trials, named),
        *([power] if any(isinstance(block, Table) for block in power.blocks) else []),
        replace(mission, blocks=[Text(block.text) for block in mission.blocks if isinstance(block, Text)]),
        _warnings(judged, named),
    ]
    if not is_published(trials):
        rest = "stages, missions, confusion matrices, telemetry, environment"
        every.append(Section("rest", "In the report", rest, [Command(report_command(judged))]))
    return [section for section in every if section.blocks or section.gist]


def _trials(judged: Judged, named: Trials) -> Section:
    """One row per trial with what the matrix above it lacks."""
    trials = judged.trials
    commonest = [_commonest(trial) for trial in trials]
    table = tables.metric_table("trials", trials, "", ("Commonest confusion", commonest))
    blocks: list[Block] = [table] if len(table.columns) > 1 else []
    of_pages = [*_latency(trials, named).blocks, *_accuracy(judged, named).blocks]
    noted = [note for block in of_pages if isinstance(block, Notes) for note in block.notes if note.who]
    return Section("trials", "Trials", "", [*blocks, Notes(noted)] if blocks or noted else [])


def margins(matrix: Matrix, *, brief: bool = False) -> Section:
    """Margin of each trial by each requirement, and why a verdict is no pass.

    `brief` leaves out what is unknown for all trials, which the sentences above it say.
    """
    texts = [
        (row.name, place, text)
        for row in matrix.all_rows
        for place, cell in enumerate(row.profiles)
        for text in (cell.verdicts if cell else ())
        if not matrix.is_shared(place, text)
    ]
    margins_by_column = words.grouped(
        ((text.name, text.limit, place), (name, text.short)) for name, place, text in texts
    )
    reasons = words.grouped(
        ((name, text.word, text.reason), text.name)
        for name, _, text in texts
        if text.word != "pass" and text.reason
    )
    requirements = list(dict.fromkeys(name for name, _, _ in margins_by_column))
    profiles_by_column = words.grouped(
        ((limit, tuple(margins_by_column[name, limit, place])), matrix.profiles[place].heading)
        for name, limit, place in sorted(margins_by_column, key=lambda column: requirements.index(column[0]))
    )
    names = [row.name for row in matrix.all_rows]
    columns = []
    for (limit, shorts), profiles in profiles_by_column.items():
        heading = limit if len(profiles) == len(matrix.profiles) else f"{words.together(profiles)}: {limit}"
        columns.append((Column(heading, verdict=True), [dict(shorts).get(name, "") for name in names]))
    table = Table.of_columns("margins", "Trial", names, columns)
    statements = [
        (name, f"{words.listed(list(dict.fromkeys(limited)))} {words.screen_word(word)}: {reason}")
        for (name, word, reason), limited in reasons.items()
    ]
    named = Trials(dict(zip(names, names, strict=True)), dict.fromkeys(names, ""))
    unknown = Notes.of([] if brief else [f"all trials: {text}" for text in matrix.unknown_texts])
    listed = Notes(notes.shared(statements, named, ranges=True))
    blocks: list[Block] = [*([table] if columns else []), unknown, listed]
    return Section("margins", "Margins and reasons", "", blocks if matrix.profiles else [])


def _confusion(trial: Trial) -> Confusion | None:
    """Counts of the labelled images; None without them."""
    return next(
        (counts for counts in trial.confusions if counts.images == "images" and counts.worker is None), None
    )


def _commonest(trial: Trial) -> str:
    """Commonest confusion of a trial as `sea as ice (3)`."""
    confusion = _confusion(trial)
    if confusion is None or not confusion.commonest:
        return words.MISSING
    *pair, n = confusion.commonest[0]
    label, predicted = (words.plain(confusion.classes[number], 40) for number in pair)
    return f"{label} as {predicted} ({n})"


def _under(heading: str, *blocks: Block) -> list[Block]:
    """Blocks below their heading; nothing where the last of them, a table or notes, holds nothing."""
    match blocks[-1]:
        case Table(rows=()) | Table(columns=(_,)) | Notes(notes=[]):
            return []
    return [Heading(heading), *blocks]


def _changes(judged: Judged, fronts: Sequence[Front], named: Trials) -> Section:
    """Sentences on limits and steps that change a verdict; for published figures the sources of verdicts."""
    blocks: list[Block] = []
    if is_published(judged.trials):
        reasons = dict.fromkeys(
            (
                verdict.trial,
                f"{words.judged_quantity(verdict.requirement.quantity)} {verdict.word}: {verdict.reason}",
            )
            for verdict in judged.verdicts
            if verdict.word != "unknown" or verdict.estimate.basis == "published"
        )
        blocks = [Notes(notes.shared(reasons, named))] if reasons else []
        return Section("changes", "Sources of the verdicts", "what was published, and where", blocks)
    headed = paragraphs(judged.decisions, fronts, judged.trials, judged.verdicts)
    for heading, sentences in headed:
        blocks += [Heading(heading), Notes.of(sentences)]
    gist = ", ".join(heading.replace("What ", "what ") for heading, _ in headed)
    return Section("changes", "What would change the verdicts", gist, blocks)


def _missions(missions: Sequence[BriefMissions], trials: Sequence[Trial]) -> Section:
    blocks: list[Block] = []
    for brief in missions:
        table = mission_table(brief, trials)
        shown: list[Block] = [Plot("mission", brief.profile), table] if table else []
        blocks += [Heading(brief.title), *shown] if table or brief.reason else []
        blocks += [Text(f"Not simulated: {brief.reason}.")] if brief.reason else []
    played = [mission for brief in missions for mission in brief.missions]
    ranges = []
    for number in FIGURES:
        estimates = [mission.estimates[number.name] for mission in played if number.name in _GIST]
        if span := _span(estimates, number.scale):
            ranges.append(f"{number.heading} {span} {number.unit}")
    if overloaded := {mission.trial for mission in played if mission.is_overloaded}:
        count = len({mission.trial for mission in played})
        ranges.append(f"{len(overloaded)} of {words.counted(count, 'trial')} overloaded")
    return Section("missions", "Mission", ", ".join(ranges) or "not simulated", blocks)


def _span(estimates: Iterable[Estimate | None], scale: float = 1.0) -> str:
    """Lowest to highest value: `0.883 to 17.8`; empty without values."""
    values = [estimate.value / scale for estimate in estimates if estimate and estimate.value is not None]
    return words.span(values) if values else ""


def _latency(trials: Sequence[Trial], named: Trials) -> Section:
    explained = words.timed(trials)
    statements = [(trial.key, f"timed with {trial.scene.text}") for trial in explained]
    overlapping = [trial for trial in trials if trial.concurrency > 1]
    statements += [(trial.key, f"up to {trial.concurrency} requests overlap") for trial in overlapping]
    blocks: list[Block] = [
        Notes(notes.shared(statements, named)),
        tables.latency(trials),
        *(Plot("targets"), Plot("latency"), Plot("sessions"), Plot("stages"), Plot("sustained")),
        *_under("Start and memory", tables.start(trials)),
    ]
    span = _span(trial.latency for trial in trials)
    gist = f"{span} s; sessions, stages, start and memory" if span else "not measured"
    return Section("latency", "Latency", gist, blocks)


def _power(trials: Sequence[Trial], named: Trials, *, brief: bool = False) -> Section:
    statements = []
    for trial in trials:
        reason = trial.estimate("power_mean_w").reason
        statements += [] if trial.rails else [(trial.key, f"no power: {reason}" if reason else "")]
        statements += [
            (trial.key, f"{meter_text(rail)}: {rail.reason}") for rail in trial.rails if rail.reason
        ]
    rails = tables.power_tables(trials, brief=brief)
    headed: list[Block] = [block for table in rails for block in (Heading(table.title), table)]
    mixed = scopes_note(rail for trial in trials for rail in trial.rails)
    listed = [*([Note(mixed)] if mixed else []), *notes.shared(statements, named, ranges=brief)]
    plots = [Plot("power-over-time"), Plot("energy")] if rails else []
    reading = [] if brief else reading_notes(trials)
    blocks = [*map(Text, reading), *headed, Notes(listed), *plots]
    span = _span(trial.estimate("power_mean_w") for trial in trials if trial.rails)
    gist = f"mean {span} W, " if span else ""
    meters = dict.fromkeys(rail_text(rail) for trial in trials for rail in trial.rails)
    return Section("power", "Power", gist + (words.listed(list(meters)) or "not measured"), blocks)


def _accuracy(judged: Judged, named: Trials) -> Section:
    trials, record = judged.trials, judged.results.experiment
    statements = []
    for planned in record.trials:
        if planned.images is not None and planned.key in named.names:
            taken = f"taken on {planned.images.name} ({planned.images.n} images) at the model's own size"
            statements += [(planned.key, taken), (planned.key, words.reading(planned.images))]
    shares = {trial.key: trial.estimate("accuracy") for trial in trials}
    statements += [
        (trial.key, f"no accuracy: {shares[trial.key].reason}")
        for trial in trials
        if trial.was_measured and shares[trial.key].value is None and shares[trial.key].reason
    ]
    right = {key: round(share.value * share.n) for key, share in shares.items() if share.value is not None}
    general = []
    if record.images is not None:
        images = f"Images: {words.plain(record.images.name, 80)} ({record.images.n} images)."
        timed = "Accuracy is that of the artifact and the runtime that were timed."
        general += [f"{images} {timed}", words.reading(record.images)]
    if any(OVERLAPPING in share.notes for share in shares.values()):
        general.append(words.OVERLAP_NOTE)
    matrices = [table for trial in trials for table in _confusion_tables(trial, named.names[trial.key])]
    texts = [words.right_of(share) for share in shares.values()]
    table = tables.metric_table("accuracy", trials, "", ("Right of all images", texts))
    blocks: list[Block] = [
        Notes([*map(Note, filter(None, general)), *notes.shared(statements, named)]),
        *([table] if len(table.columns) > 1 else []),
        *([Fold("Confusion matrices: label against prediction", matrices)] if matrices else []),
        Plot("scene"),
        *_under("Outputs compared with golden patches", golden(judged.results, named.names)),
    ]
    counts = {shares[key].n for key in right}
    gist = f"{words.span(right.values(), 0)} of {words.span(counts, 0)} images right"
    gist = gist if right else "not measured"
    return Section("accuracy", "Accuracy", gist, blocks)


def _confusion_tables(trial: Trial, name: str) -> list[Table]:
    """Counts of the classes; of many classes the worst ones and the commonest confusions."""
    confusion = _confusion(trial)
    if confusion is None:
        return []
    classes = [words.plain(label, 40) for label in confusion.classes]
    if len(classes) <= _MATRIX:
        counts = zip(classes, confusion.counts, strict=False)
        rows = tuple((label, *map(str, by_prediction)) for label, by_prediction in counts)
        columns = of_figures("label \\ predicted", *classes)
        return [Table(name, columns, rows, look="matrix")] if rows else []
    present = [label for label, n in enumerate(confusion.n) if n]
    worst = sorted(present, key=lambda label: confusion.right[label] / confusion.n[label])[:_WORST]
    matrix = ", confusions of trial.json" if confusion.counts else ""
    return [
        Table(
            f"{name}: the {len(worst)} worst classes (all: predictions.parquet{matrix})",
            of_figures("class", "right", "images"),
            tuple((classes[place], str(confusion.right[place]), str(confusion.n[place])) for place in worst),
        ),
        Table(
            f"{name}: the commonest confusions",
            of_figures("label", "predicted", "images"),
            tuple((classes[label], classes[other], str(n)) for label, other, n in confusion.commonest),
        ),
    ]


def _warnings(judged: Judged, named: Trials) -> Section:
    record, trials = exported(judged.results.experiment), judged.trials
    general = [words.plain(warning) for warning in (*record.warnings, *judged.results.warnings)]
    general += [
        words.plain(f"{subject}: {words.advice(finding)}")
        for subject, finding in zip(words.subjects(record.preflight), record.preflight, strict=True)
        if finding.get("level") not in ("ok", None)
    ]
    failures = [(trial.key, failure) for trial in trials for failure in trial.failures]
    noted = doubts(judged, named)
    cautions = dict.fromkeys([*noted[NOTED:], *notes.cautions(trials, named)])
    warnings = [
        *notes.shared([(trial.key, incomplete_text(trial)) for trial in trials], named),
        *notes.failures(failures, named),
        *map(Note, dict.fromkeys(general)),
        *(note for note in cautions if note not in noted[:NOTED] or note.each),
        *map(Note, filter(None, [unseen_modes(trials)])),
    ]
    return Section("warnings", "Warnings", f"{len(warnings)}", [Notes(warnings)] if warnings else [])


def _environment(judged: Judged, named: Trials) -> Section:
    record = judged.results.experiment
    command = command_line(exported(record).command)
    blocks: list[Block] = [
        *([Command(command)] if command else []),
        *_under("Telemetry", telemetry(judged.results, named.names)),
        *(Fold(table.title, [table]) for table in environment(judged.results)),
    ]
    version = words.plain(record.edgebench_version, 40)
    gist = f"EdgeBench {version}, seed {record.seed}; board, runtime, command"
    return Section("environment", "Environment, and how to repeat this", gist, blocks)


# How power and energy are read, for a report with a meter.


_METERS = 4  # whose averaging times are named


def reading_notes(trials: Sequence[Trial]) -> list[str]:
    """Definitions of mean, peak and net energy; nothing without a meter."""
    rails = [rail for trial in trials for rail in trial.rails]
    if not rails:
        return []
    within = "within the steady passes, without the time between them"
    if any(trial.period_s is not None for trial in trials):
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
        f"device in the same time. Only numbers of one scope compare.{reading}"
    ]


# Slow starts, which few sessions cannot show.


SELDOM = 0.05
"""Least share of runs that miss slow starts for which the note is written."""


def unseen_modes(trials: Sequence[Trial]) -> str:
    """One sentence on the fewest sessions of a result; empty where many were measured, or no interval is."""
    counts = [len(trial.latency.sessions) for trial in trials if trial.latency is not None]
    fewest = min((count for count in counts if count >= MIN_SESSIONS), default=0)
    if not fewest or unseen_mode_share(fewest) < SELDOM:
        return ""
    return (
        f"{fewest} sessions can miss slow starts: if 30 % of starts are slow, "
        f"{words.percent(unseen_mode_share(fewest), 0)} of runs do not show it"
    )
