"""Which part of the agent this process is: `serve`, `worker` or `probe`."""

import importlib
import sys
from typing import Any, List

PARTS = {"serve": ".supervisor", "worker": ".worker", "probe": ".sampler"}


def main(arguments: List[str]) -> int:
    """Run one part; 2 for one that does not exist."""
    if not arguments or arguments[0] not in PARTS:
        usage = "usage: agent serve | worker [--affinity=0,1] [--building=FOLDER] | probe CODE ADDRESS"
        print(usage, file=sys.stderr)
        return 2
    part: Any = importlib.import_module(PARTS[arguments[0]], __package__)
    code: int = part.main(arguments[1:])
    return code
