"""The command of a device's self-test: its arguments, its report, and what is missing."""

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

from .kind import Kind
from .report import markdown
from .steps import carry_out


def main(kind: Kind, program: str, arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 where every step went well, 1 where one did not, 2 for a bad command line.

    Args:
        kind: of the device.
        program: how the command is called.
        arguments: of the command line; None for those of this process.
    """
    backend = registry.backend(kind.device)
    assert isinstance(backend, AgentBackend)
    parser = argparse.ArgumentParser(
        prog=program, description=f"try {kind.device} step by step, and write a report to send"
    )
    parser.add_argument("--host", metavar="USER@BOARD[:PORT]", help="where the device is; default: here")
    parser.add_argument("--python", metavar="PATH", help="the Python there")
    if "artifact" in backend.options_model.model_fields:
        parser.add_argument("--artifact", metavar="FILE", help=f"{kind.variant.name}, compiled already")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="an option")
    parser.add_argument("--output", type=Path, default=Path(f"{kind.device}-selftest.md"), metavar="FILE")
    chosen = parser.parse_args(arguments)
    artifact = getattr(chosen, "artifact", None)
    settings = [*chosen.set, *([f"artifact={artifact}"] if artifact else [])]
    try:
        targets = make_targets({kind.device: backend}, settings, (), host=chosen.host, python=chosen.python)
        target = require_unswept(targets)
    except EdgeBenchError as error:
        parser.error("; ".join(part for part in (error.what, error.why, error.fix) if part))
    result = carry_out(kind, backend, target, Cache(), lambda line: print(line, flush=True))
    try:
        chosen.output.write_text(markdown(result), encoding="utf-8")
    except OSError as error:
        print(f"the report cannot be written to {chosen.output}: {error.strerror}")
        return EXIT_USAGE
    if result.missing:
        print("\nWhat is missing:")
        for line in result.missing:
            print(f"  - {line}")
    print(f"\nreport: {chosen.output} (read it before you send it)")
    return EXIT_ERROR if result.missing else EXIT_OK
