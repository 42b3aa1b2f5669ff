"""`python -m proofs`: every claim of the statistics with what was simulated, one table a topic."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rich.console import Console

from edgebench.errors import UsageError
from proofs import (
    areas,
    best,
    changes,
    coverage,
    differences,
    families,
    forecasts,
    power_bursts,
    power_energy,
    power_holding,
    power_paced,
    power_peaks,
    queues,
    scatter,
    shapes,
    slowdowns,
    stopping,
    tails,
)
from proofs.power_bursts import cases_of
from proofs.show import markdown, put, renewed, table
from proofs.topic import FULL, SMALL, Proof, Size, Topic

PROOFS: Mapping[str, Proof] = {
    "coverage": coverage.proof,
    "resembling": coverage.resembling,
    "scatter": scatter.proof,
    "flags": shapes.proof,
    "areas": areas.proof,
    "best": best.proof,
    "percentiles": tails.proof,
    "maxima": tails.maxima,
    "stalls": tails.stalls,
    "compare": differences.proof,
    "families": families.proof,
    "slowdown": slowdowns.proof,
    "changes": changes.proof,
    "decide": stopping.decide,
    "ended": stopping.ended,
    "forecast": forecasts.proof,
    "energy": power_energy.slow,
    "passes": power_energy.pauses,
    "bursts": power_bursts.bursts,
    "trials": power_bursts.trials,
    "paced": power_paced.paced,
    "holding": power_holding.holding,
    "peaks": power_peaks.peaks,
    "queues": queues.proof,
}
LONG = ("trials", "bursts", "changes", "energy", "paced", "holding", "peaks")
"""Topics that take longest: they begin first, so that the others fill what is left of the processes."""
SIZES: Mapping[str, Size] = {"small": SMALL, "full": FULL}


def main(words: list[str] | None = None) -> int:
    """Simulate and print; the exit code is 1 where a claim was not kept, 2 for a file that cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m proofs", description=__doc__)
    parser.add_argument("--size", choices=sorted(SIZES), default="full", help="how much (default: full)")
    parser.add_argument("--processes", type=int, help="topics at the same time (default: one a core)")
    parser.add_argument("--only", choices=list(PROOFS), action="append", help="one topic, repeatable")
    parser.add_argument(
        "--output",
        type=Path,
        help="write the tables as Markdown, between a file's markers; with --only its other tables stay",
    )
    arguments = parser.parse_args(words)
    size = SIZES[arguments.size]
    console = Console()
    topics: list[Topic] = []
    names = tuple(arguments.only or PROOFS)
    for topic, took_s in simulated(names, size, arguments.processes or len(os.sched_getaffinity(0))):
        topics.append(topic)
        console.print(table(topic))
        console.print(topic.claim, "")
        print(f"{topic.name}: {took_s:.0f} s", file=sys.stderr, flush=True)
    missed = [topic.name for topic in topics if not topic.met]
    console.print(f"not kept: {', '.join(missed)}" if missed else "every claim is kept")
    if arguments.output is not None:
        try:
            of_size = experiments(size)
            tables = (
                renewed(arguments.output, topics, of_size) if arguments.only else markdown(topics, of_size)
            )
            put(arguments.output, tables)
        except UsageError as error:
            print(error, file=sys.stderr)
            return 2
    return 1 if missed else 0


def simulated(names: Sequence[str], size: Size, processes: int) -> Iterator[tuple[Topic, float]]:
    """Each topic in order, with how long it took in seconds.

    Topics have seeds of their own: how many processes share them changes no table.
    """
    if min(processes, len(names)) < 2:
        yield from (timed(name, size) for name in names)
        return
    # Under its name in the package: what `python -m proofs` calls this module, no other process can import.
    from proofs.__main__ import timed as task

    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(processes, len(names)), mp_context=spawned) as pool:
        first = sorted(names, key=lambda name: name not in LONG)
        running = {name: pool.submit(task, name, size) for name in first}
        try:
            yield from (running[name].result() for name in names)
        finally:
            pool.shutdown(cancel_futures=True)


def timed(name: str, size: Size) -> tuple[Topic, float]:
    """One topic, and how long it took in seconds."""
    start_s = time.monotonic()
    return PROOFS[name](size), time.monotonic() - start_s


def experiments(size: Size) -> str:
    """Number of simulated experiments, as a sentence."""
    return (
        f"{size.experiments:,} experiments a case ({size.single:,} for percentiles, maxima, forecasts and "
        f"changes, {cases_of(size)} for power); two standard errors of the simulation are allowed."
    )


if __name__ == "__main__":
    sys.exit(main())
