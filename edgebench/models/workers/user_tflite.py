"""A user's .tflite on this machine's LiteRT: `python -m edgebench.models.workers.user_tflite`.

Jobs come in as JSON lines (see `edgebench.models.workers.processes`)::

    {"what": text, "path": path, "shapes": [[...]], "input": InputSpec or null, "golden": path,
     "batch": 1, "reference": true}

The answer has `scores` [golden][scores], what they were computed by, and `steps`, the outputs' scales; or
`unsupported`, why LiteRT does not take the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from edgebench.errors import InputError
from edgebench.models.workers import litert
from edgebench.models.workers.feeds import golden_feeds
from edgebench.models.workers.processes import Job, Report, serve

_FLEX = ("flex", "select tensorflow", "select tf")


def score(job: Job, report: Report) -> dict[str, Any]:
    """Run the golden patches; the runtime says here, and not on the board, what it cannot take."""
    report(f"checking {job['what']}")
    path = Path(job["path"])
    feeds = golden_feeds(Path(job["golden"]), job["shapes"], job["input"])
    try:
        rows = litert.run(path, feeds, job["batch"], reference=job["reference"])
    except (RuntimeError, ValueError) as error:
        return {"unsupported": _refused(job["what"], error)}
    if not np.isfinite(rows).all():
        raise InputError(
            f"{job['what']} gives scores that are no numbers",
            why="its golden patches cannot be compared with a device's",
            fix="check its input (--input-scale, --input-mean, --inputs) and the file",
        )
    interpreter = litert.open_interpreter(path)
    scales = [found[0] for one in interpreter.get_output_details() if (found := litert.quantisation(one))]
    kernels = "reference kernels" if job["reference"] else "kernels without delegates"
    return {"scores": rows[: job["n"]].tolist(), "reference": f"LiteRT {kernels}", "steps": scales}


def _refused(name: str, error: Exception) -> dict[str, str]:
    said = " ".join(str(error).split())[:500] or type(error).__name__
    low = said.lower()
    if "custom op" in low or any(word in low for word in _FLEX):
        return {
            "what": f"{name} has an operation that LiteRT does not have",
            "why": said,
            "fix": "convert it with TFLite's built-in operations alone, or take a runtime that has it",
        }
    raise InputError(f"LiteRT cannot run {name}", why=said, fix="convert the model again") from error


if __name__ == "__main__":
    serve(score)
