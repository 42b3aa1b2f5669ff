"""Several workers on one device: a row a worker, and who is slowed down by whom."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from edgebench.judge.trial_summary import TrialSummary
from edgebench.report import notes, tables, words
from edgebench.report.blocks import Block, Column, Heading, Notes, Plot, Table, Text, of_figures
from edgebench.report.notes import Trials
from edgebench.report.page import Section

_NOTE = (
    "Slowdown: time per image, while all workers run, over that of the variant alone. A trial's is its "
    "slowest worker's, with an interval that allows for its selection. Memory counts pages that several "
    "workers share once for each."
)


def shared_trials(summaries: Sequence[TrialSummary]) -> list[TrialSummary]:
    """The trials whose device several workers shared."""
    return [summary for summary in summaries if summary.sharing is not None]


def worker_name(worker: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """What a worker runs, as its trial alone is called: `0.5 int8`."""
    return labels.get(worker["alone"]) or words.plain(worker["variant"], 60)


def workers_table(summaries: Sequence[TrialSummary]) -> Table:
    """One row a worker of the trials with several; no row without such trials."""
    names, labels = tables.trial_names(summaries), words.labels(summaries)
    rows = []
    for summary in shared_trials(summaries):
        for worker in summary.workers:
            time, accuracy = worker["image_s"] or worker["infer_s"], worker["accuracy"]
            memory = worker["memory_bytes"]
            cells = (
                f"{names[summary.key]}, worker {worker['worker']}",
                worker_name(worker, labels),
                ",".join(map(str, worker["cores"])) or "any",
                _estimate(time),
                _estimate(worker["slowdown"]),
                words.size(None if memory is None else round(memory)),
                f"{accuracy['k']}/{accuracy['n']}" if accuracy else words.MISSING,
            )
            rows.append(cells)
    figures = of_figures("", "Latency per image, s", "Slowdown", "Peak memory", "Accuracy")[1:]
    return Table("Workers", (Column("Worker"), Column("Runs"), Column("Cores"), *figures), tuple(rows))


def _estimate(figure: Mapping[str, Any] | None) -> str:
    if figure is None:
        return words.MISSING
    text = words.estimate(figure["median"], figure["low"], figure["high"])
    return words.FigureText(text, figure["median"])


def slowdown_matrices(summaries: Sequence[TrialSummary]) -> list[Table]:
    """For each target and way to share, how much each variant (row) is slowed down by its company (column).

    Of several workers of one variant in one trial, the slowest.
    """
    labels = words.labels(summaries)
    cells: dict[str, dict[tuple[str, str], Mapping[str, Any]]] = {}
    for summary in shared_trials(summaries):
        others = ("workers", "with", "share")
        swept = [f"{name}={value}" for name, value in summary.settings.items() if name not in others]
        target = f"{summary.swept_target}[{','.join(swept)}]" if swept else summary.swept_target
        share = summary.sharing.share if summary.sharing else ""
        of_target = cells.setdefault(words.plain(f"{target}, {share}" if share else target, 80), {})
        running = [worker_name(worker, labels) for worker in summary.workers]
        for who, worker in zip(running, summary.workers, strict=True):
            company = Counter(running) - Counter([who])
            whom = " + ".join(f"{count} x {name}" if count > 1 else name for name, count in company.items())
            slowdown, known = worker["slowdown"], of_target.get((who, whom))
            if slowdown and (known is None or slowdown["median"] > known["median"]):
                of_target[who, whom] = slowdown
    return [_matrix(target, of_target) for target, of_target in cells.items() if of_target]


def _matrix(target: str, cells: Mapping[tuple[str, str], Mapping[str, Any]]) -> Table:
    companies = list(dict.fromkeys(whom for _, whom in cells))
    rows = [
        (who, *(_estimate(cells.get((who, whom))) for whom in companies))
        for who in dict.fromkeys(who for who, _ in cells)
    ]
    return Table(target, of_figures("who \\ together with", *companies), tuple(rows), look="matrix")


def sharing_section(summaries: Sequence[TrialSummary], trials: Trials) -> Section:
    """What workers cost each other; without blocks where no device was shared."""
    shared = shared_trials(summaries)
    if not shared:
        return Section("sharing", "Sharing the device", "", [])
    reasons = [
        (summary.key, f"worker {worker['worker']}: {worker['slowdown_reason']}")
        for summary in shared
        for worker in summary.workers
        if worker["slowdown_reason"]
    ]
    matrices = slowdown_matrices(summaries)
    slowest = [each.sharing.slowdown for each in shared if each.sharing and each.sharing.slowdown]
    blocks: list[Block] = [
        Text(_NOTE),
        tables.metric_table("sharing", shared),
        Heading("Workers"),
        workers_table(summaries),
        Notes(notes.shared(reasons, trials)),
        *(block for table in matrices for block in (Heading(f"Slowdown on {table.title}"), table)),
        Plot("timeline"),
    ]
    worst = max((each.median for each in slowest), default=None)
    gist = f"{words.counted(len(shared), 'trial')} of several workers"
    gist += "" if worst is None else f", slowdown up to {words.number(worst)}"
    return Section("sharing", "Sharing the device", gist, blocks)
