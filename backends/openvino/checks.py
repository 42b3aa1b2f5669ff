"""What `doctor` says of OpenVINO."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.target import Target

ASK_S = 60.0
LIBRARY = Path(__file__).parent / "device" / "library.py"


def runtime_findings(target: Target) -> list[Finding]:
    """Whether the library is there where the worker runs, asked in a process of its own."""
    python = target.launch.python or sys.executable
    try:
        asked = subprocess.run(
            [python, str(LIBRARY)], capture_output=True, text=True, timeout=ASK_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return [Finding("error", "openvino", f"{python} cannot be run: {error}", "name another Python")]
    try:
        facts = json.loads(asked.stdout.strip().splitlines()[-1])
        version, why_none = facts["version"], facts["why_none"]
    except (IndexError, KeyError, TypeError, ValueError):
        version, why_none = None, (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
    if version is None:
        message = f"not found by {python}: {why_none}"
        return [Finding("error", "openvino", message, f"{python} -m pip install openvino")]
    return [Finding("ok", "openvino", str(version))]
