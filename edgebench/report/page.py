"""What a report says, in order and as plain text: headline, verdicts, tables, notes, the command."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from edgebench.fit.answers import Answers, answers
from edgebench.fit.profile import Profile
from edgebench.fit.trial_summary import TrialSummary, Verdict
from edgebench.fit.verdict import WORDS
from edgebench.report import notes, pacing_tables, tables, trial_matrix, verdict_groups, words
from edgebench.report.answer import answer_of
from edgebench.report.answer_paragraphs import paragraphs
from edgebench.report.brief_missions import brief_missions
from edgebench.report.definitions import definitions
from edgebench.report.environment import command_line, environment, golden
from edgebench.report.mission_pages import mission_table
from edgebench.report.notes import Note, Trials
from edgebench.report.power_scopes import declared_texts, meter_text, scopes_note
from edgebench.report.power_words import reading_notes
from edgebench.report.small_samples import unseen_modes
from edgebench.report.telemetry_table import telemetry
from edgebench.stats.warnings import Flag
from edgebench.store.load import StoredResults
from edgebench.store.records import SceneRecord
from edgebench.store.redaction import exported

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
    wholes = verdict_groups.wholes(verdicts)
    matrices = trial_matrix.matrices(summaries, verdicts, beyond.decisions)
    titles = {profile.name: profile.title for profile in profiles}
    cards = []
    for profile in verdict_groups.profiles(verdicts):
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
                "lines": verdict_groups.shared(verdict_groups.of_measured(ours, summaries), summaries),
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
