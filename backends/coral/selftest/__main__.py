"""`python -m edgebench.backends.coral.selftest`: try an Edge TPU step by step, and write a report to send."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from edgebench import registry
from edgebench.cache.objects import Cache
from edgebench.errors import EXIT_ERROR, EXIT_OK, EXIT_USAGE, EdgeBenchError
from edgebench.link.agent_backend import AgentBackend
from edgebench.plan.sweeps import require_unswept
from edgebench.plan.targets import make_targets

from .report import markdown
from .steps import carry_out


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 where every step went well, 1 where one did not, 2 for a bad command line."""
    parser = argparse.ArgumentParser(prog="python -m edgebench.backends.coral.selftest", description=__doc__)
    parser.add_argument("--host", metavar="USER@BOARD[:PORT]", help="where the Edge TPU is; default: here")
    parser.add_argument("--python", metavar="PATH", help="the Python there")
    parser.add_argument("--artifact", metavar="FILE", help="MobileNet v1 0.25 int8, compiled already")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an option")
    parser.add_argument("--output", type=Path, default=Path("coral-selftest.md"), metavar="FILE")
    asked = parser.parse_args(arguments)
    backend = registry.backend("coral")
    assert isinstance(backend, AgentBackend)
    settings = [*asked.set, *([f"artifact={asked.artifact}"] if asked.artifact else [])]
    try:
        targets = make_targets({"coral": backend}, settings, (), host=asked.host, python=asked.python)
        target = require_unswept(targets)
    except EdgeBenchError as error:
        parser.error("; ".join(part for part in (error.what, error.why, error.fix) if part))
    result = carry_out(backend, target, Cache(), lambda line: print(line, flush=True))
    try:
        asked.output.write_text(markdown(result), encoding="utf-8")
    except OSError as error:
        print(f"the report cannot be written to {asked.output}: {error.strerror}")
        return EXIT_USAGE
    if result.missing:
        print("\nWhat is missing:")
        for line in result.missing:
            print(f"  - {line}")
    print(f"\nreport: {asked.output} (read it before you send it)")
    return EXIT_ERROR if result.missing else EXIT_OK


if __name__ == "__main__":
    raise SystemExit(main())
