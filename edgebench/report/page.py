"""The first screen of a report, as plain text: title, decisions, what is missing or disturbed, the matrix."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from edgebench.judge.decision import Decision, settled_by
from edgebench.judge.judged import Judged
from edgebench.judge.metric import Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial_summary import TrialSummary, Verdict
from edgebench.records.stored import ExperimentRecord
from edgebench.report import notes, tables, words
from edgebench.report.answer import Answer, answer_of, shared_answers
from edgebench.report.blocks import Block, Column, Judgement, Matrix, Note, Row, Standing
from edgebench.report.environment import command_line, machines, most_sessions, steady_part
from edgebench.report.notes import Trials
from edgebench.report.tables import declared_texts, metric_text, scope_text, value_of
from edgebench.results.listing import default_output_dir
from edgebench.results.redaction import exported
from edgebench.results.revisions import continuation
from edgebench.stats.warnings import Caution, Flag

_OPTION = re.compile(r"(--[a-z-]+)(?: [^ ,()`]+)?")
_OF_FIT = ("--board", "--declared", "--declared-power")  # options that add a value after the run
_LISTED = {"--meter": "edgebench meters list", "--board": "edgebench boards list"}
_DISTURBED = {
    Flag.INTERFERENCE: "other work competed for the cores",
    Flag.THROTTLED: "the board throttled",
    Flag.CLOCK_DROP: "the clock fell",
    Flag.THERMAL_SUSPECTED: "slower as the session went on",
    Flag.THERMAL_SHORT: "slower from session to session",
}
_DOUBTS = (
    Flag.SAID, Flag.PROBE_LOST, Flag.READINGS_REJECTED, Flag.POWER_CONTRADICTED, Flag.STAMPS_SHORT,
    Flag.GOLDEN_MISMATCH, Flag.CHANCE, Flag.BELOW_CHANCE,
)  # fmt: skip
NOTED = 2
"""Notes of a line; the others are among the warnings."""


@dataclass(frozen=True)
class Line:
    """A fact that a decision depends on, with the command that changes it, if there is one.

    `added` are the options by which the command differs from that of the run.
    """

    label: str
    text: str
    command: str = ""
    added: str = ""


@dataclass(frozen=True)
class Section:
    """A part of the report that is closed until it is asked for; `gist` is what it says in one line."""

    anchor: str
    title: str
    gist: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Front:
    """The first screen of a report."""

    name: str
    title: str
    subtitle: str
    machines: Sequence[str]
    answers: Sequence[Answer]
    lines: Sequence[Line]
    matrix: Matrix


def front(judged: Judged, decisions: Sequence[Decision]) -> Front:
    """The first screen; `decisions` are those on the judged trials, one a profile."""
    summaries, verdicts, record = judged.summaries, judged.verdicts, judged.results.experiment
    standings = standings_of(summaries, verdicts)
    titles = {profile: words.plain(profile, 80) for profile in notes.profiles(verdicts)}
    titles |= {
        each.name: words.plain(each.title or each.name, 120)
        for each in judged.profiles
        if each.name in titles
    }
    return Front(
        words.plain(record.name, 120),
        _title(record, summaries),
        _subtitle(record, summaries),
        machines(judged.results, summaries),
        shared_answers(
            answer_of(decision, summaries, verdicts, standings, titles[decision.profile])
            for decision in decisions
        ),
        _lines(judged, titles, standings),
        matrix_of(summaries, verdicts, titles, standings),
    )


def is_published(summaries: Sequence[TrialSummary]) -> bool:
    """True if the trials are published figures, not measured here."""
    return any(summary.published for summary in summaries)


def _title(record: ExperimentRecord, summaries: Sequence[TrialSummary]) -> str:
    targets = list(dict.fromkeys(words.plain(summary.target, 60) for summary in summaries))
    if not targets:
        return f"{words.plain(record.name, 120)}: no trials"
    where = words.listed(targets) if len(targets) < 4 else words.counted(len(targets), "target")
    family = words.families(summaries).replace("mobilenet_v1", "MobileNet v1")
    return f"{family} on {where}"


def _subtitle(record: ExperimentRecord, summaries: Sequence[TrialSummary]) -> str:
    if is_published(summaries):
        return "Published figures: none of them was measured here"
    noun = "trial" if len({summary.target for summary in summaries}) > 1 else "variant"
    scene = record.scene
    patches = f"{words.counted(scene.patches, 'sample' if scene.kind == 'samples' else 'patch')} per image"
    return " · ".join(
        [
            f"{words.counted(len(summaries), noun)}, {most_sessions(record)} of {steady_part(record)} each",
            patches.replace("patchs", "patches"),
            words.moment(record.created_utc),
            words.plain(record.name, 120),
        ]
    )


# The lines below the decisions.


def _lines(
    judged: Judged, titles: Mapping[str, str], standings: Mapping[tuple[str, str], Standing]
) -> list[Line]:
    summaries = judged.summaries
    trials = Trials.of(summaries, tables.trial_names(summaries))
    incomplete = notes.shared([(each.key, incomplete_text(each)) for each in summaries], trials)
    ended = [
        (each.key, each.ended.text)
        for each in summaries
        if each.ended is not None and each.ended.by != "sessions" and each.status == "done"
    ]
    command = command_line(["edgebench", "fit", result_argument(judged), *judged.options])
    lines = (
        [] if titles else [Line("Not judged", "No profile was given.", f"{command} --profile disco-realtime")]
    )
    lines += _noted("Note", doubts(summaries, trials))
    lines += _elsewhere(judged)
    lines += _not_measured(judged, titles, command)
    unfinished = any(
        each.status in ("not_run", "partial", "failed")
        and not continuation(judged.results.experiment, each.target)
        for each in summaries
    )
    lines += _noted("Incomplete", incomplete, command_line(_resumed(judged)) if unfinished else "")
    lines += _noted("Ended", notes.shared(ended, trials))
    for label, text in (("Failed", _failed(summaries, trials)), ("Disturbed", _disturbed(summaries, trials))):
        lines += [Line(label, text)] if text else []
    return lines


def result_argument(judged: Judged) -> str:
    """Name of the result for a command; an absolute path would name the machine's folders to others."""
    path = judged.results.path
    return path.name if path.is_absolute() or path.parent == default_output_dir() else str(path)


def _noted(label: str, group: Sequence[Note], command: str = "") -> list[Line]:
    """The first notes of a kind in one line; none without notes."""
    if not group:
        return []
    more = f"; {len(group) - NOTED} more under Warnings" if len(group) > NOTED else ""
    texts = (note.text if note.who.startswith(("all", "both")) else note.line for note in group[:NOTED])
    return [Line(label, f"{'; '.join(texts)}{more}.", command)]


def doubts(summaries: Sequence[TrialSummary], trials: Trials) -> list[Note]:
    """Notes of the first screen, the most important ones first: what devices say, and what is assumed."""
    assumed = [(each.key, text) for each in summaries for text in _conditions(each)]
    return [*notes.cautions(summaries, trials, _DOUBTS), *notes.shared(assumed, trials)]


def _conditions(trial: TrialSummary) -> list[str]:
    """Declarations and assumptions of a trial, and why it lacks its main figure; empty texts for none."""
    return [
        *declared_texts(trial),
        words.assumed(trial),
        words.STATES[trial.state],
        f"no latency per image: {trial.untimed_reason}" if trial.untimed_reason else "",
        f"no instructions: {trial.instructions_reason}" if trial.instructions_reason else "",
    ]


def incomplete_text(summary: TrialSummary) -> str:
    """Reason why a trial was not measured in full; empty if it was."""
    if summary.status == "done":
        return ""
    return f"{summary.status.replace('_', ' ')}: {summary.reason or 'no reason was kept'}"


def _is_elsewhere(trials: Mapping[str, TrialSummary], verdict: Verdict) -> bool:
    """True if the figure is of another machine than the declared board."""
    reason = trials[verdict.trial].other_machine if verdict.trial in trials else ""
    return bool(reason) and verdict.verdict == "unknown" and verdict.reason == reason


def _elsewhere(judged: Judged) -> list[Line]:
    """The requirements whose figures another machine has."""
    trials = {each.key: each for each in judged.summaries}
    reasons = words.grouped(
        (words.plain(each.reason), words.judged_quantity(each.quantity, each.statistic))
        for each in judged.verdicts
        if _is_elsewhere(trials, each)
    )
    return [
        Line("Not judged", f"{words.listed(list(dict.fromkeys(of)))}: {reason}.")
        for reason, of in reasons.items()
    ]


def _not_measured(judged: Judged, titles: Mapping[str, str], command: str) -> list[Line]:
    """The requirements that are unknown for every measured trial, and the one command that adds them."""
    measured = {each.key: each for each in judged.summaries if each.status in ("done", "partial")}
    by_requirement = words.grouped(
        ((verdict.quantity, verdict.statistic, verdict.profile), verdict)
        for verdict in judged.verdicts
        if verdict.trial in measured and not verdict.wanted and not _is_elsewhere(measured, verdict)
    )
    unknown = {
        about: group[0]
        for about, group in by_requirement.items()
        if all(verdict.verdict == "unknown" for verdict in group)
    }
    undecided = {
        about: group[0]
        for about, group in by_requirement.items()
        if len({verdict.trial for verdict in group}) == len(measured) > 1
        and all(verdict.verdict == "inconclusive" for verdict in group)
    }
    lines = _undecided(judged, measured, undecided)
    if not unknown:
        return lines
    if is_published(judged.summaries):
        return [Line("Not published", f"{_names_of(list(unknown), titles)}."), *lines]
    run = _run_again(judged)
    declared: list[tuple[str, str, str]] = []
    of_fit: dict[str, None] = {}
    of_run: dict[str, None] = {}
    hints: dict[str, None] = {}
    for about, verdict in unknown.items():
        way = settled_by(measured[verdict.trial], verdict)
        option = match[0] if (match := _OPTION.match(way)) else ""
        name = option.partition(" ")[0]
        if name in _OF_FIT:
            declared.append(about)
            of_fit[option] = None
        elif name and name in run:  # what it asks for was tried
            hints[words.plain(verdict.reason)] = None
        elif option:
            of_run[option] = None
        elif way:
            hints[f"to add it: {way}"] = None
    text = _names_of([about for about in unknown if about not in declared], titles)
    text += f" ({'; '.join(hints)})" if hints else ""
    text += _where_listed(of_run)
    command_again = " ".join([command_line(run), *of_run]) if of_run else ""
    missing = [Line("Not measured", f"{text}.", command_again, " ".join(of_run))]
    stated = f"{_names_of(declared, titles)}{_where_listed(of_fit)}."
    return [
        *(missing if len(declared) < len(unknown) else []),
        *([Line("Not declared", stated, " ".join([command, *of_fit]))] if declared else []),
        *lines,
    ]


def _names_of(unknown: Sequence[tuple[str, str, str]], titles: Mapping[str, str]) -> str:
    """The names of requirements, with their profiles where not all have it."""
    profiles = words.grouped(
        (words.judged_quantity(quantity, statistic), titles[profile])
        for quantity, statistic, profile in unknown
    )
    return words.listed(
        [
            name if len(of) == len(titles) else f"{name} (for {words.listed(of)})"
            for name, of in profiles.items()
        ]
    )


def _where_listed(options: Iterable[str]) -> str:
    found = [text for name, text in _LISTED.items() if any(option.startswith(name) for option in options)]
    return f" ({'; '.join(found)})" if found else ""


def _resumed(judged: Judged) -> list[str]:
    """The command of its run, to go on with it."""
    given = exported(judged.results.experiment).command or ("edgebench", "run")
    return [*(word for word in given if word != "--resume"), "--resume"]


def _run_again(judged: Judged, replaced: Iterable[str] = ()) -> list[str]:
    """The command of its run, with the profiles that it is judged by, and without the name that is taken
    and the options that are `replaced`.
    """
    words_left, left = iter(_resumed(judged)[:-1]), []
    dropped = ["--name", *replaced, *(["--profile"] if "--profile" in judged.options else [])]
    for word in words_left:
        if word in dropped:
            next(words_left, None)
        elif word.partition("=")[0] not in dropped:
            left.append(word)
    return [*left, *judged.options]


def _undecided(
    judged: Judged,
    measured: Mapping[str, TrialSummary],
    undecided: Mapping[tuple[str, str, str], Verdict],
) -> list[Line]:
    """The requirements that no trial decides, with the reason, what would settle them, and its command."""
    texts: dict[str, None] = {}
    options: dict[str, str] = {}
    for verdict in undecided.values():
        by = settled_by(measured[verdict.trial], verdict)
        options |= {match[1]: match[0] for match in _OPTION.finditer(by) if match[1] not in _OF_FIT}
        text = f"{words.judged_quantity(verdict.quantity, verdict.statistic)}: {words.plain(verdict.reason)}"
        texts[f"{text}. To settle it: {by}" if by else text] = None
    run = command_line(_run_again(judged, options.keys() - {"--meter"}))  # a further meter is one more
    command = " ".join([run, *options.values()]) if options and not is_published(judged.summaries) else ""
    return [Line("Undecided for all", f"{'; '.join(texts)}.", command)] if texts else []


def _failed(summaries: Sequence[TrialSummary], trials: Trials) -> str:
    """`1 of 28 sessions (0.5 int8); its figures rest on the others`; empty where no session failed."""
    ended = [(each.key, each.failed_sessions) for each in summaries if each.failed_sessions]
    failed = [key for key, share in ended if share.k]
    if not failed:
        return ""
    k, n = sum(share.k for _, share in ended), sum(share.n for _, share in ended)
    remaining = [key for key, share in ended if 0 < share.k < share.n]
    whose = "its figures rest" if len(remaining) == 1 else "their figures rest"
    rest = f"; {whose} on the others" if remaining else ""
    return f"{k} of {words.counted(n, 'session')} ({trials.several(failed)}){rest}."


def _disturbed(summaries: Sequence[TrialSummary], trials: Trials) -> str:
    """`2 of 27 sessions: the board throttled (1.0 fp32)`; empty where no session was disturbed."""
    found: list[tuple[str, Caution]] = [
        (summary.key, caution)
        for summary in summaries
        for caution in summary.cautions
        if caution.flag in _DISTURBED
    ]
    if not found:
        return ""
    counts = [(each.latency, each.sharing) for each in summaries]
    sessions = sum(
        latency.sessions if latency else len(sharing.images_per_s_values) if sharing else 0
        for latency, sharing in counts
    )
    worst = words.grouped((key, caution.count or caution.of) for key, caution in found)
    keys_by_reason = words.grouped((_DISTURBED[caution.flag], key) for key, caution in found)
    reasons_by_keys = words.grouped((tuple(dict.fromkeys(keys)), why) for why, keys in keys_by_reason.items())
    why = "; ".join(
        f"{', '.join(reasons)} ({trials.several(keys)})" for keys, reasons in reasons_by_keys.items()
    )
    count = f"{sum(map(max, worst.values()))} of {words.counted(sessions, 'session')}"
    return f"{count}: {why}. Repeat on an idle, cool machine."


# Trials with their figures and their standing against each profile.


MOST_ROWS = 24
"""Rows that are seen at once, some of every target; the others are folded."""


def matrix_of(
    summaries: Sequence[TrialSummary],
    verdicts: Sequence[Verdict],
    titles: Mapping[str, str],
    standings: Mapping[tuple[str, str], Standing],
) -> Matrix:
    """One row a trial: first those that fail the fewest profiles, then the quickest; without figures last.

    Args:
        summaries: of the trials.
        verdicts: on them, which say what each profile requires.
        titles: of the profiles, by name.
        standings: by trial and profile, as `standings_of` gives them.
    """
    names = tables.trial_names(summaries)
    columns = _figures(summaries, verdicts)
    figures = zip(*(texts for _, texts in columns), strict=True) if columns else [()] * len(summaries)
    rows = {
        summary.key: Row(
            names[summary.key],
            tuple(texts),
            tuple(standings.get((summary.key, profile)) for profile in titles),
        )
        for summary, texts in zip(summaries, figures, strict=True)
    }

    def order(summary: TrialSummary) -> tuple[float, ...]:
        fails = sum(bool(each and each.word == "fail") for each in rows[summary.key].standings)
        latency_s = math.inf if summary.latency is None else summary.latency.median
        has_none = all(text == words.MISSING for text in rows[summary.key].figures)
        return has_none, summary.status not in ("done", "partial"), fails, latency_s

    ordered = sorted(summaries, key=order)
    rank: Counter[str] = Counter()
    places = []
    for place, summary in enumerate(ordered):
        rank[summary.target] += 1
        places.append((rank[summary.target], place))
    seen = {place for _, place in sorted(places)[:MOST_ROWS]}
    return Matrix(
        tuple(column for column, _ in columns),
        tuple(
            Column(words.plain(title, 60), about=_limits_of(profile, verdicts))
            for profile, title in titles.items()
        ),
        tuple(rows[each.key] for place, each in enumerate(ordered) if place in seen),
        tuple(rows[each.key] for place, each in enumerate(ordered) if place not in seen),
    )


def _limits_of(profile: str, verdicts: Sequence[Verdict]) -> str:
    """Requirements of a profile, as the explanation of its column."""
    limits = (words.limit(verdict) for verdict in verdicts if verdict.profile == profile)
    return ", ".join(dict.fromkeys(limits))


def _figures(
    summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]
) -> list[tuple[Column, Sequence[str]]]:
    """The columns of figures: those of every matrix, then what the profiles limit and trials differ in."""
    # A limit over a longer time judges another figure than the highest sample.
    peak = "Peak sample" if any(verdict.averaging_s for verdict in verdicts) else "Peak power"
    columns = [
        _with_scope(
            metric, replace(column, heading=column.heading.replace("Peak power", peak)), each, summaries
        )
        for metric, column, each in tables.metric_columns("matrix", summaries)
        if not _is_inside(metric, summaries)
    ]
    shown = {metric.name for metric, *_ in tables.metric_columns("matrix", summaries)}
    for name in dict.fromkeys(verdict.quantity for verdict in verdicts):
        metric = METRICS.get(name)
        if metric is None or name in shown or metric.of_schedule or metric.is_size:
            continue
        form = metric.shown[0].form if metric.shown else "number"
        heading = metric.shown[0].heading if metric.shown else "{label}"
        texts = [metric_text(value_of(metric, summary), form) for summary in summaries]
        if len(set(texts)) > 1:
            heading = heading.replace("{label}", metric.titled)
            columns.append((Column(heading, figures=True, about=metric.sentence), texts))
    return columns


def _is_inside(metric: Metric, summaries: Sequence[TrialSummary]) -> bool:
    """True if each trial with this figure has the one that it is a part of."""
    wholes = [each for each in METRICS.values() if each.part == metric.name]
    return any(
        all(whole.value(summary) is not None for summary in summaries if metric.value(summary) is not None)
        for whole in wholes
    )


def _with_scope(
    metric: Metric, column: Column, texts: Sequence[str], summaries: Sequence[TrialSummary]
) -> tuple[Column, Sequence[str]]:
    """Power and energy columns with what the meters cover, in the heading where all cover the same."""
    if not metric.rail:
        return column, texts
    scopes = ["" if each.primary_rail is None else scope_text(each.primary_rail) for each in summaries]
    if len(set(filter(None, scopes))) < 2:
        scope = next(filter(None, scopes), "")
        about = f"{metric.sentence} The meter covers: {scope}. Only figures of one scope compare."
        return replace(column, heading=f"{column.heading} ({scope})", about=about), texts
    return column, [
        f"{text} ({scope})" if scope and text != words.MISSING else text
        for text, scope in zip(texts, scopes, strict=True)
    ]


def standings_of(
    summaries: Sequence[TrialSummary], verdicts: Sequence[Verdict]
) -> dict[tuple[str, str], Standing]:
    """Each trial against each profile, by both."""
    trials = {summary.key: summary for summary in summaries}
    return {
        (trial, profile): _standing(trials[trial], whole.verdicts)
        for (trial, profile), whole in notes.wholes(verdicts).items()
        if trial in trials
    }


def _standing(trial: TrialSummary, verdicts: Sequence[Verdict]) -> Standing:
    judgements = [_judgement(trial, verdict) for verdict in verdicts]
    required = [
        (verdict, judgement)
        for verdict, judgement in zip(verdicts, judgements, strict=True)
        if not verdict.wanted
    ]
    by_word = words.grouped((str(verdict.verdict), (verdict, judgement)) for verdict, judgement in required)
    decided_by = None
    if "fail" in by_word:
        word = "fail"
        decided_by = max(by_word[word], key=lambda pair: _missed_by(pair[0]))[1]
    elif "inconclusive" in by_word:
        word, decided_by = "inconclusive", by_word["inconclusive"][0][1]
    elif "unknown" not in by_word:
        word = "pass"
    else:
        word = "so far" if "pass" in by_word else "unknown"
    return Standing(word, decided_by, tuple(judgements))


def _missed_by(verdict: Verdict) -> tuple[bool, float]:
    """A miss as a multiple of the limit, the most for a bound; the load of a schedule repeats a latency's."""
    is_own = verdict.quantity != "load"
    if verdict.margin is None or isinstance(verdict.limit, Sequence):
        return is_own, math.inf if verdict.margin is None else -verdict.margin
    return is_own, -verdict.margin / (abs(verdict.limit) or 1.0)


def _judgement(trial: TrialSummary, verdict: Verdict) -> Judgement:
    value, excess = words.judged(verdict) if verdict.declared else words.value(verdict), ""
    margin = "" if verdict.margin is None else words.margin(verdict)
    if verdict.declared:
        margin += f" (declared {verdict.declared})"
    if verdict.verdict == "inconclusive":
        ends = (verdict.low, verdict.high)
        excess = "" if None in ends else words.estimate(None, *ends, words.spaced(verdict.unit))
    elif verdict.verdict == "fail":
        excess = words.judged(verdict)
        excess = words.distance(verdict) or excess
    is_measured = trial.status in ("done", "partial")
    by = settled_by(trial, verdict) if is_measured and verdict.verdict in ("inconclusive", "unknown") else ""
    return Judgement(
        verdict.verdict,
        words.plain(verdict.requirement, 40),
        words.limit(verdict),
        "" if value == words.MISSING else value,
        margin,
        excess,
        "; ".join(filter(None, [words.plain(verdict.reason), f"to settle: {by}" if by else ""])),
    )
