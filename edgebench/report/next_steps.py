"""Next steps of a judged result: facts that a decision depends on, with the commands that change them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from edgebench.judge.judged import Judged
from edgebench.judge.trial import Trial
from edgebench.judge.verdicts.next_steps import settling_steps
from edgebench.judge.verdicts.verdict import NextStep, Verdict
from edgebench.report import notes, words
from edgebench.report.answer import MOST_CHARACTERS
from edgebench.report.environment import command_line
from edgebench.results.listing import default_output_dir
from edgebench.results.redaction import exported
from edgebench.texts import joined

_LISTED = {"--meter": "edgebench meters list", "--board": "edgebench boards list"}


@dataclass(frozen=True)
class Fact:
    """Fact that a decision depends on, with the command that changes it, if there is one.

    Attributes:
        added: options by which the command differs from that of the run.
    """

    label: str
    text: str
    command: str = ""
    added: str = ""


# Commands on a result.


def fit_command(judged: Judged, *arguments: str) -> str:
    """Command that judges the result; placeholders among the arguments are not quoted."""
    return " ".join([command_line(["edgebench", "fit", _result(judged), *judged.options]), *arguments])


def report_command(judged: Judged) -> str:
    """Command that writes the page of the result."""
    return command_line(["edgebench", "report", _result(judged), "-o", "report.html"])


def resume_command(judged: Judged) -> str:
    """Command that goes on with the run of the result."""
    return command_line([*_run(judged), "--resume"])


def run_command(judged: Judged, arguments: Sequence[str]) -> str:
    """Command of the run with further arguments, in place of its own where they are of the same options.

    It has the profiles that the result is judged by, and not the name, which is taken. A further meter is one
    more.
    """
    replaced = {argument for argument in arguments if argument.startswith("--")} - {"--meter"}
    replaced |= {"--name", *(["--profile"] if "--profile" in judged.options else [])}
    commands, left = [], iter(_run(judged))
    for word in left:
        if word in replaced:
            next(left, None)
        elif word.partition("=")[0] not in replaced:
            commands.append(word)
    return " ".join([command_line([*commands, *judged.options]), *arguments])


def _run(judged: Judged) -> list[str]:
    command = exported(judged.results.experiment).command or ("edgebench", "run")
    return [word for word in command if word != "--resume"]


def _result(judged: Judged) -> str:
    """Name of the result for a command; an absolute path would name the machine's folders to others."""
    path = judged.results.path
    return path.name if path.is_absolute() or path.parent == default_output_dir() else str(path)


# Requirements that are open for all measured trials.


_LABELS = ("Not judged", "Not published", "Not measured", "Not declared", "Undecided for all")


def open_facts(judged: Judged, titles: Mapping[str, str]) -> list[Fact]:
    """Requirements that no measured trial decides, with the command that would.

    Args:
        judged: the result.
        titles: titles of the profiles by name.
    """
    measured = {trial.key: trial for trial in judged.trials if trial.has_estimates}
    is_published = any(trial.is_published for trial in judged.trials)
    groups = words.grouped(
        ((words.subject(verdict.requirement), verdict.profile), verdict)
        for verdict in judged.verdicts
        if verdict.trial in measured and not verdict.requirement.wanted
    )
    details: dict[str, list[tuple[str, tuple[str, str]]]] = {label: [] for label in _LABELS}
    options: dict[str, dict[Hashable, tuple[str, ...]]] = {label: {} for label in _LABELS}
    for subject, group in groups.items():
        trial, reason = measured[group[0].trial], group[0].reason
        verdict_words = {verdict.word for verdict in group}
        is_unknown = verdict_words == {"unknown"}
        is_in_all = len({verdict.trial for verdict in group}) == len(measured) > 1
        if not is_unknown and not (is_in_all and verdict_words == {"inconclusive"}):
            continue
        detail, steps = ("", settling_steps(trial, group[0])) if is_unknown else _undecided(group, measured)
        able = (step for step in steps if is_unknown or (step.arguments and step.kind != "declare"))
        step = next(able, NextStep("measure"))
        arguments = () if is_published else step.arguments
        label = "Not measured"
        if not is_unknown:
            label = "Undecided for all"
        elif reason == trial.doubts.get("machine"):
            label, detail = "Not judged", reason
        elif is_published:
            label = "Not published"
        elif not arguments:
            detail = f"to add it: {step.reason}" if step.reason else reason
        elif step.kind == "declare":
            label = "Not declared"
        elif arguments[0] in _run(judged):  # the run had the option and got nothing by it
            detail, arguments = reason, ()
        details[label].append((words.plain(detail, MOST_CHARACTERS), subject))
        if arguments:  # of one option the last value stands for the others, unless it is a declaration
            options[label][arguments if step.kind == "declare" else arguments[0]] = arguments
    facts = []
    for label in filter(details.__getitem__, _LABELS):
        by_detail = words.grouped(details[label])
        texts = [
            _named(subjects, titles) + (f" ({detail})" if detail else "")
            for detail, subjects in by_detail.items()
        ]
        added = list(chain.from_iterable(options[label].values()))
        fact = Fact(label, f"{'; '.join(texts)}{_lists(added)}.")
        if added and label == "Not declared":
            fact = replace(fact, command=fit_command(judged, *added))
        elif added:
            fact = replace(fact, command=run_command(judged, added), added=" ".join(added))
        facts.append(fact)
    return facts


def _undecided(group: Sequence[Verdict], trials: Mapping[str, Trial]) -> tuple[str, tuple[NextStep, ...]]:
    """Reasons of undecided verdicts on trials, and the steps that settle all; no steps where these differ.

    Reasons that differ in their numbers alone are one, that of the first trial.
    """
    named = notes.Trials.of(list(trials.values()))
    kinds = words.grouped((notes.kind_of(verdict.reason), verdict) for verdict in group).values()
    steps_by_kind = [settling_steps(trials[verdicts[0].trial], verdicts[0]) for verdicts in kinds]
    shared_steps = steps_by_kind[0] if len(set(steps_by_kind)) == 1 else ()
    details = []
    for verdicts, steps in zip(kinds, steps_by_kind, strict=True):
        who = f"{named.several([verdict.trial for verdict in verdicts])}: " if len(kinds) > 1 else ""
        details.append(f"{who}{joined(verdicts[0].reason, '' if shared_steps else _to_settle(steps))}")
    return joined(*details, _to_settle(shared_steps)), shared_steps


def _to_settle(steps: Sequence[NextStep]) -> str:
    return f"to settle it: {words.listed([*map(words.next_step, steps)], 'or')}" if steps else ""


def _named(subjects: Iterable[tuple[str, str]], titles: Mapping[str, str]) -> str:
    """Subjects of requirements, with their profiles where not all have it."""
    profiles = words.grouped((subject, titles[profile]) for subject, profile in subjects)
    return words.listed(
        [
            subject if len(names) == len(titles) else f"{subject} (for {words.listed(names)})"
            for subject, names in profiles.items()
        ]
    )


def _lists(options: Iterable[str]) -> str:
    """Commands that list the values of some options, in brackets."""
    listed = [text for name, text in _LISTED.items() if any(option.startswith(name) for option in options)]
    return f" ({'; '.join(listed)})" if listed else ""
