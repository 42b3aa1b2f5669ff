"""Next steps of a judged result: facts that a decision depends on, with the commands that change them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from edgebench.judge.decision import is_measured
from edgebench.judge.judged import Judged
from edgebench.judge.next_steps import settling_steps
from edgebench.judge.trial import Trial
from edgebench.judge.verdict import NextStep, Verdict
from edgebench.report import words
from edgebench.report.environment import command_line
from edgebench.results.listing import default_output_dir
from edgebench.results.redaction import exported

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


def open_facts(judged: Judged, titles: Mapping[str, str]) -> list[Fact]:
    """Requirements that no measured trial decides, with the command that would.

    Args:
        judged: the result.
        titles: titles of the profiles by name.
    """
    measured = {trial.key: trial for trial in judged.trials if is_measured(trial)}
    elsewhere: dict[str, dict[str, None]] = {}  # subjects by the reason why another machine has the estimate
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in judged.verdicts:
        if verdict.trial in measured and not verdict.requirement.wanted:
            subject, reason = words.subject(verdict.requirement), verdict.reason
            if verdict.word == "unknown" and reason == measured[verdict.trial].doubts.get("machine"):
                elsewhere.setdefault(words.plain(reason), {})[subject] = None
            else:
                groups.setdefault((subject, verdict.profile), []).append(verdict)
    facts = [
        Fact("Not judged", f"{words.listed(list(subjects))}: {reason}.")
        for reason, subjects in elsewhere.items()
    ]
    unknown = {
        subject: group[0]
        for subject, group in groups.items()
        if all(verdict.word == "unknown" for verdict in group)
    }
    undecided = [
        group[0]
        for group in groups.values()
        if len({verdict.trial for verdict in group}) == len(measured) > 1
        and all(verdict.word == "inconclusive" for verdict in group)
    ]
    facts += _unknown(judged, measured, unknown, titles) if unknown else []
    return facts + (_undecided(judged, measured, undecided) if undecided else [])


Unknown = Mapping[tuple[str, str], Verdict]
"""Verdicts by subject of the requirement and name of the profile."""


def _unknown(
    judged: Judged, measured: Mapping[str, Trial], unknown: Unknown, titles: Mapping[str, str]
) -> list[Fact]:
    if any(trial.is_published for trial in judged.trials):
        return [Fact("Not published", f"{_named(unknown, titles)}.")]
    run = _run(judged)
    declared: dict[tuple[str, str], str] = {}
    measuring: dict[str, None] = {}
    hints: dict[str, None] = {}
    for subject, verdict in unknown.items():
        step = next(iter(settling_steps(measured[verdict.trial], verdict)), None)
        if step is None:
            continue
        if not step.arguments:
            hints[f"to add it: {words.next_step(step)}"] = None
        elif step.kind == "declare":
            declared[subject] = " ".join(step.arguments)
        elif step.arguments[0] in run:  # the run had the option and got nothing by it
            hints[words.plain(verdict.reason)] = None
        else:
            measuring[" ".join(step.arguments)] = None
    facts = []
    if missing := [subject for subject in unknown if subject not in declared]:
        text = _named(missing, titles) + (f" ({'; '.join(hints)})" if hints else "") + _lists(measuring)
        command = run_command(judged, list(measuring)) if measuring else ""
        facts.append(Fact("Not measured", f"{text}.", command, " ".join(measuring)))
    if declared:
        options = dict.fromkeys(declared.values())
        text = f"{_named(declared, titles)}{_lists(options)}."
        facts.append(Fact("Not declared", text, fit_command(judged, *options)))
    return facts


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


def _undecided(judged: Judged, measured: Mapping[str, Trial], undecided: Sequence[Verdict]) -> list[Fact]:
    texts: dict[str, None] = {}
    first: dict[NextStep, None] = {}
    for verdict in undecided:
        steps = settling_steps(measured[verdict.trial], verdict)
        first |= dict.fromkeys([step for step in steps if step.arguments and step.kind != "declare"][:1])
        steps_text = words.listed([*map(words.next_step, steps)], "or")
        text = f"{words.subject(verdict.requirement)}: {words.plain(verdict.reason)}"
        texts[f"{text}. To settle it: {steps_text}" if steps_text else text] = None
    # Of one option the last step stands for the others.
    options = {step.arguments[0]: step.arguments for step in first}
    arguments = [argument for step_arguments in options.values() for argument in step_arguments]
    is_measurable = arguments and not any(trial.is_published for trial in judged.trials)
    command = run_command(judged, arguments) if is_measurable else ""
    return [Fact("Undecided for all", f"{'; '.join(texts)}.", command)]
