"""What users and their programs hold on to: names, flags, columns, keys of documents, exit codes."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pandas as pd

import edgebench
from tests.frozen.console import Outcome, carry_out
from tests.frozen.replays import EVERYTHING, HERE

RESULT, OTHER = "results/steady", "results/slower"
FRAMES = ("trials", "sessions", "passes", "batches", "windows", "probes", "predictions")
DOCUMENTS: dict[str, str] = {
    "fit": f"fit {RESULT} --profile {EVERYTHING} --json",
    "show": f"show {RESULT} --json",
    "mission": f"mission {RESULT} --profile {EVERYTHING} --days 5 --json",
    "compare": f"compare {RESULT} {OTHER} --json",
    "history": "history --last 3 --json",
    "results": "results --json",
    "plan": "run --device replay --dry-run --json",
    "profiles list": "profiles list --json",
    "profiles show": f"profiles show {EVERYTHING} --json",
    "profiles check": f"profiles check {EVERYTHING} --json",
    "boards list": "boards list --json",
    "boards show": "boards show raspberry-pi-4b --json",
    "targets list": f"targets list --targets-file {HERE / 'inputs' / 'targets.toml'} --json",
    "devices": "devices --json",
    "meters list": "meters list --json",
    "models list": "models list --json",
    "cache show": "cache show --json",
    "doctor": "doctor --device replay --json",
    "error": "fit no-such-result --json",
}
COMMANDS = (HERE / "inputs" / "commands.txt").read_text("utf-8").splitlines()
"""Command lines whose exit codes are frozen, in this order; PLAY runs a scenario, EVERYTHING is a profile."""

PLAY = "run --device replay --set source=steady.toml --precision int8 --passes 1 --quiet"
LAX = """
name = "lax"
requirements = [{ name = "latency", quantity = "image_s", limit = "60 s" }]
"""
PYTHON_NAMES = HERE.parents[1] / "docs" / "python.md"


def interface(folder: Path) -> dict[str, Any]:
    """All of it; `steady`, `slower`, `heat` and `faults` were played in this folder before."""
    (folder / "lax.toml").write_text(LAX)
    (folder / "damaged").mkdir()
    (folder / "damaged" / "experiment.json").write_text('{"schema_version": 1')
    (folder / "mlruns").mkdir()
    words = [
        *(line.split() for line in DOCUMENTS.values()),
        ["report", RESULT, "--profile", EVERYTHING, "--output", "whole.csv"],
        ["report", "--reference", "--profile", "disco-realtime", "--output", "reference.csv"],
        ["compare", RESULT, OTHER, "--output", "compare.csv"],
        ["export", RESULT, "--to", "mlflow", "--store", "mlruns"],
        *(line.replace("PLAY", PLAY).replace("EVERYTHING", EVERYTHING).split() for line in COMMANDS),
    ]
    outcomes = carry_out(folder, words)
    documents = dict(zip(DOCUMENTS, (outcome.document for outcome in outcomes), strict=False))
    config = documents["show"]["experiment"]["config"]
    codes = zip(COMMANDS, (outcome.code for outcome in outcomes[-len(COMMANDS) :]), strict=True)
    return {
        "entry_points": _entry_points(),
        "flags": flags(folder),
        "settings": {
            name: [entry["value"]] for name, entry in config.items() if entry["origin"] == "default"
        },
        "documents": {name: sorted(set(_keys(document))) for name, document in documents.items()},
        "csv": {name: _header(folder / f"{name}.csv") for name in ("whole", "reference", "compare")},
        "mlflow": _mlflow(folder / "mlruns"),
        "exit_codes": {f"{n:02} {line}": code for n, (line, code) in enumerate(codes)},
        "models": _models(documents["models list"]),
        "frames": frames(folder),
        "python": python_names(folder),
    }


def flags(folder: Path) -> dict[str, list[str]]:
    """The flags of every command, from its help."""
    found: dict[str, list[str]] = {}
    waiting: list[tuple[str, ...]] = [()]
    while waiting:
        asked = [[*words, "--help-all" if words == ("run",) else "--help"] for words in waiting]
        outcomes = carry_out(folder, asked)
        below: list[tuple[str, ...]] = []
        for words, outcome in zip(waiting, outcomes, strict=True):
            options, commands = _of_help(outcome)
            found[" ".join(words) or "edgebench"] = options
            below += [(*words, command) for command in commands]
        waiting = below
    return found


def _of_help(outcome: Outcome) -> tuple[list[str], list[str]]:
    """Its flags, and its commands, which their panel names."""
    options: set[str] = set()
    commands: list[str] = []
    panel = ""
    for line in outcome.stdout.splitlines():
        panel = line if line.startswith("╭") else panel
        cells = re.split(r"\s{2,}", line.strip("│* ")) if line.startswith("│") else [""]
        if "Commands" in panel and re.match(r"│ [a-z]", line):
            commands.append(cells[0].split()[0])
        while "Commands" not in panel and cells and cells[0].startswith("-"):
            options |= {word for word in re.split(r"[, ]+", cells.pop(0)) if word.startswith("-")}
    return sorted(options), commands


def _entry_points() -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for entry in distribution("edgebench").entry_points:
        groups.setdefault(entry.group, []).append(entry.name)
    return {group: sorted(names) for group, names in groups.items()}


def _keys(value: Any, path: str = "") -> Iterator[str]:
    """The keys of a document as paths; a list's entries share theirs."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield f"{path}.{key}".lstrip(".")
            if key not in ("host", "facts", "provenance", "environment"):
                yield from _keys(entry, f"{path}.{key}")
    elif isinstance(value, list):
        for entry in value:
            yield from _keys(entry, f"{path}[]")


def _header(path: Path) -> list[str]:
    with path.open(newline="", encoding="utf-8") as file:
        return next(csv.reader(file))


def _mlflow(store: Path) -> dict[str, list[str]]:
    """Keys of all runs of a store that is a folder."""
    return {
        kind: sorted({path.name for path in store.glob(f"*/*/{kind}/*") if path.name != "mlflow.user"})
        for kind in ("metrics", "params", "tags")
    }


def _models(document: dict[str, Any]) -> dict[str, Any]:
    """What the shipped variants are, by content."""
    return {
        entry["variant"]: [
            entry["parameters"],
            entry["weights_sha256"],
            (entry.get("artifact") or {}).get("sha256"),
        ]
        for entry in document.get("variants", [])
    }


def frames(folder: Path) -> dict[str, list[str]]:
    """The columns of every documented frame, those of its index in front."""
    steady, other = edgebench.load(folder / RESULT), edgebench.load(folder / OTHER)
    windows = edgebench.load(folder / "results" / "windows")
    both = edgebench.concat({"before": steady, "after": folder / OTHER})
    comparison = edgebench.compare(folder / RESULT, folder / OTHER)
    published = edgebench.published()
    found = {name: getattr(windows if name == "windows" else steady, name) for name in FRAMES}
    found |= {
        "summaries": steady.summaries(),
        "rails": steady.rails(),
        "verdicts": other.verdicts(["disco-realtime", EVERYTHING]),
        "mission": steady.mission("disco-greenland", days=5),
        "comparison.table": comparison.table,
        "concat.summaries": both.summaries(),
        "concat.passes": both.passes,
        "columns": edgebench.columns("summaries"),
        "published.figures": published.figures,
        "published.verdicts": published.verdicts("disco-realtime"),
        "boards": edgebench.boards(),
    }
    return {name: _columns(frame) for name, frame in found.items()}


def _columns(frame: pd.DataFrame) -> list[str]:
    index = [f"({name})" for name in frame.index.names if name is not None]
    return [*index, *(str(column) for column in frame.columns)]


def python_names(folder: Path) -> list[str]:
    """What docs/python.md calls on `edgebench`, on results and on comparisons; each has to be there."""
    results = edgebench.load(folder / RESULT)
    objects = {
        "edgebench": edgebench,
        "results": results,
        "results.plot": results.plot,
        "both": edgebench.concat([folder / RESULT, folder / OTHER]),
        "comparison": edgebench.compare(folder / RESULT, folder / OTHER),
    }
    public = [f"edgebench.{name}" for name in edgebench.__all__]
    plots = [f"results.plot.{name}" for name in dir(results.plot) if not name.startswith("_")]
    called = re.findall(
        r"\b((?:edgebench|results\.plot|results|both|comparison)\.[a-z_]+)\b", PYTHON_NAMES.read_text("utf-8")
    )
    names = sorted({*public, *plots, *called} - {"edgebench.errors", "edgebench.judge"})
    for name in names:
        owner, _, attribute = name.rpartition(".")
        getattr(objects[owner], attribute)
    return names
