"""`python -m benchmarks`: every figure with its bar, as a table and as bench.json."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

import edgebench
from benchmarks import (
    benchmark_app,
    coral,
    firmware,
    fleets,
    harness,
    help_time,
    image_s,
    many_results,
    many_trials,
    meter_cost,
    over_ssh,
    picture_reading,
    power,
    preparing,
    records,
    report_page,
    requirement_fit,
    serial_loads,
    sharing,
    statistics,
    telemetry,
    tensorrt_runner,
    worker_cost,
)
from benchmarks.row import Row
from edgebench.prepare.cache import Cache
from edgebench.run.measuring.execution import host_facts

SECTIONS = {
    "help": help_time,
    "worker": worker_cost,
    "sharing": sharing,
    "harness": harness,
    "image": image_s,
    "coral": coral,
    "openvino": benchmark_app,
    "tensorrt": tensorrt_runner,
    "firmware": firmware,
    "serial": serial_loads,
    "statistics": statistics,
    "fit": requirement_fit,
    "power": power,
    "meter": meter_cost,
    "records": records,
    "results": many_results,
    "explore": many_trials,
    "report": report_page,
    "telemetry": telemetry,
    "ssh": over_ssh,
    "fleets": fleets,
    "preparing": preparing,
    "pictures": picture_reading,
}


def main() -> int:
    """Take the figures; the exit code is 1 where a bar was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", choices=sorted(SECTIONS), action="append", help="one section, repeatable")
    parser.add_argument("--pairs", type=int, default=15, help="pairs of every comparison (default: 15)")
    parser.add_argument("--output", type=Path, default=Path("bench.json"), help="the JSON file")
    arguments = parser.parse_args()
    rows: list[Row] = []
    for name in arguments.only or SECTIONS:
        start_s = time.monotonic()
        rows += SECTIONS[name].rows(Cache(), arguments.pairs)
        print(f"{name}: {time.monotonic() - start_s:.0f} s", file=sys.stderr, flush=True)
    Console().print(_table(rows))
    record = {
        "schema_version": 1,
        "taken_utc": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "edgebench_version": edgebench.__version__,
        "host": host_facts(),
        "rows": [{**asdict(row), "met": row.met} for row in rows],
    }
    arguments.output.write_text(json.dumps(record, indent=1))
    return 0 if all(row.met for row in rows) else 1


def _table(rows: list[Row]) -> Table:
    table = Table(title="EdgeBench's own cost", caption="A/A: like against like in the same run")
    for heading in ("what", "figure", "bar", "A/A", ""):
        table.add_column(heading, justify="left" if heading in {"what", ""} else "right")
    for row in rows:
        same = f"{row.same:.3f}" if row.same is not None else ""
        bar = "" if row.bar is None else f"{row.bar:g}"
        outcome = "" if row.bar is None else "met" if row.met else "MISSED"
        table.add_row(row.name, f"{row.figure:.3f} {row.unit}", bar, same, outcome)
    return table


if __name__ == "__main__":
    sys.exit(main())
