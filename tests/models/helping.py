"""A process of its own for tests: it answers, reports, refuses, prints and dies as it is told."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from edgebench.errors import InputError
from edgebench.models.processes import Job, Report, serve


def handle(job: Job, report: Report) -> dict[str, Any]:
    print("a library that prints")
    os.write(1, b"and one that writes to the descriptor\n")
    report(f"at {job['n']}")
    match job["do"]:
        case "refuse":
            raise InputError("no", why="it is so", fix="ask for something else")
        case "crash":
            raise ZeroDivisionError("the last words")
        case "hang":
            signal.pause()
        case "abort":
            print("about to abort", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGABRT)
    return {"n": job["n"], "process": os.getpid()}


if __name__ == "__main__":
    serve(handle)
