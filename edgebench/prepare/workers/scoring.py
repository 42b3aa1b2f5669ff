"""An artifact's predictions here, for `evaluate`: `python -m edgebench.prepare.workers.scoring`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from edgebench.prepare.workers import litert
from edgebench.prepare.workers import onnx_running as running
from edgebench.prepare.workers.processes import Job, Report, serve


def predict(job: Job, report: Report) -> dict[str, Any]:
    """The class with the highest score for every patch of `images`, a .npy, by the file at `path`."""
    report(f"evaluating {job['what']}")
    images, path = np.load(job["images"], mmap_mode="r"), Path(job["path"])
    runtime = running if job["format"] == "onnx" else litert
    scores = runtime.score(path, images, job["input"])
    return {"predicted": scores.argmax(1).tolist()}


if __name__ == "__main__":
    serve(predict)
