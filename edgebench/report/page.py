"""A report as one document of plain text: title, decisions, and sections of tables, plots and sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from edgebench.judge.answers import Answers, answers
from edgebench.judge.decision import Decision
from edgebench.judge.decision import decisions as decisions_of
from edgebench.judge.judged import Judged
from edgebench.judge.power import headline_rails
from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.judge.verdict import WORDS
from edgebench.records.stored import ExperimentRecord, SceneRecord
from edgebench.report import notes, run_tables, tables, verdict_matrix, words
from edgebench.report.answer import Answer, answer_of, paragraphs
from edgebench.report.blocks import (
    Block,
    Command,
    Fold,
    Heading,
    Note,
    Notes,
    Plot,
    Table,
    Text,
    facts,
    of_figures,
)
from edgebench.report.environment import command_line, environment, golden
from edgebench.report.metric_text import declared_texts, meter_text, scopes_note
from edgebench.report.missions import BriefMissions, brief_missions, mission_table
from edgebench.report.notes import Trials
from edgebench.report.run_tables import (
    definitions,
    reading_notes,
    telemetry,
    unseen_modes,
)
from edgebench.results.load import StoredResults
from edgebench.results.redaction import exported
from edgebench.stats.warnings import Flag

_MAX_MATRIX = 40  # classes up to which a confusion matrix can be read


# The document: its sections in their order.


@dataclass(frozen=True)
class Section:
    """One part of the report; `anchor` is what the page's contents point to."""

    anchor: str
    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Card:
    """What comes of one profile: how many trials got each verdict, and the decision."""

    title: str
    answer: Answer
    counts: Sequence[tuple[int, str]]


@dataclass(frozen=True)
class Report:
    """The whole of it; `cautions` come first, before the sections."""

    name: str
    title: str
    subtitle: str
    cards: Sequence[Card]
    cautions: Sequence[Block]
    sections: Sequence[Section]
    footer: str


def report(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    profiles: Sequence[Profile] = (),
    missions: Sequence[BriefMissions] | None = None,
) -> Report:
    """Everything but what is drawn, as text that whatever shows it still has to escape.

    `profiles` are those of the verdicts, for their titles; `missions` those of the profiles, where they have
    been played already.
    """
    record = results.experiment
    names = tables.trial_names(summaries)
    trials = Trials.of(summaries, names)
    beyond = answers(summaries, profiles, verdicts)
    if missions is None:
        missions = brief_missions(results, summaries, profiles)
    sections = (
        Section("verdicts", "Verdicts", _verdicts(summaries, verdicts, beyond, trials)),
        Section(
            "changes",
            "What would pass, and what is best",
            changes(summaries, beyond)
            or [Text("Nothing is proposed: no profile was asked for, or all is published.")],
        ),
        Section("missions", "Missions", _missions(missions, summaries)),
        Section("latency", "Latency", _latency(summaries, trials)),
        Section("accuracy", "Accuracy", _accuracy(results, summaries, trials)),
        Section("scene", "Scene", [Plot("scene")]),
        Section("power", "Power and memory", _power(summaries, trials)),
        Section("warnings", "Warnings", _warnings(results, summaries, trials)),
        Section(
            "environment",
            "Environment",
            [
                *_under("Beside the sessions", telemetry(results, names)),
                *(Fold(table.title, [table]) for table in environment(results)),
            ],
        ),
        Section("repeat", "Measure it again", _repeat(record, summaries)),
    )
    return Report(
        words.plain(record.name, 120),
        _title(results, summaries),
        _subtitle(results, summaries),
        _cards(profiles, summaries, verdicts, beyond),
        _cautions(summaries, trials),
        sections,
        f"Made by EdgeBench from the result {words.plain(results.path.name, 120)}; "
        f"measured by version {words.plain(record.edgebench_version, 40)}.",
    )


def _under(heading: str, *blocks: Block) -> list[Block]:
    """Blocks below their heading; nothing where the last of them, a table or notes, holds nothing."""
    match blocks[-1]:
        case Table(rows=()) | Notes(notes=[]):
            return []
    return [Heading(heading), *blocks]


def _verdicts(
    summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict], beyond: Answers, trials: Trials
) -> list[Block]:
    blocks: list[Block] = []
    for profile, matrix in verdict_matrix.matrices(summaries, verdicts, beyond.decisions).items():
        ours = [verdict for verdict in verdicts if verdict.profile == profile]
        about = notes.of_verdicts(ours, summaries, trials)
        blocks += [Heading(words.plain(profile, 80)), matrix, Notes(about)]
    return blocks or [Text("There are none: no profile was asked for.")]


def changes(summaries: Sequence[TrialSummary], beyond: Answers) -> list[Block]:
    """What would have to change; of published figures nothing is proposed."""
    blocks: list[Block] = []
    for heading, sentences in [] if _is_published(summaries) else paragraphs(beyond, summaries):
        blocks += [Heading(heading), Notes.of(sentences)]
    return blocks


def _missions(missions: Sequence[BriefMissions], summaries: Sequence[TrialSummary]) -> list[Block]:
    blocks: list[Block] = []
    for brief in missions:
        table = mission_table(brief, summaries)
        blocks += [Heading(words.plain(brief.profile, 80)), Plot("mission", brief.profile)]
        blocks += [table] if table else []
        blocks += [Text(f"None was played: {brief.reason}.")] if brief.reason else []
    return blocks or [Text("None was played: no profile was asked for.")]


def _latency(summaries: Sequence[TrialSummary], trials: Trials) -> list[Block]:
    blocks: list[Block] = [Plot("targets"), Plot("latency")]
    timed = notes.shared([(summary.key, summary.timed) for summary in words.timed(summaries)], trials)
    for name, what, table in tables.latency_tables(summaries):
        blocks.append(Heading(f"{name}: {what}"))
        if name == "image_s" and timed:
            blocks += [Text("What a pass is:"), Notes(timed)]
        blocks.append(table)
    ended = [
        (summary.key, summary.ended.text)
        for summary in summaries
        if summary.ended is not None and summary.ended.by != "sessions"
    ]
    stages = tables.stages(summaries)
    return [
        *blocks,
        *_under("Why no more was measured", Notes(notes.shared(ended, trials))),
        *(Heading("Sessions and passes"), Plot("sessions"), Heading("Stages"), Plot("stages")),
        *([stages] if stages.rows else []),
        *_under("Paced: a scene every so many seconds", run_tables.paced_table(summaries)),
        *_under("Sustained: a median a minute", Plot("sustained"), run_tables.sustained_table(summaries)),
        *_under("Cold figures", tables.cold(summaries)),
    ]


def _accuracy(results: StoredResults, summaries: Sequence[TrialSummary], trials: Trials) -> list[Block]:
    matrices = _matrices(summaries, trials.names)
    title = "Confusion matrices: how many patches of a class were predicted as which"
    return [
        Notes(_accuracy_notes(results, summaries, trials)),
        tables.accuracy(summaries),
        Plot("accuracy"),
        *([Fold(title, matrices)] if matrices else []),
        *_under("Outputs compared with golden patches", golden(results, trials.names)),
    ]


def _power(summaries: Sequence[TrialSummary], trials: Trials) -> list[Block]:
    rails: list[Block] = []
    for table in tables.power_tables(summaries):
        rails += _under(table.title, table)
    return [
        *map(Text, reading_notes(summaries)),
        *rails,
        Notes(_power_notes(summaries, trials)),
        *(Plot("power-over-time"), Plot("energy"), Heading("Memory")),
        tables.memory(summaries),
    ]


def _repeat(record: ExperimentRecord, summaries: Sequence[TrialSummary]) -> list[Block]:
    seed = f"With --seed {record.seed} the sessions run in the same order."
    meanings = facts("definitions", definitions())
    return [
        Command(command_line(exported(record).command) or "the command was not kept"),
        *([] if _is_published(summaries) else [Text(seed)]),
        Fold("How the figures are defined", [meanings]),
    ]


def _cautions(summaries: Sequence[TrialSummary], trials: Trials) -> list[Block]:
    """What was not measured, and what the devices say of their figures."""
    incomplete = notes.shared([(summary.key, _incomplete(summary)) for summary in summaries], trials)
    failures = [(summary.key, failure) for summary in summaries for failure in summary.failures]
    # A failed session that was repeated leaves nothing unmeasured.
    heading = "Not everything was measured:" if incomplete else _REPEATED
    failed = [*incomplete, *notes.failures(failures, trials)]
    said = notes.cautions(summaries, trials, [Flag.SAID])
    return [
        *_under(heading, Notes(failed)),
        *_under("What the devices say of their figures:", Notes(said)),
    ]


_REPEATED = "Measured in full, after sessions that failed were repeated:"


def _title(results: StoredResults, summaries: Sequence[TrialSummary]) -> str:
    targets = list(dict.fromkeys(words.plain(summary.target, 60) for summary in summaries))
    if not targets:
        return f"{words.plain(results.experiment.name, 120)}: no trials"
    where = words.listed(targets) if len(targets) < 4 else words.counted(len(targets), "target")
    noun = "published trial" if _is_published(summaries) else "trial"
    return f"{words.counted(len(summaries), noun)} of {words.families(summaries)} on {where}"


def _subtitle(results: StoredResults, summaries: Sequence[TrialSummary]) -> str:
    record = results.experiment
    if _is_published(summaries):
        return f"{words.plain(record.name, 120)} · figures that others published, none measured here"
    done = sum(summary.status == "done" for summary in summaries)
    return (
        f"{words.plain(record.name, 120)} · {words.plain(record.created_utc, 40)} · "
        f"{done} of {words.counted(len(summaries), 'trial')} complete, "
        f"{run_tables.most_sessions(record)} of {run_tables.steady_part(record)} each · "
        f"scene {words.plain(record.scene.name, 80)}, {_counted(record.scene)}"
    )


def _is_published(summaries: Sequence[TrialSummary]) -> bool:
    return any(summary.published for summary in summaries)


def _counted(scene: SceneRecord) -> str:
    if scene.kind == "samples":
        return words.counted(scene.patches, "sample")
    return "1 patch" if scene.patches == 1 else f"{scene.patches} patches"


def _cards(
    profiles: Sequence[Profile],
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    beyond: Answers,
) -> list[Card]:
    wholes = notes.wholes(verdicts)
    titles = {profile.name: profile.title for profile in profiles}
    cards = []
    for decision in beyond.decisions:
        judged = Counter(whole.verdict for (_, name), whole in wholes.items() if name == decision.profile)
        title = [words.plain(decision.profile, 80), words.plain(titles.get(decision.profile, ""), 120)]
        counts = [(judged[word], word) for word in reversed(WORDS) if judged[word]]
        answer = answer_of(decision, summaries, verdicts)
        cards.append(Card(": ".join(filter(None, title)), answer, counts))
    return cards


def _warnings(results: StoredResults, summaries: Sequence[TrialSummary], trials: Trials) -> list[Block]:
    record = exported(results.experiment)
    general = [words.plain(warning) for warning in (*record.warnings, *results.warnings)]
    general += [
        words.plain(f"{subject}: {words.advice(finding)}")
        for subject, finding in zip(words.subjects(record.preflight), record.preflight, strict=True)
        if finding.get("level") not in ("ok", None)
    ]
    warnings = [*map(Note, dict.fromkeys(general)), *notes.cautions(summaries, trials)]
    unseen = unseen_modes(summaries)
    return [Notes(warnings) if warnings else Text("None."), *([Text(unseen)] if unseen else [])]


def _power_notes(summaries: Sequence[TrialSummary], trials: Trials) -> list[Note]:
    mixed = scopes_note(rail for summary in summaries for rail in summary.power or ())
    statements = [
        (summary.key, text)
        for summary in summaries
        for text in (
            f"no power: {summary.power_reason}" if summary.power is None else "",
            *(f"{meter_text(rail)}: {rail.reason}" for rail in summary.power or () if rail.reason),
            *declared_texts(summary),
        )
    ]
    return [*([Note(mixed)] if mixed else []), *notes.shared(statements, trials)]


def _accuracy_notes(results: StoredResults, summaries: Sequence[TrialSummary], trials: Trials) -> list[Note]:
    """What accuracy was taken on; of trials with images of their own which."""
    record = results.experiment
    own = [
        (trial.key, f"taken on {trial.images.name} ({trial.images.n} images) at the model's own size")
        for trial in record.trials
        if trial.images is not None and trial.key in trials.names
    ]
    has_overlap = any(summary.accuracy is not None and summary.accuracy.overlapping for summary in summaries)
    general = (
        f"Taken on {words.plain(record.images.name, 80)} ({record.images.n} images) "
        "with the very artifact that was timed, on the runtime that was timed."
        if record.images is not None
        else f"There is none: {words.plain(record.images_reason)}"
        if record.images_reason
        else "",
        words.OVERLAP_NOTE if has_overlap else "",
    )
    return [*notes.shared(own, trials), *map(Note, filter(None, general))]


def _matrices(summaries: Sequence[TrialSummary], names: Mapping[str, str]) -> list[Table]:
    matrices = []
    for summary in summaries:
        if summary.accuracy is None or not 0 < len(summary.accuracy.confusion) <= _MAX_MATRIX:
            continue
        classes = [words.plain(name, 40) for name in summary.accuracy.class_names]
        columns = of_figures("label \\ predicted", *classes)
        counts = zip(classes, summary.accuracy.confusion, strict=False)
        rows = tuple((name, *map(str, of_class)) for name, of_class in counts)
        title = f"{names[summary.key]}: {words.right_of(summary.accuracy)}"
        matrices.append(Table(title, columns, rows, look="matrix"))
    return matrices


# What a run ends with, for the terminal: the figures target by target, then the verdicts.


def brief(
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    decisions: Sequence[Decision] = (),
    *,
    figures: bool = True,
) -> list[Block]:
    """The tables that a run ends with.

    Args:
        summaries: the trials in the order in which they shall appear.
        verdicts: what they were judged to be; empty where no profile was asked for.
        decisions: what the verdicts of each profile come to.
        figures: whether the tables of figures are shown too, or the verdicts alone.
    """
    if not summaries:
        return [Text("There are no trials in this result.")]
    names, blocks = words.labels(summaries), list[Block]()
    for target, group in notes.by_target(summaries).items() if figures else ():
        measured = [summary for summary in group if _has_figures(summary)]
        blocks.append(Heading(f"{target}: {words.families(group)}"))
        blocks += [tables.metric_table("terminal", measured, names=names)] if measured else []
        for table in tables.power_tables(group, names, headline=True):
            blocks += [Text(f"power and energy an image by {table.title}"), table]
        blocks.append(Notes(_figure_notes(group, names)))
    by_profile = {decision.profile: decision for decision in decisions}
    for profile, matrix in verdict_matrix.matrices(summaries, verdicts, decisions).items():
        blocks.append(Heading(f"Verdicts by {words.plain(profile, 80)}"))
        if profile in by_profile:
            blocks += map(Text, answer_of(by_profile[profile], summaries, verdicts).sentences)
        blocks.append(matrix)
    long_names = tables.trial_names(summaries)
    if verdicts:
        symbols = ", ".join(f"{symbol} {word}" for word, symbol in words.SYMBOLS.items())
        blocks.append(Text(f"{symbols}; behind it the margin, in the limit's unit"))
        told = [verdict for verdict in verdicts if verdict.verdict != "pass" or verdict.declared]
        blocks.append(Notes(notes.of_verdicts(told, summaries, Trials.of(summaries, long_names))))
    if not figures:
        return [*blocks, Notes(_figure_notes(summaries, long_names))]
    rails = [rail for summary in summaries for rail in headline_rails(summary.power or ())]
    return [*blocks, Notes.of([unseen_modes(summaries), scopes_note(rails)])]


def _figure_notes(group: Sequence[TrialSummary], names: Mapping[str, str]) -> list[Note]:
    """What the table of figures cannot say: why trials have none, and what is to be minded."""
    trials = Trials.of(group, names)
    timed = {summary.key for summary in words.timed([each for each in group if _has_figures(each)])}
    statements = [
        (summary.key, text)
        for summary in group
        for text in _statements(summary, is_timed=summary.key in timed)
    ]
    cautions = notes.cautions(group, trials)
    return [
        *notes.shared(statements, trials),
        *(Note(f"warning: {note.text}", note.who) for note in cautions),
    ]


def _incomplete(summary: TrialSummary) -> str:
    """Why a trial was not measured in full; empty where it was."""
    if summary.status == "done":
        return ""
    return f"{summary.status.replace('_', ' ')}: {summary.reason or 'no reason was kept'}"


def _has_figures(summary: TrialSummary) -> bool:
    return summary.latency is not None or summary.emulated


def _statements(summary: TrialSummary, is_timed: bool) -> list[str]:
    """What is to be said of one trial; empty sentences are of nothing."""
    is_done, latency, ended = summary.status == "done", summary.latency, summary.ended
    has_figures, rails = _has_figures(summary), headline_rails(summary.power or ())
    in_flight = f"up to {summary.concurrency} requests in flight at once: infer_s is a throughput"
    no_interval = latency is not None and latency.low is None and not summary.cautions
    return [
        f"timed with {summary.timed}" if is_timed else "",
        in_flight if has_figures and summary.concurrency > 1 else "",
        _incomplete(summary),
        *(f"a failed session was repeated: {failure}" for failure in summary.failures if is_done),
        f"ended: {ended.text}" if ended is not None and is_done and ended.by != "sessions" else "",
        f"* {words.assumed(summary)}" if summary.assumed else "",
        f"no accuracy: {summary.accuracy_reason}" if summary.accuracy is None and has_figures else "",
        f"no image_s: {summary.untimed_reason}" if summary.untimed_reason else "",
        f"no instructions: {summary.instructions_reason}" if summary.instructions_reason else "",
        *declared_texts(summary),
        *(f"power by {meter_text(rail)}: {rail.reason}" for rail in rails if rail.reason),
        f"no interval from {words.counted(latency.sessions, 'session')}" if latency and no_interval else "",
    ]


# Published figures, for the terminal: a matrix a profile, then what every verdict rests on, with its source.


def published_brief(judged: Judged) -> list[Block]:
    """The verdicts on published figures, then the reason that a source or a board gives for each."""
    summaries, verdicts = judged.summaries, judged.verdicts
    names, shown = _published_rows(judged)
    decided = decisions_of(summaries, verdicts, [])  # nothing is proposed of what others measured
    matrices = verdict_matrix.matrices(shown, verdicts, names=names)
    published = {(each.key, figure.quantity) for each in summaries for figure in each.published}
    reasons = dict.fromkeys(
        (verdict.trial, f"{verdict.quantity} {verdict.verdict}: {verdict.reason}")
        for verdict in verdicts
        if verdict.verdict != "unknown" or (verdict.trial, verdict.quantity) in published
    )
    blocks: list[Block] = [Heading("Published figures: none of them was measured here")]
    for decision in decided:
        headline = answer_of(decision, summaries, verdicts).headline
        blocks += [Heading(words.plain(decision.profile, 80)), Text(headline), matrices[decision.profile]]
    return [
        *blocks,
        Heading("What the verdicts rest on"),
        Notes(notes.shared(reasons, Trials.of(summaries, names))),
        Text("Of all else that these profiles ask for nothing was published."),
    ]


def _published_rows(judged: Judged) -> tuple[dict[str, str], list[TrialSummary]]:
    """What each trial is called, and the trials with a row: of a target whose verdicts are alike one."""
    targets = notes.by_target(judged.summaries)
    names = {
        key: f"{words.plain(target, 60)} {label}"
        for target, group in targets.items()
        for key, label in words.labels(group).items()
    }
    by_trial = words.grouped(
        (each.trial, (each.profile, each.requirement, each.verdict, each.margin, each.low, each.high))
        for each in judged.verdicts
    )
    rows = []
    for target, group in targets.items():
        first = group[0]
        if all(by_trial[summary.key] == by_trial[first.key] for summary in group):
            names[first.key] = words.plain(target, 60)
            group = [first]
        rows += group
    return names, rows
