"""What a report says, in order and as plain text: headline, verdicts, tables, notes, the command."""

from __future__ import annotations

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
from edgebench.report import notes, tables, words
from edgebench.report import run_tables as pacing_tables
from edgebench.report import verdict_matrix as trial_matrix
from edgebench.report.answer import answer_of, paragraphs
from edgebench.report.metric_text import declared_texts, meter_text, scopes_note
from edgebench.report.mission_pages import mission_table
from edgebench.report.missions import brief_missions
from edgebench.report.notes import Note, Trials
from edgebench.report.run_tables import (
    definitions,
    most_sessions,
    reading_notes,
    steady_part,
    telemetry,
    unseen_modes,
)
from edgebench.report.tables import Column, Table
from edgebench.results.load import StoredResults
from edgebench.results.redaction import exported
from edgebench.stats.warnings import Flag

# What was measured on and how, as pairs of a name and a value: host, targets, experiment, checks.


_MAX_ROWS = 80
_UNKNOWN = "not known"
_OF_COMPILERS = ("compiler", "operations")


@dataclass(frozen=True)
class Facts:
    """One group of facts."""

    title: str
    rows: tuple[tuple[str, str], ...]


def _gathered(rows: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """The rows, those of which nothing is known as one at the end."""
    rows = list(rows)
    unknown = [name for name, text in rows if text == _UNKNOWN]
    known = [(name, text) for name, text in rows if text != _UNKNOWN]
    return (*known, *([(_UNKNOWN, ", ".join(unknown))] if unknown else []))


_TARGET = TypeAdapter(Target)


def environment(results: StoredResults) -> list[Facts]:
    """The experiment, the host, and each target with its board and runtime as its sessions found them.

    Of published figures the targets alone: nothing was measured.
    """
    record = exported(results.experiment)
    groups = []
    if any(target.device != PUBLISHED for target in record.targets) or not record.targets:
        groups.append(Facts("Experiment", tuple(_experiment(record))))
        groups.append(Facts("Host", _gathered(flat(record.host))))
    for target in record.targets:
        declared = _TARGET.dump_python(target, mode="json", exclude_defaults=True)
        values_by_fact: dict[str, dict[str, Any]] = {"device": {}, "runtime": {}}
        for trial in record.trials:
            if trial.target != target.name:
                continue
            for session in results.session_records(trial.key):
                for part, facts in (("device", session.device), ("runtime", session.runtime)):
                    for name, value in flat(facts):
                        values_by_fact[part].setdefault(name, {})[value] = None
        rows = list(flat(declared, "declared"))
        rows += [
            (f"{part}.{name}", _several(list(values)))
            for part, facts in values_by_fact.items()
            for name, values in facts.items()
        ]
        groups.append(Facts(f"Target {words.plain(target.name, 80)}", _gathered(rows[: 2 * _MAX_ROWS])))
    groups.append(Facts("Compiled models", tuple(_compiled(record))[:_MAX_ROWS]))
    checks = tuple(
        (
            words.plain(f"{finding.get('level', '')}: {subject}", 120),
            words.plain(words.advice(finding)),
        )
        for subject, finding in zip(words.subjects(record.preflight), record.preflight, strict=True)
    )
    if checks:
        groups.append(Facts("Checks before the start", checks))
    return [group for group in groups if group.rows]


def _compiled(record: ExperimentRecord) -> Iterator[tuple[str, str]]:
    """What a device's own compiler said of each model; nothing for models that none was needed for."""
    for trial in record.trials:
        compiler_facts = {name: trial.provenance[name] for name in _OF_COMPILERS if name in trial.provenance}
        yield from flat(compiler_facts, f"{trial.target} {trial.variant}")


def golden(results: StoredResults, names: Mapping[str, str]) -> Table:
    """How far the outputs of each trial were from the golden scores, over all of its sessions."""
    rows = []
    for trial in results.experiment.trials:
        checks = [
            session.golden for session in results.session_records(trial.key) if session.golden is not None
        ]
        if checks:
            rows.append(
                (
                    names.get(trial.key, trial.key),
                    str(len(checks)),
                    f"{max(check.max_abs_diff for check in checks):.3g}",
                    f"{min(check.tolerance for check in checks):.3g}",
                    f"{min(check.top1_equal for check in checks)}/{max(check.n for check in checks)}",
                    words.plain(", ".join(sorted({check.reference for check in checks})), 120),
                )
            )
    return Table(
        "golden patches",
        (
            Column("trial"),
            Column("sessions checked", figures=True),
            Column("largest difference of a score", figures=True),
            Column("accepted", figures=True),
            Column("same class", figures=True),
            Column("compared with", long=True),
        ),
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


def _experiment(record: ExperimentRecord) -> Iterator[tuple[str, str]]:
    scene = record.scene
    yield "started", words.plain(record.created_utc)
    yield "EdgeBench", words.plain(record.edgebench_version)
    yield (
        "sessions and passes",
        f"{most_sessions(record)} a trial, {steady_part(record)} a session",
    )
    yield "seed", str(record.seed)
    yield (
        "scene",
        words.plain(
            f"{scene.name}, {scene.height} x {scene.width}, {scene.rows} x {scene.columns} patches"
            if scene.kind == "picture"
            else scene.name
        ),
    )
    yield "scene SHA-256", words.plain(scene.sha256)
    if record.images is None:
        yield "images", words.plain(record.images_reason) or "none"
    else:
        images = record.images
        yield (
            "images",
            f"{words.plain(images.name)}, {images.n} {'labelled' if images.labelled else 'unlabelled'}",
        )
        yield "images SHA-256", words.plain(images.sha256)
    settings = list(record.config.items())[:_MAX_ROWS]
    for name, setting in settings:
        if not _absent(setting):
            yield (
                words.plain(name, 80),
                words.plain(f"{_setting(setting['value'])} ({setting.get('origin', 'origin not kept')})"),
            )
    absent = [words.plain(name, 80) for name, setting in settings if _absent(setting)]
    if absent:
        yield "not given", ", ".join(absent)


def _absent(setting: Mapping[str, Any]) -> bool:
    """Whether nobody gave a value, and there is no default."""
    return setting.get("value") is None or setting["value"] == []


def _setting(value: object) -> str:
    """A setting as a person would write it."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


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


def texts(
    results: StoredResults,
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    profiles: Sequence[Profile] = (),
) -> dict[str, Any]:
    """Everything but the figures, as text that whatever shows it still has to escape.

    `profiles` are those of the verdicts, for their titles.
    """
    record = results.experiment
    names = tables.trial_names(summaries)
    trials = Trials.of(summaries, names)
    missions = brief_missions(results, summaries, profiles)
    beyond = answers(summaries, profiles, verdicts)
    return {
        "name": words.plain(record.name, 120),
        "title": _title(results, summaries),
        "subtitle": _subtitle(results, summaries),
        "contents": _CONTENTS,
        "cards": _cards(profiles, summaries, verdicts, beyond),
        "changes": _changes(summaries, beyond),
        "missions": missions,
        "mission_tables": [mission_table(brief, summaries) for brief in missions],
        "failures": _failures(summaries, trials),
        "failures_heading": _failures_heading(summaries),
        "said": notes.cautions(summaries, trials, [Flag.SAID]),
        "verdict_tables": tables.verdict_tables(summaries, verdicts),
        "latency": tables.latency_tables(summaries),
        "timed": notes.shared([(summary.key, summary.timed) for summary in words.timed(summaries)], trials),
        "stages": tables.stages(summaries),
        "cold": tables.cold(summaries),
        "paced": pacing_tables.paced_table(summaries),
        "sustained": pacing_tables.sustained_table(summaries),
        "accuracy": tables.accuracy(summaries),
        "accuracy_notes": _accuracy_notes(results, summaries, trials),
        "matrices": _matrices(summaries, names),
        "power": tables.power_tables(summaries),
        "power_reading": reading_notes(summaries),
        "power_notes": _power_notes(summaries, trials),
        "memory": tables.memory(summaries),
        "golden": golden(results, names),
        "telemetry": telemetry(results, names),
        "ended": _ended(summaries, trials),
        "unseen": unseen_modes(summaries),
        "warnings": _warnings(results, summaries, trials),
        "environment": environment(results),
        "command": command_line(exported(record).command) or "the command was not kept",
        "repeat_note": ""
        if _is_published(summaries)
        else f"With --seed {record.seed} the sessions run in the same order.",
        "definitions": definitions(),
        "footer": f"Made by EdgeBench from the result {words.plain(results.path.name, 120)}; "
        f"measured by version {words.plain(record.edgebench_version, 40)}.",
    }


_CONTENTS = (
    ("verdicts", "Verdicts"),
    ("changes", "What would pass"),
    ("missions", "Missions"),
    ("latency", "Latency"),
    ("accuracy", "Accuracy"),
    ("scene", "Scene"),
    ("power", "Power"),
    ("warnings", "Warnings"),
    ("environment", "Environment"),
    ("repeat", "Repeat"),
)


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
        f"{pacing_tables.most_sessions(record)} of {pacing_tables.steady_part(record)} each · "
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
) -> list[dict[str, Any]]:
    wholes = notes.wholes(verdicts)
    matrices = trial_matrix.matrices(summaries, verdicts, beyond.decisions)
    titles = {profile.name: profile.title for profile in profiles}
    cards = []
    for profile in notes.profiles(verdicts):
        ours = [verdict for verdict in verdicts if verdict.profile == profile]
        trials_by_word = Counter(whole.verdict for (_, name), whole in wholes.items() if name == profile)
        title = titles.get(profile, "")
        decision = next(each for each in beyond.decisions if each.profile == profile)
        answer = answer_of(decision, summaries, ours)
        cards.append(
            {
                "profile": words.plain(profile, 80),
                "title": words.plain(profile, 80) + (f": {words.plain(title, 120)}" if title else ""),
                "headline": answer.headline,
                "settling": answer.settling,
                "sentences": answer.sentences,
                "counts": [(trials_by_word[word], word) for word in reversed(WORDS) if trials_by_word[word]],
                "matrix": matrices[profile],
                "lines": notes.shared_verdicts(notes.of_measured(ours, summaries), summaries),
            }
        )
    return cards


def _changes(summaries: Sequence[TrialSummary], beyond: Answers) -> list[tuple[str, list[str]]]:
    """What would have to change; of published figures nothing is proposed."""
    if _is_published(summaries):
        return []
    return paragraphs(beyond, summaries)


def _failures_heading(summaries: Sequence[TrialSummary]) -> str:
    """What the failures come to: a failed session that was repeated leaves nothing unmeasured."""
    if all(summary.status == "done" for summary in summaries):
        return "Measured in full, after sessions that failed were repeated"
    return "Not everything was measured"


def _failures(summaries: Sequence[TrialSummary], trials: Trials) -> list[Note]:
    incomplete = [
        (summary.key, f"{summary.status.replace('_', ' ')}: {summary.reason or 'no reason was kept'}")
        for summary in summaries
        if summary.status != "done"
    ]
    return [
        *notes.shared(incomplete, trials),
        *notes.failures(
            [(summary.key, failure) for summary in summaries for failure in summary.failures], trials
        ),
    ]


def _ended(summaries: Sequence[TrialSummary], trials: Trials) -> list[Note]:
    """Why no further session was measured, where that is not the number that was asked for."""
    return notes.shared(
        [
            (summary.key, summary.ended.text)
            for summary in summaries
            if summary.ended is not None and summary.ended.by != "sessions"
        ],
        trials,
    )


def _warnings(results: StoredResults, summaries: Sequence[TrialSummary], trials: Trials) -> list[Note]:
    record = exported(results.experiment)
    general = [words.plain(warning) for warning in (*record.warnings, *results.warnings)]
    general += [
        words.plain(f"{subject}: {words.advice(finding)}")
        for subject, finding in zip(words.subjects(record.preflight), record.preflight, strict=True)
        if finding.get("level") not in ("ok", None)
    ]
    return [*map(Note, dict.fromkeys(general)), *notes.cautions(summaries, trials)]


def _power_notes(summaries: Sequence[TrialSummary], trials: Trials) -> list[Note]:
    mixed = scopes_note(rail for summary in summaries for rail in summary.power or ())
    statements = [
        (summary.key, f"no power: {summary.power_reason}") for summary in summaries if summary.power is None
    ]
    statements += [
        (summary.key, f"{meter_text(rail)}: {rail.reason}")
        for summary in summaries
        for rail in summary.power or ()
        if rail.reason
    ]
    statements += [(summary.key, text) for summary in summaries for text in declared_texts(summary)]
    return [*([Note(mixed)] if mixed else []), *notes.shared(statements, trials)]


def _accuracy_notes(results: StoredResults, summaries: Sequence[TrialSummary], trials: Trials) -> list[Note]:
    record = results.experiment
    accuracy_notes = _own_images(results, trials)
    if record.images is not None:
        accuracy_notes.append(
            Note(
                f"Taken on {words.plain(record.images.name, 80)} ({record.images.n} images) "
                "with the very artifact that was timed, on the runtime that was timed."
            )
        )
    elif record.images_reason:
        accuracy_notes.append(Note(f"There is none: {words.plain(record.images_reason)}"))
    if any(summary.accuracy is not None and summary.accuracy.overlapping for summary in summaries):
        accuracy_notes.append(Note(words.OVERLAP_NOTE))
    return accuracy_notes


def _own_images(results: StoredResults, trials: Trials) -> list[Note]:
    """Which trials were tested with other images than the experiment's."""
    statements = [
        (trial.key, f"taken on {trial.images.name} ({trial.images.n} images) at the model's own size")
        for trial in results.experiment.trials
        if trial.images is not None and trial.key in trials.names
    ]
    return notes.shared(statements, trials)


def _matrices(summaries: Sequence[TrialSummary], names: Mapping[str, str]) -> list[dict[str, Any]]:
    matrices = []
    for summary in summaries:
        if summary.accuracy is None or not 0 < len(summary.accuracy.confusion) <= _MAX_MATRIX:
            continue
        classes = [words.plain(name, 40) for name in summary.accuracy.class_names]
        matrices.append(
            {
                "title": f"{names[summary.key]}: {words.right_of(summary.accuracy)}",
                "names": classes,
                "rows": list(zip(classes, summary.accuracy.confusion, strict=False)),
            }
        )
    return matrices
