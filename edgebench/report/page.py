"""A report as one document of plain text: title, decisions, and sections of tables, plots and sentences."""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from pydantic import TypeAdapter

from edgebench.judge.answers import Answers, answers
from edgebench.judge.profile import Profile
from edgebench.judge.trial_summary import PUBLISHED, TrialSummary, Verdict
from edgebench.judge.verdict import WORDS
from edgebench.records.stored import ExperimentRecord, SceneRecord
from edgebench.records.target import Target
from edgebench.report import notes, run_tables, tables, verdict_matrix, words
from edgebench.report.answer import Answer, answer_of, paragraphs
from edgebench.report.blocks import Block, Command, Fold, Heading, Notes, Plot, Text
from edgebench.report.metric_text import declared_texts, meter_text, scopes_note
from edgebench.report.mission_pages import mission_table
from edgebench.report.missions import BriefMissions, brief_missions
from edgebench.report.notes import Note, Trials
from edgebench.report.run_tables import (
    definitions,
    most_sessions,
    reading_notes,
    steady_part,
    telemetry,
    unseen_modes,
)
from edgebench.report.tables import Column, Table, of_figures
from edgebench.results.load import StoredResults
from edgebench.results.redaction import exported
from edgebench.stats.warnings import Flag

# What was measured on and how, as pairs of a name and a value: host, targets, experiment, checks.


_MAX_ROWS = 80
_UNKNOWN = "not known"
_OF_COMPILERS = ("compiler", "operations")


def _facts(title: str, rows: Iterable[tuple[str, str]]) -> Table:
    return Table(title, (Column("fact"), Column("value", long=True)), tuple(rows), look="facts")


def _gathered(rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The rows, those of which nothing is known as one at the end."""
    rows = list(rows)
    unknown = [name for name, text in rows if text == _UNKNOWN]
    known = [(name, text) for name, text in rows if text != _UNKNOWN]
    return (*known, *([(_UNKNOWN, ", ".join(unknown))] if unknown else []))


_TARGET = TypeAdapter(Target)


def environment(results: StoredResults) -> list[Table]:
    """The experiment, the host, and each target with its board and runtime as its sessions found them.

    Of published figures the targets alone: nothing was measured.
    """
    record = exported(results.experiment)
    groups = [_facts("Experiment", _experiment(record)), _facts("Host", _gathered(flat(record.host)))]
    if record.targets and all(target.device == PUBLISHED for target in record.targets):
        groups = []
    for target in record.targets:
        declared = _TARGET.dump_python(target, mode="json", exclude_defaults=True)
        values_by_fact = words.grouped(
            fact
            for trial in record.trials
            if trial.target == target.name
            for session in results.session_records(trial.key)
            for fact in (*flat(session.device, "device"), *flat(session.runtime, "runtime"))
        )
        seen = [(name, _several(list(dict.fromkeys(values)))) for name, values in values_by_fact.items()]
        rows = [*flat(declared, "declared"), *seen][: 2 * _MAX_ROWS]
        groups.append(_facts(f"Target {words.plain(target.name, 80)}", _gathered(rows)))
    checks = (
        (words.plain(f"{finding.get('level', '')}: {subject}", 120), words.plain(words.advice(finding)))
        for subject, finding in zip(words.subjects(record.preflight), record.preflight, strict=True)
    )
    groups.append(_facts("Compiled models", itertools.islice(_compiled(record), _MAX_ROWS)))
    groups.append(_facts("Checks before the start", checks))
    return [group for group in groups if group.rows]


def _compiled(record: ExperimentRecord) -> Iterator[tuple[str, str]]:
    """What a device's own compiler said of each model; nothing for models that none was needed for."""
    for trial in record.trials:
        compiler_facts = {name: trial.provenance[name] for name in _OF_COMPILERS if name in trial.provenance}
        yield from flat(compiler_facts, f"{trial.target} {trial.variant}")


def golden(results: StoredResults, names: Mapping[str, str]) -> Table:
    """How far the outputs of each trial were from the golden scores, over all of its sessions."""
    checks_of = {
        trial.key: [
            session.golden for session in results.session_records(trial.key) if session.golden is not None
        ]
        for trial in results.experiment.trials
    }
    rows = [
        (
            names.get(key, key),
            str(len(checks)),
            f"{max(check.max_abs_diff for check in checks):.3g}",
            f"{min(check.tolerance for check in checks):.3g}",
            f"{min(check.top1_equal for check in checks)}/{max(check.n for check in checks)}",
            words.plain(", ".join(sorted({check.reference for check in checks})), 120),
        )
        for key, checks in checks_of.items()
        if checks
    ]
    figures = ("sessions checked", "largest difference of a score", "accepted", "same class")
    return Table(
        "golden patches",
        (*of_figures("trial", *figures), Column("compared with", long=True)),
        tuple(rows),
        caption="before anything is timed, patches with known scores go through every session",
    )


def flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested facts as `outer.inner` pairs; bytes in readable units; at most 80 pairs."""
    for count, (name, text) in enumerate(_flat(value, prefix, depth=0)):
        if count == _MAX_ROWS:
            yield "...", "more is in the result's folder"
            return
        yield name, text


def _flat(value: Mapping[str, Any], prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    for key, item in value.items():
        name = words.plain(f"{prefix}.{key}" if prefix else key, 100)
        if isinstance(item, Mapping) and depth < 5:
            yield from _flat(item, name, depth + 1)
        elif item is None:
            yield name, _UNKNOWN
        elif isinstance(item, bool):
            yield name, "yes" if item else "no"
        elif isinstance(item, int) and str(key).endswith("_bytes"):
            yield name, words.size(item)
        elif isinstance(item, list | tuple):
            between = "; " if any(isinstance(part, Mapping) for part in item) else ", "
            yield name, between.join(_part(part) for part in item[:20]) or "none"
        else:
            yield name, words.plain(item, 300)


def _part(part: object) -> str:
    """One item of a list; one with fields as `name value` pairs."""
    if not isinstance(part, Mapping):
        return words.plain(part, 80)
    return words.plain(", ".join(f"{name} {value}" for name, value in part.items()), 160)


def _several(values: Sequence[str]) -> str:
    """One value, or the few that the sessions differed in, or how many they were."""
    if len(values) <= 3:
        return " / ".join(values)
    return f"{values[0]} / {values[1]} / ... ({len(values)} different values)"


def _experiment(record: ExperimentRecord) -> list[tuple[str, str]]:
    scene, images = record.scene, record.images
    size = f", {scene.height} x {scene.width}, {scene.rows} x {scene.columns} patches"
    settings = list(record.config.items())[:_MAX_ROWS]
    absent = ", ".join(words.plain(name, 80) for name, setting in settings if _absent(setting))
    rows = [
        ("started", record.created_utc),
        ("EdgeBench", record.edgebench_version),
        ("sessions and passes", f"{most_sessions(record)} a trial, {steady_part(record)} a session"),
        ("seed", str(record.seed)),
        ("scene", scene.name + (size if scene.kind == "picture" else "")),
        ("scene SHA-256", scene.sha256),
        (
            "images",
            f"{images.name}, {images.n} {'labelled' if images.labelled else 'unlabelled'}"
            if images
            else record.images_reason or "none",
        ),
        *([("images SHA-256", images.sha256)] if images else []),
        *(
            (
                name,
                f"{', '.join(map(str, value)) if isinstance(value, list | tuple) else value} "
                f"({setting.get('origin', 'origin not kept')})",
            )
            for name, setting in settings
            if not _absent(setting)
            for value in [setting["value"]]
        ),
    ]
    shown = [(words.plain(name, 80), words.plain(text)) for name, text in rows]
    return [*shown, *([("not given", absent)] if absent else [])]


def _absent(setting: Mapping[str, Any]) -> bool:
    """Whether nobody gave a value, and there is no default."""
    return setting.get("value") is None or setting["value"] == []


def command_line(command: Sequence[str]) -> str:
    """The command as a shell takes it; characters that cannot be shown are written by number."""
    return " ".join(_quoted(part) for part in command)


def _quoted(part: str) -> str:
    if not any(unicodedata.category(char)[0] == "C" for char in part):
        return quote(part)
    escaped = "".join(
        f"\\u{ord(char):04x}"
        if unicodedata.category(char)[0] == "C" and ord(char) < 0x10000
        else f"\\U{ord(char):08x}"
        if unicodedata.category(char)[0] == "C"
        else f"\\{char}"
        if char in "\\'"
        else char
        for char in part
    )
    return f"$'{escaped}'"


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
        Section("verdicts", "Verdicts", _verdicts(summaries, verdicts, beyond)),
        Section("changes", "What would pass, and what is best", _changes(summaries, beyond)),
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
                *(Fold(facts.title, [facts]) for facts in environment(results)),
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


def _verdicts(summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict], beyond: Answers) -> list[Block]:
    blocks: list[Block] = []
    for profile, matrix in verdict_matrix.matrices(summaries, verdicts, beyond.decisions).items():
        ours = [verdict for verdict in verdicts if verdict.profile == profile]
        shared = notes.shared_verdicts(notes.of_measured(ours, summaries), summaries)
        blocks += [Heading(words.plain(profile, 80)), matrix, Plot("limits", profile)]
        blocks.append(Notes.of(each.sentence() for each in shared))
    for table in tables.verdict_tables(summaries, verdicts):
        blocks += _under(f"Every verdict: {table.title}", table)
    return blocks or [Text("There are none: no profile was asked for.")]


def _changes(summaries: Sequence[TrialSummary], beyond: Answers) -> list[Block]:
    """What would have to change; of published figures nothing is proposed."""
    blocks: list[Block] = []
    for heading, sentences in [] if _is_published(summaries) else paragraphs(beyond, summaries):
        blocks += _under(heading, Notes.of(sentences))
    return blocks or [Text("Nothing is said of it: no profile was asked for, or every figure was published.")]


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
        *(Plot("power-over-time"), Plot("energy"), Plot("idle-power"), Heading("Memory"), Plot("memory")),
        tables.memory(summaries),
    ]


def _repeat(record: ExperimentRecord, summaries: Sequence[TrialSummary]) -> list[Block]:
    seed = f"With --seed {record.seed} the sessions run in the same order."
    meanings = Table(
        "definitions", (Column("figure"), Column("what it is", long=True)), tuple(definitions()), look="facts"
    )
    return [
        Command(command_line(exported(record).command) or "the command was not kept"),
        *([] if _is_published(summaries) else [Text(seed)]),
        Fold("How the figures are defined", [meanings]),
    ]


def _cautions(summaries: Sequence[TrialSummary], trials: Trials) -> list[Block]:
    """What was not measured, and what the devices say of their figures."""
    incomplete = [
        (summary.key, f"{summary.status.replace('_', ' ')}: {summary.reason or 'no reason was kept'}")
        for summary in summaries
        if summary.status != "done"
    ]
    failures = [(summary.key, failure) for summary in summaries for failure in summary.failures]
    # A failed session that was repeated leaves nothing unmeasured.
    heading = "Not everything was measured:" if incomplete else _REPEATED
    failed = [*notes.shared(incomplete, trials), *notes.failures(failures, trials)]
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
