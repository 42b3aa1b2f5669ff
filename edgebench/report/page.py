"""First screen of a report, as plain text: title, decisions, facts that they depend on, and the matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgebench.judge.judged import Judged
from edgebench.judge.trial import Trial
from edgebench.records.stored import ExperimentRecord
from edgebench.report import notes, words
from edgebench.report.answer import Answer, answer_of, shared_answers
from edgebench.report.environment import machines, most_sessions, steady_part
from edgebench.report.matrix import Matrix, cells_of, matrix_of
from edgebench.report.next_steps import Fact, fit_command, open_facts, resume_command
from edgebench.report.notes import Trials
from edgebench.report.renderers.blocks import Note
from edgebench.report.tables import declared_texts
from edgebench.results.revisions import continuation
from edgebench.stats.warnings import DISTURBANCES, Flag

_DOUBTS = (
    Flag.SAID, Flag.PROBE_LOST, Flag.READINGS_REJECTED, Flag.POWER_CONTRADICTED, Flag.STAMPS_SHORT,
    Flag.GOLDEN_MISMATCH, Flag.CHANCE, Flag.BELOW_CHANCE,
)  # fmt: skip
NOTED = 2
"""Notes per fact; the others are among the warnings."""


@dataclass(frozen=True)
class FirstScreen:
    """First screen of a report."""

    name: str
    title: str
    subtitle: str
    machines: Sequence[str]
    answers: Sequence[Answer]
    facts: Sequence[Fact]
    matrix: Matrix


def first_screen(judged: Judged) -> FirstScreen:
    """First screen of a judged result."""
    trials, record = judged.trials, judged.results.experiment
    titles = {verdict.profile: words.plain(verdict.profile, 80) for verdict in judged.verdicts}
    for profile in judged.profiles:
        if profile.name in titles:
            titles[profile.name] = words.plain(profile.title or profile.name, 120)
    cells = cells_of(judged)
    answers = (
        answer_of(decision, trials, judged.verdicts, cells, titles[decision.profile])
        for decision in judged.decisions
    )
    return FirstScreen(
        words.plain(record.name, 120),
        _title(record, trials),
        _subtitle(record, trials),
        machines(judged.results, trials),
        shared_answers(answers),
        _facts(judged, titles),
        matrix_of(judged, titles, cells),
    )


def is_published(trials: Sequence[Trial]) -> bool:
    """True if others published the trials, and nobody measured them here."""
    return any(trial.is_published for trial in trials)


def _title(record: ExperimentRecord, trials: Sequence[Trial]) -> str:
    targets = list(dict.fromkeys(words.plain(trial.target, 60) for trial in trials))
    if not targets:
        return f"{words.plain(record.name, 120)}: no trials"
    where = words.listed(targets) if len(targets) < 4 else words.counted(len(targets), "target")
    return f"{words.families(trials).replace('mobilenet_v1', 'MobileNet v1')} on {where}"


def _subtitle(record: ExperimentRecord, trials: Sequence[Trial]) -> str:
    if is_published(trials):
        return "Published figures: none of them was measured here"
    noun = "trial" if len({trial.target for trial in trials}) > 1 else "variant"
    scene = record.scene
    patches = words.counted(scene.patches, *(["sample"] if scene.kind == "samples" else ["patch", "patches"]))
    return " · ".join(
        [
            f"{words.counted(len(trials), noun)}, {most_sessions(record)} of {steady_part(record)} each",
            f"{patches} per image",
            words.moment(record.created_utc),
            words.plain(record.name, 120),
        ]
    )


# Facts below the decisions.


def _facts(judged: Judged, titles: dict[str, str]) -> list[Fact]:
    trials, record = judged.trials, judged.results.experiment
    named = Trials.of(trials)
    incomplete = notes.shared([(trial.key, incomplete_text(trial)) for trial in trials], named)
    ended = [
        (trial.key, trial.ended.text)
        for trial in trials
        if trial.ended is not None and trial.ended.by != "sessions" and trial.status == "done"
    ]
    facts = []
    if not titles:
        command = fit_command(judged, "--profile", "disco-realtime")
        facts.append(Fact("Not judged", "No profile was given.", command))
    facts += _noted("Note", doubts(judged, named), named)
    facts += open_facts(judged, titles)
    is_unfinished = any(
        trial.status in ("not_run", "partial", "failed") and not continuation(record, trial.target)
        for trial in trials
    )
    facts += _noted("Incomplete", incomplete, named, resume_command(judged) if is_unfinished else "")
    facts += _noted("Ended", notes.shared(ended, named), named)
    return [
        *facts,
        *_failed(trials, named),
        *_noted("Disturbed", notes.cautions(trials, named, DISTURBANCES), named),
    ]


def _noted(label: str, group: Sequence[Note], named: Trials, command: str = "") -> list[Fact]:
    """First notes of a kind as one fact; a note of all trials names none. Empty without notes."""
    if not group:
        return []
    more = f"; {len(group) - NOTED} more under Warnings" if len(group) > NOTED else ""
    is_of_several = len(named.names) > 1
    texts = (
        note.text if is_of_several and note.who == named.everyone else note.line for note in group[:NOTED]
    )
    return [Fact(label, f"{'; '.join(texts)}{more}.", command)]


def doubts(judged: Judged, named: Trials) -> list[Note]:
    """Notes of the first screen: warnings of devices, then declarations and assumptions."""
    has_images = judged.results.experiment.images is not None
    conditions = [(trial.key, text) for trial in judged.trials for text in _conditions(trial, has_images)]
    return [*notes.cautions(judged.trials, named, _DOUBTS), *notes.shared(conditions, named)]


def _conditions(trial: Trial, has_images: bool) -> list[str]:
    """Declarations and assumptions of a trial, and reasons of missing estimates; empty texts for none."""
    texts = [*declared_texts(trial), words.assumed(trial), words.STATES[trial.state]]
    if trial.was_measured and not trial.is_published:
        expected = ["instructions"] if trial.is_emulated else []
        expected += ["accuracy"] if has_images and trial.estimate("auc").value is None else []
        for name, noun in (("image_s", "latency per image"), *((name, name) for name in expected)):
            missing = trial.estimate(name)
            texts.append(f"no {noun}: {missing.reason}" if missing.value is None and missing.reason else "")
    return texts


def incomplete_text(trial: Trial) -> str:
    """Reason why a trial was not measured in full; empty if it was."""
    if trial.status == "done":
        return ""
    return f"{trial.status.replace('_', ' ')}: {trial.reason or 'no reason was kept'}"


def _failed(trials: Sequence[Trial], named: Trials) -> list[Fact]:
    """`1 of 28 sessions (0.5 int8)`; none where no session failed."""
    shares = {trial.key: trial.estimate("failed_sessions") for trial in trials}
    failed = {key: round(share.value * share.n) for key, share in shares.items() if share.value}
    if not failed:
        return []
    sessions = words.counted(sum(share.n for share in shares.values()), "session")
    return [Fact("Failed", f"{sum(failed.values())} of {sessions} ({named.several(list(failed))}).")]
