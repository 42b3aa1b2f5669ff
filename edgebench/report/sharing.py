"""Several workers on one device: a row per worker, and the slowdown of each variant by its company."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from edgebench.judge.metric import Metric
from edgebench.judge.metrics import METRICS
from edgebench.judge.trial import MISSING, Estimate, Trial, Worker
from edgebench.report import notes, tables, words
from edgebench.report.notes import Trials
from edgebench.report.renderers.blocks import Block, Column, Heading, Notes, Plot, Section, Table, Text

_NOTE = (
    "Slowdown: time per image, while all workers run, over that of the variant alone. A trial's is its "
    "slowest worker's, with an interval that allows for its selection. Memory counts pages that several "
    "workers share once for each."
)


def shared_trials(trials: Sequence[Trial]) -> list[Trial]:
    """Trials whose device several workers shared."""
    return [trial for trial in trials if trial.is_shared]


def worker_name(worker: Worker, labels: Mapping[str, str]) -> str:
    """Name of a worker: that of the trial of its variant alone, `0.5 int8`."""
    return labels.get(worker.alone) or words.plain(worker.variant, 60)


def worker_metrics(trials: Sequence[Trial]) -> list[Metric]:
    """Metrics of tables that some worker has, without those that are part of another that it has."""
    names = {
        key.metric
        for trial in trials
        for key, estimate in trial.estimates.items()
        if key.worker is not None and not key.stage and estimate.value is not None
    }
    parts = {METRICS[name].part for name in names}
    return [metric for metric in METRICS.values() if metric.tables and metric.name in names - parts]


def workers_table(trials: Sequence[Trial]) -> Table:
    """One row per worker of the trials with several; no row without such trials."""
    shared = shared_trials(trials)
    names, labels = tables.trial_names(trials), words.labels(trials)
    workers = [(trial, worker) for trial in shared for worker in trial.workers]
    columns = [
        (Column("Runs"), [worker_name(worker, labels) for _, worker in workers]),
        (Column("Cores"), [",".join(map(str, worker.cores)) or "any" for _, worker in workers]),
    ]
    for metric in worker_metrics(shared):
        estimates = [trial.estimate(metric.name, worker.number) for trial, worker in workers]
        columns.append(tables.metric_column(metric, estimates)[1:])
    named = [f"{names[trial.key]}, worker {worker.number}" for trial, worker in workers]
    return Table.of_columns("Workers", "Worker", named, columns)


def slowdown_matrices(trials: Sequence[Trial]) -> list[Table]:
    """Slowdown of each variant (row) by its company (column), for each target and way to share.

    Of several workers of one variant in one trial it is that of the slowest.
    """
    labels = words.labels(trials)
    cells: dict[str, dict[tuple[str, str], Estimate]] = {}
    for trial in shared_trials(trials):
        others = ("workers", "with", "share")
        swept = [f"{name}={value}" for name, value in trial.settings.items() if name not in others]
        target = f"{trial.swept_target}[{','.join(swept)}]" if swept else trial.swept_target
        target = words.plain(f"{target}, {trial.share}" if trial.share else target, 80)
        slowdowns = cells.setdefault(target, {})
        running = [worker_name(worker, labels) for worker in trial.workers]
        for name, worker in zip(running, trial.workers, strict=True):
            company = (Counter(running) - Counter([name])).items()
            together = " + ".join(f"{count} x {other}" if count > 1 else other for other, count in company)
            slowdown = trial.estimate("slowdown", worker.number)
            slowest = slowdowns.get((name, together), MISSING)
            if (slowdown.value or 0.0) > (slowest.value or 0.0):
                slowdowns[name, together] = slowdown
    return [_matrix(target, slowdowns) for target, slowdowns in cells.items() if slowdowns]


def _matrix(target: str, slowdowns: Mapping[tuple[str, str], Estimate]) -> Table:
    names = list(dict.fromkeys(name for name, _ in slowdowns))
    columns = []
    for together in dict.fromkeys(together for _, together in slowdowns):
        estimates = [slowdowns.get((name, together), MISSING) for name in names]
        _, column, texts = tables.metric_column(METRICS["slowdown"], estimates)
        columns.append((replace(column, heading=together), texts))
    return replace(Table.of_columns(target, "who \\ together with", names, columns), look="matrix")


def sharing_section(trials: Sequence[Trial], names: Trials) -> Section:
    """Cost of workers for each other; without blocks where no device was shared."""
    shared = shared_trials(trials)
    if not shared:
        return Section("sharing", "Sharing the device", "", [])
    reasons = [
        (trial.key, f"worker {worker.number}: {reason}")
        for trial in shared
        for worker in trial.workers
        if (reason := trial.estimate("slowdown", worker.number).reason)
    ]
    blocks: list[Block] = [
        Text(_NOTE),
        tables.metric_table("sharing", shared),
        Heading("Workers"),
        workers_table(trials),
        Notes(notes.shared(reasons, names)),
        *(
            block
            for table in slowdown_matrices(trials)
            for block in (Heading(f"Slowdown on {table.title}"), table)
        ),
        Plot("timeline"),
    ]
    gist = f"{words.counted(len(shared), 'trial')} of several workers"
    slowest = max((trial.estimate("slowdown").value or 0.0 for trial in shared), default=0.0)
    gist += f", slowdown up to {words.number(slowest)}" if slowest else ""
    return Section("sharing", "Sharing the device", gist, blocks)
