"""What the shell completes names with. Imports nothing heavy."""

from __future__ import annotations

import json
from pathlib import Path

import typer


def complete_device(incomplete: str) -> list[str]:
    """Device names for the shell."""
    from edgebench import registry

    return [name for name in registry.names("edgebench.backends") if name.startswith(incomplete)]


def complete_profile(incomplete: str) -> list[str]:
    """Names of the shipped profiles for the shell."""
    from edgebench.fit.profile import shipped_profiles

    return [profile.name for profile in shipped_profiles() if profile.name.startswith(incomplete)]


def complete_target(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of the targets file for the shell; none where it cannot be read."""
    from edgebench.errors import EdgeBenchError
    from edgebench.plan.targets_file import read_targets

    try:
        declared = read_targets(ctx.params.get("targets_file"))
    except EdgeBenchError:
        return []
    return [target.name for target in declared.targets if target.name.startswith(incomplete)]


def complete_board(ctx: typer.Context, incomplete: str) -> list[str]:
    """Boards for the shell: those of the devices that are typed, or of all, and hosts of sticks.

    Of a stored result's targets `TARGET=` may come before.
    """
    from edgebench import registry
    from edgebench.errors import EdgeBenchError
    from edgebench.plan.board_catalogue import shipped_entries

    typed = ctx.params.get("device") or ()
    devices = typed or registry.names("edgebench.backends")
    shipped = shipped_entries().items()
    names = {
        name for name, board in shipped if not (typed and board.devices) or set(typed) & set(board.devices)
    }
    for device in devices:
        try:
            names.update(registry.backend(device).bodies())
        except EdgeBenchError:
            continue
    target, equals, start = incomplete.rpartition("=")
    return sorted(f"{target}{equals}{name}" for name in names if name.startswith(start))


def complete_option(ctx: typer.Context, incomplete: str) -> list[str]:
    """What `--set` takes for the shell: options of the devices that are typed, and the values of a choice."""
    from edgebench import registry
    from edgebench.errors import EdgeBenchError

    texts: set[str] = set()
    for device in ctx.params.get("device") or ():
        try:
            options = registry.backend(device).options_model.model_json_schema().get("properties", {})
        except EdgeBenchError:
            continue
        for name, schema in options.items():
            key = name.replace("_", "-")
            values = ("true", "false") if schema.get("type") == "boolean" else schema.get("enum", ())
            texts |= {f"{key}={value}" for value in values} if "=" in incomplete else {f"{key}="}
    return sorted(text for text in texts if text.startswith(incomplete))


def complete_port(incomplete: str) -> list[str]:
    """The serial ports of this machine for the shell."""
    from edgebench.probes.host.serial_port import ports_here

    ports = (text.partition(" ")[0] for text in ports_here())
    return [port for port in ports if port.startswith(incomplete)]


def complete_meter(incomplete: str) -> list[str]:
    """Kinds of meters for the shell."""
    from edgebench import registry

    kinds = (kind for kind in registry.names("edgebench.probes") if kind.startswith(incomplete))
    return [kind for kind in kinds if not registry.is_monitor(kind)]


_RESULTS_LOOKED_AT = 20  # of a folder, the newest, for the names of its targets
_MAX_BYTES = 8 << 20  # of a record that is read while somebody waits for a name
_ACTED_UPON = frozenset("$`\"'\\;&|<>(){}*?!#~")


def complete_measured_target(ctx: typer.Context, incomplete: str) -> list[str]:
    """Targets that the newest results have, for the shell."""
    from edgebench.errors import EdgeBenchError
    from edgebench.plan.config import resolve_one

    names: dict[str, None] = {}
    try:
        folder = resolve_one("output_dir", ctx.params.get("output_dir")).output_dir
        # A link that leads nowhere is no result.
        files = [file for file in folder.glob("*/experiment.json") if file.is_file()]
        files.sort(key=lambda file: file.stat().st_mtime, reverse=True)
        for file in files[:_RESULTS_LOOKED_AT]:
            names |= dict.fromkeys(_target_names(file))
    except (OSError, EdgeBenchError):
        return []
    return [name for name in names if name.startswith(incomplete) and is_completed(name)]


def is_completed(name: str) -> bool:
    """Whether a name from outside may be put on the user's line.

    A terminal would carry out control characters in it, the shell `$(...)`, a quote or a `;`, as it stands
    there unquoted, and with a dash first it would be an option.
    """
    return name.isprintable() and not _ACTED_UPON.intersection(name) and not name.startswith("-")


def _target_names(file: Path) -> list[str]:
    """Those of an experiment.json, without settings and revisions; none where it is damaged."""
    from edgebench.regular_files import read_regular

    try:
        targets = json.loads(read_regular(file, _MAX_BYTES))["targets"]
        names = [str(target.get("revision_of") or target["name"]) for target in targets]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
    return [name.partition("[")[0] for name in names]


def complete_followed_metric(incomplete: str) -> list[str]:
    """Metrics that a history can be of, for the shell."""
    from edgebench.fit.history import followed_metrics

    return [name for name in followed_metrics() if name.startswith(incomplete)]


def complete_compared_metric(incomplete: str) -> list[str]:
    """Metrics by which results are compared, for the shell; of several after commas the last."""
    from edgebench.fit.metrics import compared_metrics

    before, comma, start = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in compared_metrics() if name.startswith(start)]
