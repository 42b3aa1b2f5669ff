"""Which part of the agent this process is: `serve`, `worker` or `probe`."""

import sys
from typing import List


def main(arguments: List[str]) -> int:
    """Run one part; 2 for one that does not exist."""
    part = arguments[0] if arguments else ""
    if part == "serve":
        from .supervisor import main as serve

        return serve(arguments[1:])
    if part == "worker":
        from .worker import main as work

        return work(arguments[1:])
    if part == "probe":
        from .sampler import main as sample

        return sample(arguments[1:])
    sys.stderr.write(
        "usage: agent serve | worker [--affinity=0,1] [--building=FOLDER] | probe CODE ADDRESS\n"
    )
    return 2
