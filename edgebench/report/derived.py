"""The derived files of a result folder, which can be made again at any time."""

from __future__ import annotations

import json
from pathlib import Path

from edgebench.atomic import write_atomically
from edgebench.fit.judgement import Judged
from edgebench.fit.summary import trial_json
from edgebench.report.html import write_report


def write_derived(judged: Judged) -> Path:
    """Write every trial.json and report.html; returns the report's path."""
    folder = judged.results.path
    for summary in judged.summaries:
        trial = folder / "trials" / summary.key
        trial.mkdir(parents=True, exist_ok=True)
        write_atomically(trial / "trial.json", json.dumps(trial_json(summary), indent=1).encode())
    return write_report(judged.results, judged.summaries, judged.verdicts, folder / "report.html")
