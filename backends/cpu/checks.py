"""What `doctor` says of the processor's runtime, and of TensorFlow, which prepares."""

from __future__ import annotations

import subprocess
import sys

from edgebench.installed import version_of
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.target import Target

ASK_S = 60.0
ASK_RUNTIME = "import ai_edge_litert.interpreter"


def runtime_findings(target: Target) -> list[Finding]:
    """Whether LiteRT is installed where the worker runs, and TensorFlow, which prepares, here."""
    findings = [_litert(target.launch.python)]
    if version := version_of("tensorflow"):
        findings.append(Finding("ok", "tensorflow", f"{version} (prepares artifacts)"))
    else:
        fix = "pip install 'edgebench[prepare]'"
        message = "is not installed: depth multiplier 1.0 and other models cannot be prepared"
        findings.append(Finding("warning", "tensorflow", message, fix))
    return findings


def _litert(python: str | None) -> Finding:
    fix = "pip install 'edgebench[cpu]'"
    if python in (None, sys.executable):
        if version := version_of("ai-edge-litert"):
            return Finding("ok", "ai-edge-litert", version)
        return Finding("error", "ai-edge-litert", "is not installed: nothing can be measured", fix)
    assert python is not None
    try:
        command = [python, "-c", ASK_RUNTIME]
        asked = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("error", "ai-edge-litert", f"{python} cannot be run: {error}", "name another Python")
    if asked.returncode == 0:
        return Finding("ok", "ai-edge-litert", f"found by {python}")
    last = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
    return Finding("error", "ai-edge-litert", f"not found by {python}: {last}", f"{python} -m {fix}")
