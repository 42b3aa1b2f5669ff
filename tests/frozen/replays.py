"""Figures, verdicts and missions of scenarios that are replayed, and comparisons of their results."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.frozen.console import carry_out
from tests.synthetic_results import write_record

HERE = Path(__file__).parent
SHIPPED = ("disco-realtime", "disco-arctic", "disco-greenland")
EVERYTHING = str(HERE / "inputs" / "everything.toml")

FLAGS: dict[str, tuple[str, ...]] = {
    "deadlines-missed": ("--period", "0.25"),
    "deadlines-missed-none": ("--period", "0.5"),
    "few-sessions": ("--sessions", "2"),
    "few-sessions-none": ("--sessions", "5"),
    "heat": ("--sustained", "0.5"),
    "multimodal": ("--sessions", "10"),
    "multimodal-none": ("--sessions", "10"),
    "resembling": ("--sessions", "10"),
    "resembling-none": ("--sessions", "10"),
    "skewed": ("--sessions", "10"),
    "skewed-none": ("--sessions", "10"),
    "demo": ("--passes", "3"),
    "faults": ("--passes", "4"),
}
QUICK = (
    *("steady", "slower", "heat", "outliers", "few-sessions", "deadlines-missed", "golden-mismatch"),
    *("windows", "faults"),
)
"""Those that differ most; the others are slow tests."""

WHOLE = ("steady", "demo", "windows")
"""Of these the whole document of `fit` is frozen, by all profiles."""

FIGURES = ("schema_version", "run", "trials", "verdicts", "missions")
"""Of all others these parts of it."""

SLOW = tuple(sorted({path.stem for path in (HERE / "scenarios").glob("*.toml")} - set(QUICK)))


def profile_words(profiles: Iterable[str]) -> list[str]:
    """`--profile` for each of them."""
    return [word for profile in profiles for word in ("--profile", profile)]


def run_words(name: str, result: str = "", *more: str) -> list[str]:
    """The command that plays a scenario into results/RESULT."""
    flags = [*FLAGS.get(name, ()), *more]
    length = [] if "--sustained" in flags else ["--passes", "10"]
    length = ["--sessions", "3", *length]
    # Of a flag that is named twice the last counts.
    return [
        *("run", "--device", "replay", "--set", f"source={name}.toml"),
        *(*([] if name == "windows" else ["--meter", "replay"]), *length, *flags),
        *("--name", result or name, "--json", "--quiet"),
    ]


def play(folder: Path, names: Iterable[str]) -> None:
    """Play scenarios into results/NAME of this folder."""
    shutil.copytree(HERE / "scenarios", folder, dirs_exist_ok=True)
    carry_out(folder, [run_words(name) for name in names])


def replays(folder: Path, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Of each scenario what `run` ends with, and what `fit`, `report` and `mission` say of its result."""
    names = list(names)
    # A scenario's path is part of its trials' keys: it is played by its bare name.
    shutil.copytree(HERE / "scenarios", folder, dirs_exist_ok=True)
    commands: list[list[str]] = []
    for name in names:
        result, profiles = f"results/{name}", profile_words(_profiles_of(name))
        commands += [
            run_words(name),
            ["fit", result, *profiles, "--json"],
            ["report", result, *profiles, "--output", f"{name}.csv"],
            ["report", result, *profiles, "--output", f"{name}.json"],
            ["mission", result, *profiles, "--days", "20", "--json"],
        ]
    outcomes = carry_out(folder, commands)
    return {name: _played(folder, name, outcomes[5 * n : 5 * n + 5]) for n, name in enumerate(names)}


def _profiles_of(name: str) -> tuple[str, ...]:
    """All where one differs from another: the rest of the scenarios raise one flag each, or do not."""
    return (*SHIPPED, EVERYTHING) if name in WHOLE else ("disco-realtime", EVERYTHING)


def _played(folder: Path, name: str, outcomes: list[Any]) -> dict[str, Any]:
    run, fit, _, _, mission = outcomes
    with (folder / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    report = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return {
        "exit_codes": [outcome.code for outcome in outcomes],
        "report_is_fit": report == fit.document,
        "run_is_fit": run.document.get("trials") == fit.document.get("trials"),
        "fit": {key: part for key, part in fit.document.items() if name in WHOLE or key in FIGURES},
        # The verdicts are in fit already.
        "csv": {"rows": [_cells(row) for row in rows]},
        "mission": mission.document,
    }


def _cells(row: dict[str, str]) -> dict[str, Any]:
    """The cells of a row of a CSV that are not empty, numbers as such."""
    return {key: _read(text) for key, text in row.items() if text and not key.startswith("verdict:")}


def _read(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def comparisons(folder: Path) -> dict[str, Any]:
    """`compare` and `history` over results of one target: `steady` twice, with another seed, and `slower`.

    Both scenarios were played in this folder before.
    """
    for name, scenario in (("one", "steady"), ("again", "steady"), ("slower", "slower")):
        shutil.copytree(folder / "results" / scenario, folder / "compared" / name)
        record = folder / "compared" / name / "experiment.json"
        experiment, written_s = json.loads(record.read_text(encoding="utf-8")), record.stat().st_mtime
        write_record(record, experiment | {"id": hashlib.sha256(name.encode()).hexdigest()[:32]})
        os.utime(record, (written_s, written_s))
    one, *others = (f"compared/{name}" for name in ("one", "again", "seed", "slower"))
    metrics = "image_s,infer_s,energy_j,power_mean_w,memory_bytes,load_s"
    gate = ("--fail-on", "regression")
    commands = {
        "run": [*run_words("steady", "seed", "--set", "seed=3"), "--output-dir", "compared"],
        "compare": ["compare", one, *others, "--json", *gate],
        "compare_same": ["compare", one, others[0], "--json", "--strict", *gate],
        "compare_metrics": ["compare", one, *others, "--json", "--metric", metrics],
        "compare_csv": ["compare", one, *others, "--format", "csv"],
        "history": ["history", "--json", "--output-dir", "compared"],
        "history_energy": ["history", "--json", "--metric", "energy_j", "--output-dir", "compared"],
    }
    outcomes = dict(zip(commands, carry_out(folder, list(commands.values())), strict=True))
    rows = csv.DictReader(outcomes["compare_csv"].stdout.splitlines())
    return {
        "exit_codes": {name: outcome.code for name, outcome in outcomes.items()},
        "compare_csv": {"rows": [_cells(row) for row in rows]},
        **{
            name: outcome.document for name, outcome in outcomes.items() if name not in ("run", "compare_csv")
        },
    }


def references(folder: Path) -> dict[str, Any]:
    """Published figures, judged by all profiles."""
    (outcome,) = carry_out(folder, [["fit", "--reference", *profile_words(SHIPPED), "--json"]])
    return {"exit_code": outcome.code, "fit": outcome.document}
