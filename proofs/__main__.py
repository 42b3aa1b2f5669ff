"""`python -m proofs`: every claim of the statistics with what was simulated, one table a topic."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
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
SIZES: Mapping[str, Size] = {"small": SMALL, "full": FULL}


def main(words: list[str] | None = None) -> int:
    """Simulate and print; the exit code is 1 where a claim was not kept, 2 for a file that cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m proofs", description=__doc__)
    parser.add_argument("--size", choices=sorted(SIZES), default="full", help="how much (default: full)")
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
    for name in arguments.only or PROOFS:
        start_s = time.monotonic()
        topics.append(PROOFS[name](size))
        console.print(table(topics[-1]))
        console.print(topics[-1].claim, "")
        print(f"{name}: {time.monotonic() - start_s:.0f} s", file=sys.stderr, flush=True)
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


def experiments(size: Size) -> str:
    """How much was simulated, as a sentence."""
    return (
        f"{size.experiments:,} experiments a case ({size.single:,} for percentiles, maxima, forecasts and "
        f"changes, {cases_of(size)} for power); two standard errors of the simulation are allowed."
    )


if __name__ == "__main__":
    sys.exit(main())
