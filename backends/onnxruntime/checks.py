"""What `doctor` says of ONNX Runtime, of its providers, and of the packages that prepare."""

from __future__ import annotations

import json
import subprocess
import sys

from edgebench.models.prepare.onnx_packages import packages_finding
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.target import Target

ASK_S = 60.0
ASK_RUNTIME = (
    "import json, onnxruntime; "
    "print(json.dumps([onnxruntime.__version__, onnxruntime.get_available_providers()]))"
)
DEFAULT_PROVIDER = "CPUExecutionProvider"


def runtime_findings(target: Target) -> list[Finding]:
    """Whether the runtime and the provider are there where the worker runs, and what prepares, here."""
    provider = str(target.options.get("provider", DEFAULT_PROVIDER))
    return [*_runtime(target.launch.python or sys.executable, provider), packages_finding()]


def _runtime(python: str, provider: str) -> list[Finding]:
    """The runtime is asked in a process of its own: it never lives in the harness's."""
    fix = "pip install onnxruntime"
    try:
        command = [python, "-c", ASK_RUNTIME]
        asked = subprocess.run(command, capture_output=True, text=True, timeout=ASK_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return [Finding("error", "onnxruntime", f"{python} cannot be run: {error}", "name another Python")]
    try:
        version, providers = json.loads(asked.stdout.strip().splitlines()[-1])
        names = [str(name) for name in providers]
    except (IndexError, TypeError, ValueError):
        last = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
        return [Finding("error", "onnxruntime", f"not found by {python}: {last}", f"{python} -m {fix}")]
    findings = [Finding("ok", "onnxruntime", str(version))]
    if provider in names:
        return [*findings, Finding("ok", "provider", provider)]
    message = f"{provider} is not in this build, which has {', '.join(names)}"
    fix = "name one of these (--set provider=NAME), or install a build with it, such as onnxruntime-gpu"
    return [*findings, Finding("error", "provider", message, fix)]
